"""Draws that depend on nothing but the words they are asked for: the same on every machine, in every order."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from hashlib import blake2b
from typing import TypeVar

T = TypeVar("T")


class Chance:
    """A stream of draws, named by words; `of` names another one that does not depend on what this one gave."""

    def __init__(self, *words: object) -> None:
        self._name = "/".join(map(str, words))
        self._drawn = 0

    def of(self, *words: object) -> Chance:
        return Chance(self._name, *words)

    def below(self, count: int) -> int:
        """0, 1, … or count - 1."""
        self._drawn += 1
        digest = blake2b(f"{self._name}#{self._drawn}".encode(), digest_size=16).digest()
        return int.from_bytes(digest, "big") % count

    def between(self, low: int, high: int) -> int:
        """A whole number from low to high, both included."""
        return low + self.below(high - low + 1)

    def number(self, low: float, high: float, digits: int) -> Fraction:
        """A decimal number from low to high with so many digits after the point."""
        scale = 10**digits
        return Fraction(self.between(round(low * scale), round(high * scale)), scale)

    def heads(self) -> bool:
        return self.below(2) == 0

    def pick(self, among: Sequence[T]) -> T:
        return among[self.below(len(among))]

    def some(self, among: Sequence[T], count: int) -> list[T]:
        """So many different ones, in random order."""
        return self.mixed(among)[:count]

    def mixed(self, all_of: Sequence[T]) -> list[T]:
        left = list(all_of)
        return [left.pop(self.below(len(left))) for _ in range(len(left))]
