"""Two checkpoints on the same probes: paired differences, intervals, tests, what changed, and a verdict.

A difference is always the second minus the first. Probes pair by id; what only one of them has, or could not be scored
by one of them, is left out of the pairs and counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from perpend.errors import DataError
from perpend.measure.keys import match
from perpend.measure.study import Numbers
from perpend.stats.families import Adjustment, family, is_shown
from perpend.stats.resample import generator
from perpend.studies.verbs.contrasts import Pairs, accuracy, brier, detectable, ece, perplexities
from perpend.studies.verbs.folder import CheckpointFolder
from perpend.studies.verbs.metrics import Stated, as_metrics, probe_facts
from perpend.studies.verbs.predictions import CATEGORIES, Choice, scored
from perpend.studies.verbs.slices import ALPHA, slice_keys
from perpend.types import Estimate, Number

LOST, WON = "right_then_wrong", "wrong_then_right"


def compare(first: CheckpointFolder, second: CheckpointFolder, *, rng: np.random.Generator | None = None) -> Numbers:
    """The second checkpoint against the first. Refused when no probe is in both, or one id means two probes."""
    stated = comparison_numbers(first, second, generator(rng))
    metrics = tuple(as_metrics(stated, (*first.choices, *second.choices)))
    if not metrics:
        raise DataError(f"{first.name!r} and {second.name!r} have no scored probe in common; evaluate both on one set")
    return Numbers(metrics)


def comparison_numbers(first: CheckpointFolder, second: CheckpointFolder, rng: np.random.Generator) -> Iterator[Stated]:
    """Every number of a comparison: the verdict, contrasts of measures and slices, the probes that flipped.

    Nothing where no probe was scored by both.
    """
    pairs, unpaired = {}, {}
    for category in CATEGORIES:
        pairs[category], unpaired[category] = _paired(first, second, category)
    core, adversarial = pairs.values()
    n = len(core) + len(adversarial)
    if not n:
        return
    contrasts: dict[str, Estimate] = {}
    if core:
        contrasts |= {"accuracy": accuracy(core), "ECE": ece(core, first.n_bins, rng), "Brier score": brier(core, rng)}
    if adversarial:
        contrasts["adversarial accuracy"] = accuracy(adversarial)
    contrasts = _adjusted(contrasts | perplexities(first.sentences, second.sentences), "holm")
    verdict = _verdict(first.name, second.name, contrasts)
    yield "comparison", {}, Estimate(n, n, method="probes that both scored", also={"verdict": verdict})
    for category, count in unpaired.items():
        if count:
            yield "unpaired", {"category": category}, Estimate(count, count, method="probes without a scored partner")
    for name, measures in (("contrast", contrasts), ("slice_contrast", _adjusted(_slices(core), "bh"))):
        for measure, estimate in measures.items():
            yield name, {"measure": measure}, estimate
    for before, after in (*core, *adversarial):
        if before.correct != after.correct:
            earlier = {"before": before.predicted, "confidence_before": before.confidence}
            facts = probe_facts(after, **earlier, after=after.predicted)
            place = {"item": before.id, "direction": LOST if before.correct else WON}
            yield "flip", place, Estimate(after.confidence, 1, method="confidence after", also=facts)


def _paired(
    first: CheckpointFolder, second: CheckpointFolder, category: str
) -> tuple[list[tuple[Choice, Choice]], int]:
    """The scored pairs of one category, and how many scored probes of either have no scored partner."""
    left, right = scored(first.choices, category), scored(second.choices, category)
    known = {one.id: one for one in second.choices}
    for one in left:
        other = known.get(one.id)
        if other is not None and _identity(one) != _identity(other):
            raise DataError(
                f"probe {one.id!r} is not the same in {first.name!r} and {second.name!r} (category, prompt, expected "
                "form or candidates differ); evaluate both on one probe set"
            )
    codes = {name: code for code, name in enumerate(dict.fromkeys(one.id for one in (*left, *right)))}
    sides = (np.array([codes[one.id] for one in side], dtype=np.int64) for side in (left, right))
    pairs = [(left[a], right[b]) for a, b in zip(*match(*sides), strict=True)]
    return pairs, len(left) + len(right) - 2 * len(pairs)


def _identity(one: Choice) -> tuple[object, ...]:
    return one.category, one.prompt, one.expected, tuple(sorted(one.candidates))


def _slices(pairs: Pairs) -> dict[str, Estimate]:
    """The change of accuracy in every slice of the core pairs."""
    contrasts = {}
    for key in slice_keys([a for a, _ in pairs]):
        for value in sorted({a.tags[key] for a, _ in pairs if key in a.tags}):
            contrasts[f"{key}={value}"] = accuracy([pair for pair in pairs if pair[0].tags.get(key) == value])
    return contrasts


def _adjusted(contrasts: Mapping[str, Estimate], method: Adjustment) -> dict[str, Estimate]:
    p = {name: p if isinstance(p := one.also.get("p"), float) else None for name, one in contrasts.items()}
    tests = {test.name: test for test in family(p, method=method, alpha=ALPHA).tests}
    adjusted = {}
    for name, one in contrasts.items():
        also = {**one.also, "p_adjusted": tests[name].adjusted, "mde": detectable(one, len(contrasts))}
        adjusted[name] = replace(one, also=also)
    return adjusted


def _verdict(first: str, second: str, contrasts: Mapping[str, Estimate]) -> str:
    """What may be claimed after Holm's correction, and of the rest what these probes could have missed."""
    detected = {name: one.value or 0.0 for name, one in contrasts.items() if is_shown(one)}
    rest = {name: one.also.get("mde") for name, one in contrasts.items() if name not in detected}
    missed = "; ".join(f"{name} {_points(mde)}" for name, mde in rest.items())
    if not detected:
        return (
            f"no detectable difference between {first} and {second} on any of {len(contrasts)} metrics "
            f"(Holm, 5%). Minimum detectable effects at 80% power: {missed}."
        )
    claims = []
    for word, is_better in (("better", True), ("worse", False)):
        # Of the other measures, errors all of them, less is better.
        own = [
            f"{name} ({change:+.3f})"
            for name, change in detected.items()
            if change and (change > 0.0) == (("accuracy" in name) is is_better)
        ]
        claims += [f"{word} on {', '.join(own)}"] if own else []
    text = f"{second} is {' and '.join(claims)} than {first} (Holm over {len(contrasts)} metrics, 5%)."
    if rest:
        text += f" On the others no detectable difference; minimum detectable effects at 80% power: {missed}."
    return text


def _points(value: Number) -> str:
    return f"{value:.3f}" if isinstance(value, float) else "NA"
