"""Selective answering: areas, ties and risk at a coverage."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from perpend.stats.selective import COVERAGES, aurc, risk_at, selective


def plain_aurc(confidences: list[float], correct: list[int]) -> float:
    wrong = [1 - y for _, y in sorted(zip(confidences, correct, strict=True), key=lambda row: -row[0])]
    return float(np.mean([sum(wrong[:k]) / k for k in range(1, len(wrong) + 1)]))


def test_without_ties_it_is_the_mean_risk_of_the_prefixes() -> None:
    c, y = [0.9, 0.2, 0.7, 0.4], [1, 0, 0, 1]
    assert aurc(c, y) == pytest.approx((0 + 1 / 2 + 1 / 3 + 2 / 4) / 4)
    assert aurc(c, y) == pytest.approx(plain_aurc(c, y))


def test_ties_average_over_every_order() -> None:
    c, y = [0.9, 0.5, 0.5, 0.5, 0.1], [1, 0, 1, 0, 1]
    middle = [0, 1, 0]
    orders = [plain_aurc([0.9, 0.53, 0.52, 0.51, 0.1], [1, *order, 1]) for order in itertools.permutations(middle)]
    assert aurc(c, y) == pytest.approx(np.mean(orders))
    found = selective(c, y)
    assert [caution.id for caution in found.cautions] == ["STAT006", "STAT028"]
    assert found.cautions[0].number == pytest.approx(0.6)


def test_augrc_is_the_known_function_of_accuracy_and_auroc() -> None:
    rng = np.random.default_rng(0)
    c = np.round(rng.random(200), 2)
    y = (rng.random(200) < c).astype(float)
    right, wrong = c[y == 1], c[y == 0]
    auroc = np.mean((right[:, None] > wrong) + 0.5 * (right[:, None] == wrong))
    accuracy = y.mean()
    expected = (1 - auroc) * accuracy * (1 - accuracy) + (1 - accuracy) ** 2 / 2
    assert selective(c, y).augrc == pytest.approx(expected)


def test_a_perfect_ranking_has_no_excess() -> None:
    found = selective([0.9, 0.8, 0.3, 0.2], [1, 1, 0, 0])
    assert found.e_aurc == pytest.approx(0.0)
    assert found.aurc == pytest.approx(found.oracle) == pytest.approx((1 / 3 + 2 / 4) / 4)


def test_no_errors_is_zero_and_all_errors_is_one() -> None:
    assert aurc([0.5, 0.6], [1, 1]) == 0.0
    assert aurc([0.5, 0.6], [0, 0]) == 1.0


def test_one_row_has_no_trapezoid() -> None:
    assert selective([0.4], [0]).aurc_trapezoid is None


@pytest.mark.parametrize(("coverage", "rows"), [(0.5, 5), (0.8, 8), (0.9, 9), (0.95, 10), (1.0, 10), (0.01, 1)])
def test_coverage_takes_whole_rows_and_rounds_up(coverage: float, rows: int) -> None:
    c = np.linspace(0.95, 0.5, 10)
    found = risk_at(c, [1, 1, 1, 1, 1, 0, 0, 0, 0, 0], coverage)
    assert found.n == rows
    assert found.value == pytest.approx(max(0, rows - 5) / rows)
    assert found.lo <= found.value <= found.hi


def test_the_usual_coverages_all_have_a_risk() -> None:
    assert [risk_at([0.9, 0.1], [1, 0], share).value for share in COVERAGES] == [0.0, 0.5, 0.5, 0.5]


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
