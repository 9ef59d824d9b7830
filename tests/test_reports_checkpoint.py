"""One checkpoint: predictions in, numbers, tables and pages out."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from perpend.stats.calibration import brier, brier_multiclass, brier_multiclass_sum, ece, reliability
from perpend.studies.verbs.figures import draw_reliability, reliability_diagram
from perpend.studies.verbs.folder import CheckpointFolder, checkpoint_of, load_checkpoint, write_checkpoint
from perpend.studies.verbs.perplexity import Sentence
from perpend.studies.verbs.predictions import Choice
from perpend.studies.verbs.report import FACTS, slices_of, verdict_of
from perpend.types import Estimate

TRICKS = ("over_regularization", "wrong_tense_marker", "auxiliary_mismatch")


def simulated(
    seed: int, n: int = 120, *, slope: float = 1.0, n_adversarial: int = 0, sizes: Sequence[int] = (3,)
) -> list[Choice]:
    """Choices by a model whose logits are `slope` times the true ones: 1 is calibrated, more is overconfident."""
    rng = np.random.default_rng(seed)
    choices = []
    for row in range(n + n_adversarial):
        k = sizes[row % len(sizes)]
        logits = rng.normal(0.0, 1.5, k)
        true, shares = (np.exp(s * logits) / np.exp(s * logits).sum() for s in (1.0, slope))
        right, chosen = int(rng.choice(k, p=true)), int(np.argmax(shares))
        forms = tuple(f"form {place}" for place in range(k))
        is_core = row < n
        choices.append(
            Choice(
                id=f"probe-{row}",
                confidence=float(shares[chosen]),
                correct=right == chosen,
                predicted=forms[chosen],
                expected=forms[right],
                candidates=forms,
                probabilities=tuple(shares.tolist()),
                category="core" if is_core else "adversarial",
                reason_code="" if is_core else TRICKS[row % 3],
                prompt=f"She ___ ({row}).",
                tags={"language": "en" if row % 2 else "es", "tense": ("future", "past_simple", "infinitive")[row % 3]},
            )
        )
    return choices


def core(one: CheckpointFolder, name: str) -> Estimate:
    return one.numbers.cite(name, category="core")


def verdict(rows: Sequence[Choice]) -> str:
    return verdict_of(checkpoint_of(rows, name="x").numbers, "calibration", category="core")


def columns(rows: Sequence[Choice]) -> tuple[list[float], list[int]]:
    own = [one for one in rows if one.category == "core"]
    return [one.confidence or 0.0 for one in own], [int(bool(one.correct)) for one in own]


@pytest.mark.parametrize(("slope", "expected"), [(3.0, "overconfident"), (0.3, "underconfident")])
def test_planted_miscalibration_is_diagnosed_with_its_direction(slope: float, expected: str) -> None:
    verdicts = [verdict(simulated(seed, 240, slope=slope)) for seed in range(10)]
    assert verdicts == [expected] * 10


def test_a_calibrated_model_of_60_probes_is_rarely_called_miscalibrated() -> None:
    calm = "not distinguishable from calibrated"
    count = sum(verdict(simulated(seed, 60)) == calm for seed in range(200))
    assert count >= 186


def test_the_plain_numbers_are_those_of_the_lab_and_leave_tricks_out() -> None:
    rows = simulated(3, n_adversarial=30)
    c, y = columns(rows)
    body = checkpoint_of(rows, name="x").as_json()
    assert body["ece"] == pytest.approx(ece(c, y), abs=1e-12)
    assert body["brier"] == pytest.approx(brier(c, y), abs=1e-12)
    assert body["n"] == 120
    assert (body["n_bins"], body["min_bin_count"]) == (10, reliability(c, y).min_bin_count)


def test_both_forms_of_the_multiclass_brier_score_stand_under_their_own_names() -> None:
    rows = simulated(4)
    probs = [one.probabilities for one in rows]
    labels = [one.candidates.index(one.expected or "") for one in rows]
    one = checkpoint_of(rows, name="x")
    divided = core(one, "brier_multiclass_divided_by_classes").value
    assert divided == pytest.approx(brier_multiclass(probs, labels))
    assert core(one, "brier_multiclass_sum").value == pytest.approx(brier_multiclass_sum(probs, labels))


def test_calibration_is_told_apart_by_the_number_of_candidates() -> None:
    one = checkpoint_of(simulated(5, sizes=(2, 4)), name="x")
    by_size = {m.where["candidates"]: m.estimate for m in one.numbers.find("ece_by_candidates", category="core")}
    assert {size: estimate.n for size, estimate in by_size.items()} == {"2": 60, "4": 60}
    assert "STAT017" in [caution.id for caution in core(one, "ece").cautions]
    assert all("expected_if_calibrated" in e.also for e in (*by_size.values(), core(one, "ece_above_chance")))


def test_too_many_bins_for_the_probes_are_warned_about() -> None:
    one = checkpoint_of(simulated(6, 20), name="x")
    assert "STAT004" in [caution.id for caution in core(one, "ece").cautions]


def test_unscored_and_ambiguous_probes_are_counted_and_never_penalised() -> None:
    rows = simulated(7, 50)
    wrong = [replace(one, correct=False, label="ambiguous") for one in rows[:5]]
    oov = [replace(one, confidence=None, correct=None, unscored="model_oov") for one in rows[5:8]]
    one = checkpoint_of([*wrong, *oov, *rows[8:]], name="x")
    assert core(one, "accuracy") == core(checkpoint_of(rows[8:], name="x"), "accuracy")
    assert one.as_json()["left_out"] == {"core: ambiguous": 5, "core: model_oov": 3}


def test_the_report_says_what_accuracy_would_be_if_unscored_probes_were_wrong(tmp_path: Path) -> None:
    rows = [replace(one, correct=True) for one in simulated(14, 40)]
    ties = [replace(one, confidence=None, correct=None, unscored="tie") for one in rows[:10]]
    page = (write_checkpoint(checkpoint_of([*ties, *rows[10:]], name="x"), tmp_path) / "REPORT.md").read_text("utf-8")
    assert "With the 10 unscored predictions counted as wrong, accuracy is 0.750." in page


def test_a_slice_that_differs_is_found_and_equal_ones_are_not() -> None:
    rows = [replace(one, correct=row % 10 > 0 if row % 2 else row % 10 > 6) for row, one in enumerate(simulated(8))]
    cells = {f"{cell.key}={cell.value}": cell for cell in slices_of(checkpoint_of(rows, name="x").numbers)}
    assert cells["language=en"].differs
    assert cells["language=es"].differs
    assert not any(cell.differs for cell in cells.values() if cell.key == "tense")
    # Two values of one tag are one test: two languages and three tenses make four.
    assert cells["tense=future"].difference is not None
    assert cells["tense=future"].difference.also["n_tests"] == 4


def test_a_tag_whose_values_do_not_repeat_is_no_slice() -> None:
    rows = [replace(one, tags={"source": one.id, "topic": str(row % 4)}) for row, one in enumerate(simulated(9, 40))]
    rows[:3] = [replace(one, tags={"remark": one.id, **one.tags}) for one in rows[:3]]
    assert {cell.key for cell in slices_of(checkpoint_of(rows, name="x").numbers)} == {"topic"}


def test_without_any_scored_core_probe_every_number_is_undefined_and_the_report_still_written(tmp_path: Path) -> None:
    rows = [replace(one, confidence=None, correct=None, unscored="model_oov") for one in simulated(10, 4)]
    one = checkpoint_of(rows, name="x")
    undefined = [core(one, "accuracy"), core(one, "ece"), one.numbers.cite("accuracy", category="adversarial")]
    assert [estimate.value for estimate in undefined] == [None, None, None]
    page = (write_checkpoint(one, tmp_path) / "REPORT.md").read_text(encoding="utf-8")
    assert "4 core\\: model\\_oov" in page


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[CheckpointFolder, Path]:
    rows = simulated(11, n_adversarial=8, slope=2.0)
    sentences = [Sentence(f"s{k}", "en" if k % 2 else "es", -10.0 - k % 7, 5 + k % 3) for k in range(12)]
    values = ("ab" * 32, 2000, "manifest.json", "cd" * 32, "2026-01-31", 7, "log-likelihood per token")
    facts = dict(zip(FACTS, values, strict=True))
    results = checkpoint_of(rows, name="step-2000", provenance=facts, sentences=sentences)
    return results, write_checkpoint(results, tmp_path_factory.mktemp("out"))


def test_every_artefact_is_there_under_its_name(written: tuple[CheckpointFolder, Path]) -> None:
    _, folder = written
    assert folder.name == "step-2000"
    names = {path.name for path in folder.iterdir()}
    assert {
        "results.json", "reliability.png", "adversarial_by_category.csv", "adversarial_by_category.png",
        "per_slice.csv", "per_slice.png", "REPORT.md", "predictions.jsonl", "held_out.jsonl",
    } <= names  # fmt: skip


def test_results_json_has_the_named_keys(written: tuple[CheckpointFolder, Path]) -> None:
    results, folder = written
    body = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    assert body["ece"] == core(results, "ece").value
    assert body["brier"] == core(results, "brier").value
    assert {"n_bins", "min_bin_count", "slices", "perplexity", "provenance", "selective"} <= set(body)
    assert set(body["adversarial"]["overall"]) >= {"n", "correct", "accuracy", "wilson"}
    by = body["adversarial"]["by_category"]
    assert sum(one["n"] for one in by.values()) == body["adversarial"]["overall"]["n"] == 8
    assert {code: one["low_sample"] for code, one in by.items()} == {code: by[code]["n"] < 3 for code in by}
    assert any(one["low_sample"] for one in by.values())
    assert set(body["perplexity"]) == {"overall", "en", "es"}


def test_tables_hold_the_numbers_of_results_json(written: tuple[CheckpointFolder, Path]) -> None:
    _, folder = written
    body = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    with (folder / "per_slice.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(body["slices"])
    for row, cell in zip(rows, body["slices"], strict=True):
        assert (row["slice"], row["value"]) == (cell["slice"], cell["value"])
        assert float(row["accuracy"]) == cell["accuracy"]["value"]
        assert float(row["wilson_lo"]) == cell["accuracy"]["lo"]
        assert float(row["p_adjusted"]) == cell["difference_from_the_rest"]["also"]["p_adjusted"]
    with (folder / "adversarial_by_category.csv").open(encoding="utf-8", newline="") as file:
        tricks = {row["category"]: row for row in csv.DictReader(file)}
    by = body["adversarial"]["by_category"]
    assert set(tricks) == set(by)
    for code, row in tricks.items():
        assert (int(row["n"]), int(row["correct"])) == (by[code]["n"], by[code]["correct"])
        assert [float(row["wilson_lo"]), float(row["wilson_hi"])] == by[code]["wilson"]


def test_what_the_reliability_diagram_shows_is_in_results_json(written: tuple[CheckpointFolder, Path]) -> None:
    results, folder = written
    bins = json.loads((folder / "results.json").read_text(encoding="utf-8"))["estimates"]["reliability"]
    assert len(bins) == 10
    assert any(one["count"] == 0 for one in bins)
    stated = [one.estimate for one in results.numbers.find("reliability", category="core")]
    figure = draw_reliability(stated, core(results, "ece"), results.name)
    points, counts = figure.axes
    filled = [one for one in bins if one["count"]]
    assert [bar.get_height() for bar in counts.patches] == [one["count"] for one in filled]
    drawn = points.containers[0].lines[0]
    assert np.allclose(drawn.get_xdata(), [one["confidence"] for one in filled])
    assert np.allclose(drawn.get_ydata(), [one["accuracy"] for one in filled])
    marks = counts.lines[0].get_xdata()
    assert len(marks) == len(bins) - len(filled)
    shown = f"Reliability — checkpoint=step-2000, ECE={core(results, 'ece').value:.3f}, N=120"
    assert figure.get_suptitle() == shown
    assert (points.get_xlabel(), points.get_ylabel()) == ("mean confidence", "accuracy")


def test_the_labs_diagram_is_written_where_it_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "step-1" / "reliability.png"
    path.parent.mkdir()
    reliability_diagram(np.array([0.2, 0.9, 1.0]), np.array([0, 1, 1]), 10, str(path))
    assert path.read_bytes().startswith(b"\x89PNG")


def test_a_written_checkpoint_can_be_read_back(written: tuple[CheckpointFolder, Path]) -> None:
    results, folder = written
    assert load_checkpoint(folder).as_json() == results.as_json()


def test_a_second_report_leaves_nothing_of_the_first(tmp_path: Path) -> None:
    rows = simulated(13, 20, n_adversarial=4)
    write_checkpoint(checkpoint_of(rows, name="x", sentences=[Sentence("s", "en", -3.0, 2)]), tmp_path)
    folder = write_checkpoint(checkpoint_of(rows[:20], name="x"), tmp_path)
    assert not {"held_out.jsonl", "adversarial_by_category.png"} & {path.name for path in folder.iterdir()}


def test_the_report_has_its_parts_in_order(written: tuple[CheckpointFolder, Path]) -> None:
    page = (written[1] / "REPORT.md").read_text(encoding="utf-8")
    parts = [
        "# Checkpoint step-2000", "Checkpoint hash: abab", "Training step: 2000", "Parent manifest: manifest.json",
        "Probe-set hash: cdcd", "Date: 2026-01-31", "Seed: 7", "## Headline", "Perplexity, overall", "Perplexity, en",
        "Accuracy |", "ECE |", "Brier score", "Adversarial accuracy", "## Slices", "![Reliability diagram]",
        "## Adversarial probes", "## Confusion matrix", "## Failures", "## Limits",
    ]  # fmt: skip
    places = [page.index(part) for part in parts]
    assert places == sorted(places)
    assert "a perfect model shows" in page
    assert "Risk at 80% coverage" in page


def test_failures_name_the_probe_the_choice_and_the_confidence(written: tuple[CheckpointFolder, Path]) -> None:
    results, folder = written
    failures = (folder / "REPORT.md").read_text(encoding="utf-8").split("## Failures")[1]
    wrong = [one for one in results.choices if not one.correct]
    assert f"{len(wrong)} wrong choices" in failures
    for one in wrong:
        assert f"| {one.id} | She \\_\\_\\_ \\({one.id.removeprefix('probe-')}\\)." in failures
        assert f"| {one.expected} | {one.predicted} | {one.confidence:.3f} |" in failures
