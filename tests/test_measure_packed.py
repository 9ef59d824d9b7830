"""Columns in little memory: what comes out has the bits of what went in, whatever was put."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from perpend.canon import dumps
from perpend.errors import StoreError
from perpend.ledger.items import stored_item
from perpend.measure.keys import joined, match, replicates
from perpend.measure.packed import Packed, PackedItems, narrow
from perpend.types import Item

ODD = np.array([0.0, -0.0, 1.0, np.nan, -np.nan, 0.1, np.inf, 5e-324])


@pytest.mark.parametrize("values", [ODD, np.arange(253.0), np.arange(300.0), np.empty(0), np.full(3, np.nan)])
def test_a_packed_column_is_the_column_to_the_bit(values: np.ndarray) -> None:
    whole = Packed.of(values)
    assert whole.values().tobytes() == values.tobytes()
    parts, order = Packed(len(values)), np.random.default_rng(1).permutation(len(values))
    for rows in np.array_split(order, 4):
        parts.put(rows, values[rows])
    assert parts.values().tobytes() == values.tobytes()


@pytest.mark.parametrize("values", [ODD, np.arange(253.0), np.arange(256.0) - 3.0, np.arange(300.0)])
def test_what_is_asked_of_a_packed_column_is_what_the_values_say(values: np.ndarray) -> None:
    packed = Packed.of(values)
    some, chosen = np.array([len(values) - 1, 0, 2]), np.arange(len(values)) % 3 == 0
    assert len(packed) == len(values)
    assert packed[some].tobytes() == values[some].tobytes()
    assert packed[chosen].tobytes() == values[chosen].tobytes()
    assert packed.missing().tolist() == np.isnan(values).tolist()
    assert packed.equals(1.0).tolist() == (values == 1.0).tolist()
    assert packed.mapped(lambda own: 1.5 - own).values().tobytes() == (1.5 - values).tobytes()
    filled = packed.filled(chosen, 0.25)
    assert filled.values().tobytes() == np.where(chosen, 0.25, values).tobytes()
    filled.put(np.array([1]), np.array([9.5]))
    assert packed.values().tobytes() == values.tobytes(), "a changed copy leaves the column as it is"


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


def _line(number: int, words: int) -> str:
    prompt = f"{number}: " + " ".join(f"word{number * 31 % 997}é" for _ in range(words))
    return dumps(Item(f"q{number}", prompt, "TRUE", tags={"part": str(number % 3)}).as_json())


def test_many_long_items_are_read_as_they_were_put() -> None:
    lines = [_line(number, 12_000) for number in range(400)]
    assert sum(map(len, lines)) > 2 * 4 << 20, "so that some are kept compressed and a block is left open"
    items, plain = PackedItems(lines), [stored_item(line) for line in lines]
    assert len(items) == len(plain)
    assert list(items) == plain
    assert [items[place] for place in (0, 399, -1, 250, 120, 121)] == [plain[n] for n in (0, 399, -1, 250, 120, 121)]
    assert items[120:400:40] == tuple(plain[120:400:40])
    with pytest.raises(IndexError, match="there are 400 items, and none at 400"):
        items[400]


def test_what_is_no_item_is_refused_when_it_is_put() -> None:
    with pytest.raises(StoreError, match="an item"):
        PackedItems().append('{"id": 3}\0')


def test_many_long_items_take_a_part_of_their_text() -> None:
    lines = (_line(number, 400) for number in range(4000))
    tracemalloc.start()
    items = PackedItems(lines)
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    text = sum(len(item.prompt) for item in items)
    assert size < 0.65 * text, f"{size} bytes for {text} characters"
