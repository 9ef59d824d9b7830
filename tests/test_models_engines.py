"""Choices scored over a serving engine are those of `ChoiceTokens` in every wire format; what it says is recorded."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence

import pytest

from perpend.errors import ModelError, SpecError
from perpend.models import openai
from perpend.models.base import choice_tokens
from perpend.spec.model import Budget
from perpend.types import Message, Request, Response, Sampling
from tests.servers import Received, Reply, Script, serve
from tests.serving_engines import ENGINES, json_reply, llama_cpp, logprob, sglang, tokens, vllm

CASES = {
    "after a blank": ("The capital of France is", (" Paris", " Rome", " Constantinople")),
    "a token across the boundary": ("She ", ("works", "work hard", "w")),
    "in a blank of the text": ("She ___ hard every day.", ("works", "worked", "has been working")),
    "one that begins another": ("Is it so?", (" Yes", " Yes, it is")),
    "other scripts": ("Größe:", (" über", " 12 €", " 東京")),
}


def answers(
    script: Script, cases: Sequence[tuple[str, tuple[str, ...]]], budget: Budget, **options: object
) -> list[Response]:
    """What is answered to each text with its choices, in their order."""
    requests = [Request((Message("user", text),), Sampling(), choices) for text, choices in cases]
    with serve(script) as server:
        chosen: dict[str, object] = {"base_url": f"{server.url}/v1", "endpoint": "completions", "retries": 0, **options}
        asked = openai.model("toy", **chosen)  # type: ignore[arg-type]  # a test passes what it likes
        pairs = [pair for batch in asked.answer(enumerate(requests), budget) for pair in batch]
    return [response for _, response in sorted(pairs, key=lambda pair: pair[0])]


def one(script: Script, text: str, **options: object) -> Response:
    """What is answered to a text and the choices ' a' and ' b'."""
    (response,) = answers(script, [(text, (" a", " b"))], Budget(), **options)
    return response


def by_hand(text: str, choices: tuple[str, ...], *, whole_sentence: bool) -> list[tuple[float, int]]:
    """What local candidates are: the sum over the tokens after those that all texts share."""
    read = choice_tokens(text, choices, lambda one: tuple(tokens(one)), in_blank=True, whole_sentence=whole_sentence)
    places = [[logprob(list(one[:at]), one[at]) for at in range(read.shared, len(one))] for one in read.whole]
    return [(math.fsum(values), len(values)) for values in places]


@pytest.mark.parametrize("engine", ENGINES)
def test_choices_are_scored_as_local_ones_are(engine: str) -> None:
    budget = Budget()
    for whole_sentence in (False, True):
        given = answers(ENGINES[engine], list(CASES.values()), budget, server=engine, whole_sentence=whole_sentence)
        for response, (text, choices) in zip(given, CASES.values(), strict=True):
            assert response.choice_logprobs is not None, response.error
            expected = by_hand(text, choices, whole_sentence=whole_sentence)
            assert [(score.total, score.tokens) for score in response.choice_logprobs] == expected
            assert response.text == choices[expected.index(max(expected))]
            assert response.usage is not None
            assert (response.usage.input or 0) >= len(tokens(text.partition("___")[0])), "of all calls together"
    assert not budget.uncounted


def without(field: str) -> Callable[[Reply], Reply]:
    """The same reply where a server does not know the field."""

    def strip(value: object) -> object:
        if isinstance(value, dict):
            return {key: strip(entry) for key, entry in value.items() if key != field}
        return [strip(entry) for entry in value] if isinstance(value, list) else value

    return lambda reply: json_reply(strip(json.loads(reply.body)))


@pytest.mark.parametrize(
    ("engine", "field"),
    [
        ("", "logprobs"),
        ("vllm", "prompt_logprobs"),
        ("vllm", "prompt_token_ids"),
        ("sglang", "input_token_logprobs"),
        ("llama.cpp", "tokens"),
        ("llama.cpp", "logprobs"),
    ],
)
def test_a_server_that_is_another_ends_the_run_with_what_to_do(engine: str, field: str) -> None:
    with pytest.raises(ModelError, match="Say which it is by the option server"):
        one(lambda received: without(field)(ENGINES[engine](received)), "So", server=engine)


def changed(script: Script, change: Callable[[object], object]) -> Script:
    def deep(value: object) -> object:
        if isinstance(value, dict):
            return {key: change(entry) if key == "logprob" else deep(entry) for key, entry in value.items()}
        return [deep(entry) for entry in value] if isinstance(value, list) else value

    return lambda received: json_reply(deep(json.loads(script(received).body)))


@pytest.mark.parametrize("value", [None, math.nan, "x", -9999.0, -3.4e38, -math.inf])
def test_an_undefined_likelihood_is_an_error_of_that_trial(value: object) -> None:
    for engine in ("vllm", "llama.cpp"):
        response = one(changed(ENGINES[engine], lambda _: value), "So", server=engine)
        assert response.choice_logprobs is None
        assert "is undefined" in str(response.error)


def test_nothing_before_the_choices_and_two_blanks_are_errors_of_their_trial() -> None:
    assert "nothing comes before" in str(one(vllm, "___", server="vllm").error)
    assert "more than one blank" in str(one(vllm, "a ___ b ___", server="vllm").error)


def test_a_part_of_a_prompt_is_not_taken_for_the_whole() -> None:
    def cut(received: Received) -> Reply:
        body = json.loads(sglang(received).body)
        for reply in body:
            reply["meta_info"]["input_token_logprobs"] = [
                [None, 1, None],
                *reply["meta_info"]["input_token_logprobs"][2:],
            ]
        return json_reply(body)

    assert "of a prompt" in str(one(cut, "So it is", server="sglang").error)


def test_a_token_that_echo_adds_is_not_taken_for_the_choice_s() -> None:
    def generating(received: Received) -> Reply:
        body = json.loads(ENGINES[""](received).body)
        for reply in body["choices"]:
            reply["logprobs"]["tokens"].append(" and")
            reply["logprobs"]["token_logprobs"].append(-0.1)
        return json_reply(body)

    assert "do not spell the prompt" in str(one(generating, "So it is").error)


def test_choices_in_chat_are_refused_with_what_to_set() -> None:
    with pytest.raises(ModelError, match='set endpoint = "completions"'):
        one(vllm, "So", server="vllm", endpoint="chat")


def test_an_unknown_engine_suggests_the_near_one() -> None:
    with pytest.raises(SpecError, match="'vllm'"):
        openai.model("toy", server="vlm")


def fingerprint(script: Script, **options: object) -> dict[str, str]:
    with serve(script) as server:
        return dict(openai.model("toy", base_url=f"{server.url}/v1", **options).fingerprint())  # type: ignore[arg-type]


def test_the_fingerprint_has_the_server_s_version_and_what_it_says_of_the_weights() -> None:
    facts = fingerprint(sglang, server="sglang")
    assert facts["server"] == "sglang 0.5.6"
    assert (facts["revision"], facts["quantization"], facts["dtype"]) == ("8f5b1c", "fp8", "bfloat16")
    assert (facts["batch_invariant"], facts["attention_backend"]) == ("true", "fa3")
    assert "version" not in facts, "it is in 'server'"
    assert "srv" not in json.dumps(facts)
    facts = fingerprint(llama_cpp, server="llama.cpp")
    assert (facts["server"], facts["quantization"]) == ("llama.cpp b7000-abc", "Q4_K_M")
    assert len(facts["template_sha256"]) == 64


def test_what_the_server_does_not_say_is_stated_or_said_to_be_missing() -> None:
    facts = fingerprint(vllm, server="vllm")
    assert facts["server"] == "vllm 0.28.0"
    assert {facts["revision"], facts["quantization"], facts["batch_invariant"]} == {"not stated"}
    known = {"revision": "8f5b1c", "quantization": "awq", "batch_invariant": True}
    facts = fingerprint(vllm, server="vllm", **known)
    assert (facts["revision"], facts["quantization"], facts["batch_invariant"]) == ("8f5b1c", "awq", "true")
    assert fingerprint(lambda _: Reply(b"{}", 404), server="vllm")["server"] == "vllm of unknown version"


def sent(sampling: Sampling, **options: object) -> dict[str, object]:
    """The body of a request without its question."""
    chosen: dict[str, object] = {"base_url": "http://127.0.0.1:1/v1", **options}
    asked = openai.model("toy", **chosen)  # type: ignore[arg-type]  # a test passes what it likes
    body: dict[str, object] = json.loads(asked.encode(Request((Message("user", "So?"),), sampling)))
    del body["messages"], body["model"]
    return body


@pytest.mark.parametrize("engine", [name for name in ENGINES if name])
def test_an_engine_is_told_to_add_no_rule_of_its_own_to_a_draw(engine: str) -> None:
    said, plain = sent(Sampling(), server=engine), sent(Sampling())
    assert plain.keys() == {"temperature", "max_tokens", "seed"}
    assert plain.items() < said.items()
    assert (said["top_p"], said["min_p"], said["presence_penalty"], said["frequency_penalty"]) == (1.0, 0.0, 0.0, 0.0)
    assert said["top_k"] == (0 if engine == "llama.cpp" else -1), "each has its own number for all tokens"
    assert said["repeat_penalty" if engine == "llama.cpp" else "repetition_penalty"] == 1.0
    assert sent(Sampling(top_p=0.5), server=engine)["top_p"] == 0.5
    assert sent(Sampling(), server=engine, server_rules=True) == plain
    assert fingerprint(ENGINES[engine], server=engine)["sampling_rules"] == "none"
    assert fingerprint(ENGINES[engine], server=engine, server_rules=True)["sampling_rules"] == "the server's"


def test_rules_of_a_server_that_is_not_known_are_not_an_option() -> None:
    with pytest.raises(SpecError, match="without the option server"):
        sent(Sampling(), server_rules=True)


def test_a_statement_that_the_server_contradicts_is_refused() -> None:
    with pytest.raises(SpecError, match="the server says 'fp8'"):
        fingerprint(sglang, server="sglang", quantization="awq")
    assert fingerprint(sglang, server="sglang", quantization="fp8")["quantization"] == "fp8"


def test_without_an_engine_the_fingerprint_is_as_it_was() -> None:
    facts = fingerprint(vllm)
    assert set(facts) == {"provider", "model", "endpoint", "owned_by", "listed_sha256"}
