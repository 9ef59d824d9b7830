"""Recalibration: what a fit gives, and that it cannot be judged on its own rows."""

from __future__ import annotations

import math

import numpy as np
import pytest

from perpend.errors import DataError
from perpend.stats.calibration import brier, ece
from perpend.stats.recalibrate import cross_fit, fit_isotonic, fit_temperature, fit_temperature_logits, logits_of


def overconfident(n: int, temperature: float = 3.0, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Confidences whose logits are `temperature` times too large."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(1.0, 1.0, n)
    correct = rng.random(n) < 1 / (1 + np.exp(-logits))
    return 1 / (1 + np.exp(-temperature * logits)), correct.astype(float)


def test_the_temperature_that_made_the_data_is_found() -> None:
    c, y = overconfident(20_000)
    fit = fit_temperature(c, y, np.arange(20_000))
    assert fit.temperature == pytest.approx(3.0, rel=0.1)


def test_the_fit_is_where_the_score_is_zero() -> None:
    c, y = overconfident(300, seed=1)
    x = logits_of(c)
    fit = fit_temperature_logits(x, y, np.arange(300))
    assert x @ (y - 1 / (1 + np.exp(-x / fit.temperature))) == pytest.approx(0.0, abs=1e-6)
    p = 1 / (1 + np.exp(-x / fit.temperature))
    assert fit.nll == pytest.approx(-np.mean(np.log(np.where(y == 1, p, 1 - p))))


@pytest.mark.parametrize("fit", [fit_temperature, fit_isotonic])
def test_a_fit_refuses_the_rows_it_saw(fit) -> None:
    c, y = overconfident(50)
    ids = [f"item {k}" for k in range(50)]
    fitted = fit(c, y, ids)
    with pytest.raises(DataError, match=r"STAT019.*'item 0'"):
        fitted.apply(c[:1], ids[:1])
    assert len(fitted.apply(c[:1], ["another item"])) == 1


@pytest.mark.parametrize("fit", [fit_temperature, fit_isotonic])
def test_numbers_and_numpy_numbers_are_the_same_id(fit) -> None:
    c, y = overconfident(50)
    with pytest.raises(DataError, match="STAT019"):
        fit(c, y, np.arange(50)).apply(c[:1], [7])


def test_temperature_keeps_the_order_and_the_middle() -> None:
    c, y = overconfident(200)
    fit = fit_temperature(c, y, np.arange(200))
    out = fit.apply([0.1, 0.5, 0.9, 1.0, 0.0], ["a", "b", "c", "d", "e"])
    assert out[1] == pytest.approx(0.5)
    assert out[0] < out[1] < out[2] < out[3] < 1.0
    assert out[4] > 0.0


def test_isotonic_never_falls_and_pools_ties() -> None:
    fit = fit_isotonic([0.2, 0.4, 0.4, 0.6, 0.8], [0, 1, 0, 0, 1], list("abcde"))
    assert fit.confidences == (0.2, 0.4, 0.6, 0.8)
    assert fit.rates == pytest.approx((0.0, 1 / 3, 1 / 3, 1.0))
    assert fit.apply([0.0, 0.7, 1.0], ["x", "y", "z"]).tolist() == pytest.approx([0.0, 2 / 3, 1.0])


@pytest.mark.parametrize("fit", [fit_temperature, fit_isotonic])
def test_cross_fitting_improves_an_overconfident_model(fit) -> None:
    c, y = overconfident(2000, seed=2)
    items = np.repeat(np.arange(500), 4)
    out = cross_fit(fit, c, y, items, rng=np.random.default_rng(0))
    assert ece(out, y) < ece(c, y) / 2
    assert brier(out, y) < brier(c, y)


def test_cross_fitting_keeps_an_items_rows_together() -> None:
    seen: list[set[int]] = []

    class Recorder:
        def __init__(self, ids: np.ndarray) -> None:
            self.ids = set(ids.tolist())

        def apply(self, confidences: np.ndarray, ids: np.ndarray) -> np.ndarray:
            seen.append(self.ids & set(ids.tolist()))
            return confidences

    c, y = overconfident(60)
    items = np.repeat(np.arange(20), 3)
    cross_fit(lambda _c, _y, ids: Recorder(ids), c, y, items, folds=4, rng=np.random.default_rng(0))
    assert seen == [set()] * 4


@pytest.mark.parametrize("folds", [1, 4])
def test_folds_need_items_to_fill_them(folds: int) -> None:
    c, y = overconfident(6)
    with pytest.raises(DataError, match="folds"):
        cross_fit(fit_isotonic, c, y, [1, 1, 2, 2, 3, 3], folds=folds, rng=np.random.default_rng(0))


def test_the_logit_of_certainty_is_finite() -> None:
    assert np.isfinite(logits_of(np.array([0.0, 1.0]))).all()
    assert logits_of(np.array([0.75]))[0] == pytest.approx(math.log(3))
