"""The places of generation: the keys and values of each, and one step of all of them at once.

A place is a row of one cache, so places may stand at different lengths. What a step reads of the cache is cut to one of
a few lengths and row counts; on a GPU a step is recorded once for each of these and then replayed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import takewhile

import numpy as np
import torch
from torch import Tensor
from transformers import Cache, PreTrainedModel

from perpend.models.hf.attention import Extent, has_own_attention, sent
from perpend.models.hf.candidates import ROW, batch_size, read_at
from perpend.models.hf.draw import chances, draw, share
from perpend.models.hf.forest import IntArray, Passage, grove_of, packed, row_of
from perpend.models.hf.kernels import stored
from perpend.models.hf.layout import APART, Laid, as_grove, in_rows, seen
from perpend.models.hf.push import Push, pushed
from perpend.types import Sampling

_ROUND = 64  # cache lengths are multiples of this
_FEWEST = 64  # rows of a recorded step: with fewer, reading the weights takes all of its time anyway


class _Filling(Cache):
    """Copies the keys and values of a prompt's nodes into its place, layer by layer, while they are computed."""

    def __init__(self, places: Places, rows: Tensor, nodes: Tensor, targets: Tensor) -> None:
        super().__init__(layers=[])
        self.places, self.rows, self.nodes, self.targets = places, rows, nodes, targets

    # It differs between layers, and each would be compiled anew. torch gives the decorator no type.
    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def update(
        self, key_states: Tensor, value_states: Tensor, layer_idx: int, *_: object, **__: object
    ) -> tuple[Tensor, Tensor]:
        """The states as they came: a prompt attends to its own nodes alone."""
        for kept, states in zip(
            self.places.layer(layer_idx, key_states, value_states), (key_states, value_states), strict=True
        ):
            kept.flatten(0, 1)[self.targets] = states[self.rows, :, self.nodes]
        return key_states, value_states

    def get_seq_length(self, *_: object) -> int:
        """Asked by models to number positions, which are always given here."""
        return 0


class _Stepping(Cache):
    """Writes one token of each of the first `rows` places at its own index, and shows the first `length` tokens."""

    def __init__(self, places: Places, rows: int, length: int) -> None:
        super().__init__(layers=[])
        self.places, self.length = places, length
        self.rows = torch.arange(rows, device=places.index.device)

    # It differs between layers, and each would be compiled anew. torch gives the decorator no type.
    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def update(
        self, key_states: Tensor, value_states: Tensor, layer_idx: int, *_: object, **__: object
    ) -> tuple[Tensor, Tensor]:
        """The cache with the new token in it; the mask hides what is not there yet."""
        rows, index = len(self.rows), self.places.index
        (keys, values), new = self.places.kept[layer_idx], (key_states[:, :, 0], value_states[:, :, 0])
        if not stored(new, (keys, values), index):
            keys[self.rows, index[:rows]], values[self.rows, index[:rows]] = new
        return keys[:rows, : self.length].transpose(1, 2), values[:rows, : self.length].transpose(1, 2)

    def get_seq_length(self, *_: object) -> int:
        """As above."""
        return 0


