"""runs_metadata.json: which run folder holds which temperature of a sweep."""

from __future__ import annotations

import glob
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from perpend.canon import JSON, inside, number_of, object_of, read_object
from perpend.canon import text_or_none as text_of
from perpend.errors import DataError, did_you_mean

METADATA = "runs_metadata.json"
STATUSES = ("completed", "failed", "skipped")


@dataclass(frozen=True, slots=True)
class Experiment:
    """One temperature of a sweep, and where its run is. None is null: not known."""

    temperature: float
    run_dir: str | None = None
    db_path: str | None = None
    status: str = "completed"


def read(path: Path) -> tuple[Experiment, ...]:
    """The experiments of a runs_metadata.json."""
    body = read_object(path)
    if "experiments" not in body:
        raise DataError(f"{path}: not a runs_metadata.json: it has no 'experiments'")
    experiments = object_of(body, "experiments", str(path))
    return tuple(_experiment(experiments, key, path) for key in experiments)


def databases(experiments: Sequence[Experiment], *folders: Path) -> list[Path]:
    """The simulation.db of every completed run, by temperature, looked for in these folders."""
    done = [one for one in experiments if one.status == "completed"]
    return [_database(one, folders) for one in sorted(done, key=lambda one: one.temperature)]


def _experiment(experiments: Mapping[str, JSON], key: str, path: Path) -> Experiment:
    where = f"{path}: experiment {key}"
    body = object_of(experiments, key, where)
    temperature = number_of(body, "temperature", where)
    if temperature is None:
        temperature = number_of({"key": key}, "key", where)
    status = text_of(body, "status", where) or "completed"
    if status not in STATUSES:
        raise DataError(f"{where}: unknown status {status!r}; {did_you_mean(status, STATUSES)}")
    return Experiment(temperature or 0.0, text_of(body, "run_dir", where), text_of(body, "db_path", where), status)


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
