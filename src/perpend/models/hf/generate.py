"""Generation in a fixed number of places: a request that has finished makes room for the next at once.

A padded batch runs as long as its longest answer; here every place is always at work. The device is kept one step
ahead: while it computes a step, the tokens of the step before are read and places are given to the next prompts.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import islice

import torch
from torch import Tensor
from transformers import PreTrainedModel

from perpend.models.hf.attention import on_device, own_attention
from perpend.models.hf.draw import chances, draw, share
from perpend.models.hf.places import Places, rounded
from perpend.models.hf.push import Push, pushed
from perpend.types import Sampling

_REFILL = 4  # a prefill waits until a share of 1/4 of the places is free, or 32, which keep the device busy
_ENOUGH = 32
_AHEAD = 512  # prompts that are looked at together: those that begin alike are admitted together


@dataclass(slots=True)
class Prompt:
    """One request as tokens. `ends` says whether the tokens so far end the answer, for stop texts."""

    key: int
    tokens: tuple[int, ...]
    sampling: Sampling
    ends: Callable[[list[int]], bool] | None = None

    @property
    def need(self) -> int:
        """The most tokens that the prompt and its answer take."""
        return len(self.tokens) + self.sampling.max_tokens


@dataclass(frozen=True, slots=True)
class Continuation:
    """What a prompt was continued with, without an end token; `finish` is 'stop' or 'length'.

    `tokens` None: the device has no memory for it, even alone.
    """

    key: int
    tokens: list[int] | None
    finish: str


@dataclass(slots=True)
class _Answer:
    """An answer that is being made: what was read of it, and how many tokens of it the device was asked for."""

    prompt: Prompt
    tokens: list[int] = field(default_factory=list)
    asked: int = 0
    finish: str | None = None

    def take(self, token: int, ends: frozenset[int]) -> str | None:
        """Take a token; how the answer finishes with it, or None while it continues."""
        if token in ends:
            self.finish = "stop"
            return self.finish
        self.tokens.append(token)
        if self.prompt.ends is not None and self.prompt.ends(self.tokens):
            self.finish = "stop"
        elif len(self.tokens) >= self.prompt.sampling.max_tokens:
            self.finish = "length"
        return self.finish

    @property
    def is_asked(self) -> bool:
        """Whether nothing more is to be computed for it."""
        return self.finish is not None or self.asked >= self.prompt.sampling.max_tokens


class _Drawn:
    """Tokens on their way from the device, with the answers and the rows of `tokens` that are theirs."""

    def __init__(self, answers: Sequence[tuple[int, _Answer]], tokens: Tensor) -> None:
        self.answers = answers
        self.tokens = tokens
        self.event: torch.cuda.Event | None = None
        if tokens.device.type == "cuda":
            self.tokens = torch.empty(tokens.shape, dtype=tokens.dtype, pin_memory=True)
            self.tokens.copy_(tokens, non_blocking=True)
            self.event = torch.cuda.Event()  # type: ignore[no-untyped-call]  # torch does not say
            self.event.record()

    def read(self, ends: frozenset[int]) -> list[Continuation]:
        """Wait for these tokens alone and give each answer its own; those that finished with it."""
        if self.event is not None:
            self.event.synchronize()
        tokens = self.tokens.tolist()
        finished = []
        for row, answer in self.answers:
            if answer.finish is None and (finish := answer.take(tokens[row], ends)) is not None:
                finished.append(Continuation(answer.prompt.key, answer.tokens, finish))
        return finished


class Continuer:
    """Continues prompts with one model, `places` at a time and `batch_tokens` of the prompts at once.

    Running out of memory halves both. The places and what was recorded for them are kept from one run to the next.
    `flat` None: prompts are computed as groves where the model's attention can be ours. `push` steers the answers. No
    place is longer than `reach`, so that an empty one is at no position that no text may have.
    """

    def __init__(  # noqa: PLR0913  # what is told of a model once, and none of it belongs together
        self,
        model: PreTrainedModel,
        places: int,
        ends: frozenset[int],
        batch_tokens: int = 16384,
        *,
        flat: bool | None = None,
        push: Push | None = None,
        reach: int = 1 << 30,
    ) -> None:
        self.model = model
        self.flat, self.push, self.reach = flat, push, reach
        self.places = places
        self.ends = ends
        self.batch_tokens = batch_tokens
        self.kept: Places | None = None

    def run(self, prompts: Iterable[Prompt]) -> Iterator[list[Continuation]]:
        """The continuations, those that finish together in one list. Each prompt once, in any order.

        Prompts are taken from `prompts` as places become free, some hundreds ahead.
        """
        source, left = iter(prompts), dict[int, Prompt]()
        with own_attention(self.model):
            while True:
                try:
                    for finished in self._serve(source, left):
                        for one in finished:
                            del left[one.key]
                        yield finished
                except torch.OutOfMemoryError:
                    self.kept = None
                else:
                    return
                # Only here has the error let go of what it was raised in.
                torch.cuda.empty_cache()
                if self.places == 1:
                    longest = max(left.values(), key=lambda prompt: prompt.need)
                    yield [Continuation(left.pop(longest.key).key, None, "error")]
                self.places, self.batch_tokens = max(1, self.places // 2), max(1, self.batch_tokens // 2)

    def _serve(self, source: Iterator[Prompt], left: dict[int, Prompt]) -> Iterator[list[Continuation]]:
        """Until nothing is left. `left` holds what was taken from `source` and not yet answered."""
        waiting = sorted(left.values(), key=_last_first)
        work: list[_Answer | None] = []
        in_flight: deque[_Drawn] = deque()
        while True:
            if len(waiting) < self.places and (more := {prompt.key: prompt for prompt in islice(source, _AHEAD)}):
                left.update(more)
                waiting = sorted([*waiting, *more.values()], key=_last_first)
            freed = [number for number, answer in enumerate(work) if answer is not None and answer.is_asked]
            for number in freed:
                work[number] = None
            if not any(work) and not in_flight:
                if not waiting:
                    return
                places = self._places(waiting)
                work = [None] * places.count
            elif freed:
                places.rest(freed)
            free = [number for number, answer in enumerate(work) if answer is None]
            taken = self._taken(waiting, len(free), places)
            if taken:
                in_flight.append(self._admit(places, work, free, taken))
            if any(work):
                in_flight.append(self._step(places, work, is_last=not waiting))
            finished: list[Continuation] = []
            while len(in_flight) > any(work):  # the newest is read while the device computes the next
                finished += in_flight.popleft().read(self.ends)
            if finished:
                yield finished

    def _places(self, waiting: Sequence[Prompt]) -> Places:
        """Places for these prompts: those that are kept where they suffice."""
        count, need = min(self.places, len(waiting)), rounded(max(prompt.need for prompt in waiting))
        need = min(need, self.reach)
        if self.kept is None or self.kept.count < count or self.kept.length < need:
            self.kept = None  # before the new ones take memory
            with on_device(self.model):
                self.kept = Places(self.model, count, need, flat=self.flat, push=self.push)
        return self.kept

    def _taken(self, waiting: list[Prompt], free: int, places: Places) -> list[Prompt]:
        """The prompts to admit now: none until a share of the places is free, or where one needs longer places."""
        if (
            not waiting
            or free < min(_ENOUGH, places.count / _REFILL)
            or max(prompt.need for prompt in waiting) > places.length
        ):
            return []
        return [waiting.pop() for _ in range(min(free, len(waiting)))]

    def _admit(
        self, places: Places, work: list[_Answer | None], free: Sequence[int], prompts: Sequence[Prompt]
    ) -> _Drawn:
        """Put prompts to work; each says its first token."""
        numbers = free[: len(prompts)]
        answers = [_Answer(prompt, asked=1) for prompt in prompts]
        for number, answer in zip(numbers, answers, strict=True):
            work[number] = None if answer.is_asked else answer
        texts, samplings = [prompt.tokens for prompt in prompts], [prompt.sampling for prompt in prompts]
        with on_device(self.model):
            tokens = places.admit(numbers, texts, samplings, self.batch_tokens)
            return _Drawn(list(enumerate(answers)), tokens)

    def _step(self, places: Places, work: list[_Answer | None], *, is_last: bool) -> _Drawn:
        """One more token of every place that is at work; the last ones move together, for a step of fewer rows."""
        busy = [(number, answer) for number, answer in enumerate(work) if answer is not None]
        rows = busy[-1][0] + 1
        if is_last and places.rows_for(len(busy)) < places.rows_for(rows):
            rows = len(busy)
            places.move([number for number, _ in busy], range(rows))
            busy = [(number, answer) for number, (_, answer) in enumerate(busy)]
            work[:] = [*(answer for _, answer in busy), *[None] * (len(work) - rows)]
        longest = max(len(answer.prompt.tokens) + answer.asked for _, answer in busy)
        is_warm = any(answer.prompt.sampling.temperature > 0 for _, answer in busy)
        with on_device(self.model):
            drawn = _Drawn(busy, places.step(rows, longest, is_warm=is_warm))
        for _, answer in busy:
            answer.asked += 1
        return drawn


def continued_alone(
    model: PreTrainedModel, prompt: Prompt, ends: frozenset[int], push: Push | None = None
) -> Continuation:
    """One prompt with no cache: the whole text anew for every token. Slow, and right for every architecture."""
    answer = _Answer(prompt)
    try:
        with on_device(model):
            _read_anew(model, answer, ends, push)
    except torch.OutOfMemoryError:
        answer.finish = "error"
    if answer.finish == "error":  # only here has the error let go of what it was raised in
        torch.cuda.empty_cache()
        return Continuation(prompt.key, None, "error")
    return Continuation(prompt.key, answer.tokens, answer.finish or "length")


@torch.inference_mode()
def _read_anew(model: PreTrainedModel, answer: _Answer, ends: frozenset[int], push: Push | None) -> None:
    prompt, sampling = answer.prompt, answer.prompt.sampling
    heat, top_p = (torch.tensor([value]) for value in (sampling.temperature, share(sampling)))
    for chance in torch.from_numpy(chances(sampling)):
        tokens = torch.tensor([[*prompt.tokens, *answer.tokens]], device=model.device)
        at = torch.arange(tokens.shape[1], device=model.device)[None]
        steered = (
            nullcontext()
            if push is None
            else pushed(push.block, push.vector, at >= (0 if push.everywhere else len(prompt.tokens) - 1))
        )
        with steered:
            logits = model(input_ids=tokens, use_cache=False).logits[:, -1]
        if answer.take(int(draw(logits.cpu(), heat, top_p, chance[None])), ends) is not None:
            break


def _last_first(prompt: Prompt) -> tuple[int, tuple[int, ...]]:
    """Waiting prompts are taken from the end: the longest answers first, and those that begin alike together."""
    return prompt.sampling.max_tokens, prompt.tokens
