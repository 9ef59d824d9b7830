"""Words: a text made comparable, cut into tokens, each with a key; and the numbers that it holds, by value."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from importlib.resources import files
from typing import Final, NamedTuple

_LISTS: Final = tomllib.loads(files("perpend.judging").joinpath("words.toml").read_text(encoding="utf-8"))


def listed(name: str) -> tuple[str, ...]:
    """The words of a list of `words.toml`, in order."""
    return tuple(_LISTS[name].split())


def phrases(name: str) -> tuple[str, ...]:
    """The phrases of a list of `words.toml`, in order."""
    return tuple(_LISTS[name])


def phrases_of(name: str) -> tuple[tuple[str, ...], ...]:
    """The groups of phrases of a list of `words.toml`."""
    return tuple(tuple(group) for group in _LISTS[name])


def words_of(name: str) -> frozenset[str]:
    """The words of a list of `words.toml`, in no order."""
    return frozenset(listed(name))


_SAME: Final = {
    "-": "\u2010\u2011\u2012\u2013\u2212\ufe58\ufe63\uff0d",
    "'": "\u2018\u2019\u201b\u02bc\u2032\u00b4`",
    '"': "\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033",
    " ": "\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000\t\r\v\f\u0085",
    "\n": "\u2028\u2029",
    "*": "\u00d7\u2715\u2716\u22c5\u00b7\u2217\u2022",
    "/": "\u00f7\u2044\u2215",
    "=": "\u2248",
    ".": "\u3002",
}
INVISIBLE: Final = re.compile("[\u00ad\u0300-\u036f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff]")
"""Characters that a reader does not see apart: soft hyphens, combining marks, zero-width and direction marks."""


def _table() -> dict[str, str]:
    table = {char: base for base, chars in _SAME.items() for char in chars}
    table |= {chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F) if chr(code) not in table}
    table |= {chr(0x2080 + digit): str(digit) for digit in range(10)}
    for code in (*range(0x00C0, 0x0250), *range(0x1E00, 0x1F00)):
        base, *marks = list(unicodedata.normalize("NFD", chr(code)))
        if marks and all(unicodedata.combining(mark) for mark in marks):
            table[chr(code)] = base
    return table


_TABLE: Final = _table()
_CODES: Final = {ord(char): base for char, base in _TABLE.items()}


class Folded(NamedTuple):
    """`text`, lower-case and of plain characters. `offsets[i]` is where its i-th character was; None: nothing moved."""

    text: str
    offsets: tuple[int, ...] | None = None

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Where `text[start:end]`, which is not empty, was in the original."""
        return (start, end) if self.offsets is None else (self.offsets[start], self.offsets[end - 1] + 1)


def fold(text: str) -> Folded:
    """The text as it is compared: every character becomes one character, invisible ones are dropped."""
    if text.isascii():
        if "`" in text:
            text = text.replace("`", "'")
        return Folded(text.translate(_BLANKS).lower() if _CONTROL.search(text) else text.lower())
    offsets = None
    if INVISIBLE.search(text):
        kept = tuple(place for place, char in enumerate(text) if INVISIBLE.match(char) is None)
        text, offsets = "".join([text[place] for place in kept]), kept
    return Folded(text.translate(_CODES).lower(), offsets)


_CONTROL: Final = re.compile(r"[\t\r\v\f]")
_BLANKS: Final = dict.fromkeys(map(ord, "\t\r\v\f"), " ")

_LETTER: Final = r"[^\W\d_\u00b2\u00b3\u00b9\u2070-\u207f]"
TOKEN: Final = re.compile(
    rf"{_LETTER}(?:\.{_LETTER})+(?!{_LETTER})\.?|{_LETTER}+"  # initials (u.s., e.g.), words
    r"|(?<![\w.])\.\d+|\d+(?:(?:,|\{,\})\d{3}(?!\d))*+(?:\.\d+)?(?:e[+-]?\d+|(?:st|nd|rd|th)(?![^\W_]))?"
    rf"|'(?:s|t|re|m|ll|d|ve)(?!{_LETTER})|\^[({{]?-?\d+|[\u00b2\u00b3\u00b9\u2070\u2074-\u2079\u207b]+"
    r"|-(?=[$\u20ac\u00a3]?\.?\d)|\\(?:boxed|d?frac|times|cdot|div|approx|infty|pi|sqrt)"
    r"|\n\s*|[.!?,;:()=/+<>%&\u2014\u2026\u00b0#\u221e\u03c0\u221a$\u20ac\u00a3]|(?<= )-+(?= )|\*(?=\s?[\d(])"
)
"""What counts in a folded text. Quotation marks, markup and hyphens inside words are passed over."""

