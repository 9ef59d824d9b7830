"""What repeated, unequal and weighted items do to a mean: its standard error, effective number of rows and quantile."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from perpend.errors import DataError
from perpend.stats import cautions, grouping, intraclass, weighted
from perpend.stats.cautions import caution
from perpend.stats.gate import FloatArray, Ids, IntArray
from perpend.types import Caution, Number

FEW = 30
"""With fewer items of one size than this an interval of repeated items carries STAT022."""


def normal_quantile(level: float) -> float:
    """The z of a two-sided normal interval: 1.959963984540054 at 95%."""
    if isinstance(level, bool) or not isinstance(level, float | int | np.floating) or not 0.0 < level < 1.0:
        raise DataError(f"level: is {level!r}; a confidence level is a number between 0 and 1, as in 0.95")
    return NormalDist().inv_cdf(0.5 + level / 2.0)


def student_quantile(level: float, df: float) -> float:
    """The t of a two-sided Student interval."""
    from scipy.special import stdtrit

    normal_quantile(level)
    return float(stdtrit(df, 0.5 + level / 2.0))


@dataclass(frozen=True, slots=True)
class Clustering:
    """What repeated items do to the mean of a column.

    `se` is the cluster-robust standard error with the factor G / (G - 1), None for one cluster; `se_naive` takes the
    rows for independent, None for one row. `design_effect` is the square of their ratio, None where that is 0/0.
    `icc` is the analysis-of-variance estimate, None where nothing repeats or nothing varies.

    Intervals rest on more than these, because with few or unequal items they are often too small. `n_items` is
    n² / Σ size²: as many items of one size carry the same weight. `n_effective` is n / the larger of CR2's design
    effect (Bell and McCaffrey 2002) and 1 + (n / n_items - 1) · the likely ICC; at most n, as repeating an item never
    counts for more than a new one; and `n_items` where all rows agree.
    """

    n: int
    n_clusters: int
    mean: float
    se: float | None
    se_naive: float | None
    design_effect: float | None
    n_effective: float
    icc: float | None
    n_items: float
    weighted_df: float | None = None
    """Degrees of freedom where rows have weights or strata; then the other fields are those of the weighted mean."""
    note: str = ""
    """Why there is no standard error, where a stratum has one item."""

    @property
    def repeats(self) -> bool:
        """Some cluster has more than one row, or rows count unequally."""
        return self.n_clusters < self.n or self.weighted_df is not None

    @property
    def df(self) -> float:
        """Degrees of freedom: G - 1, or what weights and strata leave."""
        return self.n_clusters - 1 if self.weighted_df is None else self.weighted_df

    @property
    def basis(self) -> str:
        """What a method's name adds where items repeat."""
        weights = "" if self.weighted_df is None else ", weights and strata"
        return f"{weights}, cluster-robust effective n, t({self.df:.6g})" if self.repeats else ""

    def quantile(self, level: float) -> float:
        """t where items repeat or rows count unequally, else z."""
        return student_quantile(level, self.df) if self.repeats else normal_quantile(level)

    def also(self) -> dict[str, Number]:
        """The companions of a clustered estimate; nothing where no item repeats."""
        if not self.repeats:
            return {}
        return {
            **({} if self.weighted_df is None else {"df": self.weighted_df}),
            "n_clusters": self.n_clusters,
            "n_items": self.n_items,
            "n_effective": self.n_effective,
            "design_effect": self.design_effect,
            "icc": self.icc,
        }

    def cautions(self) -> tuple[Caution, ...]:
        """STAT001 where items repeat; STAT022 where they are as good as fewer than 30; STAT032 for unequal weights."""
        if not self.repeats:
            return ()
        repeat = cautions.items_repeat(self.n, self.n_clusters, self.design_effect, self.icc)
        few = cautions.few_clusters(self.n_clusters, self.n_items)
        unlike = self.weighted_df is not None and self.n_items < 0.8 * self.n_clusters
        weights = caution("STAT032", self.n_items, n_clusters=self.n_clusters)
        return (repeat,) * (self.n_clusters < self.n) + (few,) * (self.n_items < FEW) + (weights,) * unlike


