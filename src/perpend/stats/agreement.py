"""How far raters agree on the same units: raw agreement, Cohen's kappa, Gwet's AC1, Krippendorff's alpha.

A unit is a row that two or more raters saw: a trial, read by a judge and by a person. A rating of None or nan is
missing. A unit with fewer than two ratings tells nothing about agreement: it is left out and counted in
`also["left_out"]`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from perpend.errors import DataError
from perpend.stats import cautions, gate, measured
from perpend.stats.clusters import FEW, coded, normal_quantile, student_quantile
from perpend.stats.gate import FloatArray, Ids, IntArray
from perpend.stats.proportions import rate, wilson_bounds
from perpend.types import Caution, Estimate, Number

Scale: TypeAlias = Literal["nominal", "ordinal", "interval"]
Raters: TypeAlias = Sequence[npt.ArrayLike]
"""One column of ratings per rater, in the same order of units."""

MOST_CATEGORIES = 100
MOST_ORDINAL = 20


@dataclass(frozen=True, slots=True, eq=False)
class _Statistic:
    """A units × columns table, and the statistic as a function of its column totals.

    `lowered` changes the totals of perfect agreement to those of a given share of agreement; None where that does not
    determine the statistic.
    """

    table: FloatArray
    value: Callable[[FloatArray], FloatArray]
    lowered: Callable[[FloatArray, float], FloatArray] | None


def _less_agreement(total: FloatArray, least: float) -> FloatArray:
    """For a table whose first two columns count units and agreement."""
    return np.concatenate([total[:1], [least * total[0]], total[2:]])


@dataclass(frozen=True, slots=True, eq=False)
class _Units:
    """Units with at least two ratings: how many raters chose each category, and the cluster and weight of the unit."""

    counts: FloatArray
    categories: tuple[Hashable, ...]
    first: IntArray
    second: IntArray
    codes: IntArray
    weight: FloatArray
    left_out: int

    @property
    def agreed(self) -> FloatArray:
        """The share of pairs of raters that agree, by unit."""
        raters: FloatArray = self.counts.sum(axis=1)
        same: FloatArray = (self.counts * (self.counts - 1.0)).sum(axis=1)
        return same / (raters * (raters - 1.0))


def _units(raters: Raters, clusters: Ids | None, weights: npt.ArrayLike | None) -> _Units:
    if len(raters) < 2:
        raise DataError(f"raters: has {len(raters)} column; agreement needs at least two raters")
    columns = [_ratings(f"rater {place}", column) for place, column in enumerate(raters, 1)]
    gate.same_length(**{f"rater {place}": column for place, column in enumerate(columns, 1)})
    categories, chosen = _categories(columns)
    n = chosen.shape[1]
    given = None if clusters is None else coded(clusters, n)
    codes = np.arange(n) if given is None else given
    weight = np.ones(n) if weights is None else gate.values("weights", weights)
    gate.same_length(ratings=chosen[0], weights=weight)
    rated = (chosen >= 0).sum(axis=0)
    kept = rated >= 2
    if float(weight[kept].min(initial=1.0)) <= 0.0:
        raise DataError(
            "weights: hold a value that is not above 0; a weight is 1 / the probability that a unit was drawn"
        )
    counts = np.zeros((n, len(categories)))
    for column in chosen:
        present = column >= 0
        counts[np.flatnonzero(present), column[present]] += 1.0
    # Kappa has two raters, so the first and the second column are all of them.
    picked = chosen[0][kept], chosen[1][kept], codes[kept], weight[kept]
    return _Units(counts[kept], categories, *picked, int(n - kept.sum()))


def _ratings(name: str, column: npt.ArrayLike) -> npt.NDArray[np.generic]:
    """Numbers as floats, with nan for a missing one, or any hashable ratings as objects, with None."""
    try:
        raw = np.asarray(column)
    except ValueError:  # lists of several lengths among them
        raise DataError(f"{name}: holds lists, which cannot be compared; use text or numbers") from None
    if raw.ndim != 1 or raw.size == 0:
        raise DataError(f"{name}: has shape {raw.shape}; give one rating per unit, and at least one unit")
    if raw.dtype.kind in "biuf":
        return raw.astype(np.float64)
    rows: list[object] = raw.tolist()
    numbers = all(one is None or isinstance(one, (bool, int, float)) for one in rows)
    if numbers:
        return np.array([math.nan if one is None else one for one in rows], dtype=np.float64)
    return np.array(rows, dtype=object)


def _categories(columns: Sequence[npt.NDArray[np.generic]]) -> tuple[tuple[Hashable, ...], IntArray]:
    """The categories in ascending order, and each rating as its place among them, -1 where missing."""
    if all(column.dtype.kind == "f" for column in columns):
        stacked = np.stack(columns).astype(np.float64)
        present = ~np.isnan(stacked)
        distinct, places = np.unique(stacked[present], return_inverse=True)
        chosen = np.full(stacked.shape, -1, dtype=np.int64)
        chosen[present] = places
        names: tuple[Hashable, ...] = tuple(distinct.tolist())
    else:
        rows = [[_rating(one) for one in column.tolist()] for column in columns]
        names = tuple(sorted({one for row in rows for one in row if one is not None}, key=str))
        place = {name: at for at, name in enumerate(names)}
        chosen = np.array([[-1 if one is None else place[one] for one in row] for row in rows], dtype=np.int64)
    if len(names) > MOST_CATEGORIES:
        raise DataError(f"raters: have {len(names)} categories (limit {MOST_CATEGORIES}); agreement is about a few")
    return names, chosen


def _rating(one: object) -> Hashable | None:
    if one is None or (isinstance(one, float) and math.isnan(one)):
        return None
    if not isinstance(one, Hashable):
        raise DataError(f"raters: hold {one!r:.40}, which cannot be compared; use text or numbers")
    return one


def raw_agreement(
    raters: Raters,
    clusters: Ids | None = None,
    *,
    weights: npt.ArrayLike | None = None,
    level: float = 0.95,
) -> Estimate:
    """The share of pairs of raters that agree, averaged over units with at least two ratings. Undefined without one.

    Wilson for two raters. It counts agreement by chance too: with one frequent category it is high whatever the raters
    do.
    """
    units = _units(raters, clusters, weights)
    if len(raters) == 2 and weights is None and len(units.weight):
        plain = rate(units.agreed, units.codes, level=level)
        return replace(plain, also={**plain.also, "left_out": units.left_out, "categories": len(units.categories)})
    table = np.stack([np.ones(len(units.weight)), units.agreed], axis=1)
    statistic = _Statistic(table, lambda total: total[..., 1] / total[..., 0], _less_agreement)
    return _estimate(units, statistic, level)


def kappa(
    raters: Raters,
    clusters: Ids | None = None,
    *,
    weights: npt.ArrayLike | None = None,
    level: float = 0.95,
) -> Estimate:
    """Cohen's (1960) kappa of two raters: (agreement - chance) / (1 - chance), chance from each rater's own shares.

    Over units that both rated. Undefined where both always chose the same one category: chance is then 1. With one
    frequent category kappa is low although the raters agree; quote `ac1` beside it.
    """
    if len(raters) != 2:
        raise DataError(f"raters: has {len(raters)} columns; kappa is of two raters, use ac1 or alpha for more")
    units = _units(raters, clusters, weights)
    size = len(units.categories)
    chosen = np.eye(size)
    table = np.column_stack([np.ones(len(units.weight)), units.agreed, chosen[units.first], chosen[units.second]])

    def value(total: FloatArray) -> FloatArray:
        by_first, by_second = total[..., 2 : 2 + size], total[..., 2 + size :]
        chance = (by_first * by_second).sum(axis=-1) / total[..., 0] ** 2
        return _above_chance(total[..., 1] / total[..., 0], chance)

    return _estimate(units, _Statistic(table, value, _less_agreement), level)


def ac1(
    raters: Raters,
    clusters: Ids | None = None,
    *,
    weights: npt.ArrayLike | None = None,
    level: float = 0.95,
) -> Estimate:
    """Gwet's (2008) AC1: (agreement - chance) / (1 - chance), chance = sum of p(1 - p) / (categories - 1).

    p is the share of a category over units and raters. It stays near raw agreement where one category is frequent, and
    is defined where only one was ever chosen (two categories are then assumed). Undefined without a unit that two
    raters saw.
    """
    units = _units(raters, clusters, weights)
    shares = units.counts / units.counts.sum(axis=1, keepdims=True)
    table = np.column_stack([np.ones(len(units.weight)), units.agreed, shares])
    others = max(len(units.categories), 2) - 1

    def value(total: FloatArray) -> FloatArray:
        share = total[..., 2:] / total[..., :1]
        return _above_chance(total[..., 1] / total[..., 0], (share * (1.0 - share)).sum(axis=-1) / others)

    return _estimate(units, _Statistic(table, value, _less_agreement), level)


def alpha(
    raters: Raters,
    clusters: Ids | None = None,
    *,
    scale: Scale = "nominal",
    weights: npt.ArrayLike | None = None,
    level: float = 0.95,
) -> Estimate:
    """Krippendorff's (2004) alpha: 1 - observed disagreement / disagreement of ratings drawn at random.

    Any number of raters, with missing ratings. `scale` says how far two categories differ: 'nominal' all the same,
    'interval' the square of their distance, 'ordinal' by the ratings that lie between; the last two need numbers.
    Undefined where all ratings are in one category.
    """
    units = _units(raters, clusters, weights)
    size = len(units.categories)
    if scale not in ("nominal", "ordinal", "interval"):
        raise DataError(f"scale: is {scale!r}; use 'nominal', 'ordinal' or 'interval'")
    if scale != "nominal" and not all(isinstance(one, float) for one in units.categories):
        raise DataError(f"raters: hold categories that are not numbers; scale {scale!r} needs numbers")
    if scale == "ordinal" and size > MOST_ORDINAL:
        raise DataError(f"raters: have {size} categories (limit {MOST_ORDINAL} for 'ordinal'); use 'interval'")
    # The distances of an ordinal scale depend on all ratings, so it needs the whole matrix of pairs by unit.
    counts, others = units.counts, units.counts.sum(axis=1) - 1.0
    pairs = counts[:, :, None] * (counts[:, None, :] - np.eye(size)) if scale == "ordinal" else counts[:, :0, None]
    fixed = _distances(scale, units.categories, np.zeros(size))
    apart = ((counts @ fixed) * counts).sum(axis=1)
    table = np.column_stack(
        [apart / others, counts, pairs.reshape(len(others), pairs.shape[1] * pairs.shape[2]) / others[:, None]]
    )

    def value(total: FloatArray) -> FloatArray:
        margin = total[..., 1 : 1 + size]
        distance, observed = fixed, total[..., 0]
        if scale == "ordinal":
            distance = _distances(scale, units.categories, margin)
            matrix = total[..., 1 + size :].reshape(*total.shape[:-1], size, size)
            observed = (matrix * distance).sum(axis=(-2, -1))
        by_chance = (margin[..., :, None] * margin[..., None, :] * distance).sum(axis=(-2, -1))
        return 1.0 - _ratio(observed * (margin.sum(axis=-1) - 1.0), by_chance)

    def lowered(total: FloatArray, least: float) -> FloatArray:
        return np.concatenate([[(1.0 - least) * total[1:].sum()], total[1:]])

    return _estimate(units, _Statistic(table, value, lowered if scale == "nominal" else None), level)


def _distances(scale: Scale, categories: Sequence[Hashable], margin: FloatArray) -> FloatArray:
    size = len(categories)
    if scale == "nominal":
        return 1.0 - np.eye(size)
    if scale == "interval":
        at = np.array(categories, dtype=np.float64)
        return (at[:, None] - at[None, :]) ** 2
    # The ratings between two categories, with half of those in the two themselves.
    middle = np.cumsum(margin, axis=-1) - margin / 2.0
    return (middle[..., :, None] - middle[..., None, :]) ** 2


def _ratio(over: FloatArray, under: FloatArray) -> FloatArray:
    safe = np.where(under > 0.0, under, 1.0)
    return np.where(under > 0.0, over / safe, math.nan)


def _above_chance(agreed: FloatArray, chance: FloatArray) -> FloatArray:
    left = np.where(1.0 - chance > 1e-12, 1.0 - chance, 0.0)
    return _ratio(agreed - chance, left)


def _estimate(units: _Units, statistic: _Statistic, level: float) -> Estimate:
    """The statistic with its interval, whole clusters taken together."""
    normal_quantile(level)
    n = len(units.weight)
    also: dict[str, Number] = {"left_out": units.left_out, "categories": len(units.categories)}
    if n == 0:
        return Estimate(None, 0, note="no unit has two ratings", level=level, also=also)
    scaled = units.weight * (n / units.weight.sum())
    also["agreement"] = float(scaled @ units.agreed) / n
    _, dense = np.unique(units.codes, return_inverse=True)
    size = int(dense.max()) + 1
    also |= {"n_clusters": size} if size < n else {}
    rows = statistic.table * scaled[:, None]
    by_cluster = rows if size == n else _summed(dense, rows)
    at = float(statistic.value(by_cluster.sum(axis=0)))
    if math.isnan(at):
        note = f"every rating is {units.categories[0]!r}, so chance agreement is 1"
        return Estimate(None, n, note=note, level=level, also=also)
    sizes = np.bincount(dense, scaled).astype(np.float64)
    n_items = n * n / float(sizes @ sizes)
    warned: tuple[Caution, ...] = ()
    if size < n:
        warned = (cautions.few_clusters(size, n_items),) if n_items < FEW else measured.AGREEMENT.caution(n_items)
    estimate = Estimate(at, n, level=level, also=also, cautions=warned)
    if size == 1:
        return replace(estimate, note="no interval: one unit" if n == 1 else "no interval: all units in one cluster")
    return _delta(estimate, by_cluster, statistic, sizes)


def _summed(codes: IntArray, rows: FloatArray) -> FloatArray:
    return np.stack([np.bincount(codes, weights=column) for column in rows.T], axis=1)


def _delta(estimate: Estimate, by_cluster: FloatArray, statistic: _Statistic, sizes: FloatArray) -> Estimate:
    """The delta method over clusters on log(1 - value), with t: it cannot pass 1, and leans to the side of doubt.

    Where clusters are unequal their residuals are scaled up by their share (CR2), and t has the degrees of freedom of
    as many equal ones.
    """
    at, size = estimate.value or 0.0, len(by_cluster)
    share = sizes / sizes.sum()
    alike = 1.0 / float(share @ share)
    plain = size == estimate.n
    df = size - 1.0 if plain or alike > size - 0.01 else max(alike - 1.0, 1.0)
    quantile = student_quantile(estimate.level, df)
    total = by_cluster.sum(axis=0)
    if at > 1.0 - 1e-12:
        if statistic.lowered is None:
            return replace(estimate, note="no interval: no disagreement seen, and any could be large on this scale")
        least, _ = wilson_bounds(1.0, float(size), quantile)
        lo = float(statistic.value(statistic.lowered(total, least)))
        note = "no disagreement seen, so the lower end is that of Wilson for this number of clusters without one"
        return replace(estimate, lo=max(lo, -1.0), hi=1.0, method="Wilson on agreement", note=note)
    slope = _slope(statistic.value, total)
    parts = by_cluster @ slope
    scale = np.full(size, size / (size - 1)) if plain else 1.0 / (1.0 - share)
    se = math.sqrt(float(scale @ parts**2))
    if se <= 1e-12:
        return replace(estimate, note="no interval: every cluster gives the same value")
    spread = math.exp(quantile * se / (1.0 - at))
    lo, hi = 1.0 - (1.0 - at) * spread, 1.0 - (1.0 - at) / spread
    name = f"delta on log(1 - value), {'cluster ' if size < estimate.n else ''}t({df:.6g})"
    return replace(estimate, lo=max(lo, -1.0), hi=hi, method=name)


def _slope(value: Callable[[FloatArray], FloatArray], total: FloatArray) -> FloatArray:
    """The derivative by each column total, by central differences."""
    step = 1e-5 * float(total.sum())
    moved = np.eye(len(total)) * step
    return (value(total + moved) - value(total - moved)) / (2.0 * step)
