"""The page of a published run: its files, and what writes and checks them, which is given from the floor above."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from perpend.canon import JSON
from perpend.measure.run import Run

PAGE, PAGE_DATA = "page.html", "page_data"
"""The page, and the folder of its trials where there are too many for one file."""


def is_page(name: str) -> bool:
    """Whether a file of a published folder, by its name with '/', is of the page."""
    return name == PAGE or name.startswith(f"{PAGE_DATA}/")


@dataclass(frozen=True, slots=True)
class PageMaker:
    """`write` puts the page of a run into its published folder; `check` says how many parts of one it has compared with
    what the run gives, and in which they differ. Both are given the receipt's facts; gates are all that they take.
    """

    write: Callable[[Run, Path, Mapping[str, JSON]], None]
    check: Callable[[Run, Path, Mapping[str, JSON]], tuple[int, list[str]]]
