"""Is the second column as good as the first? Non-inferiority and equivalence of paired columns, with a margin."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from perpend.errors import DataError
from perpend.stats import gate, weighted
from perpend.stats.cautions import caution
from perpend.stats.clusters import Clustering, clustering, coded, student_quantile, totals, unequal
from perpend.stats.families import holm
from perpend.stats.gate import FloatArray, Ids, IntArray
from perpend.stats.pair_bounds import Table, tango_bounds, tango_score
from perpend.types import Estimate, Number


def equivalence(  # noqa: PLR0913  what a survey knows of its rows
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    clusters: Ids | None = None,
    *,
    margin: float,
    alpha: float = 0.05,
    weights: npt.ArrayLike | None = None,
    strata: Ids | None = None,
    shares: Mapping[Hashable, float] | None = None,
) -> Estimate:
    """mean(second) - mean(first) over the same rows, and whether it is shown to be smaller than the margin.

    Two one-sided tests (Schuirmann 1987): `p_lower` that the difference is -margin or less, `p_upper` that it is margin
    or more. The interval has level 1 - 2 alpha, 90% by default: it is inside ±margin where both reject. For columns of
    0 and 1 both are Tango's (1998) score at the effective number of pairs with t, items - 1 degrees of freedom. For
    other values it is the clustered t with what unequal items are worth - 1 degrees of freedom, or its correction for
    skewness (Hall 1992), whichever claims less.

    `also["verdict"]` is 'equivalent' (both reject), 'different' (two-sided p of no difference at most alpha),
    'non-inferior' (`p_lower` at most alpha: the second is not worse by the margin, where more is better) or
    'undecided': the first that holds. `is_non_inferior` tells it of a difference too. One cluster, or values that all
    differ by the same, leave the tests undefined, and the verdict 'undecided'. `weights`, `strata` and `shares` are
    those of `proportion`. Of several differences that are tested together, `decided` corrects the decisions.
    """
    one, other = gate.values("first", first), gate.values("second", second)
    gate.same_length(first=one, second=other)
    _check(margin, alpha)
    codes, how = coded(clusters, len(one)), weighted.plan(len(one), weights, strata, shares)
    spread = clustering(other - one, codes) if how is None else unequal(other - one, codes, how)
    part = np.full(len(one), 1.0 / len(one)) if how is None else how.parts()
    level = 1.0 - 2.0 * alpha
    also: dict[str, Number] = {
        "margin": margin,
        "alpha": alpha,
        "first": float(one.mean() if how is None else part @ one),
        "second": float(other.mean() if how is None else part @ other),
    }
    also |= {**spread.also(), "p_lower": None, "p_upper": None, "p": None, "p_difference": None}
    also |= {"is_non_inferior": False, "verdict": "undecided"}
    binary = all(bool(np.isin(column, (0.0, 1.0)).all()) for column in (one, other))
    reason = _untestable(spread, binary)
    if reason:
        return Estimate(spread.mean, spread.n, note=reason, level=level, also=also, cautions=spread.cautions())
    warned = spread.cautions()
    if binary:
        df = float(spread.df)
        n00, n01, n10, n11 = np.bincount((2.0 * other + one).astype(np.int64), weights=part, minlength=4).tolist()
        table = tuple(share * spread.n_effective for share in (n11, n10, n01, n00))
        lower, upper, middle, (lo, hi) = _by_score(table, margin, df, level)
        basis = ", weights and strata" * (how is not None) + ", cluster-robust effective n" * spread.repeats
        method = f"two one-sided tests, Tango's score{basis}, t({df:.4g})"
    else:
        df = max(spread.n_items - 1.0, 1.0) if how is None else float(spread.df)
        skew = _skew(other - one, part, codes, how)
        lower, upper, middle, (lo, hi) = _by_t(spread, skew, margin, df, level)
        method = f"two one-sided tests, {'cluster ' * spread.repeats}t({df:.4g}), widened for skewness"
        skewed = caution("STAT027", skew, n_items=spread.n_items, skewness=skew * spread.n_items**0.5)
        warned += (skewed,) if abs(skew) > 0.1 or spread.n_items < 60 else ()
    also |= {"p_lower": lower, "p_upper": upper, "p": max(lower, upper), "p_difference": middle}
    also["is_non_inferior"] = lower <= alpha
    also["verdict"] = _verdict(lower, upper, middle, alpha)
    return Estimate(spread.mean, spread.n, lo, hi, method, "", level, also, warned)


def decided(tests: Sequence[Estimate], *, alpha: float = 0.05, more_is_better: Sequence[bool] = ()) -> list[Estimate]:
    """Equivalences that are tested together, with p of both sides adjusted and the verdict that this leaves.

    One family of two one-sided tests per difference, adjusted by Holm. No difference is both below -margin and above
    margin, so at most one of its two hypotheses is true, and no p is multiplied by more than the number of differences
    (Shaffer 1986). `p_lower_adjusted` and `p_upper_adjusted`; `p_adjusted`, the larger, is that of equivalence, and
    `p_non_inferior` that of the second not being worse: the lower one, or the upper where more is not better.
    `verdict` is 'equivalent', 'non-inferior' or 'not shown'. An undefined test counts as p = 1.
    """
    better = list(more_is_better) or [True] * len(tests)
    if len(better) != len(tests):
        raise DataError(f"more_is_better: has {len(better)} values for {len(tests)} tests; give one for each")
    raw = [p if isinstance(p := one.also.get(key), float) else None for key in ("p_lower", "p_upper") for one in tests]
    adjusted = holm([1.0 if p is None else p for p in raw], at_most=len(tests)).tolist() if tests else []
    stated: list[Number] = [None if p is None else new for p, new in zip(raw, adjusted, strict=True)]
    decisions = []
    for one, low, high, rising in zip(tests, stated[: len(tests)], stated[len(tests) :], better, strict=True):
        worse = low if rising else high
        both = max(low, high) if isinstance(low, float) and isinstance(high, float) else None
        is_safe = isinstance(worse, float) and worse <= alpha
        shown = "equivalent" if both is not None and both <= alpha else "non-inferior" if is_safe else "not shown"
        also: dict[str, Number] = {"p_lower_adjusted": low, "p_upper_adjusted": high, "p_adjusted": both}
        also |= {"p_non_inferior": worse, "more_is_better": rising, "is_non_inferior": is_safe, "verdict": shown}
        decisions.append(replace(one, also={**one.also, **also}))
    return decisions


def _check(margin: float, alpha: float) -> None:
    if isinstance(margin, bool) or not isinstance(margin, float | int) or not 0.0 < margin < math.inf:
        raise DataError(f"margin: is {margin!r}; it is the largest difference that does not matter, above 0")
    if isinstance(alpha, bool) or not isinstance(alpha, float) or not 0.0 < alpha < 0.5:
        raise DataError(f"alpha: is {alpha!r}; a one-sided significance level lies between 0 and 0.5, as in 0.05")


def _untestable(spread: Clustering, binary: bool) -> str:
    if spread.note:
        return spread.note
    if spread.n == 1 or spread.n_clusters == 1:
        return "no interval: one row" if spread.n == 1 else f"no interval: all {spread.n} rows belong to one cluster"
    # Of differences that are equal but for rounding, nothing is left but rounding.
    if not binary and (spread.se_naive or 0.0) <= 1e-12 * abs(spread.mean):
        return f"no interval: all {spread.n} differences are equal"
    return ""


def _tail(t: float, df: float) -> float:
    """P(T > t)."""
    from scipy.special import stdtr

    return float(stdtr(df, -t))


def _by_score(table: Table, margin: float, df: float, level: float) -> tuple[float, float, float, tuple[float, float]]:
    """p below, p above, two-sided p of no difference, and the interval. A margin beyond 1 cannot be reached."""
    lower = _tail(tango_score(table, -margin), df) if margin < 1.0 else 0.0
    upper = _tail(-tango_score(table, margin), df) if margin < 1.0 else 0.0
    middle = min(2.0 * _tail(abs(tango_score(table, 0.0)), df), 1.0)
    return lower, upper, middle, tango_bounds(table, student_quantile(level, df))


def _skew(change: FloatArray, part: FloatArray, codes: IntArray | None, how: weighted.Weighting | None) -> float:
    """The skewness of the items' sums of deviations, over the root of their number."""
    centred = change - change.mean()
    if how is not None:
        centre = np.bincount(how.strata, weights=how.weights * change) / np.bincount(how.strata, weights=how.weights)
        centred = part * (change - centre[how.strata])
    sums = centred if codes is None else totals(codes, centred)
    return float((sums**3).sum()) / float((sums**2).sum()) ** 1.5 if (sums != 0.0).any() else 0.0


