"""One fact of one instance: kind `regime`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from perpend.studies.logic.chaos.questions.compute.allocation import PLAIN, ContrastQuestion, allocated
from perpend.studies.logic.chaos.questions.draft import Draft
from perpend.studies.logic.chaos.questions.frames import AskedClaim, layout
from perpend.studies.logic.chaos.questions.settings import (
    NOTES,
    Manner,
    bare,
    is_extended,
    manner_of,
    size_grade,
    stated,
    subjects,
    tag_of,
    time_of,
)
from perpend.studies.logic.chaos.questions.wordings import WORDINGS, FactWording, definitions
from perpend.studies.logic.chaos.questions.world import Sources
from perpend.studies.logic.chaos.records import Record, SystemWords

KIND = "regime"
_NOTED = ("AttractingCycle", "Chaotic", "Hyperchaotic", "Periodic", "QuasiPeriodic")
"""Predicates that speak of repetition."""


@dataclass(frozen=True, slots=True)
class Telling:
    """How a question is put: the same for both instances of its contrast."""

    manner: Manner
    wording: FactWording
    definition: str
    polarity: bool
    names: tuple[str, ...]
    """What the choices of subject belong to."""


def telling_of(world: Sources, question: ContrastQuestion, *key: str, has_intro: bool = False) -> Telling:
    """The telling that belongs to a question and a key. The polarity is that of the couple."""
    chance, contrast = world.chance, question.contrast
    system, names = world.systems[contrast.yes.system_id], (question.key, *key)
    manner = manner_of(chance, system, contrast.both, *names, has_intro=has_intro)
    return Telling(
        manner=manner,
        wording=chance.pick(WORDINGS[question.predicate], "wording", *names),
        definition=definition_of(world, system, question.predicate, *names),
        polarity=chance.share("polarity", question.predicate, question.couple, *key) < 0.5,
        names=names,
    )


def definition_of(world: Sources, system: SystemWords, predicate: str, *key: str) -> str:
    """The sentences that a question about a predicate states beside it; '' where none is needed."""
    text = world.chance.pick(definitions(predicate, time_of(system)), "definition", *key)
    note = NOTES.get(system.system_id, "") if predicate in _NOTED else ""
    return " ".join(part for part in (text, note) if part)


def statement_of(world: Sources, record: Record, telling: Telling) -> AskedClaim:
    """The claim about one instance."""
    system, wording = world.systems[record.system_id], telling.wording
    subject, far = subjects(world.chance, system, record, telling.manner, (wording.subject, *telling.names))
    return wording.statement(subject, far, holds=telling.polarity)


def setting_of(world: Sources, record: Record, telling: Telling) -> str:
    """The sentences that state one instance; '' where they stand within the claim."""
    return stated(world.systems[record.system_id], record, telling.manner)


def fact_draft(
    world: Sources, question: ContrastQuestion, record: Record, polarity: bool, form: str, text: str
) -> Draft:
    """A plain item about one instance of a contrast; the label is the fact's, turned round by a denial.

    Grade: that of the system's size.
    """
    system = world.systems[record.system_id]
    return Draft(
        stratum="compute",
        family="extended_systems" if is_extended(system, record) else "atomic",
        kind=KIND,
        form=form,
        question=text,
        label=(record is question.contrast.yes) is polarity,
        pair=f"{KIND}|{question.key}",
        grade=size_grade(system, record),
        predicate=question.predicate,
        polarity=polarity,
        system_id=system.system_id,
        system_name=bare(system.name),
        instance=record.id,
        parameters=tag_of(record.parameters),
        cites=system.citation,
    )


def regime_bundles(world: Sources) -> Iterator[tuple[Draft, ...]]:
    """Two questions in the same words about a contrast's two instances."""
    for question in allocated(world, PLAIN):
        telling = telling_of(world, question, KIND)
        drafts = []
        for record in question.contrast.both:
            form, text = layout(
                world.chance,
                telling.names,
                statement_of(world, record, telling),
                setting_of(world, record, telling),
                telling.definition,
            )
            drafts.append(fact_draft(world, question, record, telling.polarity, form, text))
        yield tuple(drafts)
