"""Many models on the same items: what each scores, which ranks it can have, and tiers instead of places.

Items are the units: an item's repeats are averaged before, and what is uncertain is which items were asked. Two models
that the items do not tell apart are tied, whatever the third digit says.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from perpend.errors import DataError
from perpend.stats import cautions, gate, grouping, measured, resample
from perpend.stats.clusters import normal_quantile, student_quantile
from perpend.stats.gate import BoolArray, FloatArray, Ids, IntArray
from perpend.stats.proportions import wilson_bounds
from perpend.types import Caution, Estimate, Number

RESAMPLES = 4999
# Pairs times draws stay below 80 MB; with more pairs there are fewer draws.
_DRAWN = 10_000_000
# Kinds of items from which on it pays to draw the items themselves.
_MANY = 1000
_LARGEST = 1e100
# Items times draws of a block stay below 16 MB.
_BLOCK = 2_000_000


@dataclass(frozen=True, slots=True)
class RankedModel:
    """One model: its mean over items, the ranks that it can have, and its tier.

    `rank` is 1 + the models with a better mean, so that equal means share it; `lowest` to `highest` are all ranks that
    the items do not rule out, 1 the best; `tier` is 1 where no model is shown to be better, else 1 + the largest tier
    of those that are. None where the model has no score at all.
    """

    name: str
    mean: Estimate
    rank: int | None
    lowest: int
    highest: int
    tier: int | None


@dataclass(frozen=True, slots=True)
class ModelPair:
    """Two models on the items that both have: mean of first - second, its p, and p adjusted for all pairs.

    Undefined (None) with fewer than two common items.
    """

    first: str
    second: str
    difference: float | None
    n_items: int
    p: float | None
    adjusted: float | None


@dataclass(frozen=True, slots=True)
class Ranking:
    """Models, the best mean first, and all their pairs. `level` holds for all intervals at once, and for all rank sets
    at once."""

    models: tuple[RankedModel, ...]
    pairs: tuple[ModelPair, ...]
    n_items: int
    level: float
    cautions: tuple[Caution, ...]

    def by_tier(self) -> tuple[RankedModel, ...]:
        """The models tier by tier, in each the best mean first; those without a score last."""
        return tuple(sorted(self.models, key=lambda model: (model.tier is None, model.tier)))

    def tiers(self) -> tuple[tuple[str, ...], ...]:
        """The names in each tier, the best tier first."""
        last = max((model.tier or 0 for model in self.models), default=0)
        return tuple(tuple(m.name for m in self.models if m.tier == tier) for tier in range(1, last + 1))


def by_item(values: npt.ArrayLike, models: Ids, items: Ids) -> dict[str, tuple[float | None, ...]]:
    """Rows as the table that `rank` takes: for each model the mean of each item's rows, None where it has none."""
    column = gate.values("values", values)
    model, item = grouping.codes("models", models), grouping.codes("items", items)
    gate.same_length(values=column, models=model, items=item)
    names = [str(models[row]) for row in np.unique(model, return_index=True)[1].tolist()]
    if len(set(names)) < len(names):
        raise DataError(f"models: two are called {max(names, key=names.count)!r}; give each a name of its own")
    width = int(item.max()) + 1
    key = model * width + item
    count = np.bincount(key, minlength=len(names) * width)
    with np.errstate(invalid="ignore"):
        mean = (np.bincount(key, column, len(names) * width) / count).reshape(len(names), width)
    return {
        name: tuple(None if math.isnan(one) else one for one in row)
        for name, row in zip(names, mean.tolist(), strict=True)
    }


