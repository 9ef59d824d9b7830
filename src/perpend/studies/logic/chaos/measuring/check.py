"""The second look: sign of the exponents, rest, escape and period by another method, and the check of frozen facts.

Nothing here uses the first method's integrator or estimator: the orbit is computed by extrapolation, from another start
near the stated one, and exponents come from displaced orbits (second.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from perpend.canon import JSON
from perpend.studies.logic.chaos.instances import Instance
from perpend.studies.logic.chaos.measuring.decide import MethodReading, apart
from perpend.studies.logic.chaos.measuring.numbers import averages, clock, followed, observed, stroboscopic
from perpend.studies.logic.chaos.measuring.second import SecondMachine
from perpend.studies.logic.chaos.records import Record
from perpend.studies.logic.chaos.system import Array, System

_TRANSIENT_TIME, _TRANSIENT_UNITS, _TRANSIENT_ITERATES = 1_000.0, 300, 20_000
_LONGEST_TRANSIENT = 3_000
_UNITS, _ITERATES, _LARGE_UNITS = 600, 6_000, 300
_TOLERANCE, _DELAY_TOLERANCE = 1e-10, 1e-7
# Displacements are set back so often in a unit: at rest they soon shrink to rounding errors.
_PARTS_OF_UNIT = 16
_AT_REST = 1e-6
# Distance over extent within which a period closes and above which a smaller one does not.
_CLOSES, _PARTS = 1e-4, 1e-3
# The second start is off by this share of the stated one.
_AWAY = 7e-4


def second_start(instance: Instance) -> Array:
    """A start near the stated one, on no round number."""
    x = np.array(instance.start, dtype=np.float64)
    size = np.maximum(np.abs(x), 0.1 * max(float(np.abs(x).max()), 0.1))
    signs = np.array([1.0 if i % 2 == 0 else -1.0 for i in range(len(x))])
    moved: Array = x + _AWAY * size * signs
    return moved


def second_look(
    system: System, instance: Instance, oscillating: tuple[float, int], first: Mapping[str, Any]
) -> dict[str, JSON]:
    """What the second method says: 'end' is 'escaped', 'rest', 'moves' or 'unclear'; exponents with errors."""
    values = instance.values
    timing = clock(system, values, *oscillating)
    if system.kind != "map":
        timing = replace(timing, parts=_PARTS_OF_UNIT)
    large = (system.dimension(values) or 99) > 6
    tolerance = _DELAY_TOLERANCE if system.is_delayed(values) else _TOLERANCE
    blank: dict[str, JSON] = {"end": "unclear", "exponents": [], "errors": [], "unit": timing.unit}
    engine = SecondMachine(system, values)
    if system.kind == "map":
        span, units = float(_TRANSIENT_ITERATES), _ITERATES
    else:
        span = max(_TRANSIENT_UNITS * timing.unit, min(_TRANSIENT_TIME, _LONGEST_TRANSIENT * timing.unit))
        units = _LARGE_UNITS if large else _UNITS
    # An orbit that the first method found slow is given the same time to settle, up to ten times the usual.
    span = timing.whole(max(span, min(float(first.get("transient", 0.0)), 10 * span)))
    reached = engine.advance(values, second_start(instance), 0.0, span, tolerance)
    if reached.status != "ok":
        return {**blank, "end": "escaped" if reached.status == "escaped" else "unclear", "why": reached.status}
    count = min(2, followed(system, values))
    run = engine.exponents(
        values, reached.state, reached.time, units * timing.unit, timing.interval, count, tolerance=tolerance
    )
    if run.status != "ok":
        return {**blank, "end": "escaped" if run.status == "escaped" else "unclear", "why": run.status}
    if not (run.growth < np.inf).all():
        return {**blank, "why": "a displacement was lost"}
    rates, errors = averages(np.maximum(run.growth, -700.0), timing.interval)
    states = observed(system, run.states)[len(run.states) // 2 :]
    span_seen = float(np.ptp(states, axis=0).max())
    still = span_seen <= _AT_REST * max(float(np.abs(states).max()), 1e-2)
    again: dict[str, JSON] = {
        **blank,
        "end": "rest" if still else "moves",
        "exponents": rates.tolist(),
        "errors": errors.tolist(),
    }
    period = first.get("period")
    if first.get("end") == "cycle" and period is not None and stroboscopic(system, values):
        # From the end of the run on whole units again.
        again["period_agrees"] = closes(states[timing.parts - 1 :: timing.parts], int(period), span_seen)
    return again


def closes(points: Array, period: int, span: float) -> bool:
    """Whether points (k, n), one a unit, repeat after `period` of them and after no fewer."""
    if span <= 0 or len(points) <= 2 * period:
        return False
    distances = [float(np.abs(points[p:] - points[:-p]).max()) / span for p in range(1, period + 1)]
    return distances[-1] <= _CLOSES and all(d > _PARTS for d in distances[:-1])


def verdicts(reading: MethodReading) -> dict[str, bool]:
    """What the second method alone says of an instance; a predicate that it leaves open is absent."""
    if reading.end == "unclear":
        return {}
    if reading.end == "escaped":
        return {"Bounded": False}
    again = {"Bounded": True}
    largest, second = reading.sign(0), reading.sign(1)
    if largest is not None:
        again |= {"PositiveLargestLyapunov": largest == 1, "Chaotic": largest == 1}
    if second is not None:
        again["Hyperchaotic"] = second == 1
    if largest == -1:
        again["FixedPointAttractor"] = reading.end == "rest"
    if reading.end == "rest":
        again["Periodic"] = False
    return again


def denials(record: Record, seen: Mapping[str, Any]) -> tuple[int, list[str]]:
    """How many facts and exponents were compared; those facts that are otherwise, and exponents out of tolerance."""
    reading = MethodReading.of(seen)
    both = {name: value for name, value in verdicts(reading).items() if name in record.facts}
    compared = len(both)
    lines = [
        f"{record.id}: {name} was {record.facts[name]}, the second method says {value}"
        for name, value in both.items()
        if record.facts[name] is not value
    ]
    if "period_agrees" in seen:
        compared += 1
        if not seen["period_agrees"]:
            lines.append(f"{record.id}: the period {record.numbers['period']} does not close by the second method")
    before, errors = record.numbers.get("lyapunov"), record.numbers.get("lyapunov_error")
    if isinstance(before, list) and isinstance(errors, list):
        for i, (x, y) in enumerate(zip(before, reading.exponents, strict=False)):
            compared += 1
            if apart(x, errors[i], reading, i):
                lines.append(f"{record.id}: Lyapunov exponent {i + 1} was {x} ± {errors[i]}, is {y:.6g}")
    return compared, lines


@dataclass(frozen=True, slots=True)
class CheckedFacts:
    """What a check looked at: instances measured, facts and exponents compared, and a line for each difference."""

    instances: int
    compared: int
    lines: tuple[str, ...]


def check(records: Iterable[Record], systems: Mapping[str, System]) -> CheckedFacts:
    """Look at records of these systems by the second method.

    Left out are other systems, noise, and exact maps, which arithmetic knows and a machine's numbers cannot follow.
    """
    instances, compared, lines = 0, 0, list[str]()
    for record in records:
        system = systems.get(record.system_id)
        if system is None or "theorem" in record.methods.values() or system.is_noisy(record.parameters):
            continue
        first = {"end": "cycle" if record.facts.get("Periodic") else "", **record.numbers}
        unit = float(str(record.numbers["unit"]))
        seen = second_look(system, record.instance, (unit, 0), first)
        count, again = denials(record, seen)
        instances, compared, lines = instances + 1, compared + count, [*lines, *again]
    return CheckedFacts(instances, compared, tuple(lines))
