"""Rates and means with intervals that know about repeated items.

One rule for every rate: the closed-form interval at the effective number of rows. Where items repeat, the effective
number is rows / the larger of two design effects, the one that the spread between items shows and the one that the
likely ICC implies, and Student's t with G - 1 degrees of freedom replaces the normal quantile. With one row per item
that is the textbook Wilson interval. What it covers is measured by benchmarks/coverage.py (docs/reference/metrics.md).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Literal, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from perpend.errors import DataError
from perpend.stats import gate, measured, weighted
from perpend.stats.clusters import (
    FEW,
    Clustering,
    clustering,
    coded,
    normal_quantile,
    student_quantile,
    totals,
    unequal,
)
from perpend.stats.gate import FloatArray, Ids, IntArray
from perpend.types import Estimate, Number

__all__ = [
    "Clustering", "RateMethod", "clopper_pearson", "clopper_pearson_bounds", "clustering", "coded", "cohens_h", "mean",
    "normal_quantile", "proportion", "rate", "rate_of", "risk_difference", "student_quantile", "totals", "wilson",
    "wilson_bounds",
]  # fmt: skip

RateMethod: TypeAlias = Literal["wilson", "clopper-pearson"]


@overload
def wilson_bounds(p: float, n: float, quantile: float) -> tuple[float, float]: ...
@overload
def wilson_bounds(p: FloatArray, n: FloatArray, quantile: float) -> tuple[FloatArray, FloatArray]: ...
def wilson_bounds(
    p: float | FloatArray, n: float | FloatArray, quantile: float
) -> tuple[float | FloatArray, float | FloatArray]:
    """Wilson's score interval for the share p of n rows, n > 0 and not necessarily whole. Inside [0, 1], around p."""
    square = quantile * quantile / n
    centre = (p + square / 2.0) / (1.0 + square)
    half = quantile / (1.0 + square) * np.sqrt(p * (1.0 - p) / n + square / (4.0 * n))
    # Rounding can put an end one unit beyond p or beyond [0, 1]; at p = 0 and p = 1 the end is p itself.
    lo, hi = np.minimum(np.maximum(centre - half, 0.0), p), np.maximum(np.minimum(centre + half, 1.0), p)
    if isinstance(p, float):
        return (0.0 if p == 0.0 else float(lo)), (1.0 if p == 1.0 else float(hi))
    return np.where(p == 0.0, 0.0, lo), np.where(p == 1.0, 1.0, hi)


def clopper_pearson_bounds(p: float, n: float, level: float) -> tuple[float, float]:
    """The exact binomial interval for the share p of n rows, n > 0 and not necessarily whole."""
    from scipy.special import betaincinv

    tail = (1.0 - level) / 2.0
    k = p * n
    lo = float(betaincinv(k, n - k + 1.0, tail)) if p > 0.0 else 0.0
    hi = float(betaincinv(k + 1.0, n - k, 1.0 - tail)) if p < 1.0 else 1.0
    return lo, hi


def _share(k: int, n: int) -> tuple[int, int]:
    k, n = gate.counts(k=k, n=n)
    if k > n:
        raise DataError(f"k: is {k}, more than n = {n}; k counts some of the n rows")
    return k, n


def wilson(k: int, n: int, *, level: float = 0.95) -> Estimate:
    """k / n with Wilson's score interval (Wilson 1927). Undefined when n = 0."""
    k, n = _share(k, n)
    quantile = normal_quantile(level)
    if n == 0:
        return Estimate(None, 0, note="no rows", level=level, also={"k": 0})
    lo, hi = wilson_bounds(k / n, float(n), quantile)
    rare = measured.RATE.caution(min(k, n - k))
    return Estimate(k / n, n, lo, hi, "Wilson", level=level, also={"k": k}, cautions=rare)


def clopper_pearson(k: int, n: int, *, level: float = 0.95) -> Estimate:
    """k / n with the exact interval (Clopper and Pearson 1934), for claims of 'at least'. Undefined when n = 0."""
    k, n = _share(k, n)
    normal_quantile(level)
    if n == 0:
        return Estimate(None, 0, note="no rows", level=level, also={"k": 0})
    lo, hi = clopper_pearson_bounds(k / n, float(n), level)
    return Estimate(k / n, n, lo, hi, "Clopper-Pearson", level=level, also={"k": k})


def proportion(  # noqa: PLR0913  what a survey knows of its rows
    labels: npt.ArrayLike,
    clusters: Ids | None = None,
    *,
    level: float = 0.95,
    method: RateMethod = "wilson",
    weights: npt.ArrayLike | None = None,
    strata: Ids | None = None,
    shares: Mapping[Hashable, float] | None = None,
) -> Estimate:
    """The share of rows that are 1. An empty column is an error; one cluster gives no interval.

    'wilson' is the default; 'clopper-pearson' guarantees its level. Both work at the effective number of rows where
    items repeat.

    `weights` are 1 / the probability with which a row was drawn. `strata` name the part of the population that a row
    is from, and `shares` how large each is, without which it is as large as its rows (or their weights) are. A stratum
    with one item gives no interval. See `weighted`.
    """
    column = gate.labels("labels", labels)
    codes, how = coded(clusters, len(column)), weighted.plan(len(column), weights, strata, shares)
    spread = clustering(column, codes) if how is None else unequal(column, codes, how)
    return rate_of(spread, int(column.sum()), level=level, method=method)


