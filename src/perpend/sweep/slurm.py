"""The engine for SLURM, by submitit: job arrays with one shard per task, and a last job that asks again and merges."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perpend.errors import ModelError, SpecError, StoreError
from perpend.inert import say_page
from perpend.sweep.asking import begin
from perpend.sweep.command import Child, merge_command
from perpend.sweep.facts import (
    Sweep,
    SweepJob,
    add_job,
    folder,
    is_cancelled,
    jobs,
    note_merge,
    read_state,
    states,
    the_sweep,
)
from perpend.sweep.turn import turn

if TYPE_CHECKING:
    import submitit

ROUNDS = 3
"""How often a shard is submitted before it is left to the user."""
WARNING_S = 120
"""Seconds before its time limit in which a task closes its ledger and is queued again."""
_DEFAULT_MINUTES = 60
_DEFAULT_ARRAY = 1001
_CLOSING_S = 90.0
_MANY = 1_000_000


def check_here() -> None:
    """SpecError that says what is missing: SLURM's commands on this machine, or the package submitit."""
    if shutil.which("sbatch") is None:
        raise SpecError(
            "--engine slurm: there is no 'sbatch' here. Submit from a machine of the cluster, or use --engine local"
        )
    try:
        import submitit  # noqa: F401
    except ImportError:
        raise SpecError(
            "--engine slurm needs submitit: pip install 'perpend[slurm]'; --print writes plain sbatch files without it"
        ) from None


def array_limit() -> int:
    """How many tasks an array of this cluster may have: MaxArraySize, the first index that it refuses."""
    answer = _called("scontrol", "show", "config")
    match = re.search(r"^MaxArraySize\s*=\s*(\d+)", answer or "", re.MULTILINE)
    return max(1, int(match[1])) if match else _DEFAULT_ARRAY


def submit_shards(run: Path, sweep: Sweep, shards: Sequence[int], round_: int = 1) -> list[str]:
    """Submit the shards as arrays, and a last job that runs when all of them have ended. Returns the jobs' ids."""
    ids: list[str] = []
    after = ""
    before = {job for job, _, _ in _queue(run) or ()}
    if sweep.serve is not None and sweep.models > 1 and round_ == 1:
        ids.append(_submit(run, sweep, FirstTask(str(run)), kind="first"))
        after = f"afterany:{ids[0]}"
    limit = array_limit()
    for start in range(0, len(shards), limit):
        part = shards[start : start + limit]
        ids.append(_submit(run, sweep, ShardTask(str(run)), part, dependency=after, round_=round_))
    # One job comes after all others, also after tasks of an earlier submission; what was to come after those goes.
    earlier = [job for job in jobs(run) if job.job in before]
    after = ":".join([*ids, *(job.job for job in earlier if job.kind == "shards")])
    ids.append(
        _submit(run, sweep, LastTask(str(run), round_), kind="last", dependency=f"afterany:{after}", round_=round_)
    )
    needless = [job.job for job in earlier if job.kind == "last"]
    if needless:
        _called("scancel", "--quiet", "--state=PENDING", f"--jobname={job_name(run)}", *needless)
    return ids


def _submit(  # noqa: PLR0913  what a job is
    run: Path,
    sweep: Sweep,
    task: ShardTask | FirstTask | LastTask,
    shards: Sequence[int] = (),
    *,
    kind: str = "shards",
    dependency: str = "",
    round_: int = 1,
) -> str:
    import submitit

    logs = folder(run) / "slurm"
    logs.mkdir(parents=True, exist_ok=True)
    executor = submitit.SlurmExecutor(folder=logs, max_num_timeout=_MANY)
    lines = sweep.setup.splitlines()
    options: dict[str, Any] = {
        "job_name": job_name(run),
        "time": sweep.minutes or _DEFAULT_MINUTES,
        "signal_delay_s": min(WARNING_S, 15 * (sweep.minutes or _DEFAULT_MINUTES)),
        "array_parallelism": max(1, len(shards)),
        "additional_parameters": {"requeue": True},
        **({"setup": lines} if lines else {}),
        **({"partition": sweep.partition} if sweep.partition else {}),
        **({"gpus_per_node": sweep.gpus} if sweep.gpus and kind != "last" else {}),
        **({"dependency": dependency} if dependency else {}),
        **({"use_srun": False} if kind == "last" else {}),  # a job that submits others
    }
    executor.update_parameters(**options)
    # What a job inherits from a job would confuse it; where the cluster is, it must know.
    known = {name: os.environ[name] for name in ("SLURM_CONF",) if name in os.environ}
    try:
        with submitit.helpers.clean_env():
            os.environ.update(known)
            number = str(executor.map_array(task, shards or [0])[0].job_id).partition("_")[0]
    except (submitit.core.utils.FailedJobError, submitit.core.utils.FailedSubmissionError) as error:
        lines = [line for line in str(error).splitlines() if line.strip()]
        raise StoreError("SLURM refused a job:", *lines[-5:], "What was submitted before continues.") from None
    add_job(run, SweepJob(number, tuple(shards), round_, kind))
    return number


