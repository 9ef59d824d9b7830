"""A small model behind the wire formats of serving engines: the tests' own server answers exactly in these shapes.

- echo: https://platform.openai.com/docs/api-reference/completions (`echo`, `logprobs`)
- vLLM: https://docs.vllm.ai/en/stable/serving/openai_compatible_server/ (`prompt_logprobs`, `return_token_ids`)
- SGLang: https://docs.sglang.io/basic_usage/sampling_params.html (/generate: `return_logprob`, `logprob_start_len`) and
  https://docs.sglang.io/basic_usage/native_api.html (/get_server_info; newer servers also say /server_info)
- llama-server: https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md (/tokenize, /props, `n_probs`,
  `logit_bias`); the real one is asked in tests/real/test_servers.py
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable
from typing import Any

from tests.servers import Received, Reply

BOS = 1
_PIECES = re.compile(r"\s?\w{1,4}|\s+|\S")


def tokens(text: str) -> list[int]:
    """A mark of the beginning, then pieces of at most four letters with the blank before them, by a number of each."""
    return [BOS, *(1000 + zlib.crc32(piece.encode()) % 1_000_000 for piece in _PIECES.findall(text))]


def pieces(text: str) -> list[str]:
    return ["<s>", *_PIECES.findall(text)]


def logprob(before: list[int], token: int) -> float:
    """Between -5 and -1, another for each token and whatever comes before it."""
    return -1.0 - zlib.crc32(json.dumps([*before, token]).encode()) % 4096 / 1024


def scored(text: str) -> list[float | None]:
    numbers = tokens(text)
    return [None, *(logprob(numbers[:at], numbers[at]) for at in range(1, len(numbers)))]


def json_reply(body: object, status: int = 200) -> Reply:
    return Reply(json.dumps(body).encode(), status)


def _completion(choices: list[dict[str, Any]], read: int) -> Reply:
    usage = {"prompt_tokens": read, "completion_tokens": len(choices), "total_tokens": read + len(choices)}
    body = {"id": "cmpl-1", "object": "text_completion", "created": 1, "model": "toy", "choices": choices}
    return json_reply({**body, "usage": usage})


def echo(received: Received) -> Reply:
    body = received.body
    if received.path != "/v1/completions" or not isinstance(body, dict):
        return json_reply({"error": {"message": "Not Found"}}, 404)
    assert (body["echo"], body["max_tokens"]) == (True, 0)
    choices: list[dict[str, Any]] = []
    for index, text in enumerate(body["prompt"]):
        logprobs = {"tokens": pieces(text), "token_logprobs": scored(text), "top_logprobs": None, "text_offset": []}
        choices.append({"index": index, "text": text, "logprobs": logprobs, "finish_reason": "length"})
    return _completion(choices[::-1], sum(len(tokens(text)) for text in body["prompt"]))


def vllm(received: Received) -> Reply:
    body = received.body
    if received.path == "/version":
        return json_reply({"version": "0.28.0"})
    if received.path == "/v1/models":
        return json_reply({"object": "list", "data": [{"id": "toy", "owned_by": "vllm", "root": "/srv/toy"}]})
    assert received.path == "/v1/completions"
    assert isinstance(body, dict)
    assert body["return_token_ids"] is True
    choices: list[dict[str, Any]] = []
    for index, text in enumerate(body["prompt"]):
        numbers, values = tokens(text), scored(text)
        places: list[dict[str, Any] | None] = [None]
        for number, value in zip(numbers[1:], values[1:], strict=True):
            own = {"logprob": value, "rank": 7, "decoded_token": "x"}
            # The likeliest of all places comes first where alternatives are asked for: it must not be taken.
            other = {"5": {"logprob": -0.01, "rank": 1, "decoded_token": "y"}} if body["prompt_logprobs"] else {}
            places.append({**other, str(number): own})
        whole = {"index": index, "text": " z", "logprobs": None, "finish_reason": "length", "stop_reason": None}
        choices.append({**whole, "prompt_logprobs": places, "prompt_token_ids": numbers, "token_ids": [9]})
    return _completion(choices, sum(len(tokens(text)) for text in body["prompt"]))


SERVER_INFO = {
    "model_path": "/srv/models/toy",
    "revision": "8f5b1c",
    "quantization": "fp8",
    "dtype": "bfloat16",
    "attention_backend": "fa3",
    "enable_deterministic_inference": True,
    "version": "0.5.6",
}


def sglang(received: Received) -> Reply:
    body = received.body
    if received.path == "/get_server_info":
        return json_reply(SERVER_INFO)
    if received.path != "/generate":
        return json_reply({"detail": "Not Found"}, 404)
    assert isinstance(body, dict)
    assert (body["return_logprob"], body["logprob_start_len"]) == (True, 0)
    assert body["sampling_params"] == {"temperature": 0, "max_new_tokens": 0}
    replies = []
    for text in body["text"]:
        triples = [[value, number, None] for value, number in zip(scored(text), tokens(text), strict=True)]
        about = {"id": "a", "finish_reason": {"type": "length", "length": 0}, "prompt_tokens": len(triples)}
        about |= {"completion_tokens": 0, "cached_tokens": 0, "input_token_logprobs": triples}
        replies.append({"text": "", "output_ids": [], "meta_info": {**about, "output_token_logprobs": []}})
    return json_reply(replies)


def llama_cpp(received: Received) -> Reply:
    body = received.body
    if received.path == "/props":
        return json_reply({"build_info": "b7000-abc", "model_ftype": "Q4_K_M", "chat_template": "{{ messages }}"})
    if received.path == "/v1/models":
        return json_reply({"data": []})
    assert isinstance(body, dict)
    if received.path == "/tokenize":
        return json_reply({"tokens": tokens(body["content"])})
    ((token, bias),) = body["logit_bias"]
    assert (bias, body["n_probs"], body["max_tokens"]) == (1e6, 1, 1)
    drawn = {"id": token, "token": "x", "bytes": [], "logprob": logprob(body["prompt"], token), "top_logprobs": []}
    choice = {"index": 0, "text": "x", "logprobs": {"content": [drawn]}, "finish_reason": "length"}
    return _completion([choice], len(body["prompt"]))


ENGINES: dict[str, Callable[[Received], Reply]] = {"": echo, "vllm": vllm, "sglang": sglang, "llama.cpp": llama_cpp}
