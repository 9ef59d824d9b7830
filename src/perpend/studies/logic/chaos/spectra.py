"""Many orbits at once: fixed-step integration, and Lyapunov spectra by Benettin's method.

Each orbit carries displaced copies x ± εq along m orthonormal directions q. After a few steps the central difference
(x⁺ − x⁻) / 2ε is the solution of the variational equations up to O(ε²); Gram–Schmidt gives the logarithms of its
stretching, and the copies start again. No Jacobian is needed, so none can be wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from perpend.studies.logic.chaos.system import Array, Params, Rate, System, Values

# ε in units of the orbit's size: the difference is then good to about 1e-10, the orbit's curvature to about 1e-12.
DISPLACEMENT = 1e-6
# The twin orbit of the sensitivity test starts this far away, in units of the orbit's size.
TWIN = 1e-7
# An orbit further out than this, in units of its start's size (at least 1), has left for good.
ESCAPE = 1e6
DELAY_EXPONENTS = 6
# Beyond six variables only the largest exponents are followed; the sum of all is the mean divergence anyway.
FULL_SPECTRUM = 6
LEADING_EXPONENTS = 4
_TINY = 1e-300


@dataclass(frozen=True, slots=True)
class Stepper:
    """A system at B parameter settings. `unit` is one iterate, forcing period, delay or time scale, per setting."""

    advance: Callable[[int, Array], Array]
    """(number of the step, state) → next state; the state is (variables, orbits, B)."""
    unit: Array
    steps: int
    every: int
    """Steps between two orthonormalisations."""
    exponents: int
    volume: Callable[[int, Array], Array] | None
    """(number of the step, state (n, B)) → divergence, or ln|det J|. None for a delay system."""
    angles: tuple[int, ...] = ()
    turn: float = 2 * np.pi

    def unwind(self, base: Array) -> Array:
        """Whole turns to take off (n, B) angles, so that they stay within one; zero for every other variable."""
        turns = np.zeros_like(base)
        for i in self.angles:
            turns[i] = self.turn * np.floor(base[i] / self.turn)
        return turns


def _rk4(rate: Rate, params: Params, dt: Array) -> Callable[[int, Array], Array]:
    half = dt / 2

    def advance(k: int, x: Array) -> Array:
        t = k * dt
        k1 = rate(t, x, params)
        k2 = rate(t + half, x + half * k1, params)
        k3 = rate(t + half, x + half * k2, params)
        k4 = rate(t + dt, x + dt * k3, params)
        return x + (dt / 6) * (k1 + 2 * (k2 + k3) + k4)

    return advance


def _delayed_rk4(rate: Rate, params: Params, dt: Array) -> Callable[[int, Array], Array]:
    """The state is the history on a grid, oldest first; the delayed midpoint is a quadratic through three points."""

    def advance(k: int, history: Array) -> Array:
        t = k * dt
        x, old, new = history[-1], history[0], history[1]
        middle = (3 * old + 6 * new - history[2]) / 8
        k1 = rate(t, np.stack([x, old]), params)[0]
        k2 = rate(t + dt / 2, np.stack([x + dt / 2 * k1, middle]), params)[0]
        k3 = rate(t + dt / 2, np.stack([x + dt / 2 * k2, middle]), params)[0]
        k4 = rate(t + dt, np.stack([x + dt * k3, new]), params)[0]
        return np.concatenate([history[1:], (x + dt / 6 * (k1 + 2 * (k2 + k3) + k4))[None]])

    return advance


def _without_delay(rate: Rate) -> Rate:
    return lambda t, x, params: rate(t, np.concatenate([x, x]), params)


def stepper(system: System, settings: Sequence[Values], steps: int) -> Stepper:
    """The stepper of settings that are alike: all forced or none, all delayed or none, one dimension."""
    params = {name: np.array([values[name] for values in settings], dtype=np.float64) for name in system.parameters}
    dimension = system.dimension(settings[0])
    unit = np.full(len(settings), system.time_scale)
    if dimension is None and system.lag is not None:
        unit = params[system.lag]
        advance = _delayed_rk4(system.rate, params, unit / steps)
        return Stepper(advance, unit, steps, steps // 4, DELAY_EXPONENTS, None)
    if system.forcing is not None and system.is_forced(settings[0]):
        unit = system.forcing_unit(params)
    rate = system.rate if system.lag is None else _without_delay(system.rate)
    if system.kind == "map":
        steps, every = 1, 1
        advance = _iterate(rate, params, unit)
    else:
        every = max(1, steps // 12)
        advance = _rk4(rate, params, unit / steps)
    exponents = LEADING_EXPONENTS if dimension is None or dimension > FULL_SPECTRUM else dimension

    def volume(k: int, state: Array) -> Array:
        return divergence(system, params, k * unit / steps, state)

    return Stepper(advance, unit, steps, every, exponents, volume, system.angles, system.turn)


def _iterate(rate: Rate, params: Params, unit: Array) -> Callable[[int, Array], Array]:
    return lambda k, x: rate(k * unit, x, params)


def orthonormalise(vectors: Array) -> tuple[Array, Array]:
    """Modified Gram–Schmidt of (n, m, B) along the first axis: the orthonormal vectors and their lengths (m, B)."""
    q = vectors.copy()
    lengths = np.empty(q.shape[1:])
    for j in range(q.shape[1]):
        lengths[j] = np.maximum(np.sqrt(np.einsum("ib,ib->b", q[:, j], q[:, j])), _TINY)
        q[:, j] /= lengths[j]
        if j + 1 < q.shape[1]:
            overlap = np.einsum("ib,ikb->kb", q[:, j], q[:, j + 1 :])
            q[:, j + 1 :] -= q[:, j, None] * overlap
    return q, lengths


@dataclass(frozen=True, slots=True)
class Orbits:
    """What B orbits left behind. The series and the tail begin after the transient, on whole units of time."""

    growth: Array
    """(intervals, m, B): logarithm of the stretching along each direction in each interval."""
    interval: Array
    """Length of one interval in the system's time, per setting."""
    tail: Array
    """(steps, n, B): the last part, every step."""
    volume: Array | None
    """(intervals, B): the divergence, or ln|det J|, at the beginning of every interval."""
    series: Array
    """(samples, B): the first variable at the end of every interval."""
    twin: Array
    """Largest distance of the twin orbit in units of the orbit's extent (of a hundredth of its size at least)."""
    escaped: Array
    """True: left every bounded region. The rest of its row means nothing then."""
    reach: Array
    """(2, B): largest absolute value in the first and in the second half."""


