"""One instance wholly: two long runs at two tolerances, twelve starts, and for chaos a test that it lasts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from perpend.canon import JSON
from perpend.studies.logic.chaos.instances import Instance
from perpend.studies.logic.chaos.measuring.machines import machine
from perpend.studies.logic.chaos.measuring.numbers import (
    ALIGN,
    MOST_STEPS,
    Clock,
    Lengths,
    Orbit,
    clock,
    followed,
    orbit,
    signs,
)
from perpend.studies.logic.chaos.system import System, Values

# Transients: time units and oscillations, whichever is longer, at most this many oscillations, which the fastest
# systems reach sooner; iterates of a map.
TRANSIENT_TIME, TRANSIENT_UNITS, TRANSIENT_MOST, TRANSIENT_ITERATES = 5_000.0, 500, 30_000, 20_000
MEASURED_UNITS, MEASURED_ITERATES = 4_000, 20_000
OTHER_UNITS, OTHER_ITERATES = 300, 4_000
# A flow of many variables is followed for fewer units: each costs more.
LARGE_UNITS = 2_000
TOLERANCES = (1e-9, 1e-11)
OTHER_TOLERANCE = 1e-8
# Delay equations, whose step falls with the fourth root of the tolerance.
DELAY_UNITS, DELAY_TRANSIENT_UNITS, DELAY_ENDURED_LEAST, DELAY_ENDURED_MOST = 400, 100, 2_000, 10_000
DELAY_TOLERANCES = (1e-8, 1e-7)
NEAR_STARTS, WIDE_STARTS = 3, 8
_NEAR = 1e-3
# Extremes of two cycles that differ by this share of their extent are those of two cycles.
_APART = 1e-4
# The wide box reaches this many extents of the orbit beyond its middle, each way.
_WIDE = 1.5
# Where nothing was clear: once more, settled and followed for longer.
_LONGER_TRANSIENT, _LONGER_RUN = 8, 3
ENDURED_TIME, ENDURED_UNITS, ENDURED_MOST, ENDURED_ITERATES = 100_000.0, 10_000, 300_000, 2_000_000
LARGE_ENDURED_TIME = 20_000.0
ENDURED_STARTS, WINDOWS = 3, 20
ENDURED_TOLERANCE = 1e-8
# States at which the divergence is looked at, to see whether it vanishes everywhere.
_VOLUME_STATES = 64
# A window below this share of the mean rate is calm.
_CALM = 0.1


@dataclass(frozen=True, slots=True)
class Measurement:
    """What the first method says of an instance. `home` is the stated start's orbit with the errors of both runs."""

    home: Orbit
    timing: Clock
    transient: float
    robust: bool
    """The second run and all near starts ended alike."""
    start_matters: bool
    others: tuple[str, ...]
    """How each other start ended, near ones first."""
    spreads: bool
    """Near starts ended on the same kind of cycle but on other ones: nothing draws them together."""
    endured: float | None = None
    """The time for which chaos was seen to last from each of three starts; None: not chaotic, or it did not last."""


def fractions(count: int, dimension: int) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Points spread evenly in the unit cube: Roberts' additive recurrence. The same on every machine."""
    g = 2.0
    for _ in range(60):
        g = (1 + g) ** (1 / (dimension + 1))
    steps = np.array([g ** -(i + 1) for i in range(dimension)])
    return (0.5 + np.outer(np.arange(1, count + 1), steps)) % 1.0


def near_starts(start: Sequence[float], count: int) -> list[tuple[float, ...]]:
    """Starts off by up to a thousandth of the start's size in each coordinate."""
    x = np.array(start, dtype=np.float64)
    size = np.maximum(np.abs(x), 0.1 * max(float(np.abs(x).max()), 0.1))
    shifts = 2 * fractions(count, len(x)) - 1
    return [tuple(float(v) for v in x + _NEAR * size * row) for row in shifts]


def wide_starts(system: System, home: Orbit, dimension: int, count: int) -> list[tuple[float, ...]]:
    """Starts in a box around the orbit, three times as wide as it; angles take a whole turn."""
    at = 0
    low, high = np.empty(dimension), np.empty(dimension)
    least = 0.5 * max(float(np.abs(np.concatenate([home.low, home.high])).max()), 0.1)
    for i in range(dimension):
        if i in system.angles:
            low[i], high[i], at = 0.0, system.turn, at + 2
            continue
        middle = (home.low[at] + home.high[at]) / 2
        reach = max(_WIDE * (home.high[at] - home.low[at]), least)
        low[i], high[i], at = middle - reach, middle + reach, at + 1
    return [tuple(float(v) for v in low + (high - low) * row) for row in fractions(count, dimension)]


