"""Orbits and Lyapunov exponents once more, by another method: what the first method says is believed where both agree.

Extrapolation of the midpoint rule in place of a Runge–Kutta formula, displaced orbits in place of variational
equations, reflections in place of Gram–Schmidt; for delays a predictor-corrector and displaced histories. Shared with
the first is the right-hand side and how C is compiled.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import numpy as np

from perpend.errors import DataError
from perpend.studies.logic.chaos.measuring import engine
from perpend.studies.logic.chaos.measuring.delay import history, pieces
from perpend.studies.logic.chaos.measuring.engine import CAP, STATUSES, Followed, Reached
from perpend.studies.logic.chaos.system import Array, System

_BODIES: Final = Path(__file__).parent
TOLERANCE: Final = 1e-10


class SecondMachine:
    """One system at one dimension, by the second method."""

    def __init__(self, system: System, values: Mapping[str, float]) -> None:
        if system.is_noisy(values):
            raise DataError(f"{system.system_id} with noise has no orbit to compute")
        known = system.dimension(values)
        self.system = system
        self.delayed = known is None
        self.dimension = len(system.variables) if known is None else known
        lag = engine.lagging(system, values)
        source = engine.system_text(system.rate, tuple(system.parameters), self.dimension, lag)
        body = (_BODIES / ("second_delay.c" if self.delayed else "second.c")).read_text(encoding="utf-8")
        self._library = engine.compiled(engine.definitions(system, self.dimension) + source.rate + body)

    def _inputs(self, values: Mapping[str, float], state: Array) -> tuple[Array, Array]:
        x = np.array(state, dtype=np.float64)
        if x.shape != (self.dimension,) or not np.isfinite(x).all():
            raise DataError(f"{self.system.system_id}: a start has {self.dimension} finite numbers, not {x}")
        return np.array([values[name] for name in self.system.parameters], dtype=np.float64), x

    def _advance(
        self, values: Mapping[str, float], state: Array, times: tuple[float, float], tolerance: float, cap: int
    ) -> tuple[Reached, Array, Array]:
        p, x = self._inputs(values, state)
        low, high = np.zeros(self.dimension), np.zeros(self.dimension)
        steps, passed = ctypes.c_long(), ctypes.c_double()
        status = self._library.second_advance(
            engine.pointer(p), engine.pointer(x),
            *engine.doubles(*times, tolerance, engine.longest(self.system, values)), ctypes.c_long(cap),
            ctypes.byref(steps), ctypes.byref(passed), engine.pointer(low), engine.pointer(high),
        )  # fmt: skip
        return Reached(x, times[0] + passed.value, STATUSES[status], steps.value), low, high

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
        """The orbit from a state over a span of time (iterates, of a map)."""
        if self.delayed:
            end = self._delayed(values, state, (time, span, span), tolerance, 0, cap)
            return Reached(end.state, end.time, end.status, end.steps)
        return self._advance(values, state, (time, span), tolerance, cap)[0]

    def exponents(  # noqa: PLR0913
        self,
        values: Mapping[str, float],
        state: Array,
        time: float,
        span: float,
        interval: float,
        count: int,
        *,
        tolerance: float = TOLERANCE,
        cap: int = CAP,
    ) -> Followed:
        """The growth of `count` displacements over as many whole intervals as fit in the span.

        Displacements are measured in units of each variable's range over the first tenth of the span. `divergence` is
        the sum of all exponents where all were asked for, else NaN.
        """
        if self.delayed:
            return self._delayed(values, state, (time, span, interval), tolerance, count, cap)
        if not 1 <= count <= self.dimension:
            raise DataError(f"{self.system.system_id} has {self.dimension} exponents, not {count}")
        intervals = engine.whole(self.system, span, interval)
        _, low, high = self._advance(values, state, (time, max(interval, span // 10)), tolerance, cap)
        unit = sizes(low, high)
        p, x = self._inputs(values, state)
        growth, states = np.zeros((intervals, count)), np.zeros((intervals, self.dimension))
        steps, finished, passed = ctypes.c_long(), ctypes.c_long(), ctypes.c_double()
        status = self._library.second_exponents(
            engine.pointer(p), engine.pointer(x), *engine.doubles(time, interval), ctypes.c_long(intervals),
            *engine.doubles(tolerance, engine.longest(self.system, values)), ctypes.c_long(cap), ctypes.c_int(count),
            engine.pointer(unit), engine.pointer(growth), engine.pointer(states), engine.pointer(low),
            engine.pointer(high), ctypes.byref(steps), ctypes.byref(finished), ctypes.byref(passed),
        )  # fmt: skip
        done = finished.value
        total = float(growth[:done].sum()) / (done * interval) if done and count == self.dimension else float("nan")
        end = time + passed.value
        return Followed(growth[:done], states[:done], total, low, high, STATUSES[status], steps.value, x, end)

    def _delayed(
        self,
        values: Mapping[str, float],
        state: Array,
        times: tuple[float, float, float],
        tolerance: float,
        count: int,
        cap: int,
    ) -> Followed:
        assert self.system.lag is not None
        time, span, interval = times
        lag = float(values[self.system.lag])
        # Another grid than the first method's, so that no error is shared through it.
        points = 3 * pieces(self.system, lag, tolerance) // 2 + 1
        line = history(np.atleast_1d(np.asarray(state, dtype=np.float64)), points - 1, lag)
        dt = lag / (points - 1)
        rows = engine.whole(self.system, span, interval)
        unit = max(float(np.ptp(line[:points])) / 2, 1e-3 * float(np.abs(line[:points]).max()), 1e-6)
        growth, states, extremes = np.zeros((rows, count)), np.zeros((rows, 1)), np.zeros(2)
        steps, finished = ctypes.c_long(), ctypes.c_long()
        p = np.array([values[name] for name in self.system.parameters], dtype=np.float64)
        status = self._library.second_delay(
            engine.pointer(p), engine.pointer(line), ctypes.c_long(points), *engine.doubles(dt, time, interval),
            ctypes.c_long(rows), ctypes.c_long(cap), ctypes.c_int(count), *engine.doubles(unit),
            engine.pointer(growth), engine.pointer(states), engine.pointer(extremes), ctypes.byref(steps),
            ctypes.byref(finished),
        )  # fmt: skip
        done = finished.value
        return Followed(
            growth[:done], states[:done], float("nan"), extremes[:1], extremes[1:], STATUSES[status], steps.value, line,
            time + steps.value * dt,
        )  # fmt: skip


def sizes(low: Array, high: Array) -> Array:
    """The size of each variable from its extremes: half its range, but never nothing beside its value or the others."""
    size = np.maximum((high - low) / 2, 1e-3 * np.maximum(np.abs(low), np.abs(high)))
    size = np.where(np.isfinite(size), size, 1.0)
    floor: Array = np.maximum(size, 1e-4 * size.max())
    return np.where(floor > 0, floor, 1e-3)
