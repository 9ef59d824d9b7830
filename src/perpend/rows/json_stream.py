"""One JSON object in a stream, key by key: what is not wanted is passed over, so memory holds one wanted value."""

from __future__ import annotations

import codecs
import io
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TypeAlias

import numpy as np

from perpend.canon import JSON, opened, parse
from perpend.errors import DataError

Shape: TypeAlias = "Mapping[str, Shape | None]"
"""The keys that are wanted: None is the whole value; a Shape is an object of which only some keys are."""
LARGEST = 1 << 25
"""The most characters that one wanted value may have. Beyond it a file is refused: it would not fit into memory."""
_CHUNK = 1 << 20
_FIRST_LINE = 1 << 24
_WHOLE = 1 << 26
_PLAIN = json.JSONDecoder()
_DEEPEST = 100
_MOST_KEYS = 10_000
_WINDOW = 1 << 12
# Possessive: nothing that was passed is ever gone back to. But no group of alternatives is: Python 3.11.2, which Debian
# has, matches that wrongly.
_IN_QUOTES = r'[^"\\]*+(?:\\.[^"\\]*+)*'
_STRING = re.compile(f'"{_IN_QUOTES}"', re.DOTALL)
_IN_STRING = re.compile(_IN_QUOTES, re.DOTALL)
_CLOSED = re.compile(f'[^"]*+(?:"{_IN_QUOTES}"[^"]*+)*', re.DOTALL)
_SPACE = re.compile(r"[ \t\r\n]*+")
_SCALAR = re.compile(r"[^,\]}\s]*+")


def first_object(path: Path, *, whole: int = 1 << 23) -> Mapping[str, JSON] | None:
    """The JSON object in the first line of a file, or the one that the whole file is; None where it holds neither.

    Of one object of more than `whole` bytes only the keys are read, each without its value. A file of more than _WHOLE
    bytes is not read as one object: nothing that is small enough to be one is that large.
    """
    with opened(path) as file:
        start = file.read(_WINDOW).removeprefix(codecs.BOM_UTF8).lstrip()
        if not start.startswith(b"{"):
            return None
        file.seek(0)
        body = _object(file.readline(_FIRST_LINE))
        size = path.stat().st_size
        if body is None and size <= whole:
            file.seek(0)
            return _object(file.read(whole))
    return _keys(path) if body is None and size <= _WHOLE else body


def _keys(path: Path) -> Mapping[str, JSON] | None:
    keys: dict[str, JSON] = {}
    try:
        with opened(path) as file, _Text(file, str(path)) as text:
            for key in text.each_key():
                keys[key] = None
                text.skip()
            text.end()
    except DataError:
        return None
    return keys


def _object(text: bytes) -> Mapping[str, JSON] | None:
    try:
        body = parse(text.decode("utf-8"), constants=True)
    except (ValueError, RecursionError):
        return None
    return body if isinstance(body, dict) else None


def members(path: Path, shape: Shape, listed: str, entry: Shape) -> Iterator[tuple[str, JSON]]:
    """(key, value) of the object that a file holds, of the keys that `shape` wants.

    The list under the key `listed` comes as one pair per entry, with what `entry` wants of it.
    """
    try:
        with opened(path) as file:
            text = _Text(file, str(path))
            for key in text.each_key():
                if key == listed and text.peek() == "[":
                    for _ in text.entries():
                        yield key, text.picked(entry)
                elif key in shape:
                    yield key, text.value()
                else:
                    text.skip()
            text.end()
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from None


def entries(file: BinaryIO, where: str, encoding: str, key: str | None, *, constants: bool) -> Iterator[JSON]:
    """The entries of the list that a stream holds or, with `key`, of the list at that key of its object."""
    with _Text(file, where, encoding, constants=constants) as text:
        if key is None:
            for _ in text.entries():
                yield text.whole()
        for name in text.each_key() if key is not None else ():
            if name != key:
                text.skip()
                continue
            for _ in text.entries():
                yield text.whole()
        text.end()


