"""First-order rules as data, and a checker that is complete for them.

A rule says: whatever satisfies all of `given` satisfies `then`. 'P requires Q' is P → Q, 'P excludes Q' is P → ¬Q.
Every rule here holds by the definitions in predicates.py or by a theorem that is named beside it; generalisations that
only happen to hold in a list of examples (chaotic → mixing, dissipative → bounded) are not rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from perpend.errors import DataError, did_you_mean
from perpend.studies.logic.chaos.predicates import PREDICATES

Literal: TypeAlias = tuple[str, bool]


@dataclass(frozen=True, slots=True)
class Rule:
    """All of `given` → `then`. `why` names the ground."""

    given: tuple[Literal, ...]
    then: Literal
    why: str = "definition"

    def clause(self) -> frozenset[Literal]:
        """The rule as a disjunction: one of `given` fails, or `then` holds."""
        return frozenset([*((name, not holds) for name, holds in self.given), self.then])


def requires(name: str, *needed: str, why: str = "definition") -> tuple[Rule, ...]:
    """Whatever is `name` is each of `needed`."""
    return tuple(Rule(((name, True),), (other, True), why) for other in needed)


def excludes(name: str, *others: str, why: str = "definition") -> tuple[Rule, ...]:
    """Nothing is both `name` and one of `others`; read either way round."""
    return tuple(Rule(((name, True),), (other, False), why) for other in others)


def opposites(name: str, other: str) -> tuple[Rule, ...]:
    """Exactly one of the two holds."""
    return (Rule(((name, True),), (other, False)), Rule(((name, False),), (other, True)))


RULES: tuple[Rule, ...] = (
    *opposites("Deterministic", "Stochastic"),
    *opposites("ContinuousTime", "DiscreteTime"),
    *opposites("Autonomous", "Forced"),
    *requires("Delay", "ContinuousTime", "DimensionAtLeast4"),
    *requires("DimensionAtLeast4", "DimensionAtLeast3"),
    *requires("DimensionAtLeast3", "DimensionAtLeast2"),
    *requires("Chaotic", "Deterministic", "Bounded", "PositiveLargestLyapunov"),
    *excludes("Chaotic", "Periodic", "QuasiPeriodic", "FixedPointAttractor"),
    *requires("Hyperchaotic", "Chaotic"),
    *requires("Hyperchaotic", "DimensionAtLeast2", why="two exponents need two dimensions"),
    *requires("Periodic", "Deterministic", "Bounded"),
    *excludes("Periodic", "QuasiPeriodic", "FixedPointAttractor", "PositiveLargestLyapunov"),
    *requires("QuasiPeriodic", "Deterministic", "Bounded"),
    *excludes("QuasiPeriodic", "FixedPointAttractor", "PositiveLargestLyapunov"),
    *requires("FixedPointAttractor", "Deterministic", "Bounded", "Dissipative"),
    *excludes("FixedPointAttractor", "PositiveLargestLyapunov"),
    *requires("AttractingCycle", "Periodic", "Dissipative"),
    *excludes("VolumePreserving", "Dissipative", why="Liouville: the exponents add up to the mean divergence, zero"),
    *requires("DimensionAboveTwo", "DimensionAtLeast3", why="the dimension of a set is at most that of its space"),
    *excludes("DimensionAboveTwo", "FixedPointAttractor", why="a point has dimension 0"),
    *excludes("DimensionAboveTwo", "AttractingCycle", why="a cycle has dimension 1 at most"),
    Rule(
        (("ContinuousTime", True), ("Autonomous", True), ("Chaotic", True)),
        ("DimensionAtLeast3", True),
        "Poincaré–Bendixson theorem",
    ),
    Rule(
        (("ContinuousTime", True), ("Autonomous", True), ("Hyperchaotic", True), ("Dissipative", True)),
        ("DimensionAtLeast4", True),
        "two positive exponents, one zero, and a negative one to contract",
    ),
    Rule(
        (("DimensionAtLeast2", False), ("Chaotic", True)),
        ("Dissipative", False),
        "the only exponent is positive, so the sum is",
    ),
)


def _known(names: Iterable[str]) -> None:
    for name in names:
        if name not in PREDICATES:
            raise DataError(f"unknown predicate {name!r}; {did_you_mean(name, PREDICATES)}")


def satisfiable(literals: Iterable[Literal], rules: Iterable[Rule] = RULES) -> bool:
    """Whether some assignment makes all literals and all rules true: unit propagation, then a case split (DPLL)."""
    wanted = set(literals)
    clauses = [rule.clause() for rule in rules]
    _known({name for name, _ in wanted} | {name for clause in clauses for name, _ in clause})
    return _search(wanted, clauses)


def _search(known: set[Literal], clauses: list[frozenset[Literal]]) -> bool:
    while True:
        if any((name, not holds) in known for name, holds in known):
            return False
        rest: list[frozenset[Literal]] = []
        forced: set[Literal] = set()
        for clause in clauses:
            if clause & known:
                continue
            left = frozenset(literal for literal in clause if (literal[0], not literal[1]) not in known)
            if not left:
                return False
            if len(left) == 1:
                forced |= left
            rest.append(left)
        if not rest:
            return True
        if not forced:
            break
        known, clauses = known | forced, rest
    name, holds = min(rest[0])
    return _search(known | {(name, holds)}, rest) or _search(known | {(name, not holds)}, rest)


def consistent(assignment: Mapping[str, bool], rules: Iterable[Rule] = RULES) -> bool:
    """Whether a partial assignment can be completed without breaking a rule."""
    return satisfiable(assignment.items(), rules)


def entails(premises: Mapping[str, bool], rules: Iterable[Rule], conclusion: Literal) -> bool:
    """Whether the conclusion holds in every assignment that satisfies premises and rules.

    Complete: it covers forward chaining, exclusion and contraposition. Contradictory premises entail everything, so
    ask `consistent` of them first.
    """
    name, holds = conclusion
    return not satisfiable([*premises.items(), (name, not holds)], rules)


def consequences(assignment: Mapping[str, bool], rules: Iterable[Rule] = RULES) -> dict[str, bool]:
    """What unit propagation adds to a consistent partial assignment: every rule read forwards and by contraposition."""
    known = dict(assignment)
    clauses = [rule.clause() for rule in rules]
    while True:
        forced = dict[str, bool]()
        for clause in clauses:
            left = [(name, holds) for name, holds in clause if known.get(name) is not (not holds)]
            if len(left) == 1 and left[0][0] not in known:
                forced.update(left)
        if not forced:
            return {name: value for name, value in known.items() if name not in assignment}
        known |= forced


def violations(assignment: Mapping[str, bool], rules: Iterable[Rule] = RULES) -> tuple[Rule, ...]:
    """The rules whose `given` all hold in a partial assignment and whose `then` is denied by it."""
    return tuple(
        rule
        for rule in rules
        if all(assignment.get(name) is holds for name, holds in rule.given)
        and assignment.get(rule.then[0]) is (not rule.then[1])
    )
