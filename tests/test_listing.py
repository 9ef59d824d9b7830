"""perpend list: what there is by name."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from perpend.cli import cli
from perpend.errors import StoreError
from perpend.spec.resolve import names


def call(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["list", *arguments])


def listed(*arguments: str) -> dict[str, dict[str, object]]:
    done = call(*arguments, "--json")
    assert done.exit_code == 0, (done.output, done.exception)
    return {row["name"]: row for row in json.loads(done.stdout)}


@pytest.mark.parametrize(("kind", "known"), [("tasks", "conformity"), ("models", "openai"), ("scorers", "correct")])
def test_every_name_has_a_line(kind: str, known: str) -> None:
    rows = listed(kind)
    assert known in rows
    assert set(rows) <= set(names(kind))  # type: ignore[arg-type]  # each is one of the kinds
    assert "template" not in rows, "a module that makes no model is none"
    lines = call(kind).stdout.splitlines()
    assert len(lines) == len(rows)
    assert all(len(line.split(maxsplit=1)) == 2 for line in lines)


def test_conditions_are_listed_with_their_task_and_their_words() -> None:
    rows = listed("conditions")
    assert "Other participants have answered" in str(rows["conformity: asch_history_5"]["about"])
    assert rows["questions: control"]["task"] == "questions"


def test_what_an_installed_package_adds_is_listed_without_being_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pressure.py").write_text('"""pressure: a study of mine."""\nraise SystemExit("was run")\n')
    metadata = tmp_path / "pressure-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: pressure\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[perpend.models]\npressure = pressure:model\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    row = listed("models")["pressure"]
    assert (row["about"], row["package"]) == ("A study of mine.", "pressure:model")


def test_runs_are_listed_by_date_with_what_they_hold(tmp_path: Path, items_file: Callable[..., Path]) -> None:
    runs, items = tmp_path / "runs", items_file(4)
    start = ["eval", "--task", "questions", "--items", str(items), "--model", "mock/true", "--out", str(runs)]
    for more in (["--name", "whole"], ["--name", "half", "--max-requests", "2"]):
        CliRunner().invoke(cli, [*start, *more])
    (runs / "no-run").mkdir()
    (runs / "\x1b[31mbroken").mkdir()
    (runs / "\x1b[31mbroken" / "manifest.json").write_text("{}")
    done = call("runs", str(runs))
    assert done.exit_code == 0
    assert "\x1b" not in done.stdout
    assert "questions  mock/true  4 of 4 answered" in done.stdout
    rows = listed("runs", str(runs))
    assert (rows["half"]["answered"], rows["half"]["trials"], rows["half"]["models"]) == (2, 4, ["mock/true"])
    assert "cannot be read" in str(next(row["about"] for name, row in rows.items() if "broken" in name))
    assert len(rows) == 3


def test_a_folder_that_is_not_there_and_an_unknown_kind_are_errors(tmp_path: Path) -> None:
    assert isinstance(call("runs", str(tmp_path / "nowhere")).exception, StoreError)
    assert call("task").exit_code == 2
    assert call("tasks", str(tmp_path)).exit_code == 2
    assert "No runs below" in call("runs", str(tmp_path)).stdout
