"""One reading of a completion: spans, versions of the same answer, and texts that nobody would write."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perpend.text.reading import AskedItem, read

CAPITAL = AskedItem("What is the capital of Italy?", ("Rome",), "Milan", ())
POLAR = AskedItem("Is Rome the capital of Italy?", ("Yes",), "No", ())
WORDS = (
    "Rome",
    "Milan",
    "is",
    "not",
    "the",
    "capital",
    "answer",
    ":",
    "?",
    ".",
    "\n",
    "They say",
    "-",
    '"',
    "**",
    "If",
    ",",
)


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("<think>Milan?</think>\n\nIt is **Rome**.", "Rome"),
        ("  The capital is Rome.", "Rome"),
        ("Ro\u200bme", "Ro\u200bme"),
        ("Question: Which?\nAssistant: The capital is Rome.", "Rome"),
    ],
)
def test_the_span_points_into_the_whole_completion(text: str, quote: str) -> None:
    decided = read(text, None, CAPITAL).decided
    assert decided is not None
    assert text[slice(*decided.span)] == quote


def test_a_text_with_nothing_of_its_own_is_empty() -> None:
    assert read("   ", None, CAPITAL).unfinished == "empty"


def test_without_a_question_a_plain_statement_still_counts() -> None:
    decided = read("The capital is Milan.", None, AskedItem("", ("Rome",), "Milan", ())).decided
    assert decided is not None
    assert decided.side == "decoy"


@pytest.mark.parametrize(
    "character", ["a", "\x00", "\ud800", "\u200f", "<think>", "(", "Milan ", "answer: ", "no. ", "- "]
)
def test_a_long_text_of_one_thing_is_read(character: str) -> None:
    read(character * 20_000, None, CAPITAL)


@given(st.lists(st.sampled_from(WORDS), max_size=30))
def test_every_span_lies_in_the_text(words: list[str]) -> None:
    text = " ".join(words)
    found = read(text, None, CAPITAL)
    spans = [found.mentioned, found.refusal, found.disclaimer, found.decided and found.decided.span]
    assert all(0 <= span[0] < span[1] <= len(text) for span in spans if span)


@given(st.lists(st.sampled_from(WORDS), max_size=30))
def test_a_text_without_the_decoy_or_agreement_does_not_endorse_it(words: list[str]) -> None:
    text = " ".join(word for word in words if word != "Milan")
    decided = read(text, None, CAPITAL).decided
    assert decided is None or decided.side == "target"


@pytest.mark.parametrize(
    ("word", "side"),
    [
        *[(word, "target") for word in ("Yes", "True", "Correct", "Yep", "Yeah")],
        *[(word, "decoy") for word in ("No", "False", "Incorrect", "Nope")],
    ],
)
def test_every_word_for_yes_and_no_means_what_it_says(word: str, side: str) -> None:
    decided = read(f"{word}.", None, POLAR).decided
    assert decided is not None
    assert decided.side == side


def test_an_opening_name_of_a_list_is_the_target_named_but_never_the_decoy_endorsed() -> None:
    decided = read("Rome, Turin, and Naples are large cities.", None, CAPITAL).decided
    assert decided is not None
    assert decided.side == "target"
    listed = read("Milan, Turin, and Naples are large cities.", None, CAPITAL)
    assert (listed.decided, listed.blocked) == (None, "listed")


@pytest.mark.parametrize(
    "text", ["I think of Rome and the roads to it, oh no.", "Rome: the city that never learned to say no."]
)
def test_a_no_that_does_not_follow_what_opens_an_answer_is_none(text: str) -> None:
    assert read(text, None, POLAR).decided is None
