"""Numbers are found by value: sign, decimals, thousands, words and units."""

from __future__ import annotations

import pytest

from perpend.text import numbers
from perpend.text.match import answer, fold, mentions


def found(text: str, wanted: str) -> list[str]:
    form = answer((wanted,), None, ())
    assert form is not None
    folded = fold(text)
    return [text[slice(*folded.span(*span))] for span, _, _ in mentions(folded, text, (("target", form),))]


@pytest.mark.parametrize(
    ("wanted", "value", "unit"),
    [
        ("8", 8.0, None),
        ("-5", -5.0, None),
        ("1,000", 1000.0, None),
        ("$28", 28.0, None),
        (".5", 0.5, None),
        ("9.8 m/s²", 9.8, "mps2"),
        ("300,000 km/s", 300000.0, "kmps"),
        ("78° f", 78.0, "fahrenheit"),
        ("0.115 m", 0.115, None),
    ],
)
def test_an_answer_with_one_number_is_a_quantity(wanted: str, value: float, unit: str | None) -> None:
    quantity = numbers.quantity(wanted)
    assert quantity is not None
    assert (quantity.value, quantity.unit) == (value, unit)


@pytest.mark.parametrize("wanted", ["berlin", "(4, 2)", "12/11", "p = 12", "70 pm, 1402 kj/mol", "200 + 450", ""])
def test_an_answer_that_is_not_one_number_is_no_quantity(wanted: str) -> None:
    assert numbers.quantity(wanted) is None


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("18", "8"),
        ("0.8", "8"),
        ("8.5", "8"),
        ("160,000", "160"),
        ("8th", "8"),
        ("-5", "5"),
        ("12 - 5", "-5"),
        ("twenty-five", "5"),
        ("five hundred", "5"),
        ("5 million", "5"),
        ("300,000 m/s", "300,000 km/s"),
        ("32 degrees Celsius", "32° F"),
        ("v8", "8"),
    ],
)
def test_another_number_is_not_found(text: str, wanted: str) -> None:
    assert found(text, wanted) == []


@pytest.mark.parametrize(
    ("text", "wanted", "quote"),
    [
        ("It costs $1,000.", "1000", "1,000"),
        ("It is -5.", "-5", "-5"),
        ("(−5)", "-5", "−5"),
        ("It is negative 5.", "-5", "negative 5"),
        ("12 - 5 = 7", "5", "5"),
        ("Twenty five", "25", "Twenty five"),
        ("0.50", ".5", "0.50"),
        ("9.80 m/s^2", "9.8 m/s²", "9.80 m/s^2"),
        ("100°C", "100", "100°C"),
        ("equals5", "5", "5"),
        ("1.5 × 10^11 m", "150000000000", "1.5 × 10^11"),
        ("1.05 × 10^4 m", "10500", "1.05 × 10^4"),
        ("9.5 × 10^-4 m", "0.00095", "9.5 × 10^-4"),
    ],
)
def test_the_same_number_is_found_however_it_is_written(text: str, wanted: str, quote: str) -> None:
    assert found(text, wanted) == [quote]


def test_a_fraction_is_found_with_a_slash_and_in_latex() -> None:
    assert found(r"8/9 or \frac{8}{9} but not 8/90", r"\frac{8}{9}") == ["8/9", "frac{8}{9}"]
    assert found(r"8/9 or \frac{8}{9} but not 9/9", "8/9") == ["8/9", "frac{8}{9}"]