def clustering(column: FloatArray, codes: IntArray | None) -> Clustering:
    """The spread of a column's mean over rows and over clusters; codes None means one row per item."""
    n = len(column)
    mean = float(column.mean())
    constant = float(np.ptp(column)) == 0.0
    deviations = np.zeros(n) if constant else column - mean
    total = float(deviations @ deviations)
    se_naive = None if n == 1 else math.sqrt(total / (n - 1) / n)
    if codes is None:
        return Clustering(n, n, mean, se_naive, se_naive, None if constant or n == 1 else 1.0, float(n), None, float(n))
    sizes = np.bincount(codes)
    there = sizes > 0  # a slice of a coded column leaves some codes without rows
    sizes, sums = sizes[there], totals(codes, deviations)[there]

    def likely() -> float:
        for sign in (1.0, -1.0):  # a difference that only falls is as likely as one that only rises
            if ((column == 0.0) | (column == sign)).all():
                return intraclass.likely_of_shares(sizes, totals(codes, sign * column)[there])
        return intraclass.likely_of_values(sizes, sums, totals(codes, deviations**2)[there])

    return _spread(mean, sizes, sums, 0.0 if constant else total, likely)


def clustering_of_sums(sizes: IntArray, sums: FloatArray, squares: FloatArray) -> Clustering:
    """`clustering` of rows of which we know, for each cluster, their number, their sum and their sum of squares.

    Clusters without rows do not count. Rows of 0 and 1 are their own squares, and rows of 0 and -1 but for the sign,
    which tells them from other values.
    """
    if sizes.min() == 0:
        there = sizes > 0
        sizes, sums, squares = sizes[there], sums[there], squares[there]
    n = int(sizes.sum())
    mean = float(sums.sum()) / n
    total = max(float(squares.sum()) - n * mean * mean, 0.0)
    if total <= 1e-12 * float(squares.sum()):  # all rows agree, but for rounding
        total = 0.0
    centred = sums - mean * sizes if total else np.zeros(len(sizes))

    def likely() -> float:
        if np.array_equal(np.abs(sums), squares) and (sums.min() >= 0.0 or sums.max() <= 0.0):
            return intraclass.likely_of_shares(sizes, squares)
        return intraclass.likely_of_values(sizes, centred, squares - 2.0 * mean * sums + mean * mean * sizes)

    return _spread(mean, sizes, centred, total, likely)


def _spread(mean: float, sizes: IntArray, sums: FloatArray, total: float, likely: Callable[[], float]) -> Clustering:
    """Clusters of these sizes whose deviations from the mean have these sums; the squares of all add up to total."""
    g, n = len(sizes), int(sizes.sum())
    se_naive = None if n == 1 else math.sqrt(total / (n - 1) / n)
    n_items = n * n / float(np.square(sizes, dtype=np.float64).sum())
    between = float(sums @ sums)
    if between <= 1e-18 * total:  # clusters with equal means, but for rounding
        between = 0.0
    se = None if g == 1 else math.sqrt(g / (g - 1) * between) / n
    design_effect = (se / se_naive) ** 2 if se is not None and se_naive else None
    n_effective = n_items
    if design_effect is not None and se_naive:
        by_spread = float((sums**2 / (1.0 - sizes / n)).sum()) / (n * se_naive) ** 2
        by_icc = 1.0 + (n / n_items - 1.0) * likely()
        n_effective = n / max(by_spread, by_icc, 1.0)
    icc = intraclass.anova(sizes, sums, total)
    return Clustering(n, g, mean, se, se_naive, design_effect, n_effective, icc, n_items)


def unequal(column: FloatArray, codes: IntArray | None, how: weighted.Weighting) -> Clustering:
    """`clustering` of rows with weights or strata."""
    n = len(column)
    clusters = np.arange(n) if codes is None else codes
    spread = weighted.spread(column, clusters, how)
    naive = math.sqrt(spread.row_variance / n)
    se = None if spread.variance is None else math.sqrt(spread.variance)
    effect = (se / naive) ** 2 if se is not None and naive else None
    groups, effective = int(clusters.max()) + 1, spread.n_effective
    return Clustering(
        n, groups, spread.mean, se, naive, effect, effective, None, spread.n_items, spread.df, spread.note
    )


def totals(codes: IntArray, column: FloatArray) -> FloatArray:
    """The sum of a column over each cluster."""
    return np.bincount(codes, weights=column).astype(np.float64, copy=False)


def coded(clusters: Ids | None, n: int) -> IntArray | None:
    """Cluster codes of n rows, or None where no cluster has two rows: then the rows are independent."""
    if clusters is None:
        return None
    codes = grouping.codes("clusters", clusters)
    if len(codes) != n:
        raise DataError(f"lengths differ: clusters has {len(codes)} rows, the data {n}; give one cluster per row")
    return None if int(codes.max()) + 1 == n else codes
