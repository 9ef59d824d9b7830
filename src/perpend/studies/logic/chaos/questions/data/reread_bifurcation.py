"""The label of a question about regimes along a parameter, from its text."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

from perpend.errors import DataError
from perpend.studies.logic.chaos.questions.data.reread import (
    NUMBER,
    Reader,
    groups,
    judged,
    one_list,
    place,
    sign,
    stated,
    whole,
)

_REGIME = r"(a steady state|period \d|chaos|a torus)"
_EVENT = (
    r"(a period doubling|a period halving|a crisis|a saddle-node bifurcation|a Hopf bifurcation|the onset of chaos)"
)
_STATES = re.compile(r"((?:cycle|chaos|torus|rest)(?:, (?:cycle|chaos|torus|rest))+)")
_INTERVALS = (
    re.compile(rf"(?P<a>{NUMBER}) to (?P<b>{NUMBER})(?:,|:) (?P<g>{_REGIME})"),
    re.compile(rf"(?P<g>{_REGIME}) for \w between (?P<a>{NUMBER}) and (?P<b>{NUMBER})(?=[;.])"),
)
_EVENTS = (
    re.compile(rf"(?P<e>{_EVENT}) at (?P<x>{NUMBER})(?=[;.])"),
    re.compile(rf"at (?P<x>{NUMBER}) (?P<e>{_EVENT})"),
)
_ROW = re.compile(rf"({NUMBER}) at \w = ({NUMBER})(?=[;.])|\w = ({NUMBER})(?::| gives) ({NUMBER})")


def relabel_bifurcation(text: str) -> bool:
    """Whether the claim holds; a DataError where the text cannot be read."""
    return judged(text, _READERS)


def _intervals(text: str) -> list[tuple[Decimal, Decimal, str]]:
    """Ends and regimes in rising order. A DataError where the intervals do not join."""
    for style in _INTERVALS:
        listed_rows = [(Decimal(m["a"]), Decimal(m["b"]), m["g"]) for m in style.finditer(text)]
        if len(listed_rows) > 2:
            if any(a[1] != b[0] for a, b in pairwise(listed_rows)):
                raise DataError(f"the intervals do not join in: {text}")
            return listed_rows
    raise DataError(f"no intervals are found in: {text}")


def _events(text: str) -> list[tuple[Decimal, str]]:
    for style in _EVENTS:
        listed_rows = [(Decimal(m["x"]), m["e"]) for m in style.finditer(text)]
        if len(listed_rows) > 2:
            return sorted(listed_rows)
    raise DataError(f"no events are found in: {text}")


def _rows(text: str) -> list[tuple[Decimal, Decimal]]:
    listed_rows = [(Decimal(late or early), Decimal(one or two)) for one, late, early, two in _ROW.findall(text)]
    if len(listed_rows) < 4:
        raise DataError(f"no exponents are found in: {text}")
    return sorted(listed_rows)


def _at(match: re.Match[str], text: str) -> bool:
    value, regime = groups(match)[:2]
    inside = [name for low, high, name in _intervals(text) if low < Decimal(value) < high]
    return inside == [regime]


def _window(match: re.Match[str], text: str) -> bool:
    low, high = Decimal(match[2]), Decimal(match[3])
    rows = _intervals(text)
    windows = [
        rows[spot]
        for spot in range(1, len(rows) - 1)
        if "period" in rows[spot][2] and {rows[spot - 1][2], rows[spot + 1][2]} == {"chaos"}
    ]
    return any(low < start and end < high for start, end, _ in windows) == (match[1] == "a")


def _share(match: re.Match[str], text: str) -> bool:
    rows = _intervals(text)
    chaos = sum(Fraction(end) - Fraction(start) for start, end, name in rows if name == "chaos")
    share = chaos / (Fraction(rows[-1][1]) - Fraction(rows[0][0]))
    part = Fraction(1, 2) if match[2] == "half" else Fraction(1, 3)
    return share > part if match[1] == "more" else share < part


def _route(match: re.Match[str], text: str) -> bool:
    names = [name for *_, name in _intervals(text)]
    last = names[names.index("chaos") - 1]
    routes = {"a torus": "by way of a torus", "a steady state": "direct", "period 1": "direct"}
    return routes.get(last, "by way of cycles") == match[1]


def _before(match: re.Match[str], text: str) -> bool:
    events = _events(text)
    onset = next(at for at, name in events if name == "the onset of chaos")
    wanted = "a period doubling" if match[2] == "period doublings" else "a crisis"
    spots = [at for at, name in events if name == wanted]
    return len([at for at in spots if (at < onset) == (match[3] == "before")]) == whole(match[1])


def _period(match: re.Match[str], text: str) -> bool:
    period = Fraction(stated(r"first event the period is (\d+)|starts with period (\d+)", text))
    for at, name in _events(text):
        if at < Decimal(match[1]):
            period = period * 2 if name == "a period doubling" else period / 2
    return period == int(match[2])


def _ratio(match: re.Match[str], text: str) -> bool:
    points = [Fraction(point) for point in one_list(text)]
    spot = place(match[1])
    ratio = (points[spot] - points[spot - 1]) / (points[spot + 1] - points[spot])
    level = Fraction(match[3])
    return ratio > level if match[2] == "above" else ratio < level


def _scans(match: re.Match[str], text: str) -> bool:
    listed_rows = [states.split(", ") for states in _STATES.findall(text)]
    if len(listed_rows) != 2:
        raise DataError(f"{len(listed_rows)} scans are found in: {text}")
    return len([1 for up, down in zip(*listed_rows, strict=True) if up != down]) == whole(match[1])


def _signs(match: re.Match[str], text: str) -> bool:
    marks = "".join("+" if value > 0 else "-" for _, value in _rows(text))
    return marks.count("+-") + marks.count("-+") == whole(groups(match)[0])


def _crossing(match: re.Match[str], text: str) -> bool:
    rows = _rows(text)
    step = 2 if match[2] == "from negative to positive" else -2
    spots = [(low, high) for (low, before), (high, after) in pairwise(rows) if sign(after) - sign(before) == step]
    wanted = (Decimal(match[3]), Decimal(match[4]))
    return bool(spots) and spots[0 if match[1] == "first" else -1] == wanted


def _zero(match: re.Match[str], text: str) -> bool:
    rows = [(Fraction(at), Fraction(value)) for at, value in _rows(text)]
    changes = [(a, b) for a, b in pairwise(rows) if a[1] * b[1] < 0]
    if len(changes) != 1:
        raise DataError(f"{len(changes)} sign changes are found in: {text}")
    (low, below), (high, above) = changes[0]
    zero = (low * above - high * below) / (above - below)
    level = Fraction(match[2])
    return zero > level if match[1] == "above" else zero < level


_READERS: tuple[Reader, ...] = tuple(
    (re.compile(words), judge)
    for words, judge in (
        (rf"regime at \w = ({NUMBER}) (?:is )?{_REGIME}|\w = ({NUMBER}) belongs? to an interval with {_REGIME}", _at),
        (
            rf"there (?:is )?(a|no) periodic window that lies wholly between \w = ({NUMBER}) and \w = ({NUMBER})",
            _window,
        ),
        (r"take up (more|less) than (half|a third) of the listed range", _share),
        (r"the route to chaos (?:is )?(by way of a torus|direct|by way of cycles) in this sense", _route),
        (r"exactly (\w+) (period doublings|crises) (?:come )?(before|after) the onset of chaos", _before),
        (rf"the period at \w = ({NUMBER}) equals? (\d+)", _period),
        (rf"the (first|second) ratio (?:is )?(above|below) ({NUMBER})", _ratio),
        (r"(?:differ|different states) at exactly (\w+) of the listed values", _scans),
        (r"sign exactly (\w+) times along|exactly (\w+) sign changes occur", _signs),
        (rf"the (first|last) change (from \w+ to \w+) lies? between \w = ({NUMBER}) and \w = ({NUMBER})", _crossing),
        (rf"zero found in this way lies? (above|below) \w = ({NUMBER})", _zero),
    )
)
