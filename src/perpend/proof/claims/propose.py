"""Claims proposed for the numbers of a paper's tables: what is stated and where, and which number of a run prints so.

Nothing is guessed: of several numbers of the run that print as a cell does, all are listed and none is chosen.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import chain, combinations, product
from pathlib import Path

from perpend.canon import JSON
from perpend.inert import one_line
from perpend.measure.column import Column
from perpend.measure.table import Table
from perpend.proof.claims.evaluate import Scope, UnpairedError, evaluate
from perpend.proof.claims.file import half_unit
from perpend.proof.claims.language import MAX_LENGTH, parse
from perpend.proof.claims.tables import PaperTables, TableNumber, read_tables
from perpend.proof.claims.tex import Typed
from perpend.proof.claims.turns import DIALOGUE, TURN, with_turns
from perpend.types import Estimate

MAX_EXPRESSIONS = 5000
_LISTED = 60
_SLACK = 1e-12
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*@[A-Za-z0-9_]+")
_AXES = ("model", "condition")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A number of a run in the language of claims, and the values of the slice that it is of."""

    expression: str
    value: float
    names: tuple[str, ...]
    kind: str = ""
    """'count' and 'spread' are for integers and for what follows ±; '' for all else."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A number of a table and every number of the run that prints as it does, those first that its labels name."""

    number: TableNumber
    candidates: tuple[str, ...]

    def as_json(self) -> dict[str, JSON]:
        """The proposal as JSON."""
        return {**self.number.as_json(), "candidates": list(self.candidates)}


@dataclass(frozen=True, slots=True)
class Proposals:
    """What is proposed for one paper."""

    paper: str
    tables: int
    entries: tuple[Proposal, ...]
    notes: tuple[str, ...]
    typed: tuple[tuple[str, Typed], ...] = ()
    runs: tuple[str, ...] = ()

    def as_json(self) -> dict[str, JSON]:
        """The proposals as JSON."""
        return {
            "paper": self.paper,
            "tables": self.tables,
            "runs": list(self.runs),
            "proposals": [entry.as_json() for entry in self.entries],
            "outside_tables": [
                {"file": file, "line": one.line, "number": one.text, "context": one.context} for file, one in self.typed
            ],
            "notes": list(self.notes),
        }

    def as_toml(self) -> str:
        """The proposals as claims.toml. `number` is blank where nothing, or more than one thing, prints so."""
        single = sum(len(entry.candidates) == 1 for entry in self.entries)
        lines = [
            f"# Claims proposed for {one_line(self.paper)}: {len(self.entries)} numbers of {self.tables} tables.",
            "# Complete every blank 'number', and read those that are not: that a number of the run prints as a cell",
            "# does is no proof that it is the number that the cell means.",
        ]
        if self.runs:
            lines.append(f"# Of {one_line(', '.join(self.runs))}, {single} are the only number that prints so.")
        lines += [f"# {one_line(note)}" for note in self.notes]
        for entry, name in zip(self.entries, self._names(), strict=True):
            lines += ["", *self._claim(entry, name)]
        if self.typed:
            lines += ["", "# Numbers outside of tables, for which nothing is proposed:"]
            places = [f"{file}:{one.line}: {one.text}  | {one.context}" for file, one in self.typed]
            lines += [f"# {one_line(place)}" for place in places]
        return "\n".join(lines) + "\n"

    def _names(self) -> Iterator[str]:
        seen: set[str] = set()
        for entry in self.entries:
            one = entry.number
            base = one_line(f"table {one.table}: {_joined(one)}")
            name, count = base, 2
            while name in seen:
                name, count = f"{base} ({count})", count + 1
            seen.add(name)
            yield name

    def _claim(self, entry: Proposal, name: str) -> Iterator[str]:
        one = entry.number
        several = entry.candidates if len(entry.candidates) > 1 else ()
        yield "[[claim]]"
        yield f"name   = {_quoted(name)}"
        yield f"says   = {_quoted(f'Table {one.table}: {_joined(one)} is {one.text}')}"
        yield f"cell   = {_quoted(one.cell)}" + ("  # bold or underlined" if one.marked else "")
        if several:
            yield f"# {len(several)} numbers print so:"
            yield from (f"#   {one_line(text)}" for text in several[:_LISTED])
            if len(several) > _LISTED:
                yield f"#   and {len(several) - _LISTED} more; --json lists them all"
        if len(entry.candidates) == 1:
            yield f"number = {_quoted(entry.candidates[0])}  # the only number that prints so"
        else:
            percent = ", in percent: 100 * …" if one.is_percent else ""
            yield f'number = ""  # what recomputes it{percent}'
        yield f"expect = {one.value}"


def _joined(one: TableNumber) -> str:
    return ", ".join(filter(None, (one.row, one.column, one.part)))


def _quoted(text: str) -> str:
    """A string of TOML: JSON's escapes are among its own."""
    return json.dumps(one_line(text), ensure_ascii=False)


def propose(paper: Path, table: Table | None = None, runs: Sequence[str] = ()) -> Proposals:
    """The claims for every number in the tables of a paper, matched with the numbers of a table of trials."""
    read: PaperTables = read_tables(paper)
    known, notes = ([], list(read.notes)) if table is None else _numbers_of(with_turns(table), list(read.notes))
    entries = tuple(Proposal(one, tuple(_matching(one, known))) for one in read.numbers)
    if not read.tables:
        notes.append("no table was found in it")
    return Proposals(paper.name, read.tables, entries, tuple(notes), read.typed, tuple(runs))


