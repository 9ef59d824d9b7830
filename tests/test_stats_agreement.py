"""Agreement of raters: other libraries, published examples, and the cases where it is undefined."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from perpend import stats
from perpend.types import Estimate

NA = math.nan
# Krippendorff (2011), "Computing Krippendorff's alpha-reliability", section D: four observers, twelve units.
OBSERVERS = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, NA, NA, NA],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NA, 3],
    [NA, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NA],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NA],
]
EVERY = (stats.raw_agreement, stats.kappa, stats.ac1, stats.alpha)


def raters(seed: int, n: int = 90, categories: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    first = rng.choice(categories, n, p=[0.6, *([0.4 / (categories - 1)] * (categories - 1))])
    return first, np.where(rng.random(n) < 0.7, first, rng.integers(0, categories, n))


@pytest.mark.parametrize("categories", [2, 3, 6])
def test_kappa_is_that_of_scikit_learn(categories: int) -> None:
    from sklearn.metrics import cohen_kappa_score

    first, second = raters(1, categories=categories)
    assert stats.kappa([first, second]).value == pytest.approx(cohen_kappa_score(first, second), abs=1e-12)


def test_the_standard_error_of_kappa_is_that_of_statsmodels() -> None:
    from statsmodels.stats.inter_rater import cohens_kappa, to_table

    first, second = raters(2, n=300)
    theirs = cohens_kappa(to_table(np.stack([first, second], axis=1))[0])
    ours = stats.kappa([first, second])
    se = math.log((1 - ours.lo) / (1 - ours.value)) * (1 - ours.value) / 1.9679  # t(299)
    assert se == pytest.approx(theirs.std_kappa * math.sqrt(300 / 299), rel=1e-4)


@pytest.mark.parametrize(("scale", "published"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_alpha_is_that_of_krippendorffs_example(scale: str, published: float) -> None:
    estimate = stats.alpha(OBSERVERS, scale=scale)
    assert estimate.value == pytest.approx(published, abs=5e-4)
    assert (estimate.n, estimate.also["left_out"]) == (11, 1)
    assert estimate.lo < published < estimate.hi


def test_raw_agreement_and_ac1_take_more_than_two_raters() -> None:
    assert stats.raw_agreement(OBSERVERS).value == pytest.approx(0.8181818)  # irrCAC's documentation
    # By hand, over the eleven units with two ratings: shares of the categories, then (pa - pe) / (1 - pe).
    shares = np.array([1 + 0.25 + 0.75 + 1, 0.75 + 1 + 0.25 + 0.25 + 1, 0.25 + 1 + 1 + 0.25, 0.25 + 1, 1]) / 11
    chance = (shares * (1 - shares)).sum() / 4
    assert shares.sum() == pytest.approx(1)
    assert stats.ac1(OBSERVERS).value == pytest.approx((9 / 11 - chance) / (1 - chance))


def test_the_paradox_of_kappa() -> None:
    """118 both 'no', 5 and 2 apart, none both 'yes' (Gwet 2008): the raters agree on 94%, and kappa is below 0."""
    first, second = ["no"] * 123 + ["yes"] * 2, ["no"] * 118 + ["yes"] * 5 + ["no"] * 2
    assert stats.kappa([first, second]).value == pytest.approx(-0.0234, abs=5e-5)
    assert stats.ac1([first, second]).value == pytest.approx(0.9408, abs=5e-5)
    assert stats.raw_agreement([first, second]).value == pytest.approx(118 / 125)


def test_one_category_leaves_kappa_undefined_and_ac1_defined() -> None:
    same = [[1] * 40, [1] * 40]
    for undefined in (stats.kappa(same), stats.alpha(same)):
        assert (undefined.value, undefined.lo, undefined.n) == (None, None, 40)
        assert undefined.note == "every rating is 1.0, so chance agreement is 1"
    ac1 = stats.ac1(same)
    assert ac1.value == 1.0
    assert ac1.lo == pytest.approx(0.907, abs=0.001)  # Wilson for 40 of 40, with t


def test_missing_ratings_are_left_out_and_counted() -> None:
    first, second = raters(3)
    holes = [None if i % 5 == 0 else int(v) for i, v in enumerate(second)]
    kept = np.arange(90) % 5 != 0
    for statistic in EVERY:
        with_holes, without = statistic([first, holes]), statistic([first[kept], second[kept]])
        assert (with_holes.value, with_holes.lo, with_holes.n) == (without.value, without.lo, 72)
        assert with_holes.also["left_out"] == 18
    nobody = stats.kappa([[1, None], [None, 1]])
    assert (nobody.value, nobody.n, nobody.note) == (None, 0, "no unit has two ratings")


def test_weights_are_repeats_of_the_point_estimate() -> None:
    first, second = raters(6, n=50)
    times = np.arange(50) % 3 + 1
    for statistic in EVERY[:3]:
        weighted = statistic([first, second], weights=times).value
        assert weighted == pytest.approx(statistic([np.repeat(first, times), np.repeat(second, times)]).value)


def test_perfect_agreement_has_a_lower_end() -> None:
    for statistic in EVERY:
        estimate = statistic([[0, 1] * 20, [0, 1] * 20])
        assert estimate.value == estimate.hi == 1.0
        assert 0.75 < estimate.lo < 0.93
    assert stats.alpha([[0, 1] * 20] * 2, scale="interval").lo is None


def test_names_of_categories_do_not_matter() -> None:
    first, second = raters(7)
    names = np.array(["b", "c", "a"])
    for statistic in EVERY:
        numbers, words = statistic([first, second]), statistic([names[first], names[second].tolist()])
        assert (numbers.value, numbers.lo, numbers.hi) == pytest.approx((words.value, words.lo, words.hi))


def test_few_clusters_and_one_cluster_are_flagged() -> None:
    first, second = raters(8)
    assert [c.id for c in stats.kappa([first, second], np.arange(90) // 9).cautions] == ["STAT022"]
    alone = stats.kappa([first, second], [0] * 90)
    assert (alone.lo, alone.note) == (None, "no interval: all units in one cluster")


@pytest.mark.parametrize("statistic", EVERY)
def test_raters_who_share_no_unit_have_no_agreement(statistic: Callable[..., Estimate]) -> None:
    """Two readers who read different answers: nothing to compare, said with its reason."""
    apart = statistic([[1.0, NA, 0.0, NA], [NA, 1.0, NA, 0.0]], ["a", "a", "b", "b"])
    assert (apart.value, apart.n) == (None, 0)
    assert apart.note
