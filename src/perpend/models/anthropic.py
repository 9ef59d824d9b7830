"""Anthropic's Messages API."""

from __future__ import annotations

import json
from collections.abc import Mapping

from perpend.canon import JSON, as_object
from perpend.errors import ModelError
from perpend.models.base import spoken
from perpend.models.http import BadReplyError, HttpModel, Link
from perpend.models.http.reply import answered, as_finish, as_text, as_usage, complaint
from perpend.types import Request, Response

_ANTHROPIC = "https://api.anthropic.com"
_VERSION = "2023-06-01"


def model(  # noqa: PLR0913 - the options of run.toml by name: the loader checks a user's spelling against this list
    name: str,
    *,
    base_url: str = _ANTHROPIC,
    api_key_env: str | None = None,
    workers: int = 8,
    retries: int = 4,
    timeout_s: float = 120.0,
    rpm: float | None = None,
    tpm: float | None = None,
    backoff_s: float = 0.5,
) -> Anthropic:
    """The model that Anthropic calls `name`.

    The key is read from ANTHROPIC_API_KEY and sent to Anthropic alone; another server that speaks the protocol gets
    a key only when `api_key_env` names one.
    """
    if api_key_env is None and base_url in (_ANTHROPIC, f"{_ANTHROPIC}/"):
        api_key_env = "ANTHROPIC_API_KEY"
    return Anthropic(name, Link(base_url, api_key_env, workers, retries, timeout_s, rpm, tpm, backoff_s))


class Anthropic(HttpModel):
    """`/v1/messages`. It takes no seed: the same request may be answered differently, also at temperature 0."""

    def __init__(self, name: str, link: Link) -> None:
        super().__init__(f"anthropic/{name}", "/v1/messages", link)
        self.model = name

    def fingerprint(self) -> Mapping[str, str]:
        """The dated name: the API shows no digest and takes no seed."""
        return {
            "provider": "anthropic",
            "model": self.model,
            "api": _VERSION,
            "weights": "not shown",
            "seed": "not taken by this API",
        }

    def headers(self, key: str | None) -> dict[str, str]:
        """The key has a header of its own, and so has the protocol's version."""
        return {"anthropic-version": _VERSION, **({} if key is None else {"x-api-key": key})}

    def encode(self, request: Request) -> bytes:
        """System messages go beside the conversation; a seed is left out because the API refuses one."""
        if request.choices:
            raise ModelError(
                "Anthropic returns no likelihood of given choices; score them on a server such as vLLM (openai)"
            )
        sampling = request.sampling
        if sampling.temperature > 1.0:
            raise ModelError(f"Anthropic takes temperatures from 0 to 1, not {sampling.temperature:g}")
        body: dict[str, JSON] = {
            "model": self.model,
            "max_tokens": sampling.max_tokens,
            "temperature": sampling.temperature,
            "messages": spoken([m for m in request.messages if m.role != "system"]),
        }
        system = [m.content for m in request.messages if m.role == "system"]
        if system:
            body["system"] = "\n\n".join(system)
        if sampling.top_p is not None:
            body["top_p"] = sampling.top_p
        if sampling.stop:
            body["stop_sequences"] = sampling.stop
        return json.dumps(body).encode()

    def decode(self, request: Request, body: bytes, ms: float) -> Response:
        """The text blocks joined; thinking blocks are not the answer. Without text, the reason to stop is."""
        del request
        reply = as_object(answered(body))
        content = reply.get("content")
        if not isinstance(content, list):
            raise BadReplyError(f"the reply holds no content: {complaint(body)[0]}")
        text, finish = as_text(content), as_finish(reply.get("stop_reason"))
        if text is None and finish is None:
            raise BadReplyError("the reply holds no text and no reason for that")
        usage = as_object(reply.get("usage"))
        counted = as_usage(usage.get("input_tokens"), usage.get("output_tokens"))
        return Response(text or "", finish=finish, usage=counted, ms=ms)
