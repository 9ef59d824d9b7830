"""The numbers of one checkpoint: accuracy, calibration, slices, the adversarial slice, selective risk, perplexity.

Core probes give the headline; adversarial ones are never mixed in. Unscored probes (`model_oov`, ties, failures) and
ambiguous ones are left out of every rate, counted and shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from perpend.canon import JSON, digest
from perpend.errors import DataError
from perpend.reports.checkpoint_perplexity import Sentence, perplexities
from perpend.reports.checkpoint_slices import ALPHA, Cell, cells
from perpend.reports.predictions import Prediction
from perpend.stats import proportions
from perpend.stats.adversarial import Accuracy, AdversarialSlice, aggregate_adversarial
from perpend.stats.bins import Reliability, ReliabilityBin, bin_index, reliability
from perpend.stats.brier import brier_estimate, brier_multiclass_sum
from perpend.stats.calibration import above_chance, ece_above_chance, ece_by_choices, ece_estimate
from perpend.stats.calibration_error import expected_from
from perpend.stats.gate import FloatArray, IntArray
from perpend.stats.proportions import wilson
from perpend.stats.selective import COVERAGES, risk_at, selective
from perpend.types import Estimate, Number

N_BINS = 10


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where the predictions come from. None: not given, and the report says so."""

    checkpoint_sha256: str | None = None
    training_step: int | None = None
    parent_manifest: str | None = None
    probes_sha256: str | None = None
    date: str | None = None
    seed: int | None = None
    scoring: str | None = None
    """How candidates were scored, for example 'log-likelihood per token of the candidate'."""

    def as_json(self) -> dict[str, JSON]:
        """Every fact by its name, None where it was not given."""
        return {name: getattr(self, name) for name in Provenance.__slots__}


@dataclass(frozen=True, slots=True)
class Calibration:
    """How far confidence is from accuracy on one set of probes. Undefined Estimates where the set is empty.

    `gap` is mean confidence minus accuracy; `verdict` says in words what the consistency test of ECE allows.
    """

    ece: Estimate
    brier: Estimate
    gap: Estimate
    reliability: Reliability | None
    by_candidates: Mapping[int, Estimate]
    above_chance: Estimate
    brier_multiclass: Estimate
    brier_multiclass_sum: Estimate
    verdict: str

    def as_json(self) -> dict[str, JSON]:
        """The block in results.json."""
        return {
            "ece": self.ece.as_json(),
            "brier": self.brier.as_json(),
            "confidence_minus_accuracy": self.gap.as_json(),
            "reliability": [] if self.reliability is None else [_bin_json(one) for one in self.reliability.bins],
            "ece_by_candidates": {str(size): one.as_json() for size, one in self.by_candidates.items()},
            "ece_above_chance": self.above_chance.as_json(),
            "brier_multiclass_divided_by_classes": self.brier_multiclass.as_json(),
            "brier_multiclass_sum": self.brier_multiclass_sum.as_json(),
            "verdict": self.verdict,
        }


@dataclass(frozen=True, slots=True)
class Results:
    """Everything that is reported of one checkpoint. `left_out` counts the probes without a rate, by reason."""

    name: str
    provenance: Provenance
    predictions: tuple[Prediction, ...]
    n_bins: int
    left_out: Mapping[str, int]
    accuracy: Estimate
    calibration: Calibration
    cells: tuple[Cell, ...]
    adversarial: AdversarialSlice | None
    """None where no adversarial probe was scored."""
    adversarial_calibration: Calibration
    selective: Mapping[str, Estimate]
    perplexity: Mapping[str, Estimate] = field(default_factory=dict)
    sentences: tuple[Sentence, ...] = ()

    def as_json(self) -> dict[str, JSON]:
        """results.json: the lab's plain numbers under its names, and each with its interval under `estimates`."""
        ece = self.calibration.ece
        return {
            "format": 1,
            "checkpoint": self.name,
            "provenance": {**self.provenance.as_json(), "predictions_sha256": predictions_digest(self.predictions)},
            "n": self.accuracy.n,
            "left_out": dict(self.left_out),
            "accuracy": self.accuracy.value,
            "ece": ece.value,
            "brier": self.calibration.brier.value,
            "n_bins": self.n_bins,
            "min_bin_count": ece.also.get("min_bin_count"),
            "estimates": {"accuracy": self.accuracy.as_json(), **self.calibration.as_json()},
            "adversarial": {
                **_adversarial_json(self.adversarial),
                "calibration": self.adversarial_calibration.as_json(),
            },
            "slices": [cell.as_json() for cell in self.cells],
            "selective": {name: one.as_json() for name, one in self.selective.items()},
            "perplexity": {name: one.as_json() for name, one in self.perplexity.items()},
        }


