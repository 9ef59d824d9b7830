"""Arguments without words: four or eight questions to one set of rules, as many answered yes as no.

Which premise stands with which conclusion decides the label, never a premise, a rule or a conclusion alone. Six forms:

crossed   A leads to B and C to D; asked of A and B, C and D, A and D, C and B. Where one rule leads from A to B, other
          rules name A with D and C with B, so that 'named together' is no sign.
joint     the same where the first rule needs two conditions; the pair of facts that is there decides
opposed   A leads to B and C to not-B
reversed  A leads to B: asked from A to B and back (affirming the consequent); of two such paths
denied    A leads to B: from A to B and from not-B to not-A it follows; from B to A and from not-A to not-B it does not
other     A of one object and C of another, or the reverse; asked of either

Half of the fours are doubled: the same questions to rules in which the ends are exchanged, so that every pair of
premise and conclusion has both labels. Four kinds of question, the same for all forms:

follows     it is so in every case that the statements allow
excluded    it is so in none
consistent  it is so in at least one
decided     it is so in every case or in none
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from perpend.studies.logic.chaos.questions.chance import Chance
from perpend.studies.logic.chaos.questions.logic.theory import (
    ANY,
    EITHER,
    IF,
    IFF,
    SOME,
    Clause,
    GivenRule,
    Literal,
    all_clauses,
    entails,
    satisfiable,
)

FOLLOWS, EXCLUDED, CONSISTENT, DECIDED = KINDS = ("follows", "excluded", "consistent", "decided")
FORMS = ("crossed", "joint", "opposed", "reversed", "denied", "other")
MOST_RULES = 17
"""More than these nobody would write down."""
_COST = {"plain": 1, "joint": 1, "or": 1, "either": 1, "wide": 1, "iff": 1, "two": 2, "cases": 3}
_OFTEN = ("plain",) * 7
_ONE_WAY = (*_OFTEN, "or", "or", "two", "cases", "cases")


@dataclass(frozen=True, slots=True)
class AskedCase:
    """One question. `rules` is the number of the set of rules; the facts that all cases share are not repeated."""

    premises: Clause
    """What the object has beside the shared facts."""
    others: Clause
    """What the second object has; () where there is none."""
    of_other: bool
    """Whether the question is about the second object."""
    shown: Clause
    """What is asked: one literal, or two of which one is enough."""
    rules: int
    label: bool


@dataclass(frozen=True, slots=True)
class ArgumentBundle:
    """Four or eight cases that share everything but what decides. `steps` is the number of rules that are needed."""

    name: str
    kind: str
    form: str
    steps: int
    by_cases: bool
    atoms: int
    rules: tuple[tuple[GivenRule, ...], ...]
    facts: Clause
    cases: tuple[AskedCase, ...]

    @property
    def distractors(self) -> int:
        """The statements that no answer needs."""
        return len(self.rules[0]) - self.steps

    @property
    def negations(self) -> int:
        """The denied literals in the rules and the shared facts."""
        return sum(rule.negations() for rule in self.rules[0]) + sum(literal < 0 for literal in self.facts)


@dataclass(slots=True)
class Sketch:
    """An argument that is being made: properties so far, rules, shared facts, and the rules that each path needs."""

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
        return self.atoms if self.share("sign", str(self.atoms)) < 0.62 else -self.atoms

    def add(self, given: Clause, then: Clause, join: str = IF) -> GivenRule:
        """A rule, worded forwards or by contraposition where it has one condition and one consequence."""
        spot = str(len(self.rules))
        if join == IF and len(given) == len(then) == 1 and self.share("turned", spot) < 0.4:
            given, then = (-then[0],), (-given[0],)
        single = join == IF and len(given) == len(then) == 1
        unless = single and given[0] < 0 and self.share("unless", spot) < 0.4
        rule = GivenRule(given, then, join, unless)
        self.rules.append(rule)
        return rule

    def path(self, start: Literal, end: Literal, steps: int) -> list[GivenRule]:
        """Rules, `steps` of them, that lead from one literal to another; facts that they need are added."""
        needed: list[GivenRule] = []
        at, left = start, steps
        while left:
            spot = ("shape", str(len(self.rules)))
            shapes = _ONE_WAY if self.one_way else (*_ONE_WAY, "either", "iff")
            if self.facts_allowed:
                shapes = (*shapes, "joint", "joint", "wide", "wide")
            shapes = tuple(shape for shape in shapes if _COST[shape] <= left)
            shape = self.chance.pick(shapes, "logic", self.name, *spot)
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


@dataclass(frozen=True, slots=True)
class _Asked:
    """A premise and a conclusion of a plan; `needed` are the rules of its path, () where it does not follow."""

    premises: Clause
    conclusion: Clause
    needed: tuple[GivenRule, ...] = ()
    others: Clause = ()
    of_other: bool = False


@dataclass(frozen=True, slots=True)
class _Plan:
    asked: tuple[_Asked, ...]
    swap: Mapping[Literal, Literal]
    """What exchanged in the rules turns all labels."""


def _exchange(*pairs: tuple[Literal, Literal]) -> dict[Literal, Literal]:
    return {
        key: value
        for one, other in pairs
        for key, value in ((one, other), (-one, -other), (other, one), (-other, -one))
    }


def _crossed(sketch: Sketch, steps: int) -> _Plan:
    a, b, c, d = (sketch.fresh() for _ in range(4))
    one, other = tuple(sketch.path(a, b, steps)), tuple(sketch.path(c, d, steps))
    more = (sketch.fresh(),) if sketch.share("wider") < 0.15 else ()
    asked = (
        _Asked((a,), (b, *more), one),
        _Asked((c,), (d, *more), other),
        _Asked((a,), (d, *more)),
        _Asked((c,), (b, *more)),
    )
    return _Plan(asked, _exchange((b, d)))


def _joint(sketch: Sketch, steps: int) -> _Plan:
    a, x, b, c, y, d = (sketch.fresh() for _ in range(6))
    through, past = (b, d) if steps == 1 else (sketch.fresh(), sketch.fresh())
    one, other = [sketch.add((a, x), (through,))], [sketch.add((c, y), (past,))]
    if steps > 1:
        one += sketch.path(through, b, steps - 1)
        other += sketch.path(past, d, steps - 1)
    # As the facts of a false case are named together with the conclusion too, counting names does not tell.
    sketch.add((-a, y), (through,))
    sketch.add((-c, x), (past,))
    asked = (
        _Asked((a, x), (b,), tuple(one)),
        _Asked((c, y), (d,), tuple(other)),
        _Asked((a, y), (b,)),
        _Asked((c, x), (d,)),
    )
    return _Plan(asked, _exchange((x, y)))


def _opposed(sketch: Sketch, steps: int) -> _Plan:
    a, b, c = (sketch.fresh() for _ in range(3))
    one, other = tuple(sketch.path(a, b, steps)), tuple(sketch.path(c, -b, steps))
    asked = (_Asked((a,), (b,), one), _Asked((c,), (-b,), other), _Asked((a,), (-b,)), _Asked((c,), (b,)))
    return _Plan(asked, _exchange((b, -b)))


def _reversed(sketch: Sketch, steps: int) -> _Plan:
    a, b, c, d = (sketch.fresh() for _ in range(4))
    one, other = tuple(sketch.path(a, b, steps)), tuple(sketch.path(c, d, steps))
    _pad(sketch, (a, b, c, d))
    asked = (_Asked((a,), (b,), one), _Asked((c,), (d,), other), _Asked((b,), (a,)), _Asked((d,), (c,)))
    return _Plan(asked, _exchange((a, b), (c, d)))


def _denied(sketch: Sketch, steps: int) -> _Plan:
    a, b = sketch.fresh(), sketch.fresh()
    one = tuple(sketch.path(a, b, steps))
    _pad(sketch, (a, b, -a, -b))
    asked = (_Asked((a,), (b,), one), _Asked((-b,), (-a,), one), _Asked((b,), (a,)), _Asked((-a,), (-b,)))
    return _Plan(asked, _exchange((a, b)))


def _other(sketch: Sketch, steps: int) -> _Plan:
    a, b, c, d = (sketch.fresh() for _ in range(4))
    one, other = tuple(sketch.path(a, b, steps)), tuple(sketch.path(c, d, steps))
    asked = (
        _Asked((a,), (b,), one, (c,)),
        _Asked((c,), (d,), other, (a,)),
        _Asked((a,), (d,), others=(c,)),
        _Asked((c,), (b,), others=(a,)),
        _Asked((a,), (d,), other, (c,), of_other=True),
        _Asked((c,), (b,), one, (a,), of_other=True),
        _Asked((a,), (b,), others=(c,), of_other=True),
        _Asked((c,), (d,), others=(a,), of_other=True),
    )
    return _Plan(asked, {})


def _pad(sketch: Sketch, ends: Clause) -> None:
    """Further rules, so that every end is a condition here and a consequence there.

    An end and its opposite do not share the further property: it would hold of all, or of none.
    """
    beyond: dict[bool, tuple[Literal, Literal]] = {}
    for at, end in enumerate(ends):
        opposite = -end in ends[:at]
        if opposite not in beyond:
            beyond[opposite] = sketch.fresh(), sketch.fresh()
        before, after = beyond[opposite]
        plain = [rule for rule in sketch.rules if rule.join == IF and rule.given]
        if not any(end in rule.given for rule in plain):
            sketch.rules.append(GivenRule((end,), (after,)))
        if not any(end in rule.then for rule in plain):
            sketch.rules.append(GivenRule((before,), (end,)))


_PLANS: Mapping[str, Callable[[Sketch, int], _Plan]] = {
    "crossed": _crossed,
    "joint": _joint,
    "opposed": _opposed,
    "reversed": _reversed,
    "denied": _denied,
    "other": _other,
}


def argument(chance: Chance, name: str, kind: str, steps: int) -> ArgumentBundle | None:
    """The argument that belongs to a name; None where the draw does not give labels that hold in every reading."""
    forms = tuple(form for form in FORMS if kind != DECIDED or form != "opposed")
    form = chance.pick(forms, "logic", name, "form")
    sketch = Sketch(chance, name, one_way=form in ("reversed", "denied"), facts_allowed=form != "other")
    plan = _PLANS[form](sketch, steps)
    if len(sketch.rules) > MOST_RULES or not _holds(kind, sketch, plan):
        return None
    if form == "crossed" and steps == 1:
        for asked in plan.asked[2:]:
            if not _trap(kind, sketch, plan, asked):
                return None
    _distract(kind, sketch, plan)
    order = chance.mixed(range(len(sketch.rules)), str, "logic", name, "order")
    sets = [tuple(sketch.rules[at] for at in order)]
    if plan.swap and chance.share("logic", name, "doubled") < 0.5:
        exchanged = tuple(rule.renamed(plan.swap) for rule in sets[0])
        if not _labelled(kind, exchanged, sketch.facts, plan, turned=True):
            return None
        sets.append(exchanged)
    facts = tuple(chance.mixed(sketch.facts, str, "logic", name, "facts"))
    cases = tuple(
        AskedCase(
            asked.premises,
            asked.others,
            asked.of_other,
            _shown(kind, sketch, asked.conclusion),
            number,
            (bool(asked.needed) is (number == 0)) is (kind != CONSISTENT),
        )
        for number in range(len(sets))
        for asked in plan.asked
    )
    return ArgumentBundle(name, kind, form, steps, sketch.by_cases, sketch.atoms, tuple(sets), facts, cases)


def _shown(kind: str, sketch: Sketch, conclusion: Clause) -> Clause:
    """What the question names: the conclusion, or its opposite where the question is whether that is out."""
    if kind == FOLLOWS:
        return conclusion
    # One sign for the whole argument: what is asked may not depend on the label.
    if kind == DECIDED and sketch.share("asked sign") < 0.5:
        return conclusion[:1]
    return (-conclusion[0],)


def _concluded(kind: str, conclusion: Clause) -> Clause:
    """Only `follows` asks for one of two: the opposite of that is a mouthful."""
    return conclusion if kind == FOLLOWS else conclusion[:1]


def _holds(kind: str, sketch: Sketch, plan: _Plan) -> bool:
    """Whether the labels are as planned, and every path needs just its own rules."""
    if not _labelled(kind, sketch.rules, sketch.facts, plan, turned=False):
        return False
    said = [all_clauses((rule,)) for rule in sketch.rules]
    for asked in plan.asked:
        known = (*(asked.others if asked.of_other else asked.premises), *sketch.facts)
        goal = _concluded(kind, asked.conclusion)
        if asked.needed and not entails(all_clauses(asked.needed), known, goal):
            return False
        for at, rule in enumerate(sketch.rules):
            if any(rule is needed for needed in asked.needed):
                without = [clause for n, clauses in enumerate(said) if n != at for clause in clauses]
                if entails(without, known, goal):
                    return False
    return True


def _labelled(kind: str, rules: Sequence[GivenRule], facts: Sequence[Literal], plan: _Plan, *, turned: bool) -> bool:
    """Whether each case follows as planned (or just not, where the rules are turned), however 'unless' is read."""
    for strong in (False, True) if any(rule.unless for rule in rules) else (False,):
        clauses = all_clauses(rules, strong=strong)
        if any(witness and not satisfiable(clauses, witness) for witness in (rule.witness() for rule in rules)):
            return False
        for asked in plan.asked:
            mine = (*asked.premises, *facts)
            if not satisfiable(clauses, mine) or (asked.others and not satisfiable(clauses, asked.others)):
                return False
            known = asked.others if asked.of_other else mine
            goal = _concluded(kind, asked.conclusion)
            follows = entails(clauses, known, goal)
            if kind == DECIDED:
                follows = follows or entails(clauses, known, (-goal[0],))
            if follows is not (bool(asked.needed) is not turned):
                return False
    return True


def _trap(kind: str, sketch: Sketch, plan: _Plan, asked: _Asked) -> bool:
    """A rule that names premise and conclusion together, and from which nothing follows."""
    premise, conclusion = asked.premises[0], asked.conclusion[0]
    beside = sketch.fresh()
    ways = (
        ((-premise,), (conclusion,), IF),
        ((conclusion,), (premise,), IF),
        ((premise, beside), (conclusion,), IF),
        ((premise,), (conclusion, beside), IF),
        ((premise,), (conclusion,), SOME),
    )
    for given, then, join in sketch.chance.mixed(ways, str, "logic", sketch.name, "trap", str(conclusion)):
        sketch.add(given, then, join)
        if _holds(kind, sketch, plan):
            return True
        sketch.rules.pop()
    return False


def _distract(kind: str, sketch: Sketch, plan: _Plan) -> None:
    """Rules more that share words with the others and change no answer."""
    chance, name = sketch.chance, sketch.name
    wanted = chance.below(5, "logic", name, "distractors")
    for number in range(2 * wanted):
        spot = ("logic", name, "distractor", str(number))
        if wanted == 0 or len(sketch.rules) >= MOST_RULES:
            return
        used = list(range(1, sketch.atoms + 1))
        picked = chance.mixed(used, str, *spot)[:3]
        one, two, three = (
            atom if chance.share(*spot, "sign", str(atom)) < 0.62 else -atom for atom in (*picked, *used[:3])[:3]
        )
        shape = chance.pick(("plain", "plain", "fresh", "fresh", "joint", "or", "some", "not all"), *spot, "shape")
        if shape == "fresh":
            two = sketch.fresh()
        if abs(one) == abs(two):
            continue
        if shape == "joint" and len({abs(one), abs(two), abs(three)}) == 3:
            sketch.add((one, two), (three,))
        elif shape == "or":
            sketch.add((), (one, two))
        elif shape in ("some", "not all"):
            sketch.add((one,), (two if shape == "some" else -abs(two),), SOME)
        else:
            sketch.add((one,), (two,))
        if _holds(kind, sketch, plan):
            wanted -= 1
        else:
            sketch.rules.pop()
