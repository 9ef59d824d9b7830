"""import SOURCE → DESTINATION: what the source is, is read from its content; an error lists what can be read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar

from perpend.canon import opened, portable_name
from perpend.disk import temporary_folder
from perpend.errors import DataError, DiskError, PerpendError, SpecError, StoreError, near_file
from perpend.importers import (
    alpaca_eval,
    dialogues,
    every_eval_ever,
    field_map,
    helm,
    inspect_log,
    judged_csv,
    known_tables,
    lighteval,
    lm_eval_log,
    openai_evals,
)
from perpend.ledger.database import connect, translated
from perpend.ledger.manifest import MANIFEST
from perpend.ledger.schema import APPLICATION_ID
from perpend.ledger.shards import SHARDS
from perpend.measure.run import Run
from perpend.measure.study import Format
from perpend.proof.archive import PLAN
from perpend.proof.audit.places import formats, holds_place
from perpend.proof.restoring import restore
from perpend.rows.json_stream import first_object
from perpend.rows.mapping import flat_map, parse_map
from perpend.studies.conformity import simulation_db, suite
from perpend.studies.conformity.formats import read_sweep
from perpend.studies.logic.study import read_run_folder

T = TypeVar("T")
_DEEPEST = 4
_SQLITE, _ZIP = b"SQLite format 3\x00", b"PK\x03\x04"


def _of_files(
    name: str,
    files: Callable[[Path], Sequence[Path]],
    read: Callable[[Path, Path], Path],
    *,
    each: bool = False,
) -> Format:
    """A format that is known by its files: those in a folder, or the one; `each` of them is a run of its own."""
    parts = [lambda folder: {path.stem: path for path in files(folder)}] if each else []
    return Format(name, lambda source: bool(files(source)), read, *parts)


FORMATS = (
    Format(lm_eval_log.FORMAT, lm_eval_log.is_samples, lm_eval_log.read, lm_eval_log.parts),
    Format(inspect_log.FORMAT, inspect_log.is_log, inspect_log.read, inspect_log.parts),
    _of_files(judged_csv.FORMAT, judged_csv.tables, judged_csv.read, each=True),
    _of_files(dialogues.FORMAT, dialogues.outputs, dialogues.read),
    _of_files(every_eval_ever.FORMAT, every_eval_ever.records, every_eval_ever.read, each=True),
    Format(helm.FORMAT, helm.is_run, helm.read),
    _of_files(alpaca_eval.FORMAT, alpaca_eval.files, alpaca_eval.read),
    _of_files(openai_evals.FORMAT, openai_evals.logs, openai_evals.read, each=True),
    _of_files(lighteval.FORMAT, lighteval.details, lighteval.read),
    _of_files(known_tables.FORMAT, known_tables.tables, known_tables.read, each=True),
)
"""What is known by its content; plain JSONL needs a field map."""


def convert(
    source: Path,
    destination: Path,
    fields: str | Mapping[str, str] | None = None,
    *,
    metadata: Path | None = None,
    runs_dir: Path | None = None,
) -> Path:
    """Import whatever `source` is, or write a run as simulation.db; the path written. Nothing is overwritten.

    A folder of several logs gives a folder of runs. `fields` is a map for rows of any shape,
    'prompt=question,text=output', or the name of a TOML file with the same. `metadata` and `runs_dir` say where the
    runs_metadata.json and the run folders of a sweep are, if not at `source`.
    """
    each = convert_each([source], destination, fields, metadata=metadata, runs_dir=runs_dir, exports=True)
    written = list(each)
    return written[0] if len(written) == 1 else destination


def convert_each(
    sources: Sequence[Path],
    destination: Path,
    fields: str | Mapping[str, str] | None = None,
    *,
    metadata: Path | None = None,
    runs_dir: Path | None = None,
    exports: bool = False,
) -> Iterator[Path]:
    """Import each source, and each log of a folder of logs, and give what was written, one after the other.

    One goes to `destination` itself; several go into that folder, each under its own name. One that cannot be read
    does not keep the others out: all errors are raised together at the end. A run is written as simulation.db with
    `exports`, and otherwise refused.
    """
    if metadata is not None or runs_dir is not None:
        if len(sources) != 1:
            raise SpecError("--metadata and --runs-dir are for one sweep; give one source")
        sweep = partial(read_sweep, sources[0], destination, metadata=metadata, runs_dir=runs_dir)
        yield _readable(sources[0], sweep)
        return
    parts = [part for source in sources for part in _readable(source, partial(_parts, source, fields))]
    if len(parts) == 1:
        yield _readable(parts[0][1], partial(_one, parts[0][1], destination, fields, exports))
        return
    if (destination / "run.db").exists():
        raise StoreError(f"{destination}: is a run itself; give a folder for {len(parts)} runs")
    errors: list[tuple[Path, PerpendError]] = []
    for name, part in _named(parts):
        try:
            yield _readable(part, partial(_one, part, destination / portable_name(name), fields, exports))
        except DiskError:
            raise
        except PerpendError as error:
            errors.append((part, error))
    if errors:
        lines = [f"{part}: {str(error.args[0]).removeprefix(f'{part}: ')}" for part, error in errors]
        raise type(errors[0][1])(f"{len(errors)} of {len(parts)} sources could not be imported", *lines)


def _readable(source: Path, work: Callable[[], T]) -> T:
    """What the work gives; a file that cannot be opened is a DataError that says what can be read."""
    try:
        return work()
    except OSError as error:
        if error.filename is not None and not Path(str(error.filename)).is_relative_to(source):
            raise  # what is written: its message is about the place, and not about what can be read
        raise DataError(f"{error.filename or source}: cannot be read: {error.strerror or error}", *readable()) from None


def _one(source: Path, destination: Path, fields: str | Mapping[str, str] | None, exports: bool) -> Path:
    if fields is None:
        return _convert(source, destination, exports)
    if not source.is_file():
        raise DataError(f"{source}: not a file; a map is for one file of rows")
    columns = parse_map(fields) if isinstance(fields, str) else flat_map(fields, "fields")
    return field_map.read(source, destination, columns)


def _parts(source: Path, fields: str | Mapping[str, str] | None = None) -> list[tuple[str, Path]]:
    """(name, path) of everything that a source holds: itself, or the logs in a folder and in the folders below it."""
    if source.is_dir() and fields is None and not (source / "run.db").is_file():
        return _logs_in(source) or [(source.resolve().name, source)]
    return [(source.stem if source.is_file() else source.name, source)]


def _logs_in(folder: Path, depth: int = 0) -> list[tuple[str, Path]]:
    known = _format_of(folder)
    logs = [] if known is None else list(known.parts(folder).items())
    if known is not None and known not in FORMATS:  # what a study reads as one folder is whole
        return logs
    for inner in sorted(folder.iterdir()) if depth < _DEEPEST else ():
        is_own = inner.is_symlink() or inner.name.startswith(".") or (inner / "run.db").is_file()
        logs += _logs_in(inner, depth + 1) if inner.is_dir() and not is_own else []
    return logs


def _named(parts: Sequence[tuple[str, Path]]) -> list[tuple[str, Path]]:
    """The parts under names of their own: of those that share one, the name of the folder comes before it."""
    times = Counter(name for name, _ in parts)
    named = [(name if times[name] == 1 else f"{path.resolve().parent.name}_{name}", path) for name, path in parts]
    twice = [name for name, count in Counter(name for name, _ in named).items() if count > 1]
    if twice:
        raise SpecError(f"two sources would become {twice[0]!r}; import them one at a time, each with its destination")
    return named


@contextmanager
def as_run(source: Path) -> Iterator[Run]:
    """A run directory as it is; for the time of the block, a published folder restored or a log imported and scored.

    The name of a log is that of its run. Of what is neither, the error says what can be read.
    """
    if (source / "run.db").is_file() or (source / SHARDS / MANIFEST).is_file():  # not merged, as it then says
        yield Run(source)
        return
    if not source.exists():
        raise StoreError(f"{source}: not a run, and no log either: there is no such file or folder{near_file(source)}")
    with temporary_folder("read") as tmpdir:
        if (source / PLAN).is_file():
            yield Run(restore(source, tmpdir))
            return
        parts = _readable(source, partial(_parts, source))
        if len(parts) > 1:
            raise DataError(f"{source}: holds {len(parts)} logs ({parts[0][1].name} …); give one of them")
        name, path = parts[0]
        known = _readable(path, partial(_format_of, path))
        if known is None and path.is_dir():
            raise StoreError(f"{source}: not a run (there is no run.db), and no log is in it", *readable())
        if known is None:
            raise DataError(f"{source}: neither a run nor a log that can be read", *readable())
        run = Run(_readable(path, lambda: known.read(path, tmpdir / portable_name(name))))
        run.score()
        yield run


def is_source(path: Path, fields: str | Mapping[str, str] | None = None) -> bool:
    """Whether a path is what somebody else published: no run, no published folder, no files of a study.

    Without a map it is, or is a folder that holds, what an importer reads.
    """
    if not path.exists() or holds_place(path):
        return False
    own = [part for _, part in _readable(path, partial(_parts, path))] if fields is None else []
    return fields is not None or (
        bool(own) and all(_readable(part, partial(_format_of, part)) in FORMATS for part in own)
    )


def _format_of(path: Path) -> Format | None:
    return next((one for one in (*formats(), *FORMATS) if one.is_one(path)), None)


def write_simulation(run: Path, destination: Path) -> Path:
    """Write a run, given by its directory or its run.db, as the conformity study's simulation.db, or into a folder."""
    return simulation_db.write(run.parent if run.is_file() else run, _inside(destination, simulation_db.FORMAT))


