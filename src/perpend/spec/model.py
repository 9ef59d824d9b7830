"""What a name of a model stands for: something that answers requests within a budget."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from perpend.types import Request, Response, Spent, Usage


@dataclass(slots=True)
class Budget:
    """What a run may spend. A provider asks `may_send` before every attempt, retries included, and reports `spend`.

    So requests never pass their limit, and money or time pass it by at most the requests that are in flight. A provider
    with several workers waits while `must_wait`, so that of money there are no more of these than can be paid for. What
    earlier invocations of the run spent is counted in; only the minutes are those of this one.
    """

    max_requests: int | None = None
    max_usd: float | None = None
    max_minutes: float | None = None
    usd_per_input: float = 0.0
    """US dollars for one input token."""
    usd_per_output: float = 0.0
    sent: int = 0
    usd: float = 0.0
    input: int = 0
    """Tokens as the servers counted them."""
    output: int = 0
    uncounted: int = 0
    """Answers whose tokens, in or out, nobody counted."""
    is_blind: bool = False
    """Something that has a price was not counted, so nobody can say what is spent."""
    answered: int = 0
    """Answers that the run has of the model that is being asked: with some, a refusal is the item's fault."""
    in_flight: int = 0
    """Attempts that were allowed and have not been counted by `spend`."""
    dearest: float = 0.0
    """The highest cost of an attempt that is known, in US dollars; 0 where none is."""
    started: float = field(default_factory=time.monotonic)

    def spent(self) -> str | None:
        """Which limit is reached, in words; None while there is something left."""
        if self.max_requests is not None and self.sent >= self.max_requests:
            return f"--max-requests {self.max_requests} reached"
        if self.max_usd is not None and self.usd >= self.max_usd:
            return f"--max-usd {self.max_usd:g} reached ({self.usd:.4f} spent)"
        if self.max_usd is not None and self.is_blind:
            return f"--max-usd {self.max_usd:g} cannot be kept: answers came without a count of their tokens"
        if self.max_minutes is not None and time.monotonic() - self.started >= 60 * self.max_minutes:
            return f"--max-minutes {self.max_minutes:g} reached"
        return None

    def may_send(self) -> bool:
        """Count one attempt and allow it, or refuse it because a limit is reached."""
        if self.spent() is not None:
            return False
        self.sent += 1
        self.in_flight += 1
        return True

    def must_wait(self) -> bool:
        """Whether an attempt that is in flight must end first: what is left may not pay for one more beside it.

        Before the cost of an attempt is known, one is enough to learn it.
        """
        if self.max_usd is None or not self.in_flight or not (self.usd_per_input or self.usd_per_output):
            return False
        return not self.dearest or self.usd + (self.in_flight + 1) * self.dearest > self.max_usd

    def spend(self, usage: Usage | None, *, is_answer: bool = True) -> None:
        """Count an answer, or a failed attempt, and add what it cost. A failure costs what its server counted."""
        self.answered += is_answer
        tokens_in, tokens_out = (None, None) if usage is None else (usage.input, usage.output)
        self.input += tokens_in or 0
        self.output += tokens_out or 0
        usd = (tokens_in or 0) * self.usd_per_input + (tokens_out or 0) * self.usd_per_output
        self.usd += usd
        self.dearest = max(self.dearest, usd)
        self.in_flight = max(0, self.in_flight - 1)
        if is_answer and (tokens_in is None or tokens_out is None):
            self.uncounted += 1
            is_priced_in, is_priced_out = self.usd_per_input > 0, self.usd_per_output > 0
            self.is_blind |= (tokens_in is None and is_priced_in) or (tokens_out is None and is_priced_out)

    def counted(self) -> Spent:
        """What was spent so far."""
        return Spent(self.sent, self.input, self.output, self.uncounted)


Answers: TypeAlias = Sequence[tuple[int, Response]]


class Model(Protocol):
    """Answers requests. Concurrency, batching, rate limits and retries live inside.

    `answer` pulls from `requests` only as fast as it can work, and yields batches of (key, Response), each as soon as
    it is there, in any order, each key that it took once. The runner commits every batch before it asks for the next,
    so nothing that was paid for waits in memory. A key whose attempt the budget refuses is not yielded: the trial
    stays unanswered.
    One failing request is a Response with an error; only what makes every further request pointless (no key, 401,
    unknown model, a server that is gone) raises ModelError.
    """

    @property
    def name(self) -> str:
        """'provider/name', as the user wrote it."""
        ...

    def fingerprint(self) -> Mapping[str, str]:
        """What identifies the weights that answer: digests and versions, never an address, a path or a key."""
        ...

    def answer(self, requests: Iterator[tuple[int, Request]], budget: Budget) -> Iterator[Answers]:
        """Ask each (key, request)."""
        ...
