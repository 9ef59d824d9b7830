"""The language of claims: what it reads, what it refuses, and that refusing is all that can go wrong."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perpend.errors import SpecError
from perpend.proof.claims.language import (
    MAX_LENGTH,
    Call,
    Constant,
    Negative,
    Operation,
    Part,
    columns_of,
    parse,
    parse_order,
)
from tests.tables import table


def test_a_function_names_columns_with_their_versions() -> None:
    assert parse("disagreement(mentioned@1, stored_endorsed@import)") == Call(
        "disagreement", ("mentioned@1", "stored_endorsed@import")
    )


def test_sides_may_be_written_with_or_without_quotes() -> None:
    wanted = Call("difference", ("correct",), ("control", "asch_history_5"))
    assert parse("difference(correct, control, asch_history_5)") == wanted
    assert parse("difference(correct, 'control', \"asch_history_5\")") == wanted


def test_each_call_has_a_slice_of_its_own() -> None:
    found = parse("difference(correct, 0, 1, over='temperature', kind='factual')")
    assert found == Call("difference", ("correct",), (0.0, 1.0), "temperature", {"kind": "factual"})


def test_products_bind_before_sums_and_minus_before_products() -> None:
    rate = Call("rate", ("a",))
    assert parse("1 - 2 * rate(a)") == Operation("-", Constant(1.0), Operation("*", Constant(2.0), rate))
    assert parse("100 * -rate(a)") == Operation("*", Constant(100.0), Negative(rate))
    assert parse("(1 - 2) * 3") == Operation("*", Operation("-", Constant(1.0), Constant(2.0)), Constant(3.0))


def test_parts_are_of_estimates_and_n_also_of_a_column() -> None:
    assert parse("lo(rate(a))") == Part("lo", Call("rate", ("a",)))
    assert parse("n(correct@2)") == Part("n", "correct@2")
    assert list(columns_of(parse("n(correct@2) + p(difference(a)) - 1"))) == ["correct@2", "a"]


def test_an_order_is_a_chain() -> None:
    found = parse_order("rate(a) > 0.5 >= rate(b)")
    assert found.relations == (">", ">=")
    assert len(found.terms) == 3


@pytest.mark.parametrize(
    *table(
        "claims_language_refused",
        ("(" * 100 + "1" + ")" * 100, "nested more than"),
        ("-" * 100 + "1", "nested more than"),
        ("1+" * 400 + "1", "at most 300"),
        ("1" * (MAX_LENGTH + 1), f"at most {MAX_LENGTH} are read"),
    )
)
def test_what_it_does_not_know_it_refuses_with_the_place(text: str, told: str) -> None:
    with pytest.raises(SpecError, match=told):
        parse(text)


def test_an_order_that_compares_nothing_is_refused() -> None:
    with pytest.raises(SpecError, match="compares nothing"):
        parse_order("rate(a)")


@given(st.text(alphabet="ratenp()@'\"=<>,.+-*/ 019_é\x00", max_size=80))
def test_any_text_is_read_or_refused(text: str) -> None:
    for reader in (parse, parse_order):
        with contextlib.suppress(SpecError):
            reader(text)
