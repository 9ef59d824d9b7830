"""manifest.journal: how many responses a run's ledger held when it last said so, and what each model has spent.

It is written after each commit, in place, so the ledger may hold more than it says and never fewer, unless a part of
the ledger was lost: a run.db that was copied without its run.db-wal, an older copy put back, a power cut.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from perpend.canon import opened
from perpend.errors import StoreError
from perpend.opening import plain_handle
from perpend.types import Spent

JOURNAL = "manifest.journal"
_LINE = re.compile(rb"responses (\d{20})\n")
_SPENT = re.compile(rb'requests (\d{20}) input (\d{20}) output (\d{20}) uncounted (\d{20}) ("[^\n]*")\n')
_LONGEST = 1 << 20


def acknowledged(directory: Path) -> int | None:
    """The number of responses that the journal of a run directory states; None where there is none or it is no journal.

    A process that was killed while it made the journal leaves an empty one.
    """
    try:
        with opened(directory / JOURNAL, within=directory) as file:
            match = _LINE.match(file.read(64))
    except OSError:
        return None
    return None if match is None else int(match[1])


def noted_spent(directory: Path) -> dict[str, Spent]:
    """What each model has spent by the journal of a run directory; empty where it says nothing of it."""
    try:
        with opened(directory / JOURNAL, within=directory) as file:
            lines = _SPENT.findall(file.read(_LONGEST))
        return {str(json.loads(label)): Spent(*map(int, counts)) for *counts, label in lines}
    except (OSError, ValueError):
        return {}


def acknowledge(directory: Path, count: int, spent: Mapping[str, Spent] | None = None) -> None:
    """State how many responses the ledger of a run directory has kept and, where that is given, what was spent."""
    lines = [b"responses %020d\n" % count]
    for label, one in (spent or {}).items():
        counts = (one.requests, one.input, one.output, one.uncounted)
        lines.append(b"requests %020d input %020d output %020d uncounted %020d " % counts)
        lines.append(json.dumps(label).encode() + b"\n")
    path = directory / JOURNAL
    mode = "r+b" if path.exists() else "xb"
    try:
        # In place and in one write of a few bytes, each number as long as ever, so that no reader ever sees half of it.
        with open(path, mode, buffering=0, opener=partial(plain_handle, within=directory)) as file:
            file.write(b"".join(lines))
    except OSError as error:
        raise StoreError(f"{path}: cannot be written: {error.strerror}; what was answered is kept") from None
