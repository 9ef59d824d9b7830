"""One SQLite file: opening it, holding it alone, and saying in plain words what went wrong with it."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import cache
from itertools import chain, islice
from pathlib import Path

from perpend.canon import opened
from perpend.disk import FULL, refusal, temporary_folder
from perpend.errors import DiskError, StoreError
from perpend.ledger.filesystem import locks_work, shared_disk, without_locks

_STEPS = 1_000_000
_LEAST_WORK, _WORK_PER_BYTE = 50_000_000, 100
"""What reading may cost, in steps of SQLite's machine: the largest honest statement takes about one per byte of its
file. A bound in steps, not in seconds, is the same on a slow machine."""
_LONGEST_VALUE = 1 << 26
_MOMENT = 0.25
"""Seconds for which a lock is tried: a reader looks at it for less."""
_NO_SHARED_MEMORY = (
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PROTOCOL,
    sqlite3.SQLITE_IOERR_SHMOPEN,
    sqlite3.SQLITE_IOERR_SHMMAP,
    sqlite3.SQLITE_IOERR_SHMLOCK,
)
"""What SQLite says on a disk whose files processes cannot share as memory."""
_ROWS = 40
"""Rows in one statement; SQLite takes 999 values or more."""
_LEAST_PAGE = 512
"""The smallest page of a SQLite file: what is smaller holds nothing, and SQLite takes its log for a left-over."""


LOCK = "lock.db"
_JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")
"""What a rollback journal begins with; it ends with it where it names a super-journal, and nowhere else."""


@contextmanager
def exclusive(directory: Path) -> Iterator[None]:
    """Hold a run directory for one process. A second one gets StoreError; a killed one leaves no lock behind.

    The lock is SQLite's own on a file of its own, so it works wherever run.db does and readers are not kept out.
    """
    path = directory / LOCK
    with translated(path):
        refuse_foreign(path)
        refuse_linked_folders(directory)
        _check_locks(directory)
        connection = sqlite3.connect(path, timeout=_MOMENT, isolation_level=None)
    with closing(connection):
        with translated(path):  # not around what is done under the lock: its failures are not the lock's
            try:
                connection.execute("BEGIN EXCLUSIVE")
            except sqlite3.OperationalError as error:
                if "locked" not in str(error):
                    raise
                raise StoreError(
                    f"{directory}: another process is running this; wait for it or stop it first"
                ) from None
        yield


def is_held(directory: Path) -> bool:
    """Whether a process holds the directory by `exclusive` now. Looking keeps nobody out."""
    lock = directory / LOCK
    if not lock.is_file():
        return False
    try:
        with closing(sqlite3.connect(f"{lock.resolve().as_uri()}?mode=ro", uri=True, timeout=0)) as db:
            db.execute("SELECT 1 FROM sqlite_master").fetchone()
    except sqlite3.Error as error:
        return "locked" in str(error)
    return False


def insert_rows(db: sqlite3.Connection, table: str, columns: int, rows: Iterable[Sequence[object]]) -> None:
    """Insert rows of a table, many in one statement: a statement for each takes half as long again."""
    one, rest = f"({', '.join('?' * columns)})", iter(rows)
    sql = ""
    length = 0
    while chunk := list(islice(rest, _ROWS)):
        if len(chunk) != length:
            length = len(chunk)
            sql = f"INSERT INTO {table} VALUES {', '.join([one] * length)}"  # noqa: S608  names of our own tables
        db.execute(sql, list(chain.from_iterable(chunk)))


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn what SQLite and the file system say into a StoreError that says what to do."""
    try:
        yield
    except sqlite3.IntegrityError as error:
        raise StoreError(f"{path}: refused: {error}") from error
    except sqlite3.OperationalError as error:
        message = str(error)
        # By its number: a stranger's file may call anything 'full', and must not pass for our disk.
        if _code(error) == sqlite3.SQLITE_FULL:
            raise DiskError(
                f"{path}: the disk is full ({message}); what was written is kept: free space, then run again"
            ) from error
        if "disk I/O" in message:
            raise _failing(error)(
                f"{path}: the disk is full or failing ({message}); check it, then run again"
            ) from error
        if "interrupted" in message:
            raise StoreError(
                f"{path}: reading it takes more work than a file of its size can need: it was made to hang its readers"
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
        raise (DiskError if error.errno in FULL else StoreError)(refusal(path, error)) from error


def _code(error: sqlite3.Error) -> int | None:
    """SQLite's number of an error; None for one that Python raised itself, as for text that is not UTF-8."""
    return getattr(error, "sqlite_errorcode", None)


def _failing(error: sqlite3.Error) -> type[StoreError]:
    """A disk that cannot be written is ours; what cannot be read may be the fault of a stranger's file."""
    codes = (sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_FSYNC, sqlite3.SQLITE_IOERR_TRUNCATE)
    return DiskError if _code(error) in (*codes, sqlite3.SQLITE_IOERR_SHMSIZE) else StoreError


def connect(path: Path, mode: str, *, durable: bool = False) -> sqlite3.Connection:
    """One SQLite file, opened with SQLite's own mode 'ro', 'rw' or 'rwc'; what is in it can run nothing.

    Reading has a bound on its work, and leaves the file and its folder as they are. `durable` waits for the disk at
    every commit, so that a power cut costs nothing.
    """
    path = path.resolve()  # a person may name a file by way of a link: what belongs to it is beside the file itself
    log = _beside(path, "-wal")
    refuse_foreign(path)
    _keep_log(path, log)
    connection = _reading(path, log) if mode == "ro" else _writing(path, mode)
    connection.execute(f"PRAGMA trusted_schema={'OFF' if _has_safe_json() else 'ON'}")
    connection.execute("PRAGMA cell_size_check=ON")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_VALUE)
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    if mode == "ro":
        _bound(connection, path.stat().st_size)
    else:
        is_logged = connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
        connection.execute(f"PRAGMA synchronous={'FULL' if durable or not is_logged else 'NORMAL'}")
    return connection


