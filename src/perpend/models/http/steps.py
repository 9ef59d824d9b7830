"""An answer that takes several calls, or another route than a provider's own."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from perpend.canon import JSON, as_list, as_object
from perpend.models.http.reply import as_usage
from perpend.types import Response, Usage


class Step(NamedTuple):
    """One call: POST `body` as JSON to `url`. `advice` is what to do about a server that refuses it."""

    url: str
    body: Mapping[str, JSON]
    advice: str = ""


Steps: TypeAlias = Generator[Step, JSON, Response]
"""The calls that one answer takes: each is sent the reply to the one before, the last returns the answer."""


def counted(reply: JSON) -> Usage | None:
    """Tokens that a reply says were read and written; 0 of one that only shows tokens, None where it says nothing."""
    if "tokens" in as_object(reply):
        return Usage(0, 0)
    about = [as_object(as_object(one).get("meta_info")) for one in as_list(reply)]
    sums = [_sum([one.get(name) for one in about]) for name in ("prompt_tokens", "completion_tokens")]
    usage = as_object(as_object(reply).get("usage"))
    return as_usage(*sums) or as_usage(usage.get("prompt_tokens"), usage.get("completion_tokens"))


def together(usages: Sequence[Usage | None], prompt_sha256: str | None) -> Usage:
    """The sums over all calls of an answer; None where one of them was not counted."""
    return Usage(
        _sum([usage.input if usage else None for usage in usages]),
        _sum([usage.output if usage else None for usage in usages]),
        prompt_sha256,
    )


def _sum(counts: Sequence[JSON]) -> int | None:
    numbers = [count for count in counts if isinstance(count, int)]
    return sum(numbers) if numbers and len(numbers) == len(counts) else None
