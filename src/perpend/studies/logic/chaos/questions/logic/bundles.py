"""The items of the logic stratum.

`grade`: steps + distractors / 4 + negations / 6, and one more for a distinction of cases; up to 3.2, 4.7, 6.5 and 8.5
it is 1, 2, 3 and 4, and 5 beyond. Steps are the rules that the answer needs, distractors the rules that it does not,
negations the denied properties in rules and shared facts. All questions of a bundle have the grade of the bundle.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
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
    NOUNS,
    OPENINGS,
    TOGETHER,
    Cast,
    capital,
    cast,
)
from perpend.studies.logic.chaos.questions.logic.sentences import Wordlist, plural_of, rule_sentence
from perpend.studies.logic.chaos.questions.logic.theory import Clause
from perpend.studies.logic.chaos.questions.logic.vocabulary import INVENTED, LAB, ROOM, TERMS, properties
from perpend.studies.logic.chaos.questions.world import Sources

WANTED = {"fol_inference": 2640, "multi_hop": 3960}
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
                drafts = _Worded(bundle, world.chance, names).drafts(family)
                items += len(drafts)
                yield drafts


def grade(bundle: ArgumentBundle) -> int:
    """1 to 5: the formula stands at the head of this file."""
    load = bundle.steps + bundle.distractors / 4 + bundle.negations / 6 + bundle.by_cases
    return 1 + sum(load > limit for limit in GRADE_LIMITS)


def _is_plain(name: str) -> bool:
    """Whether a name says itself that it is a system's, and can stand in a list of two."""
    return re.fullmatch(r"the (?:[A-ZÀ-Þ][^\WA-Z]*[ –-])+system", name) is not None


@dataclass(frozen=True, slots=True)
class _Look:
    """What the questions of a bundle have in common but the rules."""

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
    """A bundle in words: the choices belong to its name."""

    def __init__(self, bundle: ArgumentBundle, chance: Chance, names: list[str]) -> None:
        self.bundle, self.chance = bundle, chance
        self.spot = ("logic", bundle.name)
        self.look = self._drawn(names)
        self.rules = [self._rule_sentences(number) for number in range(len(bundle.rules))]

    def _pick(self, options: tuple[str, ...], *spot: str) -> str:
        return self.chance.pick(options, *self.spot, *spot)

    def _share(self, *spot: str) -> float:
        return self.chance.share(*self.spot, *spot)

    def _drawn(self, names: list[str]) -> _Look:
        bundle, chance = self.bundle, self.chance
        fitting = tuple(v for v in (INVENTED, INVENTED, LAB, LAB, TERMS, TERMS) if bundle.atoms <= ROOM[v])
        vocabulary = self._pick(fitting, "vocabulary")
        noun = self._pick(NOUNS[vocabulary], "noun")
        words = Wordlist(properties(vocabulary, bundle.atoms, chance, *self.spot, "words"), noun)
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
        endings = TOGETHER if together else (AHEAD if ahead else CLAIM_ENDINGS if claimed else ENDINGS)[bundle.kind]
        return _Look(
            vocabulary,
            words,
            who,
            (self._pick(opening, "opening").format(ns=plural_of(noun)), note, "" if every else who.intro),
            self._pick(LAYOUTS, "layout"),
            self._pick(endings, "ending"),
            self._pick(CLAIMS, "claim") if claimed else "",
            ahead,
            together,
            every,
        )

    def _rule_sentences(self, number: int) -> list[str]:
        mark = self._pick(MARKS, "mark")
        sentences = [
            rule_sentence(rule, self.look.words, self.chance, *self.spot, "rule", str(at))
            for at, rule in enumerate(self.bundle.rules[number])
        ]
        return [mark.format(n=at, sentence=sentence) for at, sentence in enumerate(sentences, 1)]

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
        leads_in_turn = [lead, *["{who} {facts}."] * (len(parts) - 1)]
        return [
            capital(form.format(who=who, facts=words.all_of(part)))
            for form, part in zip(leads_in_turn, parts, strict=True)
        ]

    def question(self, case: AskedCase) -> str:
        """The text of one case."""
        look, words = self.look, self.look.words
        who = look.cast.other if case.of_other else look.cast.who
        shown = words.one_of(case.shown)
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
        body = self._ordered(self.rules[case.rules], facts)
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

    def drafts(self, family: str) -> tuple[Draft, ...]:
        """The items of the bundle."""
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
            for case in bundle.cases
        )