def settle(machine: Stepper, start: Array, units: int) -> tuple[Array, Array]:
    """Run off the transient: the state (n, 1, B) after `units`, and who escaped on the way."""
    x = start[:, None, :]
    limit = ESCAPE * np.maximum(1.0, np.abs(start).max(axis=0))
    escaped = np.zeros(start.shape[1], dtype=bool)
    check = max(1, machine.steps // 4)
    for k in range(units * machine.steps):
        x = machine.advance(k, x)
        if k % check == 0 or k == units * machine.steps - 1:
            x = x - machine.unwind(x[:, 0])[:, None]
            # NaN compares false, so 'not inside' also catches it.
            escaped |= ~(np.abs(x[:, 0]).max(axis=0) < limit)
            if escaped.all():
                break
            if escaped.any():
                x = np.where(escaped, np.nan, x)
    return x, escaped


def follow(machine: Stepper, state: Array, first: int, units: int, tail_units: int) -> Orbits:
    """Measure from step `first` on. NaN fills every row that escaped; the caller leaves those out."""
    n, _, batch = state.shape
    m = machine.exponents
    size = np.maximum(np.abs(state[:, 0]).max(axis=0), 1e-2)
    eps = DISPLACEMENT * size
    base = state[:, 0]
    directions = np.repeat(np.eye(n)[:, :m, None], batch, axis=2)
    twin = base + TWIN * size / np.sqrt(n)
    total, tail_steps = units * machine.steps, tail_units * machine.steps
    growth = np.empty((total // machine.every, m, batch))
    series = np.empty((len(growth), batch))
    volume = None if machine.volume is None else np.empty((len(growth), batch))
    tail = np.empty((tail_steps, n, batch))
    apart = np.zeros(batch)
    low, high = base.copy(), base.copy()
    reach = np.zeros((2, batch))
    x = np.empty((n, 2 * m + 2, batch))
    for block in range(len(growth)):
        if volume is not None and machine.volume is not None:
            volume[block] = machine.volume(first + block * machine.every, base)
        x[:, 0] = base
        x[:, 1] = twin
        x[:, 2 : 2 + m] = base[:, None] + eps * directions
        x[:, 2 + m :] = base[:, None] - eps * directions
        for k in range(block * machine.every, (block + 1) * machine.every):
            x = machine.advance(first + k, x)
            if k >= total - tail_steps:
                tail[k - total + tail_steps] = x[:, 0]
        turns = machine.unwind(x[:, 0])
        base, twin = x[:, 0] - turns, x[:, 1] - turns
        directions, lengths = orthonormalise((x[:, 2 : 2 + m] - x[:, 2 + m :]) / (2 * eps))
        growth[block] = np.log(lengths)
        series[block] = base[0]
        apart = np.fmax(apart, np.abs(twin - base).max(axis=0))
        low, high = np.fmin(low, base), np.fmax(high, base)
        half = 2 * block // len(growth)
        reach[half] = np.fmax(reach[half], np.abs(base).max(axis=0))
    escaped = ~(np.abs(base).max(axis=0) < ESCAPE * size)
    interval = machine.unit / machine.steps * machine.every
    apart /= np.maximum((high - low).max(axis=0), 0.01 * size)
    return Orbits(growth, interval, tail, volume, series, apart, escaped, reach)


@dataclass(frozen=True, slots=True)
class Spectrum:
    """Lyapunov exponents, largest first, with their errors (half the difference of the halves, or the blocks')."""

    exponents: Array
    errors: Array
    blocks: Array
    """(8, m): the exponents of eight successive stretches of the run."""


def spectrum(growth: Array, interval: float) -> Spectrum:
    """The spectrum of one orbit from its (intervals, m) growth; the first tenth lets the directions align."""
    kept = growth[len(growth) // 10 :]
    kept = kept[len(kept) % 8 :]
    blocks = kept.reshape(8, -1, kept.shape[1]).mean(axis=1) / interval
    order = np.argsort(-blocks.mean(axis=0), kind="stable")
    blocks = blocks[:, order]
    halves = np.abs(blocks[:4].mean(axis=0) - blocks[4:].mean(axis=0)) / 2
    return Spectrum(blocks.mean(axis=0), np.maximum(halves, blocks.std(axis=0, ddof=1) / np.sqrt(8)), blocks)


def divergence(system: System, params: Params, t: Array, state: Array) -> Array:
    """The divergence of a flow, or ln|det J| of a map, at states (n, B), by central differences of the equations."""
    rate = system.rate if system.lag is None else _without_delay(system.rate)
    n = len(state)
    eps = 1e-5 * np.maximum(np.abs(state).max(axis=0), 1e-2)
    shift = np.eye(n)[:, :, None] * eps
    x = np.concatenate([state[:, None] + shift, state[:, None] - shift], axis=1)
    change = rate(t, x, params)
    jacobian: Array = (change[:, :n] - change[:, n:]) / (2 * eps)
    if system.kind == "map":
        factor: Array = np.log(np.maximum(np.abs(np.linalg.det(np.moveaxis(jacobian, -1, 0))), _TINY))
        return factor
    trace: Array = np.einsum("iib->b", jacobian)
    return trace