def _open(path: Path, options: str) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{path.resolve().as_uri()}?{options}", uri=True, isolation_level=None, timeout=10)
    try:
        connection.execute("PRAGMA schema_version").fetchone()
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _check_locks(folder: Path) -> None:
    """StoreError where a lock in a folder would keep nobody out."""
    shared = shared_disk(folder)
    if shared is not None and not shared.has_locks:
        raise StoreError(without_locks(folder, shared.kind))
    if not locks_work(folder, may_write=True):
        raise StoreError(without_locks(folder))


def _writing(path: Path, mode: str) -> sqlite3.Connection:
    """With a write-ahead log; where processes cannot share memory, with a rollback journal, for one process alone."""
    refuse_linked_folders(path.parent)
    _check_locks(path.parent)
    if shared_disk(path.parent) is None:
        try:
            connection = _open(path, f"mode={mode}")
            try:
                mode_now = connection.execute("PRAGMA journal_mode=WAL").fetchone()[0]
                connection.execute("PRAGMA schema_version").fetchone()  # the first to need the shared memory
                if mode_now == "wal":
                    return connection
            except sqlite3.Error:
                connection.close()
                raise
            connection.close()
        except sqlite3.OperationalError as error:
            if _code(error) not in _NO_SHARED_MEMORY:
                raise
    connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode={mode}", uri=True, isolation_level=None, timeout=10)
    try:
        # Before anything is read: then SQLite keeps in this process what it would share, also of a log that is there.
        connection.execute("PRAGMA locking_mode=EXCLUSIVE")
        connection.execute("PRAGMA journal_mode=DELETE")
        _beside(path, "-shm").unlink(missing_ok=True)
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def refuse_foreign(path: Path) -> None:
    """StoreError where SQLite would read, write or delete another file than a ledger and what belongs to it.

    A link leads elsewhere. A rollback journal is ours where a process was killed on a network disk, or while it began
    or ended a log; but only transactions over several files, of which we make none, name a further journal in it, and
    SQLite deletes what is named, whatever file it is.
    """
    journal = _beside(path, "-journal")
    for file in (path, journal, _beside(path, "-wal"), _beside(path, "-shm")):
        if file.is_symlink() or (file.exists() and not file.is_file()):
            raise StoreError(f"{file}: a link, or no file; a run holds its files itself. Nothing was opened.")
    with suppress(FileNotFoundError), opened(journal) as content:  # whoever is writing may just have removed it
        content.seek(max(0, content.seek(0, os.SEEK_END) - len(_JOURNAL_MAGIC)))
        if content.read() == _JOURNAL_MAGIC:
            raise StoreError(
                f"{journal}: made to have another file deleted. Nothing was opened; do not open {path.name} with "
                "SQLite either. Do you trust its source?"
            )


def refuse_linked_folders(directory: Path) -> None:
    """StoreError where tables or figures would be written elsewhere."""
    for entry in directory.iterdir() if directory.is_dir() else ():
        if entry.is_symlink() and entry.is_dir():
            raise StoreError(f"{entry}: a link to another folder; a run holds its folders itself. Nothing was written.")


def _beside(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)


def _has_content(path: Path) -> bool:
    with suppress(FileNotFoundError):
        return path.stat().st_size > 0
    return False


