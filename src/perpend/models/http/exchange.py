"""A model behind an HTTP server: many requests at once, and when to give the server up.

`HttpModel.answer` is an ordinary generator. It starts up to `workers` requests, drives its own event loop until some
of them have ended, starts others in their place, and yields what ended within some milliseconds as one batch. Rendering
the requests and storing the answers thus happen in the caller's thread, between two turns of the loop, with no queue
and no lock.

A request without an answer is set aside until there is a sign of whether it or the server is ill. An answer to another
request is such a sign: then what failed or was refused is data, and what never reached the server is asked again.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Coroutine, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from typing import NamedTuple, TypeVar

from perpend.canon import JSON
from perpend.errors import ModelError
from perpend.models.base import UnreadableRequestError
from perpend.models.http.attempt import RESUME, Attempt, Caller, Fate, HttpCall, NotThereError
from perpend.models.http.link import Link
from perpend.models.http.reply import BadReplyError, parse
from perpend.models.http.steps import Steps
from perpend.spec.keys import Keys
from perpend.spec.model import Answers, Budget
from perpend.types import Request, Response

T = TypeVar("T")

# After a fatal error, how long requests that the server is still answering may take to end.
_DRAIN_S = 5.0
_REFUSED_TO_STOP = 8
_UNREACHABLE_TO_STOP = 3
_DEEPEST = 50
# A commit costs as much as asking: an answer waits this long for others to be stored with it. A request that is in
# flight is as much at risk, and for longer.
_GATHER_S = 0.01
_GATHER_BYTES = 1 << 20


class HttpModel(ABC):
    """A model behind one HTTP route. A provider says what a request and a reply look like."""

    def __init__(self, name: str, path: str, link: Link) -> None:
        self._name = name
        self.path = path
        self.link = link

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._name!r})"

    @property
    def name(self) -> str:
        """'provider/name', as the user wrote it."""
        return self._name

    @property
    def key_variables(self) -> tuple[str, ...]:
        """The environment variable that holds the key; what the runner must keep out of the ledger."""
        return (self.link.api_key_env,) if self.link.api_key_env else ()

    @abstractmethod
    def fingerprint(self) -> Mapping[str, str]:
        """What identifies the weights that answer: digests and versions, never an address, a path or a key."""

    @abstractmethod
    def headers(self, key: str | None) -> dict[str, str]:
        """The headers that carry the key and the protocol's version."""

    @abstractmethod
    def encode(self, request: Request) -> bytes:
        """The body of the HTTP request. ModelError when this protocol cannot ask such a thing at all."""

    @abstractmethod
    def decode(self, request: Request, body: bytes, ms: float) -> Response:
        """The answer in a reply with status 200. BadReplyError when there is none."""

    def steps(self, _request: Request) -> Steps | None:
        """The calls that answer a request which takes another route than `path`, or several; None for all others."""
        return None

    def check(self, request: Request) -> None:
        """ModelError where such a request cannot be sent at all: no key, or the protocol has no place for it."""
        self.headers(self.link.key())
        with suppress(UnreadableRequestError):  # that is an error of its trial
            steps = self.steps(request)
            if steps is None:
                self.encode(request)
            else:
                next(steps)

    def hint(self, status: int) -> str:
        """What the user can do about a status that ends the run."""
        if status in {401, 403}:
            return f"check the key in {self.link.api_key_env}" if self.link.api_key_env else "set api_key_env"
        return "check the account" if status == 402 else "check the model's name and base_url"

    def answer(self, requests: Iterator[tuple[int, Request]], budget: Budget) -> Iterator[Answers]:
        """Ask each (key, request); see `perpend.spec.model.Model`."""
        exchange = _Exchange(self, budget)
        try:
            yield from exchange.answers(requests)
        finally:
            exchange.close()

    def fetch(self, path: str) -> JSON:
        """The JSON that GET answers at `path`, after `base_url` or with `Link.root` before it; ModelError if none."""
        exchange = _Exchange(self, Budget())
        try:
            return exchange.fetch(path)
        finally:
            exchange.close()

    def fetch_if_there(self, path: str) -> JSON:
        """The JSON that GET `path` answers; None where the server has no such route."""
        try:
            return self.fetch(path)
        except NotThereError:
            return None


class _Ended(NamedTuple):
    """A request after its last attempt. `attempt` None: the budget or a fatal error kept it from being sent."""

    key: int
    request: Request
    attempt: Attempt | None


