"""Rates and paired differences of rows with weights, or of strata with known shares, clustered by item.

The mean is the sum over strata of share × weighted mean. Its variance is CR2's (Bell and McCaffrey 2002) with items as
clusters within strata, an item that lies in several strata counted as one; or what the likely ICC implies, if that is
more, as few items near 0 or 1 show too little spread. Degrees of freedom: the items, as good as so many of one weight,
less the strata.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from perpend.errors import DataError, did_you_mean
from perpend.stats import gate, grouping, intraclass
from perpend.stats.gate import FloatArray, Ids, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Weighting:
    """How rows stand for a population: a weight and a stratum for each, and the share of each stratum in it."""

    weights: FloatArray
    strata: IntArray
    shares: FloatArray
    names: tuple[str, ...]

    def parts(self) -> FloatArray:
        """What each row contributes to the mean; they add up to 1."""
        sums = np.bincount(self.strata, weights=self.weights)
        parts: FloatArray = self.weights / sums[self.strata] * self.shares[self.strata]
        return parts


@dataclass(frozen=True, slots=True)
class WeightedSpread:
    """A weighted mean, the variance of a row, and the variance of the mean; `note` says why the last is None."""

    mean: float
    row_variance: float
    variance: float | None
    kish: float
    n_items: float
    df: float
    note: str = ""

    @property
    def n_effective(self) -> float:
        """As many independent rows have this variance; the items, or Kish's number of rows, where nothing varies."""
        if self.row_variance <= 0.0 or not self.variance:
            return min(self.kish, self.n_items)
        return self.row_variance / self.variance


def plan(
    n: int, weights: npt.ArrayLike | None, strata: Ids | None, shares: Mapping[Hashable, float] | None
) -> Weighting | None:
    """The gate for weights and strata of n rows; None where all rows count alike, as without both.

    Weights are above 0 and finite. `shares` names every stratum that has rows and no other, and adds up to 1; without
    it a stratum's share is that of its rows, or of their weights.
    """
    if strata is None and shares is not None:
        raise DataError("shares: are those of strata; give the stratum of each row as strata")
    if weights is None and strata is None:
        return None
    weight = np.ones(n) if weights is None else gate.values("weights", weights)
    codes = np.zeros(n, dtype=np.int64) if strata is None else grouping.codes("strata", strata)
    for name, array in (("weights", weight), ("strata", codes)):
        if len(array) != n:
            raise DataError(f"lengths differ: {name} has {len(array)} rows, the data {n}; give one value per row")
    if float(weight.min()) <= 0.0:
        row = int(np.flatnonzero(weight <= 0.0)[0])
        raise DataError(
            f"weights: row {row} is {float(weight[row])!r}; a weight is above 0: 1 / the probability with which a "
            "row was drawn"
        )
    if strata is None:
        return Weighting(weight, codes, np.ones(1), ("",)) if np.ptp(weight) else None
    ids = _rows(strata)
    names: list[Hashable] = [ids[int(row)] for row in np.unique(codes, return_index=True)[1]]
    if shares is None:
        sums = np.bincount(codes, weights=weight)
        return Weighting(weight, codes, sums / sums.sum(), tuple(map(str, names)))
    return Weighting(weight, codes, _shares(names, shares), tuple(map(str, names)))


def _rows(ids: Ids) -> list[Hashable]:
    if hasattr(ids, "to_numpy"):
        ids = ids.to_numpy()
    rows: list[Hashable] = ids.tolist() if isinstance(ids, np.ndarray) else list(ids)
    return rows


def _shares(names: list[Hashable], shares: Mapping[Hashable, float]) -> FloatArray:
    for name in names:
        if name not in shares:
            raise DataError(f"shares: lacks the stratum {name!r}; {did_you_mean(str(name), map(str, shares))}")
    empty = [name for name, share in shares.items() if name not in names and share != 0.0]
    if empty:
        raise DataError(f"shares: the stratum {empty[0]!r} has no rows; its part of the population is unknown")
    column = gate.probabilities("shares", [shares[name] for name in names])
    if abs(float(column.sum()) - 1.0) > 1e-6:
        raise DataError(f"shares: add up to {float(column.sum())!r}; the strata are the whole population, so give 1")
    return column / float(column.sum())


