"""Rules as clauses, and what follows from them: the generator's checker.

A literal is a whole number that is not zero: +3 says that the third property holds, -3 that it does not. All rules
speak of any object of one class, so an object is a choice of properties that makes every rule true. The checker
propagates and splits (DPLL); the solver that reads the questions again (`solving/truth_table.py`) enumerates, and
shares no code with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

Literal: TypeAlias = int
Clause: TypeAlias = tuple[Literal, ...]
Masks: TypeAlias = tuple[int, int]

IF, ANY, EITHER, IFF, SOME = "if", "any", "either", "iff", "some"


@dataclass(frozen=True, slots=True)
class GivenRule:
    """A rule as it is worded.

    join     says
    if       whatever has all of `given` has one of `then`
    any      whatever has one of `given` has one of `then`
    either   whatever has all of `given` has exactly one of the two `then`
    iff      `given` (one) holds exactly where `then` (one) does
    some     something has all of `given` and of `then`
    """

    given: Clause
    then: Clause
    join: str = IF
    unless: bool = False
    """'if not A then B' is worded 'B unless A'."""

    def clauses(self, *, strong: bool = False) -> tuple[Clause, ...]:
        """What the rule says of every object; nothing for `some`.

        `strong` reads 'B unless A' as 'B or A, and not both', as some people do. A question must have the same answer
        in both readings.
        """
        denied = tuple(-literal for literal in self.given)
        if self.join == SOME:
            return ()
        if self.join == ANY:
            return tuple((literal, *self.then) for literal in denied)
        clauses: tuple[Clause, ...] = ((*denied, *self.then),)
        if self.join == EITHER:
            clauses += ((*denied, *(-literal for literal in self.then)),)
        if self.join == IFF or (strong and self.unless):
            clauses += ((self.given[0], -self.then[0]),)
        return clauses

    def witness(self) -> Clause | None:
        """What some object must have; None for rules that need no object."""
        return (*self.given, *self.then) if self.join == SOME else None

    def renamed(self, names: Mapping[Literal, Literal]) -> GivenRule:
        """The same rule of other literals; `names` has both signs, and what is not in it stays."""
        return replace(
            self,
            given=tuple(names.get(literal, literal) for literal in self.given),
            then=tuple(names.get(literal, literal) for literal in self.then),
        )

    def atoms(self) -> frozenset[int]:
        """The properties that it names."""
        return frozenset(abs(literal) for literal in (*self.given, *self.then))

    def negations(self) -> int:
        """How many of its literals are denied."""
        return sum(literal < 0 for literal in (*self.given, *self.then))


def all_clauses(rules: Iterable[GivenRule], *, strong: bool = False) -> list[Masks]:
    """What the rules say of every object, as masks."""
    return [_masks(clause) for rule in rules for clause in rule.clauses(strong=strong)]


def _masks(literals: Iterable[Literal]) -> Masks:
    """(asserted, denied), one bit for each property."""
    asserted = denied = 0
    for literal in literals:
        if literal > 0:
            asserted |= 1 << literal
        else:
            denied |= 1 << -literal
    return asserted, denied


def satisfiable(clauses: Sequence[Masks], known: Iterable[Literal]) -> bool:
    """Whether some object has all of `known` and obeys all clauses: unit propagation, then a split on one literal."""
    return _search(clauses, *_masks(known))


def _search(rest: Sequence[Masks], true: int, false: int) -> bool:
    while True:
        before = true, false
        left: list[Masks] = []
        for asserted, denied in rest:
            if asserted & true or denied & false:
                continue
            may, may_not = asserted & ~false, denied & ~true
            if (may and may_not) or may & (may - 1) or may_not & (may_not - 1):
                left.append((may, may_not))
            else:
                if not may | may_not:
                    return False
                true, false = true | may, false | may_not
        if true & false:
            return False
        if (true, false) == before:
            break
        rest = left
    if not left:
        return True
    may, may_not = left[0]
    bit = (may or may_not) & -(may or may_not)
    return _search(left, true | bit, false) or _search(left, true, false | bit)


def entails(clauses: Sequence[Masks], known: Clause, conclusion: Clause) -> bool:
    """Whether every object that has all of `known` has one of `conclusion`; True where there is none."""
    return not satisfiable(clauses, (*known, *(-literal for literal in conclusion)))
