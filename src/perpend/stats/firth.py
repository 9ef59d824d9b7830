"""Firth's penalised logit on cells, for where the plain likelihood has no maximum, and which cells make it so."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from perpend.errors import DataError
from perpend.stats.cautions import caution
from perpend.stats.gate import BoolArray, FloatArray

_SCORE_LIMIT = 1e-6


@dataclass(frozen=True, slots=True)
class FirthFit:
    """Coefficients that maximise likelihood times √|information|, their covariance, and that maximum's logarithm."""

    coef: FloatArray
    covariance: FloatArray
    penalised: float


def separated_cells(x: FloatArray, k: FloatArray, n: FloatArray) -> BoolArray:
    """Which cells a separating direction moves; none where the maximum-likelihood estimate exists.

    A linear program looks for the direction (Konis 2007); it is asked again until the rest has none left.
    """
    from scipy.optimize import linprog

    x = x / np.maximum(np.abs(x).max(axis=0), 1e-300)  # the limits below are for columns of like size
    moved = np.zeros(len(n), dtype=np.bool_)
    while not moved.all():
        rest = ~moved
        sign = np.where(k == n, 1.0, np.where(k == 0.0, -1.0, 0.0))[rest]
        if not sign.any():
            return moved
        pure = sign != 0.0
        signed = sign[pure, None] * x[rest][pure]
        equal = x[rest][~pure] if (~pure).any() else None
        program = linprog(
            -signed.sum(axis=0),
            A_ub=-signed,
            b_ub=np.zeros(len(signed)),
            A_eq=equal,
            b_eq=None if equal is None else np.zeros(len(equal)),
            bounds=(-1.0, 1.0),
            method="highs",
        )
        if program.status != 0:
            raise DataError(f"separation: the linear program ended with {program.message!r}; collapse sparse levels")
        direction = np.asarray(program.x, dtype=np.float64)
        if float(signed.sum(axis=0) @ direction) < 1e-7:
            return moved
        moved[np.flatnonzero(rest)[np.abs(x[rest] @ direction) > 1e-9]] = True
    return moved


@dataclass(frozen=True, slots=True)
class _Point:
    """The penalised likelihood at some coefficients, with what a step from there needs."""

    value: float
    score: FloatArray
    information: FloatArray
    curvature: FloatArray


def _point(x: FloatArray, k: FloatArray, n: FloatArray, coef: FloatArray) -> _Point:
    eta = x @ coef
    p = expit(eta)
    spread = p * (1.0 - p)
    information: FloatArray = (x.T * (n * spread)) @ x
    _, logdet = np.linalg.slogdet(information)
    leverage = n * spread * np.einsum("ij,jk,ik->i", x, np.linalg.pinv(information), x)
    # Firth's score is that of a table with h/2 successes and h trials more in each cell. The curvature must count
    # those trials too: without them a step from a cell of one row is twice too long, and swings for ever.
    curvature: FloatArray = (x.T * ((n + leverage) * spread)) @ x
    value = float(k @ eta - n @ np.logaddexp(0.0, eta)) + 0.5 * float(logdet)
    return _Point(value, x.T @ (k - n * p + leverage * (0.5 - p)), information, curvature)


def firth(x: FloatArray, k: FloatArray, n: FloatArray) -> FirthFit:
    """Firth's penalised logit on cells. A fit that is not stationary is an error (STAT011), not a number."""
    coef, at = _maximised(x, k, n, np.zeros(x.shape[1]), np.ones(x.shape[1], dtype=np.bool_), _SCORE_LIMIT)
    return FirthFit(coef, np.asarray(np.linalg.pinv(at.information), dtype=np.float64), at.value)


def _maximised(
    x: FloatArray, k: FloatArray, n: FloatArray, start: FloatArray, free: BoolArray, limit: float
) -> tuple[FloatArray, _Point]:
    """The free coefficients that maximise the penalised likelihood, the others held at the start."""
    coef, at = start, _point(x, k, n, start)
    for _ in range(500):
        if not free.any() or np.abs(at.score[free]).max() < 1e-9:
            break
        step = np.zeros_like(coef)
        step[free] = np.linalg.lstsq(at.curvature[np.ix_(free, free)], at.score[free], rcond=None)[0]
        step *= min(1.0, 5.0 / max(float(np.abs(step).max()), 1e-300))
        for _ in range(30):
            trial = _point(x, k, n, coef + step)
            if trial.value >= at.value - 1e-12 * abs(at.value):
                break
            step /= 2.0
        coef, at = coef + step, trial
    norm = float(np.abs(at.score[free]).max()) if free.any() else 0.0
    if norm > limit:
        lost = caution("STAT011", norm)
        raise DataError(f"{lost.id}: {lost.text}")
    return coef, at


def firth_profile(
    x: FloatArray, k: FloatArray, n: FloatArray, column: int, *, critical: float
) -> tuple[float, float | None, float | None, float]:
    """One coefficient with its profile interval and p. `critical` is the chi-square quantile with 1 df.

    An end is None where the profile stays below the critical value out to 50 on the logit scale.
    """
    from scipy.optimize import brentq
    from scipy.special import chdtrc

    best = firth(x, k, n)
    centre = float(best.coef[column])

    free = np.arange(x.shape[1]) != column

    def drop(at: float) -> float:
        # Only the value is used, and its error is the square of the score's: 1e-3 is enough here.
        start = np.where(free, best.coef, at)
        return 2.0 * (best.penalised - _maximised(x, k, n, start, free, 1e-3)[1].value)

    width = max(math.sqrt(float(best.covariance[column, column])), 1e-3)
    ends: list[float | None] = []
    for side in (-1.0, 1.0):
        reach = width
        while reach <= 50.0 and drop(centre + side * reach) < critical:
            reach *= 2.0
        if reach > 50.0:
            ends.append(None)
            continue
        inner, outer = sorted((centre, centre + side * reach))
        ends.append(float(brentq(lambda at: drop(at) - critical, inner, outer, xtol=1e-8)))
    return centre, ends[0], ends[1], float(chdtrc(1.0, max(drop(0.0), 0.0)))
