"""A start that fails leaves no folder behind. Nothing is removed that holds a response, or that was there before."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from perpend.ask.task import CODE
from perpend.errors import PerpendError, StoreError
from perpend.ledger.database import LOCK, exclusive
from perpend.ledger.journal import JOURNAL, acknowledged
from perpend.ledger.manifest import MANIFEST
from perpend.ledger.store import Store
from perpend.spec.keys import VARIABLES

_OWN = (MANIFEST, JOURNAL, "run.db", "run.db-wal", "run.db-shm", "run.db-journal", VARIABLES, LOCK)
"""What `eval` itself writes into a run's folder before the first answer; the lock last."""


@contextmanager
def new_folders(directory: Path) -> Iterator[None]:
    """Where a PerpendError ends the block, remove those of a folder and its parents that it made and that are empty."""
    missing = [path for path in (directory, *directory.parents) if not path.exists()]
    try:
        yield
    except PerpendError:
        with suppress(OSError):  # what holds something stays, and all above it
            for path in missing:
                path.rmdir()
        raise


@contextmanager
def holding(directory: Path) -> Iterator[None]:
    """A run's folder, made where it is missing, for this process alone."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{directory}: cannot be created: {error.strerror}; choose another --out") from None
    with exclusive(directory):
        yield


@contextmanager
def withdrawn(directory: Path) -> Iterator[None]:
    """Where a PerpendError ends the block and a new folder holds no response, remove the run's own files from it."""
    is_new = not any((directory / name).exists() for name in (MANIFEST, "run.db"))
    try:
        yield
    except PerpendError:
        if is_new and not has_response(directory):
            copies = [path for path in (directory / CODE).glob("*") if path.suffix in (".py", ".toml")]
            with suppress(OSError):
                for path in (*copies, *(directory / name for name in _OWN)):
                    path.unlink(missing_ok=True)
                if (directory / CODE).is_dir():
                    (directory / CODE).rmdir()
        raise


def has_response(directory: Path) -> bool:
    """Whether a run's folder holds a response, failures included; one that cannot be read counts as if it did."""
    if acknowledged(directory):
        return True
    if not (directory / "run.db").exists():
        return False
    try:
        with Store.open(directory / "run.db") as store:
            return store.responses() > 0
    except StoreError:
        return True
