"""What may be in a checkpoint's folder: data. What names code, pickles or another place is refused unread."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from perpend.canon import JSON, as_object, read_text
from perpend.errors import ModelError

WEIGHTS = (".safetensors", ".gguf", ".bin", ".pt")
"""Files of weights; only the first two are loaded, and all of them are digested."""
_TEXTS = ("config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json", "chat_template.jinja")
_CONFIGS = ("config.json", "generation_config.json", "tokenizer_config.json", "special_tokens_map.json")
_PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle", ".joblib", ".npy", ".npz", ".h5", ".msgpack")
_INDEX = ".safetensors.index.json"


def checkpoint_files(folder: Path, name: str) -> list[Path]:
    """The files that identify a checkpoint, by name. A folder that asks for more than data is a ModelError."""
    files = sorted(file for file in folder.iterdir() if file.is_file())
    names = {file.name for file in files}
    for file in files:
        if file.name in _CONFIGS:
            _check_config(_body(file, name), f"{name}: {file.name}")
        elif file.name == "chat_template.jinja":
            read_text(file, ModelError)
        elif file.name == "adapter_config.json":
            raise ModelError(f"{name}: is an adapter of another model; merge it into that one and give the result")
        elif file.name.endswith(_INDEX):
            for shard in as_object(_body(file, name).get("weight_map")).values():
                _check_weights(shard, names, f"{name}: {file.name}")
    stated = _body(folder / "config.json", name).get("transformers_weights")
    if stated is not None:
        _check_weights(stated, names, f"{name}: config.json")
    if not any(file.suffix == ".safetensors" for file in files):
        pickled = [file.name for file in files if file.suffix in _PICKLES]
        why = f"only {pickled[0]}, which can run code when it is loaded" if pickled else "none"
        raise ModelError(
            f"{name}: no weights in safetensors ({why}); convert them with model.save_pretrained(folder) on a machine "
            "that may run it, or get the safetensors from the authors"
        )
    return [file for file in files if file.suffix in WEIGHTS or file.name in _TEXTS]


def _body(file: Path, name: str) -> Mapping[str, JSON]:
    # Not `canon.read_object`: configurations of honest models hold Infinity.
    try:
        body: JSON = json.loads(read_text(file, ModelError))
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{name}: {file.name} is damaged: {error}") from None
    if not isinstance(body, Mapping):
        raise ModelError(f"{name}: {file.name} must hold a JSON object, not {body!r:.80}")
    return body


def _check_config(body: JSON, where: str) -> None:
    """transformers takes kernels from a hub, and runs them, where a configuration names one (CVE-2026-4372)."""
    for key, value in _strings(body):
        if ("implementation" in key or "kernel" in key) and "/" in value:
            raise ModelError(
                f"{where}: {key!r} names code elsewhere ({value!r:.80}), which is never fetched or run; remove the key"
            )


def _strings(body: JSON, key: str = "") -> Iterator[tuple[str, str]]:
    """(key, value) of every string in a configuration; what is in a list or an object has the key of that too."""
    if isinstance(body, str):
        yield key, body
    elif isinstance(body, Mapping):
        for inner, value in body.items():
            yield from _strings(value, f"{key}.{inner}" if key else inner)
    elif isinstance(body, list):
        for value in body:
            yield from _strings(value, key)


def _check_weights(stated: JSON, names: set[str], where: str) -> None:
    if not isinstance(stated, str) or stated not in names or not stated.endswith((".safetensors", _INDEX)):
        raise ModelError(f"{where}: names {stated!r:.80}, which is no safetensors file of this folder; fetch it again")