def rate(column: FloatArray, codes: IntArray | None, *, level: float = 0.95) -> Estimate:
    """`proportion` of a column that has passed the gate, at least one row long."""
    return rate_of(clustering(column, codes), int(column.sum()), level=level)


def rate_of(spread: Clustering, k: int, *, level: float = 0.95, method: RateMethod = "wilson") -> Estimate:
    """The share of k rows that are 1, by how they spread over their clusters."""
    p, n = spread.mean, spread.n
    also: dict[str, Number] = {"k": k, **spread.also()}
    if spread.repeats and spread.se is None:
        note = spread.note or f"no interval: all {n} rows belong to one cluster"
        return Estimate(p, n, note=note, level=level, also=also, cautions=spread.cautions())
    quantile = spread.quantile(level)
    note = ""
    if spread.repeats and spread.design_effect is None:
        note = "all rows agree, so the effective n is the number of clusters"
    if method == "wilson":
        name, (lo, hi) = f"Wilson{spread.basis}", wilson_bounds(p, spread.n_effective, quantile)
    elif method == "clopper-pearson":
        # Korn and Graubard 1998: the effective n shrinks by (z / t)² for the degrees of freedom.
        shrunk = spread.n_effective * (normal_quantile(level) / quantile) ** 2
        name, (lo, hi) = f"Clopper-Pearson{spread.basis}", clopper_pearson_bounds(p, shrunk, level)
    else:
        raise DataError(f"method: is {method!r}; use 'wilson' or 'clopper-pearson'")
    warned = spread.cautions()
    if name.startswith("Wilson") and (not spread.repeats or spread.n_items >= FEW):
        figure = measured.CLUSTERED_RATE if spread.repeats else measured.RATE
        warned = (*warned, *figure.caution(spread.n_effective * min(p, 1.0 - p)))
    return Estimate(p, n, lo, hi, name, note, level, also, warned)


def mean(
    values: npt.ArrayLike,
    clusters: Ids | None = None,
    *,
    level: float = 0.95,
    weights: npt.ArrayLike | None = None,
    strata: Ids | None = None,
    shares: Mapping[Hashable, float] | None = None,
) -> Estimate:
    """The mean with a Student interval; where items repeat, G - 1 degrees of freedom and the effective number of rows.

    `weights`, `strata` and `shares` are those of `proportion`.

    `also` has the standard errors with items as clusters (Miller 2024) and with rows taken for independent.

    No interval where there is one row, one cluster, or no variance at all: a width of zero would claim certainty.
    """
    column = gate.values("values", values)
    codes, how = coded(clusters, len(column)), weighted.plan(len(column), weights, strata, shares)
    spread = clustering(column, codes) if how is None else unequal(column, codes, how)
    also: dict[str, Number] = {"se": spread.se, "se_naive": spread.se_naive, **spread.also()}
    normal_quantile(level)
    note, se, df = spread.note, spread.se, spread.df
    if se is None:
        one = "no interval: one row" if spread.n == 1 else "no interval: all rows belong to one cluster"
        note = spread.note or one
    elif float(np.ptp(column)) == 0.0:
        note, se = f"no interval: all {spread.n} values are equal", None
    elif se == 0.0:
        note = "the clusters have equal means, so the rows are taken for independent"
        se, df = spread.se_naive, spread.n - 1
    if se is None:
        return Estimate(spread.mean, spread.n, note=note, level=level, also=also, cautions=spread.cautions())
    if spread.n_effective < spread.n and spread.se_naive is not None:
        se = spread.se_naive * math.sqrt(spread.n / spread.n_effective)
    half = student_quantile(level, df) * se
    name = f"{'cluster ' if spread.repeats else ''}t({df:.6g})" + ", weights and strata" * (how is not None)
    lo, hi = spread.mean - half, spread.mean + half
    items = column if codes is None else totals(codes, column) / np.bincount(codes)
    warned = (*spread.cautions(), *measured.skewed(items))
    return Estimate(spread.mean, spread.n, lo, hi, name, note, level, also, warned)


def risk_difference(k1: int, n1: int, k2: int, n2: int, *, level: float = 0.95) -> Estimate:
    """k1 / n1 - k2 / n2 for two independent samples, Newcombe's hybrid score interval (Newcombe 1998, method 10).

    Undefined when either sample is empty. Two columns over the same items are pairs: use `paired_difference`.
    """
    first, second = wilson(k1, n1, level=level), wilson(k2, n2, level=level)
    also: dict[str, Number] = {"k1": k1, "n1": n1, "k2": k2, "n2": n2, "p1": first.value, "p2": second.value}
    n = first.n + second.n
    if first.lo is None or first.hi is None or first.value is None:
        return Estimate(None, n, note="the first sample is empty", level=level, also=also)
    if second.lo is None or second.hi is None or second.value is None:
        return Estimate(None, n, note="the second sample is empty", level=level, also=also)
    p, q = first.value, second.value
    lo = p - q - math.hypot(p - first.lo, second.hi - q)
    hi = p - q + math.hypot(first.hi - p, q - second.lo)
    also["cohens_h"] = cohens_h(p, q)
    return Estimate(p - q, n, lo, hi, "Newcombe, independent", level=level, also=also)


def cohens_h(p1: float, p2: float) -> float:
    """Cohen's h: 2 asin √p1 - 2 asin √p2; 0.2 is small, 0.5 medium, 0.8 large (Cohen 1988)."""
    first, second = gate.probabilities("p1, p2", [p1, p2])
    return 2.0 * math.asin(math.sqrt(first)) - 2.0 * math.asin(math.sqrt(second))
