"""Measure many instances of a system at once: the numbers that facts are decided from."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from perpend.studies.logic.chaos.indicators import (
    crossings,
    kaplan_yorke,
    megno,
    permutation_entropy,
    returns,
    section,
    zero_one,
)
from perpend.studies.logic.chaos.instances import Instance
from perpend.studies.logic.chaos.spectra import ESCAPE, Orbits, Spectrum, Stepper, follow, settle, spectrum, stepper
from perpend.studies.logic.chaos.system import Array, System

# Samples per oscillation of the series that the 0–1 test and the permutation entropy read. At dt = 0.01 a Lorenz
# series has about 75 and the 0–1 test then says 'regular' of everything.
SAMPLES_PER_OSCILLATION = 4
LONGEST_SERIES = 1500
# The exponents' sum must equal the mean divergence; where it does not, the step is too coarse and is halved.
SUM_TOLERANCE = 0.04
# An exponent counts as zero within this of it, per unit of time, or within four times its error.
NEUTRAL = 0.02
# Near a singularity the adaptive integrator's steps shrink without end.
MOST_STEPS = 50_000


@dataclass(frozen=True, slots=True)
class Length:
    """How long to run, in units (iterates, forcing periods, delays, time scales)."""

    transient: int
    measured: int
    tail: int
    doublings: int = 2
    """How often the step may be halved for instances that it does not resolve."""
    confirms: bool = True
    """Whether an escape is confirmed with another integrator."""


MAP_LENGTH = Length(10_000, 10_000, 1_000)
FLOW_LENGTH = Length(300, 600, 150)
LARGE_LENGTH = Length(200, 320, 120)


@dataclass(frozen=True, slots=True)
class SurveyNumbers:
    """What was measured of one instance. None: not measured, or undefined for it."""

    escaped: bool
    unit: float
    steps: int
    drifts: bool = False
    """The second half of the run reached more than a fifth further out than the first: not settled."""
    spectrum: Spectrum | None = None
    divergence: float | None = None
    complete: bool = False
    """Whether every exponent of the system was followed."""
    dimension: float | None = None
    k: float | None = None
    entropy: float | None = None
    megno: float | None = None
    still: float | None = None
    """Extent of the last part of the orbit in units of its size: zero at a fixed point."""
    period: int | None = None
    """Iterates, forcing periods or section crossings after which the orbit repeats best, the fewest."""
    period_time: float | None = None
    return_distance: float | None = None
    """How far the orbit is from itself that much later; the smallest over the candidates where none repeats."""
    twin: float | None = None
    unsettled: float | None = None
    """Change of the first variable's range from the first to the last quarter of the run, over the range."""


def length_of(system: System, instance: Instance) -> Length:
    """Maps by iterates; flows of more than six variables shorter, since each step costs more."""
    if system.kind == "map":
        return MAP_LENGTH
    dimension = system.dimension(instance.values)
    return LARGE_LENGTH if dimension is not None and dimension > 6 else FLOW_LENGTH


def survey(system: System, instances: Sequence[Instance], length: Length | None = None) -> list[SurveyNumbers]:
    """The numbers of each instance, in order. Alike ones run together, those whose step is too coarse again."""
    measured: dict[int, SurveyNumbers] = {}
    groups: dict[tuple[bool, bool, int | None], list[int]] = {}
    for i, instance in enumerate(instances):
        values = instance.values
        key = (system.is_forced(values), system.is_delayed(values), system.dimension(values))
        groups.setdefault(key, []).append(i)
    for members in groups.values():
        todo, steps = members, system.steps
        chosen = length or length_of(system, instances[todo[0]])
        for attempt in range(chosen.doublings + 1):
            numbers = _run(system, [instances[i] for i in todo], steps, chosen)
            measured.update(zip(todo, numbers, strict=True))
            todo = [i for i in todo if not measured[i].escaped and not is_resolved(system, instances[i], measured[i])]
            if not todo or system.kind == "map" or attempt == chosen.doublings:
                break
            steps *= 2
        gone = [i for i in members if measured[i].escaped]
        if gone and system.kind != "map" and chosen.confirms:
            for i in gone:
                # An escape in fixed steps alone says something of the steps.
                if not leaves(system, instances[i], chosen.transient):
                    measured[i] = replace(measured[i], escaped=False, drifts=True)
    return [measured[i] for i in range(len(instances))]


