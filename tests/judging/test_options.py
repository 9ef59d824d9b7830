"""Choices by likelihood: the argmax, its share, and every case in which neither is defined."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perpend.judging.scorers import SCORERS
from perpend.types import ChoiceLogprob, Item, Response, Score

PROBE = Item("go", "Yesterday she ___.", target="went", choices=("went", "goed", "goes"))


def weighed(name: str, *pairs: tuple[float | None, int], item: Item = PROBE) -> Score:
    logprobs = tuple(ChoiceLogprob(total, tokens) for total, tokens in pairs)
    return SCORERS[name][-1].judge(item, Response(text="", choice_logprobs=logprobs))


def test_a_long_choice_is_not_punished_for_its_tokens() -> None:
    pairs = ((-3.0, 3), (-2.0, 1), (-4.0, 1))
    assert weighed("choice", *pairs) == Score(1.0, "went", "log-likelihood per token")
    assert weighed("choice_raw", *pairs) == Score(0.0, "goed", "summed log-likelihood")


def test_confidence_is_the_share_of_the_preferred_choice() -> None:
    pairs = ((math.log(0.5), 1), (math.log(0.3), 1), (math.log(0.2), 1))
    assert weighed("confidence", *pairs).value == pytest.approx(0.5)
    assert weighed("confidence_raw", *pairs).value == pytest.approx(0.5)


@pytest.mark.parametrize("name", ["choice", "choice_raw", "confidence", "confidence_raw"])
def test_a_choice_outside_the_vocabulary_leaves_the_item_out(name: str) -> None:
    score = weighed(name, (-1.0, 1), (None, 0), (-2.0, 1))
    assert score == Score(None, None, "model_oov: the tokenizer cannot represent 'goed'")


@pytest.mark.parametrize("name", ["choice", "choice_raw", "confidence", "confidence_raw"])
def test_a_tie_is_nobodys_choice(name: str) -> None:
    assert weighed(name, (-1.0, 1), (-1.0, 1), (-2.0, 1)) == Score(None, None, "tie: 'went', 'goed'")


@pytest.mark.parametrize("name", ["choice", "confidence"])
@pytest.mark.parametrize("total", [math.nan, math.inf])
def test_a_likelihood_that_is_no_number_is_not_weighed(name: str, total: float) -> None:
    assert weighed(name, (-1.0, 1), (total, 1), (-2.0, 1)).value is None


def test_an_impossible_choice_has_no_share_and_an_impossible_set_no_choice() -> None:
    assert weighed("confidence", (-1.0, 1), (-math.inf, 1), (-math.inf, 1)).value == 1.0
    impossible = weighed("choice", (-math.inf, 1), (-math.inf, 1), (-math.inf, 1))
    assert impossible == Score(None, None, "every choice has likelihood 0")


def test_an_item_without_choices_is_not_weighed() -> None:
    assert weighed("choice", item=Item("x", "?")).reason == "0 likelihoods for 0 choices"


@given(st.lists(st.tuples(st.floats(-1e6, 0), st.integers(1, 50)), min_size=3, max_size=3))
def test_choice_and_confidence_speak_of_the_same_choice(pairs: list[tuple[float, int]]) -> None:
    for chooser, sure in (("choice", "confidence"), ("choice_raw", "confidence_raw")):
        chosen, share = weighed(chooser, *pairs), weighed(sure, *pairs)
        assert (chosen.answer, chosen.reason) == (share.answer, share.reason)
        assert (share.value is None) == (chosen.answer is None)
        assert share.value is None or 1 / 3 <= share.value <= 1
