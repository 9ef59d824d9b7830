"""claims.toml → Claims. An unknown key is an error with a suggestion and its line; digits are read as they are written.

[[claim]]
name   = "mention_mismatch"
says   = "42.4% of opinion trials differ between mention and endorsement"
number = "disagreement(mentioned, endorsed)"
where  = { kind = "opinion" }
expect = 0.424
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias, TypeVar

from perpend.canon import read_text
from perpend.errors import SpecError, did_you_mean
from perpend.proof.claims.evaluate import Scope, Value
from perpend.proof.claims.language import (
    Call,
    Constant,
    Expression,
    Negative,
    Operation,
    Order,
    Part,
    columns_of,
    parse,
    parse_order,
)
from perpend.toml import LONGEST_TOML, parse_toml

KEYS = (
    "name", "says", "run", "number", "where", "by", "pair", "over", "expect", "within",
    "order", "significant", "alpha", "family", "cell", "unpublished",
)  # fmt: skip
T = TypeVar("T")
UNDEFINED = "undefined"
"""What `expect` says where the text prints NA."""
Expected: TypeAlias = Decimal | None
"""A number as it is written; None: the claim is that it is undefined."""
_HEADER = re.compile(r"^\s*\[\[\s*claim\s*\]\]")
ALPHA = 0.05
WHOLE = ""
"""The slice of a claim without `by`."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One sentence of a paper and what must hold for it.

    `expect` and `significant` are by slice, WHOLE where the claim has no `by`; empty, nothing of that kind is claimed.
    """

    name: str
    says: str
    where_from: str
    scope: Scope
    text: str
    formula: Expression | Order
    """What `text` writes."""
    run: str | None = None
    by: str | None = None
    expect: Mapping[str, Expected] = field(default_factory=dict)
    within: float | None = None
    significant: Mapping[str, bool] = field(default_factory=dict)
    alpha: float = ALPHA
    family: str = ""
    cell: str = ""
    """Where the text prints it: file, table, row and column."""
    unpublished: str = ""
    """What the claim rests on that nobody published; where the number does not recompute, it is not checkable."""

    def columns(self) -> Iterable[str]:
        """Every column that the claim needs."""
        terms = self.formula.terms if isinstance(self.formula, Order) else (self.formula,)
        return dict.fromkeys(column for term in terms for column in columns_of(term))

    def tolerance(self, expected: Decimal) -> float:
        """`within`, or half a unit of the last digit that is written: 0.0005 for 0.424, 0.5 for 120."""
        return half_unit(expected) if self.within is None else self.within


def half_unit(written: Decimal) -> float:
    """Half a unit of the last digit of a number as it is written."""
    exponent = written.as_tuple().exponent
    return 0.5 * 10.0**exponent if isinstance(exponent, int) else 0.0


def read_claims(path: Path) -> list[Claim]:
    """The claims of a file."""
    return list(read_claims_file(path).claims)


@dataclass(frozen=True, slots=True)
class ClaimsFile:
    """The claims of a file, and the runs that it names: paths from the folder that it is in."""

    claims: tuple[Claim, ...]
    runs: tuple[Path, ...] = ()


def read_claims_file(path: Path) -> ClaimsFile:
    """The claims of a file and the runs that `runs` at its head names."""
    text = read_text(path, SpecError, "give a claims.toml", longest=LONGEST_TOML)
    try:
        # Decimal keeps the digits: 0.4240 claims more than 0.424.
        body = parse_toml(text, parse_float=Decimal)
    except (ValueError, ArithmeticError) as error:
        raise SpecError(f"{path}: not TOML: {error}") from None
    reader = _Reader(path.name, text.splitlines())
    for key in body:
        if key not in ("claim", "runs"):
            raise SpecError(f"{reader.place(None, key)}: unknown key {key!r}; a claim begins with [[claim]]")
    runs = body.get("runs", [])
    if not isinstance(runs, list) or not all(isinstance(one, str) and one.strip() and "\0" not in one for one in runs):
        raise SpecError(f'{reader.place(None, "runs")}: runs is a list of paths, as ["runs/study"]')
    entries = body.get("claim", [])
    if not isinstance(entries, list) or not entries:
        raise SpecError(f"{path}: no claim; begin each with [[claim]]")
    claims = [reader.claim(number, entry) for number, entry in enumerate(entries)]
    seen: dict[str, Claim] = {}
    for claim in claims:
        if claim.name in seen:
            other = seen[claim.name].where_from
            raise SpecError(f"{claim.where_from}: the name {claim.name!r} is that of the claim at {other} too")
        seen[claim.name] = claim
    return ClaimsFile(tuple(claims), tuple(path.parent / one for one in runs))


class _Reader:
    """Reads the entries of one file and knows where each key is in it."""

    def __init__(self, name: str, lines: Sequence[str]) -> None:
        self.name, self.lines = name, lines
        self.starts = [number for number, line in enumerate(lines) if _HEADER.match(line)]

    def place(self, claim: int | None, key: str = "") -> str:
        """file:line of a key, of the claim where the key is not found, or just the file."""
        first, last = 0, len(self.lines)
        if claim is not None and claim < len(self.starts):
            first = self.starts[claim]
            last = self.starts[claim + 1] if claim + 1 < len(self.starts) else last
        wanted = re.compile(rf"^\s*(?:[\[\"']\s*)?(?:claim\.)?{re.escape(key)}\b")
        line = next((n for n in range(first, last) if key and wanted.match(self.lines[n])), None)
        if line is None and claim is not None and claim < len(self.starts):
            line = first
        return self.name if line is None else f"{self.name}:{line + 1}"

    def claim(self, number: int, entry: object) -> Claim:
        where = self.place(number)
        if not isinstance(entry, dict):
            raise SpecError(f"{where}: a claim is a table; begin it with [[claim]]")
        for key in entry:
            if key not in KEYS:
                raise SpecError(f"{self.place(number, str(key))}: unknown key {key!r}; {did_you_mean(str(key), KEYS)}")
        field_of = _Fields(self, number, entry)
        by = field_of.text("by")
        if entry.get("number") == "":
            raise SpecError(f"{self.place(number, 'number')}: number is blank; write the expression that recomputes it")
        source, order = field_of.text("number"), field_of.text("order")
        if (source is None) == (order is None):
            raise SpecError(f'{where}: a claim has either number = "…" or order = "…"')
        name = field_of.text("name") or f"claim {number + 1}"
        claim = Claim(
            name=name,
            says=field_of.text("says") or name,
            where_from=where,
            scope=Scope(field_of.where(), field_of.pair(), field_of.text("over") or "condition"),
            text=source or order or "",
            formula=field_of.parsed("order", order, parse_order) if order else field_of.parsed("number", source, parse),
            run=field_of.text("run"),
            by=by,
            expect=field_of.sliced("expect", by, field_of.expected),
            within=field_of.positive("within"),
            significant=field_of.sliced("significant", by, field_of.truth),
            alpha=field_of.positive("alpha") or ALPHA,
            family=field_of.text("family") or name,
            cell=field_of.text("cell") or "",
            unpublished=field_of.text("unpublished") or "",
        )
        _consistent(claim)
        return claim


def _consistent(claim: Claim) -> None:
    where = claim.where_from
    is_order = isinstance(claim.formula, Order)
    if is_order and (claim.expect or claim.significant):
        raise SpecError(f"{where}: 'order' compares values; 'expect' and 'significant' go with 'number'")
    if not is_order and not claim.expect and not claim.significant:
        raise SpecError(f"{where}: nothing is claimed of the number; give 'expect' or 'significant'")
    _depends(claim)
    if claim.alpha >= 1.0:
        raise SpecError(f"{where}: alpha is between 0 and 1, as in 0.05")
    if claim.by is not None and claim.by in claim.scope.where:
        raise SpecError(f"{where}: {claim.by!r} is in 'by' and in 'where'; keep one")


def _depends(claim: Claim) -> None:
    """A claim that holds on any data is none, so it is an error."""
    where, formula = claim.where_from, claim.formula
    if isinstance(formula, Order):
        for one, other in pairwise(formula.terms):
            if is_same(one, other):
                raise SpecError(f"{where}: {claim.text!r} compares what is the same on any data; {_NAME_DATA}")
    elif is_constant(formula):
        raise SpecError(f"{where}: {claim.text!r} is the same on any data; {_NAME_DATA}")


_NAME_DATA = "write it with a column or a count that it depends on, as rate(correct) or trials()"


class _Fields:
    """The keys of one claim, each read with its type and its place."""

    def __init__(self, reader: _Reader, number: int, entry: Mapping[str, object]) -> None:
        self.reader, self.number, self.entry = reader, number, entry

    def error(self, key: str, what: str) -> SpecError:
        return SpecError(f"{self.reader.place(self.number, key)}: {key} {what}")

    def text(self, key: str) -> str | None:
        value = self.entry.get(key)
        if value is not None and (not isinstance(value, str) or not value.strip()):
            raise self.error(key, f"must be a string, not {_shown(value)}")
        return value

    def parsed(self, key: str, text: str | None, parser: Callable[[str], T]) -> T:
        try:
            return parser(text or "")
        except SpecError as error:
            raise SpecError(f"{self.reader.place(self.number, key)}: {error}") from None

    def positive(self, key: str) -> float | None:
        value = self.entry.get(key)
        if value is None:
            return None
        number = _number(value)
        if number is None or number <= 0:
            raise self.error(key, f"must be a number above 0, not {_shown(value)}")
        return float(number)

    def where(self) -> dict[str, Value | tuple[Value, ...]]:
        table = self.entry.get("where", {})
        if not isinstance(table, dict):
            raise self.error("where", 'must be a table, as { kind = "opinion" }')
        return {
            str(key): tuple(self.value("where", one) for one in value)
            if isinstance(value, list) and value
            else self.value("where", value)
            for key, value in table.items()
        }

    def value(self, key: str, value: object) -> Value:
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, str):
            return value
        number = _number(value)
        if number is None:
            raise self.error(key, f"holds texts and numbers, not {_shown(value)}")
        return float(number)

    def pair(self) -> tuple[Value, Value] | None:
        value = self.entry.get("pair")
        if value is None:
            return None
        if not isinstance(value, list) or len(value) != 2:
            raise self.error("pair", 'is two values, as ["control", "asch_history_5"]')
        return self.value("pair", value[0]), self.value("pair", value[1])

    def sliced(self, key: str, by: str | None, read: Callable[[str, object], T]) -> dict[str, T]:
        """One entry for each slice of a table, or one under WHOLE."""
        value = self.entry.get(key)
        if value is None:
            return {}
        if isinstance(value, dict):
            if by is None:
                raise self.error(key, 'is a table by slice; say which with by = "…"')
            return {str(name): read(key, one) for name, one in value.items()}
        if by is not None:
            raise self.error(key, f"must be a table with one entry for each {by}, as {{ a = 0.4, b = 0.5 }}")
        return {WHOLE: read(key, value)}

    def expected(self, key: str, value: object) -> Expected:
        if value == UNDEFINED:
            return None
        number = _number(value)
        if number is None:
            raise self.error(key, f"must be a number or {UNDEFINED!r}, not {_shown(value)}")
        if number.is_zero() and half_unit(number) > 0.5:
            raise self.error(key, f"is zero to the nearest {2 * half_unit(number):g}; write it as 0, or as 0.0")
        return number

    def truth(self, key: str, value: object) -> bool:
        if not isinstance(value, bool):
            raise self.error(key, f"must be true or false, not {_shown(value)}")
        return value


def _number(value: object) -> Decimal | None:
    """A finite number as it is written; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, Decimal | int):
        return None
    number = Decimal(value)
    exponent = number.as_tuple().exponent
    return number if isinstance(exponent, int) and exponent < 300 and abs(number) < Decimal("1e300") else None


