"""Does a judge err differently under the two conditions that are compared?"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from perpend.stats import cautions
from perpend.stats.gate import FloatArray
from perpend.stats.judged import JudgedColumns, JudgedTrials, Verdicts, columns, verdicts_of
from perpend.stats.proportions import normal_quantile
from perpend.types import Estimate, Number

_Model: TypeAlias = tuple[FloatArray, FloatArray]


def errs_differently(control: JudgedTrials, pressure: JudgedTrials, *, level: float = 0.95) -> Estimate:
    """Two-sided p that the judge has the same sensitivity and the same specificity under both conditions.

    A likelihood-ratio test on how often the judge says 1 (all trials) and how often the label is 1 given the verdict
    (labelled trials), each at its effective number of rows, so that it holds for labels drawn by verdict, with weights,
    and of repeated items. It has 2 degrees of freedom, 1 where one verdict of one condition has no label, and is
    undefined with fewer. STAT024 when p is at most 1 - level.
    """
    normal_quantile(level)
    return differing(*columns(control, pressure), level=level)


def differing(control: JudgedColumns, pressure: JudgedColumns, *, level: float) -> Estimate:
    """`errs_differently` of columns that have passed the gate."""
    pair = verdicts_of(control, level), verdicts_of(pressure, level)
    labels = int(control.labelled.sum()) + int(pressure.labelled.sum())
    items = sum(len(np.unique(c.codes[c.labelled])) for c in (control, pressure))
    freedom = 2 - sum(part is None for three in pair for part in (three.if_1, three.if_0))
    also: dict[str, Number] = {}
    for name, three in zip(("control", "pressure"), pair, strict=True):
        also[f"sensitivity_{name}"], also[f"specificity_{name}"] = errors_of(three)
    also |= {"labels_control": int(control.labelled.sum()), "labels_pressure": int(pressure.labelled.sum())}
    if freedom < 1:
        note = "too few cells have labels; label trials of both verdicts under both conditions"
        return Estimate(None, labels, note=note, level=level, also=also)
    ratio = _fitted(*(_cells(three) for three in pair))
    p = _tail(ratio, freedom, max(items - 4, 1))
    also |= {"likelihood_ratio": ratio, "df": freedom}
    warned = (cautions.judge_errs_differently(p, also),) if p <= 1.0 - level else ()
    name = f"likelihood ratio on F({freedom}, {max(items - 4, 1)})"
    return Estimate(p, labels, method=name, level=level, also=also, cautions=warned)


def errors_of(three: Verdicts) -> tuple[float | None, float | None]:
    """Sensitivity and specificity over all trials, by Bayes' rule; None without labels of both verdicts or a class."""
    if three.if_1 is None or three.if_0 is None:
        return None, None
    q, one, zero = three.said.value, three.if_1.value, three.if_0.value
    positive, negative = q * one + (1.0 - q) * zero, q * (1.0 - one) + (1.0 - q) * (1.0 - zero)
    sensitivity = q * one / positive if positive > 0.0 else None
    return sensitivity, (1.0 - q) * (1.0 - zero) / negative if negative > 0.0 else None


def _tail(ratio: float, freedom: int, df: int) -> float:
    from scipy.special import fdtrc

    return float(fdtrc(freedom, df, max(ratio, 0.0) / freedom))


def _cells(three: Verdicts) -> FloatArray:
    """Shares and effective numbers of rows: said 1, label 1 given each verdict. A cell without labels has 0 rows."""
    parts = (three.said, three.if_1, three.if_0)
    return np.array([(0.5, 0.0) if part is None else (part.value, part.n_effective) for part in parts]).T


def _fitted(control: FloatArray, pressure: FloatArray) -> float:
    """Twice the log-likelihood that is lost by one sensitivity and one specificity for both conditions.

    Levenberg-Marquardt on the logits of two prevalences, the sensitivity and the false-positive rate. Where a cell has
    no errors a logit runs away, but the likelihood has a limit, and that is all we need.
    """
    shares = np.stack([control[0], pressure[0]])
    rows = np.stack([control[1], pressure[1]])
    smooth = (shares * rows + 0.5) / (rows + 1.0)
    positive = smooth[:, 0] * smooth[:, 1] + (1.0 - smooth[:, 0]) * smooth[:, 2]
    hits = float((smooth[:, 0] * smooth[:, 1] / positive).mean())
    alarms = float((smooth[:, 0] * (1.0 - smooth[:, 1]) / (1.0 - positive)).mean())
    start = np.array([*positive, hits, alarms])
    at = np.log(start / (1.0 - start))
    expected, slope = _model(at)
    lost, damping = _deviance(shares, rows, expected), 1e-3
    for _ in range(200):
        weight = (rows / (expected * (1.0 - expected))).ravel()
        information = (slope.T * weight) @ slope
        score = slope.T @ (weight * (shares - expected).ravel())
        damped = information + damping * np.diag(np.diag(information) + 1e-9)
        moved = np.clip(at + np.linalg.solve(damped, score), -30.0, 30.0)
        expected_there, slope_there = _model(moved)
        lost_there = _deviance(shares, rows, expected_there)
        if lost_there > lost:
            damping *= 10.0
            if damping > 1e12:
                break
            continue
        gained = lost - lost_there
        at, expected, slope, lost, damping = moved, expected_there, slope_there, lost_there, max(damping / 10.0, 1e-9)
        if gained < 1e-10:
            break
    return lost


def _model(logits: FloatArray) -> _Model:
    """The expected cells (condition × cell), and their derivatives by the logits, a line for each cell."""
    from scipy.special import expit

    chance = expit(logits)
    hits, alarms = float(chance[2]), float(chance[3])
    expected, slope = np.empty((2, 3)), np.zeros((2, 3, 4))
    for place in (0, 1):
        positive = float(chance[place])
        q = positive * hits + (1.0 - positive) * alarms
        a, b = positive * hits, positive * (1.0 - hits)
        expected[place] = q, a / q, b / (1.0 - q)
        # Derivatives by the prevalence, the sensitivity and the false-positive rate.
        of_q = np.array([hits - alarms, positive, 1.0 - positive])
        of_a, of_b = np.array([hits, positive, 0.0]), np.array([1.0 - hits, -positive, 0.0])
        rows = np.stack([of_q, (of_a * q - a * of_q) / q**2, (of_b * (1.0 - q) + b * of_q) / (1.0 - q) ** 2])
        slope[place][:, [place, 2, 3]] = rows
    slope = slope * (chance * (1.0 - chance))
    return np.clip(expected, 1e-12, 1.0 - 1e-12), slope.reshape(6, 4)


def _deviance(shares: FloatArray, rows: FloatArray, expected: FloatArray) -> float:
    from scipy.special import xlogy

    ones = xlogy(shares, shares) - xlogy(shares, expected)
    zeros = xlogy(1.0 - shares, 1.0 - shares) - xlogy(1.0 - shares, 1.0 - expected)
    return 2.0 * float((rows * (ones + zeros)).sum())
