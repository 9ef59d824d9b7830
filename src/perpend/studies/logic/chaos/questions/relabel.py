"""The label of any item again, by another way than the one that made it: each stratum has its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from perpend.canon import JSON
from perpend.errors import DataError
from perpend.studies.logic.chaos.questions.compute.relabel import relabel as compute
from perpend.studies.logic.chaos.questions.data.relabel import relabel as data
from perpend.studies.logic.chaos.questions.logic.relabel import relabel as logic
from perpend.studies.logic.chaos.questions.reason.relabel import relabel as reason
from perpend.studies.logic.chaos.questions.textbook.relabel import relabel as textbook
from perpend.studies.logic.chaos.questions.variants.relabel import relabel as variants
from perpend.studies.logic.chaos.questions.world import Sources

Relabel: TypeAlias = Callable[[Mapping[str, JSON], Sources], bool]

BY_STRATUM: Mapping[str, Relabel] = {
    "textbook": textbook,
    "reason": reason,
    "logic": logic,
    "data": data,
    "compute": compute,
}
WORDED_AGAIN = ("adversarial", "consistency_paraphrase", "perturbation_robustness")
"""Families that word facts of a stratum anew; they are read by their own rules."""


def relabel(record: Mapping[str, JSON], world: Sources) -> bool:
    """The label of an item; DataError where its stratum is unknown or its text cannot be read."""
    if record.get("type") in WORDED_AGAIN:
        return variants(record, world)
    stratum = record.get("stratum")
    again = BY_STRATUM.get(str(stratum))
    if again is None:
        raise DataError(f"the item has no stratum that can be labelled again ({stratum!r})")
    return again(record, world)
