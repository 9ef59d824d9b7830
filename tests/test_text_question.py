"""What a question leads one to expect in the sentence that answers it."""

from __future__ import annotations

import pytest

from perpend.text.speech import question


@pytest.mark.parametrize(
    ("text", "computed"),
    [("3 + 4", True), ("so 3 + 4 makes", True), ("3, 4", False), ("3 - 4", False)],
)
def test_an_expression_has_the_numbers_of_the_question_and_its_operator(text: str, computed: bool) -> None:
    assert question("What is 3 + 4?", ("7",), is_opinion=False).computed_in(text) is computed


def test_without_numbers_the_words_of_the_question_are_enough() -> None:
    asked = question("What is the sum of the angles?", ("180",), is_opinion=False)
    assert asked.computed_in("the angles make")
    assert not asked.computed_in("the sides make")
