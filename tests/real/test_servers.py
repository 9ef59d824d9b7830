"""The HTTP providers against servers over the real model: llama-server's own, and one with Ollama's shapes."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from perpend.errors import ModelError
from perpend.models import ollama, openai
from perpend.models.local import model
from perpend.models.local.engine import Engine
from perpend.spec.model import Budget, Model
from perpend.types import Message, Request, Response, Sampling, Usage
from tests.ollama_server import MODEL, ollama_over
from tests.servers import Server, serve

CAPTURES = Path(__file__).resolve().parents[2] / ".." / "shared" / "data" / "ollama_wire"
ASK = Request((Message("user", "What is the capital of France? Answer in one short sentence."),), Sampling())
needs_captures = pytest.mark.skipif(not CAPTURES.is_dir(), reason="shared/data/ollama_wire is not here")


def one(asked: Model, request: Request = ASK) -> Response:
    ((_, response),) = [pair for batch in asked.answer(iter([(0, request)]), Budget()) for pair in batch]
    return response


def counted(response: Response) -> tuple[str | None, str | None, int | None, int | None]:
    """Text, finish reason and the numbers of tokens read and written."""
    usage = response.usage or Usage()
    return response.text, response.finish, usage.input, usage.output


@pytest.fixture(scope="module")
def ollama_server(engine: Engine) -> Iterator[Server]:
    with serve(ollama_over(engine)) as server:
        yield server


def test_openai_s_protocol_gives_what_the_engine_gives(engine: Engine, llama_server: str) -> None:
    # llama-server adds rules of its own to a draw, but not at temperature 0.
    here, there = engine.answer(ASK), one(openai.model("any", base_url=f"{llama_server}/v1"))
    assert counted(there) == counted(here) == ("The capital of France is Paris.", "stop", 43, 8)


def test_openai_s_protocol_reports_the_token_limit_and_the_context(llama_server: str) -> None:
    asked = openai.model("any", base_url=f"{llama_server}/v1", retries=0)
    assert one(asked, Request(ASK.messages, Sampling(max_tokens=2))).finish == "length"
    too_long = one(asked, Request((Message("user", "word " * 3000),), Sampling()))
    assert "exceeds the available context size" in str(too_long.error)


def test_openai_s_plain_completions_are_the_engine_s(plain: Engine, llama_server: str) -> None:
    request = Request((Message("user", "The capital of France is"),), Sampling(max_tokens=8))
    there = one(openai.model("any", base_url=f"{llama_server}/v1", endpoint="completions"), request)
    assert there.text == plain.answer(request).text


def test_llama_server_scores_choices_as_the_engine_does(plain: Engine, llama_server: str) -> None:
    """Token for token; the server computes in larger batches, which may move a log-probability by hundredths
    (here they are the same to the last digit)."""
    options = {"base_url": f"{llama_server}/v1", "endpoint": "completions"}
    asked = openai.model("any", server="llama.cpp", **options)  # type: ignore[arg-type]  # a test passes what it likes
    for text, choices in (("The capital of France is", (" Paris", " Rome")), ("She ___ hard.", ("works", "worked"))):
        request = Request((Message("user", text),), Sampling(), choices)
        here, there = plain.answer(request), one(asked, request)
        assert here.choice_logprobs is not None
        assert there.choice_logprobs is not None, there.error
        assert there.text == here.text
        assert [score.tokens for score in there.choice_logprobs] == [score.tokens for score in here.choice_logprobs]
        totals = [[score.total for score in scores] for scores in (there.choice_logprobs, here.choice_logprobs)]
        assert totals[0] == pytest.approx(totals[1], abs=0.05)
    facts = asked.fingerprint()
    assert facts["quantization"] == "Q4_1"
    assert facts["server"].startswith("llama.cpp ")
    with pytest.raises(ModelError, match="option server"):  # by 'echo', which it does not know
        one(openai.model("any", **options), request)  # type: ignore[arg-type]


def test_llama_server_adds_no_rule_of_its_own_to_a_draw(llama_server: str) -> None:
    """Its default is one of the 40 likeliest tokens; hot enough, the whole vocabulary is drawn from."""
    drawn: dict[bool, set[str | None]] = {}
    for own in (False, True):
        asked = openai.model("any", base_url=f"{llama_server}/v1", server="llama.cpp", server_rules=own)
        hot = (Request(ASK.messages, Sampling(temperature=1000.0, max_tokens=1, seed=seed)) for seed in range(60))
        drawn[own] = {response.text for batch in asked.answer(enumerate(hot), Budget()) for _, response in batch}
    assert len(drawn[True]) <= 40
    assert len(drawn[False]) > 50


@pytest.mark.parametrize("endpoint", ["chat", "generate"])
@pytest.mark.parametrize("stream", [False, True])
def test_ollama_s_protocol_gives_what_the_engine_gives(
    engine: Engine, ollama_server: Server, endpoint: str, stream: bool
) -> None:
    options: dict[str, object] = {"base_url": ollama_server.url, "endpoint": endpoint, "stream": stream}
    there = one(ollama.model(MODEL, **options))  # type: ignore[arg-type]  # a test passes what it likes
    assert counted(there) == counted(engine.answer(ASK))


def test_ollama_s_fingerprint_is_the_digest_of_the_weights(ollama_server: Server) -> None:
    found = ollama.model(MODEL, base_url=ollama_server.url).fingerprint()
    assert found["digest"] == model("smollm2").fingerprint()["file_sha256"]
    assert (found["quantization"], found["server"]) == ("Q4_1", "ollama 0.5.4")


def shape(value: object) -> object:
    """The keys of a JSON value in their order, and what kind of value each has."""
    if isinstance(value, dict):
        return [(key, shape(entry)) for key, entry in value.items()]
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    return type(value).__name__


def captured(name: str) -> tuple[int, str, list[object]]:
    """Status, content type and JSON values of a captured reply."""
    head, _, body = (CAPTURES / f"{name}.txt").read_bytes().partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    kind = dict(line.split(": ", 1) for line in lines)["Content-Type"]
    return int(first.split(" ")[1]), kind, [json.loads(line) for line in body.splitlines() if line.strip()]


def fetched(url: str, body: object) -> tuple[int, str, list[object]]:
    """The same of what a server replies now."""
    data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data), timeout=60) as reply:
            status, kind, content = reply.status, reply.headers["Content-Type"], reply.read()
    except urllib.error.HTTPError as error:
        with error:
            status, kind, content = error.code, error.headers["Content-Type"], error.read()
    return status, kind, [json.loads(line) for line in content.splitlines() if line.strip()]


def ends(values: Sequence[object]) -> list[object]:
    """The shapes of the first and the last of a stream's objects."""
    return [shape(values[0]), shape(values[-1])]


PROMPT = {"model": MODEL, "prompt": "hello", "options": {"num_predict": 4, "temperature": 0}}
CHAT = {**PROMPT, "messages": [{"role": "user", "content": "hello"}]}


@needs_captures
@pytest.mark.parametrize(
    ("name", "path", "body"),
    [
        ("version", "/api/version", None),
        ("tags", "/api/tags", None),
        ("ps", "/api/ps", None),
        ("chat_stream", "/api/chat", CHAT),
        ("generate_stream", "/api/generate", PROMPT),
        ("missing", "/api/chat", {**CHAT, "model": "nope"}),
        ("badjson", "/api/chat", b""),
    ],
)
def test_every_shape_is_that_of_the_captured_server(ollama_server: Server, name: str, path: str, body: object) -> None:
    expected, given = captured(name), fetched(ollama_server.url + path, body)
    assert given[:2] == expected[:2]
    assert ends(given[2]) == ends(expected[2])
