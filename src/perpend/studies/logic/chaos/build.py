"""Measure every planned instance, keep a balanced choice, and freeze it. Needs dysts for the dysts systems."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from perpend.canon import JSON, write_atomic
from perpend.studies.logic.chaos.decide import Facts, decide, start_matters
from perpend.studies.logic.chaos.instances import Instance, default_start, landmarks, neighbours, planned
from perpend.studies.logic.chaos.predicates import PREDICATES
from perpend.studies.logic.chaos.records import FACTS_FILE, SYSTEMS_FILE, Record, as_lines, instance_id, numbers_as_json
from perpend.studies.logic.chaos.rules import consequences
from perpend.studies.logic.chaos.survey import Length, survey, tuned
from perpend.studies.logic.chaos.system import System

REGIMES = ("FixedPointAttractor", "Periodic", "QuasiPeriodic", "Chaotic")
_FACTORS = (0.2, 0.3, 0.45, 0.6, 0.7, 0.8, 0.87, 0.94, 1.0, 1.06, 1.13, 1.2, 1.3, 1.45, 1.7, 2.0, 2.5)
# Systems with one or two parameters are scanned further out: there is no other way to another regime.
_FURTHER = (0.02, 0.05, 0.1, *_FACTORS, 3.5, 5.0, 8.0)
# Points of a fine scan over all of the bounded range, and over the chaotic range up to its calm neighbours.
_WIDE, _NEAR = 8, 11
_COARSE_LENGTH = Length(50, 80, 40, 0, confirms=False)
_SCANNED_PARAMETERS = 4
DYSTS_LENGTH = Length(130, 260, 100, 0)
DYSTS_MAP_LENGTH = Length(5_000, 5_000, 1_000)


@dataclass(frozen=True, slots=True)
class Quota:
    """How many instances of a system to keep at most, and how many to keep even if they are not balanced."""

    most: int
    least: int
    neighbours: int


CORE = Quota(60, 24, 2)
DYSTS = Quota(14, 8, 1)


def regime(record: Record) -> str | None:
    """Which regime a record is in: one of REGIMES, 'Escape', 'Noise', or None where none was decided."""
    if record.facts.get("Stochastic"):
        return "Noise"
    if record.facts.get("Bounded") is False:
        return "Escape"
    return next((name for name in REGIMES if record.facts.get(name)), None)


def measured(system: System, instances: Sequence[Instance], others: int, length: Length | None = None) -> list[Record]:
    """The records of instances; each is also measured from `others` nearby starts to see whether the start matters."""
    rng = np.random.default_rng(7)
    runs = [i for i in instances if not system.is_noisy(i.values)]
    group = [Instance(i.system_id, i.values, s) for i in runs for s in (i.start, *neighbours(i, others, rng))]
    numbers = survey(system, group, length) if group else []
    facts = [decide(system, i, n) for i, n in zip(group, numbers, strict=True)]
    records = []
    for k, instance in enumerate(runs):
        at = k * (others + 1)
        matters = start_matters(facts[at], facts[at + 1 : at + 1 + others])
        records.append(_record(system, instance, facts[at], matters=matters, numbers=numbers_as_json(numbers[at])))
    noisy = [instance for instance in instances if system.is_noisy(instance.values)]
    return records + [_record(system, i, decide(system, i, None), matters=False, numbers={}) for i in noisy]


def _record(system: System, instance: Instance, facts: Facts, *, matters: bool, numbers: Mapping[str, JSON]) -> Record:
    decided = {name: value for name, (value, _) in facts.items()}
    # Of an orbit that runs away, or of noise, no number was measured, and none is denied.
    implied = {name: value for name, value in consequences(decided).items() if PREDICATES[name].kind != "number"}
    return Record(
        instance_id(system, instance),
        system.system_id,
        instance.values,
        instance.start,
        matters,
        dict(sorted({**decided, **implied}.items())),
        {**{name: method for name, (_, method) in facts.items()}, **dict.fromkeys(implied, "rule")},
        numbers,
    )


def chosen(records: Iterable[Record], quota: Quota, kept: frozenset[str] = frozenset()) -> list[Record]:
    """As many chaotic as other instances, the others spread over their regimes, each spread over its scan.

    Records whose settings are in `kept` come first in their regime.
    """
    groups: dict[str, list[Record]] = {}
    for record in records:
        kind = regime(record)
        if kind is not None:
            groups.setdefault(kind, []).append(record)
    chaotic = groups.pop("Chaotic", [])
    rest = sum(map(len, groups.values()))
    share = min(quota.most // 2, len(chaotic), rest)
    total = max(2 * share, min(quota.least, len(chaotic) + rest))
    from_chaotic = min(len(chaotic), max(share, total - rest))
    picked = _spread(chaotic, from_chaotic, kept)
    left = min(rest, total - from_chaotic)
    for i, kind in enumerate(sorted(groups, key=lambda name: (len(groups[name]), name))):
        part = min(len(groups[kind]), left // (len(groups) - i) if kind != "Escape" else max(1, left // 5))
        picked += _spread(groups[kind], part, kept)
        left -= part
    return sorted(picked, key=lambda record: record.id)


def _spread(records: Sequence[Record], count: int, kept: frozenset[str]) -> list[Record]:
    """`count` of the records: the kept ones, and others at even distances, the ends included."""
    first = [record for record in records if record.instance.settings in kept][:count]
    rest = [record for record in records if record not in first]
    more = count - len(first)
    return first + ([rest[round(i)] for i in np.linspace(0, len(rest) - 1, more)] if more else [])


def _scan(system: System, name: str, factors: Iterable[float]) -> list[Instance]:
    instances = []
    for factor in factors:
        values = {**system.parameters, name: float(f"{system.parameters[name] * factor:.3g}")}
        instances.append(Instance(system.system_id, values, default_start(system, values)))
    return instances


def _coarse(system: System, names: Sequence[str]) -> list[tuple[float, str, list[tuple[float, str | None]]]]:
    """Scan parameters coarsely: how well each mixes chaos with order, its name, and (factor, regime) along it."""
    factors = _FACTORS if len(system.parameters) > 2 else _FURTHER
    instances = [instance for name in names for instance in _scan(system, name, factors)]
    rows = measured(system, instances, 0, DYSTS_MAP_LENGTH if system.kind == "map" else _COARSE_LENGTH)
    scans = []
    for k, name in enumerate(names):
        kinds = [regime(row) for row in rows[k * len(factors) : (k + 1) * len(factors)]]
        calm = sum(kind not in (None, "Chaotic", "Escape") for kind in kinds)
        mix = min(kinds.count("Chaotic"), calm) + len(set(kinds)) / 10
        scans.append((mix, name, list(zip(factors, kinds, strict=True))))
    return scans


def scan_dysts(system: System) -> list[Record]:
    """Scan parameters coarsely, four at a time until one shows chaos and order, then the two best ones finely."""
    names = [name for name, value in system.parameters.items() if value != 0 and name != "ps"]
    scans: list[tuple[float, str, list[tuple[float, str | None]]]] = []
    while names and (not scans or max(scans)[0] < 2):
        scans += _coarse(system, names[:_SCANNED_PARAMETERS])
        names = names[_SCANNED_PARAMETERS:]
    fine: dict[str, Instance] = {}
    for _, name, points in sorted(scans, reverse=True)[:2]:
        factors = [factor for factor, _ in points]
        alive = [factor for factor, kind in points if kind not in (None, "Escape")] or [0.8, 1.2]
        near = [i for i, (_, kind) in enumerate(points) if kind == "Chaotic"] or [factors.index(1.0)]
        edges = factors[max(0, near[0] - 1)], factors[min(len(factors) - 1, near[-1] + 1)]
        grid = [*np.geomspace(alive[0], alive[-1], _WIDE).tolist(), *np.linspace(*edges, _NEAR).tolist()]
        grid += [1.0, alive[-1] * 1.3]
        fine |= {instance.settings: instance for instance in _scan(system, name, sorted(grid))}
    return measured(system, list(fine.values()), DYSTS.neighbours, _dysts_length(system))


def _dysts_length(system: System) -> Length:
    return DYSTS_MAP_LENGTH if system.kind == "map" else DYSTS_LENGTH


def remeasured(system: System, instances: Sequence[Instance]) -> list[Record]:
    """The records of instances, run as long as for the frozen facts but without nearby starts."""
    if system.system_id.startswith("dysts_"):
        return measured(tuned(system), instances, 0, _dysts_length(system))
    return measured(system, instances, 0)


def build_system(system: System) -> list[Record]:
    """The chosen records of one system."""
    if system.system_id.startswith("dysts_"):
        return chosen(scan_dysts(tuned(system)), DYSTS)
    large = system.dimension(system.parameters) or 0
    others = 1 if large > 6 else CORE.neighbours
    return chosen(measured(system, planned(system), others), CORE, landmarks(system))


def build(systems: Mapping[str, System], folder: Path) -> None:
    """Measure each system into its own file in a folder; a system whose file is there is not measured again."""
    for system_id, system in systems.items():
        path = folder / f"{system_id}.jsonl"
        if path.exists():
            continue
        records = build_system(system)
        write_atomic(path, as_lines([{"system": system.as_json()}, *(record.as_json() for record in records)]))


def collect(folder: Path) -> tuple[int, int]:
    """Freeze what a folder holds into facts.jsonl and systems.jsonl: (systems, instances)."""
    systems, rows = [], []
    for path in sorted(folder.glob("*.jsonl")):
        first, *rest = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        if rest:
            systems.append(first["system"])
            rows += rest
    write_atomic(SYSTEMS_FILE, as_lines([row for _, row in sorted((row["system_id"], row) for row in systems)]))
    write_atomic(FACTS_FILE, as_lines([row for _, row in sorted((row["id"], row) for row in rows)]))
    return len(systems), len(rows)
