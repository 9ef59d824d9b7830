"""Accuracy of the adversarial slice, overall and by trick, in the shape that the calibration lab writes to disk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypedDict

from perpend.errors import DataError
from perpend.stats.proportions import wilson

# Below this a cell is shown, counted in the overall, and flagged: its interval spans nearly everything.
LOW_SAMPLE = 3


class JudgedProbe(Protocol):
    """What the slice needs of a probe: the right answer, and the trick that it plays."""

    @property
    def expected(self) -> str: ...

    @property
    def reason_code(self) -> str: ...


class JudgedPrediction(Protocol):
    """What the slice needs of a prediction: the candidate chosen."""

    @property
    def predicted(self) -> str: ...


class Accuracy(TypedDict):
    """k of n right, with Wilson's interval."""

    n: int
    correct: int
    accuracy: float
    wilson: tuple[float, float]
    low_sample: bool


class AdversarialSlice(TypedDict):
    """The whole slice, and each trick that some probe plays."""

    overall: Accuracy
    by_category: dict[str, Accuracy]


def aggregate_adversarial(probes: Sequence[JudgedProbe], predictions: Sequence[JudgedPrediction]) -> AdversarialSlice:
    """Accuracy with Wilson's interval over all probes and for each reason_code; `low_sample` below 3 probes.

    Probes and predictions pair up by position. No probes at all is an error: the slice then has no accuracy.
    """
    if len(probes) != len(predictions):
        raise DataError(f"{len(probes)} probes but {len(predictions)} predictions; give one prediction per probe")
    right: dict[str, list[bool]] = {}
    for row, (probe, prediction) in enumerate(zip(probes, predictions, strict=True)):
        if not probe.reason_code:
            raise DataError(f"probes: row {row} has no reason_code; an adversarial probe names its trick")
        right.setdefault(probe.reason_code, []).append(prediction.predicted == probe.expected)
    everything = [hit for hits in right.values() for hit in hits]
    return {
        "overall": _accuracy(everything),
        "by_category": {code: _accuracy(hits) for code, hits in sorted(right.items())},
    }


def _accuracy(hits: Sequence[bool]) -> Accuracy:
    share = wilson(sum(hits), len(hits))
    if share.value is None or share.lo is None or share.hi is None:
        raise DataError("probes: there are none, so the adversarial slice has no accuracy; leave it out")
    return {
        "n": share.n,
        "correct": sum(hits),
        "accuracy": share.value,
        "wilson": (share.lo, share.hi),
        "low_sample": share.n < LOW_SAMPLE,
    }
