"""What must hold for every calibration input and every collapsed table."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perpend.stats import calibration as cal
from perpend.stats.cells import Cells, Column, collapse
from perpend.stats.regression import fit_logit
from perpend.stats.selective import risk_at, selective

# Verbalised confidences sit on bin edges; both they and arbitrary floats must behave.
tenths = st.integers(0, 10)
confidence = st.one_of(
    st.floats(0, 1, allow_subnormal=False), tenths.map(lambda k: k / 10), tenths.map(lambda k: k * 0.1)
)
rows = st.lists(st.tuples(confidence, st.integers(0, 1)), min_size=1, max_size=60)


def columns(table: list[tuple[float, int]]) -> tuple[np.ndarray, np.ndarray]:
    c, y = zip(*table, strict=True)
    return np.array(c, dtype=float), np.array(y, dtype=float)


@given(rows, st.integers(1, 40))
def test_every_calibration_error_lies_between_zero_and_one(table, n_bins: int) -> None:
    c, y = columns(table)
    for error in (cal.ece, cal.mce, cal.rmsce, cal.ace, cal.ece_equal_mass):
        assert 0.0 <= error(c, y, n_bins) <= 1.0 + 1e-12
    assert cal.ece(c, y, n_bins) <= cal.mce(c, y, n_bins) + 1e-12


@given(rows, st.randoms(use_true_random=False))
def test_the_order_of_rows_is_irrelevant(table, random) -> None:
    shuffled = list(table)
    random.shuffle(shuffled)
    (c, y), (d, z) = columns(table), columns(shuffled)
    for number in (cal.ece, cal.mce, cal.ece_equal_mass, cal.brier, cal.smooth_ece):
        assert number(c, y) == pytest.approx(number(d, z), abs=1e-12)
    assert selective(c, y).aurc == pytest.approx(selective(d, z).aurc, abs=1e-12)


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 20)), min_size=1, max_size=9))
def test_data_calibrated_in_every_bin_has_no_error(bins) -> None:
    """k of 10·m rows right at confidence k/10: each confidence is its own accuracy."""
    c = np.concatenate([np.full(10 * m, k / 10) for k, m in bins])
    y = np.concatenate([np.repeat([1.0, 0.0], [k * m, (10 - k) * m]) for k, m in bins])
    assert cal.ece(c, y) == pytest.approx(0.0, abs=1e-12)
    assert cal.brier_murphy(c, y).reliability == pytest.approx(0.0, abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(rows, st.integers(1, 20), st.booleans())
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


@given(rows)
def test_the_decompositions_add_up(table) -> None:
    c, y = columns(table)
    corp, murphy = cal.brier_corp(c, y), cal.brier_murphy(c, y)
    assert corp.mcb - corp.dsc + corp.unc == pytest.approx(cal.brier(c, y), abs=1e-12)
    assert murphy.reliability - murphy.resolution + murphy.uncertainty == pytest.approx(murphy.brier, abs=1e-12)
    assert min(corp.mcb, corp.dsc, corp.unc) >= -1e-12


@given(rows, st.sampled_from([0.5, 0.8, 0.9, 0.95, 1.0]))
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
