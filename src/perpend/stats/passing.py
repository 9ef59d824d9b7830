"""pass@k and pass^k of items that were asked several times: does one of k attempts succeed, do all of them?

The items are the units, each with one vote however often it was asked. Their mean has Wilson's interval at an effective
number of items with t: as many as the spread between items implies, but no more than a beta-binomial model of the
repeats does, as few items near 0 or 1 show too little spread.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from perpend.errors import DataError
from perpend.stats import cautions, gate, grouping, intraclass
from perpend.stats.cautions import caution
from perpend.stats.gate import FloatArray, Ids, IntArray
from perpend.stats.proportions import clopper_pearson_bounds, normal_quantile, student_quantile, wilson_bounds
from perpend.types import Estimate, Number

Unbiased: TypeAlias = Callable[[int, int, int], float]
"""From repeats n, successes c and k to the item's unbiased estimate."""


def pass_at_k(outcomes: npt.ArrayLike, items: Ids, k: int, *, level: float = 0.95) -> Estimate:
    """The chance that at least one of k attempts at an item succeeds, as the mean over items.

    An item with c successes in n repeats counts 1 - C(n - c, k) / C(n, k), which is unbiased (Chen et al. 2021). `n` is
    the number of items. Undefined where an item has fewer than k repeats; one item gives no interval.
    """
    return _mean_over_items(outcomes, items, k, level, _at_least_one)


def pass_hat_k(outcomes: npt.ArrayLike, items: Ids, k: int, *, level: float = 0.95) -> Estimate:
    """The chance that all of k attempts at an item succeed (pass^k), as the mean over items.

    An item with c successes in n repeats counts C(c, k) / C(n, k), which is unbiased (Yao et al. 2024). `n` is the
    number of items. Undefined where an item has fewer than k repeats; one item gives no interval.
    """
    return _mean_over_items(outcomes, items, k, level, _all_of_them)


def _at_least_one(n: int, c: int, k: int) -> float:
    return 1.0 - math.comb(n - c, k) / math.comb(n, k)


def _all_of_them(n: int, c: int, k: int) -> float:
    return math.comb(c, k) / math.comb(n, k)


def _mean_over_items(outcomes: npt.ArrayLike, items: Ids, k: int, level: float, of: Unbiased) -> Estimate:
    column, codes = gate.labels("outcomes", outcomes), grouping.codes("items", items)
    gate.same_length(outcomes=column, items=codes)
    (k,) = gate.counts(k=k)
    if k == 0:
        raise DataError("k: is 0; it counts attempts, at least one")
    normal_quantile(level)
    sizes, ones = np.bincount(codes), np.bincount(codes, weights=column).astype(np.int64)
    g = len(sizes)
    least, most = int(sizes.min()), int(sizes.max())
    also: dict[str, Number] = {"k": k, "rows": len(column), "repeats_least": least, "repeats_most": most}
    if least < k:
        short = int(np.count_nonzero(sizes < k))
        note = f"{short} of {g} items {'has' if short == 1 else 'have'} fewer than {k} repeats, the least {least}"
        return Estimate(None, g, note=note, level=level, also=also)
    kinds, inverse = np.unique(sizes * (most + 1) + ones, return_inverse=True)
    each = np.array([of(kind // (most + 1), kind % (most + 1), k) for kind in kinds.tolist()])[inverse]
    value = min(max(float(each.mean()), 0.0), 1.0)
    if g == 1:
        return Estimate(value, 1, note="no interval: one item", level=level, also=also)
    share = _share_of_variance(each, value, sizes, ones, k, of)
    also["n_effective"] = g / share
    lo, hi = _ends(value, g / share, g - 1, level)
    rarer = g / share * min(value, 1.0 - value)
    warned = (cautions.few_clusters(g),) * (g < 30) + (caution("STAT033", rarer),) * (rarer < 5.0)
    method = f"unbiased by item; Wilson, effective number of items, t({g - 1})"
    return Estimate(value, g, lo, hi, method, level=level, also=also, cautions=warned)


def _ends(value: float, n: float, df: int, level: float) -> tuple[float, float]:
    """Wilson's ends; where fewer than two items' worth are 0 or 1, the end there is not inside the exact one."""
    quantile = student_quantile(level, df)
    lo, hi = wilson_bounds(value, n, quantile)
    exact = clopper_pearson_bounds(value, n * (normal_quantile(level) / quantile) ** 2, level)
    return min(lo, exact[0]) if value * n < 2.0 else lo, max(hi, exact[1]) if (1.0 - value) * n < 2.0 else hi


def _share_of_variance(each: FloatArray, mean: float, sizes: IntArray, ones: IntArray, k: int, of: Unbiased) -> float:
    """The variance of an item's estimate as a share of mean · (1 - mean), which is that of an item that says 0 or 1.

    The larger of what the items show and what the repeats make likely; 1 where all rows agree.
    """
    rows, right = int(sizes.sum()), int(ones.sum())
    if right in (0, rows):
        return 1.0
    bound = mean * (1.0 - mean)
    seen = float(each.var(ddof=1)) / bound if bound > 1e-12 else 0.0
    weight = intraclass.weights_of_shares(sizes, ones.astype(np.float64))
    likely = 0.0
    for size, times in zip(*np.unique(sizes, return_counts=True), strict=True):
        values = np.array([of(int(size), c, k) for c in range(int(size) + 1)])
        likely += int(times) / len(sizes) * float(weight @ _model_shares(values, right / rows))
    return min(max(seen, likely), 1.0)


def _model_shares(values: FloatArray, rate: float) -> FloatArray:
    """For each ICC of the grid, the variance of `values` over m · (1 - m), where c is beta-binomial at this rate."""
    from scipy.special import betaln, gammaln

    n = len(values) - 1
    c = np.arange(n + 1.0)
    ways = gammaln(n + 1.0) - gammaln(c + 1.0) - gammaln(n - c + 1.0)
    prior = 1.0 / intraclass.GRID[:, None] - 1.0
    a, b = prior * rate, prior * (1.0 - rate)
    chance = np.exp(ways + betaln(c + a, n - c + b) - betaln(a, b))
    mean = np.clip(chance @ values, 1e-12, 1.0 - 1e-12)
    variance = np.maximum(chance @ values**2 - mean**2, 0.0)
    share: FloatArray = np.minimum(variance / (mean * (1.0 - mean)), 1.0)
    return share