class _Exchange:
    """One call of `answer`: the loop, what is in flight, and what is set aside."""

    def __init__(self, model: HttpModel, budget: Budget) -> None:
        self.model = model
        self.workers = model.link.workers
        self.budget = budget
        self.url = model.link.base + model.path
        self.caller = Caller(model.link, model.headers(model.link.key()), model.hint, budget)
        self.tasks: set[asyncio.Task[_Ended]] = set()
        self.settled: list[asyncio.Task[_Ended]] = []
        self.set_aside: list[tuple[int, Request, Attempt]] = []
        self.again: deque[tuple[int, Request]] = deque()
        self.fatal: ModelError | None = None
        # A notebook already runs a loop in this thread, and one thread runs one loop at a time.
        self.thread = ThreadPoolExecutor(1) if _a_loop_runs_here() else None
        self.loop = asyncio.new_event_loop()
        self.turn: asyncio.Future[None] = self.loop.create_future()
        self.is_due = False

    def close(self) -> None:
        """Cancel what is in flight and leave nothing open, whatever ended the call."""
        self._complete(self._shut())
        if self.thread is not None:
            self.thread.shutdown()
        self.loop.close()

    async def _shut(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        await self.caller.close()

    def _complete(self, coroutine: Coroutine[None, None, T]) -> T:
        if self.thread is None:
            return self.loop.run_until_complete(coroutine)
        return self.thread.submit(self.loop.run_until_complete, coroutine).result()

    def answers(self, requests: Iterator[tuple[int, Request]]) -> Iterator[Answers]:
        """What `HttpModel.answer` yields."""
        batch: list[tuple[int, Response]] = []
        try:
            while self._fill(requests):
                self._turn()
                if (answers := self._judged()) and not batch:
                    self.is_due = False
                    timer = self.loop.call_later(_GATHER_S, self._fall_due)
                batch += answers
                is_full = len(batch) >= self.workers or self.caller.bodies.waiting > _GATHER_BYTES
                if batch and (is_full or self.is_due):
                    timer.cancel()
                    whole, batch = batch, []
                    yield whole
                if not batch:
                    self.caller.bodies.waiting = 0
        except KeyboardInterrupt:
            if batch:  # what is answered is paid for
                yield batch
            raise
        if batch := batch + (self._last() if self.fatal is None else []):
            yield batch
        if self.fatal is not None:
            raise self.fatal

    def _fill(self, requests: Iterator[tuple[int, Request]]) -> bool:
        """Start requests until all workers have one; whether any is in flight."""
        while len(self.tasks) < self.workers and (pair := self._next(requests)) is not None:
            task = self.loop.create_task(self._ask(*pair))
            self.tasks.add(task)
            task.add_done_callback(self._settle)
        return bool(self.tasks)

    def _next(self, requests: Iterator[tuple[int, Request]]) -> tuple[int, Request] | None:
        if self.fatal is not None or self.budget.spent() is not None:
            return None
        return self.again.popleft() if self.again else next(requests, None)

    async def _ask(self, key: int, request: Request) -> _Ended:
        model = self.model
        tokens = 0
        if model.link.tpm is not None:
            # Four characters per token is near enough: what was really used replaces it when the answer is there.
            tokens = sum(len(m.content) for m in request.messages) // 4 + request.sampling.max_tokens
        try:
            if (steps := model.steps(request)) is not None:
                return _Ended(key, request, await self.caller.answered_in(steps, tokens))
            body = model.encode(request)
        except UnreadableRequestError as error:
            return _Ended(key, request, Attempt(Fate.REFUSED, Response(error=str(error))))
        call = HttpCall(self.url, body, tokens, lambda raw, ms: model.decode(request, raw, ms))
        return _Ended(key, request, await self.caller.attempts(call))

    def _turn(self) -> None:
        """Run the loop until some task has settled."""
        self.turn = self.loop.create_future()
        if self.thread is None:
            self.loop.run_until_complete(self.turn)
            return
        ended = self.thread.submit(self.loop.run_until_complete, self.turn)
        try:
            ended.result()
        except KeyboardInterrupt:
            self.loop.call_soon_threadsafe(self._wake)
            wait([ended])
            raise

    def _settle(self, task: asyncio.Task[_Ended]) -> None:
        self.tasks.discard(task)
        self.settled.append(task)
        self._wake()

    def _fall_due(self) -> None:
        self.is_due = True
        self._wake()

    def _wake(self) -> None:
        if not self.turn.done():
            self.turn.set_result(None)

    def _judged(self) -> list[tuple[int, Response]]:
        """What the settled tasks allow to be yielded now."""
        settled, self.settled = self.settled, []
        batch: list[tuple[int, Response]] = []
        for task in settled:
            if task.cancelled():
                continue
            error = task.exception()
            if isinstance(error, ModelError):
                self._give_up(error)
            elif error is not None:
                raise error
            else:
                self._judge(task.result(), batch)
        return batch

    def _judge(self, ended: _Ended, batch: list[tuple[int, Response]]) -> None:
        key, request, attempt = ended
        if attempt is None:
            return
        if attempt.fate is not Fate.ANSWERED and (attempt.fate is not Fate.REFUSED or not self.budget.answered):
            self.set_aside.append((key, request, attempt))
            self._suspect()
            return
        if self.set_aside and self.fatal is None:
            batch += self._release()
        batch.append((key, attempt.response))

    def _release(self) -> list[tuple[int, Response]]:
        """What is set aside, as data; what never reached the server goes back into the queue."""
        released, self.set_aside = self.set_aside, []
        self.again += [(key, request) for key, request, attempt in released if attempt.fate is Fate.UNREACHABLE]
        return [(key, attempt.response) for key, _, attempt in released if attempt.fate is not Fate.UNREACHABLE]

    def _suspect(self) -> None:
        """Give the server up when what is set aside shows that it answers nothing."""
        fates = [attempt.fate for _, _, attempt in self.set_aside]
        if fates.count(Fate.UNREACHABLE) >= _UNREACHABLE_TO_STOP:
            self._give_up(self._ill(Fate.UNREACHABLE))
        elif fates.count(Fate.REFUSED) >= _REFUSED_TO_STOP:
            self._give_up(self._ill(Fate.REFUSED))
        elif len(fates) >= max(16, 2 * self.workers):
            self._give_up(self._ill(fates[-1]))

    def _last(self) -> list[tuple[int, Response]]:
        """No request is left. What failed is data; a server that is gone, or refused everything, is an error.

        One refusal alone is data: it may be the item's own fault.
        """
        fates = [attempt.fate for _, _, attempt in self.set_aside]
        if Fate.UNREACHABLE in fates:
            self.fatal = self._ill(Fate.UNREACHABLE)
        elif fates.count(Fate.REFUSED) > 1:
            self.fatal = self._ill(Fate.REFUSED)
        return self._release() if self.fatal is None else []

    def _ill(self, fate: Fate) -> ModelError:
        words = [attempt.response.error for _, _, attempt in self.set_aside if attempt.fate is fate][-1]
        if fate is Fate.UNREACHABLE:
            return ModelError(f"the server cannot be reached ({words}). Start it, or check base_url; {RESUME}")
        if fate is Fate.REFUSED:
            return ModelError(f"the server refuses every request ({words}). Fix the settings or the server; {RESUME}")
        return ModelError(f"{len(self.set_aside)} requests failed in a row ({words}). Look at the server; {RESUME}")

    def _give_up(self, error: ModelError) -> None:
        if self.fatal is None:
            self.fatal = error
            self.caller.halt.set()
            self.loop.call_later(_DRAIN_S, self._cancel)

    def _cancel(self) -> None:
        for task in self.tasks:
            task.cancel()

    def fetch(self, path: str) -> JSON:
        """What `HttpModel.fetch` returns."""
        values: list[JSON] = []

        def read(raw: bytes, ms: float) -> Response:
            values.append(_scrubbed(parse(raw), self.caller.link.keys()))
            return Response("", ms=ms)

        url = path if path.startswith(self.caller.link.root) else self.caller.link.base + path
        attempt = self._complete(self.caller.attempts(HttpCall(url, None, 0, read)))
        if not values:
            words = attempt.response.error if attempt else "not sent"
            shown = path.removeprefix(self.caller.link.root)
            raise ModelError(f"the server does not say what it runs: GET {shown}: {words}. Start it, or check base_url")
        return values[0]


def _scrubbed(value: JSON, keys: Keys, deep: int = 0) -> JSON:
    """What a server says of itself goes into the manifest: no key in any text or name of it, and no endless nesting."""
    if deep > _DEEPEST:
        raise BadReplyError(f"the reply is nested more than {_DEEPEST} levels deep")
    if isinstance(value, str):
        return keys.scrub(value)
    if isinstance(value, Mapping):
        return {keys.scrub(name): _scrubbed(entry, keys, deep + 1) for name, entry in value.items()}
    return [_scrubbed(entry, keys, deep + 1) for entry in value] if isinstance(value, list) else value


def _a_loop_runs_here() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
