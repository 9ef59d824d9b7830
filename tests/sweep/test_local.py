"""`perpend submit` on one machine: the same ledger as one process, whatever happens to its tasks.

One submitter at a time; a task that was killed is not believed.
"""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from perpend.ledger.database import exclusive
from perpend.ledger.digest import content_digest
from perpend.ledger.shards import Shard
from perpend.sweep.command import Child, lock_place, scratch
from perpend.sweep.facts import ShardState, read_state, the_sweep, write_state
from tests.sweep import WORKERS, call, digest_of_one_process, processes, started, stub, until, write_run

SHARDS = 2
ITEMS = 60


def submit(spec: Path, *more: object) -> tuple[object, ...]:
    return ("submit", spec, "--shards", SHARDS, "--scratch", spec.parent / "scratch", "--quiet", "--no-score", *more)


def test_two_shards_are_one_run_and_a_second_call_asks_nothing(tmp_path: Path) -> None:
    spec = write_run(tmp_path, None, ITEMS)
    call(tmp_path, *submit(spec))
    run = tmp_path / "runs" / "sweep"
    assert content_digest(run) == digest_of_one_process(tmp_path, None, ITEMS)
    standing = json.loads(call(tmp_path, "status", run, "--json"))
    assert (standing["states"], standing["answered"], standing["failed"]) == ({"done": SHARDS}, ITEMS, 0)
    assert standing["seconds_left"] == 0
    shards = sorted(path.name for path in (run / "shards").glob("*-of-*"))
    call(tmp_path, *submit(spec))
    assert sorted(path.name for path in (run / "shards").glob("*-of-*")) == shards
    assert not list((tmp_path / "scratch").rglob("run.db")), "a shard that is done leaves nothing on the node"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_task_that_is_killed_goes_on(tmp_path: Path, number: signal.Signals) -> None:
    """kill -9 is a failure, after which the task is started again; SIGTERM is meant, and submitting again goes on."""
    with stub() as server:
        spec = write_run(tmp_path, server, ITEMS)
        server.close_at = ITEMS // 2
        with started(tmp_path, *submit(spec)) as sweep:
            until(lambda: not server.gate.is_set() and read_state(tmp_path / "runs" / "sweep", 1).state == "running")
            task = ("eval", str(spec), f"1/{SHARDS}")
            killed = processes(*task)
            for pid in killed:
                os.kill(pid, number)
            until(lambda: not {*killed} & {*processes(*task)})
            server.gate.set()
            _, words = sweep.communicate()
        assert sweep.returncode == (0 if number == signal.SIGKILL else 4), words
        if number == signal.SIGTERM:
            assert "shard 1 stopped: interrupted" in call(tmp_path, "status", "runs/sweep")
            call(tmp_path, *submit(spec))
        assert server.twice <= WORKERS
        assert content_digest(tmp_path / "runs" / "sweep") == digest_of_one_process(tmp_path, server, ITEMS)


def test_a_cancelled_sweep_keeps_what_it_has_and_goes_on_when_it_is_submitted_again(tmp_path: Path) -> None:
    with stub() as server:
        spec = write_run(tmp_path, server, ITEMS)
        server.close_at = ITEMS // 2
        with started(tmp_path, *submit(spec)) as sweep:
            until(lambda: not server.gate.is_set())
            call(tmp_path, "cancel", "runs/sweep")
            until(lambda: not processes("eval", str(spec)))
            server.gate.set()
            sweep.communicate()
        assert sweep.returncode == 4
        assert "Cancelled" in call(tmp_path, "status", "runs/sweep")
        assert len(server.asked) < ITEMS
        call(tmp_path, *submit(spec))
        assert len(server.asked) == ITEMS
        assert server.twice <= SHARDS * WORKERS
        assert "Cancelled" not in call(tmp_path, "status", "runs/sweep")


def test_a_budget_holds_over_all_shards_and_what_one_leaves_another_takes(tmp_path: Path) -> None:
    with stub() as server:
        spec = write_run(tmp_path, server, ITEMS)
        call(tmp_path, *submit(spec, "--max-requests", 20), code=4)
        assert server.asked.total() == 20
        standing = call(tmp_path, "status", "runs/sweep")
        assert "--max-requests 10 reached" in standing
        call(tmp_path, *submit(spec, "--max-requests", ITEMS))
        assert server.asked.total() == ITEMS
        assert server.twice == 0


