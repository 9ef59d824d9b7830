"""How alike the rows of one item are: the intraclass correlation (ICC), and what it does to a mean.

Two estimates. `anova` is the usual one, and noisy: where few items hold the rare answer it is often far too small, and
an interval that believes it covers 80% instead of 95%. `likely` is the mean of the ICC given the rows, with a prior
that is flat in √ICC: it is never near 0 unless the rows show it, and the design effect of an interval is made of it.
"""

from __future__ import annotations

import numpy as np

from perpend.stats.gate import FloatArray, IntArray

# Midpoints of √ICC.
GRID: FloatArray = np.square((np.arange(24.0) + 0.5) / 24.0)


def anova(sizes: IntArray, sums: FloatArray, total: float) -> float | None:
    """The one-way analysis-of-variance estimate; None where nothing repeats or nothing varies.

    `sums` are the items' sums of deviations from the mean, `total` the sum of all squared deviations.
    """
    g, n = len(sizes), int(sizes.sum())
    if g in (1, n) or total == 0.0:
        return None
    among = float((sums**2 / sizes).sum())
    mean_square_among = among / (g - 1)
    mean_square_within = max(total - among, 0.0) / (n - g)
    typical = (n - float((sizes.astype(np.float64) ** 2).sum()) / n) / (g - 1)
    return (mean_square_among - mean_square_within) / (mean_square_among + (typical - 1.0) * mean_square_within)


def likely_of_shares(sizes: IntArray, ones: FloatArray) -> float:
    """Mean of the ICC of a column of 0 and 1, given the ones of each item: beta-binomial, at the observed rate.

    1 where all rows agree: they then tell nothing of it.
    """
    if float(ones.sum()) in (0.0, float(sizes.sum())):
        return 1.0
    return float(weights_of_shares(sizes, ones) @ GRID)


def weights_of_shares(sizes: IntArray, ones: FloatArray) -> FloatArray:
    """How likely each ICC of the grid is, given the ones of each item, some rows 0 and some 1; they add up to 1."""
    return normalised(log_of_shares(sizes, ones))


def log_of_shares(sizes: IntArray, ones: FloatArray) -> FloatArray:
    """The beta-binomial log-likelihood of each ICC of the grid, at the observed rate; some rows 0 and some 1."""
    from scipy.special import gammaln

    n, k = float(sizes.sum()), float(ones.sum())
    # Items with the same size and the same ones count alike.
    widest = int(sizes.max()) + 1
    kinds, times = _kinds(sizes * widest + ones.astype(np.int64))
    size, one = (kinds // widest).astype(np.float64), (kinds % widest).astype(np.float64)
    log = np.empty(len(GRID))
    for place, icc in enumerate(GRID):
        prior = 1.0 / icc - 1.0
        a, b = prior * k / n, prior * (n - k) / n
        likelihood = gammaln(one + a) - gammaln(a) + gammaln(size - one + b) - gammaln(b)
        log[place] = times @ (likelihood - gammaln(size + prior) + gammaln(prior))
    return log


def _kinds(keys: IntArray) -> tuple[IntArray, IntArray]:
    """The distinct keys in order, and how often each occurs; without sorting where they are small."""
    if int(keys.max()) > 4 * len(keys):
        return np.unique(keys, return_counts=True)
    counts = np.bincount(keys)
    kinds = np.flatnonzero(counts)
    return kinds, counts[kinds]


def likely_of_values(sizes: IntArray, sums: FloatArray, squares: FloatArray) -> float:
    """Mean of the ICC of any column, given each item's sum of deviations and of squared deviations: a normal model.

    1 where nothing varies.
    """
    n = float(sizes.sum())
    between = sums**2 / sizes
    within = max(float(squares.sum() - between.sum()), 0.0)
    if within + float(between.sum()) <= 0.0:
        return 1.0
    # Items of one size share what depends on the size.
    size, inverse, times = np.unique(sizes, return_inverse=True, return_counts=True)
    among = np.bincount(inverse, between)
    log = np.empty(len(GRID))
    for place, icc in enumerate(GRID):
        inflated = 1.0 + (size - 1.0) * icc
        square = within / (1.0 - icc) + float((among / inflated).sum())
        log[place] = -0.5 * (
            n * np.log(square) + (n - float(times.sum())) * np.log1p(-icc) + float(times @ np.log(inflated))
        )
    return float(normalised(log) @ GRID)


def normalised(log: FloatArray) -> FloatArray:
    """Log-likelihoods as weights that add up to 1."""
    weight: FloatArray = np.exp(log - log.max())
    return weight / float(weight.sum())
