"""What a user of tools finds: the equations as a question writes them, integrated by a third program.

It shares nothing with the measuring of the facts: the equations are read from their text, the integrator is an embedded
Runge–Kutta pair, the exponents come from displaced orbits. It needs a C compiler.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from perpend.errors import DataError
from perpend.studies.logic.chaos.questions.settings import NOTES
from perpend.studies.logic.chaos.records import SystemWords
from perpend.studies.logic.chaos.solving.notation import Notation, read_equations
from perpend.studies.logic.chaos.solving.program import DONE, ESCAPED, Array, Program, program
from perpend.studies.logic.chaos.solving.regime import (
    SECTIONS,
    Motion,
    Solved,
    decided,
    escaped,
    exponents_of,
    liveliest,
    section,
    unclear,
)

_TRANSIENT = 5_000.0
# Of a flow: how long it is looked at first, and how finely then and later.
_FIRST, _FINELY, _SAMPLED = 250.0, 0.01, 0.05
_UNITS = 1_500
# How long chaos must last, in units of time or oscillations, whichever is less; and how exactly it is followed.
_ENDURED, _LOOSE = 40_000.0, 1e-7
# How much longer it is measured once more where signs are not clear.
_LONGER = 6
# How often in a unit the displacements are renewed: those that shrink fast are lost soon.
_PARTS = 16
_ITERATES = 30_000
_STROKES = 2_000
_VOLUMES = 1_500
# A divergence below this is none.
_NO_VOLUME, _NEAR = 1e-6, 20.0
_GOLDEN = (math.sqrt(5) - 1) / 2
# Of a delay equation: steps and exponents, delays that are left out at least, delays that are measured.
_DELAY_STEPS, _DELAY_EXPONENTS = 400, 5
_DELAYS = (300, 2_000)
_NOISY = re.compile(r"d(?P<name>\w+) = (?P<drift>.+) dt \+ (?P<amplitude>\w+) dW")
_FORCINGS: tuple[tuple[re.Pattern[str], Callable[[Mapping[str, float]], float]], ...] = (
    (re.compile(r"(?:cos|sin)\(+omega \*? ?t\)"), lambda p: 2 * math.pi / p["omega"]),
    (re.compile(r"2 \* pi / ps \* t"), lambda p: p["ps"]),
    (re.compile(r"2 \* pi \* lamb \* t"), lambda p: 1 / p["lamb"]),
)


def solve(words: SystemWords, values: Mapping[str, float], start: tuple[float, ...]) -> Solved:
    """The facts of an instance. DataError where its equations cannot be read or the start does not fit them."""
    text = words.equations
    noise = _NOISY.fullmatch(text)
    if noise is not None:
        if values[noise["amplitude"]] != 0:
            # Gaussian noise drives a path beyond every bound, and it repeats nothing.
            return escaped()
        text = f"d{noise['name']}/dt = {noise['drift']}"
    notation = read_equations(text, values)
    if notation.has_delay:
        return _delayed(notation, values, start[0])
    n = len(notation.variables)
    if len(start) != n:
        raise DataError(f"{words.system_id}: a start of {len(start)} numbers for {n} variables")
    state = np.array(start, dtype=np.float64)
    if len(words.variables) == n and set(words.variables) == set(notation.variables):
        # A start is stated in the order of the system's variables, the equations may have another.
        state = np.array([start[words.variables.index(name)] for name in notation.variables])
    plain, whole = program(notation, values, 0, start), program(notation, values, n, start)
    orbit = _Orbit(_angles(words, notation), notation, plain, whole, _forcing(plain, notation, words, values))
    return orbit.solved(state)


def _forcing(plain: Program, notation: Notation, words: SystemWords, values: Mapping[str, float]) -> float | None:
    """The period of a forcing that is there; None for equations in which time does not count."""
    state = np.linspace(0.3, 0.7, plain.n)
    probes = [plain.rate(t, state) for t in (0.0, 0.7, 1.3, 2.9)]
    if notation.is_map or all(np.array_equal(probes[0], other) for other in probes[1:]):
        return None
    for pattern, period in _FORCINGS:
        if pattern.search(words.equations):
            return abs(float(period(values)))
    raise DataError(f"{words.system_id}: time counts, and no period is seen")


def _angles(words: SystemWords, notation: Notation) -> tuple[float, ...]:
    """For each variable what it counts modulo; 0 for one that is no angle."""
    if notation.turn is not None:
        return (notation.turn,) * len(notation.variables)
    every = "oordinates" in NOTES.get(words.system_id, "")
    names = notation.variables
    # A ring of pendulums writes its angles u1, u2, …
    angles = [every or name.startswith("th") or (name[0] == "u" and name[1:].isdigit()) for name in names]
    return tuple(2 * math.pi if is_angle else 0.0 for is_angle in angles)


@dataclass(frozen=True, slots=True)
class _Orbit:
    turns: tuple[float, ...]
    notation: Notation
    plain: Program
    whole: Program
    forcing: float | None

    def solved(self, start: Array) -> Solved:
        """Settle, measure, decide; what is chaotic is left alone for long and measured again, for chaos may end."""
        states, time, unit, status = self._settled(start)
        if status != DONE:
            return self._ended(status, np.vstack([start, states]))
        looked_at = self._measured(states[-1], time, unit)
        if self.notation.is_map or not (looked_at.facts.get("Chaotic") and looked_at.facts["Dissipative"]):
            return looked_at
        count = math.ceil(min(_ENDURED, _ENDURED / unit))
        states, _, time, status = self.plain.follow(states[-1], time, unit, count, _LOOSE)
        return self._measured(states[-1], time, unit) if status == DONE else self._ended(status, states)

    def _measured(self, state: Array, time: float, unit: float) -> Solved:
        """Exponents, points and volumes of an orbit from a state on."""
        base = self._unwound(state, time)
        is_strobed = self.notation.is_map or self.forcing is not None
        parts, units = (1, _ITERATES) if self.notation.is_map else (_PARTS, _UNITS)
        states, growth, now, status = self.whole.follow(base, time, unit / parts, parts * units)
        if status == DONE and unclear(*exponents_of(growth, unit / parts), unit, is_strobed=is_strobed):
            states, growth, _, status = self.whole.follow(states[-1], now, unit / parts, parts * units * _LONGER)
        if status != DONE:
            return self._ended(status, states)
        exponents, errors = exponents_of(growth, unit / parts)
        seen = self._seen(states)
        points = seen[parts - 1 :: parts][-_STROKES:] if is_strobed else self._section(base, time, unit)
        volume = float(np.mean(self._volumes(states, time)))
        return decided(Motion(seen, points, exponents, errors, unit, is_strobed, volume))

    def _settled(self, start: Array) -> tuple[Array, float, float, int]:
        """The states of the transient's last part, the time, the unit of time, and why it ended.

        A transient is 5,000 units of time, of a fast motion 20,000 oscillations, of a slow one 400.
        """
        unit = 1.0 if self.notation.is_map else self.forcing
        if unit is not None:
            count = 10 * _ITERATES if self.notation.is_map else math.ceil(max(400.0, _TRANSIENT / unit))
            states, _, time, status = self.plain.follow(start, 0.0, unit, count)
            return states, time, unit, status
        states, _, time, status = self.plain.follow(start, 0.0, _FINELY, math.ceil(_FIRST / _FINELY))
        if status != DONE:
            return states, time, 1.0, status
        unit = self._oscillation(states, _FINELY)
        span = max(400 * unit, min(_TRANSIENT, 20_000 * unit))
        fine = min(unit / 20, max(_SAMPLED, span / 200_000))
        states, _, time, status = self.plain.follow(states[-1], time, fine, math.ceil(span / fine))
        return states, time, self._oscillation(states[len(states) // 2 :], fine) if status == DONE else 1.0, status

    def _ended(self, status: int, states: Array) -> Solved:
        """An orbit that runs away has no mean; but equations that keep volume everywhere are not dissipative."""
        # Far out digits are lost.
        near = states[np.abs(states).max(axis=1) < _NEAR]
        if status != ESCAPED or not len(near) or np.abs(self._volumes(near, 0.0)).max() > _NO_VOLUME:
            return _ended(status)
        return replace(escaped(), facts={**escaped().facts, "Dissipative": False})

    def _unwound(self, state: Array, time: float) -> Array:
        """The state with angles near zero, where the equations do not mind: far from it digits are lost."""
        turns = np.array(self.turns)
        whole = np.floor(np.where(turns > 0, state / np.where(turns > 0, turns, 1.0), 0.0))
        before = self.plain.rate(time, state)
        # Each angle by itself; or all by the same number of turns, where neighbours are subtracted.
        for shift in (whole, np.where(turns > 0, whole[0], 0.0)):
            moved: Array = state - shift * turns
            if np.allclose(self.plain.rate(time, moved), before, rtol=1e-7, atol=1e-9):
                return moved
        return state

    def _oscillation(self, states: Array, interval: float) -> float:
        """The mean time between rises of the liveliest variable through its middle; 1 where there are too few."""
        seen = self._seen(states)
        column, middle = liveliest(seen)
        above = seen[:, column] > middle
        rises = np.count_nonzero(above[1:] & ~above[:-1])
        return float(np.clip(len(states) * interval / rises, 0.01, 500.0)) if rises >= 3 else 1.0

    def _seen(self, states: Array) -> Array:
        """States with angles as sines and cosines."""
        columns: list[Array] = []
        for column, turn in zip(states.T, self.turns, strict=True):
            angle = column * (2 * math.pi / turn) if turn else column
            columns += [np.sin(angle), np.cos(angle)] if turn else [column]
        return np.stack(columns, axis=1)

    def _section(self, base: Array, time: float, unit: float) -> Array:
        """Where the orbit rises through the middle of its liveliest column: found between samples by integrating."""
        fine = unit / 60
        raw, _, _, status = self.plain.follow(base, time, fine, 60 * 450)
        if status != DONE:
            return np.empty((0, 1))
        seen = self._seen(raw)
        column, middle = liveliest(seen)
        signal = seen[:, column] - middle
        rises = np.nonzero((signal[:-1] < 0) & (signal[1:] >= 0))[0]
        return np.array([self._risen(raw[k], fine, column, middle) for k in rises[-SECTIONS:].tolist()])

    def _risen(self, state: Array, fine: float, column: int, middle: float) -> Array:
        """The point of a rise within a time of `fine` after a state, by halving and false position in turn."""
        low, high = 0.0, fine
        ends = [self._point(state, at)[column] - middle for at in (low, high)]
        point = self._point(state, high)
        for k in range(24):
            at = (
                (low + high) / 2
                if k % 3 == 2 or ends[1] <= ends[0]
                else low - ends[0] * (high - low) / (ends[1] - ends[0])
            )
            point = self._point(state, at)
            height = float(point[column]) - middle
            if abs(height) <= 1e-9 * (1e-2 + abs(middle)) or high - low < 1e-13 * (1.0 + fine):
                break
            if height < 0:
                low, ends[0] = at, height
            else:
                high, ends[1] = at, height
        return point

    def _point(self, state: Array, at: float) -> Array:
        """What is seen some time after a state of an autonomous flow."""
        states = self.plain.follow(state, 0.0, at, 1)[0] if at > 0 else state[np.newaxis]
        looked_at: Array = self._seen(states)[-1]
        return looked_at

    def _volumes(self, states: Array, time: float) -> Array:
        """The divergence at some states, of a map the logarithm of |det J|, by differences of the right-hand side."""
        # By the golden section: a fixed stride would see the same point of a cycle again and again.
        places = (np.arange(min(len(states), _VOLUMES)) * _GOLDEN % 1.0 * len(states)).astype(np.int64)
        looked_at = []
        for state in states[places]:
            step = 1e-6 * max(1e-2, float(np.abs(state).max()))
            slopes = [
                (self.plain.rate(time, state + step * unit) - self.plain.rate(time, state - step * unit)) / (2 * step)
                for unit in np.eye(self.plain.n)
            ]
            jacobian = np.array(slopes)
            looked_at.append(float(np.linalg.slogdet(jacobian)[1] if self.notation.is_map else np.trace(jacobian)))
        return np.array(looked_at)


def _ended(status: int) -> Solved:
    return escaped() if status == ESCAPED else Solved({}, why="no step was small enough, or there were too many")


def _delayed(notation: Notation, values: Mapping[str, float], start: float) -> Solved:
    """The facts of a delay equation of one variable; its unit is the delay."""
    lag = values.get("tau")
    if lag is None or lag <= 0 or len(notation.variables) != 1:
        raise DataError("a delay equation of one variable has a delay tau above zero")
    skipped = max(_DELAYS[0], math.ceil(_TRANSIENT / lag))
    run = program(notation, values, _DELAY_EXPONENTS, (start,))
    signal, growth, status = run.delayed(start, lag, _DELAY_STEPS, (skipped, _DELAYS[1]))
    if status != DONE:
        return _ended(status)
    exponents, errors = exponents_of(growth, lag)
    third = _DELAY_STEPS // 3
    seen = np.column_stack([signal[2 * third :], signal[third:-third], signal[: -2 * third]])
    return decided(Motion(seen, section(seen), exponents, errors, lag, is_strobed=False, volume=-math.inf))