def _by_t(
    spread: Clustering, skew: float, margin: float, df: float, level: float
) -> tuple[float, float, float, tuple[float, float]]:
    """As `_by_score`, by Student's t and by its correction for skewness (Hall 1992), the one that claims less."""
    se = (spread.se_naive or 0.0) * math.sqrt(spread.n / spread.n_effective)
    a = skew / 3.0

    def tail(t: float, sign: float) -> float:
        """P(beyond t) in the direction of the sign, the larger of the two."""
        hall = t + a * t**2 + a**2 * t**3 / 3.0 + a / 2.0
        return max(_tail(sign * t, df), _tail(sign * hall, df))

    def unskewed(hall: float) -> float:
        return (math.cbrt(1.0 + 3.0 * a * (hall - a / 2.0)) - 1.0) / a if abs(a) > 1e-9 else hall

    quantile, at = student_quantile(level, df), spread.mean / se
    lo = spread.mean - se * max(quantile, unskewed(quantile))
    hi = spread.mean - se * min(-quantile, unskewed(-quantile))
    lower, upper = tail((spread.mean + margin) / se, 1.0), tail((spread.mean - margin) / se, -1.0)
    return lower, upper, min(2.0 * tail(at, math.copysign(1.0, at)), 1.0), (lo, hi)


def _verdict(lower: float, upper: float, middle: float, alpha: float) -> str:
    if max(lower, upper) <= alpha:
        return "equivalent"
    if middle <= alpha:
        return "different"
    return "non-inferior" if lower <= alpha else "undecided"
