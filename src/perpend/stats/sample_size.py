"""How many items, or how many repeats, a study needs, from the variance components of a pilot."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Protocol

from perpend.errors import DataError
from perpend.stats import gate
from perpend.stats.cautions import caution
from perpend.stats.components import Components, ends_of_one_item, of_one_item
from perpend.types import Estimate, Number

_MOST = 1_000_000_000


class Enough(Protocol):
    """Whether so many items do, if one item has this variance."""

    def __call__(self, items: int, variance: float) -> bool: ...


def needed(  # noqa: PLR0913  what a design is made of
    pilot: Components,
    *,
    detect: float | None = None,
    width: float | None = None,
    power: float = 0.8,
    alpha: float = 0.05,
    repeats: int | None = None,
    items: int | None = None,
) -> Estimate:
    """The items that show a paired difference of `detect`, or that give an interval of this `width`.

    Give one of the two. `detect` is a difference between two conditions on the same items, each asked `repeats` times
    under both: an item's difference then has the variance V = 2 (item × condition + sampling / repeats), and I items
    show it with this power at level alpha where √I · detect = u √(V + detect²) + v √V, u and v being the t quantiles. A
    pilot with one condition knows nothing of item × condition; V is then 2 (item + sampling / repeats), as if the
    conditions had nothing in common, which is more. `width` is that of the 1 - alpha interval of the pilot's mean over
    its conditions, both ends together.

    The value is the number of items for `repeats` (default: those of the pilot, rounded), with an interval that says
    how well the pilot knows it: that of the variance, jackknifed over its items. With `items` it is the number of
    repeats, undefined where no number does: the note says how many items are needed. `n` counts the rows that the
    design asks. A pilot without repeats plans for one.
    """
    wanted = _wanted(detect, width)
    _check(power, alpha)
    sides = pilot.n_conditions if detect is None else 2
    enough: Enough = _narrow(wanted, alpha) if detect is None else _shown(wanted, power, alpha)
    also: dict[str, Number] = {"alpha": alpha, "sides": sides, "items": items, "repeats": repeats}
    also |= {"width": wanted} if detect is None else {"detect": wanted, "power": power}
    if items is not None and repeats is not None:
        raise DataError("items, repeats: give one of them, the other is what is asked for")
    r = max(round(pilot.repeats), 1) if repeats is None else gate.counts(repeats=repeats)[0]
    paired = detect is not None
    fixed, per_repeat, reason = of_one_item(pilot, paired=paired, repeats=r if items is None else None)
    method = f"variance components of a pilot of {pilot.n_items} items"
    if fixed is None or r == 0:
        return Estimate(None, 0, note=reason or "no repeats: at least 1", also=also)
    if reason:
        method = f"{method}; {reason}"
    if fixed + per_repeat <= 0.0:
        return Estimate(None, 0, note="the pilot shows no spread, so what a study needs is unknown", also=also)
    warned = (caution("STAT030", pilot.n_items),) if pilot.n_items < 100 else ()
    if items is None:
        value = _least(lambda i: enough(i, fixed + per_repeat / r))
        if value is None:
            return Estimate(None, 0, note=f"more than {_MOST} items", also=also)
        also |= {"items": value, "repeats": r}
        lo, hi, note = _ends(pilot, enough, paired=paired, repeats=r)
        lo, hi = None if lo is None else min(lo, value), None if hi is None else max(hi, value)
        return Estimate(value, value * r * sides, lo, hi, method, note, also=also, cautions=warned)
    given = max(gate.counts(items=items)[0], 1)
    value = _least(lambda k: enough(given, fixed + per_repeat / k))
    if value is None:
        least = _least(lambda i: enough(i, fixed))
        note = f"no number of repeats is enough with {given} items: it takes {least} items or more"
        return Estimate(None, 0, note=note, also={**also, "items_needed": least})
    also |= {"items": given, "repeats": value}
    return Estimate(value, given * value * sides, method=method, also=also, cautions=warned)


def detectable(pilot: Components, items: int, repeats: int = 1, *, power: float = 0.8, alpha: float = 0.05) -> Estimate:
    """The smallest paired difference that so many items, asked so many times, show with this power: `needed` inverted.

    Undefined where the pilot lacks a part or shows no spread, and where the items are too few for any difference.
    """
    from scipy.special import stdtrit

    _check(power, alpha)
    i, r = gate.counts(items=items, repeats=repeats)
    if not (i and r):
        raise DataError("items, repeats: a design has at least one of each")
    also: dict[str, Number] = {"items": i, "repeats": r, "alpha": alpha, "power": power}
    fixed, per_repeat, reason = of_one_item(pilot, paired=True, repeats=r)
    if fixed is None:
        return Estimate(None, i, note=reason, also=also)
    variance = fixed + per_repeat / r
    if variance <= 0.0:
        return Estimate(None, i, note="the pilot shows no spread, so what it can detect is unknown", also=also)
    u, v = (float(stdtrit(i - 1, end)) for end in (1.0 - alpha / 2.0, power)) if i > 1 else (math.inf, math.inf)
    if i <= u**2:
        return Estimate(None, i, note=f"{i} items are too few to show any difference at level {alpha:g}", also=also)
    value = math.sqrt(variance) * (v * math.sqrt(i) + u * math.sqrt(i - u**2 + v**2)) / (i - u**2)
    method = f"variance components of a pilot of {pilot.n_items} items" + (f"; {reason}" if reason else "")
    return Estimate(value, i, method=method, also=also)


def _ends(pilot: Components, enough: Enough, *, paired: bool, repeats: int) -> tuple[int | None, int | None, str]:
    """The least items at the ends of the interval of one item's variance, and why there are none."""
    factors = ends_of_one_item(pilot, paired=paired, repeats=repeats)
    if isinstance(factors, str):
        return None, None, factors
    fixed, per_repeat, _ = of_one_item(pilot, paired=paired, repeats=repeats)
    variance = (fixed or 0.0) + per_repeat / repeats
    lo, hi = (_least(partial(enough, variance=variance * factor)) for factor in factors)
    return lo, hi, ""


