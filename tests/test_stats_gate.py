"""The input gate refuses by name, row and value, and repairs nothing in silence."""

from __future__ import annotations

import math

import numpy as np
import pytest

from perpend.errors import DataError
from perpend.stats import gate, grouping


def test_an_error_names_the_argument_the_row_and_the_value() -> None:
    with pytest.raises(DataError, match=r"^confidence: row 2 is nan; a probability is a finite number"):
        gate.probabilities("confidence", [0.1, 0.2, math.nan])


def test_an_error_says_how_many_rows_are_wrong() -> None:
    with pytest.raises(DataError, match=r"correct: row 1 is 2\.0 \(2 such values\); a label is 0 or 1"):
        gate.labels("correct", [0, 2, 1, 3])


@pytest.mark.parametrize("value", [1.2, -0.1, math.inf, -math.inf, math.nan, 1.0 + 5e-16])
def test_a_probability_outside_its_range_is_an_error(value: float) -> None:
    with pytest.raises(DataError, match="row 1"):
        gate.probabilities("confidence", [0.5, value])


def test_one_unit_in_the_last_place_outside_is_clipped_and_counted() -> None:
    clipped, count = gate.probabilities_clipped("confidence", [np.nextafter(1.0, 2.0), 0.5, -1e-17])
    assert clipped.tolist() == [1.0, 0.5, 0.0]
    assert count == 2


def test_the_callers_array_is_never_changed() -> None:
    given = np.array([np.nextafter(1.0, 2.0), 0.5])
    gate.probabilities("confidence", given)
    assert given[0] > 1.0


@pytest.mark.parametrize("empty", [[], np.array([])])
def test_no_rows_is_an_error(empty: list[float]) -> None:
    for check in (gate.probabilities, gate.labels, gate.values):
        with pytest.raises(DataError, match="is empty"):
            check("column", empty)


@pytest.mark.parametrize("wrong", [["yes", "no"], [None, 1], [[0, 1], [1, 0]], 1, [[0], [1, 1]]])
def test_text_missing_values_and_wrong_shapes_are_errors(wrong: object) -> None:
    with pytest.raises(DataError, match="column"):
        gate.labels("column", wrong)


def test_a_wrong_shape_is_told() -> None:
    with pytest.raises(DataError, match="column: has shape 2x3; give rows$"):
        gate.values("column", [[0, 1, 2], [1, 0, 2]])
    with pytest.raises(DataError, match="column: has shape one number; give rows$"):
        gate.values("column", 1)


def test_bools_are_labels() -> None:
    assert gate.labels("column", [True, False]).tolist() == [1.0, 0.0]


def test_rows_of_probabilities_sum_to_one() -> None:
    assert gate.probability_rows("probs", [[0.25, 0.75], [1.0, 0.0]]).shape == (2, 2)
    with pytest.raises(DataError, match=r"probs: row 1 sums to 1\.1"):
        gate.probability_rows("probs", [[0.5, 0.5], [0.5, 0.6]])
    with pytest.raises(DataError, match="row 0, column 1 is nan"):
        gate.probability_rows("probs", [[0.5, math.nan]])


@pytest.mark.parametrize("label", [-1, 3, 0.5, math.nan])
def test_a_class_that_does_not_exist_is_an_error_and_never_wraps_around(label: float) -> None:
    with pytest.raises(DataError, match="row 1"):
        gate.class_labels("label", [0, label], 3)


def test_lengths_that_differ_are_named() -> None:
    with pytest.raises(DataError, match="confidences has 3, correct has 2 rows"):
        gate.same_length(confidences=np.zeros(3), correct=np.zeros(2))


@pytest.mark.parametrize(
    "ids", [["b", "a", "b"], np.array(["b", "a", "b"]), np.array([7, 3, 7]), [("x", 1), ("x", 2), ("x", 1)]]
)
def test_codes_count_up_in_order_of_first_appearance(ids: list[str]) -> None:
    assert grouping.codes("item", ids).tolist() == [0, 1, 0]


def test_the_number_one_and_the_text_one_are_two_ids() -> None:
    assert grouping.codes("item", [1, "1", True, 1]).tolist() == [0, 1, 2, 0]


@pytest.mark.parametrize("ids", [["a", None], [1.0, math.nan], np.array([1.0, math.nan]), [], "item", [[1], [2]]])
def test_what_cannot_be_an_id_is_an_error(ids: object) -> None:
    with pytest.raises(DataError, match="item"):
        grouping.codes("item", ids)


@pytest.mark.parametrize("count", [-1, 1.5, "3", None])
def test_counts_are_whole_and_not_negative(count: object) -> None:
    with pytest.raises(DataError, match="b: is"):
        gate.counts(b=count)
