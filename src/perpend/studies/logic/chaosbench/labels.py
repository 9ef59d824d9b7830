"""Gates on what labels rest on: the facts themselves, and every label once more by another way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from perpend.canon import JSON
from perpend.errors import PerpendError
from perpend.proof.gates import Gate
from perpend.studies.logic.chaos.predicates import METHODS, PREDICATES
from perpend.studies.logic.chaosbench.items import label_of, text_of
from perpend.studies.logic.chaosbench.structure import first, tag_of_all

if TYPE_CHECKING:
    from perpend.studies.logic.chaos.questions.world import Sources
    from perpend.studies.logic.chaos.records import Record as Instance

REGIMES = ("Chaotic", "Periodic", "QuasiPeriodic", "FixedPointAttractor")
"""An orbit is in one of these at most."""
ERRORS = 3.0
"""A number that is not further than this many errors from zero decides nothing."""


def facts(records: Sequence[Mapping[str, JSON]], world: Sources) -> Gate:
    """Every instance that an item names is frozen, its predicate decided, and its facts go with its numbers."""
    bad, named = [], set[str]()
    for record in records:
        for instance in text_of(record, "instance").split(" > "):
            if instance:
                named.add(instance)
                frozen, predicate = world.records.get(instance), text_of(record, "predicate")
                if frozen is None:
                    bad.append(f"{text_of(record, 'id')}: {instance} is no frozen instance")
                elif predicate in PREDICATES and predicate not in frozen.facts:
                    bad.append(f"{text_of(record, 'id')}: {predicate} of {instance} is not decided")
    for instance in sorted(named & world.records.keys()):
        bad += [f"{instance}: {wrong}" for wrong in contradictions(world.records[instance])]
    return Gate("facts are frozen and agree", not bad, first(bad, len(named), "instances"))


def contradictions(instance: Instance) -> list[str]:
    """What the facts of an instance and its measured numbers say against each other; empty where nothing does."""
    known, numbers = instance.facts, instance.numbers
    wrong = [f"{name} was decided by no known method" for name in known if instance.methods.get(name) not in METHODS]
    if sum(known.get(name, False) for name in REGIMES) > 1:
        wrong.append("it is in two regimes")
    exponents, errors = (_floats(numbers.get(key)) for key in ("lyapunov", "lyapunov_error"))
    if exponents and errors and "theorem" not in instance.methods.values():
        clear = exponents[0] > ERRORS * errors[0]
        positive = known.get("PositiveLargestLyapunov", known.get("Chaotic"))
        if positive and not clear:
            wrong.append("its largest exponent is not positive beyond its error")
        if positive is False and clear:
            wrong.append("its largest exponent is positive beyond its error")
        neutral = sum(abs(x) <= ERRORS * e for x, e in zip(exponents, errors, strict=False))
        if known.get("AttractingCycle") and neutral > 1:
            wrong.append("its cycle has two neutral directions, so nothing is seen to attract")
    others = numbers.get("starts")
    if isinstance(others, Mapping) and set(others) - {"same"} and not instance.start_matters:
        wrong.append("other starts end elsewhere, and the start is said not to matter")
    return wrong


def _floats(values: JSON) -> list[float]:
    return [float(x) for x in values if isinstance(x, int | float)] if isinstance(values, list) else []


def labels(records: Sequence[Mapping[str, JSON]], world: Sources) -> Gate:
    """Every label against the one that the stratum's own second way gives."""
    name = "labels again by another way"
    if tag_of_all(records, "stratum") is None:
        return Gate(name, False, "cannot run: items have no tag 'stratum'")
    # Imported here: it brings every stratum with it.
    from perpend.studies.logic.chaos.questions.relabel import relabel

    bad = []
    for record in records:
        try:
            right = "TRUE" if relabel(record, world) else "FALSE"
        except (PerpendError, KeyError, ValueError) as error:
            bad.append(f"{text_of(record, 'id')}: cannot be computed: {error}")
            continue
        if right != label_of(record):
            bad.append(f"{text_of(record, 'id')}: is {label_of(record)}, the other way gives {right}")
    return Gate(name, not bad, first(bad, len(records), "labels"))
