"""Calibration errors as plain numbers: binned (equal width, equal mass, classwise), debiased, and smooth.

Every one compares mean confidence with accuracy among rows of like confidence. None is defined without rows: the gate
refuses an empty array. What a number is worth at this n is in `perpend.stats.calibration.ece_estimate`.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from perpend.stats import gate, measured
from perpend.stats.bins import CHUNK, BinSums, bin_sums, edges, gap_sums, rows_of
from perpend.stats.gate import FloatArray
from perpend.stats.proportions import normal_quantile
from perpend.types import Estimate


def ece(confidences: npt.ArrayLike, correct: npt.ArrayLike, n_bins: int = 10) -> float:
    """Expected calibration error: Σ over equal-width bins of (rows in bin / rows) · |accuracy - mean confidence|."""
    c, y = rows_of(confidences, correct)
    return float(np.abs(gap_sums(c, y, n_bins)).sum() / len(c))


def _mean_gaps(confidences: npt.ArrayLike, correct: npt.ArrayLike, n_bins: int) -> tuple[FloatArray, FloatArray]:
    """|accuracy - mean confidence| and the share of rows, of the bins that hold rows."""
    sums = bin_sums(*rows_of(confidences, correct), n_bins)
    count = sums.count[sums.filled]
    return np.abs(sums.gap[sums.filled]) / count, count / sums.n


def mce(confidences: npt.ArrayLike, correct: npt.ArrayLike, n_bins: int = 10) -> float:
    """Maximum calibration error: the largest |accuracy - mean confidence| over the non-empty equal-width bins."""
    return float(_mean_gaps(confidences, correct, n_bins)[0].max())


def rmsce(confidences: npt.ArrayLike, correct: npt.ArrayLike, n_bins: int = 10) -> float:
    """Root of the row-weighted mean of the squared gaps of the equal-width bins. Biased up, like ECE."""
    gaps, share = _mean_gaps(confidences, correct, n_bins)
    return math.sqrt(float(share @ gaps**2))


def ace(confidences: npt.ArrayLike, correct: npt.ArrayLike, n_bins: int = 10) -> float:
    """Mean gap over the non-empty equal-width bins, each bin counting once whatever its rows (not Nixon's ACE)."""
    return float(_mean_gaps(confidences, correct, n_bins)[0].mean())


def ece_equal_mass(confidences: npt.ArrayLike, correct: npt.ArrayLike, n_bins: int = 10) -> float:
    """ECE over bins of equally many rows: the rows in order of confidence, cut as `numpy.array_split` cuts.

    Rows of one confidence share their mean correctness, so that a cut through a tie does not depend on row order.
    """
    c, y = rows_of(confidences, correct)
    edges(n_bins)  # refuses an impossible n_bins
    value, inverse, ties = np.unique(c, return_inverse=True, return_counts=True)
    rate = np.bincount(inverse, y) / ties
    gap = np.concatenate(([0.0], np.cumsum(np.repeat(value - rate, ties))))
    sizes = [len(c) // n_bins + (m < len(c) % n_bins) for m in range(n_bins)]
    cuts = np.concatenate(([0], np.cumsum(sizes)))
    return float(np.abs(np.diff(gap[cuts])).sum() / len(c))


def ece_classwise(probs: npt.ArrayLike, labels: npt.ArrayLike, n_bins: int = 10) -> float:
    """Mean over the classes of the ECE of 'this class's probability' against 'is this class'."""
    rows = gate.probability_rows("probs", probs)
    klass = gate.class_labels("labels", labels, rows.shape[1])
    gate.same_length(probs=rows, labels=klass)
    per_class = [ece(rows[:, k], klass == k, n_bins) for k in range(rows.shape[1])]
    return float(np.mean(per_class))


def expected_from(variance: FloatArray, n: int) -> float:
    """Mean of Σ|gap| / n for independent normal gaps of mean 0 and these variances: (1/n) Σ √(2 v/π).

    With v = Σ c (1 - c) of a bin, this is the ECE of a perfect model, within 5 % of simulation from 60 rows on.
    """
    return float(np.sqrt(2.0 * variance / math.pi).sum() / n)


def debiased_l2_squared(
    confidences: npt.ArrayLike, correct: npt.ArrayLike, n_bins: int = 10, *, level: float = 0.95
) -> Estimate:
    """Mean squared calibration gap without the bias of its noise (Kumar 2019), with a closed-form interval.

    Σ over bins with at least two rows of share · (gap² - p(1-p)/(n-1)). Unbiased, so it falls below 0 about half the
    time on a calibrated model. Undefined when no bin holds two rows. Assumes independent rows.
    """
    return debiased_from(bin_sums(*rows_of(confidences, correct), n_bins), level=level)


def debiased_from(sums: BinSums, *, level: float = 0.95) -> Estimate:
    """`debiased_l2_squared` from the sums per bin."""
    use = sums.count >= 2
    if not use.any():
        return Estimate(None, sums.n, note="no bin holds two rows, so its noise cannot be told from its gap")
    n, hits = sums.count[use], sums.correct[use]
    share = n / sums.n
    squared = (sums.gap[use] / n) ** 2 - hits / n * (1.0 - hits / n) / (n - 1.0)
    # Variance of the U-statistic mean_{i≠j} d_i d_j. Jeffreys' rate: an all-right bin is not a bin without variance.
    rate = (hits + 0.5) / (n + 1.0)
    spread = rate * (1.0 - rate)
    variance = 4.0 * np.maximum(squared, 0.0) * spread / n + 2.0 * spread**2 / (n * (n - 1.0))
    value = float(share @ squared)
    half = normal_quantile(level) * math.sqrt(float(share**2 @ variance))
    # A square is not below 0, and what the noise hides of it may be there: the upper end is that of the largest of it.
    hidden = np.maximum(squared, 0.0) + spread / n
    wide = 4.0 * hidden * spread / n + 2.0 * spread**2 / (n * (n - 1.0))
    most = max(value, 0.0) + normal_quantile(level) * math.sqrt(float(share**2 @ wide))
    return Estimate(
        value,
        sums.n,
        max(value - half, 0.0),
        most,
        "debiased L2², U-statistic variance",
        level=level,
        also={
            "n_bins": sums.n_bins,
            "rows_in_bins_of_one": sums.n - int(n.sum()),
            "closed_lo": value - half,
            "closed_hi": value + half,
        },
        cautions=measured.SQUARED_GAP.caution(max(value, 0.0) / half),
    )


def ece_top_label(probs: npt.ArrayLike, labels: npt.ArrayLike, n_bins: int = 10) -> float:
    """ECE of the most probable class: its probability is the confidence, and it is right where it is the label.

    Of classes that tie, the first counts as chosen.
    """
    rows = gate.probability_rows("probs", probs)
    truth = gate.class_labels("labels", labels, rows.shape[1])
    gate.same_length(probs=rows, labels=truth)
    return ece(rows.max(axis=1), (rows.argmax(axis=1) == truth).astype(np.float64), n_bins)


def debiased_rmsce(confidences: npt.ArrayLike, correct: npt.ArrayLike, n_bins: int = 10) -> float | None:
    """Root of the debiased squared gap; 0 where that is negative, None where it is undefined."""
    value = debiased_l2_squared(confidences, correct, n_bins).value
    return None if value is None else math.sqrt(max(value, 0.0))


def smooth_ece(confidences: npt.ArrayLike, correct: npt.ArrayLike) -> float:
    """Smooth ECE (Błasiok & Nakkiran 2024): the mean absolute residual after smoothing by a reflected Gaussian.

    The width σ is the one at which the smoothed error equals σ, to 1/1024 and not below 0.001.
    """
    c, y = rows_of(confidences, correct)
    smoothed = _Smoother(c, y)
    if smoothed(1.0) > 1.0:
        return smoothed(1.0)
    wide, narrow = 1.0, 0.0
    for _ in range(10):
        middle = (wide + narrow) / 2.0
        if middle < 0.001 or middle < smoothed(middle):
            narrow = middle
        else:
            wide = middle
    return smoothed(wide)


class _Smoother:
    """Residuals and rows spread over a grid once, then smoothed at any width on that grid."""

    def __init__(self, c: FloatArray, y: FloatArray) -> None:
        self._c, self._y = c, y
        self._masses: dict[int, FloatArray] = {}

    def __call__(self, width: float) -> float:
        """∫ |smoothed residuals| / ∫ smoothed rows, both read off at 10 points or more per kernel width."""
        points = max(2000, round(20.0 / width)) // 2 + 1
        if points not in self._masses:
            self._masses[points] = self._spread(points)
        residual, rows = _reflected(self._masses[points], width)
        grid, at = np.linspace(0.0, 1.0, points), np.linspace(0.0, 1.0, max(200, round(10.0 / width)))
        # 1e-4 rows at each point keep an empty stretch defined; the published code has it, and its numbers rule.
        density = np.interp(at, grid, rows) + 1e-4
        return float(np.abs(np.interp(at, grid, residual)).sum() / density.sum())

    def _spread(self, points: int) -> FloatArray:
        """Σ (c - y) and Σ 1 at each grid point, each row shared linearly between its two neighbours."""
        mass = np.zeros((2, points))
        for start in range(0, len(self._c), CHUNK):
            part = self._c[start : start + CHUNK]
            at = part * (points - 1)
            left = np.minimum(at.astype(np.int64), points - 2)
            share, gap = at - left, part - self._y[start : start + CHUNK]
            for row, weight in enumerate((gap, np.ones_like(gap))):
                mass[row] += np.bincount(left, (1.0 - share) * weight, points)
                mass[row, 1:] += np.bincount(left, share * weight, points - 1)
        return mass


def _reflected(masses: FloatArray, width: float) -> FloatArray:
    """Each row convolved with a Gaussian that reaches half the unit interval and is reflected at 0 and 1."""
    points = masses.shape[1]
    # Reflection makes the mass periodic, so one circular convolution does it. An even grid has no middle point: the
    # kernel then sits half a step off, as in the published code.
    period = 2 * (points - 1)
    lag = np.arange(points) - (points - 1) // 2
    off = 0.0 if points % 2 else 0.5
    kernel = np.zeros(period)
    kernel[-lag] = np.exp(-0.5 * ((lag - off) / (points - 1) / width) ** 2) / (math.sqrt(2.0 * math.pi) * width)
    mirrored = np.concatenate((masses, masses[:, -2:0:-1]), axis=1)
    return np.fft.irfft(np.fft.rfft(mirrored) * np.fft.rfft(kernel), period)[:, :points]
