"""Sweeps on the SLURM of a test: submit one, see how it stands, name and kill its tasks."""

from __future__ import annotations

import json
import os
import platform
import signal
from contextlib import suppress
from pathlib import Path

from tests.more.slurm import Cluster
from tests.sweep import call, environment, processes, until

NODE = platform.node().partition(".")[0]


def submit(slurm: Cluster, spec: Path, shards: int, *more: object) -> Path:
    folder = spec.parent
    words = ("submit", spec, "--engine", "slurm", "--shards", shards, "--scratch", folder / "node", "--no-score")
    call(folder, *words, *more, env=env_of(slurm))
    return folder / "runs" / "sweep"


def env_of(slurm: Cluster) -> dict[str, str]:
    return environment(**{key: slurm.environment[key] for key in ("PATH", "SLURM_CONF")})


def standing(slurm: Cluster, run: Path) -> dict[str, object]:
    body = json.loads(call(run.parent.parent, "status", run, "--json", env=env_of(slurm)))
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
    assert standing(slurm, run)["states"] == {"done": shards_of(run)}, logs()
    assert (run / "run.db").is_file(), logs()


def shards_of(run: Path) -> int:
    return int(json.loads((run / "sweep" / "sweep.json").read_text())["shards"])


def job_of(run: Path, shard: int) -> str:
    """The first task of a shard, as scontrol names it."""
    for path in sorted((run / "sweep" / "jobs").glob("*.json"), key=lambda path: int(path.stem)):
        body = json.loads(path.read_text())
        if shard in body["shards"]:
            return f"{body['job']}_{body['shards'].index(shard)}"
    raise AssertionError(shard)


def restarts(slurm: Cluster, run: Path) -> int:
    """How many tasks of a run were queued again."""
    job = job_of(run, 1).partition("_")[0]
    return slurm.call("scontrol", "show", "job", job).count("Restarts=1")


def kill(pids: list[int]) -> None:
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


def steps_of(slurm: Cluster, run: Path, shard: int) -> list[int]:
    """The processes of the batch step of a shard's task that carry it out: srun and submitit's own."""
    job, _, task = job_of(run, shard).partition("_")
    wanted = {"SLURM_CONF": slurm.environment["SLURM_CONF"], "SLURM_ARRAY_JOB_ID": job, "SLURM_ARRAY_TASK_ID": task}
    return [
        pid
        for pid in processes("-m", "submitit.core._submit")
        if all(_variable(pid, name) == value for name, value in wanted.items())
    ]
