"""What an orbit after its transient is: at rest, repeating, on a torus, chaotic; from its points and its exponents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from perpend.studies.logic.chaos.solving.program import Array

REGIMES = ("FixedPointAttractor", "Periodic", "QuasiPeriodic", "Chaotic")
# Distances in units of the orbit's extent: points that return, and an orbit that does not move.
_CLOSED, _REST = 1e-4, 1e-6
# Largest exponent times the unit of time that still counts as none.
_NONE = 2.5e-3
_LONGEST = 128
SECTIONS = 400
"""Points of a section that are looked at."""


@dataclass(frozen=True, slots=True)
class Solved:
    """What was found of one instance: facts by predicate (a missing one is not clear), and the least period."""

    facts: Mapping[str, bool]
    period: int | None = None
    exponents: tuple[float, ...] = ()
    errors: tuple[float, ...] = ()
    unit: float = 1.0
    why: str = ""
    """Why there is no fact; '' where there are some."""


@dataclass(frozen=True, slots=True)
class Motion:
    """What was measured of an orbit after its transient."""

    seen: Array
    """States at equal times, angles as sines and cosines."""
    points: Array
    """States at the strokes of a forcing, at each iterate, or on a section."""
    exponents: Array
    errors: Array
    unit: float
    is_strobed: bool
    """Whether time goes in strokes or iterates, so that no exponent belongs to the flow's own direction."""
    volume: float
    """The mean rate at which small volumes grow; minus infinity of a delay equation."""


def escaped() -> Solved:
    """Of an orbit that leaves every bound."""
    return Solved(dict.fromkeys(("Bounded", *REGIMES, "AttractingCycle", "Hyperchaotic"), False))


def exponents_of(growth: Array, interval: float) -> tuple[Array, Array]:
    """Exponents in falling order with their errors, from growth interval by interval; the first part is left out."""
    kept = growth[len(growth) // 20 :]
    kept = kept[len(kept) % 16 :]
    blocks = kept.reshape(16, -1, kept.shape[1]).mean(axis=1) / interval
    order = np.argsort(-blocks.mean(axis=0), kind="stable")
    return blocks.mean(axis=0)[order], (blocks.std(axis=0, ddof=1) / 4)[order]


def unclear(exponents: Array, errors: Array, unit: float, *, is_strobed: bool) -> bool:
    """Whether the sign of one of the two largest exponents is open: too large for none, and within three errors."""
    # A chaotic flow of three variables has one positive exponent and its own direction.
    count = 1 if exponents[0] > 3 * errors[0] and len(exponents) <= 3 and not is_strobed else 2
    first, wrong = np.abs(exponents[:count]), errors[:count]
    return bool(np.any((first * unit > _NONE) & (first <= 3 * wrong)))


def liveliest(seen: Array) -> tuple[int, float]:
    """The column that moves most against its own size, and its middle."""
    column = int(np.argmax(np.ptp(seen, axis=0) / (1e-12 + np.abs(seen).max(axis=0))))
    return column, float(seen[:, column].max() + seen[:, column].min()) / 2


def section(seen: Array) -> Array:
    """Where a finely sampled orbit rises through the middle of its liveliest column, by a polynomial in between."""
    column, middle = liveliest(seen)
    signal = seen[:, column] - middle
    rises = np.nonzero((signal[2:-3] < 0) & (signal[3:-2] >= 0))[0] + 2
    grid = np.arange(-2.0, 4.0)
    points = []
    for k in rises[-SECTIONS:].tolist():
        curve = np.polyfit(grid, np.column_stack([signal[k - 2 : k + 4], seen[k - 2 : k + 4]]), 5)
        slope = np.polyder(curve[:, 0])
        root = -signal[k] / (signal[k + 1] - signal[k])
        for _ in range(6):
            root = float(np.clip(root - np.polyval(curve[:, 0], root) / (np.polyval(slope, root) or 1.0), -0.5, 1.5))
        points.append([np.polyval(column, root) for column in curve[:, 1:].T])
    return np.array(points) if points else np.empty((0, seen.shape[1]))


def decided(motion: Motion) -> Solved:
    """The facts of an orbit that stays."""
    exponents, errors, unit = motion.exponents, motion.errors, motion.unit
    size = max(1e-2, float(np.abs(motion.seen).max()))
    span = float(np.ptp(motion.seen[len(motion.seen) // 2 :], axis=0).max())
    positive = bool(exponents[0] * unit > _NONE and exponents[0] > 3 * errors[0])
    facts = {"Bounded": True, "PositiveLargestLyapunov": positive, "Dissipative": motion.volume * unit < -_NONE}
    numbers = (tuple(exponents.tolist()), tuple(errors.tolist()), unit)
    below = 0 if motion.is_strobed else 1
    falls = below >= len(exponents) or bool(exponents[below] * unit < -_NONE)
    drawn = falls and (below >= len(exponents) or bool(exponents[below] < -3 * errors[below]))
    period: int | None = None
    if span <= _REST * size:
        if exponents[0] >= 0:
            return Solved(facts, None, *numbers)
        kind = "FixedPointAttractor"
    elif positive:
        kind = "Chaotic"
    else:
        period = _period(motion.points, span)
        # On a torus two directions are neutral, of strokes or iterates one; so an orbit that is drawn in repeats.
        kind = "QuasiPeriodic" if period is None and not drawn else "Periodic"
    facts |= {name: name == kind for name in REGIMES}
    facts["AttractingCycle"] = kind == "Periodic" and falls
    second = len(exponents) > 1 and exponents[1] * unit > _NONE and exponents[1] > 3 * errors[1]
    facts["Hyperchaotic"] = kind == "Chaotic" and bool(second)
    facts["DimensionAboveTwo"] = _dimension(exponents, kind) > 2
    return Solved(facts, period, *numbers)


def _period(points: Array, span: float) -> int | None:
    """After how many points all return; None where none within a third of them does."""
    longest = min(_LONGEST, len(points) // 3)
    distance = np.array([np.abs(points[p:] - points[:-p]).max() for p in range(1, longest + 1)]) / span
    if not len(distance) or distance.min() >= _CLOSED:
        return None
    return int(np.argmax(distance < 10 * _CLOSED)) + 1


def _dimension(exponents: Array, kind: str) -> float:
    """Kaplan and Yorke's of a chaotic orbit; of a smooth one its own."""
    if kind != "Chaotic":
        return {"FixedPointAttractor": 0.0, "Periodic": 1.0}.get(kind, 2.0)
    sums = np.cumsum(exponents)
    below = np.nonzero(sums < 0)[0]
    if not len(below):
        return float(len(exponents))
    j = int(below[0])
    return j + (float(sums[j - 1]) if j else 0.0) / abs(float(exponents[j]))
