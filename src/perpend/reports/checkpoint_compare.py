"""Two checkpoints on the same probes: paired differences, intervals, tests, what changed, and a verdict.

A difference is always the second minus the first. Probes pair by id; what only one of them has, or could not be scored
by one of them, is left out of the pairs and counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from perpend.canon import JSON
from perpend.errors import DataError
from perpend.reports.checkpoint import Results, scored
from perpend.reports.checkpoint_contrasts import Contrast, Pairs, accuracy, brier, ece, perplexities
from perpend.reports.checkpoint_slices import ALPHA, slice_keys
from perpend.reports.predictions import Prediction
from perpend.stats.families import Adjustment, family
from perpend.stats.resample import generator
from perpend.types import Number


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two checkpoints on the probes that both have. `unpaired` counts the scored probes without a scored partner."""

    first: str
    second: str
    n_pairs: int
    unpaired: dict[str, int]
    metrics: tuple[Contrast, ...]
    slices: tuple[Contrast, ...]
    lost: tuple[tuple[Prediction, Prediction], ...]
    """Right in the first, wrong in the second."""
    won: tuple[tuple[Prediction, Prediction], ...]
    """Wrong in the first, right in the second."""
    verdict: str

    def as_json(self) -> dict[str, JSON]:
        """COMPARE.json."""
        return {
            "format": 1,
            "first": self.first,
            "second": self.second,
            "n_pairs": self.n_pairs,
            "unpaired": dict(self.unpaired),
            "metrics": [one.as_json() for one in self.metrics],
            "slices": [one.as_json() for one in self.slices],
            "right_then_wrong": [one.id for one, _ in self.lost],
            "wrong_then_right": [one.id for one, _ in self.won],
            "verdict": self.verdict,
        }


def compare(first: Results, second: Results, *, rng: np.random.Generator | None = None) -> Comparison:
    """The second checkpoint against the first. Refused when no probe is in both, or one id means two probes."""
    source = generator(rng)
    core, lost_core = _paired(first, second, "core")
    adversarial, lost_adversarial = _paired(first, second, "adversarial")
    if not core and not adversarial:
        raise DataError(f"{first.name!r} and {second.name!r} have no scored probe in common; evaluate both on one set")
    metrics: list[Contrast] = []
    if core:
        metrics.append(accuracy("accuracy", core))
        metrics.append(ece(core, first.n_bins, source))
        metrics.append(brier(core, source))
    if adversarial:
        metrics.append(accuracy("adversarial accuracy", adversarial))
    metrics += perplexities(first.sentences, second.sentences)
    found = _adjusted(metrics, "holm")
    flips = [pair for pair in (*core, *adversarial) if pair[0].correct != pair[1].correct]
    return Comparison(
        first=first.name,
        second=second.name,
        n_pairs=len(core) + len(adversarial),
        unpaired={key: n for key, n in {"core": lost_core, "adversarial": lost_adversarial}.items() if n},
        metrics=found,
        slices=_adjusted(_slices(core), "bh"),
        lost=tuple(pair for pair in flips if pair[0].correct),
        won=tuple(pair for pair in flips if pair[1].correct),
        verdict=_verdict(first.name, second.name, found),
    )


def _paired(first: Results, second: Results, category: str) -> tuple[list[tuple[Prediction, Prediction]], int]:
    """The scored pairs of one category, and how many scored probes of either have no scored partner."""
    left = {one.id: one for one in scored(first.predictions, category)}
    right = {one.id: one for one in scored(second.predictions, category)}
    known = {one.id: one for one in second.predictions}
    for one in left.values():
        other = known.get(one.id)
        if other is not None and _identity(one) != _identity(other):
            raise DataError(
                f"probe {one.id!r} is not the same in {first.name!r} and {second.name!r} (category, prompt, expected "
                "form or candidates differ); evaluate both on one probe set"
            )
    pairs = [(one, right[one.id]) for one in left.values() if one.id in right]
    return pairs, len(left) + len(right) - 2 * len(pairs)


def _identity(one: Prediction) -> tuple[object, ...]:
    return one.category, one.prompt, one.expected, tuple(sorted(one.candidates))


def _slices(pairs: Pairs) -> list[Contrast]:
    """The change of accuracy in every slice of the core pairs."""
    found = []
    for key in slice_keys([a for a, _ in pairs]):
        for value in sorted({a.tags[key] for a, _ in pairs if key in a.tags}):
            own = [pair for pair in pairs if pair[0].tags.get(key) == value]
            found.append(accuracy(f"{key}={value}", own))
    return found


def _adjusted(found: Sequence[Contrast], method: Adjustment) -> tuple[Contrast, ...]:
    p = {str(place): _p(one) for place, one in enumerate(found)}
    tests = family(p, method=method, alpha=ALPHA).tests
    return tuple(
        replace(one, difference=replace(one.difference, also={**one.difference.also, "p_adjusted": test.adjusted}))
        for one, test in zip(found, tests, strict=True)
    )


def _p(one: Contrast) -> float | None:
    p = one.difference.also.get("p")
    return p if isinstance(p, float) else None


def _verdict(first: str, second: str, metrics: Sequence[Contrast]) -> str:
    """What may be claimed after Holm's correction, and of the rest what these probes could have missed."""
    detected = [one for one in metrics if one.is_detected]
    rest = [one for one in metrics if not one.is_detected]
    missed = "; ".join(f"{one.metric} {_points(one.difference.also.get('mde'))}" for one in rest)
    if not detected:
        return (
            f"no detectable difference between {first} and {second} on any of {len(metrics)} metrics "
            f"(Holm, 5%). Minimum detectable effects at 80% power: {missed}."
        )
    told = []
    for word, is_better in (("better", True), ("worse", False)):
        own = [
            f"{one.metric} ({change:+.3f})"
            for one in detected
            if (change := one.difference.value or 0.0) and (change > 0.0) == (one.higher_is_better is is_better)
        ]
        told += [f"{word} on {', '.join(own)}"] if own else []
    text = f"{second} is {' and '.join(told)} than {first} (Holm over {len(metrics)} metrics, 5%)."
    if rest:
        text += f" On the others no detectable difference; minimum detectable effects at 80% power: {missed}."
    return text


def _points(value: Number) -> str:
    return f"{value:.3f}" if isinstance(value, float) else "NA"