def _matching(one: TableNumber, known: Sequence[Candidate]) -> list[str]:
    """The expressions whose value prints as the number does: rounded to its digits, as it is or in percent."""
    labels = f"{one.row} {one.column}".casefold()
    matches: list[tuple[int, int, str]] = []
    whole = one.value == one.value.to_integral_value() and half_unit(one.value) >= 0.5
    for candidate in known:
        if (candidate.kind == "spread") != (one.part == "±") or (candidate.kind == "count" and not whole):
            continue
        for scale in (1,) if candidate.kind == "count" else (1, 100):
            if (scale == 1 and one.is_percent and candidate.kind != "count") or not _prints(
                candidate, one.value, scale
            ):
                continue
            named = sum(name.casefold() in labels for name in candidate.names)
            text = candidate.expression if scale == 1 else f"100 * {candidate.expression}"
            matches.append((len(candidate.names) - 2 * named, len(matches), text))
    return list(dict.fromkeys(text for _, _, text in sorted(matches)))


def _prints(candidate: Candidate, value: Decimal, scale: int) -> bool:
    now = candidate.value * scale
    return abs(now - float(value)) <= half_unit(value) + _SLACK * max(abs(now), abs(float(value)))


def _numbers_of(table: Table, notes: list[str]) -> tuple[list[Candidate], list[str]]:
    """The rates, means, counts and pairs of every column over every slice of model, condition, temperature and turn."""
    candidates: list[Candidate] = []
    for count, (column, slice_of) in enumerate(_slices(table), 1):
        if count > MAX_EXPRESSIONS:
            notes.append(f"only the first {MAX_EXPRESSIONS} numbers of the run were compared")
            break
        candidates += _of_slice(table, column, slice_of)
    for text in ("trials()", "items()"):
        value = evaluate(parse(text), table, Scope()).value
        if value is not None:
            candidates.append(Candidate(text, value, (), "count"))
    return candidates, notes


def _slices(table: Table) -> Iterator[tuple[Column, Mapping[str, str]]]:
    axes = [TURN, DIALOGUE, "model"] if TURN in table.names else [*_AXES]
    axes += table.settings
    values = {axis: [value for value in table.values(axis) if _writable(value)] for axis in axes}
    axes = [axis for axis in axes if len(table.values(axis)) > 1]
    columns = [one for one in table.columns().values() if one.defined.any() and _NAME.fullmatch(one.name)]
    for chosen in chain.from_iterable(combinations(axes, size) for size in range(len(axes) + 1)):
        for names in product(*(values[axis] for axis in chosen)):
            for column in columns:
                yield column, dict(zip(chosen, names, strict=True))


def _of_slice(table: Table, column: Column, slice_of: Mapping[str, str]) -> Iterator[Candidate]:
    function = "rate" if column.is_binary else "mean"
    where = "".join(f", {key}={_text(value)}" for key, value in slice_of.items())
    calls = [f"{function}({column.name}{where})"]
    first, *others = table.values("condition")
    if function == "rate" and "condition" not in slice_of and TURN not in table.names and _writable(first):
        sides = [f"{_text(first)}, {_text(other)}" for other in others if _writable(other)]
        pairs = ("difference", "override", "rescue")
        calls += [f"{name}({column.name}, {side}{where})" for side in sides for name in pairs]
    for text in calls:
        if len(text) > MAX_LENGTH // 3:
            continue
        try:
            estimate = evaluate(parse(text), table, Scope())
        except UnpairedError:
            continue
        if estimate.value is not None:
            spread = evaluate(parse(f"se({text})"), table, Scope()).value if text is calls[0] else None
            yield from _of_estimate(text, estimate, estimate.value, spread, tuple(slice_of.values()))


def _of_estimate(
    text: str, estimate: Estimate, value: float, spread: float | None, names: tuple[str, ...]
) -> Iterator[Candidate]:
    """What may be printed of one estimate: itself, its counts, the ends and half the width of its interval, its se."""
    lo, hi, k = estimate.lo, estimate.hi, estimate.also.get("k")
    yield Candidate(text, value, names)
    if text.startswith("difference") and value:
        yield Candidate(f"-{text}", -value, names)
    if text.startswith(("rate", "mean", "override")):
        yield Candidate(f"n({text})", float(estimate.n), names, "count")
    if isinstance(k, int | float) and text.startswith("rate"):
        yield Candidate(f"k({text})", float(k), names, "count")
    if lo is not None and hi is not None:
        yield Candidate(f"lo({text})", lo, names)
        yield Candidate(f"hi({text})", hi, names)
        yield Candidate(f"(hi({text}) - lo({text})) / 2", (hi - lo) / 2, names, "spread")
    if spread is not None:
        yield Candidate(f"se({text})", spread, names, "spread")


def _writable(value: str) -> bool:
    """Whether the language can write a string: it has no escapes, so not with both kinds of quotes."""
    return "'" not in value or '"' not in value


def _text(value: str) -> str:
    return f'"{value}"' if "'" in value else f"'{value}'"
