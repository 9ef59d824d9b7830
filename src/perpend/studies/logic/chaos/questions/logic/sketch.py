"""Arguments that are being made: properties so far, rules, shared facts, and paths from one property to another."""

from __future__ import annotations

from dataclasses import dataclass, field

from perpend.studies.logic.chaos.questions.chance import Chance
from perpend.studies.logic.chaos.questions.logic.theory import ANY, EITHER, IF, IFF, Clause, GivenRule, Literal

SHARE_ASSERTED = 0.62
_COST = {"plain": 1, "joint": 1, "or": 1, "either": 1, "wide": 1, "iff": 1, "two": 2, "cases": 3}
_PLAIN = ("plain",) * 7
_WITH_FACTS = ("joint", "joint", "wide", "wide")
_INNER = ("or", "or", "two", "cases", "cases")
_TWO_WAY = ("either", "iff")


@dataclass(slots=True)
class Sketch:
    """An argument that is being made.

    `one_way`: no path may lead back, and its ends stand in plain rules. `facts_allowed`: a rule may need a shared fact.
    """

    chance: Chance
    name: str
    one_way: bool
    facts_allowed: bool
    atoms: int = 0
    by_cases: bool = False
    rules: list[GivenRule] = field(default_factory=list)
    facts: list[Literal] = field(default_factory=list)

    def share(self, *spot: str) -> float:
        """A number in [0, 1) that belongs to a spot of this argument."""
        return self.chance.share("logic", self.name, *spot)

    def fresh(self) -> Literal:
        """A property that is not yet used, asserted more often than denied."""
        self.atoms += 1
        return self.atoms if self.share("sign", str(self.atoms)) < SHARE_ASSERTED else -self.atoms

    def add(self, given: Clause, then: Clause, join: str = IF) -> GivenRule:
        """A rule, worded forwards or by contraposition where it has one condition and one consequence."""
        spot = str(len(self.rules))
        single = join == IF and len(given) == len(then) == 1
        if single and self.share("turned", spot) < 0.5:
            given, then = (-then[0],), (-given[0],)
        return self.add_as_is(given, then, join)

    def add_as_is(self, given: Clause, then: Clause, join: str = IF) -> GivenRule:
        """A rule, worded forwards."""
        single = join == IF and len(given) == len(then) == 1
        unless = single and given[0] < 0 and self.share("unless", str(len(self.rules))) < 0.4
        rule = GivenRule(given, then, join, unless)
        self.rules.append(rule)
        return rule

    def path(self, start: Literal, end: Literal, steps: int) -> list[GivenRule]:
        """Rules, `steps` of them, that lead from one literal to another; facts that they need are added."""
        needed: list[GivenRule] = []
        at, left = start, steps
        while left:
            shapes = _PLAIN + (_WITH_FACTS if self.facts_allowed else ())
            if not self.one_way:
                shapes += _TWO_WAY
            inner = tuple(shape for shape in _INNER if _COST[shape] <= left)
            if self.one_way:
                inner = tuple(shape for shape in inner if _COST[shape] < left) if at != start else ()
            shape = self.chance.pick(shapes + inner, "logic", self.name, "shape", str(len(self.rules)))
            left -= _COST[shape]
            after = self.fresh() if left else end
            needed += self._link(shape, at, after)
            at = after
        return needed

    def _link(self, shape: str, at: Literal, after: Literal) -> list[GivenRule]:
        if shape == "joint":
            beside = self.fresh()
            self.facts.append(beside)
            return [self.add((at, beside), (after,))]
        if shape == "wide":
            aside = self.fresh()
            self.facts.append(-aside)
            join = EITHER if self.share("exclusive", str(len(self.rules))) < 0.3 else IF
            return [self.add((at,), (after, aside), join)]
        if shape in ("or", "either"):
            return [self.add((), (-at, after), EITHER if shape == "either" else IF)]
        if shape in ("plain", "iff"):
            return [self.add((at,), (after,), IFF if shape == "iff" else IF)]
        self.by_cases = True
        one, other = self.fresh(), self.fresh()
        first = self.add((at,), (one, other))
        if shape == "two":
            return [first, self.add((one, other), (after,), ANY)]
        return [first, self.add((one,), (after,)), self.add((other,), (after,))]

    def mirror(self, end: Literal) -> None:
        """For each rule that has an end (or its opposite) on one side, a further rule that has it on the other side.

        So every end is a condition as often as a consequence, and that it is one or the other tells nothing.
        """
        for rule in tuple(self.rules):
            for literal in (end, -end):
                if literal in rule.given:
                    self.add_as_is((self.fresh(),), (literal,))
                if literal in rule.then:
                    self.add_as_is((literal,), (self.fresh(),))