def rank(
    table: Mapping[str, Sequence[float | None]],
    *,
    level: float = 0.95,
    lowest_first: bool = False,
    resamples: int = RESAMPLES,
    rng: np.random.Generator | None = None,
) -> Ranking:
    """Rank models by their mean over the same items: one number per model and item, None or nan where there is none.

    The largest mean is the best, or with `lowest_first` the smallest. Intervals hold for all models at once: the
    quantile is that of the largest |t| over models when items are drawn with replacement, the same items for all. Rank
    sets hold for all models at once (Mogstad, Romano, Shaikh and Wilhelm 2024): a model is shown to be better than
    another where the difference on their common items is significant among all pairs, by the largest |t| over pairs
    when signs of items are flipped, step by step (Westfall and Young 1993). A pair with fewer than two common items is
    never told apart. Fewer than two models are an error.
    """
    normal_quantile(level)
    names, scores = _scores(table)
    has = np.isfinite(scores)
    if np.abs(scores[has]).max(initial=0.0) > _LARGEST:
        raise DataError(f"table: holds a score beyond {_LARGEST:g}, whose square is no number; give another unit")
    source = resample.generator(rng)
    kinds = _kinds(names, scores)
    means = _means(scores, has, level, _Draws(kinds, source, resamples))
    pairs = _pairs(names, scores, has, _Draws(kinds, source, resamples))
    sign = -1.0 if lowest_first else 1.0
    better = np.zeros((len(names), len(names)), dtype=bool)
    for (i, j), pair in zip(combinations(range(len(names)), 2), pairs, strict=True):
        if pair.adjusted is not None and pair.difference is not None and pair.adjusted <= 1.0 - level:
            better[(i, j) if sign * pair.difference > 0.0 else (j, i)] = True
    values = np.array([-math.inf if one.value is None else sign * one.value for one in means])
    tiers = _tiers(better)
    ranked = [
        RankedModel(
            name,
            means[m],
            None if means[m].value is None else 1 + int((values > values[m]).sum()),
            1 + int(better[:, m].sum()),
            len(names) - int(better[m].sum()),
            None if means[m].value is None else tiers[m],
        )
        for m, name in enumerate(names)
    ]
    # Of equal means the name decides, so that the order of the table does not.
    ranked.sort(key=lambda model: (model.rank or len(names) + 1, model.name))
    fewest = min((one.n for one in means if one.n), default=0)
    skewed = [caution for one in means for caution in one.cautions]
    warned = (cautions.few_clusters(fewest),) if fewest < 30 else tuple(skewed[:1])
    return Ranking(tuple(ranked), tuple(pairs), scores.shape[1], level, warned)


