"""The openai provider: what it sends and what it reads. How it scores choices: tests/test_models_engines.py."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

import pytest

from perpend.models import openai
from perpend.spec.model import Budget
from perpend.types import Message, Request, Response, Sampling, Usage
from tests.servers import Received, Reply, Script, openai_chat, serve

ASK = Request((Message("system", "Be brief."), Message("user", "2 + 2?")), Sampling(0.5, 16, 7, 0.9, ("\n", "END")))
PLAIN = Request((Message("user", "2 + 2?"),), Sampling(seed=None))


def one(script: Script, request: Request = PLAIN, **options: object) -> tuple[Response, Mapping[str, object]]:
    """The answer to one request, and the body that was sent."""
    with serve(script) as server:
        chosen: dict[str, object] = {"base_url": f"{server.url}/v1", "retries": 0, **options}
        model = openai.model("stub", **chosen)  # type: ignore[arg-type]  # a test passes what it likes
        ((key, response),) = [pair for batch in model.answer(iter([(5, request)]), Budget()) for pair in batch]
    assert key == 5
    sent = server.received[0].body
    assert isinstance(sent, dict)
    return response, {"path": server.received[0].path, **sent}


def test_every_decode_parameter_is_sent_by_its_name() -> None:
    response, sent = one(lambda _: openai_chat("4"), ASK)
    assert sent == {
        "path": "/v1/chat/completions",
        "model": "stub",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "2 + 2?"}],
        "temperature": 0.5,
        "max_tokens": 16,
        "seed": 7,
        "top_p": 0.9,
        "stop": ["\n", "END"],
    }
    assert (response.text, response.finish, response.usage) == ("4", "stop", Usage(7, 3))


def test_what_is_not_set_is_not_sent() -> None:
    _, sent = one(lambda _: openai_chat("4"), PLAIN)
    assert set(sent) == {"path", "model", "messages", "temperature", "max_tokens"}


def test_reasoning_models_get_their_own_name_for_the_limit() -> None:
    _, sent = one(lambda _: openai_chat("4"), PLAIN, max_tokens_field="max_completion_tokens")
    assert sent["max_completion_tokens"] == 512
    assert "max_tokens" not in sent


def test_plain_completions_get_the_contents_joined_by_a_blank_line() -> None:
    body = json.dumps({"choices": [{"index": 0, "text": " 4", "finish_reason": "length"}]}).encode()
    response, sent = one(lambda _: Reply(body), ASK, endpoint="completions")
    assert (sent["path"], sent["prompt"]) == ("/v1/completions", "Be brief.\n\n2 + 2?")
    assert (response.text, response.finish, response.usage) == (" 4", "length", None)


@pytest.mark.parametrize(
    ("said", "finish"),
    [("stop", "stop"), ("length", "length"), ("eos_token", "stop"), ("content_filter", "content_filter"), ("", None)],
)
def test_the_reason_to_stop_is_normalised(said: str, finish: str | None) -> None:
    assert one(lambda _: openai_chat("4", said))[0].finish == finish


def test_reasoning_apart_from_the_content_is_not_the_answer() -> None:
    response, _ = one(lambda _: openai_chat("4", reasoning_content="2 + 2 is 4, or 5?"))
    assert response.text == "4"


def test_reasoning_cut_at_the_limit_is_an_unfinished_empty_answer() -> None:
    response, _ = one(lambda _: openai_chat(None, "length", reasoning_content="let me see"))
    assert (response.text, response.finish) == ("", "length")


def test_a_refusal_is_what_the_model_said() -> None:
    response, _ = one(lambda _: openai_chat(None, refusal="I can't help with that."))
    assert response.text == "I can't help with that."


def test_content_in_parts_is_joined() -> None:
    parts = [{"type": "text", "text": "4"}, {"type": "image", "url": "x"}, {"type": "text", "text": "!"}]
    body = {"choices": [{"message": {"role": "assistant", "content": parts}, "finish_reason": "stop"}]}
    response, _ = one(lambda _: Reply(json.dumps(body).encode()))
    assert response.text == "4!"


@pytest.mark.parametrize("count", [-1, 1.5, "7", True, None, 10**30])
def test_a_usage_that_is_no_count_is_unknown(count: object) -> None:
    body = json.loads(openai_chat("4").body)
    body["usage"] = {"prompt_tokens": count, "completion_tokens": 3}
    response, _ = one(lambda _: Reply(json.dumps(body).encode()))
    assert response.usage == Usage(None, 3)


def test_the_key_of_openai_goes_to_openai_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-real")
    assert openai.model("gpt").link.api_key_env == "OPENAI_API_KEY"
    with serve(lambda _: openai_chat("4")) as server:
        list(openai.model("stub", base_url=f"{server.url}/v1").answer(iter([(0, PLAIN)]), Budget()))
    assert "authorization" not in server.received[0].headers


def listing(received: Received, **changes: object) -> Reply:
    """A server like vLLM: it lists its model, with a time and a path of its own."""
    if received.path != "/v1/models":
        return openai_chat("4")
    entry = {"id": "stub", "owned_by": "vllm", "created": 1, "root": "/srv/weights", "max_model_len": 4096, **changes}
    return Reply(json.dumps({"data": [{"id": "other"}, entry]}).encode())


def fingerprint(script: Callable[[Received], Reply], **options: str) -> Mapping[str, str]:
    with serve(script) as server:
        return openai.model("stub", base_url=f"{server.url}/v1", **options).fingerprint()


def test_a_stated_revision_is_part_of_the_fingerprint() -> None:
    assert fingerprint(listing) != fingerprint(listing, revision="Q4_K_M, commit 12ab")


def test_the_fingerprint_holds_what_the_server_lists_but_no_time_and_no_path() -> None:
    found = fingerprint(listing)
    assert found["owned_by"] == "vllm"
    assert fingerprint(lambda received: listing(received, created=2, root="/other/place")) == found
    assert fingerprint(lambda received: listing(received, max_model_len=8192)) != found
    assert "srv" not in json.dumps(dict(found))


def test_a_server_that_lists_nothing_still_has_a_fingerprint() -> None:
    assert fingerprint(lambda _: Reply(b"{}", 404)) == {"provider": "openai", "model": "stub", "endpoint": "chat"}