def leaves(system: System, instance: Instance, units: int) -> bool:
    """Whether a flow's orbit also escapes under scipy's LSODA, which adapts its step and turns implicit where it must.

    False where the integration fails or takes more than MOST_STEPS before that, and for delay equations, which it
    cannot take.
    """
    from scipy.integrate import LSODA

    if system.is_delayed(instance.values):
        return False
    params = {name: np.array(value) for name, value in instance.values.items()}
    limit = ESCAPE * max(1.0, float(np.abs(np.array(instance.start)).max()))

    def rate(t: float, x: Array) -> Array:
        return system.rate(np.array([t]), x[:, None], params)[:, 0]

    unit = system.forcing_unit(params) if system.is_forced(instance.values) else system.time_scale
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # LSODA warns where it gives up; its status says so too
        run = LSODA(rate, 0.0, np.array(instance.start), float(unit) * units, rtol=1e-8)
        for _ in range(MOST_STEPS):
            run.step()
            if run.status == "failed":
                return False
            if float(np.abs(run.y).max()) > limit:
                return True
            if run.status != "running":
                return False
    return False


def _begin(system: System, instances: Sequence[Instance], machine: Stepper) -> Array:
    """The states (n, B) that instances start from; a delay equation's history is constant."""
    start = np.array([instance.start for instance in instances]).T
    return np.repeat(start, machine.steps + 1, axis=0) if system.is_delayed(instances[0].values) else start


def sums_agree(numbers: SurveyNumbers) -> bool:
    """Whether the exponents add up to the mean divergence, where all of them were followed."""
    if numbers.spectrum is None or numbers.divergence is None or not numbers.complete:
        return True
    total = float(numbers.spectrum.exponents.sum())
    return abs(total - numbers.divergence) <= SUM_TOLERANCE * (abs(numbers.divergence) + 0.5 / numbers.unit)


def is_neutral(numbers: SurveyNumbers) -> bool:
    """Whether some exponent vanishes, or none followed is low enough to have passed zero.

    An orbit of an autonomous flow that does not come to rest neither stretches nor shrinks along itself. Where no
    exponent is zero, what was followed is an artefact of the step.
    """
    if numbers.spectrum is None or (numbers.still or 0.0) < 1e-6:
        return True
    rates, errors = numbers.spectrum.exponents * numbers.unit, numbers.spectrum.errors * numbers.unit
    low_enough = bool(rates[-1] < -NEUTRAL)
    return not low_enough or bool((np.abs(rates) <= np.maximum(NEUTRAL, 4 * errors)).any())


def is_resolved(system: System, instance: Instance, numbers: SurveyNumbers) -> bool:
    """Whether the step is fine enough: the exponents add up to the divergence, a flow's own direction is neutral."""
    driven = system.kind == "map" or system.is_forced(instance.values)
    return sums_agree(numbers) and (driven or is_neutral(numbers))


def _run(system: System, instances: Sequence[Instance], steps: int, length: Length) -> list[SurveyNumbers]:
    settings = [instance.values for instance in instances]
    machine = stepper(system, settings, steps)
    with np.errstate(all="ignore"):
        state, escaped = settle(machine, _begin(system, instances, machine), length.transient)
        orbits = follow(machine, state, length.transient * machine.steps, length.measured, length.tail)
    rows = []
    for b in range(len(instances)):
        gone = bool(escaped[b] or orbits.escaped[b])
        # A displaced orbit that left the domain of the equations leaves NaN behind: nothing was measured then.
        lost = not gone and not bool(np.isfinite(orbits.growth[:, :, b]).all())
        blank = SurveyNumbers(gone, float(machine.unit[b]), machine.steps, drifts=lost)
        rows.append(blank if gone or lost else _numbers(system, instances[b], (machine, orbits), b, blank))
    return rows


def observed(system: System, states: Array) -> Array:
    """States (samples, n) with each angle as its sine and cosine, which know nothing of whole turns."""
    columns: list[Array] = []
    for i in range(states.shape[1]):
        if i in system.angles:
            angle = states[:, i] * (2 * np.pi / system.turn)
            columns += [np.sin(angle), np.cos(angle)]
        else:
            columns.append(states[:, i])
    return np.stack(columns, axis=1)


