"""Compressed canonical JSON lines: written, read back, and two kinds of line, of which there are many, read quickly.

A quick reading takes whole blocks of lines that are canonical by their shape; every other line goes the long way, which
says what is wrong with it.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TypeAlias, TypeVar

from perpend.ask.progress import Progress
from perpend.canon import JSON, dumps, open_file
from perpend.disk import writing
from perpend.errors import StoreError

_LINES = 1000
# A longer line is no answer of a model but an attack on the reader's memory.
_LONGEST = 1 << 25
_RATIO, _FREE = 500, 1 << 28
"""A file may unpack to this many times its size, and 256 MB more. Scores, which say the same often, do to 30 times."""
_BLOCK = 1 << 17
"""Characters that are read at a time, and up to the end of their last line."""
_READ: Callable[[str], JSON] = json.JSONDecoder().decode
_COUNT = "(0|[1-9][0-9]{0,17})"
_TRIAL = re.compile(rf"^\[{_COUNT},{_COUNT},{_COUNT},{_COUNT},{_COUNT}\]\n", re.MULTILINE)
_PLAIN = r'[^"\\\x00-\x1f]*'
"""A text that JSON holds as it is."""
_SCORE = re.compile(
    rf'^\{{"answer":(null|"{_PLAIN}"),"reason":"({_PLAIN})","scorer":"({_PLAIN})",'
    r'"span":(null|\[(?:0|[1-9][0-9]{0,17}),(?:0|[1-9][0-9]{0,17})\]),'
    r'"trial":(0|[1-9][0-9]{0,17}),"value":(null|-?[0-9.e+-]+)\}\n',
    re.MULTILINE,
)
QuickValue = TypeVar("QuickValue")
QuickScore: TypeAlias = tuple[str | None, str, str, str | None, int, float | None]
"""answer, reason, scorer, span as JSON, trial, value"""


def write_lines(path: Path, lines: Iterable[str], progress: Progress | None = None) -> None:
    """Lines, compressed with no name and no time in the header: same lines, same bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with writing(path), path.open("wb") as file, gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
        for chunk, count in line_bytes(path.name, lines):
            packed.write(chunk)
            if progress is not None:
                progress.advance(count)


def line_bytes(name: str, lines: Iterable[str]) -> Iterator[tuple[bytes, int]]:
    """What is compressed of lines, in parts with their number of lines. A row without a line is a StoreError."""
    rest = iter(lines)
    try:
        while chunk := list(islice(rest, _LINES)):
            yield ("\n".join(chunk) + "\n").encode(), len(chunk)
    except ValueError as error:  # a number that JSON has no word for, or a column that should hold JSON
        raise StoreError(f"{name}: a row of run.db cannot be written: {error}") from error


def read_lines(path: Path) -> Iterator[tuple[int, JSON]]:
    """(line number, value) of compressed JSON lines. What is not that is a StoreError with file and line."""
    return ((number, value) for number, value, _ in _read(path, _nothing))


def read_trials(path: Path) -> Iterator[tuple[int, JSON]]:
    """The same of lines of five numbers."""
    for number, value, quick in _read(path, _quick_trials):
        if quick is None:
            yield number, value
        else:
            yield from enumerate(quick, number)


def read_scores(path: Path) -> Iterator[tuple[int, JSON, list[QuickScore] | None]]:
    """(line number, value, None) of a line of scores, or (first line number, None, the parts of each) of several."""
    return _read(path, _quick_scores)


def _nothing(_block: str) -> None:
    return None


def _shapes(pattern: re.Pattern[str], block: str) -> list[tuple[str, ...]] | None:
    """The parts of every line; None where not every line is of this shape."""
    shapes = pattern.findall(block)
    # A shape begins with its line and holds one end of a line, the last character.
    return shapes if block.endswith("\n") and len(shapes) == block.count("\n") else None


def _quick_trials(block: str) -> list[JSON] | None:
    shapes = _shapes(_TRIAL, block)
    return None if shapes is None else [[*map(int, numbers)] for numbers in shapes]


def _quick_scores(block: str) -> list[QuickScore] | None:
    shapes = _shapes(_SCORE, block)
    if shapes is None:
        return None
    try:
        values = {text: None if text == "null" else float(text) for text in {shape[5] for shape in shapes}}
    except ValueError:
        return None
    if any(number is not None and repr(number) != text for text, number in values.items()):
        return None
    return [
        (
            None if answer == "null" else answer[1:-1],
            reason,
            scorer,
            None if span == "null" else span,
            int(trial),
            values[value],
        )
        for answer, reason, scorer, span, trial, value in shapes
    ]


def _read(
    path: Path, quickly: Callable[[str], list[QuickValue] | None]
) -> Iterator[tuple[int, JSON, list[QuickValue] | None]]:
    """(first line number, None, what `quickly` makes of them) of lines that it takes, (line number, value, None) of
    every other line."""
    number = 1
    try:
        with (
            open_file(path, StoreError, "the folder is not a whole published run", within=path.parent) as packed,
            gzip.open(packed, "rt", encoding="utf-8", newline="\n") as file,
        ):
            left = _RATIO * os.fstat(packed.fileno()).st_size + _FREE
            while block := file.read(_BLOCK):
                block += "" if block.endswith("\n") else file.readline(_LONGEST)
                left -= len(block)
                if left < 0:
                    raise StoreError(
                        f"{path}: unpacks to more than {_RATIO} times its size; it was made to fill memory"
                    )
                quick = quickly(block)
                if quick is not None:
                    yield number, None, quick
                    number += len(quick)
                    continue
                for line in block.removesuffix("\n").split("\n"):
                    quick = quickly(f"{line}\n")
                    yield number, None if quick is not None else _value(line, f"{path}:{number}"), quick
                    number += 1
                if not block.endswith("\n"):
                    raise StoreError(f"{path}:{number - 1}: cut off; the file was changed, or was never whole")
    except (OSError, EOFError, zlib.error, ValueError, RecursionError) as error:
        raise StoreError(f"{path}, near line {number}: damaged: {error}") from error


def _value(line: str, place: str) -> JSON:
    value = _READ(line)
    # A key said twice, another order, a number beyond every float: no line of ours.
    if dumps(value) != line:
        raise StoreError(f"{place}: not one line of canonical JSON, as perpend writes them")
    return value
