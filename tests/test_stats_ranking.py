"""Many models on the same items: ties are ties."""

from __future__ import annotations

import numpy as np
import pytest

from perpend.stats.ranking import by_item, rank

TRUE = np.array([0.85, 0.85, 0.85, 0.7, 0.7, 0.4])


def drawn(rng: np.random.Generator, items: int, rates: np.ndarray = TRUE) -> dict[str, list[float]]:
    """Hard and easy items for all; models of one rate are alike on average, and differ by item."""
    hard = rng.standard_normal(items)
    table = {}
    for m, rate in enumerate(rates):
        own = np.log(rate / (1 - rate)) * 1.2 + hard + 0.7 * rng.standard_normal(items)
        table[f"m{m}"] = (rng.random(items) < 1 / (1 + np.exp(-own))).astype(float).tolist()
    return table


def test_models_that_items_do_not_tell_apart_share_a_tier() -> None:
    ranked = rank(drawn(np.random.default_rng(2), 400))
    assert [set(tier) for tier in ranked.tiers()] == [{"m0", "m1", "m2"}, {"m3", "m4"}, {"m5"}]
    by_name = {model.name: model for model in ranked.models}
    assert (by_name["m1"].lowest, by_name["m1"].highest) == (1, 3)
    assert (by_name["m4"].lowest, by_name["m4"].highest) == (4, 5)
    assert (by_name["m5"].lowest, by_name["m5"].highest, by_name["m5"].rank) == (6, 6, 6)
    assert ranked.models[0].rank == 1
    assert ranked.cautions == ()


def test_the_same_scores_are_the_same_rank() -> None:
    scores = [1.0, 0.0, 1.0, 1.0] * 10
    ranked = rank({"b": scores, "a": scores, "c": [0.0] * 40})
    assert [(m.name, m.rank, m.tier) for m in ranked.models] == [("a", 1, 1), ("b", 1, 1), ("c", 3, 2)]
    tie = next(pair for pair in ranked.pairs if {pair.first, pair.second} == {"a", "b"})
    assert (tie.difference, tie.p, tie.adjusted) == (0.0, 1.0, 1.0)


def test_neither_the_order_of_models_nor_of_items_matters() -> None:
    table = drawn(np.random.default_rng(5), 80)
    order = np.random.default_rng(6).permutation(80)
    turned = {name: np.array(table[name])[order].tolist() for name in reversed(table)}
    one, other = rank(table), rank(turned)
    assert [(m.name, m.rank, m.lowest, m.highest, m.tier) for m in one.models] == [
        (m.name, m.rank, m.lowest, m.highest, m.tier) for m in other.models
    ]
    p = [{frozenset((pair.first, pair.second)): pair.adjusted for pair in ranking.pairs} for ranking in (one, other)]
    assert p[0] == p[1]
    assert [m.mean.lo for m in one.models] == pytest.approx([m.mean.lo for m in other.models])


def test_adjusted_p_are_those_of_all_sign_flips() -> None:
    """Seven items have 128 sign patterns: the largest |t| over pairs, step by step, over all of them."""
    table = {"a": [1, 1, 1, 1, 1, 1, 1], "b": [0, 0, 0, 1, 0, 0, 0], "c": [0, 1, 0, 1, 1, 0, 1]}
    ranked = rank(table)
    rows = {name: np.array(scores, dtype=float) for name, scores in table.items()}
    signs = np.array([[1 if bits >> k & 1 else -1 for k in range(7)] for bits in range(128)])
    deltas = [rows[p.first] - rows[p.second] for p in ranked.pairs]
    t = np.array([abs(d.sum()) / np.sqrt(d @ d) for d in deltas])
    flips = np.array([np.abs(signs @ d) / np.sqrt(d @ d) for d in deltas])
    order, before = np.argsort(-t), 0.0
    for place, k in enumerate(order):
        p = (flips[order[place:]].max(axis=0) >= t[k] - 1e-9).mean()
        before = max(before, p)
        assert ranked.pairs[k].adjusted == pytest.approx(before, abs=0.02)
        assert ranked.pairs[k].p == pytest.approx((flips[k] >= t[k] - 1e-9).mean(), abs=0.02)