def _wanted(detect: float | None, width: float | None) -> float:
    name, value = ("detect", detect) if width is None else ("width", width)
    if (detect is None) == (width is None) or value is None:
        raise DataError("detect, width: give one of them: the difference to detect, or the width of the interval")
    if isinstance(value, bool) or not isinstance(value, float | int) or not 0.0 < value < math.inf:
        raise DataError(f"{name}: is {value!r}; it is a number above 0, as in 0.05")
    return float(value)


def _check(power: float, alpha: float) -> None:
    for name, value in (("power", power), ("alpha", alpha)):
        if isinstance(value, bool) or not isinstance(value, float) or not 0.0 < value < 1.0:
            raise DataError(f"{name}: is {value!r}; it lies strictly between 0 and 1")
    if power <= alpha / 2.0:
        raise DataError(f"power: is {power!r}, what chance alone reaches at alpha {alpha!r}; take more, as in 0.8")


def _narrow(width: float, alpha: float) -> Enough:
    from scipy.special import stdtrit

    def enough(items: int, variance: float) -> bool:
        return items > 1 and 2.0 * float(stdtrit(items - 1, 1.0 - alpha / 2.0)) * math.sqrt(variance / items) <= width

    return enough


def _shown(detect: float, power: float, alpha: float) -> Enough:
    from scipy.special import stdtrit

    def enough(items: int, variance: float) -> bool:
        if items < 2:
            return False
        u, v = (float(stdtrit(items - 1, end)) for end in (1.0 - alpha / 2.0, power))
        return math.sqrt(items) * detect >= u * math.sqrt(variance + detect**2) + v * math.sqrt(variance)

    return enough


def _least(enough: Callable[[int], bool]) -> int | None:
    """The smallest number that is enough; None where a thousand million is not."""
    high = 1
    while not enough(high):
        high *= 2
        if high > _MOST:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
