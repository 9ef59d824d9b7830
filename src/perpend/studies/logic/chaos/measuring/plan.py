"""Which instances to measure: scans of parameters, a coarse look at each, and a choice balanced in regime and distance.

A function of the code alone (core.toml and, for the dysts systems, that package's source): the same code plans the same
instances. A scan's values have three significant digits at the system's own value, all of one parameter the same number
of decimals, and none ends in a zero, so that neither the count nor the last digit tells a regime.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from perpend.errors import DataError
from perpend.studies.logic.chaos.instances import Instance, default_start
from perpend.studies.logic.chaos.measuring.machines import machine
from perpend.studies.logic.chaos.measuring.numbers import End, Lengths, Orbit, clock, followed, orbit
from perpend.studies.logic.chaos.system import System, Values
from perpend.studies.logic.chaos.systems import CORE_FILE

_FACTORS = (0.2, 0.3, 0.45, 0.6, 0.7, 0.8, 0.87, 0.94, 1.06, 1.13, 1.2, 1.3, 1.45, 1.7, 2.0, 2.5)
# Systems with one or two parameters are scanned further out: there is no other way to another regime.
_FURTHER = (0.02, 0.05, 0.1, *_FACTORS, 3.5, 5.0, 8.0)
_MOST_PARAMETERS = 6
_FINE = 30
_COARSE_UNITS = 150
_COARSE_TOLERANCE = 1e-8
_COARSE_STEPS = 300_000
# Terms of the cost of a pair, in units of the distance that its partners differ by.
_OTHER_LINE, _SAME_REGIME, _CROWDED, _ONE_SIDED, _ESCAPE = 0.5, 0.1, 0.3, 0.05, 0.15
_NEAR = 0.03


@dataclass(frozen=True, slots=True)
class Quota:
    """How many instances of a system are measured, how many of them are kept, and how many if there is no balance."""

    measured: int
    kept: int
    least: int


CORE = Quota(19, 14, 6)
DYSTS = Quota(11, 8, 4)
LARGE = Quota(12, 8, 4)


@dataclass(frozen=True, slots=True)
class Sighting:
    """One candidate with its coarse look. `line` names the scan that it is on, `offset` its way along it."""

    instance: Instance
    line: str
    offset: float
    distance: float
    end: End


@dataclass(frozen=True, slots=True)
class PlannedInstances:
    """The planned instances in order of choice, the time of one oscillation, and the variable that shows it."""

    unit: float
    watched: int
    instances: tuple[Instance, ...]


def quota(system: System) -> Quota:
    """By origin; systems of more than six variables, where every step costs more, get fewer."""
    if (system.dimension(system.parameters) or 99) > 6:
        return LARGE
    return DYSTS if system.system_id.startswith("dysts_") else CORE


def decimals(value: float) -> int:
    """Decimals that give a value three significant digits."""
    return max(0, 2 - math.floor(math.log10(abs(value))))


def written(value: float, places: int) -> float:
    """The value with the given decimals, the last of them not zero; zero stays, being another form of the equations."""
    scaled = round(value * 10**places)
    if scaled != 0 and scaled % 10 == 0:
        scaled += 1
    return float(f"{scaled / 10**places:.{places}f}")


def distance(system: System, values: Values) -> float:
    """How far from the system's own values: the relative differences added up, each 2 at most."""
    pairs = [(values[name], own) for name, own in system.parameters.items()]
    return sum(2 * abs(a - b) / (abs(a) + abs(b)) for a, b in pairs if a != b)


def _offset(system: System, values: Values, name: str) -> float:
    """Signed way of one parameter from the system's own value, relative and bounded by 2."""
    a, b = values[name], system.parameters[name]
    return 0.0 if a == b else 2 * (a - b) / (abs(a) + abs(b))


