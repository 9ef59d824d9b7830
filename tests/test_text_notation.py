"""Which answers are one to the rules, and which are not."""

from __future__ import annotations

import pytest

from perpend.text.notation import answer, same


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("0.5", "0.50"),
        ("1000", "1,000"),
        ("The Beatles", "Beatles"),
        ("USA", "U.S.A."),
        ("naive", "naïve"),
        ("New York", "New-York"),
        ("4", "four"),
        ("H2O", "H₂O"),
        ("July 20, 1969", "20 July 1969"),
        ("60-100", "between 60 and 100"),
        ("red, green and blue", "blue, red and green"),
        ("colour", "color"),
        ("1/2", "½"),
        ("π", "pi"),
        ("8 minutes", "8 min"),
        ("$28", "28 dollars"),
        ("8 million", "8,000,000"),
        ("x^2", "x²"),
        ("10^5", "100,000"),
        ("3rd", "third"),
        ("Yes, it is so, and it has been so for years", "yes it is so and it has been so for years."),
    ],
)
def test_two_spellings_of_one_answer_are_the_same(first: str, second: str) -> None:
    assert same(first, second)
    assert same(second, first)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("8 minutes", "8 hours"),
        ("$40", "€40"),
        ("5%", "5"),
        ("8 million", "8 billion"),
        ("7", "-7"),
        ("4", "14"),
        ("H2SO4", "H2SO3"),
        ("July 20, 1969", "July 16, 1969"),
        ("New York", "York"),
        ("water", "water vapor"),
        ("K", "P"),
        ("x < 5", "x <= 5"),
        ("O(n)", "O(n log n)"),
        ("red, green and blue", "red, yellow and blue"),
        ("C", "C++"),
        ("//", "%"),
        ("Emily Brontë", "Charlotte Brontë"),
        ("Niger", "Nigeria"),
        ("北京", "上海"),
        ("Pacific Ocean", "Atlantic Ocean"),
        (
            "the first of the two statements is true and the second is not",
            "the second of them is true and the first is not",
        ),
    ],
)
def test_answers_that_a_reader_tells_apart_are_not_the_same(first: str, second: str) -> None:
    assert not same(first, second)
    assert not same(second, first)


def test_nothing_to_read_is_no_answer() -> None:
    assert answer(("\u200b",), None, (), "What?") is None
