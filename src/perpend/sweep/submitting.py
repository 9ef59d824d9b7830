"""perpend submit, status and cancel: what they do, whichever engine runs the tasks."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from perpend.ask.sharding import asking_place
from perpend.ask.spending import cost
from perpend.canon import JSON
from perpend.disk import this_machine
from perpend.errors import SpecError, StoreError
from perpend.ledger.database import is_held
from perpend.ledger.journal import acknowledged, noted_spent
from perpend.ledger.manifest import MANIFEST
from perpend.ledger.shards import Shard, shard_folders
from perpend.ledger.store import Store
from perpend.spec.runspec import RunSpec
from perpend.sweep import budget, plain, slurm
from perpend.sweep.asking import begin, run_of
from perpend.sweep.command import Child, lock_place, scratch
from perpend.sweep.facts import (
    ShardState,
    Sweep,
    counted,
    is_cancelled,
    jobs,
    merge_failure,
    now,
    read_sweep,
    seconds_between,
    set_cancelled,
    states,
    the_sweep,
    write_state,
    write_sweep,
)
from perpend.sweep.served import check_command, served_name
from perpend.sweep.task import BEAT_S
from perpend.sweep.turn import check_free, turn

SILENT_S = 12 * BEAT_S
"""After so many seconds without a sign of life a task that no engine knows of is taken for dead."""
_TIME = re.compile(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?")
_MOST_SHARDS = 9999
Say = Callable[[str], None]


def minutes(text: str) -> int:
    """Minutes of a time as sbatch takes it: 90, 90:00, 1:30:00, 2-12, 2-12:30:00. Seconds round up."""
    match = _TIME.fullmatch(text.strip())
    if match is None:
        raise SpecError(f"--time {text!r}: write minutes, H:MM:SS or D-HH:MM:SS")
    days, *parts = match.groups()
    numbers = [int(part) for part in parts if part is not None]
    if days is not None:
        hours, more, seconds = [*numbers, 0, 0][:3]
        total = (int(days) * 24 + hours) * 3600 + more * 60 + seconds
    elif len(numbers) == 3:
        total = numbers[0] * 3600 + numbers[1] * 60 + numbers[2]
    else:
        total = numbers[0] * 60 + (numbers[1] if len(numbers) == 2 else 0)
    if not total:
        raise SpecError(f"--time {text!r}: a task needs more time than that")
    return -(-total // 60)


def prepare(spec: RunSpec, sweep: Sweep) -> Path:
    """Check what is submitted and write what all shards share; the run's directory.

    A run that was asked otherwise, was cut into other shards, or is being submitted already is a StoreError.
    """
    if not 1 <= sweep.shards <= _MOST_SHARDS:
        raise SpecError(f"--shards must be from 1 to {_MOST_SHARDS}, not {sweep.shards}")
    if spec.stop is not None:
        raise SpecError("a run with stop_when looks at all answers together, so it cannot be asked in shards")
    if sweep.serve is not None:
        check_command(sweep.serve)
        for model in spec.models:
            served_name(model.name)
    run = run_of(spec, Path(sweep.out))
    check_free(run)
    before = read_sweep(run)
    if before is not None and before.shards != sweep.shards:
        raise StoreError(
            f"{run}: was submitted in {before.shards} shards; submit it with --shards {before.shards}, or give the new "
            "one another --name"
        )
    if (run / MANIFEST).exists() and (before is None or any(one.state != "done" for one in states(run, before))):
        with Store.open(run / "run.db") as store:
            answers = store.responses() - kept(run)
        if answers > 0:
            raise StoreError(
                f"{run}: holds {answers:,} answers that no shard has; 'perpend eval' resumes it. To ask it in "
                "shards, give the new one another --name"
            )
    if sweep.serve is None or (sweep.engine == "local" and sweep.models > 1):
        begin(run, sweep)  # what is wrong with the spec, the items or the model's server is said here, once
    return run


def open_shards(run: Path, spec: RunSpec, sweep: Sweep) -> list[int]:
    """Write down what is submitted; the shards that are to be asked. Those that are done are left alone."""
    before = read_sweep(run)
    is_asked = before is not None and standing(run).is_asked
    if before is not None and is_asked and _is_lower(before, sweep):
        raise StoreError(
            f"{run}: its tasks have parts of a higher limit. Wait until they end, or stop them with 'perpend cancel', "
            "and submit it with the lower limit then."
        )
    set_cancelled(run, cancelled=False)
    write_sweep(run, sweep)
    for state in states(run, sweep):  # a failure is stored, and submitting again asks it again
        if state.state == "done" and state.failed:
            write_state(run, replace(state, state="stopped", why="trials failed"))
    seen = standing(run)
    if not is_asked:
        spent = {shard: _spent(spec, place) for shard, place in _newest(run, sweep).items()}
        budget.settle(run, sweep, spent, [one.shard for one in seen.shards if one.state != "done"])
    return [one.shard for one in seen.shards if one.state not in ("done", "running") and one.shard not in seen.queue]


def _is_lower(before: Sweep, now_: Sweep) -> bool:
    """Whether a limit is lower than it was."""
    pairs = ((before.max_requests, now_.max_requests), (before.max_usd, now_.max_usd))
    return any(new is not None and (old is None or new < old) for old, new in pairs)


def _newest(run: Path, sweep: Sweep) -> dict[int, Path]:
    """The folder of the ledger of each shard that is known here and has most answers: in RUN/shards, or on scratch."""
    newest, placed = dict[int, Path](), shard_folders(run)
    for number in range(1, sweep.shards + 1):
        shard = Shard(number, sweep.shards)
        places = [*placed.get(shard, ()), asking_place(run, shard, scratch(run, sweep))]
        newest[number] = max(places, key=lambda place: acknowledged(place) or 0)
    return newest


def _spent(spec: RunSpec, folder: Path) -> tuple[int, float]:
    """Requests and dollars that a shard has spent, by its journal; no dollars where they are unknown."""
    spent = noted_spent(folder)
    return sum(one.requests for one in spent.values()), cost(spec.models, spent)[0] or 0.0


def submit(spec: RunSpec, sweep: Sweep, *, at_once: int | None, say: Say | None) -> tuple[Path, list[str]]:
    """Submit what is not done. `local` returns when all have ended; `slurm` at once, with the ids of its jobs."""
    if sweep.engine == "slurm":
        slurm.check_here()
    run = prepare(spec, sweep)
    with turn(run):
        shards = open_shards(run, spec, sweep)
        if sweep.engine == "slurm":
            return run, slurm.submit_shards(run, sweep, shards) if shards else []
        run_shards(run, sweep, shards, at_once, say)
    return run, []


def print_files(spec: RunSpec, sweep: Sweep) -> tuple[Path, list[Path]]:
    """The sbatch files of what is not done, in the order to submit them."""
    run = prepare(spec, sweep)
    with turn(run):
        shards = open_shards(run, spec, sweep)
    return run, plain.write_files(run, sweep, shards, slurm.array_limit()) if shards else []


def cancel(run: Path) -> Sweep:
    """Stop a sweep: nothing more is started, tasks that run keep what they have and end."""
    sweep = the_sweep(run)
    set_cancelled(run, cancelled=True)
    if jobs(run):
        slurm.cancel(run)
    return sweep


@dataclass(frozen=True, slots=True)
class SweepStanding:
    """How a sweep stands. `queue` is what the engine says of shards that it has not ended yet."""

    run: Path
    sweep: Sweep
    shards: tuple[ShardState, ...]
    queue: Mapping[int, str]
    cancelled: bool
    unmerged: str = ""
    """Why the run lacks answers that its shards have; empty where it has all, or where more is being asked."""

    @property
    def is_asked(self) -> bool:
        """Whether a task of it runs or is queued."""
        return any(one.state == "running" or one.shard in self.queue for one in self.shards)

    @property
    def rate(self) -> float | None:
        """Answers per second of all running tasks; None where none has answered since it began."""
        rates = [rate for rate in (one.rate() for one in self.shards) if rate is not None]
        return sum(rates) if rates else None

    def seconds_left(self) -> tuple[float | None, str]:
        """Seconds until the last trial at today's rate; None with the reason where nobody can say."""
        left = sum(one.left for one in self.shards)
        unknown = sum(not one.is_counted for one in self.shards)
        begun = [one.planned for one in self.shards if one.is_counted]
        if unknown and not begun:
            return None, "no task has asked anything yet"
        left += unknown * (sum(begun) // max(1, len(begun)))
        if not left:
            return 0.0, ""
        return (left / self.rate, "") if self.rate else (None, "nothing is being answered")

    def as_json(self) -> dict[str, JSON]:
        """The whole of it, for programs."""
        seconds, why = self.seconds_left()
        return {
            "run": self.run.as_posix(),
            "engine": self.sweep.engine,
            "shards": self.sweep.shards,
            "states": dict(counted(list(self.shards))),
            "planned": sum(one.planned for one in self.shards),
            "answered": sum(one.answered for one in self.shards),
            "failed": sum(one.failed for one in self.shards),
            "requests": sum(one.requests for one in self.shards),
            "per_second": self.rate,
            "seconds_left": seconds,
            "seconds_left_note": why,
            "cancelled": self.cancelled,
            "unmerged": self.unmerged,
            "ended": [
                {"shard": one.shard, "state": one.state, "why": one.why}
                for one in self.shards
                if one.state in ("failed", "stopped")
            ],
        }


def standing(run: Path) -> SweepStanding:
    """How a sweep stands, by what its tasks last said, and the engine where there is one.

    A task that says that it runs has failed where its engine does not know of it; without an engine, where nobody holds
    its lock on this machine, or it gave no sign of life on another.
    """
    sweep = the_sweep(run)
    queue = slurm.queued(run) if jobs(run) else {}
    at = now()
    seen = []
    for state in states(run, sweep):
        silent = seconds_between(state.heard, at)
        lock = lock_place(scratch(run, sweep), Shard(state.shard, sweep.shards))
        if queue is not None and jobs(run):
            gone = state.shard not in queue
        elif state.machine == this_machine() and lock.exists():
            gone = not is_held(lock)
        else:
            gone = silent is None or silent > SILENT_S
        if queue and queue.get(state.shard) == "PENDING" and state.state not in ("done", "waiting"):
            seen.append(replace(state, state="waiting", why=""))
        elif state.state == "running" and gone:
            heard = "was never heard of" if silent is None else f"was last heard of {silent:.0f} s ago"
            seen.append(replace(state, state="failed", why=f"its task is gone; it {heard}"))
        else:
            seen.append(state)
    present = SweepStanding(run, sweep, tuple(seen), queue or {}, is_cancelled(run))
    return present if present.is_asked else replace(present, unmerged=_unmerged(run))


def _unmerged(run: Path) -> str:
    """Why the run's own ledger lacks responses that a shard has; empty where it has all."""
    there = kept(run)
    if ((run / "run.db").exists() and (acknowledged(run) or 0) >= there) or not there:
        return ""
    return merge_failure(run) or "nobody has merged them yet"


def kept(run: Path) -> int:
    """How many responses are in RUN/shards, by the journals of the newest ledger of each shard."""
    return sum(max(acknowledged(folder) or 0 for folder in folders) for folders in shard_folders(run).values())


_LOOK_S = 0.1


def run_shards(
    run: Path, sweep: Sweep, shards: Sequence[int], at_once: int | None, say: Callable[[str], None] | None
) -> None:
    """Ask the shards, at most `at_once` at a time (the number of cores), and return when all have ended.

    Ctrl-C and 'perpend cancel' end them all; what they have is kept.
    """
    waiting, running = list(shards), list[Child]()
    try:
        while waiting or running:
            while waiting and len(running) < (at_once or os.cpu_count() or 1) and not is_cancelled(run):
                running.append(Child(run, sweep, waiting.pop(0)))
            for child in [child for child in running if child.poll() is not None]:
                running.remove(child)
                if say is not None:
                    say(f"shard {child.shard} of {sweep.shards} ended; {len(running) + len(waiting)} to go")
            if is_cancelled(run):
                waiting.clear()
            time.sleep(_LOOK_S)
    finally:
        for child in running:
            child.stop()
        for child in running:
            child.wait()
