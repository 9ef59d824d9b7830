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
from perpend.stats import gate, proportions
from perpend.stats.bins import rows_of
from perpend.stats.gate import FloatArray
from perpend.types import Caution, Estimate

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
    cautions: tuple[Caution, ...]


def _errors(c: FloatArray, y: FloatArray) -> tuple[FloatArray, int]:
    """Expected errors among the k most confident rows for k = 1 … n, ties in random order; and rows that tie."""
    _, inverse, ties = np.unique(-c, return_inverse=True, return_counts=True)
    rate = np.bincount(inverse, weights=1.0 - y) / ties
    return np.cumsum(np.repeat(rate, ties)), int(ties[ties > 1].sum())


def _ranked(c: FloatArray, y: FloatArray) -> tuple[FloatArray, tuple[Caution, ...]]:
    errors, tied = _errors(c, y)
    return errors, (gate.tied_confidences(tied / len(c)),) if tied else ()


def selective(confidences: npt.ArrayLike, correct: npt.ArrayLike) -> Selective:
    """AURC, AUGRC and excess AURC of the rows ranked by confidence."""
    c, y = rows_of(confidences, correct)
    n = len(c)
    errors, warned = _ranked(c, y)
    k = np.arange(1.0, n + 1.0)
    risk = errors / k
    aurc = float(risk.mean())
    wrong = n - float(y.sum())
    oracle = float((np.maximum(k - (n - wrong), 0.0) / k).mean())
    return Selective(
        n=n,
        aurc=aurc,
        aurc_trapezoid=float((risk[1:] + risk[:-1]).sum() / 2.0 / n / (1.0 - 1.0 / n)) if n > 1 else None,
        augrc=float((errors.sum() - errors[-1] / 2.0) / n**2),
        oracle=oracle,
        e_aurc=max(aurc - oracle, 0.0),
        cautions=warned,
    )


def aurc(confidences: npt.ArrayLike, correct: npt.ArrayLike) -> float:
    """Mean over k of the share of wrong answers among the k most confident rows."""
    return selective(confidences, correct).aurc


def risk_at(confidences: npt.ArrayLike, correct: npt.ArrayLike, coverage: float, *, level: float = 0.95) -> Estimate:
    """Share of wrong answers among the ⌈coverage · n⌉ most confident rows, with Wilson's interval.

    The interval takes rows for independent and the cut as given.
    """
    if not 0.0 < coverage <= 1.0:
        raise DataError(f"coverage: is {coverage!r}; give a share of rows above 0 and up to 1")
    c, y = rows_of(confidences, correct)
    errors, warned = _ranked(c, y)
    # 0.8 * 10 must be 8 rows: the product may sit one rounding unit above.
    k = max(1, math.ceil(coverage * len(c) - 1e-9))
    risk = min(float(errors[k - 1]) / k, 1.0)
    lo, hi = proportions.wilson_bounds(risk, float(k), proportions.normal_quantile(level))
    also = {"coverage": coverage, "k": k, "rows": len(c), "threshold": float(np.partition(-c, k - 1)[k - 1]) * -1.0}
    return Estimate(risk, k, lo, hi, "Wilson", level=level, also=also, cautions=warned)