def test_dollars_are_passed_by_about_one_request_per_shard(tmp_path: Path) -> None:
    """A request of the stub costs a dollar; each shard's part is five cents."""
    with stub() as server:
        spec = write_run(tmp_path, server, ITEMS)
        prices = "usd_per_million_input = 100_000\nusd_per_million_output = 100_000\n"
        spec.write_text(spec.read_text().replace(f"workers = {WORKERS}", f"workers = 16\n{prices}"))
        server.seconds = lambda _: 0.2
        call(tmp_path, *submit(spec, "--max-usd", 0.1), code=4)
        assert SHARDS <= server.asked.total() <= 2 * SHARDS
        shown = call(tmp_path, "status", "runs/sweep")
        assert "--max-usd" in shown


def test_a_lower_limit_after_shards_gave_some_back_leaves_what_one_process_would_have(tmp_path: Path) -> None:
    with stub() as server:
        spec = write_run(tmp_path, server, ITEMS)
        server.refuses = lambda question: int(question.split()[2]) % 3 == 2
        call(tmp_path, *submit(spec, "--max-requests", 500))
        server.refuses = lambda _: False
        call(tmp_path, *submit(spec, "--max-requests", ITEMS + 10))
        assert server.asked.total() == ITEMS + 10
        call(tmp_path, *submit(spec, "--max-requests", 10))
        assert server.asked.total() == ITEMS + 10
        call(tmp_path, *submit(spec, "--max-requests", ITEMS + 20))
        assert server.asked.total() == ITEMS + 20


def test_a_shard_whose_node_is_lost_goes_on_from_its_newest_copy_without_a_sweep(tmp_path: Path) -> None:
    """As on Kubernetes: the plain command, killed, its disk gone; another node starts from the copy in RUN/shards."""
    with stub() as server:
        spec = write_run(tmp_path, server, ITEMS)
        server.close_at = ITEMS // 2
        words = ("eval", spec, "--shard", "1/1", "--quiet", "--scratch")
        with started(tmp_path, *words, tmp_path / "first") as task:
            until(lambda: list(tmp_path.glob("runs/sweep/shards/0001-of-0001-*")))
            task.kill()
            task.communicate()
        server.gate.set()
        copied = len(server.asked) - WORKERS
        call(tmp_path, *words, tmp_path / "second")
        assert server.asked.total() <= ITEMS + WORKERS
        assert copied > 0
        call(tmp_path, "merge", "runs/sweep", "--no-score", "--quiet")
        assert content_digest(tmp_path / "runs" / "sweep") == digest_of_one_process(tmp_path, server, ITEMS)


def test_a_task_that_fails_before_it_begins_is_shown_with_its_words(tmp_path: Path) -> None:
    """As on a node whose disk is not what it should be; the second time the words are new."""
    spec = write_run(tmp_path, None, ITEMS)
    for name in ("first", "second"):
        (tmp_path / name).touch()
        call(tmp_path, "submit", spec, "--shards", SHARDS, "--scratch", tmp_path / name, "--quiet", code=4)
        shown = call(tmp_path, "status", "runs/sweep")
        for shard in range(1, SHARDS + 1):
            assert f"shard {shard} failed: " in shown
        assert str(tmp_path / name) in shown
    call(tmp_path, *submit(spec))


def test_what_the_run_has_beyond_its_shards_is_not_asked_by_a_sweep(tmp_path: Path) -> None:
    with stub() as server:
        spec = write_run(tmp_path, server, ITEMS)
        call(tmp_path, *submit(spec, "--max-requests", 20), code=4)
        call(tmp_path, "eval", spec, "--no-score", "--quiet", "--max-requests", 40)
        assert "holds 20 answers that no shard has" in call(tmp_path, *submit(spec), code=5)
        call(tmp_path, "eval", spec, "--no-score", "--quiet")
        assert (server.asked.total(), server.twice) == (ITEMS, 0)


