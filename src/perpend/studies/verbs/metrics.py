"""Every number of one checkpoint, as Metrics: accuracy, calibration, slices, the adversarial slice, selective risk.

Core probes give the headline; adversarial ones are never mixed in. Unscored probes (`model_oov`, ties, failures) and
ambiguous ones are left out of every rate, counted and listed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from perpend.measure.study import Metric
from perpend.stats import proportions
from perpend.stats.adversarial import Accuracy, aggregate_adversarial
from perpend.stats.bins import Reliability, bin_index, reliability
from perpend.stats.brier import brier_estimate, brier_multiclass_sum
from perpend.stats.calibration import above_chance, ece_above_chance, ece_by_choices, ece_estimate
from perpend.stats.calibration_error import expected_from
from perpend.stats.gate import FloatArray, IntArray
from perpend.stats.proportions import wilson
from perpend.stats.selective import COVERAGES, risk_at, selective
from perpend.studies.verbs.predictions import CATEGORIES, Choice, predictions_digest, scored
from perpend.studies.verbs.slices import ALPHA, slices
from perpend.types import Estimate

N_BINS = 10
Stated: TypeAlias = tuple[str, Mapping[str, str], Estimate]
"""A metric's name, its slice within the checkpoint, and its value."""


def as_metrics(
    stated: Iterable[Stated], choices: Sequence[Choice], scorer: str = "", where: Mapping[str, str] | None = None
) -> Iterator[Metric]:
    """What is stated of some choices as Metrics: of a scorer, at a place."""
    sha256 = predictions_digest(choices)
    for name, place, estimate in stated:
        yield Metric(name, scorer, {**(where or {}), **place}, estimate, sha256)


def checkpoint_numbers(choices: Sequence[Choice], n_bins: int = N_BINS) -> Iterator[Stated]:
    """Every number that a report on one checkpoint prints. A set without a scored probe gives undefined Estimates."""
    for category in CATEGORIES:
        rows, place = scored(choices, category), {"category": category}
        accuracy = wilson(sum(bool(one.correct) for one in rows), len(rows))
        yield "bins", place, Estimate(n_bins, len(rows), method="bins of equal width")
        yield "accuracy", place, accuracy
        yield from _with_unscored(choices, category, accuracy)
        for name, more, estimate in calibration(rows, n_bins):
            yield name, {**place, **more}, estimate
    core, adversarial = (scored(choices, category) for category in CATEGORIES)
    for key, value, accuracy, difference in slices(core):
        cell = {"slice": key, "value": value}
        yield "slice_accuracy", cell, accuracy
        if difference is not None:
            yield "slice_difference", cell, difference
    yield from _tricks(adversarial)
    yield from _selective(core)
    yield from _left_out(choices)
    yield from _confusion([*core, *adversarial])
    yield from _lists(choices, [one for one in (*core, *adversarial) if not one.correct])


def columns(rows: Sequence[Choice]) -> tuple[FloatArray, FloatArray]:
    """Confidence and correctness of scored rows."""
    pairs = [(one.confidence, float(bool(one.correct))) for one in rows if one.confidence is not None]
    table = np.array(pairs, dtype=np.float64).reshape(-1, 2)
    return table[:, 0], table[:, 1]


