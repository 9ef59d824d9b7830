"""Whether the choice that a model finds likeliest is the target, by log-likelihood per token: length is no handicap."""

from __future__ import annotations

import math
from dataclasses import dataclass

from perpend.types import Item, Response, Score, Scorer


@dataclass(frozen=True, slots=True)
class Preference:
    """The likeliest of an item's choices and its share of the softmax over them. `choice` None: `reason` says why."""

    choice: str | None
    share: float | None
    reason: str


def prefer(item: Item, response: Response, *, per_token: bool) -> Preference:
    """The choice with the greatest log-likelihood: its mean over the tokens, or its raw sum.

    Undefined for an error, without one likelihood per choice, when the tokenizer cannot represent a choice, when no
    choice is possible at all, and for a tie: which of the tied comes first in the item says nothing about the model.
    """
    missing = _missing(item, response)
    if missing is not None:
        return Preference(None, None, missing)
    scores = [
        logprob.total / (logprob.tokens if per_token else 1)
        for logprob in response.choice_logprobs or ()
        if logprob.total is not None
    ]
    top = max(scores)
    if top == -math.inf:
        return Preference(None, None, "every choice has likelihood 0")
    likeliest = [choice for choice, score in zip(item.choices, scores, strict=True) if score == top]
    if len(likeliest) > 1:
        return Preference(None, None, "tie: " + ", ".join(repr(choice) for choice in likeliest))
    # Shifted by the greatest, no term overflows and the sum is at least 1.
    share = 1.0 / math.fsum(math.exp(score - top) for score in scores)
    return Preference(likeliest[0], share, "log-likelihood per token" if per_token else "summed log-likelihood")


def _missing(item: Item, response: Response) -> str | None:
    if response.text is None:
        return f"error: {response.error}"
    logprobs = response.choice_logprobs
    if logprobs is None:
        return "no likelihoods in the response"
    if not item.choices or len(logprobs) != len(item.choices):
        return f"{len(logprobs)} likelihoods for {len(item.choices)} choices"
    for choice, logprob in zip(item.choices, logprobs, strict=True):
        if logprob.total is None or logprob.tokens < 1:
            return f"model_oov: the tokenizer cannot represent {choice!r}"
        if math.isnan(logprob.total) or logprob.total == math.inf:
            return f"the log-likelihood of {choice!r} is {logprob.total}"
    return None


def against_target(item: Item, preference: Preference) -> Score:
    """1 when the preferred choice is the target, 0 when it is another. None without either, or a target not offered."""
    if preference.choice is None:
        return Score(None, None, preference.reason)
    if item.target is None:
        return Score(None, preference.choice, f"no target; {preference.reason}")
    if item.target not in item.choices:
        return Score(None, preference.choice, f"target {item.target!r} is not among the choices; {preference.reason}")
    return Score(float(preference.choice == item.target), preference.choice, preference.reason)


def judge(item: Item, response: Response) -> Score:
    """Version 1: by the mean log-likelihood of a choice's tokens."""
    return against_target(item, prefer(item, response, per_token=True))


VERSIONS = (Scorer("choice", "1", judge),)
