"""Choices that depend on nothing but a name: the same on every machine, and untouched by what else is chosen.

A seeded generator would do as long as nobody inserts a draw; a digest of what is being decided needs no order. So a
fact that is added or removed changes its own items and no others.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")

PUBLIC = "chaos-logic 2"
"""The key of the public set. A private set has a secret one."""


@dataclass(frozen=True, slots=True)
class Chance:
    """All choices of one set: functions of its key and of a name."""

    key: str = PUBLIC

    def share(self, *name: str) -> float:
        """A number in [0, 1) that belongs to a name."""
        text = "\x1f".join((self.key, *name))
        return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=6).digest()) / 2**48

    def below(self, count: int, *name: str) -> int:
        """A whole number from 0 to `count` - 1 that belongs to a name, all equally likely."""
        return int(self.share(*name) * count)

    def pick(self, options: Sequence[T], *name: str) -> T:
        """The option that belongs to a name, all equally likely."""
        return options[self.below(len(options), *name)]

    def mixed(self, entries: Iterable[T], label: Callable[[T], str], *name: str) -> list[T]:
        """The entries in the order that belongs to a name; `label` tells the entries apart."""
        return sorted(entries, key=lambda entry: (self.share(*name, label(entry)), label(entry)))


def text_name(text: str) -> str:
    """Ten hex digits that belong to a text."""
    return hashlib.blake2b(text.encode(), digest_size=5).hexdigest()
