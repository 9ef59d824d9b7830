"""Shares of weighted, repeated rows, and intervals of what is computed from several of them.

Each share has a beta interval at its own effective number of rows. A sum of coefficient × share has the interval
that theirs imply (MOVER, Zou and Donner 2008), with the correlations that repeated items cause. A ratio has the values
for which a sum may be 0 (Fieller 1954), which is the whole range where the denominator may be 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from perpend.stats.gate import BoolArray, FloatArray, IntArray
from perpend.stats.proportions import normal_quantile, student_quantile

_GRID = np.linspace(0.0, 1.0, 201)


@dataclass(frozen=True, slots=True, eq=False)
class Share:
    """A number with its interval, and what each cluster contributes to its error.

    `rows` is the denominator and `n_effective` the number of independent rows that it is worth; both 0 for a number
    that is computed from other shares.
    """

    value: float
    lo: float
    hi: float
    error: FloatArray
    rows: int = 0
    n_effective: float = 0.0

    @property
    def se(self) -> float:
        """The cluster-robust standard error; 0 where nothing varies."""
        return math.sqrt(float(self.error @ self.error))


def share(column: FloatArray, weight: FloatArray, codes: IntArray, n_codes: int, level: float) -> Share:
    """The weighted share of rows that are 1, at least one row, of clusters 0 … n_codes - 1.

    The effective number of rows is what the cluster-robust variance implies, at most Kish's (1965) for the weights;
    where all rows agree, the number of clusters if that is less. Where items repeat it shrinks by (z / t)² for G - 1
    degrees of freedom (Korn and Graubard 1998). Several rows of one cluster are worth one row.
    """
    weight = weight / weight.max()  # equal weights are then 1, and a share of them is exact
    total = float(weight.sum())
    p = min(float(weight @ column) / total, 1.0)
    kish = total**2 / float(weight @ weight)
    rows, size = len(column), int(np.count_nonzero(np.bincount(codes, minlength=n_codes)))
    few = math.sqrt(size / (size - 1)) if size > 1 else 1.0
    error = np.bincount(codes, weights=few * weight * (column - p) / total, minlength=n_codes).astype(np.float64)
    variance = float(error @ error)
    constant = float(np.ptp(column)) == 0.0
    if size == 1:
        effective = 1.0
    elif constant:
        p, effective = float(column[0]), min(kish, float(size))
    elif size < rows or kish < rows * (1.0 - 1e-9):
        effective = min(kish, p * (1.0 - p) / variance) if variance > 0.0 else kish
    else:
        effective = float(rows)
    shrink = 1.0
    if 1 < size < rows:
        shrink = (normal_quantile(level) / student_quantile(level, size - 1)) ** 2
    lo, hi = beta_bounds(p, effective * shrink, level)
    return Share(p, lo, hi, error, rows, effective)


def beta_bounds(p: float, n: float, level: float) -> tuple[float, float]:
    """The equal-tailed beta interval for the share p of n rows, a third of a row added to each side; ends at 0 and 1.

    That prior (Kerman 2011) leaves the median where p is. Wilson's interval, and Jeffreys' less so, are too wide for a
    sum of shares near 0 and 1, as those of a good judge are (`benchmarks/judged.py`).
    """
    from scipy.special import betaincinv

    tail = (1.0 - level) / 2.0
    a, b = p * n + 1.0 / 3.0, (1.0 - p) * n + 1.0 / 3.0
    lo = 0.0 if p == 0.0 else min(float(betaincinv(a, b, tail)), p)
    hi = 1.0 if p == 1.0 else max(float(betaincinv(a, b, 1.0 - tail)), p)
    return lo, hi


def correlations(parts: Sequence[Share]) -> FloatArray:
    """How the errors of the shares go together over clusters; 0 for a share that does not vary."""
    errors = np.stack([part.error for part in parts])
    cross = errors @ errors.T
    root = np.sqrt(np.diag(cross))
    scale = np.where(root > 0.0, root, 1.0)
    together = np.clip(cross / scale[:, None] / scale[None, :], -1.0, 1.0)
    np.fill_diagonal(together, 1.0)
    return together


def combined(coefficients: FloatArray, parts: Sequence[Share], together: FloatArray) -> tuple[FloatArray, FloatArray]:
    """How far a sum of coefficient × share may lie below and above its value (MOVER).

    `coefficients` has a line for each share and a column for each sum that is wanted.
    """
    below = np.array([part.value - part.lo for part in parts])[:, None]
    above = np.array([part.hi - part.value for part in parts])[:, None]
    down = coefficients * np.where(coefficients > 0.0, below, above)
    up = coefficients * np.where(coefficients > 0.0, above, below)
    return _length(down, together), _length(up, together)


def _length(steps: FloatArray, together: FloatArray) -> FloatArray:
    square: FloatArray = (steps * (together @ steps)).sum(axis=0)
    return np.sqrt(np.maximum(square, 0.0))


def weighted_sum(value: float, terms: Sequence[tuple[float, Share]], bounds: tuple[float, float] = (0.0, 1.0)) -> Share:
    """A number whose derivatives by the shares are the coefficients, with its interval cut to the bounds."""
    parts = [part for _, part in terms]
    coefficients = np.array([[coefficient] for coefficient, _ in terms])
    below, above = combined(coefficients, parts, correlations(parts))
    error = sum((coefficient * part.error for coefficient, part in terms), np.zeros(len(parts[0].error)))
    return Share(value, max(value - float(below[0]), bounds[0]), min(value + float(above[0]), bounds[1]), error)


def difference(first: Share, second: Share) -> Share:
    """second - first, as far as their errors are shared by clusters."""
    return weighted_sum(second.value - first.value, [(1.0, second), (-1.0, first)], (-1.0, 1.0))


Linear: TypeAlias = Callable[[FloatArray], tuple[FloatArray, FloatArray]]
"""From candidate values to a sum that is 0 at the truth, and its coefficients, a line for each share."""


def accepted(
    linear: Linear, parts: Sequence[Share], value: float, bounds: tuple[float, float]
) -> tuple[float, float] | None:
    """The hull of the values within the bounds whose sum may be 0; None where there is none.

    `value` is where the sum is 0; it may lie outside the bounds.
    """
    together = correlations(parts)

    def fits(at: FloatArray) -> BoolArray:
        centre, coefficients = linear(at)
        below, above = combined(coefficients, parts, together)
        fitting: BoolArray = (centre - below <= 1e-12) & (centre + above >= -1e-12)
        return fitting

    lo, hi = bounds
    grid = np.unique(np.append(lo + (hi - lo) * _GRID, min(max(value, lo), hi)))
    inside = np.flatnonzero(fits(grid))
    if len(inside) == 0:
        return None
    return _edge(fits, grid, int(inside[0]), -1), _edge(fits, grid, int(inside[-1]), 1)


def _edge(fits: Callable[[FloatArray], BoolArray], grid: FloatArray, at: int, step: int) -> float:
    """Where the fitting values end, between grid point `at` and the next one outside."""
    if not 0 <= at + step < len(grid):
        return float(grid[at])
    inside, outside = float(grid[at]), float(grid[at + step])
    for _ in range(3):  # each round looks a hundred times closer
        points = np.linspace(inside, outside, 101)
        last = int(np.flatnonzero(fits(points))[-1])
        inside, outside = float(points[last]), float(points[min(last + 1, 100)])
    return inside
