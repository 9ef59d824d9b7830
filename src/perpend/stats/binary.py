"""Every metric of a binary classifier from its rows, and the differences of two classifiers on the same rows."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from perpend.errors import DataError
from perpend.stats import classification, gate, resample
from perpend.stats.classification import Confusion
from perpend.stats.gate import BoolArray, FloatArray, Ids, IntArray
from perpend.stats.pairs import paired_difference
from perpend.stats.proportions import coded, normal_quantile, rate, student_quantile, totals
from perpend.types import Caution, Estimate, Number


def confusion_metrics(counts: Confusion, *, level: float = 0.95) -> dict[str, Estimate]:
    """Every metric of a confusion table whose rows are independent, by name."""
    return {
        "accuracy_valid": classification.accuracy_valid(counts, level=level),
        "accuracy_effective": classification.accuracy_effective(counts, level=level),
        "accuracy_bounds": classification.accuracy_bounds(counts, level=level),
        "coverage": classification.coverage(counts, level=level),
        "tpr": classification.tpr(counts, level=level),
        "tnr": classification.tnr(counts, level=level),
        "balanced_accuracy": classification.balanced_accuracy(counts, level=level),
        "balanced_accuracy_effective": classification.balanced_accuracy_effective(counts, level=level),
        "mcc": classification.mcc(counts, level=level),
        "bias": classification.bias(counts, level=level),
    }


def binary_metrics(
    gold: npt.ArrayLike,
    predicted: npt.ArrayLike,
    clusters: Ids | None = None,
    *,
    level: float = 0.95,
    method: Literal["closed-form", "bootstrap"] = "closed-form",
    rng: np.random.Generator | None = None,
) -> dict[str, Estimate]:
    """Every metric from rows, by name; clustered intervals where items repeat.

    predicted is 0, 1, or None or nan where the answer was not valid. Clustered balanced accuracy is MOVER on the two
    clustered class rates, clustered MCC the delta method with the cluster sandwich. 'bootstrap' puts the percentile
    interval of resampled clusters on these two instead; it covers far less when the smaller class is small and nearly
    all right. The values, and what is undefined, are those of `confusion_metrics`.
    """
    counts = classification.confusion(gold, predicted)
    truth, answer = gate.labels("gold", gold), classification.predictions("predicted", predicted)
    codes = coded(clusters, len(truth))
    estimates = confusion_metrics(counts, level=level)
    if codes is not None:
        estimates |= _Clustered(truth, answer, codes, counts, level).metrics()
    if method == "closed-form":
        return estimates
    if method != "bootstrap":
        raise DataError(f"method: is {method!r}; use 'closed-form' or 'bootstrap'")
    cells = (3 * truth + _state(answer)).astype(np.int64)
    draws = drawn_metrics(_draws(cells, 6, codes, rng).reshape(-1, 2, 3))
    for name in ("balanced_accuracy", "mcc"):
        if estimates[name].value is not None:
            estimates[name] = _on_draws(estimates[name], draws[name], codes is not None)
    return estimates


class _Clustered:
    """The clustered estimates of what is defined; the undefined ones are those of the counts."""

    def __init__(self, truth: FloatArray, answer: FloatArray, codes: IntArray, counts: Confusion, level: float) -> None:
        self.truth, self.answer, self.codes, self.counts, self.level = truth, answer, codes, counts, level
        self.valid = ~np.isnan(answer)
        self.right = (answer == truth).astype(np.float64)
        self.every = np.ones(len(truth), dtype=np.bool_)
        self.warned: tuple[Caution, ...] = classification.invalid_cautions(counts)

    def metrics(self) -> dict[str, Estimate]:
        estimates = self.rates()
        if not self.counts.valid:
            return estimates
        repeats = estimates["accuracy_valid"].cautions
        estimates["accuracy_valid"] = replace(estimates["accuracy_valid"], cautions=(*repeats, *self.warned))
        for name, rows in (("balanced_accuracy", self.valid), ("balanced_accuracy_effective", self.every)):
            joined = self.balanced(rows)
            if joined is not None:
                estimates[name] = replace(joined, cautions=_each((*repeats, *joined.cautions, *self.warned)))
        if classification.mcc_undefined(self.counts, self.level) is None:
            rates = (*estimates["tpr"].cautions, *estimates["tnr"].cautions)
            estimates["mcc"] = replace(self.mcc(), cautions=_each((*repeats, *rates, *self.warned)))
        valid = self.valid
        signed = paired_difference(self.truth[valid], self.answer[valid], self.codes[valid], level=self.level)
        estimates["bias"] = classification.bias(self.counts, level=self.level, signed=signed)
        return estimates

    def rates(self) -> dict[str, Estimate]:
        positive, negative = self.valid & (self.truth == 1.0), self.valid & (self.truth == 0.0)
        most = self.rate(np.where(self.valid, self.right, 1.0), self.every)
        least = self.rate(self.right, self.every)
        bounds = classification.accuracy_bounds(self.counts, level=self.level)
        also: dict[str, Number] = {**bounds.also, "lo_ci": least.lo, "hi_ci": most.hi}
        estimates = {
            "accuracy_effective": least,
            "accuracy_bounds": replace(bounds, also=also, cautions=least.cautions),
            "coverage": self.rate(self.valid.astype(np.float64), self.every),
        }
        for name, rows in (("accuracy_valid", self.valid), ("tpr", positive), ("tnr", negative)):
            if rows.any():
                estimates[name] = self.rate(self.right, rows)
        return estimates

    def rate(self, column: FloatArray, rows: BoolArray) -> Estimate:
        return rate(column[rows], self.codes[rows], level=self.level)

    def balanced(self, rows: BoolArray) -> Estimate | None:
        positive, negative = rows & (self.truth == 1.0), rows & (self.truth == 0.0)
        if not positive.any() or not negative.any():
            return None
        first, second = self.influence(positive), self.influence(negative)
        # Zero when no cluster holds both classes, as when a cluster is an item.
        root = math.sqrt(float(first @ first) * float(second @ second))
        correlation = float(first @ second) / root if root > 0.0 else 0.0
        return classification.mover(self.rate(self.right, positive), self.rate(self.right, negative), correlation)

    def influence(self, rows: BoolArray) -> FloatArray:
        """What each cluster adds to the error of the rate over these rows."""
        centred = np.where(rows, self.right - self.right[rows].mean(), 0.0)
        return totals(self.codes, centred)

    def mcc(self) -> Estimate:
        cells = classification.cell(self.truth, self.answer)[self.valid]
        gradient = np.array(classification.mcc_gradient(self.counts.cells))
        _, dense = np.unique(self.codes[self.valid], return_inverse=True)
        pulls = totals(dense, gradient[cells])
        g, n = len(pulls), self.counts.valid
        value = classification.mcc_of(self.counts.cells)
        if g == 1:
            return Estimate(value, n, note=f"no interval: all {n} rows belong to one cluster", level=self.level)
        if g == n:
            quantile, method = normal_quantile(self.level), "delta on Fisher's z"
        else:
            quantile = student_quantile(self.level, g - 1)
            method = f"delta on Fisher's z, cluster sandwich, t({g - 1})"
        tp, fn, fp, tn = (cell * g / n for cell in self.counts.cells)
        lo, hi = classification.fisher_ends((tp, fn, fp, tn), g / (g - 1) * float(pulls @ pulls), quantile)
        note = classification.PERFECT_NOTE if abs(value) == 1.0 else ""
        return Estimate(value, n, lo, hi, method, note, self.level, {"n_clusters": g})


def _each(cautions: tuple[Caution, ...]) -> tuple[Caution, ...]:
    """One caution of each kind: of two classes the one with the fewer items says more."""
    worst: dict[str, Caution] = {}
    for caution in sorted(cautions, key=lambda one: one.number or 0.0, reverse=True):
        worst[caution.id] = caution
    return tuple(worst[id_] for id_ in dict.fromkeys(caution.id for caution in cautions))


def _state(answer: FloatArray) -> IntArray:
    """0, 1, or 2 for an answer that is not valid."""
    return np.where(np.isnan(answer), 2, np.where(answer == 1.0, 1, 0))


def _draws(cells: IntArray, kinds: int, codes: IntArray | None, rng: np.random.Generator | None) -> FloatArray:
    """Bootstrap counts of each kind of row: rows drawn where they are independent, else whole clusters."""
    source = resample.generator(rng)
    if codes is None:
        return resample.cell_counts(np.bincount(cells, minlength=kinds), source)
    groups = int(codes.max()) + 1
    table = np.bincount(codes * kinds + cells, minlength=groups * kinds).reshape(groups, kinds)
    return resample.cluster_totals(table.astype(np.float64), source)


def _on_draws(estimate: Estimate, draws: FloatArray, clustered: bool) -> Estimate:
    ends = resample.percentile_interval(draws, estimate.level)
    method = "cluster bootstrap, percentile" if clustered else "bootstrap, percentile"
    also: dict[str, Number] = {**estimate.also, "resamples": len(draws)}
    warned = (*estimate.cautions, *ends.cautions)
    return replace(estimate, lo=ends.lo, hi=ends.hi, method=method, note=ends.note, also=also, cautions=warned)


def drawn_metrics(tables: FloatArray) -> dict[str, FloatArray]:
    """Accuracy (valid and effective), balanced accuracy and MCC of tables × gold × (said 0, said 1, invalid).

    nan where a table leaves one undefined.
    """
    tn, fp, fn, tp = tables[:, 0, 0], tables[:, 0, 1], tables[:, 1, 0], tables[:, 1, 1]
    positive, negative, said1, said0 = tp + fn, tn + fp, tp + fp, tn + fn
    right = tp + tn
    with np.errstate(invalid="ignore"):  # 0 / 0 is nan, which is what undefined is here
        root = np.sqrt(positive) * np.sqrt(negative) * np.sqrt(said1) * np.sqrt(said0)
        return {
            "accuracy_valid": right / (positive + negative),
            "accuracy_effective": right / tables.sum(axis=(1, 2)),
            "balanced_accuracy": (tp / positive + tn / negative) / 2.0,
            "mcc": (tp * tn - fp * fn) / root,
        }


def paired_bootstrap(
    gold: npt.ArrayLike,
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    clusters: Ids | None = None,
    *,
    level: float = 0.95,
    rng: np.random.Generator | None = None,
) -> dict[str, Estimate]:
    """second - first in accuracy (valid, effective), balanced accuracy and MCC, both answering the same rows.

    10,000 resamples of rows, or of whole clusters where items repeat, on the 2 × 3 × 3 table of gold and the two
    answers (0, 1, invalid); percentile intervals. Undefined when either classifier's metric is.
    """
    truth = gate.labels("gold", gold)
    one, other = classification.predictions("first", first), classification.predictions("second", second)
    n = gate.same_length(gold=truth, first=one, second=other)
    codes = coded(clusters, n)
    normal_quantile(level)
    cells = (9 * truth + 3 * _state(one) + _state(other)).astype(np.int64)
    seen = np.bincount(cells, minlength=18).astype(np.float64).reshape(1, 2, 3, 3)
    drawn = _draws(cells, 18, codes, rng).reshape(-1, 2, 3, 3)
    before, after = drawn_metrics(seen.sum(axis=3)), drawn_metrics(seen.sum(axis=2))
    draws_before, draws_after = drawn_metrics(drawn.sum(axis=3)), drawn_metrics(drawn.sum(axis=2))
    differences: dict[str, Estimate] = {}
    for name in before:
        a, b = float(before[name][0]), float(after[name][0])
        also: dict[str, Number] = {"first": None if math.isnan(a) else a, "second": None if math.isnan(b) else b}
        if math.isnan(a) or math.isnan(b):
            which = "first" if math.isnan(a) else "second"
            differences[name] = Estimate(None, n, note=f"undefined for the {which} classifier", level=level, also=also)
        else:
            bare = Estimate(b - a, n, level=level, also=also)
            differences[name] = _on_draws(bare, draws_after[name] - draws_before[name], codes is not None)
    return differences