def list_keys(file: BinaryIO, where: str, encoding: str) -> list[str]:
    """The keys of the object that a stream holds whose value is a list of objects, as far as its first entry says."""
    keys = []
    with _Text(file, where, encoding) as text:
        for key in text.each_key():
            if text.peek() != "[":
                text.skip()
                continue
            for number, _ in enumerate(text.entries()):
                if number == 0 and text.peek() == "{":
                    keys.append(key)
                text.skip()
        text.end()
    return keys


def picked(file: BinaryIO, where: str, shape: Shape) -> JSON:
    """What is wanted of the one value that a stream holds."""
    text = _Text(file, where)
    body = text.picked(shape)
    text.end()
    return body


class _Text:
    """The text of a stream from some place on; what was read past is dropped."""

    def __init__(self, file: BinaryIO, where: str, encoding: str = "utf-8-sig", *, constants: bool = True) -> None:
        self._file = io.TextIOWrapper(file, encoding=encoding, newline="")
        self._where, self._constants = where, constants
        self._text, self._at, self._passed = "", 0, 0
        self._is_at_end = False
        self._kept: int | None = None
        """Where the value begins that is to be kept whole; None where nothing is."""

    def __enter__(self) -> _Text:
        return self

    def __exit__(self, *_: object) -> None:
        """Whoever opened the stream closes it."""
        self._file.detach()

    def wrong(self, what: str) -> DataError:
        return DataError(f"{self._where}: not JSON: {what} at character {self._passed + self._at + 1}")

    def peek(self) -> str:
        """The next character that is no space; '' at the end."""
        while True:
            match = _SPACE.match(self._text, self._at)
            self._at = match.end() if match else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def take(self, expected: str) -> None:
        if self.peek() != expected:
            raise self.wrong(f"{expected!r} was expected")
        self._at += 1

    def end(self) -> None:
        """Nothing may follow."""
        if self.peek():
            raise self.wrong("something follows the end")

    def each_key(self) -> Iterator[str]:
        """The keys of the next value, an object; whoever asks takes or skips the value of each before the next."""
        known: set[str] = set()
        self.take("{")
        while self.peek() != "}":
            if known:
                self.take(",")
            key = self.value() if self.peek() == '"' else None
            if not isinstance(key, str):
                raise self.wrong("a key was expected")
            if key in known or len(known) >= _MOST_KEYS:
                raise self.wrong(f"the key {key!r:.80} is said twice" if key in known else "too many keys")
            known.add(key)
            self.take(":")
            yield key
        self.take("}")

    def entries(self) -> Iterator[None]:
        """Once for each entry of the next value, a list; whoever asks takes or skips it."""
        self.take("[")
        if self.peek() != "]":
            yield
            while self.peek() == ",":
                self.take(",")
                yield
        self.take("]")

    def picked(self, shape: Shape) -> JSON:
        """Of an object what a shape wants, anything else whole. A short one is read at once, a long one key by key."""
        if self.peek() != "{":
            return self.value()
        short = self._short()
        if short is not None:
            return _reduced(self._parsed(short), shape)
        body: dict[str, JSON] = {}
        for key in self.each_key():
            if key not in shape:
                self.skip()
            else:
                inner = shape[key]
                body[key] = self.value() if inner is None else self.picked(inner)
        return body

    def _short(self) -> str | None:
        """The text of the next object where it ends within the next million characters, and is passed over."""
        if len(self._text) - self._at < _CHUNK:
            self._more()
        start = self._at
        with suppress(ValueError, RecursionError):  # it does not end here, or is to be looked at with more care
            _, self._at = _PLAIN.raw_decode(self._text, start)
        return self._text[start : self._at] if self._at > start else None

    def whole(self) -> JSON:
        """The next value, whole; faster than `value` where it is a short object."""
        short = self._short() if self.peek() == "{" else None
        return self.value() if short is None else self._parsed(short)

    def value(self) -> JSON:
        """The next value, whole."""
        self.peek()
        self._kept = self._at
        self.skip()
        text, self._kept = self._text[self._kept : self._at], None
        return self._parsed(text)

    def _parsed(self, text: str) -> JSON:
        try:
            return parse(text, constants=self._constants)
        except (ValueError, RecursionError) as error:
            raise self.wrong(f"{error}, in the value that ends") from None

    def skip(self) -> None:
        """Pass over the next value. Only its brackets and strings are looked at."""
        start = self.peek()
        if start == '"':
            self._pass_string()
        elif start in ("[", "{"):
            self._pass_brackets()
        elif start and start not in ",:]}":
            self._pass_all(_SCALAR)
        else:
            raise self.wrong("a value was expected")

    def _pass_all(self, pattern: re.Pattern[str]) -> None:
        """Pass over what a pattern matches, however long: where the text is cut it matches on in what follows."""
        while True:
            match = pattern.match(self._text, self._at)
            self._at = match.end() if match else self._at
            if self._text[self._at :] not in ("", "\\") or not self._more():
                return

    def _pass_string(self) -> None:
        self._at += 1
        self._pass_all(_IN_STRING)
        if self._text[self._at : self._at + 1] != '"':
            raise self.wrong("a string that never ends")
        self._at += 1

    def _pass_brackets(self) -> None:
        depth, size = 0, _WINDOW
        while True:
            part = _Window.of(self._text, self._at, size)
            end, depth = part.end(depth)
            if depth > _DEEPEST:
                raise self.wrong(f"nested more than {_DEEPEST} levels deep")
            if end is not None:
                self._at += end
                return
            self._at += part.length
            if self._at < len(self._text) and self._text[self._at] == '"' and not part.length:
                self._pass_string()
            elif self._at == len(self._text) and not self._more():
                raise self.wrong("an object or a list that never ends")
            size = min(4 * size, _CHUNK)

    def _more(self) -> bool:
        if self._is_at_end:
            return False
        first = self._at if self._kept is None else self._kept
        rest = self._text[first:]
        if len(rest) > LARGEST:
            raise self.wrong(f"a value of more than {LARGEST} characters, or one that never ends,")
        try:
            more = self._file.read(_CHUNK)
        except UnicodeDecodeError as error:
            name = "UTF-8" if self._file.encoding.startswith("utf-8") else self._file.encoding.upper()
            raise DataError(f"{self._where}: not {name} ({error.reason}); save the file as UTF-8") from None
        self._passed += first
        self._text, self._at = rest + more, self._at - first
        self._kept = None if self._kept is None else 0
        self._is_at_end = not more
        return bool(more)


