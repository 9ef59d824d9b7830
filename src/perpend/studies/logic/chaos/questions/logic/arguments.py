"""Arguments without words: four or eight questions to one set of rules, as many answered yes as no.

Which premise stands with which conclusion decides the label, never a premise, a rule or a conclusion alone. The forms:

crossed   A leads to B and C to D; asked of A and B, C and D, A and D, C and B
switch    A leads to B and not-A to D, C to D and not-C to B; asked of all four and both
joint     A with C leads to B, so does not-A with not-C; A with not-C and not-A with C lead to D
opposed   A leads to B and C to not-B
reversed  A leads to B: asked from A to B and back (affirming the consequent); of two such paths
denied    A leads to B: from A to B and from not-B to not-A it follows; from B to A and from not-A to not-B it does not
other     a switch, with A of one object and C of another, or the reverse; asked of either

In 'reversed' and 'denied', further rules make every end a condition as often as a consequence. Half of the fours are
doubled: the same questions to rules in which the ends are exchanged, so that every pair of premise and conclusion has
both labels. Four kinds of question, the same for all forms:

follows     it is so in every case that the statements allow
excluded    it is so in none
consistent  it is so in at least one
decided     it is so in every case or in none
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from perpend.studies.logic.chaos.questions.chance import Chance
from perpend.studies.logic.chaos.questions.logic.sketch import SHARE_ASSERTED, Sketch
from perpend.studies.logic.chaos.questions.logic.theory import (
    SOME,
    Clause,
    GivenRule,
    Literal,
    all_clauses,
    entails,
    satisfiable,
)

FOLLOWS, EXCLUDED, CONSISTENT, DECIDED = KINDS = ("follows", "excluded", "consistent", "decided")
FORMS = ("crossed", "switch", "joint", "opposed", "reversed", "denied", "other")
MOST_RULES, MOST_FACTS, MOST_ATOMS = 15, 4, 20
"""More than these nobody would write down."""


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


def _switch(sketch: Sketch, steps: int) -> _Plan:
    a, b, c, d = (sketch.fresh() for _ in range(4))
    one, other = (b, d) if steps == 1 else (sketch.fresh(), sketch.fresh())
    first = {end: sketch.add((end,), (then,)) for end, then in ((a, one), (-a, other), (c, other), (-c, one))}
    after = {b: sketch.path(one, b, steps - 1), d: sketch.path(other, d, steps - 1)}
    leads = {a: b, -a: d, c: d, -c: b}
    asked = tuple(
        _Asked((start,), (end,), (first[start], *after[end]) if leads[start] == end else ())
        for start in leads
        for end in (b, d)
    )
    return _Plan(asked, {})


def _joint(sketch: Sketch, steps: int) -> _Plan:
    a, b, c, d = (sketch.fresh() for _ in range(4))
    one, other = (b, d) if steps == 1 else (sketch.fresh(), sketch.fresh())
    leads = {(a, c): b, (-a, -c): b, (a, -c): d, (-a, c): d}
    first = {pair: sketch.add(pair, (one if end == b else other,)) for pair, end in leads.items()}
    after = {b: sketch.path(one, b, steps - 1), d: sketch.path(other, d, steps - 1)}
    asked = tuple(
        _Asked(pair, (end,), (first[pair], *after[end]) if leads[pair] == end else ())
        for pair in leads
        for end in (b, d)
    )
    return _Plan(asked, {})


def _opposed(sketch: Sketch, steps: int) -> _Plan:
    a, b, c = (sketch.fresh() for _ in range(3))
    one, other = tuple(sketch.path(a, b, steps)), tuple(sketch.path(c, -b, steps))
    asked = (_Asked((a,), (b,), one), _Asked((c,), (-b,), other), _Asked((a,), (-b,)), _Asked((c,), (b,)))
    return _Plan(asked, _exchange((b, -b)))


def _reversed(sketch: Sketch, steps: int) -> _Plan:
    a, b, c, d = (sketch.fresh() for _ in range(4))
    one, other = tuple(sketch.path(a, b, steps)), tuple(sketch.path(c, d, steps))
    for end in (a, b, c, d):
        sketch.mirror(end)
    asked = (_Asked((a,), (b,), one), _Asked((c,), (d,), other), _Asked((b,), (a,)), _Asked((d,), (c,)))
    return _Plan(asked, _exchange((a, b), (c, d)))


def _denied(sketch: Sketch, steps: int) -> _Plan:
    a, b = sketch.fresh(), sketch.fresh()
    one = tuple(sketch.path(a, b, steps))
    for end in (a, b):
        sketch.mirror(end)
    asked = (_Asked((a,), (b,), one), _Asked((-b,), (-a,), one), _Asked((b,), (a,)), _Asked((-a,), (-b,)))
    return _Plan(asked, _exchange((a, b)))


def _other(sketch: Sketch, steps: int) -> _Plan:
    """A switch, with the premises of two objects."""
    plan = _switch(sketch, steps)
    needed = {(asked.premises, asked.conclusion): asked.needed for asked in plan.asked}
    starts, ends = plan.asked[0].premises + plan.asked[4].premises, (plan.asked[0].conclusion, plan.asked[1].conclusion)
    asked = tuple(
        _Asked((mine,), end, needed[(yours if of_other else mine,), end], (yours,), of_other)
        for mine, yours in (starts, starts[::-1])
        for of_other in (False, True)
        for end in ends
    )
    return _Plan(asked, {})


_PLANS: Mapping[str, Callable[[Sketch, int], _Plan]] = {
    "crossed": _crossed,
    "switch": _switch,
    "joint": _joint,
    "opposed": _opposed,
    "reversed": _reversed,
    "denied": _denied,
    "other": _other,
}


def argument(chance: Chance, name: str, kind: str, steps: int) -> ArgumentBundle | None:
    """The argument that belongs to a name; None where the draw does not give labels that hold in every reading."""
    # With 'opposed' all is decided; where one rule leads from A to B, 'crossed' would tell by what is named together.
    unfit = {DECIDED: "opposed"}.get(kind), "crossed" if steps == 1 else None
    forms = tuple(form for form in FORMS if form not in unfit)
    form = chance.pick(forms, "logic", name, "form")
    sketch = Sketch(chance, name, one_way=form in ("reversed", "denied"), facts_allowed=form != "other")
    plan = _PLANS[form](sketch, steps)
    if len(sketch.rules) > MOST_RULES or len(sketch.facts) > MOST_FACTS or sketch.atoms > MOST_ATOMS:
        return None
    if not _holds(kind, sketch, plan):
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
    rule_clauses = [all_clauses((rule,)) for rule in sketch.rules]
    for asked in plan.asked:
        known = (*(asked.others if asked.of_other else asked.premises), *sketch.facts)
        goal = _concluded(kind, asked.conclusion)
        if asked.needed and not entails(all_clauses(asked.needed), known, goal):
            return False
        for at, rule in enumerate(sketch.rules):
            if any(rule is needed for needed in asked.needed):
                without = [clause for n, clauses in enumerate(rule_clauses) if n != at for clause in clauses]
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


def _distract(kind: str, sketch: Sketch, plan: _Plan) -> None:
    """Rules more that share words with the others and change no answer."""
    chance, name = sketch.chance, sketch.name
    wanted = chance.below(5, "logic", name, "distractors")
    for number in range(2 * wanted):
        spot = ("logic", name, "distractor", str(number))
        if wanted == 0 or len(sketch.rules) >= MOST_RULES or sketch.atoms >= MOST_ATOMS:
            return
        used = list(range(1, sketch.atoms + 1))
        picked = chance.mixed(used, str, *spot)[:3]
        one, two, three = (
            atom if chance.share(*spot, "sign", str(atom)) < SHARE_ASSERTED else -atom
            for atom in (*picked, *used[:3])[:3]
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
