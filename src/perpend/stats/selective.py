"""Answering only when confident: risk among the answered rows against the share answered.

Ties are averaged over their orders: verbalised confidences are nearly all ties, and a curve that depends on the order
of the file is no curve. Risk is the share of wrong answers among the k most confident rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from perpend.errors import DataError
from perpend.stats import measured, proportions
from perpend.stats.bins import rows_of
from perpend.stats.cautions import caution
from perpend.stats.gate import FloatArray, Ids, IntArray
from perpend.types import Caution, Estimate, Number

COVERAGES = (0.5, 0.8, 0.9, 0.95)


@dataclass(frozen=True, slots=True)
class Selective:
    """The areas under the risk-coverage curve. `cautions` carries STAT006 where confidences tie.

    `aurc` is the mean over k of the risk of the k most confident rows (Geifman 2017); `aurc_trapezoid` the trapezoid
    over coverage 1/n … 1 divided by 1 - 1/n, None for one row; `augrc` the area of 'answered and wrong' over coverage
    0 … 1 (Traub 2024); `oracle` the aurc of the same errors ranked last, `e_aurc` the excess over it.
    """

    n: int
    aurc: float
    aurc_trapezoid: float | None
    augrc: float
    oracle: float
    e_aurc: float
    aurc_ends: tuple[float, float] | None
    """Wilson's bounds at the effective n of the linearised area, with t; None where nothing varies."""
    augrc_ends: tuple[float, float] | None
    cautions: tuple[Caution, ...]


def _errors(c: FloatArray, y: FloatArray) -> tuple[FloatArray, int]:
    """Expected errors among the k most confident rows for k = 1 … n, ties in random order; and rows that tie."""
    _, inverse, ties = np.unique(-c, return_inverse=True, return_counts=True)
    rate = np.bincount(inverse, weights=1.0 - y) / ties
    return np.cumsum(np.repeat(rate, ties)), int(ties[ties > 1].sum())


def _ranked(c: FloatArray, y: FloatArray) -> tuple[FloatArray, tuple[Caution, ...]]:
    errors, tied = _errors(c, y)
    return errors, (caution("STAT006", tied / len(c)),) if tied else ()


