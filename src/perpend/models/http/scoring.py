"""Choices scored by a server: what is sent to it, and how the log-probabilities in its replies are read.

The text before a choice and that text with each choice are sent, as one text each, so that a choice's tokens are those
that the model learned. A choice is scored by its tokens after the longest beginning that all these texts share, token
by token: the same tokens as `ChoiceTokens` has. Only the log-probability of the token that is there counts. Where a
server does not return it, that is an error: nothing is guessed from its list of the likeliest tokens.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeGuard

from perpend.canon import JSON, as_list, as_object, count_or_none
from perpend.errors import ModelError
from perpend.models.base import common_length
from perpend.models.http.link import Link
from perpend.models.http.reply import BadReplyError, as_fact
from perpend.models.http.steps import Step
from perpend.types import ChoiceLogprob

NEEDS = (
    "scoring choices needs a server that returns the log-probabilities of the prompt: vLLM, SGLang or llama-server. "
    "Say which it is by the option server ('vllm', 'sglang' or 'llama.cpp'), or use local/… or hf/…"
)
# What vLLM writes for a probability of 0, and llama.cpp for one that underflows; both stand for no number.
_UNDERFLOW = -9999.0
# No logarithm of a probability is above 0 but by rounding, which is far less than this.
_ABOVE = 1.0
# Far above any logit, so that the token is drawn whatever the model thinks; the reported likelihood is the model's own.
_FORCED = 1e6
_COMPARED = 40


@dataclass(frozen=True, slots=True)
class ScoredPrompt:
    """The tokens of a prompt and the log-probability of each, given those before it; None where it was not asked for.

    A token is its number, or its text where the server shows no number.
    """

    tokens: Sequence[int | str]
    logprobs: Sequence[JSON]


@dataclass(frozen=True, slots=True)
class ServedModel:
    """The model's name at a server, how the server is reached, and how many alternatives per token `echo` asks for."""

    model: str
    link: Link
    logprobs: int = 1


Calls: TypeAlias = Generator[Step, JSON, list[ScoredPrompt]]
"""The calls that score some prompts: each is sent the reply of the one before; the prompts are returned in order."""


def by_echo(served: ServedModel, prompts: Sequence[str]) -> Calls:
    """OpenAI's own way, once: the prompt comes back with its log-probabilities, and nothing is generated."""
    body: dict[str, JSON] = {"model": served.model, "prompt": list(prompts), "echo": True, "temperature": 0.0}
    reply = yield Step(served.link.base + "/completions", {**body, "logprobs": served.logprobs, "max_tokens": 0}, NEEDS)
    replies = _in_order(reply, len(prompts))
    return [_echoed(prompt, as_object(one.get("logprobs"))) for prompt, one in zip(prompts, replies, strict=True)]


def _echoed(prompt: str, logprobs: Mapping[str, JSON]) -> ScoredPrompt:
    tokens, values = as_list(logprobs.get("tokens")), as_list(logprobs.get("token_logprobs"))
    # Nothing comes before a prompt's first token, so its log-probability is null; a generated token always has one.
    if not tokens or len(tokens) != len(values) or values[0] is not None:
        raise ModelError(f"this server returned no log-probabilities of the prompt; {NEEDS}")
    shown = [token for token in tokens if isinstance(token, str)]
    if len(shown) < len(tokens):
        raise BadReplyError("the reply has a token of the prompt that is no text")
    # Blanks are not compared: some servers show tokens without them. A token that is part of a letter spells nothing.
    spelled, wanted = (_letters(text)[-_COMPARED:] for text in ("".join(shown), prompt))
    if "\ufffd" not in spelled and not spelled.endswith(wanted):
        raise BadReplyError(f"the returned tokens do not spell the prompt, which ends with {prompt[-_COMPARED:]!r}")
    return ScoredPrompt(shown, values)


def _letters(text: str) -> str:
    return "".join(text.replace("\u2581", " ").split())  # ▁, by which some tokenizers show a blank


def by_prompt_logprobs(served: ServedModel, prompts: Sequence[str]) -> Calls:
    """vLLM: `prompt_logprobs` 0 returns the prompt's own token at each place and no other."""
    body: dict[str, JSON] = {"model": served.model, "prompt": list(prompts), "temperature": 0.0, "max_tokens": 1}
    reply = yield Step(
        served.link.base + "/completions", {**body, "prompt_logprobs": 0, "return_token_ids": True}, NEEDS
    )
    return [_listed(one) for one in _in_order(reply, len(prompts))]


def _listed(choice: Mapping[str, JSON]) -> ScoredPrompt:
    places, tokens = as_list(choice.get("prompt_logprobs")), as_list(choice.get("prompt_token_ids"))
    if not places or len(places) != len(tokens) or places[0] is not None:
        raise ModelError(f"this server returned no prompt_logprobs with prompt_token_ids, as vLLM does; {NEEDS}")
    numbers = _token_numbers(tokens)
    entries = [as_object(place).get(str(number)) for place, number in zip(places, numbers, strict=True)]
    return ScoredPrompt(numbers, [as_object(entry).get("logprob") for entry in entries])


