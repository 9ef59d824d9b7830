"""The Brier score in its named scales, its decompositions, and the calibration test that rests on it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from perpend.stats import dependent, gate, proportions
from perpend.stats.bins import CHUNK, rows_of
from perpend.stats.cautions import caution
from perpend.stats.gate import FloatArray, Ids
from perpend.stats.recalibrate import isotonic_steps
from perpend.types import Estimate, Number


@dataclass(frozen=True, slots=True)
class Corp:
    """score = mcb - dsc + unc: miscalibration, discrimination, uncertainty, with no bins (Dimitriadis 2021)."""

    mcb: float
    dsc: float
    unc: float
    score: float


@dataclass(frozen=True, slots=True)
class Murphy:
    """brier = reliability - resolution + uncertainty, exact because a group is one distinct confidence."""

    reliability: float
    resolution: float
    uncertainty: float
    brier: float


def brier(confidences: npt.ArrayLike, correct: npt.ArrayLike) -> float:
    """Mean of (confidence - correct)² over the rows: 0 is perfect, 1 is surely wrong."""
    c, y = rows_of(confidences, correct)
    total, scratch = 0.0, np.empty(min(CHUNK, len(c)))
    for start in range(0, len(c), CHUNK):
        part = c[start : start + CHUNK]
        gap = np.subtract(part, y[start : start + CHUNK], out=scratch[: len(part)])
        # Not gap @ gap: the threads that it starts cost more than the sum, thirty times more on a busy machine.
        total += float(np.multiply(gap, gap, out=gap).sum())
    return total / len(c)


def brier_multiclass_sum(probs: npt.ArrayLike, labels: npt.ArrayLike) -> float:
    """Mean over the rows of Σ over classes of (probability - is this class)²: Brier's 1950 form, 0 to 2."""
    rows = gate.probability_rows("probs", probs)
    klass = gate.class_labels("labels", labels, rows.shape[1])
    n = gate.same_length(probs=rows, labels=klass)
    # Σ(p - o)² with the hit taken as it is: the shorter Σp² - 2p + 1 leaves 1e-16 where the answer is 0.
    hit = rows[np.arange(n), klass]
    others = np.einsum("ij,ij->i", rows, rows) - hit * hit
    return float(np.mean(np.maximum(others, 0.0) + (1.0 - hit) ** 2))


def brier_multiclass(probs: npt.ArrayLike, labels: npt.ArrayLike) -> float:
    """The lab's form: the sum form divided by the number of classes, so it is not comparable across class counts."""
    return brier_multiclass_sum(probs, labels) / int(np.shape(probs)[1])


def brier_multiclass_half(probs: npt.ArrayLike, labels: npt.ArrayLike) -> float:
    """Half the sum form: 0 to 1, and equal to the binary Brier score for two classes."""
    return brier_multiclass_sum(probs, labels) / 2.0


def brier_estimate(confidences: npt.ArrayLike, correct: npt.ArrayLike, *, clusters: Ids | None = None) -> Estimate:
    """The binary Brier score with a Student interval, clustered where items repeat, and its CORP parts.

    Where the squared errors do not vary at all, Wilson's interval for a mean of values in [0, 1] takes its place.
    """
    c, clipped = gate.probabilities_clipped("confidences", confidences)
    y = gate.labels("correct", correct)
    gate.same_length(confidences=c, correct=y)
    mean = proportions.mean((c - y) ** 2, clusters)
    value = 0.0 if mean.value is None else mean.value
    parts = brier_corp(c, y)
    also: dict[str, Number] = {
        **mean.also,
        "scale": "binary",
        "mcb": parts.mcb,
        "dsc": parts.dsc,
        "unc": parts.unc,
        "skill": 1.0 - value / parts.unc if parts.unc > 0.0 else None,
    }
    if mean.lo is None or mean.hi is None:
        items = mean.also.get("n_clusters", len(c))
        independent = float(items) if isinstance(items, int) else float(len(c))
        lo, hi = proportions.wilson_bounds(value, independent, proportions.normal_quantile(mean.level))
        method, note = "Wilson bound for a mean in [0, 1]", "the squared errors do not vary"
    else:
        lo, hi, method, note = max(mean.lo, 0.0), min(mean.hi, 1.0), mean.method, mean.note
    warned = (*mean.cautions, caution("STAT023", clipped)) if clipped else mean.cautions
    return Estimate(value, len(c), lo, hi, method, note, mean.level, also, warned)


