"""What an audit reads: runs that were never scored, and the files that people have, in the formats of the studies."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import perpend as pp
from perpend._convert import convert
from perpend.cli import cli
from perpend.errors import StoreError
from perpend.ledger.database import exclusive
from perpend.proof.audit import Audit, Options, audit, check_claims, seed_numbers
from tests.test_chaosbench_forgery import original, published, root, run_of

__all__ = ["original", "root"]


@pytest.fixture
def simulation(tmp_path: Path) -> Path:
    """A run folder of the study's own: runs/<name>/simulation.db."""
    task = pp.task("conformity", conditions=["control", "asch_history_5"])
    subject = pp.model("mock/subject", accuracy=0.7, sway=0.4)
    run = pp.evaluate(task, [subject], name="t0", max_items=8, out=tmp_path / "asked", quiet=True)
    folder = tmp_path / "theirs" / "t0"
    folder.mkdir(parents=True)
    convert(run.directory, folder / "simulation.db")
    return folder


def of(path: Path, **options: Path) -> Audit:
    (outcome,) = audit([path], Options(**options))
    return outcome


def test_a_run_after_convert_is_scored_for_the_audit_and_stays_as_it_is(simulation: Path, tmp_path: Path) -> None:
    run = convert(simulation / "simulation.db", tmp_path / "converted")
    before = (run / "run.db").read_bytes()
    outcome = of(run)
    assert outcome.ok, [check for check in outcome.checks if check.differ]
    notes = {check.name: check.note for check in outcome.checks}
    assert notes["scores"] == "not scored yet; scored for this audit"
    assert "not there" in notes["metrics.json, report.md"]
    assert (run / "run.db").read_bytes() == before


@pytest.mark.parametrize("name", ["", "simulation.db"])
def test_a_simulation_db_is_audited_as_it_is_under_its_own_name(simulation: Path, name: str) -> None:
    outcome = of(simulation / name if name else simulation)
    assert outcome.ok, [check for check in outcome.checks if check.differ]
    assert outcome.name == (name or "t0")
    checks = {check.name: check.checked for check in outcome.checks}
    assert checks["stored_correct@import against correct@1"]
    assert checks["cells of the study"]


def test_a_folder_of_runs_is_found_and_an_edited_label_in_it_is_a_difference(simulation: Path) -> None:
    import sqlite3

    with sqlite3.connect(simulation / "simulation.db") as db:
        db.execute("UPDATE conformity_outputs SET is_correct = 1 - is_correct WHERE is_correct IS NOT NULL")
    db.close()
    outcome = of(simulation.parent)
    assert "stored_correct@import against correct@1" in [check.name for check in outcome.checks if check.differ]


def test_claims_and_the_studys_own_audit_work_on_what_was_imported(simulation: Path, tmp_path: Path) -> None:
    outcome = of(simulation)
    claims = tmp_path / "claims.toml"
    claims.write_text('[[claim]]\nsays = "16 trials"\nnumber = "trials()"\nexpect = 16\n')
    assert [verdict.status for verdict in check_claims(claims, [outcome])] == ["pass"]
    assert "pressure_table" in seed_numbers([outcome], "v1")
    assert seed_numbers([], "v1") == {}


def test_published_results_of_the_benchmark_are_imported_and_their_labels_read_again(root: Path) -> None:
    outcome = of(published(root).parent)
    assert outcome.ok
    assert any("predictions" in check.name and check.checked for check in outcome.checks)


def test_forged_labels_and_metrics_of_a_benchmark_folder_are_differences(root: Path) -> None:
    """Six labels and the numbers that fit them: what once went through publish-run, analyze-runs and audit."""
    folder = run_of(root)
    for name in ("manifest.json", "run.db"):
        (folder / name).unlink()
    assert of(folder).ok
    path = folder / "predictions.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    for row in [row for row in rows if not row["correct"]][:6]:
        row |= {"parsed_label": row["ground_truth"], "outcome": "VALID_" + row["ground_truth"], "correct": True}
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    outcome = of(folder)
    assert not outcome.ok
    assert any("predictions" in check.name or "label" in check.name for check in outcome.checks if check.differ)


def test_what_is_neither_a_run_nor_a_file_of_a_study_says_what_can_be_read(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(StoreError, match=r"no file that a study reads \(.*simulation.db"):
        audit([tmp_path / "notes.txt"])


def test_an_audit_of_an_unscored_run_takes_no_lock_of_it_and_changes_nothing_there(tmp_path: Path) -> None:
    """Somebody may be asking it: what is there at one moment is audited."""
    words = ["eval", "--task", "conformity", "--model", "mock/subject", "--max-items", "4", "--name", "live"]
    assert CliRunner().invoke(cli, [*words, "--out", str(tmp_path), "--no-score", "--quiet"]).exit_code == 0
    directory = tmp_path / "live"
    assert of(directory).ok
    with exclusive(directory):
        (directory / "lock.db-journal").touch()
        before = directory.stat().st_mtime_ns, {path.name: path.stat().st_mtime_ns for path in directory.iterdir()}
        assert of(directory).ok
        assert before == (
            directory.stat().st_mtime_ns,
            {path.name: path.stat().st_mtime_ns for path in directory.iterdir()},
        )
