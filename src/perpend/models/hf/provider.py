"""The `hf` provider: candidates scored as trees, answers generated in places that are always at work."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from perpend.canon import clean_text
from perpend.errors import ModelError, SpecError
from perpend.models.base import UnreadableRequestError, cut_at, likeliest
from perpend.spec.model import Answers, Budget
from perpend.types import ChoiceLogprob, Request, Response, Usage

if TYPE_CHECKING:
    from perpend.models.hf.candidates import Weigher
    from perpend.models.hf.checkpoint import Checkpoint
    from perpend.models.hf.generate import Continuation, Continuer, Prompt
    from perpend.models.hf.push import Push

_WINDOW = 512  # requests that are looked at together: enough to fill batches, few enough to keep in memory


def model(  # noqa: PLR0913  # each is an option of run.toml
    name: str,
    *,
    endpoint: str = "chat",
    whole_sentence: bool = False,
    device: str | None = None,
    dtype: str | None = None,
    batch_tokens: int | None = None,
    places: int | None = None,
    compile: bool = False,  # noqa: A002  # the word that torch uses for it
) -> Transformers:
    """A folder of safetensors, a GGUF file, or 'smollm2'; nothing is fetched.

    `endpoint` 'completions' feeds the messages' contents without the chat template; there a choice is scored in the
    message's blank '___', or after its end, and `whole_sentence` scores what follows the blank too. `batch_tokens`
    are computed at once and `places` answers generated side by side; less memory halves them. `compile` has torch's
    compiler fuse each layer's small operations, where otherwise our own kernels do (see `fused`).
    """
    for package in ("torch", "transformers"):
        if find_spec(package) is None:
            raise ModelError(f"hf/{name}: {package} is not installed; run: pip install 'perpend[hf]'")
    if endpoint not in ("chat", "completions"):
        raise SpecError(f"endpoint must be 'chat' or 'completions', not {endpoint!r}")
    for option, value in (("batch_tokens", batch_tokens), ("places", places)):
        if value is not None and value < 1:
            raise SpecError(f"hf/{name}: {option} must be 1 or more, not {value}")
    from perpend.models.hf.abilities import weigher
    from perpend.models.hf.checkpoint import compiled, load
    from perpend.models.hf.fused import fuse

    checkpoint = load(name, endpoint=endpoint, whole_sentence=whole_sentence, device=device, dtype=dtype)
    gpu = checkpoint.model.device.type != "cpu"
    if compile:
        compiled(checkpoint.model)
    else:
        fuse(checkpoint.model)
    scorer = weigher(checkpoint.model, batch_tokens or (16384 if gpu else 2048))
    return Transformers(Path(name).name, checkpoint, scorer, places or (64 if gpu else 4))


@dataclass(slots=True)
class Transformers:
    """Answers with one checkpoint, many requests at a time."""

    label: str
    checkpoint: Checkpoint = field(repr=False)
    weigher: Weigher = field(repr=False)
    places: int
    continuer: Continuer | None = field(default=None, repr=False)
    push: Push | None = field(default=None, repr=False)
    """What steers its answers."""

    @property
    def name(self) -> str:
        """'hf/' and the folder's or file's name."""
        return f"hf/{self.label}"

    def fingerprint(self) -> Mapping[str, str]:
        """What identifies the weights, and how choices are scored."""
        how = (
            "trees" if self.weigher.trees
            else "padded rows: this architecture takes no tree mask" if self.weigher.padded
            else "single rows: this architecture computes something else in a batch"
        )  # fmt: skip
        return {**self.checkpoint.fingerprint(), "candidates": how}

    def answer(self, requests: Iterator[tuple[int, Request]], budget: Budget) -> Iterator[Answers]:
        """Batches of answers, in any order."""
        windows = map(self._sorted, _windows(requests, budget))
        for answers in self._answers(windows):
            for _, response in answers:
                budget.spend(response.usage, is_answer=response.error is None)
            yield answers

    def text_logprobs(self, texts: Sequence[str]) -> list[list[float]]:
        """The log-likelihood, in nats, of every token of each text given those before it: what perplexity is made of.

        A text with no token, or one that does not fit into the model or its memory, is a ModelError.
        """
        try:
            logprobs = self.weigher.logprobs([[self.checkpoint.text(text)] for text in texts])
        except UnreadableRequestError as error:
            raise ModelError(f"{self.name}: {error}") from None
        if any(part is None for (part,) in logprobs):
            raise ModelError(f"{self.name}: a text does not fit into the memory of the device")
        return [part.tolist() for (part,) in logprobs if part is not None]

    def _sorted(self, window: Sequence[tuple[int, Request]]) -> _Window:
        self.checkpoint.render_ahead(request for _, request in window)
        parts = _Window([pair for pair in window if pair[1].choices])
        for key, request in window:
            if request.choices:
                continue
            try:
                prompt = self._prompt(key, request)
            except UnreadableRequestError as error:
                parts.failed.append((key, Response(error=f"hf: {error}")))
                continue
            # Side by side where the model takes a mask and sees all of the text; otherwise one after the other.
            is_one_of_many = self.weigher.steps and prompt.need <= self.weigher.reach
            spoken = parts.together if is_one_of_many else parts.alone
            spoken.append(_Spoken(request, prompt, self.checkpoint.fed_sha256(request)))
        return parts

    def _answers(self, windows: Iterator[_Window]) -> Iterator[Answers]:
        """Answers as they come. Windows with nothing but prompts for the places follow each other without a pause."""
        from perpend.models.hf.generate import continued_alone

        window = next(windows, None)
        while window is not None:
            if window.weighed:
                yield self._weigh(window.weighed)
            if window.failed:
                yield window.failed
            for spoken in window.alone:
                answer = continued_alone(self.checkpoint.model, spoken.prompt, self.checkpoint.ends, self.push)
                yield [(answer.key, self._response(answer, spoken))]
            stream = _Stream(window, windows)
            if window.together:
                yield from self._speak(stream)
            window = stream.then if stream.is_over else next(windows, None)

    def _weigh(self, window: Sequence[tuple[int, Request]]) -> Answers:
        started = time.perf_counter()
        answers: list[tuple[int, Response]] = []
        groups, readable = [], []
        for key, request in window:
            try:
                groups.append(self.checkpoint.passages(request))
                readable.append((key, request))
            except UnreadableRequestError as error:
                answers.append((key, Response(error=f"hf: {error}")))
        logprobs = self.weigher.logprobs(groups)
        ms = 1000 * (time.perf_counter() - started) / len(window)
        for (key, request), group, parts in zip(readable, groups, logprobs, strict=True):
            if any(part is None for part in parts):
                answers.append((key, Response(error="hf: out of memory, even alone")))
                continue
            scores = tuple(
                ChoiceLogprob(float(part.sum()) if len(part) else None, len(part)) for part in parts if part is not None
            )
            counted = sum(score.tokens for score in scores)
            usage = Usage(group[0].start, counted, self.checkpoint.fed_sha256(request))
            text = likeliest(request.choices, scores)
            answers.append((key, Response(text, None, scores, "stop", usage, ms)))
        return answers

    def _speak(self, stream: _Stream) -> Iterator[Answers]:
        from perpend.models.hf.generate import Continuer

        if self.continuer is None:
            ends, tokens = self.checkpoint.ends, self.weigher.batch_tokens
            flat, reach = self.weigher.is_flat, self.weigher.reach
            self.continuer = Continuer(
                self.checkpoint.model, self.places, ends, tokens, flat=flat, push=self.push, reach=reach
            )
        for batch in self.continuer.run(stream):
            yield [(one.key, self._response(one, stream.open.pop(one.key))) for one in batch]
        self.places = self.continuer.places

    def _prompt(self, key: int, request: Request) -> Prompt:
        from perpend.models.hf.generate import Prompt

        stop = request.sampling.stop
        decode = self.checkpoint.tokenizer.decode

        def ends(said: list[int]) -> bool:
            return any(text in decode(said, skip_special_tokens=True) for text in stop)

        return Prompt(key, self.checkpoint.prompt(request), request.sampling, ends if stop else None)

    def _response(self, answer: Continuation, spoken: _Spoken) -> Response:
        if answer.tokens is None:
            return Response(error="hf: out of memory, even alone")
        prompt, request = spoken.prompt, spoken.request
        text = str(self.checkpoint.tokenizer.decode(answer.tokens, skip_special_tokens=True))
        cut = cut_at(text, request.sampling.stop)
        usage = Usage(len(prompt.tokens), len(answer.tokens), spoken.fed_sha256)
        ms = 1000 * (time.perf_counter() - spoken.started)
        return Response(clean_text(text if cut is None else cut), finish=answer.finish, usage=usage, ms=ms)


@dataclass(frozen=True, slots=True)
class _Spoken:
    """A request that is answered by generation."""

    request: Request
    prompt: Prompt
    fed_sha256: str
    started: float = field(default_factory=time.perf_counter)


@dataclass(frozen=True, slots=True)
class _Window:
    """Requests that were looked at together, by how they are answered."""

    weighed: list[tuple[int, Request]]
    failed: list[tuple[int, Response]] = field(default_factory=list)
    alone: list[_Spoken] = field(default_factory=list)
    together: list[_Spoken] = field(default_factory=list)


@dataclass(slots=True)
class _Stream:
    """The prompts of a window and of those after it, up to one that has something else to be answered as well."""

    window: _Window
    windows: Iterator[_Window]
    open: dict[int, _Spoken] = field(default_factory=dict)
    then: _Window | None = None
    """The window at which it ended; None where there was no other."""
    is_over: bool = False

    def __iter__(self) -> Iterator[Prompt]:
        yield from self._prompts(self.window)
        for window in self.windows:
            if window.weighed or window.failed or window.alone:
                self.then = window
                break
            yield from self._prompts(window)
        self.is_over = True

    def _prompts(self, window: _Window) -> Iterator[Prompt]:
        for spoken in window.together:
            self.open[spoken.prompt.key] = spoken
            yield spoken.prompt


def _windows(requests: Iterator[tuple[int, Request]], budget: Budget) -> Iterator[list[tuple[int, Request]]]:
    while window := [pair for pair in islice(requests, _WINDOW) if budget.may_send()]:
        yield window
