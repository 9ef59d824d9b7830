"""Where the answer stands in a completion that may hold reasoning, and whether there is a finished answer at all."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

# Each regex matches a bounded number of characters from any position, so a scan is linear in the text. They begin with
# a set of characters, which lets the search skip: the look behind for a backtick comes second. A tag right after a
# backtick is talked about, not used. gpt-oss has no closing tag: its final channel ends the analysis.
OPENING = re.compile(
    r"[<\[◁](?<!`.)(?:(?<=<)(?:seed:)?(?:think|thinking|thoughts?|reasoning|scratchpad)\s{0,3}>"
    r"|(?<=<)\|(?:(?:begin_of_thought|start_thinking)\|>|channel\|>\s{0,3}(?:analysis|commentary)\b)"
    r"|(?<=\[)think\]|(?<=◁)think▷)",
    re.IGNORECASE | re.DOTALL,
)
CLOSING = re.compile(
    r"[<\[◁](?<!`.)(?:(?<=<)/(?:seed:)?(?:think|thinking|thoughts?|reasoning|scratchpad)\s{0,3}>"
    r"|(?<=<)\|(?:(?:end_of_thought|end_thinking)\|>|channel\|>\s{0,3}final\b(?:\s{0,3}<\|message\|>)?)"
    r"|(?<=\[)/think\]|(?<=◁)/think▷)",
    re.IGNORECASE | re.DOTALL,
)
STOP_TOKENS = ("<|return|>", "<|end|>", "<|eot_id|>", "<|im_end|>", "<|endoftext|>", "</s>")
"""Special tokens that servers sometimes leave at the end of a text."""
CUT_WORDS = frozenset({"length", "max_tokens", "max_output_tokens", "model_length", "content_filter"})
"""Finish reasons, in lower case, that say that the model was stopped before it had finished."""


@dataclass(frozen=True, slots=True)
class Visible:
    """The part `text[start:end]` that is the answer after reasoning, trimmed of white space and stop tokens.

    `unfinished` says why that part is not a finished answer; None when it is one. An unclosed block leaves it empty.
    """

    start: int
    end: int
    unfinished: str | None


@lru_cache(maxsize=2)
def visible(text: str, finish: str | None) -> Visible:
    """What a reader may take as the answer: everything after the last closing tag, or all when there is none.

    A closing tag needs no opening one (that may stand in the prompt), and closes every block before it. Not finished:
    an opening tag after the last closing one, a finish reason that says 'cut', or nothing left to read. Without a
    finish reason only that structure counts: how a text ends in punctuation proves nothing.

    The last two are kept: the scorers of a response ask one after the other.
    """
    start = 0
    if "<" in text or "[" in text or "◁" in text:
        for tag in CLOSING.finditer(text):
            start = tag.end()
        if OPENING.search(text, start):
            return Visible(len(text), len(text), "a reasoning block is never closed")
    begin, end = _trimmed(text, start)
    if finish is not None and finish.lower() in CUT_WORDS:
        return Visible(begin, end, f"cut off, finish reason {finish!r}")
    if begin == end:
        return Visible(begin, end, "nothing after the reasoning" if start else "empty")
    return Visible(begin, end, None)


def _trimmed(text: str, start: int) -> tuple[int, int]:
    end = max(start, len(text.rstrip()))
    while text.endswith(STOP_TOKENS, start, end):
        end = text.rindex("<", start, end)
        while end > start and text[end - 1].isspace():
            end -= 1
    while start < end and text[start].isspace():
        start += 1
    return start, end
