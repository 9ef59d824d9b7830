"""manifest.journal: how many responses a run's ledger held when it last said so.

It is written after each commit, in place, so the ledger may hold more than it says and never fewer, unless a part of
the ledger was lost: a run.db that was copied without its run.db-wal, an older copy put back, a power cut.
"""

from __future__ import annotations

import re
from pathlib import Path

from perpend.canon import opened
from perpend.errors import StoreError

JOURNAL = "manifest.journal"
_LINE = re.compile(rb"responses (\d{20})\n")


def acknowledged(directory: Path) -> int | None:
    """The number of responses that the journal of a run directory states; None where there is none or it is no journal.

    A process that was killed while it made the journal leaves an empty one.
    """
    try:
        with opened(directory / JOURNAL) as file:
            match = _LINE.fullmatch(file.read(64))
    except OSError:
        return None
    return None if match is None else int(match[1])


def acknowledge(directory: Path, count: int) -> None:
    """State how many responses the ledger of a run directory has kept."""
    path = directory / JOURNAL
    if path.is_symlink():
        raise StoreError(f"{path}: a link; a run keeps its files itself")
    try:
        # In place and in one write of a few bytes, so that no reader ever sees half of it.
        with path.open("r+b" if path.exists() else "xb", buffering=0) as file:
            file.write(b"responses %020d\n" % count)
    except OSError as error:
        raise StoreError(f"{path}: cannot be written: {error.strerror}; what was answered is kept") from None
