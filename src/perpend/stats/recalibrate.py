"""Recalibration that cannot flatter itself: a fit remembers its rows and refuses to be judged on them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from perpend.errors import DataError
from perpend.stats import gate, grouping
from perpend.stats.bins import rows_of
from perpend.stats.cautions import caution
from perpend.stats.gate import BoolArray, FloatArray, Ids

# Confidence 0 or 1 has an infinite logit; this is as near as a double gets to 1 with all digits of 1 - c left.
_NEAREST = 1e-12


class Recalibration(Protocol):
    """What a fit offers: new confidences for rows that it has not seen."""

    def apply(self, confidences: npt.ArrayLike, ids: Ids) -> FloatArray:
        """The recalibrated confidences; a DataError (STAT019) when an id was fitted on."""
        ...


@dataclass(frozen=True, slots=True)
class TemperatureScaling:
    """sigmoid(logit / temperature). `nll` is the mean negative log-likelihood on the fitted rows."""

    temperature: float
    nll: float
    fitted_on: frozenset[Hashable]

    def apply(self, confidences: npt.ArrayLike, ids: Ids) -> FloatArray:
        """New confidences for rows that were not fitted on (STAT019 otherwise)."""
        return self.apply_logits(logits_of(gate.probabilities("confidences", confidences)), ids)

    def apply_logits(self, logits: npt.ArrayLike, ids: Ids) -> FloatArray:
        """New confidences from logits, for rows that were not fitted on (STAT019 otherwise)."""
        x = gate.values("logits", logits)
        _refuse_seen(self.fitted_on, ids, len(x))
        return np.asarray(expit(x / self.temperature), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Isotonic:
    """The non-decreasing step function that fits best, joined linearly between the confidences it saw."""

    confidences: tuple[float, ...]
    rates: tuple[float, ...]
    fitted_on: frozenset[Hashable]

    def apply(self, confidences: npt.ArrayLike, ids: Ids) -> FloatArray:
        """New confidences for rows that were not fitted on (STAT019 otherwise); flat beyond the fitted range."""
        c = gate.probabilities("confidences", confidences)
        _refuse_seen(self.fitted_on, ids, len(c))
        return np.interp(c, self.confidences, self.rates)


def logits_of(c: FloatArray) -> FloatArray:
    """log(c / (1 - c)), with 0 and 1 taken as 1e-12 and 1 - 1e-12."""
    inside = np.clip(c, _NEAREST, 1.0 - _NEAREST)
    return np.log(inside) - np.log1p(-inside)


def fit_temperature(confidences: npt.ArrayLike, correct: npt.ArrayLike, ids: Ids) -> TemperatureScaling:
    """One temperature for all rows, by maximum likelihood on the logits of the confidences."""
    c, y = rows_of(confidences, correct)
    return fit_temperature_logits(logits_of(c), y, ids)


def fit_temperature_logits(logits: npt.ArrayLike, correct: npt.ArrayLike, ids: Ids) -> TemperatureScaling:
    """One temperature for all rows: 1/T is the slope of a logit without intercept (Guo 2017).

    Refused when no positive finite temperature is best: the logits separate right from wrong, or point the wrong way.
    """
    x, y = gate.values("logits", logits), gate.labels("correct", correct)
    gate.same_length(logits=x, correct=y)
    seen = _seen(ids, len(x))
    aim = x @ y
    if not np.any(x):
        raise DataError("logits: all are 0, so every temperature gives the same confidences; give rows that differ")
    if aim >= float(np.maximum(x, 0.0).sum()):
        raise DataError(
            "correct: every positive logit is right and every negative one wrong, so the temperature runs to 0; "
            "fit on more rows"
        )
    if aim <= float(x.sum()) / 2.0:
        raise DataError(
            "correct: higher confidence is no more often right, so no positive temperature helps; "
            "do not temperature-scale these rows"
        )
    slope = _slope(x, y)
    nll = float(np.mean(np.logaddexp(0.0, slope * x) - y * slope * x))
    return TemperatureScaling(1.0 / slope, nll, seen)


def _slope(x: FloatArray, y: FloatArray) -> float:
    """The root of the score of a one-parameter logit. The score falls from positive at 0, so a bracket always ends."""
    from scipy.optimize import brentq

    def score(slope: float) -> float:
        return float(x @ (y - expit(slope * x)))

    high = 1.0 / float(np.abs(x).max())
    while score(high) > 0.0:
        high *= 2.0
    return float(brentq(score, 0.0, high, xtol=1e-15 * max(high, 1.0), rtol=1e-14, maxiter=500))


def isotonic_steps(confidences: FloatArray, correct: FloatArray) -> tuple[FloatArray, FloatArray, npt.NDArray[np.intp]]:
    """Distinct confidences, the best non-decreasing rate at each, and each row's place among them (checked rows)."""
    from scipy.optimize import isotonic_regression

    value, inverse, count = np.unique(confidences, return_inverse=True, return_counts=True)
    rate = np.bincount(inverse, correct) / count
    return value, np.asarray(isotonic_regression(rate, weights=count).x, dtype=np.float64), inverse


def fit_isotonic(confidences: npt.ArrayLike, correct: npt.ArrayLike, ids: Ids) -> Isotonic:
    """Isotonic regression of correctness on confidence; rows of one confidence count as one weighted row."""
    c, y = rows_of(confidences, correct)
    value, rate, _ = isotonic_steps(c, y)
    return Isotonic(tuple(value.tolist()), tuple(rate.tolist()), _seen(ids, len(c)))


def cross_fit(
    fit: Callable[[npt.ArrayLike, npt.ArrayLike, Ids], Recalibration],
    confidences: npt.ArrayLike,
    correct: npt.ArrayLike,
    items: Ids,
    *,
    folds: int = 5,
    rng: np.random.Generator,
) -> FloatArray:
    """Recalibrated confidence of every row, each from a fit that saw no row of its item.

    Items are dealt to the folds at random. Needs at least two folds and as many items as folds.
    """
    c, y = rows_of(confidences, correct)
    item = grouping.codes("items", items)
    gate.same_length(confidences=c, items=item)
    count = int(item.max()) + 1
    if not 2 <= folds <= count:
        raise DataError(f"folds: is {folds} for {count} items; use at least 2 and at most one per item")
    fold = rng.permutation(np.arange(count) % folds)[item]
    out = np.empty_like(c)
    for one in range(folds):
        tested: BoolArray = fold == one
        out[tested] = fit(c[~tested], y[~tested], item[~tested]).apply(c[tested], item[tested])
    return out


def _ids(ids: Ids, n: int) -> list[Hashable]:
    grouping.codes("ids", ids)
    given: Sequence[Hashable] = ids.tolist() if isinstance(ids, np.ndarray) else ids
    if len(given) != n:
        raise DataError(f"ids: has {len(given)} rows, the data {n}; give one id per row")
    return list(given)


def _seen(ids: Ids, n: int) -> frozenset[Hashable]:
    return frozenset(_ids(ids, n))


def _refuse_seen(fitted_on: frozenset[Hashable], ids: Ids, n: int) -> None:
    overlap = [one for one in _ids(ids, n) if one in fitted_on]
    if overlap:
        seen = caution("STAT019", len(overlap))
        raise DataError(f"{seen.id}: {seen.text} (first: {overlap[0]!r})")