def calibration(rows: Sequence[Choice], n_bins: int = N_BINS) -> Iterator[Stated]:
    """ECE, Brier and their companions of some scored rows of one category; the bins; and the verdict in words."""
    multiclass = _multiclass(rows)
    if not rows:
        nothing = Estimate(None, 0, note="no scored probe")
        for name in ("ece", "brier", "confidence_minus_accuracy", "ece_above_chance", *multiclass):
            yield name, {}, nothing
        yield "calibration", {}, replace(nothing, also={"verdict": "undefined: no scored probe"})
        return
    c, y = columns(rows)
    sizes = np.array([len(one.candidates) for one in rows], dtype=np.int64)
    ece = ece_estimate(c, y, n_bins)
    by_size: Mapping[int, Estimate] = {}
    chance = Estimate(None, len(rows), note="some probes have no list of candidates")
    if sizes.all():
        pooled = ece_by_choices(c, y, sizes, n_bins)
        ece, by_size = pooled.pooled, pooled.by_size
        chance = _above_chance(c, y, sizes, n_bins)
    gap = _gap(c, y)
    yield "ece", {}, ece
    yield "brier", {}, brier_estimate(c, y)
    yield "confidence_minus_accuracy", {}, gap
    for size, estimate in by_size.items():
        yield "ece_by_candidates", {"candidates": str(size)}, estimate
    yield "ece_above_chance", {}, chance
    for name, estimate in multiclass.items():
        yield name, {}, estimate
    yield "calibration", {}, _verdict(ece, gap)
    for number, estimate in enumerate(bins(reliability(c, y, n_bins))):
        yield "reliability", {"bin": str(number)}, estimate


def bins(diagram: Reliability) -> list[Estimate]:
    """Accuracy in each bin with Wilson's interval, undefined in an empty one; `also` holds its edges and confidence."""
    return [
        replace(
            wilson(round((one.accuracy or 0.0) * one.count), one.count),
            also={"from": one.lo, "to": one.hi, "confidence": one.confidence},
        )
        for one in diagram.bins
    ]


def _gap(c: FloatArray, y: FloatArray) -> Estimate:
    """Mean confidence minus accuracy, and in `also` the z if every row is right with its confidence."""
    gap = proportions.mean(c - y)
    spread = float(np.sqrt((c * (1.0 - c)).sum()))
    z = float((c - y).sum()) / spread if spread > 0.0 else None
    return replace(gap, also={**gap.also, "z_if_calibrated": z})


def _verdict(ece: Estimate, gap: Estimate) -> Estimate:
    """One test decides, the consistency test of ECE; the mean gap then only names the direction."""
    p, z = ece.also.get("p_calibrated"), gap.also.get("z_if_calibrated")
    if not isinstance(p, float) or p > ALPHA:
        verdict = "not distinguishable from calibrated"
    elif gap.value and (not isinstance(z, float) or abs(z) > proportions.normal_quantile(1.0 - ALPHA)):
        verdict = "overconfident" if gap.value > 0.0 else "underconfident"
    else:
        verdict = "miscalibrated, in both directions"
    known = p if isinstance(p, float) else None
    also = {"verdict": verdict, "z_if_calibrated": z}
    return Estimate(known, ece.n, method="p of the consistency test of ECE", also=also)


def _above_chance(c: FloatArray, y: FloatArray, sizes: IntArray, n_bins: int) -> Estimate:
    """ECE with confidence and accuracy both rescaled so that 0 is a guess; undefined below the chance of a guess."""
    method = "(c - 1/k) / (1 - 1/k)"
    if bool((c < 1.0 / sizes - 1e-9).any()):
        note = "a confidence is below chance, so it is not the largest of its candidates"
        return Estimate(None, len(c), method=method, note=note)
    scale = 1.0 - 1.0 / sizes
    variance = np.zeros(n_bins)
    np.add.at(variance, bin_index(above_chance(c, sizes), n_bins), c * (1.0 - c) / scale**2)
    also = {"expected_if_calibrated": expected_from(variance, len(c)), "n_bins": n_bins}
    return Estimate(ece_above_chance(c, y, sizes, n_bins), len(c), method=method, also=also)


def _multiclass(rows: Sequence[Choice]) -> dict[str, Estimate]:
    """The lab's form, each row's sum divided by its number of candidates, and the sum form; where all rows allow it."""
    names = ("brier_multiclass_divided_by_classes", "brier_multiclass_sum")
    sums, sizes = [], []
    for one in rows:
        if one.probabilities is None or one.expected is None:
            return dict.fromkeys(names, Estimate(None, 0, note="some probes have no probabilities of their candidates"))
        sums.append(brier_multiclass_sum([one.probabilities], [one.candidates.index(one.expected)]))
        sizes.append(len(one.candidates))
    if not rows:
        return dict.fromkeys(names, Estimate(None, 0, note="no scored probe"))
    return dict(zip(names, (proportions.mean(np.array(sums) / np.array(sizes)), proportions.mean(sums)), strict=True))


