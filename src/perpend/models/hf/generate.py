"""Generation in a fixed number of places: a request that has finished makes room for the next at once.

A padded batch runs as long as its longest answer; here every place is always at work. The keys and values of a place
are its own row of one cache, so places may stand at different lengths. On a GPU one step is recorded as a graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor
from transformers import Cache, PreTrainedModel

from perpend.models.hf.candidates import read_at
from perpend.types import Sampling

_ROUND = 64  # cache lengths are multiples of this
_REFILL = 8  # a prefill waits until a share of 1/8 of the places is free, or nothing else is to be done


@dataclass(slots=True)
class Prompt:
    """One request as tokens. `ends` says whether the tokens so far end the answer, for stop texts."""

    key: int
    tokens: tuple[int, ...]
    sampling: Sampling
    ends: Callable[[list[int]], bool] | None = None


@dataclass(frozen=True, slots=True)
class Continuation:
    """What a prompt was continued with, without an end token; `finish` is 'stop' or 'length'."""

    key: int
    tokens: list[int]
    finish: str


@dataclass(slots=True)
class _Place:
    """A place that is at work: what it has said, and where its draws come from."""

    prompt: Prompt
    rng: np.random.Generator
    tokens_out: list[int] = field(default_factory=list)

    def say(self, token: int, ends: frozenset[int]) -> str | None:
        """Take a token; how the answer finishes with it, or None while it continues."""
        if token in ends:
            return "stop"
        self.tokens_out.append(token)
        if self.prompt.ends is not None and self.prompt.ends(self.tokens_out):
            return "stop"
        return "length" if len(self.tokens_out) >= self.prompt.sampling.max_tokens else None


class SlotCache(Cache):
    """Keys and values of all places, `length` tokens each; a step writes every place's next token at its own index."""

    def __init__(self, index: Tensor, shapes: Sequence[tuple[int, int]], length: int, dtype: torch.dtype) -> None:
        super().__init__(layers=[])
        places, device = len(index), index.device
        self.index = index
        self.rows = torch.arange(places, device=device)
        self.keys = [torch.zeros(places, heads, length, size, dtype=dtype, device=device) for heads, size in shapes]
        self.values = [torch.zeros_like(keys) for keys in self.keys]

    def update(
        self, key_states: Tensor, value_states: Tensor, layer_idx: int, *_: object, **__: object
    ) -> tuple[Tensor, Tensor]:
        """Write one token of every place and return the whole cache; the mask hides what is not there yet."""
        self.keys[layer_idx][self.rows, :, self.index] = key_states[:, :, 0]
        self.values[layer_idx][self.rows, :, self.index] = value_states[:, :, 0]
        return self.keys[layer_idx], self.values[layer_idx]

    def fill(self, place: int, layers: Sequence[tuple[Tensor, Tensor]], row: int, length: int) -> None:
        """Take a prompt's keys and values over from row `row` of a prefill."""
        for number, (keys, values) in enumerate(layers):
            self.keys[number][place, :, :length] = keys[row, :, :length]
            self.values[number][place, :, :length] = values[row, :, :length]

    def get_seq_length(self, *_: object) -> int:
        """Asked by models to number positions, which are always given here."""
        return 0


