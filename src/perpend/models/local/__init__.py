"""local: llama.cpp in worker processes of this machine. `local/smollm2` is the embedded model."""

from perpend.models.local.provider import Local, model

__all__ = ["Local", "model"]
