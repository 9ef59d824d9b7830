"""What a run has kept stays: nothing is deleted, and what is missing is noticed."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

import perpend as pp
from perpend.ask.conditions import control
from perpend.ask.runner import Keeping, evaluate_task
from perpend.ask.task import Task
from perpend.canon import inside
from perpend.errors import DataError, StoreError
from perpend.ledger.database import translated
from perpend.ledger.journal import JOURNAL, acknowledged
from perpend.ledger.plan import Appended
from perpend.ledger.store import Store
from perpend.measure.run import Run
from perpend.models.mock import model
from perpend.proof.audit import audit_run
from perpend.proof.publish import publish
from perpend.spec.runspec import Limits, ModelSpec, RunSpec
from perpend.types import Response

TASK = Task(name="t", conditions=(control(),), scorers=("label@2",))


@pytest.fixture
def ask(tmp_path: Path, items_file: Callable[..., Path]) -> Callable[..., Path]:
    """Ask eight questions, or as many as `max_requests`, in the run directory `runs/study`."""

    def asked(max_requests: int | None = None, keeping: Keeping | None = None, **changes: str) -> Path:
        spec = RunSpec(
            "t",
            (ModelSpec("mock/true", "m"),),
            items=(items_file(8, **changes),),
            name="study",
            limits=Limits(max_requests=max_requests),
        )
        runs, kept = tmp_path / "runs", keeping or Keeping()
        directory = evaluate_task(spec, TASK, [model("true")], runs, keeping=kept, quiet=True).directory
        Run(directory).score()
        return directory

    return asked


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file() and path.name != "lock.db"}


@pytest.mark.parametrize("question", ["the same", "another"])
def test_answers_without_a_manifest_are_refused_and_nothing_is_deleted(ask: Callable[..., Path], question: str) -> None:
    directory = ask()
    (directory / "manifest.json").unlink()
    shutil.copyfile(directory / "run.db", directory / "run.db.backup")
    before = bytes_of(directory)
    with pytest.raises(StoreError, match=r"holds 8 answers but no manifest.json.*Nothing was changed"):
        ask(**({} if question == "the same" else {"prompt": "Is it even?"}))
    assert bytes_of(directory) == before


def test_a_plan_whose_manifest_was_never_written_is_taken_up_again(ask: Callable[..., Path]) -> None:
    directory = ask(max_requests=0)
    with Store.open(directory / "run.db") as store:
        made = store.meta()["created"]
    (directory / "manifest.json").unlink()
    ask(max_requests=0)
    with Store.open(directory / "run.db") as store:
        assert store.meta()["created"] == made
    ask()
    with Store.open(directory / "run.db") as store:
        assert store.responses() == 8


def test_the_plan_of_another_question_is_not_overwritten(ask: Callable[..., Path]) -> None:
    directory = ask(max_requests=0)
    (directory / "manifest.json").unlink()
    before = bytes_of(directory)
    with pytest.raises(StoreError, match="holds the plan of another run"):
        ask(prompt="Is it even?", max_requests=0)
    assert bytes_of(directory) == before


def test_a_file_that_is_no_ledger_is_not_overwritten(ask: Callable[..., Path], tmp_path: Path) -> None:
    (tmp_path / "runs" / "study").mkdir(parents=True)
    (tmp_path / "runs" / "study" / "run.db").write_text("my notes")
    with pytest.raises(StoreError):
        ask()
    assert (tmp_path / "runs" / "study" / "run.db").read_text() == "my notes"


def test_answers_that_were_kept_and_are_missing_are_noticed_until_the_loss_is_accepted(
    ask: Callable[..., Path],
) -> None:
    directory = ask(max_requests=3)
    older = (directory / "run.db").read_bytes()
    ask()
    assert acknowledged(directory) == 8
    (directory / "run.db").write_bytes(older)
    with pytest.raises(StoreError, match="5 answers that were kept are missing from run.db"):
        ask()
    differing = [check.first for check in audit_run(directory).checks if check.name.startswith("run.db")]
    assert differing == ["responses that manifest.journal counts and run.db does not hold: stored 0, recomputed 5"]
    ask(keeping=Keeping(accept_loss=True))
    with Store.open(directory / "run.db") as store:
        assert store.responses() == acknowledged(directory) == 8
    ask()


def test_a_write_ahead_log_that_was_left_behind_is_noticed(ask: Callable[..., Path], tmp_path: Path) -> None:
    directory = ask(max_requests=0)
    copied = tmp_path / "copied"
    with Store.open(directory / "run.db", write=True) as store:
        holder = sqlite3.connect(directory / "run.db")  # a reader keeps the log from being folded in
        holder.execute("SELECT count(*) FROM trial").fetchone()
        store.append([Appended(1, 0, 0, "ab" * 32, Response(text="TRUE"))])
        copied.mkdir()
        for name in ("run.db", "manifest.json", JOURNAL):
            shutil.copyfile(directory / name, copied / name)
        holder.close()
    with Store.open(copied / "run.db") as store:
        assert (store.responses(), store.lost()) == (0, 1)


def test_a_run_without_a_journal_or_with_a_torn_one_is_read_as_before(ask: Callable[..., Path]) -> None:
    directory = ask()
    (directory / JOURNAL).write_bytes(b"responses 000")
    assert acknowledged(directory) is None
    ask()
    (directory / JOURNAL).unlink()
    ask()
    assert audit_run(directory).checks


def test_durable_waits_for_the_disk_at_every_commit(ask: Callable[..., Path]) -> None:
    directory = ask()
    for durable, level in ((False, 1), (True, 2)):
        with Store.open(directory / "run.db", write=True, durable=durable) as store:
            assert store.query("PRAGMA synchronous") == [(level,)]


def test_publishing_again_deletes_no_answer_that_the_run_has_lost(ask: Callable[..., Path], tmp_path: Path) -> None:
    directory = ask(max_requests=3)
    older = (directory / "run.db").read_bytes()
    ask()
    accepted = dict.fromkeys(("plan", "coverage"), "a test")
    publish([directory], tmp_path / "out", {}, figures=False)
    (directory / "run.db").write_bytes(older)
    before = bytes_of(tmp_path / "out" / "study")
    with pytest.raises(StoreError, match="an answer that the run does not hold any more"):
        publish([directory], tmp_path / "out", accepted, figures=False)
    assert bytes_of(tmp_path / "out" / "study") == before


def test_a_publish_that_was_killed_between_two_renames_is_put_right(ask: Callable[..., Path], tmp_path: Path) -> None:
    directory = ask()
    (made,) = publish([directory], tmp_path / "out", {}, figures=False)
    before = bytes_of(made.folder)
    made.folder.rename(tmp_path / "out" / ".study.replaced")
    publish([directory], tmp_path / "out", {}, figures=False)
    assert bytes_of(made.folder) == before
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["README.md", "index.json", "study"]


def test_reading_a_ledger_leaves_nothing_beside_it(ask: Callable[..., Path], tmp_path: Path) -> None:
    directory = ask()
    with sqlite3.connect(directory / "run.db") as db:  # as a copy of a run that was being written holds it
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    (tmp_path / "copy").mkdir()
    shutil.copyfile(directory / "run.db", tmp_path / "copy" / "run.db")
    with Store.open(tmp_path / "copy" / "run.db") as store:
        assert store.responses() == 8
        assert [path.name for path in (tmp_path / "copy").iterdir()] == ["run.db"]


@pytest.mark.parametrize("left", [b"", b"\n", b"x" * 511])
@pytest.mark.parametrize("write", [False, True])
def test_a_ledger_that_lost_its_content_does_not_cost_its_log(
    ask: Callable[..., Path], left: bytes, write: bool
) -> None:
    """SQLite takes the log of so small a file for a left-over and deletes it, also when it only reads."""
    directory = ask()
    (directory / "run.db").write_bytes(left)
    (directory / "run.db-wal").write_bytes(b"what was answered")
    with pytest.raises(StoreError, match="run.db-wal is still there"):
        Store.open(directory / "run.db", write=write)
    with pytest.raises(StoreError):
        pp.score(directory)
    assert not audit_run(directory).ok
    assert (directory / "run.db-wal").read_bytes() == b"what was answered"


def test_a_journal_that_is_a_pipe_is_none(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / JOURNAL)
    assert acknowledged(tmp_path) is None


def test_text_in_a_ledger_that_is_not_utf_8_is_said_to_be_damage(tmp_path: Path) -> None:
    """Python raises this error itself, without a number of SQLite's."""
    with pytest.raises(StoreError, match="decode"), translated(tmp_path / "run.db"):
        raise sqlite3.OperationalError("Could not decode to UTF-8 column 'text'")


def test_a_link_that_leads_back_to_itself_is_no_path_below_its_folder(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(DataError, match="is a link"):
        inside(tmp_path, "loop", "suite.json")
