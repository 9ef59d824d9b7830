"""Weights and strata, and rows that are touched once."""

from __future__ import annotations

import numpy as np
import pytest

from perpend import stats
from perpend.stats import resample
from perpend.stats.clusters import clustering, clustering_of_sums
from perpend.stats.pairs import pair_table

ITEMS = np.repeat(np.arange(20), 4)
ONES = (np.arange(80) * 7 % 11 > 3).astype(float)


def test_equal_weights_change_nothing() -> None:
    plain = stats.proportion(ONES, ITEMS)
    assert stats.proportion(ONES, ITEMS, weights=[2.5] * 80) == plain
    other = 1.0 - ONES[::-1]
    assert stats.paired_difference(ONES, other, ITEMS, weights=[3] * 80) == stats.paired_difference(ONES, other, ITEMS)


def test_a_whole_weight_is_that_many_rows() -> None:
    weights = 1 + np.arange(20) % 3
    weighed = stats.proportion(ONES[::4], weights=weights)
    repeated = stats.proportion(np.repeat(ONES[::4], weights), np.repeat(np.arange(20), weights))
    assert weighed.value == pytest.approx(repeated.value)
    assert weighed.also["n_items"] == pytest.approx(weights.sum() ** 2 / (weights**2).sum())


def test_strata_with_known_shares_are_weighed_by_them_and_each_has_its_own_variance() -> None:
    """The textbook: Σ W² s² / n over strata, of independent rows."""
    rng = np.random.default_rng(0)
    first, second = (rng.random(60) < 0.2).astype(float), (rng.random(40) < 0.9).astype(float)
    column, strata = np.concatenate([first, second]), ["easy"] * 60 + ["hard"] * 40
    rate = stats.mean(column, strata=strata, shares={"easy": 0.3, "hard": 0.7})
    assert rate.value == pytest.approx(0.3 * first.mean() + 0.7 * second.mean())
    variance = 0.09 * first.var(ddof=1) / 60 + 0.49 * second.var(ddof=1) / 40
    assert (rate.hi - rate.lo) / 2 == pytest.approx(1.99 * variance**0.5, rel=0.05)
    by_rows = stats.proportion(column, strata=strata)
    assert by_rows.value == pytest.approx(column.mean())
    pooled = stats.proportion(column)
    assert by_rows.hi - by_rows.lo < 0.9 * (pooled.hi - pooled.lo), "strata that differ explain variance"


def test_the_variance_is_that_of_a_survey_package() -> None:
    """CR2 with equal items per stratum is the survey estimator: Σ W² G / (G - 1) Σ (item sum)²."""
    rng = np.random.default_rng(1)
    chance = np.repeat(rng.beta(0.6, 0.6, 60), 5)
    column, items = (rng.random(300) < chance).astype(float), np.repeat(np.arange(60), 5)
    strata = items % 3
    rate = stats.mean(column, items, strata=strata, shares={0: 0.5, 1: 0.3, 2: 0.2})
    expected = 0.0
    for stratum, share in {0: 0.5, 1: 0.3, 2: 0.2}.items():
        means = column[strata == stratum].reshape(20, 5).mean(axis=1)
        expected += share**2 * means.var(ddof=1) / 20
    from scipy.special import stdtrit

    df = rate.also["n_items"] - 3
    assert rate.hi - rate.value == pytest.approx(stdtrit(df, 0.975) * expected**0.5, rel=0.03)


def test_a_paired_difference_with_strata_is_the_weighed_difference() -> None:
    other = (np.arange(80) * 5 % 7 > 2).astype(float)
    strata = np.where(ITEMS < 8, "a", "b")
    change = stats.paired_difference(ONES, other, ITEMS, strata=strata, shares={"a": 0.75, "b": 0.25})
    parts = [(other - ONES)[strata == name].mean() for name in "ab"]
    assert change.value == pytest.approx(0.75 * parts[0] + 0.25 * parts[1])
    assert (change.also["b"], change.also["c"]) == pair_table(ONES, other)[1:3]
    assert "weights and strata" in change.method
    assert change.lo < change.value < change.hi
    swapped = stats.paired_difference(other, ONES, ITEMS, strata=strata, shares={"a": 0.75, "b": 0.25})
    assert (swapped.value, swapped.lo, swapped.hi) == pytest.approx((-change.value, -change.hi, -change.lo))


def test_a_stratum_with_one_item_gives_no_interval() -> None:
    strata = ["lone"] * 4 + ["rest"] * 76
    rate = stats.proportion(ONES, ITEMS, strata=strata)
    assert rate.value == pytest.approx(ONES.mean())
    assert (rate.lo, rate.note) == (None, "no interval: the stratum 'lone' has one item")
    assert "one item" in stats.paired_difference(ONES, ONES, ITEMS, strata=strata).note


def test_unequal_weights_are_worth_fewer_items_and_all_right_is_no_certainty() -> None:
    weights = np.exp(np.linspace(0, 4, 40))
    rate = stats.proportion([1] * 40, weights=weights)
    assert rate.value == rate.hi == 1.0
    kish = weights.sum() ** 2 / (weights**2).sum()
    assert rate.also["n_effective"] == pytest.approx(kish)
    assert rate.lo < stats.proportion([1] * 40).lo
    assert {"STAT022", "STAT032"} <= {caution.id for caution in rate.cautions}


