"""The items of the logic stratum.

`grade`: steps + distractors / 4 + negations / 6, and one more for a distinction of cases; up to 3.2, 4.7, 6.5 and 8.5
it is 1, 2, 3 and 4, and 5 beyond. Steps are the rules that the answer needs, distractors the rules that it does not,
negations the denied properties in rules and shared facts. All questions of a bundle have the grade of the bundle.

The questions of a bundle share its words. Two of them, one with the answer yes and one with no, to the same rules,
share the whole wording; the next two have the same rules in other sentences and another order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from perpend.studies.logic.chaos.questions.chance import Chance
from perpend.studies.logic.chaos.questions.draft import Draft
from perpend.studies.logic.chaos.questions.logic.arguments import (
    CONSISTENT,
    DECIDED,
    EXCLUDED,
    FOLLOWS,
    ArgumentBundle,
    AskedCase,
    argument,
)
from perpend.studies.logic.chaos.questions.logic.frames import (
    AHEAD,
    CLAIM_ENDINGS,
    CLAIMS,
    ENDINGS,
    FACT_LEADS,
    FURTHER_LEADS,
    INVENTED_NOTES,
    LAB_FACT_LEADS,
    LAB_OPENINGS,
    LAYOUTS,
    MARKS,
    NEXT_LEADS,
    NOUNS,
    OPENINGS,
    PEOPLE,
    PERSON_ENDINGS,
    RULE_HEADS,
    TOGETHER,
    Cast,
    cast,
)
from perpend.studies.logic.chaos.questions.logic.sentences import Wordlist, capital, plural_of, rule_sentence
from perpend.studies.logic.chaos.questions.logic.theory import Clause
from perpend.studies.logic.chaos.questions.logic.vocabulary import INVENTED, LAB, ROOM, TERMS, properties
from perpend.studies.logic.chaos.questions.world import Sources

WANTED = {"fol_inference": 3200, "multi_hop": 4400}
STEPS = {"fol_inference": (1,), "multi_hop": (2, 2, 3, 3, 4, 4, 5, 6)}
KINDS_DRAWN = (FOLLOWS,) * 4 + (EXCLUDED,) * 2 + (CONSISTENT,) * 2 + (DECIDED,) * 2
GRADE_LIMITS = (3.2, 4.7, 6.5, 8.5)


def bundles(world: Sources) -> Iterator[tuple[Draft, ...]]:
    """All bundles: one step (fol_inference), then two to six (multi_hop)."""
    names = sorted(system.name for system in world.systems.values() if _is_plain(system.name))
    for family, wanted in WANTED.items():
        items = number = 0
        while items < wanted:
            number += 1
            name = f"{family}:{number}"
            kind = world.chance.pick(KINDS_DRAWN, "logic", name, "kind")
            steps = world.chance.pick(STEPS[family], "logic", name, "steps")
            bundle = argument(world.chance, name, kind, steps)
            if bundle is not None:
                drafts = tuple(_drafts(bundle, world.chance, names, family))
                items += len(drafts)
                yield drafts


def grade(bundle: ArgumentBundle) -> int:
    """1 to 5: the formula stands at the head of this file."""
    load = bundle.steps + bundle.distractors / 4 + bundle.negations / 6 + bundle.by_cases
    return 1 + sum(load > limit for limit in GRADE_LIMITS)


def _drafts(bundle: ArgumentBundle, chance: Chance, names: list[str], family: str) -> Iterator[Draft]:
    """The items of a bundle, two and two."""
    for number in range(len(bundle.rules)):
        yes, no = ([c for c in bundle.cases if c.rules == number and c.label is label] for label in (True, False))
        for at, two in enumerate(zip(yes, no, strict=True)):
            yield from _Worded(bundle, chance, names, f"{number}.{at}").drafts(family, two)


def _is_plain(name: str) -> bool:
    """Whether a name says itself that it is a system's, and can stand in a list of two."""
    return re.fullmatch(r"the (?:[A-ZÀ-Þ][^\WA-Z]*[ –-])+system", name) is not None


@dataclass(frozen=True, slots=True)
class _Look:
    """What two questions have in common but the rules."""

    vocabulary: str
    words: Wordlist
    cast: Cast
    opening: tuple[str, ...]
    layout: str
    ending: str
    claim: str
    """The sentence before the question that makes the claim; '' where the question itself does."""
    ahead: bool
    together: bool
    every: bool
    """The question is about every object with the premise, not about one."""


