"""Intervals for whoever looks more than once: a confidence sequence by betting, valid at every look and any stop.

A gambler who bets against each mean m, item after item, cannot expect to win if m is the truth: his capital reaches
1 / α with probability at most α, whenever he stops (Ville 1939). The interval after t items holds every m against which
he has not. It is the hedged capital of Waudby-Smith and Ramdas (2024), the bets half of their largest.

Two conditions. Items come in an order that does not depend on their outcomes: shuffled by a seed, or as they are in a
frozen file, never easy ones first. And an item is looked at whole: its rows are averaged, and it counts once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from perpend.errors import DataError
from perpend.stats import gate, grouping
from perpend.stats.clusters import normal_quantile, totals
from perpend.stats.gate import FloatArray, Ids
from perpend.types import Estimate, Number

# Bets are at most this share of what cannot lose all.
_CAUTIOUS = 0.5
# Halvings of [0, 1]: ends to 1e-9.
_HALVINGS = 30
# A block of looks times items stays below 16 MB.
_BLOCK = 2_000_000


def item_means(values: npt.ArrayLike, items: Ids | None, low: float, high: float) -> tuple[FloatArray, FloatArray]:
    """The mean of each item's rows, in order of first appearance, and how many rows there are up to each item.

    None: every row is an item. A value outside [low, high] is an error.
    """
    column = gate.values("values", values)
    outside = np.flatnonzero((column < low) | (column > high))
    if len(outside):
        row = int(outside[0])
        raise DataError(
            f"values: row {row} is {float(column[row])!r}, outside [{low:g}, {high:g}]; a confidence sequence needs "
            "bounds that no value can leave"
        )
    if items is None:
        return column, np.arange(1.0, len(column) + 1.0)
    codes = grouping.codes("items", items)
    gate.same_length(values=column, items=codes)
    sizes = np.bincount(codes).astype(np.float64)
    return totals(codes, column) / sizes, np.cumsum(sizes)


def look_counts(looks: Sequence[int] | None, n: int) -> list[int]:
    """The item counts to look at, ascending; every item where none are given."""
    if looks is None:
        return list(range(1, n + 1))
    counts = list(gate.counts(**{f"looks[{place}]": look for place, look in enumerate(looks)}))
    if not counts or counts != sorted(set(counts)) or counts[0] < 1:
        raise DataError(f"looks: are {counts}; give item counts from 1 on, each larger than the one before")
    return [count for count in counts if count <= n]


def _bets(unit: FloatArray, alpha: float) -> FloatArray:
    """The size of each bet, made before its item is seen: large while the variance so far is small."""
    t = np.arange(1.0, len(unit) + 1.0)
    mean = (0.5 + np.cumsum(unit)) / (t + 1.0)
    variance = (0.25 + np.cumsum((unit - mean) ** 2)) / (t + 1.0)
    before = np.concatenate(([0.25], variance[:-1]))
    return np.asarray(np.sqrt(2.0 * math.log(2.0 / alpha) / (before * t * np.log1p(t))), dtype=np.float64)


def _log_capital(unit: FloatArray, bets: FloatArray, m: FloatArray, counts: npt.NDArray[np.int64]) -> FloatArray:
    """Log of what betting that the mean is above m has made of 1 after a number of items, for each m and its count."""
    with np.errstate(divide="ignore"):
        most = _CAUTIOUS / m
    size = np.minimum(bets[None, :], most[:, None])
    gains = np.log1p(size * (unit[None, :] - m[:, None]))
    gains[np.arange(len(unit))[None, :] >= counts[:, None]] = 0.0
    return np.asarray(gains.sum(axis=1), dtype=np.float64)


def _lower_ends(unit: FloatArray, bets: FloatArray, counts: npt.NDArray[np.int64], alpha: float) -> FloatArray:
    """The smallest m against which the capital is below 2 / α: it falls as m rises, so halving finds it."""
    limit = math.log(2.0 / alpha)
    ends = np.empty(len(counts))
    step = max(1, _BLOCK // int(counts[-1]))
    for start in range(0, len(counts), step):
        own = counts[start : start + step]
        here, sizes = unit[: own[-1]], bets[: own[-1]]
        lo, hi = np.zeros(len(own)), np.ones(len(own))
        for _ in range(_HALVINGS):
            middle = (lo + hi) / 2.0
            is_refuted = _log_capital(here, sizes, middle, own) >= limit
            lo, hi = np.where(is_refuted, middle, lo), np.where(is_refuted, hi, middle)
        ends[start : start + step] = lo
    return ends


def sequence(
    values: npt.ArrayLike,
    items: Ids | None = None,
    *,
    looks: Sequence[int] | None = None,
    bounds: tuple[float, float] = (0.0, 1.0),
    level: float = 0.95,
) -> tuple[Estimate, ...]:
    """The mean over items, with an interval that is valid at every look at once, however many there are.

    One Estimate per look: after each item, or after the numbers of items in `looks` (those not reached are left out). n
    counts items, in the order in which they first appear; `also` has `rows` so far. Each item counts once, whatever its
    rows. With thousands of items give `looks`: all of them cost the square of their number.
    """
    normal_quantile(level)
    low, high = bounds
    if not -math.inf < low < high < math.inf:
        raise DataError(f"bounds: are {bounds!r}; give the smallest and the largest value that there can be")
    means, rows = item_means(values, items, low, high)
    counts = np.array(look_counts(looks, len(means)), dtype=np.int64)
    if not len(counts):
        return ()
    alpha, width = 1.0 - level, high - low
    unit = np.clip((means - low) / width, 0.0, 1.0)
    below = _lower_ends(unit, _bets(unit, alpha), counts, alpha)
    # Seen from above the bets are the same: the variance of 1 - x is that of x.
    above = 1.0 - _lower_ends(1.0 - unit, _bets(1.0 - unit, alpha), counts, alpha)
    sums = np.cumsum(means)
    estimates = []
    for look, (count, lo, hi) in enumerate(zip(counts.tolist(), below, above, strict=True), 1):
        value = float(sums[count - 1]) / count
        also: dict[str, Number] = {"look": look, "rows": int(rows[count - 1])}
        ends = min(low + width * float(lo), value), max(low + width * float(hi), value)
        method = "confidence sequence, hedged betting"
        estimates.append(Estimate(value, count, *ends, method, level=level, also=also))
    return tuple(estimates)


def paired_sequence(
    control: npt.ArrayLike,
    pressure: npt.ArrayLike,
    items: Ids | None = None,
    *,
    looks: Sequence[int] | None = None,
    level: float = 0.95,
) -> tuple[Estimate, ...]:
    """`sequence` of pressure - control, two columns in [0, 1] over the same rows.

    `also["p"]` is valid at any stop, too: 1 / the capital that betting against 'no difference' has made, at most 1. It
    is at most 1 - level just where the interval leaves 0 out.
    """
    first, second = gate.values("control", control), gate.values("pressure", pressure)
    gate.same_length(control=first, pressure=second)
    for name, column in (("control", first), ("pressure", second)):
        if column.min() < 0.0 or column.max() > 1.0:
            raise DataError(f"{name}: has values outside [0, 1]; use `sequence` with their bounds on the differences")
    estimates = sequence(second - first, items, looks=looks, bounds=(-1.0, 1.0), level=level)
    means, _ = item_means(second - first, items, -1.0, 1.0)
    counts = np.array([one.n for one in estimates], dtype=np.int64)
    half, unit, alpha = np.full(len(counts), 0.5), (means + 1.0) / 2.0, 1.0 - level
    up = _log_capital(unit, _bets(unit, alpha), half, counts)
    down = _log_capital(1.0 - unit, _bets(1.0 - unit, alpha), half, counts)
    p = np.minimum(1.0, 2.0 * np.exp(-np.maximum(up, down)))
    return tuple(
        Estimate(one.value, one.n, one.lo, one.hi, one.method, level=level, also={**one.also, "p": float(at)})
        for one, at in zip(estimates, p, strict=True)
    )
