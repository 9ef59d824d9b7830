"""Predictions → numbers: balanced accuracy and MCC with TPR and TNR beside them, coverage, bias, by family and split.

Of `total` items, `valid` have a label, `invalid` a whole reply without one, `unfinished` a reply that was cut off and
`errors` none. Coverage is valid / total. Accuracies are over valid items; the 'effective' ones over all that got a
reply, where what is not valid counts as wrong. An error is nobody's answer: it lowers coverage and nothing else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from perpend.canon import JSON
from perpend.compat.chaosbench.items import Label
from perpend.compat.chaosbench.predictions import Prediction
from perpend.stats.binary import binary_metrics
from perpend.stats.classification import Confusion
from perpend.stats.proportions import proportion
from perpend.types import Estimate

LOW_SUPPORT = 100
"""Below so many items a family's number is marked: its interval is wide."""
SUMMARY = ("coverage", "accuracy_valid", "effective_accuracy", "balanced_accuracy", "mcc")
_UNDEFINED = Estimate(None, 0, note="no item got a reply")


@dataclass(frozen=True, slots=True)
class Measured:
    """The counts and estimates of some predictions."""

    total: int
    valid: int
    invalid: int
    unfinished: int
    errors: int
    confusion: Confusion
    estimates: Mapping[str, Estimate]
    clustered_by: str

    @property
    def correct(self) -> int:
        """Right labels."""
        return self.confusion.tp + self.confusion.tn

    def value(self, name: str) -> float | None:
        """The value of an estimate; None where it is undefined."""
        return self.estimates.get(name, _UNDEFINED).value

    def numbers(self) -> dict[str, JSON]:
        """The numbers by the reference's names, and those that belong beside them. None is undefined."""
        bias = self.estimates.get("bias", _UNDEFINED)
        return {
            "total": self.total,
            "valid": self.valid,
            "invalid": self.invalid,
            "unfinished": self.unfinished,
            "errors": self.errors,
            "correct": self.correct,
            "coverage": self.value("coverage"),
            "invalid_rate": self.invalid / self.total if self.total else None,
            "unfinished_rate": self.unfinished / self.total if self.total else None,
            "error_rate": self.errors / self.total if self.total else None,
            "accuracy_valid": self.value("accuracy_valid"),
            "effective_accuracy": self.value("accuracy_effective"),
            "balanced_accuracy": self.value("balanced_accuracy"),
            "balanced_accuracy_invalid_as_wrong": self.value("balanced_accuracy_effective"),
            "mcc": self.value("mcc"),
            "tpr": self.value("tpr"),
            "tnr": self.value("tnr"),
            "confusion": {name: getattr(self.confusion, name) for name in ("tp", "fp", "tn", "fn")},
            "bias_score": bias.value,
            "bias_verdict": bias.also.get("verdict"),
            "dominant_label": _named(bias.also.get("dominant_label")),
            "low_support": self.total < LOW_SUPPORT,
        }

    def intervals(self) -> dict[str, JSON]:
        """Every estimate with its interval, denominator and method."""
        return {name: estimate.as_json() for name, estimate in self.estimates.items()}


def _named(label: float | int | str | None) -> Label | None:
    return None if label is None else "TRUE" if label == 1 else "FALSE"


def measure(predictions: Sequence[Prediction]) -> Measured:
    """The numbers of some predictions; intervals clustered by group or system where every item has one."""
    states = Counter(prediction.outcome for prediction in predictions)
    answered = [prediction for prediction in predictions if prediction.outcome != "ERROR"]
    clusters, told = _clusters(predictions)
    estimates: dict[str, Estimate] = {}
    confusion = Confusion(0, 0, 0, 0)
    if answered:
        gold = np.array([prediction.truth == "TRUE" for prediction in answered], dtype=np.float64)
        said = np.array([_said(prediction) for prediction in answered])
        kept = [c for c, prediction in zip(clusters or (), predictions, strict=False) if prediction.outcome != "ERROR"]
        estimates = binary_metrics(gold, said, kept or None)
        tp, fp = int(((said == 1) & (gold == 1)).sum()), int(((said == 1) & (gold == 0)).sum())
        tn, fn = int(((said == 0) & (gold == 0)).sum()), int(((said == 0) & (gold == 1)).sum())
        lost = np.isnan(said)
        confusion = Confusion(tp, fn, fp, tn, int(lost.sum()), int((lost & (gold == 1)).sum()))
    if predictions:
        valid = np.array([prediction.label is not None for prediction in predictions], dtype=np.float64)
        estimates["coverage"] = proportion(valid, clusters)
    return Measured(
        total=len(predictions),
        valid=states["VALID_TRUE"] + states["VALID_FALSE"],
        invalid=states["INVALID"],
        unfinished=states["UNFINISHED"],
        errors=states["ERROR"],
        confusion=confusion,
        estimates=estimates,
        clustered_by=told,
    )


def _said(prediction: Prediction) -> float:
    return np.nan if prediction.label is None else float(prediction.label == "TRUE")


def _clusters(predictions: Sequence[Prediction]) -> tuple[list[str] | None, str]:
    found = [prediction.cluster for prediction in predictions]
    known = [cluster for cluster in found if cluster is not None]
    if not known or len(known) < len(found):
        return None, "nothing: the predictions name no group and no system"
    return known, f"{len(set(known))} groups of items with a common fact or system"


def by_family(predictions: Sequence[Prediction]) -> dict[str, Measured]:
    """The numbers of each family, in the order in which they first occur."""
    return {name: measure(rows) for name, rows in _grouped(predictions, "family").items()}


def by_split(predictions: Sequence[Prediction]) -> dict[str, Measured]:
    """The numbers of each split; items without one are 'unknown'."""
    return {name: measure(rows) for name, rows in _grouped(predictions, "split").items()}


def _grouped(predictions: Sequence[Prediction], key: str) -> dict[str, list[Prediction]]:
    groups: dict[str, list[Prediction]] = {}
    for prediction in predictions:
        groups.setdefault(str(getattr(prediction, key)), []).append(prediction)
    return groups


def first_replies(predictions: Sequence[Prediction]) -> dict[str, JSON]:
    """Coverage of the first replies and after the second ones, over all items; None where the file does not say."""
    total = len(predictions)
    known = [prediction for prediction in predictions if prediction.first is not None]
    valid = sum(prediction.first in ("VALID_TRUE", "VALID_FALSE") for prediction in known)
    return {
        "reprompted": sum(prediction.retry_outcome is not None for prediction in predictions),
        "coverage_first_reply": valid / total if total and len(known) == total else None,
        "coverage_after_reprompt": sum(p.label is not None for p in predictions) / total if total else None,
    }


def invalid_kinds(predictions: Sequence[Prediction]) -> dict[str, JSON]:
    """Invalid replies by kind: empty_response, refusal, hedging, formatting_failure; and by true label."""
    from perpend.text.refusal import refusal

    kinds: Counter[str] = Counter()
    for prediction in predictions:
        if prediction.outcome == "INVALID":
            text = prediction.text or ""
            hedges = "hedge" in prediction.reason or "ambiguity" in prediction.reason
            declined = not hedges and refusal(text) is not None
            kind = "hedging" if hedges else "refusal" if declined else "formatting_failure"
            kinds[kind if text.strip() else "empty_response"] += 1
            kinds[f"truth_{prediction.truth}"] += 1
    return dict(sorted(kinds.items()))
