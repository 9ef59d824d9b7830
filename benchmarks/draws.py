"""Items, repeats and answers to simulate: how many rows an item has, how likely it is right, how alike its repeats are.

Nothing here is taken from the models that the intervals rest on: dependence of calibrated answers is a Gaussian copula,
and sizes do not depend on outcomes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]
Sizes: TypeAlias = Callable[[np.random.Generator], Ints]


def equal(items: int, rows: int = 6) -> Sizes:
    return lambda _: np.full(items, rows)


def half(items: int = 30, rows: int = 6) -> Sizes:
    """One item has as many rows as all others together."""
    return lambda _: np.array([(items - 1) * rows, *[rows] * (items - 1)])


def log_normal(items: int, spread: float) -> Sizes:
    """Sizes anew in every run, median 4."""
    return lambda rng: np.maximum(1, np.round(4.0 * np.exp(spread * rng.standard_normal(items)))).astype(np.int64)


SIZES: dict[str, Sizes] = {
    "10 items × 6": equal(10),
    "20 items × 6": equal(20),
    "40 items × 6": equal(40),
    "100 items × 6": equal(100),
    "30 items, one with half of the rows": half(),
    "60 items, log-normal sizes (sd 1.2)": log_normal(60, 1.2),
    "200 items, log-normal sizes (sd 1)": log_normal(200, 1.0),
}
FEW = tuple(SIZES)[:3] + tuple(SIZES)[4:6]
"""For what is slow to compute."""


def kind(sizes: str) -> str:
    return "few items" if sizes.startswith(("10 ", "20 ")) else "equal items" if " × " in sizes else "unequal items"


def logistic(x: Array) -> Array:
    return 1.0 / (1.0 + np.exp(-x))


def population_rate(centre: float, spread: float) -> float:
    """The mean of a logit-normal share."""
    grid = np.linspace(-8.0, 8.0, 4001)
    weight = np.exp(-(grid**2) / 2.0)
    return float((logistic(centre + spread * grid) * weight).sum() / weight.sum())


@cache
def centre_of(rate: float, spread: float) -> float:
    """The centre of the logit-normal law whose mean is the rate."""
    lo, hi = -20.0, 20.0
    for _ in range(50):
        middle = (lo + hi) / 2.0
        lo, hi = (middle, hi) if population_rate(middle, spread) < rate else (lo, middle)
    return lo


def chances(rng: np.random.Generator, items: int, law: str, rate: float) -> Array:
    """How likely each item is right, with this mean; `law` is 'ICC x' (beta) or 'logit-normal sd x'."""
    number = float(law.rsplit(maxsplit=1)[-1])
    if law.startswith("logit-normal"):
        return logistic(centre_of(rate, number) + number * rng.standard_normal(items))
    if number in (0.0, 1.0):
        return np.full(items, rate) if number == 0.0 else (rng.random(items) < rate).astype(np.float64)
    return rng.beta(rate * (1.0 / number - 1.0), (1.0 - rate) * (1.0 / number - 1.0), items)


LAWS = ("ICC 0", "ICC 0.2", "ICC 0.5", "ICC 1", "logit-normal sd 2")


def answers(rng: np.random.Generator, sizes: Ints, chance: Array) -> tuple[Array, Ints]:
    items = np.repeat(np.arange(len(sizes)), sizes)
    return (rng.random(len(items)) < chance[items]).astype(np.float64), items


def paired_answers(
    rng: np.random.Generator, sizes: Ints, rates: tuple[float, float], slope: float, *, identical: bool
) -> tuple[Array, Array, Ints]:
    """Two conditions of the same items: item sd 2, item × condition sd `slope`, both on the logit scale."""
    items = np.repeat(np.arange(len(sizes)), sizes)
    shared, spread = 2.0 * rng.standard_normal(len(sizes)), float(np.hypot(2.0, slope))
    columns = []
    for rate in rates:
        own = shared + slope * rng.standard_normal(len(sizes))
        chance = logistic(centre_of(rate, spread) + own)[items]
        coin = rng.random(len(sizes))[items] if identical else rng.random(len(items))
        columns.append((coin < chance).astype(np.float64))
    return columns[0], columns[1], items


def confidences(rng: np.random.Generator, sizes: Ints, law: str) -> Array:
    """Confidence of each row: 'beta(8, 2)' by item, the same for its repeats; 'beta(5, 0.5)' with noise by row."""
    items = np.repeat(np.arange(len(sizes)), sizes)
    if law == "beta(8, 2)":
        return rng.beta(8.0, 2.0, len(sizes))[items]
    own = np.clip(rng.beta(5.0, 0.5, len(sizes)), 1e-6, 1.0 - 1e-6)[items]
    return logistic(np.log(own / (1.0 - own)) + 0.5 * rng.standard_normal(len(items)))


CONFIDENCES = ("beta(8, 2)", "beta(5, 0.5)")


def judged(rng: np.random.Generator, sizes: Ints, right: Array, correlation: float) -> Array:
    """Correct with probability `right`; the repeats of an item correlate by a Gaussian copula."""
    from scipy.special import ndtr

    items = np.repeat(np.arange(len(sizes)), sizes)
    common, own = rng.standard_normal(len(sizes))[items], rng.standard_normal(len(items))
    level: Array = ndtr(correlation**0.5 * common + (1.0 - correlation) ** 0.5 * own)
    return (level < right).astype(np.float64)


@cache
def many_confidences(law: str) -> Array:
    """A population of confidences, the most confident first."""
    rng = np.random.default_rng(1)
    return np.sort(confidences(rng, np.ones(400_000, dtype=np.int64), law))[::-1]
