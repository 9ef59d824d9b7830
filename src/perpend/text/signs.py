"""Signs that decorate an answer: pictographs, arrows and answer tags, made plain for the rules of version 4."""

from __future__ import annotations

import re
from typing import Final

from perpend.text.clause import holds

_JOINERS: Final = "\ufe0f\u200d\U0001f3fb-\U0001f3ff"
PICTOGRAPHS: Final = re.compile(
    "(?:[\u2600-\u26d3\u26d5-\u2714\u2719-\u274b\u274d\u274f-\u2752\u2755-\u2793\u2b1b-\u2b1c\u2b50\u2b55"
    "\U0001f000-\U0001f44d\U0001f44f-\U0001f6aa\U0001f6ac-\U0001f913\U0001f915-\U0001f936\U0001f938-\U0001faff]"
    f"[{_JOINERS}]{{0,4}})+"
)
"""Pictographs, with what joins or colours them. Not those that deny or doubt what they stand beside: crosses, stops, a
thumb down, a shrug, question marks; nor signs of arithmetic."""
FREQUENT: Final = (
    "\u2019\u2018\u201c\u201d\u2013\u2014\u2011\u2026\u2022\u00a0\u202f\u00b0\u00b2\u00b3\u00d7\u00e9\u2192\u2248"
)
"""Characters that fill texts and are no pictographs."""
POINTING: Final = re.compile(
    r"\b(?:answer|conclusion|result|verdict|solution|choice)[ \t*_]{0,6}(?P<arrow>[→⇒⟶⟹➔➜➞➡]\ufe0f?|[=-]>)",
    re.IGNORECASE,
)
"""An arrow that announces an answer."""
LINE_ARROW: Final = re.compile(r"^[ \t*_>]{0,6}(?P<arrow>[→⇒⟶⟹➔➜➞➡]\ufe0f?|[=-]>)(?=[ \t])", re.MULTILINE)
"""An arrow that opens a line."""
ARROWS: Final = ("→", "⇒", "⟶", "⟹", "➔", "➜", "➞", "➡", "->", "=>")
ANSWER_BLOCK: Final = re.compile(
    r"(?<!`)<(?P<tag>(?:final[_ ]?)?answer)>(?P<content>[^<]{1,4000}(?:<(?!/?(?:final[_ ]?)?answer>)[^<]{0,400}){0,20})"
    r"(?:</(?P=tag)>|(?P<open>\Z))",
    re.IGNORECASE,
)
PLACEHOLDER: Final = re.compile(
    r"\W*(?:(?:put |insert )?(?:your|the) (?:final )?answer(?: here)?|answer)?\W*", re.IGNORECASE
)
"""What stands for an answer in an instruction."""


def plain_signs(text: str) -> str:
    """The text, of the same length: pictographs are blanks, and an arrow after 'answer' and the like is a colon.

    An arrow that opens a line is a blank; all others stay, as they may be part of a formula.
    """
    if not text.isascii():
        if not _without_frequent(text).isascii():
            text = PICTOGRAPHS.sub(_blank, text)
        is_pointing = holds(text, ARROWS)
    else:
        is_pointing = ">" in text and ("->" in text or "=>" in text)
    return LINE_ARROW.sub(_without, POINTING.sub(_colon, text)) if is_pointing else text


def answer_block(text: str, start: int, end: int, *, is_cut: bool) -> tuple[int, int] | None:
    """The content of the last <answer> block between two places; None where there is none, or only a placeholder.

    A block that nothing closes reaches to the end, unless the model was stopped in it.
    """
    if "<" not in text or (text.find("nswer>", start, end) < 0 and text.find("NSWER>", start, end) < 0):
        return None
    content: tuple[int, int] | None = None
    for block in ANSWER_BLOCK.finditer(text, start, end):
        if PLACEHOLDER.fullmatch(block["content"]) is None and not (is_cut and block["open"] is not None):
            low, high = block.span("content")
            inner = text[low:high]
            content = low + len(inner) - len(inner.lstrip()), high - len(inner) + len(inner.rstrip())
    return content


def _without_frequent(text: str) -> str:
    """The text without the characters that fill texts and are no pictographs: most have no others."""
    for char in FREQUENT:
        if char in text:
            text = text.replace(char, "")
    return text


def _blank(found: re.Match[str]) -> str:
    return " " * len(found[0])


def _colon(found: re.Match[str]) -> str:
    head = found[0][: found.start("arrow") - found.start()]
    return head + ":".ljust(len(found["arrow"]))


def _without(found: re.Match[str]) -> str:
    head = found[0][: found.start("arrow") - found.start()]
    return head + " " * len(found["arrow"])
