"""`perpend submit --engine slurm` on a real SLURM: the ledger of one process, whatever happens to tasks."""

from __future__ import annotations

import json
import os
import platform
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from perpend.ledger.digest import content_digest
from tests.slurm import ARRAY_LIMIT, Cluster, cluster, missing
from tests.sweep import WORKERS, call, digest_of_one_process, environment, processes, stub, until, write_run

pytest.importorskip("submitit", reason="pip install 'perpend[slurm]'")
pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(bool(missing()), reason=missing()),
    pytest.mark.xdist_group("slurm"),
]
SHARDS = 8
NODE = platform.node().partition(".")[0]


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("slurm") / "c") as started:
        yield started


def submit(slurm: Cluster, spec: Path, shards: int, *more: object) -> Path:
    folder = spec.parent
    words = ("submit", spec, "--engine", "slurm", "--shards", shards, "--scratch", folder / "node", "--no-score")
    call(folder, *words, *more, env=_env(slurm))
    return folder / "runs" / "sweep"


def _env(slurm: Cluster) -> dict[str, str]:
    return environment(**{key: slurm.environment[key] for key in ("PATH", "SLURM_CONF")})


def standing(slurm: Cluster, run: Path) -> dict[str, object]:
    body = json.loads(call(run.parent.parent, "status", run, "--json", env=_env(slurm)))
    assert isinstance(body, dict)
    return body


def ended(slurm: Cluster, run: Path) -> None:
    """Wait until the queue is empty; every shard is done and merged."""

    def logs() -> str:
        return slurm.queue() + "".join(path.read_text()[-500:] for path in (run / "sweep").rglob("*.err"))

    def is_empty() -> bool:
        queue = slurm.queue()
        if "held" in queue or "DOWN" in queue:
            # A job that came to a node as it went down is held, and the node drained: an administrator's turn.
            state = slurm.call("sinfo", "--noheader", "--format", "%T")
            if "down" in state or "drain" in state:
                slurm.call("scontrol", "update", f"nodename={NODE}", "state=resume")
            for line in queue.splitlines():
                if "held" in line:
                    slurm.call("scontrol", "release", line.split()[0])
        return not queue.strip()

    until(is_empty, logs)
    assert standing(slurm, run)["states"] == {"done": _shards_of(run)}, logs()
    assert (run / "run.db").is_file(), logs()


def _shards_of(run: Path) -> int:
    return int(json.loads((run / "sweep" / "sweep.json").read_text())["shards"])


def test_eight_shards_of_two_thousand_trials_in_two_arrays(slurm: Cluster, tmp_path: Path) -> None:
    items = SHARDS * 2000
    run = submit(slurm, write_run(tmp_path, None, items), SHARDS)
    jobs = [json.loads(path.read_text()) for path in (run / "sweep" / "jobs").glob("*.json")]
    assert sorted(len(job["shards"]) for job in jobs) == [0, SHARDS - ARRAY_LIMIT, ARRAY_LIMIT]
    ended(slurm, run)
    assert content_digest(run) == digest_of_one_process(tmp_path, None, items)
    words = ("submit", tmp_path / "run.toml", "--engine", "slurm", "--shards", SHARDS)
    assert "Nothing to submit" in call(tmp_path, *words, env=_env(slurm))


def test_kills_requeues_and_lost_nodes_lose_nothing(slurm: Cluster, tmp_path: Path) -> None:
    items = SHARDS * 2000
    with stub() as server:
        spec = write_run(tmp_path, server, items)
        server.close_at = 2400
        run = submit(slurm, spec, SHARDS)
        until(lambda: not server.gate.is_set(), slurm.logs)
        until(lambda: all(processes("eval", str(spec), f"{shard}/{SHARDS}") for shard in (1, 2, 3)))
        tasks = {shard: _job(run, shard) for shard in (2, 3)}
        # A whole task: the children of the batch step of its job, srun included. All are named before the first is
        # killed: an eval whose step is gone may end by itself.
        steps = [
            pid for pid in processes("-m", "submitit.core._submit") if _variable(pid, "SLURM_ARRAY_TASK_ID") == "1"
        ]
        evals = [processes("eval", str(spec), f"{shard}/{SHARDS}") for shard in (1, 2)]
        for pids in (steps, *evals):
            assert pids
        for pids in (evals[0], steps, evals[1]):
            _kill(pids)
        slurm.call("scontrol", "requeue", tasks[3])
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


def test_a_task_past_its_time_limit_goes_on_in_a_new_job(slurm: Cluster, tmp_path: Path) -> None:
    items, shards = 400, 2
    with stub() as server:
        spec = write_run(tmp_path, server, items)
        server.close_at = items // shards - 1  # no shard can be done then
        run = submit(slurm, spec, shards, "--time", "1")
        until(lambda: not server.gate.is_set(), slurm.logs)
        until(lambda: _restarts(slurm, run), slurm.queue)
        server.gate.set()
        ended(slurm, run)
        assert server.twice <= 2 * WORKERS * shards
        assert content_digest(run) == digest_of_one_process(tmp_path, server, items)


def test_printed_files_do_the_same_and_cancel_ends_them(slurm: Cluster, tmp_path: Path) -> None:
    with stub() as server:
        spec = write_run(tmp_path, server, 60)
        server.close_at = 20
        words = ("submit", spec, "--shards", 2, "--scratch", tmp_path / "node", "--print")
        files = json.loads(call(tmp_path, *words, "--json", env=_env(slurm)))["files"]
        for path in files[:-1]:
            subprocess.run(["sbatch", path], env=_env(slurm), check=True, capture_output=True)
        until(lambda: not server.gate.is_set(), slurm.logs)
        run = tmp_path / "runs" / "sweep"
        call(tmp_path, "cancel", run, env=_env(slurm))
        until(lambda: not processes("eval", str(spec)))
        server.gate.set()
        until(lambda: not slurm.queue().strip(), slurm.queue)
        assert len(server.asked) < 60
        for path in json.loads(call(tmp_path, *words, "--json", env=_env(slurm)))["files"][:-1]:
            subprocess.run(["sbatch", path], env=_env(slurm), check=True, capture_output=True)
        until(lambda: not slurm.queue().strip(), slurm.queue)
        call(tmp_path, "merge", run, "--no-score", "--quiet")
        assert server.twice <= 2 * WORKERS
        assert content_digest(run) == digest_of_one_process(tmp_path, server, 60)


def _job(run: Path, shard: int) -> str:
    """The task of a shard, as scontrol names it."""
    for path in sorted((run / "sweep" / "jobs").glob("*.json")):
        body = json.loads(path.read_text())
        if shard in body["shards"]:
            return f"{body['job']}_{body['shards'].index(shard)}"
    raise AssertionError(shard)


def _restarts(slurm: Cluster, run: Path) -> int:
    """How many tasks of a run were queued again."""
    job = _job(run, 1).partition("_")[0]
    return slurm.call("scontrol", "show", "job", job).count("Restarts=1")


def _kill(pids: list[int]) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _variable(pid: int, name: str) -> str:
    """A variable of a process's environment."""
    try:
        pairs = Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return ""
    return dict(pair.partition("=")[::2] for pair in pairs).get(name, "")
