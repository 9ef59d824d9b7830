"""Paths → the runs and published folders that they are or hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from perpend.errors import StoreError
from perpend.receipt import RECEIPT


@dataclass(frozen=True, slots=True)
class Place:
    """One thing to audit: a run directory, or a published folder."""

    path: Path
    published: bool


def places(paths: Sequence[Path]) -> list[Place]:
    """Every run and published folder that the paths are or hold, each once, in the order of the paths, then by name.

    A path that holds none is a StoreError.
    """
    found: dict[Path, Place] = {}
    for path in paths:
        if not path.is_dir():
            raise StoreError(f"{path}: no such folder; give a run, a published folder, or a folder of them")
        here = list(_below(path))
        if not here:
            raise StoreError(
                f"{path}: holds no run (manifest.json and run.db) and no published folder ({RECEIPT}); "
                "'perpend eval' makes the one, 'perpend publish' the other"
            )
        for place in here:
            found.setdefault(place.path.resolve(), place)
    return list(found.values())


def _below(path: Path) -> Iterator[Place]:
    """A receipt or a plan makes a published folder even when the other files are lost: that is to be told."""
    if (path / RECEIPT).is_file() or (path / "plan.json").is_file():
        yield Place(path, published=True)
    elif (path / "manifest.json").is_file() or (path / "run.db").is_file():
        yield Place(path, published=False)
    else:
        for entry in sorted(path.iterdir()):
            if entry.is_dir() and not entry.is_symlink() and not entry.name.startswith("."):
                yield from _below(entry)