def core_scan(system: System) -> tuple[tuple[str, Instance], ...]:
    """The candidates of core.toml, without doubles: (line of the scan, instance)."""
    table = tomllib.loads(CORE_FILE.read_text(encoding="utf-8"))[system.system_id]
    places: dict[str, int] = {}
    for name, first, last, _, listed, *_rest in table["scan"]:
        own = system.parameters[name] or (first + last) / 2
        places.setdefault(name, 0 if listed == 0 else decimals(own))
    candidates = {f"{mark.settings}|{mark.start}": ("landmark", mark) for mark in landmarks(system)}
    for name, first, last, count, listed, *rest in table["scan"]:
        fixed: Mapping[str, float] = rest[0] if rest else {}
        for value in np.linspace(first, last, count):
            shown = float(round(value)) if listed == 0 else written(float(value), places[name])
            values = {**system.parameters, **fixed, name: shown}
            starts: Sequence[Sequence[float]] = table.get("starts") or [default_start(system, values)]
            for k, start in enumerate(starts):
                instance = Instance(system.system_id, values, tuple(start))
                line = f"{name}|{sorted(fixed.items())}|{k}"
                candidates.setdefault(f"{instance.settings}|{instance.start}", (line, instance))
    return tuple(candidates.values())


def landmarks(system: System) -> tuple[Instance, ...]:
    """The system at its own values, from its first start, and the settings that core.toml names."""
    if system.system_id.startswith("dysts_"):
        return (Instance(system.system_id, system.parameters, default_start(system, system.parameters)),)
    table = tomllib.loads(CORE_FILE.read_text(encoding="utf-8"))[system.system_id]
    marks = [{}, *table.get("landmarks", [])]
    candidates: dict[str, Instance] = {}
    for mark in marks:
        values = {**system.parameters, **mark}
        start = (table.get("starts") or [default_start(system, values)])[0]
        instance = Instance(system.system_id, values, tuple(start))
        candidates.setdefault(f"{instance.settings}|{instance.start}", instance)
    return tuple(candidates.values())


def able(system: System, values: Values) -> bool:
    """Whether there is a machine for a setting: noise and what the engine does not take have none."""
    try:
        machine(system, values)
    except DataError:
        return False
    return True


def oscillation(system: System) -> tuple[float, int]:
    """The mean time between two rises of a variable through its middle, at the system's own values, and which variable.

    Of the variables that rise eight times or more, the one that does so most often. The system's time scale and its
    first variable where the orbit leaves, rests, or none rises so often.
    """
    scale, nothing = system.time_scale, (system.time_scale, 0)
    if system.kind == "map" or system.is_forced(system.parameters) or not able(system, system.parameters):
        return nothing
    values = system.parameters
    engine = machine(system, values)
    start = np.array(default_start(system, values))
    for span in (100 * scale, 2000 * scale):
        reached = engine.advance(values, start, 0.0, span, _COARSE_TOLERANCE)
        if reached.status != "ok":
            return nothing
        run = engine.follow(values, reached.state, reached.time, span, scale / 4, _COARSE_TOLERANCE, 1)
        if run.status != "ok":
            return nothing
        extent = run.high - run.low
        candidates = []
        for i in range(min(4, len(extent))):
            if i not in system.angles and extent[i] > max(1e-9, 0.01 * float(extent.max())):
                level = float(run.high[i] + run.low[i]) / 2
                times, _ = engine.section(values, run.state, run.time, span, _COARSE_TOLERANCE, i, level)
                if len(times) >= 8:
                    candidates.append((float(f"{np.diff(times).mean():.3g}"), i))
        if candidates:
            return min(candidates)
    return nothing


def _look(system: System, line: str, instance: Instance, oscillating: tuple[float, int]) -> Sighting:
    """A short, loose run: where it seems to end."""
    values = instance.values
    timing = clock(system, values, *oscillating)
    units = 2_000 if system.kind == "map" else _COARSE_UNITS
    lengths = Lengths(2 * units * timing.unit, units, _COARSE_TOLERANCE, _COARSE_STEPS)
    candidates: Orbit = orbit(system, values, instance.start, timing, lengths, min(2, followed(system, values)))
    name = line.partition("|")[0]
    offset = _offset(system, values, name) if name in values else 0.0
    return Sighting(instance, line, offset, distance(system, values), candidates.end)


def _scan(system: System, name: str, factors: Iterable[float]) -> list[Instance]:
    own = system.parameters[name]
    places = decimals(own)
    values = sorted({written(own * factor, places) for factor in factors} - {0.0, own})
    start = default_start(system, system.parameters)
    return [Instance(system.system_id, {**system.parameters, name: value}, start) for value in values]