def test_missing_cells_are_compared_on_common_items_and_said_to_be_undefined_without() -> None:
    rng = np.random.default_rng(3)
    full = (rng.random(60) < 0.9).tolist()
    half = [float(v) if i % 2 else None for i, v in enumerate(rng.random(60) < 0.5)]
    other = [None if i % 2 else float(v) for i, v in enumerate(rng.random(60) < 0.5)]
    ranked = rank({"full": full, "half": half, "other": other, "none": [None] * 60})
    by_name = {model.name: model for model in ranked.models}
    pairs = {frozenset((pair.first, pair.second)): pair for pair in ranked.pairs}
    assert pairs[frozenset(("full", "half"))].n_items == 30
    assert pairs[frozenset(("half", "other"))].adjusted is None
    assert by_name["half"].mean.n == 30
    assert (by_name["none"].rank, by_name["none"].tier) == (None, None)
    assert (by_name["none"].lowest, by_name["none"].highest) == (1, 4)
    assert by_name["none"].mean.note == "no item has a score"
    assert "none" not in {name for tier in ranked.tiers() for name in tier}


def test_skewed_scores_carry_a_caution() -> None:
    rng = np.random.default_rng(4)
    ranked = rank({str(m): rng.gamma(0.2, 5.0, 50).tolist() for m in range(4)})
    assert [caution.id for caution in ranked.cautions] == ["STAT029"]


def test_the_lowest_mean_can_be_the_best() -> None:
    table = drawn(np.random.default_rng(2), 400)
    highest, lowest = rank(table), rank(table, lowest_first=True)
    assert [m.mean.value for m in lowest.models] == [m.mean.value for m in highest.models[::-1]]
    assert [set(tier) for tier in lowest.tiers()] == [set(tier) for tier in highest.tiers()[::-1]]
    assert (lowest.models[0].name, lowest.models[0].lowest, lowest.models[0].highest) == ("m5", 1, 1)


def test_models_that_beat_each_other_in_a_circle_share_a_tier() -> None:
    """Where scores are missing, a can be better than b on their items, b than c on others, and c than a."""
    one, none, gap = [1.0] * 30, [0.0] * 30, [None] * 30
    ranked = rank({"a": one + none + gap, "b": none + gap + one, "c": gap + one + none, "d": [0.0] * 90})
    assert ranked.tiers() == (("a", "b", "c"), ("d",))


def test_many_items_of_few_kinds_are_drawn_as_each_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    table = drawn(np.random.default_rng(8), 300)
    by_kind = rank(table)
    monkeypatch.setattr("perpend.stats.ranking._MANY", 1)
    by_item_alone = rank(table)
    for one, other in zip(by_kind.pairs, by_item_alone.pairs, strict=True):
        assert one.adjusted == pytest.approx(other.adjusted, abs=0.03)
    for model, same in zip(by_kind.models, by_item_alone.models, strict=True):
        assert model.mean.lo == pytest.approx(same.mean.lo, abs=0.004)


def test_ids_of_models_of_two_kinds_are_two_models_with_names_of_their_own() -> None:
    assert list(by_item([1, 0], ["b", "a"], ["x", "x"])) == ["b", "a"]


def test_rows_become_a_table_of_items() -> None:
    table = by_item([1, 0, 1, 1, 0], ["a", "a", "a", "b", "b"], ["x", "x", "y", "y", "z"])
    assert table == {"a": (0.5, 1.0, None), "b": (None, 1.0, 0.0)}


def test_few_items_carry_a_caution_and_scores_of_any_scale_are_ranked() -> None:
    ranked = rank({"a": [10.0, 12.0, 11.0, 14.0], "b": [1.0, 2.0, 2.0, 1.0], "c": [7.0] * 4})
    assert [caution.id for caution in ranked.cautions] == ["STAT022"]
    assert ranked.tiers() == (("a", "c", "b"),), "four items have 16 sign patterns: no p is below 0.05"
    assert ranked.models[1].mean.note == "no interval: all 4 scores are equal"
