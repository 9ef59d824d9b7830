"""One reading of characters: case, accents, dashes, quotes, spaces, subscripts and full-width forms folded away."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

INVISIBLE = re.compile("[\u00ad\u0300-\u036f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff]")
"""Characters that a reader does not see apart: soft hyphens, combining marks, zero-width and direction marks."""

_SAME = {
    "-": "\u2010\u2011\u2012\u2013\u2212\ufe58\ufe63\uff0d",
    "'": "\u2018\u2019\u201b\u02bc\u2032\u00b4`",
    '"': "\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033",
    " ": "\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000\t\r\v\f\u0085",
    "\n": "\u2028\u2029",
    "*": "\u00d7\u2715\u2716\u22c5\u00b7\u2217\u2022",
    "/": "\u00f7\u2044\u2215",
}


def _table() -> dict[str, str]:
    table = {char: base for base, chars in _SAME.items() for char in chars}
    table |= {chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F) if chr(code) not in table}
    table |= {chr(0x2080 + digit): str(digit) for digit in range(10)}
    for code in (*range(0x00C0, 0x0250), *range(0x1E00, 0x1F00)):
        base, *marks = list(unicodedata.normalize("NFD", chr(code)))
        if marks and all(unicodedata.combining(mark) for mark in marks):
            table[chr(code)] = base
    return table


_TABLE = _table()
FOLDED = re.compile("[" + re.escape("".join(_TABLE)) + "]")
"""The characters that fold."""
_ASCII = "`\t\r\v\f"
_FREQUENT = _ASCII + "\u2019\u2018\u201c\u201d\u2013\u2011\u00a0\u202f\u2022\u00d7\u00e9"
"""Of them, the ASCII ones and those that fill texts: one replacement each takes a hundredth of a substitution."""
_KEPT = "\u2014\u2026\u00b0\u00b2\u00b3\u221a\u2248\u2192\u03c0\u20ac\u00a3"
"""Frequent characters that do not fold: where no other is left, no substitution is needed."""


@dataclass(frozen=True, slots=True)
class Folded:
    """`text` in its folded form. `offsets[i]` is where its i-th character stood; None when nothing moved."""

    text: str
    offsets: tuple[int, ...] | None = None

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Where `text[start:end]`, which is not empty, stood in the original."""
        if self.offsets is None:
            return start, end
        return self.offsets[start], self.offsets[end - 1] + 1


def fold(text: str) -> Folded:
    """The text as it is compared: every character becomes one character, invisible ones are dropped."""
    for char in _ASCII if text.isascii() else _FREQUENT:
        if char in text:
            text = text.replace(char, _TABLE[char])
    offsets = None
    if not _without(text, _KEPT).isascii():
        if INVISIBLE.search(text):
            kept = [i for i, char in enumerate(text) if INVISIBLE.match(char) is None]
            text, offsets = "".join([text[i] for i in kept]), tuple(kept)
        text = FOLDED.sub(_fold, text)
    return Folded(text.lower(), offsets)


def _without(text: str, chars: str) -> str:
    if not text.isascii():
        for char in chars:
            text = text.replace(char, "")
    return text


def _fold(found: re.Match[str]) -> str:
    return _TABLE[found[0]]
