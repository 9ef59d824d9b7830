"""Any server that speaks OpenAI's HTTP protocol: OpenAI, vLLM, llama-server, LM Studio and many others."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Literal

from perpend.canon import JSON, as_list, as_object, digest
from perpend.errors import ModelError, SpecError
from perpend.models.base import likeliest, plain_text, spoken
from perpend.models.http import BadReplyError, HttpModel, Link
from perpend.models.http.reply import as_fact, as_finish, as_text, as_usage, complaint, parse
from perpend.types import ChoiceLogprob, Request, Response

_OPENAI = "https://api.openai.com/v1"
_PATHS = {"chat": "/chat/completions", "completions": "/completions"}
# Times, permissions with ids of their own, and the place of the weights on the server's disk.
_VOLATILE = frozenset({"created", "permission", "root", "parent", "path"})
_NEEDS = "scoring choices needs a server that returns the log-probabilities of the prompt (echo), as vLLM does"


def model(  # noqa: PLR0913 - the options of run.toml by name: the loader checks a user's spelling against this list
    name: str,
    *,
    base_url: str = _OPENAI,
    api_key_env: str | None = None,
    endpoint: Literal["chat", "completions"] = "chat",
    max_tokens_field: str = "max_tokens",
    logprobs: int = 1,
    revision: str = "",
    workers: int = 8,
    retries: int = 4,
    timeout_s: float = 120.0,
    rpm: float | None = None,
    tpm: float | None = None,
    backoff_s: float = 0.5,
) -> OpenAI:
    """The model that the server calls `name`.

    OpenAI's own key is read from OPENAI_API_KEY and sent to OpenAI alone; any other server gets a key only when
    `api_key_env` names one. `max_tokens_field` is 'max_completion_tokens' for OpenAI's reasoning models. `logprobs` is
    how many alternatives per token are asked for when choices are scored. `revision` is what you know of the weights
    that the server does not say (a commit, a quantisation); it becomes part of the fingerprint.
    """
    if endpoint not in _PATHS:
        raise SpecError(f"endpoint must be 'chat' or 'completions', not {endpoint!r}")
    if api_key_env is None and base_url in (_OPENAI, f"{_OPENAI}/"):
        api_key_env = "OPENAI_API_KEY"
    link = Link(base_url, api_key_env, workers, retries, timeout_s, rpm, tpm, backoff_s)
    return OpenAI(name, link, endpoint, max_tokens_field, logprobs, revision)


class OpenAI(HttpModel):
    """Chat completions, or plain completions of the messages' contents joined by blank lines."""

    def __init__(
        self, name: str, link: Link, endpoint: str, max_tokens_field: str, logprobs: int, revision: str
    ) -> None:
        super().__init__(f"openai/{name}", _PATHS[endpoint], link)
        self.model = name
        self.endpoint = endpoint
        self.max_tokens_field = max_tokens_field
        self.logprobs = logprobs
        self.revision = revision

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
        return {**facts, "revision": self.revision} if self.revision else facts

    def headers(self, key: str | None) -> dict[str, str]:
        """A bearer token."""
        return {} if key is None else {"Authorization": f"Bearer {key}"}

    def encode(self, request: Request) -> bytes:
        """The sampling by OpenAI's names; `seed`, `top_p` and `stop` only when they are set."""
        sampling = request.sampling
        body: dict[str, JSON] = {"model": self.model, "temperature": sampling.temperature}
        if request.choices:
            body |= self._scoring(request)
        elif self.endpoint == "chat":
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

    def _scoring(self, request: Request) -> dict[str, JSON]:
        """One prompt for each choice, sent back with the log-probability of every token and nothing generated."""
        if self.endpoint != "completions":
            raise ModelError(f'{_NEEDS}; set endpoint = "completions"')
        prompt = plain_text(request.messages)
        return {
            "prompt": [prompt + choice for choice in request.choices],
            "echo": True,
            "logprobs": self.logprobs,
            "max_tokens": 0,
        }

    def decode(self, request: Request, body: bytes, ms: float) -> Response:
        """The first choice's text. Reasoning that the server reports apart from it is not part of the answer."""
        reply = as_object(parse(body))
        replies = as_list(reply.get("choices"))
        if not replies:
            raise BadReplyError(f"the reply holds no choices: {complaint(body)[0]}")
        usage = as_object(reply.get("usage"))
        counted = as_usage(usage.get("prompt_tokens"), usage.get("completion_tokens"))
        if request.choices:
            scores = _choice_logprobs(request.choices, replies)
            best = likeliest(request.choices, scores)
            return Response(best, choice_logprobs=scores, finish="stop", usage=counted, ms=ms)
        first = as_object(replies[0])
        if self.endpoint == "chat":
            message = as_object(first.get("message"))
            if "content" not in message and "refusal" not in message and not message.get("role"):
                raise BadReplyError("the reply's first choice holds no message")
            text = as_text(message.get("content")) or as_text(message.get("refusal"))
        elif isinstance(first.get("text"), str):
            text = as_text(first.get("text"))
        else:
            raise BadReplyError("the reply's first choice holds no text")
        return Response(text, finish=as_finish(first.get("finish_reason")), usage=counted, ms=ms)