def _with_unscored(choices: Sequence[Choice], category: str, accuracy: Estimate) -> Iterator[Stated]:
    unscored = sum(one.category == category and bool(one.unscored) for one in choices)
    if unscored and accuracy.value is not None:
        n = accuracy.n + unscored
        share = accuracy.value * accuracy.n / n
        yield "accuracy_with_unscored_wrong", {"category": category}, Estimate(share, n, also={"unscored": unscored})


@dataclass(frozen=True, slots=True)
class _Judged:
    """A choice as the lab's aggregator wants it: it was right exactly where the two texts agree."""

    reason_code: str
    predicted: str
    expected: str = "right"


def _tricks(rows: Sequence[Choice]) -> Iterator[Stated]:
    judged = [_Judged(one.reason_code, "right" if one.correct else "wrong") for one in rows]
    by_trick: Mapping[str, Accuracy] = aggregate_adversarial(judged, judged)["by_category"] if judged else {}
    for code, own in by_trick.items():
        estimate = Estimate(own["accuracy"], own["n"], *own["wilson"], "Wilson", also={"k": own["correct"]})
        yield "trick_accuracy", {"reason_code": code}, estimate


def _selective(rows: Sequence[Choice]) -> Iterator[Stated]:
    if not rows:
        return
    c, y = columns(rows)
    areas = selective(c, y)
    also = {"augrc": areas.augrc, "oracle": areas.oracle, "e_aurc": areas.e_aurc}
    lo, hi = areas.aurc_ends or (None, None)
    yield "aurc", {}, Estimate(areas.aurc, areas.n, lo, hi, "tie-averaged", also=also, cautions=areas.cautions)
    for share in COVERAGES:
        yield "risk", {"coverage": f"{share:.0%}"}, risk_at(c, y, share)


def _left_out(choices: Sequence[Choice]) -> Iterator[Stated]:
    out = (one for one in choices if one.unscored or one.is_ambiguous)
    reasons = Counter(f"{one.category}: {one.unscored or 'ambiguous'}" for one in out)
    for reason, count in sorted(reasons.items()):
        yield "left_out", {"reason": reason}, Estimate(count, len(choices), method="probes")


def _confusion(rows: Sequence[Choice]) -> Iterator[Stated]:
    """How often each expected form met each chosen one, over all scored probes that name both."""
    named = [(one.expected, one.predicted) for one in rows]
    counts = Counter((a, b) for a, b in named if a is not None and b is not None)
    if counts:
        right, n = sum(count for (a, b), count in counts.items() if a == b), counts.total()
        forms = {form for pair in counts for form in pair}
        yield "diagonal", {}, Estimate(right / n, n, also={"k": right, "forms": len(forms)})
    for (expected, chosen), count in sorted(counts.items()):
        yield "confusion", {"expected": expected, "chosen": chosen}, Estimate(count, counts.total(), method="probes")


def _lists(choices: Sequence[Choice], wrong: Sequence[Choice]) -> Iterator[Stated]:
    """The wrong choices with their confidence, the most confident first; then what was not scored, and why."""
    for one in sorted(wrong, key=lambda one: (-(one.confidence or 0.0), one.id)):
        estimate = Estimate(one.confidence, 1, method="confidence", also=probe_facts(one, chosen=one.predicted))
        yield "failure", {"category": one.category, "item": one.id}, estimate
    for one in choices:
        if one.unscored:
            estimate = Estimate(None, 0, note=one.unscored, also=probe_facts(one))
            yield "unscored", {"category": one.category, "item": one.id}, estimate


def probe_facts(one: Choice, **more: str | float | None) -> dict[str, str | float | None]:
    """What a list shows of a probe, and what more is to be known of the choice on it."""
    trick = one.reason_code if one.category == "adversarial" else None
    return {"prompt": one.prompt, "trick": trick, "expected": one.expected, **more}
