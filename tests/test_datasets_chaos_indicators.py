"""Indicators of chaos on series whose answer is known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from perpend.studies.logic.chaos.indicators import (
    crossings,
    kaplan_yorke,
    megno,
    permutation_entropy,
    returns,
    section,
    zero_one,
)
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
    """Why the series are decimated: the same orbit, 50 times interpolated, looks regular."""
    x = logistic(3.97)
    fine = np.interp(np.arange(0, 30, 0.02), np.arange(30), x[:30])
    assert (zero_one(fine, np.random.default_rng(0)) or 0.0) < 0.5 < (zero_one(x, np.random.default_rng(0)) or 0.0)


def test_permutation_entropy_is_zero_for_a_ramp_one_for_noise_and_counts_a_cycle() -> None:
    noise = np.random.default_rng(0).normal(size=50_000)
    assert permutation_entropy(np.arange(1000.0)) == 0
    assert permutation_entropy(noise) == pytest.approx(1.0, abs=0.01)
    assert permutation_entropy(np.resize([0.1, 0.9, 0.5], 3000)) == pytest.approx(math.log(3) / math.log(120), abs=1e-3)


def test_permutation_entropy_does_not_read_rounding_errors_as_order() -> None:
    cycle = np.resize([0.2, 0.7], 2000) + 1e-14 * np.random.default_rng(0).normal(size=2000)
    assert permutation_entropy(cycle) == pytest.approx(math.log(2) / math.log(120), abs=1e-3)


def test_megno_is_two_for_linear_growth_and_grows_with_an_exponent() -> None:
    t = np.arange(1, 20_001)
    assert megno(np.log((t + 1) / t)) == pytest.approx(2.0, abs=0.05)
    assert megno(np.zeros(5000)) == 0
    assert megno(np.full(5000, 0.1)) > 100


def test_kaplan_yorke_dimension_of_known_spectra() -> None:
    assert kaplan_yorke(np.array([0.906, 0.0, -14.572])) == pytest.approx(2.0622, abs=1e-4)
    assert kaplan_yorke(np.array([-0.1, -0.2])) == 0
    assert kaplan_yorke(np.array([0.1, -0.1])) is None


def test_crossings_of_a_sine_lie_where_they_should() -> None:
    t = np.arange(0, 60, 0.1)
    found = crossings(np.sin(t)) * 0.1
    assert np.diff(found) == pytest.approx(2 * np.pi, abs=1e-5)


def test_an_orbit_that_repeats_after_two_laps_returns_at_two_and_not_at_one() -> None:
    t = np.arange(0, 300, 0.05)
    x = np.stack([np.sin(t) + 0.3 * np.sin(t / 2), np.cos(t) + 0.3 * np.cos(t / 2)], axis=1)
    points, _ = section(x)
    distances = returns(points, float(np.ptp(x)))
    assert distances is not None
    assert distances[0] > 0.01
    assert distances[1] < 1e-4
