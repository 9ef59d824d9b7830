"""One JSON object in a file, key by key, and one long list in it entry by entry: memory holds one value at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TextIO

from perpend.canon import JSON
from perpend.errors import DataError

LARGEST = 1 << 28
"""The most characters that one value may have. Beyond it a file is refused: whole it would not fit into memory."""
_CHUNK = 1 << 20
_FIRST_LINE = 1 << 24
_WHOLE = 1 << 26
_SPACE = " \t\r\n"
_DECODER = json.JSONDecoder()


def first_object(path: Path) -> Mapping[str, JSON] | None:
    """The JSON object in the first line of a file, or the one that the whole file is; None where it holds neither.

    A file of more than _WHOLE bytes is not read as one object: nothing that is small enough to be one is that large.
    """
    with path.open("rb") as file:
        body = _object(file.readline(_FIRST_LINE))
    if body is None and path.stat().st_size <= _WHOLE:
        body = _object(path.read_bytes())
    return body


def _object(text: bytes) -> Mapping[str, JSON] | None:
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return body if isinstance(body, dict) else None


def members(path: Path, listed: str) -> Iterator[tuple[str, JSON]]:
    """(key, value) of the object that a file holds; the list under the key `listed` comes as one pair per entry."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            yield from _members(_Text(file, path), listed)
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 at byte {error.start}; save the file as UTF-8") from None


def _members(text: _Text, listed: str) -> Iterator[tuple[str, JSON]]:
    text.take("{")
    if text.peek() == "}":
        return
    while True:
        key = text.value()
        if not isinstance(key, str):
            raise text.wrong("a key was expected")
        text.take(":")
        if key == listed and text.peek() == "[":
            for entry in _entries(text):
                yield key, entry
        else:
            yield key, text.value()
        if text.peek() != ",":
            text.take("}")
            return
        text.take(",")


def _entries(text: _Text) -> Iterator[JSON]:
    text.take("[")
    if text.peek() != "]":
        yield text.value()
        while text.peek() == ",":
            text.take(",")
            yield text.value()
    text.take("]")


class _Text:
    """The text of a file from some place on; what was read past is dropped."""

    def __init__(self, file: TextIO, path: Path) -> None:
        self._file, self._path = file, path
        self._text, self._at, self._passed, self._is_whole = "", 0, 0, False

    def wrong(self, what: str) -> DataError:
        return DataError(f"{self._path}: not JSON: {what} at character {self._passed + self._at + 1}")

    def peek(self) -> str:
        """The next character that is no space; '' at the end."""
        while True:
            while self._at < len(self._text):
                if self._text[self._at] not in _SPACE:
                    return self._text[self._at]
                self._at += 1
            if self._is_whole:
                return ""
            self._more()

    def take(self, expected: str) -> None:
        if self.peek() != expected:
            raise self.wrong(f"{expected!r} was expected")
        self._at += 1

    def value(self) -> JSON:
        """The next value, whole. Each failed try doubles what is held, so all tries together cost twice the last."""
        self.peek()
        while True:
            try:
                value: JSON
                value, end = _DECODER.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                if self._is_whole:
                    raise self.wrong(error.msg) from None
            except RecursionError:
                raise self.wrong("nested too deeply to be read") from None
            else:
                # A number that ends where the text ends may continue.
                if end < len(self._text) or self._is_whole:
                    self._at = end
                    return value
            if len(self._text) - self._at > LARGEST:
                raise self.wrong(f"a value of more than {LARGEST} characters, or one that never ends,")
            self._more()

    def _more(self) -> None:
        rest = self._text[self._at :]
        more = self._file.read(max(_CHUNK, len(rest)))
        self._passed += self._at
        self._text, self._at, self._is_whole = rest + more, 0, not more