class _Worded:
    """Two questions of a bundle in words: the properties belong to its name, all else to the two."""

    def __init__(self, bundle: ArgumentBundle, chance: Chance, names: list[str], part: str) -> None:
        self.bundle, self.chance = bundle, chance
        self.shared = ("logic", bundle.name)
        self.spot = (*self.shared, part)
        self.look = self._drawn(names)

    def _pick(self, options: tuple[str, ...], *spot: str) -> str:
        return self.chance.pick(options, *self.spot, *spot)

    def _share(self, *spot: str) -> float:
        return self.chance.share(*self.spot, *spot)

    def _drawn(self, names: list[str]) -> _Look:
        bundle, chance = self.bundle, self.chance
        fitting = tuple(v for v in (INVENTED, INVENTED, LAB, LAB, TERMS, TERMS) if bundle.atoms <= ROOM[v])
        vocabulary = chance.pick(fitting, *self.shared, "vocabulary")
        noun = chance.pick(NOUNS[vocabulary], *self.shared, "noun")
        words = Wordlist(properties(vocabulary, bundle.atoms, chance, *self.shared, "words"), noun, vocabulary == LAB)
        who = cast(vocabulary, noun, names, chance, *self.spot, two=bundle.form == "other")
        single = all(len(case.premises) == len(case.shown) == 1 for case in bundle.cases)
        every = (
            bundle.kind == FOLLOWS
            and bundle.form != "other"
            and single
            and not bundle.facts
            and self._share("every") < 0.2
        )
        opening = LAB_OPENINGS if vocabulary == LAB and self._share("lab opening") < 0.6 else OPENINGS
        note = self._pick(INVENTED_NOTES, "note") if vocabulary == INVENTED and self._share("noted") < 0.7 else ""
        style = self._share("style")
        together = bundle.kind == CONSISTENT and style < 0.25
        ahead, claimed = style > 0.8, 0.6 < style <= 0.8
        claim = self._pick(CLAIMS, "claim") if claimed else ""
        the = next((the for person, the in PEOPLE.items() if claim.startswith(f"{person} ")), "")
        endings = TOGETHER if together else (AHEAD if ahead else CLAIM_ENDINGS if claimed else ENDINGS)[bundle.kind]
        if the:
            endings += tuple(ending.replace("{the}", the) for ending in PERSON_ENDINGS[bundle.kind])
        return _Look(
            vocabulary,
            words,
            who,
            (self._pick(opening, "opening").format(ns=plural_of(noun)), note, "" if every else who.intro),
            self._pick(LAYOUTS, "layout"),
            self._pick(endings, "ending"),
            claim,
            ahead,
            together,
            every,
        )

    def _rule_sentences(self, number: int) -> list[str]:
        mark = self._pick(MARKS, "mark")
        rules = self.bundle.rules[number]
        sentences = [
            rule_sentence(rules[at], self.look.words, self.chance, *self.spot, "rule", str(at))
            for at in self.chance.mixed(range(len(rules)), str, *self.spot, "order")
        ]
        head = [self._pick(RULE_HEADS, "head")] if self.look.layout != "mixed" and self._share("headed") < 0.3 else []
        return head + [mark.format(n=at, sentence=sentence) for at, sentence in enumerate(sentences, 1)]

    def _facts(self, who: str, facts: Clause, tag: str) -> list[str]:
        """One sentence for all facts of an object, or one for each."""
        if not facts:
            return []
        leads: tuple[str, ...] = (*FACT_LEADS, *LAB_FACT_LEADS) if self.look.vocabulary == LAB else FACT_LEADS
        if self.look.layout != "rules first":
            leads = tuple(form for form in leads if form not in FURTHER_LEADS)
        lead = self._pick(leads, "lead", tag)
        order = self.chance.mixed(range(len(facts)), str, *self.spot, "fact order", tag)
        facts = tuple(facts[at] for at in order)
        parts = [facts] if self._share("one sentence", tag) < 0.6 else [(fact,) for fact in facts]
        words = self.look.words
        leads_in_turn = [lead, *(self._pick(NEXT_LEADS, "next", tag, str(at)) for at in range(1, len(parts)))]
        return [
            capital(form.format(who=who, facts=words.all_of(part, self._share("manner", tag))))
            for form, part in zip(leads_in_turn, parts, strict=True)
        ]

    def question(self, case: AskedCase) -> str:
        """The text of one case."""
        look, words = self.look, self.look.words
        who = look.cast.other if case.of_other else look.cast.who
        shown = words.one_of(case.shown, self._share("manner", "shown"))
        claim = f"{who} {shown}"
        if look.every:
            # 'Every … is not …' can be read as 'not every … is …'.
            word, said_of = ("every", case.shown[0]) if case.shown[0] > 0 else ("no", -case.shown[0])
            claim = f"{word} {words.noun} that {words.third(case.premises[0])} {words.third(said_of)}"
        given = () if look.every else (*case.premises, *self.bundle.facts)
        facts = self._facts(
            look.cast.who, (*given, *(case.shown if look.together and not case.of_other else ())), "own"
        )
        others = (*case.others, *(case.shown if look.together and case.of_other else ()))
        facts += self._facts(look.cast.other, others, "other")
        body = self._ordered(self._rule_sentences(case.rules), facts)
        opening = [part for part in look.opening if part]
        ending = look.ending.format(claim=claim)
        if look.together:
            parts = [*opening, *body, ending]
        elif look.ahead:
            parts = [ending, *opening, *body]
        else:
            parts = [*opening, *body, *([look.claim.format(claim=claim)] if look.claim else []), ending]
        return " ".join(parts)

    def _ordered(self, rules: list[str], facts: list[str]) -> list[str]:
        if self.look.layout == "rules first":
            return [*rules, *facts]
        if self.look.layout == "facts first":
            return [*facts, *rules]
        body = list(rules)
        for at, fact in enumerate(facts):
            body.insert(self.chance.below(len(body) + 1, *self.spot, "place", str(at)), fact)
        return body

    def drafts(self, family: str, cases: Sequence[AskedCase]) -> tuple[Draft, ...]:
        """The items of some cases of the bundle."""
        bundle, look = self.bundle, self.look
        form = ":".join((bundle.kind, bundle.form, look.layout, look.ending.split("{")[0].rstrip(" ,")))
        level = grade(bundle)
        extra = {
            "hop_count": str(bundle.steps),
            "distractors": str(bundle.distractors),
            "negations": str(bundle.negations),
            "shape": bundle.form,
            "statements": str(len(bundle.rules[0])),
        }
        return tuple(
            Draft(
                stratum="logic",
                family=family,
                kind=bundle.kind,
                form=form,
                question=self.question(case),
                label=case.label,
                pair=f"logic:{bundle.name}",
                grade=level,
                predicate=look.words.properties[abs(case.shown[0]) - 1].base(True),
                polarity=case.shown[0] > 0,
                extra=extra,
            )
            for case in cases
        )
