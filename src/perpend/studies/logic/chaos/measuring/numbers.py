"""The numbers of one orbit: exponents with error bars, whether it came to rest, closed, or stayed open.

Everything is measured with the engine's adaptive integrator. Times are in the system's own time; T is the instance's
unit: one iterate, one forcing period, or one oscillation.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

import numpy as np

from perpend.studies.logic.chaos.indicators import zero_one
from perpend.studies.logic.chaos.measuring.machines import machine
from perpend.studies.logic.chaos.system import Array, System, Values

End: TypeAlias = Literal["rest", "cycle", "torus", "chaos", "escaped", "unclear"]

# Beyond this many variables, and for delays, only the leading exponents are followed.
FULL_SPECTRUM = 6
LEADING_EXPONENTS = 4
# Share of the run that lets the tangent vectors align.
ALIGN = 0.05
# Batch means are taken with each of these numbers of blocks, and the largest error counts: a correlation longer than
# a short block shows in the long ones.
BLOCKS = (64, 32, 16)
# |λ| T of a positive or negative exponent, at least; below it no run of this length tells it from zero.
LEAST_RATE = 3e-3
# Extent over size of an orbit at rest; distance over extent of an orbit that closed, and of one that did not.
AT_REST = 1e-7
CLOSED = 2e-6
OPEN = 3e-3
# Where the exponents show that the orbit is drawn in, nothing but a cycle closes so far: kinks in the equations leave
# no integrator more digits.
DRAWN_CLOSED = 3e-4
# Rate of change times T over size, of a state that is an equilibrium.
_EQUILIBRIUM = 1e-9
# Logarithm of the whole stretching over a run along a direction that structure makes neutral: on a cycle it is the
# ratio of two speeds, on a torus it grows with the logarithm of time.
NEUTRAL_CYCLE = 12.0
NEUTRAL_TORUS = 4.0
LONGEST_PERIOD = 256
_REGULAR_K = 0.2
# Steps of one call; a stiff orbit that needs more stays unclear.
MOST_STEPS = 6_000_000
# The exponents must add up to the mean divergence to within this share of the largest of them.
SUM_TOLERANCE = 0.02


@dataclass(frozen=True, slots=True)
class Lengths:
    """How long to run: the transient in time (iterates), the measured part in units, and the integrator's tolerance."""

    transient: float
    units: int
    tolerance: float
    steps: int = MOST_STEPS


@dataclass(frozen=True, slots=True)
class Clock:
    """The unit of time of an instance, and in how many parts of it the state and the stretching are noted."""

    unit: float
    parts: int
    watched: int = 0
    """The variable whose rises through its middle are the section of an autonomous flow."""

    @property
    def interval(self) -> float:
        """Time from one note to the next."""
        return self.unit / self.parts

    def whole(self, time: float) -> float:
        """A time rounded up to whole units."""
        return self.unit * float(np.ceil(time / self.unit - 1e-9))


@dataclass(frozen=True, slots=True)
class Orbit:
    """What was measured from one start. `end` is 'unclear' where the numbers leave it open."""

    end: End
    why: str = ""
    """What left the end unclear."""
    exponents: Array = field(default_factory=lambda: np.empty(0))
    errors: Array = field(default_factory=lambda: np.empty(0))
    divergence: float | None = None
    period: int | None = None
    """Iterates, forcing periods or section crossings of the least period; None where it is not clear."""
    period_time: float | None = None
    low: Array = field(default_factory=lambda: np.empty(0))
    high: Array = field(default_factory=lambda: np.empty(0))
    mean: Array = field(default_factory=lambda: np.empty(0))
    state: Array = field(default_factory=lambda: np.empty(0))
    time: float = 0.0
    complete: bool = False
    """Whether all exponents were followed."""

    @property
    def span(self) -> float:
        """Largest extent over the variables."""
        return float((self.high - self.low).max()) if len(self.high) else 0.0


def stroboscopic(system: System, values: Values) -> bool:
    """Whether the orbit is looked at once in a unit: maps and forced flows."""
    return system.kind == "map" or system.is_forced(values)


def followed(system: System, values: Values) -> int:
    """How many exponents are measured."""
    dimension = system.dimension(values)
    return LEADING_EXPONENTS if dimension is None or dimension > FULL_SPECTRUM else dimension


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


def averages(growth: Array, interval: float) -> tuple[Array, Array]:
    """Exponents, largest first, and their standard errors from (intervals, m) logarithms of stretching."""
    kept = growth[int(len(growth) * ALIGN) :]
    means = kept.mean(axis=0) / interval
    errors = np.zeros(kept.shape[1])
    for count in BLOCKS:
        size = len(kept) // count
        if size == 0:
            continue
        blocks = kept[len(kept) - count * size :].reshape(count, size, -1).mean(axis=1) / interval
        errors = np.maximum(errors, blocks.std(axis=0, ddof=1) / np.sqrt(count))
    order = np.argsort(-means, kind="stable")
    # A run of K intervals knows no mean better than a rounding of the sum.
    return means[order], np.maximum(errors[order], 1e-12 / interval)


