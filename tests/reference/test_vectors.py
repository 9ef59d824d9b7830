"""The known-answer cases, run as a user runs them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

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