def test_a_run_that_has_shards_of_another_cut_is_no_sweep(tmp_path: Path) -> None:
    spec = write_run(tmp_path, None, ITEMS)
    call(tmp_path, "eval", spec, "--shard", "1/3", "--quiet")
    assert "use --shard k/3" in call(tmp_path, *submit(spec), code=5)
    assert not (tmp_path / "runs" / "sweep" / "sweep").exists()


def test_more_shards_than_items_are_counted(tmp_path: Path) -> None:
    spec = write_run(tmp_path, None, 1)
    call(tmp_path, *submit(spec))
    shown = call(tmp_path, "status", "runs/sweep")
    assert f"{SHARDS} shards: {SHARDS} done.\n1 of 1 answered. Nothing is left." in shown


def test_what_is_refused(tmp_path: Path) -> None:
    spec = write_run(tmp_path, None, 4)
    assert "no sweep was submitted here" in call(tmp_path, "status", "runs/sweep", code=5)
    assert "no sweep was submitted here" in call(tmp_path, "cancel", "runs/sweep", code=5)
    assert "{port}" in call(tmp_path, *submit(spec, "--serve", "vllm serve m"), code=2)
    assert "--api-key would be written down" in call(
        tmp_path, *submit(spec, "--serve", "vllm serve {model} --port {port} --api-key=x"), code=2
    )
    assert "openai/NAME; not 'mock/subject'" in call(tmp_path, *submit(spec, "--serve", "vllm serve {port}"), code=2)
    refused = call(tmp_path, *submit(spec, "--setup", "module load x", "--gpus", 1), code=2)
    assert "--engine local does not take --gpus, --setup" in refused
    assert "a higher one resumes" in call(tmp_path, *submit(spec, "--name", "less", "--max-requests", 2), code=4)
    call(tmp_path, *submit(spec, "--name", "less"))
    assert "Every shard was done already" in call(tmp_path, "cancel", "runs/less")
    call(tmp_path, "eval", spec, "--no-score", "--quiet")
    assert "holds 4 answers that no shard has" in call(tmp_path, *submit(spec), code=5)


def test_tasks_that_were_killed_with_their_submitter_are_gone_at_once_and_asked_again(tmp_path: Path) -> None:
    with stub() as server:
        spec = write_run(tmp_path, server, ITEMS)
        server.close_at = ITEMS // 2
        with started(tmp_path, *submit(spec)) as sweep:
            until(lambda: not server.gate.is_set())
            assert "2 running" in call(tmp_path, "status", "runs/sweep")
            sweep.kill()
            for pid in processes("eval", str(spec)):
                os.kill(pid, signal.SIGKILL)
            until(lambda: not processes("eval", str(spec)))
        server.gate.set()
        assert "its task is gone" in call(tmp_path, "status", "runs/sweep")
        call(tmp_path, *submit(spec))
        assert server.twice <= SHARDS * WORKERS
        assert content_digest(tmp_path / "runs" / "sweep") == digest_of_one_process(tmp_path, server, ITEMS)


def test_a_second_submitter_is_refused_and_writes_nothing(tmp_path: Path) -> None:
    with stub() as server:
        spec = write_run(tmp_path, server, ITEMS)
        server.close_at = ITEMS // 4
        with started(tmp_path, *submit(spec, "--at-once", 1)) as sweep:
            until(lambda: not server.gate.is_set())
            states = [path.read_text() for path in sorted(tmp_path.glob("runs/sweep/sweep/shards/*"))]
            refused = call(tmp_path, *submit(spec), code=5)
            assert "another process is submitting or asking its shards" in refused
            assert len(states) == 1, "the second shard waits for the first"
            server.gate.set()
            _, words = sweep.communicate()
        assert sweep.returncode == 0, words
        assert server.twice == 0


def test_a_shard_that_somebody_else_asks_is_not_called_failed(tmp_path: Path) -> None:
    call(tmp_path, *submit(write_run(tmp_path, None, ITEMS)), "--print")
    run = tmp_path / "runs" / "sweep"
    lock = lock_place(scratch(run, the_sweep(run)), Shard(1, SHARDS))
    lock.mkdir(parents=True)
    write_state(run, ShardState(1, "running"))
    with exclusive(lock):
        child = Child(run, the_sweep(run), 1)
        assert child.wait()
        assert "another process" in (run / "sweep" / "logs" / "0001.log").read_text()
        assert read_state(run, 1) == ShardState(1, "running")
