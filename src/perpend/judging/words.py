"""Words: a text made comparable, cut into tokens, each with a key; and the numbers that it holds, by value."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from functools import cached_property
from importlib.resources import files
from itertools import chain
from operator import itemgetter
from typing import Final, NamedTuple, TypeAlias

_LISTS: Final = tomllib.loads(files("perpend.judging").joinpath("words.toml").read_text(encoding="utf-8"))


def listed(name: str) -> tuple[str, ...]:
    """The words of a list of `words.toml`, in order."""
    return tuple(_LISTS[name].split())


def phrases(name: str) -> tuple[str, ...]:
    """The phrases of a list of `words.toml`, in order."""
    return tuple(_LISTS[name])


def described(name: str) -> dict[str, str]:
    """A table of `words.toml`: names, and what is said of them."""
    return dict(_LISTS[name])


def words_of(name: str) -> frozenset[str]:
    """The words of a list of `words.toml`, in no order."""
    return frozenset(listed(name))


def alternatives(name: str) -> str:
    """A pattern that matches one of the phrases of a list of `words.toml`, in which a word may have several forms."""
    patterns: list[str] = []
    for phrase in " ".join(listed(name)).split(", "):
        first, *rest = ["|".join(map(re.escape, word.split("|"))) for word in phrase.split(" ")]
        patterns += [form + "".join(f" (?:{forms})" for forms in rest) for form in first.split("|")]
    return f"(?:{'|'.join(patterns)})"


INVISIBLE: Final = re.compile("[\u00ad\u0300-\u036f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff]")
"""Characters that a reader does not see apart: soft hyphens, combining marks, zero-width and direction marks."""


def _table() -> dict[str, str]:
    table = {char: base for base, chars in _LISTS["characters"].items() for char in chars}
    table |= {chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F) if chr(code) not in table}
    table |= {chr(0x2080 + digit): str(digit) for digit in range(10)}
    for code in (*range(0x00C0, 0x0250), *range(0x1E00, 0x1F00)):
        base, *marks = list(unicodedata.normalize("NFD", chr(code)))
        if marks and all(unicodedata.combining(mark) for mark in marks):
            table[chr(code)] = base
    return table


_TABLE: Final = _table()
_ASCII: Final = "`\t\r\v\f"
_OTHER: Final = re.compile(r"[^\x00-\x7f]")


class Folded(NamedTuple):
    """`text`, lower-case and of plain characters. `offsets[i]` is where its i-th character was; None: nothing moved."""

    text: str
    offsets: tuple[int, ...] | None = None

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Where `text[start:end]`, which is not empty, was in the original."""
        return (start, end) if self.offsets is None else (self.offsets[start], self.offsets[end - 1] + 1)


def fold(text: str) -> Folded:
    """The text as it is compared: every character becomes one character, invisible ones are dropped."""
    offsets, found = None, [char for char in _ASCII if char in text]
    if not text.isascii():
        others = set(_OTHER.findall(text))
        found += others & _TABLE.keys()
        if INVISIBLE.search("".join(others)):
            offsets = tuple(place for place, char in enumerate(text) if INVISIBLE.match(char) is None)
            text = INVISIBLE.sub("", text)
    for char in found:
        text = text.replace(char, _TABLE[char])
    return Folded(text.lower(), offsets)


