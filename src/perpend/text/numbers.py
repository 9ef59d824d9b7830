"""Numbers as a reader reads them: signs, decimals, thousands, fractions, words and units. All input is folded."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Final, Literal

from perpend.text.clause import holds

_ONES: Final = [
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
]
_TENS: Final = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_IRREGULAR: Final = {
    "one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth", "nine": "ninth",
    "twelve": "twelfth",
}  # fmt: skip


def _ordinals() -> dict[str, tuple[str, str]]:
    ordinals: dict[str, tuple[str, str]] = {}
    for number in range(1, 100):
        tens, ones = divmod(number, 10)
        *rest, last = [_ONES[number]] if number < 20 else [_TENS[tens - 2], *([_ONES[ones]] if ones else [])]
        last = _IRREGULAR.get(last) or (last[:-1] + "ieth" if last.endswith("y") else last + "th")
        ending = {1: "st", 2: "nd", 3: "rd"}.get(ones, "th") if tens != 1 else "th"
        spellings = f"{number}{ending}", "-".join([*rest, last])
        ordinals |= dict.fromkeys(spellings, spellings)
    return ordinals


_ORDINALS: Final = _ordinals()
_DIGITS: Final = r"(?:\d{1,3}(?:(?:,|\{,\})\d{3})+(?!\d)(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)"
NUMERAL: Final = re.compile(_DIGITS)
WHOLE_ANSWER: Final = re.compile(
    rf"(?P<minus>-\s?)?[$€£]?\s?(?P<second>-\s?)?(?P<number>{_DIGITS})(?P<unit>\s?[^\d\s,;=<>+*/-][^\d]*(?:(?<=\S)\d)?)?"
)
FRACTION: Final = re.compile(
    rf"\\?[dt]?frac\s?\{{\s?({_DIGITS})\s?\}}\s?\{{\s?({_DIGITS})\s?\}}|({_DIGITS})\s?(?:/|over)\s?({_DIGITS})"
)
# '10 - 5' and '3-5' subtract or range and 'so - 5' has a dash; a minus is the number's own sign only after these, or
# right before the number after a word ('it is then -7').
MINUS: Final = re.compile(
    r"(?:(?:^|[=(\[{,:;<>*/\"\n]|\b(?:is|are|be|equals?|of|to|not|and|or|than|get|gives?|says?|said))"
    r"[\s*$\\({\"]{0,4}(?P<sign>-\s?)|[a-z]{2}\s(?P<glued>-)|(?<!\d)(?<!\d )\b(?P<word>(?:negative|minus)\s))[$€£]?$"
)
CONTRACTED: Final = re.compile(r"'(?:s|re)\s[*$({\[\"]{0,3}(?P<sign>-)[$€£]?$")
"""A minus after a contraction."""
INDENT: Final = 12
"""How far a bullet may be from the beginning of its line, and what is looked at after its number."""
MINUS_HINTS: Final = ("-", "negative", "minus")
UNIT: Final = re.compile(
    r"[ \\{}~*$^]{0,4}(?:(?:text|mathrm|rm)[ \\{]{0,2})?(?:°|degrees?|circ)?[ }]{0,2}"
    r"(?:(?P<celsius>c\b|celsius\b|centigrade\b)|(?P<fahrenheit>f\b|fahrenheit\b)"
    r"|(?P<mps2>m(?:et(?:er|re)s?)?\s?(?:/|per)\s?s(?:econds?)?(?:\s?squared|²|\s?\^\s?\{?2|2|\s?(?:/|per)\s?s))"
    r"|(?P<kmps>(?:km|kilomet(?:er|re)s?)\s?(?:/|per)\s?s)|(?P<mps>m(?:et(?:er|re)s?)?\s?(?:/|per)\s?s)"
    r"|(?P<miles>miles?\b|mi\b)|(?P<scale>(?:thousand|million|billion|trillion)\b))"
)
"""The units and scales that change what a number means; any other word after a number is only its noun."""
SPEED: Final = re.compile(
    rf"(?<![\d.,])(?P<number>{_DIGITS})(?:\s?(?:\*|x|\\times)\s?10\s?\^?\s?\{{?(?P<power>\d{{1,2}})\}}?)?"
    r"[\s\\{}~*$,]{0,4}(?:(?:text|mathrm)\{)?(?P<kilo>k(?:ilo)?)?m(?:et(?:er|re)s?)?\s?(?:/|per)\s?s(?:ec|econd)?\b"
    r"(?!\s?(?:²|2|\^|squared))"
)
"""A speed in metres or kilometres per second."""
GLUED_AFTER: Final = re.compile(r"(?:[ckm]?m|[km]?g|[km]?j|ms|s|h|min|ml|l|x|w|v|k|usd|am|pm)\b")
GLUED_BEFORE: Final = re.compile(r"(?:^|[^a-z])(?:is|are|equals|and|be|by|to|usd|us)$")


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number, its unit (None when none that we know follows), and what to look for to find it in a text."""

    value: float
    unit: str | None
    needles: tuple[str, ...]
    dashes: Literal["", "signs", "bullets"] = ""
    """How a dash before it is read: 'signs' finds a minus after a contraction too ("it's -5"), 'bullets' also takes a
    dash and a blank that open a line for a bullet."""


def ordinal(answer: str) -> tuple[str, str] | None:
    """An ordinal up to the 99th in digits and in words: ('3rd', 'third'). None for anything else."""
    return _ORDINALS.get(answer.strip(" ."))