def brier_corp(confidences: npt.ArrayLike, correct: npt.ArrayLike) -> Corp:
    """MCB, DSC and UNC of the Brier score by isotonic regression. DSC and UNC are 0 when one answer never occurs."""
    c, y = rows_of(confidences, correct)
    _, rate, inverse = isotonic_steps(c, y)
    score, unc = float(np.mean((c - y) ** 2)), float(y.mean() * (1.0 - y.mean()))
    recalibrated = float(np.mean((rate[inverse] - y) ** 2))
    return Corp(mcb=score - recalibrated, dsc=unc - recalibrated, unc=unc, score=score)


def brier_murphy(confidences: npt.ArrayLike, correct: npt.ArrayLike) -> Murphy:
    """Reliability, resolution and uncertainty over the distinct confidences (Murphy 1973)."""
    c, y = rows_of(confidences, correct)
    value, inverse, count = np.unique(c, return_inverse=True, return_counts=True)
    rate, base = np.bincount(inverse, y) / count, float(y.mean())
    share = count / len(c)
    return Murphy(
        reliability=float(share @ (value - rate) ** 2),
        resolution=float(share @ (rate - base) ** 2),
        uncertainty=base * (1.0 - base),
        brier=float(np.mean((c - y) ** 2)),
    )


def brier_skill(confidences: npt.ArrayLike, correct: npt.ArrayLike, *, clusters: Ids | None = None) -> Estimate:
    """1 - Brier / (Brier of always saying the base rate). Undefined when all rows are right or all wrong.

    The interval is Student's on the linearised ratio, clustered where items repeat.
    """
    c, y = rows_of(confidences, correct)
    base = float(y.mean())
    unc = base * (1.0 - base)
    if unc == 0.0:
        return Estimate(None, len(c), note="all rows have the same correctness, so the base rate cannot be improved on")
    squares = (c - y) ** 2
    ratio = float(squares.mean()) / unc
    influence = (squares - ratio * unc - ratio * (1.0 - 2.0 * base) * (y - base)) / unc
    mean = proportions.mean(1.0 - ratio - influence, clusters)
    hi = None if mean.hi is None else min(mean.hi, 1.0)
    return Estimate(
        1.0 - ratio,
        len(c),
        mean.lo,
        hi,
        f"{mean.method}, linearised ratio",
        mean.note,
        mean.level,
        mean.also,
        mean.cautions,
    )


def spiegelhalter(confidences: npt.ArrayLike, correct: npt.ArrayLike, *, clusters: Ids | None = None) -> Estimate:
    """Two-sided test of calibration: z = Σ (y - c)(1 - 2c) over its standard deviation if calibrated (1986).

    Where items repeat, the deviation is the largest that the rows do not refute (stats/dependent.py). Positive: the
    Brier score is worse than the confidences promise. Undefined when every confidence is 0, 0.5 or 1, as the score then
    has no variance, and for one item.
    """
    c, y = rows_of(confidences, correct)
    codes = proportions.coded(clusters, len(c))
    lean = 1.0 - 2.0 * c
    terms: FloatArray = (y - c) * lean
    also: dict[str, Number] = {"p": None}
    if codes is None:
        variance, method = float(lean**2 @ (c * (1.0 - c))), "Spiegelhalter, independent rows"
    else:
        rows = dependent.item_rows(c, y, codes)
        variance, method = dependent.spiegelhalter_variance(rows), "Spiegelhalter, item-clustered"
        also["n_clusters"] = len(rows.sizes)
        if len(rows.sizes) == 1:
            note = f"all {len(c)} rows belong to one item"
            return Estimate(None, len(c), method=method, note=note, also=also)
    warned = proportions.clustering(terms, codes).cautions()
    if variance <= 0.0:
        note = "the score has no variance under calibration (every confidence is 0, 0.5 or 1)"
        return Estimate(None, len(c), method=method, note=note, also=also, cautions=warned)
    z = float(terms.sum()) / math.sqrt(variance)
    also["p"] = math.erfc(abs(z) / math.sqrt(2.0))
    return Estimate(z, len(c), method=method, also=also, cautions=warned)
