"""Work on all cores: fresh processes that take parts of the work, and give them back in order."""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from types import ModuleType
from typing import TypeVar

from perpend.errors import PerpendError

_Part = TypeVar("_Part")
_Done = TypeVar("_Done")
_AHEAD = 4
"""Parts per process that are under way at once: enough that none waits, few enough that memory stays flat."""
AS_COLUMNS_TWICE = 3_000_000
"""More trials than this are read as columns by one process at a time: two would hold half a gigabyte each."""
_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def cores() -> int:
    """How many cores this process may use, which a cluster's limits can make fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def processes(workers: int | None, trials: int, alone: int) -> ProcessPoolExecutor | None:
    """A pool of fresh processes, by default one for each core; None where one process is enough.

    Fresh, because a fork copies locks of threads. `alone`: fewer trials than this are done before others would have
    started. Use it with `with`.
    """
    count = workers or cores()
    return None if count < 2 or trials < alone else _started(count)


def one_more(size: int, alone: int) -> ProcessPoolExecutor | None:
    """One fresh process for work of this size beside one's own; None where it is less than `alone`, or for one core."""
    return None if cores() < 2 or size < alone else _started(1)


def _started(count: int) -> ProcessPoolExecutor | None:
    if multiprocessing.current_process().daemon:  # it may start none
        return None
    pool = ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("spawn"))
    with _apart():
        while len(pool._processes or ()) < count:  # a task starts a process while none is idle
            pool.submit(time.sleep, 0.01)
    return pool


@contextmanager
def _apart() -> Iterator[None]:
    """What is started now imports perpend only, and not the user's script again, which may have no main guard.

    One thread for linear algebra each, unless the user says otherwise: the processes have the cores.
    """
    main, before = sys.modules["__main__"], dict(os.environ)
    sys.modules["__main__"] = ModuleType("__main__")
    for name in _THREADS:
        os.environ.setdefault(name, "1")
    try:
        yield
    finally:
        sys.modules["__main__"] = main
        for name in _THREADS:
            if name not in before:
                del os.environ[name]


def in_order(
    pool: ProcessPoolExecutor | None, work: Callable[[_Part], _Done], parts: Iterable[_Part]
) -> Iterator[_Done]:
    """What `work` makes of each part, in the order of the parts, by the pool or by this process.

    A process that dies is a PerpendError. Few parts are under way at once, so that memory does not grow with them.
    """
    if pool is None:
        yield from map(work, parts)
        return
    running: deque[Future[_Done]] = deque()
    most = _AHEAD * len(pool._processes or (1,))
    try:
        for part in parts:
            running.append(pool.submit(work, part))
            if len(running) >= most:
                yield outcome(running.popleft())
        while running:
            yield outcome(running.popleft())
    finally:
        for future in running:
            future.cancel()


def outcome(future: Future[_Done]) -> _Done:
    """What another process made. One that died is a PerpendError."""
    try:
        return future.result()
    except BrokenProcessPool as error:
        raise PerpendError("a process that helped died. Too little memory? Try again with --workers 1") from error
