"""What must hold for any rows."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perpend import stats
from perpend.stats import Confusion
from perpend.stats.pairs import pair_table
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
@given(rows, st.randoms(use_true_random=False))
def test_the_order_of_rows_is_irrelevant(data: list[tuple[int, int, int]], random: object) -> None:
    shuffled = list(data)
    random.shuffle(shuffled)
    (first, second, items), (first_, second_, items_) = (list(zip(*part, strict=True)) for part in (data, shuffled))
    assert agree(stats.proportion(first, items), stats.proportion(first_, items_))
    assert agree(stats.paired_difference(first, second, items), stats.paired_difference(first_, second_, items_))
    assert agree(stats.override(first, second, items), stats.override(first_, second_, items_))
    assert same(stats.paired_test(first, second, items).value, stats.paired_test(first_, second_, items_).value)
    ours, theirs = stats.binary_metrics(first, second, items), stats.binary_metrics(first_, second_, items_)
    assert all(agree(ours[name], theirs[name]) for name in ours)


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
