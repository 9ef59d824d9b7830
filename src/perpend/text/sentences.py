"""Where the model's own turn ends, and the sentence around a place. All input is folded."""

from __future__ import annotations

import re

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
STOP = re.compile(r"[.!?\n]")
CLOSERS = "\"')]}*_"
BULLET = re.compile(r" {0,6}(?:(?:#{1,6} \W{0,3})?\d{1,2}[.)]|[-*+]|#{1,6})\s")
OPTION = re.compile(r"(?:^|\n)[ *(]{0,6}[a-h][.):]{1,2}\s")
GOES_ON = re.compile(r"(?:is|are|was|were|would|and|or|as|in|for)\b")
"""What may follow a quotation that ends like a sentence inside one: 'the answer to "Why?" is …'."""
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


def is_bulleted(text: str, line: int) -> bool:
    """Whether the line that begins at `line` is one of several bullets."""
    found = BULLET.match(text, line)
    if found is None:
        return False
    mark = found[0].strip(" #*")
    if mark[:1].isdigit():
        return True
    near = text[max(0, line - REACH) : line + REACH]
    mark = found[0].lstrip()[0]
    return near.count("\n" + mark) + near.startswith(mark) > 1


def is_option(text: str, line: int) -> bool:
    """Whether the line that begins at `line` is one of several lettered options: 'A) …', 'B) …'."""
    if OPTION.match(text, max(0, line - 1)) is None:
        return False
    return len(OPTION.findall(text[max(0, line - REACH) : line + REACH])) > 1


def bounds(text: str, start: int, stop: int) -> tuple[int, int]:
    """The sentence that holds `text[start:stop]`, cut at `REACH` on either side."""
    first, place = max(0, start - REACH), start
    while place > first:
        place = max(
            text.rfind("\n", first, place),
            text.rfind(".", first, place),
            text.rfind("?", first, place),
            text.rfind("!", first, place),
        )
        if place < 0:
            place = first
            break
        if after := _ends(text, place, start):
            place = after
            break
    last = min(len(text), stop + REACH)
    for found in STOP.finditer(text, stop, last):
        after = _ends(text, found.start(), last)
        # The point right after a mention ends the sentence even where the mention is an abbreviation.
        if after or (found.start() == stop and text[stop + 1 : stop + 2].isspace()):
            return place, after or stop + 1
    return place, last


def _ends(text: str, place: int, limit: int) -> int:
    """Where the sentence that the mark at `place` ends is over; 0 when the mark ends none."""
    if text[place] == "\n":
        return place + 1
    if text[place - 1 : place] == ".":
        return 0
    after = place + 1
    while after < limit and text[after] in CLOSERS:
        after += 1
    if after < len(text) and not text[after].isspace():
        return 0
    if after > place + 1 and GOES_ON.match(text, after + 1):
        return 0
    if text[place] == "." and _is_abbreviation(text[max(0, place - 8) : place]):
        return 0
    return after


def _is_abbreviation(before: str) -> bool:
    """Whether a point after these characters is part of the word. A single letter is one, but for 'I'."""
    if before[-2:].isalnum() and not before.endswith(SHORT):
        return False
    word = before[max(before.rfind(" "), before.rfind("\n")) + 1 :]
    if word in ABBREVIATIONS:
        return True
    return word[-1:].isalpha() and (len(word) == 1 or not word[-2].isalnum()) and word != "i"
