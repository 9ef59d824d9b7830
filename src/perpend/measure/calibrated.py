"""Rules and judges against the labels of people: how they err, and rates and differences corrected for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from perpend.measure.judged import JudgedRows, judged_rows
from perpend.measure.keys import BoolArray, FloatArray
from perpend.measure.labels import label_lines, read_labels
from perpend.measure.run import Run
from perpend.measure.study import Metric
from perpend.stats.agreement import ac1, alpha, kappa, raw_agreement
from perpend.stats.corrected import Correction, corrected_difference, corrected_rate
from perpend.stats.judged import JudgedTrials, judge_rates
from perpend.stats.unequal_errors import errs_differently
from perpend.types import Estimate

CORRECTIONS: tuple[Correction, ...] = ("ppi", "rogan-gladen")
READERS = "labels"
CASCADE = "cascade"
"""'cascade:endorsed@M': the newest rule where it has a verdict, else the judge M."""
_AGREEMENTS = {"agreement": raw_agreement, "kappa": kappa, "ac1": ac1, "alpha": alpha}


def calibration_metrics(run: Run, lines: int | None = None) -> Iterator[Metric]:
    """For every rule and judge of what people labelled; nothing where there is no label.

    Where a judge has verdicts that the newest rule has not, also for both in turn, as 'cascade:endorsed@M'. Overall and
    by model and condition: sensitivity, specificity, precision, npv, agreement, kappa, ac1, and `corrected_rate` by
    PPI++ and by Rogan and Gladen, with the uncorrected one in `also`. For each condition against the first:
    `corrected_difference` over the same items, and `errs_differently`, the p of equal errors under both. Of the
    readers: `labelled`, trials with a label / trials that somebody read, and their agreement where there are several.
    `lines` limits this to the first lines of the file; `labelled` says how many there were.
    """
    labels = read_labels(run, lines=lines)
    counted = label_lines(run) if lines is None else min(lines, label_lines(run))
    stems = dict.fromkeys(name.partition("@")[0] for one in labels for name in (one.scorer or one.rubric,))
    for stem in stems:
        rules = [name for name in run.table.scorers if name.partition("@")[0] == stem]
        judges = [name for name in run.table.scorers if name.startswith(f"judged:{stem}@")]
        if not rules:
            continue
        for column, rows in _columns(run, rules, judges, lines):
            if (rows.labelled & ~np.isnan(column.verdicts)).any():
                yield from column.metrics(rows)
        yield from _readers(stem, judged_rows(run, rules[-1], judges[0] if judges else None, lines=lines), counted)


def reader_metrics(run: Run) -> Iterator[Metric]:
    """Of the readers alone: `labelled` and their agreement, for each scorer whose claim they labelled."""
    labels = read_labels(run)
    for stem in dict.fromkeys((one.scorer or one.rubric).partition("@")[0] for one in labels):
        rules = [name for name in run.table.scorers if name.partition("@")[0] == stem]
        if rules:
            yield from _readers(stem, judged_rows(run, rules[-1], None), label_lines(run))


def _columns(run: Run, rules: list[str], judges: list[str], lines: int | None) -> Iterator[tuple[_Column, JudgedRows]]:
    first = judges[0] if judges else None
    for name in rules:
        rows = judged_rows(run, name, first, lines=lines)
        yield _Column(name, run.table.column(name).digest(), rows.rule), rows
    for name in judges:
        rows = judged_rows(run, rules[-1], name, lines=lines)
        digest = run.table.digest([rules[-1], name], np.ones(len(run.table), dtype=np.bool_))
        yield _Column(name, run.table.column(name).digest(), rows.judge), rows
        if (np.isnan(rows.rule) & ~np.isnan(rows.judge)).any():
            yield _Column(f"{CASCADE}:{name.partition(':')[2]}", digest, rows.cascade), rows


def labelled_trials(verdicts: FloatArray, rows: JudgedRows, own: BoolArray) -> JudgedTrials:
    """Some trials with their labels and the probability with which each label was drawn.

    Where that is not known of every label among them, all count as drawn with the same probability.
    """
    known = not np.isnan(rows.probability[own & rows.labelled]).any()
    return JudgedTrials(verdicts[own], rows.label[own], rows.item[own], rows.probability[own] if known else None)


@dataclass(frozen=True, slots=True)
class _Column:
    """The verdicts of one rule or judge."""

    name: str
    digest: str
    verdicts: FloatArray

    def metrics(self, rows: JudgedRows) -> Iterator[Metric]:
        everything = np.ones(len(rows.label), dtype=np.bool_)
        cells = list(zip(rows.model.tolist(), rows.condition.tolist(), strict=True))
        for where, rates in self._rates(rows, cells):
            yield from (self._metric(name, where, estimate) for name, estimate in rates.items())
        for group in (None, *dict.fromkeys(cells)):
            own = everything if group is None else np.array([cell == group for cell in cells])
            yield from self._corrected(rows, own, {} if group is None else _named(rows, group))
        models = range(len(rows.names["model"]))
        for model in (None, *(models if len(models) > 1 else ())):
            own = everything if model is None else rows.model == model
            yield from self._differences(rows, own, {} if model is None else {"model": rows.names["model"][model]})

    def _metric(self, name: str, where: Mapping[str, str], estimate: Estimate) -> Metric:
        return Metric(name, self.name, where, estimate, self.digest)

    def _is_labelled(self, rows: JudgedRows, own: BoolArray) -> bool:
        return bool((own & rows.labelled & ~np.isnan(self.verdicts)).any())

    def _rates(
        self, rows: JudgedRows, cells: list[tuple[int, int]]
    ) -> Iterator[tuple[Mapping[str, str], Mapping[str, Estimate]]]:
        everything = np.ones(len(rows.label), dtype=np.bool_)
        judged = labelled_trials(self.verdicts, rows, everything)
        yield {}, judge_rates(judged)["all"]
        by_cell = judge_rates(judged, cells)
        labelled = rows.labelled & ~np.isnan(self.verdicts)
        for cell in dict.fromkeys(cell for cell, is_labelled in zip(cells, labelled, strict=True) if is_labelled):
            yield _named(rows, cell), by_cell[cell]

    def _corrected(self, rows: JudgedRows, own: BoolArray, where: Mapping[str, str]) -> Iterator[Metric]:
        if self._is_labelled(rows, own):
            judged = labelled_trials(self.verdicts, rows, own)
            for method in CORRECTIONS:
                yield self._metric("corrected_rate", {**where, "by": method}, corrected_rate(judged, method=method))

    def _differences(self, rows: JudgedRows, own: BoolArray, where: Mapping[str, str]) -> Iterator[Metric]:
        first, *others = rows.names["condition"]
        under = [own & (rows.condition == number) for number in range(len(rows.names["condition"]))]
        for name, second in zip(others, under[1:], strict=True):
            sides = under[0], second
            if not all(self._is_labelled(rows, side) for side in sides) or not _shared(rows, self.verdicts, *sides):
                continue
            control, pressure = (labelled_trials(self.verdicts, rows, side) for side in sides)
            pair = {**where, "condition": f"{first} → {name}"}
            for method in CORRECTIONS:
                difference = corrected_difference(control, pressure, method=method)
                yield self._metric("corrected_difference", {**pair, "by": method}, difference)
            yield self._metric("errs_differently", pair, errs_differently(control, pressure))


def _shared(rows: JudgedRows, verdicts: FloatArray, first: BoolArray, second: BoolArray) -> bool:
    """Whether some item has a verdict on both sides."""
    has = ~np.isnan(verdicts)
    return bool(np.isin(rows.item[first & has], rows.item[second & has]).any())


def _named(rows: JudgedRows, cell: tuple[int, int]) -> dict[str, str]:
    model, condition = cell
    return {"model": rows.names["model"][model], "condition": rows.names["condition"][condition]}


def _readers(stem: str, rows: JudgedRows, lines: int) -> Iterator[Metric]:
    read = rows.labelled | rows.undecidable
    for values in rows.readers.values():
        read |= ~np.isnan(values)
    n, k = int(read.sum()), int(rows.labelled.sum())
    drawn = int((rows.labelled & ~np.isnan(rows.probability)).sum())
    also = {
        "k": k,
        "drawn": drawn,
        "undecidable": int(rows.undecidable.sum()),
        "readers": len(rows.readers),
        "lines": lines,
    }
    method = "trials with a label / trials that somebody read"
    yield Metric("labelled", f"{READERS}:{stem}", {}, Estimate(k / n if n else None, n, method=method, also=also))
    raters = [values[read] for values in rows.readers.values()]
    if len(raters) > 1:
        for name, statistic in _AGREEMENTS.items():
            if name == "kappa" and len(raters) != 2:  # it is of two; alpha is of any number
                continue
            yield Metric(name, f"{READERS}:{stem}", {}, statistic(raters, rows.item[read]))