def _plain(value: JSON) -> JSON:
    """What the server sent, as JSON that can be digested."""
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items() if key not in _VOLATILE}
    if isinstance(value, list):
        return [_plain(entry) for entry in value]
    return value if isinstance(value, str | int | bool) or value is None else repr(value)


def _choice_logprobs(choices: Sequence[str], replies: Sequence[JSON]) -> tuple[ChoiceLogprob, ...]:
    """The log-likelihood of each choice given the prompt, in the order of the choices."""
    numbers = [as_object(reply).get("index", n) for n, reply in enumerate(replies)]
    by_index = {n: as_object(reply) for n, reply in zip(numbers, replies, strict=True) if isinstance(n, int)}
    if set(by_index) != set(range(len(choices))):
        raise BadReplyError(f"the reply scores {len(by_index)} of {len(choices)} choices")
    return tuple(_tail(choice, as_object(by_index[n].get("logprobs"))) for n, choice in enumerate(choices))


def _tail(choice: str, logprobs: Mapping[str, JSON]) -> ChoiceLogprob:
    """Sum over the last tokens, as many as spell the choice.

    Counted from the end, because servers put special tokens of their own before the prompt; blanks are not compared,
    because some tokenizers show tokens without them. A token that begins in the prompt and ends in the choice counts,
    and so does a blank of its own before a choice that begins with one.
    """
    tokens = as_list(logprobs.get("tokens"))
    values = as_list(logprobs.get("token_logprobs"))
    # Nothing comes before a prompt's first token, so its log-probability is null; a generated token always has one.
    if not tokens or len(tokens) != len(values) or values[0] is not None:
        raise ModelError(f"{_NEEDS}; this one returned none")
    shown = [token if isinstance(token, str) else "" for token in tokens]
    wanted = "".join(choice.split())
    spelled = ""
    first = len(shown)
    while first > 1 and len(spelled) < len(wanted):
        first -= 1
        spelled = "".join(shown[first].split()) + spelled
    if not wanted or not spelled.endswith(wanted):
        raise BadReplyError(f"the returned tokens do not spell the choice {choice[:40]!r} at the end of the prompt")
    if first > 1 and choice[0].isspace() and not shown[first][0].isspace() and shown[first - 1].isspace():
        first -= 1
    numbers = [value for value in values[first:] if isinstance(value, int | float) and math.isfinite(value)]
    if len(numbers) < len(values) - first:
        raise BadReplyError(f"a log-probability of the choice {choice[:40]!r} is no number")
    return ChoiceLogprob(math.fsum(numbers), len(numbers))
