"""Replies with log-probabilities of choices whose parts are of any type that JSON has."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import reduce

import pytest

from perpend.canon import JSON
from perpend.errors import ModelError
from perpend.models.http.link import Link
from perpend.models.http.reply import BadReplyError
from perpend.models.http.scoring import SCORED_BY, ServedModel, choice_logprobs
from perpend.types import ChoiceLogprob

ECHOED: tuple[JSON, ...] = (
    {"tokens": ["She"], "token_logprobs": [None]},
    {"tokens": ["She", " works"], "token_logprobs": [None, -1.0]},
    {"tokens": ["She", " work"], "token_logprobs": [None, -2.0]},
)
DEEP: JSON = reduce(lambda inner, _: [inner], range(2000), list[JSON]())  # deeper than str() goes
WILD: tuple[JSON, ...] = (None, True, -1, 10**400, 1e308, -1e308, math.nan, math.inf, "x", [], {}, [[], {}], DEEP)


def listed(number: int) -> JSON:
    """One choice of vLLM's reply; the last token is the only one that the choices do not share."""
    places: JSON = [None, {"7": {"logprob": -1.0}}, {str(number): {"logprob": -2.0}}]
    return {"prompt_logprobs": places, "prompt_token_ids": [1, 7, number]}


SCORES: dict[str, list[JSON]] = {
    "": [{"choices": [{"index": n, "logprobs": ECHOED[n]} for n in range(3)]}],
    "vllm": [{"choices": [listed(number) for number in (7, 8, 9)]}],
    "sglang": [
        [
            {"meta_info": {"prompt_tokens": 2, "input_token_logprobs": [[None, 1, "a"], [-1.0, n, "b"]]}}
            for n in (7, 8, 9)
        ]
    ],
    "llama.cpp": [
        *({"tokens": tokens} for tokens in ([1], [1, 7], [1, 8])),
        *({"choices": [{"logprobs": {"content": [{"id": n, "logprob": -1.0}]}}]} for n in (7, 8)),
    ],
}


def spoiled(value: JSON) -> Iterator[JSON]:
    """The value with each part of it, and then the whole, replaced by each wild value."""
    if isinstance(value, dict):
        yield from ({**value, key: other} for key, part in value.items() for other in spoiled(part))
    if isinstance(value, list):
        for at, part in enumerate(value):
            yield from ([*value[:at], other, *value[at + 1 :]] for other in spoiled(part))
    yield from WILD


def scores_of(engine: str, replies: Sequence[JSON]) -> tuple[ChoiceLogprob, ...]:
    calls = SCORED_BY[engine](ServedModel("m", Link("http://127.0.0.1:1/v1")), ["She", "She works", "She work"])
    next(calls)
    try:
        for reply in replies:
            calls.send(reply)
    except StopIteration as end:
        return choice_logprobs((" works", " work"), end.value)
    raise BadReplyError("it asks for more than these replies")


@pytest.mark.parametrize("engine", SCORES)
def test_a_score_of_any_wrong_type_is_an_error_or_a_number(engine: str) -> None:
    """Nothing else is raised, whichever part of a reply is replaced by whatever JSON can hold."""
    honest = SCORES[engine]
    assert all((score.total or 0) < 0 for score in scores_of(engine, honest))
    refused = 0
    for replies in ([*honest[:n], other, *honest[n + 1 :]] for n, one in enumerate(honest) for other in spoiled(one)):
        try:
            scores = scores_of(engine, replies)
        except (BadReplyError, ModelError):
            refused += 1
        else:
            assert all(score.total is None or -math.inf < score.total < 2 for score in scores)
    assert refused > len(WILD)
