"""Labels of *textbook* from the printed text: what can be computed is computed, the rest is read from a second table.

`textbook.toml` beside this file knows nothing of the factory's rows. A table of numbers takes the printed number (and
what else it needs) out of the text and compares it with an expression; a table of words finds which row the setting
speaks of and which the claim. Every row of words has a source of its own. {v} in an expression is a number.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import pairwise, product
from typing import Any

import numpy as np
from scipy.optimize import brentq, fsolve

from factory.again.asked import asked
from factory.quartet import Unreadable
from factory.tables import toml

book = partial(toml, "again/textbook.toml")
_COUNTS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"]
_WORDS = {word: n for n, word in enumerate(_COUNTS)} | {"eighteen": 18, "first": 1, "second": 2}
_NUMBER = r"(?P<\1>-?\\d+(?:[./]\\d+)?)"
Table = dict[str, Any]


def label(text: str) -> bool:
    question = asked(text)
    votes = [_vote(table, question.setting, question.claim) for table in book()["table"]]
    known = {vote for vote in votes if vote is not None}
    if len(known) != 1:
        raise Unreadable(f"{len(known)} answers to: {text}")
    return known.pop() != question.denied


def _vote(table: Table, setting: str, claim: str) -> bool | None:
    """What a table says; None where the question is not about it."""
    whole = f"{setting} | {claim}"
    abouts = (re.sub(r"\{(\w+)\}", _NUMBER, about) for about in table.get("about", [""]))
    found = next((match for about in abouts if (match := re.search(about, whole, re.I))), None)
    if found is None:
        return None
    named = found.groupdict()
    if "v" in named:
        spoken = [row for row in table["rows"] if _speaks([row[0]], whole)]
        if len(spoken) != 1:
            raise Unreadable(f"{len(spoken)} rows for: {whole}")
        return agrees(_value(spoken[0][1], **{name: number(word) for name, word in named.items()}), named["v"])
    told = [[i for i, row in enumerate(table["rows"]) if _speaks(row[:-1], part)] for part in (setting, claim)]
    return told[0] == told[1] if len(told[0]) == len(told[1]) == 1 else None


def _speaks(cells: Sequence[str], text: str) -> bool:
    """Whether one of the cells stands in the text; a cell after ~ is a regular expression."""
    text = text.lower()
    return any(re.search(cell[1:], text) if cell[:1] == "~" else cell.lower() in text for cell in cells)


def number(text: str) -> float:
    """'three', '8/3' or '-1.25' as a number."""
    if text in _WORDS:
        return float(_WORDS[text])
    top, _, bottom = text.partition("/")
    return float(top) / float(bottom or 1)


def agrees(value: float | tuple[float, float], printed: str) -> bool:
    """Whether the number is what is printed, rounded as there; a measured number comes with its error."""
    if isinstance(value, tuple):
        return abs(number(printed) - value[0]) < value[1]
    decimals = len(printed.partition(".")[2])
    return abs(number(printed) - value) < ((0.5 + 1e-6) * 10.0**-decimals if decimals else 1e-9)


@cache
def _value(expression: str, **given: float) -> Any:
    return eval(expression, {"__builtins__": {}, **_KNOWN, **given})  # noqa: S307 - an expression of our own file


# What the expressions use.


def root(f: Callable[[float], float], low: float, high: float) -> float:
    return float(brentq(f, low, high, xtol=1e-13))


def peak(r: float, steps: int) -> float:
    """Where x = 1/2 is after so many steps of the logistic map."""
    x = 0.5
    for _ in range(steps):
        x = r * x * (1 - x)
    return x


def critical(period: int, multiplier: float, near: tuple[float, float]) -> float:
    """The r near a guess at which a cycle of the logistic map near a guess has this multiplier."""

    def miss(guess: np.ndarray, /) -> list[float]:
        x, r = guess
        y, slope = x, 1.0
        for _ in range(period):
            slope *= r * (1 - 2 * y)
            y = r * y * (1 - y)
        return [y - x, slope - multiplier]

    return float(fsolve(miss, near, xtol=1e-12)[1])


@cache
def cascade(order: int, factor: int) -> tuple[float, float]:
    """Limit and ratio of the superstable parameters of 1 - a |x|^order, for the powers of a factor as periods."""

    def back(a: float, period: int) -> float:
        x = 0.0
        for _ in range(period):
            x = 1 - a * abs(x) ** order
        return x

    known, step = [0.0], 0.01
    for level in range(1, 11 if order == factor == 2 else 8 if factor == 2 else 6):
        period, a = factor**level, known[-1] + step
        while back(a, period) * back(a + step, period) > 0:
            a += step
        known.append(root(lambda a: back(a, period), a, a + step))  # noqa: B023
        step = (known[-1] - known[-2]) / 300
    before, last = (b - a for a, b in pairwise(known[-3:]))
    return known[-1] + last / (before / last - 1), before / last


def lorenz_hopf(sigma: float, beta: float) -> float:
    """Where a pair of eigenvalues of the symmetric fixed points crosses the imaginary axis."""

    def growth(rho: float) -> float:
        x = math.sqrt(beta * (rho - 1))
        slopes = [[-sigma, sigma, 0], [1, -1, -x], [x, x, -beta]]
        return float(max(np.linalg.eigvals(slopes).real))

    return root(growth, 5, 100)


@cache
def lorenz_exponent() -> float:
    """The largest Lyapunov exponent of the Lorenz attractor, from many starts, by small steps along the variations."""

    def rates(s: np.ndarray) -> np.ndarray:
        x, y, z, u, v, w = s
        return np.array([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z,
                         10 * (v - u), u * (28 - z) - x * w - v, u * y + x * v - 8 / 3 * w])  # fmt: skip

    s, h, total = np.random.default_rng(3).uniform(1, 10, (6, 600)), 0.005, 0.0
    for n in range(12_000):
        a = rates(s)
        b = rates(s + h / 2 * a)
        c = rates(s + h / 2 * b)
        s = s + h / 6 * (a + 2 * b + 2 * c + rates(s + h * c))
        size = np.sqrt((s[3:] ** 2).sum(axis=0))
        s[3:] /= size
        total += float(np.log(size).mean()) if n >= 4_000 else 0.0
    return total / (8_000 * h)


@cache
def henon_exponent() -> float:
    x, y, u, v, total = 0.1, 0.1, 1.0, 0.0, 0.0
    for n in range(401_000):
        u, v = -2.8 * x * u + v, 0.3 * u
        x, y = 1 - 1.4 * x * x + y, 0.3 * x
        size = math.hypot(u, v)
        u, v = u / size, v / size
        total += math.log(size) if n >= 1_000 else 0.0
    return total / 400_000


def kaplan_yorke(*exponents: float) -> float:
    sums = np.cumsum(exponents)
    k = int(np.sum(sums >= 0))
    return float(k + sums[k - 1] / -exponents[k])


def melnikov(w: float) -> float:
    """Friction's loss over the force's greatest gain, by sums along the separatrix x = sqrt(2) / cosh(t)."""
    t = np.linspace(-40, 40, 80_001)
    speed = math.sqrt(2) * np.sinh(t) / np.cosh(t) ** 2
    return float((speed**2).sum() / abs((speed * np.exp(1j * w * t)).sum()))


def entropy(*rows: Sequence[float]) -> float:
    """The logarithm of the spectral radius of a matrix."""
    return math.log(max(abs(np.linalg.eigvals(np.array(rows, dtype=float)))))


def continued(quotient: float) -> float:
    x = 0.5
    for _ in range(80):
        x = 1 / (quotient + x)
    return x


def ulam() -> np.ndarray:
    """Points spread like the invariant density of 4 x (1 - x)."""
    return np.sin(np.pi * (np.arange(2_000_000) + 0.5) / 4_000_000) ** 2


def cycles(length: int) -> int:
    """The words of two symbols that differ under every shift but the full one, each orbit once."""
    words = ("".join(word) for word in product("01", repeat=length))
    return sum(all(word[k:] + word[:k] > word for k in range(1, length)) for word in words)


def superstable(period: int) -> int:
    """How often, for c from -2 to 0.5, the orbit of 0 under x^2 + c comes back first after `period` steps."""
    c = np.linspace(-2.0001, 0.5001, 3_000_017)
    x = np.zeros_like(c)
    for _ in range(period):
        x = x * x + c
    zeros = int(np.sum(np.sign(x[1:]) != np.sign(x[:-1])))
    return zeros - sum(superstable(d) for d in range(1, period) if period % d == 0)


def between(a: float, b: float) -> float:
    """The fraction with the smallest denominator between two numbers."""
    return next(p / q for q in range(1, 100) for p in range(q) if a + 1e-9 < p / q < b - 1e-9)


def turns(field: Callable[[complex], complex], around: complex = 0) -> int:
    """The net number of turns of a planar field along a circle."""
    circle = around + 0.5 * np.exp(2j * np.pi * np.arange(401) / 400)
    angles = np.unwrap([float(np.angle(field(complex(z)))) for z in circle])
    return round(float(angles[-1] - angles[0]) / (2 * math.pi))


def sharkovskii(m: int, n: int) -> int:
    """1 if m stands before n in Sharkovskii's list, 2 if it stands behind."""
    last = max(m, n)
    listed = [2**k * odd for k in range(last) for odd in range(3, last + 1, 2)] + [2**k for k in range(last, -1, -1)]
    return 1 if listed.index(m) < listed.index(n) else 2


_KNOWN: dict[str, Any] = {
    **{name: getattr(math, name) for name in ("log", "log2", "sqrt", "exp", "pi", "cos", "sin", "tan")},
    **{f.__name__: f for f in (int, root, peak, critical, cascade, lorenz_hopf, lorenz_exponent,
                               henon_exponent, kaplan_yorke, melnikov, entropy, continued, ulam, cycles, superstable,
                               between, turns, sharkovskii)},
    "mean": lambda x: float(np.mean(x)),
    "corrcoef": lambda x: float(np.corrcoef(x, 4 * x * (1 - x))[0, 1]),
}  # fmt: skip
