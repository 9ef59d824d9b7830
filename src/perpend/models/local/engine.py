"""llama.cpp in this process: one GGUF file, one slot, one thread unless more are asked for."""

from __future__ import annotations

import hashlib
import json
import math
import secrets
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from http.client import HTTPConnection
from pathlib import Path
from typing import Literal, TypeAlias
from urllib.parse import urlsplit

from perpend.canon import JSON, as_list, as_object
from perpend.models.base import UnreadableRequestError, choice_tokens, likeliest, plain_text, spoken
from perpend.models.http.reply import as_finish, as_text, as_usage
from perpend.models.local.weights import read_template
from perpend.models.template import TemplateProcess
from perpend.types import ChoiceLogprob, Message, Request, Response, Sampling, Usage

Endpoint: TypeAlias = Literal["chat", "completions"]
# Far above any logit, so that the token is drawn whatever the model thinks; the reported likelihood is the model's own.
_FORCED = 1e6
# llama.cpp writes the lowest single-precision number for a probability that underflows.
_UNDERFLOW = -1e30
# A template of ours that gives its only message back.
_AS_IT_IS = "{{ messages[0].content }}"
# 2³² − 1 asks llama.cpp for a random seed.
_SEEDS = 2**32 - 1


class EngineError(UnreadableRequestError):
    """The engine refuses a request; the text says why."""


@dataclass(frozen=True, slots=True)
class Setup:
    """What an engine is started with. `context` is in tokens; a request that needs more is refused, never cut."""

    path: Path = field(repr=False)
    endpoint: Endpoint = "chat"
    context: int = 2048
    threads: int = 1
    whole_sentence: bool = False


class Service:
    """llama.cpp with one file, and what it offers over HTTP alone: template, tokenizer and properties.

    `template` takes the place of the file's own.
    """

    def __init__(self, path: Path, *, context: int, threads: int = 1, template: str | None = None) -> None:
        import xllamacpp

        self._key = secrets.token_hex(16)
        params = xllamacpp.CommonParams()
        params.model.path = str(path)
        params.n_ctx = context
        params.n_parallel = 1
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
        params.n_threads_http = 1
        # How many of a prompt's tokens are new depends on the prompt before it, so a token must come out the same in a
        # batch of any size. On a CPU that holds for flash attention with fewer than 64 tokens at once: with more, or
        # without it, log-probabilities were seen to move by up to 0.15, and answers with them.
        params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_ENABLED
        params.n_batch = params.n_ubatch = 32
        params.cache_ram_mib = 0
        params.warmup = params.ui = False
        params.verbosity = 1
        if template is not None:
            params.chat_template = template
        # The engine always listens. The system chooses the port, and only who knows the key gets an answer.
        params.hostnames, params.port, params.api_keys = ["127.0.0.1"], 0, [self._key]
        self.server = xllamacpp.Server(params)

    def post(self, path: str, body: Mapping[str, JSON]) -> Mapping[str, JSON]:
        """The reply to a request with a body."""
        return self._exchange("POST", path, json.dumps(body))

    def get(self, path: str) -> Mapping[str, JSON]:
        """The reply to a request without one."""
        return self._exchange("GET", path, None)

    def _exchange(self, method: str, path: str, body: str | None) -> Mapping[str, JSON]:
        head = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
        # A connection for each: the engine closes one that was idle for some seconds.
        with closing(HTTPConnection(urlsplit(self.server.listening_address).netloc, timeout=60)) as connection:
            connection.request(method, path, body, head)
            reply = as_object(json.loads(connection.getresponse().read()))
        if "error" in reply:
            raise EngineError(_complaint(reply))
        return reply


