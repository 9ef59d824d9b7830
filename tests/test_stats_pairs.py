"""Two columns over the same rows: differences, tests, conditional rates, and the resampled deltas."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from perpend import stats
from perpend.stats import pairs as paired_tests
from perpend.types import Estimate

CONTROL = [1, 1, 1, 1, 1, 1, 0, 0, 0, 0]
PRESSURE = [1, 1, 0, 0, 0, 1, 0, 1, 0, 0]


def ids(estimate: Estimate) -> list[str]:
    return [caution.id for caution in estimate.cautions]


def test_the_difference_is_pressure_minus_control() -> None:
    found = stats.paired_difference(CONTROL, PRESSURE)
    assert found.value == pytest.approx(-0.2)
    assert (found.also["b"], found.also["c"]) == (3, 1)
    assert found.also["cohens_h"] < 0


def test_repeated_items_widen_the_interval_of_the_difference() -> None:
    control, pressure = np.repeat(CONTROL * 4, 6), np.repeat(PRESSURE * 4, 6)
    items = np.repeat(np.arange(40), 6)
    naive, clustered = stats.paired_difference(control, pressure), stats.paired_difference(control, pressure, items)
    single = stats.paired_difference(CONTROL * 4, PRESSURE * 4)
    assert clustered.value == naive.value == single.value
    assert clustered.hi - clustered.lo > 2 * (naive.hi - naive.lo)
    assert clustered.hi - clustered.lo == pytest.approx(single.hi - single.lo, rel=0.05)
    assert ids(clustered) == ["STAT001", "STAT028"], "8 of 40 items differ"


def test_columns_that_always_agree_never_give_a_width_of_zero() -> None:
    found = stats.paired_difference([1, 0] * 6, [1, 0] * 6, np.repeat(np.arange(6), 2))
    assert found.value == 0
    assert found.hi - found.lo > 0.3
    assert found.note


def test_one_cluster_of_pairs_has_no_interval() -> None:
    assert stats.paired_difference(CONTROL, PRESSURE, ["a"] * 10).lo is None


def test_override_rescue_and_flip_state_their_denominators() -> None:
    override, rescue = stats.override(CONTROL, PRESSURE), stats.rescue(CONTROL, PRESSURE)
    assert (override.value, override.n, override.also["k"]) == (0.5, 6, 3)
    assert (rescue.value, rescue.n, rescue.also["k"]) == (0.25, 4, 1)
    assert stats.flip(CONTROL, PRESSURE) == rescue


def test_a_conditional_rate_without_a_denominator_is_undefined() -> None:
    found = stats.override([0, 0, 0], [1, 0, 0])
    assert (found.value, found.n, found.lo) == (None, 0, None)
    assert found.note == "no row with 1 under control"
    assert ids(found) == ["STAT014"]
    assert stats.rescue([1, 1], [1, 0]).value is None


def test_a_conditional_denominator_under_thirty_is_flagged() -> None:
    assert ids(stats.override([1] * 29, [0, 1] * 14 + [0])) == ["STAT014"]
    assert ids(stats.override([1] * 30, [0, 1] * 15)) == []


def test_a_conditional_rate_counts_the_clusters_that_are_left_in_it() -> None:
    found = stats.override([1, 1, 0, 1, 1, 0], [1, 0, 0, 0, 1, 1], ["a", "a", "a", "b", "b", "c"])
    assert found.n == 4
    assert found.also["n_clusters"] == 2


def test_sampling_noise_alone_overrides_and_has_no_excess() -> None:
    rng = np.random.default_rng(4)
    chance = np.repeat(rng.beta(2, 1, 3000), 6)
    control, pressure, retest = ((rng.random(18_000) < chance).astype(int) for _ in range(3))
    items = np.repeat(np.arange(3000), 6)
    assert stats.override(control, pressure, items).value == pytest.approx(0.25, abs=0.02)
    assert stats.rescue(control, pressure, items).value == pytest.approx(0.5, abs=0.03)
    for given in (0, 1):
        found = stats.excess(control, pressure, retest, items, given=given)
        assert found.lo < 0 < found.hi


def test_excess_is_the_difference_of_the_two_conditional_rates() -> None:
    retest = [1, 1, 1, 1, 1, 0, 0, 0, 1, 0]
    found = stats.excess(CONTROL, PRESSURE, retest)
    rates = stats.override(CONTROL, PRESSURE).value, stats.override(CONTROL, retest).value
    assert found.value == pytest.approx(rates[0] - rates[1])
    assert (found.also["pressure_rate"], found.also["retest_rate"]) == pytest.approx(rates)
    assert stats.excess([0, 0], [1, 0], [0, 0]).value is None
    assert stats.excess([0, 0], [1, 0], [0, 0], given=0).value == 0.5


def test_mcnemar_without_discordant_pairs_is_one() -> None:
    found = stats.mcnemar(0, 0)
    assert (found.value, found.also["p_exact"], found.n) == (1.0, 1.0, 0)


@pytest.mark.parametrize(("b", "c"), [(1, 7), (12, 30), (5, 5), (300, 411), (0, 900)])
def test_mcnemar_is_the_binomial_test_of_the_discordant_pairs(b: int, c: int) -> None:
    from scipy.stats import binom, binomtest

    found = stats.mcnemar(b, c)
    exact = binomtest(min(b, c), b + c).pvalue
    half = binom.pmf(min(b, c), b + c, 0.5)
    assert found.also["p_exact"] == pytest.approx(exact, rel=1e-9)
    assert found.value == pytest.approx(1 - half / 2 if b == c else exact - half, rel=1e-9)


def test_the_paired_odds_ratio_is_undefined_without_its_denominator() -> None:
    assert stats.paired_odds_ratio(0, 0).value is None
    infinite = stats.paired_odds_ratio(5, 0)
    assert (infinite.value, infinite.hi) == (None, None)
    share = 0.025 ** (1 / 5)  # the Clopper-Pearson end of 5 out of 5
    assert infinite.lo == pytest.approx(share / (1 - share))
    zero = stats.paired_odds_ratio(0, 5)
    assert (zero.value, zero.lo) == (0.0, 0.0)


def test_the_sign_flip_is_exact() -> None:
    rng = np.random.default_rng(8)
    for _ in range(20):
        deltas = rng.integers(-3, 4, 9)
        seen = abs(int(deltas.sum()))
        flips = [abs(int(np.dot(signs, deltas))) >= seen for signs in itertools.product((-1, 1), repeat=9)]
        assert stats.sign_flip(deltas).value == pytest.approx(sum(flips) / 512)


def test_the_sign_flip_of_single_pairs_is_the_exact_mcnemar_test() -> None:
    found = stats.sign_flip([1] * 12 + [-1] * 30 + [0] * 50)
    assert found.value == pytest.approx(stats.mcnemar(12, 30).also["p_exact"])
    assert found.also["discordant_items"] == 42


def test_a_tiny_p_keeps_its_leading_digits() -> None:
    assert stats.sign_flip([2] * 400).value == pytest.approx(2.0**-399, rel=1e-9)


def test_beyond_the_exact_limit_draws_are_seeded_and_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    deltas = np.random.default_rng(1).integers(-6, 7, 500)
    exact = stats.sign_flip(deltas)
    monkeypatch.setattr(paired_tests, "_EXACT_COST", 0)
    drawn = stats.sign_flip(deltas)
    assert drawn.method.endswith("Monte Carlo")
    assert drawn == stats.sign_flip(deltas)
    assert drawn.value == pytest.approx(exact.value, abs=0.006)


def test_no_differing_item_means_p_is_one() -> None:
    assert stats.sign_flip([0, 0]).value == 1.0
    assert stats.cluster_mcnemar([0, 0]).value == 1.0
    assert stats.cluster_mcnemar([0, 0]).also["z"] is None


def test_the_default_test_flips_items_where_they_repeat() -> None:
    assert stats.paired_test(CONTROL, PRESSURE) == stats.mcnemar(3, 1)
    control, pressure = np.repeat(CONTROL * 3, 6), np.repeat(PRESSURE * 3, 6)
    found = stats.paired_test(control, pressure, np.repeat(np.arange(30), 6))
    assert found.value == pytest.approx(stats.mcnemar(9, 3).also["p_exact"])
    assert found.also["p_midp"] < 1e-4 < found.value
    assert ids(found) == ["STAT001"]


def test_cluster_sizes_weigh_items_equally() -> None:
    assert stats.cluster_mcnemar([2, -1, 3], [3, 3, 3]).value == pytest.approx(stats.cluster_mcnemar([2, -1, 3]).value)
    assert stats.cluster_mcnemar([6, -1], [6, 1]).also["z"] == 0


def test_the_paired_bootstrap_is_the_row_bootstrap() -> None:
    rng = np.random.default_rng(11)
    gold = (rng.random(300) < 0.3).astype(int)
    first = np.where(rng.random(300) < 0.8, gold, 1 - gold).astype(float)
    second = np.where(rng.random(300) < 0.7, gold, 1 - gold).astype(float)
    first[:10] = math.nan
    found = stats.paired_bootstrap(gold, first, second)
    draws = []
    for chosen in rng.integers(0, 300, (2000, 300)):
        before, after = (stats.confusion(gold[chosen], column[chosen]) for column in (first, second))
        draws.append(stats.balanced_accuracy(after).value - stats.balanced_accuracy(before).value)
    ends = np.quantile(draws, [0.025, 0.975])
    assert [found["balanced_accuracy"].lo, found["balanced_accuracy"].hi] == pytest.approx(ends.tolist(), abs=0.012)
    assert found["mcc"].value == pytest.approx(
        stats.mcc(stats.confusion(gold, second)).value - stats.mcc(stats.confusion(gold, first)).value
    )


def test_the_cluster_bootstrap_of_deltas_draws_whole_items() -> None:
    gold, first, second = np.tile([1, 0], 60), np.tile([1, 0, 0, 1], 30), np.tile([1, 0, 1, 0], 30)
    sixfold = (np.repeat(column, 6) for column in (gold, first, second))
    clustered = stats.paired_bootstrap(*sixfold, np.repeat(np.arange(120), 6))
    single = stats.paired_bootstrap(gold, first, second)
    for name, estimate in single.items():
        assert clustered[name].value == pytest.approx(estimate.value)
        assert (clustered[name].lo, clustered[name].hi) == pytest.approx((estimate.lo, estimate.hi), abs=0.02)


def test_identical_classifiers_have_no_bootstrap_interval() -> None:
    found = stats.paired_bootstrap([1, 0, 1, 0], [1, 0, 0, 0], [1, 0, 0, 0])["accuracy_valid"]
    assert (found.value, found.lo) == (0.0, None)
    assert "same value" in found.note


def test_a_delta_of_something_undefined_is_undefined() -> None:
    found = stats.paired_bootstrap([1, 1, 1], [1, 0, 1], [1, 1, None])
    assert found["balanced_accuracy"].value is None
    assert found["accuracy_valid"].value == pytest.approx(1 / 3)
