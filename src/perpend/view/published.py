"""The page in a published folder: written from what is published, and compared with what that gives.

A page holds data and a program. The data are compared byte by byte, unpacked; the program must be the one that this
version of perpend puts into every page.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import mmap
import re
import zlib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from perpend.canon import JSON, opened
from perpend.measure.run import Run
from perpend.proof.pages import PAGE, PAGE_DATA, PageMaker
from perpend.view.data import View, ViewedRun, encoded
from perpend.view.labelling import labelling_of
from perpend.view.overview import Stated
from perpend.view.page import LARGEST_FILE, Mode, chunk_file, shell, write_page

_HELD = re.compile(rb'<script type="text/plain" id="(index|chunk-\d{1,9})">([A-Za-z0-9+/=]*)</script>\n?')
_FILE = re.compile(rb'perpendChunk\((\d{1,9}), "([A-Za-z0-9+/=]*)"\)\n')
# gzip's magic number, deflate, no name, no comment, no time, level and system as `packed` writes them.
_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
_CONTEXT = 40


def page_of(run: Run, folder: Path, facts: Mapping[str, JSON]) -> View:
    """The page of a published run. `folder` has its numbers, its report and its figures; nothing is computed anew.

    It is made without the run's own code, whoever has it at hand: an audit, which may not run it, must find the same.
    """
    run = Run(run.directory)
    viewed = ViewedRun(Stated(run, folder, "published", {"gates": facts.get("gates")}, is_inside=True))
    return View([viewed], run.name, [labelling_of(viewed.trials)])


def write_published(run: Run, folder: Path, facts: Mapping[str, JSON]) -> None:
    """Write page.html into a published folder, with page_data where there are many trials."""
    write_page(page_of(run, folder, facts), folder / PAGE, most=LARGEST_FILE)


def check_published(run: Run, folder: Path, facts: Mapping[str, JSON]) -> tuple[int, list[str]]:
    """How many parts of the page were compared, and what differs: program, index, each part with trials."""
    view = page_of(run, folder, facts)
    for viewed in view.runs:
        viewed.fill()
    chunks = list(view.chunks())
    mode: Mode = "folder" if len(view) > LARGEST_FILE else "file"
    with opened(folder / PAGE, within=folder) as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as page:
        digest, held = _taken_apart(page)
        wrong = [] if digest == shell_digest(mode) else [f"{PAGE}: its program is not perpend's; do not open it"]
        inside = [f"chunk-{number}" for number in range(len(chunks))] if mode == "file" else []
        if list(held) != ["index", *inside]:
            return 1, [*wrong, f"{PAGE}: holds {len(held)} parts, not the {1 + len(inside)} of this run"]
        beside = [f"{PAGE_DATA}/{number}.js" for number in range(len(chunks))] if mode == "folder" else []
        wrong += _strays(folder, beside)
        index = encoded(view.index(mode, inside or beside))
        wrong += _compared(page[slice(*held["index"])], index, f"{PAGE}, overview and columns")
        for number, chunk in enumerate(chunks):
            words = f"trials in rows {chunk.first + 1} to {chunk.last}"
            if inside:
                wrong += _compared(page[slice(*held[inside[number]])], view.read(chunk), f"{PAGE}, {words}")
            elif (folder / beside[number]).is_file():
                wrong += _of_file(folder / beside[number], number, view.read(chunk), words)
    return 2 + len(chunks), wrong


def _taken_apart(page: mmap.mmap) -> tuple[str, dict[str, tuple[int, int]]]:
    """The digest of a page without what it holds, and where in it each part is. A part twice is in the digest."""
    digest, held, end = hashlib.sha256(), dict[str, tuple[int, int]](), 0
    for match in _HELD.finditer(page):
        name = match[1].decode("ascii")
        if name in held:
            continue
        digest.update(page[end : match.start()])
        held[name], end = match.span(2), match.end()
    digest.update(page[end:])
    return digest.hexdigest(), held


@cache
def shell_digest(mode: Mode) -> str:
    """The digest of the program that perpend puts into a page."""
    text = "".join(shell(mode, "", [("chunk-0", "")] if mode == "file" else [])).encode()
    return hashlib.sha256(_HELD.sub(b"", text)).hexdigest()


def _strays(folder: Path, wanted: list[str]) -> Iterator[str]:
    below = folder / PAGE_DATA
    there = {path.relative_to(folder).as_posix() for path in below.rglob("*")} if below.is_dir() else set()
    yield from (f"{name}: missing" for name in wanted if name not in there)
    yield from (f"{name}: nothing in this run gives such a file" for name in sorted(there - {*wanted}))


def _of_file(path: Path, number: int, now: bytes, words: str) -> list[str]:
    name = f"{PAGE_DATA}/{path.name}"
    longest = len(chunk_file(number, "")) + 4 * len(now) + 4096
    with opened(path, within=path.parents[1]) as file:
        match = _FILE.fullmatch(file.read(longest))
    if match is None or match[1] != str(number).encode():
        return [f"{name}: not a part of a page"]
    return _compared(match[2], now, f"{name}, {words}")


def _compared(stored: bytes, now: bytes, where: str) -> list[str]:
    """Whether what is packed is what it should be; no more of it is unpacked than that is long."""
    try:
        zipped = base64.b64decode(stored, validate=True)
        unpack = zlib.decompressobj(wbits=31)
        data = unpack.decompress(zipped, len(now) + 1)
    except (binascii.Error, zlib.error):
        return [f"{where}: cannot be unpacked"]
    if data != now:
        at = next(
            (n for n, (one, other) in enumerate(zip(data, now, strict=False)) if one != other), min(len(data), len(now))
        )
        shown = [part[max(0, at - _CONTEXT) : at + _CONTEXT].decode("utf-8", "replace") for part in (data, now)]
        return [f"{where}: stored {shown[0]!r}, recomputed {shown[1]!r}"]
    is_plain = zipped.startswith(_HEADER) and base64.b64encode(zipped) == stored
    if not is_plain or not unpack.eof or unpack.unused_data or unpack.unconsumed_tail:
        return [f"{where}: packed with something beside the data"]
    return []


PAGES = PageMaker(write_published, check_published)