_UNITS: Final = listed("numerals")
_TENS: Final = listed("tens")
_ORDINALS: Final = listed("ordinals")
SCALES: Final = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_FRACTIONS: Final = {"½": "0.5", "¼": "0.25", "¾": "0.75", "⅓": "1/3", "⅔": "2/3", "⅛": "0.125", "⅝": "0.625"}
_RAISED: Final = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_KEYS: Final[dict[str, str]] = {
    **{word: str(value) for value, word in enumerate(_UNITS)},
    **{word: str(10 * value) for value, word in enumerate(_TENS, 2)},
    **{word: f"{value}th" for value, word in enumerate(_ORDINALS, 1)},
    **{word: word for word in listed("kept")},
    **{word: key for key, words in _LISTS["same"].items() for word in words.split()},
}
"""What a token counts as, where its own letters do not say it; extended by every word met, up to `REMEMBERED`."""
_GIVEN: Final = dict(_KEYS)
REMEMBERED: Final = 1 << 17


def _key(token: str) -> str:  # noqa: PLR0911 - one kind of token a return
    first = token[0]
    if first.isdecimal() or (first == "." and len(token) > 1):
        return token[:-2] + "th" if token[-1] in "tdh" else number_key(token)
    if first == "\n":
        return "\n"
    if first == "^":
        return "^" + token.lstrip("^({")
    if first in "⁰¹²³⁴⁵⁶⁷⁸⁹⁻":
        return "^" + token.translate(_RAISED)
    if token in _FRACTIONS:
        return _FRACTIONS[token]
    if first == "-":
        return "-" if len(token) == 1 else "\u2014"
    if "." in token and len(token) > 1:
        return token.replace(".", "")
    stemmed = stem(token)
    return _GIVEN.get(stemmed, stemmed)


def number_key(token: str) -> str:
    """A numeral by its value: '1,000' and '1000.0' are one key."""
    try:
        value = float(token.replace("{,}", "").replace(",", ""))
    except ValueError:  # digits of another script that float cannot join
        return token
    if value == int(value) and abs(value) < 1e15 if abs(value) < 1e300 else False:
        return str(int(value))
    return repr(value)


_BRITISH: Final = listed("british")


def stem(word: str) -> str:
    """The word without its plural ending, and American: a light stem, so that few words fall together."""
    if len(word) > 4 and "our" in word and word.startswith(_BRITISH):
        word = word.replace("our", "or", 1)
    if len(word) < 4 or word[-1] != "s" or word[-2] in "usi":
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("ches", "shes", "sses", "xes", "oes")):
        return word[:-2]
    return word[:-1]


