"""What providers share: how messages and choices become text and tokens, and answering one request after another."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import TypeAlias

from perpend.spec.model import Answers, Budget
from perpend.types import ChoiceLogprob, Message, Request, Response

BLANK = "___"
"""Where a choice goes in a message that is a text to complete; without one it follows the message's end."""
Tokens: TypeAlias = tuple[int, ...]


class UnreadableRequestError(ValueError):
    """One request that cannot be put to a model; the message becomes the trial's error."""


def spoken(messages: Sequence[Message]) -> list[dict[str, str]]:
    """The messages as a chat protocol takes them."""
    return [{"role": message.role, "content": message.content} for message in messages]


def plain_text(messages: Sequence[Message]) -> str:
    """The messages' contents with blank lines between, for a model that is not fed a chat."""
    return "\n\n".join(message.content for message in messages)


def in_order(
    requests: Iterator[tuple[int, Request]],
    budget: Budget,
    reply: Callable[[Request], Response],
    *,
    size: int,
    is_free: bool = False,
) -> Iterator[Answers]:
    """Batches of `size` replies until the budget refuses a request; `is_free`: nothing is spent on them."""

    def paid(request: Request) -> Response:
        response = reply(request)
        if not is_free:
            budget.spend(response.usage, is_answer=response.error is None)
        return response

    allowed = takewhile(lambda _: budget.may_send(), requests)
    while batch := [(key, paid(request)) for key, request in islice(allowed, size)]:
        yield batch


def cut_at(text: str, stops: Sequence[str]) -> str | None:
    """The text before the earliest of some stop strings; None where it holds none."""
    cuts = [text.index(stop) for stop in stops if stop in text]
    return text[: min(cuts)] if cuts else None


def likeliest(choices: Sequence[str], scores: Sequence[ChoiceLogprob]) -> str:
    """The choice of the greatest log-likelihood, the first of equals; one without any counts as impossible."""
    totals = [-math.inf if score.total is None else score.total for score in scores]
    return choices[totals.index(max(totals))]


@dataclass(frozen=True, slots=True)
class ChoiceTokens:
    """A prompt (`before`, `bare` as tokens) and the tokens of prompt and choice, of each choice.

    Prompt and choice are read as one text, so that a choice's tokens are those that the model learned. All choices are
    scored after the first `shared` tokens, where one of them first differs from the bare prompt: what comes before is
    the same for all, so their sums compare.
    """

    before: str
    bare: Tokens
    whole: list[Tokens]
    shared: int


def choice_texts(text: str, choices: Sequence[str], *, in_blank: bool, whole_sentence: bool) -> tuple[str, list[str]]:
    """What comes before the choices, and that with each of them: after the text or, with `in_blank`, in its blank.

    `whole_sentence` adds what follows the blank.
    """
    before, _, after = text.partition(BLANK) if in_blank else (text, "", "")
    if BLANK in after:
        raise UnreadableRequestError(f"the message has more than one blank {BLANK!r}")
    rest = after if whole_sentence else ""
    return before, [before + choice + rest for choice in choices]


def choice_tokens(
    text: str, choices: Sequence[str], tokens: Callable[[str], Tokens], *, in_blank: bool, whole_sentence: bool
) -> ChoiceTokens:
    """The tokens of `choice_texts`."""
    before, texts = choice_texts(text, choices, in_blank=in_blank, whole_sentence=whole_sentence)
    bare = tokens(before)
    whole = [tokens(one) for one in texts]
    return ChoiceTokens(before, bare, whole, min(common_length(bare, one) for one in whole))


def common_length(first: Sequence[int | str], second: Sequence[int | str]) -> int:
    """How many tokens two sequences share at their beginning."""
    most = min(len(first), len(second))
    if first[:most] == second[:most]:
        return most
    lo, hi = 0, most  # the slices up to lo are equal, those up to hi are not; slices compare in C
    while hi - lo > 1:
        middle = (lo + hi) // 2
        if first[lo:middle] == second[lo:middle]:
            lo = middle
        else:
            hi = middle
    return lo
