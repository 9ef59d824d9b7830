"""Attention of one new token per row to a cache, read where it is and, on a GPU, only as far as it is filled.

transformers copies the whole cache, once per query head of a group, in every layer and for every token, because torch's
kernels that take a mask know no groups. Here the heads of a group stand as so many queries of one head: the same
numbers without the copy. Where torch has a kernel for texts of different lengths, it is used instead of the mask.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface, PreTrainedModel
from transformers.integrations.sdpa_attention import sdpa_attention_forward

_NAME = "perpend_cached"
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
    is_read: bool = False
    """Whether some layer's attention went by it, and not by the mask."""


# The kernels are whole as they are; only what is around them gains by compilation. torch gives the decorator no type.
@torch.compiler.disable  # type: ignore[untyped-decorator]
def cached(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **options: object
) -> tuple[Tensor, None]:
    """What transformers' `sdpa` computes; one token per row by `extent` where there is one, or with groups folded."""
    rows, heads, tokens, size = query.shape
    extent, scale = options.pop("extent", None), options.get("scaling")
    if tokens > 1 or attention_mask is None or options.get("position_bias") is not None:
        # What a model gives beside these is its own affair and transformers'.
        return sdpa_attention_forward(module, query, key, value, attention_mask, **options)  # type: ignore[arg-type]
    scale = scale if isinstance(scale, float) else None
    if isinstance(extent, Extent):
        extent.is_read = True
        keys, values = key.transpose(1, 2).flatten(0, 1), value.transpose(1, 2).flatten(0, 1)
        attended = flash(
            query[:, :, 0],
            keys,
            values,
            extent.rows,
            extent.starts,
            1,
            key.shape[2],
            0.0,
            is_causal=False,
            return_debug_mask=False,
            scale=scale,
            seqused_k=extent.used,
        )[0]
        return attended[:, None], None
    groups = heads // key.shape[1]
    attended = scaled_dot_product_attention(
        query.reshape(rows, -1, groups, size),
        key,
        value,
        attn_mask=attention_mask.expand(-1, -1, groups, -1),
        scale=scale,
    )
    return attended.reshape(rows, 1, heads, -1), None


AttentionInterface.register(_NAME, cached)


@contextmanager
def cached_attention(model: PreTrainedModel) -> Iterator[None]:
    """Inside, a model whose attention is torch's `sdpa` reads a cache in this way. Any other keeps its own."""
    before = model.config._attn_implementation
    if before != "sdpa":
        yield
        return
    model.set_attn_implementation(_NAME)
    try:
        yield
    finally:
        model.set_attn_implementation(before)


def has_cached_attention(model: PreTrainedModel) -> bool:
    """Whether its attention is this one now."""
    return bool(model.config._attn_implementation == _NAME)