class Words:
    """The tokens of a folded text: `keys`, and where each starts and ends, worked out when first asked for."""

    __slots__ = ("_places", "keys", "raws", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.raws: list[str] = TOKEN.findall(text)
        known = _KEYS
        try:
            keys = [known[raw] for raw in self.raws]
        except KeyError:
            keys = self._learned()
        if "not" in keys:  # what n't was cut from: 'don', 'won', 'can'
            for place, raw in enumerate(self.raws):
                if raw == "'t" and place:
                    keys[place - 1] = _BEFORE_NOT.get(keys[place - 1], keys[place - 1])
        self.keys = keys
        self._places: list[tuple[int, int]] | None = None

    def _learned(self) -> list[str]:
        if len(_KEYS) > REMEMBERED:
            _KEYS.clear()
            _KEYS.update(_GIVEN)
        keys = []
        for raw in self.raws:
            key = _KEYS.get(raw)
            if key is None:
                key = _key(raw)
                _KEYS[raw] = key
            keys.append(key)
        return keys

    @property
    def places(self) -> list[tuple[int, int]]:
        if self._places is None:
            self._places = [found.span() for found in TOKEN.finditer(self.text)]
        return self._places


_BEFORE_NOT: Final = {"don": "do", "doesn": "do", "didn": "did", "isn": "is", "won": "will", "ca": "can", "ain": "is"}


def keys_of(text: str) -> list[str]:
    """The keys of a short text that need not be kept: an answer, a question, a cue."""
    return Words(fold(text).text).keys


SIZES: Final = {unit: (size, base) for base, sizes in _LISTS["sizes"].items() for unit, size in sizes.items()}


def in_base(value: float, unit: str) -> tuple[float, str] | None:
    """A quantity in metres, grams and seconds, or one by another; None for units of other kinds."""
    top, _, bottom = unit.partition("/")
    if top not in SIZES or (bottom and bottom not in SIZES):
        return None
    size, name = SIZES[top]
    if not bottom:
        return value * size, name
    return value * size / SIZES[bottom][0], f"{name}/{SIZES[bottom][1]}"


_FRAC: Final = frozenset({"\\frac", "\\dfrac"})


class Number(NamedTuple):
    """A number in the words `start:end`, by value; `unit` is the key of the word right after it, or of its sign."""

    start: int
    end: int
    value: float
    unit: str


UNITS: Final = {name: unit for unit, names in _LISTS["units"].items() for name in names.split()}
NUMERIC: Final = re.compile(r"\d[\d.]*(?:e[+-]?\d+)?\Z|1/3\Z|2/3\Z")


def _value(key: str) -> float | None:
    if not key[:1].isdecimal() or NUMERIC.match(key) is None:
        return None
    return {"1/3": 1 / 3, "2/3": 2 / 3}.get(key) or float(key) if "/" in key else float(key)


def numbers(keys: list[str], raws: list[str], low: int = 0, high: int | None = None) -> list[Number]:
    """Every number among the words, in order: signs, fractions, powers of ten, scales and spaced thousands joined."""
    found: list[Number] = []
    high = len(keys) if high is None else high
    place = low
    while place < high:
        key = keys[place]
        if not (key[0].isdecimal() or key in _FRAC) or key.endswith("th"):
            place += 1
            continue
        number = _number(keys, raws, place, high)
        if number is None:
            place += 1
        else:
            found.append(number)
            place = number.end
    return found


def _number(keys: list[str], raws: list[str], place: int, high: int) -> Number | None:  # noqa: PLR0912 - one case a branch
    start, end = place, place + 1
    if keys[place] in _FRAC:
        top, bottom = (_value(keys[place + 1]), _value(keys[place + 2])) if place + 2 < high else (None, None)
        if top is None or not bottom:
            return None
        value, end = top / bottom, place + 3
    else:
        first = _value(keys[place])
        if first is None:
            return None
        value = first
        if raws[place].isdecimal():
            while end < high and len(raws[end]) == 3 and raws[end].isdecimal() and len(raws[place]) <= 3:  # 10 000
                value, end = value * 1000 + float(raws[end]), end + 1
        elif raws[place].isalpha():  # twenty one, one hundred and five
            value, end = _worded(keys, raws, place, high)
        is_term = end + 2 < high and keys[end + 2] in {"=", "*", "+"}
        if end + 1 < high and keys[end] == "/" and not is_term and (bottom := _value(keys[end + 1])):
            value, end = value / bottom, end + 2
        while end < high and keys[end] in SCALES:
            value, end = value * SCALES[keys[end]], end + 1
        if end + 2 < high and keys[end] in {"*", "x"} and keys[end + 1] == "10" and keys[end + 2][0] == "^":
            value, end = value * 10.0 ** _power(keys[end + 2]), end + 3
        elif keys[place] == "10" and end < high and keys[end][0] == "^" and len(keys[end]) > 1:
            value, end = 10.0 ** _power(keys[end]), end + 1
    if end + 1 < high and keys[end] == ":" and len(raws[end + 1]) == 2 and raws[end + 1].isdecimal() and value < 25:
        value, end = value + float(raws[end + 1]) / 60, end + 2  # 3:00
    unit = UNITS.get(keys[end], "") if end < high else ""
    if unit and end + 2 < high and keys[end + 1] in {"/", "per", "an", "a"} and keys[end + 2] in UNITS:
        unit += "/" + UNITS[keys[end + 2]]
    if start and keys[start - 1] in {"$", "€", "£"}:
        unit, start = UNITS[keys[start - 1]], start - 1
    if (
        start
        and keys[start - 1] == "-"
        and not (start > 1 and keys[start - 2][-1].isalnum() and raws[start - 2].isdecimal())
    ):
        value, start = -value, start - 1
    if start and keys[start - 1] in {"negative", "minu"} and not (start > 1 and keys[start - 2][0].isdecimal()):
        value, start = -value, start - 1
    return Number(start, end, value, unit)


def _power(key: str) -> int:
    digits = key[1:]
    return max(-99, min(99, int(digits))) if digits.lstrip("-").isdecimal() else 0


def _worded(keys: list[str], raws: list[str], place: int, high: int) -> tuple[float, int]:
    total, current, end = 0.0, 0.0, place
    while end < high and (raws[end].isalpha() or keys[end] == "and"):
        key = keys[end]
        value = _value(key)
        if value is not None:
            current += value
        elif key in SCALES and (current or total):
            if SCALES[key] >= 1000:
                total, current = total + (current or 1.0) * SCALES[key], 0.0
            else:
                current = (current or 1.0) * SCALES[key]
        elif not (
            key == "and" and end > place and keys[end - 1] in SCALES and end + 1 < high and _value(keys[end + 1])
        ):
            break
        end += 1
        if value is not None and (value < 20 or value % 10) and end < high and _value(keys[end]) is not None:
            break
    return total + current, end
