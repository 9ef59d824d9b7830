"""Two indicators: the 0–1 test of a series, and the Kaplan–Yorke dimension of a spectrum."""

from __future__ import annotations

import numpy as np

from perpend.studies.logic.chaos.system import Array

_LEAST_SAMPLES = 300


def zero_one(series: Array, rng: np.random.Generator, frequencies: int = 40) -> float | None:
    """K of the 0–1 test (Gottwald and Melbourne 2009): median over c of the correlation of the modified mean square
    displacement with time. Near 1 chaotic, near 0 regular. None: a constant series, or fewer than 300 samples.

    The series must not be oversampled: it is taken once in an iterate, a forcing period or a passage of a section.
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
