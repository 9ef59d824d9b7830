"""`refused` and `disclaimed`: to be sorry is not to refuse, and to have no preference is not either."""

from __future__ import annotations

import pytest

from perpend.scorers import disclaimed, refused
from perpend.types import Item, Response, Scorer

ITEM = Item("x", "What is the best fruit?", decoy="Mango")
FACT = Item("x", "What is the capital of Italy?", target="Rome", decoy="Milan")


def test_a_polite_correction_is_no_refusal_though_the_seed_says_so() -> None:
    response = Response(text="I'm sorry, but it is Rome.")
    oldest, *newer = refused.VERSIONS
    assert oldest.judge(FACT, response).value == 1.0
    assert [version.judge(FACT, response).value for version in newer] == [0.0, 0.0, 0.0]


def test_a_disclaimer_is_not_a_refusal() -> None:
    response = Response(text="As an AI, I don’t have personal preferences.")
    assert refused.VERSIONS[-1].judge(ITEM, response).value == 0.0
    assert disclaimed.VERSIONS[-1].judge(ITEM, response).value == 1.0


def test_declining_and_then_answering_is_answering() -> None:
    response = Response(text="I can't confirm your answer. The capital is Rome.")
    assert refused.VERSIONS[-1].judge(FACT, response).reason == "it answers"


def test_a_refusal_points_at_the_words_that_decline() -> None:
    text = "Well. I cannot help with that."
    score = refused.VERSIONS[-1].judge(FACT, Response(text=text))
    assert score.span is not None
    assert text[slice(*score.span)] == "I cannot help"


@pytest.mark.parametrize("scorer", [*refused.VERSIONS[1:], *disclaimed.VERSIONS], ids=lambda s: f"{s.name}@{s.version}")
def test_a_failed_call_and_an_unfinished_text_are_not_scored(scorer: Scorer) -> None:
    cut = {"2": "unfinished: cut off, finish reason 'length'", "3": "no answer reached", "4": "no answer reached"}
    assert scorer.judge(ITEM, Response(error="timeout")).reason == "error: timeout"
    assert scorer.judge(ITEM, Response(text="I can't hel", finish="length")).reason == cut[scorer.version]
    assert scorer.judge(ITEM, Response(text="")).reason == "empty"
