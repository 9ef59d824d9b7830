"""Human labels against scorers: how often a scorer is right, and what its errors do to the rate that it gives.

labels.jsonl (`measure/labels.py`) is beside a run or in a published folder. A scorer's name without a version means all
its versions. Several readers of one trial are taken by majority; a tie is left out and counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from perpend.canon import JSON
from perpend.errors import DataError, did_you_mean
from perpend.measure.calibrated import labelled_trials
from perpend.measure.judged import JudgedRows, judged_rows
from perpend.measure.keys import BoolArray
from perpend.measure.labels import read_labels
from perpend.measure.run import Run
from perpend.stats.corrected import corrected_rate
from perpend.stats.judged import precision, sensitivity, specificity
from perpend.types import Estimate


@dataclass(frozen=True, slots=True)
class Judged:
    """One scorer version against the readers.

    Precision is right 1s / scorer's 1s, recall right 1s / readers' 1s, specificity right 0s / readers' 0s.
    `unscored` counts labelled trials that the scorer gave no value, `ties` those on which readers split evenly.
    `corrected` holds for the run and each condition the scorer's rate, and the rate corrected by PPI++ with the labels
    there.
    """

    scorer: str
    n: int
    unscored: int
    ties: int
    precision: Estimate
    recall: Estimate
    specificity: Estimate
    corrected: Mapping[str, tuple[Estimate, Estimate]]

    def as_json(self) -> dict[str, JSON]:
        """The block in the audit's JSON."""
        return {
            "scorer": self.scorer,
            "n": self.n,
            "unscored": self.unscored,
            "ties": self.ties,
            "precision": self.precision.as_json(),
            "recall": self.recall.as_json(),
            "specificity": self.specificity.as_json(),
            "rates": {
                where: {"stored": stored.as_json(), "corrected": corrected.as_json()}
                for where, (stored, corrected) in self.corrected.items()
            },
        }

    def as_lines(self) -> Iterator[str]:
        """The lines under the audit's table."""
        left_out = f", {self.unscored} without a verdict" if self.unscored else ""
        left_out += f", {self.ties} on which readers split evenly" if self.ties else ""
        yield f"{self.scorer} against {self.n} human labels{left_out}"
        for name in ("precision", "recall", "specificity"):
            yield f"    {name:<12} {getattr(self, name)}"
        for where, (stored, corrected) in self.corrected.items():
            yield f"    rate, {where}: {stored}; corrected {corrected}"


def judged(run: Run, path: Path) -> list[Judged]:
    """Every scorer version that the labels are about. No file, no labels."""
    if not path.is_file():
        return []
    columns = run.table.scorers
    known = {name.partition("@")[0] for name in columns}
    # A rubric names the scorer that claims to measure the same; a run need not have been scored by it.
    about = [one.scorer for one in read_labels(run) if one.scorer and (not one.rubric or one.scorer in known)]
    names: dict[str, None] = {}
    for written in dict.fromkeys(about):
        stem, _, version = written.partition("@")
        fitting = [
            name for name in columns if name.partition("@")[0] == stem and name.endswith(f"@{version}" * bool(version))
        ]
        if not fitting:
            raise DataError(f"{path}: no scores of {written!r}; {did_you_mean(written, columns)}")
        names |= dict.fromkeys(fitting)
    return [_judged(run, name) for name in names]


def _judged(run: Run, name: str) -> Judged:
    """The same labels, errors and corrections as in the report of the run (`measure/calibrated.py`)."""
    rows, column = judged_rows(run, name), run.table.column(name)
    everything, has_verdict = np.ones(len(rows.label), dtype=np.bool_), ~np.isnan(rows.rule)
    read = np.any([~np.isnan(values) for values in rows.readers.values()], axis=0)
    trials = labelled_trials(rows.rule, rows, everything) if has_verdict.any() else None
    parts = {"all trials": everything}
    parts |= {f"condition {one}": rows.condition == code for code, one in enumerate(rows.names["condition"])}
    rates = {where: column.at(own).rate() for where, own in parts.items()}
    nothing = Estimate(None, 0, note="no trial has a verdict")
    return Judged(
        scorer=name,
        n=int((rows.labelled & has_verdict).sum()),
        unscored=int((rows.labelled & ~has_verdict).sum()),
        ties=int((read & ~rows.labelled & ~rows.undecidable).sum()),
        precision=nothing if trials is None else precision(trials),
        recall=nothing if trials is None else sensitivity(trials),
        specificity=nothing if trials is None else specificity(trials),
        corrected={where: (rate, _corrected(rows, parts[where])) for where, rate in rates.items()},
    )


def _corrected(rows: JudgedRows, own: BoolArray) -> Estimate:
    if not (own & rows.labelled & ~np.isnan(rows.rule)).any():
        return Estimate(None, 0, note="no trial with a verdict is labelled here")
    return corrected_rate(labelled_trials(rows.rule, rows, own))
