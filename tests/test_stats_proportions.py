"""Rates and means: closed forms against known libraries, and what repeated items do to them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from perpend import stats
from perpend.stats import intraclass
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


def test_two_independent_rates_are_those_of_statsmodels() -> None:
    from statsmodels.stats.proportion import confint_proportions_2indep

    found = stats.risk_difference(8, 20, 15, 40)
    assert (found.lo, found.hi) == pytest.approx(confint_proportions_2indep(8, 20, 15, 40, method="newcomb"), abs=1e-12)
    assert stats.risk_difference(1, 2, 0, 0).note == "the second sample is empty"
    assert stats.risk_difference(0, 0, 1, 2).value is None


def shares(rng: np.random.Generator, sizes: np.ndarray, rate: float, icc: float) -> tuple[np.ndarray, np.ndarray]:
    items = np.repeat(np.arange(len(sizes)), sizes)
    if icc == 1.0:
        chance = (rng.random(len(sizes)) < rate).astype(float)
    else:
        chance = rng.beta(rate * (1 / icc - 1), (1 - rate) * (1 / icc - 1), len(sizes))
    return (rng.random(len(items)) < chance[items]).astype(float), items


HALF = np.array([174, *[6] * 29])


def test_unequal_items_are_said_to_be_as_good_as_fewer() -> None:
    rng = np.random.default_rng(1)
    found = stats.proportion(*shares(rng, HALF, 0.8, 0.5))
    assert found.also["n_items"] == pytest.approx(348**2 / (174**2 + 29 * 36))
    (few,) = [caution for caution in found.cautions if caution.id == "STAT022"]
    assert "as good as 3.9" in few.text
    assert "STAT022" not in {c.id for c in stats.proportion(*shares(rng, np.full(40, 3), 0.8, 0.5)).cautions}


def test_the_likely_icc_finds_what_was_put_in() -> None:
    rng = np.random.default_rng(6)
    for icc in (0.1, 0.5, 0.9):
        values, items = shares(rng, np.full(400, 8), 0.7, icc)
        ones = np.bincount(items, values)
        assert intraclass.likely_of_shares(np.full(400, 8), ones) == pytest.approx(icc, abs=0.06)
        centred = values - values.mean()
        sums, squares = np.bincount(items, centred), np.bincount(items, centred**2)
        assert intraclass.likely_of_values(np.full(400, 8), sums, squares) == pytest.approx(icc, abs=0.06)
    assert intraclass.likely_of_shares(np.full(5, 3), np.full(5, 3.0)) == 1.0


def test_columns_of_frames_are_clusters() -> None:
    ids = ["a", "a", "b", "b", "c"]
    plain = stats.proportion([1, 0, 1, 1, 0], ids)
    assert stats.proportion([1, 0, 1, 1, 0], pd.Series(ids)) == plain


def test_what_rests_on_few_answers_of_one_kind_says_what_simulations_showed() -> None:
    rare = stats.wilson(298, 300)
    (caution,) = rare.cautions
    assert caution.id == "STAT028"
    assert "few rows of the rarer answer (2, limit 5): in simulations such 95% intervals cover" in caution.text
    assert stats.wilson(250, 300).cautions == ()
    assert "STAT028" in {c.id for c in stats.mcc(stats.Confusion(40, 4, 30, 60)).cautions}
    assert stats.mcc(stats.Confusion(40, 14, 30, 60)).cautions == ()
    items = np.repeat(np.arange(60), 6)
    nearly = stats.proportion(np.repeat([1.0] * 58 + [0.0] * 2, 6), items)
    assert [c.id for c in nearly.cautions] == ["STAT001", "STAT028"]


def test_a_mean_that_a_few_items_carry_says_so() -> None:
    values = [0.1] * 38 + [4.0, 9.0]
    assert [c.id for c in stats.mean(values).cautions] == ["STAT029"]
    assert stats.mean(np.linspace(0.0, 1.0, 40)).cautions == ()
