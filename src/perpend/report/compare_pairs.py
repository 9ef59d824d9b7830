"""Which trial of one run is which trial of another: pairing by names, never by numbers.

Trials pair by item, condition, model, sampling and repeat. Two exceptions, each stated in the notes: where both sides
have one model, the two models are what is compared; and where their samplings differ (a token limit, a seed), trials
pair by temperature, by what else varies on both sides, and by their order in the plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from perpend.canon import digest
from perpend.errors import DataError, SpecError
from perpend.measure.keys import BoolArray, IntArray, replicates
from perpend.measure.keys import match as pair_rows
from perpend.measure.run import Run
from perpend.measure.samplings import PARAMETERS
from perpend.measure.table import Table


@dataclass(frozen=True, slots=True)
class Side:
    """A run, or the part of it with some values (a model, a temperature, a top_p), judged by one scorer version.

    '' is the latest version that both sides have.
    """

    run: Run
    where: Mapping[str, str | float] = field(default_factory=dict)
    version: str = ""

    def title(self, *, with_run: bool) -> str:
        """What a reader calls this side."""
        parts = [self.run.directory.name] if with_run else []
        parts += [
            f"{key}={value:g}" if isinstance(value, float | int) else f"{key}={value}" if key in PARAMETERS else value
            for key, value in self.where.items()
        ]
        parts += [f"rule {self.version}"] if self.version else []
        return ", ".join(parts) or self.run.directory.name


@dataclass(frozen=True, slots=True)
class Matched:
    """Row numbers of the first side's trials, in plan order, and of their partners; and what was left out."""

    rows: IntArray
    partners: IntArray
    unpaired: tuple[int, int]
    notes: tuple[str, ...]


def match(first: Side, second: Side) -> Matched:
    """The trials that both sides have. None in common is an error that says what differs."""
    left, right = (np.flatnonzero(side.run.table.mask(side.where)) for side in (first, second))
    sizes = len(left), len(right)
    notes: list[str] = []
    ones, others = first.run.table, second.run.table
    keys = _keys(first, second, (left, right), notes)
    changed = _changed_items(first.run, second.run)
    left = left[~_of(ones, "item", left, changed)]
    right = right[~_of(others, "item", right, changed)]
    if changed:
        notes.append(f"ids that mean different questions in the two runs do not pair: {listed(changed)}")
    notes += worded([first.run, second.run]) + could_stop([first.run, second.run])
    codes = [np.zeros(len(left), dtype=np.int64), np.zeros(len(right), dtype=np.int64)]
    for key in keys:
        joint = {name: code for code, name in enumerate(dict.fromkeys((*ones.names[key], *others.names[key])))}
        for place, (table, rows) in enumerate(((ones, left), (others, right))):
            shared = np.array([joint[name] for name in table.names[key]], dtype=np.int64)
            codes[place] = codes[place] * len(joint) + shared[table.codes[key][rows]]
    if "repeat" not in keys:
        numbers = [replicates(np.unique(own, return_inverse=True)[1]) for own in codes]
        most = max(int(own.max(initial=0)) for own in numbers) + 1
        codes = [own * most + number for own, number in zip(codes, numbers, strict=True)]
    at_left, at_right = pair_rows(codes[0], codes[1])
    if not len(at_left):
        raise DataError(_nothing(first, second, keys))
    rows, partners = left[at_left], right[at_right]
    notes += _absent(first, second, keys)
    return Matched(rows, partners, (sizes[0] - len(rows), sizes[1] - len(rows)), tuple(notes))


def _keys(first: Side, second: Side, rows: tuple[IntArray, IntArray], notes: list[str]) -> list[str]:
    """The keys that trials pair by: all of the plan but those that a side fixes."""
    fixed = {*first.where, *second.where}
    settings = [key for key in first.run.table.settings if key in second.run.table.settings]
    for key in fixed & {"item", "condition", "model", "sampling", "repeat", *settings}:
        for side, own in zip((first, second), rows, strict=True):
            if len(_present(side.run.table, key, own)) > 1:
                raise SpecError(
                    f"one side names its {key}, but {side.title(with_run=True)} has several; name one on both sides"
                )
    keys = ["item"] if "item" not in fixed else []
    keys += ["condition"] if "condition" not in fixed else []
    labels = [_present(side.run.table, "model", own) for side, own in zip((first, second), rows, strict=True)]
    if "model" not in fixed and labels[0] != labels[1] and all(len(own) == 1 for own in labels):
        notes.append(f"the models are compared: {listed(labels[0])} and {listed(labels[1])}")
    elif "model" not in fixed:
        if not labels[0] & labels[1]:
            raise DataError(
                f"the sides have several models and none in common ({listed(labels[0])}; {listed(labels[1])}); "
                "say which to compare: Side(run, {'model': …}), on the command line --first model=… --second model=…"
            )
        keys.append("model")
    samplings = [_present(side.run.table, "sampling", own) for side, own in zip((first, second), rows, strict=True)]
    if "sampling" in fixed:
        return keys
    others = [key for key in settings if key not in fixed]
    if fixed & {*settings}:
        sides = {key: [_present(side.run.table, key, own) for side, own in zip((first, second), rows, strict=True)]
                 for key in others}  # fmt: skip
        return [*keys, *(key for key in others if len(sides[key][0] | sides[key][1]) > 1)]
    if samplings[0] == samplings[1]:
        return [*keys, "sampling", "repeat"]
    notes.append(f"the samplings are not the same in all parameters: trials pair by {' and '.join(settings)}")
    return [*keys, *settings]