def bin_accuracy(one: ReliabilityBin) -> Estimate:
    """Accuracy in one bin with Wilson's interval; undefined in an empty one."""
    return wilson(round((one.accuracy or 0.0) * one.count), one.count)


def _bin_json(one: ReliabilityBin) -> dict[str, JSON]:
    interval = bin_accuracy(one)
    return {
        "lo": one.lo,
        "hi": one.hi,
        "count": one.count,
        "confidence": one.confidence,
        "accuracy": one.accuracy,
        "wilson": None if one.count == 0 else [interval.lo, interval.hi],
    }


def predictions_digest(predictions: Sequence[Prediction]) -> str:
    """SHA-256 over all predictions in order: what the numbers came from."""
    return digest([one.as_json() for one in predictions])


def evaluate(
    predictions: Sequence[Prediction],
    *,
    name: str,
    provenance: Provenance | None = None,
    perplexity: Sequence[Sentence] = (),
    n_bins: int = N_BINS,
) -> Results:
    """Every number of one checkpoint from its predictions, and perplexity from the sentences of a held-out text.

    A set without a scored probe gives undefined Estimates. The same predictions give the same bytes.
    """
    if not name.strip():
        raise DataError("name: is blank; a checkpoint needs a name, for example 'step-2000'")
    twice = [one for one, times in Counter(p.id for p in predictions).items() if times > 1]
    if twice:
        raise DataError(f"predictions: id {twice[0]!r} occurs twice; ids are unique")
    core, adversarial = (scored(predictions, category) for category in ("core", "adversarial"))
    return Results(
        name=name,
        provenance=provenance or Provenance(),
        predictions=tuple(predictions),
        n_bins=n_bins,
        left_out=_left_out(predictions),
        accuracy=wilson(sum(bool(one.correct) for one in core), len(core)),
        calibration=calibration(core, n_bins),
        cells=cells(core),
        adversarial=_adversarial(adversarial),
        adversarial_calibration=calibration(adversarial, n_bins),
        selective=_selective(core),
        perplexity=perplexities(perplexity),
        sentences=tuple(perplexity),
    )


def scored(predictions: Sequence[Prediction], category: str) -> list[Prediction]:
    """The predictions of one category that have a right or wrong: scored, and not ambiguous."""
    return [one for one in predictions if one.category == category and not one.unscored and not one.is_ambiguous]


def _left_out(predictions: Sequence[Prediction]) -> dict[str, int]:
    reasons = (
        f"{one.category}: {one.unscored or 'ambiguous'}" for one in predictions if one.unscored or one.is_ambiguous
    )
    return dict(sorted(Counter(reasons).items()))


def columns(rows: Sequence[Prediction]) -> tuple[FloatArray, FloatArray]:
    """Confidence and correctness of scored rows."""
    pairs = [(one.confidence, float(bool(one.correct))) for one in rows if one.confidence is not None]
    table = np.array(pairs, dtype=np.float64).reshape(-1, 2)
    return table[:, 0], table[:, 1]


def calibration(rows: Sequence[Prediction], n_bins: int = N_BINS) -> Calibration:
    """ECE, Brier and their companions of some scored rows of one category."""
    nothing = Estimate(None, 0, note="no scored probe")
    if not rows:
        words = "undefined: no scored probe"
        return Calibration(nothing, nothing, nothing, None, {}, nothing, nothing, nothing, words)
    c, y = columns(rows)
    sizes = np.array([len(one.candidates) for one in rows], dtype=np.int64)
    ece, by_size = ece_estimate(c, y, n_bins), {}
    chance = Estimate(None, len(rows), note="some probes have no list of candidates")
    if sizes.all():
        found = ece_by_choices(c, y, sizes, n_bins)
        ece, by_size = found.pooled, dict(found.by_size)
        chance = _above_chance(c, y, sizes, n_bins)
    by_classes, by_sum = _multiclass(rows)
    gap = _gap(c, y)
    return Calibration(
        ece=ece,
        brier=brier_estimate(c, y),
        gap=gap,
        reliability=reliability(c, y, n_bins),
        by_candidates=by_size,
        above_chance=chance,
        brier_multiclass=by_classes,
        brier_multiclass_sum=by_sum,
        verdict=_verdict(ece, gap),
    )


