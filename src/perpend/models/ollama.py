"""A local Ollama server by its own API, which names the weights by their digest."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Literal

from perpend.canon import JSON, as_list, as_object, clean_text
from perpend.errors import ModelError, SpecError
from perpend.models.base import spoken
from perpend.models.http import BadReplyError, HttpModel, Link
from perpend.models.http.reply import answered, as_fact, as_finish, as_usage
from perpend.types import Request, Response

_PATHS = {"chat": "/api/chat", "generate": "/api/generate"}


def model(  # noqa: PLR0913 - the options of run.toml by name: the loader checks a user's spelling against this list
    name: str,
    *,
    base_url: str = "http://127.0.0.1:11434",
    api_key_env: str | None = None,
    endpoint: Literal["chat", "generate"] = "chat",
    stream: bool = False,
    num_ctx: int | None = None,
    workers: int = 8,
    retries: int = 4,
    timeout_s: float = 120.0,
    rpm: float | None = None,
    tpm: float | None = None,
    backoff_s: float = 0.5,
) -> Ollama:
    """The model that `ollama list` calls `name`.

    `num_ctx` is the context in tokens; None leaves the server's, which cuts longer prompts without a word. `stream`
    asks for the answer in pieces, for proxies that close a silent connection; the answer is the same.
    """
    if endpoint not in _PATHS:
        raise SpecError(f"endpoint must be 'chat' or 'generate', not {endpoint!r}")
    link = Link(base_url, api_key_env, workers, retries, timeout_s, rpm, tpm, backoff_s)
    return Ollama(name, link, endpoint, stream=stream, num_ctx=num_ctx)


class Ollama(HttpModel):
    """`/api/chat`, or `/api/generate` for one user message."""

    def __init__(self, name: str, link: Link, endpoint: str, *, stream: bool, num_ctx: int | None) -> None:
        super().__init__(f"ollama/{name}", _PATHS[endpoint], link)
        self.model = name
        self.endpoint = endpoint
        self.stream = stream
        self.num_ctx = num_ctx

    def fingerprint(self) -> Mapping[str, str]:
        """The digest of the model (weights, template and parameters), its quantisation, and the server's version."""
        version = as_object(self.fetch("/api/version")).get("version")
        wanted = {self.model, f"{self.model}:latest"}
        for entry in as_list(as_object(self.fetch("/api/tags")).get("models")):
            listed = as_object(entry)
            if listed.get("name") in wanted:
                quantization = as_object(listed.get("details")).get("quantization_level")
                return {
                    "provider": "ollama",
                    "model": self.model,
                    "endpoint": self.endpoint,
                    "digest": as_fact(listed.get("digest")),
                    "quantization": as_fact(quantization),
                    "server": f"ollama {as_fact(version)}",
                }
        raise ModelError(f"the Ollama server has no model {self.model!r}; {self.hint(404)}")

    def hint(self, status: int) -> str:
        """A 404 means that the model was never pulled."""
        return f"run: ollama pull {self.model}" if status == 404 else super().hint(status)

    def headers(self, key: str | None) -> dict[str, str]:
        """Ollama itself wants no key; a server in front of it may want a bearer token."""
        return {} if key is None else {"Authorization": f"Bearer {key}"}

    def encode(self, request: Request) -> bytes:
        """The sampling by Ollama's names, inside `options`."""
        if request.choices:
            raise ModelError(
                "Ollama returns no likelihood of given choices; score them on a server such as vLLM (openai)"
            )
        sampling = request.sampling
        chosen: dict[str, JSON] = {"seed": sampling.seed, "top_p": sampling.top_p, "num_ctx": self.num_ctx}
        options: dict[str, JSON] = {key: value for key, value in chosen.items() if value is not None}
        options |= {"temperature": sampling.temperature, "num_predict": sampling.max_tokens}
        if sampling.stop:
            options["stop"] = sampling.stop
        body: dict[str, JSON] = {"model": self.model, "stream": self.stream, "options": options}
        if self.endpoint == "chat":
            body["messages"] = spoken(request.messages)
        else:
            system = [m.content for m in request.messages if m.role == "system"]
            prompts = [m.content for m in request.messages if m.role != "system"]
            if len(prompts) != 1:
                raise ModelError(f'/api/generate takes one message, not {len(prompts)}; set endpoint = "chat"')
            body |= {"prompt": prompts[0], **({"system": "\n\n".join(system)} if system else {})}
        return json.dumps(body).encode()

    def decode(self, request: Request, body: bytes, ms: float) -> Response:
        """The pieces joined, whether the server sent one object or a stream of them. Thinking is not the answer."""
        del request
        texts: list[str] = []
        for piece in _pieces(body):
            reply = as_object(piece.get("message")).get("content") if self.endpoint == "chat" else piece.get("response")
            if not isinstance(reply, str):
                raise BadReplyError("the reply holds no answer text")
            texts.append(reply)
            if piece.get("done") is True:
                usage = as_usage(piece.get("prompt_eval_count"), piece.get("eval_count"))
                text, finish = clean_text("".join(texts)), as_finish(piece.get("done_reason"))
                return Response(text, finish=finish, usage=usage, ms=ms)
        raise BadReplyError("the reply ended before the answer was done")


def _pieces(body: bytes) -> Iterator[Mapping[str, JSON]]:
    for line in body.splitlines():
        if line.strip():
            yield as_object(answered(line))
