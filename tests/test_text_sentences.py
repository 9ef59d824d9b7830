"""Where the model's own turn ends, and where a sentence does."""

from __future__ import annotations

import pytest

from perpend.text.clause import REACH, bounds, listing, own_turn
from perpend.text.match import fold


def own(text: str) -> str:
    start, end = own_turn(fold(text).text, text)
    return text[start:end]


def sentence(text: str, word: str) -> str:
    start = text.index(word)
    return text[slice(*bounds(text, start, start + len(word)))].strip()


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Rome\n\nUser: and Milan?", "Rome\n\n"),
        ("Rome.Question: What else?", "Rome."),
        ("Rome. Movie plot: a man", "Rome. "),
        ("RomePassage: The census", "Rome"),
        ("Rome<|im_start|>user", "Rome"),
        ("Rome\n**User**: more", "Rome\n**"),
        ("Let's tackle this question: Rome.", "Let's tackle this question: Rome."),
        ("Dear user: Rome.", "Dear user: Rome."),
        ("USER: hello", "USER: hello"),
        ("Question: Which?\nAssistant: Rome\nUser: ok", " Rome\n"),
    ],
)
def test_an_invented_turn_is_cut_and_prose_is_not(text: str, answer: str) -> None:
    assert own(text) == answer


@pytest.mark.parametrize(
    ("text", "word", "whole"),
    [
        ("it is big. rome is old. so is it.", "rome", "rome is old."),
        ("it is 9.8 and not 10.", "not", "it is 9.8 and not 10."),
        ("some, e.g. dr. smith, say rome. no.", "rome", "some, e.g. dr. smith, say rome."),
        ('the answer to "why?" is rome. yes.', "rome", 'the answer to "why?" is rome.'),
        ("one\ntwo rome\nthree", "rome", "two rome"),
        ("rome ... is old. yes", "old", "rome ... is old."),
        ("it lies in the u.s. and is old. yes", "old", "it lies in the u.s. and is old."),
        ("it is the u.s. that is old.", "u.s", "it is the u.s."),
    ],
)
def test_a_sentence_ends_where_a_reader_ends_it(text: str, word: str, whole: str) -> None:
    assert sentence(text, word) == whole


def test_a_sentence_without_an_end_is_read_only_so_far() -> None:
    text = "x" * 5000
    start, end = bounds(text, 2500, 2501)
    assert (start, end) == (2500 - REACH, 2501 + REACH)


def test_one_bullet_is_no_list() -> None:
    assert listing("- rome", 0) is None
    assert listing("- rome\n- milan", 0) == "bullet"
    assert listing("1. rome", 0) == "bullet"
    assert listing("it is\n- rome\n- milan", 0) is None


def test_one_lettered_option_is_no_list() -> None:
    assert listing("a) rome", 0) is None
    assert listing("a) rome\nb) milan", 8) == "option"
