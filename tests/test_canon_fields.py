"""Fields of objects that strangers wrote: each reader takes what it names and refuses the rest with the place."""

from __future__ import annotations

import re

import pytest

from perpend import canon
from perpend.errors import DataError


@pytest.mark.parametrize("value", [True, "3", 3.0, None, [3]])
def test_an_integer_is_neither_a_boolean_nor_text_nor_a_float(value: canon.JSON) -> None:
    with pytest.raises(DataError, match=re.escape("file:7: 'n' must be an integer, not ")):
        canon.whole_of({"n": value}, "n", "file:7")
    assert canon.whole_of({"n": -3}, "n", "file:7") == -3


@pytest.mark.parametrize(
    ("value", "count"),
    [
        (0, 0),
        (1, 1),
        ((1 << 63) - 1, (1 << 63) - 1),
        (1 << 63, None),
        (-1, None),
        (True, None),
        (1.0, None),
        ("1", None),
        (None, None),
    ],
)
def test_a_count_is_what_a_database_holds(value: canon.JSON, count: int | None) -> None:
    counted = canon.count_or_none(value)
    assert counted == count
    assert type(counted) is type(count)


def test_an_object_or_a_list_may_be_absent_but_not_something_else() -> None:
    assert canon.object_of({}, "a", "x") == canon.object_of({"a": None}, "a", "x") == {}
    assert canon.object_of({"a": {"b": 1}}, "a", "x") == {"b": 1}
    assert canon.list_of({}, "a", "x") == canon.list_of({"a": None}, "a", "x") == []
    assert canon.list_of({"a": [1]}, "a", "x") == [1]
    with pytest.raises(DataError, match=re.escape("x: 'a' must be an object, not []")):
        canon.object_of({"a": []}, "a", "x")
    with pytest.raises(DataError, match=re.escape("x: 'a' must be a list, not {}")):
        canon.list_of({"a": {}}, "a", "x")
    assert canon.as_object([]) == {}
    assert canon.as_list({}) == []


def test_text_that_must_be_there_is_asked_for_by_its_near_names() -> None:
    assert canon.text_of({"name": ""}, "name", "x") == ""
    assert canon.text_or_none({}, "name", "x") is None
    with pytest.raises(DataError, match="x: 'name' is missing; did you mean 'nam'"):
        canon.text_of({"nam": "a"}, "name", "x")
    with pytest.raises(DataError, match="x: 'name' must be a string, not 3"):
        canon.text_of({"name": 3}, "name", "x")
    assert canon.named({"name": " a "}, "name", "x") == " a "
    with pytest.raises(DataError, match="x: 'name' is missing or blank"):
        canon.named({"name": " "}, "name", "x")


@pytest.mark.parametrize(
    ("value", "number"), [(None, None), ("1.5", 1.5), (True, 1.0), (False, 0.0), (2, 2.0), (-0.5, -0.5)]
)
def test_a_number_may_be_written_in_several_ways(value: canon.JSON, number: float | None) -> None:
    assert canon.number_of({"n": value}, "n", "x") == number


@pytest.mark.parametrize("value", ["", "x", "nan", "1e999", 10**400, [], {}])
def test_what_is_no_finite_number_is_refused(value: canon.JSON) -> None:
    with pytest.raises(DataError, match=re.escape("x: 'n' must be a number, not ")):
        canon.number_of({"n": value}, "n", "x")
