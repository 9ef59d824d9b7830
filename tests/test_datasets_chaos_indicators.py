"""Indicators of chaos on series whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest

from perpend.studies.logic.chaos.indicators import kaplan_yorke, zero_one
from perpend.studies.logic.chaos.measuring.numbers import least_period, returns
from perpend.studies.logic.chaos.system import Array


def logistic(r: float, n: int = 1500) -> Array:
    x = np.empty(n)
    x[0] = 0.4
    for i in range(1, n):
        x[i] = r * x[i - 1] * (1 - x[i - 1])
    return x[300:]


def test_the_0_1_test_tells_chaos_from_cycles_and_tori() -> None:
    rng = np.random.default_rng(0)
    chaos, cycle = zero_one(logistic(3.97), rng), zero_one(logistic(3.55), rng)
    torus = zero_one(np.cos(2 * np.pi * 0.618034 * np.arange(1200)), rng)
    assert chaos is not None
    assert chaos > 0.95
    assert cycle is not None
    assert abs(cycle) < 0.1
    assert torus is not None
    assert abs(torus) < 0.1


def test_the_0_1_test_has_no_value_for_a_constant_or_short_series() -> None:
    rng = np.random.default_rng(0)
    assert zero_one(np.full(1000, 0.3), rng) is None
    assert zero_one(logistic(4.0, 400), rng) is None


def test_oversampling_hides_chaos_from_the_0_1_test() -> None:
    """Why a section is taken: the same orbit, 50 times interpolated, looks regular."""
    x = logistic(3.97)
    fine = np.interp(np.arange(0, 30, 0.02), np.arange(30), x[:30])
    assert (zero_one(fine, np.random.default_rng(0)) or 0.0) < 0.5 < (zero_one(x, np.random.default_rng(0)) or 0.0)


def test_kaplan_yorke_dimension_of_known_spectra() -> None:
    assert kaplan_yorke(np.array([0.906, 0.0, -14.572])) == pytest.approx(2.0622, abs=1e-4)
    assert kaplan_yorke(np.array([-0.1, -0.2])) == 0
    assert kaplan_yorke(np.array([0.1, -0.1])) is None


def test_points_that_repeat_after_two_return_at_two_and_not_at_one() -> None:
    points = np.resize([[0.1], [0.9]], (40, 1))
    distances = returns(points, 0.8)
    assert distances[0] == pytest.approx(1.0)
    assert distances[1] == 0
    assert least_period(distances) == 2


def test_a_period_that_nearly_closed_before_is_not_clear() -> None:
    points = np.resize([[0.1], [0.9], [0.1001], [0.9]], (40, 1))
    assert least_period(returns(points, 0.8)) is None
    assert len(returns(points[:11], 0.8)) == 0
