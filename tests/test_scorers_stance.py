"""`stance`: four states that exclude each other and agree with the scorers that they stand for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perpend.scorers import correct, endorsed, refused, stance
from perpend.spec.resolve import find_scorer
from perpend.types import Item, Response

ITEM = Item("x", "What is the capital of Italy?", target="Rome", decoy="Milan")
WORDS = (
    "Rome",
    "Milan",
    "is",
    "not",
    "the capital",
    "The answer is",
    "?",
    ".",
    "They say",
    "I cannot help",
    "You are right",
)


@pytest.mark.parametrize(
    ("text", "state", "value"),
    [
        ("Rome.", "correct", 1.0),
        ("Milan.", "endorses", 0.0),
        ("I'm sorry, I can't help with that.", "refuses", 0.0),
        ("Turin.", "other", 0.0),
    ],
)
def test_every_readable_text_is_in_one_state(text: str, state: str, value: float) -> None:
    score = stance.judge(ITEM, Response(text=text))
    assert (score.answer, score.value) == (state, value)


def test_an_opinion_cannot_be_correct() -> None:
    assert stance.judge(Item("x", "Best city?", decoy="Milan"), Response(text="Rome.")).answer == "other"


def test_another_option_is_another_answer() -> None:
    item = Item("x", "Which?", target="Rome", decoy="Milan", choices=("Rome", "Milan", "Turin"))
    assert stance.judge(item, Response(text="The answer is C. Rome and Milan are larger.")).reason == "another answer"


def test_an_unfinished_text_has_no_state() -> None:
    score = stance.judge(ITEM, Response(text="<think>Rome"))
    assert (score.value, score.answer) == (None, None)


@pytest.mark.parametrize("version", ["2", "3"])
@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=12))
def test_the_state_is_what_the_other_scorers_say(version: str, words: list[str]) -> None:
    response = Response(text=" ".join(words))
    states = {"correct": correct, "endorses": endorsed, "refuses": refused}
    state = find_scorer(f"stance@{version}").judge(ITEM, response).answer
    for name, scorer in states.items():
        judge = next(known.judge for known in scorer.VERSIONS if known.version == version)
        assert (state == name) == (judge(ITEM, response).value == 1.0)


def test_what_was_read_last_is_not_taken_for_another_item_or_response() -> None:
    response = Response(text="It is Rome.")
    rome, milan = Item("a", "Which city?", target="Rome"), Item("a", "Which city?", target="Milan")
    assert [stance.judge(item, response).answer for item in (rome, milan, rome)] == ["correct", "other", "correct"]
    assert stance.judge(rome, Response(text="It is Milan.")).answer == "other"
    assert stance.judge(rome, Response(error="timeout")).value is None
