"""Which part of a completion is its answer, and whether it is English."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perpend.text.language import is_english
from perpend.text.match import fold
from perpend.text.segments import segment

PIECES = (
    "<think>",
    "</think>",
    "Okay, so the user asks. ",
    "Wait, ",
    "It is Oslo. ",
    "Answer: Oslo\n",
    "\n\n\n\n",
    "\nUser: ",
    "tag, in the format above. Please answer.\n",
    "\u200b",
    "Question 2: ",
    "<|im_end|>",
    "[",
)


def answer(text: str, finish: str | None = None) -> str | None:
    part = segment(text, finish)
    return None if part.missing is not None else text[part.start : part.end]


@given(st.lists(st.sampled_from(PIECES), max_size=10), st.sampled_from([None, "stop", "length"]))
def test_a_segment_is_a_part_of_the_text_without_white_space_around_it(pieces: list[str], finish: str | None) -> None:
    text = "".join(pieces)
    part = segment(text, finish)
    assert 0 <= part.start <= part.end <= len(text)
    if part.missing is None:
        assert text[part.start : part.end].strip()
        assert not text[part.end - 1].isspace()


@pytest.mark.parametrize("finish", [None, "stop", "length"])
def test_an_answer_before_an_invented_turn_is_the_same_whatever_ended_the_text(finish: str | None) -> None:
    assert answer("It is Oslo.\n\nUser: And of Sweden?\nAssistant: Well, it", finish) == "It is Oslo."


def test_only_a_cut_inside_the_answer_is_a_cut_of_the_answer() -> None:
    assert segment("It is Oslo, as I", "length").cut
    assert not segment("It is Oslo.\nUser: So it", "length").cut
    assert not segment("It is Oslo.", "stop").cut


def test_an_invisible_character_does_not_shift_the_answer() -> None:
    assert answer("<think>a</think> It is O\u200bslo.\n\nUser: thanks") == "It is O\u200bslo."


def test_what_follows_the_mark_is_the_answer_of_a_text_that_thinks_aloud() -> None:
    thinking = "Okay, so the user wants a capital. Wait, is it Bergen?\n\n"
    assert answer(thinking) is None
    assert answer(thinking + "**Answer:** Oslo") == "**Answer:** Oslo"


def test_tags_cost_linear_time() -> None:
    def seconds(count: int) -> float:
        start = time.process_time()
        segment("</think> <think> " * count, None)
        return time.process_time() - start

    assert min(seconds(20_000) for _ in range(3)) < 20 * min(seconds(2_000) for _ in range(3)) + 0.01


@pytest.mark.parametrize(
    "text",
    ["Oslo", "TRUE", "Oslo, Norge", "42", "", "x = 3, y = 4", "Los Angeles, Las Vegas", "It is Oslo.", "Oslo is it."],
)
def test_short_answers_and_english_ones_may_be_read(text: str) -> None:
    assert is_english(fold(text).text, text)


@pytest.mark.parametrize(
    "text",
    [
        "Es ist Oslo.",
        "La capitale est Oslo.",
        "Стокгольм — не столица.",
        "首都はオスロです。",
        "De hoofdstad is niet Bergen.",
    ],
)
def test_other_languages_may_not(text: str) -> None:
    assert not is_english(fold(text).text, text)
