"""Log-likelihoods of many continuations, with every shared beginning computed once.

All passages of a batch stand as trees in a few rows (see `forest`): each node has its own position, attends to its
ancestors only, and the vocabulary is computed only where a token is scored. Some architectures take no such
mask; that is established by trying, and their passages are rows of their own instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers import PreTrainedModel

from perpend.models.hf.attention import own_attention
from perpend.models.hf.forest import Passage, Row, packed, row_of

FloatArray = NDArray[np.float64]

ROW = 512
"""Nodes in a row: attention costs a row's square, and what does not fill a row is wasted."""
_MULTIPLE = 8  # attention kernels read a mask in blocks of eight
_FULL = 0.9  # a row shorter than this share of the longest in its batch begins a new one
_READS = 2048  # how many vocabularies are in full precision at once


@dataclass(frozen=True, slots=True)
class Bundle:
    """Passages of one row, each with its number; `size` is how many nodes they take at the most."""

    size: int
    passages: list[tuple[int, Passage]]


@dataclass(slots=True)
class Weigher:
    """Scores passages with one model.

    `batch_tokens` is how many nodes, padding included, are computed at once; running out of memory halves it. `trees`
    False: the model takes no such mask. `window` is the shortest reach of its attention, if any.
    """

    model: PreTrainedModel
    batch_tokens: int
    trees: bool = True
    window: int | None = None

    def logprobs(self, groups: Sequence[Sequence[Passage]]) -> list[list[FloatArray | None]]:
        """For each passage of each group the log-likelihoods, in nats, of its scored tokens, in order.

        None for a passage that the device has no memory for, even alone.
        """
        flat = [passage for group in groups for passage in group]
        logprobs: list[FloatArray | None] = [None] * len(flat)
        trees, lines = self._bundles(groups)
        for row, values in (*self._computed(trees, branching=True), *self._computed(lines, branching=False)):
            cuts = np.flatnonzero(np.diff(row.owners, prepend=-1))
            for at, part in zip(cuts, np.split(values, cuts[1:]), strict=True):
                logprobs[row.owners[at]] = part
        bounds = np.cumsum([0, *(len(group) for group in groups)])
        silent = [len(passage.tokens) == passage.start for passage in flat]
        logprobs = [np.empty(0) if none else values for none, values in zip(silent, logprobs, strict=True)]
        return [logprobs[lo:hi] for lo, hi in pairwise(bounds)]

    def _bundles(self, groups: Sequence[Sequence[Passage]]) -> tuple[list[Bundle], list[Bundle]]:
        """Trees where they can be used, and rows of one passage; the longest first, so memory runs out early."""
        bounds = np.cumsum([0, *(len(group) for group in groups)])
        numbered = [
            [
                (number, passage)
                for number, passage in enumerate(group, int(first))
                if len(passage.tokens) > passage.start
            ]
            for group, first in zip(groups, bounds, strict=False)
        ]
        fits = [self.trees and all(len(passage.stem) <= self.reach for passage in group) for group in groups]
        trees = [entries for entries, fit in zip(numbered, fits, strict=True) if fit and entries]
        bundles = [
            Bundle(size, [entry for number in chosen for entry in trees[number]])
            for size, chosen in packed([[passage for _, passage in entries] for entries in trees], ROW)
        ]
        lines = [entry for entries, fit in zip(numbered, fits, strict=True) if not fit for entry in entries]
        alone = [Bundle(len(passage.stem), [(number, passage)]) for number, passage in lines]
        return bundles, sorted(alone, key=lambda bundle: -bundle.size)

    @property
    def reach(self) -> int:
        """The longest text, in tokens, over which the model follows a mask; 0 where it follows none."""
        return 0 if not self.trees else self.window or 1 << 30

    def _computed(self, bundles: Sequence[Bundle], *, branching: bool) -> Iterator[tuple[Row, FloatArray]]:
        """Every row that fits with its values. The device runs ahead: nothing is fetched before all is queued."""
        queued: list[tuple[list[Row], Tensor]] = []
        sizes = [bundle.size for bundle in bundles]
        at = 0
        while at < len(bundles):
            count = batch_size(sizes[at:], self.batch_tokens)
            # Made here, so that the device computes one batch while the next is put together.
            batch = sorted((row_of(bundle.passages) for bundle in bundles[at : at + count]), key=len, reverse=True)
            try:
                queued.append((batch, self._values(batch, branching=branching)))
            except torch.OutOfMemoryError:
                torch.cuda.empty_cache()
                if count > 1:
                    self.batch_tokens = max(1, self.batch_tokens // 2)
                    continue
            at += count
        for batch, values in queued:
            numbers = values.double().cpu().numpy()
            yield from zip(batch, np.split(numbers, np.cumsum([len(row.reads) for row in batch])[:-1]), strict=True)

    def _values(self, rows: Sequence[Row], *, branching: bool) -> Tensor:
        """The log-likelihood of every read of some rows, on the device."""
        device, width = self.model.device, padded(len(rows[0])) if branching else len(rows[0])
        tokens, depths, ends = laid_out(rows, width, device)
        flat = np.concatenate([row.reads + number * width for number, row in enumerate(rows)])
        places, back = np.unique(flat, return_inverse=True)
        with torch.inference_mode(), read_at(self.model, sent(places, device)):
            if branching:
                mask = tree_mask(ends, self.model.dtype)
                with own_attention(self.model):
                    output = self.model(input_ids=tokens, position_ids=depths, attention_mask=mask, use_cache=False)
            else:
                output = self.model(input_ids=tokens, use_cache=False)
        logits = output.logits[0]
        return _logprob(logits, sent(back, device), sent(np.concatenate([row.wanted for row in rows]), device))


def laid_out(rows: Sequence[Row], width: int, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """The tokens, depths and ends of rows, each padded to `width`; padding sees itself only."""
    tokens = torch.zeros(len(rows), width, dtype=torch.long)
    depths = torch.zeros(len(rows), width, dtype=torch.long)
    ends = torch.arange(1, width + 1).repeat(len(rows), 1)
    for number, row in enumerate(rows):
        tokens[number, : len(row)] = torch.from_numpy(row.tokens)
        depths[number, : len(row)] = torch.from_numpy(row.depths)
        ends[number, : len(row)] = torch.from_numpy(row.ends)
    return sent(tokens.numpy(), device), sent(depths.numpy(), device), sent(ends.numpy(), device)


def sent(values: NDArray[np.generic], device: torch.device) -> Tensor:
    """A copy on the device; it does not wait for what the device computes."""
    return torch.from_numpy(values).to(device, non_blocking=True)


def batch_size(sizes: Sequence[int], batch_tokens: int) -> int:
    """How many rows from the first, the longest, are computed at once: as many as fit, fewer where that saves padding.

    A quarter of a batch keeps the device as busy as all of it.
    """
    most = max(1, batch_tokens // padded(sizes[0]))
    for count, size in enumerate(sizes[:most]):
        if size < sizes[0] * _FULL and 4 * count >= most:
            return count
    return min(most, len(sizes))


def tree_mask(ends: Tensor, dtype: torch.dtype) -> Tensor:
    """What to add to attention scores: 0 for a node's ancestors and itself, the least number for all else."""
    at = torch.arange(ends.shape[1], device=ends.device)
    seen = (at[None, None, :] <= at[None, :, None]) & (at[None, :, None] < ends[:, None, :])
    zero = torch.zeros((), dtype=dtype, device=ends.device)
    return torch.where(seen, zero, torch.finfo(dtype).min)[:, None]


@contextmanager
def read_at(model: PreTrainedModel, places: Tensor) -> Iterator[None]:
    """Inside, the model computes its vocabulary only at these places of the flattened batch.

    The hidden states are picked where the model hands them to its output layer, so whatever it does to logits later is
    still done.
    """

    def pick(_: object, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        hidden, *others = inputs
        return (hidden.flatten(0, -2)[places][None], *others)

    head: torch.nn.Module = model.get_output_embeddings()  # type: ignore[no-untyped-call]  # transformers does not say
    hook = head.register_forward_pre_hook(pick)
    try:
        yield
    finally:
        hook.remove()


def _logprob(logits: Tensor, rows: Tensor, wanted: Tensor) -> Tensor:
    """log softmax of logits[rows] at `wanted`, in single precision."""
    totals = torch.cat([part.float().logsumexp(-1) for part in torch.split(logits, _READS)])
    return logits[rows, wanted].float() - totals[rows]


def padded(length: int) -> int:
    """A row's length on the device."""
    return -(-length // _MULTIPLE) * _MULTIPLE
