"""What the task of one shard does: ask within its lease, say how it stands, leave copies behind, stop when told."""

from __future__ import annotations

import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import FrameType, TracebackType
from typing import Self

from perpend.ask.asking import Outcome
from perpend.ask.sharding import asking_place, place_shard
from perpend.disk import this_machine
from perpend.errors import PerpendError, StoreError
from perpend.ledger.database import exclusive
from perpend.ledger.manifest import MANIFEST
from perpend.ledger.shards import Shard
from perpend.ledger.store import Store
from perpend.spec.runspec import RunSpec
from perpend.sweep import budget
from perpend.sweep.command import lock_place
from perpend.sweep.facts import (
    INTERRUPTED,
    ShardState,
    folder,
    is_cancelled,
    now,
    read_state,
    read_sweep,
    write_state,
)

BEAT_S = 5.0
"""Seconds between two signs of life; also between two copies, unless making one takes more than a twentieth of it."""
_LOOK_S = 0.5
_SHARE = 20
_TOLD_TO_GO = ("SIGTERM", "SIGUSR1", "SIGUSR2")
_LEASED = ("--max-requests", "--max-usd")
Asking = Callable[[RunSpec], Outcome]


def ask_shard(spec: RunSpec, run: Path, part: tuple[Shard, Path | None], ask: Asking) -> Outcome:
    """`ask` a shard (in its scratch folder, if any) with the limits of its lease, again while others leave it more.

    How it stands is kept in RUN/sweep. Where the run was not submitted as a sweep, it is asked once with the limits of
    the spec, and only copies are made. SIGTERM, SIGUSR1 and SIGUSR2, by which clusters say that a task must go, end it
    as Ctrl-C does: what is answered is kept, and 130 is its exit code.
    """
    shard, scratch = part
    sweep = read_sweep(run)
    place = asking_place(run, shard, scratch)
    with _signals():
        if sweep is None:
            if scratch is None:
                return ask(spec)
            with _Watch(run, shard, place, copies=True, is_sweep=False):
                return ask(spec)
        if sweep.shards != shard.of:
            raise StoreError(
                f"{run}: was submitted in {sweep.shards} shards, not {shard.of}; use --shard k/{sweep.shards}"
            )
        locks = lock_place(folder(run) if scratch is None else scratch, shard)
        locks.mkdir(parents=True, exist_ok=True)
        with exclusive(locks), _Watch(run, shard, place, copies=scratch is not None) as watch:
            while True:
                watch.check_cancelled()
                outcome = ask(
                    replace(spec, limits=budget.lease(run, sweep, shard.number).limits(spec.limits.max_minutes))
                )
                leased = outcome.stopped is not None and outcome.stopped.startswith(_LEASED)
                if not leased or not budget.take(run, shard.number):
                    break
            watch.end(outcome)
            if outcome.stopped is None and scratch is not None:
                shutil.rmtree(place, ignore_errors=True)  # it lies in RUN/shards, whole
        if outcome.stopped is None:
            budget.give_back(run, sweep, shard.number, (outcome.spent.requests, outcome.usd))
    return outcome


@contextmanager
def _signals() -> Iterator[None]:
    """The signals of a cluster, as one Ctrl-C; those that come after the first do not disturb the closing."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [getattr(signal, name) for name in _TOLD_TO_GO if hasattr(signal, name)]

    def interrupt(number: int, frame: FrameType | None) -> None:
        for one in numbers:
            signal.signal(one, signal.SIG_IGN)
        signal.default_int_handler(number, frame)

    before = {number: signal.signal(number, interrupt) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Watch:
    """Beside the asking: signs of life, copies for a task that is killed, and an eye on 'perpend cancel'."""

    def __init__(self, run: Path, shard: Shard, place: Path, *, copies: bool, is_sweep: bool = True) -> None:
        self._run, self._place, self._copies, self._is_sweep = run, place, copies, is_sweep
        before = read_state(run, shard.number)
        self._state = ShardState(
            shard.number,
            "running",
            before.planned,
            before.answered,
            before.failed,
            before.requests,
            before.tries + 1,
            answered_before=before.answered,
            began=now(),
            machine=this_machine(),
        )
        self._known = -1
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._loop, daemon=True)

    def __enter__(self) -> Self:
        self._write(self._state)
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._ending.set()
        self._thread.join()
        if error is not None:
            self._count()
            self._copy()
            is_told = isinstance(error, KeyboardInterrupt)
            why = INTERRUPTED if is_told else str(error) or type(error).__name__
            self._write(replace(self._state, state="stopped" if is_told else "failed", why=why))

    def check_cancelled(self) -> None:
        """KeyboardInterrupt where the sweep is cancelled."""
        if is_cancelled(self._run):
            raise KeyboardInterrupt

    def end(self, outcome: Outcome) -> None:
        """Say how the shard ended."""
        self._ending.set()
        self._thread.join()
        self._state = replace(
            self._state,
            state="done" if outcome.stopped is None else "stopped",
            planned=outcome.planned,
            answered=outcome.answered,
            failed=outcome.failed,
            requests=outcome.spent.requests,
            why=outcome.stopped or "",
        )
        self._write(self._state)

    def _loop(self) -> None:
        at = time.monotonic() + BEAT_S
        while not self._ending.wait(_LOOK_S):
            if is_cancelled(self._run):
                os.kill(os.getpid(), signal.SIGTERM)
                return
            if time.monotonic() < at:
                continue
            began = time.monotonic()
            if self._count():
                self._copy()
            self._write(self._state)
            at = time.monotonic() + max(BEAT_S, _SHARE * (time.monotonic() - began))

    def _copy(self) -> None:
        """Put a copy into RUN/shards; one that cannot be made now is made later, at the latest at the end."""
        if self._copies and self._known > 0 and (self._place / MANIFEST).exists():
            with suppress(PerpendError):
                place_shard(self._place, self._run)

    def _count(self) -> bool:
        """Read how far the ledger is; whether that is farther than before."""
        ledger = self._place / "run.db"
        if not ledger.exists():
            return False
        try:
            with Store.open(ledger) as store:
                cells, responses = store.cells(), store.responses()
        except PerpendError:  # it is being put in place, or closed out of its log: the next beat will see it
            return False
        changed, self._known = responses != self._known, responses
        self._state = replace(
            self._state,
            planned=sum(cell.planned for cell in cells),
            answered=sum(cell.answered for cell in cells),
            failed=sum(cell.failed for cell in cells),
        )
        return changed

    def _write(self, state: ShardState) -> None:
        self._state = state
        if self._is_sweep:
            write_state(self._run, replace(state, heard=now()))