def by_generate(served: ServedModel, prompts: Sequence[str]) -> Calls:
    """SGLang's own /generate: triples of log-probability, token and text, of all tokens from the first."""
    body: dict[str, JSON] = {"text": list(prompts), "return_logprob": True, "logprob_start_len": 0}
    reply = yield Step(
        served.link.root + "/generate", {**body, "sampling_params": {"temperature": 0, "max_new_tokens": 0}}
    )
    replies = [as_object(as_object(one).get("meta_info")) for one in as_list(reply)]
    if len(replies) != len(prompts):
        raise BadReplyError(f"the reply scores {len(replies)} of {len(prompts)} prompts")
    return [_triples(one) for one in replies]


def _triples(about: Mapping[str, JSON]) -> ScoredPrompt:
    triples = [as_list(triple) for triple in as_list(about.get("input_token_logprobs"))]
    if not triples or any(len(triple) < 2 for triple in triples) or triples[0][0] is not None:
        raise ModelError(f"this server returned no input_token_logprobs, which SGLang does; {NEEDS}")
    counted = about.get("prompt_tokens")
    if counted not in (None, len(triples)):
        raise BadReplyError(f"the reply scores {len(triples)} of {as_fact(counted)} tokens of a prompt")
    return ScoredPrompt(_token_numbers([triple[1] for triple in triples]), [triple[0] for triple in triples])


def _token_numbers(tokens: Sequence[JSON]) -> list[int]:
    numbers = [number for token in tokens if (number := count_or_none(token)) is not None]
    if len(numbers) < len(tokens):
        raise BadReplyError("the reply has a token of the prompt that is no whole number")
    return numbers


def by_forced_tokens(served: ServedModel, prompts: Sequence[str]) -> Calls:
    """llama-server returns no log-probabilities of a prompt, but that of a token which it is made to draw.

    One call for each token that is scored; what choices share is asked once.
    """
    tokens: list[list[int]] = []
    for prompt in prompts:
        reply = yield Step(
            served.link.root + "/tokenize", {"content": prompt, "add_special": True, "parse_special": True}
        )
        tokens.append(_token_numbers(as_list(as_object(reply).get("tokens"))))
        if not tokens[-1]:
            raise ModelError(f"this server shows no tokens at /tokenize, which llama-server does; {NEEDS}")
    shared = min(common_length(tokens[0], one) for one in tokens)
    steps: dict[tuple[int, ...], JSON] = {}
    for one in tokens[1:]:
        for end in range(max(1, shared), len(one)):
            if tuple(one[: end + 1]) not in steps:
                body: dict[str, JSON] = {"prompt": one[:end], "max_tokens": 1, "temperature": 0.0, "n_probs": 1}
                bias: JSON = [[one[end], _FORCED]]
                reply = yield Step(
                    served.link.base + "/completions", {"model": served.model, **body, "logit_bias": bias}
                )
                steps[tuple(one[: end + 1])] = _drawn(reply, one[end])
    return [ScoredPrompt(one, [steps.get(tuple(one[: end + 1])) for end in range(len(one))]) for one in tokens]


def _drawn(reply: JSON, token: int) -> JSON:
    choices = as_list(as_object(reply).get("choices"))
    content = as_list(as_object(as_object(choices[0]).get("logprobs")).get("content")) if choices else []
    drawn = as_object(content[0]) if content else {}
    if drawn.get("id") != token:
        raise ModelError(f"this server does not draw the token that it is told to, which llama-server does; {NEEDS}")
    return drawn.get("logprob")


SCORED_BY: Mapping[str, Callable[[ServedModel, Sequence[str]], Calls]] = {
    "": by_echo,
    "vllm": by_prompt_logprobs,
    "sglang": by_generate,
    "llama.cpp": by_forced_tokens,
}
"""How each serving engine returns the log-probabilities of a prompt."""


def choice_logprobs(choices: Sequence[str], scored: Sequence[ScoredPrompt]) -> tuple[ChoiceLogprob, ...]:
    """The log-likelihood of each choice: of its tokens after the first that one of the texts does not share.

    `scored` is the text before the choices, then that text with each of them. A choice without a token of its own has
    no total. BadReplyError where a token of a choice has no log-probability.
    """
    bare, *whole = scored
    shared = min(common_length(bare.tokens, one.tokens) for one in whole)
    return tuple(_total(choice, one, shared) for choice, one in zip(choices, whole, strict=True))


def _total(choice: str, scored: ScoredPrompt, shared: int) -> ChoiceLogprob:
    values = scored.logprobs[shared:]
    numbers = [value for value in values if _is_number(value) and _UNDERFLOW < value < _ABOVE]
    if len(numbers) < len(values):
        why = "nothing comes before its first token" if not shared else "the server gives no number for it"
        raise BadReplyError(f"a log-probability of the choice {choice[:40]!r} is undefined: {why}")
    return ChoiceLogprob(math.fsum(numbers) if numbers else None, len(numbers))


def _is_number(value: JSON) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _in_order(reply: JSON, count: int) -> list[Mapping[str, JSON]]:
    """The choices of a reply by their index."""
    replies = [as_object(one) for one in as_list(as_object(reply).get("choices"))]
    numbered = [(one.get("index", number), one) for number, one in enumerate(replies)]
    by_index = {index: one for given, one in numbered if (index := count_or_none(given)) is not None}
    if len(replies) != count or set(by_index) != set(range(count)):
        raise BadReplyError(f"the reply scores {len(by_index)} of {count} prompts, in {len(replies)} choices")
    return [by_index[number] for number in range(count)]
