"""A judge against labels: sensitivity, specificity, precision and npv, by group, whatever the labels were drawn by."""

from __future__ import annotations

import numpy as np
import pytest

from perpend import stats
from perpend.stats import JudgedTrials
from perpend.stats.shares import share


def judged(tp: int, fn: int, fp: int, tn: int, unlabelled: tuple[int, int] = (0, 0)) -> JudgedTrials:
    """Labelled trials by cell, and trials without a label where the judge said 1 and 0."""
    said = [1] * tp + [0] * fn + [1] * fp + [0] * tn + [1] * unlabelled[0] + [0] * unlabelled[1]
    return JudgedTrials(said, [1] * (tp + fn) + [0] * (fp + tn) + [None] * sum(unlabelled))


def drawn_by_verdict(repeat: int = 1) -> JudgedTrials:
    """1,000 trials, said 1: 200 of which 160 are right; said 0: 800 of which 40 are 1. 50 of each are labelled."""
    said = np.repeat([1.0] * 200 + [0.0] * 800, repeat)
    truth = np.repeat([1.0] * 160 + [0.0] * 40 + [1.0] * 40 + [0.0] * 760, repeat)
    read = np.repeat(np.concatenate([np.arange(200) % 4 == 0, np.arange(800) % 16 == 0]), repeat)
    # The shares among the labelled are those of all: 40 of 50, and 40 / 16 of 50.
    inclusion = np.where(said == 1.0, 0.25, 0.0625)
    clusters = np.repeat(np.arange(1000), repeat)
    return JudgedTrials(said, np.where(read, truth, np.nan), clusters, inclusion)


def test_labels_drawn_at_random_give_plain_shares_with_wilson() -> None:
    one = judged(40, 10, 5, 95, unlabelled=(30, 70))
    for estimate, k, n in (
        (stats.sensitivity(one), 40, 50),
        (stats.specificity(one), 95, 100),
        (stats.precision(one), 40, 45),
        (stats.judge_rates(one)["all"]["npv"], 95, 105),
    ):
        plain = stats.wilson(k, n)
        assert (estimate.value, estimate.lo, estimate.hi, estimate.n) == (plain.value, plain.lo, plain.hi, n)
        assert (estimate.also["labels"], estimate.also["undecided"], estimate.method) == (150, 0, "Wilson")


def test_labels_drawn_by_verdict_give_the_sensitivity_of_all_trials() -> None:
    one = drawn_by_verdict()
    missed = float(np.nansum(np.asarray(one.labels)[200:])) / 50  # of the trials where the judge said 0
    truth = 0.2 * 0.8 / (0.2 * 0.8 + 0.8 * missed)
    estimate = stats.sensitivity(one)
    assert estimate.value == pytest.approx(truth)
    assert estimate.lo < truth < estimate.hi
    assert stats.specificity(one).value == pytest.approx(0.8 * (1 - missed) / (0.8 * (1 - missed) + 0.2 * 0.2))
    assert stats.precision(one).value == pytest.approx(0.8)
    naive = stats.sensitivity(JudgedTrials(one.verdicts, one.labels, one.clusters)).value
    assert naive > truth + 0.1  # where the judge said 1, four times as many were read


def test_weights_that_differ_within_a_verdict_count() -> None:
    one = JudgedTrials([1] * 6, [1, 1, 1, 0, 0, None], None, [0.1, 0.1, 0.1, 0.5, 0.5, None])
    assert stats.precision(one).value == pytest.approx(30 / 34)
    assert stats.precision(one).also["n_effective"] < 4


@pytest.mark.parametrize(("name", "label"), [("sensitivity", 1), ("specificity", 0)])
def test_the_interval_of_all_trials_is_that_of_drawing_the_shares_it_is_made_of(name: str, label: int) -> None:
    """Precision 66 of 75 and 1 - npv 6 of 75, each drawn from its beta distribution, at 200 of 1,000 said 1."""
    said = [1] * 200 + [0] * 800
    labels = [1] * 66 + [0] * 9 + [None] * 125 + [1] * 6 + [0] * 69 + [None] * 725
    estimate = getattr(stats, name)(JudgedTrials(said, labels, None, np.where(said, 75 / 200, 75 / 800)))
    rng = np.random.default_rng(0)
    p1, p0, q = (rng.beta(k + 1 / 3, n - k + 1 / 3, 200_000) for k, n in ((66, 75), (6, 75), (200, 1000)))
    one, zero = (p1, p0) if label else (1 - p1, 1 - p0)
    share = q * one / (q * one + (1 - q) * zero)
    drawn = np.quantile(share if label else 1 - share, [0.025, 0.975])
    assert (estimate.lo, estimate.hi) == pytest.approx(tuple(drawn), abs=0.025)


