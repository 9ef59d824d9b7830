"""The study's own files, as 'import' and 'audit' know and read them.

A sweep lies as its authors have it: `runs-hpc-full/runs/<run>/simulation.db`, one run per temperature, and
`Comparing_Experiments/runs_metadata.json`, which names the runs that count.
"""

from __future__ import annotations

import glob
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from perpend.canon import JSON, inside, number_of, object_of, read_object
from perpend.canon import text_or_none as text_of
from perpend.errors import DataError, did_you_mean
from perpend.measure.study import Format
from perpend.rows.json_stream import first_object
from perpend.studies.conformity import rows, simulation_db

METADATA = "runs_metadata.json"
STATUSES = ("completed", "failed", "skipped")
_DATABASE = simulation_db.FORMAT
_COMPARED = "Comparing_Experiments"
_RUNS = (f"*/{_DATABASE}", f"runs/*/{_DATABASE}", f"*/runs/*/{_DATABASE}")
_OURS = ("*/run.db", "*/*/run.db", "*/*/*/run.db")
_ABOVE = 3


@dataclass(frozen=True, slots=True)
class Experiment:
    """One temperature of a sweep, and where its run is. None is null: not known."""

    temperature: float
    run_dir: str | None = None
    db_path: str | None = None
    status: str = "completed"


def is_database(path: Path) -> bool:
    """A simulation.db, or the folder of one."""
    if path.is_dir():
        return (path / _DATABASE).is_file()
    return path.is_file() and simulation_db.is_simulation(path)


def read_database(source: Path, destination: Path) -> Path:
    """Import one simulation.db as a run directory."""
    return simulation_db.read(source / _DATABASE if source.is_dir() else source, destination)


def is_sweep(path: Path) -> bool:
    """A runs_metadata.json, a folder that has one, or a folder of runs of simulation.db and of no other runs."""
    if path.is_dir():
        if next(_stated(path), None) is not None:
            return True
        return bool(_databases(path)) and not any(next(path.glob(own), None) for own in _OURS)
    return path.is_file() and "experiments" in (first_object(path) or {})


def read_sweep(source: Path, destination: Path, *, metadata: Path | None = None, runs_dir: Path | None = None) -> Path:
    """Import every run of a sweep as one run directory with all temperatures.

    `source` is a runs_metadata.json or a folder; `metadata` names the file and `runs_dir` the folder of the runs where
    they are elsewhere. Without a runs_metadata.json beside or above the runs, all that are there are read.
    """
    folders = [runs_dir] if runs_dir is not None else [source] if source.is_dir() else []
    file = metadata or (source if source.is_file() else _metadata(source))
    if file is None:
        databases = _databases(folders[0])
        if not databases:
            raise DataError(f"{folders[0]}: no run with a {_DATABASE}, and no {METADATA}; give the folder of the runs")
    else:
        known = read_metadata(file)
        near = file.resolve().parent
        around = (near, near.parent) if near.name == _COMPARED else (near,)
        databases = stated_databases(known, *(folders if runs_dir is not None else (*folders, *around)))
    return simulation_db.read_sweep(databases, destination)


def _stated(folder: Path) -> Iterator[Path]:
    for place in (folder / METADATA, folder / _COMPARED / METADATA):
        if place.is_file():
            yield place


def _metadata(folder: Path) -> Path | None:
    """The runs_metadata.json of a folder of runs: in it, or above it if it names one of its runs."""
    for place in _stated(folder):
        return place
    names = {database.parent.name for database in _databases(folder)}
    for above in folder.resolve().parents[:_ABOVE]:
        for place in _stated(above):
            if any(Path(one.run_dir or "").name in names for one in read_metadata(place)):
                return place
    return None


def _databases(folder: Path) -> list[Path]:
    """Every simulation.db of a folder of runs, or of the folder above it, by name."""
    for runs in _RUNS:
        databases = sorted(path for path in folder.glob(runs) if path.is_file())
        if databases:
            return databases
    return []


def is_rows(path: Path) -> bool:
    """JSONL of outputs."""
    keys = (first_object(path) or {}).keys() if path.is_file() else ()
    return any(key in keys for key in ("raw_text", "model_output")) and (
        "condition" in keys or "condition_name" in keys
    )


def read_metadata(path: Path) -> tuple[Experiment, ...]:
    """The experiments of a runs_metadata.json."""
    body = read_object(path)
    if "experiments" not in body:
        raise DataError(f"{path}: not a runs_metadata.json: it has no 'experiments'")
    experiments = object_of(body, "experiments", str(path))
    return tuple(_experiment(experiments, key, path) for key in experiments)


def stated_databases(experiments: Sequence[Experiment], *folders: Path) -> list[Path]:
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


FORMATS = (
    Format(_DATABASE, is_database, read_database),
    Format(METADATA, is_sweep, read_sweep),
    Format(rows.FORMAT, is_rows, rows.read),
)
