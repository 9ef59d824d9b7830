"""Paired columns of 0 and 1: differences, override, rescue, flip, and the tests that go with them."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from perpend.errors import DataError
from perpend.stats import cautions, gate, measured, resample, weighted
from perpend.stats.clusters import (
    FEW,
    Clustering,
    clustering,
    coded,
    normal_quantile,
    totals,
    unequal,
)
from perpend.stats.gate import FloatArray, Ids, IntArray
from perpend.stats.pair_bounds import Table, newcombe_bounds
from perpend.stats.proportions import clopper_pearson, cohens_h, rate
from perpend.types import Estimate, Number

DRAWS = 100_000
# Multiplications that the exact distribution may cost, about a tenth of a second.
_EXACT_COST = 50_000_000


def mcnemar(b: int, c: int) -> Estimate:
    """Two-sided p that b and c discordant pairs come from a fair coin: mid-p, with the exact p beside it.

    1 when there are no discordant pairs. Fagerland, Lydersen and Laake 2013 for the mid-p. It takes the pairs for
    independent: where items repeat, use `paired_test`.
    """
    from scipy.special import bdtr

    b, c = gate.counts(b=b, c=c)
    n, less = b + c, min(b, c)
    exact = middle = 1.0
    if n:
        up_to = float(bdtr(less, n, 0.5))
        below = float(bdtr(less - 1, n, 0.5)) if less else 0.0
        exact = min(1.0, 2.0 * up_to)
        middle = 1.0 - (up_to - below) / 2.0 if b == c else up_to + below
    also: dict[str, Number] = {"p_exact": exact, "p_midp": middle, "b": b, "c": c}
    return Estimate(middle, n, method="McNemar, mid-p", also=also)


def cluster_mcnemar(deltas: npt.ArrayLike, sizes: npt.ArrayLike | None = None) -> Estimate:
    """Two-sided p of Durkalski's (2003) z: the sum of item differences over the root of their sum of squares.

    `deltas` are b - c of each item; `sizes`, the pairs of each item, weigh items equally when they differ. 1, and z
    undefined, when no item differs.
    """
    column = gate.values("deltas", deltas)
    if sizes is not None:
        rows = gate.values("sizes", sizes)
        gate.same_length(deltas=column, sizes=rows)
        wrong = np.flatnonzero((rows < 1.0) | (rows != np.floor(rows)) | (np.abs(column) > rows))
        if len(wrong):
            row = int(wrong[0])
            raise DataError(
                f"sizes: row {row} is {float(rows[row])!r} for a delta of {float(column[row])!r}; an item has at least "
                "one pair, and at least as many as its difference"
            )
        column = column / rows
    square = float(column @ column)
    z = float(column.sum()) / math.sqrt(square) if square > 0.0 else None
    p = 1.0 if z is None else math.erfc(abs(z) / math.sqrt(2.0))
    also: dict[str, Number] = {"z": z, "p": p, "discordant_items": int(np.count_nonzero(column))}
    return Estimate(p, len(column), method="cluster McNemar (Durkalski)", also=also)


def sign_flip(deltas: npt.ArrayLike, *, rng: np.random.Generator | None = None) -> Estimate:
    """Two-sided p that the sum of item differences is as large as seen when each item's sign is a fair coin.

    `deltas` are integers, one per item: the sum of (control - pressure) over its pairs. Exact wherever the
    distribution can be written down, which is any design up to thousands of items; beyond, 100,000 seeded draws, where
    the smallest possible p is 1e-5. 1 when no item differs.
    """
    column = gate.values("deltas", deltas)
    broken = column != np.floor(column)
    if broken.any():
        row = int(np.flatnonzero(broken)[0])
        raise DataError(f"deltas: row {row} is {float(column[row])!r}; a sum of 0/1 differences is an integer")
    sizes, times = np.unique(np.abs(column[column != 0.0]).astype(np.int64), return_counts=True)
    seen = abs(int(column.sum()))
    also: dict[str, Number] = {"sum": int(column.sum()), "discordant_items": int(times.sum())}
    if seen == 0:
        return Estimate(1.0, len(column), method="sign flip of items, exact", also=also)
    if int((sizes * times).sum()) * int(times.sum()) <= _EXACT_COST:
        p = _exact_tail(sizes, times, seen)
        return Estimate(p, len(column), method="sign flip of items, exact", also=also)
    # Items with the same size are one binomial draw.
    source = resample.generator(rng)
    sums = sum(size * (2 * source.binomial(m, 0.5, DRAWS) - m) for size, m in zip(sizes, times, strict=True))
    p = (1 + int(np.count_nonzero(np.abs(sums) >= seen))) / (DRAWS + 1)
    also["draws"] = DRAWS
    return Estimate(p, len(column), method="sign flip of items, Monte Carlo", also=also)


def _exact_tail(sizes: IntArray, times: IntArray, seen: int) -> float:
    """P(|sum of ± sizes| >= seen). Only sums of positive terms, so a tiny p keeps its leading digits."""
    heads = np.ones(1)  # probability of each total size of the items that came up +
    for size, m in zip(sizes.tolist(), times.tolist(), strict=True):
        joined = np.zeros(len(heads) + size * m)
        for k, weight in enumerate(_fair_binomial(m).tolist()):
            joined[k * size : k * size + len(heads)] += weight * heads
        heads = joined
    total = len(heads) - 1
    # sum = 2·plus - total, so sum >= seen is plus >= (seen + total) / 2; the two tails are mirror images.
    return min(1.0, 2.0 * float(heads[(seen + total + 1) // 2 :].sum()))


def _fair_binomial(m: int) -> FloatArray:
    """P(k heads of m), k = 0 … m."""
    from scipy.special import gammaln

    k = np.arange(m + 1.0)
    log = gammaln(m + 1.0) - gammaln(k + 1.0) - gammaln(m - k + 1.0) - m * math.log(2.0)
    return np.exp(log)


def paired_test(  # noqa: PLR0913  what a survey knows of its rows
    control: npt.ArrayLike,
    pressure: npt.ArrayLike,
    clusters: Ids | None = None,
    *,
    rng: np.random.Generator | None = None,
    weights: npt.ArrayLike | None = None,
    strata: Ids | None = None,
    shares: Mapping[Hashable, float] | None = None,
) -> Estimate:
    """The default test: McNemar's mid-p with one pair per item, the sign flip of item sums where items repeat.

    `n` is the number of independent units: discordant pairs for McNemar, items for the sign flip. b counts (1, 0) and c
    (0, 1). McNemar's p on repeated items is kept as `p_midp` and `p_exact` for comparison, with STAT001. With `weights`
    or `strata`, which are those of `proportion`, it is McNemar's score (b - c) / √(b + c) of the weighted pairs at
    their effective number, by t. Undefined where a stratum has one item.
    """
    _, b, c, _ = pair_table(control, pressure)
    independent = mcnemar(b, c)
    delta = gate.labels("control", control) - gate.labels("pressure", pressure)
    codes = coded(clusters, len(delta))
    how = weighted.plan(len(delta), weights, strata, shares)
    if how is not None:
        return _weighted_test(delta, codes, how)
    if codes is None:
        return independent
    sums, sizes = totals(codes, delta), np.bincount(codes)
    flipped = sign_flip(sums, rng=rng)
    spread = clustering(delta, codes)
    also = {**independent.also, **flipped.also, **spread.also(), "p_durkalski": cluster_mcnemar(sums, sizes).value}
    warned = spread.cautions()
    return Estimate(flipped.value, flipped.n, method=flipped.method, also=also, cautions=warned)


def _weighted_test(delta: FloatArray, codes: IntArray | None, how: weighted.Weighting) -> Estimate:
    from scipy.special import stdtr

    spread, differ = unequal(delta, codes, how), float(how.parts() @ np.abs(delta))
    also: dict[str, Number] = {**spread.also(), "discordance": differ}
    method = "McNemar's score, weights and strata, cluster-robust effective n"
    if spread.se is None:
        return Estimate(None, spread.n, method=method, note=spread.note, also=also, cautions=spread.cautions())
    score = abs(spread.mean) * math.sqrt(spread.n_effective / differ) if differ else 0.0
    p = min(2.0 * float(stdtr(spread.df, -score)), 1.0)
    return Estimate(p, spread.n, method=f"{method}, t({spread.df:.4g})", also=also, cautions=spread.cautions())


def pair_table(control: npt.ArrayLike, pressure: npt.ArrayLike) -> tuple[int, int, int, int]:
    """How many rows are (1, 1), (1, 0), (0, 1) and (0, 0) in (control, pressure)."""
    first, second = _columns(control, pressure)
    n00, n01, n10, n11 = np.bincount((2.0 * first + second).astype(np.int64), minlength=4).tolist()
    return n11, n10, n01, n00


def _columns(control: npt.ArrayLike, pressure: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    first, second = gate.labels("control", control), gate.labels("pressure", pressure)
    gate.same_length(control=first, pressure=second)
    return first, second


def paired_difference(  # noqa: PLR0913  what a survey knows of its rows
    control: npt.ArrayLike,
    pressure: npt.ArrayLike,
    clusters: Ids | None = None,
    *,
    level: float = 0.95,
    weights: npt.ArrayLike | None = None,
    strata: Ids | None = None,
    shares: Mapping[Hashable, float] | None = None,
) -> Estimate:
    """mean(pressure) - mean(control) over the same rows. Swapping the columns changes the sign and nothing else.

    The interval is method 10 of Newcombe (1998); where items repeat, of the table at the effective number of pairs,
    with t quantiles. One cluster gives none. `weights`, `strata` and `shares` are those of `proportion`; b and c stay
    counts of rows.
    """
    first, second = _columns(control, pressure)
    codes, table = coded(clusters, len(first)), pair_table(first, second)
    how = weighted.plan(len(first), weights, strata, shares)
    if how is None:
        return difference_of(table, clustering(second - first, codes), level=level)
    part = how.parts() * len(first)
    counts = np.bincount((2.0 * first + second).astype(np.int64), weights=part, minlength=4)
    n00, n01, n10, n11 = counts.tolist()
    change = difference_of((n11, n10, n01, n00), unequal(second - first, codes, how), level=level)
    differ = float(how.parts() @ np.abs(second - first))
    return replace(change, also={**change.also, "b": table[1], "c": table[2], "discordance": differ})


def difference_of(table: Table, spread: Clustering, *, level: float = 0.95) -> Estimate:
    """`paired_difference` of a table of pairs, given the spread of pressure - control."""
    also = _companions(table, spread)
    if spread.repeats and spread.se is None:
        note = spread.note or f"no interval: all {spread.n} rows belong to one cluster"
        return Estimate(spread.mean, spread.n, note=note, level=level, also=also, cautions=spread.cautions())
    n11, n10, n01, n00 = (count * spread.n_effective / spread.n for count in table)
    # The formula is for first minus second; ours is pressure minus control.
    lo, hi = newcombe_bounds((n11, n01, n10, n00), spread.quantile(level))
    all_agree = spread.repeats and spread.design_effect is None
    note = "all pairs agree, so the effective n is the number of clusters" if all_agree else ""
    few = measured.DIFFERENCE.caution((table[1] + table[2]) * spread.n_effective / spread.n)
    warned = (*spread.cautions(), *(few if spread.repeats and spread.n_items >= FEW else ()))
    return Estimate(spread.mean, spread.n, lo, hi, f"Newcombe, paired{spread.basis}", note, level, also, warned)


def _companions(table: Table, spread: Clustering) -> dict[str, Number]:
    n11, n10, n01, _ = table
    control, pressure = (n11 + n10) / spread.n, (n11 + n01) / spread.n
    return {
        "control": control,
        "pressure": pressure,
        "b": n10,
        "c": n01,
        "cohens_h": cohens_h(pressure, control),
        **spread.also(),
    }


def override(
    control: npt.ArrayLike, pressure: npt.ArrayLike, clusters: Ids | None = None, *, level: float = 0.95
) -> Estimate:
    """P(0 under pressure | 1 under control). Undefined when nothing was 1 under control.

    Not a pressure effect at T > 0: sampling twice under control alone overrides too. Quote `excess` beside it.
    """
    return _conditional(control, pressure, clusters, given=1.0, level=level)


def rescue(
    control: npt.ArrayLike, pressure: npt.ArrayLike, clusters: Ids | None = None, *, level: float = 0.95
) -> Estimate:
    """P(1 under pressure | 0 under control). Undefined when nothing was 0 under control."""
    return _conditional(control, pressure, clusters, given=0.0, level=level)


def flip(
    control: npt.ArrayLike, pressure: npt.ArrayLike, clusters: Ids | None = None, *, level: float = 0.95
) -> Estimate:
    """P(endorses under pressure | did not under control), for two columns of 'endorses the wrong answer'.

    Undefined when everything was endorsed under control already.
    """
    return _conditional(control, pressure, clusters, given=0.0, level=level)


def _conditional(
    control: npt.ArrayLike, pressure: npt.ArrayLike, clusters: Ids | None, *, given: float, level: float
) -> Estimate:
    first, second = _columns(control, pressure)
    codes = coded(clusters, len(first))
    chosen = first == given
    n = int(chosen.sum())
    where = f"with {given:.0f} under control"
    warned = (cautions.small_denominator(n, where),) if n < 30 else ()
    normal_quantile(level)
    if n == 0:
        return Estimate(None, 0, note=f"no row {where}", level=level, also={"k": 0}, cautions=warned)
    changed = np.abs(second - first)[chosen]
    share = rate(changed, None if codes is None else codes[chosen], level=level)
    return replace(share, cautions=(*share.cautions, *warned))


def excess(
    control: npt.ArrayLike,
    pressure: npt.ArrayLike,
    retest: npt.ArrayLike,
    clusters: Ids | None = None,
    *,
    given: Literal[0, 1] = 1,
    level: float = 0.95,
) -> Estimate:
    """rate(control → pressure) - rate(control → a second control), both among rows whose control is `given`.

    given = 1 is excess override, given = 0 excess rescue or flip. What sampling alone changes cancels. Both rates have
    the same denominator, so this is a paired difference; undefined when no row has that control.
    """
    if given not in (0, 1) or isinstance(given, bool):
        raise DataError(f"given: is {given!r}; it is 1 (excess override) or 0 (excess rescue or flip)")
    first, second = _columns(control, pressure)
    again = gate.labels("retest", retest)
    gate.same_length(control=first, retest=again)
    codes = coded(clusters, len(first))
    chosen = first == float(given)
    n = int(chosen.sum())
    where = f"with {given} under control"
    warned = (cautions.small_denominator(n, where),) if n < 30 else ()
    normal_quantile(level)
    if n == 0:
        return Estimate(None, 0, note=f"no row {where}", level=level, cautions=warned)
    by_chance, by_pressure = np.abs(again - first)[chosen], np.abs(second - first)[chosen]
    difference = paired_difference(by_chance, by_pressure, None if codes is None else codes[chosen], level=level)
    also = dict(difference.also)
    also["retest_rate"], also["pressure_rate"] = also.pop("control"), also.pop("pressure")
    return replace(difference, also=also, cautions=(*difference.cautions, *warned))


def paired_odds_ratio(b: int, c: int, *, level: float = 0.95) -> Estimate:
    """b / c, the conditional odds ratio of the discordant pairs (1, 0) and (0, 1), with the Clopper-Pearson ends.

    Undefined when there are no discordant pairs, and when c = 0: then it is infinite and `lo` still bounds it.
    """
    b, c = gate.counts(b=b, c=c)
    share = clopper_pearson(b, b + c, level=level)
    also: dict[str, Number] = {"b": b, "c": c}
    if share.lo is None or share.hi is None:
        return Estimate(None, 0, note="no discordant pairs", level=level, also=also)
    lo = share.lo / (1.0 - share.lo)
    hi = share.hi / (1.0 - share.hi) if share.hi < 1.0 else None
    method = "Clopper-Pearson on b / (b + c)"
    if c == 0:
        return Estimate(None, b + c, lo, None, method, "infinite: c = 0, no upper end", level, also)
    return Estimate(b / c, b + c, lo, hi, method, level=level, also=also)
