"""Rates and differences corrected for a judge's errors: formulas, undefined cases, and a planted truth."""

from __future__ import annotations

import math

import numpy as np
import pytest

from perpend import stats
from perpend.stats import JudgedTrials
from tests.test_stats_judged import drawn_by_verdict, judged


def ids(estimate: stats.Estimate) -> list[str]:
    return [caution.id for caution in estimate.cautions]


def planted(seed: int, n: int = 2000, labels: int = 400, errors: tuple[float, float] = (0.85, 0.1)) -> JudgedTrials:
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < 0.3
    said = np.where(truth, rng.random(n) < errors[0], rng.random(n) < errors[1]).astype(float)
    return JudgedTrials(said, np.where(np.arange(n) < labels, truth.astype(float), np.nan))


def test_rogan_gladen_is_the_formula() -> None:
    one = judged(40, 10, 10, 90, unlabelled=(200, 300))  # sensitivity 0.8, specificity 0.9, says 1 in 250 of 650
    estimate = stats.corrected_rate(one, method="rogan-gladen")
    assert estimate.value == pytest.approx((250 / 650 - 0.1) / 0.7)
    assert estimate.also["raw"] == 250 / 650
    assert estimate.also["labels"] == 150
    assert estimate.lo < estimate.value < estimate.hi


def test_the_interval_of_rogan_gladen_is_that_of_drawing_what_it_is_made_of() -> None:
    estimate = stats.corrected_rate(
        JudgedTrials([1] * 400 + [0] * 600, [None] * 1000), judged(80, 20, 10, 90), method="rogan-gladen"
    )
    rng = np.random.default_rng(0)
    s, a, q = (rng.beta(k + 1 / 3, n - k + 1 / 3, 200_000) for k, n in ((80, 100), (10, 100), (400, 1000)))
    drawn = np.quantile((q - a) / (s - a), [0.025, 0.975])
    assert (estimate.lo, estimate.hi) == pytest.approx(tuple(drawn), abs=0.006)


def test_ppi_is_the_estimator_of_its_paper_with_its_standard_error() -> None:
    """λ·mean(f, unlabelled) + mean(y - λf, labelled), its variance by the paper, for large samples."""
    one = planted(1, n=40_000, labels=4000)
    y, f, other = (np.asarray(x) for x in (one.labels[:4000], one.verdicts[:4000], one.verdicts[4000:]))
    estimate = stats.corrected_rate(one)
    power = estimate.also["power"] / (1 + 4000 / 36_000)  # ours counts the labelled trials among all
    assert power == pytest.approx(np.cov(y, f)[0, 1] / np.var(f, ddof=1) / (1 + 4000 / 36_000), rel=1e-6)
    assert estimate.value == pytest.approx(power * other.mean() + (y - power * f).mean(), abs=1e-12)
    se = math.sqrt(np.var(y - power * f) / 4000 + power**2 * np.var(other) / 36_000)
    assert estimate.also["se"] == pytest.approx(se, rel=5e-3)
    assert estimate.hi - estimate.lo == pytest.approx(2 * 1.96 * se, rel=0.01)


def test_ppi_gives_what_ppi_python_gives() -> None:
    """ppi_python 0.2.3, ppi_mean_ci on 400 labelled and 3,000 other rows of a fixed pattern, its own power."""
    at = np.arange(3400)
    truth, wrong = (at * 7919 % 1000 < 300), (at * 104_729 % 1000 < 120)
    said = np.where(wrong, ~truth, truth).astype(float)
    estimate = stats.corrected_rate(JudgedTrials(said, np.where(at < 400, truth.astype(float), np.nan)))
    assert estimate.value == pytest.approx(0.30430862, abs=5e-5)  # its power takes the variance of all verdicts
    assert (estimate.lo, estimate.hi) == pytest.approx((0.27177381, 0.33684343), abs=1e-3)


def test_labels_drawn_by_verdict_make_both_corrections_one_number() -> None:
    one = drawn_by_verdict()
    ppi, rogan_gladen = stats.corrected_rate(one), stats.corrected_rate(one, method="rogan-gladen")
    s, c = stats.sensitivity(one).value, stats.specificity(one).value
    assert ppi.value == pytest.approx((0.2 + c - 1) / (s + c - 1))
    assert (ppi.value, ppi.lo, ppi.hi) == (rogan_gladen.value, rogan_gladen.lo, rogan_gladen.hi)


def test_more_labels_narrow_the_interval_and_all_labels_give_the_plain_one() -> None:
    widths = [(e := stats.corrected_rate(planted(2, labels=n))).hi - e.lo for n in (60, 250, 1000, 2000)]
    assert widths == sorted(widths, reverse=True)
    every = planted(2, labels=2000)
    plain, corrected = stats.proportion(every.labels), stats.corrected_rate(every)
    assert corrected.value == pytest.approx(plain.value)
    assert (corrected.lo, corrected.hi) == pytest.approx((plain.lo, plain.hi), abs=0.002)