def _reading(path: Path, log: Path) -> sqlite3.Connection:
    """The ledger as SQLite would read it, log and all; one that a transaction was left in the middle of is refused."""
    journal = _beside(path, "-journal")
    if _has_content(journal):
        try:
            return _open(path, "mode=ro")  # as somebody who is writing lets it be read
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                raise
        if _has_content(journal):
            raise StoreError(
                f"{path}: {journal.name} is there: a transaction was not finished, and what the file holds now is not "
                "what it held before. Its owner undoes it when he goes on ('perpend eval', 'perpend score')."
            )
    if _has_content(log):
        copied = _copied(path, log) if shared_disk(path.parent) is not None or _is_left(path) else None
        try:
            return copied or _open(path, "mode=ro")
        except sqlite3.OperationalError as error:
            copied = _copied(path, log) if _code(error) in _NO_SHARED_MEMORY else None
            if copied is None:
                raise
            return copied
    # What keeps a log and has none is written by nobody, and reading must leave no log beside it. Nor is anything
    # written where there are no locks.
    if (not log.exists() and _keeps_log(path)) or not locks_work(path.parent):
        return _open(path, "immutable=1")
    try:
        return _open(path, "mode=ro")
    except sqlite3.OperationalError as error:
        if "locked" in str(error):
            raise
        # At rest, in a folder that we may not write: nobody else can be writing it either.
        return _open(path, "immutable=1")


def copy_ledger(path: Path, to: Path) -> None:
    """A ledger as it is at this moment, as one file without a log; somebody may be writing it."""
    with translated(path), closing(connect(path, "ro")) as old, closing(sqlite3.connect(to)) as new:
        old.backup(new)
        new.execute("PRAGMA journal_mode=DELETE")


def _is_left(path: Path) -> bool:
    """Whether a run's ledger was left with its log by a process that is gone: nobody holds the run's lock."""
    if not path.with_name(LOCK).is_file() or not locks_work(path.parent):
        return path.with_name("manifest.json").is_file()
    return not is_held(path.parent)


def _copied(path: Path, log: Path) -> sqlite3.Connection | None:
    """A copy of a ledger with its log, for this process alone: to read the log itself, SQLite writes beside it.

    None where somebody began to write meanwhile.
    """
    before = [_state(path), _state(log)]
    with temporary_folder("read") as tmpdir:
        for file in (path, log):
            shutil.copyfile(file, tmpdir / f"run.db{file.name.removeprefix(path.name)}")
        if [_state(path), _state(log)] != before:
            return None
        connection = sqlite3.connect(tmpdir / "run.db", isolation_level=None)
        connection.execute("PRAGMA locking_mode=EXCLUSIVE")
        connection.execute("PRAGMA journal_mode=MEMORY")  # folds the log in; the files are gone with the folder
        connection.execute("PRAGMA query_only=ON")
        connection.execute("PRAGMA schema_version").fetchone()
    return connection


def _state(path: Path) -> tuple[int, int]:
    facts = path.stat()
    return facts.st_size, facts.st_mtime_ns


def _keep_log(path: Path, log: Path) -> None:
    """Refuse a file that has lost its content while its log still holds some: SQLite would delete the log."""
    size = path.stat().st_size if path.is_file() else _LEAST_PAGE
    if size < _LEAST_PAGE and log.is_file() and log.stat().st_size:
        raise StoreError(
            f"{path}: cut to {size} bytes, and {log.name} is still there; nothing was opened, so that nothing is lost. "
            f"Put a copy of {path.name} back beside it."
        )


def _keeps_log(path: Path) -> bool:
    """Whether a file is one that keeps a write-ahead log: bytes 18 and 19 of its header say so."""
    with path.open("rb") as file:
        return file.read(20)[18:] == b"\x02\x02"


@cache
def _has_safe_json() -> bool:
    """Whether this SQLite lets a table check json_valid without trusting its schema; older ones cannot read ours then.

    There it stays trusted, which lets a file use nothing but SQLite's own functions: no other is ever registered, and
    extensions are off.
    """
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute("PRAGMA trusted_schema=OFF")
        try:
            db.execute("CREATE TABLE one(body TEXT CHECK(json_valid(body)))")
        except sqlite3.Error:
            return False
    return True


def _bound(connection: sqlite3.Connection, size: int) -> None:
    """Interrupt the connection's work when it exceeds what a file of that size can need."""
    most = (_LEAST_WORK + _WORK_PER_BYTE * size) // _STEPS
    done = 0

    def too_much() -> bool:
        nonlocal done
        done += 1
        return done > most

    connection.set_progress_handler(too_much, _STEPS)
