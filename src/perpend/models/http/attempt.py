"""One request over HTTP: its attempts, the pauses between them, and what each reply means.

What becomes of a request:

- answered: HTTP 200 and a body that the provider can read;
- refused: a 4xx. It may concern this item only;
- failed: after all retries 408, 409, 425, 429, 5xx, a time-out, a reset, or a 200 that holds no answer;
- unreachable: no connection after all retries.

401, 402, 403, 404, 405, a redirect or an untrusted certificate would meet every other request too: ModelError.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from perpend.canon import JSON
from perpend.errors import ModelError
from perpend.models.http.body import Bodies
from perpend.models.http.link import Link
from perpend.models.http.reply import BadReplyError, answered, complaint, retry_after, usage_in
from perpend.models.http.steps import Steps, counted, together
from perpend.spec.model import Budget
from perpend.types import Response, Usage

if TYPE_CHECKING:
    import aiohttp

RESUME = "what was answered is stored; run the same command again to resume"

_RETRIED = frozenset({408, 409, 425, 429})
_HOPELESS = frozenset({401, 402, 403, 404, 405})
_CONNECT_S = 10.0
_LOOK_S = 0.02
_LONGEST_BACKOFF_S = 30.0
# A server that asks for a longer pause (a daily quota) is better asked by a resumed run.
_LONGEST_WAIT_S = 600.0
# The estimate of four characters per token is short by less than this in any script.
_FACTOR = 16


class NotThereError(ModelError):
    """HTTP 404 or 405: the server does not have what was asked for."""


class Fate(Enum):
    """What became of a request; the module's docstring says what each means."""

    ANSWERED = "answered"
    REFUSED = "refused"
    FAILED = "failed"
    UNREACHABLE = "unreachable"


class Attempt(NamedTuple):
    """How one attempt ended, and whether another one makes sense (after `wait` seconds, if the server said so)."""

    fate: Fate
    response: Response
    again: bool = False
    wait: float | None = None


class HttpCall(NamedTuple):
    """What to send: POST `body`, or GET where it is None. `tokens` is what it may cost; `read` gets body and ms."""

    url: str
    body: bytes | None
    tokens: int
    read: Callable[[bytes, float], Response]


@dataclass(slots=True)
class Pace:
    """Evenly spaced units, `per_minute` of them in a minute, with no bursts. None: no limit."""

    per_minute: float | None
    free_at: float = 0.0

    def reserve(self, units: float, now: float) -> float:
        """Book the next units; the seconds to wait until they may be used."""
        if self.per_minute is None:
            return 0.0
        pause = max(0.0, self.free_at - now)
        self.free_at = now + pause + 60.0 * units / self.per_minute
        return pause

    def correct(self, booked: float, used: float) -> None:
        """Give back what was booked and not used, or book what was used beyond it."""
        if self.per_minute is not None:
            self.free_at += 60.0 * (used - booked) / self.per_minute


