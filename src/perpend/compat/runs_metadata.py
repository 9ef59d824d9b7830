"""runs_metadata.json: which run folder holds which temperature of a sweep. Written whole or not at all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from perpend.canon import JSON, pretty, write_atomic
from perpend.compat.reference import json_object, number_of, object_of, text_of
from perpend.errors import DataError, did_you_mean

STATUSES = ("completed", "failed", "skipped")
_TEXTS = ("run_id", "run_dir", "db_path", "config_file", "status", "error_message", "started_at", "completed_at")


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
    """The whole file; the keys of `experiments` are the temperatures as texts."""

    created_at: str | None
    updated_at: str | None
    experiments: Mapping[str, Experiment]

    def databases(self, folder: Path) -> list[Path]:
        """The simulation.db of every completed run, by temperature, looked for under the folder of the file."""
        done = [one for one in self.experiments.values() if one.status == "completed"]
        return [_database(one, folder) for one in sorted(done, key=lambda one: one.temperature)]


def read(path: Path) -> RunsMetadata:
    """Read a runs_metadata.json."""
    try:
        body = json_object(path.read_text(encoding="utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read: {error}") from None
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
        experiments[key] = {
            **one.other,
            "temperature": one.temperature,
            "run_id": one.run_id,
            "run_dir": one.run_dir,
            "db_path": one.db_path,
            "config_file": one.config_file,
            "status": one.status,
            "error_message": one.error_message,
            "started_at": one.started_at,
            "completed_at": one.completed_at,
        }
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
    texts = {name: text_of(body, name, where) for name in _TEXTS if name != "status"}
    other = {name: value for name, value in body.items() if name not in (*_TEXTS, "temperature")}
    return Experiment(temperature=temperature or 0.0, status=status, other=other, **texts)


def _database(experiment: Experiment, folder: Path) -> Path:
    run, file = experiment.run_dir, experiment.db_path
    tried = [folder / run / "simulation.db", folder / "runs" / run / "simulation.db"] if run else []
    tried += [folder / file] if file else []
    for path in tried:
        if path.is_file():
            return path
    shown = ", ".join(path.relative_to(folder).as_posix() for path in tried if path.is_relative_to(folder))
    raise DataError(f"{folder}: the run at temperature {experiment.temperature:g} is not there; tried {shown}")
