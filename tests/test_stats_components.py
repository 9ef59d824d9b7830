"""Where variance comes from, and what a study needs."""

from __future__ import annotations

import math

import numpy as np
import pytest

from perpend import stats
from perpend.stats.components import ends_of_one_item, jackknifed, variance_components

PARTS = ("item", "condition", "item_condition", "sampling")


def drawn(
    rng: np.random.Generator, shape: tuple[int, int, int], variances: tuple[float, float, float, float]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values, items and conditions of a table of items × conditions × repeats."""
    i, c, _ = shape
    item, condition, crossed, sampling = np.sqrt(variances)
    values = (
        item * rng.standard_normal((i, 1, 1))
        + condition * rng.standard_normal((1, c, 1))
        + crossed * rng.standard_normal((i, c, 1))
        + sampling * rng.standard_normal(shape)
    )
    items, conditions, _ = np.meshgrid(*(np.arange(size) for size in shape), indexing="ij")
    return values.ravel(), items.ravel(), conditions.ravel()


def test_a_balanced_design_gives_the_analysis_of_variance() -> None:
    import pandas as pd
    from statsmodels.formula.api import ols
    from statsmodels.stats.anova import anova_lm

    i, c, r = 12, 4, 3
    values, items, conditions = drawn(np.random.default_rng(0), (i, c, r), (1.0, 0.5, 0.3, 1.0))
    frame = pd.DataFrame({"y": values, "i": items, "c": conditions})
    table = anova_lm(ols("y ~ C(i) * C(c)", frame).fit())
    square = (table["sum_sq"] / table["df"]).to_dict()
    crossed, within = square["C(i):C(c)"], square["Residual"]
    ours = stats.variance_components(values, items, conditions)
    assert ours.sampling.value == pytest.approx(within)
    assert ours.item_condition.value == pytest.approx((crossed - within) / r)
    assert ours.item.value == pytest.approx((square["C(i)"] - crossed) / (c * r))
    assert ours.condition.value == pytest.approx((square["C(c)"] - crossed) / (i * r))
    assert (ours.n_items, ours.n_conditions) == (i, c)
    assert ours.repeats == pytest.approx(r)
    assert ours.mean == pytest.approx(values.mean())
    for name in PARTS:
        one = getattr(ours, name)
        assert one.lo <= one.value <= one.hi


def test_one_condition_is_the_one_way_analysis() -> None:
    rng = np.random.default_rng(1)
    values, items, _ = drawn(rng, (30, 1, 5), (1.0, 0.0, 0.0, 2.0))
    ours = stats.variance_components(values, items)
    table = values.reshape(30, 5)
    within = table.var(axis=1, ddof=1).mean()
    assert ours.sampling.value == pytest.approx(within)
    assert ours.item.value == pytest.approx(table.mean(axis=1).var(ddof=1) - within / 5)
    assert ours.condition.note == ours.item_condition.note == "one condition"


def test_unequal_repeats_and_missing_cells_leave_it_unbiased() -> None:
    rng, sums = np.random.default_rng(2), np.zeros(4)
    truth = (1.0, 0.5, 0.3, 1.0)
    for _ in range(150):
        values, items, conditions = drawn(rng, (24, 5, 4), truth)
        kept = rng.random(len(values)) < np.where(items < 8, 0.9, 0.3)
        ours = stats.variance_components(values[kept], items[kept], conditions[kept])
        sums += [getattr(ours, name).also["unbiased"] for name in PARTS]
    assert sums / 150 == pytest.approx(truth, abs=0.09)


def test_what_a_design_cannot_tell_is_undefined_and_says_why() -> None:
    rng = np.random.default_rng(3)
    values, items, conditions = drawn(rng, (20, 3, 1), (1.0, 0.5, 0.3, 1.0))
    once = stats.variance_components(values, items, conditions)
    assert "asked twice under one condition" in once.sampling.note
    assert "not told apart from sampling" in once.item_condition.note
    assert once.item.value is not None
    assert once.condition.value is not None
    assert once.residual == pytest.approx(1.3, abs=0.5)
    single = stats.variance_components(values[:20], items[::3])
    assert "not told apart" in single.item.note
    alone = stats.variance_components([1.0, 2.0, 3.0], ["a"] * 3)
    assert (alone.item.value, alone.item.note) == (None, "one item")
    assert alone.sampling.value == pytest.approx(1.0)
    apart = stats.variance_components([1.0, 2.0, 3.0, 4.0], ["a", "a", "b", "b"], ["x", "x", "y", "y"])
    assert apart.item.note == "no two items share two conditions"


def test_a_variance_is_never_below_0_and_0_is_no_certainty() -> None:
    values = np.tile([0.0, 1.0, 1.0, 0.0], 20)  # every item has the same mean
    parts = stats.variance_components(values, np.repeat(np.arange(20), 4))
    assert parts.item.value == 0.0
    assert parts.item.also["unbiased"] == pytest.approx(-1 / 12)
    assert parts.item.lo is None or parts.item.lo == 0.0 < parts.item.hi
    rng, least = np.random.default_rng(3), []
    for _ in range(20):
        item = stats.variance_components(rng.integers(0, 2, 120), np.repeat(np.arange(30), 4)).item
        assert item.lo == 0.0 <= item.value < item.hi or item.lo > 0.0
        least.append(item.also["unbiased"])
        assert {caution.id for caution in item.cautions} == {"STAT031"}
    assert min(least) < 0.0


def test_many_items_are_left_out_in_groups() -> None:
    rng = np.random.default_rng(5)
    many = stats.variance_components(*drawn(rng, (3000, 1, 2), (1.0, 0.0, 0.0, 1.0))[:2])
    assert "groups of items" in many.item.method
    assert many.item.lo < 1.0 < many.item.hi
    assert many.item.cautions == ()


def test_the_expected_error_is_the_clustered_one_and_more_items_buy_what_repeats_do_not() -> None:
    rng = np.random.default_rng(6)
    values, items, _ = drawn(rng, (60, 1, 4), (1.0, 0.0, 0.0, 0.5))
    parts = stats.variance_components(values, items)
    same = stats.expected_se(parts, 60, 4)
    assert same.value == pytest.approx(stats.mean(values, items).also["se"], rel=1e-9)
    assert stats.expected_se(parts, 240, 4).value == pytest.approx(same.value / 2)
    assert stats.expected_se(parts, 60, 10_000).value == pytest.approx((parts.item.value / 60) ** 0.5, rel=1e-3)
    assert same.also["share_item"] + same.also["share_sampling"] == pytest.approx(1.0)


def test_conditions_that_are_drawn_add_their_own_variance() -> None:
    parts = stats.variance_components(*drawn(np.random.default_rng(7), (50, 5, 3), (0.2, 2.0, 0.1, 0.5)))
    fixed, more = stats.expected_se(parts, 50, 3), stats.expected_se(parts, 50, 3, conditions=5)
    assert more.value**2 - fixed.value**2 == pytest.approx(parts.condition.value / 5)
    lone = stats.variance_components([1.0, 2.0, 4.0, 3.0], ["a", "a", "b", "b"])
    assert "condition" in stats.expected_se(lone, 10, 1, conditions=3).note


def pilot(rng: np.random.Generator, items: int, repeats: int, shift: float = 0.0) -> tuple[np.ndarray, ...]:
    """0 and 1 under two conditions, the second better by the shift on the logit scale, and the item of each pair."""
    shared, own = 2 * rng.standard_normal(items), rng.standard_normal(items) + shift
    sides = (rng.random((items, repeats)) < 1 / (1 + np.exp(-p[:, None])) for p in (shared, shared + own))
    first, second = (side.astype(float).ravel() for side in sides)
    return first, second, np.repeat(np.arange(items), repeats)


def components(first: np.ndarray, second: np.ndarray, items: np.ndarray) -> stats.Components:
    sides = np.repeat(["first", "second"], len(first))
    return stats.variance_components(np.concatenate([first, second]), np.concatenate([items, items]), sides)


def test_items_for_a_width_and_for_a_difference_solve_their_equations() -> None:
    from scipy.special import stdtrit

    parts = stats.variance_components(*drawn(np.random.default_rng(8), (80, 2, 3), (0.5, 0.1, 0.2, 0.6)))
    wide = stats.needed(parts, width=0.2, repeats=2)
    spread = parts.item.value + parts.item_condition.value / 2 + parts.sampling.value / 4
    least = int(wide.value)
    assert 2 * stdtrit(least - 1, 0.975) * (spread / least) ** 0.5 <= 0.2
    assert 2 * stdtrit(least - 2, 0.975) * (spread / (least - 1)) ** 0.5 > 0.2
    assert wide.n == least * 2 * 2

    shown = stats.needed(parts, detect=0.2, repeats=2)
    variance, least = 2 * (parts.item_condition.value + parts.sampling.value / 2), int(shown.value)
    u, v = stdtrit(least - 1, 0.975), stdtrit(least - 1, 0.8)
    assert (u * (variance + 0.04) ** 0.5 + v * variance**0.5) / 0.2 == pytest.approx(least**0.5, rel=0.02)
    assert shown.also["sides"] == 2


def test_repeats_for_given_items_or_the_items_that_it_takes() -> None:
    parts = stats.variance_components(*drawn(np.random.default_rng(9), (80, 2, 3), (0.5, 0.1, 0.05, 1.0)))
    items = int(stats.needed(parts, detect=0.2, repeats=3).value)
    again = stats.needed(parts, detect=0.2, items=items)
    assert again.value == 3
    assert again.also["items"] == items
    too_few = stats.needed(parts, detect=0.02, items=20)
    assert too_few.value is None
    assert "no number of repeats is enough with 20 items" in too_few.note
    assert stats.needed(parts, detect=0.2, repeats=1).value > items


def test_a_pilot_with_one_condition_gives_an_upper_bound_and_one_without_repeats_says_what_lacks() -> None:
    rng = np.random.default_rng(10)
    first, second, items = pilot(rng, 100, 3)
    bound = stats.needed(stats.variance_components(first, items), detect=0.1)
    assert "upper bound" in bound.method
    assert bound.value > stats.needed(components(first, second, items), detect=0.1).value
    once = components(*pilot(rng, 100, 1))
    assert stats.needed(once, detect=0.1).value > 100
    assert "sampling" in stats.needed(once, detect=0.1, repeats=3).note
    flat = stats.variance_components([1.0] * 8, list("aabbccdd"))
    assert "no spread" in stats.needed(flat, width=0.1).note
    small = stats.needed(components(*pilot(rng, 30, 3)), detect=0.1)
    assert {caution.id for caution in small.cautions} == {"STAT030"}


def test_what_is_left_without_an_item_is_what_the_others_give() -> None:
    rng = np.random.default_rng(11)
    values, items, conditions = drawn(rng, (9, 3, 3), (1.0, 0.5, 0.3, 1.0))
    kept = rng.random(len(values)) < 0.8
    values, items, conditions = values[kept], items[kept], conditions[kept]
    left = stats.variance_components(values, items, conditions).left
    for item in range(9):
        others = items != item
        rest = stats.variance_components(values[others], items[others], conditions[others])
        for name in PARTS:
            assert left[name][item] == pytest.approx(getattr(rest, name).also["unbiased"], abs=1e-12)
        assert left["single"][item] == pytest.approx(rest.single)


def test_the_pilot_s_own_uncertainty_is_an_interval_that_covers() -> None:
    rng, covered = np.random.default_rng(12), 0
    truth = stats.needed(components(*pilot(rng, 50_000, 2)), detect=0.1, repeats=2).value
    for _ in range(150):
        plan = stats.needed(components(*pilot(rng, 50, 2)), detect=0.1, repeats=2)
        covered += plan.lo <= truth <= plan.hi
        assert plan.lo <= plan.value <= plan.hi
    assert covered / 150 >= 0.88


def test_what_the_needed_items_detect_is_what_was_asked_for() -> None:
    parts = components(*pilot(np.random.default_rng(13), 80, 3))
    items = int(stats.needed(parts, detect=0.07, repeats=3).value)
    assert stats.detectable(parts, items, 3).value <= 0.07 < stats.detectable(parts, items - 1, 3).value
    assert "too few" in stats.detectable(parts, 3, 3).note
    flat = stats.variance_components([1.0] * 8, list("aabbccdd"))
    assert "no spread" in stats.detectable(flat, 10).note
    assert "nothing varies" in stats.expected_se(flat, 10, 2).note


def test_the_expected_error_of_a_difference_is_that_of_the_paired_rows() -> None:
    first, second, items = pilot(np.random.default_rng(14), 60, 4)
    parts = components(first, second, items)
    ours = stats.expected_se(parts, 60, 4, paired=True)
    assert ours.value == pytest.approx(stats.mean(second - first, items).also["se"], rel=1e-9)
    bound = stats.expected_se(stats.variance_components(first, items), 60, 4, paired=True)
    assert "upper bound" in bound.method


def test_a_pilot_without_repeats_knows_designs_without() -> None:
    rng = np.random.default_rng(15)
    first, second, items = pilot(rng, 80, 1)
    alone = stats.variance_components(first, items)
    assert alone.single == pytest.approx(first.var(ddof=1))
    assert stats.expected_se(alone, 80).value == pytest.approx(stats.mean(first, items).also["se"], rel=1e-9)
    assert stats.expected_se(alone, 80, 2).value is None
    assert stats.needed(alone, width=0.1).value > 80
    both = components(first, second, items)
    spread = stats.mean((first + second) / 2, items).also["se"]
    assert stats.expected_se(both, 80).value == pytest.approx(spread, rel=1e-9)
    assert stats.expected_se(both, 80, paired=True).value == pytest.approx(
        stats.mean(second - first, items).also["se"], rel=1e-9
    )


def test_values_beyond_every_number_leave_variances_undefined() -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        parts = stats.variance_components([1e300, -1e300, 1e300, 0.0], list("aabb"))
    assert parts.item.value is None
    assert "too large" in parts.sampling.note


def test_what_rounding_leaves_is_no_variance() -> None:
    """Without the one item that varies, sums that cancel leave some 1e-17, whose logarithm is far from all others."""
    assert jackknifed(np.array([1 / 9] * 11 + [1.54e-17]), 0.95) == (
        "no interval: too few items, or nothing varies without one of them"
    )
    assert (
        jackknifed(np.array([1.0] * 11 + [2e-9]), 0.95) == "no interval: one of the items holds nearly all that varies"
    )
    same = variance_components([1 / 7] * 12, np.repeat(np.arange(6), 2))
    assert (same.item.value, same.sampling.value, same.single) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("seed", range(60))
def test_few_answers_of_few_items_have_numbers_or_a_reason(seed: int) -> None:
    rng = np.random.default_rng(seed)
    g, c, r = int(rng.integers(2, 15)), int(rng.integers(1, 4)), int(rng.integers(1, 4))
    items, conditions = np.repeat(np.arange(g), c * r), np.tile(np.repeat(np.arange(c), r), g)
    values = (rng.random(g * c * r) < rng.choice([0.0, 0.02, 0.1, 0.5])) / 3 + rng.choice([0.0, 1 / 7])
    values[items == 0] = rng.random(c * r) < 0.5
    parts = variance_components(values, items, conditions=conditions if c > 1 else None)
    for part in (parts.item, parts.condition, parts.item_condition, parts.sampling):
        numbers = [one for one in (part.value, part.lo, part.hi) if one is not None]
        assert all(map(math.isfinite, numbers))
        assert part.note or len(numbers) == 3
        assert part.value is None or part.value == 0.0 or part.value > 1e-12
    for paired in (False, True):
        ends = ends_of_one_item(parts, paired=paired, repeats=2)
        assert isinstance(ends, str) or all(map(math.isfinite, ends))