def _numbers(
    system: System, instance: Instance, run: tuple[Stepper, Orbits], b: int, blank: SurveyNumbers
) -> SurveyNumbers:
    machine, orbits = run
    # The same stretch that the spectrum averages over: the first tenth is left out there too.
    volume = None if orbits.volume is None else orbits.volume[len(orbits.volume) // 10 :, b]
    values = instance.values
    delayed = system.is_delayed(values)
    # Of a history, now and half and a whole delay ago are enough to tell two states apart.
    states = observed(system, orbits.tail[:, [-1, machine.steps // 2, 0], b] if delayed else orbits.tail[:, :, b])
    size = max(float(np.abs(states).max()), 1e-2)
    span = float(np.ptp(states, axis=0).max())
    rates = spectrum(orbits.growth[:, :, b], float(orbits.interval[b]))
    complete = not delayed and len(rates.exponents) == system.dimension(values)
    numbers = replace(
        blank,
        drifts=bool(orbits.reach[1, b] > 1.2 * orbits.reach[0, b] + 1e-6),
        spectrum=rates,
        divergence=None if volume is None else float(volume.mean()),
        complete=complete,
        dimension=kaplan_yorke(rates.exponents),
        megno=megno(orbits.growth[:, 0, b]),
        still=span / size,
        twin=min(float(orbits.twin[b]), 1.0),
    )
    if span / size < 1e-7:
        return numbers
    stroboscopic = system.kind == "map" or system.is_forced(values)
    points, times = (states[machine.steps - 1 :: machine.steps], None) if stroboscopic else section(states)
    numbers = _with_period(numbers, points, times, span)
    series = orbits.series[:, b] if 0 not in system.angles else np.sin(orbits.series[:, b] * 2 * np.pi / system.turn)
    if stroboscopic:
        series = series[machine.steps // machine.every - 1 :: machine.steps // machine.every]
    elif times is None or len(times) < 12:
        return numbers
    else:
        oscillation = float(np.diff(times).mean()) / machine.every
        series = series[:: max(1, round(oscillation / SAMPLES_PER_OSCILLATION))]
    quarter = len(series) // 4
    first, last = float(np.ptp(series[:quarter])), float(np.ptp(series[-quarter:]))
    numbers = replace(numbers, unsettled=abs(first - last) / max(first, last, 1e-300))
    series = series[-LONGEST_SERIES:]
    return replace(numbers, k=zero_one(series, np.random.default_rng(1)), entropy=permutation_entropy(series))


def _with_period(numbers: SurveyNumbers, points: Array, times: Array | None, span: float) -> SurveyNumbers:
    """The fewest returns that repeat the orbit within thrice the best distance, or 1e-4 of its span.

    The period is None where a smaller number comes within a factor of ten of it: then it is not decided.
    """
    distances = returns(points, span)
    if distances is None:
        return numbers
    best = float(distances.min())
    period = int(np.nonzero(distances <= max(3 * best, 1e-4))[0][0]) + 1
    distance = float(distances[period - 1])
    if distance > 1e-3 or (distances[: period - 1] < 10 * max(distance, 1e-4)).any():
        return replace(numbers, return_distance=distance)
    laps = numbers.unit * period if times is None else None
    if times is not None:
        laps = float((times[period:] - times[:-period]).mean()) * numbers.unit / numbers.steps
    return replace(numbers, period=period, period_time=laps, return_distance=distance)


def tuned(system: System) -> System:
    """An autonomous or forced flow with time scale and steps taken from its own orbit at the default parameters.

    The step is halved until half of it moves the orbit by less than 1e-3 of its size within a unit; the time scale is
    then the mean time between section crossings. Unchanged where the orbit leaves or does not oscillate.
    """
    instance = Instance(system.system_id, system.parameters, system.start)
    forced = system.is_forced(system.parameters)
    if system.kind == "map" or system.lag is not None:
        return system
    steps = system.steps
    with np.errstate(all="ignore"):
        while steps < 64 * system.steps:
            coarse, fine = (stepper(system, [instance.values], n) for n in (steps, 2 * steps))
            ends = [settle(m, _begin(system, [instance], m), 1)[0][:, 0, 0] for m in (coarse, fine)]
            if np.abs(ends[0] - ends[1]).max() < 1e-3 * max(np.abs(ends[1]).max(), 1e-2):
                break
            steps *= 2
        machine = stepper(system, [instance.values], steps)
        x = _begin(system, [instance], machine)[:, None, :]
        orbit = np.empty((60 * steps, len(x)))
        for k in range(len(orbit)):
            x = machine.advance(k, x)
            orbit[k] = x[:, 0, 0]
    times = crossings(observed(system, orbit[20 * steps :])[:, 0]) if np.isfinite(orbit).all() else np.empty(0)
    if forced or len(times) < 8:
        return replace(system, steps=min(steps, 360))
    lap = float(np.diff(times).mean()) / steps
    needed = 12 * max(4, int(np.ceil(steps * lap / 12)))
    return replace(system, time_scale=float(f"{system.time_scale * lap:.3g}"), steps=min(needed, 360))