@dataclass(frozen=True, slots=True)
class _Window:
    """A piece of text that ends outside of every string, and what of it is in none."""

    length: int
    bare: list[str]
    strings: list[str]

    @classmethod
    def of(cls, text: str, at: int, size: int) -> _Window:
        """The piece from `at` on; a string that does not end within `size` characters is left out, and what follows."""
        match = _CLOSED.match(text, at, at + size)
        part = text[at : match.end()] if match else ""
        return cls(len(part), _STRING.split(part), _STRING.findall(part))

    def end(self, depth: int) -> tuple[int | None, int]:
        """Where in the piece the depth of brackets comes to 0, or None; and the depth then, or the largest there was.

        The largest only where it is too large; otherwise the one at the end.
        """
        letters = np.frombuffer("".join(self.bare).encode("utf-32-le"), np.uint32)
        steps = np.isin(letters, _OPENING).astype(np.int64) - np.isin(letters, _CLOSING)
        depths = depth + np.cumsum(steps)
        ends = np.flatnonzero((depths <= 0) & (steps < 0))
        deepest = int(depths[: ends[0] if len(ends) else None].max(initial=depth))
        if deepest > _DEEPEST:
            return None, deepest
        if not len(ends):
            return None, int(depths[-1]) if len(depths) else depth
        place = int(ends[0])
        before = int(np.searchsorted(np.cumsum([len(piece) for piece in self.bare]), place, side="right"))
        return place + 1 + sum(map(len, self.strings[:before])), 0


_OPENING, _CLOSING = np.array([ord("["), ord("{")]), np.array([ord("]"), ord("}")])


def _reduced(body: JSON, shape: Shape) -> JSON:
    if not isinstance(body, Mapping):
        return body
    return {
        key: value if (inner := shape[key]) is None else _reduced(value, inner)
        for key, value in body.items()
        if key in shape
    }