class Caller:
    """Sends calls to one server. `halt` set: no further attempt begins."""

    def __init__(self, link: Link, headers: Mapping[str, str], hint: Callable[[int], str], budget: Budget) -> None:
        self.link = link
        self.headers = {"Content-Type": "application/json", **headers}
        self.hint = hint
        self.budget = budget
        self.proxy = link.proxy()
        self.requests_pace = Pace(link.rpm)
        self.tokens_pace = Pace(link.tpm)
        self.not_before = 0.0
        self.halt = asyncio.Event()
        self.bodies = Bodies()
        self.session: aiohttp.ClientSession | None = None

    def connect(self) -> aiohttp.ClientSession:
        """Make what opens connections; inside a running loop only."""
        import aiohttp  # 0.2 s, so only when there is something to ask

        limits = aiohttp.ClientTimeout(total=self.link.timeout_s, sock_connect=min(_CONNECT_S, self.link.timeout_s))
        return aiohttp.ClientSession(
            # A connection for each request: on one that is kept, a late second reply to the question before would be
            # the answer to this one, and nothing that all servers send tells which question a reply is for.
            connector=aiohttp.TCPConnector(limit=0, force_close=True),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=self.headers,
            timeout=limits,
            auto_decompress=False,
            skip_auto_headers=("Accept-Encoding", "User-Agent"),
        )

    async def close(self) -> None:
        """Close the connections."""
        if self.session is not None:
            await self.session.close()
            # One more turn, in which the transports see that they are closed.
            await asyncio.sleep(0)

    async def attempts(self, call: HttpCall) -> Attempt | None:
        """The last of up to 1 + `retries` attempts; None when the budget or a halt came before an answer."""
        number = 0
        while True:
            number += 1
            if not await self._admitted(call.tokens):
                return None
            attempt = await self._attempt(call)
            if attempt.fate is Fate.ANSWERED:
                self._account(attempt.response, call.tokens)
                return attempt
            self.budget.spend(attempt.response.usage, is_answer=False)
            if not attempt.again or number > self.link.retries:
                break
            await self._back_off(number, attempt.wait)
        error = attempt.response.error or ""
        error = self.link.scrub(f"{number} attempts, the last: {error}" if number > 1 else error)
        return attempt._replace(response=replace(attempt.response, error=error))

    async def answered_in(self, steps: Steps, tokens: int) -> Attempt | None:
        """The answer after the last of several calls, or what became of the first one that was not answered."""
        replies: list[JSON] = []
        usages: list[Usage | None] = []
        ms = 0.0

        def read(raw: bytes, took: float) -> Response:
            replies.append(answered(raw))
            return Response("", usage=counted(replies[-1]), ms=took)

        try:
            step = next(steps)
            while True:
                attempt = await self.attempts(HttpCall(step.url, json.dumps(step.body).encode(), tokens, read))
                if attempt is None or attempt.fate is not Fate.ANSWERED:
                    return _advised(attempt, step.advice)
                usages.append(attempt.response.usage)
                ms += attempt.response.ms or 0.0
                step = steps.send(replies[-1])
        except StopIteration as end:
            answer: Response = end.value
            digest = answer.usage.prompt_sha256 if answer.usage else None
            return Attempt(Fate.ANSWERED, replace(answer, usage=together(usages, digest), ms=ms))
        except BadReplyError as error:
            return Attempt(Fate.FAILED, Response(error=self.link.scrub(str(error)), ms=ms))

    async def _admitted(self, tokens: int) -> bool:
        """Wait for the rate limits and for what the server asked; then whether one more attempt may begin."""
        now = time.monotonic()
        pause = max(self.requests_pace.reserve(1, now), self.tokens_pace.reserve(tokens, now), self.not_before - now)
        while pause > 0 and not self.halt.is_set():
            await self._pause(pause)
            pause = self.not_before - time.monotonic()
        while self.budget.must_wait() and self.budget.spent() is None and not self.halt.is_set():
            await asyncio.sleep(_LOOK_S)
        return not self.halt.is_set() and self.budget.may_send()

    def _account(self, response: Response, tokens: int) -> None:
        usage = response.usage
        self.budget.spend(usage)
        if usage is not None:
            used = (usage.input or 0) + (usage.output or 0)
            # A server that counts wildly must not stop the run for days.
            self.tokens_pace.correct(tokens, min(used, _FACTOR * tokens))

    async def _back_off(self, number: int, asked: float | None) -> None:
        """Wait before the next attempt, with jitter so that the workers do not return all at once."""
        if asked is not None:
            # What the server asks of one worker holds for all of them.
            self.not_before = max(self.not_before, time.monotonic() + asked)
        longest = min(_LONGEST_BACKOFF_S, self.link.backoff_s * 2 ** (number - 1))
        await self._pause(random.uniform(0.5, 1.0) * longest)

    async def _pause(self, seconds: float) -> None:
        """Sleep, but wake when the caller halts or the budget runs out."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0 and not self.halt.is_set() and self.budget.spent() is None:
            try:
                await asyncio.wait_for(self.halt.wait(), min(left, 1.0))
            except TimeoutError:
                continue

    async def _attempt(self, call: HttpCall) -> Attempt:
        started = time.perf_counter()
        sent = await self._send(call)
        if isinstance(sent, Attempt):
            return sent
        status, headers, raw = sent
        ms = (time.perf_counter() - started) * 1000.0
        if not 200 <= status < 300:
            return self._verdict(status, headers, raw, ms)
        try:
            return Attempt(Fate.ANSWERED, call.read(raw, ms))
        except BadReplyError as error:
            failure = Response(error=str(error), usage=usage_in(raw), ms=ms)
            # What a server says of itself stays as it is: then base_url is wrong.
            return Attempt(Fate.FAILED, failure, again=call.body is not None)

    async def _send(self, call: HttpCall) -> tuple[int, Mapping[str, str], bytes] | Attempt:
        """Status, headers and whole body of the reply, or the attempt that ended without them."""
        import aiohttp  # loaded by `connect`

        if self.session is None:
            self.session = self.connect()
        method = "GET" if call.body is None else "POST"
        fate = Fate.FAILED
        try:
            reply = await self.session.request(
                method, call.url, data=call.body, allow_redirects=False, proxy=self.proxy
            )
            return reply.status, reply.headers, await self.bodies.read(reply)
        except aiohttp.ClientConnectorCertificateError:
            raise ModelError("the server's TLS certificate is not trusted; check base_url") from None
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            fate = Fate.UNREACHABLE
            words = f"cannot connect: {_reason(error)}"
        except TimeoutError:
            words = f"no whole reply within {self.link.timeout_s:g} s"
        except (aiohttp.ClientError, OSError) as error:
            words = f"connection lost: {type(error).__name__}"
        except BadReplyError as error:
            words = str(error)
        return Attempt(fate, Response(error=words), again=True)

    def _verdict(self, status: int, headers: Mapping[str, str], raw: bytes, ms: float) -> Attempt:
        """What a status other than 2xx means."""
        if status < 300:
            raise ModelError(f"HTTP {status}: the server does not answer as the protocol says; check base_url")
        if status < 400:
            raise ModelError(f"HTTP {status}: the server redirects, and a key must not follow; give the final base_url")
        said, code = complaint(raw)
        words = self.link.scrub(f"HTTP {status}: {said}")
        # OpenAI says 429 both for 'slower' and for 'your account is empty'.
        status = 402 if code == "insufficient_quota" else status
        if status in _HOPELESS:
            kind = NotThereError if status in (404, 405) else ModelError
            raise kind(f"{words}; {self.hint(status)}")
        if status not in _RETRIED and status < 500:
            return Attempt(Fate.REFUSED, Response(error=words, usage=usage_in(raw), ms=ms))
        asked = retry_after(headers)
        if asked is not None and asked > _LONGEST_WAIT_S:
            raise ModelError(f"{words}; the server asks to wait {asked:.0f} s. Wait; {RESUME}")
        return Attempt(Fate.FAILED, Response(error=words, usage=usage_in(raw), ms=ms), again=True, wait=asked)


def _advised(attempt: Attempt | None, advice: str) -> Attempt | None:
    """A refusal with what can be done about it."""
    if attempt is None or attempt.fate is not Fate.REFUSED or not advice:
        return attempt
    return attempt._replace(response=replace(attempt.response, error=f"{attempt.response.error}; {advice}"))


def _reason(error: OSError) -> str:
    """The operating system's words for a failed connection, which hold no address, unlike the error's own text."""
    return os.strerror(error.errno) if error.errno and error.errno > 0 else type(error).__name__