def test_labels_without_an_error_do_not_claim_certainty() -> None:
    estimate = stats.corrected_rate(judged(30, 0, 0, 30, unlabelled=(4000, 36_000)))
    assert estimate.value == pytest.approx(4030 / 40_060)
    assert estimate.lo < 0.095
    assert estimate.hi > 0.15


def test_other_trials_may_calibrate_rogan_gladen_though_their_rate_differs() -> None:
    trials = JudgedTrials([1] * 300 + [0] * 700, [None] * 1000)
    calibration = judged(160, 40, 10, 90)
    estimate = stats.corrected_rate(trials, calibration, method="rogan-gladen")
    assert estimate.value == pytest.approx((0.3 - 0.1) / 0.7)
    assert stats.corrected_rate(trials, calibration).value == pytest.approx(0.3 * 160 / 170 + 0.7 * 40 / 130)
    assert stats.corrected_rate(trials).note == "no label where the judge said 1; label such trials"


def test_a_judge_that_guesses_cannot_be_corrected_by_rogan_gladen() -> None:
    worse = judged(20, 30, 50, 50, unlabelled=(100, 100))
    estimate = stats.corrected_rate(worse, method="rogan-gladen")
    assert estimate.value is None
    assert estimate.note == "sensitivity + specificity is 0.900, not above 1: the verdicts cannot be corrected"
    assert "STAT025" in ids(estimate)
    assert stats.corrected_rate(worse).value == pytest.approx(170 / 350 * 2 / 7 + 180 / 350 * 3 / 8)
    barely = stats.corrected_rate(judged(27, 23, 48, 52, unlabelled=(100, 100)), method="rogan-gladen")
    assert (barely.lo, barely.hi, barely.note) == (0.0, 1.0, "every value fits: the judge may tell nothing")
    assert "STAT025" in ids(barely)
    assert "STAT025" not in ids(stats.corrected_rate(judged(40, 10, 10, 90), method="rogan-gladen"))


def test_what_the_labels_do_not_tell_is_undefined() -> None:
    no_positive = stats.corrected_rate(judged(0, 0, 5, 45, unlabelled=(10, 90)), method="rogan-gladen")
    assert no_positive.value is None
    assert no_positive.note.startswith("the labels do not give the sensitivity")
    assert stats.corrected_rate(JudgedTrials([0] * 9, [0] * 5 + [1] + [None] * 3)).value == pytest.approx(1 / 6)
    misfit = stats.corrected_rate(
        JudgedTrials([0] * 999 + [1], [None] * 1000), judged(80, 20, 50, 50), method="rogan-gladen"
    )
    assert (misfit.value, misfit.lo) == (None, None)
    assert "labels are not of these trials" in misfit.note
    below = stats.corrected_rate(
        JudgedTrials([0] * 92 + [1] * 8, [None] * 100), judged(80, 20, 10, 90), method="rogan-gladen"
    )
    assert (below.value, below.lo, below.note) == (0.0, 0.0, "the formula gives -0.029")


def pair(repeats: int = 1, errors: tuple[float, float] = (0.85, 0.1)) -> tuple[JudgedTrials, JudgedTrials]:
    both = planted(3, n=600, labels=150), planted(4, n=600, labels=150, errors=errors)
    items = np.repeat(np.arange(600), repeats)
    control, pressure = (JudgedTrials(*(np.repeat(x, repeats) for x in (o.verdicts, o.labels)), items) for o in both)
    return control, pressure


@pytest.mark.parametrize("method", ["ppi", "rogan-gladen"])
def test_the_difference_is_that_of_the_corrected_rates(method: str) -> None:
    control, pressure = pair()
    there = stats.corrected_difference(control, pressure, method=method)
    rates = [stats.corrected_rate(one, method=method).value for one in (control, pressure)]
    assert there.value == pytest.approx(rates[1] - rates[0])
    raw = stats.proportion(pressure.verdicts).value - stats.proportion(control.verdicts).value
    assert there.also["raw"] == pytest.approx(raw)
    assert ids(there) == []


@pytest.mark.parametrize("options", [{}, {"method": "rogan-gladen"}, {"method": "rogan-gladen", "pooled": True}])
def test_identical_repeats_are_worth_one_pair(options: dict[str, object]) -> None:
    once, four = (stats.corrected_difference(*pair(repeats), **options) for repeats in (1, 4))
    assert four.value == pytest.approx(once.value)
    assert four.hi - four.lo == pytest.approx(once.hi - once.lo, rel=0.05)
    assert ids(four) == ["STAT001"]


def test_pooled_errors_are_those_of_both_conditions_or_of_other_trials() -> None:
    control, pressure = judged(40, 10, 10, 90), judged(45, 5, 20, 80)
    pooled = stats.corrected_difference(control, pressure, method="rogan-gladen", pooled=True)
    assert pooled.value == pytest.approx((65 - 50) / 150 / (85 / 100 - 30 / 200))
    other = judged(80, 20, 10, 190)
    apart = stats.corrected_difference(control, pressure, method="rogan-gladen", calibration=other)
    assert apart.value == pytest.approx((65 - 50) / 150 / (0.8 - 0.05))
    # With 40,000 trials the raw difference of 0.3 is nearly certain, and only the errors are drawn.
    many = [JudgedTrials([1] * n + [0] * (20_000 - n), [None] * 20_000) for n in (6000, 12_000)]
    skewed = judged(400, 100, 1, 24)
    estimate = stats.corrected_difference(*many, method="rogan-gladen", calibration=skewed)
    rng = np.random.default_rng(0)
    s, a = (rng.beta(k + 1 / 3, n - k + 1 / 3, 200_000) for k, n in ((400, 500), (1, 25)))
    drawn = np.quantile(0.3 / (s - a), [0.025, 0.975])
    assert (estimate.lo, estimate.hi) == pytest.approx(tuple(drawn), abs=0.002)