def _scores(table: Mapping[str, Sequence[float | None]]) -> tuple[list[str], FloatArray]:
    """Names and a models × items array, nan where there is no score."""
    names = list(table)
    if len(names) < 2:
        raise DataError(f"table: has {len(names)} model(s); a ranking needs two")
    rows = []
    for name, given in table.items():
        try:
            row = np.array([math.nan if one is None else one for one in given], dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise DataError(f"{name}: holds scores that are no numbers ({error})") from None
        if np.isinf(row).any():
            raise DataError(f"{name}: item {int(np.flatnonzero(np.isinf(row))[0])} is infinite; a score is a number")
        rows.append(row)
    lengths = {len(row) for row in rows}
    if len(lengths) != 1 or 0 in lengths:
        stated = ", ".join(f"{name} has {len(row)}" for name, row in zip(names, rows, strict=True))
        raise DataError(f"lengths differ or are 0: {stated} items; give each model one number or None per item")
    return names, np.stack(rows)


@dataclass(frozen=True, slots=True)
class _Draws:
    """How items are drawn: by kinds, of which `first` is an item of each and `times` how many there are."""

    kinds: tuple[IntArray, IntArray]
    rng: np.random.Generator
    resamples: int

    def counts(self) -> Iterator[IntArray]:
        """How often each kind is drawn when items are drawn with replacement, some resamples at a time."""
        times = self.kinds[1]
        items = int(times.sum())
        for size in self._sizes(self.resamples):
            if len(times) < items:
                yield self.rng.multinomial(items, times / items, size=size)
                continue
            # Indices and their counts: a multinomial draw takes five times as long.
            index = self.rng.integers(0, items, (size, items)) + items * np.arange(size)[:, None]
            yield np.bincount(index.ravel(), minlength=size * items).reshape(size, items)

    def signs(self, draws: int) -> Iterator[IntArray]:
        """Sums of the signs of each kind's items, kinds × draws, some at a time."""
        times = self.kinds[1]
        for size in self._sizes(draws):
            if len(times) == times.sum():
                heads = self.rng.integers(0, 2, (len(times), size), dtype=np.int8).astype(np.int64)
            else:
                heads = self.rng.binomial(times, 0.5, (size, len(times))).T
            yield 2 * heads - times[:, None]

    def _sizes(self, draws: int) -> Iterator[int]:
        block = max(1, _BLOCK // len(self.kinds[1]))
        yield from (min(block, draws - start) for start in range(0, draws, block))


def _kinds(names: list[str], scores: FloatArray) -> tuple[IntArray, IntArray]:
    """An item of each kind, and how many items have the same scores of all models; each by itself where few have.

    Sorted, so that neither the order of items nor that of models changes a draw.
    """
    filled = np.nan_to_num(scores, nan=math.inf)[np.argsort(names)]
    _, first, times = np.unique(filled, axis=1, return_index=True, return_counts=True)
    if len(times) >= _MANY and len(times) > scores.shape[1] // 4:
        first, times = np.lexsort(filled), np.ones(scores.shape[1], dtype=np.int64)
    return first.astype(np.int64), times.astype(np.int64)


def _means(scores: FloatArray, has: BoolArray, level: float, draws: _Draws) -> list[Estimate]:
    """Each model's mean over its items, with intervals that hold for all models at once."""
    filled, n = np.where(has, scores, 0.0), has.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = filled.sum(axis=1) / n
        centred = np.where(has, scores - mean[:, None], 0.0)
        se = np.sqrt((centred**2).sum(axis=1) / (n - 1) / n)
    varies = (n > 1) & (se > 1e-12)
    t = _largest_t(centred[varies], has[varies], se[varies], n[varies], draws)
    # A model that is always right has no t, but an interval that can miss like another's: as if by itself.
    alike = int(((n > 0) & ~varies).sum())
    if alike:
        t = np.maximum(t if len(t) else 0.0, np.abs(draws.rng.standard_normal((draws.resamples, alike))).max(axis=1))
    critical = max(normal_quantile(level), float(np.quantile(t, level)) if len(t) else 0.0)
    is_share = bool(((filled >= 0.0) & (filled <= 1.0)).all())
    estimates = []
    for m, items in enumerate(n.tolist()):
        also: dict[str, Number] = {"se": float(se[m]) if items > 1 else None, "critical": critical}
        if items == 0:
            estimates.append(Estimate(None, 0, note="no item has a score", level=level, also=also))
            continue
        value = float(mean[m])
        if items == 1 or (not varies[m] and not is_share):
            note = "no interval: one item" if items == 1 else f"no interval: all {items} scores are equal"
            estimates.append(Estimate(value, items, note=note, level=level, also=also))
            continue
        quantile = critical * student_quantile(level, items - 1) / normal_quantile(level)
        lo, hi = value - quantile * float(se[m]), value + quantile * float(se[m])
        warned = () if is_share else measured.skewed(scores[m][has[m]])
        if is_share:
            clipped = min(max(value, 0.0), 1.0)
            effective = clipped * (1.0 - clipped) / float(se[m]) ** 2 if varies[m] else float(items)
            lo, hi = wilson_bounds(clipped, max(effective, float(items)), quantile)
        method = f"{'Wilson at the effective n' if is_share else 'Student'}, largest |t| over models, item bootstrap"
        estimates.append(Estimate(value, items, lo, hi, method, level=level, also=also, cautions=warned))
    return estimates


def _largest_t(centred: FloatArray, has: BoolArray, se: FloatArray, n: IntArray, draws: _Draws) -> FloatArray:
    """The largest |t| over models in each resample of the items; none where no model varies."""
    if not len(se):
        return se
    first = draws.kinds[0]
    largest = []
    for counts in draws.counts():
        drawn = counts.astype(np.float64)
        count = np.maximum(drawn @ has[:, first].T, 1.0)
        # The bootstrap's own variance is smaller by (n - 1) / n.
        t = np.abs(drawn @ centred[:, first].T) / count / se * np.sqrt(n / (n - 1.0))
        largest.append(t.max(axis=1))
    return np.concatenate(largest)


def _pairs(names: list[str], scores: FloatArray, has: BoolArray, draws: _Draws) -> list[ModelPair]:
    """All pairs with their differences, p by flipping the signs of items, and p adjusted for all pairs."""
    n_pairs = len(names) * (len(names) - 1) // 2
    common, total, root = np.zeros(n_pairs, dtype=np.int64), np.zeros(n_pairs), np.zeros(n_pairs)
    statistic, unseen = np.zeros(n_pairs), _unseen(scores, has)
    for own, delta, both in _differences(scores, has):
        common[own], total[own], root[own] = both.sum(axis=1), delta.sum(axis=1), np.sqrt((delta**2).sum(axis=1))
        statistic[own] = _unskewed(delta, both, unseen[own])
    differs = (root > 1e-12) & (common > 1)
    seen = statistic[differs]
    p, adjusted = np.ones(n_pairs), np.ones(n_pairs)
    p[differs], adjusted[differs] = _stepped(_flips(scores, has, root, differs, draws), seen)
    return [
        ModelPair(
            *pair,
            float(total[k] / common[k]) if common[k] else None,
            int(common[k]),
            float(p[k]) if common[k] > 1 else None,
            float(adjusted[k]) if common[k] > 1 else None,
        )
        for k, pair in enumerate(combinations(names, 2))
    ]


def _differences(scores: FloatArray, has: BoolArray) -> Iterator[tuple[slice, FloatArray, BoolArray]]:
    """For each model the numbers of its pairs with later ones, their differences by item, and where both have one."""
    start = 0
    for m in range(len(scores) - 1):
        both = has[m] & has[m + 1 :]
        own = slice(start, start + len(both))
        yield own, np.where(both, scores[m] - scores[m + 1 :], 0.0), both
        start = own.stop


def _unskewed(delta: FloatArray, both: BoolArray, unseen: FloatArray) -> FloatArray:
    """|sum| / root of the sum of squares of the differences of each pair; or what is less of two corrections.

    Differences of scores between 0 and 1 that are 0 on average are not symmetric, as flipped signs are: t is corrected
    for skewness (Hall 1992), as in `equivalence`. And a model that is always right, or always wrong, has not shown how
    it differs where it is not: `unseen` is that difference, as of one more item. Scores of 0 and 1 need neither.
    """
    n, total, squares = both.sum(axis=1), delta.sum(axis=1), (delta**2).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        plain = np.abs(total) / np.sqrt(squares)
        one_more = np.abs(total + unseen) / np.sqrt(squares + unseen**2)
        centred = np.where(both, delta - (total / n)[:, None], 0.0)
        around = (centred**2).sum(axis=1)
        t, a = total / np.sqrt(around * n / (n - 1.0)), (centred**3).sum(axis=1) / around**1.5 / 3.0
        hall = np.maximum(np.sign(t) * (t + a * t**2 + a**2 * t**3 / 3.0 + a / 2.0), 0.0)
        corrected = hall * np.sqrt(n / (n - 1.0 + hall**2))
    least = np.minimum(np.minimum(plain, one_more), np.where(np.isfinite(corrected), corrected, plain))
    statistic: FloatArray = np.where(np.isin(delta, (-1.0, 0.0, 1.0)).all(axis=1), plain, least)
    return statistic


def _unseen(scores: FloatArray, has: BoolArray) -> FloatArray:
    """For each pair its difference where the one that is always 0, or always 1, is not; 0 for pairs without one."""
    first, second = np.array(list(combinations(range(len(scores)), 2))).T
    low, high = np.where(has, scores, math.inf).min(axis=1), np.where(has, scores, -math.inf).max(axis=1)
    if low.min() < 0.0 or high.max() > 1.0:
        return np.zeros(len(first))
    other_end = np.where((low == high) & np.isin(low, (0.0, 1.0)), 1.0 - low, math.nan)
    mean = np.where(has, scores, 0.0).sum(axis=1) / np.maximum(has.sum(axis=1), 1)
    of_second = np.nan_to_num(mean[first] - other_end[second])
    unseen: FloatArray = np.where(np.isnan(other_end[first]), of_second, other_end[first] - mean[second])
    return unseen


def _flips(scores: FloatArray, has: BoolArray, root: FloatArray, differs: BoolArray, draws: _Draws) -> FloatArray:
    """|t| of the pairs that differ when signs of items are flipped; an item has one sign for all pairs."""
    number = min(draws.resamples, max(499, _DRAWN // len(root)))
    drawn = np.empty((int(differs.sum()), number))
    place, start = np.cumsum(differs) - 1, 0
    first = draws.kinds[0]
    centred = scores[:, first] - scores[:, first].mean(axis=0) if has.all() else None
    for sums in draws.signs(number):
        signs = sums.astype(np.float64)
        # Without gaps a difference of sums is the sum of differences: as many products as models, and not as pairs.
        flipped = None if centred is None else centred @ signs
        for m, (own, delta, _) in enumerate(_differences(scores[:, first], has[:, first])):
            total = delta @ signs if flipped is None else flipped[m] - flipped[m + 1 :]
            chosen = differs[own]
            drawn[place[own][chosen], start : start + len(signs[0])] = np.abs(total[chosen]) / root[own][chosen, None]
        start += len(signs[0])
    return drawn


def _stepped(drawn: FloatArray, seen: FloatArray) -> tuple[FloatArray, FloatArray]:
    """p of each pair, and step-down p of the largest."""
    if not len(seen):
        return seen, seen
    draws = drawn.shape[1]
    plain = (1.0 + (drawn >= seen[:, None] - 1e-9).sum(axis=1)) / (draws + 1.0)
    # From the smallest |t| up, the largest so far: what a pair competes with are those not yet decided.
    order = np.argsort(seen)
    running = drawn[order]
    np.maximum.accumulate(running, axis=0, out=running)
    stepped = (1.0 + (running >= seen[order][:, None] - 1e-9).sum(axis=1)) / (draws + 1.0)
    adjusted = np.empty(len(seen))
    adjusted[order] = np.maximum.accumulate(stepped[::-1])[::-1]
    return plain, adjusted


def _tiers(better: BoolArray) -> list[int]:
    """1 + the largest tier of the models that are shown to be better.

    Models of a circle (a better than b, b than c, c than a, each on items of its own) share a tier.
    """
    above = better.copy()
    for m in range(len(above)):
        above |= above[:, m, None] & above[None, m]
    above &= ~above.T
    tiers = np.ones(len(above), dtype=np.int64)
    # From those with the fewest above them down: whoever is above has fewer.
    for m in np.argsort(above.sum(axis=0), kind="stable").tolist():
        tiers[m] = 1 + tiers[above[:, m]].max(initial=0)
    return [int(tier) for tier in tiers]
