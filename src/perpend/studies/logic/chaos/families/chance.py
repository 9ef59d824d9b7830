"""Choices that depend on nothing but a name: the same on every machine, and untouched by what else is chosen.

A seeded generator would do as long as nobody inserts a draw; a digest of what is being decided needs no order. So a
fact that is added or removed changes its own items and no others.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")

SEED = "chaos-logic 1"


def share(*key: str) -> float:
    """A number in [0, 1) that belongs to a key."""
    text = "\x1f".join((SEED, *key))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=6).digest()) / 2**48


def pick(options: Sequence[T], *key: str) -> T:
    """The option that belongs to a key, all equally likely."""
    return options[int(share(*key) * len(options))]


def mixed(entries: Iterable[T], name: Callable[[T], str], *key: str) -> list[T]:
    """The entries in the order that belongs to a key."""
    return sorted(entries, key=lambda entry: (share(*key, name(entry)), name(entry)))


def text_name(text: str) -> str:
    """Ten hex digits that belong to a text."""
    return hashlib.blake2b(text.encode(), digest_size=5).hexdigest()
