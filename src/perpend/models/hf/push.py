"""A vector that is added to what one block puts out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from torch import Tensor
from torch.nn import Module

from perpend.errors import ModelError
from perpend.models.hf.candidates import hidden_of


@dataclass(frozen=True, slots=True)
class Push:
    """`vector` is added to what `block` puts out, at every token or from the last one of the prompt on.

    What is written into `vector` later counts from then on.
    """

    block: Module
    vector: Tensor
    everywhere: bool


@contextmanager
def pushed(block: Module, vector: Tensor, positions: Tensor) -> Iterator[None]:
    """Inside, `vector` is added to what a block puts out, at the rows and tokens where `positions` is True.

    The vector must have the model's device and dtype: a mismatch is an error here, where it would otherwise be a silent
    copy or nothing at all.
    """

    def add(_: Module, __: object, out: object) -> object:
        hidden = hidden_of(out)
        if (vector.device, vector.dtype) != (hidden.device, hidden.dtype):
            raise ModelError(
                f"steering: the vector is {vector.dtype} on {vector.device}, the activations are {hidden.dtype} on"
                f" {hidden.device}; convert the vector first"
            )
        changed = hidden + positions[..., None] * vector
        return (changed, *out[1:]) if isinstance(out, tuple) else changed

    hook = block.register_forward_hook(add)
    try:
        yield
    finally:
        hook.remove()
