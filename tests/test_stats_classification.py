"""Two classes and an invalid state: values, intervals, and every way to be undefined."""

from __future__ import annotations

import math

import numpy as np
import pytest

from perpend import stats
from perpend.stats import Confusion
from perpend.stats.classification import mover
from perpend.types import Estimate


def ids(estimate: Estimate) -> list[str]:
    return [caution.id for caution in estimate.cautions]


def rows(seed: int = 1, n: int = 240) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gold, predictions with some invalid, and items of four rows with one gold label each."""
    rng = np.random.default_rng(seed)
    items = np.repeat(np.arange(n // 4), 4)
    gold = np.repeat(rng.integers(0, 2, n // 4), 4).astype(float)
    skill = rng.beta(3, 1, n // 4)[items]
    predicted = np.where(rng.random(n) < skill, gold, 1 - gold)
    predicted[rng.random(n) < 0.02] = math.nan
    return gold, predicted, items


def test_counts_and_rows_give_the_same_metrics() -> None:
    gold, predicted, _ = rows()
    assert stats.binary_metrics(gold, predicted) == stats.confusion_metrics(stats.confusion(gold, predicted))


def test_none_and_nan_are_both_an_invalid_answer() -> None:
    counts = stats.confusion([1, 1, 0, 0], [1, None, 0, None])
    assert counts == stats.confusion([1, 1, 0, 0], [1, math.nan, 0, math.nan])
    assert counts == Confusion(tp=1, fn=0, fp=0, tn=1, invalid=2, invalid_positive=1)


def test_values_are_those_of_scikit_learn() -> None:
    from sklearn.metrics import balanced_accuracy_score, matthews_corrcoef

    gold, predicted, _ = rows()
    valid = ~np.isnan(predicted)
    found = stats.binary_metrics(gold, predicted)
    assert found["balanced_accuracy"].value == pytest.approx(balanced_accuracy_score(gold[valid], predicted[valid]))
    assert found["mcc"].value == pytest.approx(matthews_corrcoef(gold[valid], predicted[valid]))
    assert found["coverage"].value == valid.mean()


def test_an_invalid_answer_is_left_out_of_valid_accuracy_and_wrong_in_effective_accuracy() -> None:
    counts = Confusion(tp=40, fn=10, fp=10, tn=30, invalid=10, invalid_positive=0)
    found = stats.confusion_metrics(counts)
    assert found["accuracy_valid"].value == 70 / 90
    assert found["accuracy_effective"].value == 70 / 100
    assert found["coverage"].value == 0.9
    assert found["balanced_accuracy_effective"].value == (0.8 + 0.6) / 2


def test_the_bounds_are_all_invalid_wrong_and_all_invalid_right() -> None:
    found = stats.confusion_metrics(Confusion(tp=40, fn=10, fp=10, tn=30, invalid=10))["accuracy_bounds"]
    assert (found.lo, found.hi) == (0.7, 0.8)
    assert found.also["lo_ci"] < 0.7
    assert found.also["hi_ci"] > 0.8


def test_more_than_five_percent_invalid_is_flagged_with_the_bounds() -> None:
    assert ids(stats.confusion_metrics(Confusion(40, 10, 10, 35, invalid=5))["accuracy_valid"]) == []
    found = stats.confusion_metrics(Confusion(40, 10, 10, 34, invalid=6))["accuracy_valid"]
    assert ids(found) == ["STAT009"]
    assert "0.7400 and 0.8000" in found.cautions[0].text


def test_an_absent_class_makes_its_rate_and_balanced_accuracy_undefined() -> None:
    found = stats.confusion_metrics(Confusion(tp=30, fn=5, fp=0, tn=0))
    assert found["tnr"].value is None
    assert found["balanced_accuracy"].value is None
    assert ids(found["tnr"]) == ids(found["balanced_accuracy"]) == ["STAT007"]
    assert found["balanced_accuracy"].note == "no valid row of the negative class"
    assert found["tpr"].value == 30 / 35


def test_a_constant_answer_makes_mcc_undefined_and_keeps_the_convention_beside_it() -> None:
    found = stats.mcc(Confusion(tp=50, fn=0, fp=50, tn=0))
    assert found.value is None
    assert found.also["by_convention"] == 0.0
    assert ids(found) == ["STAT008"]
    assert found.note == "no valid row is predicted 0"


@pytest.mark.parametrize("counts", [Confusion(0, 0, 0, 0), Confusion(0, 0, 0, 0, invalid=12)])
def test_nothing_valid_is_undefined_everywhere_but_in_coverage(counts: Confusion) -> None:
    found = stats.confusion_metrics(counts)
    for name in ("accuracy_valid", "tpr", "tnr", "balanced_accuracy", "mcc", "bias"):
        assert found[name].value is None
        assert found[name].note
    assert found["coverage"].value == (0.0 if counts.invalid else None)


def test_a_perfect_table_has_an_interval_that_narrows_with_n() -> None:
    small, large = stats.mcc(Confusion(5, 0, 0, 5)), stats.mcc(Confusion(500, 0, 0, 500))
    assert small.value == small.hi == large.hi == 1.0
    assert 0.1 < small.lo < 0.3
    assert 0.9 < large.lo < 1.0
    assert "half a row" in small.note
    assert stats.mcc(Confusion(0, 5, 5, 0)).lo == -1.0


def test_the_smaller_class_sets_the_width_of_balanced_accuracy() -> None:
    rare, even = (
        stats.balanced_accuracy(Confusion(40, 10, 190, 760)),
        stats.balanced_accuracy(Confusion(400, 100, 100, 400)),
    )
    assert rare.value == even.value
    assert rare.hi - rare.lo > 2 * (even.hi - even.lo)


def test_the_run_plans_interval_is_kept_under_a_name_that_says_so_with_the_honest_one_beside_it() -> None:
    counts = Confusion(tp=30, fn=20, fp=40, tn=910)
    found = stats.wilson_on_balanced_accuracy_as_in_the_run_plan(counts)
    assert (found.lo, found.hi) == pytest.approx((0.7521882174396141, 0.803571590984234))
    assert ids(found) == ["STAT002"]
    assert "[0.7095, 0.8412]" in found.cautions[0].text
    assert stats.wilson_on_balanced_accuracy_as_in_the_run_plan(Confusion(1, 0, 0, 0)).value is None


@pytest.mark.parametrize(
    ("counts", "verdict"),
    [
        (Confusion(40, 10, 10, 40), "OK"),
        (Confusion(50, 0, 15, 35), "OK"),  # 0.15 exactly is not above 0.15
        (Confusion(50, 0, 16, 34), "LABEL-BIASED"),
        (Confusion(19, 31, 31, 19), "LABEL-BIASED"),  # no shift, but TPR 0.38
        (Confusion(30, 2, 0, 0), None),
        (Confusion(20, 12, 0, 0), "LABEL-BIASED"),
    ],
)
def test_the_bias_verdict_follows_the_published_rule(counts: Confusion, verdict: str | None) -> None:
    assert stats.confusion_metrics(counts)["bias"].also["verdict"] == verdict


def test_the_bias_score_is_the_shift_in_how_often_one_is_said() -> None:
    found = stats.confusion_metrics(Confusion(tp=1569, fp=540, tn=1962, fn=929))["bias"]
    assert found.value == pytest.approx(abs(2109 / 5000 - 2498 / 5000))
    assert found.also["signed"] == -found.value
    assert found.lo < found.value < found.hi
    assert found.also["dominant_label"] == 0


def test_clusters_change_intervals_and_never_values() -> None:
    gold, predicted, items = rows()
    plain, clustered = stats.binary_metrics(gold, predicted), stats.binary_metrics(gold, predicted, items)
    assert plain.keys() == clustered.keys()
    for name, estimate in plain.items():
        assert clustered[name].value == pytest.approx(estimate.value)
        if name != "accuracy_bounds":
            assert "STAT001" in ids(clustered[name])
    for name in ("accuracy_valid", "balanced_accuracy", "mcc"):
        assert clustered[name].hi - clustered[name].lo > plain[name].hi - plain[name].lo


def test_clusters_that_hold_both_classes_are_correlated_in_balanced_accuracy() -> None:
    gold = np.tile([1.0, 0.0], 60)
    skill = np.repeat(np.random.default_rng(2).random(60) < 0.5, 2)
    both_right_or_both_wrong = np.where(skill, gold, 1 - gold)
    pair = stats.binary_metrics(gold, both_right_or_both_wrong, np.repeat(np.arange(60), 2))["balanced_accuracy"]
    apart = stats.binary_metrics(gold, both_right_or_both_wrong)["balanced_accuracy"]
    assert pair.hi - pair.lo == pytest.approx(math.sqrt(2) * (apart.hi - apart.lo), rel=0.03)


def test_everything_invalid_in_a_clustered_slice_is_undefined() -> None:
    found = stats.binary_metrics([1, 1, 0, 0], [None] * 4, ["a", "a", "b", "b"])
    assert found["accuracy_valid"].value is None
    assert found["coverage"].value == 0.0


def test_mcc_of_a_table_with_an_empty_cell_claims_no_more_than_fishers_test() -> None:
    found = stats.mcc(stats.Confusion(0, 4, 23, 23))
    assert found.lo < 0.0 < found.hi, "Fisher's exact p is 0.11"
    plenty = stats.mcc(stats.Confusion(50, 40, 30, 80))
    assert (plenty.lo, plenty.hi) == (plenty.also["fisher_lo"], plenty.also["fisher_hi"])


def test_two_classes_of_which_one_has_no_interval_have_none_together() -> None:
    positive = Estimate(0.75, 8, 0.4, 0.9, "Wilson")
    negative = Estimate(0.5, 4, note="no interval: all 4 rows belong to one cluster")
    joined = mover(positive, negative, 0.0)
    assert (joined.value, joined.n, joined.lo, joined.hi) == (0.625, 12, None, None)
    assert joined.note == "no interval: all 4 rows belong to one cluster"
    assert joined.also == {"tpr": 0.75, "tnr": 0.5, "n_positive": 8, "n_negative": 4, "prevalence": 8 / 12}


def test_one_cluster_gives_balanced_accuracy_without_an_interval() -> None:
    metrics = stats.binary_metrics([1, 1, 0, 0], [1, 0, 0, 0], ["one"] * 4)
    assert metrics["balanced_accuracy"].value == 0.75
    assert metrics["balanced_accuracy"].lo is None
