"""Reading a question about stated numbers back from its text: what all kinds share.

Nothing here knows how a question was made. Numbers are decimals as printed, and every claim is found by its words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from itertools import pairwise

from perpend.errors import DataError

Reader = tuple[re.Pattern[str], Callable[[re.Match[str], str], bool]]
"""The words of a claim, and whether it holds of the text in which they were found."""

NUMBER = r"-?\d+\.\d+"
_LIST = re.compile(rf"(?<![\d.]){NUMBER}(?:, {NUMBER})+")
_TENS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_PLACES = [
    "zeroth",
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
    "eleventh",
    "twelfth",
    "thirteenth",
    "fourteenth",
    "fifteenth",
    "sixteenth",
]


def judged(text: str, readers: Sequence[Reader]) -> bool:
    """Whether the claim in the text holds. A DataError where no claim is found, or more than one."""
    hits = [(match, judge) for words, judge in readers if (match := words.search(text))]
    if len(hits) != 1:
        raise DataError(f"{len(hits)} claims are found in: {text}")
    match, judge = hits[0]
    try:
        return judge(match, text)
    except (ArithmeticError, IndexError, KeyError, StopIteration) as error:
        raise DataError(f"the claim does not fit the data of: {text}") from error


def lists(text: str) -> list[list[Decimal]]:
    """All lists of two or more printed numbers with commas between them, in the order of the text."""
    return [[Decimal(entry) for entry in matched.split(", ")] for matched in _LIST.findall(text)]


def one_list(text: str) -> list[Decimal]:
    """The only list of three or more numbers. A DataError where there is none, or a second one."""
    matched = [entries for entries in lists(text) if len(entries) > 2]
    if len(matched) != 1:
        raise DataError(f"{len(matched)} lists are found in: {text}")
    return matched[0]


def whole(word: str) -> int:
    """'four' as 4; a DataError for any other word."""
    if word not in _TENS:
        raise DataError(f"no number: {word}")
    return _TENS.index(word)


def place(word: str) -> int:
    """'fourth' as 4; a DataError for any other word."""
    if word not in _PLACES:
        raise DataError(f"no place: {word}")
    return _PLACES.index(word)


def stated(pattern: str, text: str) -> str:
    """The first group of a pattern that must stand in the text. A DataError where it does not."""
    matched = re.search(pattern, text)
    if matched is None:
        raise DataError(f"nothing like {pattern} in: {text}")
    return next(group for group in matched.groups() if group is not None)


def groups(match: re.Match[str]) -> list[str]:
    """The groups of a match that took part in it."""
    return [group for group in match.groups() if group is not None]


def sign(value: Decimal) -> int:
    """-1, 0 or 1."""
    return (value > 0) - (value < 0)


def directions(entries: Sequence[Decimal]) -> str:
    """'U' for each step up and 'D' for each step down; '=' where two neighbours are equal."""
    return "".join("=UD"[sign(after - before)] for before, after in pairwise(entries))
