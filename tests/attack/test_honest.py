"""No false alarms: honest runs and publications of every kind, and what people do with them, are audited clean."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest

import perpend as pp
from perpend.measure.run import Run
from perpend.proof.audit import Audit, Options, audit
from perpend.proof.publish import publish
from tests.attack import honest
from tests.attack.conftest import Copied


def clean(path: Path, *, trust_code: bool = False) -> Audit:
    """The audit of one place, which finds nothing."""
    (outcome,) = audit([path], Options(workers=1, trust_code=trust_code))
    assert outcome.ok, [(check.name, check.first) for check in outcome.checks if check.fails]
    return outcome


@pytest.mark.parametrize("kind", honest.KINDS)
def test_what_was_published_honestly_is_clean(source: Path, kind: str) -> None:
    assert clean(source / "published" / kind).verdict.startswith("nothing differs")
    clean(source / "published" / kind, trust_code=True)


@pytest.mark.parametrize("kind", [kind for kind in honest.KINDS if kind != "pilot"])
def test_a_run_directory_is_clean(source: Path, kind: str) -> None:
    clean(source / "runs" / kind)


def test_a_pilot_is_clean_once_its_gates_were_accepted_with_a_reason_and_the_verdict_names_them(source: Path) -> None:
    verdict = clean(source / "published" / "pilot").verdict
    assert "plan: half is enough" in verdict
    assert "coverage: it is a pilot" in verdict


@pytest.mark.parametrize("kind", ["conformity", "logic", "questions", "imported"])
def test_a_renamed_copy_is_clean_and_is_published_as_the_same_folder(source: Path, tmp_path: Path, kind: str) -> None:
    copy = tmp_path / "alone" / "another name"
    shutil.copytree(source / "runs" / kind, copy)
    clean(copy)
    publish([copy], tmp_path / "published", {}, figures=False)
    clean(tmp_path / "published" / kind)


@pytest.mark.parametrize("rest", [True, False])
def test_a_run_that_was_copied_with_or_without_the_files_of_its_log_at_rest_is_clean(
    copied: Copied, tmp_path: Path, rest: bool
) -> None:
    """At rest the log holds nothing that the ledger does not."""
    copy = copied("runs/questions")
    with sqlite3.connect(copy / "run.db") as db:
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("SELECT count(*) FROM response").fetchone()
        if rest:
            for name in ("run.db-wal", "run.db-shm"):
                shutil.copyfile(copy / name, tmp_path / name)
    db.close()
    if rest:
        for name in ("run.db-wal", "run.db-shm"):
            (tmp_path / name).replace(copy / name)
    clean(copy)


def test_a_resumed_run_is_clean(source: Path, tmp_path: Path) -> None:
    shutil.copytree(source / "runs" / "pilot", tmp_path / "runs" / "pilot")
    task, subject = pp.task("questions", items=source / "sums.jsonl"), pp.model("mock/subject", accuracy=0.5)
    run = pp.evaluate(task, [subject], name="pilot", out=tmp_path / "runs", quiet=True)
    assert clean(run.directory).verdict == "nothing differs"
    publish([run], tmp_path / "published", {}, figures=False)
    assert clean(tmp_path / "published" / "pilot").verdict == "nothing differs"


@pytest.mark.parametrize("only", [(), ("correct@2",)])
def test_a_run_that_was_scored_twice_or_in_part_is_clean(copied: Copied, only: tuple[str, ...]) -> None:
    run = copied("runs/questions")
    for _ in range(2):
        pp.score(run, only=only)
    clean(run)


def test_a_scorer_that_the_task_does_not_declare_may_be_added(copied: Copied, tmp_path: Path) -> None:
    run = copied("runs/questions")
    pp.score(run, only=("correct@1",))
    clean(run)
    publish([run], tmp_path / "published", {}, figures=False)
    clean(tmp_path / "published" / "questions")


def test_what_was_converted_and_never_scored_is_clean(tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"q": "2 + 2?", "a": "4", "t": "It is 4."}\n')
    clean(pp.convert(rows, tmp_path / "converted", fields="prompt=q,target=a,text=t"))


def test_an_unscored_run_is_clean(copied: Copied) -> None:
    run = copied("runs/questions")
    for name in ("metrics.json", "report.md"):
        (run / name).unlink()
    with sqlite3.connect(run / "run.db") as db:
        db.execute("DELETE FROM score")
        db.execute("DELETE FROM scorer")
    db.close()
    clean(run)


def test_a_run_with_every_name_in_another_script_is_clean(tmp_path: Path) -> None:
    """Names are any text: an honest publisher is not made to write English."""
    items = tmp_path / "задачи.jsonl"
    items.write_text('{"id": "π/2 «а» #1", "prompt": "Столица Перу?", "target": "Лима"}\n', encoding="utf-8")
    task = pp.Task("вопросы | <b>", (pp.condition("контроль: 1", "{question}"),), ("correct",), (items,))
    model = pp.model("mock/subject", label="модель, «б»")
    run = pp.evaluate(task, [model], name="прогон 1", out=tmp_path / "runs", quiet=True)
    clean(run.directory)
    (published,) = publish([run], tmp_path / "published", {}, figures=False)
    clean(published.folder)


def test_runs_that_share_items_are_attempts_of_each_other_and_are_clean(source: Path, tmp_path: Path) -> None:
    shutil.copytree(source / "runs", tmp_path / "runs")
    task, subject = pp.task("questions", items=source / "sums.jsonl"), pp.model("mock/subject", accuracy=0.9)
    run = pp.evaluate(task, [subject], name="second try", out=tmp_path / "runs", quiet=True)
    (published,) = publish([run], tmp_path / "published", {}, figures=False)
    clean(published.folder)


def test_a_published_run_that_was_restored_is_clean(source: Path, tmp_path: Path) -> None:
    from perpend.proof.restoring import restore

    run = restore(source / "published" / "logic", tmp_path)
    clean(run)
    assert Run(run).manifest == Run(source / "runs" / "logic").manifest
