"""Non-inferiority, equivalence and what a comparison could have shown."""

from __future__ import annotations

import numpy as np
import pytest

from perpend import stats
from perpend.errors import DataError
from perpend.stats.pair_bounds import tango_score


def pairs(both: int, first: int, second: int, neither: int) -> tuple[list[int], list[int]]:
    """Columns with so many pairs (1, 1), (1, 0), (0, 1), (0, 0)."""
    return [1] * (both + first) + [0] * (second + neither), [1] * both + [0] * first + [1] * second + [0] * neither


def test_values_are_tested_as_two_one_sided_t_tests() -> None:
    from statsmodels.stats.weightstats import ttost_paired

    rng = np.random.default_rng(1)
    first = rng.normal(0.0, 1.0, 80)
    second = first + 0.02 + np.repeat([-0.3, -0.1, 0.1, 0.3], 20)  # no skewness, for which theirs has no correction
    p, lower, upper = ttost_paired(second, first, -0.1, 0.1)
    ours = stats.equivalence(first, second, margin=0.1)
    assert ours.also["p_lower"] == pytest.approx(lower[1], rel=1e-6)
    assert ours.also["p_upper"] == pytest.approx(upper[1], rel=1e-6)
    assert ours.also["p"] == pytest.approx(p, rel=1e-6)
    assert ours.level == 0.9


def test_shares_are_tested_by_tangos_score() -> None:
    # Tango 1998, table II: 44 pairs, 43 (1, 1), 0 (1, 0), 1 (0, 1), margin 0.1: the score is 1.709 on the lower side.
    first, second = pairs(43, 0, 1, 0)
    score = tango_score((43.0, 0.0, 1.0, 0.0), -0.1)
    assert score == pytest.approx(1.709, abs=0.002)
    worse = stats.equivalence(second, first, margin=0.1)
    assert worse.value == pytest.approx(-1 / 44)
    assert worse.also["p_lower"] == pytest.approx(0.0438, abs=0.004), "normal 0.0437, with t(43) a little more"


@pytest.mark.parametrize(
    ("table", "margin", "verdict"),
    [
        ((60, 10, 10, 120), 0.1, "equivalent"),
        ((60, 5, 40, 95), 0.1, "different"),
        ((60, 18, 30, 92), 0.1, "non-inferior"),
        ((6, 3, 4, 7), 0.1, "undecided"),
    ],
)
def test_the_verdict_says_what_is_shown(table: tuple[int, int, int, int], margin: float, verdict: str) -> None:
    shown = stats.equivalence(*pairs(*table), margin=margin)
    assert shown.also["verdict"] == verdict
    inside = -margin < shown.lo and shown.hi < margin
    assert inside is (verdict == "equivalent"), "the 90% interval and the tests agree"
    assert (shown.lo > -margin) is shown.also["is_non_inferior"]


def test_swapping_the_columns_swaps_the_tests() -> None:
    rng = np.random.default_rng(2)
    first, second, items = rng.random(120), rng.random(120) ** 2, np.repeat(np.arange(30), 4)
    one, other = (
        stats.equivalence(first, second, items, margin=0.1),
        stats.equivalence(second, first, items, margin=0.1),
    )
    assert (one.value, one.lo, one.hi) == pytest.approx((-other.value, -other.hi, -other.lo))
    assert one.also["p_lower"] == pytest.approx(other.also["p_upper"])


def test_no_difference_at_all_is_no_proof_with_few_items() -> None:
    same = stats.equivalence([1, 0] * 5, [1, 0] * 5, margin=0.05)
    assert same.also["verdict"] == "undecided"
    repeated = stats.equivalence([1, 0] * 300, [1, 0] * 300, np.repeat(np.arange(10), 60), margin=0.05)
    assert repeated.also["verdict"] == "undecided", "600 rows of ten items"
    assert stats.equivalence([1, 0] * 300, [1, 0] * 300, margin=0.05).also["verdict"] == "equivalent"


def test_what_cannot_be_tested_is_undecided_and_says_why() -> None:
    assert "one cluster" in stats.equivalence([1, 0], [1, 1], ["a", "a"], margin=0.1).note
    assert "differences are equal" in stats.equivalence([0.1, 0.2], [0.3, 0.4], margin=0.5).note
    assert stats.equivalence([0.5], [0.7], margin=0.1).also["verdict"] == "undecided"


