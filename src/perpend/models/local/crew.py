"""Several workers at one stream of requests: what a dead one was working on is asked again by a new one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import IO

from perpend.errors import ModelError
from perpend.models.local.engine import Setup
from perpend.models.local.worker import FATAL, READY, read_response_line, request_line, setup_arguments
from perpend.spec.model import Answers, Budget
from perpend.types import Request, Response

# One that is worked on and one that waits, so that no worker idles while the run commits an answer.
_QUEUE = 2
# A request on which this many workers died is answered with an error.
_DEATHS = 3
# After this many dead workers without an answer between, the requests are not the cause.
_DEATHS_IN_A_ROW = 12
_START = "import sys; from perpend.models.local.worker import main; main(sys.argv[1:])"


@dataclass(slots=True)
class _Job:
    """A request, and how many workers died on it."""

    key: int
    request: Request
    deaths: int = 0


@dataclass(slots=True, eq=False)
class _Worker:
    """A worker process, what it says on standard error, and the requests in its queue, oldest first."""

    process: subprocess.Popen[bytes]
    log: IO[bytes]
    queue: deque[_Job] = field(default_factory=deque)
    is_ready: bool = False


class Crew:
    """Starts workers as requests come, at most `size`, and ends them all when the stream or the run does."""

    def __init__(self, setup: Setup, size: int) -> None:
        self._setup, self._size = setup, size
        self._workers: list[_Worker] = []
        self._heard: SimpleQueue[tuple[_Worker, bytes | None]] = SimpleQueue()
        self._again: deque[_Job] = deque()
        self._deaths_in_a_row = 0
        self._is_spent = False

    def answer(self, requests: Iterator[tuple[int, Request]], budget: Budget) -> Iterator[Answers]:
        """Whatever is answered, as soon as it is."""
        try:
            self._feed(requests, budget)
            while any(worker.queue for worker in self._workers):
                batch = self._listen(budget)
                # Before the run commits the batch, so that the workers do not wait for the disk.
                self._feed(requests, budget)
                if batch:
                    yield batch
        finally:
            # All at once: a second Ctrl-C while waiting for the first must not spare the others.
            for worker in self._workers:
                worker.process.kill()
            for worker in self._workers:
                _end(worker)

    def _feed(self, requests: Iterator[tuple[int, Request]], budget: Budget) -> None:
        """Give each worker one request, then each a second one, and start those that are missing."""
        for depth in range(1, _QUEUE + 1):
            for number in range(self._size):
                if number < len(self._workers) and len(self._workers[number].queue) >= depth:
                    continue
                job = self._next(requests, budget)
                if job is None:
                    return
                if number >= len(self._workers):  # then it is the next one: the earlier numbers are there
                    self._workers.append(self._start())
                self._send(self._workers[number], job)

    def _next(self, requests: Iterator[tuple[int, Request]], budget: Budget) -> _Job | None:
        if self._is_spent:
            return None
        job = self._again.popleft() if self._again else None
        if job is None:
            taken = next(requests, None)
            job = None if taken is None else _Job(*taken)
        if job is not None and budget.may_send():
            return job
        self._is_spent = job is not None
        return None

    def _start(self) -> _Worker:
        # The folders that this process imports from; -P keeps the current one out, where a file may be called json.py.
        paths = os.pathsep.join(path for path in sys.path if path)
        log = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the worker; _end closes it
        process = subprocess.Popen(  # noqa: S603 - this Python with our own module
            [sys.executable, "-P", "-c", _START, *setup_arguments(self._setup)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env={**os.environ, "PYTHONPATH": paths},
            process_group=0,  # Ctrl-C is for the run, which ends its workers itself
        )
        worker = _Worker(process, log)
        threading.Thread(target=self._hear, args=(worker,), daemon=True).start()
        return worker

    def _hear(self, worker: _Worker) -> None:
        """Pass on what a worker says until it ends; half a line is a death in the middle of a word."""
        assert worker.process.stdout is not None
        for line in worker.process.stdout:
            if line.endswith(b"\n"):
                self._heard.put((worker, line))
        worker.process.stdout.close()
        self._heard.put((worker, None))

    def _send(self, worker: _Worker, job: _Job) -> None:
        assert worker.process.stdin is not None
        worker.queue.append(job)
        # A worker that is gone already is heard of as one that ended.
        with suppress(OSError):
            worker.process.stdin.write(request_line(job.key, job.request))
            worker.process.stdin.flush()

    def _listen(self, budget: Budget) -> list[tuple[int, Response]]:
        """Wait for something, then take everything that is there."""
        heard = [self._heard.get()]
        with suppress(Empty):
            while True:
                heard.append(self._heard.get_nowait())
        answers: list[tuple[int, Response]] = []
        for worker, line in heard:
            if line is None:
                answers += self._bury(worker)
            elif line == READY:
                worker.is_ready = True
            elif line.startswith(FATAL):
                raise ModelError(json.loads(line.removeprefix(FATAL)))
            else:
                answers.append(read_response_line(line))
                worker.queue.popleft()
                self._deaths_in_a_row = 0
        for _, response in answers:
            budget.spend(response.usage, is_answer=response.error is None)
        return answers

    def _bury(self, worker: _Worker) -> list[tuple[int, Response]]:
        """Put the queue of a dead worker back in line; what it died on for the last time is answered with an error."""
        self._workers.remove(worker)
        code = worker.process.wait()
        complaint = _complaint(worker.log)
        _end(worker)
        if not worker.is_ready and code > 0:
            raise ModelError(f"llama.cpp cannot load {self._setup.path.name}: {complaint}")
        self._deaths_in_a_row += 1
        if self._deaths_in_a_row >= _DEATHS_IN_A_ROW:
            raise ModelError(
                f"workers died {self._deaths_in_a_row} times without an answer between, the last by {_cause(code)} "
                f"({complaint}); is there enough memory? Fewer workers need less. The run can be resumed."
            )
        answers: list[tuple[int, Response]] = []
        if worker.queue and worker.is_ready:
            first = worker.queue[0]
            first.deaths += 1
            if first.deaths >= _DEATHS:
                error = f"{_DEATHS} workers died on this request, the last by {_cause(code)}"
                answers.append((worker.queue.popleft().key, Response(error=error)))
        self._again.extendleft(reversed(worker.queue))
        return answers


def _end(worker: _Worker) -> None:
    """Kill it: it holds nothing that is not in the run. Its reader closes the other pipe."""
    worker.process.kill()
    worker.process.wait()
    if worker.process.stdin is not None:
        with suppress(OSError):
            worker.process.stdin.close()
    worker.log.close()


def _cause(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit {code}"


def _complaint(log: IO[bytes]) -> str:
    """What a worker said last, or the engine's first error, which names the reason."""
    log.seek(0)
    lines = log.read()[-20_000:].decode("utf-8", "replace").strip().splitlines()
    errors = [line.partition(" E ")[2].strip() for line in lines if " E " in line]
    return errors[0] if errors else lines[-1] if lines else "it said nothing"