_LETTER: Final = r"[^\W\d_\u00b2\u00b3\u00b9\u2070-\u207f]"
TOKEN: Final = re.compile(
    rf"{_LETTER}(?:\.{_LETTER})+(?!{_LETTER})\.?|{_LETTER}+"  # initials (u.s., e.g.), words
    r"|(?:(?<=[^\W\d_])[1-9]|\^[({]?[1-9]?|[\u00b2\u00b3\u2074])[+\u207a\u207b-](?![\w(])"  # charges of ions
    r"|(?<![\w.])\.\d+|\d+(?:(?:,|\{,\})\d{3}(?!\d))*+(?:\.\d+)?(?:e[+-]?\d+|(?:st|nd|rd|th)(?![^\W_]))?"
    rf"|'(?:s|t|re|m|ll|d|ve)(?!{_LETTER})|\^[({{]?-?\d+|\u207b?[\u00b2\u00b3\u00b9\u2070\u2074-\u2079]+"
    r"|-(?=[$\u20ac\u00a3]?\.?\d)|\\[a-z]+|^-+$|^\*$|\*(?=[\d(])|\n+"
    r"|[.!?,;:()=/+<>%&\u2014\u2026\u00b0#\u221e\u03c0\u221a$\u20ac\u00a3]"
)
"""What counts in a piece of a folded text. Quotation marks, markup and hyphens inside words are passed over."""

