"""Two classes and a third state: a row has a gold label, and a prediction that may be invalid.

Rates are over valid rows unless their name says otherwise; whatever is left out is counted in coverage, and the
bounds say what it could have changed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from perpend.errors import DataError
from perpend.stats import cautions, gate, measured
from perpend.stats.cautions import caution
from perpend.stats.gate import FloatArray, IntArray
from perpend.stats.pair_bounds import newcombe_bounds
from perpend.stats.proportions import normal_quantile, wilson, wilson_bounds
from perpend.types import Caution, Estimate, Number

Cells: TypeAlias = tuple[float, float, float, float]
"""tp, fn, fp, tn"""

INVALID_GATE = 0.05
BIAS_GATE = 0.15
RATE_GATE = 0.40
PERFECT_NOTE = "a perfect table has no variance, so half a row is added to each cell for the interval"


@dataclass(frozen=True, slots=True)
class Confusion:
    """Counts of valid rows by gold and prediction, and of invalid rows.

    `invalid_positive` is how many of the invalid rows have a positive gold label; None where that is not known.
    """

    tp: int
    fn: int
    fp: int
    tn: int
    invalid: int = 0
    invalid_positive: int | None = None

    def __post_init__(self) -> None:
        gate.counts(tp=self.tp, fn=self.fn, fp=self.fp, tn=self.tn, invalid=self.invalid)
        if self.invalid_positive is not None:
            gate.counts(invalid_positive=self.invalid_positive)
            if self.invalid_positive > self.invalid:
                raise DataError(f"invalid_positive: is {self.invalid_positive}, more than invalid = {self.invalid}")

    @property
    def valid(self) -> int:
        """Rows with a valid prediction."""
        return self.tp + self.fn + self.fp + self.tn

    @property
    def total(self) -> int:
        """All rows."""
        return self.valid + self.invalid

    @property
    def cells(self) -> Cells:
        """The valid rows as tp, fn, fp, tn."""
        return self.tp, self.fn, self.fp, self.tn


def confusion(gold: npt.ArrayLike, predicted: npt.ArrayLike) -> Confusion:
    """Count the rows. gold is 0 or 1; predicted is 0, 1, or None or nan where the answer was not valid."""
    truth, answer = gate.labels("gold", gold), predictions("predicted", predicted)
    gate.same_length(gold=truth, predicted=answer)
    valid = ~np.isnan(answer)
    tp, fn, fp, tn = np.bincount(cell(truth, answer)[valid], minlength=4).tolist()
    invalid = int((~valid).sum())
    return Confusion(tp, fn, fp, tn, invalid, int((truth[~valid] == 1.0).sum()))


def predictions(name: str, values: npt.ArrayLike) -> FloatArray:
    """At least one row, each 0, 1, or nan for an answer that was not valid (None is read as nan)."""
    raw = np.asarray(values)
    if raw.dtype.kind == "O" and raw.ndim == 1:
        raw = np.array([math.nan if value is None else value for value in raw.tolist()])
    if raw.size == 0 or raw.dtype.kind not in "biuf":
        gate.labels(name, raw)
    answer = raw.astype(np.float64, copy=False)
    gate.labels(name, np.where(np.isnan(answer), 0.0, answer))
    return answer


def cell(truth: FloatArray, answer: FloatArray) -> IntArray:
    """0 tp, 1 fn, 2 fp, 3 tn. An invalid answer has no cell; mask it out."""
    return np.where(truth == 1.0, 0, 2) + np.where(answer == 1.0, 0, 1)


def tpr(counts: Confusion, *, level: float = 0.95) -> Estimate:
    """P(predicted 1 | gold 1) over valid rows, Wilson. Undefined when no valid row has gold 1 (STAT007)."""
    return _class_rate(wilson(counts.tp, counts.tp + counts.fn, level=level), "positive", counts.valid)


def tnr(counts: Confusion, *, level: float = 0.95) -> Estimate:
    """P(predicted 0 | gold 0) over valid rows, Wilson. Undefined when no valid row has gold 0 (STAT007)."""
    return _class_rate(wilson(counts.tn, counts.tn + counts.fp, level=level), "negative", counts.valid)


def _class_rate(estimate: Estimate, name: str, valid: int) -> Estimate:
    if estimate.value is not None:
        return estimate
    warned = (caution("STAT007", valid, name=name),)
    note = f"no valid row of the {name} class"
    return Estimate(None, 0, note=note, level=estimate.level, also=estimate.also, cautions=warned)


def accuracy_bounds(counts: Confusion, *, level: float = 0.95) -> Estimate:
    """Accuracy whatever the invalid rows would have been: from all of them wrong to all of them right (Manski 1989).

    `lo` and `hi` are these bounds, not a confidence interval; `lo_ci` and `hi_ci` are the outer Wilson ends. The value
    is accuracy over valid rows, undefined when there is none.
    """
    right, total = counts.tp + counts.tn, counts.total
    if total == 0:
        return Estimate(None, 0, note="no rows", level=level)
    least, most = wilson(right, total, level=level), wilson(right + counts.invalid, total, level=level)
    value = right / counts.valid if counts.valid else None
    note = "" if counts.valid else "no valid row"
    also: dict[str, Number] = {"lo_ci": least.lo, "hi_ci": most.hi, "invalid": counts.invalid}
    return Estimate(value, total, least.value, most.value, "Manski bounds", note, level, also)


def invalid_cautions(counts: Confusion) -> tuple[Caution, ...]:
    """STAT009 when more than 5% of the rows have no valid answer."""
    if counts.total == 0 or counts.invalid <= INVALID_GATE * counts.total:
        return ()
    right, total = counts.tp + counts.tn, counts.total
    lo, hi = right / total, (right + counts.invalid) / total
    return (caution("STAT009", counts.invalid / total, lo=lo, hi=hi, what="accuracy"),)


def with_more(estimate: Estimate, more: tuple[Caution, ...], note: str = "") -> Estimate:
    """The estimate with more cautions; `note` says why it is undefined, where it is."""
    note = note if estimate.value is None and note else estimate.note
    return replace(estimate, note=note, cautions=(*estimate.cautions, *more))


def balanced_accuracy(counts: Confusion, *, level: float = 0.95) -> Estimate:
    """(TPR + TNR) / 2 over valid rows, MOVER on the two Wilson intervals. Undefined when a class is absent (STAT007).

    The interval is Zou and Donner's (2008) combination of the two class intervals, so the smaller class sets its width.
    """
    balanced = mover(tpr(counts, level=level), tnr(counts, level=level), 0.0)
    return with_more(balanced, invalid_cautions(counts))


def balanced_accuracy_effective(counts: Confusion, *, level: float = 0.95) -> Estimate:
    """Balanced accuracy over all rows, an invalid one counted wrong in its class.

    Undefined when a class is absent, or when the gold labels of the invalid rows are not known.
    """
    if counts.invalid and counts.invalid_positive is None:
        note = "the gold labels of the invalid rows are not known"
        return Estimate(None, counts.total, note=note, level=level)
    positive = counts.invalid_positive or 0
    wrong = Confusion(counts.tp, counts.fn + positive, counts.fp + counts.invalid - positive, counts.tn)
    return mover(tpr(wrong, level=level), tnr(wrong, level=level), 0.0)


def mover(positive: Estimate, negative: Estimate, correlation: float) -> Estimate:
    """Half the sum of two class rates, with the interval that their own intervals imply (Zou and Donner 2008)."""
    n = positive.n + negative.n
    also: dict[str, Number] = {
        "tpr": positive.value,
        "tnr": negative.value,
        "n_positive": positive.n,
        "n_negative": negative.n,
        "prevalence": positive.n / n if n else None,
    }
    warned = tuple(dict.fromkeys((*positive.cautions, *negative.cautions)))
    if positive.value is None or negative.value is None:
        note = positive.note if positive.value is None else negative.note
        return Estimate(None, n, note=note, level=positive.level, also=also, cautions=warned)
    value = (positive.value + negative.value) / 2.0
    if positive.lo is None or positive.hi is None or negative.lo is None or negative.hi is None:
        note = positive.note if positive.lo is None else negative.note
        return Estimate(value, n, note=note, level=positive.level, also=also, cautions=warned)
    below = _joined(positive.value - positive.lo, negative.value - negative.lo, correlation)
    above = _joined(positive.hi - positive.value, negative.hi - negative.value, correlation)
    method = "MOVER-Wilson" if positive.method == "Wilson" else f"MOVER of {positive.method}"
    return Estimate(value, n, value - below / 2.0, value + above / 2.0, method, "", positive.level, also, warned)


def _joined(first: float, second: float, correlation: float) -> float:
    return math.sqrt(max(first * first + second * second + 2.0 * correlation * first * second, 0.0))


def wilson_on_balanced_accuracy_as_in_the_run_plan(counts: Confusion, *, level: float = 0.95) -> Estimate:
    """The seed's interval: Wilson with p = balanced accuracy and n = all valid rows. Kept to reproduce its tables.

    Always carries STAT002: balanced accuracy is not a proportion, and at 5% prevalence this covers 56%, not 95%.
    """
    honest = balanced_accuracy(counts, level=level)
    if honest.value is None or honest.lo is None or honest.hi is None:
        return with_more(honest, (cautions.balanced_accuracy_as_proportion(None, None, None),))
    lo, hi = wilson_bounds(honest.value, float(counts.valid), normal_quantile(level))
    ratio = (honest.hi - honest.lo) / (hi - lo)
    warned = (cautions.balanced_accuracy_as_proportion(honest.lo, honest.hi, ratio),)
    return Estimate(
        honest.value, counts.valid, lo, hi, "Wilson(BA, n), as in the run plan", "", level, honest.also, warned
    )


def mcc(counts: Confusion, *, level: float = 0.95) -> Estimate:
    """Matthews' correlation over valid rows, delta method on Fisher's z (Bishop, Fienberg and Holland 1975).

    Undefined, with STAT008, when a row or column of the table is empty: 0 / 0, which others print as 0
    (`also['by_convention']`).
    """
    quantile = normal_quantile(level)
    undefined = mcc_undefined(counts, level)
    if undefined is not None:
        return undefined
    value = mcc_of(counts.cells)
    lo, hi = fisher_ends(counts.cells, _variance(counts.cells), quantile)
    note = PERFECT_NOTE if abs(value) == 1.0 else ""
    plain = (None, None) if note else _fisher(value, _variance(counts.cells), quantile)
    also: dict[str, Number] = {"fisher_lo": plain[0], "fisher_hi": plain[1]}
    warned = (*invalid_cautions(counts), *measured.MCC.caution(min(counts.cells)))
    return Estimate(value, counts.valid, lo, hi, "delta on Fisher's z", note, level, also, warned)


def mcc_undefined(counts: Confusion, level: float) -> Estimate | None:
    """The undefined estimate of a table with an empty row or column; None where MCC exists."""
    tp, fn, fp, tn = counts.cells
    margins = (("gold 1", tp + fn), ("gold 0", fp + tn), ("predicted 1", tp + fp), ("predicted 0", fn + tn))
    empty = [name for name, n in margins if n == 0]
    if counts.valid == 0:
        return Estimate(None, 0, note="no valid row", level=level, cautions=invalid_cautions(counts))
    if not empty:
        return None
    warned = (*(caution("STAT008", 0.0, name=name) for name in empty), *invalid_cautions(counts))
    note = f"no valid row is {' or '.join(empty)}"
    return Estimate(None, counts.valid, note=note, level=level, also={"by_convention": 0.0}, cautions=warned)


def _root_of_margins(cells: Cells) -> float:
    tp, fn, fp, tn = cells
    return math.sqrt(tp + fn) * math.sqrt(fp + tn) * math.sqrt(tp + fp) * math.sqrt(fn + tn)


def mcc_of(cells: Cells) -> float:
    """MCC of a table without an empty row or column."""
    tp, fn, fp, tn = cells
    if fn == fp == 0.0 or tp == tn == 0.0:
        return 1.0 if fn == 0.0 else -1.0  # exactly: the roots would leave 0.9999999999999998
    return (tp * tn - fp * fn) / _root_of_margins(cells)


def mcc_gradient(cells: Cells) -> Cells:
    """The derivative of MCC by each count of the table."""
    tp, fn, fp, tn = cells
    root, half = _root_of_margins(cells), mcc_of(cells) / 2.0
    gold1, gold0, said1, said0 = tp + fn, fp + tn, tp + fp, fn + tn
    return (
        tn / root - half * (1 / gold1 + 1 / said1),
        -fp / root - half * (1 / gold1 + 1 / said0),
        -fn / root - half * (1 / gold0 + 1 / said1),
        tp / root - half * (1 / gold0 + 1 / said0),
    )


FEW = 5
"""With fewer rows in a cell than this the delta method takes their number for more certain than it is."""


def fisher_ends(cells: Cells, variance: float, quantile: float) -> tuple[float, float]:
    """tanh(atanh(mcc) ± quantile · se), joined with the same of smoothed tables where a cell has fewer than 5 rows.

    Smoothed by half a row and by one in each cell. Without them the interval of a table with a cell of 0 to 4 covers
    down to 81%; with them 92% to 98%.
    """
    value = mcc_of(cells)
    inflation = variance / _variance(cells) if abs(value) < 1.0 else 1.0  # of the clusters
    ends = [_fisher(value, variance, quantile)] if abs(value) < 1.0 else []
    for more in (0.5, 1.0) if min(cells) < FEW else ():
        tp, fn, fp, tn = (cell + more for cell in cells)
        smoothed = (tp, fn, fp, tn)
        ends.append(_fisher(mcc_of(smoothed), inflation * _variance(smoothed), quantile))
    return min(value, *(lo for lo, _ in ends)), max(value, *(hi for _, hi in ends))


def _variance(cells: Cells) -> float:
    # The gradient in counts sums to zero over the rows, so the multinomial variance is the plain sum of squares.
    return sum(n * g * g for n, g in zip(cells, mcc_gradient(cells), strict=True))


def _fisher(value: float, variance: float, quantile: float) -> tuple[float, float]:
    half = quantile * math.sqrt(variance) / (1.0 - value * value)
    return math.tanh(math.atanh(value) - half), math.tanh(math.atanh(value) + half)


def bias(counts: Confusion, *, level: float = 0.95, signed: Estimate | None = None) -> Estimate:
    """|share predicted 1 - share gold 1| over valid rows: 0 when the model says 1 as often as it is true.

    `verdict` is 'LABEL-BIASED' when this exceeds 0.15 or the smaller of TPR and TNR is below 0.40, else 'OK', and None
    when a class is absent and the score alone does not decide. The interval is that of the signed difference, folded at
    0: Newcombe's for pairs, or that of `signed` where the caller has a clustered one. Undefined when no row is valid.
    """
    n = counts.valid
    if n == 0:
        return Estimate(None, 0, note="no valid row", level=level, also={"verdict": None, "dominant_label": None})
    difference = (counts.fp - counts.fn) / n
    if signed is None:
        ends = newcombe_bounds((counts.tp, counts.fp, counts.fn, counts.tn), normal_quantile(level))
        signed = Estimate(difference, n, *ends, "Newcombe, paired", level=level)
    known = [e.value for e in (tpr(counts), tnr(counts)) if e.value is not None]
    biased = abs(difference) > BIAS_GATE or min(known) < RATE_GATE
    also: dict[str, Number] = {
        "signed": difference,
        "signed_lo": signed.lo,
        "signed_hi": signed.hi,
        "predicted_rate": (counts.tp + counts.fp) / n,
        "gold_rate": (counts.tp + counts.fn) / n,
        "verdict": "LABEL-BIASED" if biased else "OK" if len(known) == 2 else None,
        "dominant_label": int(counts.tp + counts.fp >= counts.fn + counts.tn),
    }
    lo, hi = signed.lo, signed.hi
    if lo is not None and hi is not None:
        lo, hi = (0.0, max(-lo, hi)) if lo <= 0.0 <= hi else (min(abs(lo), abs(hi)), max(abs(lo), abs(hi)))
    warned = (*signed.cautions, *invalid_cautions(counts))
    return Estimate(abs(difference), n, lo, hi, f"{signed.method}, folded at 0", signed.note, level, also, warned)
