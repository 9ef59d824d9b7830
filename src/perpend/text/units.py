"""What a number is a number of: the words for one unit, where two answers differ in nothing else."""

from __future__ import annotations

import re
from typing import Final

from perpend.text.match import Check, Folded, Span

_WORDS: Final = (
    "second seconds sec secs s",
    "minute minutes min mins",
    "hour hours hr hrs h",
    "day days",
    "week weeks wk wks",
    "month months",
    "year years yr yrs",
    "milligram milligrams mg",
    "gram grams g",
    "kilogram kilograms kg kgs kilo kilos",
    "ton tons tonne tonnes t",
    "pound pounds lb lbs",
    "ounce ounces oz",
    "millimeter millimeters millimetre millimetres mm",
    "centimeter centimeters centimetre centimetres cm",
    "meter meters metre metres m",
    "kilometer kilometers kilometre kilometres km kms",
    "mile miles mi",
    "foot feet ft",
    "inch inches in",
    "milliliter milliliters millilitre millilitres ml",
    "liter liters litre litres l",
    "joule joules j",
    "kilojoule kilojoules kj",
    "calorie calories cal",
    "kilocalorie kilocalories kcal",
    "watt watts w",
    "kilowatt kilowatts kw",
    "volt volts v",
    "ampere amperes amp amps",
    "hertz hz",
    "kilohertz khz",
    "megahertz mhz",
    "gigahertz ghz",
    "byte bytes",
    "kilobyte kilobytes kb",
    "megabyte megabytes mb",
    "gigabyte gigabytes gb",
    "mph miles_per_hour mile_per_hour",
    "km/h kph kmh kmph kilometers_per_hour kilometres_per_hour",
    "percent percentage % per_cent",
    "dollar dollars usd $",
    "euro euros eur €",
    "sterling quid gbp £ pound pounds",
    "yen jpy ¥",
    "celsius centigrade c °c degrees_celsius degrees_c degree_celsius",
    "fahrenheit f °f degrees_fahrenheit degrees_f degree_fahrenheit",
    "kelvin kelvins k",
    "bc bce b.c. b.c.e. b.c",
    "ad ce a.d. c.e. a.d",
    "am a.m. a.m",
    "pm p.m. p.m",
    "thousand thousands k",
    "million millions mn m",
    "billion billions bn b",
    "trillion trillions tn",
)
SCALES: Final = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
"""Words that belong to the number itself."""
BEFORE: Final = frozenset({"$", "€", "£", "¥", "ad", "ce", "a.d."})
"""Units that may stand before the number."""
PARTS: Final = re.compile(r"(?P<before>[$€£¥]|ad |a\.d\. )?\s?-?\s?[\d.,]*\d\s?(?P<after>\D*)")
PER_UNIT: Final = re.compile(r"[a-z°%$€£¥./]+")
MANY_WORDS: Final = re.compile(r"degrees? [a-z]+\.?$|per cent\.?$|[a-z]+ per hour\.?$")
FIGURES: Final = re.compile(r"-?\s?[$€£¥]?\s?[\d.,]*\d")


def unit(answer: str) -> str | None:
    """The unit of a folded answer that is a number: the first word after it, or the sign before it, as `_WORDS` has it
    or as it stands. None where it has none."""
    parts = PARTS.fullmatch(answer.strip())
    if parts is None:
        return None
    if parts["before"]:
        return _known(parts["before"].strip())
    after = parts["after"].strip()
    if MANY_WORDS.match(after):
        return _known(after.replace(" ", "_").rstrip("."))
    word = PER_UNIT.match(after)
    return None if word is None else _known(word[0])


def _known(word: str) -> str:
    for line in _WORDS:
        if word in line.split() or word.rstrip(".") in line.split():
            return line.split()[0]
    return word.rstrip(".")


def _spellings(name: str) -> list[str]:
    return next((line.split() for line in _WORDS if line.split()[0] == name), [name, name + "s"])


def counted_in(own: str | None, other: str | None) -> Check:
    """The check of a number that must be told from the same number of another unit.

    Its own unit must follow it, or stand before it as '$' does. Without one of its own, the other's may not.
    """
    wanted = own or other or ""
    words = sorted(_spellings(wanted), key=len, reverse=True)
    spelled = "|".join(re.escape(word).replace("_", r"\s") for word in words)
    ends = r"(?<=\W)|(?![^\W_])"
    after = re.compile(rf"(?::00)?[\s\-*_~\\{{}}$]{{0,5}}(?:(?:text|mathrm|rm)[\s{{]{{0,2}})?(?:{spelled})(?:{ends})")
    before = [word for word in words if word in BEFORE]
    lead = re.compile(rf"(?:\bus\s?)?(?:{'|'.join(map(re.escape, before))})[\s\\]{{0,2}}-?\s?$") if before else None

    def check(text: Folded, original: str, span: Span) -> Span | None:  # noqa: ARG001 - a check
        body, (start, stop) = text.text, span
        follows = after.match(body, stop)
        end = stop if follows is None else follows.end()
        if follows is None:  # `numbers.find` takes some units into the span
            figures = FIGURES.match(body, start)
            places = [] if figures is None else [figures.end()]
            places += [start + place for place, char in enumerate(body[start:stop]) if char == " "]
            follows = next((unit_at for place in places if (unit_at := after.match(body, place))), None)
            end = stop if follows is None else max(stop, follows.end())
        leads = lead.search(body[max(0, start - 6) : start]) if lead is not None else None
        has_unit = follows is not None or leads is not None
        if own is None:
            return None if has_unit else span
        if not has_unit:
            return None
        return start if leads is None else start - (leads.end() - leads.start()), end

    return check
