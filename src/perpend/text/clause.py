"""Clauses, sentences, and where in a text a mention is."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final, Literal, TypeAlias

from perpend.text.cues import CUES, PAIR_HEADS, PAIR_SIGNS, vocabulary


def holds(text: str, hints: tuple[str, ...]) -> bool:
    """Whether any of the hints is in the text."""
    for hint in hints:  # noqa: SIM110 - `any(map(text.__contains__, hints))` takes 1.4 times as long
        if hint in text:
            return True
    return False


def blanking(chars: str) -> dict[int, int]:
    """A table for `str.translate` that blanks these characters.

    It names every ASCII character: an absent one raises an error inside, which makes a translation ten times as slow.
    """
    return {code: code for code in range(128)} | dict.fromkeys(map(ord, chars), ord(" "))


BREAKS: Final = vocabulary("; — - : but however yet whereas because so therefore thus hence then until , only")
"""What ends the reach of a denial or of somebody's words; the last two, and 'then', only in some places."""
SUBJECTS: Final = vocabulary("the it it's i i'd i'm my this that that's we you they there actually and which")
"""What begins a new clause after a comma."""
BE: Final = vocabulary("is are was were be it's")
"""After these, 'then' is a time and begins nothing."""
MARKS: Final = " \n\x1c\x1d\x1e\x1f\u1680*\"'),"
"""What may stand between a mention and the word after it; folding leaves no other white space."""
SIGNS: Final = "=:;,—≈"
"""Signs that are words."""
_MARKUP: Final = '*_"()[]{}$\\!?#~'
BLANKED: Final = blanking(_MARKUP)
MARKED: Final = re.compile("[" + re.escape(SIGNS + _MARKUP) + "]")
"""A sign or markup: most of what is split into words has neither, and is known to in a third of the time."""


class Clause:  # one is made for every mention: a frozen dataclass takes four times as long
    """The words of a sentence up to a mention; `near` are those of the last clause, `kinds` its cues, pairs too."""

    __slots__ = ("kinds", "near", "words")

    def __init__(self, words: list[str], near: list[str], kinds: frozenset[str]) -> None:
        self.words, self.near, self.kinds = words, near, kinds


def words(text: str) -> list[str]:
    """The words of a text without its markup; '=', ':', ',' and dashes that stand alone are words too."""
    if MARKED.search(text) is None:
        return text.split()
    text = text.replace("=", " = ").replace(":", " : ").replace(";", " ; ").replace(",", " , ")
    return text.replace("—", " — ").replace("≈", " = ").translate(BLANKED).split()


def clause(before: str) -> Clause:
    """The last clause of what stands before a mention in its sentence. A contraction with n't counts as 'not'."""
    before_words = words(before)
    near = before_words if BREAKS.isdisjoint(before_words) else before_words[_start(before_words) :]
    kinds = CUES.intersection(near)
    if kinds and not PAIR_SIGNS.isdisjoint(kinds):
        kinds = kinds.union([f"{head} {word}" for head, word in pairwise(near) if head in PAIR_HEADS])
    if "n't" in before and any(word.endswith("n't") for word in near):
        kinds |= {"not"}
    return Clause(before_words, near, kinds)


def _start(found: list[str]) -> int:
    """Where the last clause begins."""
    for start in range(len(found), 0, -1):
        if found[start - 1] in BREAKS and _is_end(found, start):
            return start
    return 0


def _is_end(found: list[str], place: int) -> bool:
    """Whether the word before `place` ends a clause: a comma before a new subject, 'only' after 'not', no 'is then'."""
    word = found[place - 1]
    if word == ",":
        return place < len(found) and found[place] in SUBJECTS
    if word == "then":
        return place < 2 or found[place - 2] not in BE
    return word != "only" or (place > 1 and found[place - 2] == "not")


