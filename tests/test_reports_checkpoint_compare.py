"""Two checkpoints on the same probes: what changed, what may be claimed, and what could not have been seen."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from perpend.errors import DataError
from perpend.measure.study import Numbers
from perpend.stats.families import is_shown
from perpend.studies.verbs.compare import LOST, WON, compare
from perpend.studies.verbs.compare_page import write_compare
from perpend.studies.verbs.contrasts import ece
from perpend.studies.verbs.folder import CheckpointFolder, checkpoint_of
from perpend.studies.verbs.perplexity import Sentence
from perpend.studies.verbs.predictions import Choice
from perpend.studies.verbs.report import verdict_of
from perpend.types import Estimate


def probes(right: Sequence[bool], confidence: float = 0.7) -> list[Choice]:
    return [
        Choice(
            f"p{row}", confidence, hit, "good" if hit else "bad", "good", ("good", "bad"), prompt=f"She ___ {row}.",
            tags={"language": "en" if row % 2 else "es"},
        )
        for row, hit in enumerate(right)
    ]  # fmt: skip


def results(name: str, right: Sequence[bool], confidence: float = 0.7) -> CheckpointFolder:
    return checkpoint_of(probes(right, confidence), name=name)


def contrast(numbers: Numbers, measure: str) -> Estimate:
    return numbers.cite("contrast", measure=measure)


def flips(numbers: Numbers, direction: str) -> list[str]:
    return [one.where["item"] for one in numbers.find("flip", direction=direction)]


def verdict(numbers: Numbers) -> str:
    return verdict_of(numbers, "comparison")


def permutation_p(before: Sequence[bool], after: Sequence[bool], rng: np.random.Generator) -> float:
    """Two-sided p when the two answers of each probe may be swapped, half of the ties counted (mid-p)."""
    rise = np.array(after, dtype=float) - np.array(before, dtype=float)
    seen = abs(rise.sum())
    drawn = np.abs((2.0 * rng.integers(0, 2, (20_000, len(rise))) - 1.0) @ rise)
    return float(np.mean(drawn > seen + 1e-9) + np.mean(np.abs(drawn - seen) < 1e-9) / 2.0)


@pytest.mark.parametrize("seed", range(1, 9))
def test_the_claim_about_accuracy_agrees_with_a_permutation_test(seed: int) -> None:
    rng = np.random.default_rng(seed)
    before = rng.random(120) < 0.6
    after = np.where(rng.random(120) < 0.05 * seed, True, before)
    compared = compare(results("a", before.tolist()), results("b", after.tolist()))
    p = contrast(compared, "accuracy").also["p"]
    assert isinstance(p, float)
    assert p == pytest.approx(permutation_p(before.tolist(), after.tolist(), rng), abs=0.015)


def test_equal_checkpoints_have_no_detectable_difference_and_the_verdict_says_what_was_missed() -> None:
    right = [row % 3 > 0 for row in range(120)]
    compared = compare(results("a", right), results("b", right))
    assert verdict(compared).startswith("no detectable difference between a and b")
    # All changes one way, at Holm's first step of three metrics: u = 2.3940, v = 0.8416.
    expected = ((2.3940 * 120**0.5 + 0.8416 * (120 + 0.8416**2 - 2.3940**2) ** 0.5) / (120 + 0.8416**2)) ** 2
    assert contrast(compared, "accuracy").also["mde"] == pytest.approx(expected, abs=1e-4)
    assert "accuracy 0.085" in verdict(compared)
    assert (flips(compared, LOST), flips(compared, WON)) == ([], [])


def test_noise_alone_is_rarely_called_a_difference() -> None:
    calls = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        level = rng.choice([0.4, 0.9], 100)
        first, second = ([bool(x) for x in rng.random(100) < level] for _ in range(2))
        calls += "no detectable difference between" not in verdict(compare(results("a", first), results("b", second)))
    assert calls <= 7


def test_a_real_gain_is_named_with_its_direction_and_the_probes_that_flipped() -> None:
    before, after = [row % 2 == 0 for row in range(100)], [row % 2 == 0 or row > 60 for row in range(100)]
    after[0] = False
    compared = compare(results("a", before), results("b", after))
    assert verdict(compared).startswith("b is better on accuracy (+0.190)")
    assert flips(compared, LOST) == ["p0"]
    assert len(flips(compared, WON)) == 20
    assert [m.where["measure"] for m in compared.find("slice_contrast") if is_shown(m.estimate)] == ["language=en"]


def test_a_loss_is_called_worse() -> None:
    compared = compare(results("a", [True] * 60, 0.95), results("b", [row % 2 == 0 for row in range(60)], 0.95))
    assert "worse on accuracy (-0.500), ECE (+" in verdict(compared)


def test_swapping_the_checkpoints_changes_the_sign_and_nothing_else() -> None:
    first, second = results("a", [row % 3 > 0 for row in range(90)], 0.6), results("b", [True] * 90, 0.8)
    there, back = compare(first, second), compare(second, first)
    for one, other in zip(there.find("contrast"), back.find("contrast"), strict=True):
        assert one.estimate.value == pytest.approx(-(other.estimate.value or 0.0))
        ends = one.estimate.also, other.estimate.also
        assert (ends[0]["first"], ends[0]["second"]) == (ends[1]["second"], ends[1]["first"])
    assert flips(there, LOST) == flips(back, WON)


def sharpened(rng: np.random.Generator, n: int, slopes: Sequence[float]) -> list[list[Choice]]:
    """The same choices among three by checkpoints whose logits are `slope` times the true ones."""
    logits = rng.normal(0.0, 1.5, (n, 3))
    true = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    right = rng.random(n) < true.max(axis=1)
    said = [(np.exp(s * logits) / np.exp(s * logits).sum(axis=1, keepdims=True)).max(axis=1) for s in slopes]
    return [[Choice(f"p{k}", float(c[k]), bool(right[k])) for k in range(n)] for c in said]


def test_the_interval_of_an_ece_difference_holds_the_truth_when_one_checkpoint_is_calibrated() -> None:
    first, second = sharpened(np.random.default_rng(0), 200_000, (1.0, 2.0))
    both = [checkpoint_of(rows, name="x").numbers for rows in (first, second)]
    truth = [numbers.cite("ece", category="core").value or 0.0 for numbers in both]
    covered = plain = 0
    for seed in range(60):
        pairs = list(zip(*sharpened(np.random.default_rng(seed), 120, (1.0, 2.0)), strict=True))
        compared = ece(pairs, 10, np.random.default_rng(seed))
        assert compared.lo is not None
        assert compared.hi is not None
        covered += compared.lo <= truth[1] - truth[0] <= compared.hi
        se = compared.also["se"]
        assert isinstance(se, float)
        plain += abs((compared.value or 0.0) - truth[1] + truth[0]) <= 1.96 * se
    assert covered >= 52
    assert plain < covered


def test_probes_without_a_partner_are_left_out_and_counted() -> None:
    rows = probes([True, False] * 20)
    other = [replace(rows[0], confidence=None, correct=None, predicted=None, unscored="model_oov"), *rows[1:30]]
    compared = compare(checkpoint_of(rows, name="a"), checkpoint_of(other, name="b"))
    assert (compared.cite("comparison").n, compared.cite("unpaired", category="core").n) == (29, 11)


def test_an_id_that_means_two_probes_is_refused() -> None:
    rows = probes([True] * 10)
    changed = [replace(rows[0], prompt="Another ___."), *rows[1:]]
    with pytest.raises(DataError, match="'p0' is not the same"):
        compare(checkpoint_of(rows, name="a"), checkpoint_of(changed, name="b"))


def test_checkpoints_without_a_common_probe_are_refused() -> None:
    with pytest.raises(DataError, match="no scored probe in common"):
        compare(checkpoint_of(probes([True] * 4)[:2], name="a"), checkpoint_of(probes([True] * 4)[2:], name="b"))


def test_perplexity_is_compared_sentence_by_sentence() -> None:
    rows = probes([True, False] * 10)
    first = [Sentence(f"s{k}", "en" if k % 2 else "es", -20.0 - k, 6 + k % 3) for k in range(20)]
    second = [replace(one, loglik=one.loglik * (0.9 + 0.001 * k)) for k, one in enumerate(first)]
    compared = compare(checkpoint_of(rows, name="a", sentences=first), checkpoint_of(rows, name="b", sentences=second))
    log = contrast(compared, "log perplexity")
    rise = sum(a.loglik - b.loglik for a, b in zip(first, second, strict=True)) / sum(one.tokens for one in first)
    assert log.value == pytest.approx(rise)
    assert log.value is not None
    assert log.value < 0.0
    assert "better on log perplexity" in verdict(compared)
    assert {"log perplexity (en)", "log perplexity (es)"} <= {one.where["measure"] for one in compared.find("contrast")}


def test_perplexities_over_different_tokens_are_not_compared() -> None:
    rows = probes([True, False] * 10)
    first = [Sentence(f"s{k}", "en", -20.0, 6) for k in range(5)]
    second = [replace(one, tokens=7) for one in first]
    compared = compare(checkpoint_of(rows, name="a", sentences=first), checkpoint_of(rows, name="b", sentences=second))
    assert contrast(compared, "log perplexity").value is None
    assert "cut the text differently" in contrast(compared, "log perplexity").note


def test_the_page_shows_what_the_json_holds_and_hostile_text_is_inert(tmp_path: Path) -> None:
    hostile = "<b>| [x](javascript:y)\n# head"
    before = [replace(one, prompt=hostile, tags={"language": hostile}) for one in probes([True] * 20 + [False] * 20)]
    after = [replace(one, correct=not one.correct, predicted=None) for one in before]
    compared = compare(checkpoint_of(before, name=hostile), checkpoint_of(after, name="b"))
    path = write_compare(compared, (hostile, "b"), tmp_path)
    page, body = path.read_text(encoding="utf-8"), json.loads((tmp_path / "COMPARE.json").read_text(encoding="utf-8"))
    assert not any(text in page for text in ("<b>", "[x](", "\n# head"))
    assert len(body["right_then_wrong"]) == len(body["wrong_then_right"]) == 20
    assert "**Verdict:**" in page
    assert [one["metric"] for one in body["metrics"]] == ["accuracy", "ECE", "Brier score"]
