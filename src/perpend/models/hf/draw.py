"""Which token comes next, decided on the device: the likeliest, or one drawn with a trial's own random numbers."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from perpend.types import Sampling


def draw(logits: Tensor, heat: Tensor, top_p: Tensor, chance: Tensor) -> Tensor:
    """One token per row: the likeliest where `heat` is 0, otherwise the one at `chance`, a number in [0, 1).

    Tokens are taken in order of their likelihood up to and with the one that reaches `top_p`. A row's token depends on
    that row alone, not on what else is in the batch.
    """
    likeliest = logits.argmax(-1)
    warmth = torch.where(heat > 0, heat, 1.0)
    # In the model's own precision: bfloat16 is sorted in half the time.
    ordered, order = logits.sort(dim=-1, descending=True, stable=True)
    shares = (ordered.float() / warmth[:, None]).softmax(-1)
    total = shares.cumsum(-1)
    # What is kept: every token before which less than top_p was reached.
    kept = (total - shares < top_p[:, None]).sum(-1, keepdim=True) - 1
    at = chance[:, None] * total.gather(-1, kept)
    chosen = torch.searchsorted(total, at, right=True).clamp(max=kept)
    return torch.where(heat > 0, order.gather(-1, chosen)[:, 0], likeliest)


def chances(sampling: Sampling) -> NDArray[np.float32]:
    """The random numbers of a trial, one for each token that it may say. They follow from its seed alone."""
    return np.random.default_rng(sampling.seed).random(sampling.max_tokens).astype(np.float32)


def share(sampling: Sampling) -> float:
    """The share of the likeliest tokens that are drawn from; all of them where nothing is said, at 0 the likeliest."""
    return 1.0 if sampling.top_p is None else max(sampling.top_p, 1e-9)
