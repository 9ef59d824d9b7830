"""What a calibrated model shows where the rows of one item depend on each other.

A calibrated model is right with probability c. How much the rows of an item agree beyond that is unknown, and with few
items the rows themselves may not tell: twenty items that are right six times each are what a calibrated model with c =
0.95 shows in 36% of all cases if its repeats always agree. So dependence is a parameter: in a share of the items all
rows are judged by one draw (right where c exceeds it), in the others each by its own. Tests use the largest share that
the rows do not refute; intervals its mean.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from perpend.stats import intraclass
from perpend.stats.bins import bin_index
from perpend.stats.gate import FloatArray, IntArray
from perpend.stats.proportions import student_quantile, wilson_bounds
from perpend.stats.resample import cluster_totals

DRAWS = 1000
# Up to here answers are drawn row by row; above, the sum of a bin's answers is normal to a hair.
_EXACT_ROWS = 4000
# Up to here whole items are drawn; above, totals over that many items are normal.
_DRAWN_ITEMS = 2000
_SHARES: FloatArray = np.linspace(0.0, 1.0, 41)
# Twice the drop of the log-likelihood at a one-sided 95% bound.
_DROP = 2.71


@dataclass(frozen=True, slots=True)
class ItemRows:
    """Confidences and correctness, sorted so that the order of the rows given does not matter."""

    c: FloatArray
    y: FloatArray
    codes: IntArray
    """0 … G - 1, ascending; within an item c ascends."""
    sizes: IntArray

    def weighted_sums(self, weights: FloatArray) -> FloatArray:
        """The sum of some weights over each item."""
        return np.bincount(self.codes, weights, len(self.sizes)).astype(np.float64, copy=False)

    def likelihoods(self) -> tuple[FloatArray, FloatArray]:
        """Of each item that repeats: the probability of its answers if one draw judges all, and if each has its own."""
        right, starts = self.y == 1.0, np.cumsum(self.sizes) - self.sizes
        below = np.maximum.reduceat(np.where(right, 0.0, self.c), starts)
        above = np.minimum.reduceat(np.where(right, self.c, 1.0), starts)
        with np.errstate(divide="ignore"):
            apart = np.exp(self.weighted_sums(np.log(np.where(right, self.c, 1.0 - self.c))))
        together = np.maximum(above - below, 0.0)
        tells = (self.sizes > 1) & (together + apart > 0.0)
        return together[tells], apart[tells]

    def shared(self) -> tuple[float, float]:
        """The mean of the share of items that one draw judges, and the largest that the rows do not refute."""
        together, apart = self.likelihoods()
        with np.errstate(divide="ignore"):
            log = np.array([np.log(share * together + (1.0 - share) * apart).sum() for share in _SHARES])
        weight = np.exp(log - log.max())
        return float(weight @ _SHARES / weight.sum()), float(_SHARES[2.0 * (log.max() - log) <= _DROP].max())

    def pair_sums(self, weights: FloatArray, groups: IntArray) -> float:
        """Σ w w' (min(c, c') - c c') over all pairs of rows of a group: the variance of Σ w y if one draw judges all.

        A group is a run of rows of one item.
        """
        count = int(groups[-1]) + 1
        running, whole = np.cumsum(weights), np.bincount(groups, weights, count)
        before = np.concatenate(([0.0], np.cumsum(whole)[:-1]))
        after = whole[groups] - (running - before[groups])
        products = np.bincount(groups, weights * self.c, count)
        return float((self.c * weights * (2.0 * after + weights)).sum() - products @ products)


def item_rows(c: FloatArray, y: FloatArray, codes: IntArray) -> ItemRows:
    """The rows of items in an order of their own: the same for every order in which they are given."""
    order = np.lexsort((y, c, codes))
    c, y, codes = c[order], y[order], codes[order]
    g = int(codes[-1]) + 1
    keys = [np.bincount(codes, weights, g) for weights in (c * y, c * c, y, c)]
    rank = np.empty(g, dtype=np.int64)
    rank[np.lexsort((*keys, np.bincount(codes, minlength=g)))] = np.arange(g)
    order = np.lexsort((y, c, rank[codes]))
    codes = rank[codes][order]
    return ItemRows(c[order], y[order], codes, np.bincount(codes))


def spiegelhalter_variance(rows: ItemRows) -> float:
    """The largest variance of Σ (y - c)(1 - 2c) under calibration that the rows do not refute."""
    lean = 1.0 - 2.0 * rows.c
    apart = float(lean**2 @ (rows.c * (1.0 - rows.c)))
    together = rows.pair_sums(lean, rows.codes)
    share = rows.shared()[1]
    return (1.0 - share) * apart + share * max(together, apart)


def null_draws(rows: ItemRows, n_bins: int, rng: np.random.Generator) -> FloatArray:
    """ECE of a calibrated model on these confidences and items, at the largest dependence that is not refuted."""
    share, index, n = rows.shared()[1], bin_index(rows.c, n_bins), len(rows.c)
    if n > _EXACT_ROWS:
        values, vectors = np.linalg.eigh(_null_covariance(rows, index, n_bins, share))
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        return np.asarray(np.abs(rng.standard_normal((DRAWS, n_bins)) @ root.T).sum(axis=1) / n, dtype=np.float64)
    place = np.zeros((n, n_bins))
    place[np.arange(n), index] = 1.0
    drawn = np.empty(DRAWS)
    for start in range(0, DRAWS, 100):
        together = rng.random((100, len(rows.sizes))) < share
        common, own = rng.random((100, len(rows.sizes))), rng.random((100, n))
        right = np.where(together[:, rows.codes], common[:, rows.codes], own) < rows.c
        drawn[start : start + 100] = np.abs((rows.c - right) @ place).sum(axis=1) / n
    return drawn


def _null_covariance(rows: ItemRows, index: IntArray, n_bins: int, share: float) -> FloatArray:
    """Of the bins' sums of c - y."""
    g = len(rows.sizes)
    key = rows.codes * n_bins + index
    confidence = np.bincount(key, rows.c, g * n_bins).reshape(g, n_bins)
    rest = np.bincount(key, minlength=g * n_bins).reshape(g, n_bins) - confidence
    together = np.triu(confidence.T @ rest, 1)  # of two bins the lower confidence is the smaller one
    together = together + together.T
    for one in range(n_bins):
        own = index == one
        if own.any():
            part = ItemRows(rows.c[own], rows.y[own], rows.codes[own], rows.sizes)
            _, groups = np.unique(rows.codes[own], return_inverse=True)
            together[one, one] = part.pair_sums(np.ones(int(own.sum())), groups)
    apart = np.diag(np.bincount(index, rows.c * (1.0 - rows.c), n_bins))
    return (1.0 - share) * apart + share * together


