"""'perpend import' goes by what a file holds, and says what it can read when it cannot read something."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

from perpend._convert import convert, readable
from perpend.cli import cli
from perpend.errors import DataError, StoreError
from perpend.measure.run import Run
from tests.test_compat_simulation import joined, simulation


def test_a_database_is_known_by_its_content_and_by_its_folder(tmp_path: Path) -> None:
    source = simulation(tmp_path / "20260101_run-1" / "simulation.db")
    assert len(Run(convert(source.parent, tmp_path / "a")).table) == 4
    renamed = source.rename(tmp_path / "old.sqlite")
    assert len(Run(convert(renamed, tmp_path / "b")).table) == 4


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("notes.md", b"# Notes\n"),
        ("empty.jsonl", b""),
        ("list.json", b"[1, 2]"),
        ("other.json", b'{"hello": "world"}'),
        ("binary.db", b"\x00\xff" * 100),
        ("deep.json", b"[" * 100_000),
    ],
)
def test_what_cannot_be_read_is_told_what_can(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DataError) as error:
        convert(path, tmp_path / "out")
    assert str(path) in str(error.value)
    assert "\n  ".join(readable()) in str(error.value)
    assert not (tmp_path / "out").exists()


def test_other_databases_and_folders_and_missing_files_are_said_so(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "other.db")) as db, db:
        db.execute("CREATE TABLE x(y)")
    for path, kind in ((tmp_path / "other.db", StoreError), (tmp_path, DataError), (tmp_path / "gone", DataError)):
        with pytest.raises(kind) as error:
            convert(path, tmp_path / "out")
        assert "\n  ".join(readable()) in str(error.value)


def said(*arguments: str | Path) -> str:
    done = CliRunner().invoke(cli, list(map(str, arguments)))
    assert done.exit_code == 0, done.output
    return done.stdout


def test_an_imported_run_is_scored_and_shown_like_any_other(tmp_path: Path) -> None:
    run = convert(simulation(tmp_path / "simulation.db", temperatures=(0.0, 1.0)), tmp_path / "runs" / "study")
    assert "correct@1" in said("score", run, "--json")
    status = json.loads(said("show", run, "--json"))
    assert (status["planned"], status["answered"]) == (8, 8)
    cases = json.loads(said("show", run, "--where", "condition=control", "--where", "item=peru", "--json"))
    assert [case["scores"]["stored_correct@import"]["value"] for case in cases] == [1.0, 1.0]
    assert "8 of 8 expected trials are answered" in (run / "report.md").read_text()
    assert Run(run)["correct@1"].disagreement(Run(run)["stored_correct"]).value == 0.0


def test_a_scored_import_goes_back_to_the_study_unchanged(tmp_path: Path) -> None:
    source = simulation(tmp_path / "simulation.db")
    run = convert(source, tmp_path / "run")
    said("score", run)
    said("export", run, "--as", "simulation.db", "--out", tmp_path / "back.db")
    assert joined(tmp_path / "back.db") == joined(source)
