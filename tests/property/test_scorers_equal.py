"""A completion that is an answer of the item, letter for letter, is that answer: whatever its letters or signs."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from perpend.scorers import correct, endorsed
from perpend.types import Item, Response

ANSWERS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12) | st.sampled_from(
    [
        "C++",
        "e",
        "π",
        "½",
        "1e-5",
        "ii",
        "ox",
        "up",
        "he",
        "do",
        "x",
        "C#",
        "x²",
        "∞",
        "°C",
        "10⁵",
        "√2",
        "%",
        "*",
        "**",
    ]
)
CORRECT, ENDORSED = correct.VERSIONS[-1], endorsed.VERSIONS[-1]


def folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold().strip()


@settings(max_examples=300, deadline=None)
@given(target=ANSWERS, decoy=ANSWERS, prompt=st.sampled_from(["What?", "Who wrote it?", "Is it so?", "Which river?"]))
@example(target="wait", decoy="no", prompt="What?")
@example(target="User:", decoy="x", prompt="What?")
@example(target="X", decoy="x", prompt="What?")
@example(target="\u0301", decoy="x", prompt="What?")
def test_an_answer_that_equals_target_or_decoy_always_counts(target: str, decoy: str, prompt: str) -> None:
    assume(target.strip() and decoy.strip() and target.strip() != decoy.strip())
    item = Item("x", prompt, target=target, decoy=decoy)
    assert CORRECT.judge(item, Response(text=target)).value == 1
    assert ENDORSED.judge(item, Response(text=decoy, finish="stop")).value == 1


@settings(max_examples=300, deadline=None)
@given(target=ANSWERS, decoy=ANSWERS, marks=st.sampled_from(["**{}**", "`{}`", '"{}"', "“{}”", "{}.", " {}\n"]))
def test_quotation_marks_markup_and_a_full_stop_around_it_change_nothing(target: str, decoy: str, marks: str) -> None:
    alone = target.strip()
    assume(alone and any(char.isalnum() for char in alone) and folded(alone) != folded(decoy) and decoy.strip())
    assume(not any(char in "*`\"'“”._" for char in alone + decoy))
    score = CORRECT.judge(Item("x", "What?", target=target, decoy=decoy), Response(text=marks.format(alone)))
    assert score.value == 1


@pytest.mark.parametrize("text", ["b", "B", "b)", "(b)", "b.", "**b**", "The answer is b.", "Answer: b", "Option b"])
@pytest.mark.parametrize("choices", [("a", "b", "c"), ("red", "blue", "green")])
def test_an_option_is_given_by_its_letter_in_any_case(text: str, choices: tuple[str, ...]) -> None:
    item = Item("x", "Which?", target=choices[1], decoy=choices[0], choices=choices)
    assert CORRECT.judge(item, Response(text=text)).value == 1
    swapped = Item("x", "Which?", target=choices[0], decoy=choices[1], choices=choices)
    assert ENDORSED.judge(swapped, Response(text=text)).value == 1
