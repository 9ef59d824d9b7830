"""Ollama's own client as a second witness: it reads from our servers what the provider reads."""

from __future__ import annotations

from contextlib import closing

import ollama as client
import pytest

from perpend.models import ollama
from perpend.models.local import model
from perpend.models.local.engine import Engine
from perpend.types import Request, Sampling, Usage
from tests.ollama_server import MODEL
from tests.real.test_servers import ASK
from tests.servers import OLLAMA_MODEL, Server, serve
from tests.servers import ollama as scripted
from tests.test_models_ollama import one


def test_the_official_client_reads_the_same_from_the_same_server() -> None:
    with serve(scripted) as server, closing(client.Client(host=server.url, trust_env=False)) as witness:
        whole = witness.chat(OLLAMA_MODEL, messages=[{"role": "user", "content": "2 + 2?"}])
        pieces = list(witness.generate(OLLAMA_MODEL, prompt="2 + 2?", stream=True))
        listed = witness.list().models[0]
        ours = one(server)
        fingerprint = ollama.model(OLLAMA_MODEL, base_url=server.url).fingerprint()
    assert whole.message.content == "".join(piece.response or "" for piece in pieces) == ours.text
    assert ours.usage == Usage(whole.prompt_eval_count, whole.eval_count)
    assert ours.finish == whole.done_reason
    assert fingerprint["digest"] == listed.digest


def test_ollama_s_own_client_reads_the_same_words(engine: Engine, ollama_server: Server) -> None:
    said = [{"role": "user", "content": ASK.messages[0].content}]
    options = {"temperature": 0.0, "num_predict": 4, "seed": 1}
    here = engine.answer(Request(ASK.messages, Sampling(max_tokens=4, seed=1)))
    with closing(client.Client(host=ollama_server.url, trust_env=False)) as witness:
        whole = witness.chat(MODEL, messages=said, options=options)
        pieces = list(witness.chat(MODEL, messages=said, options=options, stream=True))
        generated = list(witness.generate(MODEL, prompt=said[0]["content"], options=options, stream=True))
        (listed,) = witness.list().models
        (running,) = witness.ps().models
        with pytest.raises(client.ResponseError, match="model 'nope' not found"):
            witness.chat("nope", messages=said)
    assert whole.message.content == here.text
    assert "".join(piece.message.content or "" for piece in pieces) == here.text
    assert "".join(piece.response or "" for piece in generated) == here.text
    assert (whole.done_reason, whole.prompt_eval_count, whole.eval_count) == ("length", 43, 4)
    assert listed.digest == running.digest == model("smollm2").fingerprint()["file_sha256"]
