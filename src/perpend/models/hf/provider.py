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
    from perpend.models.hf.generate import Continuation, Prompt

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
    are computed at once and `places` answers generated side by side; less memory halves them. `compile` fuses each
    layer's small operations: half a minute first, then faster by a fifth on a GPU.
    """
    for package in ("torch", "transformers"):
        if find_spec(package) is None:
            raise ModelError(f"hf/{name}: {package} is not installed; run: pip install 'perpend[hf]'")
    if endpoint not in ("chat", "completions"):
        raise SpecError(f"endpoint must be 'chat' or 'completions', not {endpoint!r}")
    for option, value in (("batch_tokens", batch_tokens), ("places", places)):
        if value is not None and value < 1:
            raise SpecError(f"hf/{name}: {option} must be 1 or more, not {value}")
    from perpend.models.hf.checkpoint import compiled, load, weigher

    checkpoint = load(name, endpoint=endpoint, whole_sentence=whole_sentence, device=device, dtype=dtype)
    gpu = checkpoint.model.device.type != "cpu"
    if compile:
        compiled(checkpoint.model)
    scorer = weigher(checkpoint.model, batch_tokens or (16384 if gpu else 2048))
    return Transformers(Path(name).name, checkpoint, scorer, places or (64 if gpu else 4))


@dataclass(slots=True)
class Transformers:
    """Answers with one checkpoint, many requests at a time."""

    label: str
    checkpoint: Checkpoint = field(repr=False)
    weigher: Weigher = field(repr=False)
    places: int

    @property
    def name(self) -> str:
        """'hf/' and the folder's or file's name."""
        return f"hf/{self.label}"

    def fingerprint(self) -> Mapping[str, str]:
        """What identifies the weights, and how choices are scored."""
        how = "trees" if self.weigher.trees else "padded rows: this architecture takes no tree mask"
        return {**self.checkpoint.fingerprint(), "candidates": how}

    def answer(self, requests: Iterator[tuple[int, Request]], budget: Budget) -> Iterator[Answers]:
        """Batches of answers, in any order."""
        while window := [pair for pair in islice(requests, _WINDOW) if budget.may_send()]:
            for answers in self._window(window):
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

    def _window(self, window: Sequence[tuple[int, Request]]) -> Iterator[Answers]:
        self.checkpoint.render_ahead(request for _, request in window)
        weighed = [(key, request) for key, request in window if request.choices]
        if weighed:
            yield self._weigh(weighed)
        spoken = [(key, request) for key, request in window if not request.choices]
        if spoken:
            yield from self._speak(spoken)

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

    def _speak(self, window: Sequence[tuple[int, Request]]) -> Iterator[Answers]:
        started = time.perf_counter()
        prompts: dict[int, Prompt] = {}
        failed: list[tuple[int, Response]] = []
        for key, request in window:
            try:
                prompts[key] = self._prompt(key, request)
            except UnreadableRequestError as error:
                failed.append((key, Response(error=f"hf: {error}")))
        if failed:
            yield failed
        requests = dict(window)
        for batch in self._continued(list(prompts.values())):
            ms = 1000 * (time.perf_counter() - started)
            yield [(one.key, self._response(one, prompts[one.key], requests[one.key], ms)) for one in batch]

    def _continued(self, prompts: Sequence[Prompt]) -> Iterator[list[Continuation]]:
        """Side by side where the model takes a mask and sees all of the text; otherwise one after the other."""
        from perpend.models.hf.generate import Continuer, continued_alone

        reach = self.weigher.reach
        together = [p for p in prompts if len(p.tokens) + p.sampling.max_tokens <= reach]
        if together:
            continuer = Continuer(self.checkpoint.model, self.places, self.checkpoint.ends)
            yield from continuer.run(together)
            self.places = continuer.places
        for prompt in prompts:
            if len(prompt.tokens) + prompt.sampling.max_tokens > reach:
                yield [continued_alone(self.checkpoint.model, prompt, self.checkpoint.ends)]

    def _prompt(self, key: int, request: Request) -> Prompt:
        from perpend.models.hf.generate import Prompt

        stop = request.sampling.stop
        decode = self.checkpoint.tokenizer.decode

        def ends(said: list[int]) -> bool:
            return any(text in decode(said, skip_special_tokens=True) for text in stop)

        return Prompt(key, self.checkpoint.prompt(request), request.sampling, ends if stop else None)

    def _response(self, answer: Continuation, prompt: Prompt, request: Request, ms: float) -> Response:
        text = str(self.checkpoint.tokenizer.decode(answer.tokens, skip_special_tokens=True))
        cut = cut_at(text, request.sampling.stop)
        usage = Usage(len(prompt.tokens), len(answer.tokens), self.checkpoint.fed_sha256(request))
        return Response(clean_text(text if cut is None else cut), finish=answer.finish, usage=usage, ms=ms)
