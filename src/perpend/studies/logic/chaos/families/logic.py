"""Arguments in words: fol_inference (one step) and multi_hop (two steps or more)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import count

from perpend.studies.logic.chaos.families.arguments import (
    Argument,
    ArgumentCase,
    chained,
    closure,
    excluded,
    joint,
    literal_text,
    negated,
    rule_text,
)
from perpend.studies.logic.chaos.families.chance import mixed, pick, share
from perpend.studies.logic.chaos.families.draft import CORE, About, Draft, about, capital
from perpend.studies.logic.chaos.families.pairs import World
from perpend.studies.logic.chaos.families.setting import listed, stated, style_for
from perpend.studies.logic.chaos.families.words import LOGIC_WORDINGS
from perpend.studies.logic.chaos.predicates import PREDICATES
from perpend.studies.logic.chaos.rules import Literal, Rule

FOL, HOPS = "fol_inference", "multi_hop"
OPENINGS = (
    "Suppose, whether or not it is so in fact, that these statements hold. {rules} {setting} Suppose that {premise}.",
    "Take the following as given, true or not. {rules} {setting} It is also given that {premise}.",
    "Assume only this. {rules} {setting} Assume that {premise}.",
    "{setting} Suppose that {premise}. Suppose further, right or wrong, that the following hold. {rules}",
    "{setting} For the sake of argument, grant that {premise}, and grant these rules. {rules}",
)
ENDINGS = (
    "Does it follow from these assumptions alone that {conclusion}?",
    "By these assumptions and nothing else, must it be that {conclusion}?",
    "Do these assumptions, without any other knowledge, imply that {conclusion}?",
    "Is it a logical consequence of these assumptions alone that {conclusion}?",
    "On these assumptions only, can one conclude that {conclusion}?",
)
WORLD_OPENINGS = (
    "Of a certain dynamical system it is known that {premise}.",
    "All that is known of some dynamical system is that {premise}.",
    "Nothing is known of a dynamical system but that {premise}.",
    "Let a dynamical system be such that {premise}.",
)
WORLD_ENDINGS = (
    "By the usual definitions and theorems, does it follow that {conclusion}?",
    "With the standard meaning of the terms, must it be that {conclusion}?",
    "Is it then certain, by the standard theory, that {conclusion}?",
)
RULE_FORMS = (
    "Every system that {given} {then}.",
    "If a system {given}, then it {then}.",
    "A system that {given} is one that {then}.",
    "Any system that {given} {then}.",
    "Whenever a system {given}, it {then}.",
)
UNSETTLED = frozenset(("DimensionAboveTwo", "ZeroOneHigh", "EntropyHigh", "MegnoHigh", "Deterministic", "Stochastic"))
"""Left out of questions from general knowledge: indicators have no theory in the rules, and noise no instances."""


def phrase(literal: Literal) -> str:
    """'is chaotic', 'is not chaotic'."""
    wording = LOGIC_WORDINGS[literal[0]]
    return wording.says if literal[1] else wording.denies


def rule_sentence(rule: Rule, *key: str) -> str:
    """A rule as a sentence."""
    given = " and ".join(phrase(literal) for literal in rule.given)
    if not rule.then[1] and share("none", *key, rule_text(rule)) < 0.5:
        return f"No system that {given} {phrase((rule.then[0], True))}."
    return pick(RULE_FORMS, "rule", *key, rule_text(rule)).format(given=given, then=phrase(rule.then))


def argument_drafts(world: World, family: str, argument: Argument) -> Iterator[Draft]:
    """The four questions of an argument, about one instance, in the same words."""
    key = (family, argument.name)
    # An argument is about any instance that can be stated in a sentence.
    drawn = (pick(world.records, "about", str(n), *key) for n in count())
    record = next(record for record in drawn if not record.start_matters and len(record.parameters) <= 6)
    system = world.system(record)
    style = style_for(system, (), *key)
    setting = stated(system, record, style) if share("instance", *key) < 0.7 else ""
    whom = about(system, (record,), f"argument:{argument.name}") if setting else _no_system(f"argument:{argument.name}")
    opening, ending = pick(OPENINGS, *key), pick(ENDINGS, *key)
    setting = setting or pick(("Let S be a system.", "Now let S be some system.", "There is a system S."), *key)
    name = "the system" if whom.instance else "S"
    template = f"{argument.form}:{OPENINGS.index(opening)}"
    rules = " ".join(rule_sentence(rule, *key) for rule in argument.cases[0].rules)
    for case in argument.cases:
        premise = listed([f"{name} {phrase(literal)}" for literal in case.premises])
        text = opening.format(rules=rules, setting=setting, premise=premise)
        question = f"{text} {ending.format(conclusion=f'{name} {phrase(case.conclusion)}')}"
        yield _draft(family, template, question, case, whom, ("argument", argument.hops))


def _draft(
    family: str, template: str, question: str, case: ArgumentCase, whom: About, kind_hops: tuple[str, int]
) -> Draft:
    kind, hops = kind_hops
    return Draft(
        family=family,
        template=template,
        question=capital(" ".join(question.split())),
        label=case.follows,
        about=whom,
        predicate=case.conclusion[0],
        polarity=case.conclusion[1],
        kind=kind,
        extra={
            "hop_count": str(hops),
            "premises": ";".join(map(literal_text, case.premises)),
            "rules": ";".join(map(rule_text, case.rules)),
        },
    )


def _no_system(group: str) -> About:
    return About("generic", "", "", "", group, CORE)


def arguments_for(family: str, wanted: int) -> list[Argument]:
    """The first `wanted` arguments of a family, by number; the checker drops some numbers."""
    arguments: list[Argument] = []
    number = 0
    while len(arguments) < wanted:
        number += 1
        name = f"{family}:{number}"
        if family == HOPS:
            argument = chained(name, pick((2, 2, 3, 3, 4, 5), "hops", name))
        else:
            argument = pick((lambda n: chained(n, 1), joint, excluded), "shape", name)(name)
        if argument is not None:
            arguments.append(argument)
    return arguments


def world_bundles(world: World, family: str, most: int) -> Iterator[list[Draft]]:
    """The same kind of question with no rule stated: what follows by the rules that hold; at most `most` times four.

    TRUE: the rules give it. FALSE: an instance of the facts has the premises and not the conclusion. Four questions of
    two premises and two conclusions each, so that neither premise nor conclusion tells.
    """
    table = _world_table(world, one_step=family == FOL)
    premises = mixed(table, lambda p: ";".join(map(literal_text, p)), "world", family)
    used: set[tuple[tuple[Literal, ...], Literal]] = set()
    squares = 0
    for distance in range(1, len(premises)):
        for one, other in zip(premises, premises[distance:], strict=False):
            quad = _square(table, one, other, used, family)
            if quad is None:
                continue
            used.update((premise, conclusion) for premise, conclusion, _ in quad)
            yield list(_square_drafts(family, table, quad))
            squares += 1
            if squares == most:
                return


_Row = dict[Literal, tuple[bool, int]]
"""Conclusion → whether it follows, and in how many rounds."""


def _world_table(world: World, *, one_step: bool) -> dict[tuple[Literal, ...], _Row]:
    """For each premise (one or two literals that instances have): what follows, and what a counterexample refutes."""
    literals = [(name, holds) for name in PREDICATES if name not in UNSETTLED for holds in (True, False)]
    # Instances as bits of one number: 'has both' is a conjunction.
    having = {
        literal: sum(1 << n for n, r in enumerate(world.records) if r.facts.get(literal[0]) is literal[1])
        for literal in literals
    }
    alone = {literal: closure((literal,)) for literal in literals}
    sets: list[tuple[Literal, ...]] = [(one,) for one in literals]
    # A second premise that follows from the first, or is denied by it, is no second premise.
    sets += [
        (one, other)
        for n, one in enumerate(literals)
        for other in literals[n + 1 :]
        if not {other, negated(other)} & alone[one].keys() and one not in alone[other]
    ]
    table: dict[tuple[Literal, ...], _Row] = {}
    for premises in sets:
        instances = having[premises[0]] & having[premises[-1]]
        known = closure(premises)
        row: _Row = {}
        for conclusion in literals:
            if any(conclusion[0] == name for name, _ in premises):
                continue
            rounds = known.get(conclusion, 0)
            if rounds and (rounds == 1) is one_step:
                row[conclusion] = (True, rounds)
            elif conclusion not in known and instances & having[negated(conclusion)]:
                row[conclusion] = (False, 0)
        if instances and any(follows for follows, _ in row.values()):
            table[premises] = row
    return table


def _square(
    table: dict[tuple[Literal, ...], _Row],
    one: tuple[Literal, ...],
    other: tuple[Literal, ...],
    used: set[tuple[tuple[Literal, ...], Literal]],
    family: str,
) -> list[tuple[tuple[Literal, ...], Literal, bool]] | None:
    """Two conclusions, one following from each premise only; none of the four asked before."""
    first = [c for c, (follows, _) in table[one].items() if follows and table[other].get(c, (True, 0))[0] is False]
    second = [c for c, (follows, _) in table[other].items() if follows and table[one].get(c, (True, 0))[0] is False]
    first = [c for c in first if (one, c) not in used and (other, c) not in used]
    second = [c for c in second if (one, c) not in used and (other, c) not in used]
    if not first or not second:
        return None
    key = (family, "square", *map(literal_text, one), "/", *map(literal_text, other))
    for a in mixed(first, literal_text, *key):
        for b in mixed(second, literal_text, *key):
            quad = [(one, a, True), (other, b, True), (one, b, False), (other, a, False)]
            if _is_even(quad):
                return quad
    return None


def _is_even(quad: Sequence[tuple[tuple[Literal, ...], Literal, bool]]) -> bool:
    """Whether premise and conclusion share the same words where it follows as where it does not.

    Without this, 'the same words come twice' would tell: what follows from a dimension is mostly a dimension.
    """
    shared: Counter[str] = Counter()
    for premises, conclusion, follows in quad:
        for words in _phrases(_premise(premises)) & _phrases(f"it {phrase(conclusion)}"):
            shared[words] += 1 if follows else -1
    return not any(shared.values())


def _premise(premises: tuple[Literal, ...]) -> str:
    return listed([f"it {phrase(literal)}" for literal in premises])


@cache
def _phrases(text: str) -> frozenset[str]:
    """The runs of one, two and three words."""
    words = ["that", *text.split()]
    return frozenset(" ".join(words[at : at + n]) for n in (1, 2, 3) for at in range(len(words) - n + 1))


def _square_drafts(
    family: str, table: dict[tuple[Literal, ...], _Row], quad: Sequence[tuple[tuple[Literal, ...], Literal, bool]]
) -> Iterator[Draft]:
    name = "/".join(f"{';'.join(map(literal_text, p))}>{literal_text(c)}" for p, c, _ in quad[:2])
    hops = max(table[premise][conclusion][1] for premise, conclusion, _ in quad[:2])
    opening, ending = pick(WORLD_OPENINGS, family, name), pick(WORLD_ENDINGS, family, name)
    for premises, conclusion, follows in quad:
        question = (
            f"{opening.format(premise=_premise(premises))} {ending.format(conclusion=f'it {phrase(conclusion)}')}"
        )
        case = ArgumentCase(premises, (), conclusion, follows)
        whom = _no_system(f"knowledge:{name}")
        yield _draft(
            family, f"knowledge:{WORLD_OPENINGS.index(opening)}", question, case, whom, ("world_knowledge", hops)
        )
