"""hf: a checkpoint in transformers, on the GPU or the CPU of this machine. `hf/smollm2` is the embedded model."""

from perpend.models.hf.provider import Transformers, model

__all__ = ["Transformers", "model"]