class ShardTask:
    """The task of one shard, as submitit carries it to a node: the plain command in a child process.

    When its time is over or the cluster wants the node, submitit calls `checkpoint`: the child keeps what it has and
    ends, and the task is queued again. One that got nothing answered since it began is not: it would do so for ever.
    """

    def __init__(self, run: str) -> None:
        self.run = run
        self._child: Child | None = None

    def __call__(self, shard: int) -> str:
        """Ask the shard; how it ended. An end that is worth another try is an error of the job."""
        run = Path(self.run)
        self._child = Child(run, the_sweep(run), shard)
        code = self._child.wait()
        state = read_state(run, shard)
        if state.state not in ("done", "stopped"):
            raise ModelError(f"shard {shard} ended with {code}: {state.why or 'it was killed'}")
        return state.state

    def checkpoint(self, shard: int) -> submitit.helpers.DelayedSubmission | None:
        """What submitit queues again; None where the shard came no farther."""
        import submitit

        if self._child is not None:
            self._child.stop()
            self._child.wait(_CLOSING_S)
            self._child = None
        state = read_state(Path(self.run), shard)
        if is_cancelled(Path(self.run)) or (state.state != "done" and state.answered <= state.answered_before):
            return None
        return submitit.helpers.DelayedSubmission(self, shard)

    def __getstate__(self) -> dict[str, object]:
        return {"run": self.run, "_child": None}


class FirstTask:
    """The job before the shards, where servers are started on the nodes: the fingerprint of every model."""

    def __init__(self, run: str) -> None:
        self.run = run

    def __call__(self, _: int) -> None:
        """Start each model's server once and write the shards' manifest."""
        begin(Path(self.run), the_sweep(Path(self.run)))


class LastTask:
    """The job after the shards: what failed is submitted again, a few times; then all is merged."""

    def __init__(self, run: str, round_: int) -> None:
        self.run, self.round = run, round_

    def __call__(self, _: int) -> str:
        """What it did."""
        run = Path(self.run)
        with turn(run, waits=True):
            sweep, queue = the_sweep(run), _queue(run)
            later = self._later(run, {job for job, _, _ in queue or ()})
            if later:
                return f"left to job {later}"
            in_queue = queued(run)
            # Where SLURM does not say what it has, a task may be running: nothing is asked twice.
            open_ = [
                state.shard
                for state in states(run, sweep)
                if in_queue is not None and state.goes_on and state.shard not in in_queue
            ]
            if open_ and self.round < ROUNDS and not is_cancelled(run):
                submit_shards(run, sweep, open_, self.round + 1)
                return f"submitted {len(open_)} shards again"
            _merge(run, sweep)
            return "merged"

    @staticmethod
    def _later(run: Path, queue: set[str]) -> str:
        """The job in the queue that was submitted after this one to do the same; empty where there is none."""
        own = os.environ.get("SLURM_ARRAY_JOB_ID", "")
        ids = [int(job.job) for job in jobs(run) if job.kind == "last" and job.job in queue]
        return str(max(ids)) if own.isdigit() and ids and max(ids) > int(own) else ""


def _merge(run: Path, sweep: Sweep) -> None:
    """Merge the shards; why that failed is kept for 'perpend status'."""
    done = subprocess.run(merge_command(run, sweep), stderr=subprocess.PIPE, text=True, check=False)  # noqa: S603  ours
    say_page(done.stderr, err=True)
    words = done.stderr.strip().rpartition("error: ")[2] or f"it ended with exit code {done.returncode}"
    note_merge(run, words if done.returncode else "")
    if done.returncode:
        raise ModelError(f"the merge failed: {words}")


def queued(run: Path) -> dict[int, str] | None:
    """What SLURM says of each shard that is in its queue: 'PENDING', 'RUNNING' …; None where it does not answer."""
    queue = _queue(run)
    if queue is None:
        return None
    shards = {job.job: job.shards for job in jobs(run) if job.kind == "shards"}
    words: dict[int, str] = {}
    for job, index, state in queue:
        part = shards.get(job, ())
        place = int(index) if index.isdigit() else 0
        if place < len(part):
            words[part[place]] = state
    return words


def _queue(run: Path) -> list[tuple[str, str, str]] | None:
    """(job, number in its array, state) of all that SLURM has of a run; None where it does not answer."""
    names = _ids(run)
    if not names:
        return []
    answer = _called("squeue", "--noheader", "--array", "--format", "%F %K %T", f"--jobs={','.join(names)}")
    if answer is None:
        return None
    lines = [[*line.split(), "", "", ""][:3] for line in answer.splitlines()]
    return [(job, index, state) for job, index, state in lines]


def cancel(run: Path) -> None:
    """Take every job of the sweep out of SLURM's queue; tasks that run are told, and keep what they have."""
    # By name too: the files of a sweep may be a stranger's, and must not end other jobs.
    names = _ids(run)
    if names:
        _called("scancel", "--quiet", f"--jobname={job_name(run)}", *names)


def _ids(run: Path) -> list[str]:
    return [job.job for job in jobs(run) if job.job.isascii() and job.job.isdigit()]


def job_name(run: Path) -> str:
    """The name of all jobs of a run."""
    return f"perpend-{run.name}"[:60]


def _called(*words: str) -> str | None:
    """What one of SLURM's commands prints; None where it fails, as squeue does for jobs that are long gone."""
    try:
        return subprocess.run(words, capture_output=True, text=True, timeout=60, check=True).stdout  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return None
