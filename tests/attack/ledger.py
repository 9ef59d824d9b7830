"""Forgeries of a run directory, generated: every column of every table of run.db, every part of its schema."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from perpend.errors import PerpendError
from perpend.measure.run import Run
from perpend.report.derive import derive
from tests.attack.forge import Forgery, fields

TABLES = ("meta", "dataset", "item", "condition", "model", "sampling", "trial", "response", "scorer", "score")
DERIVED = ("scorer", "score")
"""The tables that are written anew whenever a run is scored, so that no forgery in them lasts."""
JSON = ("body", "params", "options", "logprobs", "usage")
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT "


def run_sql(directory: Path, *statements: str, guarded: bool = True) -> None:
    """Edit run.db with the triggers taken off and put back, and no rule checked."""
    with closing(sqlite3.connect(directory / "run.db", isolation_level=None)) as db:
        db.execute("PRAGMA legacy_alter_table=ON")
        db.execute("PRAGMA foreign_keys=OFF")
        db.execute("PRAGMA ignore_check_constraints=ON")
        triggers = (
            db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall() if guarded else []
        )
        for name, _ in triggers:
            db.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            db.execute(statement)
        for _, sql in triggers:
            db.execute(sql)


def schema_sql(directory: Path, *statements: str) -> None:
    """Edit the schema itself, as somebody can who writes the file by hand."""
    with closing(sqlite3.connect(directory / "run.db", isolation_level=None)) as db:
        db.execute("PRAGMA writable_schema=ON")
        for statement in statements:
            db.execute(statement)
        db.execute("PRAGMA writable_schema=RESET")


def contents(directory: Path) -> object:
    """All that run.db says; None where that cannot be read."""
    try:
        with closing(sqlite3.connect(directory / "run.db")) as db:
            db.text_factory = bytes
            schema = db.execute("SELECT type, name, sql FROM sqlite_master ORDER BY name").fetchall()
            return schema, [sorted(db.execute(f"SELECT * FROM {table}").fetchall(), key=repr) for table in TABLES]
    except sqlite3.Error:
        return None


def columns(directory: Path) -> dict[str, list[tuple[str, str, bool]]]:
    """(column, type, whether it may be null) of every table. SQLite takes no null for the number of a row either."""
    with closing(sqlite3.connect(directory / "run.db")) as db:
        return {
            table: [(row[1], row[2], not row[3] and not row[5]) for row in db.execute(f"PRAGMA table_info({table})")]
            for table in TABLES
        }


def _sql(*statements: str, guarded: bool = True) -> Callable[[Path], None]:
    return lambda directory: run_sql(directory, *statements, guarded=guarded)


def rows(directory: Path) -> Iterator[Forgery]:
    """Every column of every table changed in one row; rows removed, added, swapped."""
    for table, known in columns(directory).items():
        key = "rowid" if table != "score" else "trial"
        one = f"{key} = (SELECT {key} FROM {table} ORDER BY {key} DESC LIMIT 1)"
        for column, kind, may_be_null in known:
            new = {
                "TEXT": f"coalesce({column}, '') || 'x'",
                "INTEGER": f"coalesce({column}, 0) + 1",
                "REAL": f"coalesce({column}, 0) + 0.25",
                "BLOB": "x'00'",
            }[kind]
            edits = {
                "changed": f"UPDATE OR REPLACE {table} SET {column} = {new} WHERE {one}",
                "all changed": f"UPDATE OR IGNORE {table} SET {column} = {new}",
            }
            if may_be_null:
                edits["null"] = f"UPDATE {table} SET {column} = NULL WHERE {one}"
            if kind == "TEXT":
                edits["nul"] = f"UPDATE OR REPLACE {table} SET {column} = 'a' || char(0) || 'b' WHERE {one}"
                edits["surrogate"] = f"UPDATE OR REPLACE {table} SET {column} = CAST(x'eda080' AS TEXT) WHERE {one}"
                edits["json deep"] = f"UPDATE OR REPLACE {table} SET {column} = '{'[' * 2000 + ']' * 2000}' WHERE {one}"
                edits["json NaN"] = f"UPDATE OR REPLACE {table} SET {column} = '{{\"a\": NaN}}' WHERE {one}"
            if column in JSON:
                edits["json twice"] = (
                    f"UPDATE OR REPLACE {table} SET {column} = '{{\"evil\":1,' || substr({column}, 2) WHERE {one}"
                    f" AND {column} LIKE '{{%'"
                )
                edits["json doubled"] = (
                    f"UPDATE OR REPLACE {table} SET {column} = '{{' || substr({column}, 2, instr({column}, ',') - 1)"
                    f" || substr({column}, 2) WHERE {one} AND {column} LIKE '{{%,%'"
                )
                edits["json spaces"] = (
                    f"UPDATE OR REPLACE {table} SET {column} = '{{ ' || substr({column}, 2) WHERE {one}"
                    f" AND {column} LIKE '{{%'"
                )
            if kind == "REAL":
                edits["infinite"] = f"UPDATE {table} SET {column} = 9e999 WHERE {one}"
            if kind == "INTEGER":
                edits["negative"] = f"UPDATE OR REPLACE {table} SET {column} = -1 WHERE {one}"
                edits["huge"] = f"UPDATE OR REPLACE {table} SET {column} = 9223372036854775807 WHERE {one}"
            for name, statement in edits.items():
                yield Forgery("run.db", f"{table}.{column}", name, _sql(statement))
        yield Forgery("run.db", table, "row removed", _sql(f"DELETE FROM {table} WHERE {one}"))
        yield Forgery("run.db", table, "all rows removed", _sql(f"DELETE FROM {table}"))


def planted() -> Iterator[Forgery]:
    """Rows that no run has: further turns, attempts and scorers, parts of a plan."""
    copy = "SELECT trial, {turn}, {attempt}, request_sha256, {text}, NULL, NULL, 'stop', NULL, 1.0, at FROM response"
    right = (
        "(SELECT json_extract(body, '$.target') FROM item JOIN trial USING (item) WHERE trial.trial = response.trial)"
    )
    wrong = "trial NOT IN (SELECT trial FROM response WHERE turn = 1)"
    for name, turn, attempt, where in (
        ("second turns", 1, 0, f"turn = 0 AND attempt = 0 AND text IS NOT NULL AND {wrong}"),
        ("one second turn", 1, 0, f"turn = 0 AND attempt = 0 AND text IS NOT NULL AND {wrong} AND trial = 2"),
        ("third turns", 2, 0, "turn = 1 AND attempt = 0 AND text IS NOT NULL"),
        ("a negative attempt", 0, -1, "turn = 0 AND attempt = 0"),
        ("a negative turn", -1, 0, "turn = 0 AND attempt = 0"),
        ("a turn far away", 9, 0, "turn = 0 AND attempt = 0 AND trial = 2"),
        ("a second attempt after an answer", 0, 1, "turn = 0 AND attempt = 0 AND text IS NOT NULL AND trial = 2"),
        ("second turns with other digests", 1, 0, f"turn = 0 AND attempt = 0 AND text IS NOT NULL AND {wrong}"),
    ):
        chosen = copy.format(turn=turn, attempt=attempt, text=f"coalesce({right}, 'Yes')")
        if "digests" in name:
            chosen = chosen.replace("request_sha256,", "zeroblob(32),", 1)
        yield Forgery("run.db", "response", name, _sql(f"INSERT INTO response {chosen} WHERE {where}"))
    failed = (
        "INSERT INTO response SELECT trial, 0, 0, request_sha256, NULL, 'refused', NULL, NULL, NULL, 1.0, at"
        " FROM response WHERE turn = 0 AND attempt = 1 AND trial = 2"
    )
    yield Forgery(
        "run.db", "response", "an answer behind a planted failure",
        _sql("UPDATE response SET attempt = 1 WHERE trial = 2 AND turn = 0 AND attempt = 0", failed),
    )  # fmt: skip
    yield Forgery(
        "run.db", "response", "the first answer a failure, a better one after it",
        _sql("UPDATE response SET text = NULL, error = 'lost' WHERE trial = 2 AND turn = 0 AND attempt = 0",
             "INSERT INTO response SELECT trial, 0, 1, request_sha256, 'Better', NULL, NULL, 'stop', NULL, 1.0, at"
             " FROM response WHERE trial = 2 AND turn = 0 AND attempt = 0"),
    )  # fmt: skip
    for table, values in {
        "scorer": "NULL, 'os:system', '1'",
        "condition": "NULL, 'hidden', '{}'",
        "model": "NULL, 'hidden', 'hidden', '{}'",
        "sampling": 'NULL, \'{"max_tokens":1,"seed":1,"stop":[],"temperature":0.5,"top_p":null}\'',
        "dataset": "NULL, 'hidden', '1', 'hidden', 'hidden'",
        "item": 'NULL, 0, \'hidden\', \'{"id":"hidden","prompt":"?"}\'',
        "meta": "'hidden', 'x'",
    }.items():
        yield Forgery("run.db", table, "row added", _sql(f"INSERT INTO {table} VALUES({values})"))


def tables() -> Iterator[Forgery]:
    """A view in the place of each table, and tables without the rules of theirs."""
    for table in TABLES:
        yield from _tables(table)


def _tables(table: str) -> Iterator[Forgery]:
    """A table that is something else."""

    guards = ("response_is_a_fact BEFORE UPDATE", "response_stays BEFORE DELETE") if table == "response" else ()

    def as_view(select: str) -> Callable[[Path], None]:
        def forge(directory: Path) -> None:
            names = ", ".join(f'"{name}"' for name, *_ in columns(directory)[table])
            run_sql(
                directory,
                *(f"DROP TRIGGER {guard.partition(' ')[0]}" for guard in guards),
                f"ALTER TABLE {table} RENAME TO kept",
                f"CREATE VIEW {table} AS {select.format(names=names)}",
                *(f"CREATE TRIGGER {guard} ON kept BEGIN SELECT RAISE(ABORT, ''); END" for guard in guards),
                guarded=False,
            )

        return forge

    yield Forgery("run.db", table, "a view of a table", as_view("SELECT {names} FROM kept"))
    yield Forgery("run.db", table, "an endless view", as_view(ENDLESS + "k.* FROM kept k, n"))

    def untyped(directory: Path) -> None:
        known = columns(directory)[table]
        names = ", ".join(f'"{name}"' for name, *_ in known)
        run_sql(
            directory,
            f"ALTER TABLE {table} RENAME TO kept",
            f"CREATE TABLE {table}({names})",
            f"INSERT INTO {table} SELECT * FROM kept",
            "DROP TABLE kept",
        )

    yield Forgery("run.db", table, "a table without rules", untyped)

    def blobs(directory: Path) -> None:
        untyped(directory)
        known = columns(directory)[table]
        column = known[-1][0]
        run_sql(directory, f"UPDATE {table} SET {column} = x'ff00'")

    yield Forgery("run.db", table, "a table without rules, with bytes for text", blobs)


def files() -> Iterator[Forgery]:
    """The file itself and what is beside it."""

    def page(directory: Path) -> None:
        path = directory / "run.db"
        data = bytearray(path.read_bytes())
        data[4096:8192] = bytes(4096)
        path.write_bytes(bytes(data))

    def cut(directory: Path) -> None:
        path = directory / "run.db"
        path.write_bytes(path.read_bytes()[:-4096])

    def nothing(directory: Path) -> None:
        (directory / "run.db").write_bytes(b"")

    def text(directory: Path) -> None:
        (directory / "run.db").write_text("no database")

    def fifo(directory: Path) -> None:
        (directory / "run.db").unlink()
        os.mkfifo(directory / "run.db")

    def folder(directory: Path) -> None:
        (directory / "run.db").unlink()
        (directory / "run.db").mkdir()

    def real_log(directory: Path) -> None:
        """Changes that are only in the write-ahead log."""
        with closing(sqlite3.connect(directory / "run.db", isolation_level=None)) as db:
            db.execute("PRAGMA journal_mode=WAL")
            db.execute("PRAGMA wal_autocheckpoint=0")
            db.execute("UPDATE score SET value = 1.0 WHERE value = 0.0")
            shutil.copy(directory / "run.db", directory / "kept.db")
            shutil.copy(directory / "run.db-wal", directory / "kept.db-wal")
        for name in ("", "-wal"):
            (directory / f"kept.db{name}").replace(directory / f"run.db{name}")

    for forge in (page, cut, nothing, text, fifo, folder, real_log):
        yield Forgery("run.db", "file", forge.__name__.replace("_", " "), forge)


def derived_again(directory: Path, *, trust_code: bool = False) -> bool:
    """Score and derive the forged run again; False where perpend refuses."""
    try:
        run = Run(directory, trust_code=trust_code)
        run.score()
        derive([run], directory, figures=False)
    except PerpendError:
        return False
    return True


def forgeries(directory: Path) -> list[Forgery]:
    """Every forgery of a run directory: of its ledger and its files, as they are and with all derived again."""
    told = (one for one in fields(directory) if one.file in ("manifest.json", "labels.jsonl"))
    facts = [*rows(directory), *planted(), *told]
    rest = [one for one in fields(directory) if one.file not in ("manifest.json", "labels.jsonl")]
    again = [one.derived() for one in facts if one.place.partition(".")[0] not in DERIVED]
    return [*facts, *rest, *tables(), *files(), *again]
