"""*logic*: two labellings agree, the second one sees a wrong label, and known arguments."""

from __future__ import annotations

import re

import pytest
from factory.again.logic import label
from factory.items import BUNDLES, Bundle, bundles
from factory.quartet import Unreadable

OPENING = "Go by the following statements about pumps alone, true or not."
WORD = r"[a-z-]{5,}"


@pytest.fixture(scope="module", params=list(BUNDLES["logic"]))
def some(request: pytest.FixtureRequest) -> list[Bundle]:
    return bundles("logic", request.param, 20)


def test_both_labellings_agree(some: list[Bundle]) -> None:
    questions = [question for bundle in some for question in bundle.questions]
    assert [label(question.text) for question in questions] == [question.label for question in questions]


def test_a_word_exchanged_in_a_setting_turns_the_second_label(some: list[Bundle]) -> None:
    for bundle in some:
        for question in bundle.questions:
            there, other = bundle.quartet.settings[question.setting], bundle.quartet.settings[1 - question.setting]
            assert label(question.text.replace(there, other)) != question.label


def test_settings_name_the_same_things_and_no_sentence_has_two_negations(some: list[Bundle]) -> None:
    for bundle in some:
        one, other = bundle.quartet.settings
        assert one.count(". ") == other.count(". ")
        assert {w.rstrip("es") for w in re.findall(WORD, one)} == {w.rstrip("es") for w in re.findall(WORD, other)}
        for sentence in re.split(r"(?<=[.?]) ", bundle.questions[0].text):
            assert len(re.findall(r"\b(?:not|no)\b", sentence.replace("but not both", ""), re.I)) <= 1


@pytest.mark.parametrize(
    ("statements", "claim", "answer"),
    [
        ("Every pump that hums leaks. Pump 2 hums.", "pump 2 leaks", True),
        ("Only pumps that hum leak. Pump 2 hums.", "pump 2 leaks", False),
        ("Every pump either hums or leaks, but not both. Pump 2 hums.", "pump 2 does not leak", True),
        ("Every pump hums or leaks, or both. Pump 2 hums.", "pump 2 does not leak", False),
        ("Some pumps that hum leak. All pumps that leak are rented.", "at least one pump is rented", True),
    ],
)
def test_second_labelling_of_known_arguments(statements: str, claim: str, answer: bool) -> None:
    assert label(f"{OPENING} {statements} Does it follow that {claim}?") is answer


def test_what_cannot_be_read_is_unreadable() -> None:
    with pytest.raises(Unreadable):
        label(f"{OPENING} Most pumps that hum leak. Pump 2 hums. Does it follow that pump 2 leaks?")
