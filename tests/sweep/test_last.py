"""The job after the shards on SLURM, and what is said of a run that is not merged; SLURM's commands are scripts."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest

from perpend.errors import ModelError
from perpend.ledger.shards import shard_folders
from perpend.sweep.facts import Sweep, SweepJob, add_job, read_state, write_state, write_sweep
from perpend.sweep.slurm import ROUNDS, LastTask
from perpend.sweep.submitting import standing
from tests.sweep import call, write_run

ITEMS = 4


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run with shards that are done, as SLURM would have asked them, and `squeue` that prints the file `queue`."""
    spec = write_run(tmp_path, None, ITEMS)
    for shard in (1, 2):
        call(tmp_path, "eval", spec, "--shard", f"{shard}/2", "--quiet")
    run = tmp_path / "runs" / "sweep"
    write_sweep(run, Sweep(2, "slurm", str(spec), str(tmp_path / "runs"), scored=False))
    add_job(run, SweepJob("7", (1, 2)))
    add_job(run, SweepJob("8", (), kind="last"))
    programs = tmp_path / "programs"
    programs.mkdir()
    (tmp_path / "queue").touch()
    (programs / "squeue").write_text(f"#!/bin/sh\ncat {tmp_path}/queue\n")
    (programs / "sbatch").write_text(f"#!/bin/sh\ntouch {tmp_path}/submitted\nexit 1\n")
    for path in programs.iterdir():
        path.chmod(0o755)
    monkeypatch.setenv("PATH", str(programs), prepend=":")
    monkeypatch.setenv("SLURM_ARRAY_JOB_ID", "8")
    return run


def test_what_is_queued_or_runs_is_not_submitted_again(run: Path, tmp_path: Path) -> None:
    write_state(run, read_state(run, 1))
    (tmp_path / "queue").write_text("7 0 RUNNING\n7 1 PENDING\n8 0 RUNNING\n")
    assert LastTask(str(run), 1)(0) == "merged"
    assert not (tmp_path / "submitted").exists()


def test_a_later_last_job_does_it_alone(run: Path, tmp_path: Path) -> None:
    add_job(run, SweepJob("9", (), kind="last"))
    (tmp_path / "queue").write_text("8 0 RUNNING\n9 0 PENDING\n")
    assert LastTask(str(run), 1)(0) == "left to job 9"
    assert not (tmp_path / "submitted").exists()
    assert not (run / "run.db").exists()
    (tmp_path / "queue").write_text("8 0 RUNNING\n")  # somebody took it out of the queue
    assert LastTask(str(run), ROUNDS)(0) == "merged"


def test_status_says_that_a_run_is_not_merged_and_why(run: Path, tmp_path: Path) -> None:
    assert standing(run).unmerged == "nobody has merged them yet"
    folder = shard_folders(run)[next(iter(shard_folders(run)))][0]
    other = Path(shutil.copytree(folder, folder.with_name(f"{folder.name}-{'0' * 12}")))
    with sqlite3.connect(other / "run.db") as db:
        (trigger,) = db.execute("SELECT sql FROM sqlite_master WHERE name = 'response_is_a_fact'").fetchone()
        db.execute("DROP TRIGGER response_is_a_fact")
        db.execute("UPDATE response SET text = 'another'")
        db.execute(trigger)
    with pytest.raises(ModelError, match="the merge failed"):
        LastTask(str(run), ROUNDS)(0)
    shown = call(tmp_path, "status", run)
    assert "Not merged: " in shown
    assert "answered otherwise elsewhere" in shown
    assert "\\n" not in shown
    shutil.rmtree(other)
    assert LastTask(str(run), ROUNDS)(0) == "merged"
    assert "Not merged" not in call(tmp_path, "status", run)
