"""Arguments: rules and premises as stated in a question, four questions to one set of rules.

Two of the four follow and two do not, and the four share rules, premises and conclusions in such a way that no single
sentence tells which: the label is in how they connect. Every label is the checker's (`rules.entails`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from perpend.studies.logic.chaos.families.chance import mixed, pick, share
from perpend.studies.logic.chaos.predicates import PREDICATES
from perpend.studies.logic.chaos.rules import RULES, Literal, Rule, consistent, entails

KIN = (
    ("Deterministic", "Stochastic"),
    ("ContinuousTime", "DiscreteTime"),
    ("Autonomous", "Forced"),
    ("DimensionAtLeast2", "DimensionAtLeast3", "DimensionAtLeast4"),
    ("Chaotic", "Hyperchaotic"),
    ("Periodic", "AttractingCycle"),
    ("VolumePreserving", "Dissipative"),
)
"""Predicates that are linked by the words themselves. An argument has one of each at most: whoever grants that four or
more is three or more should not lose a point for it."""
SHARE_TRUE_RULES = 0.5
"""How often a rule of an argument is one that holds in fact; the others are counterfactual."""


@dataclass(frozen=True, slots=True)
class ArgumentCase:
    """One question: premises and rules in force, a conclusion, and whether it follows."""

    premises: tuple[Literal, ...]
    rules: tuple[Rule, ...]
    conclusion: Literal
    follows: bool


@dataclass(frozen=True, slots=True)
class Argument:
    """Four cases on the same rules. `hops` is the least number of rules that the conclusions which follow need."""

    name: str
    form: str
    hops: int
    cases: tuple[ArgumentCase, ...]


def negated(literal: Literal) -> Literal:
    """The opposite."""
    return literal[0], not literal[1]


def literal_text(literal: Literal) -> str:
    """'Chaotic' or '-Chaotic', for tags."""
    return literal[0] if literal[1] else f"-{literal[0]}"


def literal_of(text: str) -> Literal:
    """The inverse of `literal_text`."""
    return (text[1:], False) if text.startswith("-") else (text, True)


def rule_text(rule: Rule) -> str:
    """'A&-B>C', for tags."""
    return f"{'&'.join(map(literal_text, rule.given))}>{literal_text(rule.then)}"


def rule_of(text: str) -> Rule:
    """The inverse of `rule_text`."""
    given, then = text.split(">")
    return Rule(tuple(map(literal_of, given.split("&"))), literal_of(then))


def _links() -> Mapping[Literal, tuple[Literal, ...]]:
    """For each literal, what follows from it by one of the rules that hold, read forwards or by contraposition."""
    links: dict[Literal, set[Literal]] = {}
    for rule in RULES:
        if len(rule.given) == 1:
            links.setdefault(rule.given[0], set()).add(rule.then)
            links.setdefault(negated(rule.then), set()).add(negated(rule.given[0]))
    return {literal: tuple(sorted(after)) for literal, after in links.items()}


_LINKS = _links()
_CLAUSES = tuple(tuple(rule.clause()) for rule in RULES)


def _use(name: str, free: set[str]) -> None:
    """Take a predicate and its kin from those that are free."""
    free.difference_update((name,), *(kin for kin in KIN if name in kin))


def _chain(hops: int, free: set[str], *key: str) -> list[Literal]:
    """Literals of different predicates, each leading to the next; a link is a true rule where one is at hand."""
    name = pick(sorted(free), "first", *key)
    # Premises are denied as often as asserted: in `excluded` the opposite of a premise is one too, and nothing follows.
    chain: list[Literal] = [(name, share("sign", *key) < 0.5)]
    _use(name, free)
    for step in range(hops):
        spot = (*key, str(step))
        known = [literal for literal in _LINKS.get(chain[-1], ()) if literal[0] in free]
        if known and share("true", *spot) < SHARE_TRUE_RULES:
            after = pick(known, "link", *spot)
        else:
            after = (pick(sorted(free), "made up", *spot), share("sign", *spot) < 0.7)
        _use(after[0], free)
        chain.append(after)
    return chain


def _as_rules(chain: Sequence[Literal], *key: str) -> list[Rule]:
    """The links as rules, some turned into their contrapositive."""
    rules = []
    for step, (one, other) in enumerate(pairwise(chain)):
        turned = share("turned", *key, str(step)) < 0.25
        rules.append(Rule((negated(other),), negated(one)) if turned else Rule((one,), other))
    return rules


def chained(name: str, hops: int) -> Argument | None:
    """Two chains of rules, and rules that lead to them and on from them.

    Crossed: from one chain's beginning to the other's end. Reversed: from a chain's end to its beginning. None where
    the checker does not find that just the two plain ones follow.
    """
    free = set(PREDICATES)
    one, other = _chain(hops, free, name, "one"), _chain(hops, free, name, "other")
    form = pick(("crossed", "reversed"), "form", name)
    if form == "reversed":
        # Some predicates begin chains and others end them. With one chain turned round, each is a conclusion that
        # follows as often as one that does not.
        pick((one, other), "turned", name).reverse()
    rules = _as_rules(one, name, "one") + _as_rules(other, name, "other")
    # Both ends of both chains stand in a further rule: each is a condition here and a consequence there.
    before, after = _chain(0, free, name, "before")[0], _chain(0, free, name, "after")[0]
    for place, chain in enumerate((one, other)):
        rules += _as_rules([before, chain[0]], name, "before", str(place))
        rules += _as_rules([chain[-1], after], name, "after", str(place))
    if form == "crossed":
        ends = [(one[0], one[-1]), (other[0], other[-1]), (one[0], other[-1]), (other[0], one[-1])]
    else:
        ends = [(one[0], one[-1]), (other[0], other[-1]), (one[-1], one[0]), (other[-1], other[0])]
    return _argument(name, form, hops, rules, [((start,), end) for start, end in ends])


def joint(name: str) -> Argument | None:
    """A rule with two conditions: it needs both. The premise that is there decides between two such rules."""
    free = set(PREDICATES)
    one, other = _chain(2, free, name, "one"), _chain(2, free, name, "other")
    rules = [Rule((one[0], one[1]), one[2]), Rule((other[0], other[1]), other[2])]
    rules += _as_rules(_chain(1, free, name, "idle"), name, "idle")
    cases = [
        ((one[0], one[1]), one[2]),
        ((other[0], other[1]), other[2]),
        ((one[0], other[1]), one[2]),
        ((other[0], one[1]), other[2]),
    ]
    return _argument(name, "joint", 1, rules, cases)


def excluded(name: str) -> Argument | None:
    """'Nothing is both A and B': from A follows not B; from not A nothing follows about B."""
    free = set(PREDICATES)
    one, other = _chain(1, free, name, "one"), _chain(1, free, name, "other")
    rules = [Rule((one[0],), negated(one[1])), Rule((other[0],), negated(other[1]))]
    # Every premise is in a rule, whether or not something follows from it.
    for step, start in enumerate((one[0], other[0])):
        end = _chain(0, free, name, "idle", str(step))[0]
        rules.append(Rule((negated(start),), end))
    cases = [
        ((one[0],), negated(one[1])),
        ((other[0],), negated(other[1])),
        ((negated(one[0]),), negated(one[1])),
        ((negated(other[0]),), negated(other[1])),
    ]
    return _argument(name, "excluded", 1, rules, cases)


def _argument(
    name: str, form: str, hops: int, rules: Sequence[Rule], ends: Sequence[tuple[tuple[Literal, ...], Literal]]
) -> Argument | None:
    """The four cases with the checker's labels; None unless two follow, two do not, and nothing is contradictory."""
    ordered = tuple(mixed(rules, rule_text, "order", name))
    cases = []
    for premises, conclusion in ends:
        granted = dict(premises)
        if len(granted) < len(premises) or not consistent(granted, ordered):
            return None
        cases.append(ArgumentCase(premises, ordered, conclusion, entails(granted, ordered, conclusion)))
    if [case.follows for case in cases] != [True, True, False, False]:
        return None
    if any(not _needs(case, hops) for case in cases if case.follows):
        return None
    return Argument(name, form, hops, tuple(cases))


def _needs(case: ArgumentCase, hops: int) -> bool:
    """Whether exactly `hops` rules are such that without them the conclusion does not follow."""
    granted = dict(case.premises)
    needed = [
        rule
        for rule in case.rules
        if not entails(granted, [other for other in case.rules if other is not rule], case.conclusion)
    ]
    return len(needed) == hops


@cache
def closure(premises: tuple[Literal, ...]) -> Mapping[Literal, int]:
    """What follows from premises by the rules that hold, with the rounds of unit propagation that it takes."""
    known = dict.fromkeys(premises, 0)
    for rounds in range(1, len(PREDICATES)):
        new = set()
        for clause in _CLAUSES:
            left = [literal for literal in clause if negated(literal) not in known]
            if len(left) == 1 and left[0] not in known:
                new.add(left[0])
        if not new:
            return known
        known |= dict.fromkeys(sorted(new), rounds)
    return known
