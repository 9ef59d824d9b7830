"""Direct questions about one instance: atomic, extended_systems; and the frames that other families use too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from perpend.studies.logic.chaos.families.chance import pick
from perpend.studies.logic.chaos.families.draft import CORE, Draft, capital
from perpend.studies.logic.chaos.families.pairs import QuestionPair, World
from perpend.studies.logic.chaos.families.setting import INTROS, Style, introduced, sampling, style_for, subject_for
from perpend.studies.logic.chaos.families.words import FACT_WORDINGS, LOGIC_WORDINGS, Wording
from perpend.studies.logic.chaos.predicates import PREDICATES
from perpend.studies.logic.chaos.records import Record, SystemWords

FRAMES: Mapping[str, str] = {
    "direct": "{Asked}?",
    "true_that": "Is it true that {claim}?",
    "right_to_say": "Is one right in saying that {claim}?",
    "claim_holds": "Claim: {claim}. Does the claim hold?",
    "student": "A student writes that {claim}. Is the student right?",
    "correct": "Is the following correct: {claim}?",
    "true_or_false": "True or false: {claim}.",
    "judge": "Judge this statement: {claim}.",
    "case": "Is it the case that {claim}?",
    "defined": "Definition of '{term}': {definition} In this sense, {asked}?",
    "defined_claim": "Definition of '{term}': {definition} In this sense, does it hold that {claim}?",
}
"""Sentences around a claim. Those with {asked} only assert: 'is it not chaotic?' can be read in two ways."""
UNDEFINED = tuple(name for name, frame in FRAMES.items() if "{definition}" not in frame)
"""Frames that give no definition."""


@dataclass(frozen=True, slots=True)
class Ask:
    """How a predicate is asked about: frame, wording, and whether it is asserted or denied."""

    frame: str
    wording: Wording
    polarity: bool


def ask_for(predicate: str, frames: Sequence[str], *key: str) -> Ask:
    """The way of asking that belongs to a key. A frame with a definition uses the words that it defines.

    The indicators are not asked by definition: theirs is a recipe.
    """
    polarity = pick((True, False), "polarity", *key)
    fit = [name for name in frames if polarity or "sked}" not in FRAMES[name]]
    if PREDICATES[predicate].kind == "number":
        fit = [name for name in fit if name in UNDEFINED]
    frame = pick(fit, "frame", *key)
    if frame not in UNDEFINED:
        return Ask(frame, LOGIC_WORDINGS[predicate], polarity)
    return Ask(frame, pick(FACT_WORDINGS[predicate], "wording", *key), polarity)


def question_of(system: SystemWords, record: Record, predicate: str, ask: Ask, style: Style) -> str:
    """The whole question about one instance."""
    intro, subject, motion = introduced(system, record, style)
    return intro + framed(predicate, ask, subject_for(ask.wording.subject, subject, motion),
                          sampling(system, record, predicate))  # fmt: skip


def framed(name: str, ask: Ask, subject: str, note: str = "") -> str:
    """The sentence or two that ask; `note` follows the claim."""
    asked = ask.wording.question(subject) + note
    claim = ask.wording.statement(subject, ask.polarity) + note
    predicate = PREDICATES[name]
    text = FRAMES[ask.frame].format(
        asked=asked, Asked=capital(asked), claim=claim, definition=predicate.definition, term=predicate.says
    )
    return capital(text)


def fact_drafts(family: str, world: World, pair: QuestionPair, split: str = CORE) -> list[Draft]:
    """The pair's two questions, in the same words. The system may differ where the pair is across systems."""
    key = (family, pair.key)
    ask = ask_for(pair.predicate, tuple(FRAMES), *key)
    both = (pair.true, pair.false)
    systems = [world.system(record) for record in both]
    style = style_for(systems[0], both, *key)
    if systems[0] is not systems[1]:
        # What holds of a whole system is to be seen in its equations.
        style = replace(style, intro=style.intro or INTROS[0], has_equations=True)
    drafts = []
    for record, system in zip(both, systems, strict=True):
        question = question_of(system, record, pair.predicate, ask, style)
        draft = pair.draft(system, record, polarity=ask.polarity, split=split)
        drafts.append(replace(draft, family=family, template=ask.frame, question=question))
    return drafts


def is_extended(record: Record) -> bool:
    """Whether an instance's state is large: four variables or more, a field, or a memory."""
    return record.facts.get("DimensionAtLeast4", False)
