"""No answer, in each wire format: one to another question, content of a wrong type, an error with status 200.

OpenAI's chat and plain completions, Anthropic's messages, and Ollama's chat and generate, whole and streamed.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from perpend.models import anthropic, ollama, openai
from perpend.models.http import HttpModel
from perpend.spec.model import Budget
from perpend.types import Message, Request, Response, Sampling
from tests.servers import (
    OLLAMA_MODEL,
    Received,
    Reply,
    Script,
    Server,
    Twice,
    anthropic_message,
    ollama_stream,
    openai_chat,
    serve,
)
from tests.serving_engines import echo
from tests.tables import table


def completion(text: str) -> Reply:
    return Reply(json.dumps({"choices": [{"index": 0, "text": text, "finish_reason": "stop"}]}).encode())


def generated(text: str) -> Reply:
    return ollama_stream([text], is_chat=False, is_stream=False)


REPLIES: dict[str, Callable[[str], Reply]] = {
    "openai": openai_chat,
    "openai completions": completion,
    "anthropic": anthropic_message,
    "ollama": lambda text: ollama_stream([text], is_stream=False),
    "ollama stream": lambda text: ollama_stream([text[:3], text[3:]]),
    "ollama generate": generated,
    "ollama generate stream": lambda text: ollama_stream([text[:3], text[3:]], is_chat=False),
}


def model_at(server: Server, wire: str, **options: object) -> HttpModel:
    chosen: dict[str, object] = {"base_url": server.url, "backoff_s": 0.001, "timeout_s": 5.0, **options}
    provider, *how = wire.split()
    if provider == "ollama":
        chosen |= {"stream": "stream" in how, "endpoint": "generate" if "generate" in how else "chat"}
        return ollama.model(OLLAMA_MODEL, **chosen)  # type: ignore[arg-type]  # a test passes what it likes
    if provider == "anthropic":
        return anthropic.model("stub", **chosen)  # type: ignore[arg-type]
    return openai.model("stub", endpoint="completions" if how else "chat", **chosen)  # type: ignore[arg-type]


def ask(script: Script, wire: str, n: int = 1, *, long: int = 0, **options: object) -> tuple[list[Response], int]:
    """The responses to n questions in their order, and how many requests there were."""
    questions = (Request((Message("user", f"{'x' * long}question {key}"),), Sampling(max_tokens=8)) for key in range(n))
    with serve(script) as server:
        pairs = [
            pair for batch in model_at(server, wire, **options).answer(enumerate(questions), Budget()) for pair in batch
        ]
    assert sorted(key for key, _ in pairs) == list(range(n))
    return [response for _, response in sorted(pairs, key=lambda pair: pair[0])], len(server.received)


@pytest.mark.parametrize("twice", ["at once", "soon", "amid the next", "after the next"])
@pytest.mark.parametrize("wire", REPLIES)
def test_a_second_reply_is_never_the_answer_to_another_question(wire: str, twice: Twice) -> None:
    """aiohttp takes what comes late on a connection that is kept for the reply to the next request there."""

    def script(received: Received) -> Reply:
        reply = REPLIES[wire](f"to {received.question[-11:]}")
        return replace(reply, twice=twice) if received.number % 7 == 3 else reply

    # A pause lets the second reply come before the next question; half of a long question is sent before the rest.
    pace = {"rpm": 6000} if twice == "soon" else {}
    answers, _ = ask(script, wire, 40, long=1_000_000 if twice == "amid the next" else 100, workers=2, **pace)
    right = [f"to {('x' * 9 + f'question {key}')[-11:]}" for key in range(40)]
    wrong = [key for key in range(40) if answers[key].text != right[key]]
    assert not wrong, f"{len(wrong)} of 40 answers belong to other questions"


def no_answer(wire: str, body: object) -> Reply:
    """A body with status 200; a list is a stream's lines."""
    if "stream" in wire:
        assert isinstance(body, list)
        return Reply(b"".join(json.dumps(line).encode() + b"\n" for line in body), does="chunked")
    return Reply(json.dumps(body).encode())


@pytest.mark.parametrize(*table("http_no_answers"))
def test_a_reply_without_an_answer_is_a_failed_call_that_is_tried_again(wire: str, body: object) -> None:
    bad = no_answer(wire, body)
    (response,), sent = ask(lambda received: REPLIES[wire]("TRUE") if received.number else bad, wire)
    assert (response.text, sent) == ("TRUE", 2)
    (response,), sent = ask(lambda _: bad, wire, retries=2)
    assert response.text is None
    assert response.error is not None
    assert response.error.startswith("3 attempts, the last: the ")
    assert sent == 3


@pytest.mark.parametrize(*table("http_answers_without_text"))
def test_a_reply_that_says_why_it_has_no_text_is_an_answer(
    wire: str, body: object, text: str, finish: str | None
) -> None:
    """A refusal that was asked again, or counted as failed, would be missing in the rates."""
    (response,), sent = ask(lambda _: no_answer(wire, body), wire)
    assert (response.text, response.finish, response.error, sent) == (text, finish, None, 1)


@pytest.mark.parametrize("error", [{"error": "out of memory"}, {"choices": [{"index": 0, "error": {"code": 502}}]}])
def test_an_error_in_place_of_scores_is_tried_again(error: dict[str, object]) -> None:
    script: Script = lambda received: echo(received) if received.number else no_answer("", error)  # noqa: E731
    with serve(script) as server:
        model = openai.model("m", base_url=f"{server.url}/v1", endpoint="completions", backoff_s=0.001)
        request = Request((Message("user", "She"),), Sampling(), (" works", " work"))
        ((_, response),) = [pair for batch in model.answer(iter([(0, request)]), Budget()) for pair in batch]
    assert response.choice_logprobs is not None, response.error
