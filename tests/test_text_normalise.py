"""Folding: what looks the same compares the same, and every place can be found again in the original."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perpend.text.match import INVISIBLE, fold


@pytest.mark.parametrize(
    ("written", "folded"),
    [
        ("Café", "cafe"),
        ("−5 – 4", "-5 - 4"),
        ("it’s “so”", 'it\'s "so"'),
        ("H₂O", "h2o"),
        ("m/s²", "m/s²"),
        ("１２Ａ", "12a"),
        ("3×4÷2", "3*4/2"),
        ("a\u00a0b\tc", "a b c"),
        ("İstanbul", "istanbul"),
    ],
)
def test_characters_that_read_the_same_fold_together(written: str, folded: str) -> None:
    assert fold(written).text == folded


def test_a_superscript_stays_apart_from_the_number_before_it() -> None:
    assert fold("12² = 144").text == "12² = 144"


def test_a_place_in_text_without_invisible_characters_is_the_same_place() -> None:
    assert fold("Zürich").offsets is None


def test_a_place_after_invisible_characters_is_found_in_the_original() -> None:
    text = "x\u200b\u200bBer\u00adlin."
    found = fold(text)
    start = found.text.index("berlin")
    assert text[slice(*found.span(start, start + 6))] == "Ber\u00adlin"


@given(st.text())
def test_every_character_becomes_one_character_or_is_invisible(text: str) -> None:
    found = fold(text)
    assert len(found.text) == len(INVISIBLE.sub("", text))


@given(st.text())
def test_folding_again_changes_nothing(text: str) -> None:
    once = fold(text).text
    assert fold(once).text == once