class Engine:
    """Answers one request after the other. The answer depends on the request alone, not on what was asked before.

    llama.cpp keeps the last prompt's state, so a request that begins like the one before is cheaper. The file's
    template is somebody's program, so it is rendered in a process with limits, and llama.cpp gets a finished text.
    """

    def __init__(self, setup: Setup) -> None:
        is_chat = setup.endpoint == "chat"
        self.setup = setup
        self._template = TemplateProcess("perpend.models.local.template", setup.path.name) if is_chat else None
        self._service = Service(setup.path, context=setup.context, threads=setup.threads, template=_AS_IT_IS)
        if self._template is not None:
            about = self._service.get("/props")
            marks = {key: about.get(key) for key in ("bos_token", "eos_token")}
            self._template.prepare({"template": read_template(setup.path), **marks})

    def answer(self, request: Request) -> Response:
        """The text, or the likelihood of each choice. A request that the engine refuses is a Response with an error."""
        started = time.perf_counter()
        try:
            answer = self._weigh(request) if request.choices else self._speak(request)
        except UnreadableRequestError as error:
            return Response(error=f"llama.cpp: {error}")
        return replace(answer, ms=1000 * (time.perf_counter() - started))

    def render(self, messages: Sequence[Message]) -> str:
        """The text that the model is fed for these messages: its template's, or their contents and blank lines."""
        if self._template is None:
            return plain_text(messages)
        # llama.cpp takes a mark of the beginning off where its tokenizer will put one.
        return str(self._service.post("/apply-template", {"messages": self._finished(messages)}).get("prompt"))

    def _finished(self, messages: Sequence[Message]) -> list[dict[str, str]]:
        return spoken(messages if self._template is None else [Message("user", self._template.render(messages))])

    def tokens(self, text: str) -> tuple[int, ...]:
        """The tokens of a prompt, as the engine itself reads one: special tokens count, and come first if they must."""
        reply = self._service.post("/tokenize", {"content": text, "add_special": True, "parse_special": True})
        return tuple(token for token in as_list(reply.get("tokens")) if isinstance(token, int))

    def _speak(self, request: Request) -> Response:
        body = {**_drawing(request.sampling), "max_tokens": request.sampling.max_tokens, "verbose": True}
        if self.setup.endpoint == "chat":
            reply = self._service.server.handle_chat_completions({**body, "messages": self._finished(request.messages)})
        else:
            reply = self._service.server.handle_completions({**body, "prompt": self.render(request.messages)})
        first, usage = _first(reply)
        text = as_object(first.get("message")).get("content") if self.setup.endpoint == "chat" else first.get("text")
        fed = as_object(as_object(reply).get("__verbose")).get("prompt")
        if usage is not None and isinstance(fed, str):
            usage = replace(usage, prompt_sha256=_digest(fed))
        return Response(as_text(text) or "", finish=as_finish(first.get("finish_reason")), usage=usage)

    def _weigh(self, request: Request) -> Response:
        """The sum of the log-probabilities of each choice's tokens, each given those before it; see `ChoiceTokens`."""
        read = choice_tokens(
            self.render(request.messages),
            request.choices,
            self.tokens,
            in_blank=self.setup.endpoint == "completions",
            whole_sentence=self.setup.whole_sentence,
        )
        start = read.bare[: read.shared] or self.tokens(self._beginning())
        steps: dict[tuple[tuple[int, ...], int], float] = {}
        scores = tuple(self._choice(start, tokens[read.shared :], steps) for tokens in read.whole)
        usage = Usage(len(start), sum(score.tokens for score in scores), _digest(read.before))
        best = likeliest(request.choices, scores)
        return Response(best, choice_logprobs=scores, finish="stop", usage=usage)

    def _choice(
        self, start: tuple[int, ...], tokens: tuple[int, ...], steps: dict[tuple[tuple[int, ...], int], float]
    ) -> ChoiceLogprob:
        """One choice after `start`; `steps` holds what the item's other choices have asked for already."""
        for at, token in enumerate(tokens):
            if (tokens[:at], token) not in steps:
                steps[tokens[:at], token] = self._logprob(start + tokens[:at], token)
        each = [steps[tokens[:at], token] for at, token in enumerate(tokens)]
        return ChoiceLogprob(math.fsum(each) if each else None, len(each))

    def _logprob(self, before: tuple[int, ...], token: int) -> float:
        """log P(token | the tokens before it), over the whole vocabulary, before any sampling rule."""
        forced: dict[str, object] = {"prompt": list(before), "max_tokens": 1, "n_probs": 1, "temperature": 0.0}
        reply = self._service.server.handle_completions(
            {**forced, "logit_bias": [[token, _FORCED]], "cache_prompt": True}
        )
        first, _ = _first(reply)
        drawn = [as_object(entry) for entry in as_list(as_object(first.get("logprobs")).get("content"))]
        value = drawn[0].get("logprob") if drawn and drawn[0].get("id") == token else None
        if not isinstance(value, float | int):
            raise EngineError(f"token {token} could not be scored")
        if value < _UNDERFLOW:
            raise EngineError(f"token {token} has a probability too small for single precision")
        return float(value)

    def _beginning(self) -> str:
        """The special token that begins a text, for a choice with nothing before it."""
        return str(self._service.get("/props").get("bos_token"))


def _drawing(sampling: Sampling) -> dict[str, object]:
    """Temperature, then top_p, and nothing else: llama.cpp's own top-k, min-p and penalties would bend the draw."""
    body: dict[str, object] = {
        "temperature": sampling.temperature,
        "top_p": 1.0 if sampling.top_p is None else sampling.top_p,
        "samplers": ["temperature", "top_p"],
        "stop": list(sampling.stop),
        "cache_prompt": True,
    }
    return body if sampling.seed is None else {**body, "seed": sampling.seed % _SEEDS}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _first(reply: JSON) -> tuple[Mapping[str, JSON], Usage | None]:
    """The first choice of an answer, and what was counted."""
    body = as_object(reply)
    choices = as_list(body.get("choices"))
    if not choices:
        raise EngineError(_complaint(body))
    usage = as_object(body.get("usage"))
    return as_object(choices[0]), as_usage(usage.get("prompt_tokens"), usage.get("completion_tokens"))


def _complaint(reply: Mapping[str, JSON]) -> str:
    return str(as_object(reply.get("error")).get("message", "no answer and no reason"))
