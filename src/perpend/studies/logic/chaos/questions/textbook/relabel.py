"""The label of a textbook item again, from its text: the statements are found in it, and each is judged.

What can be computed is computed here from its definition (see computed.py and the order below, written in another way
than the generator's); what cannot is looked up in the curated tables.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from functools import cache

from perpend.canon import JSON
from perpend.errors import DataError
from perpend.studies.logic.chaos.questions.textbook import sharkovskii
from perpend.studies.logic.chaos.questions.textbook.computed import computed
from perpend.studies.logic.chaos.questions.textbook.layouts import denies
from perpend.studies.logic.chaos.questions.textbook.tables import ResultTable, equation_tables, load_tables
from perpend.studies.logic.chaos.questions.world import Sources


def relabel(record: Mapping[str, JSON], world: Sources) -> bool:
    """Whether the answer to a record's question is yes. DataError where its statements cannot be found in it."""
    question, name = str(record["question"]), str(record.get("predicate", ""))
    if name == sharkovskii.NAME:
        right, rest = _order(question)
    else:
        tables = (*_curated(), *equation_tables(world.systems))
        right, rest = _judged(question, next((table for table in tables if table.name == name), None))
    return right != denies(rest)


@cache
def _curated() -> tuple[ResultTable, ...]:
    return load_tables()


def _judged(question: str, table: ResultTable | None) -> tuple[bool, str]:
    """Whether all statements of a question are right, and the question without them."""
    if table is None or not question.startswith(table.lead):
        raise DataError(f"no table of results fits: {question}")
    rest = question[len(table.lead) :]
    matched = [pair for pair in _pairs(table) if _holds(pair[2], rest)]
    # A subject may be the beginning of another, and a value the end of one: the longest statements win.
    matched.sort(key=lambda pair: -len(pair[2]))
    judged = []
    for subject, value, statement in matched:
        if _holds(statement, rest):
            rest = _without(statement, rest)
            judged.append(is_right(table, subject, value))
    if not judged:
        raise DataError(f"no statement of the table {table.name} is in: {question}")
    return all(judged), rest


def _pairs(table: ResultTable) -> Iterator[tuple[str, str, str]]:
    for clause in range(len(table.clauses)):
        for subject in table.results:
            for value in table.results:
                yield subject.subject, value.value, table.said(clause, subject, value)


def _holds(statement: str, text: str) -> bool:
    return statement in text or statement[:1].upper() + statement[1:] in text


def _without(statement: str, text: str) -> str:
    return text.replace(statement, "").replace(statement[:1].upper() + statement[1:], "")


def is_right(table: ResultTable, subject: str, value: str) -> bool:
    """Whether a value belongs to a subject: by computation where there is one, else by the table."""
    known = computed(table.name, subject)
    if known is not None:
        return known == value if isinstance(known, str) else agrees(known, value)
    return any(result.subject == subject and result.value == value for result in table.results)


def agrees(number: float, value: str) -> bool:
    """Whether a printed value, a decimal or a fraction, is the number to the decimals that are printed."""
    if "/" in value:
        top, bottom = value.split("/")
        return math.isclose(int(top) / int(bottom), number)
    decimals = len(value.partition(".")[2])
    # A hair more than half a unit of the last place, for numbers that end in a five.
    return abs(float(value) - number) < (0.5 + 1e-6) * 10.0**-decimals


def _order(question: str) -> tuple[bool, str]:
    """Sharkovskii's order, by listing it up to the larger number."""
    for clause in sharkovskii.CLAUSES:
        pattern = re.escape(clause).replace(r"\{m\}", r"(?P<m>\d+)").replace(r"\{n\}", r"(?P<n>\d+)")
        matched = re.search(pattern, question, re.IGNORECASE)
        if matched:
            m, n = int(matched["m"]), int(matched["n"])
            order = listed_order(max(m, n))
            return order.index(m) <= order.index(n), question.replace(matched[0], "")
    raise DataError(f"no statement about Sharkovskii's order is in: {question}")


def listed_order(last: int) -> list[int]:
    """The whole numbers up to `last` as Sharkovskii lists them."""
    order: list[int] = []
    factor = 1
    while factor <= last:
        order.extend(factor * odd for odd in range(3, last // factor + 1, 2))
        factor *= 2
    powers = [2**k for k in range(last.bit_length()) if 2**k <= last]
    return [*order, *reversed(powers)]
