"""Which scores several runs have in common, and which of them are meant."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from perpend.errors import SpecError, did_you_mean

_BESIDE = dict.fromkeys(("stance", "uncertain", "includes", "exact"), "correct")
"""Scorers that stand beside another, which must be there. `stance` is read for its state: it is 0 for an opinion, which
has no right answer, so its mean is no share of right answers. `uncertain` is of the verdict, not of the answer;
`includes` and `exact` judge the same thing more simply: both would count among tests that are adjusted together."""


def on_their_own(names: Sequence[str]) -> list[str]:
    """The 'name@version' whose means say something that the others do not."""
    stems = {name.partition("@")[0] for name in names}
    return [name for name in names if _BESIDE.get(name.partition("@")[0], "") not in stems]


def shared_columns(known: Sequence[Sequence[str]], wanted: Sequence[str] = ()) -> list[str]:
    """Of every scorer the latest 'name@version' that all have; and those earlier versions that are asked for."""
    common = [name for name in known[0] if all(name in own for own in known[1:])]
    latest = {name.rpartition("@")[0]: name for name in common}
    return list(dict.fromkeys([*latest.values(), *(name for name in common if name in wanted)]))


def chosen_columns(shared: Iterable[str], wanted: Sequence[str], where: str) -> list[str]:
    """The shared columns that are asked for, as 'correct' or 'correct@1'; where none is, all but
    those that repeat another.

    One that is not there is an error with the near ones; `where` says of what: 'both sides'.
    """
    every = list(shared)
    chosen: list[str] = []
    for name in wanted:
        own = [key for key in every if name in (key, key.partition("@")[0])]
        exact = [key for key in own if key == name] or own
        if not exact:
            raise SpecError(f"no column {name!r} is scored on {where}; {did_you_mean(name, every)}")
        chosen += exact
    return list(dict.fromkeys(chosen)) if wanted else on_their_own(every)
