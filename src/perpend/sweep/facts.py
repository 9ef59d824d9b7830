"""What is known of a sweep: one JSON file per fact below RUN/sweep, each written whole, by rename.

sweep.json           what was submitted
shards/KKKK.json     how a shard stands, as its own task last said
jobs/ID.json         a job of the engine and the shards that it asks
cancelled.json       somebody called 'perpend cancel'
unmerged.json        the last merge failed, and why
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, TypeVar, get_args

from perpend.canon import JSON, pretty, read_object, write_atomic
from perpend.errors import StoreError
from perpend.ledger.manifest import MANIFEST, read_manifest
from perpend.ledger.shards import SHARDS

SWEEP = "sweep"
INTERRUPTED = "interrupted"
"""Why a shard stopped whose task was told to go."""
State = Literal["waiting", "running", "done", "stopped", "failed"]
_LONGEST_WHY = 500
F = TypeVar("F", "Sweep", "ShardState", "SweepJob")


@dataclass(frozen=True, slots=True)
class Sweep:
    """What was submitted: a spec in `shards` parts, and what holds for each of their tasks."""

    shards: int
    engine: str
    spec: str
    out: str
    name: str | None = None
    models: int = 1
    serve: str | None = None
    scratch: str | None = None
    max_requests: int | None = None
    """For all shards together; None is no limit."""
    max_usd: float | None = None
    gpus: int | None = None
    minutes: int | None = None
    """How long a task may run before it is stopped and queued again."""
    partition: str | None = None
    scored: bool = True
    """Whether the merged run is scored and reported on."""
    setup: str = ""
    """Lines of shell before the command, one below the other."""
    serve_minutes: float = 30.0
    """How long a server may take to answer."""


@dataclass(frozen=True, slots=True)
class ShardState:
    """How a shard stands. `done` is: every trial of it was asked; `answered` and `failed` of `planned` trials."""

    shard: int
    state: str = "waiting"
    planned: int = 0
    answered: int = 0
    failed: int = 0
    requests: int = 0
    tries: int = 0
    answered_before: int = 0
    """When its task began, this time."""
    began: str = ""
    heard: str = ""
    """When its task last wrote this."""
    why: str = ""
    """Why it stopped or failed."""
    machine: str = ""
    """The machine of its task."""

    @property
    def left(self) -> int:
        """Trials that have no answer and no failure yet."""
        return self.planned - self.answered - self.failed

    @property
    def is_counted(self) -> bool:
        """Whether its trials are known; of more shards than items some are done with none."""
        return self.planned > 0 or self.state == "done"

    @property
    def goes_on(self) -> bool:
        """Whether asking it again would get farther: it is not done, and it was not its budget that ended it."""
        return self.state in ("waiting", "running", "failed") or self.why == INTERRUPTED

    def rate(self) -> float | None:
        """Answers per second since its task began; None where it is not running or has not answered yet."""
        seconds = seconds_between(self.began, self.heard)
        answers = self.answered - self.answered_before
        return answers / seconds if self.state == "running" and seconds and answers > 0 else None


@dataclass(frozen=True, slots=True)
class SweepJob:
    """A job of the engine: its id, the shards that its tasks ask (in the order of the array), and the round."""

    job: str
    shards: tuple[int, ...]
    round: int = 1
    kind: str = "shards"
    """'shards', 'first' (fingerprints) or 'last' (what failed again, then merge)."""


def folder(run: Path) -> Path:
    """Where the facts of a run's sweep are."""
    return run / SWEEP


