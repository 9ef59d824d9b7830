"""The language of claims: functions of columns, numbers, + - * /, and comparisons. Read by a parser, never run.

    disagreement(mentioned, endorsed)
    100 * -difference(correct@1, control, asch_history_5, model='instruct')
    rate(correct, condition='control') > rate(correct, condition='asch_history_5')
    p(difference(correct, 0, 1, over='temperature'))

There are no names but functions and columns, and no way to reach anything else: an expression is data.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from perpend.errors import SpecError, did_you_mean

MAX_LENGTH = 2000
MAX_TOKENS = 300
MAX_DEPTH = 30

Operator: TypeAlias = Literal["+", "-", "*", "/"]
Relation: TypeAlias = Literal["<", "<=", ">", ">="]

# How many columns each takes. PAIRED ones also take the two sides; PARTS take another expression.
COLUMNS = {
    "rate": 1, "mean": 1, "difference": 1, "override": 1, "rescue": 1, "flip": 1, "odds_ratio": 1, "disagreement": 2,
    "ece": 2, "brier": 2, "balanced_accuracy": 1, "mcc": 1, "trials": 0, "items": 0, "regression": 1,
    "turn_of_flip": 1, "number_of_flips": 1, "win_rate": 1, "discrete_win_rate": 1, "wins": 1, "losses": 1, "draws": 1,
    "rank": 1, "tier": 1,
}  # fmt: skip
PAIRED = frozenset(("difference", "override", "rescue", "flip", "odds_ratio"))
RANKED = frozenset(("rank", "tier"))
PARTS = ("n", "k", "p", "p_exact", "lo", "hi", "se")
OVER = "over"
"""The keyword that says which key the two sides of a pair, or what is ranked, are values of."""
OPTIONS = {
    "ece": ("bins",), "regression": ("term", "terms", "outcome"), "rank": ("best",), "tier": ("best",),
}  # fmt: skip
"""Named arguments of a function that are no slice."""

_TOKEN = re.compile(
    r"(?P<space>\s+)|(?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?)|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<text>'[^']*'|\"[^\"]*\")|(?P<mark><=|>=|[-+*/()<>,=@])"
)


@dataclass(frozen=True, slots=True)
class Constant:
    """A number as written."""

    value: float


@dataclass(frozen=True, slots=True)
class Negative:
    """Minus something."""

    of: Expression


@dataclass(frozen=True, slots=True)
class Operation:
    """Two expressions joined by + - * or /."""

    sign: Operator
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Call:
    """A function of columns: its sides where it compares two, and the slice that it is of."""

    function: str
    columns: tuple[str, ...]
    sides: tuple[str | float, str | float] | None = None
    over: str | None = None
    where: Mapping[str, str | float] = field(default_factory=dict)
    options: Mapping[str, str | float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Part:
    """n, k, p, p_exact, lo, hi or se of what an expression gives; `of` a name means the trials of that column."""

    name: str
    of: Expression | str


Expression: TypeAlias = Constant | Negative | Operation | Call | Part


@dataclass(frozen=True, slots=True)
class Order:
    """A chain of comparisons: terms[0] relations[0] terms[1] …"""

    terms: tuple[Expression, ...]
    relations: tuple[Relation, ...]


def parse(text: str) -> Expression:
    """The expression in a string. Anything else is a SpecError with its place."""
    parser = _Parser(text)
    expression = parser.sum(0)
    parser.end()
    return expression


def parse_order(text: str) -> Order:
    """A chain of at least two expressions joined by < <= > >=."""
    parser = _Parser(text)
    terms, relations = [parser.sum(0)], []
    while (relation := parser.relation()) is not None:
        relations.append(relation)
        terms.append(parser.sum(0))
    parser.end()
    if not relations:
        raise SpecError(f"{text!r}: compares nothing; write for example 'rate(correct) > 0.5'")
    return Order(tuple(terms), tuple(relations))


def columns_of(expression: Expression) -> Iterator[str]:
    """Every column that an expression names."""
    match expression:
        case Call():
            yield from expression.columns
        case Part(of=str() as column):
            yield column
        case Part(of=inner) if not isinstance(inner, str):
            yield from columns_of(inner)
        case Negative():
            yield from columns_of(expression.of)
        case Operation():
            yield from columns_of(expression.left)
            yield from columns_of(expression.right)


class _Parser:
    """Recursive descent over at most MAX_LENGTH characters and MAX_TOKENS tokens, at most MAX_DEPTH deep."""

    def __init__(self, text: str) -> None:
        if len(text) > MAX_LENGTH:
            raise SpecError(f"an expression has {len(text)} characters; at most {MAX_LENGTH} are read")
        self.text = text
        self.tokens: list[tuple[str, str, int]] = []
        self.next = 0
        place = 0
        while place < len(text):
            token = _TOKEN.match(text, place)
            if token is None:
                raise self.error(f"{text[place]!r} means nothing here", place)
            if token.lastgroup is not None and token.lastgroup != "space":
                self.tokens.append((token.lastgroup, token.group(), place))
            place = token.end()
        if len(self.tokens) > MAX_TOKENS:
            raise SpecError(f"an expression has {len(self.tokens)} words and marks; at most {MAX_TOKENS} are read")
        self.tokens.append(("end", "", len(text)))

    def error(self, what: str, place: int) -> SpecError:
        return SpecError(f"{self.text!r}, character {place + 1}: {what}")

    def peek(self, ahead: int = 0) -> tuple[str, str, int]:
        return self.tokens[min(self.next + ahead, len(self.tokens) - 1)]

    def take(self, kind: str, value: str = "") -> str | None:
        """The next token where it is of that kind (and value); otherwise None, and nothing is taken."""
        next_kind, text, _ = self.peek()
        if next_kind != kind or (value and text != value):
            return None
        self.next += 1
        return text

    def expect(self, kind: str, value: str, what: str) -> str:
        taken = self.take(kind, value)
        if taken is None:
            _, text, place = self.peek()
            raise self.error(f"expected {what}, not {text or 'the end'!r}", place)
        return taken

    def end(self) -> None:
        self.expect("end", "", "an operator or the end")

    def relation(self) -> Relation | None:
        marks: tuple[Relation, ...] = ("<=", ">=", "<", ">")
        return next((mark for mark in marks if self.take("mark", mark)), None)

    def sum(self, depth: int) -> Expression:
        left = self.product(depth)
        while (sign := self.sign("+", "-")) is not None:
            left = Operation(sign, left, self.product(depth))
        return left

    def product(self, depth: int) -> Expression:
        left = self.factor(depth)
        while (sign := self.sign("*", "/")) is not None:
            left = Operation(sign, left, self.factor(depth))
        return left

    def sign(self, *signs: Operator) -> Operator | None:
        return next((sign for sign in signs if self.take("mark", sign)), None)

    def factor(self, depth: int) -> Expression:
        _, text, place = self.peek()
        if depth > MAX_DEPTH:
            raise self.error(f"nested more than {MAX_DEPTH} deep", place)
        if self.take("mark", "-"):
            return Negative(self.factor(depth + 1))
        if self.take("mark", "("):
            inner = self.sum(depth + 1)
            self.expect("mark", ")", "')'")
            return inner
        number = self.take("number")
        if number is not None:
            return Constant(float(number))
        name = self.take("name")
        if name is None:
            raise self.error(f"expected a number or a function, not {text or 'the end'!r}", place)
        if name not in COLUMNS and name not in PARTS:
            raise self.error(f"unknown function {name!r}; {did_you_mean(name, [*COLUMNS, *PARTS])}", place)
        self.expect("mark", "(", f"'(' after {name}")
        return self.part(name, depth + 1) if name in PARTS else self.call(name, place)

    def part(self, name: str, depth: int) -> Part:
        _, text, place = self.peek()
        of: Expression | str
        if name == "n" and self.peek()[0] == "name" and text not in COLUMNS and self.peek(1)[1] != "(":
            of = self.column()
        else:
            of = self.sum(depth)
        self.expect("mark", ")", "')'")
        if name in ("p", "p_exact") and (not isinstance(of, Call) or not has_test(name, of.function)):
            more = "odds_ratio(…); p() takes ece(…) and regression(…) too"
            raise self.error(f"{name}() is of a test: give difference(…) or {more}", place)
        if name == "k" and (not isinstance(of, Call) or of.function not in COUNTED):
            raise self.error(f"k() counts: give one of {', '.join(sorted(COUNTED))}", place)
        if name == "se" and (not isinstance(of, Call) or of.function not in AVERAGED):
            raise self.error(f"se() is of a mean: give one of {', '.join(sorted(AVERAGED))}", place)
        return Part(name, of)

    def column(self) -> str:
        name = self.expect("name", "", "a column")
        if not self.take("mark", "@"):
            return name
        version = self.take("name") or self.take("number")
        if version is None:
            raise self.error(f"expected a version after {name}@", self.peek()[2])
        return f"{name}@{version}"

    def call(self, function: str, place: int) -> Call:
        columns: list[str] = []
        sides: list[str | float] = []
        named: dict[str, str | float] = {}
        while not self.take("mark", ")"):
            if columns or sides or named:
                self.expect("mark", ",", "',' or ')'")
            kind, text, at = self.peek()
            if kind == "name" and self.peek(1)[1] == "=":
                self.next += 2
                if text in named:
                    raise self.error(f"{text} is given twice", at)
                named[text] = self.value()
            elif kind == "name" and not named and not sides:
                columns.append(self.column())
            elif not named:
                sides.append(self.value())
            else:
                raise self.error(f"expected {text}=… after a named argument", at)
        return self.checked(Call(function, tuple(columns), where=named), sides, place)

    def checked(self, call: Call, sides: list[str | float], place: int) -> Call:
        name, wanted = call.function, COLUMNS[call.function]
        if name in PAIRED and len(call.columns) == wanted + 2 and not sides:  # sides without quotes
            call, sides = replace(call, columns=call.columns[:wanted]), list(call.columns[wanted:])
        if len(call.columns) != wanted:
            count = f"{wanted} column{'' if wanted == 1 else 's'}"
            raise self.error(f"{name}() takes {count}, not {len(call.columns)}", place)
        if name not in PAIRED and (sides or (OVER in call.where and name not in RANKED)):
            raise self.error(f"{name}() compares nothing, so it takes no sides; write key=value for a slice", place)
        if len(sides) not in (0, 2):
            raise self.error(f"{name}() takes two sides, such as 'control', 'asch_history_5'", place)
        over = call.where.get(OVER)
        if over is not None and not isinstance(over, str):
            raise self.error(f"{OVER} is a key's name, such as 'condition' or 'temperature'", place)
        own = (*OPTIONS.get(name, ()), OVER)
        where = {key: value for key, value in call.where.items() if key not in own}
        options = {key: value for key, value in call.where.items() if key in own and key != OVER}
        return Call(name, call.columns, (sides[0], sides[1]) if sides else None, over, where, options)

    def value(self) -> str | float:
        text = self.take("text")
        if text is not None:
            return text[1:-1]
        minus = self.take("mark", "-")
        number = self.take("number")
        if number is None:
            kind, text, place = self.peek()
            hint = f"; write {text!r} in quotes" if kind == "name" else ""
            raise self.error(f"expected a string in quotes or a number, not {text or 'the end'!r}{hint}", place)
        return -float(number) if minus else float(number)


COUNTED = frozenset(("rate", "override", "rescue", "flip", "disagreement"))
AVERAGED = frozenset(("rate", "mean", "win_rate", "discrete_win_rate", "turn_of_flip", "number_of_flips"))


def has_test(part: str, function: str) -> bool:
    """Whether a function's Estimate carries that p."""
    return function in ("difference", "odds_ratio") or (part == "p" and function in ("ece", "regression"))
