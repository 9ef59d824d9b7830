"""Machines of delay equations: the state is a history, and exponents are of displacements of a whole history."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import numpy as np

from perpend.errors import DataError
from perpend.studies.logic.chaos.measuring import engine
from perpend.studies.logic.chaos.measuring.engine import CAP, STATUSES, Followed, Machine, Reached
from perpend.studies.logic.chaos.measuring.source import Text
from perpend.studies.logic.chaos.system import Array, System

_BODY: Final = Path(__file__).parent / "delay.c"


def pieces(system: System, lag: float, tolerance: float) -> int:
    """Into how many steps the delay is cut: the step's fourth power is the tolerance, in units of half a time scale."""
    return max(20, math.ceil(2 * lag / min(lag, system.time_scale) / math.sqrt(math.sqrt(tolerance))))


def history(state: Array, count: int, lag: float) -> Array:
    """`count` + 1 values and as many slopes at equal times over one delay, oldest first.

    A state of one number is a constant history; one of another count is read between its points by Hermite's cubic.
    """
    if len(state) == 1:
        return np.concatenate([np.full(count + 1, state[0]), np.zeros(count + 1)])
    if len(state) % 2 or len(state) < 4 or not np.isfinite(state).all():
        raise DataError("a history is one number, or as many finite values as slopes")
    if len(state) == 2 * (count + 1):
        return np.array(state, dtype=np.float64)
    values, slopes = state[: len(state) // 2], state[len(state) // 2 :]
    old = len(values) - 1
    place = np.arange(count + 1) * (old / count)
    left = np.minimum(place.astype(np.int64), old - 1)
    s, h = place - left, lag / old
    a, b, f, g = values[left], values[left + 1], h * slopes[left], h * slopes[left + 1]
    cubic = a + s * (f + s * (3 * (b - a) - 2 * f - g + s * (2 * (a - b) + f + g)))
    slope = (f + s * (2 * (3 * (b - a) - 2 * f - g) + 3 * s * (2 * (a - b) + f + g))) / h
    return np.concatenate([cubic, slope])


class DelayMachine(Machine):
    """A delay equation of one variable.

    A state is one number (a constant history) or a whole history, as `Reached.state` and `Followed.state` give it;
    `Followed.states` has the value at each interval's end. Intervals end at the nearest step, so that the whole run is
    right to half a step. `divergence` is NaN: a history has no volume. The number of exponents is not bounded.
    """

    def __init__(self, system: System, source: Text) -> None:
        self.system = system
        self.dimension = 1
        body = _BODY.read_text(encoding="utf-8")
        self._library = engine.compiled(engine.definitions(system, 1) + source.rate + source.jacobian + body)

    def advance(
        self,
        values: Mapping[str, float],
        state: Array,
        time: float,
        span: float,
        tolerance: float,
        *,
        cap: int = CAP,
    ) -> Reached:
        """The history after a span of time."""
        end = self.follow(values, state, time, span, span, tolerance, 0, cap=cap)
        return Reached(end.state, end.time, end.status, end.steps)

    def follow(  # noqa: PLR0913, PLR0917
        self,
        values: Mapping[str, float],
        state: Array,
        time: float,
        span: float,
        interval: float,
        tolerance: float,
        exponents: int,
        *,
        cap: int = CAP,
    ) -> Followed:
        """The orbit with the given number of displaced histories over as many whole intervals as fit in the span."""
        assert self.system.lag is not None
        lag = float(values[self.system.lag])
        count = pieces(self.system, lag, tolerance)
        line = history(np.atleast_1d(np.asarray(state, dtype=np.float64)), count, lag)
        dt = lag / count
        if interval < dt:
            raise DataError(f"{self.system.system_id}: an interval of {interval} is shorter than a step of {dt:.3g}")
        rows = engine.whole(self.system, span, interval)
        growth, states, extremes = np.zeros((rows, exponents)), np.zeros((rows, 1)), np.zeros(2)
        steps, finished = ctypes.c_long(), ctypes.c_long()
        status = self._library.delay_follow(
            engine.pointer(self._vector(values)), engine.pointer(line), ctypes.c_long(count + 1),
            *engine.doubles(dt, time, interval), ctypes.c_long(rows), ctypes.c_long(cap), ctypes.c_int(exponents),
            engine.pointer(growth), engine.pointer(states), engine.pointer(extremes), ctypes.byref(steps),
            ctypes.byref(finished),
        )  # fmt: skip
        done = finished.value
        return Followed(
            growth[:done], states[:done], float("nan"), extremes[:1], extremes[1:], STATUSES[status], steps.value, line,
            time + steps.value * dt,
        )  # fmt: skip

    def section(  # noqa: PLR0913, PLR0917
        self,
        values: Mapping[str, float],
        state: Array,
        time: float,
        span: float,
        tolerance: float,
        variable: int,
        level: float,
        *,
        cap: int = CAP,
    ) -> tuple[Array, Array]:
        """Upward passages of the variable through a level: the cubic through the four nearest steps is solved."""
        if variable != 0:
            raise DataError(f"{self.system.system_id} has one variable")
        assert self.system.lag is not None
        dt = float(values[self.system.lag]) / pieces(self.system, float(values[self.system.lag]), tolerance)
        x = self.follow(values, state, time, span, dt, tolerance, 0, cap=cap).states[:, 0] - level
        at = np.flatnonzero((x[1:-2] < 0) & (x[2:-1] >= 0)) + 1
        a, b, c, d = x[at - 1], x[at], x[at + 1], x[at + 2]
        s = b / (b - c)
        for _ in range(40):  # the fixed point of the linear guess, corrected by the cubic's remainder
            value = b + s * (c - b) + s * (s - 1) / 2 * (c - 2 * b + a + (s + 1) / 3 * (d - 3 * c + 3 * b - a))
            s = np.clip(s - value / (c - b), 0, 1)
        times = time + (at + 1 + s) * dt
        return times, np.full((len(times), 1), level)

    def probe(self, values: Mapping[str, float], state: Array, time: float) -> tuple[Array, Array]:  # noqa: ARG002
        """Not defined: the Jacobian of a history is no matrix."""
        raise DataError(f"{self.system.system_id} has no Jacobian at one state")
