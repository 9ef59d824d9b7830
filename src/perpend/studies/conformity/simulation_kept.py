"""Tables of a simulation.db about what happens inside a model: kept beside an imported run, and written out again.

    inside/imported/tables.json     the SHA-256 and number of lines of each file; for each run of the source one trial
    inside/imported/<table>.jsonl   the rows as they were, a line each; outputs by the ids that an export gives them

A row that names a trial or a run without trials that is not in the source is left out, and counted in the notes.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from perpend.canon import JSON, as_object, digest_file, dumps, json_lines, pretty, read_object, write_atomic
from perpend.errors import StoreError

LOGPROBS = """
CREATE TABLE IF NOT EXISTS conformity_answer_logprobs(
  trial_id TEXT NOT NULL REFERENCES conformity_trials(trial_id), context_kind TEXT NOT NULL,
  candidate_kind TEXT NOT NULL, candidate_text TEXT NOT NULL, token_count INTEGER NOT NULL, logprob_sum REAL NOT NULL,
  logprob_mean REAL NOT NULL, first_token_id INTEGER, first_token_logprob REAL, metadata_json TEXT NOT NULL,
  created_at REAL NOT NULL, PRIMARY KEY(trial_id, context_kind, candidate_kind)
);
CREATE INDEX IF NOT EXISTS idx_conformity_answer_logprobs_trial ON conformity_answer_logprobs(trial_id, context_kind);
"""
DATASETS = "conformity_datasets"
TABLES = (
    "activation_metadata",
    "merkle_log",
    "conformity_trial_steps",
    "conformity_think_tokens",
    "conformity_logit_lens",
    "conformity_answer_logprobs",
    "conformity_probes",
    "conformity_probe_projections",
    "conformity_interventions",
    "conformity_intervention_results",
)
"""In an order in which none refers to a later one."""
_FOLDER = Path("inside") / "imported"
_HEADER = "tables.json"
_OUTPUTS = (
    "SELECT output_id, trial_id || '-' || printf('%06d', row_number() OVER"
    " (PARTITION BY trial_id ORDER BY created_at, output_id) - 1) FROM conformity_outputs"
)


@dataclass(slots=True)
class Kept:
    """Tables on their way from one or several sources into the directory of a run."""

    run: Path
    files: dict[str, JSON] = field(default_factory=dict)
    runs: dict[str, JSON] = field(default_factory=dict)

    def take(self, db: sqlite3.Connection, tables: set[str], where: Path) -> dict[str, int]:
        """Keep the rows of an open source; how many of each table, for the notes of the import."""
        counted = "SELECT count(*) FROM {}"
        present = [t for t in TABLES if t in tables and db.execute(counted.format(t)).fetchone()[0]]
        if not present:
            return {}
        trials = {str(row[0]) for row in db.execute("SELECT trial_id FROM conformity_trials")}
        runs = {str(run): str(trial) for run, trial in db.execute(
            "SELECT run_id, min(trial_id) FROM conformity_trials GROUP BY run_id")}  # fmt: skip
        outputs = {str(key): str(name) for key, name in db.execute(_OUTPUTS)}
        notes: dict[str, int] = {}
        trained: set[object] = set()
        for table in present:
            lines, lost = [], 0
            for row in db.execute(f"SELECT * FROM {table} ORDER BY rowid"):  # noqa: S608 - one of ours
                body = _body(row, f"{where}: {table}")
                if ("trial_id" in body and body["trial_id"] not in trials) or (
                    "run_id" in body and body["run_id"] not in runs
                ):
                    lost += 1
                    continue
                for side in ("output_id_before", "output_id_after"):
                    if side in body:
                        body[side] = outputs.get(str(body[side]), body[side])
                trained.add(body.get("train_dataset_id"))
                lines.append(dumps(body) + "\n")
            self._write(table, lines)
            notes[f"rows of table {table}, kept in {_FOLDER.as_posix()}"] = len(lines)
            if lost:
                notes[f"rows of table {table} without a trial of theirs, left out"] = lost
        named = [_body(row, f"{where}: {DATASETS}") for row in db.execute(f"SELECT * FROM {DATASETS}")]  # noqa: S608
        self._write(DATASETS, [dumps(body) + "\n" for body in named if body["dataset_id"] in trained])
        self.runs.update(runs)
        return notes

    def _write(self, table: str, lines: list[str]) -> None:
        if not lines:
            return
        folder = self.run / _FOLDER
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / f"{table}.jsonl").open("a", encoding="utf-8", newline="\n") as file:
            file.writelines(lines)
        before = as_object(self.files.get(table, {})).get("lines", 0)
        self.files[table] = {"lines": len(lines) + (before if isinstance(before, int) else 0)}

    def finish(self) -> None:
        """Bind what was kept."""
        for table, stated in self.files.items():
            sha256 = digest_file(self.run / _FOLDER / f"{table}.jsonl")
            self.files[table] = {**as_object(stated), "sha256": sha256}
        if self.files:
            write_atomic(self.run / _FOLDER / _HEADER, pretty({"files": self.files, "runs": self.runs}))


def restore(db: sqlite3.Connection, directory: Path) -> None:
    """Write what an import kept into a database that has the run's trials and outputs already.

    A file whose bytes are not those of tables.json is a StoreError.
    """
    folder = directory / _FOLDER
    if not (folder / _HEADER).is_file():
        return
    header = read_object(folder / _HEADER, StoreError, "import the source again")
    files, runs = as_object(header.get("files")), as_object(header.get("runs"))
    new_runs = {
        old: row[0]
        for old, trial in runs.items()
        if (row := db.execute("SELECT run_id FROM conformity_trials WHERE trial_id = ?", (trial,)).fetchone())
    }
    if "conformity_answer_logprobs" in files:
        db.executescript(LOGPROBS)
    for table in (DATASETS, *TABLES):
        if table not in files:
            continue
        path = folder / f"{table}.jsonl"
        if not path.is_file() or digest_file(path) != as_object(files[table]).get("sha256"):
            raise StoreError(f"{path}: not the file that {_HEADER} tells of; import the source again")
        columns = [str(row[1]) for row in db.execute(f"PRAGMA table_info({table})")]
        marks = ", ".join(f":{column}" for column in columns)
        # A table of a look that was taken after the import may have the same row already.
        db.executemany(f"INSERT OR IGNORE INTO {table} VALUES({marks})", _rows(path, columns, new_runs))


def _rows(path: Path, columns: list[str], runs: Mapping[str, object]) -> Iterator[dict[str, object]]:
    for _, row in json_lines(path):
        values: dict[str, object] = {column: row.get(column) for column in columns}
        if "run_id" in values:
            values["run_id"] = runs.get(str(values["run_id"]))
        yield values


def _body(row: sqlite3.Row, where: str) -> dict[str, JSON]:
    body: dict[str, JSON] = dict(row)
    for column, value in body.items():
        if isinstance(value, bytes):
            raise StoreError(f"{where}: {column} holds bytes, not text or a number")
    return body
