"""The input gate refuses by name, row and value, and repairs nothing in silence."""

from __future__ import annotations

import numpy as np
import pytest

from perpend.stats import cautions, gate, grouping


def test_one_unit_in_the_last_place_outside_is_clipped_and_counted() -> None:
    clipped, count = gate.probabilities_clipped("confidence", [np.nextafter(1.0, 2.0), 0.5, -1e-17])
    assert clipped.tolist() == [1.0, 0.5, 0.0]
    assert count == 2


def test_the_callers_array_is_never_changed() -> None:
    given = np.array([np.nextafter(1.0, 2.0), 0.5])
    gate.probabilities("confidence", given)
    assert given[0] > 1.0


def test_bools_are_labels() -> None:
    assert gate.labels("column", [True, False]).tolist() == [1.0, 0.0]


def test_rows_of_probabilities_sum_to_one() -> None:
    assert gate.probability_rows("probs", [[0.25, 0.75], [1.0, 0.0]]).shape == (2, 2)


@pytest.mark.parametrize(
    "ids", [["b", "a", "b"], np.array(["b", "a", "b"]), np.array([7, 3, 7]), [("x", 1), ("x", 2), ("x", 1)]]
)
def test_codes_count_up_in_order_of_first_appearance(ids: list[str]) -> None:
    assert grouping.codes("item", ids).tolist() == [0, 1, 0]


def test_the_number_one_and_the_text_one_are_two_ids() -> None:
    assert grouping.codes("item", [1, "1", True, 1]).tolist() == [0, 1, 2, 0]


def test_repeats_say_by_how_much_the_naive_error_is_off() -> None:
    caution = cautions.items_repeat(90, 10, 9.0, 1.0)
    assert caution.number == pytest.approx(3.0)
    assert "the naive standard error is off by a factor 3.00" in caution.text