Listing: TypeAlias = Literal["option", "bullet"]
TURN_NAMES: Final = (
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
TURN_ENDS: Final = frozenset(name[-2:] for name in TURN_NAMES)
TURN_TOKENS: Final = ("<|im_start|>", "<|user|>", "<|start_header_id|>", "[inst]")
ECHOES: Final = ("user:", "human:", "question:", "**question", "**user")
OPENS: Final = re.compile(r"(?:\n|[.!?\"'*)\]}]\s?)[ #>*\-]*$")
"""What may stand before a marker: a new line, the end of a sentence, markup. Prose before it makes it a word."""
DETERMINED: Final = re.compile(r"(?:\b(?:the|this|your|that|my|an?|each|first|next|following|dear)|[,:;-]) $")
"""What makes a capitalised marker in a line a noun of its sentence: 'the Question: …'."""
END: Final = re.compile(
    r"[.!?\n](?:(?<=\n)|(?<!\..)"
    r"(?:[\"')\]}*_]++(?!\s(?:is|are|was|were|would|and|or|as|in|for)\b))?(?=\s|\Z))"
)
"""What ends a sentence: a new line, or a mark and what closes with it. Neither the rest of an ellipsis, nor the mark of
a quotation inside a sentence that goes on: 'the answer to "Why?" is …'."""
AHEAD: Final = 8
"""How far beyond the end of a sentence its pattern looks."""
BULLET: Final = re.compile(r" {0,6}(?:(?:#{1,6} \W{0,3})?\d{1,2}[.)]|[-*+]|#{1,6})\s")
OPTION: Final = re.compile(r"(?:^|\n)[ *(]{0,6}[a-h][.):]{1,2}\s")
ABBREVIATIONS: Final = frozenset({"e.g", "i.e", "(e.g", "(i.e", "vs", "etc", "dr", "mr", "mrs", "ms", "st", "approx"})
SHORT: Final = frozenset(word[-2:] for word in ABBREVIATIONS if word[-2:].isalnum())
"""The ends of those that end in two letters. Most words do, and have other ends."""
REACH: Final = 400
"""The farthest that a sentence is read on either side of a place."""


def own_turn(text: str, original: str) -> tuple[int, int]:
    """Where the answer begins and ends: it ends before the first marker of an invented turn.

    `original` is the text before folding: a capital right after a word ('London Passage:') opens a new document. A text
    that begins by repeating the question has its answer after 'Assistant:'.
    """
    start, end = 0, len(text)
    if text.startswith(ECHOES):
        start = text.find("assistant:") + len("assistant:") if "assistant:" in text else 0
    for token in TURN_TOKENS if "<" in text or "[" in text else ():
        place = text.find(token, start + 1, end)
        end = place if place > 0 else end
    colon = text.find(":", start + 2, end)
    while colon >= 0:
        if text[colon - 2 : colon] in TURN_ENDS and text.endswith(TURN_NAMES, 1, colon):
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
    first = text[line : line + 2]
    if first.isalpha():  # neither begins with two letters, and most lines do
        return None
    low, high = line - REACH if line > REACH else 0, line + REACH
    mark = "-"
    if first != "- ":  # the most frequent bullet
        if OPTION.match(text, max(0, line - 1)) and len(OPTION.findall(text[low:high])) > 1:
            return "option"
        bullet = BULLET.match(text, line)
        if bullet is None:
            return None
        if bullet[0].strip(" #*")[:1].isdigit():
            return "bullet"
        mark = bullet[0].lstrip()[0]
    if text.startswith(mark, low):
        return "bullet" if text.find("\n" + mark, low, high) >= 0 else None
    other = text.find("\n" + mark, low, high)
    return "bullet" if other >= 0 and text.find("\n" + mark, other + 1, high) >= 0 else None


def bounds(text: str, start: int, stop: int) -> tuple[int, int]:
    """The sentence that holds `text[start:stop]`, cut at `REACH` on either side."""
    return begin(text, start), _end(text, stop)


def sentence_stop(text: str, place: int) -> int:
    """Where the sentence at a place ends."""
    return _end(text, place)


def begin(text: str, start: int) -> int:
    """Where the sentence begins that holds the place, `REACH` before it at the earliest."""
    first = start - REACH if start > REACH else 0
    first = text.rfind("\n", first, start) + 1 or first  # a new line always ends a sentence
    before = text[first:start]
    while before:
        mark = before.rfind(".")
        if "?" in before or "!" in before:
            mark = max(mark, before.rfind("?"), before.rfind("!"))
        if mark < 0:
            break
        end = END.match(text, first + mark)
        if end is not None and end.end() <= start and not _is_abbreviation(text, first + mark):
            return end.end()
        before = before[:mark]
    return first


def _end(text: str, stop: int) -> int:
    # The point right after a mention ends the sentence even where the mention is an abbreviation.
    if text[stop : stop + 1] in {".", "!", "?", "\n"} and text[stop + 1 : stop + 2].isspace():
        return stop + 1
    last = stop + REACH
    end = END.search(text, stop, last + AHEAD)
    while end is not None and end.end() <= last:
        if not _is_abbreviation(text, end.start()):
            return end.end()
        end = END.search(text, end.start() + 1, last + AHEAD)
    return last if last < len(text) else len(text)


def _is_abbreviation(text: str, place: int) -> bool:
    """Whether the mark at `place` is a point that is part of the word before it: a single letter, but for 'I'."""
    if text[place] != ".":
        return False
    end = text[place - 2 if place > 2 else 0 : place]
    if end.isalnum() and end not in SHORT:
        return False
    before = text[place - 8 if place > 8 else 0 : place]
    word = before[max(before.rfind(" "), before.rfind("\n")) + 1 :]
    if word in ABBREVIATIONS:
        return True
    return word[-1:].isalpha() and (len(word) == 1 or not word[-2].isalnum()) and word != "i"


WINDOW: Final = 240
"""How much of a sentence is read on either side of a mention."""
LINE_LEAD: Final = re.compile(r"[\s*_\"'#>$(\\{\[]*(?:(?:the|an?)\s)?[*_\"']{0,3}")
OPENING: Final = vocabulary(
    "yes sure ok okay certainly of course well right indeed correct absolutely exactly definitely i think believe d s "
    "say would it is that be text textbf boxed the a an agent answer final option choice letter clearly without doubt "
    "no wait hmm actually sorry oh obviously naturally simply , : = b c e f g h"
)
"""Words before an answer that opens a text or is a sentence by itself: 'Yes, it's definitely …', 'Agent F: …'."""
_PAUSES: Final = blanking(".>-'#/")


def line_of(body: str, start: int) -> int:
    """Where the line of a place begins; 0 where it begins farther off than `WINDOW`."""
    return body.rfind("\n", start - WINDOW if start > WINDOW else 0, start) + 1


class Place:
    """A mention that begins at `start` with what stands before and after it in its sentence, which begins at `low`.

    `line` is where its line begins, and `is_last` says that nothing but marks follows the mention: then no rule about
    what follows is asked. What few mentions are asked for is worked out when asked for.
    """

    __slots__ = ("after", "before", "body", "clause", "is_last", "line", "low", "start")

    def __init__(self, body: str, start: int, low: int, before: str, after: str) -> None:
        self.body, self.start, self.low, self.before, self.after = body, start, low, before, after
        self.line = line_of(body, start)
        self.is_last = not after.strip(".!*\n ")
        self.clause = clause(before)

    def listing(self) -> Listing | None:
        """Which list its line is part of."""
        return listing(self.body, self.line)

    def lead(self) -> str:
        """What leads to the mention, over lines."""
        return self.body[self.start - WINDOW if self.start > WINDOW else 0 : self.start]

    def may_open(self) -> bool:
        """Whether it is near enough to the beginning of the text, or of its sentence, to open it."""
        return self.start <= 80 or self.start - self.low <= 40

    def opens(self) -> bool:
        """Whether nothing but an opening stands before it in the text, or in a sentence that it ends."""
        opens = self.start <= 80 and _is_opening(self.body[: self.start])
        if not opens and self.start - self.low <= 40:
            # A text may stop in the middle of a sentence: only a mark makes a fragment a sentence of its own.
            is_fragment = not self.after.strip(" *_\"'.!)\n") and self.after.strip(" ") != ""
            opens = is_fragment and _is_opening(self.before)
        return opens and self.listing() is None

    def is_alone(self) -> bool:
        """Whether nothing else stands in its line; a single lettered option is alone too."""
        is_alone = self.start - self.line <= 8 and OPTION.fullmatch(self.body, max(0, self.line - 1), self.start)
        if not is_alone:
            is_end = len(self.after) < 24 and not self.after.strip(" *_\"'.!$)\\}]°\n")
            is_alone = is_end and LINE_LEAD.fullmatch(self.body, self.line, self.start)
        return bool(is_alone) and self.listing() is None


def locate(body: str, start: int, stop: int) -> Place:
    """The place of the mention `body[start:stop]`."""
    low, before, after = around(body, start, stop)
    return Place(body, start, low, before, after)


def around(body: str, start: int, stop: int) -> tuple[int, str, str]:
    """Where the sentence of the mention begins, and what stands before and after the mention in it."""
    low = begin(body, start)
    return low, body[low:start][-WINDOW:], body[stop : _end(body, stop)][:WINDOW]


def _is_opening(lead: str) -> bool:
    return OPENING.issuperset(words(lead.translate(_PAUSES)))