def _present(table: Table, key: str, rows: IntArray) -> set[str]:
    return {table.names[key][code] for code in np.unique(table.codes[key][rows])}


def _of(table: Table, key: str, rows: IntArray, names: Iterable[str]) -> BoolArray:
    """Whether each of the rows has one of these values."""
    chosen = np.isin(np.array(table.names[key], dtype=object), list(names))
    return np.asarray(chosen, dtype=np.bool_)[table.codes[key][rows]]


def _changed_items(first: Run, second: Run) -> set[str]:
    """The ids that mean different questions in the two runs."""
    if first.directory.resolve() == second.directory.resolve():
        return set()
    asked = [questions(run) for run in (first, second)]
    return {name for name, own in asked[0].items() if asked[1].get(name, own) != own}


def questions(run: Run) -> dict[str, str]:
    """The digest of what each id of a run asks, tags aside: two runs ask the same where both id and digest agree."""
    return {item.id: digest({**item.as_json(), "tags": {}}) for item in run.table.items}


def worded(runs: Sequence[Run]) -> list[str]:
    """Conditions that have one name and two wordings."""
    known: dict[str, set[str]] = {}
    for run in runs:
        for entry in run.manifest.conditions:
            known.setdefault(entry.name, set()).add(entry.sha256)
    differ = [name for name, wordings in known.items() if len(wordings) > 1]
    which = "two runs" if len(runs) == 2 else "runs"
    return [f"the conditions {listed(differ)} are worded differently in the {which}"] if differ else []


def could_stop(runs: Sequence[Run]) -> list[str]:
    """Runs whose number of items depends on their answers."""
    names = list(dict.fromkeys(run.name for run in runs if run.manifest.stop is not None))
    if not names:
        return []
    return [f"STAT040: {listed(names)} could stop at a look; intervals and tests here are for a fixed number of items"]


def _absent(first: Side, second: Side, keys: Sequence[str]) -> list[str]:
    """What only one side has, by key."""
    notes = []
    for key in keys:
        if key in ("repeat", "sampling"):
            continue
        sides = [_present(s.run.table, key, np.flatnonzero(s.run.table.mask(s.where))) for s in (first, second)]
        for name, lost in (("first", sides[0] - sides[1]), ("second", sides[1] - sides[0])):
            if lost:
                count = f"{len(lost)} {key}{'' if len(lost) == 1 else 's'}"
                notes.append(f"{count} only in the {name}: {listed(lost)}")
    return notes


def _nothing(first: Side, second: Side, keys: Sequence[str]) -> str:
    notes = "; ".join(_absent(first, second, keys)) or "no trial has the same place in both plans"
    names = first.title(with_run=True), second.title(with_run=True)
    return f"{names[0]} and {names[1]} have no trial in common ({notes}); compare runs of the same items and conditions"


def listed(names: Iterable[str], most: int = 4) -> str:
    """The first names in order, and how many more there are."""
    every = sorted(names)
    more = f" and {len(every) - most} more" if len(every) > most else ""
    return ", ".join(every[:most]) + more


def side(run: Run | Path, where: Mapping[str, str] | None = None) -> Side:
    """A run as one side. `where` narrows it; 'rule' in it is a scorer version, such as 1."""
    chosen = dict(where or {})
    version = chosen.pop("rule", "")
    return Side(run if isinstance(run, Run) else Run(run), chosen, version)


def as_side(given: Run | Side) -> Side:
    """A whole run as a side."""
    return given if isinstance(given, Side) else Side(given)


def check_sides(first: Side, second: Side) -> None:
    """Refuse to compare something with itself."""
    same_run = first.run.directory.resolve() == second.run.directory.resolve()
    if same_run and first.where == second.where and first.version == second.version:
        raise SpecError(f"{first.title(with_run=True)}: both sides are the same; name two models, versions or runs")
