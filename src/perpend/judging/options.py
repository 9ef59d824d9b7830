"""Options: which of an item's choices a model prefers by its likelihoods, and which one a judge says.

Both are version 1. Nothing of how an answer is read elsewhere acts here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from perpend.judging.segment import visible
from perpend.types import Item, Response, Score


class Preference(NamedTuple):
    """The likeliest of an item's choices and its share of the softmax over them. `choice` None: `reason` says why."""

    choice: str | None
    share: float | None
    reason: str


def prefer(item: Item, response: Response, *, per_token: bool) -> Preference:
    """The choice with the greatest log-likelihood: its mean over the tokens, or its raw sum.

    Undefined for an error, without one likelihood per choice, when the tokenizer cannot represent a choice, when no
    choice is possible at all, and for a tie: which of the tied comes first in the item says nothing about the model.
    """
    logprobs, missing = response.choice_logprobs or (), ""
    if response.text is None:
        missing = f"error: {response.error}"
    elif response.choice_logprobs is None:
        missing = "no likelihoods in the response"
    elif not item.choices or len(logprobs) != len(item.choices):
        missing = f"{len(logprobs)} likelihoods for {len(item.choices)} choices"
    if missing:
        return Preference(None, None, missing)
    scores: list[float] = []
    for choice, logprob in zip(item.choices, logprobs, strict=True):
        total, tokens = logprob.total, logprob.tokens
        if total is None or tokens < 1:
            return Preference(None, None, f"model_oov: the tokenizer cannot represent {choice!r}")
        if math.isnan(total) or total == math.inf:
            return Preference(None, None, f"the log-likelihood of {choice!r} is {total}")
        scores.append(total / tokens if per_token else total)
    top = max(scores)
    if top == -math.inf:
        return Preference(None, None, "every choice has likelihood 0")
    likeliest = [choice for choice, score in zip(item.choices, scores, strict=True) if score == top]
    if len(likeliest) > 1:
        return Preference(None, None, "tie: " + ", ".join(repr(choice) for choice in likeliest))
    # Shifted by the greatest, no term overflows and the sum is at least 1.
    share = 1.0 / math.fsum(math.exp(score - top) for score in scores)
    return Preference(likeliest[0], share, "log-likelihood per token" if per_token else "summed log-likelihood")


def chosen(*, per_token: bool) -> Callable[[Item, Response], Score]:
    """The scorer that is 1 when the likeliest choice is the target, 0 when it is another.

    By the mean log-likelihood of a choice's tokens length is no handicap; by the sum, the probability of the whole
    choice, short ones are favoured. None without a preference, and for a target that is not offered.
    """

    def judge(item: Item, response: Response) -> Score:
        preference = prefer(item, response, per_token=per_token)
        if preference.choice is None:
            return Score(None, None, preference.reason)
        if item.target not in item.choices:
            lacks = "no target" if item.target is None else f"target {item.target!r} is not among the choices"
            return Score(None, preference.choice, f"{lacks}; {preference.reason}")
        return Score(float(preference.choice == item.target), preference.choice, preference.reason)

    return judge


def share(*, per_token: bool) -> Callable[[Item, Response], Score]:
    """The scorer that is the likeliest choice's share of the softmax over all: between 1/choices and 1, or None."""

    def judge(item: Item, response: Response) -> Score:
        preference = prefer(item, response, per_token=per_token)
        return Score(preference.share, preference.choice, preference.reason)

    return judge


_NOISE = "*_`'\"“”‘’.,:;!()[]<> \t\\"
_LEAD = re.compile(
    r"^\W{0,9}(?:(?:my|the|final)\s{1,3}){0,3}(?:verdict|answer|judge?ment|option)\s{0,3}(?:is\b|[:=-]){1,3}\s{0,3}",
    re.IGNORECASE,
)
_FIRST = re.compile(r"[*_`'\"“‘(\[<\s]*([A-Za-z][A-Za-z0-9_]*)[*_`'\"”’)\]>]*(?:\s*(?:[.,:;!\n–—]|-\s)|\s*$)")


def verdict(item: Item, response: Response) -> Score:
    """The verdict of a judge: which of the options it says, and the value that the item's tag `values` gives it.

    By likelihoods where the response has them; else by the text: the first or the last line decides. A line is a
    verdict when it is one of the options and nothing else, or says 'verdict: …'; the first line also when it begins
    with one and a stop. Only the judge's own words count: what it repeats of the quoted answer, between the two lines
    with the item's `fence`, is cut out first. None where there is no verdict, where first and last differ, and for an
    option that decides nothing; the option is kept as the answer.
    """
    if response.text is None:
        return Score(None, None, f"error: {response.error}")
    values = _values(item.tags.get("values", ""))
    if response.choice_logprobs is not None:
        preference = prefer(item, response, per_token=False)
        return _scored(preference.choice, values, preference.reason)
    part = visible(response.text, response.finish)
    own = _own_words(response.text[part.start : part.end], item.tags.get("fence", ""))
    lines = [line for line in own.split("\n") if line.strip()]
    if not lines:
        return Score(None, None, part.unfinished or "no words of its own")
    first, last = _of_line(lines[0], values) or _leading(lines[0], values), _of_line(lines[-1], values)
    if first is not None and last is not None and first != last:
        return Score(None, None, f"two verdicts: {first!r} first, {last!r} last")
    option = last or first
    if option is None:
        return Score(None, None, part.unfinished or "no verdict: neither the first nor the last line is an option")
    return _scored(option, values, "last line" if last is not None else "first word")


def _scored(option: str | None, values: Mapping[str, float | None], reason: str) -> Score:
    if option is None or option not in values:
        return Score(None, option, reason)
    value = values[option]
    return Score(value, option, reason if value is not None else f"{option}: decides nothing; {reason}")


def _values(tag: str) -> dict[str, float | None]:
    """'yes=1,no=0,undecidable=' as a mapping; None where no value is given."""
    pairs = [entry.partition("=") for entry in tag.split(",") if entry]
    return {name: {"1": 1.0, "0": 0.0}.get(value) for name, _, value in pairs}


def _own_words(text: str, fence: str) -> str:
    """The text without what it repeats of the quoted answer, and without lines that are quoted as that was."""
    if fence and fence in text:
        pieces = text.split(fence)
        # A fence opens, the next one closes; what an unclosed one holds is the quotation's to the end.
        text = "\n".join(pieces[::2]) if len(pieces) % 2 else "\n".join(pieces[:-1:2])
    return "\n".join(line for line in text.split("\n") if not line.startswith(("| ", "BEGIN ANSWER", "END ANSWER")))


def _of_line(line: str, values: Mapping[str, float | None]) -> str | None:
    """The option that a line is, alone or after 'verdict:'."""
    word = _LEAD.sub("", line.strip()).strip(_NOISE).lower()
    return word if word in values else None


def _leading(line: str, values: Mapping[str, float | None]) -> str | None:
    """The option that a line begins with, where a stop, a comma or a dash follows: 'Yes, because it says so.'"""
    match = _FIRST.match(line.strip() + "\n")
    return match[1].lower() if match is not None and match[1].lower() in values else None
