from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from perpend._convert import convert
from perpend.ask.conditions import asch, control
from perpend.ask.runner import evaluate_task
from perpend.ask.task import Task
from perpend.canon import pretty
from perpend.cli import cli
from perpend.errors import AuditFailure
from perpend.measure.run import Run
from perpend.measure.study import metrics_text
from perpend.models.mock import model
from perpend.proof.audit import audit_run
from perpend.report.derive import derive
from perpend.spec.runspec import ModelSpec, RunSpec
from tests.attack.ledger import run_sql

TASK = Task(name="t", conditions=(control(), asch(2)), scorers=("label@1", "label@2"))


@pytest.fixture
def run(tmp_path: Path, items_file: Callable[..., Path]) -> Path:
    spec = RunSpec("t", (ModelSpec("mock/true", "m"),), items=(items_file(8),), name="run")
    directory = evaluate_task(spec, TASK, [model("true")], tmp_path, quiet=True).directory
    made = Run(directory)
    made.score()
    derive([made], made.directory, figures=False)
    return directory


def failed(directory: Path) -> list[str]:
    return [check.name for check in audit_run(directory).checks if check.differ]


def test_an_honest_run_passes_and_every_check_looked_at_something(run: Path) -> None:
    outcome = audit_run(run)
    assert outcome.ok
    assert all(check.checked or check.note or check.missing for check in outcome.checks)
    outcome.raise_for_failures()


def test_a_lost_trial_is_told_with_what_the_manifest_states_and_what_is_there(run: Path) -> None:
    run_sql(run, "UPDATE trial SET condition = 1, repeat = 1 WHERE trial = 16")
    check = next(check for check in audit_run(run).checks if check.name == "plan is complete")
    assert check.first.endswith("stored 8, recomputed 9")


def test_a_call_that_failed_before_its_answer_is_no_difference_and_one_after_it_is(run: Path) -> None:
    again = (
        "INSERT INTO response SELECT trial, turn, {attempt}, request_sha256, {text}, logprobs, finish, usage, ms, at "
        "FROM response WHERE trial = 3 AND attempt = {of}"
    )
    run_sql(
        run,
        "UPDATE response SET attempt = 1 WHERE trial = 3",
        again.format(attempt=0, text="NULL, 'HTTP 500'", of=1),
    )
    assert failed(run) == []
    run_sql(run, again.format(attempt=2, text="text, NULL", of=1))
    check = next(check for check in audit_run(run).checks if check.differ)
    assert check.first == "trial 3 (item-1, control), turn 0: attempt 2 comes after an answer"


def test_numbers_that_cannot_be_read_are_one_difference_of_one(run: Path) -> None:
    (run / "metrics.json").write_text("{")
    check = next(check for check in audit_run(run).checks if check.name == "metrics.json")
    assert (check.checked, check.differ) == (1, 1)


@pytest.mark.parametrize("name", ["metrics.json", "report.md"])
def test_an_edited_number_is_caught(run: Path, name: str) -> None:
    path = run / name
    changed = path.read_text().replace("0.5", "0.6", 1)
    assert changed != path.read_text()
    path.write_text(changed)
    assert failed(run) == [name]


def test_an_edited_template_is_caught(run: Path) -> None:
    path = run / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["conditions"][1]["params"]["user"] += " Hurry."
    path.write_text(pretty(manifest))
    assert failed(run) == [
        "templates have their digests",
        "plan is made of the manifest's parts",
        "questions were asked as planned",
    ]


def test_the_first_difference_shows_the_trial_and_both_values(run: Path) -> None:
    run_sql(run, "UPDATE score SET value = 0.25 WHERE trial = 3 AND scorer = 1")
    check = next(check for check in audit_run(run).checks if check.differ)
    assert "trial 3 (item-1, control)" in check.first
    assert "0.25" in check.first
    with pytest.raises(AuditFailure, match="1 of 16 differ"):
        audit_run(run).raise_for_failures()


def test_a_trial_that_was_never_asked_is_a_gap_and_one_that_failed_is_stated(run: Path) -> None:
    run_sql(run, "DELETE FROM response WHERE trial = 3", "DELETE FROM score WHERE trial = 3")
    plan = next(check for check in audit_run(run).checks if check.name == "every trial was asked")
    assert plan.differ == 1
    assert "trials planned, trials asked: stored 8, recomputed 7" in plan.first
    run_sql(run, "UPDATE response SET text = NULL, error = 'HTTP 500' WHERE trial = 5")
    plan = next(check for check in audit_run(run).checks if check.name == "every trial was asked")
    assert plan.differ == 1
    assert "1 of 8 trials only failed" in plan.note


