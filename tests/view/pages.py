"""What a page holds, taken out of it as a browser would."""

from __future__ import annotations

import base64
import gzip
import json
import math
import re
import struct
from contextlib import ExitStack
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from perpend._view import OpenedRuns, ViewOptions
from perpend.view.page import WrittenPage, write_page

HELD = re.compile(r'<script type="text/plain" id="(index|chunk-\d+)">([A-Za-z0-9+/=]*)</script>')


def write(out: Path, *runs: Path, most: int = 20_000, **options: Any) -> WrittenPage:
    """Write the page of some runs."""
    with ExitStack() as stack:
        opened = OpenedRuns(stack, runs, ViewOptions(**{"figures": False, **options}))
        return write_page(opened.view(), out, most=most)


def unpacked(text: str) -> Any:
    """A part of a page."""
    return json.loads(gzip.decompress(base64.b64decode(text)))


class Page:
    """The data of a page in one file."""

    def __init__(self, path: Path) -> None:
        self.text = path.read_text(encoding="utf-8")
        parts = dict(HELD.findall(self.text))
        self.index = unpacked(parts["index"])
        self.trials = [trial for chunk in self.index["chunks"] for trial in unpacked(parts[chunk["at"]])["trials"]]

    @property
    def run(self) -> dict[str, Any]:
        """What the index says of the first run."""
        run: dict[str, Any] = self.index["runs"][0]
        return run

    def column(self, name: str) -> list[Any]:
        """The values of a column, row by row; None where a trial has none."""
        body, n = self.index["columns"][name], self.index["n"]
        if body["kind"] == "number":
            values = struct.unpack(f"<{n}d", base64.b64decode(body["data"]))
            return [None if math.isnan(value) else value for value in values]
        letter = {1: "B", 2: "H", 4: "I"}[body["width"]]
        return [body["values"][code] for code in struct.unpack(f"<{n}{letter}", base64.b64decode(body["codes"]))]

    def rows(self, *names: str) -> list[tuple[Any, ...]]:
        """Some columns, row by row."""
        return list(zip(*(self.column(name) for name in names), strict=True))

    def at(self, **wanted: str) -> dict[str, Any]:
        """The first trial with these values."""
        columns = {name: self.column(name) for name in wanted}
        row = next(n for n in range(self.index["n"]) if all(columns[key][n] == wanted[key] for key in wanted))
        trial: dict[str, Any] = self.trials[row]
        return trial


class Elements(HTMLParser):
    """The elements of a page with their attributes, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    @property
    def names(self) -> set[str]:
        """The names of the elements."""
        return {tag for tag, _ in self.tags}


def page_of(out: Path, *runs: Path, **options: Any) -> Page:
    """Write the page of some runs and read it."""
    return Page(write(out, *runs, **options).page)


def cut(text: str, start: int, end: int) -> str:
    """A part of a text as JavaScript cuts it."""
    return text.encode("utf-16-le")[2 * start : 2 * end].decode("utf-16-le")
