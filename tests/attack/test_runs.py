"""A forged run directory: the ledger has no receipt, so everything is caught by recomputation."""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from perpend._convert import convert
from perpend.ask.conditions import control
from perpend.ask.task import Task
from perpend.cli import cli
from perpend.errors import AuditFailure, StoreError
from perpend.measure.run import Run
from perpend.proof.audit import Options, as_table, audit, audit_run
from perpend.report.derive import derive
from tests.attack.conftest import Copied
from tests.attack.forge import Body, edit, failed, of
from tests.attack.ledger import run_sql
from tests.runs import TASK, asked
from tests.test_compat_rows import rows_file


def test_a_call_that_failed_before_its_answer_is_no_difference(copied: Copied) -> None:
    run = copied("runs/swayed")
    failure = "SELECT trial, turn, 0, request_sha256, NULL, 'HTTP 500', logprobs, finish, usage, ms, at FROM response"
    run_sql(
        run,
        "UPDATE response SET attempt = 1 WHERE trial = 3",
        f"INSERT INTO response {failure} WHERE trial = 3",
    )
    assert failed(run) == {}


def test_a_trial_that_only_failed_is_stated(copied: Copied) -> None:
    run = copied("runs/swayed")
    run_sql(run, "UPDATE response SET text = NULL, error = 'HTTP 500' WHERE trial = 5")
    check = next(check for check in of(run).checks if check.name == "every trial was asked")
    assert check.differ == 0
    assert "1 of 8 trials only failed" in check.note


def test_numbers_that_another_machine_may_move_in_the_last_digit_are_the_same(copied: Copied) -> None:
    def nudge(body: Body) -> None:
        for metric in body["metrics"]:
            if isinstance(metric["lo"], float):
                metric["lo"] *= 1 + 1e-13

    run = copied("runs/swayed")
    edit("metrics.json", nudge)(run)
    assert of(run).ok


def test_the_verb_prints_a_table_and_exits_with_6(copied: Copied, tmp_path: Path) -> None:
    run = copied("runs/swayed")
    of(run).raise_for_failures()
    assert "nothing differs" in CliRunner().invoke(cli, ["audit", str(run)]).output
    run_sql(run, "UPDATE score SET value = 0.25 WHERE trial = 3 AND scorer = 1")
    with pytest.raises(AuditFailure, match="1 of 16 differ"):
        of(run).raise_for_failures()
    out = tmp_path / "audit.json"
    done = CliRunner().invoke(cli, ["audit", str(run), "--out-json", str(out)])
    assert isinstance(done.exception, AuditFailure)
    assert done.exception.exit_code == 6
    assert "DIFFERS" in done.output
    assert json.loads(out.read_text())["audit"][0]["ok"] is False


def test_a_condition_without_a_template_is_said_and_not_passed_over(
    tmp_path: Path, items_file: Callable[..., Path]
) -> None:
    own = replace(control(), params={"type": "mine"})
    run = asked(items_file(2), tmp_path, task=replace(TASK, conditions=(own,)))
    check = next(check for check in of(run.directory).checks if check.name == "questions were asked as planned")
    assert check.checked == 0
    assert "holds no template" in check.missing


def imported(tmp_path: Path, drop: tuple[str, str] | None = None, **changes: object) -> Path:
    """A study of two items, two conditions and two variants in the seed study's row format, converted and scored."""
    rows = [
        {"trial_id": f"{variant}-{condition}-{item}", "variant": variant, "model_id": variant, "condition": condition,
         "item_id": item, "question": f"Question {item}?", "ground_truth": answer, "wrong_answer": "Oslo",
         "raw_text": f"It is {answer}.", "stored_parsed_answer_text": f"It is {answer}."}
        for variant in ("base", "instruct")
        for condition in ("control", "asch_history_5")
        for item, answer in (("a", "Lima"), ("b", "Rome"))
        if (variant, condition) != drop
    ]  # fmt: skip
    run = Run(convert(rows_file(tmp_path, {**rows[0], **changes}, *rows[1:]), tmp_path / "imported"))
    run.score()
    derive([run], run.directory, figures=False)
    return run.directory


def test_an_imported_study_passes_and_its_stored_labels_are_compared(tmp_path: Path) -> None:
    """The reference's labels where a row states them: one does. What a person said is no rule's."""
    outcome = of(imported(tmp_path, ref_is_correct=1, ref_mention=0, ref_W=0, human_W=1))
    assert outcome.ok
    compared = {check.name: check.checked for check in outcome.checks}
    assert compared["stored_correct@import against correct@1"] == 8
    assert compared["stored_parsed@import against rule 1"] == 8
    for name in ("correct", "mentioned", "endorsed"):
        assert compared[f"ref_{name}@import against {name}@1"] == 1
    assert compared["human_W@import"] == 0


@pytest.mark.parametrize(
    ("forged", "check"),
    [
        ({"stored_is_correct": 0}, "stored_correct@import against correct@1"),
        ({"ref_W": 1}, "ref_endorsed@import against endorsed@1"),
        ({"drop": ("instruct", "asch_history_5")}, "cells of the study"),
    ],
)
def test_a_label_that_nobody_gave_and_a_missing_cell_of_an_import_are_caught(
    tmp_path: Path, forged: dict[str, Any], check: str
) -> None:
    found = failed(imported(tmp_path, **forged))
    assert list(found) == [check]
    assert "drop" not in forged or "instruct, asch_history_5" in found[check].first


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
VERSIONS = (Scorer("alike", "1", judge),)
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The source of a scorer that another installed package brings."""
    site = tmp_path / "site"
    (site / "alike-1.dist-info").mkdir(parents=True)
    (site / "alike-1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: alike\nVersion: 1\n")
    (site / "alike-1.dist-info" / "entry_points.txt").write_text("[perpend.scorers]\nalike = own_alike:VERSIONS\n")
    (site / "own_alike.py").write_text(OWN.format(rule="=="))
    monkeypatch.syspath_prepend(site)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return site / "own_alike.py"


def test_a_scorer_that_changed_without_its_version_is_named(
    tmp_path: Path, items_file: Callable[..., Path], installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = asked(items_file(4), tmp_path, task=Task("t", (control(),), ("alike@1",)))
    assert audit_run(run.directory).ok
    installed.write_text(OWN.format(rule="!="))
    monkeypatch.delitem(sys.modules, "own_alike")
    differing = failed(run.directory)
    assert list(differing) == ["scores of alike@1"]
    assert differing["scores of alike@1"].differ == 4
    assert "alike@1 changed without its version" in differing["scores of alike@1"].note


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
    run = asked(items_file(3200), tmp_path, task=replace(TASK, conditions=(control(),)))
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
