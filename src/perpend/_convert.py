"""convert SOURCE → DESTINATION: what the source is, is read from its content; an error lists what can be read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from perpend.canon import opened
from perpend.errors import DataError, StoreError
from perpend.importers import field_map
from perpend.importers.formats import FORMATS
from perpend.importers.json_stream import first_object
from perpend.ledger.database import connect, translated
from perpend.ledger.schema import APPLICATION_ID
from perpend.measure.study import Format, formats_of
from perpend.spec.resolve import module_of, names
from perpend.studies.conformity import simulation_db, suite
from perpend.studies.conformity.formats import read_sweep
from perpend.studies.logic.study import read_run_folder

READABLE = (
    "'perpend convert' reads",
    "  a run directory of perpend, or its run.db          → simulation.db",
    "  simulation.db of the conformity study, or its folder → a run directory",
    "  runs_metadata.json, or the folder of its runs      → one run directory with all temperatures",
    "  a run folder of chaosbench (run_manifest.json …)   → a run directory",
    "  a log of inspect_ai (.eval or .json)               → a run directory",
    "  samples_….jsonl of lm-evaluation-harness, its results_….json, or their folder → a run directory",
    "  CSV with statement, response, judge1_score … (syco-bench) → a run directory",
    "  MODEL_promptN_output.csv with its labels (SYCON-Bench), or their folder → a run directory",
    "  any JSONL with --map prompt=FIELD,text=FIELD,…     → a run directory",
    "  JSONL of outputs (raw_text, condition, variant …)  → a run directory",
    "  JSONL of the conformity study's items (item_id, question …) → an item file",
    "  a suite file (datasets, conditions, models)        → a folder with run.toml, templates and items",
)
"""The lines that belong below an error about what cannot be read."""
_SQLITE, _ZIP = b"SQLite format 3\x00", b"PK\x03\x04"


def convert(
    source: Path,
    destination: Path,
    fields: str | None = None,
    *,
    metadata: Path | None = None,
    runs_dir: Path | None = None,
) -> Path:
    """Convert whatever `source` is, and return what was written. Nothing that exists is overwritten.

    `fields` is a map for plain JSONL: 'prompt=question,text=output', or the name of a TOML file that says the same.
    `metadata` and `runs_dir` say where the runs_metadata.json and the run folders of a sweep are, if not at `source`.
    """
    try:
        if fields is not None:
            if not source.is_file():
                raise DataError(f"{source}: not a file; a field map is for a JSONL file")
            return field_map.read(source, destination, field_map.parse_map(fields))
        if metadata is not None or runs_dir is not None:
            return read_sweep(source, destination, metadata=metadata, runs_dir=runs_dir)
        return _convert(source, destination)
    except OSError as error:
        if error.filename is not None and not Path(str(error.filename)).is_relative_to(source):
            raise  # what is written: its message is about the place, and not about what can be read
        raise DataError(f"{error.filename or source}: cannot be read: {error.strerror or error}", *READABLE) from None


def _convert(source: Path, destination: Path) -> Path:
    kind = "folder" if source.is_dir() else _kind(source)
    if kind == "ledger" or (source / "run.db").is_file():
        directory = source if kind == "folder" else source.parent
        # A run of chaosbench with a ledger has its own files beside it, and those are what is converted.
        if kind == "folder" and (source / "run_manifest.json").is_file():
            return read_run_folder(source, destination)
        return simulation_db.write(directory, _inside(destination, "simulation.db"))
    for known in _formats():
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


def _formats() -> Iterator[Format]:
    """What the studies read, then what the importers read."""
    for name in names("tasks"):
        study = getattr(module_of("tasks", name), "STUDY", None)
        yield from () if study is None else formats_of(study)
    yield from FORMATS


def _other(source: Path, kind: str, destination: Path) -> Path:
    """A suite or item file of the conformity study; otherwise an error that says what can be read."""
    if kind == "folder":
        raise DataError(f"{source}: a folder without a run, a database or logs that are known", *READABLE)
    if kind == "zip":
        raise DataError(f"{source}: a zip archive, but no log of inspect_ai", *READABLE)
    if kind == "SQLite":
        raise StoreError(f"{source}: a SQLite file without the study's tables", *READABLE)
    body = first_object(source)
    if body is None:
        raise DataError(f"{source}: neither SQLite nor JSON nor JSONL of objects", *READABLE)
    if {"datasets", "conditions", "models"} <= body.keys():
        return suite.write_suite(source, suite.items_folder(source), destination).parent
    if {"item_id", "question"} <= body.keys():
        return suite.write_items(source, _inside(destination, "items.jsonl"))
    raise DataError(f"{source}: JSON, but with unknown keys: {', '.join(sorted(body)[:12])}", *READABLE)


def _inside(destination: Path, name: str) -> Path:
    """The destination itself where it names a file of that kind, else a file in it."""
    return destination if destination.suffix == Path(name).suffix else destination / name
