"""Looking more than once: confidence sequences by betting."""

from __future__ import annotations

import numpy as np
import pytest

from perpend import stats
from perpend.stats.betting import paired_sequence, sequence

SCORES = np.array([1, 0, 1, 1, 0.5, 1, 0, 0.75, 1, 1] * 6)


def test_the_ends_are_those_of_the_published_code() -> None:
    """confseq 0.0.11, betting_cs(x, breaks=20000, alpha=.05): its grid has steps of 5e-5."""
    early, late = sequence(SCORES, looks=[10, 60])
    assert (early.lo, early.hi) == pytest.approx((0.32005, 0.9892), abs=1e-4)
    assert (late.lo, late.hi) == pytest.approx((0.5624, 0.8584), abs=1e-4)


def test_an_interval_holds_every_mean_that_betting_has_not_refuted() -> None:
    """The capital of both bets, written out item by item for a grid of means."""
    x, alpha, t = SCORES[:25], 0.05, 25
    refuted = []
    for m in np.linspace(0.001, 0.999, 999):
        up = down = 1.0
        mean, variance = 0.5, 0.25
        total, squares = 0.5, 0.25
        for i in range(t):
            bet = np.sqrt(2 * np.log(2 / alpha) / (variance * (i + 1) * np.log(i + 2)))
            up *= 1 + min(bet, 0.5 / m) * (x[i] - m)
            down *= 1 - min(bet, 0.5 / (1 - m)) * (x[i] - m)
            total += x[i]
            mean = total / (i + 2)
            squares += (x[i] - mean) ** 2
            variance = squares / (i + 2)
        refuted.append(max(up, down) / 2 >= 1 / alpha)
    kept = np.linspace(0.001, 0.999, 999)[~np.array(refuted)]
    (found,) = sequence(x, looks=[t])
    assert (found.lo, found.hi) == pytest.approx((kept.min(), kept.max()), abs=0.0011)


def test_a_look_depends_on_the_items_before_it_and_on_no_other_look() -> None:
    every = sequence(SCORES)
    assert [one.n for one in every] == list(range(1, 61))
    (alone,) = sequence(SCORES[:30], looks=[30])
    assert (alone.lo, alone.hi) == pytest.approx((every[29].lo, every[29].hi), abs=1e-8)
    assert sequence(SCORES, looks=[10, 100])[-1].n == 10, "a look that is not reached is left out"
    assert sequence(SCORES, looks=[100]) == ()


def test_p_agrees_with_the_interval_of_a_paired_difference() -> None:
    rng = np.random.default_rng(1)
    control, pressure = (rng.random(150) < 0.8).astype(float), (rng.random(150) < 0.5).astype(float)
    there = paired_sequence(control, pressure)
    for one in there:
        assert (one.also["p"] <= 0.05) == (not one.lo <= 0.0 <= one.hi)
    assert there[-1].also["p"] < 0.05
    assert there[0].also["p"] > 0.5


TWENTY = range(10, 201, 10)


def test_what_looking_costs_in_width() -> None:
    rng = np.random.default_rng(4)
    ratios = []
    for _ in range(20):
        x = rng.binomial(6, rng.beta(0.8, 0.2, 200)) / 6
        fixed = stats.mean(x)
        (looked,) = sequence(x, looks=[200])
        ratios.append((looked.hi - looked.lo) / (fixed.hi - fixed.lo))
    assert 1.4 < np.mean(ratios) < 1.8
