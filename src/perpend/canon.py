"""Canonical bytes: JSON, digests, atomic writes, deterministic compression, portable file names.

Everything that is hashed or written goes through here, so the same value gives the same bytes on every machine.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
import os
import re
import tempfile
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

JSON: TypeAlias = "bool | int | float | str | Sequence[JSON] | Mapping[str, JSON] | None"

# Made once: json.dumps would make an encoder for every call, and a trial takes three.
_ENCODE = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode
_SURROGATES = re.compile("[\ud800-\udfff]")
_UNPORTABLE = re.compile(r"[^A-Za-z0-9._-]+")
# Names that Windows reserves whatever the ending: a folder called NUL.txt cannot be checked out there.
_DEVICE = re.compile(r"(?i)^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)")
_NAME_BYTES = 100


def dumps(value: JSON) -> str:
    """One line of canonical JSON: sorted keys, no spaces, UTF-8 as it is. NaN and infinity are a ValueError."""
    return _ENCODE(value)


def pretty(value: JSON) -> str:
    """Canonical JSON for people and diffs: sorted keys, two spaces, one newline at the end."""
    return json.dumps(value, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def digest(value: JSON) -> str:
    """SHA-256, in hex, of the canonical JSON of a value."""
    return hashlib.sha256(dumps(value).encode()).hexdigest()


def digest_file(path: Path) -> str:
    """SHA-256, in hex, of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def clean_text(text: str) -> str:
    """The text with each lone surrogate replaced by U+FFFD: JSON can carry one, UTF-8 and SQLite cannot."""
    return _SURROGATES.sub("\ufffd", text)


def write_atomic(path: Path, content: str | bytes) -> None:
    """Write a whole file or nothing: a temporary file beside it, flushed to disk, then renamed over it."""
    data = content.encode() if isinstance(content, str) else content
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:50]}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            Path(temporary).unlink()
        raise


def compress(data: bytes) -> bytes:
    """gzip with no name and no time in its header: the same bytes in, the same bytes out."""
    return gzip.compress(data, compresslevel=6, mtime=0)


def portable_name(text: str) -> str:
    """A file name for any text that every file system takes and that cannot leave its folder.

    Letters, digits, '.', '_' and '-' are kept, other runs become '_'. Whatever had to change gets eight digits of
    the text's digest, so two texts never share a name by accident.
    """
    plain = _UNPORTABLE.sub("_", unicodedata.normalize("NFKC", text)).strip("._-")
    lost = plain != text or _DEVICE.match(plain) is not None or len(plain) > _NAME_BYTES
    if not lost and plain:
        return plain
    stem = plain[: _NAME_BYTES - 10].rstrip("._-") or "x"
    tail = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"x{stem}_{tail}" if _DEVICE.match(stem) else f"{stem}_{tail}"