SCALES: Final = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_RAISED: Final = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-", "^({")
_KEYS: Final[dict[str, str]] = {
    **{word: str(value) for value, word in enumerate(listed("numerals"))},
    **{word: str(10 * value) for value, word in enumerate(listed("tens"), 2)},
    **{word: f"{value}th" for value, word in enumerate(listed("ordinals"), 1)},
    **{word: word for word in listed("kept")},
    **{word: key for key, words in _LISTS["same"].items() for word in words.split()},
}
"""What a token counts as, where its own letters do not say it."""
_COMMANDS: Final = words_of("commands")
_BRITISH: Final = listed("british")
_BEFORE_NOT: Final = {"don": "do", "doesn": "do", "didn": "did", "isn": "is", "won": "will", "ca": "can", "ain": "is"}


def _key(token: str) -> str:
    first = token[0]
    if first.isalpha():
        stemmed = stem(token) if "." not in token else token.replace(".", "")
        return _KEYS.get(token) or _KEYS.get(stemmed, stemmed)
    if first.isdecimal() or (first == "." and len(token) > 1):
        if token[-1] in "+-":
            return token[-1] + token[:-1]
        return token[:-2] + "th" if token[-1] in "tdh" else _number_key(token)
    if first in "^⁰¹²³⁴⁵⁶⁷⁸⁹⁻":
        raised = token.translate(_RAISED)
        return raised[-1] + raised[:-1] if raised[-1] in "+-" else "^" + raised
    if first in "\n-":
        return first if len(token) == 1 or first == "\n" else "\u2014"
    return _KEYS.get(token) or token.removeprefix("\\")


def _number_key(token: str) -> str:
    """A numeral by its value: '1,000' and '1000.0' are one key."""
    value = float(token.replace("{,}", "").replace(",", ""))
    return str(int(value)) if abs(value) < 1e15 and value == int(value) else repr(value)


def stem(word: str) -> str:
    """The word without its plural ending, and American: a light stem, so that few words fall together."""
    if len(word) > 4 and "our" in word and word.startswith(_BRITISH):
        word = word.replace("our", "or", 1)
    if len(word) < 4 or word[-1] != "s" or word[-2] in "usi":
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    return word[:-2] if word.endswith(("ches", "shes", "sses", "xes", "oes")) else word[:-1]


Piece: TypeAlias = tuple[tuple[str, ...], tuple[str, ...], tuple[tuple[int, int], ...]]
"""The tokens of a text between two blanks: keys, as they are, and where each begins and ends."""
REMEMBERED: Final = 1 << 15


class _Pieces(dict[str, Piece]):
    """Pieces that were cut before. Texts have most of their pieces in common, so that cutting a text is looking up."""

    def __missing__(self, piece: str) -> Piece:
        places = [found.span() for found in TOKEN.finditer(piece) if found[0] not in _COMMANDS]
        raws = [piece[start:end] for start, end in places]
        keys = [_key(raw) for raw in raws]
        if "'t" in raws[1:]:  # what n't was cut from: 'don', 'won', 'can'
            before = raws.index("'t", 1) - 1
            keys[before] = _BEFORE_NOT.get(keys[before], keys[before])
        cut = tuple(keys), tuple(raws), tuple(places)
        if len(piece) < 40:
            if len(self) >= REMEMBERED:
                self.clear()
            self[piece] = cut
        return cut


_PIECES: Final = _Pieces()


class Words:
    """The tokens of a folded text: `keys`; `raws`, as they are; and where each starts and ends."""

    def __init__(self, text: str) -> None:
        self.text = text
        lines = text.replace("\n", " \n").replace("\n \n", "\n\n") if "\n" in text else text
        self._pieces = lines.split(" ")
        self._cut = list(map(_PIECES.__getitem__, self._pieces))
        if text[:2] in {"- ", "* "}:  # a list
            self._cut[0] = _PIECES[""]
        self.keys = list(chain.from_iterable(map(itemgetter(0), self._cut)))

    @cached_property
    def raws(self) -> list[str]:
        return list(chain.from_iterable(map(itemgetter(1), self._cut)))

    @cached_property
    def places(self) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        start = 0
        for piece, (_, _, places) in zip(self._pieces, self._cut, strict=True):
            start -= piece[:1] == "\n"
            for low, high in places:  # half the time of a comprehension
                found.append((start + low, start + high))
            start += len(piece) + 1
        return found


def keys_of(text: str) -> list[str]:
    """The keys of a short text that need not be kept: an answer, a question, a cue."""
    return Words(fold(text).text).keys


SIZES: Final = {unit: (size, base) for base, sizes in _LISTS["sizes"].items() for unit, size in sizes.items()}


def in_base(value: float, unit: str) -> tuple[float, str]:
    """A quantity in metres, grams and seconds, or one by another, and its kind; '' for units of other kinds."""
    top, _, bottom = unit.partition("/")
    (size, name), (by, below) = SIZES.get(top, (1.0, "")), SIZES.get(bottom, (1.0, ""))
    return value * size / by, f"{name}/{below}" if name and bool(bottom) == bool(below) else ""


class Number(NamedTuple):
    """A number in the words `start:end`, by value; `unit` is the key of the word right after it, or of its sign."""

    start: int
    end: int
    value: float
    unit: str


UNITS: Final = {name: unit for unit, names in _LISTS["units"].items() for name in names.split()}
_DEGREES: Final = words_of("degrees")
CURRENCIES: Final = frozenset({"$", "€", "£"})
MINUS: Final = frozenset({"-", "negative", "minu"})
_PARTS: Final = {"quarter": 4, **{f"{part}th": part for part in range(3, 21)}}
"""By what a worded fraction divides: 'two thirds'."""
_AFTER: Final = frozenset({"/", ":", "and", "*", "x", *_PARTS, *SCALES})
"""What may go on with a number, besides a power."""


def is_rank(key: str) -> bool:
    return key[0].isdecimal() and key.endswith("th")


def _value(keys: list[str], place: int, high: int) -> float | None:
    """What a word is as a number by itself; None for one that is none."""
    is_number = place < high and "0" <= keys[place][0] <= "9" and not is_rank(keys[place])
    return float(keys[place]) if is_number else None


def numbers(keys: list[str], raws: list[str], low: int = 0, high: int | None = None) -> list[Number]:
    """Every number among the words, in order: signs, fractions, powers of ten, scales and spaced thousands joined."""
    found: list[Number] = []
    high, last = len(keys) if high is None else min(high, len(keys)), low
    for place in [place for place in range(low, high) if "0" <= keys[place][0] <= "9" or keys[place] == "\\frac"]:
        if place >= last and (number := _number(keys, raws, place, high)) is not None:
            found.append(number)
            last = number.end
    return found


def _number(keys: list[str], raws: list[str], place: int, high: int) -> Number | None:
    start, end, before = place, place + 1, keys[place - 1] if place else ""
    plain = _value(keys, place, high)
    if keys[place] == "\\frac":
        top, bottom = _value(keys, end, high), _value(keys, end + 1, high)
        if top is None or not bottom:
            return None
        value, end = top / bottom, place + 3
    elif plain is None:  # a third, but not the third
        if before != "a" or keys[place] not in _PARTS or not raws[place].isalpha():
            return None
        value, start = 1 / _PARTS[keys[place]], place - 1
    elif raws[place].isalpha():
        value, end = _worded(keys, raws, place, high)
    else:
        value, end = _spaced(raws, place, plain, high)
    if end < high and (keys[end] in _AFTER or keys[end][0] == "^"):
        value, end = _joined(keys, raws, value, end, high)
    unit = UNITS.get(keys[end], "") if end < high else ""
    if unit and end + 2 < high and keys[end + 1] in {"/", "per", "an", "a"} and keys[end + 2] in UNITS:
        unit += "/" + UNITS[keys[end + 2]]
    elif unit == "degree" and end + 1 < high and keys[end + 1] in _DEGREES:
        unit += " " + keys[end + 1][0]
    if before in CURRENCIES:
        unit, start = UNITS[before], start - 1
        before = keys[start - 1] if start else ""
    if before in MINUS and not (start > 1 and keys[start - 2][0].isdecimal()):
        value, start = -value, start - 1
    return Number(start, end, value, unit)


def _spaced(raws: list[str], place: int, value: float, high: int) -> tuple[float, int]:
    """A number in figures with the thousands that blanks set off: 10 000."""
    end, is_short = place + 1, raws[place].isdecimal() and len(raws[place]) < 4
    while is_short and end < high and len(raws[end]) == 3 and raws[end].isdecimal():
        value, end = value * 1000 + float(raws[end]), end + 1
    return value, end


def _joined(keys: list[str], raws: list[str], value: float, end: int, high: int) -> tuple[float, int]:
    """A number with what goes on with it: a fraction, a half, minutes, a scale, a power of ten."""
    key, bottom = keys[end], _value(keys, end + 1, high)
    if key == "/" and bottom and not (end + 2 < high and keys[end + 2] in {"=", "*", "+"}):
        value, end = value / bottom, end + 2
    elif key in _PARTS and raws[end].isalpha() and (value == 1 or (value < 100 and raws[end][-1] == "s")):
        value, end = value / _PARTS[key], end + 1
    elif keys[end : end + 3] == ["and", "a", "0.5"]:
        value, end = value + 0.5, end + 3
    elif key == ":" and bottom is not None and bottom < 60 and len(raws[end + 1]) == 2 and value < 25:
        value, end = value + bottom / 60, end + 2  # 3:00
    while end < high and keys[end] in SCALES:
        value, end = value * SCALES[keys[end]], end + 1
    if end + 2 < high and keys[end] in {"*", "x"} and keys[end + 1] == "10" and keys[end + 2][0] == "^":
        return value * float(f"1e{keys[end + 2][1:4]}"), end + 3
    if value == 10 and end < high and keys[end][0] == "^":
        return float(f"1e{keys[end][1:4]}"), end + 1
    return value, end


def _worded(keys: list[str], raws: list[str], place: int, high: int) -> tuple[float, int]:
    """The value of a number in words, and where it ends: twenty one, one hundred and five."""
    total, current, end = 0.0, 0.0, place
    while end < high and raws[end].isalpha():
        key, value = keys[end], _value(keys, end, high)
        goes_on = end > place and (keys[end - 1] in SCALES or keys[end - 1] == "and")
        if value is not None and (end == place or goes_on or (current % 100 >= 20 and value < 10)):
            current += value
        elif key in SCALES:
            current *= SCALES[key]
            if SCALES[key] >= 1000:
                total, current = total + current, 0.0
        elif key != "and" or not goes_on or not _value(keys, end + 1, high):
            break
        end += 1
    return total + current, end
