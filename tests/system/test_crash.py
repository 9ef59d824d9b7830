"""What a run must survive: SIGKILL, a second process, a full disk, an unwritable folder, a damaged file."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from perpend.ledger.store import Store

# Answers by a function of the question; kills its own process at the request that KILL_AT names.
MODEL = """
import os, signal, time
count = 0
def answer(request):
    global count
    count += 1
    if count == int(os.environ.get("KILL_AT", "0")):
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(float(os.environ.get("SLEEP", "0")))
    text = request.messages[-1].content
    return "TRUE" if "participants" not in text and len(text) % 3 else "FALSE, I think."
"""
TASK = """
from perpend.ask.task import Task
from perpend.ask.conditions import asch, control
def task():
    return Task(name="crash", conditions=(control(), asch(2)), scorers=("label@1", "label@2", "unfinished"))
"""


def command(folder: Path, items: Path, out: str) -> list[str]:
    (folder / "model.py").write_text(MODEL)
    (folder / "task.py").write_text(TASK)
    run = [sys.executable, "-c", "from perpend.cli import main; main()", "eval", "--task", str(folder / "task.py")]
    return [
        *run,
        "--items",
        str(items),
        "--model",
        f"callable/{folder / 'model.py'}:answer",
        "--out",
        str(folder / out),
        "--name",
        "run",
    ]


def call(arguments: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        arguments, capture_output=True, text=True, check=False, env={**os.environ, **environment}, timeout=120
    )


def exported(directory: Path) -> tuple[list[object], object]:
    """The plan with first answers, and metrics.json."""
    with Store.open(directory / "run.db") as store:
        answers: list[object] = [
            (t.trial, t.item.id, t.condition, t.model, t.repeat, r.text, r.error) for t, r in store.answers()
        ]
    return answers, json.loads((directory / "metrics.json").read_text())


def test_a_run_killed_25_times_ends_as_if_it_had_never_been(tmp_path: Path, items_file: Callable[..., Path]) -> None:
    items = items_file(400)
    whole = call(command(tmp_path, items, "whole"))
    assert whole.returncode == 0, whole.stderr
    killed = command(tmp_path, items, "killed")
    rng = random.Random(7)
    acknowledged = 0
    for round_number in range(25):
        if round_number % 5 < 3:
            done = call(killed, KILL_AT=str(rng.randint(1, 60)))
            assert done.returncode == -signal.SIGKILL, done.stderr
        else:
            # Anywhere: while Python starts, while the plan is written, in the middle of a commit.
            with subprocess.Popen(killed, env={**os.environ, "SLEEP": "0.01"}, stderr=subprocess.DEVNULL) as process:
                time.sleep(rng.uniform(0.02, 0.8))
                process.kill()
        if (tmp_path / "killed" / "run" / "manifest.json").exists():
            with Store.open(tmp_path / "killed" / "run" / "run.db") as store:
                answered = sum(cell.answered for cell in store.cells())
            assert answered >= acknowledged
            acknowledged = answered
    assert 0 < acknowledged < 800
    finished = call(killed)
    assert finished.returncode == 0, finished.stderr
    assert exported(tmp_path / "killed" / "run") == exported(tmp_path / "whole" / "run")


def test_a_second_process_on_the_same_run_is_refused(tmp_path: Path, items_file: Callable[..., Path]) -> None:
    arguments = command(tmp_path, items_file(50), "runs")
    with subprocess.Popen(arguments, env={**os.environ, "SLEEP": "0.2"}, stderr=subprocess.PIPE) as first:
        database = tmp_path / "runs" / "run" / "run.db"
        deadline = time.monotonic() + 60
        while not _answered(database) and time.monotonic() < deadline:
            time.sleep(0.05)
        second = call(arguments)
        first.send_signal(signal.SIGINT)
        _, said = first.communicate(timeout=60)
    assert second.returncode == 5
    assert "another process is running this" in second.stderr
    assert first.returncode == 130
    assert b"Run the same command again to resume" in said
    assert call(arguments).returncode == 0


def _answered(database: Path) -> int:
    if not (database.parent / "manifest.json").exists():
        return 0
    with Store.open(database) as store:
        return sum(cell.answered for cell in store.cells())


def test_a_full_disk_is_said_and_nothing_that_was_acknowledged_is_lost(
    tmp_path: Path, items_file: Callable[..., Path]
) -> None:
    items = items_file(300)
    arguments = command(tmp_path, items, "runs")
    # No file may grow beyond 1,000 kB: the plan fits, the write-ahead log of all the answers does not.
    limited = ["bash", "-c", 'ulimit -f 1000; exec "$@"', "bash", *arguments]
    stopped = call(limited)
    assert stopped.returncode == 5, stopped.stderr
    assert "the disk is full or failing" in stopped.stderr
    assert "Traceback" not in stopped.stderr
    kept = _answered(tmp_path / "runs" / "run" / "run.db")
    assert 0 < kept < 600
    assert call(arguments).returncode == 0
    with Store.open(tmp_path / "runs" / "run" / "run.db") as store:
        assert store.query("SELECT count(*), count(DISTINCT trial), max(attempt) FROM response") == [(600, 600, 0)]


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Make a folder unwritable, also for root, who is stopped by nothing but a read-only mount."""
    if os.geteuid() == 0:
        if call(["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", str(folder)]).returncode:
            pytest.skip("root may write everywhere here and may not mount a read-only folder")
        try:
            yield
        finally:
            call(["umount", str(folder)])
    else:
        folder.chmod(0o555)
        try:
            yield
        finally:
            folder.chmod(0o755)


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path, items_file: Callable[..., Path]) -> None:
    arguments = command(tmp_path, items_file(5), "runs")
    (tmp_path / "runs").mkdir()
    with read_only(tmp_path / "runs"):
        done = call(arguments)
    assert done.returncode == 5
    assert "cannot be created" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("where", ["header", "middle", "truncated"])
def test_a_damaged_ledger_is_said_and_left_as_it_is(
    tmp_path: Path, items_file: Callable[..., Path], where: str
) -> None:
    arguments = command(tmp_path, items_file(200), "runs")
    assert call(arguments).returncode == 0
    database = tmp_path / "runs" / "run" / "run.db"
    data = bytearray(database.read_bytes())
    if where == "header":
        data[:100] = b"\xaa" * 100
    elif where == "middle":
        data[8192:-4096] = bytes(random.Random(1).randbytes(len(data) - 8192 - 4096))
    else:
        del data[len(data) // 2 :]
    database.write_bytes(data)
    done = call(arguments)
    assert done.returncode == 5, done.stderr
    assert "damaged" in done.stderr
    assert "Traceback" not in done.stderr
    assert database.read_bytes() == bytes(data)
