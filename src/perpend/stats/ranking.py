"""Many models on the same items: what each scores, which ranks it can have, and tiers instead of places.

Items are the units: an item's repeats are averaged before, and what is uncertain is which items were asked. Two models
that the items do not tell apart are tied, whatever the third digit says.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from perpend.errors import DataError
from perpend.stats import gate, resample
from perpend.stats.clusters import normal_quantile, student_quantile
from perpend.stats.gate import BoolArray, FloatArray, Ids, IntArray
from perpend.stats.proportions import wilson_bounds
from perpend.types import Caution, Estimate, Number

RESAMPLES = 4999
# Pairs times draws stay below 160 MB; with more pairs there are fewer draws.
_DRAWN = 20_000_000


@dataclass(frozen=True, slots=True)
class RankedModel:
    """One model: its mean over items, the ranks that it can have, and its tier.

    `rank` is 1 + the models with a larger mean, so that equal means share it; `lowest` to `highest` are all ranks that
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

    def tiers(self) -> tuple[tuple[str, ...], ...]:
        """The names in each tier, the best tier first."""
        last = max((model.tier or 0 for model in self.models), default=0)
        return tuple(tuple(m.name for m in self.models if m.tier == tier) for tier in range(1, last + 1))


def by_item(values: npt.ArrayLike, models: Ids, items: Ids) -> dict[str, tuple[float | None, ...]]:
    """Rows as the table that `rank` takes: for each model the mean of each item's rows, None where it has none."""
    column = gate.values("values", values)
    model, item = gate.codes("models", models), gate.codes("items", items)
    gate.same_length(values=column, models=model, items=item)
    names = [str(name) for name in dict.fromkeys(np.asarray(models).tolist())]
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
    resamples: int = RESAMPLES,
    rng: np.random.Generator | None = None,
) -> Ranking:
    """Rank models by their mean over the same items: one number per model and item, None or nan where there is none.

    Intervals hold for all models at once: the quantile is that of the largest |t| over models when items are drawn
    with replacement, the same items for all. Rank sets hold for all models at once (Mogstad, Romano, Shaikh and Wilhelm
    2024): a model is shown to be better than another where the difference on their common items is significant among
    all pairs, by the largest |t| over pairs when signs of items are flipped, step by step (Westfall and Young 1993).
    A pair with fewer than two common items is never told apart.
    """
    normal_quantile(level)
    names, scores = _scores(table)
    has = np.isfinite(scores)
    source = resample.generator(rng)
    means = _means(scores, has, level, source, resamples)
    differences, pairs = _pairs(names, scores, has, source, resamples)
    better = np.zeros((len(names), len(names)), dtype=bool)
    for (i, j), pair in zip(differences, pairs, strict=True):
        if pair.adjusted is not None and pair.difference is not None and pair.adjusted <= 1.0 - level:
            better[(i, j) if pair.difference > 0.0 else (j, i)] = True
    values = np.array([-math.inf if one.value is None else one.value for one in means])
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
    fewest = int(has.sum(axis=1).min())
    warned = (gate.few_clusters(fewest),) if fewest < 30 else ()
    return Ranking(tuple(ranked), tuple(pairs), scores.shape[1], level, warned)


def _scores(table: Mapping[str, Sequence[float | None]]) -> tuple[list[str], FloatArray]:
    """Names and a models × items array, nan where there is no score."""
    names = list(table)
    if len(names) < 2:
        raise DataError(f"table: has {len(names)} model(s); a ranking needs two")
    rows = []
    for name, given in table.items():
        row = np.array([math.nan if one is None else one for one in given], dtype=np.float64)
        if np.isinf(row).any():
            raise DataError(f"{name}: item {int(np.flatnonzero(np.isinf(row))[0])} is infinite; a score is a number")
        rows.append(row)
    lengths = {len(row) for row in rows}
    if len(lengths) != 1 or 0 in lengths:
        stated = ", ".join(f"{name} has {len(row)}" for name, row in zip(names, rows, strict=True))
        raise DataError(f"lengths differ or are 0: {stated} items; give each model one number or None per item")
    return names, np.stack(rows)


