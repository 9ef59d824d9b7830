"""One fact asked several times: consistency_paraphrase, where the meaning stays, and perturbation_robustness."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from perpend.studies.logic.chaos.families.chance import mixed, pick
from perpend.studies.logic.chaos.families.draft import ROBUSTNESS, Draft, capital
from perpend.studies.logic.chaos.families.pairs import QuestionPair, World
from perpend.studies.logic.chaos.families.plain import Ask, question_of
from perpend.studies.logic.chaos.families.setting import Style, introduced, sampling, style_for, subject_for
from perpend.studies.logic.chaos.families.words import FACT_WORDINGS
from perpend.studies.logic.chaos.records import Record

PARAPHRASES = 3
PLAIN = ("direct", "true_that", "right_to_say", "claim_holds", "correct", "case")
DENIALS = (
    "Would it be a mistake to deny that {claim}?",
    "Would one be wrong to doubt that {claim}?",
    "Is it false to say that {opposite}?",
)
"""Two negations that cancel: the answer is that of the plain question."""
DISTRACTORS = (
    "The figures were drawn with logarithmic axes.",
    "The computation took less than a minute.",
    "The first part of the run was discarded as a transient.",
    "The results were stored in double precision.",
    "A second group repeated the computation a year later.",
    "The parameter values were read from a configuration file.",
    "The plots show the first variable against time.",
    "The run was made on an ordinary laptop.",
)
"""Sentences that are beside the point for every predicate."""
VARIANTS = ("base", "paraphrase", "negation", "distractor", "format")


def paraphrase_drafts(world: World, pair: QuestionPair) -> Iterator[Draft]:
    """Three wordings of the pair's two questions: two plain ones and one with a double negation."""
    key = ("consistency_paraphrase", pair.key)
    frames = mixed(PLAIN, str, *key)[: PARAPHRASES - 1]
    for number, frame in enumerate((*frames, "double_negation")):
        wording = pick(FACT_WORDINGS[pair.predicate], "wording", *key, str(number))
        ask = Ask(frame, wording, polarity=True)
        yield from _asked("consistency_paraphrase", world, pair, ask, f"p{number}")


def perturbation_drafts(world: World, pair: QuestionPair) -> Iterator[Draft]:
    """The pair's two questions, plain and four times perturbed; only the negation turns the answer round."""
    family, key = "perturbation_robustness", ("perturbation_robustness", pair.key)
    base = Ask(pick(PLAIN, "base", *key), pick(FACT_WORDINGS[pair.predicate], "wording", *key), polarity=True)
    denied = pick(("true_that", "claim_holds", "correct", "case"), "denied", *key)
    asks = {
        "base": base,
        "paraphrase": Ask(next(f for f in mixed(PLAIN, str, "other", *key) if f != base.frame),
                          pick(FACT_WORDINGS[pair.predicate], "other", *key), polarity=True),
        "negation": Ask(denied, base.wording, polarity=False),
        "distractor": base,
        "format": base,
    }  # fmt: skip
    for variant in VARIANTS:
        yield from _asked(family, world, pair, asks[variant], variant)


def _asked(family: str, world: World, pair: QuestionPair, ask: Ask, variant: str) -> Iterator[Draft]:
    """The pair's two questions in one variant. All variants of a pair share the style, unless the variant is style."""
    key = (family, pair.key)
    system = world.system(pair.true)
    style = style_for(system, (pair.true, pair.false), *key)
    if variant == "format":
        style = replace(style, is_reversed=not style.is_reversed)
    for record, _ in pair.members():
        if ask.frame == "double_negation":
            question = _double_negation(world, record, pair, ask, style)
        else:
            question = question_of(system, record, pair.predicate, ask, style)
        if variant == "distractor":
            question = _distracted(question, pick(DISTRACTORS, *key), has_intro=bool(style.intro))
        if variant == "format" and len(record.parameters) < 2:
            question = question_of(
                system, record, pair.predicate, ask, style_for(system, (pair.true, pair.false), *key, "format")
            )
        template = f"{variant}:{ask.frame}" if family == "perturbation_robustness" else ask.frame
        draft = pair.draft(system, record, polarity=ask.polarity, split=ROBUSTNESS)
        yield replace(draft, family=family, template=template, question=question, extra={"variant": variant})


def _double_negation(world: World, record: Record, pair: QuestionPair, ask: Ask, style: Style) -> str:
    system = world.system(record)
    intro, subject, motion = introduced(system, record, style)
    whom = subject_for(ask.wording.subject, subject, motion)
    note = sampling(system, record, pair.predicate)
    text = pick(DENIALS, "denial", pair.key).format(
        claim=ask.wording.statement(whom, True) + note, opposite=ask.wording.statement(whom, False) + note
    )
    return intro + capital(text)


def _distracted(question: str, distractor: str, *, has_intro: bool) -> str:
    """The sentence before an inline question, or between the introduction and the question."""
    if not has_intro:
        return f"{distractor} {question}"
    # An introduction ends at the first full stop that is followed by a capital: numbers have no blank after theirs.
    at = next(n for n in range(len(question)) if question[n : n + 2] == ". " and question[n + 2].isupper())
    return f"{question[: at + 1]} {distractor}{question[at + 1 :]}"
