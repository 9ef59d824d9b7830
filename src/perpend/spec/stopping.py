"""When a run may stop: the language of `stop_when`, and how often it is looked at. Read by a parser, never run.

    width(correct) < 0.05                                       in every condition
    width(correct, control) < 0.05                              in one
    width(correct, asch_history_5 - control) < 0.1              of a paired difference
    low(correct) > 0.8 or high(correct) < 0.8                   decided against a value

A term is width, low or high of the interval of a score, compared with a number. `and` binds closer than `or`. A name
that is not letters, digits, '_', '.' and '@' is written in quotes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from perpend.errors import SpecError, did_you_mean
from perpend.types import Estimate

_MOST_CHARACTERS = 1000
_SIDES = {"width": ("<", "<="), "low": (">", ">="), "high": ("<", "<=")}
_TOKEN = re.compile(
    r"(?P<space>\s+)|(?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?)|(?P<name>[^\W\d][\w.@]*)"
    r"|(?P<text>'[^']*'|\"[^\"]*\")|(?P<mark><=|>=|[-()<>,])"
)
_PLAIN = re.compile(r"[^\W\d][\w.@]*")
_EXAMPLE = "for example width(correct) < 0.05"

Place: TypeAlias = tuple[str, str | None]
"""(condition, None), or (condition, the one that is taken from it)."""


@dataclass(frozen=True, slots=True)
class StopTerm:
    """One comparison. `condition` None: the term is of every condition; with `minus` it is of condition - minus."""

    what: str
    score: str
    condition: str | None
    minus: str | None
    sign: str
    bound: float

    def __str__(self) -> str:
        place = "" if self.condition is None else f", {_written(self.condition)}"
        place += "" if self.minus is None else f" - {_written(self.minus)}"
        return f"{self.what}({_written(self.score)}{place}) {self.sign} {self.bound:.15g}"

    def place(self, condition: str) -> Place:
        """What the term is of where the rule is looked at in a condition."""
        return (condition, None) if self.condition is None else (self.condition, self.minus)

    def holds(self, one: Estimate) -> bool:
        """Whether an interval is as the term wants it; without an interval it is not."""
        if one.lo is None or one.hi is None:
            return False
        value = {"width": one.hi - one.lo, "low": one.lo, "high": one.hi}[self.what]
        return {
            "<": value < self.bound,
            "<=": value <= self.bound,
            ">": value > self.bound,
            ">=": value >= self.bound,
        }[self.sign]


@dataclass(frozen=True, slots=True)
class StopRule:
    """Terms, joined by `and` within a clause, and clauses by `or`."""

    clauses: tuple[tuple[StopTerm, ...], ...]

    def __str__(self) -> str:
        return " or ".join(" and ".join(map(str, clause)) for clause in self.clauses)

    @property
    def terms(self) -> Iterator[StopTerm]:
        """Every term, in order."""
        return (term for clause in self.clauses for term in clause)

    @property
    def scores(self) -> tuple[str, ...]:
        """The scores that it names, each once."""
        return tuple(dict.fromkeys(term.score for term in self.terms))

    def targets(self, conditions: Sequence[str]) -> list[tuple[str, Place]]:
        """The numbers that it looks at, each once: a score, and where."""
        return list(dict.fromkeys((term.score, term.place(one)) for term in self.terms for one in conditions))

    def holds(self, conditions: Sequence[str], number: Callable[[str, Place], Estimate]) -> bool:
        """Whether it holds in every condition."""
        return all(
            any(all(term.holds(number(term.score, term.place(one))) for term in clause) for clause in self.clauses)
            for one in conditions
        )

    def resolved(self, scorers: Sequence[str], conditions: Sequence[str]) -> StopRule:
        """The rule with the full names of its scores ('correct@2'). A name that a task does not have is a SpecError."""
        return StopRule(
            tuple(tuple(_resolved(term, scorers, conditions) for term in clause) for clause in self.clauses)
        )


@dataclass(frozen=True, slots=True)
class StopSpec:
    """A rule, and after how many items each look at it comes; without a number, at most twenty times."""

    rule: StopRule
    look_every: int | None = None

    def __post_init__(self) -> None:
        every = self.look_every
        if every is not None and (isinstance(every, bool) or not isinstance(every, int) or every < 1):
            raise SpecError(f"look_every must be an integer of 1 or more, not {every!r:.80}")

    def as_json(self) -> dict[str, str | int | None]:
        """What of it belongs to a run's question."""
        return {"when": str(self.rule), "look_every": self.look_every}


def stop_spec(when: object, look_every: object = None, where: str = "") -> StopSpec | None:
    """The StopSpec of the two keys of run.toml; None where neither is given."""
    prefix = f"{where}: " if where else ""
    if when is None:
        if look_every is not None:
            raise SpecError(f"{prefix}look_every says when to look; stop_when says what for ({_EXAMPLE})")
        return None
    if not isinstance(when, str):
        raise SpecError(f"{prefix}stop_when must be a string, not {when!r:.80}; {_EXAMPLE}")
    return StopSpec(parse_rule(when), look_every)  # type: ignore[arg-type]  # checked by StopSpec itself