def alike(one: Orbit, other: Orbit) -> bool:
    """Whether two orbits ended in the same way: kind and period, and for chaos the largest exponent too."""
    if "chaos" in (one.end, other.end) and {one.end, other.end} <= {"chaos", "unclear"}:
        if not len(one.exponents) or not len(other.exponents):
            return False
        gap = abs(float(one.exponents[0] - other.exponents[0]))
        return gap <= 5 * float(one.errors[0] + other.errors[0]) + 0.1 * abs(float(one.exponents[0]))
    if one.end != other.end:
        return False
    return one.end != "cycle" or one.period is None or other.period is None or one.period == other.period


def _lengths(system: System, values: Values, timing: Clock) -> tuple[Lengths, Lengths, Lengths]:
    """Of the stated start's run, of its second run, and of the other starts'."""
    if system.kind == "map":
        own = Lengths(TRANSIENT_ITERATES, MEASURED_ITERATES, TOLERANCES[0])
        return own, own, replace(own, units=OTHER_ITERATES)
    if system.is_delayed(values):
        time = max(TRANSIENT_TIME, DELAY_TRANSIENT_UNITS * timing.unit)
        own = Lengths(time, DELAY_UNITS, DELAY_TOLERANCES[0])
        again = replace(own, tolerance=DELAY_TOLERANCES[1])
        return own, again, replace(again, units=DELAY_UNITS // 2)
    units = MEASURED_UNITS if (system.dimension(values) or 0) <= 6 else LARGE_UNITS
    time = max(TRANSIENT_UNITS * timing.unit, min(TRANSIENT_TIME, TRANSIENT_MOST * timing.unit))
    own = Lengths(time, units, TOLERANCES[0])
    return own, replace(own, tolerance=TOLERANCES[1]), Lengths(time, OTHER_UNITS, OTHER_TOLERANCE)


def _longer(lengths: Lengths) -> Lengths:
    return replace(lengths, transient=_LONGER_TRANSIENT * lengths.transient, units=_LONGER_RUN * lengths.units)


def both(first: Orbit, second: Orbit) -> Orbit:
    """The first run with each error widened to the difference of the two runs."""
    if len(first.exponents) != len(second.exponents):
        return first
    return replace(first, errors=np.maximum(first.errors, np.abs(first.exponents - second.exponents) / 2))


def measure(system: System, instance: Instance, oscillating: tuple[float, int]) -> Measurement:
    """Everything that the first method measures of an instance."""
    values, m = instance.values, followed(system, instance.values)
    timing = clock(system, values, *oscillating)
    own, repeated, short = _lengths(system, values, timing)
    home = orbit(system, values, instance.start, timing, own, m)
    if home.end == "unclear" and len(home.exponents):
        own, repeated, short = _longer(own), _longer(repeated), _longer(short)
        home = orbit(system, values, instance.start, timing, own, m)
    blank = Measurement(home, timing, own.transient, robust=False, start_matters=True, others=(), spreads=False)
    if home.end == "unclear":
        return blank
    near = near_starts(instance.start, NEAR_STARTS)
    again = orbit(system, values, near[0], timing, repeated, m)
    if not alike(home, again):
        return replace(blank, others=(again.end,))
    home = both(home, again)
    close = [orbit(system, values, start, timing, short, min(m, 2)) for start in near[1:]]
    wide: list[Orbit] = []
    if home.end != "escaped":
        starts = wide_starts(system, home, len(instance.start), WIDE_STARTS)
        wide = [orbit(system, values, start, timing, short, min(m, 2)) for start in starts]
    else:
        # Of an orbit that left no box is known: starts around the stated one, off by up to half of it.
        shifts = 2 * fractions(WIDE_STARTS, len(instance.start)) - 1
        x = np.array(instance.start)
        size = 0.5 * np.maximum(np.abs(x), 0.1)
        wide = [orbit(system, values, tuple((x + size * row).tolist()), timing, short, 1) for row in shifts]
    # A start that leaves is outside the basin of what is asked about, not on another attractor.
    stayed = [one for one in wide if home.end == "escaped" or one.end != "escaped"]
    spreads = home.end == "cycle" and any(
        one.end == "cycle" and float(np.abs(one.high - home.high).max()) > _APART * home.span for one in (again, *close)
    )
    measurement = replace(
        blank,
        home=home,
        robust=all(alike(home, one) for one in close),
        start_matters=not all(alike(home, one) for one in stayed),
        others=tuple(one.end for one in (again, *close, *wide)),
        spreads=spreads,
    )
    if home.end == "chaos" and measurement.robust:
        measurement = replace(measurement, endured=endurance(system, values, home, [instance.start, *near[1:]], timing))
    return measurement


def largest_divergence(system: System, instance: Instance) -> float | None:
    """Largest |divergence|, or |ln |det J||, at 64 states around the start, as far out as it. None for a delay."""
    if system.is_delayed(instance.values):
        return None
    engine = machine(system, instance.values)
    x = np.array(instance.start)
    size = np.maximum(np.abs(x), 0.5)
    measurement = 0.0
    with np.errstate(all="ignore"):
        for row in fractions(_VOLUME_STATES, len(x)):
            _, jacobian = engine.probe(instance.values, x + size * (2 * row - 1), 0.3)
            rate = np.log(abs(np.linalg.det(jacobian))) if system.kind == "map" else np.trace(jacobian)
            measurement = max(measurement, abs(float(rate)))
    return measurement if np.isfinite(measurement) else None


def as_json(measurement: Measurement, volume: float | None) -> dict[str, JSON]:
    """What a work file keeps of a measurement: all that decisions need."""
    home = measurement.home
    return {
        "end": home.end,
        "why": home.why,
        "exponents": home.exponents.tolist(),
        "errors": home.errors.tolist(),
        "divergence": home.divergence,
        "complete": home.complete,
        "period": home.period,
        "period_time": home.period_time,
        "unit": measurement.timing.unit,
        "transient": measurement.transient,
        "robust": measurement.robust,
        "start_matters": measurement.start_matters,
        "others": list(measurement.others),
        "spreads": measurement.spreads,
        "endured": measurement.endured,
        "volume": volume,
    }


def endurance(
    system: System, values: Values, home: Orbit, starts: Sequence[tuple[float, ...]], timing: Clock
) -> float | None:
    """The time for which every start stayed chaotic; None where one escaped, or a window of it was calm."""
    if signs(home, timing.unit)[0] != 1:
        return None
    rate, error = float(home.exponents[0]), float(home.errors[0])
    if system.kind == "map":
        total, units = float(ENDURED_ITERATES), MEASURED_ITERATES
    else:
        most = DELAY_ENDURED_MOST if system.is_delayed(values) else ENDURED_MOST
        least = DELAY_ENDURED_LEAST if system.is_delayed(values) else ENDURED_UNITS
        longest = ENDURED_TIME if (system.dimension(values) or 0) <= 6 else LARGE_ENDURED_TIME
        total = max(least * timing.unit, min(longest, most * timing.unit))
        units = _lengths(system, values, timing)[0].units
    # So long that the scatter of a window's mean is a fifth of the mean.
    window = min(max(100.0, units * (5 * error / rate) ** 2), total / timing.unit / WINDOWS / 2)
    window = timing.whole(window * timing.unit)
    gap = timing.whole(max(total / WINDOWS - window, timing.unit))
    engine = machine(system, values)
    tolerance = DELAY_TOLERANCES[1] if system.is_delayed(values) else ENDURED_TOLERANCE
    for start in starts[:ENDURED_STARTS]:
        state, time = np.array(start, dtype=np.float64), 0.0
        for _ in range(WINDOWS):
            reached = engine.advance(values, state, time, gap, tolerance, cap=MOST_STEPS)
            if reached.status != "ok":
                return None
            run = engine.follow(values, reached.state, reached.time, window, timing.interval, tolerance, 1)
            if run.status != "ok":
                return None
            kept = run.growth[int(len(run.growth) * ALIGN) :, 0]
            if not float(kept.mean()) / timing.interval > _CALM * rate:
                return None
            state, time = run.state, run.time
    return (gap + window) * WINDOWS
