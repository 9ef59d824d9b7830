"""Calibration numbers: bins, errors, Brier, the intervals and what they warn of."""

from __future__ import annotations

import math

import numpy as np
import pytest

from perpend.stats import calibration as cal
from perpend.stats.bins import CHUNK
from perpend.stats.calibration_error import ece_top_label
from perpend.stats.proportions import wilson_bounds
from perpend.types import Estimate


def lab_ece(confidences: np.ndarray, correct: np.ndarray, n_bins: int = 10) -> float:
    """The lab's loop, as an oracle."""
    edges = np.linspace(0.0, 1.0, n_bins + 1)
    total = 0.0
    for m in range(n_bins):
        last = m == n_bins - 1
        upper = confidences <= edges[m + 1] if last else confidences < edges[m + 1]
        mask = (confidences >= edges[m]) & upper
        if mask.any():
            total += mask.sum() / len(confidences) * abs(correct[mask].mean() - confidences[mask].mean())
    return float(total)


def ids(estimate: Estimate) -> set[str]:
    return {caution.id for caution in estimate.cautions}


def calibrated(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    c = rng.beta(8, 2, n)
    return c, (rng.random(n) < c).astype(float)


def test_literals_on_an_edge_fall_where_the_linspace_edges_put_them() -> None:
    literal = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    assert cal.bin_index(literal).tolist() == [1, 2, 2, 4, 5, 5, 6, 8, 9, 9]
    assert cal.bin_index([0.1 * k for k in range(10)]).tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]


@pytest.mark.parametrize("n_bins", [1, 2, 7, 10, 15, 63, 64, 65, 100, 1000])
def test_every_number_of_bins_agrees_with_a_search_among_the_edges(n_bins: int) -> None:
    rng = np.random.default_rng(n_bins)
    edges = np.linspace(0, 1, n_bins + 1)
    near = np.concatenate([edges, np.nextafter(edges[1:], 0), np.nextafter(edges[:-1], 1), rng.random(500)])
    expected = np.minimum(np.searchsorted(edges, near, side="right") - 1, n_bins - 1)
    assert (cal.bin_index(near, n_bins) == expected).all()