def _dysts_sightings(system: System, oscillating: tuple[float, int]) -> list[Sighting]:
    """Scan the first parameters coarsely, then finely the two that show most of both chaos and order."""
    names = [name for name, value in system.parameters.items() if value != 0 and name != "ps"]
    factors = _FURTHER if len(names) <= 2 else _FACTORS
    scans: list[tuple[float, str, list[Sighting]]] = []
    for name in names[:_MOST_PARAMETERS]:
        seen = [_look(system, name, instance, oscillating) for instance in _scan(system, name, factors)]
        ends = [one.end for one in seen]
        calm = sum(end in ("rest", "cycle", "torus") for end in ends)
        scans.append((min(ends.count("chaos"), calm) + len(set(ends)) / 10, name, seen))
    candidates = [_look(system, "landmark", instance, oscillating) for instance in landmarks(system)]
    known = {one.instance.settings for one in candidates}
    for _, name, seen in sorted(scans, key=lambda scan: (-scan[0], scan[1]))[:2]:
        alive = [one.instance.values[name] / system.parameters[name] for one in seen if one.end != "escaped"] or [
            0.8,
            1.2,
        ]
        grid = np.geomspace(min(alive), max(alive), _FINE).tolist() if len(alive) > 1 else [0.8, 1.2]
        fine = [_look(system, name, instance, oscillating) for instance in _scan(system, name, grid)]
        for one in (*seen, *fine):
            if one.instance.settings not in known:
                known.add(one.instance.settings)
                candidates.append(one)
    return candidates


def _pair_cost(pair: tuple[Sighting, Sighting], chosen: Sequence[tuple[Sighting, Sighting]]) -> float:
    wild, calm = pair
    cost = abs(wild.distance - calm.distance) + _OTHER_LINE * (wild.line != calm.line)
    cost += _SAME_REGIME * sum(other.end == calm.end for _, other in chosen) + _ESCAPE * (calm.end == "escaped")
    for k, one in enumerate(pair):
        near = [abs(one.offset - other[k].offset) for other in chosen if other[k].line == one.line]
        cost += _CROWDED * max([0.0, *(1 - gap / _NEAR for gap in near)])
    up = sum(np.sign(a.offset) - np.sign(b.offset) for a, b in (*chosen, pair))
    return cost + _ONE_SIDED * abs(float(up))


def _spread(rest: Sequence[Sighting], count: int) -> list[Sighting]:
    """So many of a list, evenly over its order."""
    if len(rest) <= count:
        return list(rest)
    return [rest[int(i)] for i in np.linspace(0, len(rest) - 1, count).round()] if count else []


def choose(sightings: Sequence[Sighting], limits: Quota) -> list[Sighting]:
    """Landmarks, then pairs of a chaotic and another candidate at like distances, then a spread of what is left."""
    marks = [one for one in sightings if one.line == "landmark"]
    wild = [one for one in sightings if one.end == "chaos" and one not in marks]
    calm = [one for one in sightings if one.end not in ("chaos", "unclear") and one not in marks]
    picked: list[tuple[Sighting, Sighting]] = []
    while wild and calm and len(marks) + 2 * len(picked) < limits.measured:
        best = min(((a, b) for a in wild for b in calm), key=lambda pair: _pair_cost(pair, picked))
        picked.append(best)
        wild.remove(best[0])
        calm.remove(best[1])
    candidates = [*marks, *(one for pair in picked for one in pair)]
    # Where one side is lacking there are no pairs; some of the other are still worth asking about.
    left = wild or calm
    candidates += _spread(left, max(0, min(limits.least + 2, limits.measured) - len(candidates)))
    return candidates


def planned(system: System) -> PlannedInstances:
    """The instances of a system to measure. Those with noise are not integrated, so the first are as good as any."""
    oscillating = oscillation(system)
    if system.system_id.startswith("dysts_"):
        return PlannedInstances(
            *oscillating, tuple(one.instance for one in choose(_dysts_sightings(system, oscillating), quota(system)))
        )
    scan = core_scan(system)
    noisy = [one for _, one in scan if system.is_noisy(one.values)][: CORE.least]
    seen = [_look(system, line, one, oscillating) for line, one in scan if able(system, one.values)]
    return PlannedInstances(*oscillating, (*(one.instance for one in choose(seen, quota(system))), *noisy))
