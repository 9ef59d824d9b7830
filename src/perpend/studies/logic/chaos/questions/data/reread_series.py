"""The label of a question about a short series, from its text."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from statistics import median

from perpend.errors import DataError
from perpend.studies.logic.chaos.questions.data.reread import (
    NUMBER,
    Reader,
    directions,
    groups,
    judged,
    lists,
    one_list,
    stated,
    whole,
)

_TIMED = re.compile(rf"({NUMBER}) at t = (\d+)(?=[;.])|t = (\d+)(?: gives|:) ({NUMBER})")


def relabel_series(text: str) -> bool:
    """Whether the claim holds; a DataError where the text cannot be read."""
    return judged(text, _READERS)


def _timed(text: str) -> dict[int, Decimal]:
    """Values by their times, in rising order of time. A DataError where fewer than four are found."""
    numbers = {int(late or early): Decimal(one or two) for one, late, early, two in _TIMED.findall(text)}
    if len(numbers) < 4:
        raise DataError(f"no values with times in: {text}")
    return dict(sorted(numbers.items()))


def _patterns(match: re.Match[str], text: str) -> bool:
    entries = one_list(text)
    triples = zip(entries, entries[1:], entries[2:], strict=False)
    shapes = {(a < b, b < c, a < c) for a, b, c in triples}
    return len(shapes) == whole(match[1])


def _rises(match: re.Match[str], text: str) -> bool:
    ways = directions(one_list(text))
    more, fewer = ("U", "D") if match[1].lower() == "rises" else ("D", "U")
    return ways.count(more) > ways.count(fewer)


def _run(match: re.Match[str], text: str) -> bool:
    letter = "D" if match[2] == "falling" else "U"
    there = letter * (whole(match[3]) - 1) in directions(one_list(text))
    return there == (match[1] == "a ")


def _first(match: re.Match[str], text: str) -> bool:
    parts = groups(match)
    level, time = (parts[0], parts[1]) if "." in parts[0] else (parts[1], parts[0])
    # The claim itself looks like a row of the table.
    rows = _timed(text.replace(match[0], ""))
    beyond = [at for at, value in rows.items() if value > Decimal(level)]
    return bool(beyond) and beyond[0] == int(time)


def _factor(match: re.Match[str], text: str) -> bool:
    numbers = _timed(text)
    parts = groups(match)
    if parts[0] in ("more", "less"):
        word, level, early, late = parts
    else:
        early, late, word, level = parts
    growth = Fraction(numbers[int(late)]) / Fraction(numbers[int(early)])
    return growth > int(level) if word == "more" else growth < int(level)


def _megno(match: re.Match[str], text: str) -> bool:
    numbers = _timed(text)
    early = int(stated(r"MEGNO from t = (\d+) to", text))
    late = int(stated(r"MEGNO from t = \d+ to t = (\d+)", text))
    limit = Fraction(stated(rf"slope above ({NUMBER}) is read|elapsed time: above ({NUMBER}) the orbit", text))
    slope = Fraction(numbers[late] - numbers[early]) / (late - early)
    return (slope > limit) == (match[1] == "chaotic")


def _median(match: re.Match[str], text: str) -> bool:
    limit = Decimal(stated(rf"K values is above ({NUMBER})", text))
    numbers = [entries for entries in lists(text) if len(entries) > 2]
    if len(numbers) != 2:
        raise DataError(f"{len(numbers)} runs are found in: {text}")
    return (median(numbers["AB".index(match[1])]) > limit) == (match[2] == "chaotic")


def _range(match: re.Match[str], text: str) -> bool:
    entries, size = one_list(text), whole(match[2])
    kept = sorted(entries[-size:] if match[1] == "last" else entries[:size])
    width, bound = kept[-1] - kept[0], Decimal(match[4])
    return width > bound if match[3] == "above" else width < bound


def _mean(match: re.Match[str], text: str) -> bool:
    drop = whole(stated(r"the first (\w+) (?:is|are) (?:left out|dropped)", text))
    numbers = [entries[drop:] for entries in lists(text) if len(entries) > 2]
    if len(numbers) != 2:
        raise DataError(f"{len(numbers)} orbits are found in: {text}")
    means = [sum(map(Fraction, kept)) / len(kept) for kept in numbers]
    one, other = (means["AB".index(name)] for name in (match[2], match[3]))
    return one > other if match[1] == "larger" else one < other


def _signs(match: re.Match[str], text: str) -> bool:
    entries = one_list(text)
    changes = len([1 for spot in range(1, len(entries)) if entries[spot] * entries[spot - 1] < 0])
    return changes == whole(groups(match)[0])


def _recurrences(match: re.Match[str], text: str) -> bool:
    entries = one_list(text)
    lag = whole(stated(r"the one (\w+) places later differ", text))
    near = Decimal(stated(rf"differ by less than ({NUMBER})", text))
    close = [spot for spot in range(lag, len(entries)) if abs(entries[spot] - entries[spot - lag]) < near]
    return len(close) == whole(match[1])


def _even(match: re.Match[str], text: str) -> bool:
    times = one_list(text)
    gaps = sorted(after - before for before, after in pairwise(times))
    bound = Decimal(stated(rf"exceeds the shortest by less than ({NUMBER})", text))
    return (gaps[-1] - gaps[0] < bound) == (match[1] == "even")


_READERS: tuple[Reader, ...] = tuple(
    (re.compile(words), judge)
    for words, judge in (
        (r"exactly (\w+) different ordinal patterns", _patterns),
        (r"([Rr]ises|[Ff]alls) outnumber", _rises),
        (r"(?:contains? (a )|free of )(falling|rising) runs? of (\w+)", _run),
        (
            (
                rf"distance first exceeds? ({NUMBER}) at t = (\d+)"
                rf"|t = (\d+) (?:is )?the first listed time with a distance above ({NUMBER})"
            ),
            _first,
        ),
        (
            (
                r"grows? by a factor of (more|less) than (\d+) between t = (\d+) and t = (\d+)"
                r"|growth between t = (\d+) and t = (\d+) (?:is )?(more|less) than (\d+)"
            ),
            _factor,
        ),
        (r"the orbit (?:is )?(chaotic|regular) by this criterion", _megno),
        (r"run ([AB]) (?:is )?(chaotic|regular) by this rule", _median),
        (rf"range of the (last|first) (\w+) values (?:is )?(above|below) ({NUMBER})", _range),
        (r"the estimated exponent (?:is )?(larger|smaller) for ([AB]) than for ([AB])", _mean),
        (r"sign exactly (\w+) times|exactly (\w+) sign changes", _signs),
        (r"exactly (\w+) recurrences", _recurrences),
        (r"the record (?:is )?(even|uneven) by this rule", _even),
    )
)
