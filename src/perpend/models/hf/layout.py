"""Token trees on the device: as a grove, or, for a model that has attention of its own, in rows with a mask."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedModel

from perpend.models.hf.attention import Sight, own_attention, seeing, sent
from perpend.models.hf.forest import Grove, IntArray, Row

APART = 1 << 40
"""Added to a token, it makes a node that is shared with no other token's; the model is given the token itself."""
_MULTIPLE = 8  # attention kernels read a mask in blocks of eight


@dataclass(frozen=True, slots=True)
class Laid:
    """Nodes as a model takes them. `reads`, `wanted` and `owners` are as in a row, but for nodes of the whole batch."""

    inputs: dict[str, Tensor]
    """What the model is given."""
    sight: Sight | None
    within: IntArray
    """The depth of each read."""
    reads: IntArray
    wanted: IntArray
    owners: IntArray


def as_grove(grove: Grove, device: torch.device, dtype: torch.dtype) -> Laid:
    """All nodes in one line; the mask is only there so that no other is made."""
    tokens, depths = (sent(values, device)[None] for values in (grove.tokens % APART, grove.depths))
    mask = torch.zeros(1, 1, 1, 1, dtype=dtype, device=device)
    within = grove.depths[grove.reads]
    inputs = {"input_ids": tokens, "position_ids": depths, "attention_mask": mask}
    return Laid(inputs, Sight(grove, device), within, grove.reads, grove.wanted, grove.owners)


def in_rows(rows: Sequence[Row], device: torch.device, dtype: torch.dtype) -> Laid:
    """Rows, the longest first, each padded to its length; padding sees itself only."""
    width = padded(len(rows[0]))
    tokens, depths = _filled(rows, width)
    ends = np.tile(np.arange(1, width + 1), (len(rows), 1))
    for number, row in enumerate(rows):
        ends[number, : len(row)] = row.ends
    mask = tree_mask(sent(ends, device), dtype)
    inputs = {"input_ids": sent(tokens, device), "position_ids": sent(depths, device), "attention_mask": mask}
    return Laid(inputs, None, *_reads(rows, width))


def one_by_one(rows: Sequence[Row], device: torch.device) -> Laid:
    """Rows of one passage each, the longest first: no mask, as nothing sees what follows it."""
    width = len(rows[0])
    return Laid({"input_ids": sent(_filled(rows, width)[0], device)}, None, *_reads(rows, width))


def _filled(rows: Sequence[Row], width: int) -> tuple[IntArray, IntArray]:
    """The tokens and depths of rows."""
    tokens, depths = np.zeros((2, len(rows), width), dtype=np.int64)
    for number, row in enumerate(rows):
        tokens[number, : len(row)] = row.tokens % APART
        depths[number, : len(row)] = row.depths
    return tokens, depths


def _reads(rows: Sequence[Row], width: int) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """The depth, place, token and owner of every read."""
    return (
        np.concatenate([row.depths[row.reads] for row in rows]),
        np.concatenate([row.reads + number * width for number, row in enumerate(rows)]),
        np.concatenate([row.wanted for row in rows]),
        np.concatenate([row.owners for row in rows]),
    )


@contextmanager
def seen(model: PreTrainedModel, laid: Laid) -> Iterator[None]:
    """Inside, a model that is given these nodes sees of each what it should."""
    if laid.sight is None:
        yield
        return
    with own_attention(model), seeing(laid.sight):
        yield


def tree_mask(ends: Tensor, dtype: torch.dtype) -> Tensor:
    """What to add to attention scores: 0 for a node's ancestors and itself, the least number for all else."""
    at = torch.arange(ends.shape[1], device=ends.device)
    is_seen = (at[None, None, :] <= at[None, :, None]) & (at[None, :, None] < ends[:, None, :])
    zero = torch.zeros((), dtype=dtype, device=ends.device)
    return torch.where(is_seen, zero, torch.finfo(dtype).min)[:, None]


def padded(length: int) -> int:
    """A row's length on the device."""
    return -(-length // _MULTIPLE) * _MULTIPLE
