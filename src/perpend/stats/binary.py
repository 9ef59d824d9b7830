"""Every metric of a binary classifier from its rows, and the differences of two classifiers on the same rows."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from perpend.stats import classification, gate, resample
from perpend.stats.classification import Confusion
from perpend.stats.clusters import clustering_of_sums, coded, normal_quantile, student_quantile
from perpend.stats.gate import FloatArray, Ids, IntArray
from perpend.stats.pairs import difference_of
from perpend.stats.proportions import rate_of, wilson
from perpend.types import Caution, Estimate, Number

# Rows that are looked at together, so that what is made of them on the way stays small.
_BLOCK = 1_000_000


def confusion_metrics(counts: Confusion, *, level: float = 0.95) -> dict[str, Estimate]:
    """Every metric of a confusion table whose rows are independent, by name."""
    right = counts.tp + counts.tn
    return {
        "accuracy_valid": classification.with_more(
            wilson(right, counts.valid, level=level), classification.invalid_cautions(counts), "no valid row"
        ),
        "accuracy_effective": wilson(right, counts.total, level=level),
        "accuracy_bounds": classification.accuracy_bounds(counts, level=level),
        "coverage": wilson(counts.valid, counts.total, level=level),
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
) -> dict[str, Estimate]:
    """Every metric from rows, by name; clustered intervals where items repeat.

    predicted is 0, 1, or None or nan where the answer was not valid. Clustered balanced accuracy is MOVER on the two
    clustered class rates, clustered MCC the delta method with the cluster sandwich. The values, and what is undefined,
    are those of `confusion_metrics`.
    """
    truth, answer = gate.labels("gold", gold), classification.predictions("predicted", predicted)
    n = gate.same_length(gold=truth, predicted=answer)
    # Rows are touched once: after this all is computed from the kinds of rows of each cluster.
    codes = coded(clusters, n)
    clustered = codes is not None
    table = _table(truth, answer, codes)
    del codes  # as large as a column, and no longer what it was
    tn, fp, lost_0, fn, tp, lost_1 = table.sum(axis=0).tolist()
    counts = Confusion(tp, fn, fp, tn, lost_0 + lost_1, lost_1)
    estimates = confusion_metrics(counts, level=level)
    return estimates | _Clustered(table, counts, level).metrics() if clustered else estimates


def _table(truth: FloatArray, answer: FloatArray, codes: IntArray | None) -> IntArray:
    """How many rows of each cluster are gold 0 said 0, said 1, invalid, gold 1 said 0, said 1, invalid.

    One line where codes is None; else codes are overwritten, as a copy would be one more column.
    """
    groups, keys = (1, np.zeros(len(truth), dtype=np.int64)) if codes is None else (int(codes.max()) + 1, codes)
    keys *= 6
    for start in range(0, len(truth), _BLOCK):
        rows = slice(start, start + _BLOCK)
        keys[rows] += _state(answer[rows])
        keys[rows] += np.where(truth[rows] == 1.0, 3, 0)
    return np.bincount(keys, minlength=groups * 6).reshape(groups, 6)


class _Clustered:
    """The clustered estimates of what is defined; the undefined ones are those of the counts.

    `table` has a line for each cluster, and the columns of `_table`.
    """

    def __init__(self, table: IntArray, counts: Confusion, level: float) -> None:
        self.counts, self.level = counts, level
        self.tn, self.fp, lost_0, self.fn, self.tp, lost_1 = table.T
        self.positive, self.negative = self.tp + self.fn, self.tn + self.fp
        self.right, self.valid, self.every = self.tp + self.tn, self.positive + self.negative, table.sum(axis=1)
        self.lost_0, self.lost_1 = lost_0, lost_1
        self.warned: tuple[Caution, ...] = classification.invalid_cautions(counts)

    def metrics(self) -> dict[str, Estimate]:
        estimates = self.rates()
        if not self.counts.valid:
            return estimates
        repeats = estimates["accuracy_valid"].cautions
        estimates["accuracy_valid"] = replace(estimates["accuracy_valid"], cautions=(*repeats, *self.warned))
        invalid = (self.lost_1, self.lost_0)
        for name, lost in (("balanced_accuracy", (0, 0)), ("balanced_accuracy_effective", invalid)):
            joined = self.balanced(self.positive + lost[0], self.negative + lost[1])
            if joined is not None:
                estimates[name] = replace(joined, cautions=_each((*repeats, *joined.cautions, *self.warned)))
        if classification.mcc_undefined(self.counts, self.level) is None:
            rates = (*estimates["tpr"].cautions, *estimates["tnr"].cautions)
            estimates["mcc"] = replace(self.mcc(), cautions=_each((*repeats, *rates, *self.warned)))
        estimates["bias"] = classification.bias(self.counts, level=self.level, signed=self.signed())
        return estimates

    def rates(self) -> dict[str, Estimate]:
        least, most = self.rate(self.right, self.every), self.rate(self.right + self.every - self.valid, self.every)
        bounds = classification.accuracy_bounds(self.counts, level=self.level)
        also: dict[str, Number] = {**bounds.also, "lo_ci": least.lo, "hi_ci": most.hi}
        estimates = {
            "accuracy_effective": least,
            "accuracy_bounds": replace(bounds, also=also, cautions=least.cautions),
            "coverage": self.rate(self.valid, self.every),
        }
        classes = (("tpr", self.tp, self.positive), ("tnr", self.tn, self.negative))
        for name, ones, rows in (("accuracy_valid", self.right, self.valid), *classes):
            if rows.any():
                estimates[name] = self.rate(ones, rows)
        return estimates

    def rate(self, ones: IntArray, rows: IntArray) -> Estimate:
        """The share of ones among the rows of each cluster."""
        column = ones.astype(np.float64)
        return rate_of(clustering_of_sums(rows, column, column), int(ones.sum()), level=self.level)

    def balanced(self, positive: IntArray, negative: IntArray) -> Estimate | None:
        if not positive.any() or not negative.any():
            return None
        first, second = _influence(self.tp, positive), _influence(self.tn, negative)
        # Zero when no cluster holds both classes, as when a cluster is an item.
        root = math.sqrt(float(first @ first) * float(second @ second))
        correlation = float(first @ second) / root if root > 0.0 else 0.0
        return classification.mover(self.rate(self.tp, positive), self.rate(self.tn, negative), correlation)

    def signed(self) -> Estimate:
        """said 1 - gold 1 over the valid rows."""
        change, square = (self.fp - self.fn).astype(np.float64), (self.fp + self.fn).astype(np.float64)
        tp, fn, fp, tn = self.counts.cells
        return difference_of((tp, fn, fp, tn), clustering_of_sums(self.valid, change, square), level=self.level)

    def mcc(self) -> Estimate:
        there = self.valid > 0
        parts = (self.tp, self.fn, self.fp, self.tn)
        slopes = classification.mcc_gradient(self.counts.cells)
        pulls = sum(
            (slope * part[there] for slope, part in zip(slopes, parts, strict=True)), np.zeros(int(there.sum()))
        )
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


def _influence(ones: IntArray, rows: IntArray) -> FloatArray:
    """What each cluster adds to the error of the rate of ones among its rows."""
    return ones - float(ones.sum()) / float(rows.sum()) * rows


def _each(cautions: tuple[Caution, ...]) -> tuple[Caution, ...]:
    """One caution of each kind: of two classes the one with the fewer items says more."""
    worst: dict[str, Caution] = {}
    for caution in sorted(cautions, key=lambda one: one.number or 0.0, reverse=True):
        worst[caution.id] = caution
    return tuple(worst[id_] for id_ in dict.fromkeys(caution.id for caution in cautions))


def _state(answer: FloatArray) -> IntArray:
    """0, 1, or 2 for an answer that is not valid."""
    return np.where(np.isnan(answer), 2, np.where(answer == 1.0, 1, 0))


def _draws(table: IntArray, clustered: bool, rng: np.random.Generator | None) -> FloatArray:
    """Bootstrap counts of each kind of row: rows drawn where they are independent, else whole clusters."""
    source = resample.generator(rng)
    return (
        resample.cluster_totals(table.astype(np.float64), source)
        if clustered
        else resample.cell_counts(table[0], source)
    )


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
    groups = 1 if codes is None else int(codes.max()) + 1
    keys = cells if codes is None else codes * 18 + cells
    table = np.bincount(keys, minlength=groups * 18).reshape(groups, 18)
    drawn = _draws(table, codes is not None, rng).reshape(-1, 2, 3, 3)
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
