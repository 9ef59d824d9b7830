"""--serve on a real SLURM: a server for each task of an array, none left behind, and what those do that are ill."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from perpend.ledger.digest import content_digest
from perpend.ledger.manifest import read_manifest
from tests.more.slurm import Cluster, missing
from tests.more.slurm.sweeps import ended, env_of, job_of, kill, steps_of, submit
from tests.sweep import WORKERS, call, processes, until, write_served

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(bool(missing()), reason=missing()),
    pytest.mark.xdist_group("slurm"),
]


WORDS = (
    "1 done",
    "shard 1 failed: the server of org/a did not answer within 0.1 minutes. Allow it more with --serve-wait",
    "shard 2 failed: the server of org/a ended with exit code 0 while it was asked. The same command again",
    "out of memory",
)
"""What `perpend status` shows of a server that never answers, and of one that dies when it is asked."""


def command(spec: Path) -> str:
    """As people write it: a line of shell, around a program that has a session of its own."""
    return f"bash -c 'setsid -w {sys.executable} {spec.parent / 'server.py'} {{port}} {{model}} --dtype=half; true'"


def lines(spec: Path, name: str) -> list[str]:
    """What the servers of a run noted."""
    path = spec.parent / name
    return path.read_text().splitlines() if path.exists() else []


def servers(spec: Path) -> list[int]:
    """The servers of a run that are there."""
    return processes(str(spec.parent / "server.py"))


def digest_of_one_served_process(folder: Path, items: int) -> str:
    alone = folder / "alone"
    alone.mkdir()
    spec = write_served(alone, items, "a")
    call(alone, "eval", spec, "--no-score", "--quiet", "--serve", command(spec))
    return content_digest(alone / "runs" / "sweep")


def test_each_task_has_its_server_and_none_outlives_its_task(slurm: Cluster, tmp_path: Path) -> None:
    items, shards = 400, 5
    spec, gate = write_served(tmp_path, items, "a"), tmp_path / "gate"
    gate.touch()
    run = submit(slurm, spec, shards, "--serve", command(spec))
    until(lambda: len(lines(spec, "asked")) == shards * WORKERS, slurm.queue)
    first = lines(spec, "started")
    ports, pids = ({line.split()[place] for line in first} for place in (1, 2))
    assert len(ports) == len(servers(spec)) == shards, first
    # An eval is killed, the step of another's task; one task is cancelled and one queued again; the last is let alone.
    killed, steps = processes("eval", str(spec), f"1/{shards}"), steps_of(slurm, run, 2)
    assert killed
    assert steps
    kill(killed + steps)
    slurm.call("scancel", job_of(run, 3))
    slurm.call("scontrol", "requeue", job_of(run, 4))
    until(lambda: len(pids & set(map(str, servers(spec)))) == 1, slurm.queue)
    gate.unlink()
    ended(slurm, run)
    assert not servers(spec)
    assert len(lines(spec, "started")) == shards + 4
    asked = lines(spec, "asked")
    assert len(set(asked)) == items, "nothing is lost"
    assert len(asked) <= items + 4 * WORKERS, "asked twice: at most what was in flight in the tasks that ended"
    facts = read_manifest(run).models[0].fingerprint
    assert facts["server"] == "bash 9.1"
    assert "server.py {port} {model} --dtype=half" in str(facts["server_flags"])
    assert content_digest(run) == digest_of_one_served_process(tmp_path, items)


def test_ill_servers_fail_their_shards_alone_which_are_asked_again_alone(slurm: Cluster, tmp_path: Path) -> None:
    items, shards = 60, 3
    spec = write_served(tmp_path, items, "a")
    for deed in ("dumb-0", "deadly-1"):
        (tmp_path / deed).touch()
    run = submit(slurm, spec, shards, "--serve", command(spec), "--serve-wait", "0.1")
    pages = []

    def is_shown() -> bool:
        """Not on one page: a shard that failed is tried again, and runs meanwhile."""
        pages.append(call(tmp_path, "status", run, env=env_of(slurm)))
        return all(any(words in page for page in pages) for words in WORDS)

    until(is_shown, lambda: pages[-1])
    call(tmp_path, "cancel", run, env=env_of(slurm))
    until(lambda: not slurm.queue().strip(), slurm.queue)
    assert not servers(spec)
    for deed in ("dumb-0", "deadly-1"):
        (tmp_path / deed).unlink()
    before = len(lines(spec, "started"))
    submit(slurm, spec, shards, "--serve", command(spec))
    ended(slurm, run)
    assert len(lines(spec, "started")) == before + 2, "the shard that is done starts no server"
    assert not servers(spec)
    assert len(set(lines(spec, "asked"))) == items
    assert content_digest(run) == digest_of_one_served_process(tmp_path, items)
