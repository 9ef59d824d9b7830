"""Who asks the shards of a run on one machine: one submitter at a time; a task that was killed is not believed."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from perpend.ledger.database import exclusive
from perpend.ledger.digest import content_digest
from perpend.ledger.shards import Shard
from perpend.sweep.command import Child, lock_place, scratch
from perpend.sweep.facts import ShardState, read_state, the_sweep, write_state
from tests.sweep import WORKERS, call, digest_of_one_process, processes, started, stub, until, write_run

SHARDS = 2
ITEMS = 60


def submit(spec: Path, *more: object) -> tuple[object, ...]:
    scratch = spec.parent / "scratch"
    return ("submit", spec, "--shards", SHARDS, "--scratch", scratch, "--quiet", "--no-score", *more)


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
