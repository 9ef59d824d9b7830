"""The label of a question about a short orbit, from its text."""

from __future__ import annotations

import re
from decimal import Decimal
from itertools import pairwise

from perpend.studies.logic.chaos.questions.data.reread import (
    NUMBER,
    Reader,
    directions,
    groups,
    judged,
    one_list,
    place,
    stated,
    whole,
)


def relabel_orbit(text: str) -> bool:
    """Whether the claim holds; a DataError where the text cannot be read."""
    return judged(text, _READERS)


def _period(match: re.Match[str], text: str) -> bool:
    entries = one_list(text)
    fitting = [p for p in range(1, len(entries) // 2 + 1) if entries[p:] == entries[:-p]]
    return min(fitting, default=0) == int(match[1])


def _two(match: re.Match[str], text: str) -> bool:
    entries = one_list(text)
    gap = entries[place(match[1]) - 1] - entries[place(match[3]) - 1]
    return gap > 0 if match[2] in ("larger", "higher", "greater") else gap < 0


def _step(match: re.Match[str], text: str) -> bool:
    entries = one_list(text)
    before, after = place(match[1]), place(match[2])
    best = max(range(1, len(entries)), key=lambda spot: abs(entries[spot] - entries[spot - 1]))
    return (before, after) == (best, best + 1)


def _turns(match: re.Match[str], text: str) -> bool:
    wanted = "UD" if match[2] == "maxima" else "DU"
    ways = directions(one_list(text))
    return sum(ways[spot : spot + 2] == wanted for spot in range(len(ways))) == whole(match[1])


def _closer(match: re.Match[str], text: str) -> bool:
    aim = Decimal(match[1])
    gaps = [abs(entry - aim) for entry in one_list(text)]
    falling = gaps == sorted(gaps, reverse=True) and len({*gaps}) == len(gaps)
    return falling == ("every entry after" in text)


def _bounds(match: re.Match[str], text: str) -> bool:
    low, high = Decimal(match[3]), Decimal(match[4])
    late = one_list(text)[place(match[1]) :]
    within = min(late) > low and max(late) < high
    return within != bool(match[2])


def _turn_about(match: re.Match[str], text: str) -> bool:
    ways = directions(one_list(text))
    repeats = "UU" in ways or "DD" in ways
    return repeats == match[0].startswith("two rises")


def _early(match: re.Match[str], text: str) -> bool:
    entries, size, level = one_list(text), whole(match[3]), Decimal(match[5])
    kept = entries[:size] if match[2] == "first" else entries[len(entries) - size :]
    above = len([entry for entry in kept if entry > level])
    return (above if match[4] == "above" else size - above) == whole(match[1])


def _extreme(match: re.Match[str], text: str) -> bool:
    entries = one_list(text)
    value = entries[place(groups(match)[-1]) - 1]
    beyond = [entry for entry in entries if (entry > value if match[2] == "largest" else entry < value)]
    return len(beyond) == (1 if match[1] else 0)


def _block(match: re.Match[str], text: str) -> bool:
    level = Decimal(stated(rf"Write L for an entry below ({NUMBER}) and R", text))
    return match[1] in "".join("R" if entry > level else "L" for entry in one_list(text))


def _successors(match: re.Match[str], text: str) -> bool:
    entries = one_list(text)
    after: dict[Decimal, Decimal] = {}
    steps = pairwise(entries)
    clash = any(after.setdefault(entry, follower) != follower for entry, follower in steps)
    return clash == match[0].startswith("two equal")


def _begins(match: re.Match[str], text: str) -> bool:
    entries, lag = one_list(text), place(stated(r"equals the (second|third) one after it", text))
    spot = len(entries) - lag
    while spot > 0 and entries[spot - 1] == entries[spot - 1 + lag]:
        spot -= 1
    return spot + 1 == place(groups(match)[0])


_READERS: tuple[Reader, ...] = tuple(
    (re.compile(words), judge)
    for words, judge in (
        (r"least period (?:of the list )?(?:is )?(\d+)", _period),
        (r"the (\w+) (?:entry|value) (?:is )?(larger|higher|greater|smaller|lower) than the (\w+)", _two),
        (r"the one from the (\w+) (?:entry|value) to the (\w+)", _step),
        (r"exactly (\w+) local (maxima|minima)", _turns),
        (rf"closer to ({NUMBER}) than the one before", _closer),
        (rf"after the (\w+) lies? (outside the range )?between ({NUMBER}) and ({NUMBER})", _bounds),
        (r"strict turns|two rises in a row or two falls in a row", _turn_about),
        (rf"exactly (\w+) of the (first|last) (\w+) entries lie (above|below) ({NUMBER})", _early),
        (
            r"the (second )?(largest|smallest) (?:entry|value) (?:stands? at the (\w+) place|(?:is )?the (\w+) one in)",
            _extreme,
        ),
        (r"the block ([LR]{3,4})\b", _block),
        (r"equal successors throughout|two equal entries with different successors", _successors),
        (r"part begins? with the (\w+) entry|the (\w+) entry (?:is )?where the repeating part begins", _begins),
    )
)