class Places:
    """`count` places for texts of up to `length` tokens; all of their memory but a step's own is taken at once.

    Nothing here waits for the device: tokens are drawn there, and a step reads those of the step before.
    """

    @torch.inference_mode()
    def __init__(
        self, model: PreTrainedModel, count: int, length: int, *, flat: bool | None = None, push: Push | None = None
    ) -> None:
        self.model, self.count, self.length, self.push = model, count, length, push
        self.flat = has_own_attention(model) if flat is None else flat
        device = model.device
        self.kept: dict[int, tuple[Tensor, Tensor]] = {}
        self.tokens = torch.zeros(count, dtype=torch.long, device=device)
        self.index = torch.zeros(count, dtype=torch.long, device=device)
        self.heat = torch.zeros(count, device=device)
        self.top_p = torch.ones(count, device=device)
        self.chance = torch.zeros(count, length, device=device)
        self.steps: dict[tuple[int, int], tuple[torch.cuda.CUDAGraph, Tensor]] = {}
        self.pool = torch.cuda.graph_pool_handle() if device.type == "cuda" else None
        self.fewest = _FEWEST if device.type == "cuda" else 1
        self.by_extent: bool | None = None  # whether attention can read what is filled alone; None before it was tried
        self.by_kernel = True  # and whether by our own kernel, where there is one

    def layer(self, number: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """What is kept of a layer: places × length × heads × size."""
        if number not in self.kept:
            self.kept[number] = (self._empty(keys), self._empty(values))
        return self.kept[number]

    def _empty(self, states: Tensor) -> Tensor:
        # Zeros: what no token was written to is masked, but a NaN there would pass through the mask.
        return states.new_zeros(self.count, self.length, states.shape[1], states.shape[3])

    @torch.inference_mode()
    def admit(
        self, numbers: Sequence[int], prompts: Sequence[tuple[int, ...]], samplings: Sequence[Sampling], nodes: int
    ) -> Tensor:
        """Compute prompts, up to `nodes` tokens at once, into the places of these numbers; the first token of each.

        Prompts that begin alike share that beginning: it is computed once and copied to each.
        """
        device = self.model.device
        # Where a vector is added to the last token, that token is shared with no prompt that goes on from it.
        apart = APART if self.push is not None and not self.push.everywhere else 0
        # All of a prompt's tokens are computed and read; what would follow them is not.
        passages = [Passage((*prompt[:-1], prompt[-1] + apart, 0), 1) for prompt in prompts]
        lengths, places = np.array([len(prompt) for prompt in prompts]), np.array(numbers)
        chosen = sent(places, device)
        self.index[chosen] = sent(lengths, device)
        is_warm = any(sampling.temperature > 0 for sampling in samplings)
        warmth = np.array([[sampling.temperature, share(sampling)] for sampling in samplings], dtype=np.float32)
        self.heat[chosen], self.top_p[chosen] = sent(warmth, device).unbind(1)
        if is_warm:
            self._set_chance(chosen, lengths, samplings)
        owners: list[IntArray] = []
        logits: list[Tensor] = []
        for laid in self._laid(passages, nodes):
            whose, part = self._prefill(laid, places, lengths)
            owners.append(whose)
            logits.append(part)
        back = sent(np.argsort(np.concatenate(owners)), device)
        return self._draw(torch.cat(logits)[back], chosen, is_warm=is_warm)

    def _set_chance(self, chosen: Tensor, lengths: IntArray, samplings: Sequence[Sampling]) -> None:
        """Token k of an answer is drawn with the random number k of its own, which is where the token will be."""
        chance = np.zeros((len(lengths), self.length), dtype=np.float32)
        for row, length, sampling in zip(chance, lengths, samplings, strict=True):
            row[length : length + sampling.max_tokens] = chances(sampling)
        self.chance[chosen] = sent(chance, chosen.device)

    def _laid(self, passages: Sequence[Passage], nodes: int) -> Iterator[Laid]:
        """Prompts that are computed together."""
        device, dtype = self.model.device, self.model.dtype
        packs = packed([[passage] for passage in passages], nodes if self.flat else min(ROW, nodes))
        rows = (row_of([(number, passages[number]) for number in pack]) for _, pack in packs)
        if self.flat:
            yield from (as_grove(grove_of(row), device, dtype) for row in rows)
            return
        waiting = sorted(rows, key=len, reverse=True)
        while waiting:
            count = batch_size([len(row) for row in waiting], nodes)
            yield in_rows(waiting[:count], device, dtype)
            del waiting[:count]

    def _prefill(self, laid: Laid, numbers: IntArray, lengths: IntArray) -> tuple[IntArray, Tensor]:
        """Fill places from trees; whose the logits are, and those after each prompt's last token."""
        device, width = self.model.device, laid.inputs["input_ids"].shape[1]
        is_last = laid.within == lengths[laid.owners] - 1
        where, node, target, last = (
            sent(values, device)
            for values in (
                laid.reads // width,
                laid.reads % width,
                numbers[laid.owners] * self.length + laid.within,
                laid.reads[is_last],
            )
        )
        positions = torch.zeros_like(laid.inputs["input_ids"], dtype=torch.bool)
        positions.view(-1)[last] = True
        filling = _Filling(self, where, node, target)
        with seen(self.model, laid), read_at(self.model, last), self._pushed(positions):
            output = self.model(**laid.inputs, past_key_values=filling, use_cache=True)
        return laid.owners[is_last], output.logits[0]

    def _pushed(self, answering: Tensor) -> AbstractContextManager[None]:
        """What is added to a pass, of which the tokens from the answer position on are True."""
        if self.push is None:
            return nullcontext()
        positions = torch.ones_like(answering) if self.push.everywhere else answering
        return pushed(self.push.block, self.push.vector, positions)

    @torch.inference_mode()
    def step(self, rows: int, longest: int, *, is_warm: bool) -> Tensor:
        """The next token of each of the first places; none of them has more than `longest` tokens with it."""
        rows = self.rows_for(rows)
        if self.by_extent is None:
            self.by_extent = self._reads_extent(rows)
            if not self.by_extent:
                self.by_kernel = False
                self.by_extent = self._reads_extent(rows)
        length = self.length if self.by_extent else min(self.length, _cut(longest))
        if self.pool is None:
            logits = self._forward(rows, length, self._extent(rows) if self.by_extent else None)
        else:
            if (rows, length) not in self.steps:
                self.steps[rows, length] = self._recorded(rows, length)
            graph, logits = self.steps[rows, length]
            graph.replay()
        self.index[:rows].add_(1).clamp_(max=self.length - 1)  # an empty place stays inside the cache
        return self._draw(logits, torch.arange(rows, device=logits.device), is_warm=is_warm)

    @torch.inference_mode()
    def next_logits(self, tokens: Tensor) -> Tensor:
        """What follows these tokens, one in each place, by the mask; each place is then a token longer."""
        self.tokens[:] = tokens
        logits = self._forward(self.count, self.length, None)
        self.index.add_(1)
        return logits

    def rows_for(self, rows: int) -> int:
        """The fewest rows that a step is made for and that hold the wanted ones: all places, a quarter, and on."""
        counts = takewhile(lambda count: count >= max(rows, self.fewest), (self.count >> 2 * n for n in range(32)))
        return min(counts, default=self.count)

    def _forward(self, rows: int, length: int, extent: Extent | None) -> Tensor:
        """A step; it may be run again, as it writes the same. The mask is there for whatever does not see an extent."""
        index = self.index[:rows]
        seen = torch.arange(length, device=index.device)[None] <= index[:, None]
        mask = torch.zeros(seen.shape, dtype=self.model.dtype, device=seen.device)
        mask.masked_fill_(~seen, torch.finfo(self.model.dtype).min)
        tokens = self.tokens[:rows, None]
        with self._pushed(torch.ones_like(tokens, dtype=torch.bool)):
            output = self.model(
                input_ids=tokens,
                position_ids=index[:, None],
                attention_mask=mask[:, None, None],
                past_key_values=_Stepping(self, rows, length),
                use_cache=True,
                **({} if extent is None else {"extent": extent}),
            )
        logits: Tensor = output.logits[:, -1]
        return logits

    def _extent(self, rows: int) -> Extent:
        numbers = torch.arange(rows + 1, device=self.index.device, dtype=torch.int32)
        return Extent((self.index[:rows] + 1).int(), numbers, numbers * self.length, self.by_kernel)

    def _reads_extent(self, rows: int) -> bool:
        """Whether attention by extent works here for this model, which trying it beside the mask shows."""
        if not has_own_attention(self.model):
            return False
        extent = self._extent(rows)
        errors: list[Tensor] = []
        extent.errors = errors
        try:
            with torch.compiler.set_stance("force_eager"):  # nothing is compiled for a trial
                self._forward(rows, self.length, extent)
        except torch.OutOfMemoryError:
            raise
        except (RuntimeError, TypeError):  # no such kernel for this device or precision, or no such option
            return False
        # bfloat16 rounds to less than a hundredth; a wrong length shows as a good part of the whole.
        return bool(errors) and bool(torch.stack(errors).max() < 0.05)

    def _recorded(self, rows: int, length: int) -> tuple[torch.cuda.CUDAGraph, Tensor]:
        """A step as a graph. It runs once before, so that what is made at first use is not recorded."""
        stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]  # torch does not say
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            self._forward(rows, length, self._extent(rows) if self.by_extent else None)
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self.pool):
            logits = self._forward(rows, length, self._extent(rows) if self.by_extent else None)
        return graph, logits

    def _draw(self, logits: Tensor, numbers: Tensor, *, is_warm: bool) -> Tensor:
        """A token for each of these places, which its next step reads."""
        if is_warm:
            chance = self.chance[numbers, self.index[numbers]]
            drawn = draw(logits, self.heat[numbers], self.top_p[numbers], chance)
        else:
            drawn = logits.argmax(-1)
        self.tokens[numbers] = drawn
        return drawn

    @torch.inference_mode()
    def rest(self, numbers: Sequence[int]) -> None:
        """Places that are empty until the next prompt: a step that has them in it reads almost nothing for them."""
        self.index[sent(np.array(numbers), self.index.device)] = 0

    @torch.inference_mode()
    def move(self, sources: Sequence[int], targets: Sequence[int]) -> None:
        """Put places elsewhere, so that those at work are the first."""
        source, target = (sent(np.array(numbers), self.index.device) for numbers in (sources, targets))
        alike = [tensor for layer in self.kept.values() for tensor in layer]
        for tensor in (self.tokens, self.index, self.heat, self.top_p, self.chance, *alike):
            tensor[target] = tensor[source]


def rounded(length: int) -> int:
    """The length of a cache that holds the given number of tokens."""
    return -(-length // _ROUND) * _ROUND


def _cut(length: int) -> int:
    """How much of the cache a step reads for the given number of tokens: 64, 96 and their doubles, rounded."""
    top = 1 << (max(length, _ROUND) - 1).bit_length()
    return rounded(top * 3 // 4 if length <= top * 3 // 4 else top)
