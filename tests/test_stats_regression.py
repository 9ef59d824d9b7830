"""Regression on cells: collapse, nested tests, clustering, separation."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from perpend.errors import DataError
from perpend.stats import firth as penalised
from perpend.stats.cells import Cells, Column, collapse, design, factor, number
from perpend.stats.gate import BoolArray
from perpend.stats.regression import (
    clustered_test,
    fit_logit,
    intraclass_correlation,
    likelihood_ratio,
    nested_tests,
    odds_ratio,
    overdispersion,
)

AUDIT = Path(__file__).resolve().parents[1] / ".." / "shared" / "data" / "conformity" / "reference_audit.json"
TERMS = ["variant", "condition", "variant:condition", "temperature"]


def experiment(items: int = 40, *, item_sd: float = 1.0, susceptibility: float = 0.0, seed: int = 0) -> Cells:
    """items × 3 variants × 3 conditions × 4 temperatures, one answer each."""
    rng = np.random.default_rng(seed)
    i, v, c, t = (
        a.ravel() for a in np.meshgrid(np.arange(items), np.arange(3), np.arange(3), np.arange(4), indexing="ij")
    )
    eta = -0.3 + item_sd * rng.standard_normal(items)[i] + susceptibility * rng.standard_normal((items, 3))[i, c]
    eta += 0.4 * (v == 1) - 0.5 * t / 3
    outcome = rng.random(len(i)) < 1 / (1 + np.exp(-eta))
    columns = [
        Column("variant", ("base", "instruct", "think"), v.astype(np.uint8)),
        Column("condition", ("control", "asch", "authority"), c.astype(np.uint8)),
        Column("temperature", (0.0, 1 / 3, 2 / 3, 1.0), t.astype(np.uint8)),
    ]
    return collapse(outcome, columns, items=i)


def two_groups(a: tuple[int, int], b: tuple[int, int]) -> Cells:
    """k of n successes in each of the groups a and b."""
    groups = ["a"] * a[1] + ["b"] * b[1]
    outcome = [1] * a[0] + [0] * (a[1] - a[0]) + [1] * b[0] + [0] * (b[1] - b[0])
    return collapse(outcome, [factor("g", groups)])


def test_levels_are_sorted_after_the_reference() -> None:
    column = factor("condition", ["control", "asch", "control", "authority"], reference="control")
    assert column.levels == ("control", "asch", "authority")
    assert column.codes.tolist() == [0, 1, 0, 2]


def test_collapsing_counts_every_row_once() -> None:
    cells = collapse([1, 0, 1, 1], [factor("g", list("aabb")), number("x", [0.0, 0.0, 0.0, 1.0])])
    assert cells.n.tolist() == [2, 1, 1]
    assert cells.k.tolist() == [1, 1, 1]
    assert cells.rows == 4
    assert cells.label(2) == "g=b, x=1.0"


def test_many_distinct_values_collapse_by_sorting() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.random(300), rng.random(300)
    cells = collapse(rng.integers(0, 2, 300), [number("a", a), number("b", b)])
    assert len(cells.n) == 300
    assert sorted(cells.codes[:, 0].tolist()) == list(range(300))


@pytest.mark.parametrize("levels", [2, 200])
def test_rows_that_are_left_out_might_as_well_not_be_there(levels: int) -> None:
    rng = np.random.default_rng(levels)
    n = 3000
    chosen, y = rng.random(n) < 0.3, rng.random(n) < 0.4
    codes = [rng.integers(0, levels, n) for _ in range(3)]
    items = rng.integers(0, 40, n)
    names = tuple(map(str, range(levels)))

    def collapsed(of: slice | BoolArray, rows: BoolArray | None = None) -> Cells:
        columns = [Column(name, names, own[of]) for name, own in zip("abc", codes, strict=True)]
        return collapse(y[of], columns, items=items[of], rows=rows)

    apart, within = collapsed(chosen), collapsed(slice(None), chosen)
    assert apart.items is not None
    assert within.items is not None
    for name in ("names", "levels", "codes", "k", "n"):
        assert np.array_equal(getattr(apart, name), getattr(within, name)), name
    for name in ("starts", "cell", "k", "n"):
        assert np.array_equal(getattr(apart.items, name), getattr(within.items, name)), name
    assert apart.items.n.sum() == chosen.sum()
    assert apart.items.k.sum() == (y & chosen).sum()


def test_a_code_outside_its_levels_is_refused_only_where_its_row_counts() -> None:
    column = Column("g", ("a",), np.array([0, 0, 1]))
    assert collapse([1, 0, 1], [column], rows=np.array([True, True, False])).rows == 2
    with pytest.raises(DataError, match="code 1 is outside"):
        collapse([1, 0, 1], [column], rows=np.array([True, False, True]))
    with pytest.raises(DataError, match="none is chosen"):
        collapse([1, 0, 1], [column], rows=np.zeros(3, dtype=np.bool_))


def test_an_unknown_term_is_refused_with_the_near_name() -> None:
    with pytest.raises(DataError, match="did you mean 'condition'"):
        design(experiment(4), ["conditon"])


def test_the_ratio_test_of_two_groups_is_the_g_test() -> None:
    cells = two_groups((28, 40), (18, 40))
    test = likelihood_ratio(fit_logit(cells, ["g"]), fit_logit(cells, []))
    observed, expected = np.array([28, 12, 18, 22]), np.array([23, 17, 23, 17])
    assert test.value == pytest.approx(2 * np.sum(observed * np.log(observed / expected)))
    assert test.also["df"] == 1
    ratio = odds_ratio(cells, fit_logit(cells, ["g"]), "g[b]")
    assert ratio.value == pytest.approx(18 * 12 / (22 * 28))
    se = math.sqrt(1 / 28 + 1 / 12 + 1 / 18 + 1 / 22)
    assert ratio.hi == pytest.approx(ratio.value * math.exp(1.959963984540054 * se))
    assert "independent rows" in ratio.method


def test_statsmodels_agrees_on_every_coefficient() -> None:
    from statsmodels.genmod.families import Binomial
    from statsmodels.genmod.generalized_linear_model import GLM

    cells = experiment()
    fit = fit_logit(cells, TERMS)
    theirs = GLM(np.column_stack([cells.k, cells.n - cells.k]), fit.design.x, family=Binomial()).fit(tol=1e-12)
    assert fit.coef == pytest.approx(theirs.params, abs=1e-7)
    assert np.sqrt(np.diag(fit.covariance)) == pytest.approx(theirs.bse, rel=1e-6)


def test_the_temperature_interval_counts_the_intercept() -> None:
    """Leaving the intercept out of the information makes the interval too narrow: the published audit did."""
    cells = experiment(60, item_sd=0.0)
    fit = fit_logit(cells, TERMS)
    j = fit.names.index("temperature")
    without = np.linalg.inv(np.linalg.inv(fit.covariance)[1:, 1:])[j - 1, j - 1]
    found = odds_ratio(cells, fit, "temperature")
    assert found.also["se_independent"] ** 2 == pytest.approx(fit.covariance[j, j])
    assert found.also["se_independent"] > 1.02 * math.sqrt(without)


@pytest.mark.skipif(not AUDIT.exists(), reason="the reference audit is not beside this checkout")
def test_the_published_cells_give_the_corrected_standard_error() -> None:
    rows = json.loads(AUDIT.read_text())["cell_error_rates"]
    trials = [row["n_trials"] for row in rows]
    wrong = np.concatenate([np.arange(row["n_trials"]) >= row["n_correct"] for row in rows])
    columns = [
        factor("variant", np.repeat([row["variant"] for row in rows], trials), reference="base"),
        factor("condition", np.repeat([row["condition_name"] for row in rows], trials), reference="control"),
        number("temperature", np.repeat([row["temperature"] for row in rows], trials)),
    ]
    found = nested_tests(collapse(wrong, columns), "variant", "condition", "temperature")
    assert found.rows == 21_600
    assert found.slope.also["se"] == pytest.approx(0.0492, abs=5e-5)
    assert [found.likelihood_ratio[k].also["df"] for k in found.likelihood_ratio] == [5, 2, 10, 1]
    assert found.likelihood_ratio["variant"].value > 700


def test_the_nested_tests_are_the_five_models() -> None:
    cells = experiment()
    found = nested_tests(cells, "variant", "condition", "temperature")
    by_hand = likelihood_ratio(
        fit_logit(cells, ["variant", "condition", "temperature"]), fit_logit(cells, ["condition", "temperature"])
    )
    assert found.likelihood_ratio["variant"].value == pytest.approx(by_hand.value)
    assert {k: e.also["df"] for k, e in found.likelihood_ratio.items()} == {
        "variant": 2,
        "condition": 2,
        "interaction": 4,
        "temperature": 1,
    }
    assert all("assumes independent rows" in e.method for e in found.likelihood_ratio.values())
    assert all("item-clustered" in e.method for e in found.clustered.values())
    assert found.linearity.also["df"] == 2
    assert found.slope.also["n_clusters"] == 40
    assert found.slope.lo < found.slope.value < found.slope.hi


def test_an_absent_combination_is_left_out_of_the_degrees_of_freedom() -> None:
    rng = np.random.default_rng(0)
    pairs = [("a", "x"), ("a", "y"), ("b", "x")] * 40
    cells = collapse(rng.integers(0, 2, 120), [factor("v", [p[0] for p in pairs]), factor("c", [p[1] for p in pairs])])
    fit = fit_logit(cells, ["v", "c", "v:c"])
    assert fit.aliased == ("v[b]:c[y]",)
    assert fit.rank == 3
    test = likelihood_ratio(fit, fit_logit(cells, ["v", "c"]))
    assert test.value is None
    assert "no free coefficient" in test.note


def test_a_saturated_cell_is_separation_and_the_estimate_is_firths() -> None:
    cells = two_groups((10, 20), (20, 20))
    fit = fit_logit(cells, ["g"])
    assert fit.coef is None
    assert [caution.id for caution in fit.cautions] == ["STAT010"]
    assert "g=b" in fit.cautions[0].text
    assert fit.loglik == pytest.approx(20 * math.log(0.5))
    found = odds_ratio(cells, fit, "g[b]")
    assert found.value == pytest.approx(20.5 / 0.5)
    assert 1.0 < found.lo < found.value < found.hi
    assert "Firth" in found.method
    assert likelihood_ratio(fit, fit_logit(cells, [])).value == pytest.approx(17.26, abs=0.01)


def test_separation_hides_in_combinations_of_levels() -> None:
    """No single level is saturated; one cell of the interaction is."""
    k, n = np.array([5.0, 5.0, 5.0, 10.0]), np.full(4, 10.0)
    cells = Cells(("v", "c"), (("a", "b"), ("x", "y")), np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), k, n)
    assert fit_logit(cells, ["v", "c"]).coef is not None
    assert fit_logit(cells, ["v", "c", "v:c"]).coef is None


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_separation_is_found_whatever_the_unit_of_a_covariate(scale: float) -> None:
    x = np.linspace(-1, 1, 20)
    assert fit_logit(collapse(x > 0, [number("x", scale * x)]), ["x"]).coef is None
    mixed = np.where(np.arange(20) % 4 == 0, x < 0, x > 0)
    assert fit_logit(collapse(mixed, [number("x", scale * x)]), ["x"]).coef is not None


def test_a_steep_but_finite_effect_is_not_separation() -> None:
    cells = two_groups((1, 2_000_000), (1_999_999, 2_000_000))
    fit = fit_logit(cells, ["g"])
    assert fit.coef[1] == pytest.approx(2 * math.log(1_999_999), rel=1e-6)


def test_an_intercept_alone_is_the_log_odds() -> None:
    cells = collapse([1, 1, 1, 0], [])
    assert fit_logit(cells, []).coef == pytest.approx([math.log(3)])


def test_a_separated_model_has_no_clustered_test_and_says_why() -> None:
    groups = np.repeat(["a", "b"], 20)
    cells = collapse([0, 1] * 10 + [1] * 20, [factor("g", groups)], items=np.arange(40) % 10)
    found = clustered_test(fit_logit(cells, ["g"]), "g")
    assert found.value is None
    assert "separation" in found.note


def test_nothing_but_successes_is_separation_too() -> None:
    cells = two_groups((20, 20), (20, 20))
    fit = fit_logit(cells, ["g"])
    assert fit.coef is None
    assert fit.loglik == 0.0


def test_firth_profile_p_agrees_with_its_interval() -> None:
    cells = two_groups((10, 20), (15, 20))
    model = design(cells, ["g"])
    beta, lo, hi, p = penalised.firth_profile(model.x, cells.k, cells.n, 1, critical=3.841458820694124)
    assert beta == pytest.approx(math.log((15.5 / 5.5) / (10.5 / 10.5)))
    assert (lo > 0) == (p < 0.05)
    assert lo < beta < hi


def test_firth_settles_on_cells_of_one_row() -> None:
    """A step that ignores the pseudo-trials is twice too long here and swings for ever."""
    cells = collapse([1, 0, 1], [factor("g", ["a", "b", "c"])])
    found = penalised.firth(design(cells, ["g"]).x, cells.k, cells.n)
    assert found.coef == pytest.approx([math.log(3), -2 * math.log(3), 0.0])


def test_one_temperature_has_no_slope_and_says_why() -> None:
    rng = np.random.default_rng(5)
    columns = [
        factor("variant", rng.choice(["a", "b"], 80)),
        factor("condition", rng.choice(["x", "y"], 80)),
        number("temperature", np.zeros(80)),
    ]
    found = nested_tests(collapse(rng.integers(0, 2, 80), columns), "variant", "condition", "temperature")
    assert found.slope.value is None
    assert "determined by the other columns" in found.slope.note
    assert found.likelihood_ratio["temperature"].value is None


def test_without_items_there_is_no_clustered_test() -> None:
    found = clustered_test(fit_logit(two_groups((10, 20), (15, 20)), ["g"]), "g")
    assert found.value is None
    assert "no items" in found.note


def test_fewer_items_than_coefficients_cannot_be_tested() -> None:
    cells = experiment(3)
    found = clustered_test(fit_logit(cells, TERMS), "variant:condition")
    assert found.value is None
    assert "3 items cannot test 4" in found.note


def test_overdispersion_sees_items_and_needs_spare_cells() -> None:
    assert overdispersion(experiment(60, item_sd=0.0), fit_logit(experiment(60, item_sd=0.0), TERMS)).value < 1.3
    pairs = two_groups((10, 20), (15, 20))
    assert overdispersion(pairs, fit_logit(pairs, ["g"])).value is None


def test_intraclass_correlation_grows_with_the_item_effect() -> None:
    none, strong = intraclass_correlation(experiment(item_sd=0.0)), intraclass_correlation(experiment(item_sd=3.0))
    assert abs(none.value) < 0.05
    assert strong.value > 0.3
    assert intraclass_correlation(two_groups((1, 2), (1, 2))).value is None


def test_levels_that_every_item_answers_alike_leave_the_clustered_test_undefined() -> None:
    items = np.repeat(np.arange(20), 4)
    level = np.tile(["a", "a", "b", "b"], 20)
    outcome = (items % 3 == 0).astype(float)
    cells = collapse(outcome, [factor("variant", level)], items=items)
    found = clustered_test(fit_logit(cells, ["variant"]), "variant")
    assert found.value is None
    assert "singular" in found.note


def test_an_odds_ratio_under_separation_counts_items_and_not_their_repeats() -> None:
    y, group, items = [1] * 30 + [1] * 18 + [0] * 12, ["b"] * 30 + ["a"] * 30, [row // 6 for row in range(60)]
    cells = collapse(y, [factor("g", group)], items=items)
    found = odds_ratio(cells, fit_logit(cells, ["g"]), "g[b]")
    assert found.also["p"] > 0.1, "5 of 5 items against 3 of 5"
    assert found.also["design_effect"] > 5
    rows = collapse(y, [factor("g", group)])
    assert odds_ratio(rows, fit_logit(rows, ["g"]), "g[b]").also["p"] < 1e-3


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
