"""Named results as questions: each value is right of one subject and wrong of another, in the same sentence.

A bundle of single statements has four: two subjects, each with its own value and with the other's. The two about one
subject share their wording. A bundle of joined statements has two: everything in its place, or two values interchanged.
All bundles of a table share a `pair`, since who knows the answers of one knows those of the others; the tag `bundle`
tells them apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from perpend.studies.logic.chaos.questions.chance import Chance
from perpend.studies.logic.chaos.questions.draft import Draft
from perpend.studies.logic.chaos.questions.textbook.layouts import ONE, THREE, TWO, Asking
from perpend.studies.logic.chaos.questions.textbook.sharkovskii import order_bundles
from perpend.studies.logic.chaos.questions.textbook.tables import Result, ResultTable, equation_tables, load_tables
from perpend.studies.logic.chaos.questions.world import Sources

STRATUM = "textbook"
ROUNDS = 6
"""Bundles of single statements that a table of four results gives at most; larger tables give two more per result."""
JOINED_TWO, JOINED_THREE = 4, 2
"""Bundles of two and of three statements that a table gives at most."""
_CARRIERS = (
    "a textbook", "a catalogue", "a bibliography", "a chronology", "a table of", "a simulation", "published tables",
    "by definition", "after multiplying", "the literature", "written out in full", "someone who",
)  # fmt: skip
"""Openings of clauses that are said once, and not of each of several statements."""


def bundles(world: Sources) -> Iterator[tuple[Draft, ...]]:
    """All bundles of the stratum: the curated tables, the systems' equations, and Sharkovskii's order."""
    for table in (*load_tables(), *equation_tables(world.systems)):
        yield from table_bundles(table, world.chance)
    yield from order_bundles(world.chance)


def grade(level: int, statements: int, denied: bool) -> int:
    """The table's level, one more for every further statement, and one more for asking for a fault; 5 at most."""
    return min(5, level + statements - 1 + denied)


def table_bundles(table: ResultTable, chance: Chance) -> Iterator[tuple[Draft, ...]]:
    """The bundles of one table; none where all its results share a value."""
    name = table.name
    couples = [(a, b) for a, b in combinations(table.results, 2) if a.value != b.value]
    mixed = chance.mixed(couples, _couple_name, name, "couples")
    wordings = _wordings(table, ONE, chance)
    for n, couple in enumerate(mixed[: ROUNDS + 2 * max(0, len(table.results) - 4)]):
        first = next(wordings)
        # One polarity for both subjects: else a value would be right of neither or of both.
        yield _four(table, couple, (first, next(w for w in wordings if w[1].denies is first[1].denies)), f"{name} #{n}")
    wordings = _wordings(table, TWO, chance)
    for n, couple in enumerate(chance.mixed(couples, _couple_name, name, "joined")[:JOINED_TWO]):
        yield _joined(table, couple, next(wordings), chance, f"{name} two {n}")
    triples = [t for t in combinations(table.results, 3) if len({result.value for result in t}) == 3]
    wordings = _wordings(table, THREE, chance)
    for n, triple in enumerate(chance.mixed(triples, _couple_name, name, "triples")[:JOINED_THREE]):
        yield _joined(table, triple, next(wordings), chance, f"{name} three {n}")


def _couple_name(results: Sequence[Result]) -> str:
    return " | ".join(result.subject for result in results)


def _wordings(table: ResultTable, layouts: Sequence[Asking], chance: Chance) -> Iterator[tuple[int, Asking]]:
    """The wordings of a table one after the other: all clauses in turn, and no layout twice."""
    spot = (table.name, "wording", layouts[0].text)
    numbers: Sequence[int] = range(len(table.clauses))
    if layouts is not ONE:  # 'a textbook states …, and a textbook states …'
        numbers = [n for n in numbers if not table.clauses[n].startswith(_CARRIERS)] or numbers
    clauses = chance.mixed(numbers, str, *spot)
    for n, layout in enumerate(chance.mixed(layouts, lambda layout: layout.text, *spot)):
        yield clauses[n % len(clauses)], layout


def _four(
    table: ResultTable, couple: tuple[Result, Result], wordings: Sequence[tuple[int, Asking]], name: str
) -> tuple[Draft, ...]:
    return tuple(
        _draft(table, [table.said(wording[0], subject, value)], subject is value, wording, name, (subject,))
        for subject, wording in zip(couple, wordings, strict=True)
        for value in couple
    )


def _joined(
    table: ResultTable, chosen: Sequence[Result], wording: tuple[int, Asking], chance: Chance, name: str
) -> tuple[Draft, ...]:
    results = chance.mixed(chosen, lambda result: result.subject, name, "order")
    first, second = chance.pick(list(combinations(range(len(results)), 2)), name, "interchanged")
    values = list(results)
    values[first], values[second] = values[second], values[first]
    return tuple(
        _draft(
            table,
            [table.said(wording[0], subject, value) for subject, value in zip(results, order, strict=True)],
            order is results,
            wording,
            name,
            results,
        )
        for order in (results, values)
    )


def _draft(
    table: ResultTable,
    statements: Sequence[str],
    right: bool,
    wording: tuple[int, Asking],
    name: str,
    subjects: Sequence[Result],
) -> Draft:
    clause, asking = wording
    question = asking.filled(*statements)
    layouts = (ONE, TWO, THREE)[len(statements) - 1]
    return Draft(
        stratum=STRATUM,
        family="regime_transition" if table.transition else "atomic",
        kind=table.kind,
        form=f"{table.name} {clause}-{len(statements)}.{layouts.index(asking)}",
        question=f"{table.lead} {question}" if table.lead else question,
        label=right != asking.denies,
        pair=f"{STRATUM} {table.name}",
        grade=grade(table.level, len(statements), asking.denies),
        predicate=table.name,
        polarity=not asking.denies,
        cites="; ".join(dict.fromkeys(subject.cites for subject in subjects)),
        extra={"bundle": name},
    )
