"""Where the model's own turn ends, and the sentence around a place. All input is folded."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

Listing: TypeAlias = Literal["option", "bullet"]
TURN_NAMES = (
    "user",
    "user**",
    "human",
    "assistant",
    "assistant**",
    "system",
    "question",
    "question**",
    "passage",
    "article",
    "movie title",
    "movie plot",
    "opening post",
)
"""What opens, before a colon, a turn or a new document that the model invents after its answer."""
TURN_TOKENS = ("<|im_start|>", "<|user|>", "<|start_header_id|>", "[inst]")
ECHOES = ("user:", "human:", "question:", "**question", "**user")
OPENS = re.compile(r"(?:\n|[.!?\"'*)\]}]\s?)[ #>*\-]*$")
"""What may stand before a marker: a new line, the end of a sentence, markup. Prose before it makes it a word."""
DETERMINED = re.compile(r"(?:\b(?:the|this|your|that|my|an?|each|first|next|following|dear)|[,:;-]) $")
"""What makes a capitalised marker in a line a noun of its sentence: 'the Question: …'."""
END = re.compile(
    r"[.!?\n](?:(?<=\n)|(?<!\..)"
    r"(?:[\"')\]}*_]++(?!\s(?:is|are|was|were|would|and|or|as|in|for)\b))?(?=\s|\Z))"
)
"""What ends a sentence: a new line, or a mark and what closes with it. Neither the rest of an ellipsis, nor the mark of
a quotation inside a sentence that goes on: 'the answer to "Why?" is …'."""
AHEAD = 8
"""How far beyond the end of a sentence its pattern looks."""
BULLET = re.compile(r" {0,6}(?:(?:#{1,6} \W{0,3})?\d{1,2}[.)]|[-*+]|#{1,6})\s")
OPTION = re.compile(r"(?:^|\n)[ *(]{0,6}[a-h][.):]{1,2}\s")
ABBREVIATIONS = frozenset({"e.g", "i.e", "(e.g", "(i.e", "vs", "etc", "dr", "mr", "mrs", "ms", "st", "approx"})
SHORT = tuple(word for word in ABBREVIATIONS if word[-2:].isalnum())
REACH = 400
"""The farthest that a sentence is read on either side of a place."""


def own_turn(text: str, original: str) -> tuple[int, int]:
    """Where the answer begins and ends: it ends before the first marker of an invented turn.

    `original` is the text before folding: a capital right after a word ('London Passage:') opens a new document. A text
    that begins by repeating the question has its answer after 'Assistant:'.
    """
    start, end = 0, len(text)
    if text.startswith(ECHOES):
        start = text.find("assistant:") + len("assistant:") if "assistant:" in text else 0
    for token in TURN_TOKENS if "<|" in text or "[inst]" in text else ():
        place = text.find(token, start + 1, end)
        end = place if place > 0 else end
    colon = text.find(":", start + 2, end)
    while colon >= 0:
        if text.endswith(TURN_NAMES, 1, colon):
            place = _turn(text, original, colon)
            if place:
                return start, place
        colon = text.find(":", colon + 1, end)
    return start, end


def _turn(text: str, original: str, colon: int) -> int:
    """Where the marker before a colon begins, if it opens a turn; else 0."""
    name = next(name for name in TURN_NAMES if text.endswith(name, 1, colon))
    place = colon - len(name)
    before = text[max(0, place - 8) : place]
    if place < 8 and not before.strip(" *#>\n"):
        return 0
    capital = len(original) == len(text) and original[place].isupper()
    inline = capital and (before[-1].isalnum() or (before[-1] == " " and DETERMINED.search(before) is None))
    return place if inline or OPENS.search(before) else 0


def listing(text: str, line: int) -> Listing | None:
    """Whether the line that begins at `line` is one of several lettered options ('A) …', 'B) …') or bullets."""
    if text[line : line + 2].isalpha():  # neither begins with two letters, and most lines do
        return None
    near = slice(max(0, line - REACH), line + REACH)
    if OPTION.match(text, max(0, line - 1)) is not None and len(OPTION.findall(text[near])) > 1:
        return "option"
    found = BULLET.match(text, line)
    if found is None:
        return None
    if found[0].strip(" #*")[:1].isdigit():
        return "bullet"
    mark = found[0].lstrip()[0]
    return "bullet" if text[near].count("\n" + mark) + text[near].startswith(mark) > 1 else None


def bounds(text: str, start: int, stop: int) -> tuple[int, int]:
    """The sentence that holds `text[start:stop]`, cut at `REACH` on either side."""
    return _begin(text, start), _end(text, stop)


def _begin(text: str, start: int) -> int:
    first, place = max(0, start - REACH), start
    while place > first:
        place = max(
            text.rfind("\n", first, place),
            text.rfind(".", first, place),
            text.rfind("?", first, place),
            text.rfind("!", first, place),
        )
        if place < 0:
            return first
        found = END.match(text, place)
        if found is not None and found.end() <= start and not _is_abbreviation(text, place):
            return found.end()
    return place


def _end(text: str, stop: int) -> int:
    # The point right after a mention ends the sentence even where the mention is an abbreviation.
    if text[stop : stop + 1] in {".", "!", "?", "\n"} and text[stop + 1 : stop + 2].isspace():
        return stop + 1
    last = min(len(text), stop + REACH)
    found = END.search(text, stop, last + AHEAD)
    while found is not None and found.end() <= last:
        if not _is_abbreviation(text, found.start()):
            return found.end()
        found = END.search(text, found.start() + 1, last + AHEAD)
    return last


def _is_abbreviation(text: str, place: int) -> bool:
    """Whether the mark at `place` is a point that is part of the word before it: a single letter, but for 'I'."""
    if text[place] != ".":
        return False
    before = text[max(0, place - 8) : place]
    if before[-2:].isalnum() and not before.endswith(SHORT):
        return False
    word = before[max(before.rfind(" "), before.rfind("\n")) + 1 :]
    if word in ABBREVIATIONS:
        return True
    return word[-1:].isalpha() and (len(word) == 1 or not word[-2].isalnum()) and word != "i"
