"""Rule, judge and reader side by side, one row per trial: what a calibration needs, as arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from perpend.errors import SpecError, did_you_mean
from perpend.measure.keys import BoolArray, FloatArray, IntArray
from perpend.measure.labels import HumanLabel, read_labels
from perpend.measure.run import Run


@dataclass(frozen=True, slots=True)
class JudgedRows:
    """Every trial of a run, in plan order. A value is 1, 0, or NaN where there is none.

    `label` is what most readers say; NaN where nobody labelled the trial, readers split evenly, or most could not
    decide (`undecidable`). `probability` is that of the trial to be among the labelled ones, labelled in its stratum /
    answers in its stratum; NaN where it was not labelled, or where it is not known how it was chosen.
    """

    rule_name: str
    judge_name: str
    item: IntArray
    condition: IntArray
    model: IntArray
    names: Mapping[str, tuple[str, ...]]
    """What the codes of item, condition and model stand for."""
    rule: FloatArray
    judge: FloatArray
    label: FloatArray
    undecidable: BoolArray
    probability: FloatArray
    readers: Mapping[str, FloatArray]
    """The values of each reader; NaN where he did not label the trial or could not decide."""

    @property
    def cascade(self) -> FloatArray:
        """The rule where it has a value, else the judge."""
        return np.where(np.isnan(self.rule), self.judge, self.rule)

    @property
    def labelled(self) -> BoolArray:
        """The trials that readers gave a value."""
        return ~np.isnan(self.label)


def judged_rows(run: Run, rule: str, judge: str | None = None, *, lines: int | None = None) -> JudgedRows:
    """The rows of one rule ('endorsed' or 'endorsed@2'), one judge of the same, and the labels of the same.

    `judge` is a column such as 'judged:endorsed@M' (see `Run.with_judge`); None takes the only one of that name, and
    all NaN where there is none. Labels count whose rubric or scorer has the rule's name; `lines` as in `read_labels`.
    """
    table = run.table
    column = table.column(rule)
    stem = column.name.partition("@")[0]
    verdicts = [name for name in table.scorers if name.startswith(f"judged:{stem}@")]
    if judge is None and len(verdicts) > 1:
        raise SpecError(f"several judges of {stem!r}: {', '.join(verdicts)}; name one of them")
    if judge is not None and judge not in verdicts:
        raise SpecError(f"{run.name}: no column {judge!r}; {did_you_mean(judge, verdicts)}")
    chosen = judge or (verdicts[0] if verdicts else "")
    labels = [
        one
        for one in read_labels(run, lines=lines)
        if stem in (one.rubric.partition("@")[0], one.scorer.partition("@")[0])
        if "@" not in one.scorer or one.scorer == column.name
    ]
    n = len(table)
    value, undecidable = _majority(labels, n)
    return JudgedRows(
        rule_name=column.name,
        judge_name=chosen,
        item=table.codes["item"].astype(np.int64),
        condition=table.codes["condition"].astype(np.int64),
        model=table.codes["model"].astype(np.int64),
        names={key: table.values(key) for key in ("item", "condition", "model")},
        rule=column.all_values,
        judge=table.column(chosen).all_values if chosen else np.full(n, np.nan),
        label=value,
        undecidable=undecidable,
        probability=_probabilities(labels, n),
        readers={name: _of_reader(labels, name, n) for name in dict.fromkeys(one.by for one in labels)},
    )


def _majority(labels: Sequence[HumanLabel], n: int) -> tuple[FloatArray, BoolArray]:
    votes: dict[int, list[int | None]] = {}
    for one in labels:
        votes.setdefault(one.trial - 1, []).append(one.value)
    value, undecidable = np.full(n, np.nan), np.zeros(n, dtype=np.bool_)
    for row, own in votes.items():
        ones, zeros = own.count(1), own.count(0)
        undecidable[row] = own.count(None) > max(ones, zeros)
        if ones != zeros and not undecidable[row]:
            value[row] = float(ones > zeros)
    return value, undecidable


def _of_reader(labels: Iterable[HumanLabel], name: str, n: int) -> FloatArray:
    values = np.full(n, np.nan)
    for one in labels:
        if one.by == name:
            values[one.trial - 1] = np.nan if one.value is None else one.value
    return values


def _probabilities(labels: Iterable[HumanLabel], n: int) -> FloatArray:
    """Within a stratum the labelled answers are a random part of it, also where a reader has not come to the end."""
    strata: dict[tuple[str, int], set[int]] = {}
    for one in labels:
        if one.drawn is not None:
            strata.setdefault((one.drawn.stratum, one.drawn.of), set()).add(one.trial - 1)
    values = np.full(n, np.nan)
    for (_, of), rows in strata.items():
        values[list(rows)] = min(1.0, len(rows) / of)
    return values
