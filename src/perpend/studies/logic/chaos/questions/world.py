"""What questions are made from: the frozen facts, the words of the systems, and the choices of a set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from perpend.studies.logic.chaos.questions.chance import Chance
from perpend.studies.logic.chaos.records import Record, SystemWords, load_records, load_systems


@dataclass(frozen=True, slots=True)
class Sources:
    """Records by id in the order of their ids, systems by id, and the chance of the set."""

    records: Mapping[str, Record]
    systems: Mapping[str, SystemWords]
    chance: Chance = field(default_factory=Chance)


def sources(chance: Chance | None = None) -> Sources:
    """The sources of the packaged set; of a private one with another chance."""
    records = {record.id: record for record in sorted(load_records(), key=lambda record: record.id)}
    return Sources(records, load_systems(), chance or Chance())