@pytest.mark.parametrize("kind", ["shares", "values", "constant"])
def test_sums_of_clusters_say_what_their_rows_say(kind: str) -> None:
    rng = np.random.default_rng(3)
    codes = np.sort(rng.integers(0, 30, 400))
    column = {"shares": rng.integers(0, 2, 400), "values": rng.integers(-1, 2, 400), "constant": np.ones(400)}[kind]
    column = column.astype(float)
    sums, squares = np.bincount(codes, column), np.bincount(codes, column**2)
    rows, sizes = clustering(column, codes), np.bincount(codes)
    together = clustering_of_sums(np.append(sizes, 0), np.append(sums, 0.0), np.append(squares, 0.0))
    for name in ("n", "n_clusters", "mean", "se", "se_naive", "design_effect", "n_effective", "icc", "n_items"):
        one, other = getattr(rows, name), getattr(together, name)
        assert other == (pytest.approx(one, rel=1e-9) if one is not None else None), name


def test_clustered_classification_takes_little_more_memory_than_its_rows() -> None:
    import tracemalloc

    n = 1_000_000
    items = np.arange(n) // 50
    gold = (items % 5 < 2).astype(float)
    answer = np.where(np.arange(n) % 7 == 0, 1 - gold, gold)
    stats.binary_metrics(gold[:1000], answer[:1000], items[:1000])
    tracemalloc.start()
    metrics = stats.binary_metrics(gold, answer, items)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert metrics["tpr"].also["n_clusters"] == 8000
    assert peak <= 40 * n, "400 MB for ten million rows"


def test_drawing_clusters_one_by_one_is_the_same_bootstrap(monkeypatch: pytest.MonkeyPatch) -> None:
    table = np.random.default_rng(4).random((1500, 2))
    drawn = resample.cluster_totals(table, np.random.default_rng(5), 2000)
    monkeypatch.setattr(resample, "_MANY", len(table) + 1)
    counted = resample.cluster_totals(table, np.random.default_rng(5), 2000)
    assert drawn.shape == counted.shape
    assert not np.array_equal(drawn, counted)
    assert drawn.mean(axis=0) == pytest.approx(counted.mean(axis=0), rel=0.002)
    assert drawn.std(axis=0) == pytest.approx(counted.std(axis=0), rel=0.08)
    assert np.corrcoef(drawn.T)[0, 1] == pytest.approx(np.corrcoef(counted.T)[0, 1], abs=0.1)


def test_the_test_of_weighted_pairs_agrees_with_their_interval() -> None:
    rng, items = np.random.default_rng(9), np.repeat(np.arange(60), 3)
    agree = 0
    for _ in range(60):
        chance = rng.beta(1.0, 1.0, 60)[items]
        first, second = ((rng.random(180) < chance).astype(float) for _ in range(2))
        how = {"strata": items % 2, "shares": {0: 0.8, 1: 0.2}}
        test, change = (
            stats.paired_test(first, second, items, **how),
            stats.paired_difference(first, second, items, **how),
        )
        agree += (test.value <= 0.05) == (not change.lo <= 0.0 <= change.hi)
    assert agree >= 57


def test_weights_of_a_mean_are_those_of_a_rate_and_the_detectable_effect_knows_them() -> None:
    weights = 1.0 + np.arange(80) % 5
    mean, rate = stats.mean(ONES, ITEMS, weights=weights), stats.proportion(ONES, ITEMS, weights=weights)
    assert mean.value == pytest.approx(rate.value)
    assert mean.method.endswith("weights and strata")
    alone = stats.mean(ONES, strata=["a", *["b"] * 79])
    assert (alone.lo, alone.note) == (None, "no interval: the stratum 'a' has one item")
    plain = stats.paired_difference(ONES, 1.0 - ONES[::-1], ITEMS)
    unequal = stats.paired_difference(ONES, 1.0 - ONES[::-1], ITEMS, weights=np.exp(np.arange(80) / 20))
    assert stats.mde_clustered(unequal).value > stats.mde_clustered(plain).value
    assert stats.paired_test(ONES, ONES[::-1], strata=["a", *["b"] * 79]).value is None


def test_swapping_weighted_columns_changes_the_sign_and_nothing_else() -> None:
    fewer = ONES * (np.arange(80) % 5 > 0)
    how = {"weights": 1.0 + np.arange(80) % 3, "strata": ITEMS % 2}
    forth, back = (stats.paired_difference(*pair, ITEMS, **how) for pair in ((fewer, ONES), (ONES, fewer)))
    assert (forth.value, forth.lo, forth.hi) == pytest.approx((-back.value, -back.hi, -back.lo))
    assert stats.paired_test(fewer, ONES, ITEMS, **how).value == pytest.approx(
        stats.paired_test(ONES, fewer, ITEMS, **how).value
    )