def test_numbers_that_another_machine_may_move_in_the_last_digit_are_the_same(run: Path) -> None:
    path = run / "metrics.json"
    body = json.loads(path.read_text())
    for metric in body["metrics"]:
        if isinstance(metric["lo"], float):
            metric["lo"] *= 1 + 1e-13
    path.write_text(metrics_text(body))
    assert audit_run(run).ok


def test_the_verb_prints_a_table_and_exits_with_6(run: Path, tmp_path: Path) -> None:
    done = CliRunner().invoke(cli, ["audit", str(run)])
    assert done.exit_code == 0
    assert "nothing differs" in done.output
    run_sql(run, "UPDATE response SET text = 'FALSE' WHERE trial = 3")
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
    spec = RunSpec("t", (ModelSpec("mock/true", "m"),), items=(items_file(2),), name="own")
    directory = evaluate_task(spec, replace(TASK, conditions=(own,)), [model("true")], tmp_path, quiet=True).directory
    check = next(c for c in audit_run(directory).checks if c.name == "questions were asked as planned")
    assert check.checked == 0
    assert "holds no template" in check.missing


def imported(tmp_path: Path, drop: tuple[str, str] | None = None, **changes: object) -> Path:
    """A study of two items, two conditions and two variants in the seed study's row format, converted and scored."""
    rows = []
    for variant in ("base", "instruct"):
        for condition in ("control", "asch_history_5"):
            for item, answer in (("a", "Lima"), ("b", "Rome")):
                row = {
                    "trial_id": f"{variant}-{condition}-{item}",
                    "temperature": 0.0,
                    "variant": variant,
                    "model_id": variant,
                    "condition": condition,
                    "dataset_name": "facts",
                    "item_id": item,
                    "question": f"Question {item}?",
                    "ground_truth": answer,
                    "wrong_answer": "Oslo",
                    "raw_text": f"It is {answer}.",
                    "stored_is_correct": 1,
                    "stored_refusal_flag": 0,
                    "stored_parsed_answer_text": f"It is {answer}.",
                }
                if (variant, condition) != drop:
                    rows.append(row)
    rows[0] |= changes
    source = tmp_path / "rows.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    directory = convert(source, tmp_path / "imported")
    made = Run(directory)
    made.score()
    derive([made], made.directory, figures=False)
    return directory


def test_an_imported_study_passes_and_its_stored_labels_are_compared(tmp_path: Path) -> None:
    outcome = audit_run(imported(tmp_path))
    assert outcome.ok
    compared = {check.name: check.checked for check in outcome.checks}
    assert compared["stored_correct@import against correct@1"] == 8
    assert compared["stored_parsed@import against rule 1"] == 8


def test_a_hand_edited_label_of_an_import_is_caught(tmp_path: Path) -> None:
    assert failed(imported(tmp_path, stored_is_correct=0)) == ["stored_correct@import against correct@1"]


def test_labels_of_the_reference_are_compared_where_a_row_states_them(tmp_path: Path) -> None:
    """The other seven rows state none; what a person said is no rule's."""
    outcome = audit_run(imported(tmp_path, ref_is_correct=1, ref_mention=0, ref_W=0, human_W=1))
    assert outcome.ok
    compared = {check.name: check.checked for check in outcome.checks}
    names = ("ref_correct@import against correct@1", "ref_mentioned@import against mentioned@1")
    assert [compared[name] for name in (*names, "ref_endorsed@import against endorsed@1")] == [1, 1, 1]
    assert compared["human_W@import"] == 0


def test_a_label_that_the_reference_never_gave_is_caught(tmp_path: Path) -> None:
    assert failed(imported(tmp_path, ref_W=1)) == ["ref_endorsed@import against endorsed@1"]


def test_a_missing_cell_of_a_study_is_caught_and_named(tmp_path: Path) -> None:
    directory = imported(tmp_path, drop=("instruct", "asch_history_5"))
    assert failed(directory) == ["cells of the study"]
    check = next(check for check in audit_run(directory).checks if check.differ)
    assert "instruct, asch_history_5" in check.first