@pytest.mark.parametrize("n", [1, 59, CHUNK, CHUNK + 1, 3 * CHUNK - 5])
def test_the_chunked_ece_is_the_lab_loop(n: int) -> None:
    c, y = calibrated(n, seed=n)
    c[: n // 2] = np.round(c[: n // 2], 1)
    assert cal.ece(c, y) == pytest.approx(lab_ece(c, y), abs=1e-12)
    assert cal.ece(c, y, 15) == pytest.approx(lab_ece(c, y, 15), abs=1e-12)


def test_labels_may_be_booleans_and_lists() -> None:
    assert cal.ece([0.9, 0.8], [True, False]) == cal.ece(np.array([0.9, 0.8]), np.array([1, 0]))


def test_a_rounding_unit_above_one_is_clipped_and_told() -> None:
    above = float(np.nextafter(1.0, 2.0))
    with pytest.warns(UserWarning, match="STAT023"):
        assert cal.ece([above, 0.5], [1, 0]) == 0.25
    assert "STAT023" in ids(cal.ece_estimate([above, 0.5], [1, 0]))
    assert "STAT023" in ids(cal.brier_estimate([above, 0.5], [1, 0]))


def test_empty_bins_are_in_the_diagram_without_a_mean() -> None:
    found = cal.reliability([0.05, 0.97, 1.0], [0, 1, 1])
    assert [one.count for one in found.bins] == [1, 0, 0, 0, 0, 0, 0, 0, 0, 2]
    assert found.bins[4].confidence is None
    assert found.bins[4].accuracy is None
    assert (found.bins[4].lo, found.bins[4].hi) == (0.4, 0.5)
    assert found.min_bin_count == 0
    assert found.ece == pytest.approx(cal.ece([0.05, 0.97, 1.0], [0, 1, 1]))


def test_equal_mass_bins_cut_through_ties_the_same_in_every_row_order() -> None:
    c, y = np.array([0.5] * 6 + [0.9] * 4), np.array([1, 0, 1, 0, 0, 1, 1, 1, 0, 1])
    order = np.random.default_rng(1).permutation(10)
    assert cal.ece_equal_mass(c, y, 3) == pytest.approx(cal.ece_equal_mass(c[order], y[order], 3), abs=1e-15)


def test_the_errors_order_as_their_definitions_do() -> None:
    c, y = calibrated(400, seed=3)
    assert cal.ece(c, y) <= cal.rmsce(c, y) <= cal.mce(c, y)
    debiased = cal.debiased_rmsce(c, y)
    assert debiased is not None
    assert debiased < cal.rmsce(c, y)


def test_the_debiased_error_is_undefined_when_every_bin_holds_one_row() -> None:
    found = cal.debiased_l2_squared([0.05, 0.15, 0.95], [0, 0, 1])
    assert found == Estimate(None, 3, note="no bin holds two rows, so its noise cannot be told from its gap")
    assert cal.debiased_rmsce([0.05, 0.15, 0.95], [0, 0, 1]) is None


def test_the_debiased_error_averages_zero_on_a_calibrated_model() -> None:
    draws = [cal.debiased_l2_squared(*calibrated(200, seed)).value for seed in range(200)]
    assert abs(np.mean(draws)) < 4 * np.std(draws) / math.sqrt(200)


def test_the_expected_error_of_a_perfect_model_matches_simulation() -> None:
    c, _ = calibrated(200, seed=8)
    rng = np.random.default_rng(2)
    simulated = np.mean([cal.ece(c, rng.random(200) < c) for _ in range(2000)])
    expected = cal.ece_estimate(c, np.zeros(200)).also["expected_if_calibrated"]
    assert expected == pytest.approx(simulated, rel=0.05)


def test_a_perfect_model_is_not_called_miscalibrated() -> None:
    found = cal.ece_estimate(*calibrated(60, seed=4))
    assert found.lo == 0.0
    assert {"STAT003", "STAT004"} <= ids(found)
    assert found.also["p_calibrated"] > 0.05


def test_an_overconfident_model_has_an_interval_above_zero() -> None:
    found = cal.ece_estimate(np.full(400, 0.95), np.repeat([1, 0], 200))
    assert found.value == pytest.approx(0.45)
    assert found.lo > 0.35
    assert found.hi < 0.55
    assert "STAT003" not in ids(found)


def test_all_right_at_full_confidence_is_not_certainty() -> None:
    found = cal.ece_estimate(np.ones(20), np.ones(20))
    assert found.value == 0.0
    assert found.hi > 0.03


def test_rows_on_edges_are_counted_and_the_conventions_spread_told() -> None:
    c = np.repeat([0.3, 0.6, 0.7], 20)
    y = np.tile([1, 0, 0, 1, 1], 12)
    found = cal.ece_estimate(c, y)
    assert found.also["edge_rows"] == 60
    assert found.also["edge_lo"] <= found.value <= found.also["edge_hi"]
    assert "STAT005" in ids(found)
    assert "STAT005" not in ids(cal.ece_estimate(c + 0.03, y))


def test_the_same_rows_give_the_same_interval() -> None:
    c, y = calibrated(300, seed=6)
    assert cal.ece_estimate(c, y) == cal.ece_estimate(c, y)


def test_large_samples_take_the_normal_path_to_the_same_answer() -> None:
    c, y = calibrated(3000, seed=7)
    found = cal.ece_estimate(c, y)
    assert found.also["q95_if_calibrated"] == pytest.approx(1.5 * found.also["expected_if_calibrated"], rel=0.25)
    assert found.lo <= found.value <= found.hi


def test_one_item_gives_no_interval() -> None:
    found = cal.ece_estimate([0.9, 0.8, 0.7], [1, 1, 0], clusters=["a", "a", "a"])
    assert found.value is not None
    assert (found.lo, found.hi) == (None, None)
    assert "one cluster" in found.note


def test_the_three_brier_scales_are_kept_apart() -> None:
    probs, labels = [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1]], [0, 2]
    total = cal.brier_multiclass_sum(probs, labels)
    assert total == pytest.approx(((0.09 + 0.04 + 0.01) + (0.01 + 0.64 + 0.81)) / 2)
    assert cal.brier_multiclass(probs, labels) == pytest.approx(total / 3)
    assert cal.brier_multiclass_half(probs, labels) == pytest.approx(total / 2)


def test_brier_of_no_spread_gets_a_bound_and_not_a_point() -> None:
    found = cal.brier_estimate(np.ones(20), np.ones(20))
    assert (found.value, found.lo) == (0.0, 0.0)
    assert found.hi == pytest.approx(wilson_bounds(0.0, 20.0, 1.959963984540054)[1])


