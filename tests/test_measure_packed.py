"""Columns in little memory: what comes out has the bits of what went in, whatever was put."""

from __future__ import annotations

import numpy as np
import pytest

from perpend.measure.packed import Packed, narrow
from perpend.measure.table import joined, match, replicates

ODD = np.array([0.0, -0.0, 1.0, np.nan, -np.nan, 0.1, np.inf, 5e-324])


@pytest.mark.parametrize("values", [ODD, np.arange(253.0), np.arange(300.0), np.empty(0), np.full(3, np.nan)])
def test_a_packed_column_is_the_column_to_the_bit(values: np.ndarray) -> None:
    whole = Packed.of(values)
    assert whole.values().tobytes() == values.tobytes()
    parts, order = Packed(len(values)), np.random.default_rng(1).permutation(len(values))
    for rows in np.array_split(order, 4):
        parts.put(rows, values[rows])
    assert parts.values().tobytes() == values.tobytes()


def test_rows_that_nothing_was_put_into_have_no_value() -> None:
    packed = Packed(400)
    packed.put(np.arange(300), np.arange(300.0))  # more than a byte tells apart
    packed.put(np.array([0]), np.array([0.5]))
    assert packed.values()[:2].tolist() == [0.5, 1.0]
    assert np.isnan(packed.values()[300:]).all()


@pytest.mark.parametrize(
    ("values", "size"), [(1, 1), (127, 1), (128, 2), (32767, 2), (32768, 4), (10**7, 4), (2**31, 8)]
)
def test_codes_take_the_bytes_that_they_need(values: int, size: int) -> None:
    codes = narrow(np.array([0, values - 1]), values)
    assert (codes.itemsize, int(codes[-1])) == (size, values - 1)


def test_narrow_codes_join_without_an_overflow() -> None:
    codes = [np.full(3, 120, dtype=np.int8) for _ in range(8)]
    assert joined(codes).tolist() == joined([one.astype(np.int64) for one in codes]).tolist()
    sizes = [121] * 8
    assert match(joined(codes[:2], sizes[:2])[:1], joined(codes[:2], sizes[:2])[:1])[0].tolist() == [0]


def test_replicates_count_the_rows_before_with_the_same_key() -> None:
    for keys in ([3, 1, 2], [5, 5, 1, 5, 1], [7, 7_000_000], [], [4] * 300):
        expected = [keys[:at].count(key) for at, key in enumerate(keys)]
        assert replicates(np.array(keys, dtype=np.int64)).tolist() == expected
