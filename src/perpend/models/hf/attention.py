"""Attention without a mask, for the two things that we compute: nodes of a grove, and one new token per row of a cache.

A node of a grove sees stretches of nodes, so torch's kernel for texts of different lengths computes it, once for each
level of the trees, and what the levels give is put together by their weights. Nothing is computed that a mask would
hide. A cache is read where it is: transformers copies it, once per query head of a group, in every layer and for every
token, because torch's kernels that take a mask know no groups. Here the heads of a group stand as that many queries of
one head: the same numbers without the copy. Where a kernel that takes lengths can be used, our own or torch's, it is,
and reads only what is filled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface, PreTrainedModel
from transformers.integrations.sdpa_attention import sdpa_attention_forward

from perpend.models.hf import kernels
from perpend.models.hf.forest import Grove, Passage, grove_of, row_of

_NAME = "perpend"
REPLACED = "perpend_replaced"
"""The attribute of a model with its `Replacements`, used inside `own_attention`; see `fused`."""
flash = torch.ops.aten._flash_attention_forward  # the public varlen_attn takes no lengths before torch 2.12
# The two that hand over how much each query found, which scaled_dot_product_attention keeps to itself.
_on_cpu = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
_on_cuda = torch.ops.aten._scaled_dot_product_efficient_attention


def sent(values: NDArray[np.generic], device: torch.device) -> Tensor:
    """A copy on the device; it does not wait for what the device computes, which takes memory that stays in place."""
    tensor = torch.from_numpy(values)
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor.to(device)


def on_device(model: PreTrainedModel) -> AbstractContextManager[object]:
    """Inside, streams, events, graphs and kernels are made on the device of a model, which may not be the first."""
    return torch.cuda.device(model.device) if model.device.type == "cuda" else nullcontext()


@dataclass(slots=True)
class Extent:
    """How much of each row of the cache is filled. A model hands it on to its attention among its other options."""

    used: Tensor
    """Tokens of each row, with the new one."""
    rows: Tensor
    """0, 1, … and the number of rows: where each row's query begins."""
    starts: Tensor
    """Where each row of the cache begins, and where the last one ends."""
    by_kernel: bool
    """Whether our own kernel computes it where there is one, or torch's."""
    errors: list[Tensor] | None = None
    """A list here makes each layer compute with the mask too, and add how far the two are apart, as a share."""


class _Stretches:
    """Queries in stretches, and the stretch of keys that each of them sees; on the device for its kernel."""

    def __init__(
        self, queries: NDArray[np.int64], starts: NDArray[np.int64], used: NDArray[np.int64], device: torch.device
    ) -> None:
        self.queries, self.starts, self.used = queries.tolist(), starts.tolist(), used.tolist()
        self.longest = int(np.diff(queries).max()), int(used.max())
        sizes = (queries, np.append(starts, starts[-1] + used[-1]), used)
        self.sent = [sent(values.astype(np.int32), device) for values in sizes]


class Sight:
    """What each node of a grove sees, on the device."""

    def __init__(self, grove: Grove, device: torch.device) -> None:
        self.own = _Stretches(grove.runs, grove.runs[:-1], np.diff(grove.runs), device)
        self._sweeps, self._device = grove.sweeps, device
        self._above: dict[int, list[tuple[int, _Stretches]]] = {}

    def above(self, groups: int) -> list[tuple[int, _Stretches]]:
        """For each level, its first node and what is seen from there, where each node is `groups` queries."""
        if groups not in self._above:
            self._above[groups] = [
                (sweep.first, _Stretches(groups * sweep.queries, sweep.starts, sweep.used, self._device))
                for sweep in self._sweeps
            ]
        return self._above[groups]


_SIGHT: ContextVar[Sight | None] = ContextVar("sight", default=None)


@contextmanager
def seeing(sight: Sight | None) -> Iterator[None]:
    """Inside, own attention is that of a grove; None: by the mask that it is given."""
    token = _SIGHT.set(sight)
    try:
        yield
    finally:
        _SIGHT.reset(token)


_READ: ContextVar[Tensor | None] = ContextVar("read", default=None)


@contextmanager
def reading(places: Tensor) -> Iterator[None]:
    """Inside, what the model puts out is read at these places of the flattened batch alone."""
    token = _READ.set(places)
    try:
        yield
    finally:
        _READ.reset(token)


def read_places() -> Tensor | None:
    """The places that are read of what is being computed; None where it may be all of them."""
    return _READ.get()


