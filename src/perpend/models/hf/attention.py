"""Attention for the two masks that we have: trees, and one new token per row of a cache.

A tree's node sees none that is after it, so on a GPU that half is left out. A cache is read where it is: transformers
copies it, once per query head of a group, in every layer and for every token, because torch's kernels that take a mask
know no groups. Here the heads of a group stand as so many queries of one head: the same numbers without the copy. Where
torch has a kernel for texts of different lengths, it is used instead of the mask and reads only what is filled.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface, PreTrainedModel
from transformers.integrations.sdpa_attention import sdpa_attention_forward

_NAME = "perpend"
efficient = torch.ops.aten._efficient_attention_forward  # scaled_dot_product_attention takes a mask or `is_causal`
flash = torch.ops.aten._flash_attention_forward  # the public varlen_attn takes no lengths before torch 2.12


@dataclass(slots=True)
class Extent:
    """How much of each row of the cache is filled. A model hands it on to its attention among its other options."""

    used: Tensor
    """Tokens of each row, with the new one."""
    rows: Tensor
    """0, 1, … and the number of rows: where each row's query begins."""
    starts: Tensor
    """Where each row of the cache begins, and where the last one ends."""
    errors: list[Tensor] | None = None
    """A list here makes each layer compute with the mask too, and add how far the two are apart, as a share."""


# The kernels are whole as they are; only what is around them gains by compilation. torch gives the decorator no type.
@torch.compiler.disable  # type: ignore[untyped-decorator]
def attention(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **options: object
) -> tuple[Tensor, None]:
    """What transformers' `sdpa` computes, for trees, and for one token per row by `extent` where there is one."""
    extent, scale = options.pop("extent", None), options.get("scaling")
    scale = scale if isinstance(scale, float) else None
    if attention_mask is None or options.get("position_bias") is not None:
        # What a model gives beside these is its own affair and transformers'.
        return sdpa_attention_forward(module, query, key, value, attention_mask, **options)  # type: ignore[arg-type]
    if query.shape[2] > 1:
        groups = query.shape[1] // key.shape[1]
        if groups > 1:
            key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
        if _can_leave_out(query.device.type, query.dtype, query.shape[-1]):
            return _lower_half(query, key, value, attention_mask, scale), None
        attended = scaled_dot_product_attention(query, key, value, attn_mask=attention_mask, scale=scale)
        return attended.transpose(1, 2).contiguous(), None
    if not isinstance(extent, Extent):
        return _folded(query, key, value, attention_mask, scale), None
    attended = flash(
        query[:, :, 0],
        key.transpose(1, 2).flatten(0, 1),
        value.transpose(1, 2).flatten(0, 1),
        extent.rows,
        extent.starts,
        1,
        key.shape[2],
        0.0,
        is_causal=False,
        return_debug_mask=False,
        scale=scale,
        seqused_k=extent.used,
    )[0][:, None]
    if extent.errors is not None:
        masked = _folded(query, key, value, attention_mask, scale)
        extent.errors.append((attended - masked).abs().max() / masked.abs().max())
    return attended, None


def _folded(query: Tensor, key: Tensor, value: Tensor, mask: Tensor, scale: float | None) -> Tensor:
    """One token per row, each group of heads as so many queries of one head; rows × 1 × heads × size."""
    rows, heads, _, size = query.shape
    groups = heads // key.shape[1]
    grouped, mask = query.reshape(rows, -1, groups, size), mask.expand(-1, -1, groups, -1)
    return scaled_dot_product_attention(grouped, key, value, attn_mask=mask, scale=scale).reshape(rows, 1, heads, -1)


def _lower_half(query: Tensor, key: Tensor, value: Tensor, mask: Tensor, scale: float | None) -> Tensor:
    """With a mask that hides all that is after a token anyway; rows × tokens × heads × size."""
    rows, heads, tokens, _ = query.shape
    swapped = (states.transpose(1, 2) for states in (query, key, value))
    bias = mask.expand(rows, heads, tokens, tokens)
    attended: Tensor = efficient(*swapped, bias, None, None, None, None, 0.0, 1, scale=scale)[0]  # 1: causal
    return attended


@cache
def _can_leave_out(device: str, dtype: torch.dtype, size: int) -> bool:
    """Whether torch has that kernel for a device, a precision and a size of heads, tried on a small tree."""
    generator = torch.Generator(device).manual_seed(0)
    query, key, value = torch.randn(3, 1, 2, 64, size, generator=generator, device=device, dtype=dtype).unbind()
    at = torch.arange(64, device=device)
    is_hidden = (at > at[:, None]) | ((at < 32) & (at >= 16) & (at[:, None] >= 32))  # two branches of 16 and 32
    mask = torch.zeros(1, 1, 64, 64, device=device, dtype=dtype).masked_fill(is_hidden, torch.finfo(dtype).min)
    try:
        attended = _lower_half(query, key, value, mask, None)
    except RuntimeError:
        return False
    wanted = scaled_dot_product_attention(query, key, value, attn_mask=mask).transpose(1, 2)
    return bool((attended - wanted).abs().max() < wanted.abs().max() / 20)


AttentionInterface.register(_NAME, attention)


@contextmanager
def own_attention(model: PreTrainedModel) -> Iterator[None]:
    """Inside, a model whose attention is torch's `sdpa` has this one, and is to be given one of the two masks.

    A model with any other attention keeps its own.
    """
    before = model.config._attn_implementation
    if before != "sdpa":
        yield
        return
    model.set_attn_implementation(_NAME)
    try:
        yield
    finally:
        model.set_attn_implementation(before)


def has_own_attention(model: PreTrainedModel) -> bool:
    """Whether its attention is this one now."""
    return bool(model.config._attn_implementation == _NAME)
