"""*reason*: two labellings agree, the second one finds a planted error, and known cases."""

from __future__ import annotations

import re

import pytest
from factory.again.reason import label
from factory.items import BUNDLES, Bundle, bundles
from factory.quartet import Unreadable


@pytest.fixture(scope="module", params=list(BUNDLES["reason"]))
def some(request: pytest.FixtureRequest) -> list[Bundle]:
    return bundles("reason", request.param, 24)


def test_both_labellings_agree(some: list[Bundle]) -> None:
    questions = [question for bundle in some for question in bundle.questions]
    assert [label(question.text) for question in questions] == [question.label for question in questions]


def test_formulas_are_printed_as_one_writes_them(some: list[Bundle]) -> None:
    for bundle in some:
        for setting in bundle.quartet.settings:
            assert not re.search(
                r"(?<![.\w])1 [a-z]\d?[\[ ^,.]|\+ -|- -|(?<![.\w])0 [a-z]|\^1\b|heaviside|lamb", setting
            ), setting


@pytest.mark.parametrize(
    ("setting", "claim", "answer"),
    [
        ("Consider the flow x' = 2 x and y' = 3 x - 5 y.", "the divergence of the vector field is -3 everywhere", True),
        ("Consider the flow x' = -y and y' = x.", "the quantity x^2 + y^2 stays constant along every solution", True),
        ("Consider the flow x' = -y and y' = 2 x.", "the quantity x^2 + y^2 is conserved", False),
        ("Consider the map x[n+1] = 2 x[n] - 3.", "x = 3 is a fixed point", True),
        ("Consider the flow x' = x - x^3.", "the solution that starts at x = 2 tends to x = 1", True),
        ("Consider the flow x' = y and y' = -x - 0.5 y.", "the fixed point at (x, y) = (0, 0) is stable", True),
        ("Consider the flow x' = y and y' = x.", "the fixed point at (x, y) = (0, 0) is a saddle", True),
    ],
)  # fmt: skip
def test_second_labelling_of_known_cases(setting: str, claim: str, answer: bool) -> None:
    assert label(f"{setting} Is it true that {claim}?") is answer


def test_a_fixed_point_that_is_none_is_unreadable() -> None:
    with pytest.raises(Unreadable):
        label(
            "Consider the flow x' = y + 1 and y' = x. Is it true that the fixed point at (x, y) = (0, 0) is a saddle?"
        )
