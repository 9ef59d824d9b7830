"""results.json of one checkpoint, and the few lines that a terminal shows of it: all looked up in its Numbers."""

from __future__ import annotations

from perpend.canon import JSON
from perpend.inert import plain
from perpend.measure.study import Numbers
from perpend.report.tables import interval, number
from perpend.stats.adversarial import LOW_SAMPLE
from perpend.studies.verbs.report import slices_of, verdict_of
from perpend.types import Estimate

_CAUTIONS = 2


def answer_lines(name: str, numbers: Numbers) -> list[str]:
    """The answer for a terminal: ECE with its interval and what a perfect model would show, accuracy, cautions."""
    ece, accuracy = (numbers.cite(one, category="core") for one in ("ece", "accuracy"))
    if ece.value is None:
        return [f"{name}: ECE is undefined: {ece.note}."]
    bins = numbers.cite("bins", category="core").value
    first = (
        f"{name}: ECE {number(ece.value)} {interval(ece)}, n = {ece.n}, {bins} bins. "
        f"A perfectly calibrated model would show {number(ece.also.get('expected_if_calibrated'))} at this n."
    )
    second = (
        f"Calibration: {verdict_of(numbers, 'calibration', category='core')}. "
        f"Accuracy {number(accuracy.value)} {interval(accuracy)}."
    )
    lines = [first, second]
    tricks, own = (numbers.cite(one, category="adversarial") for one in ("accuracy", "ece"))
    if tricks.n:
        lines.append(
            f"Adversarial: accuracy {number(tricks.value)} {interval(tricks)}, ECE {number(own.value)} "
            f"{interval(own)}, n = {tricks.n}."
        )
    left = [f"{one.estimate.value} {one.where['reason']}" for one in numbers.find("left_out")]
    if left:
        lines.append(f"Left out: {', '.join(left)}.")
    # STAT003 is what the verdict says already.
    cautions = [one.text for one in ece.cautions if one.id != "STAT003"]
    lines += [f"Caution: {plain(text)}." for text in cautions[:_CAUTIONS]]
    more = len(cautions) - _CAUTIONS
    return lines + ([f"{more} more caution{'s' * (more > 1)} in the report."] if more > 0 else [])


def results_body(numbers: Numbers) -> dict[str, JSON]:
    """The numbers of results.json: the lab's plain ones under its names, each with its interval under `estimates`."""
    accuracy, ece, brier = (numbers.cite(name, category="core") for name in ("accuracy", "ece", "brier"))
    tricks = {one.where["reason_code"]: _accuracy(one.estimate) for one in numbers.find("trick_accuracy")}
    selective = [(f"risk_at_{one.where['coverage']}", one.estimate) for one in numbers.find("risk")]
    selective += [("aurc", one.estimate) for one in numbers.find("aurc")]
    return {
        "n": accuracy.n,
        "left_out": {one.where["reason"]: one.estimate.value for one in numbers.find("left_out")},
        "accuracy": accuracy.value,
        "ece": ece.value,
        "brier": brier.value,
        "n_bins": numbers.cite("bins", category="core").value,
        "min_bin_count": ece.also.get("min_bin_count"),
        "estimates": {"accuracy": accuracy.as_json(), **_calibration_body(numbers, "core")},
        "adversarial": {
            "overall": _accuracy(numbers.cite("accuracy", category="adversarial")),
            "by_category": tricks,
            "calibration": _calibration_body(numbers, "adversarial"),
        },
        "slices": [
            {
                "slice": one.key,
                "value": one.value,
                "accuracy": one.accuracy.as_json(),
                "difference_from_the_rest": None if one.difference is None else one.difference.as_json(),
                "low_sample": one.low_sample,
            }
            for one in slices_of(numbers)
        ],
        "selective": {name: one.as_json() for name, one in selective},
        "perplexity": {one.where["language"]: one.estimate.as_json() for one in numbers.find("perplexity")},
    }


def _accuracy(one: Estimate) -> dict[str, JSON]:
    return {
        "n": one.n,
        "correct": one.also["k"],
        "accuracy": one.value,
        "wilson": None if one.value is None else [one.lo, one.hi],
        "low_sample": one.n < LOW_SAMPLE,
    }


def _calibration_body(numbers: Numbers, category: str) -> dict[str, JSON]:
    names = ("ece", "brier", "confidence_minus_accuracy", "ece_above_chance", "brier_multiclass_divided_by_classes",
             "brier_multiclass_sum")  # fmt: skip
    by_size = numbers.find("ece_by_candidates", category=category)
    return {name: numbers.cite(name, category=category).as_json() for name in names} | {
        "reliability": [_bin(one.estimate) for one in numbers.find("reliability", category=category)],
        "ece_by_candidates": {one.where["candidates"]: one.estimate.as_json() for one in by_size},
        "verdict": verdict_of(numbers, "calibration", category=category),
    }


def _bin(one: Estimate) -> dict[str, JSON]:
    return {
        "lo": one.also["from"],
        "hi": one.also["to"],
        "count": one.n,
        "confidence": one.also["confidence"],
        "accuracy": one.value,
        "wilson": None if one.n == 0 else [one.lo, one.hi],
    }