def _gap(c: FloatArray, y: FloatArray) -> Estimate:
    """Mean confidence minus accuracy, and in `also` z and p if every row is right with its confidence."""
    found = proportions.mean(c - y)
    spread = float(np.sqrt((c * (1.0 - c)).sum()))
    z = float((c - y).sum()) / spread if spread > 0.0 else None
    return replace(found, also={**found.also, "z_if_calibrated": z})


def _verdict(ece: Estimate, gap: Estimate) -> str:
    """One test decides, the consistency test of ECE; the mean gap then only names the direction."""
    p, z = ece.also.get("p_calibrated"), gap.also.get("z_if_calibrated")
    if not isinstance(p, float) or p > ALPHA:
        return "not distinguishable from calibrated"
    if gap.value and (not isinstance(z, float) or abs(z) > proportions.normal_quantile(1.0 - ALPHA)):
        return "overconfident" if gap.value > 0.0 else "underconfident"
    return "miscalibrated, in both directions"


def _above_chance(c: FloatArray, y: FloatArray, sizes: IntArray, n_bins: int) -> Estimate:
    """ECE with confidence and accuracy both rescaled so that 0 is a guess; undefined below the chance of a guess."""
    method = "(c - 1/k) / (1 - 1/k)"
    if bool((c < 1.0 / sizes - 1e-9).any()):
        note = "a confidence is below chance, so it is not the largest of its candidates"
        return Estimate(None, len(c), method=method, note=note)
    scale = 1.0 - 1.0 / sizes
    variance = np.zeros(n_bins)
    np.add.at(variance, bin_index(above_chance(c, sizes), n_bins), c * (1.0 - c) / scale**2)
    also: dict[str, Number] = {"expected_if_calibrated": expected_from(variance, len(c)), "n_bins": n_bins}
    return Estimate(ece_above_chance(c, y, sizes, n_bins), len(c), method=method, also=also)


def _multiclass(rows: Sequence[Prediction]) -> tuple[Estimate, Estimate]:
    """The lab's form, each row's sum divided by its number of candidates, and the sum form; where all rows allow it."""
    sums, sizes = [], []
    for one in rows:
        if one.probabilities is None or one.expected is None:
            missing = Estimate(None, 0, note="some probes have no probabilities of their candidates")
            return missing, missing
        sums.append(brier_multiclass_sum([one.probabilities], [one.candidates.index(one.expected)]))
        sizes.append(len(one.candidates))
    return proportions.mean(np.array(sums) / np.array(sizes)), proportions.mean(sums)


@dataclass(frozen=True, slots=True)
class _Judged:
    """A prediction as the lab's aggregator wants it: it was right exactly where the two texts agree."""

    reason_code: str
    predicted: str
    expected: str = "right"


def _adversarial(rows: Sequence[Prediction]) -> AdversarialSlice | None:
    judged = [_Judged(one.reason_code, "right" if one.correct else "wrong") for one in rows]
    return aggregate_adversarial(judged, judged) if judged else None


def _accuracy_json(found: Accuracy) -> dict[str, JSON]:
    return {
        "n": found["n"],
        "correct": found["correct"],
        "accuracy": found["accuracy"],
        "wilson": list(found["wilson"]),
        "low_sample": found["low_sample"],
    }


def _adversarial_json(found: AdversarialSlice | None) -> dict[str, JSON]:
    if found is None:
        overall: dict[str, JSON] = {"n": 0, "correct": 0, "accuracy": None, "wilson": None, "low_sample": True}
        return {"overall": overall, "by_category": {}}
    return {
        "overall": _accuracy_json(found["overall"]),
        "by_category": {code: _accuracy_json(one) for code, one in found["by_category"].items()},
    }


def _selective(rows: Sequence[Prediction]) -> dict[str, Estimate]:
    if not rows:
        return {}
    c, y = columns(rows)
    areas = selective(c, y)
    also: dict[str, Number] = {"augrc": areas.augrc, "oracle": areas.oracle, "e_aurc": areas.e_aurc}
    found = {"aurc": Estimate(areas.aurc, areas.n, method="tie-averaged", also=also, cautions=areas.cautions)}
    return found | {f"risk_at_{share:.0%}": risk_at(c, y, share) for share in COVERAGES}