def _shown(value: object) -> str:
    return str(value) if isinstance(value, Decimal) else f"{value!r:.80}"


_DRAWS = 3
_LARGEST = 1 << 40


def is_constant(expression: Expression) -> bool:
    """Whether an expression has one value, or none, whatever its functions of the data come to.

    They are drawn at random, the same function the same number, and the rest is computed exactly: two expressions that
    are not the same agree at one such draw with a probability below 1e-9. Functions that are written in two ways count
    as different, even where they come to the same.
    """
    return len({_value(expression, _drawn(seed)) for seed in range(_DRAWS)}) == 1


def is_same(left: Expression, right: Expression) -> bool:
    """Whether two expressions differ by a constant whatever the data are, so that to compare them claims nothing."""
    return is_constant(Operation("-", left, right))


def _drawn(seed: int) -> Callable[[Expression], Fraction]:
    return lambda leaf: Fraction(random.Random(f"{seed} {leaf!r}").randrange(1, _LARGEST), _LARGEST)


def _value(expression: Expression, drawn: Callable[[Expression], Fraction]) -> Fraction | None:
    """The value where each function of the data is what `drawn` says; None where it is divided by zero."""
    match expression:
        case Constant(value=value):
            return Fraction(value)
        case Negative(of=inner):
            value_of = _value(inner, drawn)
            return None if value_of is None else -value_of
        case Operation(sign=sign, left=left, right=right):
            a, b = _value(left, drawn), _value(right, drawn)
            if a is None or b is None or (sign == "/" and b == 0):
                return None
            return a + b if sign == "+" else a - b if sign == "-" else a * b if sign == "*" else a / b
        case Part(name=name, of=inner) if not isinstance(inner, str):
            # The ends of the interval of a constant are its own; its denominator is that of the data in it.
            depends = _has_data(inner) if name == "n" else not is_constant(inner)
            return drawn(expression) if depends else Fraction(0)
    return drawn(expression)


def _has_data(expression: Expression) -> bool:
    match expression:
        case Negative(of=inner):
            return _has_data(inner)
        case Operation(left=left, right=right):
            return _has_data(left) or _has_data(right)
        case Part(of=inner):
            return isinstance(inner, str) or _has_data(inner)
    return isinstance(expression, Call)