def test_the_standard_error_of_a_share_is_that_of_the_clustered_mean() -> None:
    rng = np.random.default_rng(1)
    column, items = (rng.random(60) < 0.4).astype(float), np.repeat(np.arange(12), 5)
    part = share(column, np.full(60, 3.0), items, 12, 0.95)
    assert (part.value, part.se) == pytest.approx((column.mean(), stats.mean(column, items).also["se"]))


def test_a_share_of_rows_that_agree_is_worth_its_items() -> None:
    ones, items = np.ones(60), np.repeat(np.arange(12), 5)
    repeated, once = share(ones, ones, items, 12, 0.95), share(ones[:12], ones[:12], np.arange(12), 12, 0.95)
    assert repeated.n_effective == once.n_effective == 12
    assert repeated.lo <= once.lo < 0.9
    assert (share(ones, ones, np.zeros(60, dtype=np.int64), 1, 0.95).n_effective, repeated.value) == (1, 1)


def test_a_judge_that_cannot_decide_is_left_out_and_counted() -> None:
    estimate = stats.sensitivity(JudgedTrials([1, None, 0, 1, None], [1, 1, 1, 0, 0]))
    assert (estimate.value, estimate.n, estimate.also["undecided"]) == (0.5, 2, 2)


def test_what_no_label_tells_is_undefined() -> None:
    only_negative = judged(0, 0, 3, 7)
    estimate = stats.sensitivity(only_negative)
    assert (estimate.value, estimate.n, estimate.note) == (None, 0, "no trial with label 1")
    assert [c.id for c in estimate.cautions] == ["STAT007"]
    assert (
        stats.judge_rates(JudgedTrials([1, 1], [1, 0]))["all"]["npv"].note == "no trial labelled where the judge said 0"
    )
    half = JudgedTrials([1, 1, 1, 0], [1, 1, 0, None], None, [0.5, 0.2, 0.5, None])
    assert stats.sensitivity(half).value is None
    assert stats.sensitivity(half).note.startswith("no label where the judge said 0")


def test_few_labels_are_flagged() -> None:
    assert [c.id for c in stats.sensitivity(judged(20, 9, 0, 40)).cautions] == ["STAT014"]
    assert [c.id for c in stats.sensitivity(judged(20, 10, 0, 40)).cautions] == []


@pytest.mark.parametrize("name", ["sensitivity", "specificity", "precision", "npv"])
def test_identical_repeats_are_worth_one_trial(name: str) -> None:
    once, four = (stats.judge_rates(drawn_by_verdict(repeat))["all"][name] for repeat in (1, 4))
    assert four.value == pytest.approx(once.value)
    assert four.hi - four.lo == pytest.approx(once.hi - once.lo, rel=0.05)


def test_rates_by_group_are_those_of_the_group_alone() -> None:
    one, other = judged(40, 10, 5, 95), judged(20, 20, 30, 30)
    groups = [("m", "control")] * 150 + [("m", "pressure")] * 100
    by_group = stats.judge_rates(JudgedTrials([*one.verdicts, *other.verdicts], [*one.labels, *other.labels]), groups)
    assert list(by_group) == [("m", "control"), ("m", "pressure")]
    assert by_group["m", "pressure"]["sensitivity"].value == 0.5
    alone = stats.judge_rates(one)["all"]
    assert list(alone) == ["sensitivity", "specificity", "precision", "npv", "agreement", "kappa", "ac1"]
    for name, estimate in alone.items():
        assert by_group["m", "control"][name].value == estimate.value, name
        assert by_group["m", "control"][name].lo == pytest.approx(estimate.lo), name
    assert alone["kappa"].value == stats.kappa([one.verdicts, one.labels]).value
    unread = stats.judge_rates(JudgedTrials([1, 0], [None, None]))["all"]
    assert all(estimate.value is None for estimate in unread.values())
