"""Short computations behind named results: universal numbers, exponents, roots, counts, types.

Nothing here reads a curated value. What takes longer (exponents of flows) is computed in the tests only.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from itertools import pairwise

import numpy as np


def superstable(count: int) -> list[float]:
    """The parameters r at which the cycles of period 1, 2, 4, ... of the logistic map's first cascade hold x = 1/2."""
    known_terms = [2.0, 1 + math.sqrt(5)]
    while len(known_terms) < count:
        guess = known_terms[-1] + (known_terms[-1] - known_terms[-2]) / 4.7
        known_terms.append(critical_root(2 ** len(known_terms), guess))
    return known_terms[:count]


def critical_root(period: int, guess: float) -> float:
    """The r near a guess at which x = 1/2 comes back to itself after `period` steps, by the secant method."""

    def miss(r: float) -> float:
        x = 0.5
        for _ in range(period):
            x = r * x * (1 - x)
        return x - 0.5

    a, b = guess, guess + 1e-5
    for _ in range(60):
        at_a, at_b = miss(a), miss(b)
        if at_a == at_b or abs(b - a) < 1e-15:
            break
        a, b = b, b - at_b * (b - a) / (at_b - at_a)
    return b


def feigenbaum_delta() -> float:
    """The limit of the ratios of successive differences of the superstable parameters."""
    r = superstable(11)
    steps = [b - a for a, b in pairwise(r)]
    return steps[-2] / steps[-1]


def feigenbaum_alpha() -> float:
    """The limit of the ratios of successive distances between x = 1/2 and the point of the cycle nearest to it."""
    distances = []
    for n, r in enumerate(superstable(11)[1:], start=1):
        x = 0.5
        for _ in range(2 ** (n - 1)):
            x = r * x * (1 - x)
        distances.append(x - 0.5)
    return abs(distances[-2] / distances[-1])


def accumulation() -> float:
    """The parameter r at which the first period-doubling cascade of the logistic map ends, by extrapolation."""
    r = superstable(11)
    delta = feigenbaum_delta()
    return r[-1] + (r[-1] - r[-2]) / (delta - 1)


def doubling_onset(doublings: int) -> float:
    """The r at which the logistic map's cycle of period 2**doublings has the multiplier -1.

    The cycle is followed from its superstable parameter, where it holds x = 1/2, by Newton's method.
    """
    period, low, x = 2**doublings, superstable(doublings + 1)[-1], 0.5
    step = (superstable(doublings + 2)[-1] - low) / 16
    while step > 1e-12:
        moved, slope = _cycle(period, low + step, x)
        if slope > -1:
            low, x = low + step, moved
        else:
            step /= 2
    return low


def _cycle(period: int, r: float, x: float) -> tuple[float, float]:
    """The point near x of the cycle of a period, and the cycle's multiplier."""
    slope = 0.0
    for _ in range(12):
        y, slope = x, 1.0
        for _ in range(period):
            slope *= r * (1 - 2 * y)
            y = r * y * (1 - y)
        x -= (y - x) / (slope - 1)
    return x, slope


def map_exponents(a: float, b: float, bend: Callable[[float], float], slope: Callable[[float], float]) -> list[float]:
    """Both Lyapunov exponents of x' = 1 - a bend(x) + y, y' = b x, from 60,000 steps; their sum is ln b."""
    x, y, u, v, total, steps = 0.1, 0.1, 1.0, 0.0, 0.0, 60000
    for n in range(steps + 1000):
        u, v = -a * slope(x) * u + v, b * u
        x, y = 1 - a * bend(x) + y, b * x
        size = math.hypot(u, v)
        u, v = u / size, v / size
        if n >= 1000:
            total += math.log(size)
    largest = total / steps
    return [largest, math.log(b) - largest]


def kaplan_yorke(exponents: list[float]) -> float:
    """The Kaplan–Yorke dimension of a falling list of exponents; the number of exponents where no sum is negative."""
    total = 0.0
    for k, exponent in enumerate(exponents):
        if total + exponent < 0:
            return k + total / -exponent
        total += exponent
    return float(len(exponents))


def polynomial(equation: str) -> list[float]:
    """The coefficients of the right-hand side of 'dx/dt = 4 x - x^3', the highest power first."""
    right = equation.partition("=")[2].replace(" - ", " + -")
    powers = [0.0] * 7
    for term in right.split(" + "):
        known_terms = re.fullmatch(r"\s*(-?)(\d+)?\s*(x(?:\^(\d))?)?", term)
        assert known_terms is not None, term
        power = 0 if known_terms[3] is None else int(known_terms[4] or 1)
        powers[power] += (-1 if known_terms[1] else 1) * float(known_terms[2] or 1)
    return powers[::-1]


def real_roots(equation: str) -> list[float]:
    """The different real zeros of the right-hand side."""
    roots = np.roots(np.trim_zeros(polynomial(equation), "f"))
    return sorted({round(float(root.real), 9) + 0.0 for root in roots if abs(root.imag) < 1e-9})


def stable_root(equation: str) -> float:
    """The largest zero at which the slope of the right-hand side is negative."""
    slope = np.polyder(np.array(polynomial(equation)))
    return max(root for root in real_roots(equation) if np.polyval(slope, root) < 0)


def moebius(n: int) -> int:
    """The Möbius function."""
    sign = 1
    for p in range(2, n + 1):
        if n % p == 0:
            n //= p
            if n % p == 0:
                return 0
            sign = -sign
    return sign


def cycles_of_the_shift(n: int) -> int:
    """How many periodic orbits of least period n the full shift on two symbols has."""
    return sum(moebius(d) * (1 << n // d) for d in range(1, n + 1) if n % d == 0) // n


def superstable_count(n: int) -> int:
    """At how many parameters a unimodal family that ends in the full shift has a superstable cycle of period n."""
    return sum(moebius(d) * (1 << n // d) for d in range(1, n + 1, 2) if n % d == 0) // (2 * n)


def winding(field: Callable[[complex], complex]) -> int:
    """The turns of a planar field along the unit circle."""
    angles = np.unwrap([np.angle(field(complex(np.exp(2j * np.pi * k / 400)))) for k in range(401)])
    return round(float(angles[-1] - angles[0]) / (2 * math.pi))


def planar_type(trace: float, determinant: float) -> str:
    """The type of the origin of a planar linear system, off the borders between types."""
    if determinant < 0:
        return "a saddle"
    if trace == 0:
        return "a centre"
    side = "a stable" if trace < 0 else "an unstable"
    return f"{side} {'node' if trace**2 > 4 * determinant else 'spiral'}"


def settled_period(step: Callable[[complex], complex], start: complex) -> int:
    """The period on which the orbit of a map of the plane settles, up to 16; 0 where none is seen."""
    for _ in range(20000):
        start = step(start)
    later = start
    for n in range(1, 17):
        later = step(later)
        if abs(later - start) < 1e-9:
            return n
    return 0


def tent_bands(slope: float) -> int:
    """The chaotic bands of the tent map: one above the square root of two, twice as many at each square root below."""
    bands = 1
    while slope < math.sqrt(2):
        slope, bands = slope**2, 2 * bands
    return bands
