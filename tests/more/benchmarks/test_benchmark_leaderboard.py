"""The leaderboard: by stratum, a missing answer is wrong, disagreements are listed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from perpend.canon import JSON
from perpend.errors import ModelError
from perpend.studies.logic.chaos.questions.draft import STRATA
from perpend.studies.logic.chaos.solving.again import FactComparison
from perpend.types import Response
from tests.conftest import ROOT, load_benchmark

leaderboard = load_benchmark("leaderboard")

needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")


def called(*options: str) -> Any:
    paths = {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]), "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, str(ROOT / "benchmarks" / "leaderboard.py"), "--quick", "--json", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, **paths})
    assert len(done.stdout.splitlines()) == 1, done.stdout[:500]
    return json.loads(done.stdout)


@needs_compiler
def test_a_quick_board_has_the_solver() -> None:
    board = called("--solve", "4")
    assert board["items"] > 100
    rows = {row["name"]: row for row in board["rows"]}
    assert {"constant", "solver with code tools"} <= set(rows)
    assert set(rows["solver with code tools"]["strata"]) == {"logic", "compute"}
    assert rows["solver with code tools"]["strata"]["logic"]["value"] == 1.0


@needs_compiler
def test_facts_are_compared() -> None:
    found = called("--facts", "--solve", "3")
    assert found["rows"] == []
    assert found["facts"]["agreement"]["all"]["n"] > 10


def items(count: int, stratum: str) -> list[dict[str, str]]:
    return [
        {"id": f"{stratum}{k}", "question": "?", "ground_truth": "TRUE" if k % 2 else "FALSE", "type": "atomic",
         "system_id": "generic", "template": "any", "stratum": stratum, "grade": str(1 + k % 3), "pair": str(k // 2)}
        for k in range(count)
    ]  # fmt: skip


def test_a_missing_answer_counts_as_wrong() -> None:
    rows = items(12, "compute")
    right = [row["ground_truth"] == "TRUE" for row in rows]
    assert leaderboard.counted(rows, right).value == 1.0
    missing = leaderboard.counted(rows, [None, None, *right[2:]])
    assert missing.value == pytest.approx(10 / 12)
    assert missing.also["unanswered"] == 2
    assert leaderboard.counted([], []).value is None


def test_strata_and_grades_stand_apart() -> None:
    rows = [*items(12, "compute"), *items(12, "logic")]
    answers = [row["ground_truth"] == "TRUE" for row in rows[:12]] + [
        row["ground_truth"] != "TRUE" for row in rows[12:]
    ]
    made = leaderboard.row("who", "none", rows, answers)
    assert {name: one.value for name, one in made.strata.items()} == {"compute": 1.0, "logic": 0.0}
    assert {name: one.n for name, one in made.grades.items()} == {"1": 4, "2": 4, "3": 4}
    page = leaderboard.page([made], [], rows)
    assert all(f" {stratum} |" in page for stratum in STRATA)
    assert "1.000" in page


def test_a_planted_disagreement_is_listed_with_its_numbers() -> None:
    numbers: dict[str, JSON] = {
        "exponents": [0.3],
        "errors": [0.1],
        "exponents again": [-0.2],
        "errors again": [0.01],
        "why": "",
    }
    rows = [FactComparison(f"i{k}", "Chaotic", True, k != 3, numbers) for k in range(10)]
    assert leaderboard.agreement(rows)["all"].value == pytest.approx(0.9)
    text = "\n".join(leaderboard.agreed(rows))
    assert "not reached" in text
    assert "`i3`" in text
    assert "-0.2 ± 0.01" in text
    assert "`i4`" not in text
    assert "is reached" in "\n".join(leaderboard.agreed(rows[:3]))


def test_replies_of_the_model_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [*items(12, "compute"), *items(12, "data")]
    for place, row in enumerate(rows):
        row["question"] = f"Is {place} even?"
    times: list[int] = []

    def stand_in(questions: Sequence[str], _workers: int) -> Iterator[tuple[int, Response]]:
        times.append(len(questions))
        yield from ((k, Response(text="TRUE" if k else "I do not know.", finish="stop")) for k in range(len(questions)))

    monkeypatch.setattr(leaderboard, "asked", stand_in)
    first = leaderboard.model_row(rows, 12, tmp_path / "replies.jsonl", 1)
    again = leaderboard.model_row(rows, 12, tmp_path / "replies.jsonl", 1)
    assert times == [24, 0]
    assert first == again
    assert first.strata["compute"].value == 0.5
    assert sum(one.also["unanswered"] for one in first.strata.values()) == 1


def test_without_the_model_there_is_no_row(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def missing(_questions: Sequence[str], _workers: int) -> Iterator[tuple[int, Response]]:
        raise ModelError("no weights")

    monkeypatch.setattr(leaderboard, "asked", missing)
    assert leaderboard.model_row(items(4, "data"), 4, None, 1) is None
    assert "no weights" in capsys.readouterr().err
