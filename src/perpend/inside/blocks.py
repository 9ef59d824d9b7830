"""Where a transformer's layers are, what flows out of them, and how to add to it.

Layer L is the residual stream after block L, counted from 0. Prompts stand in a batch padded on the right: under causal
attention what follows a token does not change it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import accumulate
from typing import TypeVar

import torch
from torch import Tensor
from torch.nn import Module
from transformers import PreTrainedModel

from perpend.errors import ModelError

_BLOCKS = ("layers", "h")
_NORMS = ("norm", "ln_f", "final_layer_norm")
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


@torch.inference_mode()
def read(
    model: PreTrainedModel, prompts: Sequence[Sequence[int]], layers: Sequence[int], *, vocabulary: bool
) -> LayerReading:
    """Run prompts once and read some layers at their last tokens.

    The lens: the model's own final norm and all that it does afterwards, applied to each layer instead of the last one.
    What the layers hold is handed to the output layer within the same pass, so capped or scaled logits are capped or
    scaled here too. ModelError where the last layer's own reading is not what the model hands over itself.
    """
    parts = anatomy(model)
    tokens = padded(prompts).to(model.device)
    rows = torch.arange(len(prompts), device=model.device)
    last = torch.tensor([len(prompt) - 1 for prompt in prompts], device=model.device)
    final = len(parts.blocks) - 1
    kept: dict[int, Tensor] = {}

    def keeper(layer: int) -> Callable[[Module, object, object], None]:
        def keep(_: Module, __: object, out: object) -> None:
            kept[layer] = _hidden(out)[rows, last]

        return keep

    def swap(_: Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        own = inputs[0][rows, last]
        same_norm(model, parts.norm(kept[final]), own)
        seen = parts.norm(torch.stack([kept[layer] for layer in layers], dim=1)) if vocabulary else own[:, None]
        return (seen.flatten(0, 1)[None], *inputs[1:])

    with ExitStack() as hooks:
        for layer in {*layers, final}:
            hook = parts.blocks[layer].register_forward_hook(keeper(layer))
            hooks.callback(hook.remove)
        hooks.callback(parts.head.register_forward_pre_hook(swap).remove)
        logits = model(input_ids=tokens, use_cache=False).logits[0]
    residuals = torch.stack([kept[layer] for layer in layers], dim=1).float().cpu()
    logprobs = logits.float().log_softmax(-1).view(len(prompts), -1, logits.shape[-1])
    return LayerReading(residuals, logprobs if vocabulary else logprobs[:, :0])


def same_norm(model: PreTrainedModel, normed: Tensor, own: Tensor) -> None:
    """ModelError when a model does more between its last block and its output layer than its final norm."""
    away = float((normed - own).abs().max()) if normed.shape == own.shape else math.inf
    if away > 64 * torch.finfo(own.dtype).eps * max(1.0, float(own.abs().max())):
        raise ModelError(
            f"{type(model).__name__}: what reaches its output layer is not the final norm of its last block (it is"
            f" {away:.2g} away), so a lens on its layers would show something else than the model computes"
        )


@contextmanager
def steered(block: Module, vector: Tensor, positions: Tensor | None) -> Iterator[None]:
    """Inside, `vector` is added to what a block puts out, at the rows and tokens where `positions` is True.

    None: at the last token of every pass, which in a batch of prompts of one length is the answer position, and then
    every token of the answer. The vector must have the model's device and dtype: a mismatch is an error here, where it
    would otherwise be a silent copy or nothing at all.
    """

    def add(_: Module, __: object, out: object) -> object:
        hidden = _hidden(out)
        if (vector.device, vector.dtype) != (hidden.device, hidden.dtype):
            raise ModelError(
                f"steering: the vector is {vector.dtype} on {vector.device}, the activations are {hidden.dtype} on"
                f" {hidden.device}; convert the vector first"
            )
        if positions is None:
            changed = hidden.clone()
            changed[:, -1] += vector
        else:
            changed = hidden + positions[..., None] * vector
        return (changed, *out[1:]) if isinstance(out, tuple) else changed

    hook = block.register_forward_hook(add)
    try:
        yield
    finally:
        hook.remove()


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


def _hidden(out: object) -> Tensor:
    """What a block puts out: a tensor, or a tuple that begins with it."""
    first = out[0] if isinstance(out, tuple) else out
    if not isinstance(first, Tensor):
        raise ModelError(f"a block puts out a {type(first).__name__}, not a tensor of activations")
    return first
