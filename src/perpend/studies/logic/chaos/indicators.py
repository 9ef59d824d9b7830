"""Indicators of one series: 0–1 test, permutation entropy, MEGNO; and the return of an orbit to itself."""

from __future__ import annotations

import math

import numpy as np

from perpend.studies.logic.chaos.system import Array

ENTROPY_ORDER = 5
MAX_PERIOD = 64
_LEAST_SAMPLES = 300


def zero_one(series: Array, rng: np.random.Generator, frequencies: int = 40) -> float | None:
    """K of the 0–1 test (Gottwald and Melbourne 2009): median over c of the correlation of the modified mean square
    displacement with time. Near 1 chaotic, near 0 regular. None: a constant series, or fewer than 300 samples.

    The series must not be oversampled; survey.SAMPLES_PER_OSCILLATION says how it is thinned.
    """
    n = len(series)
    spread = float(series.std())
    if n < _LEAST_SAMPLES or spread < 1e-9 * (1.0 + float(np.abs(series).max())):
        return None
    phi = (series - series.mean()) / spread
    lags = np.arange(1, n // 10 + 1)
    angles = rng.uniform(np.pi / 5, 4 * np.pi / 5, frequencies)
    turns = np.exp(1j * np.outer(angles, np.arange(1, n + 1)))
    p = np.cumsum(phi * turns, axis=1)
    kept = n - lags[-1]
    # The series has mean zero, so the oscillating term that the modified displacement takes off is zero.
    displacement = np.stack([(np.abs(p[:, j : j + kept] - p[:, :kept]) ** 2).mean(axis=1) for j in lags], axis=1)
    t = lags - lags.mean()
    d = displacement - displacement.mean(axis=1, keepdims=True)
    k = (d @ t) / np.sqrt((d**2).sum(axis=1) * (t**2).sum())
    return float(np.median(k))


def permutation_entropy(series: Array, order: int = ENTROPY_ORDER) -> float | None:
    """Bandt and Pompe's entropy of ordinal patterns of length 5, over ln 5!. Ties are broken by time, after rounding
    to 1e-9 of the spread so that a converged cycle does not sort by rounding errors. None under 300 samples.
    """
    if len(series) < _LEAST_SAMPLES:
        return None
    spread = float(np.ptp(series))
    tolerance = 1e-9 * (spread if spread > 1e-9 * (1.0 + float(np.abs(series).max())) else 1e18)
    windows = np.lib.stride_tricks.sliding_window_view(np.round(series / tolerance), order)
    ranks = np.argsort(windows, axis=1, kind="stable") @ (order ** np.arange(order))
    counts = np.unique(ranks, return_counts=True)[1] / len(ranks)
    return float(-(counts * np.log(counts)).sum() / math.log(math.factorial(order)))


def megno(growth: Array) -> float:
    """Mean exponential growth of nearby orbits (Cincotta and Simó 2000), averaged over the second half of the run.

    Y(T) = 2/T ∫ (d ln δ / dt) t dt from the growth of one displaced orbit per interval. Regular orbits stay at or
    below 2, chaotic ones grow like λT/2, stable fixed points and cycles of maps fall below 0.
    """
    steps = np.arange(1, len(growth) + 1)
    y = 2 * np.cumsum(growth * (steps - 0.5)) / steps
    means = np.cumsum(y) / steps
    return float(means[len(means) // 2 :].mean())


def kaplan_yorke(exponents: Array) -> float | None:
    """Kaplan–Yorke dimension. 0 when the largest exponent is negative; None when the partial sums never turn negative
    (a volume-preserving system, or too few exponents)."""
    if exponents[0] < 0:
        return 0.0
    sums = np.cumsum(exponents)
    below = np.nonzero(sums < 0)[0]
    if not len(below):
        return None
    j = int(below[0])
    return j + float(sums[j - 1]) / abs(float(exponents[j]))


def crossings(signal: Array) -> Array:
    """Times, in samples, at which a signal rises through the middle of its range, by cubic interpolation."""
    middle = (signal.max() + signal.min()) / 2
    s = signal - middle
    at = np.nonzero((s[1:-2] < 0) & (s[2:-1] >= 0))[0] + 1
    a, b, c, d = s[at - 1], s[at], s[at + 1], s[at + 2]
    t = b / (b - c)
    for _ in range(4):
        value, slope = _cubic(a, b, c, d, t)
        t = np.clip(t - value / np.where(slope == 0, 1.0, slope), 0.0, 1.0)
    times: Array = at + t
    return times


def _cubic(a: Array, b: Array, c: Array, d: Array, t: Array) -> tuple[Array, Array]:
    """Lagrange's cubic through samples at −1, 0, 1, 2 and its slope, at t in [0, 1]."""
    c1 = c - a / 3 - b / 2 - d / 6
    c2 = (a + c) / 2 - b
    c3 = (d - a) / 6 + (b - c) / 2
    return b + t * (c1 + t * (c2 + t * c3)), c1 + t * (2 * c2 + 3 * t * c3)


def section(tail: Array) -> tuple[Array, Array]:
    """Where and when (in samples) an orbit (samples, n) crosses its first variable's middle upwards."""
    times = crossings(tail[:, 0])
    at = times.astype(np.int64)
    t = (times - at)[:, None]
    points, _ = _cubic(tail[at - 1], tail[at], tail[at + 1], tail[at + 2], t)
    return points, times


def returns(points: Array, span: float) -> Array | None:
    """How far, in units of the orbit's span, points (k, n) are from their p-th successors, for p = 1 … 64: the largest
    distance over all pairs. Periods longer than a third of the points are not tried; None under 12 points.
    """
    if span <= 0 or len(points) < 12:
        return None
    longest = min(MAX_PERIOD, len(points) // 3)
    return np.array([np.abs(points[p:] - points[:-p]).max() for p in range(1, longest + 1)]) / span
