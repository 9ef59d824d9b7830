"""Rates and means: closed forms against known libraries, and what repeated items do to them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from perpend import stats
from perpend.errors import DataError
from perpend.types import Estimate


def ids(estimate: Estimate) -> list[str]:
    return [caution.id for caution in estimate.cautions]


def test_no_rows_is_undefined_and_never_zero() -> None:
    for found in (stats.wilson(0, 0), stats.clopper_pearson(0, 0)):
        assert found.value is None
        assert (found.lo, found.hi, found.note) == (None, None, "no rows")


@pytest.mark.parametrize(("k", "n"), [(0, 10), (3, 20), (45, 45), (21_000, 21_600)])
def test_intervals_on_counts_equal_scipy(k: int, n: int) -> None:
    from scipy.stats import binomtest

    for ours, method in ((stats.wilson, "wilson"), (stats.clopper_pearson, "exact")):
        theirs = binomtest(k, n).proportion_ci(0.9, method)
        found = ours(k, n, level=0.9)
        assert (found.lo, found.hi) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


@pytest.mark.parametrize(("k", "n"), [(11, 10), (-1, 10), (1.5, 10)])
def test_impossible_counts_are_errors(k: int, n: int) -> None:
    with pytest.raises(DataError, match="k: is"):
        stats.wilson(k, n)


@pytest.mark.parametrize("level", [0.0, 1.0, 95, math.nan])
def test_a_level_is_a_share(level: float) -> None:
    with pytest.raises(DataError, match="level"):
        stats.wilson(1, 2, level=level)


def test_one_row_per_item_is_plain_wilson_whether_or_not_items_are_named() -> None:
    named = stats.proportion([1, 0, 1, 1], ["a", "b", "c", "d"])
    assert named == stats.proportion([1, 0, 1, 1])
    assert named.method == "Wilson"
    assert (named.lo, named.hi) == (stats.wilson(3, 4).lo, stats.wilson(3, 4).hi)
    assert ids(named) == ["STAT028"]
    assert stats.proportion([1, 0] * 5, range(10)).cautions == ()


def test_repeating_each_row_six_times_adds_no_information() -> None:
    once = [1] * 30 + [0] * 10
    sixfold = stats.proportion(np.repeat(once, 6), np.repeat(np.arange(40), 6))
    naive = stats.proportion(np.repeat(once, 6))
    single = stats.proportion(once)
    assert sixfold.value == single.value == naive.value
    assert sixfold.also["icc"] == pytest.approx(1.0)
    assert sixfold.also["n_effective"] == pytest.approx(40, rel=0.03)
    assert sixfold.hi - sixfold.lo > 0.98 * (single.hi - single.lo) > 2 * (naive.hi - naive.lo)
    assert ids(sixfold)[0] == "STAT001"


def test_fewer_than_thirty_clusters_are_flagged() -> None:
    found = stats.proportion([1, 0, 1, 1], ["a", "a", "b", "b"])
    assert ids(found) == ["STAT001", "STAT022"]
    assert found.cautions[1].number == 2


@pytest.mark.parametrize("method", ["wilson", "clopper-pearson"])
@pytest.mark.parametrize("labels", [[1] * 12, [0] * 12, [0, 1] * 6])
def test_clusters_without_variance_never_give_a_width_of_zero(method: str, labels: list[int]) -> None:
    found = stats.proportion(labels, np.repeat(np.arange(6), 2), method=method)
    assert found.hi - found.lo > 0.2
    assert 0 <= found.lo <= found.value <= found.hi <= 1


def test_when_all_rows_agree_the_clusters_are_what_counts() -> None:
    found = stats.proportion([1] * 60, np.repeat(np.arange(10), 6))
    assert found.also["n_effective"] == 10
    assert "number of clusters" in found.note
    assert found.lo < stats.wilson(10, 10).lo


def test_one_cluster_gives_a_value_and_no_interval() -> None:
    for found in (stats.proportion([1, 0, 1], ["a"] * 3), stats.mean([1.0, 0.0, 1.0], ["a"] * 3)):
        assert found.value == pytest.approx(2 / 3)
        assert found.lo is None
        assert "one cluster" in found.note


def test_the_clustered_standard_error_is_that_of_statsmodels() -> None:
    import statsmodels.api as sm

    rng = np.random.default_rng(3)
    cluster = rng.integers(0, 25, 200)
    column = rng.normal(size=200) + rng.normal(size=25)[cluster]
    fitted = sm.OLS(column, np.ones(200)).fit(cov_type="cluster", cov_kwds={"groups": cluster}, use_t=True)
    found = stats.mean(column, cluster)
    # statsmodels multiplies by (n - 1) / (n - k) too, which is 1 for one parameter.
    assert found.also["se"] == pytest.approx(fitted.bse[0], rel=1e-9)
    low, high = fitted.conf_int()[0].tolist()
    assert found.lo < low < high < found.hi, "items of unequal sizes weigh as fewer"


def test_a_mean_of_equal_values_claims_no_certainty() -> None:
    assert stats.mean([2.0, 2.0, 2.0]).lo is None
    assert "equal" in stats.mean([2.0, 2.0, 2.0]).note
    assert stats.mean([2.0]).note == "no interval: one row"
    tenths = stats.mean([0.1] * 10, np.repeat(np.arange(5), 2))
    assert (tenths.lo, tenths.also["icc"], tenths.also["design_effect"]) == (None, None, None)
    balanced = stats.mean([0.0, 1.0] * 5, np.repeat(np.arange(5), 2))
    assert balanced.hi > balanced.lo
    assert "independent" in balanced.note


def test_an_unknown_method_is_an_error() -> None:
    with pytest.raises(DataError, match="use 'wilson'"):
        stats.proportion([0, 1], method="wald")


def test_two_independent_rates_are_those_of_statsmodels() -> None:
    from statsmodels.stats.proportion import confint_proportions_2indep

    found = stats.risk_difference(8, 20, 15, 40)
    assert (found.lo, found.hi) == pytest.approx(confint_proportions_2indep(8, 20, 15, 40, method="newcomb"), abs=1e-12)
    assert stats.risk_difference(1, 2, 0, 0).note == "the second sample is empty"
    assert stats.risk_difference(0, 0, 1, 2).value is None
