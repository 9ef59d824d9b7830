"""The protocol's digests, byte for byte: of a file, of the whole set (now and before), of ids."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from perpend.canon import digest_file, text_lines
from perpend.errors import DataError

SHORT = 16
"""Hex digits of the digests of ids and prompts."""


@dataclass(frozen=True, slots=True)
class FileDigest:
    """One item file: its path as the selector lists it, its non-blank lines, the SHA-256 of its bytes."""

    path: str
    count: int
    sha256: str


def file_digest(path: Path, listed: str) -> FileDigest:
    """The digest of a file that the selector lists as `listed`."""
    if not path.exists():
        raise DataError(f"{path}: no such file; the selector lists it as {listed!r}")
    return FileDigest(listed, count_lines(path), digest_file(path))


def count_lines(path: Path) -> int:
    """How many lines are not blank, read as UTF-8."""
    return sum(1 for _ in text_lines(path))


def global_sha256(files: Iterable[FileDigest]) -> str:
    """SHA-256 over 'path:sha256:count' and a line feed for each file, sorted by path."""
    return _joined(f"{file.path}:{file.sha256}:{file.count}\n" for file in sorted(files, key=lambda file: file.path))


def legacy_global_sha256(files: Iterable[FileDigest]) -> str:
    """The formula of runs before 20 February 2026: as `global_sha256`, without the counts."""
    return _joined(f"{file.path}:{file.sha256}\n" for file in sorted(files, key=lambda file: file.path))


def ids_hash(ids: Iterable[str]) -> str:
    """16 hex digits over the sorted ids joined by '|': blind to order, text and labels."""
    return hashlib.sha256("|".join(sorted(ids)).encode()).hexdigest()[:SHORT]


def _joined(lines: Iterable[str]) -> str:
    return hashlib.sha256("".join(lines).encode()).hexdigest()
