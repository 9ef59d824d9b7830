"""`perpend submit --engine slurm` on a real SLURM: the ledger of one process, whatever happens to tasks."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from perpend.ledger.digest import content_digest
from tests.more.slurm import ARRAY_LIMIT, Cluster, cluster, missing
from tests.more.slurm.sweeps import NODE, ended, env_of, job_of, kill, restarts, standing, steps_of, submit
from tests.sweep import WORKERS, call, digest_of_one_process, processes, stub, until, write_run

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(bool(missing()), reason=missing()),
    pytest.mark.xdist_group("slurm"),
]
SHARDS = 8


@pytest.mark.usefixtures("past_its_time_limit")  # here it begins
def test_eight_shards_of_two_thousand_trials_in_two_arrays(slurm: Cluster, tmp_path: Path) -> None:
    items = SHARDS * 2000
    run = submit(slurm, write_run(tmp_path, None, items), SHARDS)
    jobs = [json.loads(path.read_text()) for path in (run / "sweep" / "jobs").glob("*.json")]
    assert sorted(len(job["shards"]) for job in jobs) == [0, SHARDS - ARRAY_LIMIT, ARRAY_LIMIT]
    ended(slurm, run)
    assert content_digest(run) == digest_of_one_process(tmp_path, None, items)
    words = ("submit", tmp_path / "run.toml", "--engine", "slurm", "--shards", SHARDS)
    assert "Nothing to submit" in call(tmp_path, *words, env=env_of(slurm))


def test_kills_requeues_and_lost_nodes_lose_nothing(slurm: Cluster, tmp_path: Path) -> None:
    items = SHARDS * 2000
    with stub() as server:
        spec = write_run(tmp_path, server, items)
        server.close_at = 2400
        run = submit(slurm, spec, SHARDS)
        until(lambda: not server.gate.is_set(), slurm.logs)
        until(lambda: all(processes("eval", str(spec), f"{shard}/{SHARDS}") for shard in (1, 2, 3)))
        third = job_of(run, 3)
        # A whole task: the children of the batch step of its job, srun included. All are named before the first is
        # killed: an eval whose step is gone may end by itself.
        steps = steps_of(slurm, run, 2)
        evals = [processes("eval", str(spec), f"{shard}/{SHARDS}") for shard in (1, 2)]
        for pids in (steps, *evals):
            assert pids
        for pids in (evals[0], steps, evals[1]):
            kill(pids)
        slurm.call("scontrol", "requeue", third)
        server.close_at = 7200
        server.gate.set()
        until(lambda: not server.gate.is_set(), slurm.logs)
        slurm.call("scontrol", "update", f"nodename={NODE}", "state=drain", "reason=test")
        server.close_at = 9600
        server.gate.set()
        until(lambda: not server.gate.is_set() or not processes("eval", str(spec)), slurm.logs)
        slurm.call("scontrol", "update", f"nodename={NODE}", "state=down", "reason=test")
        until(lambda: "RUNNING" not in slurm.queue(), slurm.queue)
        slurm.call("scontrol", "update", f"nodename={NODE}", "state=resume")
        server.close_at = -1
        server.gate.set()
        ended(slurm, run)
        assert len(server.asked) == items, "nothing is lost"
        assert server.twice <= WORKERS * (3 + SHARDS), "asked twice: at most what was in flight in the tasks that ended"
        assert content_digest(run) == digest_of_one_process(tmp_path, server, items)


def _past_its_time_limit(folder: Path) -> None:
    items, shards = 400, 2
    with cluster(folder / "c") as slurm, stub() as server:
        spec = write_run(folder, server, items)
        server.close_at = items // shards - 1  # no shard can be done then
        run = submit(slurm, spec, shards, "--time", "1")
        until(lambda: not server.gate.is_set(), slurm.logs)
        until(lambda: restarts(slurm, run), slurm.queue)
        server.gate.set()
        ended(slurm, run)
        assert server.twice <= 2 * WORKERS * shards
        assert content_digest(run) == digest_of_one_process(folder, server, items)


@pytest.fixture(scope="module")
def past_its_time_limit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Future[None]]:
    """On a SLURM of its own beside the other tests: no time limit is below a minute, and nothing is done meanwhile."""
    with ThreadPoolExecutor(1) as pool:
        yield pool.submit(_past_its_time_limit, tmp_path_factory.mktemp("limit"))


def test_printed_files_do_the_same_and_cancel_ends_them(slurm: Cluster, tmp_path: Path) -> None:
    with stub() as server:
        spec = write_run(tmp_path, server, 60)
        server.close_at = 20
        words = ("submit", spec, "--shards", 2, "--scratch", tmp_path / "node", "--print")
        files = json.loads(call(tmp_path, *words, "--json", env=env_of(slurm)))["files"]
        for path in files[:-1]:
            subprocess.run(["sbatch", path], env=env_of(slurm), check=True, capture_output=True)
        until(lambda: not server.gate.is_set(), slurm.logs)
        run = tmp_path / "runs" / "sweep"
        call(tmp_path, "cancel", run, env=env_of(slurm))
        until(lambda: not processes("eval", str(spec)))
        server.gate.set()
        until(lambda: not slurm.queue().strip(), slurm.queue)
        assert len(server.asked) < 60
        for path in json.loads(call(tmp_path, *words, "--json", env=env_of(slurm)))["files"][:-1]:
            subprocess.run(["sbatch", path], env=env_of(slurm), check=True, capture_output=True)
        until(lambda: not slurm.queue().strip(), slurm.queue)
        call(tmp_path, "merge", run, "--no-score", "--quiet")
        assert server.twice <= 2 * WORKERS
        assert content_digest(run) == digest_of_one_process(tmp_path, server, 60)


def test_a_second_submission_leaves_alone_what_runs_and_one_job_comes_last(slurm: Cluster, tmp_path: Path) -> None:
    """Each task has a disk of its own, as on nodes of their own: no lock would keep a second task of a shard away."""
    items, shards, seconds = 32, 4, 10.0
    with stub() as server:
        spec = write_run(tmp_path, server, items)
        server.seconds = lambda _: seconds
        words = ("submit", spec, "--engine", "slurm", "--shards", shards, "--no-score")
        setup = ("--setup", f"export TMPDIR=$(mktemp -d {tmp_path}/node-XXXX)")
        call(tmp_path, *words, *setup, env=env_of(slurm))
        run = tmp_path / "runs" / "sweep"
        until(lambda: server.asked.total() == shards * WORKERS, slurm.queue)
        slurm.call("scancel", job_of(run, 1))
        until(lambda: f"{job_of(run, 1)} " not in slurm.queue(), slurm.queue)
        call(tmp_path, *words, *setup, env=env_of(slurm))
        first = {f"What is {n} + 1?" for n in range(items // shards)}
        server.seconds = lambda question: 0.0 if question in first else seconds
        until(lambda: standing(slurm, run)["states"] == {"running": shards - 1, "done": 1}, slurm.queue)
        time.sleep(4)  # in which a last job could begin
        assert slurm.queue().count("PENDING") == 1, slurm.queue()
        ended(slurm, run)
        server.seconds = lambda _: 0.0
        assert server.twice <= WORKERS, "asked twice: at most what was in flight in the task that was cancelled"
        assert standing(slurm, run)["unmerged"] == ""
        assert content_digest(run) == digest_of_one_process(tmp_path, server, items)


def test_a_budget_holds_over_all_tasks_at_once(slurm: Cluster, tmp_path: Path) -> None:
    items, some = SHARDS * 20, 100
    with stub() as server:
        spec = write_run(tmp_path, server, items)
        run = submit(slurm, spec, SHARDS, "--max-requests", some)
        until(lambda: not slurm.queue().strip(), slurm.queue)
        assert server.asked.total() == some, "and no round of its own went beyond it"
        assert standing(slurm, run)["states"] == {"stopped": SHARDS}
        submit(slurm, spec, SHARDS, "--max-requests", items)
        ended(slurm, run)
        assert server.asked.total() == len(server.asked) == items


def test_a_task_past_its_time_limit_goes_on_in_a_new_job(past_its_time_limit: Future[None]) -> None:
    past_its_time_limit.result()
