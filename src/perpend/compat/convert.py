"""perpend convert SRC DST: what SRC is, is read from its content; what cannot be read is said with what can."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from perpend.canon import JSON
from perpend.compat import (
    conformity_rows,
    field_map,
    inspect_log,
    lm_eval_log,
    runs_metadata,
    simulation_db,
    suite,
)
from perpend.compat.chaosbench.imported import is_run_folder, read_run_folder
from perpend.database import connect, translated
from perpend.errors import DataError, StoreError
from perpend.store import APPLICATION_ID

READABLE = """'perpend convert' reads
  a run directory of perpend, or its run.db          → simulation.db
  simulation.db of the conformity study, or its folder → a run directory
  runs_metadata.json beside its run folders          → one run directory with all temperatures
  a run folder of chaosbench (run_manifest.json …)   → a run directory
  a log of inspect_ai (.eval or .json)               → a run directory
  samples_….jsonl of lm-evaluation-harness, its results_….json, or their folder → a run directory
  any JSONL with --map prompt=FIELD,text=FIELD,…     → a run directory
  JSONL of outputs (raw_text, condition, variant …)  → a run directory
  JSONL of the study's items (item_id, question …)   → an item file
  a suite file (datasets, conditions, models)        → a folder with run.toml, templates and items"""
_SQLITE = b"SQLite format 3\x00"
_ZIP = b"PK\x03\x04"
_FIRST_LINE = 1 << 24
_WHOLE = 1 << 26


def convert(source: Path, destination: Path, fields: str | None = None) -> Path:
    """Convert whatever `source` is, and return what was written. Nothing that exists is overwritten.

    `fields` is a map for plain JSONL: 'prompt=question,text=output', or the name of a TOML file that says the same.
    """
    if fields is not None:
        return _mapped(source, destination, fields)
    if source.is_dir():
        return _folder(source, destination)
    try:
        with source.open("rb") as file:
            head = file.read(len(_SQLITE))
            line = head + file.readline(_FIRST_LINE)
    except OSError as error:
        raise DataError(f"{source}: cannot be read: {error.strerror}\n{READABLE}") from None
    if head.startswith(_ZIP):
        if not inspect_log.is_log_archive(source):
            raise DataError(f"{source}: a zip archive, but no log of inspect_ai\n{READABLE}")
        return inspect_log.read(source, destination)
    return _database(source, destination) if head == _SQLITE else _text(source, line, destination)


def _mapped(source: Path, destination: Path, fields: str) -> Path:
    if not source.is_file():
        raise DataError(f"{source}: not a file; a field map is for a JSONL file")
    return field_map.read(source, destination, field_map.parse_map(fields))


def _folder(source: Path, destination: Path) -> Path:
    if is_run_folder(source):
        return read_run_folder(source, destination)
    for name in ("run.db", "simulation.db", "runs_metadata.json"):
        if (source / name).is_file():
            return convert(source / name, destination)
    if lm_eval_log.is_folder(source):
        return lm_eval_log.read(source, destination)
    logs = sorted(source.glob("*.eval"))
    if len(logs) == 1:
        return convert(logs[0], destination)
    if logs:
        raise DataError(f"{source}: {len(logs)} logs of inspect_ai ({logs[0].name} …); give one of them")
    raise DataError(f"{source}: a folder without a run, a database or logs that are known\n{READABLE}")


def _database(source: Path, destination: Path) -> Path:
    with translated(source), closing(connect(source, "ro")) as db:
        application = db.execute("PRAGMA application_id").fetchone()[0]
    if application == APPLICATION_ID:
        file = destination if destination.suffix == ".db" else destination / "simulation.db"
        return simulation_db.write(source.parent, file)
    if not simulation_db.is_simulation(source):
        raise StoreError(f"{source}: a SQLite file without the study's tables\n{READABLE}")
    return simulation_db.read(source, destination)


def _text(source: Path, line: bytes, destination: Path) -> Path:
    body = _object(line)
    if (body is None or {"eval", "version"} <= body.keys()) and inspect_log.is_log_json(source):
        return inspect_log.read(source, destination)
    if body is None:
        body = _whole(source)
    if body is None:
        raise DataError(f"{source}: neither SQLite nor JSON nor JSONL of objects\n{READABLE}")
    if "experiments" in body:
        databases = runs_metadata.read(source).databases(source.parent)
        return simulation_db.read_sweep(databases, destination)
    if {"datasets", "conditions", "models"} <= body.keys():
        return suite.write_suite(source, _items_folder(source), destination).parent
    if {"raw_text", "model_output"} & body.keys() and {"condition", "condition_name"} & body.keys():
        return conformity_rows.read(source, destination)
    if body.keys() >= lm_eval_log.KEYS or lm_eval_log.is_results(body):
        return lm_eval_log.read(source, destination)
    if {"item_id", "question"} <= body.keys():
        file = destination if destination.suffix == ".jsonl" else destination / "items.jsonl"
        return suite.write_items(source, file)
    raise DataError(f"{source}: JSON, but with keys that are not known: {', '.join(sorted(body)[:12])}\n{READABLE}")


def _object(text: bytes) -> Mapping[str, JSON] | None:
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return body if isinstance(body, dict) else None


def _whole(source: Path) -> Mapping[str, JSON] | None:
    """The object that a whole file is. Nothing that is read so is large; logs are read in parts."""
    if source.stat().st_size > _WHOLE:
        return None
    return _object(source.read_bytes())


def _items_folder(source: Path) -> Path:
    """The folder above a suite file that its data sets' paths start from."""
    wanted = [dataset.path for dataset in suite.read_suite(source).datasets]
    for folder in source.resolve().parents:
        if all((folder / path).is_file() for path in wanted):
            return folder
    raise DataError(
        f"{source}: its item files ({wanted[0]} …) are not in any folder above it; put them there, or give them: "
        "perpend.compat.suite.write_suite(suite, items, out)"
    )