def _pulls(c: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """What each row adds to AURC and to AUGRC: their first-order (influence) terms, around the areas themselves."""
    n = len(c)
    _, inverse, ties = np.unique(-c, return_inverse=True, return_counts=True)
    wrong = 1.0 - y
    by_level = np.bincount(inverse, wrong)
    answered, mistaken = np.cumsum(ties).astype(np.float64), np.cumsum(by_level)  # at least as confident
    risk = mistaken / answered
    share = ties / n
    # AURC: the mean over rows j of the risk at j's confidence, which every row at least as confident has a part in.
    here, ahead = share / (answered / n), np.cumsum((share * risk / (answered / n))[::-1])[::-1]
    reach = np.cumsum(here[::-1])[::-1]
    aurc = risk[inverse] + wrong * reach[inverse] - ahead[inverse]
    # AUGRC: the chance that of two rows the more confident is wrong, a tie counting half.
    less = (n - answered + ties / 2.0) / n
    more = (mistaken - by_level / 2.0) / n
    return aurc, wrong * less[inverse] + more[inverse]


def _area_ends(
    pulls: FloatArray, area: float, wrong: proportions.Clustering, codes: IntArray | None
) -> tuple[float, float] | None:
    """Wilson's bounds at the n that an area of this size and spread is worth: it is as skewed as a rate of errors."""
    spread = proportions.clustering(pulls, codes)
    if spread.n_clusters == 1 or not spread.se_naive or not 0.0 < area < 1.0:
        return None
    # Where repeats agree, wrong rows show it sooner than what they add to an area.
    effective = min(spread.n_effective, wrong.n_effective)
    variance = spread.se_naive**2 * spread.n / effective
    quantile = proportions.student_quantile(0.95, spread.n_clusters - 1)
    return proportions.wilson_bounds(area, area * (1.0 - area) / variance, quantile)


def selective(confidences: npt.ArrayLike, correct: npt.ArrayLike, *, clusters: Ids | None = None) -> Selective:
    """AURC, AUGRC and excess AURC of the rows ranked by confidence; `clusters` are the items that repeat."""
    c, y = rows_of(confidences, correct)
    n = len(c)
    codes = proportions.coded(clusters, n)
    pulls = _pulls(c, y)
    errors, warned = _ranked(c, y)
    k = np.arange(1.0, n + 1.0)
    risk = errors / k
    aurc = float(risk.mean())
    augrc = float((errors.sum() - errors[-1] / 2.0) / n**2)
    wrong = n - float(y.sum())
    errors_spread = proportions.clustering(1.0 - y, codes)
    few = measured.AREA.caution(errors_spread.n_effective * wrong / n)
    oracle = float((np.maximum(k - (n - wrong), 0.0) / k).mean())
    return Selective(
        n=n,
        aurc=aurc,
        aurc_trapezoid=float((risk[1:] + risk[:-1]).sum() / 2.0 / n / (1.0 - 1.0 / n)) if n > 1 else None,
        augrc=augrc,
        oracle=oracle,
        e_aurc=max(aurc - oracle, 0.0),
        aurc_ends=_area_ends(pulls[0], aurc, errors_spread, codes),
        augrc_ends=_area_ends(pulls[1], augrc, errors_spread, codes),
        cautions=(*warned, *proportions.clustering(pulls[0], codes).cautions(), *few),
    )


def aurc(confidences: npt.ArrayLike, correct: npt.ArrayLike) -> float:
    """Mean over k of the share of wrong answers among the k most confident rows."""
    return selective(confidences, correct).aurc


def risk_at(
    confidences: npt.ArrayLike,
    correct: npt.ArrayLike,
    coverage: float,
    *,
    clusters: Ids | None = None,
    level: float = 0.95,
) -> Estimate:
    """Share of wrong answers among the ⌈coverage · n⌉ most confident rows, with Wilson's interval.

    The interval takes the cut as given, and rows for independent unless `clusters` says which items they belong to.
    """
    if not 0.0 < coverage <= 1.0:
        raise DataError(f"coverage: is {coverage!r}; give a share of rows above 0 and up to 1")
    c, y = rows_of(confidences, correct)
    errors, warned = _ranked(c, y)
    # 0.8 * 10 must be 8 rows: the product may sit one rounding unit above.
    k = max(1, math.ceil(coverage * len(c) - 1e-9))
    risk = min(float(errors[k - 1]) / k, 1.0)
    threshold = float(np.partition(-c, k - 1)[k - 1]) * -1.0
    also: dict[str, Number] = {"coverage": coverage, "k": k, "rows": len(c), "threshold": threshold}
    codes = proportions.coded(clusters, len(c))
    if codes is None:
        lo, hi = proportions.wilson_bounds(risk, float(k), proportions.normal_quantile(level))
        return Estimate(risk, k, lo, hi, "Wilson", level=level, also=also, cautions=warned)
    chosen = c >= threshold
    _, own = np.unique(codes[chosen], return_inverse=True)
    spread = proportions.clustering(1.0 - y[chosen], own)
    also |= spread.also()
    if spread.n_clusters == 1:
        note = f"no interval: all {k} rows belong to one cluster"
        return Estimate(risk, k, note=note, level=level, also=also, cautions=(*warned, *spread.cautions()))
    effective = k * spread.n_effective / spread.n  # a tie at the cut is answered in part
    lo, hi = proportions.wilson_bounds(risk, effective, spread.quantile(level))
    method = f"Wilson, cluster-robust effective n, t({spread.n_clusters - 1})"
    return Estimate(risk, k, lo, hi, method, level=level, also=also, cautions=(*warned, *spread.cautions()))