def now() -> str:
    """The time, in UTC, to the thousandth."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def seconds_between(first: str, last: str) -> float | None:
    """Seconds from one time to another; None where one is missing."""
    try:
        return (datetime.fromisoformat(last) - datetime.fromisoformat(first)).total_seconds()
    except ValueError:
        return None


def read_sweep(run: Path) -> Sweep | None:
    """What was submitted; None where nothing was."""
    path = folder(run) / "sweep.json"
    return _read(path, Sweep) if path.exists() else None


def the_sweep(run: Path) -> Sweep:
    """What was submitted; StoreError where nothing was, or where another version of perpend submitted it."""
    sweep = read_sweep(run)
    if (run / SHARDS / MANIFEST).exists():
        read_manifest(run / SHARDS)
    if sweep is None:
        raise StoreError(f"{run}: no sweep was submitted here; 'perpend submit run.toml --shards N' does")
    return sweep


def write_sweep(run: Path, sweep: Sweep) -> None:
    """Keep what was submitted."""
    write_fact(folder(run) / "sweep.json", asdict(sweep))


def read_state(run: Path, shard: int) -> ShardState:
    """How a shard stands; 'waiting' where its task has not begun."""
    path = folder(run) / "shards" / f"{shard:04d}.json"
    return _read(path, ShardState) if path.exists() else ShardState(shard)


def write_state(run: Path, state: ShardState) -> None:
    """Keep how a shard stands."""
    short = replace(state, why=state.why[:_LONGEST_WHY])
    write_fact(folder(run) / "shards" / f"{state.shard:04d}.json", asdict(short))


def states(run: Path, sweep: Sweep) -> list[ShardState]:
    """How each shard stands, in order."""
    return [read_state(run, shard) for shard in range(1, sweep.shards + 1)]


def add_job(run: Path, job: SweepJob) -> None:
    """Keep a job of the engine."""
    write_fact(folder(run) / "jobs" / f"{job.job}.json", asdict(job) | {"shards": list(job.shards)})


def jobs(run: Path) -> list[SweepJob]:
    """Every job that was submitted for a run, in the order of their names."""
    return [_read(path, SweepJob) for path in sorted((folder(run) / "jobs").glob("*.json"))]


def is_cancelled(run: Path) -> bool:
    """Whether somebody has cancelled the sweep."""
    return (folder(run) / "cancelled.json").exists()


def set_cancelled(run: Path, *, cancelled: bool) -> None:
    """Cancel the sweep, or take that back."""
    path = folder(run) / "cancelled.json"
    if cancelled:
        write_fact(path, {"at": now()})
    else:
        path.unlink(missing_ok=True)


def merge_failure(run: Path) -> str:
    """Why the last merge of the sweep failed; empty where it did not."""
    path = folder(run) / "unmerged.json"
    return str(read_object(path, StoreError).get("why")) if path.exists() else ""


def note_merge(run: Path, failure: str) -> None:
    """Keep why a merge failed, or with an empty text that it did not."""
    path = folder(run) / "unmerged.json"
    if failure:
        write_fact(path, {"at": now(), "why": failure[:_LONGEST_WHY]})
    else:
        path.unlink(missing_ok=True)


def write_fact(path: Path, body: Mapping[str, JSON]) -> None:
    """Write one of the files of a sweep."""
    write_atomic(path, pretty(body))


def _read(path: Path, kind: type[F]) -> F:
    """A fact. A missing key, an unknown one or a wrong type is a StoreError: the files may be a stranger's."""
    body = read_object(path, StoreError, f"remove {path.name} and submit again")
    names = {field.name: str(field.type) for field in fields(kind)}
    for key, value in body.items():
        if key not in names or not _fits(value, names[key]):
            raise StoreError(f"{path}: {key!r} is not what it should be; remove {path.name} and submit again")
    try:
        return kind(**{key: tuple(value) if isinstance(value, list) else value for key, value in body.items()})  # type: ignore[arg-type]  # checked above
    except TypeError:
        raise StoreError(f"{path}: incomplete; remove {path.name} and submit again") from None


def _fits(value: JSON, annotation: str) -> bool:
    if value is None:
        return annotation.endswith("| None")
    if annotation.startswith("tuple"):
        return isinstance(value, list) and all(isinstance(one, int) and not isinstance(one, bool) for one in value)
    if annotation == "bool":
        return isinstance(value, bool)
    wanted: dict[str, tuple[type, ...]] = {"int": (int,), "str": (str,), "float": (int, float)}
    return isinstance(value, wanted[annotation.partition(" ")[0]]) and not isinstance(value, bool)


def counted(all_states: list[ShardState]) -> Iterator[tuple[str, int]]:
    """How many shards are in each state, in the order in which a shard goes through them; none of 0."""
    for state in get_args(State):
        count = sum(one.state == state for one in all_states)
        if count:
            yield state, count
