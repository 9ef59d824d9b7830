"""Sharkovskii's order of the whole numbers, and questions about which period forces which.

For a continuous map of an interval into itself, a point of least period m forces one of least period n exactly if m
comes before n in the order 3, 5, 7, ..., 2·3, 2·5, ..., 4·3, 4·5, ..., 16, 8, 4, 2, 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from perpend.studies.logic.chaos.questions.chance import Chance
from perpend.studies.logic.chaos.questions.draft import Draft
from perpend.studies.logic.chaos.questions.textbook.layouts import ONE, Asking

NAME = "Sharkovskii's order"
CITES = "Sharkovskii 1964"
CLAUSES = (
    "every continuous map of an interval into itself with a point of least period {m} has one of least period {n}",
    "for continuous maps of an interval into itself, least period {m} forces least period {n}",
    "by Sharkovskii's theorem on continuous maps of an interval, least period {m} implies least period {n}",
    "a continuous interval map cannot have a cycle of least period {m} without having one of least period {n}",
    "once a continuous map of an interval into itself shows least period {m}, least period {n} is guaranteed",
    "no continuous map of an interval into itself has a cycle of least period {m} but none of least period {n}",
    "the number {m} comes before {n} in the Sharkovskii order, in which 3 is the first number and 1 the last",
    "a continuous map of an interval that lacks cycles of least period {n} must lack cycles of least period {m}",
)
FAMOUS = ((3, 5), (5, 7), (3, 6), (7, 10))
"""Pairs in which an odd number stands; in all others both are even, as else parity alone would answer."""
LARGEST = 64
COUNT = 36


def place(n: int) -> tuple[int, int, int]:
    """Where a whole number stands in the order; smaller comes earlier. The powers of two come last, falling."""
    power = (n & -n).bit_length() - 1
    odd = n >> power
    return (1, -power, 0) if odd == 1 else (0, power, odd)


def forces(m: int, n: int) -> bool:
    """Whether, for continuous maps of an interval, least period m forces least period n."""
    return place(m) <= place(n)


def chosen_pairs(chance: Chance) -> list[tuple[int, int]]:
    """The pairs that are asked, the forcing one first: as many in which the smaller forces as in which it is forced."""
    even = list(combinations(range(2, LARGEST + 1, 2), 2))
    mixed = chance.mixed(even, str, NAME, "pairs")
    rising = [pair for pair in mixed if forces(*pair)][: COUNT // 2]
    falling = [(b, a) for a, b in mixed if forces(b, a)][: COUNT // 2]
    return [*FAMOUS, *rising, *falling]


def order_bundles(chance: Chance) -> Iterator[tuple[Draft, ...]]:
    """Two items for each pair: that one period forces the other, and the converse."""
    for m, n in chosen_pairs(chance):
        name = f"textbook {NAME} {m} {n}"
        clause = chance.below(len(CLAUSES), name, "clause")
        asking = chance.pick(ONE, name, "layout")
        yield tuple(_draft(first, second, clause, asking, name) for first, second in ((m, n), (n, m)))


def _draft(m: int, n: int, clause: int, asking: Asking, name: str) -> Draft:
    return Draft(
        stratum="textbook",
        family="atomic",
        kind="theorem",
        form=f"{NAME} {clause}-1.{ONE.index(asking)}",
        question=asking.filled(CLAUSES[clause].format(m=m, n=n)),
        label=forces(m, n) != asking.denies,
        pair=name,
        grade=min(5, 3 + asking.denies),
        predicate=NAME,
        polarity=not asking.denies,
        cites=CITES,
        extra={"bundle": name},
    )
