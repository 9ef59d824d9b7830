"""One fact asked several times, and facts with a lure: adversarial, consistency_paraphrase, perturbation_robustness.

The stratum, kind and grade of an item are those of its fact.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from perpend.studies.logic.chaos.questions.chance import Chance
from perpend.studies.logic.chaos.questions.compute.allocation import LURE, PARAPHRASE, PERTURBATION
from perpend.studies.logic.chaos.questions.draft import Draft
from perpend.studies.logic.chaos.questions.frames import AskedClaim, begins_sentence, capital, layout
from perpend.studies.logic.chaos.questions.variants.base import VariantFact, groups
from perpend.studies.logic.chaos.questions.variants.voices import (
    CANCELLED,
    DISTRACTORS,
    FORMATS,
    LEADS,
    STILL,
    TURNED,
    VOICES,
)
from perpend.studies.logic.chaos.questions.world import Sources

ADVERSARIAL, CONSISTENCY, ROBUSTNESS = "adversarial", "consistency_paraphrase", "perturbation_robustness"


def bundles(world: Sources) -> Iterator[tuple[Draft, ...]]:
    """Every bundle of the three families: all variants of the facts of one group."""
    for use, maker in ((PARAPHRASE, _paraphrased), (PERTURBATION, _perturbed), (LURE, _lured)):
        for group in groups(world, use):
            yield tuple(draft for column in columns(group) for draft in maker(world.chance, column))


@dataclass(frozen=True, slots=True)
class Column:
    """The facts of a group that make the same statement, half of which hold: they share every word that is drawn."""

    name: str
    facts: tuple[VariantFact, ...]

    def key(self, *names: str) -> tuple[str, ...]:
        """What the choices for the column belong to."""
        return (*names, self.facts[0].draft.pair, self.name)

    def wordings(self, chance: Chance, family: str) -> tuple[bool, list[int]]:
        """Whether the claim asserts, and the places of its wordings in the order that belongs to the column."""
        key = self.key(family)
        count = min(min(len(one.says), len(one.denies)) for one in self.facts)
        return chance.share("polarity", *key) < 0.5, chance.mixed(range(count), str, "wordings", *key)


def columns(group: Sequence[VariantFact]) -> list[Column]:
    """A group of two facts is one column; of four, two systems or starts by two statements, each statement is one."""
    if len(group) == 2:
        return [Column("", tuple(group))]
    return [Column(str(place), tuple(group[place::2])) for place in range(2)]


def _said(fact: VariantFact, place: int, *, polarity: bool) -> AskedClaim:
    return (fact.says if polarity else fact.denies)[place]


def _item(fact: VariantFact, family: str, laid: tuple[str, str], *, polarity: bool, variant: str = "") -> Draft:
    form, question = laid
    return replace(
        fact.draft, family=family, form=form, question=question, label=fact.holds is polarity, polarity=polarity,
        variant=variant, pair=f"{family}|{fact.draft.pair}",
    )  # fmt: skip


def _block(fact: VariantFact, turn: int = 0) -> str:
    return f"{fact.settings[turn % len(fact.settings)]} {fact.definition}".strip()


def _paraphrased(chance: Chance, column: Column) -> Iterator[Draft]:
    """Three wordings of each question: two in other words and layouts, one with a negation around a negation."""
    polarity, places = column.wordings(chance, CONSISTENCY)
    for turn in range(3):
        key = column.key(CONSISTENCY, str(turn))
        for fact in column.facts:
            if turn < 2:
                statement = _said(fact, places[turn % len(places)], polarity=polarity)
                laid = layout(chance, key, statement, fact.settings[turn % len(fact.settings)], fact.definition)
            else:
                laid = _doubled(chance, key, fact, places[-1], polarity=polarity)
            yield _item(fact, CONSISTENCY, laid, polarity=polarity, variant=f"p{turn}")


def _doubled(chance: Chance, key: Sequence[str], fact: VariantFact, place: int, *, polarity: bool) -> tuple[str, str]:
    """A claim within two negations, or its denial within one: the answer is that of the claim.

    A denial is never put within two more, which nobody would untangle.
    """
    cancelled = polarity and chance.share("cancelled", *key) < 0.5
    form = chance.pick(CANCELLED if cancelled else TURNED, "form", *key)
    statement = _said(fact, place, polarity=polarity if cancelled else not polarity)
    return "cancelled" if cancelled else "turned", f"{_block(fact, 2)} {form.format(claim=statement.claim)}"


def _perturbed(chance: Chance, column: Column) -> Iterator[Draft]:
    """Each question plainly and four times perturbed; only the denial turns the answer round."""
    polarity, places = column.wordings(chance, ROBUSTNESS)
    key, again = column.key(ROBUSTNESS), column.key(ROBUSTNESS, "again")
    distractor = chance.pick(DISTRACTORS, "distractor", *key)
    for fact in column.facts:
        base, other = (AskedClaim(_said(fact, places[n % len(places)], polarity=polarity).claim) for n in (0, 1))
        denial = AskedClaim(_said(fact, places[0], polarity=not polarity).claim)
        setting = fact.settings[0]
        laid = {
            "base": layout(chance, key, base, setting, fact.definition),
            "paraphrase": layout(chance, again, other, fact.settings[-1], fact.definition),
            "negation": layout(chance, key, denial, setting, fact.definition),
            "distractor": layout(chance, key, base, f"{setting} {distractor}", fact.definition),
            "format": ("format", _formatted(chance, key, fact, base)),
        }
        for variant, text in laid.items():
            turned = variant == "negation"
            yield _item(fact, ROBUSTNESS, text, polarity=polarity is not turned, variant=variant)


def _formatted(chance: Chance, key: Sequence[str], fact: VariantFact, statement: AskedClaim) -> str:
    forms = [form for form in FORMATS if begins_sentence(statement.claim) or "{Claim}" not in form]
    form = chance.pick(forms, "format", *key)
    return form.format(setting=_block(fact, 1), claim=statement.claim, Claim=capital(statement.claim))


def _lured(chance: Chance, column: Column) -> Iterator[Draft]:
    """Each question with one kind of lure; facts that follow from equations, which are fewer, with two."""
    polarity, places = column.wordings(chance, ADVERSARIAL)
    kinds = chance.mixed(("voice", "against", "idle"), str, *column.key(ADVERSARIAL))
    for turn, kind in enumerate(kinds[: 2 if column.facts[0].draft.stratum == "reason" else 1]):
        key = column.key(ADVERSARIAL, kind)
        for fact in column.facts:
            statement = _said(fact, places[turn % len(places)], polarity=polarity)
            opposite = _said(fact, places[(turn + 1) % len(places)], polarity=not polarity)
            if kind == "idle":
                bare = replace(statement, far="", far_asks="")
                form, text = layout(chance, key, bare, f"{_block(fact, turn)} {fact.idle}")
                laid = f"idle {form}", text
            elif kind == "voice":
                form = chance.pick(VOICES, "form", *key)
                laid = kind, f"{_block(fact, turn)} {form.format(claim=statement.claim)}"
            else:
                lead = chance.pick(LEADS, "lead", *key).format(opposite=opposite.claim)
                still = chance.pick(STILL, "still", *key).format(claim=statement.claim)
                laid = kind, f"{_block(fact, turn)} {lead} {still}"
            yield _item(fact, ADVERSARIAL, laid, polarity=polarity)