def test_brier_with_repeated_items_is_wider() -> None:
    c, y = calibrated(200, seed=11)
    alone = cal.brier_estimate(c, y)
    repeated = cal.brier_estimate(np.repeat(c, 3), np.repeat(y, 3), clusters=np.repeat(np.arange(200), 3))
    assert repeated.hi - repeated.lo == pytest.approx(alone.hi - alone.lo, rel=0.02)
    assert repeated.also["n_clusters"] == 200


def test_murphy_and_corp_add_up_to_the_score() -> None:
    c, y = calibrated(300, seed=12)
    c = np.round(c, 1)
    corp, murphy = cal.brier_corp(c, y), cal.brier_murphy(c, y)
    assert corp.mcb - corp.dsc + corp.unc == pytest.approx(corp.score, abs=1e-12)
    assert murphy.reliability - murphy.resolution + murphy.uncertainty == pytest.approx(murphy.brier, abs=1e-12)
    assert corp.mcb <= murphy.reliability + 1e-12


def test_skill_is_undefined_when_every_answer_is_right() -> None:
    assert cal.brier_skill([0.9, 0.8], [1, 1]).value is None


def test_skill_of_the_base_rate_is_zero_and_its_interval_covers_it() -> None:
    found = cal.brier_skill(np.full(40, 0.75), np.tile([1, 1, 1, 0], 10))
    assert found.value == pytest.approx(0.0)
    better = cal.brier_skill(*calibrated(500, seed=13))
    assert better.lo < better.value < better.hi


def test_spiegelhalter_is_two_sided() -> None:
    over = cal.spiegelhalter(np.full(200, 0.9), np.repeat([1, 0], 100))
    under = cal.spiegelhalter(np.full(200, 0.6), np.ones(200))
    assert over.value > 3
    assert under.value < -3
    assert over.also["p"] < 0.01
    assert under.also["p"] < 0.01


def test_spiegelhalter_agrees_with_its_formula() -> None:
    found = cal.spiegelhalter([0.9, 0.8, 0.3], [1, 0, 0])
    top = 0.1 * -0.8 + -0.8 * -0.6 + -0.3 * 0.4
    bottom = 0.64 * 0.09 + 0.36 * 0.16 + 0.16 * 0.21
    assert found.value == pytest.approx(top / math.sqrt(bottom))


def test_spiegelhalter_is_undefined_without_variance() -> None:
    found = cal.spiegelhalter([0.5, 0.5, 1.0], [1, 0, 1])
    assert found.value is None
    assert found.also["p"] is None


def test_mixed_candidate_sets_are_split_and_the_pooled_value_flagged() -> None:
    c, y = calibrated(120, seed=14)
    sizes = np.repeat([2, 4], 60)
    found = cal.ece_by_choices(c, y, sizes)
    assert set(found.by_size) == {2, 4}
    assert found.by_size[4].n == 60
    assert found.by_size[4].value == pytest.approx(cal.ece(c[60:], y[60:]))
    assert "STAT017" in ids(found.pooled)
    assert "STAT017" not in ids(cal.ece_by_choices(c, y, np.full(120, 3)).pooled)


def test_a_guess_has_no_confidence_above_chance() -> None:
    assert cal.above_chance([0.25, 1.0, 0.625], [4, 4, 4]).tolist() == [0.0, 1.0, 0.5]


def test_a_calibrated_model_stays_calibrated_above_chance() -> None:
    c = np.repeat([0.5, 0.75], 40)
    y = np.concatenate([np.tile([1, 0], 20), np.tile([1, 1, 1, 0], 10)])
    assert cal.ece_above_chance(c, y, np.full(80, 2)) == pytest.approx(0.0, abs=1e-12)


def test_an_adversarial_probe_in_the_core_set_is_an_error() -> None:
    cal.refuse_adversarial(["core", "core"])


def test_smooth_ece_of_one_confidence_is_its_gap() -> None:
    assert cal.smooth_ece(np.full(1000, 0.5), np.repeat([1, 0], [900, 100])) == pytest.approx(0.4, rel=0.05)
    assert cal.smooth_ece(np.full(1000, 0.5), np.repeat([1, 0], 500)) < 0.01


