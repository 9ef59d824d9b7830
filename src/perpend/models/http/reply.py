"""A server's JSON, read without trusting it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from perpend.canon import JSON, as_list, as_object, clean_text, count_or_none
from perpend.types import Usage

_STOP = frozenset({"stop", "end_turn", "stop_sequence", "eos", "eos_token"})
_LENGTH = frozenset({"length", "max_tokens", "max_length", "model_context_window_exceeded"})


class BadReplyError(ValueError):
    """The server said 200 and sent something that is no answer; the text says what."""


class CutOffError(BadReplyError):
    """The reply ended before the answer did: worth another attempt."""


def parse(body: bytes) -> JSON:
    """The JSON value of a body. BadReplyError shows how it begins when it is none."""
    try:
        value: JSON = json.loads(body)
    except (ValueError, RecursionError):
        start = body[:80].decode("utf-8", "replace")
        raise BadReplyError(f"the reply is not JSON; it begins {start!r}") from None
    return value


def as_text(content: JSON) -> str:
    """Message content as text: a string, or the text parts of a list of parts. None and other parts give ''."""
    if isinstance(content, str):
        return clean_text(content)
    parts = (as_object(part) for part in as_list(content))
    texts = (part.get("text") for part in parts if part.get("type") == "text")
    return clean_text("".join(text for text in texts if isinstance(text, str)))


def as_usage(tokens_in: JSON, tokens_out: JSON) -> Usage | None:
    """What the server counted; None when it counted neither."""
    usage = Usage(count_or_none(tokens_in), count_or_none(tokens_out))
    return None if usage.input is None and usage.output is None else usage


def as_finish(reason: JSON) -> str | None:
    """The server's word for why it stopped: 'stop' and 'length' whatever the dialect, other words as they are."""
    if not isinstance(reason, str) or not reason:
        return None
    if reason in _STOP:
        return "stop"
    return "length" if reason in _LENGTH else clean_text(reason)


def complaint(body: bytes) -> tuple[str, str]:
    """The server's own words and code in an error reply, wherever it puts them; else how the reply begins, and ''."""
    start = body[:200].decode("utf-8", "replace")
    try:
        reply = as_object(parse(body))
    except BadReplyError:
        return start, ""
    error = reply.get("error")
    code = as_object(error).get("code")
    for words in (as_object(error).get("message"), error, reply.get("message"), reply.get("detail")):
        if isinstance(words, str) and words:
            return words, str(code)
    return start, str(code)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that the server asks to wait: `Retry-After` as seconds or as a date. None: it asks nothing readable."""
    value = headers.get("Retry-After", "").strip()
    try:
        seconds = float(value)
    except ValueError:
        try:
            then = parsedate_to_datetime(value)
        except ValueError:
            return None
        # A date without a zone ('-0000') is UTC.
        then = then if then.tzinfo else then.replace(tzinfo=UTC)
        seconds = (then - datetime.now(UTC)).total_seconds()
    return None if math.isnan(seconds) else max(0.0, seconds)
