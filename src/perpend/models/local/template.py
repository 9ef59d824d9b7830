"""The process that renders a GGUF file's chat template: llama.cpp's own engine, on a model of a few kilobytes.

That model has the file's template and its marks of beginning and end, which is all that a template sees of a model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from perpend.canon import JSON
from perpend.disk import temporary_folder
from perpend.models.base import UnreadableRequestError
from perpend.models.local.engine import Service
from perpend.models.template import RefusedError, limit_memory, serve

_WIDTH = 32


def main() -> None:
    """Answer until the input ends."""
    import gguf  # noqa: F401 - now, while the weights are loaded
    import xllamacpp  # noqa: F401

    serve(_prepare)


def _prepare(setup: Mapping[str, JSON]) -> Callable[[list[JSON]], str]:
    with temporary_folder("template") as folder:
        path = folder / "template.gguf"
        _write(path, *(str(setup[key]) for key in ("template", "bos_token", "eos_token")))
        limit_memory()
        try:
            service = Service(path, context=64)  # renders the template some times already
        except RuntimeError as error:
            raise RefusedError(f"llama.cpp cannot read it ({error})", is_damage=True) from None

    def render(messages: list[JSON]) -> str:
        try:
            return str(service.post("/apply-template", {"messages": messages}).get("prompt"))
        except UnreadableRequestError as error:
            raise RefusedError(str(error)) from None

    return render


def _write(path: Path, template: str, bos: str, eos: str) -> None:
    import gguf
    import numpy as np

    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(1)
    writer.add_context_length(64)
    writer.add_embedding_length(_WIDTH)
    writer.add_feed_forward_length(_WIDTH)
    writer.add_head_count(1)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_tokenizer_model("llama")
    letters = [f"<0x{byte:02X}>" for byte in range(256)]
    kinds = gguf.TokenType
    writer.add_token_list(["<unk>", bos, eos, *letters])
    writer.add_token_types([kinds.UNKNOWN, kinds.CONTROL, kinds.CONTROL, *(kinds.BYTE for _ in letters)])
    writer.add_token_scores([0.0] * (3 + len(letters)))
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_add_bos_token(False)  # the mark stays in the text; the engine that reads the text knows whether it may
    writer.add_chat_template(template)
    square, line = np.zeros((_WIDTH, _WIDTH), np.float32), np.zeros(_WIDTH, np.float32)
    writer.add_tensor("token_embd.weight", np.zeros((3 + len(letters), _WIDTH), np.float32))
    writer.add_tensor("output_norm.weight", line)
    for part in ("attn_norm", "ffn_norm"):
        writer.add_tensor(f"blk.0.{part}.weight", line)
    for part in ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"):
        writer.add_tensor(f"blk.0.{part}.weight", square)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