def quantity(answer: str) -> Quantity | None:
    """The answer as a number with a unit. None for words, coordinates, equations and several numbers."""
    match = WHOLE_ANSWER.fullmatch(answer.strip().rstrip(".").strip("$ "))
    if match is None:
        return None
    unit = None
    if match["unit"]:
        known = UNIT.match(match["unit"])
        unit = known.lastgroup if known else None
    value = plain(match["number"])
    if not math.isfinite(value):
        return None
    if match["minus"] or match["second"]:
        value = -value
    return Quantity(value, unit, _needles(abs(value)))


def is_spoken(word: str) -> bool:
    """Whether a folded word is a number or a rank, or begins one: 'four', 'twenty', 'third'."""
    return word in _ONES or word in _TENS or word in _ORDINALS or word == "half"


def fraction(answer: str) -> tuple[str, str] | None:
    """Numerator and denominator of an answer that is nothing but a fraction."""
    match = FRACTION.fullmatch(answer.strip(" $"))
    if match is None:
        return None
    return (match[1], match[2]) if match[1] else (match[3], match[4])


def plain(numeral: str) -> float:
    """The value of a numeral with or without thousands separators."""
    return float(numeral.replace("{,}", "").replace(",", ""))


def metres_per_second(text: str) -> float | None:
    """The first speed in a text, in metres per second. None when there is none."""
    speed = SPEED.search(text)
    if speed is None:
        return None
    return plain(speed["number"]) * 10.0 ** int(speed["power"] or 0) * (1000.0 if speed["kilo"] else 1.0)


def _needles(value: float) -> tuple[str, ...]:
    shortest = repr(value).removesuffix(".0")
    spellings = [shortest[1:] if shortest.startswith("0.") else shortest]
    if value >= 1000:
        spellings += [f"{value:,}".removesuffix(".0"), f"{value:,}".removesuffix(".0").replace(",", "{,}")]
    if value < 100 and value.is_integer():
        number = int(value)
        if number < 20:
            spellings.append(_ONES[number])
        else:
            tens, ones = _TENS[number // 10 - 2], _ONES[number % 10]
            spellings += [f"{tens}-{ones}", f"{tens} {ones}"] if number % 10 else [tens]
    return tuple(spellings)


def find(text: str, wanted: Quantity, needle: str, place: int) -> tuple[int, int] | None:
    """The span of the number around the needle at `place`, if it is the wanted one with sign and unit."""
    spelled = needle[0].isalpha()
    span = _spelled(text, needle, place) if spelled else _numeral(text, wanted, needle, place)
    if span is None:
        return None
    start, end = span
    unit = UNIT.match(text, end)
    if unit is not None and unit.lastgroup != wanted.unit and (wanted.unit is not None or unit.lastgroup == "scale"):
        return None
    lead = text[max(0, start - 24) : start]
    minus = MINUS.search(lead) if holds(lead, MINUS_HINTS) else None
    if minus is None and wanted.dashes:
        minus = CONTRACTED.search(lead)
    negative = wanted.value < 0
    is_bullet = (
        minus is not None and wanted.dashes == "bullets" and _is_bullet(text, start, end, minus, negative=negative)
    )
    if (minus is not None and not is_bullet) != negative:
        return None
    if minus is not None:  # a bullet belongs to the number too: '- 7' is alone in its line
        start -= minus.end() - minus.start(minus.lastgroup or 0)
    return start, end if unit is None else unit.end()


def _is_bullet(text: str, start: int, end: int, minus: re.Match[str] | None, *, negative: bool) -> bool:
    """Whether the dash before the number `text[start:end]` is a bullet: it opens the line and a blank follows it.

    Where a `negative` number is asked for and nothing else is in the line, it is the sign.
    """
    if minus is None or minus["sign"] != "- ":
        return False
    dash = start - (minus.end() - minus.start(minus.lastgroup or 0))
    lead = text[max(0, dash - INDENT) : dash].rpartition("\n")
    opens = (lead[1] or dash <= INDENT) and not lead[2].strip(" *")
    if not opens:
        return False
    return not negative or bool(text[end : end + INDENT].partition("\n")[0].strip(" .*!"))


def _numeral(text: str, wanted: Quantity, needle: str, place: int) -> tuple[int, int] | None:
    start = place - 1 if needle[0] == "." and text[place - 1 : place] == "0" else place
    before = text[start - 1 : start] if start else ""
    if before.isdigit() or (before in {".", ","} and text[start - 2 : start - 1].isdigit()) or before == ".":
        return None
    if before.isalpha() and GLUED_BEFORE.search(text[max(0, start - 8) : start]) is None:
        return None
    numeral = NUMERAL.match(text, start)
    if numeral is None or plain(numeral[0]) != abs(wanted.value):
        return None
    end = numeral.end()
    after = text[end : end + 1]
    if after.isalnum() and GLUED_AFTER.match(text, end) is None and UNIT.match(text, end) is None:
        return None
    # '5.' ends a sentence, '5.5' was read whole; '1,23' is a list or a foreign decimal and is left alone.
    return None if after == "." and text[end + 1 : end + 2].isdigit() else (start, end)


def _spelled(text: str, needle: str, place: int) -> tuple[int, int] | None:
    end = place + len(needle)
    before, after = text[max(0, place - 8) : place], text[end : end + 10]
    if before[-1:].isalnum() or after[:1].isalnum() or (after[:1] == "-" and after[1:2].isalpha()):
        return None
    # 'twenty-five' and 'five hundred' are other numbers than five.
    if before.rstrip("- ").endswith(_TENS) or after[1:].startswith(("hundred", "thousand", "million", "billion")):
        return None
    return place, end
