"""The anthropic provider: the shape of the Messages API."""

from __future__ import annotations

import json

import pytest

from perpend.errors import ModelError
from perpend.models import anthropic
from perpend.spec.model import Budget
from perpend.types import Message, Request, Response, Sampling, Usage
from tests.servers import Reply, Server, anthropic_message, serve

ASK = Request((Message("system", "Be brief."), Message("user", "2 + 2?")), Sampling(0.5, 16, 7, 0.9, ("END",)))


def one(server: Server, request: Request = ASK) -> Response:
    model = anthropic.model("stub", base_url=server.url, api_key_env="STUB_KEY", retries=1, backoff_s=0.001)
    ((_, response),) = [pair for batch in model.answer(iter([(0, request)]), Budget()) for pair in batch]
    return response


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STUB_KEY", "s3cret")


def test_the_system_message_goes_beside_the_conversation_and_the_seed_nowhere() -> None:
    with serve(lambda _: anthropic_message("4")) as server:
        response = one(server)
    received = server.received[0]
    assert received.path == "/v1/messages"
    assert (received.headers["x-api-key"], received.headers["anthropic-version"]) == ("s3cret", "2023-06-01")
    assert received.body == {
        "model": "stub",
        "max_tokens": 16,
        "temperature": 0.5,
        "top_p": 0.9,
        "stop_sequences": ["END"],
        "system": "Be brief.",
        "messages": [{"role": "user", "content": "2 + 2?"}],
    }
    assert (response.text, response.usage) == ("4", Usage(7, 3))


@pytest.mark.parametrize(
    ("said", "finish"),
    [("end_turn", "stop"), ("stop_sequence", "stop"), ("max_tokens", "length"), ("refusal", "refusal")],
)
def test_the_reason_to_stop_is_normalised(said: str, finish: str) -> None:
    with serve(lambda _: anthropic_message("4", said)) as server:
        assert one(server).finish == finish


def test_an_overloaded_server_is_asked_again() -> None:
    busy = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    with serve(lambda r: anthropic_message("4") if r.number else Reply(json.dumps(busy).encode(), 529)) as server:
        assert one(server).text == "4"


def test_the_key_of_anthropic_goes_to_anthropic_alone() -> None:
    assert anthropic.model("stub").link.api_key_env == "ANTHROPIC_API_KEY"
    assert anthropic.model("stub", base_url="http://127.0.0.1:1").link.api_key_env is None


def test_the_fingerprint_says_that_no_seed_is_taken() -> None:
    assert anthropic.model("stub").fingerprint()["seed"] == "not taken by this API"


@pytest.mark.parametrize(
    "request_", [Request(ASK.messages, Sampling(), ("a", "b")), Request(ASK.messages, Sampling(temperature=1.5))]
)
def test_what_the_api_cannot_do_ends_the_run(request_: Request) -> None:
    with serve(lambda _: anthropic_message("4")) as server, pytest.raises(ModelError, match="Anthropic"):
        one(server, request_)
    assert server.received == []


@pytest.mark.parametrize("body", [b"{}", b'{"content": null}', b'{"content": "4"}', b"[]"])
def test_a_reply_without_content_is_an_error_of_that_trial(body: bytes) -> None:
    with serve(lambda _: Reply(body)) as server:
        assert one(server).error is not None
