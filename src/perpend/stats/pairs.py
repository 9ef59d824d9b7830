"""Two columns over the same rows: control and pressure, checkpoint A and B, T = 0 and T = 1.

A row is one pair. Where an item gives several pairs (one per temperature), pass `clusters`: intervals then work at the
effective number of pairs with Student's t, and tests flip whole items.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from perpend.errors import DataError
from perpend.stats import cautions, gate
from perpend.stats.gate import FloatArray, Ids
from perpend.stats.proportions import (
    Clustering,
    clopper_pearson,
    clustering,
    coded,
    cohens_h,
    normal_quantile,
    rate,
    student_quantile,
    wilson_bounds,
)
from perpend.types import Estimate, Number

PairMethod: TypeAlias = Literal["newcombe", "tango", "t"]
Table: TypeAlias = tuple[float, float, float, float]
"""n11, n10, n01, n00: the first digit is the first column's value. Not necessarily whole."""


def pair_table(control: npt.ArrayLike, pressure: npt.ArrayLike) -> tuple[int, int, int, int]:
    """How many rows are (1, 1), (1, 0), (0, 1) and (0, 0) in (control, pressure)."""
    first, second = _columns(control, pressure)
    n00, n01, n10, n11 = np.bincount((2.0 * first + second).astype(np.int64), minlength=4).tolist()
    return n11, n10, n01, n00


