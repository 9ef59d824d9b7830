"""One at a time: whoever submits the shards of a run, asks them on this machine, or decides what comes after them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from perpend.errors import StoreError
from perpend.ledger.database import exclusive, is_held
from perpend.sweep.facts import folder

_LOOK_S = 1.0


def check_free(run: Path) -> None:
    """StoreError where another process has the turn."""
    if is_held(folder(run)):
        raise _taken(run)


@contextmanager
def turn(run: Path, *, waits: bool = False) -> Iterator[None]:
    """Have the turn for the length of the block. Where another process has it: StoreError, or wait until it ends."""
    place = folder(run)
    place.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        while True:
            try:
                stack.enter_context(exclusive(place))
                break
            except StoreError:
                if not is_held(place):
                    raise
                if not waits:
                    raise _taken(run) from None
            time.sleep(_LOOK_S)
        yield


def _taken(run: Path) -> StoreError:
    return StoreError(
        f"{run}: another process is submitting or asking its shards. Wait until it ends, or stop it with "
        f"'perpend cancel', and submit again."
    )
