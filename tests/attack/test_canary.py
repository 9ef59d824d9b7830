"""Nothing out of a folder runs: no name, no program, no pickle, no template, under any verb; and nothing is written."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from perpend.spec import resolve
from tests.attack import hostile

FEW = 2
"""Names that are tried in each field here; `python -m tests.attack.hostile` tries all."""


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "cases").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "claims.toml").write_text('[[claim]]\nsays = "x"\nnumber = "rate(correct)"\nexpect = 1.0\n')
    return tmp_path


def hostile_run(source: Path, work: Path, field: str, name: str) -> Path:
    """A copy of a run with programs beside it and a hostile name in one of its fields."""
    number = len(list((work / "cases").iterdir()))
    run = work / "cases" / str(number) / "run"
    shutil.copytree(source / "runs" / "questions", run)
    hostile.plant(run, work / "MARK")
    hostile.forge(field, run, name)
    return run


def test_no_verb_runs_anything_that_a_folder_names(source: Path, work: Path) -> None:
    rng = random.Random("names")
    commands: list[list[str]] = []
    for field in hostile.FIELDS:
        names = hostile.names(work / "cases" / "0" / "run")
        for name in (names[0], *rng.sample(names[1:], FEW - 1)):
            run = hostile_run(source, work, field, name)
            out = work / "out" / run.parent.name
            out.mkdir()
            commands += hostile.commands(run, source / "runs" / "questions", out, work / "claims.toml")
    outcomes = hostile.watched(work, work / "cases" / "0" / "run", commands)
    assert not [(outcome["command"], found) for outcome in outcomes if (found := hostile.faults(outcome))]
    assert not (work / "MARK").exists()


def test_a_published_folder_with_programs_in_it_runs_none(source: Path, work: Path) -> None:
    folder = work / "cases" / "published"
    shutil.copytree(source / "published", folder)
    for kind in folder.iterdir():
        if kind.is_dir():
            hostile.plant(kind, work / "MARK")
    outcomes = hostile.watched(work, folder, [["audit", str(folder), "--quiet", "--workers", "1"]])
    assert outcomes[0]["code"] == 6
    assert not [found for outcome in outcomes if (found := hostile.faults(outcome))]
    assert not (work / "MARK").exists()


def test_the_watch_sees_a_program_that_runs(source: Path, work: Path) -> None:
    """A guard that was never seen to bark: with the user's own way of naming a file, the canary is heard."""
    run = hostile_run(source, work, "task", "questions")
    assert resolve.is_file(f"{run / 'x.py'}")
    outcomes = hostile.watched(work, run, [["score", str(run), "--only", str(run / "x.py")]])
    assert any("x.py" in line for line in outcomes[0]["seen"])
    assert (work / "MARK").exists()
