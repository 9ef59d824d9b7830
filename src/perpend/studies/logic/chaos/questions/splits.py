"""Which split an item is in: by its system, and by its pair where it is about no named system.

Splits do not depend on the key of a set: the test systems of a private set are those of the public one, so nothing that
was trained on the public train split has seen them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from perpend.studies.logic.chaos.questions.chance import Chance
from perpend.studies.logic.chaos.questions.draft import GENERIC, Draft
from perpend.studies.logic.chaos.records import SystemWords

SPLITS = ("train", "dev", "test")
SHARES = {"train": 0.5, "dev": 0.2, "test": 0.3}
"""Of the systems of each kind, and of the pairs that are about no named system."""
LARGEST_SHARE = 0.15
"""Of the items of a split that are about named systems, at most this share is about one of them."""
_TURNS = ("train", "test", "train", "dev", "train", "test", "train", "test", "train", "dev")
"""The splits of ten systems of one kind, in the order of their digests: five, two and three of them."""
_WIDE = 4
"""Systems with this many variables or more are dealt out for themselves, so that every split has some."""
_PUBLIC = Chance()


def system_splits(systems: Mapping[str, SystemWords]) -> dict[str, str]:
    """The split of every system: kinds of systems are dealt out one by one, each in the order of its names' digests.

    The deal goes on from kind to kind, so that kinds of one or two systems do not all end up in the first split.
    """
    ordered = _PUBLIC.mixed(systems, str, "system")
    kinds: dict[tuple[str, bool], list[str]] = {}
    for system in ordered:
        words = systems[system]
        kinds.setdefault((words.kind, len(words.variables) >= _WIDE), []).append(system)
    dealt = [system for kind in sorted(kinds) for system in kinds[kind]]
    return {system: _TURNS[place % len(_TURNS)] for place, system in enumerate(dealt)}


def systems_in(draft: Draft) -> set[str]:
    """The named systems that an item is about: by its system, and by the instances whose facts it rests on."""
    named = {*draft.system_id.split("_vs_"), *(one.partition(":")[0] for one in draft.instance.split(" > "))}
    return named - {"", GENERIC}


def split_of(bundle: Sequence[Draft], systems: Mapping[str, str]) -> str | None:
    """The one split of a bundle; None where it is about systems of several, so that it belongs in none."""
    named = {systems[system] for draft in bundle for system in systems_in(draft) if system in systems}
    if named:
        return named.pop() if len(named) == 1 else None
    lot = _PUBLIC.share("split", bundle[0].pair)
    return "train" if lot < SHARES["train"] else "dev" if lot < SHARES["train"] + SHARES["dev"] else "test"


def without_excess(bundles: Sequence[tuple[Draft, ...]]) -> list[tuple[Draft, ...]]:
    """The bundles of one split, the last ones of a system left out where it would have more than its share.

    The share is of the items about named systems. Where a split has fewer than seven systems nothing can hold the
    limit, and bundles are left out until all of them have the same number of items.
    """
    counts: Counter[str] = Counter()
    for bundle in bundles:
        counts.update({system: len(bundle) for system in _named(bundle)})
    most = _most(sorted(counts.values()))
    kept, taken = [], Counter[str]()
    for bundle in bundles:
        named = _named(bundle)
        if all(taken[system] + len(bundle) <= most for system in named):
            taken.update({system: len(bundle) for system in named})
            kept.append(bundle)
    return kept


def _named(bundle: Sequence[Draft]) -> set[str]:
    return {system for draft in bundle for system in systems_in(draft)}


def _most(counts: Sequence[int]) -> int:
    """The largest number of items of a system that is within its share once all others are cut to it as well."""
    most = max(counts, default=0)
    while most > 1 and most > LARGEST_SHARE * sum(min(count, most) for count in counts):
        lower = int(LARGEST_SHARE * sum(min(count, most) for count in counts))
        if lower >= most or lower < min(counts):
            return min(counts)
        most = lower
    return most
