"""Facts that are worded several times: measured ones, short orbits, and facts that follow from equations."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby

from perpend.studies.logic.chaos.questions.compute import iterate
from perpend.studies.logic.chaos.questions.compute.allocation import (
    LURE,
    PARAPHRASE,
    PERTURBATION,
    ContrastQuestion,
    allocated,
)
from perpend.studies.logic.chaos.questions.compute.regime import (
    KIND,
    definition_of,
    fact_draft,
    setting_of,
    telling_of,
)
from perpend.studies.logic.chaos.questions.draft import Draft
from perpend.studies.logic.chaos.questions.frames import AskedClaim
from perpend.studies.logic.chaos.questions.reason.bundles import base_facts
from perpend.studies.logic.chaos.questions.reason.facts import BaseFact
from perpend.studies.logic.chaos.questions.reason.reading import parse
from perpend.studies.logic.chaos.questions.settings import restated, subjects
from perpend.studies.logic.chaos.questions.variants.voices import BOUNDED, ELSEWHERE, GENERAL, SHRINKING, STATED
from perpend.studies.logic.chaos.questions.wordings import WORDINGS
from perpend.studies.logic.chaos.questions.world import Sources

ORBITS = {PARAPHRASE: 34, PERTURBATION: 28, LURE: 110}
"""How many squares of short orbits are kept for each use."""
_TURNS = (*(LURE, PARAPHRASE, LURE, PARAPHRASE, PERTURBATION) * 2, *(LURE, PARAPHRASE, PERTURBATION) * 3, LURE)
"""What the squares of facts from equations are for, in turn."""
_HEAD = re.compile(r"\bd(\w+)/dt = |\b(\w+)' = |\b(\w+)\[n\+1\] = |\b(\w+) -> ")
_ELSEWHERE = ("Chaotic", "Periodic", "QuasiPeriodic", "FixedPointAttractor")


@dataclass(frozen=True, slots=True)
class VariantFact:
    """A fact with many wordings. All facts of a group have as many `says` and `denies`, in the same words."""

    draft: Draft
    """The tags of an item about it; question, form, label, family and polarity are for the caller to fill in."""
    holds: bool
    settings: tuple[str, ...]
    """The sentences that state the system, in one way or several; what is stated is the same."""
    definition: str
    says: tuple[AskedClaim, ...]
    denies: tuple[AskedClaim, ...]
    idle: str
    """A true sentence that is no help; the same for all of a group."""


def groups(world: Sources, use: str) -> Iterator[tuple[VariantFact, ...]]:
    """Facts that are asked about together, half of them true; for one of the uses of allocation.py."""
    for question in allocated(world, use):
        yield _measured(world, question)
    for place in range(ORBITS[use]):
        name = f"{use} {place}"
        steps = iterate.crossing(world.chance, name)
        if steps is not None:
            yield tuple(_orbits(world, steps, name))
    squares = [list(square) for _, square in groupby(base_facts(world), key=lambda fact: fact.pair)]
    for place, square in enumerate(squares):
        if _TURNS[place % len(_TURNS)] == use:
            yield tuple(_derived(world, fact, str(number % 2)) for number, fact in enumerate(square))


def _measured(world: Sources, question: ContrastQuestion) -> tuple[VariantFact, ...]:
    telling = telling_of(world, question, "variants", has_intro=True)
    # Another way to state the instance: with a start where the first has one, since subjects speak of it.
    both = question.contrast.both
    system = world.systems[both[0].system_id]
    others = [
        replace(telling, manner=restated(world.chance, system, telling.manner, place, *telling.names))
        for place in ("second", "third")
    ]
    facts = []
    for record in question.contrast.both:
        system = world.systems[record.system_id]
        statements: dict[bool, list[AskedClaim]] = {True: [], False: []}
        for wording in WORDINGS[question.predicate]:
            subject, far = subjects(world.chance, system, record, telling.manner, (wording.subject, *telling.names))
            for holds, found in statements.items():
                found.append(wording.statement(subject, far, holds=holds))
        facts.append(
            VariantFact(
                draft=fact_draft(world, question, record, True, "", ""),
                holds=record is question.contrast.yes,
                settings=tuple(setting_of(world, record, one) for one in (telling, *others)),
                definition=definition_of(world, system, question.predicate, *telling.names),
                says=tuple(statements[True]),
                denies=tuple(statements[False]),
                idle=_idle(world, question),
            )
        )
    return tuple(facts)


def _idle(world: Sources, question: ContrastQuestion) -> str:
    """What holds of both instances, or of the system elsewhere, and decides nothing."""
    both, key = question.contrast.both, question.key
    own = [record for record in world.records.values() if record.system_id == both[0].system_id]
    fit: list[str] = []
    for name in _ELSEWHERE:
        if any(record.facts.get(name) and record not in both for record in own):
            says = world.chance.pick(WORDINGS[name], "elsewhere", key)
            if says.subject == "system":
                fit += [form.format(says=says.says) for form in ELSEWHERE]
    if question.predicate != "Bounded" and all(record.facts.get("Bounded") for record in both):
        fit += BOUNDED
    if question.predicate not in ("Bounded", "Dissipative") and all(record.facts.get("Dissipative") for record in both):
        fit += SHRINKING
    return world.chance.pick(fit or GENERAL, "idle", key)


def _orbits(world: Sources, steps: iterate.Steps, name: str) -> Iterator[VariantFact]:
    key = (iterate.KIND, name)
    chosen = iterate.MAPS[steps.chosen]
    equations = chosen.equations.format(a=steps.a, b=steps.b)
    intros = [world.chance.pick(iterate.SETTINGS, "setting", *key, place) for place in ("", "second", "third")]
    for start, at_first in zip(steps.starts, (True, False), strict=True):
        stated = iterate.start_text(chosen.variables, start)
        settings = tuple(intro.format(equations=equations, start=stated) for intro in intros)
        for step, above in zip(steps.steps, (at_first, not at_first), strict=True):
            words = {"x": chosen.variables[0], "k": str(step), "c": str(steps.threshold)}
            by_polarity = {
                side: tuple(
                    AskedClaim(claim.format(**words), asks.format(**words))
                    for claim, asks, is_above in iterate.CLAIMS
                    if is_above is side
                )
                for side in (True, False)
            }
            draft = Draft(
                stratum="compute", family="atomic", kind=iterate.KIND, form="", question="", label=above,
                pair=f"{iterate.KIND}|{name}", grade=iterate.grade_of(step, len(chosen.variables)),
                predicate="IterateAbove",
            )  # fmt: skip
            idle = world.chance.pick(GENERAL, "idle", *key)
            yield VariantFact(draft, above, settings, "", by_polarity[True], by_polarity[False], idle)


def equations_in(setting: str) -> tuple[str, bool]:
    """The equations of a setting as it writes them, and whether they are those of a map."""
    heads = list(_HEAD.finditer(setting))
    known = {next(filter(None, head.groups())) for head in heads} | {"t"}
    end = parse(setting, heads[-1].end(), known)[1]
    return setting[heads[0].start() : end], heads[0].lastindex in (3, 4)


def _restated(world: Sources, fact: BaseFact, column: str) -> tuple[str, ...]:
    """The setting, and two others with the same equations; the same words for the two systems of a statement."""
    equations, is_map = equations_in(fact.setting)
    forms = STATED["map" if is_map else "flow"]
    others = (world.chance.pick(forms, "restated", fact.pair, column, place) for place in ("second", "third"))
    return fact.setting, *(form.format(equations=equations) for form in others)


def _derived(world: Sources, fact: BaseFact, column: str) -> VariantFact:
    draft = Draft(
        stratum="reason", family=fact.family, kind=fact.kind, form="", question="", label=fact.label,
        pair=f"{KIND}|{fact.pair}", grade=fact.grade, predicate=fact.predicate,
    )  # fmt: skip
    return VariantFact(
        draft=draft,
        holds=fact.label,
        settings=_restated(world, fact, column),
        definition=fact.definition,
        says=tuple(AskedClaim(text) for text in fact.says),
        denies=tuple(AskedClaim(text) for text in fact.denies),
        idle=world.chance.pick(GENERAL, "idle", fact.pair),
    )
