"""One SQLite file: opening it, holding it alone, and saying in plain words what went wrong with it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from perpend.errors import StoreError


@contextmanager
def exclusive(directory: Path) -> Iterator[None]:
    """Hold a run directory for one process. A second one gets StoreError; a killed one leaves no lock behind.

    The lock is SQLite's own on a file of its own, so it works wherever run.db does and readers are not kept out.
    """
    path = directory / "lock.db"
    with translated(path), closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as connection:
        try:
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):
                raise
            raise StoreError(f"{directory}: another process is running this; wait for it or stop it first") from None
        yield


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn what SQLite and the file system say into a StoreError that says what to do."""
    try:
        yield
    except sqlite3.IntegrityError as error:
        raise StoreError(f"{path}: refused: {error}") from error
    except sqlite3.OperationalError as error:
        message = str(error)
        if "full" in message or "disk I/O" in message:
            raise StoreError(
                f"{path}: the disk is full or failing ({message}); what was written is kept: free space, then run again"
            ) from error
        if "locked" in message:
            raise StoreError(f"{path}: in use by another process; wait for it or stop it first") from error
        if "readonly" in message or "unable to open" in message:
            raise StoreError(f"{path}: cannot be written or opened ({message}); check its permissions") from error
        raise StoreError(f"{path}: {message}") from error
    except sqlite3.DatabaseError as error:
        raise StoreError(
            f"{path}: damaged ({error}); keep a copy, then try 'sqlite3 run.db .recover' or start the run anew"
        ) from error
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror or error}; check the path, its permissions and the disk") from error


def connect(path: Path, mode: str) -> sqlite3.Connection:
    uri = path.resolve().as_uri()
    try:
        connection = sqlite3.connect(f"{uri}?mode={mode}", uri=True, isolation_level=None, timeout=10)
        connection.execute("PRAGMA schema_version").fetchone()
    except sqlite3.OperationalError:
        log = path.with_name(path.name + "-wal")
        if mode != "ro" or (log.exists() and log.stat().st_size):
            raise
        # A WAL database at rest in a folder that we may not write: nobody else can be writing it either.
        connection = sqlite3.connect(f"{uri}?immutable=1", uri=True, isolation_level=None)
    if mode != "ro":
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute("PRAGMA journal_mode=WAL")
    return connection