SIX = [row // 6 for row in range(120)]


def test_twenty_items_that_are_right_six_times_each_do_not_refute_calibration() -> None:
    found = cal.ece_estimate([0.95] * 120, [1] * 120, clusters=SIX)
    assert found.value == pytest.approx(0.05)
    assert found.also["p_calibrated"] > 0.3, "a calibrated model whose repeats agree shows it with probability 0.36"
    assert found.lo == 0.0
    assert found.hi > 0.1


def test_the_exact_and_the_normal_null_of_clustered_ece_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    from perpend.stats import dependent

    rng = np.random.default_rng(4)
    c, items = rng.beta(8, 2, 900), np.repeat(np.arange(150), 6)
    y = (np.repeat(rng.random(150), 6) < c).astype(float)
    drawn = cal.ece_estimate(c, y, clusters=items)
    monkeypatch.setattr(dependent, "_EXACT_ROWS", 10)
    monkeypatch.setattr(dependent, "_DRAWN_ITEMS", 10)
    normal = cal.ece_estimate(c, y, clusters=items)
    assert normal.hi == pytest.approx(drawn.hi, rel=0.1)
    assert normal.also["q95_if_calibrated"] == pytest.approx(drawn.also["q95_if_calibrated"], rel=0.1)


def test_one_item_has_no_spiegelhalter_test() -> None:
    found = cal.spiegelhalter([0.9, 0.8, 0.7], [1, 1, 0], clusters=["a"] * 3)
    assert found.value is None
    assert "one item" in found.note


def test_a_squared_gap_has_an_interval_of_squares() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        c = rng.beta(8, 2, 60)
        found = cal.debiased_l2_squared(c, (rng.random(60) < c).astype(float))
        assert found.lo >= 0.0
        assert found.hi > found.lo


def test_top_label_ece_is_that_of_the_most_probable_class() -> None:
    probs = [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4]]
    assert ece_top_label(probs, [0, 0, 2]) == pytest.approx((0.3 + 0.8 + 0.6) / 3)


def test_single_precision_does_not_hide_that_confidences_lie_on_edges() -> None:
    c = np.array([0.1, 0.3, 0.6, 0.7, 0.9] * 8)
    y = np.tile([0, 0, 1, 1, 1], 8)
    for given in (c, c.astype(np.float32)):
        assert "STAT005" in {caution.id for caution in cal.ece_estimate(given, y).cautions}


def test_a_constant_brier_score_has_an_interval_and_says_why_it_is_no_students() -> None:
    found = cal.brier_estimate([0.8] * 5, [1] * 5)
    assert found.lo is not None
    assert "no interval" not in found.note


def test_rows_on_bin_edges_say_how_far_ece_would_move() -> None:
    """0.5 lies on an edge of ten bins: it may be counted with 0.55, as it is, or with 0.45."""
    estimate = cal.ece_estimate([0.45, 0.5, 0.55], [0, 1, 0])
    assert estimate.also["edge_rows"] == 1
    assert estimate.value == pytest.approx((0.45 + abs(0.55 - 0.5)) / 3)
    assert estimate.also["edge_lo"] == pytest.approx(estimate.value)
    assert estimate.also["edge_hi"] == pytest.approx((abs(0.45 - 0.5) + 0.55) / 3)


def test_repeated_items_are_compared_with_a_calibrated_model_that_repeats_them_too() -> None:
    """Sixty items, ten answers each, all alike: there are sixty signs to flip, and not six hundred."""
    items = np.repeat(np.arange(60), 10)
    wrong = cal.ece_estimate(np.full(600, 0.9), items % 2, clusters=items.tolist())
    assert wrong.value == pytest.approx(0.4)
    assert wrong.also["p_calibrated"] == pytest.approx(1 / 1001)
    fair = cal.ece_estimate(np.full(600, 0.5), items % 2, clusters=items.tolist())
    # Half of |the mean of 60 signs|: normal, so that its 95th percentile is 1.96 / 2 / sqrt(60).
    assert fair.also["q95_if_calibrated"] == pytest.approx(0.98 / math.sqrt(60), rel=0.1)


def test_neighbours_that_err_in_opposite_ways_cancel_in_smooth_ece() -> None:
    """0.45 always right, 0.55 always wrong: the width sigma solves sigma = 0.55 erf(0.05 / (sigma sqrt 2))."""
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if 0.55 * math.erf(0.05 / (middle * math.sqrt(2))) > middle else (low, middle)
    assert cal.smooth_ece([0.45, 0.55] * 50, [1, 0] * 50) == pytest.approx(low, rel=0.01)
