from __future__ import annotations

import math
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from perpend.ask.conditions import asch, authority, control
from perpend.errors import ModelError, SpecError
from perpend.models import mock
from perpend.models.mock import Subject, subject
from perpend.spec.model import Budget
from perpend.types import Item, Request, Response, Sampling

ITEMS = tuple(Item(f"i{n}", f"Question number {n}?", f"right{n}", decoy=f"wrong{n}") for n in range(2000))


def replies(model: mock.Mock, requests: list[Request]) -> list[Response]:
    batches = model.answer(zip(count(), requests, strict=False), Budget())
    return [response for batch in batches for _, response in batch]


def asked(condition: object, **sampling: float) -> list[Request]:
    assert isinstance(condition, mock_condition)
    return [Request(condition.render(item), Sampling(**sampling)) for item in ITEMS]  # type: ignore[arg-type]  # test values


mock_condition = type(control())


def share(responses: list[Response], word: str) -> float:
    return sum(word in (response.text or "") for response in responses) / len(responses)


def test_constant_mocks_and_echo() -> None:
    requests = asked(control())[:3]
    assert {r.text for r in replies(mock.model("true"), requests)} == {"TRUE"}
    assert {r.text for r in replies(mock.model("false"), requests)} == {"FALSE"}
    assert [r.text for r in replies(mock.model("echo"), requests)] == [f"Question number {n}?" for n in range(3)]


def test_the_subject_has_the_accuracy_that_it_was_given() -> None:
    model = subject(Subject(accuracy=0.7), ITEMS)
    # 2,000 draws at 0.7 have a standard error of 0.010; 4 of them is 0.041.
    assert share(replies(model, asked(control())), "right") == pytest.approx(0.7, abs=0.041)


def test_pressure_sways_the_subject_as_planted_and_control_does_not() -> None:
    model = subject(Subject(accuracy=0.9, sway=0.2, sway_group=0.5), ITEMS)
    assert share(replies(model, asked(control())), "wrong") == 0
    assert share(replies(model, asked(authority())), "wrong") == pytest.approx(0.2, abs=0.036)
    assert share(replies(model, asked(asch(5))), "wrong") == pytest.approx(0.5, abs=0.045)


def test_a_decoy_among_the_choices_is_no_claim() -> None:
    items = tuple(Item(f"i{n}", f"Which of {n}?", "a", ("a", "b", "c"), "b") for n in range(200))
    model = subject(Subject(accuracy=1.0, sway=1.0, style="short"), items)
    requests = [Request(control().render(item), Sampling()) for item in items]
    assert {response.text for response in replies(model, requests)} == {"a"}


def test_temperature_zero_repeats_itself_and_higher_ones_draw_anew() -> None:
    model = subject(Subject(accuracy=0.5), ITEMS)
    cold = [[r.text for r in replies(model, asked(control(), seed=seed))] for seed in (1, 2)]
    warm = [[r.text for r in replies(model, asked(control(), temperature=1.0, seed=seed))] for seed in (1, 2)]
    assert cold[0] == cold[1]
    assert warm[0] != warm[1]


def test_refusals_and_unfinished_answers_occur_at_their_rates() -> None:
    model = subject(Subject(refusal=0.1, unfinished=0.3), ITEMS)
    said = replies(model, asked(control()))
    assert share(said, "unable") == pytest.approx(0.1, abs=0.027)
    assert sum(r.finish == "length" for r in said) / len(said) == pytest.approx(0.27, abs=0.04)


@pytest.mark.parametrize("style", ["short", "sentence", "explain", "think", "mixed"])
def test_every_style_says_the_answer(style: str) -> None:
    model = subject(Subject(accuracy=1.0, style=style), ITEMS)
    assert share(replies(model, asked(control())), "right") == 1.0


def test_a_slope_of_one_is_calibrated_and_a_steeper_one_overconfident() -> None:
    items = tuple(Item(f"i{n}", f"Pick {n}?", "a", ("a", "b", "c", "d")) for n in range(4000))
    gaps = []
    for slope in (1.0, 3.0):
        model = subject(Subject(accuracy=0.6, slope=slope), items)
        requests = [Request(control().render(item), Sampling(), item.choices) for item in items]
        said = replies(model, requests)
        confidence = [max(math.exp(c.total or 0.0) for c in r.choice_logprobs or ()) for r in said]
        right = [r.text == "a" for r in said]
        gaps.append(sum(confidence) / len(said) - sum(right) / len(said))
    assert abs(gaps[0]) < 0.03
    assert gaps[1] > 0.08


def test_the_key_may_be_found_inside_a_longer_prompt(items_file: Callable[..., Path]) -> None:
    model = mock.model("subject", answer_key=[items_file(4)], accuracy=1.0, style="short")
    request = Request(control().render(Item("x", "Before. Statement 2: 2 is even. Is it TRUE or FALSE?")), Sampling())
    assert replies(model, [request])[0].text == "TRUE"


def test_mistakes_are_errors_with_a_suggestion(items_file: Callable[..., Path]) -> None:
    with pytest.raises(ModelError, match="did you mean 'subject'"):
        mock.model("subjct")
    with pytest.raises(SpecError, match="did you mean 'accuracy'"):
        mock.model("subject", answer_key=[items_file(1)], acuracy=0.5)
    with pytest.raises(SpecError, match="sway is a probability"):
        mock.model("subject", answer_key=[items_file(1)], sway=2.0)
    with pytest.raises(ModelError, match="answer_key"):
        replies(mock.model("subject", answer_key=[items_file(1)]), asked(control())[:1])


def test_the_budget_is_respected() -> None:
    batches = mock.model("true").answer(zip(count(), asked(control()), strict=False), Budget(max_requests=7))
    assert sum(len(batch) for batch in batches) == 7


def test_other_truths_are_another_fingerprint() -> None:
    one, two = (subject(Subject(accuracy=a), ITEMS).fingerprint() for a in (0.5, 0.6))
    assert one != two