@dataclass(frozen=True, slots=True)
class ItemBins:
    """Items × bins: Σ (c - y), rows, and right answers."""

    gaps: FloatArray
    rows: FloatArray
    right: FloatArray


def item_bins(rows: ItemRows, n_bins: int) -> ItemBins:
    """What the rows leave behind, for each item and bin."""
    g = len(rows.sizes)
    key = rows.codes * n_bins + bin_index(rows.c, n_bins)
    parts = (rows.c - rows.y, np.ones(len(rows.c)), rows.y)
    gaps, count, right = (np.bincount(key, part, g * n_bins).astype(np.float64).reshape(g, n_bins) for part in parts)
    return ItemBins(gaps, count, right)


def hull(value: float, rows: ItemRows, n_bins: int, p: float, rng: np.random.Generator) -> tuple[float, float]:
    """The gated hull of spec §A2 where items repeat: an interval for ECE, empirical.

    The lower end is 0 unless the test rejects calibration. Bins are as uncertain as Wilson's interval at their
    effective number of rows, or as resampled items show, whichever is more.
    """
    table = item_bins(rows, n_bins)
    g, n = table.gaps.shape[0], len(rows.c)
    filled = table.rows.sum(axis=0) > 0.0
    gaps, counts, right = table.gaps[:, filled], table.rows[:, filled], table.right[:, filled].sum(axis=0)
    gap, count = gaps.sum(axis=0), counts.sum(axis=0)
    rate = right / count
    seen = ((gaps - counts * (gap / count)) ** 2).sum(axis=0) * g / (g - 1.0)
    icc = max(_residual_icc(rows, table), rows.shared()[0])
    binomial = count * rate * (1.0 - rate)
    effect = 1.0 + ((counts**2).sum(axis=0) / count - 1.0) * icc
    effect = np.maximum(effect, np.divide(seen, binomial, out=np.ones_like(seen), where=binomial > 0.0))
    effective = count / effect
    near = (rate * effective + 2.0) / (effective + 4.0)  # Agresti and Coull 1998
    variance = np.maximum(seen, count**2 * near * (1.0 - near) / (effective + 4.0))
    draws = _resampled(gaps, counts, variance - seen, rng)
    t = student_quantile(0.95, g - 1)
    lowest, highest = wilson_bounds(rate, effective, t)
    mean_gap = gap / count
    farthest = np.maximum(mean_gap + rate - lowest, highest - rate - mean_gap) - np.abs(mean_gap)
    reach = math.sqrt(float(count**2 @ farthest**2) / n**2)
    se, centre = float(draws.std(ddof=1)), 2.0 * value - folded(gap, variance, n)
    lo = min(2.0 * value - float(np.quantile(draws, 0.975)), centre - t * se, value)
    hi = max(value + t * se, max(centre, 0.0) + max(t * se, reach))
    return (0.0 if p > 0.025 else max(0.0, lo)), min(1.0, hi)


def _residual_icc(rows: ItemRows, table: ItemBins) -> float:
    """The likely ICC of what is left of c - y when each bin's mean is taken off."""
    n_bins = table.gaps.shape[1]
    mean = table.gaps.sum(axis=0) / np.maximum(table.rows.sum(axis=0), 1.0)
    rest = rows.c - rows.y - mean[bin_index(rows.c, n_bins)]
    return intraclass.likely_of_values(rows.sizes, rows.weighted_sums(rest), rows.weighted_sums(rest**2))


def _resampled(gaps: FloatArray, counts: FloatArray, more: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Cluster-bootstrap draws of ECE, with as much more variance in each bin as it is said to have."""
    table = np.column_stack((gaps, counts.sum(axis=1)))
    if len(table) > _DRAWN_ITEMS:
        centred = table - table.mean(axis=0)
        values, vectors = np.linalg.eigh(centred.T @ centred)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        drawn = table.sum(axis=0) + rng.standard_normal((DRAWS, table.shape[1])) @ root.T
    else:
        drawn = cluster_totals(table, rng, DRAWS)
    noise = rng.standard_normal((DRAWS, gaps.shape[1])) * np.sqrt(np.maximum(more, 0.0))
    return np.asarray(np.abs(drawn[:, :-1] + noise).sum(axis=1) / drawn[:, -1], dtype=np.float64)


def folded(gap: FloatArray, variance: FloatArray, n: int) -> float:
    """Mean of Σ|x| / n for independent normal x with these means and variances."""
    from scipy.special import erf

    sd = np.sqrt(np.maximum(variance, 1e-300))
    ratio = gap / sd
    return float(
        (sd * math.sqrt(2.0 / math.pi) * np.exp(-(ratio**2) / 2.0) + gap * erf(ratio / math.sqrt(2.0))).sum() / n
    )
