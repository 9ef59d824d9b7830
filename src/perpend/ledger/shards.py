"""Shards: which part of a plan each has, where its ledger is, and how a finished one is put in its place.

The unit is a block: one item with one model, under all conditions, samplings and repeats, so that no pair of answers is
ever split between two shards.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from perpend.errors import SpecError

SHARDS = "shards"
"""The folder of a run that holds its shards."""
_WRITTEN = re.compile(r"(\d{1,6})\s*/\s*(\d{1,6})")
_FOLDER = re.compile(r"(\d{4,6})-of-(\d{4,6})(?:-[0-9a-f]{12})?")


@dataclass(frozen=True, slots=True, order=True)
class Shard:
    """Part `number` of `of`, counted from 1."""

    number: int
    of: int

    def __post_init__(self) -> None:
        if not 1 <= self.number <= self.of:
            raise SpecError(f"--shard {self}: no such part; write k/N with k from 1 to N, such as 1/{max(self.of, 1)}")

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    @property
    def folder(self) -> str:
        """The name of its folder: '0003-of-0008'."""
        return f"{self.number:04}-of-{self.of:04}"

    def overlaps(self, other: Shard, blocks: int) -> bool:
        """Whether a block is in both, of a plan that has `blocks` blocks."""
        return max(self._start(blocks), other._start(blocks)) < min(self._end(blocks), other._end(blocks))

    def _start(self, blocks: int) -> int:
        return blocks * (self.number - 1) // self.of

    def _end(self, blocks: int) -> int:
        return blocks * self.number // self.of

    def items_of(self, model: int, models: int, items: int) -> tuple[int, int]:
        """The first and last item, from 1, that it asks the model at that position, from 0; (1, 0) where none.

        Blocks are counted model by model; of B blocks a shard has those from B(k-1)/N up to Bk/N.
        """
        start, end = self._start(models * items), self._end(models * items)
        first, last = max(start - model * items, 0) + 1, min(end - model * items, items)
        return (first, last) if first <= last else (1, 0)


def parse_shard(text: str) -> Shard:
    """The shard that a user writes as 'k/N'."""
    match = _WRITTEN.fullmatch(text.strip()) if isinstance(text, str) else None
    if match is None:
        raise SpecError(f"--shard {text!s:.40}: write k/N, the part and the number of parts, such as 3/8")
    return Shard(int(match[1]), int(match[2]))


def shard_named(folder: Path) -> Shard | None:
    """The shard whose ledger a folder holds by its name; None for any other name."""
    match = _FOLDER.fullmatch(folder.name)
    number, of = (0, 0) if match is None else (int(match[1]), int(match[2]))
    return Shard(number, of) if 1 <= number <= of else None


def shard_folders(run: Path) -> Mapping[Shard, list[Path]]:
    """Every folder below RUN/shards that holds a ledger, by its shard; a shard may have several, of different ages."""
    folders: dict[Shard, list[Path]] = {}
    for path in sorted((run / SHARDS).glob("*-of-*")):
        shard = shard_named(path)
        if shard is not None and (path / "run.db").is_file() and (path / "manifest.json").is_file():
            folders.setdefault(shard, []).append(path)
    return folders
