"""Compressed canonical JSON lines: written, read back, and two kinds of line, of which there are many, read quickly.

A quick reading takes only lines that are canonical by their shape; every other line goes the long way, which says what
is wrong with it.
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TypeAlias, TypeVar

from perpend.ask.progress import Progress
from perpend.canon import JSON, dumps
from perpend.disk import writing
from perpend.errors import StoreError

_LINES = 1000
# A longer line is no answer of a model but an attack on the reader's memory.
_LONGEST = 1 << 25
_READ: Callable[[str], JSON] = json.JSONDecoder().decode
_COUNT = "(0|[1-9][0-9]{0,17})"
_TRIAL = re.compile(rf"\[{_COUNT},{_COUNT},{_COUNT},{_COUNT},{_COUNT}\]\n")
_PLAIN = r'"([^"\\\x00-\x1f]*)"'
"""A text that JSON holds as it is."""
_SCORE = re.compile(
    rf'\{{"answer":(?:null|{_PLAIN}),"reason":{_PLAIN},"scorer":{_PLAIN},'
    r'"span":(?:null|(\[(?:0|[1-9][0-9]{0,17}),(?:0|[1-9][0-9]{0,17})\])),'
    r'"trial":(0|[1-9][0-9]{0,17}),"value":(?:null|(-?[0-9.e+-]+))\}\n'
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
    for number, value, quick in _read(path, _quick_trial):
        yield number, value if quick is None else quick


def read_scores(path: Path) -> Iterator[tuple[int, JSON, QuickScore | None]]:
    """(line number, value, None) of lines of scores, or (line number, None, the parts of the score)."""
    return _read(path, _quick_score)


def _nothing(_line: str) -> None:
    return None


def _quick_trial(line: str) -> list[JSON] | None:
    shape = _TRIAL.fullmatch(line)
    return None if shape is None else [*map(int, shape.groups())]


def _quick_score(line: str) -> QuickScore | None:
    shape = _SCORE.fullmatch(line)
    if shape is None:
        return None
    answer, reason, scorer, span, trial, value = shape.groups()
    if value is None or value in ("0.0", "1.0"):
        return answer, reason, scorer, span, int(trial), None if value is None else float(value)
    try:
        number = float(value)
    except ValueError:
        return None
    return (answer, reason, scorer, span, int(trial), number) if repr(number) == value else None


def _read(path: Path, quickly: Callable[[str], QuickValue]) -> Iterator[tuple[int, JSON, QuickValue]]:
    number = 0
    if not path.is_file():  # to open a pipe would wait for ever
        raise StoreError(f"{path}: missing, or not a file; the folder is not a whole published run")
    try:
        with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
            for number, line in enumerate(iter(partial(file.readline, _LONGEST), ""), 1):
                quick = quickly(line)
                if quick is not None:
                    yield number, None, quick
                    continue
                value = _READ(line)
                # A key said twice, another order, a number beyond every float: no line of ours.
                if dumps(value) + "\n" != line:
                    raise StoreError(f"{path}:{number}: not one line of canonical JSON, as perpend writes them")
                yield number, value, quick
    except (OSError, EOFError, zlib.error, ValueError, RecursionError) as error:
        raise StoreError(f"{path}, near line {number}: damaged: {error}") from error
