"""The plan in parts: each trial once, an item's trials together, no part too large."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from perpend.ledger.blocks import blocks


@given(st.integers(0, 40), st.integers(0, 9), st.integers(1, 9), st.integers(0, 3), st.integers(1, 90))
def test_every_trial_is_in_one_part_whatever_the_plan_is(
    items: int, each: int, lists: int, more: int, size: int
) -> None:
    total = items * each * lists + more
    parts = list(blocks(total, items, each, size))
    numbers = [number for part in parts for first, last in part for number in range(first, last + 1)]
    assert sorted(numbers) == list(range(1, total + 1))
    assert all(sum(last - first + 1 for first, last in part) <= size for part in parts)
    assert all(list(part) == sorted(part) for part in parts)
    if parts:  # what is before the plan and beyond it is read with these
        assert (parts[0][0][0], parts[-1][-1][-1]) == (1, total)


@given(st.integers(1, 30), st.integers(1, 6), st.integers(1, 6), st.integers(0, 60))
def test_the_trials_of_an_item_are_in_one_part_where_they_fit(items: int, each: int, lists: int, more: int) -> None:
    part_of: dict[int, set[int]] = {}
    for at, part in enumerate(blocks(items * each * lists, items, each, lists * each + more)):
        for first, last in part:
            for number in range(first, last + 1):
                part_of.setdefault((number - 1) // each % items, set()).add(at)
    assert all(len(parts) == 1 for parts in part_of.values())
