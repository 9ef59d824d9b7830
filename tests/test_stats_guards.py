"""What statistics refuse, what they say where nothing can be computed, and the companions beside a number."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from perpend.errors import DataError
from perpend.stats import gate, pairs
from perpend.stats.binary import binary_metrics
from perpend.stats.brier import brier_estimate, spiegelhalter
from perpend.stats.calibration import ece_estimate
from perpend.stats.calibration_error import debiased_l2_squared, smooth_ece
from perpend.stats.cells import Cells, Column, collapse, factor
from perpend.stats.classification import mover
from perpend.stats.recalibrate import fit_temperature_logits
from perpend.stats.regression import fit_logit, odds_ratio
from perpend.types import Estimate


@pytest.mark.parametrize("compute", [brier_estimate, spiegelhalter, ece_estimate])
def test_one_confidence_is_not_stretched_over_many_answers(compute: object) -> None:
    """numpy would: a column of one row goes with every row of another."""
    with pytest.raises(DataError, match="lengths differ"):
        compute([0.5], [1, 0, 1])  # type: ignore[operator]
    with pytest.raises(DataError, match="lengths differ"):
        compute([0.5, 0.6], [1, 0, 1])  # type: ignore[operator]


def test_one_size_is_not_stretched_over_many_items() -> None:
    with pytest.raises(DataError, match="lengths differ"):
        pairs.cluster_mcnemar([1, 2, -1], [2])


def test_a_factor_without_rows_and_a_column_without_levels_are_refused() -> None:
    with pytest.raises(DataError, match="variant: is empty; give one level per row"):
        factor("variant", [])
    with pytest.raises(DataError, match="variant: has no levels; name at least one"):
        collapse([1, 0], [Column("variant", (), np.zeros(2, dtype=np.int64))])


@pytest.mark.parametrize(
    ("refused", "sentence"),
    [
        (
            lambda: gate.probability_rows("probs", [[2.0, -1.0]]),
            "a probability lies in [0, 1]; apply softmax to logits first",
        ),
        (
            lambda: fit_temperature_logits([1.0, 2.0, -1.0], [1, 1, 0], ["a", "b", "c"]),
            "so the temperature runs to 0; fit on more rows",
        ),
    ],
)
def test_a_refusal_ends_in_what_to_do(refused: object, sentence: str) -> None:
    with pytest.raises(DataError, match=re.escape(sentence) + "$"):
        refused()  # type: ignore[operator]


def test_bins_of_one_row_say_why_their_gap_is_undefined() -> None:
    assert debiased_l2_squared([0.05, 0.55, 0.95], [0, 1, 1]) == Estimate(
        None, 3, note="no bin holds two rows, so its noise cannot be told from its gap"
    )


def test_rows_on_bin_edges_say_how_far_ece_would_move() -> None:
    """0.5 lies on an edge of ten bins: it may be counted with 0.55, as it is, or with 0.45."""
    estimate = ece_estimate([0.45, 0.5, 0.55], [0, 1, 0])
    assert estimate.also["edge_rows"] == 1
    assert estimate.value == pytest.approx((0.45 + abs(0.55 - 0.5)) / 3)
    assert estimate.also["edge_lo"] == pytest.approx(estimate.value)
    assert estimate.also["edge_hi"] == pytest.approx((abs(0.45 - 0.5) + 0.55) / 3)


def test_two_classes_of_which_one_has_no_interval_have_none_together() -> None:
    positive = Estimate(0.75, 8, 0.4, 0.9, "Wilson")
    negative = Estimate(0.5, 4, note="no interval: all 4 rows belong to one cluster")
    joined = mover(positive, negative, 0.0)
    assert (joined.value, joined.n, joined.lo, joined.hi) == (0.625, 12, None, None)
    assert joined.note == "no interval: all 4 rows belong to one cluster"
    assert joined.also == {"tpr": 0.75, "tnr": 0.5, "n_positive": 8, "n_negative": 4, "prevalence": 8 / 12}


def test_one_cluster_gives_balanced_accuracy_without_an_interval() -> None:
    metrics = binary_metrics([1, 1, 0, 0], [1, 0, 0, 0], ["one"] * 4)
    assert metrics["balanced_accuracy"].value == 0.75
    assert metrics["balanced_accuracy"].lo is None


def test_an_odds_ratio_has_the_interval_of_independent_rows_beside_it() -> None:
    variant = ["a"] * 60 + ["b"] * 60
    outcome = [n % 3 == 0 for n in range(60)] + [n % 2 == 0 for n in range(60)]
    cells = collapse(outcome, [factor("variant", variant)], items=[str(n % 20) for n in range(120)])
    ratio = odds_ratio(cells, fit_logit(cells, ["variant"]), "variant[b]")
    beta, plain = math.log(2.0), math.sqrt(1 / 20 + 1 / 40 + 1 / 30 + 1 / 30)
    assert ratio.value == pytest.approx(2.0)
    assert ratio.also["se_independent"] == pytest.approx(plain)
    assert ratio.also["lo_independent"] == pytest.approx(math.exp(beta - 1.959963984540054 * plain))
    assert ratio.also["hi_independent"] == pytest.approx(math.exp(beta + 1.959963984540054 * plain))


def test_an_odds_ratio_that_no_item_contributes_to_has_no_interval_but_its_plain_error() -> None:
    """Each item gives the same share under both variants, so the clustered variance is 0."""
    outcome = [1, 0, 1, 0] * 4
    cells = collapse(outcome, [factor("variant", ["a", "a", "b", "b"] * 4)], items=[str(n // 4) for n in range(16)])
    ratio = odds_ratio(cells, fit_logit(cells, ["variant"]), "variant[b]")
    assert ratio.value == pytest.approx(1.0)
    assert ratio.lo is None
    assert ratio.also["se_independent"] == pytest.approx(1.0)
    assert set(ratio.also) == {"beta", "se", "p", "se_independent", "n_clusters"}


def test_repeated_items_are_compared_with_a_calibrated_model_that_repeats_them_too() -> None:
    """Sixty items, ten answers each, all alike: there are sixty signs to flip, and not six hundred."""
    items = np.repeat(np.arange(60), 10)
    wrong = ece_estimate(np.full(600, 0.9), items % 2, clusters=items.tolist())
    assert wrong.value == pytest.approx(0.4)
    assert wrong.also["p_calibrated"] == pytest.approx(1 / 1001)
    fair = ece_estimate(np.full(600, 0.5), items % 2, clusters=items.tolist())
    # Half of |the mean of 60 signs|: normal, so that its 95th percentile is 1.96 / 2 / sqrt(60).
    assert fair.also["q95_if_calibrated"] == pytest.approx(0.98 / math.sqrt(60), rel=0.1)


def test_neighbours_that_err_in_opposite_ways_cancel_in_smooth_ece() -> None:
    """0.45 always right, 0.55 always wrong: the width sigma solves sigma = 0.55 erf(0.05 / (sigma sqrt 2))."""
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if 0.55 * math.erf(0.05 / (middle * math.sqrt(2))) > middle else (low, middle)
    assert smooth_ece([0.45, 0.55] * 50, [1, 0] * 50) == pytest.approx(low, rel=0.01)


def test_repeats_say_by_how_much_the_naive_error_is_off() -> None:
    caution = gate.items_repeat(90, 10, 9.0, 1.0)
    assert caution.number == pytest.approx(3.0)
    assert "the naive standard error is off by a factor 3.00" in caution.text


def test_a_fit_of_many_rows_ends_at_its_maximum() -> None:
    """The likelihood of 90 million rows is rounded by more than a last step gains; that must not stop the search."""
    rng = np.random.default_rng(1)
    codes = np.array([[a, b] for a in range(3) for b in range(3)])
    for _ in range(100):
        rows = np.full(9, 1e7)
        answers = rng.binomial(10_000_000, rng.uniform(0.05, 0.95, 9)).astype(np.float64)
        cells = Cells(("a", "b"), ((0.0, 1.0, 2.0), (0.0, 1.0, 2.0)), codes, answers, rows)
        coef = fit_logit(cells, ["a", "b"]).coef  # STAT011, where the search stops short of it, is an error
        assert coef is not None
        fitted = rows / (1.0 + np.exp(-(coef[0] + codes @ coef[1:])))
        assert fitted.sum() == pytest.approx(answers.sum(), abs=1e-3)
