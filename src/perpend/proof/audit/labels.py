"""Human labels against scorers: how often a scorer is right, and what its errors do to the rate that it gives.

labels.jsonl (`measure/labels.py`) is beside a run or in a published folder. A scorer's name without a version means all
its versions. Several readers of one trial are taken by majority; a tie is left out and counted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from perpend.canon import JSON
from perpend.errors import DataError, did_you_mean
from perpend.measure.labels import read_labels
from perpend.measure.run import Run
from perpend.measure.table import Column
from perpend.stats.proportions import normal_quantile, wilson
from perpend.types import Estimate

ASSUMED = "as if labelled trials were drawn without a look at the scorer's verdict"

Votes: TypeAlias = dict[tuple[str, int], list[int]]
"""The readers' values for a scorer, as it is written in the file, and a trial."""


@dataclass(frozen=True, slots=True)
class Judged:
    """One scorer version against the readers.

    Precision is right 1s / scorer's 1s, recall right 1s / readers' 1s, specificity right 0s / readers' 0s.
    `unscored` counts labelled trials that the scorer gave no value, `ties` those on which readers split evenly.
    `corrected` holds for the run and each condition the scorer's rate and the rate corrected for its errors.
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
    columns = run.columns()
    votes = _votes(run, path, {name.partition("@")[0] for name in columns})
    comparisons = []
    for written in dict.fromkeys(scorer for scorer, _ in votes):
        stem, _, version = written.partition("@")
        names = [
            name for name in columns if name.partition("@")[0] == stem and name.endswith(f"@{version}" * bool(version))
        ]
        if not names:
            raise DataError(f"{path}: no scores of {written!r}; {did_you_mean(written, columns)}")
        own = {trial: values for (scorer, trial), values in votes.items() if scorer == written}
        comparisons += [_judged(columns[name], own) for name in names]
    return comparisons


def _votes(run: Run, path: Path, known: AbstractSet[str]) -> Votes:
    """Every label that names a scorer and a value; a reader who could not decide casts no vote.

    A rubric names the scorer that claims to measure the same; a run need not have been scored by it.
    """
    votes: Votes = {}
    for label in read_labels(run, path):
        is_about = label.scorer and (not label.rubric or label.scorer in known)
        if is_about and label.value is not None:
            votes.setdefault((label.scorer, label.trial - 1), []).append(label.value)
    return votes


def _judged(column: Column, votes: Mapping[int, Sequence[int]]) -> Judged:
    means = {trial: sum(values) / len(values) for trial, values in votes.items()}
    ties = sum(mean == 0.5 for mean in means.values())
    pairs = [(mean > 0.5, float(column.all_values[trial])) for trial, mean in means.items() if mean != 0.5]
    scored = [(truth, value >= 0.5) for truth, value in pairs if not math.isnan(value)]
    tp, fp, fn = (scored.count(pair) for pair in ((True, True), (False, True), (True, False)))
    tn = len(scored) - tp - fp - fn
    recall, specificity = wilson(tp, tp + fn), wilson(tn, tn + fp)
    parts = {"all trials": column, **{f"condition {name}": part for name, part in column.by("condition").items()}}
    rates = {where: part.rate() for where, part in parts.items()}
    return Judged(
        scorer=column.name,
        n=len(scored),
        unscored=len(pairs) - len(scored),
        ties=ties,
        precision=wilson(tp, tp + fp),
        recall=recall,
        specificity=specificity,
        corrected={where: (rate, corrected(rate, recall, specificity)) for where, rate in rates.items()},
    )


def corrected(rate: Estimate, recall: Estimate, specificity: Estimate, level: float = 0.95) -> Estimate:
    """The rate of what the readers call 1: (rate + specificity - 1) / (recall + specificity - 1), cut to [0, 1].

    Rogan and Gladen 1978; the interval is that of Lang and Reiczigel 2014, which knows that recall and specificity are
    estimates too, at the rate's effective number of rows. Undefined where the scorer is no better than a coin
    (recall + specificity <= 1), and where the labels hold no 1 or no 0.
    """
    p, se, sp = rate.value, recall.value, specificity.value
    method = "Rogan-Gladen, Lang-Reiczigel interval"
    why = ""
    if p is None or se is None or sp is None:
        why = rate.note if p is None else f"the labels hold no {'1' if se is None else '0'}"
    elif se + sp <= 1.0:
        why = f"recall {se:.3f} + specificity {sp:.3f} is not above 1: the scorer is no better than a coin"
    if why or p is None or se is None or sp is None:
        return Estimate(None, rate.n, method=method, note=why, level=level)
    effective = rate.also.get("n_effective")
    n = float(effective) if isinstance(effective, int | float) else float(rate.n)
    value = min(max((p + sp - 1.0) / (se + sp - 1.0), 0.0), 1.0)
    lo, hi = _interval((p, n), (se, recall.n), (sp, specificity.n), normal_quantile(level))
    return Estimate(value, rate.n, min(lo, value), max(hi, value), method, ASSUMED, level, {"stored": p})


def _interval(
    rate: tuple[float, float], recall: tuple[float, int], specificity: tuple[float, int], z: float
) -> tuple[float, float]:
    """Lang and Reiczigel's blend: shares moved towards one half before the delta method, then a shift of the centre."""
    n, n_se, n_sp = rate[1] + z * z, recall[1] + 2.0, specificity[1] + 2.0
    p = (rate[0] * rate[1] + z * z / 2.0) / n
    se, sp = (recall[0] * recall[1] + 1.0) / n_se, (specificity[0] * specificity[1] + 1.0) / n_sp
    youden = se + sp - 1.0
    if youden <= 0.0:
        return 0.0, 1.0
    centre = (p + sp - 1.0) / youden
    of_se, of_sp = se * (1.0 - se) / n_se, sp * (1.0 - sp) / n_sp
    shift = 2.0 * z * z * (centre * of_se - (1.0 - centre) * of_sp)
    variance = (p * (1.0 - p) / n + centre * centre * of_se + (1.0 - centre) ** 2 * of_sp) / (youden * youden)
    half = z * math.sqrt(variance)
    return min(max(centre + shift - half, 0.0), 1.0), min(max(centre + shift + half, 0.0), 1.0)
