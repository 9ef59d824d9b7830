"""A column's scores by model and item, of the items that all models were asked; and what is left out, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from perpend.errors import SpecError
from perpend.measure.keys import BoolArray, FloatArray, IntArray, joined
from perpend.report.rank_trials import RankedTrials

MISSING = ("shared", "pairwise", "zero")
"""What becomes of a trial without a value: its item is left out for all, or for its model, or it counts as 0."""


@dataclass(frozen=True, slots=True)
class ItemScores:
    """One column under one condition ('' for all together): each model's score on each item.

    That is the mean over its conditions and settings, equally, of the mean over its repeats with a value; there is
    none where one of these has no value.

    `n_shared` counts the items that every model was asked and the scorer can judge; `n_elsewhere` those that only some
    were asked; `n_unfit` those that the scorer cannot judge. `unscored` has for each ranked model the shared items on
    which it lacks a value, `apart` the same for models that lack too many and are not ranked. Fewer than two models are
    no ranking, and `reason` says why.
    """

    column: str
    condition: str
    by_model: Mapping[str, Sequence[float]]
    n_shared: int
    n_elsewhere: int
    n_unfit: int
    unscored: Mapping[str, int] = field(default_factory=dict)
    apart: Mapping[str, int] = field(default_factory=dict)
    reason: str = ""

    @property
    def title(self) -> str:
        """The column and the condition."""
        return f"{self.column} under {self.condition}" if self.condition else self.column


def item_scores(trials: RankedTrials, column: str, *, pooled: bool, missing: str) -> Iterator[ItemScores]:
    """The scores of a column under each condition, or under all together."""
    values, unfit = trials.values(column)
    if missing == "zero":
        if not np.isin(values[~np.isnan(values)], (0.0, 1.0)).all():
            raise SpecError(f"--missing zero is for columns of 0 and 1; {column} has other values")
        values = np.where(np.isnan(values) & ~unfit, 0.0, values)
    if pooled:
        yield _scores(trials, (values, unfit), np.ones(len(values), dtype=np.bool_), (column, ""), missing)
        return
    for condition in np.unique(trials.codes["condition"]).tolist():
        rows = trials.codes["condition"] == condition
        yield _scores(trials, (values, unfit), rows, (column, trials.names["condition"][condition]), missing)


def _scores(
    trials: RankedTrials, values: tuple[FloatArray, BoolArray], rows: BoolArray, names: tuple[str, str], missing: str
) -> ItemScores:
    models, codes = trials.names["model"], trials.codes["model"][rows]
    cells, items = _cells(trials, rows)
    planned, unfit = np.zeros((len(models), len(items)), dtype=np.bool_), np.zeros(len(items), dtype=np.bool_)
    planned[codes, cells] = True
    unfit[cells[values[1][rows]]] = True
    asked = planned.all(axis=0)
    kept = asked & ~unfit
    own_items, place = np.unique(items[kept], return_inverse=True)
    cell_means = _means(values[0][rows], codes * len(items) + cells, planned.shape)[:, kept]
    # The mean over the cells of each item, equally; nan where one of them has no value.
    scores = np.array([np.bincount(place, line, len(own_items)) for line in cell_means]) / np.bincount(place)
    n_unfit, n_asked = len(np.unique(items[asked & unfit])), len(np.unique(items[asked]))
    counts = len(own_items), len(np.unique(items)) - n_asked, n_unfit
    lacking = dict(zip(models, np.isnan(scores).sum(axis=1).tolist(), strict=True))
    most = len(own_items) / 2.0 if missing == "shared" else len(own_items) - 0.5
    apart = {name: lost for name, lost in lacking.items() if lost > most}
    ranked = np.array([name not in apart for name in models])
    whole = ~np.isnan(scores[ranked]).any(axis=0) | (missing == "pairwise")
    reason = _reason(counts, len(models), int(ranked.sum()), int(whole.sum()))
    if reason:
        return ItemScores(*names, {}, *counts, apart=apart, reason=reason)
    by_model = {name: line[whole].tolist() for name, line in zip(models, scores, strict=True) if name not in apart}
    return ItemScores(*names, by_model, *counts, {name: lacking[name] for name in by_model}, apart)


def _reason(counts: tuple[int, int, int], models: int, ranked: int, whole: int) -> str:
    """Why there is nothing to rank; '' where there is."""
    n_shared, n_elsewhere, n_unfit = counts
    if not n_shared and n_unfit:
        return f"its scorer cannot judge any of the {n_unfit} items"
    if not n_shared:
        return f"no item was asked of all {models} models; {n_elsewhere} were asked of some"
    if ranked < 2:
        return f"{ranked} of {models} models have a value on half of the {n_shared} items; see --missing"
    return "" if whole else f"none of the {n_shared} items has a value of all {ranked} models; see --missing"


def _means(values: FloatArray, cells: IntArray, shape: tuple[int, ...]) -> FloatArray:
    """The mean of each model's cell, over its trials with a value; nan where there is none."""
    has, size = ~np.isnan(values), int(np.prod(shape))
    with np.errstate(invalid="ignore"):
        mean = np.bincount(cells[has], values[has], size) / np.bincount(cells[has], minlength=size)
    return np.asarray(mean.reshape(shape), dtype=np.float64)


def _cells(trials: RankedTrials, rows: BoolArray) -> tuple[IntArray, IntArray]:
    """For each row the number of its cell (item, condition, setting), and the item of each cell."""
    keys = [key for key in trials.names if key not in ("model", "item")]
    item, *others = (trials.codes[key][rows] for key in ("item", *keys))
    sizes = [len(trials.names[key]) for key in keys]
    width = int(np.prod(sizes))
    numbers, cells = np.unique(item * width + joined(others, sizes), return_inverse=True)
    return cells.astype(np.int64), numbers // width
