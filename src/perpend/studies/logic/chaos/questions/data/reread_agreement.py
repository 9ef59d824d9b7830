"""The label of a question about several indicators of one run, from its text."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from statistics import median

from perpend.errors import DataError
from perpend.studies.logic.chaos.questions.data.reread import NUMBER, Reader, directions, groups, judged, stated, whole

_ENTRIES = r"(-?\d+\.\d+(?:, -?\d+\.\d+)+)"
_NAMES = r"(the spectrum|the 0–1 test|the twin test|MEGNO|the list of maxima|the signal)"


def relabel_agreement(text: str) -> bool:
    """Whether the claim holds; a DataError where the text cannot be read."""
    return judged(text, _READERS)


def _entries(pattern: str, text: str) -> list[Decimal]:
    return [Decimal(entry) for entry in stated(pattern + _ENTRIES, text).split(", ")]


def _spectrum(text: str) -> bool:
    limit = Decimal(stated(rf"exponent is above ({NUMBER})", text))
    return max(_entries(r"The Lyapunov spectrum (?:is|reads) ", text)) > limit


def _zero_one(text: str) -> bool:
    limit = Decimal(stated(rf"median of K is above ({NUMBER})|median of the K values counts: above ({NUMBER})", text))
    return median(_entries(r"(?:gave the K values|Values of K from the 0–1 test:) ", text)) > limit


def _twins(text: str) -> bool:
    factor = int(stated(r"grown by more than a factor of (\d+)|distance is more than (\d+) times", text))
    verdicts = re.search(
        rf"went from ({NUMBER}) to ({NUMBER})|were ({NUMBER}) apart at first and ({NUMBER}) apart", text
    )
    if verdicts is None:
        raise DataError(f"no twin distances in: {text}")
    early, late = map(Decimal, groups(verdicts))
    return late > factor * early


def _megno(text: str) -> bool:
    limit = Fraction(stated(rf"(?:between the two times|elapsed time) is above ({NUMBER})", text))
    verdicts = re.search(rf"MEGNO (?:was|=) ({NUMBER}) at t = (\d+) and (?:MEGNO = )?({NUMBER}) at t = (\d+)", text)
    if verdicts is None:
        raise DataError(f"no MEGNO values in: {text}")
    before, early, after, late = map(Fraction, verdicts.groups())
    return (after - before) / (late - early) > limit


def _maxima(text: str) -> bool:
    lag = whole(stated(r"equals the one (\w+) places later", text))
    entries = _entries(r"(?:Successive maxima are|one after the other, were) ", text)
    return entries[lag:] != entries[:-lag]


def _signal(text: str) -> bool:
    least = whole(stated(r"(?:or back,|rising and falling) more than (\w+) times", text))
    ways = directions(_entries(r"(?:stretch of the signal reads|Part of the signal is) ", text))
    return len(re.findall(r"U(?=D)|D(?=U)", ways)) > least


_VERDICTS: dict[str, tuple[str, Callable[[str], bool]]] = {
    "the spectrum": ("The Lyapunov spectrum", _spectrum),
    "the 0–1 test": ("gave the K values|Values of K from", _zero_one),
    "the twin test": ("apart at first|went from", _twins),
    "MEGNO": (r"MEGNO (?:was|=) \d", _megno),
    "the list of maxima": ("Successive maxima|The maxima", _maxima),
    "the signal": ("stretch of the signal|Part of the signal", _signal),
}


def _chaotic(text: str, size: int) -> dict[str, bool]:
    """Whether each indicator of the text says chaotic. A DataError where there are not `size` of them."""
    verdicts = {name: judge(text) for name, (mark, judge) in _VERDICTS.items() if re.search(mark, text)}
    if len(verdicts) != size:
        raise DataError(f"{len(verdicts)} indicators are found in: {text}")
    return verdicts


def _agree(match: re.Match[str], text: str) -> bool:
    first, second = _chaotic(text, 2).values()
    return (first is second) == (match[1] == "agree")


def _some(match: re.Match[str], text: str) -> bool:
    return (match[1] == "chaotic") in _chaotic(text, 2).values()


def _each(match: re.Match[str], text: str) -> bool:
    return {*_chaotic(text, 2).values()} == {match[1] == "chaotic"}


def _alone(match: re.Match[str], text: str) -> bool:
    verdicts = _chaotic(text, 2)
    named = [name for name, chaotic in verdicts.items() if chaotic == (match[2] == "chaotic")]
    return [name.lower() for name in named] == [match[1].lower()]


def _most(match: re.Match[str], text: str) -> bool:
    return median(_chaotic(text, 3).values()) == (match[1] == "chaotic")


def _number(match: re.Match[str], text: str) -> bool:
    return [*_chaotic(text, 3).values()].count(match[2] == "chaotic") == whole(match[1] or "three")


def _odd(match: re.Match[str], text: str) -> bool:
    verdicts = _chaotic(text, 3)
    return [*verdicts.values()].count(verdicts[match[1]]) == 1


_READERS: tuple[Reader, ...] = tuple(
    (re.compile(words), judge)
    for words, judge in (
        (r"the two (?:verdicts|indicators) (agree|contradict|disagree)", _agree),
        (r"[Aa]t least one of the two indicators says? (chaotic|regular)", _some),
        (r"[Bb]oth of the indicators say (chaotic|regular)", _each),
        (rf"(?i:{_NAMES}) alone says? (chaotic|regular)", _alone),
        (r"majority of the three indicators says? (chaotic|regular)", _most),
        (r"(?:exactly (\w+) of the|[Aa]ll) three indicators says? (chaotic|regular)", _number),
        (rf"(?:stands alone against the two others|odd one out among the three) (?:is )?{_NAMES}", _odd),
    )
)