def returns(points: Array, span: float) -> Array:
    """Distance over span of points (k, n) from their p-th successors, p = 1, 2, …: the largest over all pairs.

    Empty with fewer than 12 points. Periods longer than a third of the points are not tried.
    """
    if len(points) < 12 or span <= 0:
        return np.empty(0)
    longest = min(LONGEST_PERIOD, len(points) // 3)
    return np.array([np.abs(points[p:] - points[:-p]).max() for p in range(1, longest + 1)]) / span


def least_period(distances: Array, closed: float = CLOSED) -> int | None:
    """The least p whose distance closes, if no smaller one comes near. None: nothing closes, or it is not clear."""
    places = np.nonzero(distances <= closed)[0]
    if not len(places):
        return None
    at = int(places[0])
    return at + 1 if (distances[:at] > OPEN).all() else None


def signs(orbit: Orbit, unit: float) -> tuple[int | None, ...]:
    """Of each exponent: 1, −1 where it is beyond three errors and the least rate; None where it is not."""
    return tuple(
        None if abs(x) <= 3 * e or abs(x) * unit < LEAST_RATE else (1 if x > 0 else -1)
        for x, e in zip(orbit.exponents.tolist(), orbit.errors.tolist(), strict=True)
    )


def clock(system: System, values: Values, unit: float, watched: int) -> Clock:
    """The unit of an instance, noted four times in it; an iterate of a map is not divided."""
    if system.kind == "map":
        return Clock(1.0, 1)
    if system.is_forced(values):
        unit = float(system.forcing_unit({name: np.array(value) for name, value in values.items()}))
    return Clock(unit, 4, watched)


def orbit(
    system: System, values: Values, start: tuple[float, ...], timing: Clock, lengths: Lengths, exponents: int
) -> Orbit:
    """Settle, follow, and say where the orbit ended."""
    engine = machine(system, values)
    reached = engine.advance(
        values,
        np.array(start, dtype=np.float64),
        0.0,
        timing.whole(lengths.transient),
        lengths.tolerance,
        cap=lengths.steps,
    )
    if reached.status != "ok":
        return Orbit("escaped" if reached.status == "escaped" else "unclear", reached.status)
    return measured(system, values, (reached.state, reached.time), timing, lengths, exponents)


def measured(
    system: System, values: Values, at: tuple[Array, float], timing: Clock, lengths: Lengths, exponents: int
) -> Orbit:
    """The numbers of an orbit that has settled, from a state and a time on."""
    engine = machine(system, values)
    still = _equilibrium(system, values, at, timing)
    if still is not None:
        return still
    length = timing.unit * lengths.units
    run = engine.follow(values, at[0], at[1], length, timing.interval, lengths.tolerance, exponents, cap=lengths.steps)
    if run.status != "ok":
        return Orbit("escaped" if run.status == "escaped" else "unclear", run.status)
    if not (run.growth < np.inf).all():
        return Orbit("unclear", "a tangent vector was lost")
    # On a superstable cycle a direction vanishes wholly.
    rates, errors = averages(np.maximum(run.growth, -700.0), timing.interval)
    states = observed(system, run.states)
    half = len(states) // 2
    first, last = np.ptp(states[:half], axis=0).max(), np.ptp(states[half:], axis=0).max()
    seen_orbit = Orbit(
        "unclear",
        "",
        rates,
        errors,
        run.divergence if np.isfinite(run.divergence) else None,
        low=states[half:].min(axis=0),
        high=states[half:].max(axis=0),
        mean=states[half:].mean(axis=0),
        state=run.state,
        time=run.time,
        complete=exponents == system.dimension(values),
    )
    still = max(first, last) <= AT_REST * max(float(np.abs(states).max()), 1e-2)
    if not still and max(first, last) > 1.25 * min(first, last):
        return replace(seen_orbit, why="the orbit's extent still changes")
    return _ended(system, values, seen_orbit, states, timing, lengths)


def _equilibrium(system: System, values: Values, at: tuple[Array, float], timing: Clock) -> Orbit | None:
    """An orbit that has come to rest: its exponents are those of the Jacobian. None where it moves."""
    if system.is_forced(values) or system.is_delayed(values):
        return None
    state = at[0]
    rate, jacobian = machine(system, values).probe(values, state, at[1])
    moved = (rate - state if system.kind == "map" else rate) * timing.unit
    for i in system.angles if system.kind == "map" else ():
        moved[i] -= system.turn * np.round(moved[i] / system.turn)
    if not (
        np.abs(moved).max() <= _EQUILIBRIUM * max(float(np.abs(state).max()), 1e-2) and np.isfinite(jacobian).all()
    ):
        return None
    roots = np.linalg.eigvals(jacobian)
    with np.errstate(divide="ignore"):
        rates = np.log(np.abs(roots)) if system.kind == "map" else roots.real
    rates = np.maximum(-np.sort(-rates), -700.0 / timing.unit)
    seen = observed(system, state[None])[0]
    seen_orbit = Orbit(
        "unclear",
        "an equilibrium that does not attract",
        rates,
        np.full(len(rates), 1e-6 / timing.unit),
        float(rates.sum()),
        low=seen,
        high=seen,
        mean=seen,
        state=state,
        time=at[1],
        complete=True,
    )
    return replace(seen_orbit, end="rest", why="") if signs(seen_orbit, timing.unit)[0] == -1 else seen_orbit


def _ended(system: System, values: Values, seen_orbit: Orbit, states: Array, timing: Clock, lengths: Lengths) -> Orbit:  # noqa: PLR0911  one return for each end
    sign = signs(seen_orbit, timing.unit)
    if seen_orbit.span <= AT_REST * max(float(np.abs(states).max()), 1e-2):
        return (
            replace(seen_orbit, end="rest")
            if sign[0] == -1
            else replace(seen_orbit, why="at rest, yet nothing contracts")
        )
    strobed = stroboscopic(system, values)
    if strobed:
        points = states[timing.parts - 1 :: timing.parts][-1500:]
        times = None
    else:
        times, points = _crossings(system, values, seen_orbit, timing, 250, lengths.tolerance)
    distances = returns(points, seen_orbit.span)
    stretched = np.abs(seen_orbit.exponents) * timing.unit * lengths.units
    if not len(distances):
        # No plane of section: chaos shows in its exponents, nothing else can be told.
        return replace(seen_orbit, end="chaos") if sign[0] == 1 else replace(seen_orbit, why="too few returns")
    drawn = sign[0 if strobed else min(1, len(sign) - 1)] == -1
    closed = DRAWN_CLOSED if drawn else CLOSED
    if distances.min() <= closed:
        level = sign[0] == -1 or stretched[0] <= NEUTRAL_CYCLE if strobed else stretched[0] <= NEUTRAL_CYCLE
        if not level:
            return replace(seen_orbit, why="closed, but its exponents are not a cycle's")
        period = least_period(distances, closed)
        lap = timing.unit * period if period is not None else None
        if times is not None and period is not None:
            lap = float((times[period:] - times[:-period]).mean())
        return replace(seen_orbit, end="cycle", period=period, period_time=lap)
    if distances.min() < OPEN:
        return replace(seen_orbit, why="nearly closed")
    if sign[0] == 1:
        return replace(seen_orbit, end="chaos")
    needed = 1 if strobed else min(2, len(stretched))
    if (stretched[:needed] > NEUTRAL_TORUS).any():
        return replace(seen_orbit, why="open, and the largest exponent is not decided")
    if not strobed:
        _, points = _crossings(system, values, seen_orbit, timing, 800, lengths.tolerance)
    k = zero_one(points[-1500:, 0], np.random.default_rng(1))
    return replace(seen_orbit, end="torus") if k is not None and k < _REGULAR_K else replace(seen_orbit, why="0–1 test")


def _crossings(
    system: System, values: Values, seen_orbit: Orbit, timing: Clock, units: int, tolerance: float
) -> tuple[Array, Array]:
    """Times and points at which the watched variable rises through its middle; another where that is at rest."""
    engine = machine(system, values)
    nothing = np.empty(0), np.empty((0, 1))
    extent = {i: (seen_orbit.low[at], seen_orbit.high[at]) for i, at in _columns(system, engine.dimension).items()}
    moving = [i for i in extent if i not in system.angles and extent[i][1] - extent[i][0] > 0.01 * seen_orbit.span]
    if not moving:
        return nothing
    variable = timing.watched if timing.watched in moving else moving[0]
    level = float(sum(extent[variable]) / 2)
    times, points = engine.section(
        values, seen_orbit.state, seen_orbit.time, timing.unit * units, tolerance, variable, level
    )
    if system.is_delayed(values) and len(times) > 2:
        # The value at a passage is the level; what tells passages of a delay equation apart is the time between them.
        laps = np.diff(times) / timing.unit * seen_orbit.span
        return times[1:-1], np.stack([laps[:-1], laps[1:]], axis=1)
    return (times, observed(system, points)) if len(times) else nothing


def _columns(system: System, dimension: int) -> dict[int, int]:
    """Variable → its column in `observed`."""
    columns, at = {}, 0
    for i in range(dimension):
        columns[i] = at
        at += 2 if i in system.angles else 1
    return columns