def _convert(source: Path, destination: Path, exports: bool) -> Path:
    kind = "folder" if source.is_dir() else _kind(source)
    if kind == "ledger" or (source / "run.db").is_file():
        # A run of chaosbench with a ledger has its own files beside it, and those are what is read.
        if kind == "folder" and (source / "run_manifest.json").is_file():
            return read_run_folder(source, destination)
        if exports:
            return write_simulation(source, destination)
        raise StoreError(f"{source}: a run already; 'perpend export {source} --as simulation.db --out FILE' writes it")
    for known in (*formats(), *FORMATS):
        if known.is_one(source):
            return known.read(source, destination)
    return _other(source, kind, destination)


def _kind(source: Path) -> str:
    """'ledger' is a run.db of perpend."""
    with opened(source) as file:
        head = file.read(len(_SQLITE))
    if head != _SQLITE:
        return "zip" if head.startswith(_ZIP) else "text"
    with translated(source), closing(connect(source, "ro")) as db:
        application = db.execute("PRAGMA application_id").fetchone()[0]
    return "ledger" if application == APPLICATION_ID else "SQLite"


def readable() -> tuple[str, ...]:
    """The lines that belong below an error about what cannot be read."""
    return (
        "'perpend import' reads",
        *(f"  {known.name}" for known in (*formats(), *FORMATS)),
        "  JSONL of the conformity study's items, and its suite files (datasets, conditions, models)",
        "  CSV, TSV, JSON, JSONL or Parquet of any rows, with --map prompt=COLUMN,text=COLUMN,…",
    )


def _other(source: Path, kind: str, destination: Path) -> Path:
    """A suite or item file of the conformity study; otherwise an error that says what can be read."""
    if kind == "folder":
        raise DataError(f"{source}: a folder without a run, a database or logs that are known", *readable())
    if kind == "zip":
        raise DataError(f"{source}: a zip archive, but no log of inspect_ai", *readable())
    if kind == "SQLite":
        raise StoreError(f"{source}: a SQLite file without the study's tables", *readable())
    body = first_object(source)
    if body is None:
        raise DataError(f"{source}: neither SQLite nor JSON nor JSONL of objects", *readable())
    if {"datasets", "conditions", "models"} <= body.keys():
        return suite.write_suite(source, suite.items_folder(source), destination).parent
    if {"item_id", "question"} <= body.keys():
        return suite.write_items(source, _inside(destination, "items.jsonl"))
    raise DataError(f"{source}: JSON, but with unknown keys: {', '.join(sorted(body)[:12])}", *readable())


def _inside(destination: Path, name: str) -> Path:
    """The destination itself where it names a file of that kind, else a file in it."""
    return destination if destination.suffix == Path(name).suffix else destination / name
