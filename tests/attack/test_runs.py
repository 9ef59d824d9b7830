"""A forged run directory: the ledger has no receipt, so everything is caught by recomputation."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from perpend.ask.conditions import control
from perpend.ask.runner import evaluate_task
from perpend.ask.task import Task
from perpend.errors import StoreError
from perpend.measure.run import Run
from perpend.models.callable import Callable as CallableModel
from perpend.proof.audit import Options, as_table, audit, audit_run
from perpend.report.derive import derive
from perpend.spec.runspec import ModelSpec, RunSpec
from tests.attack.conftest import Copied
from tests.attack.forge import failed, of
from tests.attack.ledger import run_sql


def test_a_damaged_manifest_is_named_and_not_a_crash(copied: Copied) -> None:
    run = copied("runs/swayed")
    (run / "manifest.json").write_text("{")
    assert "manifest.json: damaged" in failed(run)["what is stored can be read"].first


def test_a_folder_of_runs_and_published_folders_is_audited_whole_and_an_empty_one_is_an_error(
    copied: Copied, tmp_path: Path
) -> None:
    names = ["published/swayed", "published/tastes", "runs/swayed", "runs/tastes"]
    for name in names:
        copied(name)
    both = audit([tmp_path, tmp_path / "runs"])
    assert [one.path.relative_to(tmp_path).as_posix() for one in both] == names
    assert all(one.ok for one in both)
    (tmp_path / "empty").mkdir()
    with pytest.raises(StoreError, match="holds no run"):
        audit([tmp_path / "empty"])
    with pytest.raises(StoreError, match="no such folder"):
        audit([tmp_path / "nowhere"])


def test_a_sample_says_that_it_is_one_and_the_same_seed_draws_the_same(copied: Copied) -> None:
    run = copied("runs/swayed")
    run_sql(run, "UPDATE score SET value = 1 - value WHERE scorer = 2")
    outcome = of(run, Options(sample=5, seed=1))
    assert "in a SAMPLE of 5 of 16 trials (seed 1)" in outcome.verdict
    assert outcome.as_json()["sample"] == {"trials": 5, "of": 16, "seed": 1}
    scores = next(check for check in outcome.checks if check.name == "scores of label@2")
    assert (scores.checked, scores.differ) == (5, 5)
    again = of(run, Options(sample=5, seed=1))
    assert [check.as_json() for check in again.checks[1:]] == [check.as_json() for check in outcome.checks[1:]]
    assert of(run, Options(sample=99)).sample is None


OWN = """
from perpend.types import Score, Scorer
def judge(item, response):
    value = float(response.text {rule} item.target)
    return Score(value, response.text, "compared")
VERSIONS = (Scorer("exact", "1", judge),)
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The source of a scorer that another installed package brings."""
    site = tmp_path / "site"
    (site / "exact-1.dist-info").mkdir(parents=True)
    (site / "exact-1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: exact\nVersion: 1\n")
    (site / "exact-1.dist-info" / "entry_points.txt").write_text("[perpend.scorers]\nexact = own_exact:VERSIONS\n")
    (site / "own_exact.py").write_text(OWN.format(rule="=="))
    monkeypatch.syspath_prepend(site)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return site / "own_exact.py"


def test_a_scorer_that_changed_without_its_version_is_named(
    tmp_path: Path, items_file: Callable[..., Path], installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = Task(name="t", conditions=(control(),), scorers=("exact@1",))
    spec = RunSpec("t", (ModelSpec("callable/m", "m"),), items=(items_file(4),), name="run")
    run = Run(evaluate_task(spec, task, [CallableModel("m", lambda _: "TRUE")], tmp_path, quiet=True).directory)
    run.score()
    derive([run], run.directory, figures=False)
    assert audit_run(run.directory).ok
    installed.write_text(OWN.format(rule="!="))
    monkeypatch.delitem(sys.modules, "own_exact")
    differing = failed(run.directory)
    assert list(differing) == ["scores of exact@1"]
    assert differing["scores of exact@1"].differ == 4
    assert "exact@1 changed without its version" in differing["scores of exact@1"].note


def test_a_second_turn_is_rendered_again_from_the_first_answer(copied: Copied) -> None:
    run = copied("runs/logic")
    with closing(sqlite3.connect(run / "run.db")) as db:
        (turns,) = db.execute("SELECT count(*) FROM response WHERE turn = 1").fetchone()
        (calls,) = db.execute("SELECT count(*) FROM response").fetchone()
    asked = next(check for check in of(run).checks if check.name == "questions were asked as planned")
    assert turns > 0
    assert (asked.checked, asked.differ) == (calls, 0)


def test_many_trials_are_audited_by_several_processes_with_the_same_outcome(
    tmp_path: Path, items_file: Callable[..., Path]
) -> None:
    task = Task(name="t", conditions=(control(),), scorers=("label@1", "label@2"))
    spec = RunSpec("t", (ModelSpec("callable/m", "m"),), items=(items_file(3200),), name="run")
    run = Run(evaluate_task(spec, task, [CallableModel("m", lambda _: "TRUE")], tmp_path, quiet=True).directory)
    run.score()
    derive([run], run.directory, figures=False)
    run_sql(run.directory, "UPDATE score SET value = 0.25 WHERE trial IN (3001, 601) AND scorer = 2")
    several, one = (of(run.directory, Options(workers=workers)) for workers in (2, 1))
    # The first check says with which code the run was written, and the tree may change under a running test.
    assert [check.as_json() for check in several.checks[1:]] == [check.as_json() for check in one.checks[1:]]
    found = {check.name: check for check in several.checks if check.differ}
    assert found["scores of label@2"].differ == 2
    assert found["scores of label@2"].first.startswith("trial 601 (item-600, control): value: stored 0.25")


def test_what_a_forger_wrote_cannot_move_the_cursor_or_break_the_table(copied: Copied) -> None:
    run = copied("runs/swayed")
    run_sql(
        run,
        "UPDATE score SET reason = char(27) || '[2J' || char(10) || 'swayed: nothing differs' || char(8238)"
        " WHERE trial = 3 AND scorer = 2",
    )
    table = as_table([of(run)])
    assert "\x1b" not in table
    assert "\u202e" not in table
    assert [line for line in table.split("\n") if line.startswith("swayed:")] == [
        "swayed: DIFFERS; not recomputed: what the task asks for"
    ]