# The kernels are whole as they are; only what is around them gains by compilation. torch gives the decorator no type.
@torch.compiler.disable  # type: ignore[untyped-decorator]
def attention(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **options: object
) -> tuple[Tensor, None]:
    """What transformers' `sdpa` computes, for a grove, and for one token per row by `extent` where there is one."""
    extent, scale, sight = options.pop("extent", None), options.get("scaling"), _SIGHT.get()
    scale = scale if isinstance(scale, float) else None
    own = options.get("position_bias") is not None  # what a model gives beside these is its own affair
    if sight is not None:
        if own or len(query) != 1:
            raise RuntimeError(f"{type(module).__name__}: attention that depends on more than what a node sees")
        nodes, keys, values = (states[0].transpose(0, 1) for states in (query, key, value))
        return in_grove(nodes, keys, values, sight, scale)[None], None
    if attention_mask is None or own or query.shape[2] > 1:
        return sdpa_attention_forward(module, query, key, value, attention_mask, **options)  # type: ignore[arg-type]
    if not isinstance(extent, Extent):
        return _folded(query, key, value, attention_mask, scale), None
    attended = _by_extent(query[:, :, 0], key.transpose(1, 2), value.transpose(1, 2), extent, scale)[:, None]
    if extent.errors is not None:
        some = slice(None, None, -(-len(query) // 8))  # eight rows or fewer: all of them would take much memory
        wanted = _by_definition(query[some], key[some], value[some], attention_mask[some], scale)
        extent.errors.append((attended[some] - wanted).abs().max() / wanted.abs().max())
    return attended, None


def _by_extent(query: Tensor, key: Tensor, value: Tensor, extent: Extent, scale: float | None) -> Tensor:
    """One token per row, rows × heads × size; keys and values are rows × tokens × heads × size."""
    by_kernel = kernels.attended(query, key, value, extent.used, scale) if extent.by_kernel else None
    if by_kernel is not None:
        return by_kernel
    longest, keys, values = key.shape[1], key.flatten(0, 1), value.flatten(0, 1)
    options = {"is_causal": False, "return_debug_mask": False, "scale": scale, "seqused_k": extent.used}
    attended: Tensor = flash(query, keys, values, extent.rows, extent.starts, 1, longest, 0.0, **options)[0]
    return attended


def _by_definition(query: Tensor, key: Tensor, value: Tensor, mask: Tensor, scale: float | None) -> Tensor:
    """What `_folded` computes, with no kernel of attention: to prepare one for a single trial takes a second."""
    groups = query.shape[1] // key.shape[1]
    keys, values = (states.float().repeat_interleave(groups, 1) for states in (key, value))
    scores = query.float() @ keys.transpose(2, 3) * (scale or query.shape[-1] ** -0.5)
    return ((scores + mask).softmax(-1) @ values).transpose(1, 2)


def _folded(query: Tensor, key: Tensor, value: Tensor, mask: Tensor, scale: float | None) -> Tensor:
    """One token per row, the heads of a group as the queries of one head; rows × 1 × heads × size."""
    rows, heads, _, size = query.shape
    groups = heads // key.shape[1]
    grouped, mask = query.reshape(rows, -1, groups, size), mask.expand(-1, -1, groups, -1)
    return scaled_dot_product_attention(grouped, key, value, attn_mask=mask, scale=scale).reshape(rows, 1, heads, -1)


def in_grove(query: Tensor, key: Tensor, value: Tensor, sight: Sight, scale: float | None) -> Tensor:
    """Attention of the nodes of a grove; all are nodes × heads × size, with fewer heads of keys and values perhaps."""
    by_kernel = _has_kernel(query.device.type, query.dtype, query.shape[-1])
    attend = _by_kernel if by_kernel else _one_by_one
    attended, weight = attend(query, key, value, sight.own, scale, causal=True)
    # Branches are short: the heads of a group, as that many queries of one head, fill what a kernel computes at once.
    groups = query.shape[1] // key.shape[1]
    above = sight.above(groups)
    if not above:
        return attended
    first = above[0][0]
    nodes, total = attended[first:].float(), weight[first:]
    for begin, stretches in above:
        folded = query[begin:].reshape(-1, key.shape[1], groups, query.shape[2]).transpose(1, 2).flatten(0, 1)
        part, added = (
            found.reshape(-1, groups, *found.shape[1:]).transpose(1, 2).flatten(1, 2)
            for found in attend(folded, key, value, stretches, scale, causal=False)
        )
        at = begin - first
        both = torch.logaddexp(total[at:], added)
        nodes[at:] = nodes[at:] * (total[at:] - both).exp()[..., None] + part * (added - both).exp()[..., None]
        total[at:] = both
    attended[first:] = nodes.to(attended.dtype)
    return attended


def _by_kernel(
    query: Tensor, key: Tensor, value: Tensor, stretches: _Stretches, scale: float | None, *, causal: bool
) -> tuple[Tensor, Tensor]:
    """What the queries find, and the logarithm of how much, by torch's kernel for texts of different lengths."""
    queries, starts, used = stretches.sent
    attended, weight, *_ = flash(
        query,
        key,
        value,
        queries,
        starts,
        *stretches.longest,
        0.0,
        is_causal=causal,
        return_debug_mask=False,
        scale=scale,
        seqused_k=used,
    )
    return attended, weight.transpose(0, 1)


def _one_by_one(
    query: Tensor, key: Tensor, value: Tensor, stretches: _Stretches, scale: float | None, *, causal: bool
) -> tuple[Tensor, Tensor]:
    """The same, one stretch after the other, where that kernel is not: on a CPU, and in single precision."""
    groups = query.shape[1] // key.shape[1]
    parts, weights = [], []
    for (lo, hi), start, used in zip(pairwise(stretches.queries), stretches.starts, stretches.used, strict=True):
        asked = query[lo:hi].transpose(0, 1)[None]
        keys, values = (
            states[start : start + used].transpose(0, 1).repeat_interleave(groups, 0)[None] for states in (key, value)
        )
        if query.device.type == "cpu":
            part, weight = _on_cpu(asked, keys, values, 0.0, causal, scale=scale)
        else:
            part, weight, *_ = _on_cuda(asked, keys, values, None, True, 0.0, causal, scale=scale)
        parts.append(part[0].transpose(0, 1))
        weights.append(weight[0, :, : hi - lo].transpose(0, 1))
    return torch.cat(parts), torch.cat(weights)


@cache
def _has_kernel(device: str, dtype: torch.dtype, size: int) -> bool:
    """Whether torch's kernel works for a device, a precision and a size of heads, which trying it shows."""
    stems = ((1, 2, 3, 4, 5, 6), (1, 2, 3, 7, 8), (1, 2, 3, 7, 9), (1, 2, 3), (4, 4))
    grove = grove_of(row_of([(n, Passage((*stem, 0), 1)) for n, stem in enumerate(stems)]))
    place = torch.device(device)
    sight, generator = Sight(grove, place), torch.Generator(place).manual_seed(0)
    query = torch.randn(len(grove), 4, size, generator=generator, device=place, dtype=dtype)
    key, value = torch.randn(2, len(grove), 2, size, generator=generator, device=place, dtype=dtype).unbind()
    try:
        for first, stretches in ((0, sight.own), *sight.above(1)):
            tried = [
                attend(query[first:], key, value, stretches, None, causal=first == 0)
                for attend in (_by_kernel, _one_by_one)
            ]
            for ours, wanted in zip(*tried, strict=True):
                if ours.shape != wanted.shape or not (ours - wanted).abs().max() < wanted.abs().max() / 20:
                    return False
    except (RuntimeError, TypeError, NotImplementedError):
        return False
    return True


AttentionInterface.register(_NAME, attention)


@dataclass(frozen=True, slots=True)
class Replacement:
    """What a module computes instead of its own `forward`; the parts `passed_over` are not called then."""

    module: nn.Module
    forward: Callable[..., object]
    passed_over: tuple[nn.Module, ...]


class Replacements(list[Replacement]):
    """They compute with the weights of one model, so a copy of the model, or one read from a file, has none."""

    def __reduce__(self) -> tuple[type[Replacements], tuple[()]]:
        return Replacements, ()


def is_hooked(module: nn.Module) -> bool:
    """Whether something of a user's is called with a module, before or after it."""
    return bool(module._forward_hooks or module._forward_pre_hooks)


@contextmanager
def own_attention(model: PreTrainedModel) -> Iterator[None]:
    """Inside, a model whose attention is torch's `sdpa` has this one. A model with any other keeps its own."""
    before = model.config._attn_implementation
    if before != "sdpa":
        yield
        return
    replaced = [one for one in getattr(model, REPLACED, ()) if not any(map(is_hooked, one.passed_over))]
    model.set_attn_implementation(_NAME)
    for one in replaced:
        # setattr: a method is no attribute that mypy lets one set.
        setattr(one.module, "forward", one.forward)  # noqa: B010
    try:
        yield
    finally:
        for one in replaced:
            del one.module.forward
        model.set_attn_implementation(before)


def has_own_attention(model: PreTrainedModel) -> bool:
    """Whether its attention is this one now, or would be inside `own_attention`."""
    return model.config._attn_implementation in (_NAME, "sdpa")