def _columns(control: npt.ArrayLike, pressure: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    first, second = gate.labels("control", control), gate.labels("pressure", pressure)
    gate.same_length(control=first, pressure=second)
    return first, second


def paired_difference(
    control: npt.ArrayLike,
    pressure: npt.ArrayLike,
    clusters: Ids | None = None,
    *,
    level: float = 0.95,
    method: PairMethod = "newcombe",
) -> Estimate:
    """mean(pressure) - mean(control) over the same rows. Swapping the columns changes the sign and nothing else.

    'newcombe' is method 10 of Newcombe (1998); 'tango' the score interval of Tango (1998); 't' the plain cluster-t
    interval. Where items repeat, the first two take the table at the effective number of pairs, and t quantiles. One
    cluster gives no interval.
    """
    first, second = _columns(control, pressure)
    codes = coded(clusters, len(first))
    table = pair_table(first, second)
    spread = clustering(second - first, codes)
    also = _companions(table, spread)
    if spread.repeats and spread.n_clusters == 1:
        note = f"no interval: all {spread.n} rows belong to one cluster"
        return Estimate(spread.mean, spread.n, note=note, level=level, also=also, cautions=spread.cautions())
    lo, hi, told, note = _difference_ends(table, spread, level, method)
    return Estimate(spread.mean, spread.n, lo, hi, told, note, level, also, spread.cautions())


def _companions(table: tuple[int, int, int, int], spread: Clustering) -> dict[str, Number]:
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


def _difference_ends(
    table: Table, spread: Clustering, level: float, method: PairMethod
) -> tuple[float, float, str, str]:
    """The ends, the method's name and a note, for at least two clusters."""
    quantile = spread.quantile(level)
    note, name = "", method
    if method == "t":
        if spread.se:
            df = spread.n_clusters - 1
            half = student_quantile(level, df) * spread.se
            told = f"{'cluster ' if spread.repeats else ''}t({df})"
            return max(spread.mean - half, -1.0), min(spread.mean + half, 1.0), told, ""
        name, note = "newcombe", "no variance between clusters for 't', so Newcombe at the effective n"
    if name not in ("newcombe", "tango"):
        raise DataError(f"method: is {method!r}; use 'newcombe', 'tango' or 't'")
    n11, n10, n01, n00 = (count * spread.n_effective / spread.n for count in table)
    # The formulas are for first minus second; ours is pressure minus control.
    swapped = (n11, n01, n10, n00)
    lo, hi = newcombe_bounds(swapped, quantile) if name == "newcombe" else tango_bounds(swapped, quantile)
    told = "Newcombe, paired" if name == "newcombe" else "Tango"
    if spread.repeats:
        told += f", cluster-robust effective n, t({spread.n_clusters - 1})"
        if spread.design_effect is None:
            note = "all pairs agree, so the effective n is the number of clusters"
    return lo, hi, told, note


def newcombe_bounds(table: Table, quantile: float) -> tuple[float, float]:
    """Newcombe's method 10 for p1 - p2 = (n10 - n01) / n: Wilson ends, joined by the corrected phi. n > 0."""
    n11, n10, n01, n00 = table
    n = n11 + n10 + n01 + n00
    p1, p2, difference = (n11 + n10) / n, (n11 + n01) / n, (n10 - n01) / n
    lo1, hi1 = wilson_bounds(p1, n, quantile)
    lo2, hi2 = wilson_bounds(p2, n, quantile)
    margins = (n11 + n10) * (n01 + n00) * (n11 + n01) * (n10 + n00)
    product = n11 * n00 - n10 * n01
    if product > 0.0:
        product = max(product - n / 2.0, 0.0)
    phi = product / math.sqrt(margins) if margins > 0.0 else 0.0
    below = _joined(p1 - lo1, hi2 - p2, phi)
    above = _joined(hi1 - p1, p2 - lo2, phi)
    return max(difference - below, -1.0), min(difference + above, 1.0)


def _joined(first: float, second: float, phi: float) -> float:
    return math.sqrt(max(first * first - 2.0 * phi * first * second + second * second, 0.0))


def tango_bounds(table: Table, quantile: float) -> tuple[float, float]:
    """Tango's score interval for p1 - p2 = (n10 - n01) / n: every difference that a score test accepts. n > 0."""
    from scipy.optimize import brentq

    _, n10, n01, _ = table
    n = sum(table)
    difference = (n10 - n01) / n

    def score(delta: float) -> float:
        # The maximum-likelihood P(0, 1) under the hypothesis p1 - p2 = delta, in closed form (Tango 1998, eq. 6).
        linear = -n10 - n01 + (2.0 * n - n10 + n01) * delta
        constant = -n01 * delta * (1.0 - delta)
        p01 = (math.sqrt(max(linear * linear - 8.0 * n * constant, 0.0)) - linear) / (4.0 * n)
        variance = n * max(2.0 * p01 + delta * (1.0 - delta), 0.0)
        distance = n10 - n01 - n * delta
        if distance == 0.0:
            return 0.0
        return distance / math.sqrt(variance) if variance > 0.0 else math.copysign(math.inf, distance)

    tiny = 1e-12
    lo = -1.0 if score(-1.0 + tiny) < quantile else brentq(lambda d: score(d) - quantile, -1.0 + tiny, difference)
    hi = 1.0 if score(1.0 - tiny) > -quantile else brentq(lambda d: score(d) + quantile, difference, 1.0 - tiny)
    return min(float(lo), difference), max(float(hi), difference)


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
    told = f"with {given:.0f} under control"
    warned = (cautions.small_denominator(n, told),) if n < 30 else ()
    normal_quantile(level)
    if n == 0:
        return Estimate(None, 0, note=f"no row {told}", level=level, also={"k": 0}, cautions=warned)
    changed = np.abs(second - first)[chosen]
    found = rate(changed, None if codes is None else codes[chosen], level=level)
    return replace(found, cautions=(*found.cautions, *warned))


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
    first, second = _columns(control, pressure)
    again = gate.labels("retest", retest)
    gate.same_length(control=first, retest=again)
    codes = coded(clusters, len(first))
    chosen = first == float(given)
    n = int(chosen.sum())
    told = f"with {given} under control"
    warned = (cautions.small_denominator(n, told),) if n < 30 else ()
    normal_quantile(level)
    if n == 0:
        return Estimate(None, 0, note=f"no row {told}", level=level, cautions=warned)
    by_chance, by_pressure = np.abs(again - first)[chosen], np.abs(second - first)[chosen]
    found = paired_difference(by_chance, by_pressure, None if codes is None else codes[chosen], level=level)
    also = dict(found.also)
    also["retest_rate"], also["pressure_rate"] = also.pop("control"), also.pop("pressure")
    return replace(found, also=also, cautions=(*found.cautions, *warned))


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
