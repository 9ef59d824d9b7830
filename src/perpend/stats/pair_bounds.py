"""Closed-form intervals of the difference of two shares in a table of pairs, which need not be whole."""

from __future__ import annotations

import math
from typing import TypeAlias

from perpend.stats.proportions import wilson_bounds

Table: TypeAlias = tuple[float, float, float, float]
"""n11, n10, n01, n00: the first digit is the first column's value. Not necessarily whole."""


def newcombe_bounds(table: Table, quantile: float) -> tuple[float, float]:
    """Newcombe's method 10 for p1 - p2 = (n10 - n01) / n: Wilson ends, joined by the corrected phi. n > 0."""
    n11, n10, n01, n00 = table
    n = n11 + n10 + n01 + n00
    p1, p2, difference = (n11 + n10) / n, (n11 + n01) / n, (n10 - n01) / n
    lo1, hi1 = wilson_bounds(p1, n, quantile)
    lo2, hi2 = wilson_bounds(p2, n, quantile)
    margins = (n11 + n10) * (n01 + n00) * (n11 + n01) * (n10 + n00)
    product = n11 * n00 - n10 * n01
    if product > 0.0:
        product = max(product - n / 2.0, 0.0)
    phi = product / math.sqrt(margins) if margins > 0.0 else 0.0
    below = _joined(p1 - lo1, hi2 - p2, phi)
    above = _joined(hi1 - p1, p2 - lo2, phi)
    return max(difference - below, -1.0), min(difference + above, 1.0)


def _joined(first: float, second: float, phi: float) -> float:
    return math.sqrt(max(first * first - 2.0 * phi * first * second + second * second, 0.0))


def tango_bounds(table: Table, quantile: float) -> tuple[float, float]:
    """Tango's score interval for p1 - p2 = (n10 - n01) / n: every difference that a score test accepts. n > 0."""
    from scipy.optimize import brentq

    _, n10, n01, _ = table
    difference = (n10 - n01) / sum(table)

    def score(delta: float) -> float:
        return tango_score(table, delta)

    tiny = 1e-12
    lo = -1.0 if score(-1.0 + tiny) < quantile else brentq(lambda d: score(d) - quantile, -1.0 + tiny, difference)
    hi = 1.0 if score(1.0 - tiny) > -quantile else brentq(lambda d: score(d) + quantile, difference, 1.0 - tiny)
    return min(float(lo), difference), max(float(hi), difference)


def tango_score(table: Table, delta: float) -> float:
    """Tango's score of p1 - p2 = (n10 - n01) / n under the hypothesis that it is delta, normal there. n > 0."""
    _, n10, n01, _ = table
    n = sum(table)
    # The maximum-likelihood P(0, 1) under the hypothesis, in closed form (Tango 1998, eq. 6).
    linear = -n10 - n01 + (2.0 * n - n10 + n01) * delta
    constant = -n01 * delta * (1.0 - delta)
    p01 = (math.sqrt(max(linear * linear - 8.0 * n * constant, 0.0)) - linear) / (4.0 * n)
    variance = n * max(2.0 * p01 + delta * (1.0 - delta), 0.0)
    distance = n10 - n01 - n * delta
    if distance == 0.0:
        return 0.0
    return distance / math.sqrt(variance) if variance > 0.0 else math.copysign(math.inf, distance)
