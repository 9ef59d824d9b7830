"""A server's JSON, read without trusting it."""

from __future__ import annotations

import codecs
import json
import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from perpend.canon import JSON, as_list, as_object, clean_text, count_or_none
from perpend.types import Usage

_STOP = frozenset({"stop", "end_turn", "stop_sequence", "eos", "eos_token"})
_LENGTH = frozenset({"length", "max_tokens", "max_length", "model_context_window_exceeded"})
# The server ended the answer, not the model: OpenRouter and Mistral, vLLM and SGLang, DeepSeek, GLM.
_BROKE_OFF = frozenset({"error", "abort", "aborted", "insufficient_system_resource", "network_error"})
_START_BYTES = 1 << 20
_MOST_VALUES = 1_000_000
_STRUCTURE = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[\[{,]', re.DOTALL)
_MOST_TOKENS = 1_000_000_000
"""No request has that many: a count beyond it would stop a run by its cost or its pace."""
_REASON_CHARS = 100
_FACT_CHARS = 200


class BadReplyError(ValueError):
    """The server said 200 and sent something that is no answer; the text says what."""


def parse(body: bytes) -> JSON:
    """The JSON value of a body. BadReplyError shows how it begins when it is none."""
    try:
        text = body.removeprefix(codecs.BOM_UTF8).decode("utf-8")
        if text.count(",") + text.count("[") + text.count("{") > _MOST_VALUES:
            _check_values(text)
        # More than canon's reader takes, such as NaN beside an answer: whoever reads a number looks whether it is one.
        value: JSON = json.loads(text)
    except BadReplyError:
        raise
    except (ValueError, RecursionError):
        raise BadReplyError(f"the reply is not JSON; it begins {start_of(body)}") from None
    return value


def answered(body: bytes) -> JSON:
    """The JSON of a reply to a question. BadReplyError where the server says in it, or in a choice, that it failed.

    Text beside an error is what was there when the server broke off.
    """
    reply = parse(body)
    whole = as_object(reply)
    # Not the stop_reason of a choice: vLLM has the stop string there, which may be any word.
    ends = [(whole, whole.get("stop_reason") or whole.get("done_reason"))]
    ends += [(choice, choice.get("finish_reason")) for choice in map(as_object, as_list(whole.get("choices")))]
    for part, reason in ends:
        if part.get("error") or (isinstance(reason, str) and reason.lower() in _BROKE_OFF):
            raise BadReplyError(f"the server broke off: {_complaint(part)[0] or start_of(body)}")
    return reply


def _check_values(text: str) -> None:
    """A list of empty lists takes thirty times its own length in memory."""
    count = 0
    for match in _STRUCTURE.finditer(text):
        count += match[0] in "[{,"
        if count > _MOST_VALUES:
            raise BadReplyError(f"the reply holds more than {_MOST_VALUES} values")


def start_of(body: bytes) -> str:
    """How a reply begins. Not cut to what can be shown: `Link.scrub` does that, once it has taken keys out."""
    return body[:_START_BYTES].decode("utf-8", "replace")


def as_text(content: JSON) -> str | None:
    """Message content as text: a string, or the parts of a list that are said. None where nothing is said.

    BadReplyError where it is what no protocol has for content.
    """
    if content is None or isinstance(content, str):
        return content and clean_text(content)
    texts: list[str] = []
    for part in content if isinstance(content, list) else [None]:
        match part:
            case {"type": "text", "text": str(text)} | {"type": "refusal", "refusal": str(text)}:
                texts.append(text)
            case {"type": str(kind)} if kind not in {"text", "refusal"}:
                continue  # thinking, or a call of a tool
            case _:
                raise BadReplyError("the reply's content is neither a text nor parts of one")
    return clean_text("".join(texts)) if texts else None


def as_usage(tokens_in: JSON, tokens_out: JSON) -> Usage | None:
    """What the server counted; None when it counted neither."""
    usage = Usage(_tokens(tokens_in), _tokens(tokens_out))
    return None if usage.input is None and usage.output is None else usage


def usage_in(body: bytes) -> Usage | None:
    """What a reply without an answer counts all the same, in any of the protocols; None where it counts nothing."""
    try:
        reply = as_object(parse(body.strip().rpartition(b"\n")[2]))  # the last line of a stream ends it
    except BadReplyError:
        return None
    usage = as_object(reply.get("usage"))
    counts = [
        next((count for name in names if (count := table.get(name)) is not None), None)
        for table, names in (
            (usage, ("prompt_tokens", "input_tokens")),
            (usage, ("completion_tokens", "output_tokens")),
            (reply, ("prompt_eval_count",)),
            (reply, ("eval_count",)),
        )
    ]
    return as_usage(counts[0], counts[1]) or as_usage(counts[2], counts[3])


def _tokens(value: JSON) -> int | None:
    count = count_or_none(value)
    return None if count is None or count > _MOST_TOKENS else count


def as_finish(reason: JSON) -> str | None:
    """The server's word for why it stopped: 'stop' and 'length' whatever the dialect, other words as they are."""
    if not isinstance(reason, str) or not reason:
        return None
    if reason in _STOP:
        return "stop"
    if reason in _LENGTH:
        return "length"
    # Left out, not cut: half of a key that is sent back here could not be recognised any more.
    return clean_text(reason) if len(reason) <= _REASON_CHARS else None


def as_fact(value: JSON) -> str:
    """What a server says of a model, in the one line that a manifest has for it; 'None' where it says nothing."""
    return clean_text(str(value))[:_FACT_CHARS] if isinstance(value, str | int | float | None) else "not a text"


def complaint(body: bytes) -> tuple[str, str]:
    """The server's own words and code in an error reply, wherever it puts them; else how the reply begins, and ''."""
    try:
        reply = as_object(parse(body))
    except BadReplyError:
        return start_of(body), ""
    words, code = _complaint(reply)
    return words or start_of(body), code


def _complaint(reply: Mapping[str, JSON]) -> tuple[str, str]:
    error = reply.get("error")
    code = as_object(error).get("code")
    code = code if isinstance(code, str) else ""
    for words in (as_object(error).get("message"), error, reply.get("message"), reply.get("detail")):
        if isinstance(words, str) and words:
            return words, code
    return "", code


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that the server asks to wait: `Retry-After` as seconds or as a date. None: it asks nothing readable."""
    value = headers.get("Retry-After", "").strip()
    try:
        seconds = float(value)
    except ValueError:
        try:
            then = parsedate_to_datetime(value)
        except (ValueError, OverflowError):  # a zone beyond every clock
            return None
        # A date without a zone ('-0000') is UTC.
        then = then if then.tzinfo else then.replace(tzinfo=UTC)
        seconds = (then - datetime.now(UTC)).total_seconds()
    return None if math.isnan(seconds) else max(0.0, seconds)
