"""How many items, or how many repeats, a study needs, from the variance components of a pilot."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

from perpend.errors import DataError
from perpend.stats import cautions, gate
from perpend.stats.components import Components
from perpend.types import Estimate, Number

_MOST = 1_000_000_000
Enough: TypeAlias = Callable[[int, float], bool]
"""Whether so many items do, if one item has this variance."""


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

    The value is the number of items for `repeats` (default: those of the pilot, rounded). With `items` it is the number
    of repeats, undefined where no number does: the note says how many items are needed. `n` counts the rows that the
    design asks.
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
    fixed, per_repeat, reason = _variances(pilot, paired=detect is not None, repeats=r if items is None else None)
    method = f"variance components of a pilot of {pilot.n_items} items"
    if fixed is None or r == 0:
        return Estimate(None, 0, note=reason or "no repeats: at least 1", also=also)
    if reason:
        method = f"{method}; {reason}"
    if fixed + per_repeat <= 0.0:
        return Estimate(None, 0, note="the pilot shows no spread, so what a study needs is unknown", also=also)
    warned = (cautions.small_pilot(pilot.n_items),) if pilot.n_items < 100 else ()
    if items is None:
        value = _least(lambda i: enough(i, fixed + per_repeat / r))
        if value is None:
            return Estimate(None, 0, note=f"more than {_MOST} items", also=also)
        also |= {"items": value, "repeats": r}
        return Estimate(value, value * r * sides, method=method, also=also, cautions=warned)
    given = max(gate.counts(items=items)[0], 1)
    value = _least(lambda k: enough(given, fixed + per_repeat / k))
    if value is None:
        least = _least(lambda i: enough(i, fixed))
        note = f"no number of repeats is enough with {given} items: it takes {least} items or more"
        return Estimate(None, 0, note=note, also=also)
    also |= {"items": given, "repeats": value}
    return Estimate(value, given * value * sides, method=method, also=also, cautions=warned)


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


def _variances(pilot: Components, *, paired: bool, repeats: int | None) -> tuple[float | None, float, str]:
    """Of one item: the variance that repeats do not lessen, that of one repeat, and what is assumed, or lacking."""
    two = paired and pilot.n_conditions > 1
    item, crossed, sampling = pilot.item.value, pilot.item_condition.value, pilot.sampling.value
    if two and crossed is None and pilot.residual is not None and repeats == 1:
        return 0.0, 2.0 * max(pilot.residual, 0.0), ""
    if sampling is None:
        return None, 0.0, f"sampling: {pilot.sampling.note}; repeat the pilot, or plan one repeat of two conditions"
    if (crossed if two else item) is None:
        lacking = pilot.item_condition if two else pilot.item
        return None, 0.0, f"{'item × condition' if two else 'item'}: {lacking.note}"
    item, crossed = item or 0.0, crossed or 0.0
    if two:
        return 2.0 * crossed, 2.0 * sampling, ""
    if paired:
        why = "the pilot has one condition, so the two are taken to have nothing in common: an upper bound"
        return 2.0 * item, 2.0 * sampling, why
    return item + crossed / pilot.n_conditions, sampling / pilot.n_conditions, ""


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
