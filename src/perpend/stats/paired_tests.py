"""Tests of 'the two columns have the same mean': the value is a p, and the counts that it rests on are beside it."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from perpend.errors import DataError
from perpend.stats import gate, resample
from perpend.stats.gate import FloatArray, Ids, IntArray
from perpend.stats.pairs import pair_table
from perpend.stats.proportions import clustering, coded, totals
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
        column = column / rows
    square = float(column @ column)
    z = float(column.sum()) / math.sqrt(square) if square > 0.0 else None
    p = 1.0 if z is None else math.erfc(abs(z) / math.sqrt(2.0))
    also: dict[str, Number] = {"z": z, "p": p, "discordant_items": int(np.count_nonzero(column))}
    return Estimate(p, len(column), method="cluster McNemar (Durkalski)", also=also)


def sign_flip(deltas: npt.ArrayLike, *, rng: np.random.Generator | None = None) -> Estimate:
    """Two-sided p that the sum of item differences is as large as seen when each item's sign is a fair coin.

    `deltas` are whole numbers, one per item: the sum of (control - pressure) over its pairs. Exact wherever the
    distribution can be written down, which is any design up to thousands of items; beyond, 100,000 seeded draws, where
    the smallest possible p is 1e-5. 1 when no item differs.
    """
    column = gate.values("deltas", deltas)
    broken = column != np.floor(column)
    if broken.any():
        row = int(np.flatnonzero(broken)[0])
        raise DataError(f"deltas: row {row} is {float(column[row])!r}; a sum of 0/1 differences is a whole number")
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


def paired_test(
    control: npt.ArrayLike,
    pressure: npt.ArrayLike,
    clusters: Ids | None = None,
    *,
    rng: np.random.Generator | None = None,
) -> Estimate:
    """The default test: McNemar's mid-p with one pair per item, the sign flip of item sums where items repeat.

    `n` is the number of independent units: discordant pairs for McNemar, items for the sign flip. b counts (1, 0) and c
    (0, 1). McNemar's p on repeated items is kept as `p_midp` and `p_exact` for comparison, with STAT001.
    """
    _, b, c, _ = pair_table(control, pressure)
    independent = mcnemar(b, c)
    delta = gate.labels("control", control) - gate.labels("pressure", pressure)
    codes = coded(clusters, len(delta))
    if codes is None:
        return independent
    sums, sizes = totals(codes, delta), np.bincount(codes)
    flipped = sign_flip(sums, rng=rng)
    spread = clustering(delta, codes)
    also = {**independent.also, **flipped.also, **spread.also(), "p_durkalski": cluster_mcnemar(sums, sizes).value}
    warned = spread.cautions()
    return Estimate(flipped.value, flipped.n, method=flipped.method, also=also, cautions=warned)
