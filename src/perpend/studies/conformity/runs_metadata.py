"""runs_metadata.json: which run folder holds which temperature of a sweep. Written whole or not at all."""

from __future__ import annotations

import glob
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from perpend.canon import JSON, inside, number_of, object_of, pretty, read_object, write_atomic
from perpend.canon import text_or_none as text_of
from perpend.errors import DataError, did_you_mean

METADATA = "runs_metadata.json"
STATUSES = ("completed", "failed", "skipped")
_STRINGS = ("run_id", "run_dir", "db_path", "config_file", "status", "error_message", "started_at", "completed_at")


@dataclass(frozen=True, slots=True)
class Experiment:
    """One temperature of a sweep. None is null: not known, or no error."""

    temperature: float
    run_id: str | None = None
    run_dir: str | None = None
    db_path: str | None = None
    config_file: str | None = None
    status: str = "completed"
    error_message: str | None = None
    started_at: str | None = None
    completed_at: str | None = None
    other: Mapping[str, JSON] = field(default_factory=dict)
    """Keys that are not known here; they are written back as they were."""


@dataclass(frozen=True, slots=True)
class RunsMetadata:
    """The whole file; the keys of `experiments` are the temperatures as strings."""

    created_at: str | None
    updated_at: str | None
    experiments: Mapping[str, Experiment]

    def databases(self, *folders: Path) -> list[Path]:
        """The simulation.db of every completed run, by temperature, looked for in these folders."""
        done = [one for one in self.experiments.values() if one.status == "completed"]
        return [_database(one, folders) for one in sorted(done, key=lambda one: one.temperature)]


def read(path: Path) -> RunsMetadata:
    """Read a runs_metadata.json."""
    body = read_object(path)
    if "experiments" not in body:
        raise DataError(f"{path}: not a runs_metadata.json: it has no 'experiments'")
    experiments = object_of(body, "experiments", str(path))
    return RunsMetadata(
        created_at=text_of(body, "created_at", str(path)),
        updated_at=text_of(body, "updated_at", str(path)),
        experiments={key: _experiment(experiments, key, path) for key in experiments},
    )


def write(path: Path, metadata: RunsMetadata) -> None:
    """Write a runs_metadata.json in one step. Paths must be relative: the file moves with its runs."""
    experiments: dict[str, JSON] = {}
    for key, one in metadata.experiments.items():
        for place in (one.run_dir, one.db_path, one.config_file):
            if place is not None and (place.startswith(("/", "\\", "~")) or place[1:2] == ":"):
                raise DataError(f"{path}: experiment {key}: {place!r} must be relative to this file's folder")
        if one.status not in STATUSES:
            raise DataError(f"{path}: experiment {key}: unknown status; {did_you_mean(one.status, STATUSES)}")
        strings = {name: getattr(one, name) for name in _STRINGS}
        experiments[key] = {**one.other, "temperature": one.temperature, **strings}
    whole: dict[str, JSON] = {
        "created_at": metadata.created_at,
        "updated_at": metadata.updated_at,
        "experiments": experiments,
    }
    write_atomic(path, pretty(whole))


def _experiment(experiments: Mapping[str, JSON], key: str, path: Path) -> Experiment:
    where = f"{path}: experiment {key}"
    body = object_of(experiments, key, where)
    temperature = number_of(body, "temperature", where)
    if temperature is None:
        temperature = number_of({"key": key}, "key", where)
    status = text_of(body, "status", where) or "completed"
    if status not in STATUSES:
        raise DataError(f"{where}: unknown status {status!r}; {did_you_mean(status, STATUSES)}")
    texts = {name: text_of(body, name, where) for name in _STRINGS if name != "status"}
    other = {name: value for name, value in body.items() if name not in (*_STRINGS, "temperature")}
    return Experiment(temperature=temperature or 0.0, status=status, other=other, **texts)


def _database(experiment: Experiment, folders: Sequence[Path]) -> Path:
    run, file = experiment.run_dir, experiment.db_path
    where = f"{METADATA}: the run at temperature {experiment.temperature:g}"
    tried: list[str] = []
    for folder in folders:
        names = [f"{run}/simulation.db", f"runs/{run}/simulation.db"] if run else []
        for name in (*names, *_deeper(folder, run, where), *([file] if file else ())):
            path = inside(folder, name, where)
            if path.is_file():
                return path
            tried.append(name)
    shown = ", ".join(dict.fromkeys(tried))
    place = ", ".join(map(str, folders))
    raise DataError(f"{place}: the run at temperature {experiment.temperature:g} is not there; tried {shown}")


def _deeper(folder: Path, run: str | None, where: str) -> Iterator[str]:
    """The databases of a run in folders of runs, such as 'runs-hpc-full/runs/<run>/simulation.db'."""
    if run and inside(folder, run, where):
        for path in sorted(folder.glob(f"*/runs/{glob.escape(run)}/simulation.db")):
            yield path.relative_to(folder).as_posix()
