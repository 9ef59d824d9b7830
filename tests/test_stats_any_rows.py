"""What must hold for any rows, any confidences and any collapsed table."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perpend import stats
from perpend.stats import Confusion
from perpend.stats import calibration as cal
from perpend.stats.cells import Cells, Column, collapse
from perpend.stats.pairs import pair_table
from perpend.stats.regression import fit_logit
from perpend.stats.selective import risk_at, selective
from perpend.types import Estimate

counts = st.integers(0, 60)
rows = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(0, 5)), min_size=1, max_size=40)
tables = st.builds(Confusion, tp=counts, fn=counts, fp=counts, tn=counts, invalid=counts)
modest = settings(max_examples=60, deadline=None)


def same(one: float | None, other: float | None) -> bool:
    return (one is None and other is None) or (
        one is not None and other is not None and math.isclose(one, other, abs_tol=1e-9)
    )


def agree(one: Estimate, other: Estimate) -> bool:
    return same(one.value, other.value) and same(one.lo, other.lo) and same(one.hi, other.hi) and one.n == other.n


def inside(estimate: Estimate, least: float, most: float) -> bool:
    """Undefined has no interval; an interval holds its value and stays in range."""
    if estimate.value is None:
        return bool(estimate.note)
    if estimate.lo is None or estimate.hi is None:
        return bool(estimate.note)
    slack = 1e-12
    return (
        least - slack <= estimate.lo <= estimate.value + slack and estimate.value - slack <= estimate.hi <= most + slack
    )


@modest
@given(tables)
def test_every_interval_of_a_table_is_in_range_and_around_its_value(table: Confusion) -> None:
    for name, estimate in stats.confusion_metrics(table).items():
        if name != "bias":
            assert inside(estimate, -1.0 if name == "mcc" else 0.0, 1.0), name


@modest
@given(rows, st.sampled_from(["wilson", "clopper-pearson"]))
def test_every_clustered_rate_is_in_range_around_its_value_and_has_a_width(
    data: list[tuple[int, int, int]], method: str
) -> None:
    labels, _, items = zip(*data, strict=True)
    found = stats.proportion(labels, items, method=method)
    assert inside(found, 0.0, 1.0)
    assert found.lo is None or found.hi > found.lo


@modest
@given(rows, st.booleans())
def test_a_pair_turned_round_is_its_own_negative(data: list[tuple[int, int, int]], clustered: bool) -> None:
    control, pressure, items = zip(*data, strict=True)
    clusters = items if clustered else None
    there = stats.paired_difference(control, pressure, clusters)
    back = stats.paired_difference(pressure, control, clusters)
    assert inside(there, -1.0, 1.0)
    assert there.lo is None or there.hi > there.lo
    assert same(there.value, -back.value)
    assert same(there.lo, None if back.hi is None else -back.hi)
    assert stats.paired_test(control, pressure, clusters).value == pytest.approx(
        stats.paired_test(pressure, control, clusters).value
    )


@modest
@given(rows)
def test_collapsing_rows_to_counts_changes_nothing(data: list[tuple[int, int, int]]) -> None:
    first, second, _ = zip(*data, strict=True)
    assert agree(stats.proportion(first), stats.wilson(sum(first), len(first)))
    n11, n10, n01, n00 = pair_table(first, second)
    rebuilt = np.repeat([1, 1, 0, 0], [n11, n10, n01, n00]), np.repeat([1, 0, 1, 0], [n11, n10, n01, n00])
    assert agree(stats.paired_difference(first, second), stats.paired_difference(*rebuilt))
    by_rows, by_counts = stats.binary_metrics(first, second), stats.confusion_metrics(Confusion(n11, n10, n01, n00))
    assert all(agree(by_rows[name], by_counts[name]) for name in by_rows if name != "balanced_accuracy_effective")


@modest
@given(tables)
def test_swapping_the_classes_maps_tpr_to_tnr(table: Confusion) -> None:
    swapped = stats.confusion_metrics(Confusion(table.tn, table.fp, table.fn, table.tp, table.invalid))
    found = stats.confusion_metrics(table)
    assert agree(found["tpr"], swapped["tnr"])
    assert agree(found["tnr"], swapped["tpr"])
    for name in ("accuracy_valid", "balanced_accuracy", "mcc", "bias"):
        assert agree(found[name], swapped[name])


@modest
@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_adjusted_p_are_never_smaller_than_raw_and_keep_their_order(p: list[float]) -> None:
    raw = np.array(p)
    for rule in (stats.holm, stats.benjamini_hochberg):
        adjusted = rule(p)
        assert (adjusted >= raw - 1e-15).all()
        assert (adjusted <= 1).all()
        assert (np.diff(adjusted[np.argsort(raw, kind="stable")]) >= -1e-12).all()
    assert (stats.holm(p) <= np.minimum(raw * len(raw), 1.0) + 1e-15).all()


@modest
@given(st.lists(st.integers(-6, 6), min_size=1, max_size=30))
def test_the_sign_flip_is_a_probability_and_symmetric(deltas: list[int]) -> None:
    p = stats.sign_flip(deltas).value
    assert 0 < p <= 1
    assert p == pytest.approx(stats.sign_flip([-delta for delta in deltas]).value)


# Verbalised confidences sit on bin edges; both they and arbitrary floats must behave.
tenths = st.integers(0, 10)
confidence = st.one_of(
    st.floats(0, 1, allow_subnormal=False), tenths.map(lambda k: k / 10), tenths.map(lambda k: k * 0.1)
)
scored = st.lists(st.tuples(confidence, st.integers(0, 1)), min_size=1, max_size=60)


def columns(table: list[tuple[float, int]]) -> tuple[np.ndarray, np.ndarray]:
    c, y = zip(*table, strict=True)
    return np.array(c, dtype=float), np.array(y, dtype=float)


@given(scored, st.integers(1, 40))
def test_every_calibration_error_lies_between_zero_and_one(table, n_bins: int) -> None:
    c, y = columns(table)
    for error in (cal.ece, cal.mce, cal.rmsce, cal.ace, cal.ece_equal_mass):
        assert 0.0 <= error(c, y, n_bins) <= 1.0 + 1e-12
    assert cal.ece(c, y, n_bins) <= cal.mce(c, y, n_bins) + 1e-12


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 20)), min_size=1, max_size=9))
def test_data_calibrated_in_every_bin_has_no_error(bins) -> None:
    """k of 10·m rows right at confidence k/10: each confidence is its own accuracy."""
    c = np.concatenate([np.full(10 * m, k / 10) for k, m in bins])
    y = np.concatenate([np.repeat([1.0, 0.0], [k * m, (10 - k) * m]) for k, m in bins])
    assert cal.ece(c, y) == pytest.approx(0.0, abs=1e-12)
    assert cal.brier_murphy(c, y).reliability == pytest.approx(0.0, abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(scored, st.integers(1, 20), st.booleans())
def test_the_interval_contains_the_point_and_stays_in_range(table, n_bins: int, repeated: bool) -> None:
    c, y = columns(table)
    clusters = np.arange(len(c)) // 2 if repeated else None
    for found in (cal.ece_estimate(c, y, n_bins, clusters=clusters), cal.brier_estimate(c, y, clusters=clusters)):
        assert found.value is not None
        if found.lo is None or found.hi is None:
            assert found.note
        else:
            assert 0.0 <= found.lo <= found.value + 1e-12
            assert found.value - 1e-12 <= found.hi <= 1.0


@given(scored)
def test_the_decompositions_add_up(table) -> None:
    c, y = columns(table)
    corp, murphy = cal.brier_corp(c, y), cal.brier_murphy(c, y)
    assert corp.mcb - corp.dsc + corp.unc == pytest.approx(cal.brier(c, y), abs=1e-12)
    assert murphy.reliability - murphy.resolution + murphy.uncertainty == pytest.approx(murphy.brier, abs=1e-12)
    assert min(corp.mcb, corp.dsc, corp.unc) >= -1e-12


@given(scored, st.sampled_from([0.5, 0.8, 0.9, 0.95, 1.0]))
def test_selective_numbers_are_shares(table, coverage: float) -> None:
    c, y = columns(table)
    found = selective(c, y)
    assert 0.0 <= found.oracle <= found.aurc + 1e-12 <= 1.0 + 1e-9
    assert 0.0 <= found.augrc <= 0.5 + 1e-12
    risk = risk_at(c, y, coverage)
    assert 0.0 <= risk.lo <= risk.value <= risk.hi <= 1.0
    assert risk_at(c, y, 1.0).value == pytest.approx(1.0 - y.mean())


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(0, 1)), min_size=12, max_size=80))
def test_collapsing_changes_nothing(table) -> None:
    """A logit on single rows and on the collapsed cells has the same likelihood and coefficients."""
    v, c, y = (np.array(column) for column in zip(*table, strict=True))
    factors = [Column("v", ("a", "b", "d"), v), Column("c", ("x", "y"), c)]
    cells = collapse(y, factors)
    loose = Cells(cells.names, cells.levels, np.stack([v, c], axis=1), y.astype(float), np.ones(len(y)))
    together, apart = fit_logit(cells, ["v", "c"]), fit_logit(loose, ["v", "c"])
    assert together.loglik == pytest.approx(apart.loglik, abs=1e-6)
    assert together.rank == apart.rank
    assert (together.coef is None) == (apart.coef is None)
    if together.coef is not None:
        assert together.coef == pytest.approx(apart.coef, abs=1e-4)