def parse_rule(text: str) -> StopRule:
    """The rule that a text states. What cannot be read is a SpecError that says where and what was expected."""
    if len(text) > _MOST_CHARACTERS:
        raise SpecError(f"stop_when has {len(text)} characters; {_MOST_CHARACTERS} are the most")
    return _Reader(text).rule()


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = list(_tokens(text))
        self.at = 0

    def rule(self) -> StopRule:
        clauses = [[self.term()]]
        while self.at < len(self.tokens):
            word = self.take("'and', 'or' or the end", ("name",), ("and", "or"))
            if word == "and":
                clauses[-1].append(self.term())
            else:
                clauses.append([self.term()])
        return StopRule(tuple(map(tuple, clauses)))

    def term(self) -> StopTerm:
        kind, what, place = self.peek()
        if kind != "name" or what not in _SIDES:
            hint = f"; {did_you_mean(what, _SIDES)}" if kind == "name" else ""
            raise self.wrong(place, f"width(…), low(…) or high(…) expected{_instead(what)}{hint}")
        self.at += 1
        self.take(f"'(' after {what}", ("mark",), ("(",))
        score = self.name("the name of a score, such as correct")
        condition = minus = None
        if self.peek()[1] == ",":
            self.at += 1
            condition = self.name("the name of a condition")
            if self.peek()[1] == "-":
                self.at += 1
                minus = self.name("the condition that is taken from it")
        self.take("')'", ("mark",), (")",))
        place = self.peek()[2]
        sign = self.take("<, <=, > or >=", ("mark",), ("<", "<=", ">", ">="))
        if sign not in _SIDES[what]:
            raise self.wrong(
                place, f"{what} is compared by {_SIDES[what][0]}: {what}(…) {sign} … holds before anything is known"
            )
        negative = self.peek()[1] == "-"
        self.at += negative
        place = self.peek()[2]
        bound = float(self.take("a number", ("number",))) * (-1.0 if negative else 1.0)
        term = StopTerm(what, score, condition, minus, sign, bound)
        if minus is not None and minus == condition:
            raise self.wrong(place, f"{condition} - {minus} is always 0; name two conditions")
        self.check(term, place)
        return term

    def check(self, term: StopTerm, place: int) -> None:
        """A number that an interval can come to: a bound out of reach would never stop, or at once."""
        low, high = (0.0, 1.0) if term.minus is None else (-1.0, 1.0)
        if term.what == "width":
            is_possible = 0.0 < term.bound < high - low
            span = f"above 0 and below {high - low:g}"
        else:
            is_possible = low <= term.bound <= high
            is_possible &= term.bound != (high if term.what == "low" else low)
            span = f"from {low:g} to below {high:g}" if term.what == "low" else f"above {low:g}, up to {high:g}"
        if not is_possible:
            of = "a score" if term.minus is None else "a difference"
            raise self.wrong(place, f"{term.what} of {of} is compared with a number {span}, not {term.bound:g}")

    def name(self, expected: str) -> str:
        text = self.take(expected, ("name", "text"))
        if not text:
            raise self.wrong(self.tokens[self.at - 1][2], f"{expected} expected, not an empty one")
        return text

    def peek(self) -> tuple[str, str, int]:
        return self.tokens[self.at] if self.at < len(self.tokens) else ("end", "", len(self.text))

    def take(self, expected: str, kinds: Iterable[str], words: Iterable[str] = ()) -> str:
        kind, word, place = self.peek()
        if kind not in kinds or (words and word not in words):
            raise self.wrong(place, f"{expected} expected{_instead(word)}")
        self.at += 1
        return word

    def wrong(self, place: int, why: str) -> SpecError:
        return SpecError(f"stop_when {self.text!r}, character {place + 1}: {why.rstrip('?')}. Write {_EXAMPLE}")


def _instead(word: str) -> str:
    return f", not {word!r}" if word else ""


def _tokens(text: str) -> Iterator[tuple[str, str, int]]:
    place = 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise SpecError(
                f"stop_when {text!r}, character {place + 1}: {text[place]!r} has no meaning here. Write {_EXAMPLE}"
            )
        kind = str(match.lastgroup)
        if kind != "space":
            yield kind, match[0][1:-1] if kind == "text" else match[0], place
        place = match.end()


def _written(name: str) -> str:
    if _PLAIN.fullmatch(name):
        return name
    return f'"{name}"' if '"' not in name else f"'{name}'"


def _resolved(term: StopTerm, scorers: Sequence[str], conditions: Sequence[str]) -> StopTerm:
    stem, at, _ = term.score.partition("@")
    versions = [name for name in scorers if name == term.score or (not at and name.partition("@")[0] == stem)]
    if not versions:
        known = {*scorers, *(name.partition("@")[0] for name in scorers)}
        raise SpecError(f"stop_when: the task has no score {term.score!r}; {did_you_mean(term.score, known)}")
    for name in (term.condition, term.minus):
        if name is not None and name not in conditions:
            raise SpecError(f"stop_when: the run has no condition {name!r}; {did_you_mean(name, conditions)}")
    return replace(term, score=versions[-1])


def check_single(stop: StopSpec | None, models: Sequence[str], samplings: int) -> None:
    """SpecError where a run with a rule has several models or samplings: each would stop at an item of its own."""
    if stop is None:
        return
    if len(models) > 1:
        raise SpecError(
            f"stop_when is of one model, and the run has {len(models)} ({', '.join(models[:3])}): run each by itself, "
            "with the same seed; 'perpend compare' pairs the items that they share"
        )
    if samplings > 1:
        raise SpecError(
            f"stop_when is of one sampling, and the run has {samplings}: run each temperature by itself, "
            "with the same seed"
        )