def logistic(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def test_skewed_items_and_few_ones_are_told() -> None:
    rng = np.random.default_rng(5)
    skewed = stats.equivalence(np.zeros(200), rng.lognormal(0, 1.5, 200), margin=1.0)
    assert "STAT027" in {caution.id for caution in skewed.cautions}
    plain = stats.equivalence(np.zeros(400), rng.normal(0, 1, 400), margin=1.0)
    assert plain.cautions == ()


def test_a_detectable_effect_knows_of_repeats_and_of_the_number_of_tests() -> None:
    # Connor 1987: 100 pairs, a fifth of them discordant.
    change = stats.paired_difference(*pairs(40, 10, 10, 40))
    mde = stats.mde_clustered(change).value
    assert mde * 10 == pytest.approx(1.959964 * 0.2**0.5 + 0.841621 * (0.2 - mde**2) ** 0.5, rel=1e-6)
    assert stats.mde_clustered(change, alpha=0.05 / 8).value > 1.25 * mde
    first, second = pairs(40, 10, 10, 40)
    repeated = stats.paired_difference(first * 6, second * 6, list(range(100)) * 6)
    assert stats.mde_clustered(repeated).value == pytest.approx(mde, rel=0.05), "repeats that agree show nothing more"


def test_a_detectable_mean_is_two_quantiles_of_standard_errors() -> None:
    change = stats.mean([0.1, -0.2, 0.3, 0.4, -0.1])
    from scipy.special import stdtrit

    expected = (stdtrit(4, 0.975) + stdtrit(4, 0.8)) * change.also["se"]
    assert stats.mde_clustered(change).value == pytest.approx(expected)
    assert stats.mde_clustered(stats.mean([0.1])).value is None
    assert stats.mde_clustered(stats.mean([0.1, 0.1])).value is None
    assert "too few items" in stats.mde_clustered(stats.paired_difference([1, 0], [1, 0])).note


def test_decisions_that_are_made_together_are_corrected_together() -> None:
    tests = [stats.equivalence(*pairs(n, 3, 3, 94 - n), margin=0.1) for n in (40, 50)]
    one, other = stats.decided(tests)
    assert one.also["p_adjusted"] == pytest.approx(2 * tests[0].also["p"]), "as Holm over two"
    assert stats.decided(tests[:1])[0].also["p_adjusted"] == tests[0].also["p"], "one difference is one test"
    assert other.also["verdict"] == "equivalent"
    raw = stats.equivalence(*pairs(40, 2, 4, 54), margin=0.05)
    assert raw.also["verdict"] == "non-inferior"
    assert stats.decided([raw] * 6)[0].also["verdict"] == "not shown"
    undefined = stats.equivalence([0.0, 1.0], [0.5, 1.5], margin=0.6)
    assert stats.decided([undefined])[0].also["p_adjusted"] is None
    assert stats.decided([undefined])[0].also["verdict"] == "not shown"
    with pytest.raises(DataError, match="give one for each"):
        stats.decided(tests, more_is_better=[True])


def test_where_less_is_better_not_worse_is_not_higher() -> None:
    lower = stats.equivalence(*pairs(30, 12, 2, 56), margin=0.05)
    assert lower.value == pytest.approx(-0.1)
    assert stats.decided([lower])[0].also["verdict"] == "not shown"
    assert stats.decided([lower], more_is_better=[False])[0].also["verdict"] == "non-inferior"


def test_shaffer_multiplies_by_no_more_than_can_be_true() -> None:
    p = [0.001, 0.002, 0.02, 0.9]
    assert stats.holm(p, at_most=2).tolist() == pytest.approx([0.002, 0.004, 0.04, 0.9])
    assert stats.holm(p, at_most=4).tolist() == stats.holm(p).tolist()


def test_a_margin_of_weighted_pairs_is_that_of_rows_written_so_often() -> None:
    rng = np.random.default_rng(2)
    first, second = (rng.random(120) < 0.7).astype(float), (rng.random(120) < 0.7).astype(float)
    weights = 1.0 + np.arange(120) % 3
    weighed = stats.equivalence(first, second, margin=0.2, weights=weights)
    times = weights.astype(int)
    written = stats.equivalence(
        np.repeat(first, times), np.repeat(second, times), np.repeat(np.arange(120), times), margin=0.2
    )
    assert weighed.value == pytest.approx(written.value)
    assert weighed.also["first"] == pytest.approx(written.also["first"])
    assert (weighed.lo, weighed.hi) == (pytest.approx(written.lo, abs=0.02), pytest.approx(written.hi, abs=0.02))
    values = stats.equivalence(first / 3, second / 3, margin=0.2, strata=np.arange(120) % 2)
    assert values.value == pytest.approx((second - first).mean() / 3)
    assert 0.0 < float(values.also["p"] or 0.0) < 1.0
