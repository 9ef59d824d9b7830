"""An Ollama server over the embedded model: the shapes of captured replies of Ollama 0.5.4, the words of a real model.

No Ollama can be installed from a package index, so this stands in for one. `tests/real/test_servers.py` compares every
shape with the captures, and reads it with Ollama's own client.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from perpend.models.local.engine import Engine
from perpend.models.local.weights import read_weights
from perpend.types import Message, Request, Sampling
from tests.servers import Received, Reply, Script

MODEL = "smollm2:135m"
_JSON = {"Content-Type": "application/json; charset=utf-8"}
_NDJSON = {"Content-Type": "application/x-ndjson"}
_DETAILS = {"parent_model": "", "format": "gguf", "family": "llama", "families": ["llama"]}
_DETAILS_OF_MODEL = {**_DETAILS, "parameter_size": "134.52M", "quantization_level": "Q4_1"}
_PIECE = re.compile(r"\s*\S+\s*$|\s*\S+")


def ollama_over(engine: Engine) -> Script:
    """What a server does that has one model: the engine's, with the engine's chat template."""

    def script(received: Received) -> Reply:
        if received.path == "/api/version":
            return _reply({"version": "0.5.4"})
        if received.path in {"/api/tags", "/api/ps"}:
            return _reply({"models": [_listed(engine, is_running=received.path == "/api/ps")]})
        body = received.body
        if not isinstance(body, dict):
            return _reply({"error": "unexpected EOF"}, 400)
        if body.get("model") != MODEL:
            return _reply({"error": f"model '{body.get('model')}' not found"}, 404)
        if received.path == "/api/show":
            template = read_weights(engine.setup.path).template
            return _reply({"modelfile": f"FROM {MODEL}\n", "template": template, "details": _DETAILS_OF_MODEL})
        return _answer(engine, body, is_chat=received.path == "/api/chat")

    return script


def _answer(engine: Engine, body: Mapping[str, object], *, is_chat: bool) -> Reply:
    options = body.get("options")
    messages = _messages(body, is_chat=is_chat)
    made = engine.answer(Request(messages, _sampling(options if isinstance(options, dict) else {})))
    if made.text is None or made.usage is None:
        return _reply({"error": made.error}, 500)
    end: dict[str, object] = {"done_reason": made.finish, "done": True}
    if not is_chat:
        end = {"done": True, "done_reason": made.finish, "context": list(engine.tokens(engine.render(messages)))}
    took = int(1_000_000 * (made.ms or 0.0))
    end |= {"total_duration": took, "load_duration": 1, "prompt_eval_count": made.usage.input}
    end |= {"prompt_eval_duration": took // 2, "eval_count": made.usage.output, "eval_duration": took // 2}
    if body.get("stream", True) is False:
        return _reply(_piece(made.text, end, is_chat=is_chat))
    pieces = [_piece(part, {"done": False}, is_chat=is_chat) for part in _PIECE.findall(made.text)]
    lines = [*pieces, _piece("", end, is_chat=is_chat)]
    return Reply(b"".join(_bytes(line) + b"\n" for line in lines), headers=_NDJSON, does="chunked")


def _messages(body: Mapping[str, object], *, is_chat: bool) -> tuple[Message, ...]:
    if not is_chat:
        system = [Message("system", str(body["system"]))] if body.get("system") else []
        return (*system, Message("user", str(body["prompt"])))
    said = body["messages"]
    assert isinstance(said, list)
    return tuple(Message(entry["role"], entry["content"]) for entry in said)


def _sampling(options: Mapping[str, object]) -> Sampling:
    def number(name: str, default: float) -> float:
        value = options.get(name, default)
        assert isinstance(value, int | float)
        return value

    stop = options.get("stop", ())
    assert isinstance(stop, Sequence)
    top_p = number("top_p", 1.0)
    return Sampling(
        number("temperature", 0.8), int(number("num_predict", 128)), int(number("seed", 0)), top_p, tuple(stop)
    )


def _piece(text: str, rest: Mapping[str, object], *, is_chat: bool) -> dict[str, object]:
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f") + "000Z"
    said: dict[str, object] = {"message": {"role": "assistant", "content": text}} if is_chat else {"response": text}
    return {"model": MODEL, "created_at": now, **said, **rest}


def _listed(engine: Engine, *, is_running: bool) -> dict[str, object]:
    weights = read_weights(engine.setup.path)
    known: dict[str, object] = {"name": MODEL, "model": MODEL}
    size = {"size": weights.path.stat().st_size, "digest": weights.sha256, "details": _DETAILS_OF_MODEL}
    if is_running:
        return {**known, **size, "expires_at": "2030-01-01T00:00:00Z", "size_vram": 0}
    return {**known, "modified_at": "2025-01-01T00:00:00.000000001Z", **size}


def _reply(body: Mapping[str, object], status: int = 200) -> Reply:
    return Reply(_bytes(body), status, _JSON)


def _bytes(body: Mapping[str, object]) -> bytes:
    return json.dumps(body, separators=(",", ":")).encode()
