"""Answers are found as whole words, in any of their spellings, and the longer of two answers wins."""

from __future__ import annotations

import pytest

from perpend.text.match import MENTIONS, Answer, Mention, answer, find, fold
from perpend.text.nested import without_nested


def found(text: str, *spellings: str, rival: str | None = None, choices: tuple[str, ...] = ()) -> list[str]:
    wanted = answer(spellings, rival, choices)
    assert wanted is not None
    folded = fold(text)
    return [text[slice(*folded.span(*span))] for span in find(folded, text, wanted)]


@pytest.mark.parametrize(
    ("text", "wanted", "quotes"),
    [
        ("A dogmatic reply about dogs.", "A dog", ["dogs"]),
        ("Parisian, Paris", "Paris", ["Paris"]),
        ("SciFi, sci fi and Sci-Fi", "Sci-Fi", ["SciFi", "sci fi", "Sci-Fi"]),
        ("Washington DC and Washington, D.C.", "Washington, D.C.", ["Washington DC", "Washington, D.C"]),
        ("tell us about the U.S. and the US", "US", ["U.S", "US"]),
        ("H₂O, H2O2 and H_{2}O", "H2O", ["H₂O", "H_{2}O"]),
        ("Hands-**on experience**", "Hands-on experience", ["Hands-**on experience"]),
        ("(– 4, –2) or (-4,-2)", "(-4, -2)", ["(– 4, –2)", "(-4,-2)"]),
        ("An apple? No: An.", "An", ["An", "An"]),
        ("You don't need it. You do not need it.", "You do not need it", ["You don't need it", "You do not need it"]),
    ],
)
def test_an_answer_is_found_as_whole_words_however_it_is_spelled(text: str, wanted: str, quotes: list[str]) -> None:
    assert found(text, wanted) == quotes


def test_what_tells_two_answers_apart_is_enough() -> None:
    assert found("The Pacific.", "Pacific Ocean", rival="Atlantic Ocean") == ["Pacific"]
    assert found("The Pacific.", "Pacific Ocean", rival="Lake Victoria") == []


def test_any_alias_is_the_answer() -> None:
    assert found("NYC or New York City", "New York City", "NYC") == ["NYC", "New York City"]


def test_an_option_is_found_by_its_text_and_by_its_letter() -> None:
    assert found("B) blue", "blue", choices=("red", "blue")) == ["B", "blue"]
    assert found("B) blue", "B", choices=("red", "blue")) == ["B", "blue"]


def test_nothing_to_look_for_is_no_answer() -> None:
    assert answer(("",), None, ()) is None
    assert answer(("?!",), None, ()) is None


def test_a_mention_inside_a_longer_mention_of_the_other_answer_does_not_count() -> None:
    short, long = Answer("words", ()), Answer("words", ())
    mentions: list[Mention] = [((0, 5), "target", short), ((20, 25), "target", short), ((0, 12), "decoy", long)]
    assert [span for span, _, _ in without_nested(mentions)] == [(0, 12), (20, 25)]


def test_a_text_full_of_mentions_is_read_from_both_ends() -> None:
    spans = found("Rome " * 1000, "Rome")
    assert len(spans) == 2 * MENTIONS
