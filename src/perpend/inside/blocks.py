"""Where a transformer's layers are, what flows out of them, and how to add to it.

Layer L is the residual stream after block L, counted from 0. Prompts stand in a batch padded on the right: under causal
attention what follows a token does not change it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import accumulate
from typing import TypeVar

import torch
from torch import Tensor
from torch.nn import Module
from transformers import PreTrainedModel

from perpend.errors import ModelError
from perpend.models.hf.candidates import Watch, Weigher, hidden_of
from perpend.models.hf.forest import Passage

_BLOCKS = ("layers", "h")
_NORMS = ("norm", "ln_f", "final_layer_norm", "final_layernorm")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Anatomy:
    """The parts that the residual stream runs through: the blocks in order, the final norm, the output layer."""

    blocks: tuple[Module, ...]
    norm: Module
    head: Module

    def after(self, layer: int) -> Module:
        """What is given the residual stream after block `layer`: the next block, or the final norm."""
        return self.blocks[layer + 1] if layer + 1 < len(self.blocks) else self.norm


def anatomy(model: PreTrainedModel) -> Anatomy:
    """The parts of a model; ModelError for an architecture whose parts have other names."""
    decoder = model.get_decoder()  # type: ignore[no-untyped-call]  # transformers leaves it unannotated
    blocks = next((part for name in _BLOCKS if (part := getattr(decoder, name, None)) is not None), None)
    norm = next((part for name in _NORMS if (part := getattr(decoder, name, None)) is not None), None)
    head = model.get_output_embeddings()  # type: ignore[no-untyped-call]  # the same
    lost = [
        f"{what} (looked for {' and '.join(names)})"
        for what, names, part in (("blocks", _BLOCKS, blocks), ("final norm", _NORMS, norm))
        if part is None
    ] + (["output layer"] if head is None else [])
    if blocks is None or norm is None or head is None:
        raise ModelError(
            f"{type(model).__name__}: no {', no '.join(lost)} in its {type(decoder).__name__};"
            " a look inside needs a decoder with blocks, a final norm and an output layer: llama, qwen, gemma, gpt2 …"
        )
    return Anatomy(tuple(blocks), norm, head)


@dataclass(frozen=True, slots=True)
class LayerReading:
    """At the last token of every prompt: the residual stream by layer, and what the lens makes of it.

    `residuals` is prompt × layer × width in float32 on the CPU; `logprobs` is prompt × layer × vocabulary, and has no
    layer where no vocabulary was asked for.
    """

    residuals: Tensor
    logprobs: Tensor


def read(
    weigher: Weigher, prompts: Sequence[Sequence[int]], layers: Sequence[int], *, vocabulary: bool
) -> LayerReading:
    """Run prompts once and read some layers at their last tokens.

    The lens: the model's own final norm and all that it does afterwards, applied to each layer instead of the last one.
    What the layers hold is handed to the output layer within the same pass, so capped or scaled logits are capped or
    scaled here too. ModelError where the last layer's own reading is not what the model hands over itself, and where a
    prompt does not fit into memory.
    """
    parts = lens_parts(weigher.model)
    streams: dict[int, Tensor] = {}
    logprobs: dict[int, Tensor] = {}

    def take(numbers: list[int], inner: Tensor, logits: Tensor | None) -> None:
        streams.update(zip(numbers, inner.float(), strict=True))
        if logits is not None:
            logprobs.update(zip(numbers, logits.float().log_softmax(-1), strict=True))

    norm = parts.norm if vocabulary else None
    watch = Watch([parts.blocks[layer] for layer in layers], norm, frozenset(range(len(prompts))), take)
    weigher.logprobs([[ending(prompt)] for prompt in prompts], watch)
    check_all_read(streams, prompts)
    residuals = torch.stack([streams[number] for number in range(len(prompts))]).cpu()
    given = [logprobs[number] for number in range(len(prompts))] if vocabulary else []
    return LayerReading(residuals, torch.stack(given) if vocabulary else torch.empty(len(prompts), 0, 0))


def ending(prompt: Sequence[int]) -> Passage:
    """A prompt that is read at its last token; what would follow it does not matter."""
    return Passage((*prompt, 0), len(prompt))


def check_all_read(numbers: Container[int], prompts: Sequence[Sequence[int]]) -> None:
    """ModelError for a prompt that was not read: nothing is left out in silence."""
    for number, prompt in enumerate(prompts):
        if number not in numbers:
            raise ModelError(f"a prompt of {len(prompt)} tokens does not fit into the device's memory")


@torch.inference_mode()
def lens_parts(model: PreTrainedModel) -> Anatomy:
    """The parts of a model; ModelError where it does more between its last block and its output layer than its norm.

    Established by running two tokens.
    """
    parts, seen = anatomy(model), dict[str, Tensor]()

    def given(_: Module, inputs: tuple[Tensor, ...]) -> None:
        seen["head"] = inputs[0]

    def put_out(_: Module, __: object, out: object) -> None:
        seen["last"] = hidden_of(out)

    with ExitStack() as hooks:
        hooks.callback(parts.blocks[-1].register_forward_hook(put_out).remove)
        hooks.callback(parts.head.register_forward_pre_hook(given).remove)
        model(input_ids=torch.tensor([[1, 2]], device=model.device), use_cache=False)
    normed, own = parts.norm(seen["last"]), seen["head"]
    away = float((normed - own).abs().max()) if normed.shape == own.shape else math.inf
    if not away <= 64 * torch.finfo(own.dtype).eps * max(1.0, float(own.abs().max())):
        raise ModelError(
            f"{type(model).__name__}: what reaches its output layer is not the final norm of its last block (it is"
            f" {away:.2g} away), so a lens on its layers would show something else than the model computes"
        )
    return parts


@contextmanager
def received(parts: Anatomy, layer: int) -> Iterator[list[Tensor]]:
    """Inside, what the part after block `layer` is given in each pass: the activations that the rest works with."""
    seen: list[Tensor] = []

    def keep(_: Module, inputs: tuple[Tensor, ...], named: dict[str, Tensor]) -> None:
        seen.append((inputs[0] if inputs else named["hidden_states"]).clone())

    hook = parts.after(layer).register_forward_pre_hook(keep, with_kwargs=True)
    try:
        yield seen
    finally:
        hook.remove()


def padded(prompts: Sequence[Sequence[int]]) -> Tensor:
    """The prompts as rows, filled up on the right with token 0."""
    tokens = torch.zeros(len(prompts), max(map(len, prompts)), dtype=torch.long)
    for row, prompt in enumerate(prompts):
        tokens[row, : len(prompt)] = torch.tensor(prompt)
    return tokens


def in_batches(
    rows: Sequence[T], lengths: Sequence[int], batch_tokens: int, compute: Callable[[Sequence[T]], None]
) -> None:
    """Call `compute` on stretches of rows of at most `batch_tokens`, padding counted; out of memory halves that.

    One row that does not fit alone is an error: nothing is left out in silence.
    """
    at = 0
    while at < len(rows):
        longest = accumulate(lengths[at:], max)
        count = max(1, sum(longer * (n + 1) <= batch_tokens for n, longer in enumerate(longest)))
        try:
            compute(rows[at : at + count])
        except torch.OutOfMemoryError:
            torch.cuda.empty_cache()
            if count == 1:
                raise ModelError(f"a prompt of {lengths[at]} tokens does not fit into the device's memory") from None
            batch_tokens //= 2
            continue
        at += count
