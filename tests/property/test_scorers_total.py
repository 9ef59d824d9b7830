"""No text makes a scorer raise, and none costs more than linear work."""

from __future__ import annotations

import importlib
import pkgutil
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import perpend.scorers
from perpend.scorers import stance
from perpend.text import reasoning
from perpend.types import ChoiceLogprob, Item, Response, Scorer

SCORERS = [
    pytest.param(scorer, id=f"{scorer.name}@{scorer.version}")
    for found in sorted(pkgutil.iter_modules(perpend.scorers.__path__), key=lambda module: module.name)
    for scorer in importlib.import_module(f"perpend.scorers.{found.name}").VERSIONS
]
# Control characters, lone surrogates, direction marks, letters whose case changes their length, and what is looked for.
PIECES = st.sampled_from(
    [
        "\x00\x1b[0m", "\ud800", "\udfff", "\u202e", "\u200f", "\u0301", "İ", "ß", "ﬁ", "Ⅷ", "²", "½", "٣",
        "<think>", "</think>", "[think]", "<|channel|>final", "**", "`", "\\boxed{", "}", "(", "$", "\n", " ", "\u2028",
        "answer", "Answer:", "the answer is", "not", "n't", "TRUE", "false", "yes", "Oslo", "Bergen", "-7", "1,000",
        ".5", "they said", "however", "I cannot", "sorry", "it depends", "?", ".", "“", "’", "—", "\ufeff",
        "\U0001f600",
    ]
)  # fmt: skip
TEXTS = st.text(max_size=200) | st.lists(PIECES | st.text(max_size=5), max_size=40).map("".join)
RANDOM_TEXT = st.text(st.characters(), max_size=20)
ITEMS = st.builds(
    Item,
    id=st.just("x"),
    prompt=TEXTS,
    target=st.none() | RANDOM_TEXT | st.sampled_from(["Oslo", "TRUE", "-7", "1/2", "(2, 3)"]),
    decoy=st.none() | RANDOM_TEXT | st.sampled_from(["Bergen", "No", "7", "A dog"]),
    choices=st.sampled_from([(), ("Oslo", "Bergen")]),
    aliases=st.sampled_from([(), ("Oslo city",), ("",)]),
)
LOGPROBS = st.none() | st.lists(
    st.builds(ChoiceLogprob, st.none() | st.floats(), st.integers(0, 5)), min_size=2, max_size=3
).map(tuple)
REPEATED = (
    "a",
    " ",
    "\n",
    "0",
    "-",
    "*",
    "'",
    "<",
    "é",
    "\u0301",
    "<think>",
    "</think>",
    "Oslo ",
    "not ",
    "TRUE ",
    "the answer is ",
    "no. ",
    "TRUE, ",
    "Is it? ",
    "Oslo or Bergen ",
    "A) Oslo\n",
)
SIZE = 1_000_000
ITEM = Item("x", "Capital?", target="Oslo", decoy="Bergen")
POLAR = Item("y", "Is it chaotic?", target="TRUE", decoy="FALSE")


@pytest.mark.parametrize("scorer", SCORERS)
@settings(max_examples=60, deadline=None)
@given(item=ITEMS, text=TEXTS, finish=st.sampled_from([None, "stop", "length", ""]), logprobs=LOGPROBS)
def test_no_text_makes_a_scorer_raise(
    scorer: Scorer, item: Item, text: str, finish: str | None, logprobs: tuple[ChoiceLogprob, ...] | None
) -> None:
    score = scorer.judge(item, Response(text=text, finish=finish, choice_logprobs=logprobs))
    assert score.reason
    assert score.span is None or 0 <= score.span[0] <= score.span[1] <= len(text)


@pytest.mark.parametrize("scorer", SCORERS)
@pytest.mark.parametrize("piece", REPEATED, ids=ascii)
def test_work_grows_no_faster_than_the_text(scorer: Scorer, piece: str) -> None:
    # Four times the text: linear work takes 4 times as long, quadratic 16 times. The floor hides the clock's noise.
    # Words at both ends keep the text from being stripped away.
    small, large = (cost(scorer, f"Oslo {piece * (size // len(piece))} Bergen") for size in (10_000, 40_000))
    assert large < 9 * small + 0.05


@pytest.mark.parametrize("scorer", SCORERS)
@pytest.mark.parametrize("piece", ["a", "\n", "<think>", "<think></think>"], ids=ascii)
def test_one_and_two_megabytes_cost_linear_work(scorer: Scorer, piece: str) -> None:
    small, large = (cost(scorer, piece * (size // len(piece)), times=2) for size in (SIZE, 2 * SIZE))
    assert large < 3.5 * small + 0.1


@pytest.mark.parametrize("scorer", SCORERS)
@pytest.mark.parametrize("piece", ["a", "<think></think>"], ids=ascii)
def test_ten_megabytes_are_judged(scorer: Scorer, piece: str) -> None:
    assert scorer.judge(ITEM, Response(text=piece * (10 * SIZE // len(piece)))).reason


def cost(scorer: Scorer, text: str, times: int = 3) -> float:
    """The least processor time of a few tries, for a question with an answer in words and one of yes or no.

    Other processes make a try slower, never faster; what the last try left in memory would.
    """
    tries = []
    for _ in range(times):
        stance._V2.forget()
        stance._V3.forget()
        reasoning.visible.cache_clear()
        start = time.process_time()
        for item in (ITEM, POLAR):
            scorer.judge(item, Response(text=text))
        tries.append(time.process_time() - start)
    return min(tries)
