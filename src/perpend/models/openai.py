"""Any server that speaks OpenAI's HTTP protocol: OpenAI, vLLM, SGLang, llama-server, LM Studio and many others."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from perpend.canon import JSON, as_list, as_object, digest
from perpend.errors import ModelError, SpecError, did_you_mean
from perpend.models.base import UnreadableRequestError, choice_texts, likeliest, plain_text, spoken
from perpend.models.http import BadReplyError, HttpModel, Link
from perpend.models.http.reply import answered, as_fact, as_finish, as_text, as_usage, complaint
from perpend.models.http.scoring import NEEDS, SCORED_BY, ServedModel, choice_logprobs
from perpend.models.http.steps import Steps
from perpend.types import Request, Response, Usage

_OPENAI = "https://api.openai.com/v1"
_PATHS = {"chat": "/chat/completions", "completions": "/completions"}
# Times, permissions with ids of their own, and the place of the weights on the server's disk.
_VOLATILE = frozenset({"created", "permission", "root", "parent", "path"})
_NOT_STATED = "not stated"
# What a reply without text may hold in its place, and the reasons to stop that are why there is none. Content is also
# a list with nothing but thinking.
_INSTEAD = ("content", "tool_calls", "function_call", "reasoning_content", "reasoning", "reasoning_details")
_WITHOUT_TEXT = frozenset({"length", "content_filter", "refusal"})
# What turns off the rules that an engine adds to a draw: its own, or those of the model's generation_config.json, where
# Qwen2.5 has a repetition penalty, which changes answers at temperature 0 too.
_OFF: Mapping[str, JSON] = {"top_p": 1.0, "min_p": 0.0, "presence_penalty": 0.0, "frequency_penalty": 0.0}
_RULES_OFF: Mapping[str, Mapping[str, JSON]] = {
    "vllm": {**_OFF, "top_k": -1, "repetition_penalty": 1.0},
    "sglang": {**_OFF, "top_k": -1, "repetition_penalty": 1.0},
    "llama.cpp": {**_OFF, "top_k": 0, "repeat_penalty": 1.0, "typical_p": 1.0},
}


@dataclass(frozen=True, slots=True)
class Serving:
    """What serves a model: the engine, what its operator knows of the weights and of how it computes, and whether the
    engine may add rules of its own to a draw."""

    engine: str = ""
    revision: str = ""
    quantization: str = ""
    batch_invariant: bool | None = None
    own_rules: bool = False

    def stated(self) -> dict[str, str]:
        """What was said, by the names of the options."""
        facts = {"revision": self.revision, "quantization": self.quantization}
        if self.batch_invariant is not None:
            facts["batch_invariant"] = str(self.batch_invariant).lower()
        return {name: fact for name, fact in facts.items() if fact}


def model(  # noqa: PLR0913 - the options of run.toml by name: the loader checks a user's spelling against this list
    name: str,
    *,
    base_url: str = _OPENAI,
    api_key_env: str | None = None,
    endpoint: Literal["chat", "completions"] = "chat",
    max_tokens_field: str = "max_tokens",
    logprobs: int = 1,
    whole_sentence: bool = False,
    server: str = "",
    revision: str = "",
    quantization: str = "",
    batch_invariant: bool | None = None,
    server_rules: bool = False,
    workers: int = 8,
    retries: int = 4,
    timeout_s: float = 120.0,
    rpm: float | None = None,
    tpm: float | None = None,
    backoff_s: float = 0.5,
) -> OpenAI:
    """The model that the server calls `name`.

    OpenAI's own key is read from OPENAI_API_KEY and sent to OpenAI alone; any other server gets a key only when
    `api_key_env` names one. `max_tokens_field` is 'max_completion_tokens' for OpenAI's reasoning models. `server` is
    the engine, 'vllm', 'sglang' or 'llama.cpp': how choices are scored and where it says its version. Under
    'completions' a choice is scored in the message's blank '___', or after its end, and `whole_sentence` scores what
    follows the blank too; `logprobs` is how many alternatives per token are asked for where `server` is not given.
    `revision`, `quantization` and `batch_invariant` are what you know and the server does not say; they become part of
    the fingerprint. Where `server` is given, each request turns off what the server would add to its sampling (top-k,
    min-p, penalties), unless `server_rules` is true; other servers are not told.
    """
    if server not in SCORED_BY:
        known = [name for name in SCORED_BY if name]
        raise SpecError(f"unknown server {server!r}; {did_you_mean(server, known)}")
    if endpoint not in _PATHS:
        raise SpecError(f"endpoint must be 'chat' or 'completions', not {endpoint!r}")
    if api_key_env is None and base_url in (_OPENAI, f"{_OPENAI}/"):
        api_key_env = "OPENAI_API_KEY"
    if server_rules and not server:
        raise SpecError(
            "server_rules = true changes nothing without the option server: no server is told otherwise then"
        )
    link = Link(base_url, api_key_env, workers, retries, timeout_s, rpm, tpm, backoff_s)
    serving = Serving(server, revision, quantization, batch_invariant, server_rules)
    asked = OpenAI(name, link, endpoint, max_tokens_field, serving)
    asked.logprobs, asked.whole_sentence = logprobs, whole_sentence
    return asked


class OpenAI(HttpModel):
    """Chat completions, or plain completions of the messages' contents joined by blank lines."""

    def __init__(self, name: str, link: Link, endpoint: str, max_tokens_field: str, serving: Serving) -> None:
        super().__init__(f"openai/{name}", _PATHS[endpoint], link)
        self.model = name
        self.endpoint = endpoint
        self.max_tokens_field = max_tokens_field
        self.serving = serving
        self.logprobs = 1
        self.whole_sentence = False

    def fingerprint(self) -> Mapping[str, str]:
        """What the server lists of the model; this protocol shows no digest of the weights.

        `listed_sha256` is over the entry at /models (owner, size, context length, where the server says them) without
        its times and paths, so that it is the same when the same server is started again.
        """
        facts: dict[str, str] = {"provider": "openai", "model": self.model, "endpoint": self.endpoint}
        for entry in as_list(as_object(self.fetch_if_there("/models")).get("data")):
            listed = as_object(entry)
            if listed.get("id") == self.model:
                kept = {key: _plain(value) for key, value in listed.items() if key not in _VOLATILE}
                facts |= {"owned_by": as_fact(listed.get("owned_by", "")), "listed_sha256": digest(kept)}
        return facts | (self._served() if self.serving.engine else self.serving.stated())

    def _served(self) -> dict[str, str]:
        """The engine's version and what it, or else its operator, says of the weights; SpecError where both differ."""
        says = {"sglang": self._sglang, "llama.cpp": self._llama_cpp}.get(self.serving.engine, self._vllm)()
        facts = {name: as_fact(value) for name, value in says.items() if value not in (None, "")}
        for name, fact in self.serving.stated().items():
            if facts.get(name, fact) != fact:
                raise SpecError(
                    f"option {name} says {fact!r}, but the server says {facts[name]!r}; leave the option out"
                )
            facts[name] = fact
        version = facts.pop("version", "of unknown version")
        unsaid = dict.fromkeys(("revision", "quantization", "batch_invariant"), _NOT_STATED)
        rules = "the server's" if self.serving.own_rules else "none"
        return {**unsaid, **facts, "server": f"{self.serving.engine} {version}", "sampling_rules": rules}

    def _vllm(self) -> dict[str, JSON]:
        return {"version": as_object(self.fetch_if_there(self.link.root + "/version")).get("version")}

    def _sglang(self) -> dict[str, JSON]:
        info: Mapping[str, JSON] = {}
        for path in ("/server_info", "/get_server_info"):  # the second is the older name
            info = info or as_object(self.fetch_if_there(self.link.root + path))
        same = {name: info.get(name) for name in ("version", "revision", "quantization", "dtype", "attention_backend")}
        is_invariant = info.get("enable_deterministic_inference")
        return {**same, "batch_invariant": str(is_invariant).lower() if isinstance(is_invariant, bool) else None}

    def _llama_cpp(self) -> dict[str, JSON]:
        props = as_object(self.fetch_if_there(self.link.root + "/props"))
        template = props.get("chat_template")
        digests = (
            {"template_sha256": _sha256(template)} if isinstance(template, str) and self.endpoint == "chat" else {}
        )
        return {"version": props.get("build_info"), "quantization": props.get("model_ftype"), **digests}

    def headers(self, key: str | None) -> dict[str, str]:
        """A bearer token."""
        return {} if key is None else {"Authorization": f"Bearer {key}"}

    def encode(self, request: Request) -> bytes:
        """The sampling by OpenAI's names; `seed`, `top_p` and `stop` only when they are set.

        An engine that is known is told to add nothing to it.
        """
        sampling = request.sampling
        off = {} if self.serving.own_rules else _RULES_OFF.get(self.serving.engine, {})
        body: dict[str, JSON] = {"model": self.model, "temperature": sampling.temperature, **off}
        if self.endpoint == "chat":
            body["messages"] = spoken(request.messages)
            body[self.max_tokens_field] = sampling.max_tokens
        else:
            body["prompt"] = plain_text(request.messages)
            body[self.max_tokens_field] = sampling.max_tokens
        if sampling.seed is not None:
            body["seed"] = sampling.seed
        if sampling.top_p is not None:
            body["top_p"] = sampling.top_p
        if sampling.stop:
            body["stop"] = sampling.stop
        return json.dumps(body).encode()

    def steps(self, request: Request) -> Steps | None:
        """What scores the choices of a request, by the way of the engine."""
        return self._scored(request) if request.choices else None

    def _scored(self, request: Request) -> Steps:
        if self.endpoint != "completions":
            raise ModelError(f'choices are scored after a plain text; set endpoint = "completions". Also, {NEEDS}')
        text = plain_text(request.messages)
        before, texts = choice_texts(text, request.choices, in_blank=True, whole_sentence=self.whole_sentence)
        if not before:
            raise UnreadableRequestError("nothing comes before the choices, so their first tokens have no likelihood")
        served = ServedModel(self.model, self.link, self.logprobs)
        scores = choice_logprobs(request.choices, (yield from SCORED_BY[self.serving.engine](served, [before, *texts])))
        usage = Usage(prompt_sha256=_sha256(before))
        return Response(likeliest(request.choices, scores), choice_logprobs=scores, finish="stop", usage=usage)

    def decode(self, _request: Request, body: bytes, ms: float) -> Response:
        """The first choice's text, or its refusal. Reasoning that is reported apart is not part of the answer."""
        reply = as_object(answered(body))
        replies = as_list(reply.get("choices"))
        if not replies:
            raise BadReplyError(f"the reply holds no choices: {complaint(body)[0]}")
        usage = as_object(reply.get("usage"))
        counted = as_usage(usage.get("prompt_tokens"), usage.get("completion_tokens"))
        first = as_object(replies[0])
        finish = as_finish(first.get("finish_reason"))
        if self.endpoint == "chat":
            message = first.get("message") or {}
            if not isinstance(message, Mapping):
                raise BadReplyError("the reply's first choice holds no message")
            content = as_text(message.get("content"))
            text = content or as_text(message.get("refusal")) or content
        else:
            message = {}
            text = as_text(first.get("text"))
        if text is None and finish not in _WITHOUT_TEXT and not any(message.get(name) for name in _INSTEAD):
            raise BadReplyError("the reply's first choice holds no text and no reason for that")
        return Response(text or "", finish=finish, usage=counted, ms=ms)


def _plain(value: JSON) -> JSON:
    """What the server sent, as JSON that can be digested."""
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items() if key not in _VOLATILE}
    if isinstance(value, list):
        return [_plain(entry) for entry in value]
    return value if isinstance(value, str | int | bool) or value is None else repr(value)


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