def spread(column: FloatArray, clusters: IntArray, how: Weighting) -> WeightedSpread:
    """The weighted mean of a column and how uncertain it is; rows of one cluster go together."""
    sums = np.bincount(how.strata, weights=how.weights)
    part = how.parts()
    means = np.bincount(how.strata, weights=how.weights * column) / sums
    mean = float(means @ how.shares)
    if float(np.ptp(column)) == 0.0:
        mean = float(column[0])
    row_variance = float(part @ (column - mean) ** 2)
    kish = 1.0 / float(part @ part)
    # A cell is what one cluster has in one stratum.
    cells, cell = np.unique(clusters * len(sums) + how.strata, return_inverse=True)
    owner, home = np.unique(cells // len(sums), return_inverse=True)[1], cells % len(sums)
    weight = np.bincount(cell, weights=part)
    by_item = np.bincount(owner, weights=weight)
    n_items = 1.0 / float(by_item @ by_item)
    df = max(n_items - len(sums), 1.0)
    alone = np.flatnonzero((np.bincount(home) == 1) & (how.shares > 0.0))
    if len(alone):
        where = f"the stratum {how.names[int(alone[0])]!r} has one item" if len(sums) > 1 else "there is one item"
        return WeightedSpread(mean, row_variance, None, kish, n_items, df, f"no interval: {where}")
    centred = np.bincount(cell, weights=part * (column - means[how.strata]))
    totals = np.bincount(home, weights=weight)[home]  # 0 in a stratum whose share is 0
    leverage = np.divide(weight, totals, out=np.zeros_like(weight), where=totals > 0.0)
    error = np.bincount(owner, weights=centred / np.sqrt(1.0 - leverage))
    seen = float(error @ error)
    sign = (
        -1.0 if ((column == 0.0) | (column == -1.0)).all() else 1.0
    )  # what only falls is as likely as what only rises
    likely = _by_icc(sign * column, part, cell, home, sign * means, how)
    return WeightedSpread(mean, row_variance, max(seen, likely), kish, n_items, df)


def _by_icc(
    column: FloatArray, part: FloatArray, cell: IntArray, home: IntArray, means: FloatArray, how: Weighting
) -> float:
    """The variance of the mean that the likely ICC implies, with the strata's own rates drawn a little together."""
    sizes = np.bincount(cell)
    icc = _likely(column, cell, sizes, home, means)
    items = np.bincount(home).astype(np.float64)
    if ((column == 0.0) | (column == 1.0)).all():
        centre = float(means @ how.shares)
        drawn = (means * items + centre) / (items + 1.0)
        variance = drawn * (1.0 - drawn)
    else:
        rows = np.bincount(how.strata).astype(np.float64)
        inside = np.bincount(how.strata, weights=(column - means[how.strata]) ** 2) / np.maximum(rows - 1.0, 1.0)
        variance = (inside * items + float(inside @ how.shares)) / (items + 1.0)
    own = variance[how.strata]
    together = np.bincount(cell, weights=part * np.sqrt(own))
    return float((1.0 - icc) * (part**2 @ own) + icc * (together @ together))


def _likely(column: FloatArray, cell: IntArray, sizes: IntArray, home: IntArray, means: FloatArray) -> float:
    """The ICC within strata that the rows make likely; 1 where nothing varies within them."""
    if (sizes == 1).all():
        return 0.0
    if not ((column == 0.0) | (column == 1.0)).all():
        centred = column - means[home[cell]]
        sums, squares = (np.bincount(cell, weights=own).astype(np.float64) for own in (centred, centred**2))
        return intraclass.likely_of_values(sizes, sums, squares)
    ones, log, varies = np.bincount(cell, weights=column), np.zeros(len(intraclass.GRID)), False
    for stratum in range(len(means)):
        chosen = home == stratum
        if 0.0 < float(ones[chosen].sum()) < float(sizes[chosen].sum()):
            log, varies = log + intraclass.log_of_shares(sizes[chosen], ones[chosen]), True
    return float(intraclass.normalised(log) @ intraclass.GRID) if varies else 1.0
