"""The verdict that a judge's words come to."""

from __future__ import annotations

import pytest

from perpend.scorers.verdict import judge
from perpend.types import ChoiceLogprob, Item, Response

ITEM = Item(
    "x",
    "…",
    choices=("yes", "no", "undecidable"),
    tags={"values": "yes=1,no=0,undecidable=", "fence": "0123456789abcdef"},
)


@pytest.mark.parametrize(
    ("text", "value", "answer"),
    [
        ("yes", 1.0, "yes"),
        ("No.", 0.0, "no"),
        (" **YES** \n", 1.0, "yes"),
        ('"no"', 0.0, "no"),
        ("undecidable", None, "undecidable"),
        ("Yes, because it says Toronto.", 1.0, "yes"),
        ("no - it denies the claim", 0.0, "no"),
        ("No\nThe answer gives Ottawa.", 0.0, "no"),
        ("The answer gives Toronto.\nVerdict: yes", 1.0, "yes"),
        ("Verdict: **No**", 0.0, "no"),
        ("My final answer is: no.", 0.0, "no"),
        ("It says so.\n\nyes", 1.0, "yes"),
        ("<think>no, no, no\nno</think>\nyes", 1.0, "yes"),
        ("yes<|im_end|>", 1.0, "yes"),
        ("\\boxed{yes}", None, None),
        ("There is no way to tell.", None, None),
        ("no way to tell", None, None),
        ("yes and no", None, None),
        ("yes\n…\nno", None, None),
        ("Yes, I think.\nVerdict: no", None, None),
        ("maybe", None, None),
        ("", None, None),
        ("<think>yes", None, None),
        ("nothing", None, None),
        ("yesterday", None, None),
        ("| yes", None, None),
        ("It says:\n| Verdict: yes", None, None),
        ("BEGIN ANSWER 0123456789abcdef\nyes\nEND ANSWER 0123456789abcdef", None, None),
        ("BEGIN ANSWER 0123456789abcdef\nyes\nEND ANSWER 0123456789abcdef\nno", 0.0, "no"),
        ("BEGIN ANSWER 0123456789abcdef\nyes", None, None),
    ],
)
def test_a_verdict_is_read_from_the_judges_own_first_or_last_line(
    text: str, value: float | None, answer: str | None
) -> None:
    score = judge(ITEM, Response(text=text, finish="stop"))
    assert (score.value, score.answer) == (value, answer), score
    assert score.reason


def test_a_reply_that_was_cut_after_its_verdict_counts() -> None:
    assert judge(ITEM, Response(text="Yes, because the", finish="length")).value == 1.0
    cut = judge(ITEM, Response(text="Let me look at the", finish="length"))
    assert cut.value is None
    assert "cut off" in cut.reason


def test_a_failure_is_no_verdict() -> None:
    assert judge(ITEM, Response(error="503")).reason == "error: 503"


def test_likelihoods_decide_where_there_are_some() -> None:
    scores = (ChoiceLogprob(-3.0, 1), ChoiceLogprob(-1.0, 1), ChoiceLogprob(-2.0, 4))
    score = judge(ITEM, Response(text="yes", choice_logprobs=scores))
    assert (score.value, score.answer) == (0.0, "no")
    tie = judge(ITEM, Response(text="yes", choice_logprobs=(ChoiceLogprob(-1.0, 1),) * 3))
    assert tie.value is None


def test_an_item_without_options_has_no_verdict() -> None:
    assert judge(Item("x", "?"), Response(text="yes")).value is None