class Continuer:
    """Continues prompts with one model, `places` at a time; running out of memory halves that number."""

    def __init__(self, model: PreTrainedModel, places: int, ends: frozenset[int]) -> None:
        self.model = model
        self.places = places
        self.ends = ends

    def run(self, prompts: Sequence[Prompt]) -> Iterator[list[Continuation]]:
        """The continuations, those that finish together in one list. Each prompt once, in any order."""
        left = list(prompts)
        done: set[int] = set()
        while left:
            try:
                for batch in self._serve(left):
                    done.update(entry.key for entry in batch)
                    yield batch
            except torch.OutOfMemoryError:
                if self.places == 1:
                    raise
                self.places //= 2
                torch.cuda.empty_cache()
            left = [prompt for prompt in left if prompt.key not in done]

    def _serve(self, prompts: Sequence[Prompt]) -> Iterator[list[Continuation]]:
        need = max(len(prompt.tokens) + prompt.sampling.max_tokens for prompt in prompts)
        bench = _Bench(self.model, min(self.places, len(prompts)), -(-need // _ROUND) * _ROUND, self.ends)
        waiting = list(reversed(prompts))
        while waiting or bench.busy:
            free = bench.free()
            finished = []
            # Compiled layers are for scoring: with a cache each layer would be compiled anew.
            with torch.compiler.set_stance("force_eager"):
                if waiting and (len(free) * _REFILL >= len(bench.work) or not bench.busy):
                    finished += bench.admit(free, [waiting.pop() for _ in free[: len(waiting)]])
                if bench.busy:
                    finished += bench.step()
            if finished:
                yield finished


@torch.inference_mode()
def continued_alone(model: PreTrainedModel, prompt: Prompt, ends: frozenset[int]) -> Continuation:
    """One prompt with no cache: the whole text anew for every token. Slow, and right for every architecture."""
    place = _Place(prompt, np.random.default_rng(prompt.sampling.seed))
    while True:
        tokens = torch.tensor([[*prompt.tokens, *place.tokens_out]], device=model.device)
        logits = model(input_ids=tokens, use_cache=False).logits[:, -1]
        finish = place.say(draw(logits, [prompt.sampling], [place.rng])[0], ends)
        if finish is not None:
            return Continuation(prompt.key, place.tokens_out, finish)


class _Bench:
    """The places, their cache, and the recorded step."""

    def __init__(self, model: PreTrainedModel, places: int, length: int, ends: frozenset[int]) -> None:
        device = model.device
        self.model, self.length, self.ends = model, length, ends
        self.work: list[_Place | None] = [None] * places
        self.tokens = torch.zeros(places, 1, dtype=torch.long, device=device)
        self.index = torch.zeros(places, dtype=torch.long, device=device)
        self.cache: SlotCache | None = None
        self.graph: torch.cuda.CUDAGraph | None = None
        self.logits: Tensor | None = None

    @property
    def busy(self) -> bool:
        return any(place is not None for place in self.work)

    def free(self) -> list[int]:
        return [number for number, place in enumerate(self.work) if place is None]

    @torch.inference_mode()
    def admit(self, free: Sequence[int], prompts: Sequence[Prompt]) -> list[Continuation]:
        """Compute prompts side by side, padded on the right, and put them to work; each says its first token."""
        width = max(len(prompt.tokens) for prompt in prompts)
        tokens = torch.zeros(len(prompts), width, dtype=torch.long)
        for row, prompt in enumerate(prompts):
            tokens[row, : len(prompt.tokens)] = torch.tensor(prompt.tokens)
        last = [row * width + len(prompt.tokens) - 1 for row, prompt in enumerate(prompts)]
        with read_at(self.model, torch.tensor(last, device=self.model.device)):
            output = self.model(input_ids=tokens.to(self.model.device), use_cache=True)
        layers = [(layer.keys, layer.values) for layer in output.past_key_values.layers]
        if self.cache is None:
            shapes = [(keys.shape[1], keys.shape[3]) for keys, _ in layers]
            self.cache = SlotCache(self.index, shapes, self.length, layers[0][0].dtype)
        chosen = list(free[: len(prompts)])
        for row, (number, prompt) in enumerate(zip(chosen, prompts, strict=True)):
            self.work[number] = _Place(prompt, np.random.default_rng(prompt.sampling.seed))
            self.cache.fill(number, layers, row, len(prompt.tokens))
            self.index[number] = len(prompt.tokens)
        return self._draw(chosen, output.logits[0])

    @torch.inference_mode()
    def step(self) -> list[Continuation]:
        """One more token of every place that is at work."""
        if self.graph is not None and self.logits is not None:
            self.graph.replay()
            logits = self.logits
        elif self.model.device.type == "cuda":
            logits = self._record()
        else:
            logits = self._forward()
        self.index.add_(1).clamp_(max=self.length - 1)  # an empty place stays inside the cache
        at_work = [number for number, place in enumerate(self.work) if place is not None]
        return self._draw(at_work, logits[at_work] if len(at_work) < len(self.work) else logits)

    def _forward(self) -> Tensor:
        seen = torch.arange(self.length, device=self.index.device)[None] <= self.index[:, None]
        mask = torch.zeros(seen.shape, dtype=self.model.dtype, device=seen.device)
        mask.masked_fill_(~seen, torch.finfo(self.model.dtype).min)
        output = self.model(
            input_ids=self.tokens,
            position_ids=self.index[:, None],
            attention_mask=mask[:, None, None],
            past_key_values=self.cache,
            use_cache=True,
        )
        logits: Tensor = output.logits[:, -1]
        return logits

    def _record(self) -> Tensor:
        """Run a step three times for real (it writes the same each time), then record it."""
        stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]  # torch does not say
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                self._forward()
        torch.cuda.current_stream().wait_stream(stream)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.logits = self._forward()
        self.graph.replay()
        return self.logits

    def _draw(self, numbers: Sequence[int], logits: Tensor) -> list[Continuation]:
        """Draw a token for each place, and take out those that have finished."""
        places = [place for number in numbers if (place := self.work[number]) is not None]
        drawn = draw(logits, [place.prompt.sampling for place in places], [place.rng for place in places])
        self.tokens[list(numbers), 0] = torch.tensor(drawn, device=self.tokens.device)
        finished = []
        for number, place, token in zip(numbers, places, drawn, strict=True):
            finish = place.say(token, self.ends)
            if finish is not None:
                finished.append(Continuation(place.prompt.key, place.tokens_out, finish))
                self.work[number] = None
        return finished


def draw(logits: Tensor, samplings: Sequence[Sampling], rngs: Sequence[np.random.Generator]) -> list[int]:
    """One token per row: the likeliest at temperature 0, otherwise by one uniform number of the row's own generator.

    So a trial's draws do not depend on what else is in the batch. Tokens are taken in order of their likelihood up to
    and with the one that reaches top_p.
    """
    drawn: list[int] = logits.argmax(-1).tolist()
    warm = [row for row, sampling in enumerate(samplings) if sampling.temperature > 0]
    if not warm:
        return drawn
    heat = torch.tensor([samplings[row].temperature for row in warm], device=logits.device)
    shares, order = (logits[warm].float() / heat[:, None]).softmax(-1).sort(dim=-1, descending=True, stable=True)
    total = shares.cumsum(-1)
    tops = torch.tensor([samplings[row].top_p or 1.0 for row in warm], device=logits.device)
    # What is kept: every token before which less than top_p was reached.
    kept = (total - shares < tops[:, None]).sum(-1) - 1
    most = total.gather(-1, kept[:, None])
    at = torch.tensor([rngs[row].random() for row in warm], dtype=total.dtype, device=total.device)[:, None] * most
    chosen = torch.searchsorted(total, at, right=True).clamp(max=kept[:, None])
    for row, token in zip(warm, order.gather(-1, chosen)[:, 0].tolist(), strict=True):
        drawn[row] = token
    return drawn