def test_few_labels_of_a_verdict_are_flagged_with_their_condition() -> None:
    few = stats.corrected_difference(judged(40, 10, 10, 90), judged(20, 10, 5, 115))
    assert ids(few) == ["STAT014"]
    assert few.cautions[0].text.startswith("only 25 rows labelled where the judge said 1 under pressure")
    assert ids(stats.corrected_rate(judged(20, 10, 5, 115))) == ["STAT014"]


def test_items_in_one_condition_only_are_left_out_and_counted() -> None:
    control = JudgedTrials([1, 0, 1, 0, 1, 1], [1, 0, 1, 0, 1, 1], list("abcdef"))
    pressure = JudgedTrials([1, 0, 0, 1, 0], [1, 0, 0, 1, 0], list("abcdx"))
    estimate = stats.corrected_difference(control, pressure)
    assert (estimate.value, estimate.n, estimate.also["items_left_out"]) == (0.0, 8, 3)


def test_a_pair_whose_errors_go_together_has_a_narrower_difference() -> None:
    """The same verdicts in both conditions: what the items add to both rates cancels."""
    control, pressure = pair()[0], pair()[0]
    together = stats.corrected_difference(control, pressure)
    apart = stats.corrected_difference(
        control, JudgedTrials(np.roll(pressure.verdicts, 300), np.roll(pressure.labels, 300), np.arange(600))
    )
    assert together.value == apart.value == 0.0
    assert together.hi - together.lo < 0.1 * (apart.hi - apart.lo)


def test_unequal_errors_are_seen_and_told_beside_the_difference() -> None:
    control, pressure = judged(45, 5, 5, 95), judged(30, 20, 25, 75)
    test = stats.errs_differently(control, pressure)
    assert test.value < 1e-3
    assert (test.also["sensitivity_control"], test.also["sensitivity_pressure"]) == pytest.approx((0.9, 0.6))
    assert (test.also["specificity_control"], test.also["specificity_pressure"]) == pytest.approx((0.95, 0.75))
    assert ids(test) == ["STAT024"]
    assert "sensitivity 0.90 and 0.60, specificity 0.95 and 0.75" in test.cautions[0].text
    corrected = stats.corrected_difference(control, pressure)
    assert "STAT024" in ids(corrected)
    assert corrected.also["p_errs_differently"] == test.value
    same = stats.errs_differently(control, judged(90, 10, 10, 190))
    assert (same.value, ids(same)) == (pytest.approx(1.0, abs=1e-6), [])


def test_the_likelihood_ratio_is_that_of_a_general_optimiser() -> None:
    from scipy.optimize import minimize
    from scipy.stats import f as f_distribution

    cells = {"control": (41, 9, 8, 92, 150, 300), "pressure": (33, 15, 12, 90, 200, 250)}
    counts = []
    for tp, fn, fp, tn, one, zero in cells.values():
        counts.append(((tp + fp + one, tp + fn + fp + tn + one + zero), (tp, tp + fp), (fn, fn + tn)))

    def log_likelihood(p: list[list[float]]) -> float:
        return sum(
            k * math.log(x) + (n - k) * math.log(1 - x)
            for row, xs in zip(counts, p, strict=True)
            for (k, n), x in zip(row, xs, strict=True)
        )

    def lost(logits: np.ndarray) -> float:
        first, second, s, a = 1 / (1 + np.exp(-logits))
        rows = []
        for rate in (first, second):
            q = rate * s + (1 - rate) * a
            rows.append([q, rate * s / q, rate * (1 - s) / (1 - q)])
        return -log_likelihood(rows)

    free = log_likelihood([[k / n for k, n in row] for row in counts])
    fit = minimize(lost, [-0.5, -0.5, 1.0, -2.0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-11})
    ratio = 2 * (free + fit.fun)
    test = stats.errs_differently(*(judged(*c[:4], unlabelled=c[4:]) for c in cells.values()))
    assert test.also["likelihood_ratio"] == pytest.approx(ratio, rel=1e-5)
    assert test.value == pytest.approx(f_distribution.sf(ratio / 2, 2, 300 - 4), rel=1e-5)


def test_a_test_without_enough_cells_is_undefined() -> None:
    none = stats.errs_differently(judged(5, 5, 5, 5), JudgedTrials([1, 0], [None, None]))
    assert (none.value, none.lo) == (None, None)
    assert none.note.startswith("too few cells have labels")
    assert stats.errs_differently(judged(5, 5, 5, 5), judged(5, 0, 5, 0)).also["df"] == 1
