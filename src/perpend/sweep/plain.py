"""--print: sbatch files that a person can read, change and submit, around the same command as every other engine's."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from perpend.canon import write_atomic
from perpend.sweep.command import merge_command, shard_command
from perpend.sweep.facts import Sweep, folder

_WARNING_S = 120
_INDEX = "SHARD_NUMBER"


def write_files(run: Path, sweep: Sweep, shards: Sequence[int], limit: int) -> list[Path]:
    """The files of the arrays, each of at most `limit` tasks, and that of the merge, in the order to submit them."""
    place = folder(run) / "sbatch"
    (folder(run) / "logs").mkdir(parents=True, exist_ok=True)
    files = []
    for number, start in enumerate(range(0, len(shards), limit), start=1):
        path = place / f"shards-{number}.sbatch"
        write_atomic(path, array_file(run, sweep, shards[start : start + limit]))
        files.append(path)
    merge = place / "merge.sbatch"
    body = [*_head(run, sweep, "merge", gpus=False), *sweep.setup.splitlines(), shlex.join(merge_command(run, sweep))]
    write_atomic(merge, "\n".join(body) + "\n")
    return [*files, merge]


def array_file(run: Path, sweep: Sweep, shards: Sequence[int]) -> str:
    """One array: a task for each of the shards, which is queued again when its time is over."""
    command = shlex.join(shard_command(run, sweep, _INDEX)).replace(_INDEX, '"$shard"')
    warning = min(_WARNING_S, 15 * (sweep.minutes or _WARNING_S))
    lines = [
        *_head(run, sweep, "%A_%a", gpus=True),
        f"#SBATCH --array=0-{len(shards) - 1}",
        "#SBATCH --requeue",
        f"#SBATCH --signal=B:USR1@{warning}",
        *sweep.setup.splitlines(),
        f"shards=({' '.join(map(str, shards))})",
        'shard="${shards[$SLURM_ARRAY_TASK_ID]}"',
        f"# {warning} seconds before the time limit: keep what is answered, and resume in a new job.",
        """trap 'kill -TERM "$task"; wait "$task"; scontrol requeue "$SLURM_JOB_ID"; exit 0' USR1""",
        f"{command} &",
        "task=$!",
        'wait "$task"',
    ]
    return "\n".join(lines) + "\n"


def _head(run: Path, sweep: Sweep, log: str, *, gpus: bool) -> list[str]:
    options = {
        "job-name": f"perpend-{run.name}"[:60],
        "output": str(folder(run) / "logs" / f"{log}.log"),
        "open-mode": "append",
        **({"time": str(sweep.minutes)} if sweep.minutes else {}),
        **({"partition": sweep.partition} if sweep.partition else {}),
        **({"gpus-per-node": str(sweep.gpus)} if sweep.gpus and gpus else {}),
    }
    return ["#!/bin/bash", *(f"#SBATCH --{key}={shlex.quote(value)}" for key, value in options.items())]
