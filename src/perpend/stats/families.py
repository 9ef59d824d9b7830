"""Families of tests: raw and adjusted p side by side, and what only the raw p would have claimed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from perpend.errors import DataError, did_you_mean
from perpend.stats import cautions, gate
from perpend.stats.gate import FloatArray
from perpend.types import Caution

Adjustment: TypeAlias = Literal["holm", "bh", "bonferroni"]


def holm(p: npt.ArrayLike) -> FloatArray:
    """Holm's (1979) step-down adjusted p: controls the chance of any false claim in the family."""
    raw = gate.probabilities("p", p)
    order = np.argsort(raw, kind="stable")
    stepped = np.maximum.accumulate(raw[order] * np.arange(len(raw), 0, -1))
    return _restored(stepped, order)


def benjamini_hochberg(p: npt.ArrayLike) -> FloatArray:
    """Benjamini and Hochberg's (1995) step-up adjusted p: controls the expected share of false claims."""
    raw = gate.probabilities("p", p)
    order = np.argsort(raw, kind="stable")
    scaled = raw[order] * len(raw) / np.arange(1, len(raw) + 1)
    return _restored(np.minimum.accumulate(scaled[::-1])[::-1], order)


def bonferroni(p: npt.ArrayLike) -> FloatArray:
    """p times the number of tests, at most 1. Holm's is never larger and as safe."""
    raw = gate.probabilities("p", p)
    return np.minimum(raw * len(raw), 1.0)


def _restored(stepped: FloatArray, order: npt.NDArray[np.intp]) -> FloatArray:
    out = np.empty(len(stepped))
    out[order] = np.minimum(stepped, 1.0)
    return out


@dataclass(frozen=True, slots=True)
class AdjustedTest:
    """One test of a family. `raw` and `adjusted` are None where it is undefined; it still counts in the family."""

    name: str
    raw: float | None
    adjusted: float | None
    significant: bool


@dataclass(frozen=True, slots=True)
class Family:
    """The tests in the order given, how they were adjusted, and STAT012 where only raw p would be significant."""

    tests: tuple[AdjustedTest, ...]
    method: Adjustment
    alpha: float
    cautions: tuple[Caution, ...]


def family(p: Mapping[str, float | None], *, method: Adjustment = "holm", alpha: float = 0.05) -> Family:
    """Adjust the p of every declared test together: Holm for a confirmatory family, 'bh' for exploratory slices.

    An undefined test (None) counts as p = 1, so that a family is not made smaller by what did not work out.
    """
    rules = {"holm": holm, "bh": benjamini_hochberg, "bonferroni": bonferroni}
    if method not in rules:
        raise DataError(f"method: is {method!r}; {did_you_mean(method, rules)}")
    if not 0.0 < alpha < 1.0:
        raise DataError(f"alpha: is {alpha!r}; a significance level lies between 0 and 1, as in 0.05")
    if not p:
        return Family((), method, alpha, ())
    adjusted = rules[method]([1.0 if value is None else value for value in p.values()]).tolist()
    tests = tuple(
        AdjustedTest(name, value, None, False) if value is None else AdjustedTest(name, float(value), new, new <= alpha)
        for (name, value), new in zip(p.items(), adjusted, strict=True)
    )
    lost = sum(1 for test in tests if test.raw is not None and test.raw <= alpha and not test.significant)
    warned = (cautions.lost_after_adjustment(lost, len(tests), method),) if lost else ()
    return Family(tests, method, alpha, warned)
