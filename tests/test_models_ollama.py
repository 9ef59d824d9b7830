"""The ollama provider against the shapes of a real server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from perpend.errors import ModelError
from perpend.models import ollama
from perpend.spec.model import Budget
from perpend.types import Message, Request, Response, Sampling, Usage
from tests.servers import (
    OLLAMA_DIGEST,
    OLLAMA_MODEL,
    Received,
    Reply,
    Script,
    Server,
    ollama_stream,
    serve,
)
from tests.servers import ollama as ollama_server

CAPTURES = Path(__file__).resolve().parents[1] / ".." / "shared" / "data" / "ollama_wire"
CAPTURED_MODEL = "smollm2:135m-Q8_0"
ASK = Request((Message("system", "Be brief."), Message("user", "2 + 2?")), Sampling(0.5, 16, 7, 0.9, ("END",)))


def one(server: Server, name: str = OLLAMA_MODEL, request: Request = ASK, **options: object) -> Response:
    chosen: dict[str, object] = {"base_url": server.url, "retries": 1, "backoff_s": 0.001, **options}
    model = ollama.model(name, **chosen)  # type: ignore[arg-type]  # a test passes what it likes
    ((_, response),) = [pair for batch in model.answer(iter([(0, request)]), Budget()) for pair in batch]
    return response


@pytest.mark.parametrize("endpoint", ["chat", "generate"])
@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_in_one_piece_or_many_is_the_same(endpoint: str, stream: bool) -> None:
    with serve(ollama_server) as server:
        response = one(server, endpoint=endpoint, stream=stream)
    assert (response.text, response.finish, response.usage) == ("TRUE", "stop", Usage(10, 4))


def test_every_decode_parameter_is_sent_by_ollama_s_name() -> None:
    with serve(ollama_server) as server:
        one(server, num_ctx=8192)
    assert server.received[0].body == {
        "model": OLLAMA_MODEL,
        "stream": False,
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "2 + 2?"}],
        "options": {
            "temperature": 0.5,
            "num_predict": 16,
            "seed": 7,
            "top_p": 0.9,
            "stop": ["END"],
            "num_ctx": 8192,
        },
    }


def test_generate_sends_prompt_and_system_apart() -> None:
    with serve(ollama_server) as server:
        one(server, endpoint="generate")
    body = server.received[0].body
    assert isinstance(body, dict)
    assert (body["prompt"], body["system"]) == ("2 + 2?", "Be brief.")


def test_generate_cannot_hold_a_conversation() -> None:
    talk = Request((Message("user", "a"), Message("assistant", "b"), Message("user", "c")), Sampling())
    with serve(ollama_server) as server, pytest.raises(ModelError, match='endpoint = "chat"'):
        one(server, request=talk, endpoint="generate")


def test_the_fingerprint_is_the_digest_and_the_versions() -> None:
    with serve(ollama_server) as server:
        found = ollama.model(OLLAMA_MODEL, base_url=server.url).fingerprint()
    assert found == {
        "provider": "ollama",
        "model": OLLAMA_MODEL,
        "endpoint": "chat",
        "digest": OLLAMA_DIGEST,
        "quantization": "Q8_0",
        "server": "ollama 0.5.4",
    }


def test_a_model_that_was_not_pulled_ends_the_run_with_the_command() -> None:
    with serve(ollama_server) as server:
        with pytest.raises(ModelError, match="ollama pull nope"):
            one(server, "nope")
        with pytest.raises(ModelError, match="ollama pull nope"):
            ollama.model("nope", base_url=server.url).fingerprint()


def test_no_server_at_all_is_an_error_that_says_so() -> None:
    with serve(ollama_server) as server:
        url = server.url
    with pytest.raises(ModelError, match="does not say what it runs"):
        ollama.model(OLLAMA_MODEL, base_url=url, retries=0).fingerprint()


def test_a_server_that_is_no_ollama_is_an_error_that_says_so() -> None:
    with serve(lambda _: Reply(b"<html>")) as server, pytest.raises(ModelError, match="not JSON"):
        ollama.model(OLLAMA_MODEL, base_url=server.url).fingerprint()
    assert len(server.received) == 1, "a page at a wrong address stays what it is"


def test_choices_cannot_be_scored() -> None:
    with serve(ollama_server) as server, pytest.raises(ModelError, match="no likelihood"):
        one(server, request=Request(ASK.messages, Sampling(), ("a", "b")))


def test_thinking_is_not_the_answer() -> None:
    piece = {"message": {"role": "assistant", "content": "4", "thinking": "hm"}, "done": True, "done_reason": "stop"}
    with serve(lambda _: Reply(json.dumps(piece).encode())) as server:
        assert one(server).text == "4"


def test_a_stream_without_an_end_is_asked_again() -> None:
    def script(received: Received) -> Reply:
        whole = ollama_stream(["TR", "UE"])
        return whole if received.number else Reply(whole.body.splitlines(keepends=True)[0])

    with serve(script) as server:
        assert one(server, stream=True).text == "TRUE"
    assert len(server.received) == 2


@pytest.mark.parametrize("body", [b'{"done":true}', b'{"error":"llama runner died"}', b"[]", b"{}\n{}", b""])
def test_a_reply_without_text_is_an_error_of_that_trial(body: bytes) -> None:
    with serve(lambda _: Reply(body)) as server:
        assert one(server).error is not None


def captured(name: str) -> Reply:
    head, _, body = (CAPTURES / f"{name}.txt").read_bytes().partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines if not line.startswith(("Transfer-", "Content-Length")))
    does = "chunked" if "Transfer-Encoding" in head.decode() else "whole"
    return Reply(body, int(first.split(" ")[1]), headers, does)  # type: ignore[arg-type]  # one of the behaviours


@pytest.mark.skipif(not CAPTURES.is_dir(), reason="shared/data/ollama_wire is not here")
def test_the_bytes_of_a_real_server_are_read() -> None:
    pages = {
        "/api/version": "version",
        "/api/tags": "tags",
        "/api/chat": "chat_stream",
        "/api/generate": "generate_stream",
    }
    script: Script = lambda received: captured(pages[received.path])  # noqa: E731 - a name for the type
    with serve(script) as server:
        chat = one(server, CAPTURED_MODEL, stream=True)
        generate = one(server, CAPTURED_MODEL, endpoint="generate", stream=True)
        found = ollama.model(CAPTURED_MODEL, base_url=server.url).fingerprint()
    for response in (chat, generate):
        assert (response.text, response.finish, response.usage) == ("-, the's", "length", Usage(10, 4))
    assert found["digest"].startswith("202135e68cd95770")
    assert found["quantization"] == "Q8_0"
    assert found["server"].startswith("ollama 0.5.4")


@pytest.mark.skipif(not CAPTURES.is_dir(), reason="shared/data/ollama_wire is not here")
def test_the_errors_of_a_real_server_are_understood() -> None:
    with serve(lambda _: captured("missing")) as server, pytest.raises(ModelError, match="model 'nope' not found"):
        one(server, "nope")
    with serve(lambda _: captured("badjson")) as server:
        assert one(server).error == "HTTP 400: unexpected EOF"
