"""One fact asked several times, and facts with a lure: adversarial, consistency_paraphrase, perturbation_robustness.

The stratum, kind and grade of an item are those of its fact.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from perpend.studies.logic.chaos.questions.chance import Chance
from perpend.studies.logic.chaos.questions.compute.allocation import LURE, PARAPHRASE, PERTURBATION
from perpend.studies.logic.chaos.questions.draft import Draft
from perpend.studies.logic.chaos.questions.frames import AFTER, AskedClaim, begins_sentence, capital, layout
from perpend.studies.logic.chaos.questions.variants.base import VariantFact, groups
from perpend.studies.logic.chaos.questions.variants.voices import (
    AGAINST,
    CANCELLED,
    DISTRACTORS,
    FORMATS,
    TURNED,
    VOICES,
)
from perpend.studies.logic.chaos.questions.world import Sources

ADVERSARIAL, CONSISTENCY, ROBUSTNESS = "adversarial", "consistency_paraphrase", "perturbation_robustness"


def bundles(world: Sources) -> Iterator[tuple[Draft, ...]]:
    """Every bundle of the three families: all variants of the facts of one group."""
    for group in groups(world, PARAPHRASE):
        yield tuple(_paraphrased(world.chance, group))
    for group in groups(world, PERTURBATION):
        yield tuple(_perturbed(world.chance, group))
    for group in groups(world, LURE):
        yield tuple(_lured(world.chance, group))


def _wordings(chance: Chance, group: Sequence[VariantFact], family: str) -> tuple[bool, list[int]]:
    """Whether a group's claim asserts, and the places of its wordings in the order that belongs to it."""
    fact, pair = group[0], group[0].draft.pair
    polarity = chance.share("polarity", family, pair) < 0.5
    count = min(len(one.says) for one in group), min(len(one.denies) for one in group)
    return polarity, chance.mixed(range(min(count)), str, "wordings", family, pair, fact.draft.predicate)


def _said(fact: VariantFact, place: int, *, polarity: bool) -> AskedClaim:
    return (fact.says if polarity else fact.denies)[place]


def _item(fact: VariantFact, family: str, laid: tuple[str, str], *, polarity: bool, variant: str = "") -> Draft:
    form, question = laid
    return replace(
        fact.draft, family=family, form=form, question=question, label=fact.holds is polarity, polarity=polarity,
        variant=variant, pair=f"{family}|{fact.draft.pair}",
    )  # fmt: skip


def _block(fact: VariantFact) -> str:
    return f"{fact.setting} {fact.definition}".strip()


def _paraphrased(chance: Chance, group: Sequence[VariantFact]) -> Iterator[Draft]:
    """Three wordings of each question: two in other words and layouts, one with a negation around a negation."""
    polarity, places = _wordings(chance, group, CONSISTENCY)
    for turn in range(3):
        for fact in group:
            key = (CONSISTENCY, fact.draft.pair, str(turn))
            if turn < 2:
                statement = _said(fact, places[turn % len(places)], polarity=polarity)
                laid = layout(chance, key, statement, fact.setting, fact.definition)
            else:
                laid = _doubled(chance, fact, places, polarity=polarity)
            yield _item(fact, CONSISTENCY, laid, polarity=polarity, variant=f"p{turn}")


def _doubled(chance: Chance, fact: VariantFact, places: Sequence[int], *, polarity: bool) -> tuple[str, str]:
    """A claim within two negations, or its denial within one: the answer is that of the claim."""
    key = (CONSISTENCY, "doubled", fact.draft.pair)
    cancelled = chance.share("cancelled", *key) < 0.5
    form = chance.pick(CANCELLED if cancelled else TURNED, "form", *key)
    statement = _said(fact, places[-1], polarity=polarity if cancelled else not polarity)
    return "cancelled" if cancelled else "turned", f"{_block(fact)} {form.format(claim=statement.claim)}"


def _perturbed(chance: Chance, group: Sequence[VariantFact]) -> Iterator[Draft]:
    """Each question plainly and four times perturbed; only the denial turns the answer round."""
    polarity, places = _wordings(chance, group, ROBUSTNESS)
    forms = chance.mixed([name for name in AFTER if "laim}" in AFTER[name]], str, ROBUSTNESS, group[0].draft.pair)
    for fact in group:
        key = (ROBUSTNESS, fact.draft.pair)
        base, other = (_said(fact, places[n % len(places)], polarity=polarity) for n in (0, 1))
        denial = _said(fact, places[0], polarity=not polarity)
        plain = (fact.setting, fact.definition)
        laid = {
            "base": layout(chance, key, base, *plain, only=forms[:8]),
            "paraphrase": layout(chance, key, other, *plain, only=forms[8:16]),
            "negation": layout(chance, key, denial, *plain, only=forms[:8]),
            "distractor": layout(chance, key, base, _distracted(chance, fact), fact.definition, only=forms[:8]),
            "format": ("format", _formatted(chance, fact, base)),
        }
        for variant, text in laid.items():
            turned = variant == "negation"
            yield _item(fact, ROBUSTNESS, text, polarity=polarity is not turned, variant=variant)


def _distracted(chance: Chance, fact: VariantFact) -> str:
    """The setting with a sentence after it that is beside the point."""
    return f"{fact.setting} {chance.pick(DISTRACTORS, 'distractor', fact.draft.pair)}"


def _formatted(chance: Chance, fact: VariantFact, statement: AskedClaim) -> str:
    forms = [form for form in FORMATS if begins_sentence(statement.claim) or "{Claim}" not in form]
    form = chance.pick(forms, "format", fact.draft.pair)
    return form.format(setting=_block(fact), claim=statement.claim, Claim=capital(statement.claim))


def _lured(chance: Chance, group: Sequence[VariantFact]) -> Iterator[Draft]:
    """Each question with one kind of lure; facts that follow from equations, which are fewer, with two."""
    polarity, places = _wordings(chance, group, ADVERSARIAL)
    kinds = chance.mixed(("voice", "against", "idle"), str, ADVERSARIAL, group[0].draft.pair)
    for turn, kind in enumerate(kinds[: 2 if group[0].draft.stratum == "reason" else 1]):
        for fact in group:
            key = (ADVERSARIAL, fact.draft.pair, kind)
            statement = _said(fact, places[turn % len(places)], polarity=polarity)
            opposite = _said(fact, places[(turn + 1) % len(places)], polarity=not polarity)
            words = {"claim": statement.claim, "opposite": opposite.claim}
            if kind == "idle":
                bare = replace(statement, far="", far_asks="")
                form, text = layout(chance, key, bare, f"{_block(fact)} {fact.idle}")
                laid = f"idle {form}", text
            else:
                form = chance.pick(VOICES if kind == "voice" else AGAINST, "form", *key)
                laid = kind, f"{_block(fact)} {form.format(**words)}"
            yield _item(fact, ADVERSARIAL, laid, polarity=polarity)