def _means(
    scores: FloatArray, has: BoolArray, level: float, rng: np.random.Generator, resamples: int
) -> list[Estimate]:
    """Each model's mean over its items, with intervals that hold for all models at once."""
    filled, n = np.where(has, scores, 0.0), has.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = filled.sum(axis=1) / n
        centred = np.where(has, scores - mean[:, None], 0.0)
        se = np.sqrt((centred**2).sum(axis=1) / (n - 1) / n)
    varies = (n > 1) & (se > 1e-12)
    t = _largest_t(centred[varies], has[varies], se[varies], n[varies], rng, resamples)
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
        if is_share:
            clipped = min(max(value, 0.0), 1.0)
            effective = clipped * (1.0 - clipped) / float(se[m]) ** 2 if varies[m] else float(items)
            lo, hi = wilson_bounds(clipped, max(effective, float(items)), quantile)
        method = f"{'Wilson at the effective n' if is_share else 'Student'}, largest |t| over models, item bootstrap"
        estimates.append(Estimate(value, items, lo, hi, method, level=level, also=also))
    return estimates


def _largest_t(
    centred: FloatArray, has: BoolArray, se: FloatArray, n: IntArray, rng: np.random.Generator, resamples: int
) -> FloatArray:
    """The largest |t| over models in each resample of the items; none where no model varies."""
    if not len(se):
        return se
    items = centred.shape[1]
    largest = np.empty(resamples)
    block = max(1, 2_000_000 // items)
    share = np.full(items, 1.0 / items)
    for start in range(0, resamples, block):
        size = min(block, resamples - start)
        drawn = rng.multinomial(items, share, size=size).astype(np.float64)
        count = np.maximum(drawn @ has.T, 1.0)
        # The bootstrap's own variance is smaller by (n - 1) / n.
        t = np.abs(drawn @ centred.T) / count / se * np.sqrt(n / (n - 1.0))
        largest[start : start + size] = t.max(axis=1)
    return largest


def _pairs(
    names: list[str], scores: FloatArray, has: BoolArray, rng: np.random.Generator, resamples: int
) -> tuple[list[tuple[int, int]], list[ModelPair]]:
    """All pairs with their differences, p by flipping the signs of items, and p adjusted for all pairs."""
    where = [(i, j) for i in range(len(names)) for j in range(i + 1, len(names))]
    deltas = np.stack([np.where(has[i] & has[j], scores[i] - scores[j], 0.0) for i, j in where])
    common = np.array([int((has[i] & has[j]).sum()) for i, j in where])
    root = np.sqrt((deltas**2).sum(axis=1))
    differs = (root > 1e-12) & (common > 1)
    seen = np.zeros(len(where))
    seen[differs] = np.abs(deltas[differs].sum(axis=1)) / root[differs]
    plain, adjusted = _flipped(deltas[differs] / root[differs, None], seen[differs], rng, resamples)
    p, stepped = np.ones(len(where)), np.ones(len(where))
    p[differs], stepped[differs] = plain, adjusted
    pairs = [
        ModelPair(
            names[i],
            names[j],
            float(deltas[k].sum() / common[k]) if common[k] else None,
            int(common[k]),
            float(p[k]) if common[k] > 1 else None,
            float(stepped[k]) if common[k] > 1 else None,
        )
        for k, (i, j) in enumerate(where)
    ]
    return where, pairs


def _flipped(
    unit: FloatArray, seen: FloatArray, rng: np.random.Generator, resamples: int
) -> tuple[FloatArray, FloatArray]:
    """p of each pair, and step-down p of the largest; an item has one sign for all pairs, as it is one item."""
    if not len(seen):
        return seen, seen
    draws = min(resamples, max(499, _DRAWN // len(seen)))
    signs = rng.integers(0, 2, (unit.shape[1], draws)).astype(np.float64) * 2.0 - 1.0
    drawn = np.abs(unit @ signs)
    plain = (1.0 + (drawn >= seen[:, None] - 1e-9).sum(axis=1)) / (draws + 1.0)
    # From the smallest |t| up, the largest so far: what a pair competes with are those not yet decided.
    order = np.argsort(seen)
    running = np.maximum.accumulate(drawn[order], axis=0)
    stepped = (1.0 + (running >= seen[order][:, None] - 1e-9).sum(axis=1)) / (draws + 1.0)
    adjusted = np.empty(len(seen))
    adjusted[order] = np.maximum.accumulate(stepped[::-1])[::-1]
    return plain, adjusted


def _tiers(better: BoolArray) -> list[int]:
    """1 + the largest tier of the models that are shown to be better."""
    tiers = [1] * len(better)
    # Each pass settles one tier; where missing items make a circle, the passes end it.
    for _ in range(len(better)):
        tiers = [1 + max((tiers[k] for k in np.flatnonzero(better[:, m])), default=0) for m in range(len(better))]
    return tiers
