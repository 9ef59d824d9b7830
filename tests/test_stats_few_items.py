"""Few, repeated and unequal items: no certainty that the items do not carry."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from perpend import stats
from perpend.errors import DataError
from perpend.stats import calibration as cal
from perpend.stats import intraclass
from perpend.stats.calibration_error import debiased_l2_squared, ece_top_label
from perpend.stats.cells import collapse, factor
from perpend.stats.regression import clustered_test, fit_logit, odds_ratio
from perpend.stats.selective import risk_at, selective
from perpend.types import Estimate

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


def test_an_odds_ratio_under_separation_counts_items_and_not_their_repeats() -> None:
    y, group, items = [1] * 30 + [1] * 18 + [0] * 12, ["b"] * 30 + ["a"] * 30, [row // 6 for row in range(60)]
    cells = collapse(y, [factor("g", group)], items=items)
    found = odds_ratio(cells, fit_logit(cells, ["g"]), "g[b]")
    assert found.also["p"] > 0.1, "5 of 5 items against 3 of 5"
    assert found.also["design_effect"] > 5
    rows = collapse(y, [factor("g", group)])
    assert odds_ratio(rows, fit_logit(rows, ["g"]), "g[b]").also["p"] < 1e-3


def shares(rng: np.random.Generator, sizes: np.ndarray, rate: float, icc: float) -> tuple[np.ndarray, np.ndarray]:
    items = np.repeat(np.arange(len(sizes)), sizes)
    if icc == 1.0:
        chance = (rng.random(len(sizes)) < rate).astype(float)
    else:
        chance = rng.beta(rate * (1 / icc - 1), (1 - rate) * (1 / icc - 1), len(sizes))
    return (rng.random(len(items)) < chance[items]).astype(float), items


HALF = np.array([174, *[6] * 29])
SPREAD = np.maximum(1, np.round(np.exp(1.5 * np.random.default_rng(5).standard_normal(100)) * 3)).astype(int)


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


def test_mcc_of_a_table_with_an_empty_cell_claims_no_more_than_fishers_test() -> None:
    found = stats.mcc(stats.Confusion(0, 4, 23, 23))
    assert found.lo < 0.0 < found.hi, "Fisher's exact p is 0.11"
    plenty = stats.mcc(stats.Confusion(50, 40, 30, 80))
    assert (plenty.lo, plenty.hi) == (plenty.also["fisher_lo"], plenty.also["fisher_hi"])


def test_a_squared_gap_has_an_interval_of_squares() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        c = rng.beta(8, 2, 60)
        found = debiased_l2_squared(c, (rng.random(60) < c).astype(float))
        assert found.lo >= 0.0
        assert found.hi > found.lo


def test_risk_and_areas_know_of_repeated_items() -> None:
    rng = np.random.default_rng(8)
    c, items = np.repeat(rng.beta(6, 2, 40), 6), np.repeat(np.arange(40), 6)
    y = (np.repeat(rng.random(40), 6) < c).astype(float)
    rows, clustered = selective(c, y), selective(c, y, clusters=items)
    assert clustered.aurc == rows.aurc
    assert clustered.aurc_ends[1] - clustered.aurc_ends[0] > 1.8 * (rows.aurc_ends[1] - rows.aurc_ends[0])
    assert clustered.augrc_ends[0] < clustered.augrc < clustered.augrc_ends[1]
    alone, together = risk_at(c, y, 0.8), risk_at(c, y, 0.8, clusters=items)
    assert together.value == alone.value
    assert together.hi - together.lo > 1.8 * (alone.hi - alone.lo)
    assert risk_at([0.9] * 4, [1, 0, 1, 1], 1.0, clusters=["a"] * 4).lo is None


@pytest.mark.parametrize("digits", [1, 9])
def test_the_influence_terms_of_the_areas_spread_as_a_jackknife_does(digits: int) -> None:
    rng = np.random.default_rng(9)
    c = np.round(rng.beta(6, 2, 300), digits)
    y = (rng.random(300) < c).astype(float)
    left = [selective(np.delete(c, row), np.delete(y, row)) for row in range(300)]
    for name in ("aurc", "augrc"):
        values = np.array([getattr(one, name) for one in left])
        se = np.sqrt(299 / 300 * ((values - values.mean()) ** 2).sum())
        lo, hi = getattr(selective(c, y), f"{name}_ends")
        # Of ties AURC takes the risk at the end of the tie: a little wide.
        assert 0.99 <= (hi - lo) / 2 / 1.968 / se <= (1.15 if digits == 1 else 1.01)


def test_the_item_sandwich_is_the_bias_reduced_one_of_statsmodels() -> None:
    from statsmodels.genmod.cov_struct import Independence
    from statsmodels.genmod.families import Binomial
    from statsmodels.genmod.generalized_estimating_equations import GEE

    rng = np.random.default_rng(5)
    items, level = np.repeat(np.arange(15), 8), np.tile(["a", "b"], 60)
    y = (rng.random(120) < 1 / (1 + np.exp(-rng.standard_normal(15)[items] - 0.5))).astype(float)
    fit = fit_logit(collapse(y, [factor("g", level)], items=items), ["g"])
    x = np.column_stack([np.ones(120), level == "b"]).astype(float)
    theirs = GEE(y, x, groups=items, cov_struct=Independence(), family=Binomial()).fit(cov_type="bias_reduced")
    assert np.sqrt(np.diag(fit.clustered)) == pytest.approx(theirs.bse, rel=1e-5)


def test_the_clustered_test_of_one_coefficient_is_that_of_its_odds_ratio() -> None:
    rng = np.random.default_rng(5)
    items, level = np.repeat(np.arange(15), 8), np.tile(["a", "b"], 60)
    y = (rng.random(120) < 1 / (1 + np.exp(-rng.standard_normal(15)[items] - 0.5))).astype(float)
    cells = collapse(y, [factor("g", level)], items=items)
    assert clustered_test(fit_logit(cells, ["g"]), "g").also["p"] == pytest.approx(
        odds_ratio(cells, fit_logit(cells, ["g"]), "g[b]").also["p"]
    )


def test_top_label_ece_is_that_of_the_most_probable_class() -> None:
    probs = [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4]]
    assert ece_top_label(probs, [0, 0, 2]) == pytest.approx((0.3 + 0.8 + 0.6) / 3)


def test_no_effect_is_said_to_be_detectable_where_no_pair_differs() -> None:
    found = stats.mde_paired(100, 0.0)
    assert found.value is None
    assert "no pair differs" in found.note


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: stats.cluster_mcnemar([1, 2], [0, 3]), "sizes: row 0 is 0.0"),
        (lambda: stats.cluster_mcnemar([1, 2], [-1, 3]), "sizes: row 0 is -1.0"),
        (lambda: stats.cluster_mcnemar([5, 2], [2, 3]), "at least as many as its difference"),
        (lambda: stats.proportion(np.ma.array([1, 0, 1], mask=[0, 1, 0])), "1 values are masked"),
        (lambda: stats.proportion([1, 0], np.ma.array([1, 2], mask=[0, 1])), "1 ids are masked"),
        (lambda: cal.ece([0.5], [1], n_bins=True), "n_bins: is True"),
        (lambda: stats.proportion([1, 0], level="0.95"), "level: is '0.95'"),
        (lambda: stats.excess([1, 0], [1, 0], [1, 0], given=2), "given: is 2"),
    ],
)
def test_what_is_no_number_of_its_kind_is_an_error(call: Callable[[], Estimate], told: str) -> None:
    with pytest.raises(DataError, match=told):
        call()


def test_columns_of_frames_are_clusters() -> None:
    ids = ["a", "a", "b", "b", "c"]
    plain = stats.proportion([1, 0, 1, 1, 0], ids)
    assert stats.proportion([1, 0, 1, 1, 0], pd.Series(ids)) == plain


def test_single_precision_does_not_hide_that_confidences_lie_on_edges() -> None:
    c = np.array([0.1, 0.3, 0.6, 0.7, 0.9] * 8)
    y = np.tile([0, 0, 1, 1, 1], 8)
    for given in (c, c.astype(np.float32)):
        assert "STAT005" in {caution.id for caution in cal.ece_estimate(given, y).cautions}


def test_a_constant_brier_score_has_an_interval_and_says_why_it_is_no_students() -> None:
    found = cal.brier_estimate([0.8] * 5, [1] * 5)
    assert found.lo is not None
    assert "no interval" not in found.note


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


def test_unequal_and_one_sided_items_caution_an_odds_ratio() -> None:
    rng = np.random.default_rng(2)
    sizes = np.array([174, *[6] * 39])
    items = np.repeat(np.arange(40), sizes)
    y, group = (rng.random(len(items)) < 0.6).astype(float), np.where(items % 2, "b", "a").tolist()
    cells = collapse(y, [factor("g", group)], items=items)
    fit = fit_logit(cells, ["g"])
    for estimate in (odds_ratio(cells, fit, "g[b]"), clustered_test(fit, "g")):
        assert [c.id for c in estimate.cautions] == ["STAT022"]
        assert "as good as" in estimate.cautions[0].text
    items = np.repeat(np.arange(40), 6)
    y, group = np.repeat([0.0, 0.0, 0.0] + [1.0] * 37, 6), np.where(items % 2, "b", "a").tolist()
    cells = collapse(y, [factor("g", group)], items=items)
    assert [c.id for c in odds_ratio(cells, fit_logit(cells, ["g"]), "g[b]").cautions] == ["STAT028"]
