"""A server's JSON, read without trusting it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from perpend.canon import clean_text
from perpend.types import Usage

_STOP = frozenset({"stop", "end_turn", "stop_sequence", "eos", "eos_token"})
_LENGTH = frozenset({"length", "max_tokens", "max_length", "model_context_window_exceeded"})


class BadReplyError(ValueError):
    """The server said 200 and sent something that is no answer; the text says what."""


class CutOffError(BadReplyError):
    """The reply ended before the answer did: worth another attempt."""


def parse(body: bytes) -> object:
    """The JSON value of a body. BadReplyError shows how it begins when it is none."""
    try:
        value: object = json.loads(body)
    except (ValueError, RecursionError):
        start = body[:80].decode("utf-8", "replace")
        raise BadReplyError(f"the reply is not JSON; it begins {start!r}") from None
    return value


def as_mapping(value: object) -> Mapping[str, object]:
    """The value if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> Sequence[object]:
    """The value if it is a JSON array, else an empty one."""
    return value if isinstance(value, list) else ()


def as_count(value: object) -> int | None:
    """The value if it is a whole number from 0 to 2⁶³ − 1 (what a database holds), else None."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 63:
        return value
    return None


def as_text(content: object) -> str:
    """Message content as text: a string, or the text parts of a list of parts. None and other parts give ''."""
    if isinstance(content, str):
        return clean_text(content)
    parts = (as_mapping(part) for part in as_list(content))
    texts = (part.get("text") for part in parts if part.get("type") == "text")
    return clean_text("".join(text for text in texts if isinstance(text, str)))


def as_usage(tokens_in: object, tokens_out: object) -> Usage | None:
    """What the server counted; None when it counted neither."""
    usage = Usage(as_count(tokens_in), as_count(tokens_out))
    return None if usage.input is None and usage.output is None else usage


def as_finish(reason: object) -> str | None:
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
        reply = as_mapping(parse(body))
    except BadReplyError:
        return start, ""
    error = reply.get("error")
    code = as_mapping(error).get("code")
    for said in (as_mapping(error).get("message"), error, reply.get("message"), reply.get("detail")):
        if isinstance(said, str) and said:
            return said, str(code)
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
