"""The known-answer cases, run as a user runs them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.reference import vectors_calibration, vectors_core, vectors_decisions
from tests.reference.vectors import failure

ROOT = Path(__file__).resolve().parents[2]
CASES = ROOT / ".." / "shared" / "data" / "statistics"


def run(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.reference.vectors", str(folder)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)


def written(folder: Path, **case: object) -> Path:
    whole = {"id": "one", "tolerance": {"abs": 1e-9, "rel": 0.0}, **case}
    (folder / "suite.json").write_text(json.dumps({"suite": "suite", "meta": {}, "cases": [whole]}))
    return folder


@pytest.mark.skipif(not CASES.is_dir(), reason="the known-answer cases (shared/data/statistics) are not here")
def test_every_known_answer_case_passes() -> None:
    done = run(CASES)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_wrong_answer_fails_the_run(tmp_path: Path) -> None:
    inputs = {"successes": 5, "n": 10, "confidence": 0.95}
    right = [0.23659309051256402, 0.763406909487436]
    assert run(written(tmp_path, function="wilson", inputs=inputs, expected=right)).returncode == 0
    done = run(written(tmp_path, function="wilson", inputs=inputs, expected=[0.24, 0.76]))
    assert done.returncode == 1
    assert "0 passed    1 failed" in done.stdout


def test_an_unknown_label_fails_the_run(tmp_path: Path) -> None:
    done = run(written(tmp_path, function="no_such_function", inputs={}, expected=1.0))
    assert done.returncode == 1
    assert "unknown function label 'no_such_function'" in done.stdout


def test_a_zero_where_undefined_was_expected_fails_the_run(tmp_path: Path) -> None:
    inputs = {"tp": 1, "fn": 1, "fp": 1, "tn": 1, "invalid": 0}
    done = run(written(tmp_path, function="binary_metrics", inputs=inputs, expected={"must": ["null", "error"]}))
    assert done.returncode == 1


def test_a_folder_without_cases_is_not_a_pass(tmp_path: Path) -> None:
    assert run(tmp_path).returncode == 2


CONTROL, PRESSURE, RETEST = [1, 1, 1, 1, 0, 0], [0, 1, 0, 1, 1, 0], [1, 0, 1, 1, 0, 1]
PROBS = [[0.7, 0.2, 0.1], [0.3, 0.4, 0.3]]


@pytest.mark.parametrize(
    ("label", "inputs", "expected"),
    [
        ("truth_override", {"control_correct": CONTROL, "pressure_correct": PRESSURE}, 0.5),
        ("truth_override", {"before": CONTROL, "after": PRESSURE}, {"rate": 0.5, "num": 2, "denom": 4}),
        ("truth_override_rate", {"correct_control": CONTROL, "correct_pressure": PRESSURE}, 0.5),
        ("override_rescue", {"a": CONTROL, "b": PRESSURE}, {"override": 0.5, "rescue": 0.5, "denom_rescue": 2}),
        ("pooled", {"b": 2, "c": 1, "denom_override": 4, "n_pairs": 6}, {"truth_override": 0.5, "c_rescue": 1}),
        ("conformity_rates", {"control": [1, None, 0], "pressure": [0, 1, 0]}, {"override": 1.0, "n_pairs": 2}),
        ("nothing_right", {"control": [0, 0], "pressure": [0, 1]}, {"truth_override_rate": None, "rescue": 0.5}),
        ("excess_override", {"control": CONTROL, "pressure": PRESSURE, "retest": RETEST}, 0.25),
        (
            "wrong_answer_flip",
            {"control_correct": CONTROL, "pressure_correct": PRESSURE,
             "control_wrong": [0, 0, 1], "pressure_wrong": [1, 0, 1]},
            {"wrong_answer_flip_rate": 0.5, "num_flip_to_wrong": 1, "denom_control_not_wrong": 2},
        ),
    ],
)  # fmt: skip
def test_a_label_of_pairs_that_nobody_has_seen_is_read_by_its_suite(
    label: str, inputs: dict[str, object], expected: object
) -> None:
    case = {"id": "one", "function": label, "inputs": inputs, "expected": expected}
    assert failure(case, vectors_core.CASES, "paired_rates") is None  # type: ignore[arg-type]  # JSON


@pytest.mark.parametrize(
    ("label", "inputs", "expected"),
    [
        ("cohens_kappa", {"table": [[20, 5], [10, 15]]}, 0.4),
        ("gwet_ac1", {"ratings": [[1, 1, 0, 0], [1, 1, 0, 1]]}, {"ac1": 0.75 - 0.25 * (15 / 32) / (17 / 32)}),
        ("krippendorff_alpha", {"ratings": [[1, 1, 0, 0], [1, 1, 0, 1]]}, {"alpha": 1 - 0.25 / (30 / 56)}),
        ("pass_at_k", {"n": 5, "c": 2, "k": 2}, 0.7),
        ("pass_hat_k", {"n": [5, 5], "c": [2, 5], "k": 2}, {"value": 0.55}),
        ("holm", {"p": [0.01, 0.04]}, [0.02, 0.04]),
        ("benjamini_hochberg", {"pvalues": [0.01, 0.04]}, [0.02, 0.04]),
        ("mcnemar_exact", {"b": 0, "c": 6}, 0.03125),
        ("mcnemar_midp", {"b": 0, "c": 6}, {"p": 0.015625}),
        ("wilson_ci", {"k": 5, "n": 10}, [0.23659309051256402, 0.763406909487436]),
        ("risk_at_coverage", {"confidences": [0.9, 0.8, 0.7, 0.6], "correct": [1, 0, 1, 0], "coverage": 0.5}, 0.5),
        ("ece_top_label", {"probs": PROBS, "labels": [0, 0], "n_bins": 10}, 0.35),
        ("manski_bounds", {"tp": 3, "fn": 1, "fp": 1, "tn": 3, "invalid": 2}, [0.6, 0.8]),
        ("flip_rate", {"answers": [1, 0, 1, 1, 0], "groups": ["a", "a", "b", "b", "c"]}, 0.5),
        ("cluster_mcnemar", {"deltas": [2, 1, -1]}, {"z": 2 / 6**0.5}),
        ("non_inferiority", {"n11": 90, "n10": 0, "n01": 0, "n00": 10, "margin": 0.1}, {"verdict": "equivalent"}),
        ("tost", {"first": [1, 2, 3], "second": [1, 2, 3.5], "margin": 0.0}, {"must": ["error"]}),
        ("rogan_gladen", {"verdicts": [1, 1, 0, 0], "labels": [1, None, 0, 0]}, {"raw": 0.5}),
        ("ppi++", {"verdicts": [1, 1, 0, 0] * 4, "labels": [1, 0, 0, 0] * 4}, 0.25),
    ],
)
def test_every_decision_and_every_other_name_has_an_adapter(
    label: str, inputs: dict[str, object], expected: object
) -> None:
    adapters = {**vectors_decisions.CASES, **vectors_core.CASES, **vectors_calibration.CASES}
    case = {"id": "one", "function": label, "inputs": inputs, "expected": expected}
    assert failure(case, adapters) is None  # type: ignore[arg-type]  # JSON
