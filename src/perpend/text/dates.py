"""Days of the calendar: 'July 20, 1969', '20 July 1969', 'the 20th of July' and '1969-07-20' are one day."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from perpend.text.match import Folded, Form, Span
from perpend.text.numbers import ordinal

_NAMES: Final = {
    "january": 1, "february": 2, "march": 3, "april": 4, "may": 5, "june": 6, "july": 7, "august": 8, "september": 9,
    "october": 10, "november": 11, "december": 12,
}  # fmt: skip
_MONTHS: Final = _NAMES | {name[:3]: number for name, number in _NAMES.items()} | {"sept": 9}
_MONTH: Final = r"(?P<month>" + "|".join(sorted(_MONTHS, key=len, reverse=True)) + r")\.?"
_DAY: Final = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR: Final = r"(?P<year>\d{4})"
DAY_FIRST: Final = re.compile(rf"(?:the )?{_DAY} (?:of )?{_MONTH}(?:,? {_YEAR})?")
MONTH_FIRST: Final = re.compile(rf"{_MONTH} (?:the )?{_DAY}(?:,? {_YEAR})?")
YEAR_FIRST: Final = re.compile(rf"{_YEAR}-(?P<number>\d{{1,2}})-{_DAY}")


ON: Final = re.compile(
    r"(?<![^\W_])(?:on\s)?(?:the\s)?(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day,?\s)?(?:the\s)?[*_\"']{0,3}$"
)
"""What leads to a day and belongs to it: 'on the', 'on Sunday,'."""


class Date(NamedTuple):
    """A day: of any year where `year` is None."""

    day: int
    month: int
    year: int | None


def is_month(word: str) -> bool:
    """Whether a folded word is a month, in full or in short."""
    return word.rstrip(".") in _MONTHS


def date(answer: str) -> Date | None:
    """The folded answer as a day with its month; None for anything else, and for a day that no month has."""
    text = answer.strip(" .")
    written = DAY_FIRST.fullmatch(text) or MONTH_FIRST.fullmatch(text) or YEAR_FIRST.fullmatch(text)
    if written is None:
        return None
    parts = written.groupdict()
    month = int(parts["number"]) if parts.get("number") else _MONTHS[parts["month"]]
    day, year = int(parts["day"]), parts["year"]
    if not (1 <= day <= 31 and 1 <= month <= 12):
        return None
    return Date(day, month, int(year) if year else None)


def date_forms(wanted: Date) -> list[Form]:
    """The ways to write a day.

    The year may be left out, and another year makes it another day. A date in numbers needs the year, and counts where
    it can be read in one way only: day and month in this order if the day is above 12, or both are the same.
    """
    day, month, year = wanted
    name = next(name for name, number in _NAMES.items() if number == month)
    short = rf"{name[:3]}(?:{name[3:]}|t)?\.?" if month == 9 else rf"{name[:3]}(?:{name[3:]})?\.?"
    ranks = ordinal(f"{day}{_ending(day)}") or (str(day), str(day))
    days = rf"(?:0?{day}(?:st|nd|rd|th)?|{ranks[1].replace('-', '[- ]')})"
    no_year = r"(?!,?\s(?:of\s)?\d{4}\b)" if year is None else rf"(?:,?\s(?:of\s)?{year}\b|(?!,?\s(?:of\s)?\d{{4}}\b))"
    end = rf"(?![^\W_]){no_year}"
    first = rf"(?<![\d.,/-]){days}[\s-](?:(?:day\s)?of\s)?{short}{end}"
    second = rf"(?<![^\W_]){short}[\s-](?:the\s)?{days}{end}"
    needles = dict.fromkeys((str(day), f"0{day}", ranks[1].split("-")[0]))
    forms = [Form(needle, first, check=_on) for needle in needles]
    forms.append(Form(name[:3], second, check=_on))
    if year is not None:
        forms.append(Form(str(year), rf"(?<![\d/.-]){year}[-/.]0?{month}[-/.]0?{day}(?![\d/-])"))
        orders = []
        if day > 12 or day == month:
            orders = [(day, month), (month, day)]
        for one, two in dict.fromkeys(orders):
            numeric = rf"(?<![\d/.-])0?{one}(?P<mark>[-/.])0?{two}(?P=mark){year}(?![\d/-])"
            forms += [Form(needle, numeric) for needle in dict.fromkeys((str(one), f"0{one}"))]
    return forms


def _on(text: Folded, original: str, span: Span) -> Span:  # noqa: ARG001 - a check
    """The span of a day with its preposition and weekday."""
    low = max(0, span[0] - 28)
    lead = ON.search(text.text[low : span[0]])
    return span if lead is None else (low + lead.start(), span[1])


def _ending(day: int) -> str:
    return "th" if day // 10 == 1 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
