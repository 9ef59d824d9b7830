"""The label of a question about a Lyapunov spectrum, from its text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import accumulate

from perpend.errors import DataError
from perpend.studies.logic.chaos.questions.data.reread import NUMBER, Reader, judged, lists, one_list, stated, whole


def relabel_spectrum(text: str) -> bool:
    """Whether the claim holds; a DataError where the text cannot be read."""
    return judged(text, _READERS)


def _limit(text: str) -> Decimal:
    """The size above which an exponent counts."""
    above = rf"(?:only if it is|of its exponents are|more exponents) above ({NUMBER})"
    return Decimal(stated(rf"{above}|Values of at most ({NUMBER})", text))


def _above(entries: Sequence[Decimal], limit: Decimal) -> int:
    return len([entry for entry in entries if entry - limit > 0])


def _positives(match: re.Match[str], text: str) -> bool:
    return _above(one_list(text), _limit(text)) == whole(match[1])


def _hyperchaos(match: re.Match[str], text: str) -> bool:
    second = {name: sorted(entries)[-2] for name, entries in _two(text).items()}
    return [name for name, exponent in second.items() if exponent > _limit(text)] == [match[1]]


def _volumes(match: re.Match[str], text: str) -> bool:
    spectra = _two(text)
    gap = sum(spectra[match[2]]) - sum(spectra[match[3]])
    return gap < 0 if match[1] == "faster" else gap > 0


def _dimension(entries: Sequence[Decimal]) -> Fraction:
    """Kaplan and Yorke's dimension by the running sums; a DataError where they never fall below zero."""
    ordered = sorted(entries)[::-1]
    sums = [Decimal(0), *accumulate(ordered)]
    count = max(number for number, total in enumerate(sums) if total >= 0)
    if count == len(ordered):
        raise DataError("the sums of the exponents never fall below zero")
    return count + Fraction(sums[count]) / Fraction(abs(ordered[count]))


def _against(match: re.Match[str], text: str) -> bool:
    size, level = _dimension(one_list(text)), Fraction(match[2])
    return size > level if match[1] == "above" else size < level


def _between(match: re.Match[str], text: str) -> bool:
    return int(match[1]) < _dimension(one_list(text)) < int(match[2])


def _two(text: str) -> dict[str, list[Decimal]]:
    long_lists = [entries for entries in lists(text) if len(entries) > 2]
    if len(long_lists) != 2:
        raise DataError(f"{len(long_lists)} spectra are found in: {text}")
    return {"A": long_lists[0], "B": long_lists[1]}


def _larger(match: re.Match[str], text: str) -> bool:
    spectra = _two(text)
    gap = _dimension(spectra[match[1]]) - _dimension(spectra[match[3]])
    return gap > 0 if match[2] == "larger" else gap < 0


def _more(match: re.Match[str], text: str) -> bool:
    spectra, limit = _two(text), _limit(text)
    gap = _above(spectra[match[1]], limit) - _above(spectra[match[3]], limit)
    return gap > 0 if match[2] == "more" else gap < 0


def _partners(match: re.Match[str], text: str) -> bool:
    counts = {name: Counter(entries) for name, entries in _two(text).items()}
    whole_ones = [
        name
        for name, long_lists in counts.items()
        if long_lists == Counter({-entry: n for entry, n in long_lists.items()})
    ]
    return len(whole_ones) == 1 and (whole_ones == [match[1]]) == (match[2] == "in which every")


def _motion(match: re.Match[str], text: str) -> bool:
    limit = Decimal(stated(rf"(?:size is|sizes) below ({NUMBER})", text))
    entries = one_list(text)
    if _above(entries, limit):
        return match[1] == "chaotic"
    zeros = len([entry for entry in entries if abs(entry) < limit])
    return match[1] == ("a steady state" if zeros == 0 else "a cycle" if zeros == 1 else "a torus")


def _time(match: re.Match[str], text: str) -> bool:
    time, level = 1 / Fraction(max(one_list(text))), Fraction(match[2])
    return time > level if match[1] in ("longer", "larger") else time < level


def _entropy(match: re.Match[str], text: str) -> bool:
    total, level = sum(max(entry, Decimal(0)) for entry in one_list(text)), Decimal(match[2])
    return total > level if match[1] == "above" else total < level


_DIMENSION = "the Kaplan–Yorke dimension"
_READERS: tuple[Reader, ...] = tuple(
    (re.compile(words), judge)
    for words, judge in (
        (r"exactly (\w+) (?:positive exponents|of the exponents (?:are )?positive)", _positives),
        (r"\b([AB]) (?:is )?the hyperchaotic one of the two", _hyperchaos),
        (r"shrink (faster|more slowly) in ([AB]) than in ([AB])", _volumes),
        (rf"{_DIMENSION} (?:is )?(above|below) ({NUMBER})", _against),
        (rf"{_DIMENSION} lies? between (\d) and (\d)", _between),
        (rf"{_DIMENSION} of ([AB]) (?:is )?(larger|smaller) than that of ([AB])", _larger),
        (r"\b([AB]) ha(?:s|ve) (more|fewer) positive exponents than ([AB])", _more),
        (r"\b([AB]) (?:is )?the one (in which every|with an) exponent", _partners),
        (r"the motion (?:is )?(chaotic|a steady state|a cycle|a torus)(?: by this rule\b|[.?])", _motion),
        (rf"Lyapunov time (?:is )?(longer|larger|shorter|smaller) than ({NUMBER})", _time),
        (rf"entropy rate (?:is )?(above|below) ({NUMBER})", _entropy),
    )
)
