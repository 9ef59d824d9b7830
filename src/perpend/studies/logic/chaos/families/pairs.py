"""Pairs of instances that make fair questions: same system, same predicate, one true and one false.

Both members of a pair are asked in the same words, so that nothing but the numbers tells them apart. Predicates that
are the same for all instances of a system are paired across systems.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from perpend.studies.logic.chaos.families.chance import mixed, share
from perpend.studies.logic.chaos.families.draft import CORE, Draft, about, is_held_out
from perpend.studies.logic.chaos.families.words import SAMPLED
from perpend.studies.logic.chaos.predicates import PREDICATES
from perpend.studies.logic.chaos.records import Record, SystemWords

REUSE = 2
"""How often the rarer label's instances may serve in pairs of one system and predicate."""
ROBUST_SHARE = 0.12
"""Share of the facts that are kept for paraphrases and perturbations, whose split has them for itself."""
ACROSS = ("Stochastic", "ContinuousTime", "DiscreteTime", "Autonomous", "Forced", "Delay", "DimensionAtLeast2",
          "DimensionAtLeast3", "DimensionAtLeast4", "VolumePreserving", "Dissipative")  # fmt: skip
ACROSS_PAIRS = 60
"""Most pairs across systems for one predicate."""


@dataclass(frozen=True, slots=True)
class World:
    """The facts: instances and the words of their systems."""

    records: tuple[Record, ...]
    systems: Mapping[str, SystemWords]
    by_system: Mapping[str, tuple[Record, ...]]

    def of(self, system_id: str) -> tuple[Record, ...]:
        """The instances of a system."""
        return self.by_system[system_id]

    def system(self, record: Record) -> SystemWords:
        """The system of an instance."""
        return self.systems[record.system_id]


def world_of(records: Iterable[Record], systems: Mapping[str, SystemWords]) -> World:
    """The facts, with the instances of each system together."""
    by_system: dict[str, list[Record]] = {}
    for record in records:
        by_system.setdefault(record.system_id, []).append(record)
    rows = {system: tuple(own) for system, own in by_system.items()}
    return World(tuple(record for own in rows.values() for record in own), systems, rows)


@dataclass(frozen=True, slots=True)
class QuestionPair:
    """Two instances, `true` where the predicate holds and `false` where it does not; `turn` tells reuses apart."""

    predicate: str
    true: Record
    false: Record
    turn: int

    @property
    def key(self) -> str:
        """The name of the pair, for choices."""
        return f"{self.predicate}|{self.true.id}|{self.false.id}"

    def members(self) -> tuple[tuple[Record, bool], ...]:
        """Both instances with the predicate's truth."""
        return ((self.true, True), (self.false, False))

    def draft(self, system: SystemWords, record: Record, *, polarity: bool, split: str = CORE) -> Draft:
        """An item about one member; family, template and question are for the caller to fill in."""
        whom = about(system, (record,), fact_group(record, self.predicate), split)
        return Draft("", "", "", (record is self.true) is polarity, whom, self.predicate, polarity, "fact")


def fact_group(record: Record, predicate: str) -> str:
    """The name of a base fact."""
    return f"{record.id}|{predicate}"


def paired(world: World) -> tuple[list[QuestionPair], list[QuestionPair]]:
    """All pairs: those for plain questions, and those kept for variants of one question."""
    plain: list[QuestionPair] = []
    robust: list[QuestionPair] = []
    for predicate in PREDICATES:
        cells: dict[str, list[Record]] = {}
        for record in world.records:
            if predicate in record.facts:
                # The sampling that a question states goes with the forcing; both members must share it.
                forced = str(record.facts.get("Forced")) if predicate in SAMPLED else ""
                cells.setdefault(f"{record.system_id}|{forced}", []).append(record)
        for cell, records in cells.items():
            mine, kept = _within(predicate, cell, records)
            plain += mine
            robust += kept
        if predicate in ACROSS:
            plain += _across(predicate, world)
    return plain, robust


def _within(predicate: str, cell: str, records: Sequence[Record]) -> tuple[list[QuestionPair], list[QuestionPair]]:
    true = mixed((r for r in records if r.facts[predicate]), lambda r: r.id, "pair", predicate)
    false = mixed((r for r in records if not r.facts[predicate]), lambda r: r.id, "pair", predicate)
    fewer = min(len(true), len(false))
    kept = int(ROBUST_SHARE * fewer + share("kept", predicate, cell))
    robust = [QuestionPair(predicate, t, f, 0) for t, f in zip(true[:kept], false[:kept], strict=True)]
    true, false = true[kept:], false[kept:]
    fewer, more = sorted((len(true), len(false)))
    count = min(more, REUSE * fewer)
    plain = [QuestionPair(predicate, true[n % len(true)], false[n % len(false)], n // fewer) for n in range(count)]
    return plain, robust


def _across(predicate: str, world: World) -> list[QuestionPair]:
    """Pairs of two systems: instances of systems in which the predicate never changes, so that no fact is used twice.

    Held-out systems are paired among themselves. The rarer label sets the number; each system takes its turn.
    """
    pairs: list[QuestionPair] = []
    for held_out in (False, True):
        truths: dict[str, set[bool]] = {}
        for record in world.records:
            if predicate in record.facts and is_held_out(record.system_id) is held_out:
                truths.setdefault(record.system_id, set()).add(record.facts[predicate])
        fixed = {system for system, seen in truths.items() if len(seen) == 1}
        rows = [record for record in world.records if record.system_id in fixed and predicate in record.facts]
        true = _in_turn([r for r in rows if r.facts[predicate]], predicate)
        false = _in_turn([r for r in rows if not r.facts[predicate]], predicate)
        count = min(len(true), len(false), round(ACROSS_PAIRS * (0.1 if held_out else 0.9)))
        pairs += [QuestionPair(predicate, t, f, 0) for t, f in zip(true[:count], false[:count], strict=True)]
    return pairs


def _in_turn(records: Sequence[Record], predicate: str) -> list[Record]:
    """The records, system after system in turns, each system's in mixed order."""
    systems: dict[str, list[Record]] = {}
    for record in mixed(records, lambda r: r.id, "turn", predicate):
        systems.setdefault(record.system_id, []).append(record)
    ranked = [(place, share("turn", predicate, system), record.id, record)
              for system, rows in systems.items() for place, record in enumerate(rows)]  # fmt: skip
    return [entry[-1] for entry in sorted(ranked, key=lambda entry: entry[:3])]
