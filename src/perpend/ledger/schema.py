"""The tables of run.db: made once, and checked to the letter before anything is read from a file."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from functools import cache
from importlib.resources import files
from pathlib import Path

from perpend.errors import StoreError

APPLICATION_ID = 0x70657270  # 'perp'
SCHEMA_VERSION = 1
_OBJECTS = "SELECT type, name, tbl_name, sql FROM sqlite_master"


def create_schema(connection: sqlite3.Connection, *, looks: bool = False) -> None:
    """Make the tables in a new file; that of the looks only where a run has a stopping rule."""
    connection.executescript(
        f"PRAGMA application_id={APPLICATION_ID};PRAGMA user_version={SCHEMA_VERSION}; BEGIN; {_sql(looks)} COMMIT;"
    )


def check_schema(connection: sqlite3.Connection, path: Path) -> None:
    """Every table, index, trigger and view is ours, to the letter, and there is no other: a StoreError where not.

    A view in the place of a table could hang whoever reads it; without its triggers responses could be edited.
    """
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if application != APPLICATION_ID:
        raise StoreError(f"{path}: a SQLite file, but not a run of perpend; 'perpend import' reads other ledgers")
    if version != SCHEMA_VERSION:
        raise StoreError(f"{path}: schema {version}, this perpend reads schema {SCHEMA_VERSION}; upgrade perpend")
    # A run without a stopping rule has the tables that every run always had.
    ours = _objects(connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'look'").fetchone() is not None)
    for kind, name, *_ in sorted(ours.symmetric_difference(connection.execute(_OBJECTS)), key=str, reverse=True):
        is_known = name in {one[1] for one in ours}
        state = "is not the one of a run" if is_known else "belongs to no run"
        raise StoreError(
            f"{path}: its {kind} {str(name)[:80]!r} {state}: the file was changed, so nothing is read from it"
        )


def _sql(looks: bool) -> str:
    names = ("schema.sql", "looks.sql") if looks else ("schema.sql",)
    return "\n".join(files("perpend.ledger").joinpath(name).read_text(encoding="utf-8") for name in names)


@cache
def _objects(looks: bool) -> frozenset[tuple[object, ...]]:
    with closing(sqlite3.connect(":memory:")) as db:
        db.executescript(_sql(looks))
        return frozenset(db.execute(_OBJECTS))
