"""Segment: the part of a completion that is its answer: the model's own turn, after reasoning, as far as written."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

from perpend.judging.words import Folded, alternatives, fold, listed, phrases, words_of

NONE: Final = "no answer reached"
EMPTY: Final = "empty"
NOT_ENGLISH: Final = "not English"
CUT_WORDS: Final = frozenset({"length", "max_tokens", "max_output_tokens", "model_length", "content_filter"})
"""Finish reasons, in lower case, that say that the model was stopped before it had finished."""
STOP_TOKENS: Final = phrases("stop_tokens")

# Each regex matches a bounded number of characters from any position, so a scan is linear in the text. They begin with
# a set of characters, which lets the search skip: the look behind for a backtick comes second. A tag right after a
# backtick is talked about, not used. gpt-oss has no closing tag: its final channel ends the analysis.
TAG: Final = re.compile(
    r"[<\[◁](?<!`.)(?:(?<=<)/?(?:seed:)?(?:think|thinking|thoughts?|reasoning|scratchpad)\s{0,3}>|(?<=\[)/?think\]"
    r"|(?<=◁)/?think▷|(?<=<)\|(?:(?:begin_of_thought|start_thinking|(?P<end>end_of_thought|end_thinking))\|>"
    r"|channel\|>\s{0,3}(?:(?:analysis|commentary)\b|(?P<final>final\b(?:\s{0,3}<\|message\|>)?))))",
    re.IGNORECASE | re.DOTALL,
)


def tags(text: str) -> list[tuple[int, int, bool]]:
    """Where reasoning tags begin and end, and whether each opens a block."""
    found = TAG.finditer(text) if "<" in text or "[" in text or "◁" in text else ()
    return [(*tag.span(), tag[0][1] != "/" and not tag["end"] and not tag["final"]) for tag in found]


class Visible(NamedTuple):
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
    found = tags(text)
    start = max((end for _, end, opens in found if not opens), default=0)
    if found and found[-1][2]:
        return Visible(len(text), len(text), "a reasoning block is never closed")
    begin, end = _trimmed(text, start)
    empty = None if begin < end else "nothing after the reasoning" if start else "empty"
    return Visible(begin, end, f"cut off, finish reason {finish!r}" if is_cut(finish) else empty)


def is_cut(finish: str | None) -> bool:
    return finish is not None and finish.lower() in CUT_WORDS


def _trimmed(text: str, start: int) -> tuple[int, int]:
    """Where the text from `start` on begins and ends without white space and without `STOP_TOKENS` at its end."""
    end = max(start, len(text.rstrip()))
    while end > start and text[end - 1] == ">" and text.endswith(STOP_TOKENS, start, end):
        end = text.rindex("<", start, end)
        while end > start and text[end - 1].isspace():
            end -= 1
    while start < end and text[start].isspace():
        start += 1
    return start, end


TURN_TOKENS: Final = phrases("turn_tokens")
ECHOES: Final = phrases("echoes")
_NUMBERED: Final = "|".join(listed("numbered"))
GAP: Final = re.compile(r"\n\s*?\n\s*?\n\s*?\n")
"""Three empty lines or more: a new document begins."""
NEW_TURN: Final = re.compile(
    rf"(?:\n[ *#>_-]*(?:(?:{_NUMBERED}) ?\d+|user ?\d*|agent [a-z]|prior users'?(?: \w+)?|q\d?)"
    rf"|(?:\n|[.!?\"')\]}}])[ *#>_-]{{0,12}}{alternatives('speakers')})[ *]{{0,4}}(?:\([^)\n]{{0,20}}\)[ *]*)?:"
)
"""How a turn, a question or a quiz begins on a new line, or a speaker after a sentence, that the model invents."""
ANNOUNCED: Final = re.compile(r"[\s*#>_-]*(?:question|problem)\b")
INVENTED: Final = re.compile(rf"\W*(?:(?:{_NUMBERED}|q)\W?\d|(?:flashcard|quiz|\[q\])|{alternatives('invented')})")
"""How a question of its own follows the instructions that a model invents."""
FORMAT_WORD: Final = re.compile(rf"\b{alternatives('instructs')}\b|\$answer")
"""What marks a line as an instruction about answering: a prompt that goes on, and no answer."""
TRACE: Final = re.compile(
    r"\W*(?:(?:okay|ok|alright|all right|hmm+)\b[,.!… ]*(?:(?:so|first|now|wait|well)\b[, ]*){0,2}"
    rf"(?:{alternatives('thinks_after_okay')}|\W*\Z)|(?P<sound>hmm|wait)\b)"
)
"""How thinking aloud opens: 'Okay, so the user is asking …', 'Hmm, …'."""
MILD_TRACE: Final = re.compile(rf"\W*(?:(?:first|so|now|well|right)[, ]+){{0,2}}{alternatives('may_think')}")
"""How thinking aloud may open, if more signs of it follow."""
THINKING: Final = re.compile(rf"\b{alternatives('thinking')}\b")
MARKED: Final = re.compile(
    r"^[ *#>_$\\-]*(?:(?:my |the )?(?:final |correct )?(?:answer|verdict|conclusion|response)\b(?: is)?[ *_]*:"
    r"|(?:final answer|answer)[ *_]*(?:\n|$)|-{3,}\s*\n|\*{3}\s*\n)[ *_$]*",
    re.MULTILINE,
)
"""The line that ends thinking aloud without a tag: 'Answer: …', 'Final answer', a rule."""
BOXED: Final = re.compile(r"boxed\s?\{")
PLACEHOLDER: Final = re.compile(
    r"\W{0,9}(?:text\W{0,9})?(?:(?:your|(?:the (?:final )?)?(?:answer|result|number)|functional|x|n)\b|\.\.|\})"
)
"""What stands for an answer in an instruction: 'your answer', '…'."""
IN_FORMAT: Final = re.compile(rf"\b{alternatives('in_format')}")
"""What makes a box in a sentence an example of the format."""
CONCLUDES: Final = re.compile(rf"\b{alternatives('concludes')}\b")
"""What makes the last sentence of finished thinking its conclusion."""
CLOSED: Final = re.compile(r"[.!?][\"')\]*_$}`]*\s*\Z|\}\$*\s*\Z")
"""How a text ends that was not stopped in mid-sentence."""


class Answered(NamedTuple):
    """The answer of a completion, from `start` on: as it is, and folded. `missing` says why there is none; `cut`: the
    model was stopped inside it."""

    start: int
    own: str
    folded: Folded
    missing: str | None
    cut: bool


@lru_cache(maxsize=2)
def answered(text: str, finish: str | None) -> Answered:
    """The answer segment of a completion, folded once for all scorers.

    1. Reasoning in tags is passed over; what opens a tag after an invented turn belongs to that turn. 2. Lines that
    only continue the prompt's instructions are passed over. 3. The turn ends before an invented turn, question or
    document. 4. A turn that thinks aloud without tags answers from its last answer line or box on; without one, in its
    last paragraph if it is known to be finished and that thinks no more, or in its last sentence if that concludes;
    else it reached no answer. 5. The last <answer> block is the answer.

    The last two are kept: the scorers of a response ask one after the other.
    """
    start, is_open = _after_blocks(text)
    start, end = _trimmed(text, len(text) if is_open else start)
    after = text[start:end]
    folded = fold(after)
    body, goes_on = folded.text, after[:1].islower() and not text[:start].strip()
    first, last = _own_turn(body, finish, _after_instructions(body) if goes_on else 0)
    cut = is_cut(finish) and last == len(body)
    block = _answer_block(body, *((first, last) if first < last else (0, len(body))), cut=cut)
    if block is not None:
        (first, last), cut = block, False
    elif first >= last:
        return Answered(start, "", Folded(""), NONE if text.strip() else EMPTY, cut)
    low, high = folded.span(first, last)
    own = after[low:high]
    is_whole = folded.offsets is None and len(own) == len(after)
    return Answered(start + low, own, folded if is_whole else fold(own), None, cut)


def complete(part: Answered) -> Answered:
    """An answer that was cut, up to its last whole sentence; without one none was reached."""
    ends = [found.end() for found in SENTENCE_END.finditer(part.folded.text)]
    if not ends:
        return part._replace(missing=NONE)
    _, last = part.folded.span(0, ends[-1])
    own = part.own[:last]
    return part._replace(own=own, folded=fold(own))


SENTENCE_END: Final = re.compile(r"[.!?][\"')\]}*_]*(?=\s|\Z)|\n")


def _own_turn(body: str, finish: str | None, begin: int) -> tuple[int, int]:
    """Where the model's own answer is in a text after its reasoning blocks, and after the instructions of a prompt that
    goes on until `begin`; nowhere if it has none."""
    first, last = _turn(body, begin)
    if begin and (INVENTED.match(body, begin) or body[first:last].rstrip(" *_\n").endswith("?")):
        return begin, begin
    if _thinks(body, first, last):
        first = _concluded(body, first, last, finish)
    return first, first + len(body[first:last].rstrip())


def _after_blocks(text: str) -> tuple[int, bool]:
    """Where the text goes on after its reasoning blocks, and whether one is left open.

    A closing tag needs no opening one (that may stand in the prompt), and closes every block before it. A tag that
    comes after an invented turn belongs to that turn.
    """
    start, is_open = 0, False
    for low, end, opens in tags(text):
        before = fold(text[start:low]).text.rstrip() if not is_open and (start or opens) else ""
        if before and _turn(before + " ", 0)[1] < len(before):
            return start, False
        start, is_open = (start, True) if opens else (end, False)
    return start, is_open


def _after_instructions(body: str) -> int:
    """Where a prompt that goes on, as the text begins in mid-sentence, stops: after the first line, if it instructs,
    and those like it. A repeated question in it is passed over too."""
    place = 0
    for line in body.splitlines(keepends=True):
        is_empty = place and not line.strip(" $*\n")
        if not is_empty and (FORMAT_WORD.search(line) is None or (place and TRACE.match(line))):
            break
        place += len(line)
    return place


def _turn(body: str, first: int) -> tuple[int, int]:
    """Where the model's turn begins and ends: before an invented turn, question or document.

    A text that begins by repeating the question has its answer after 'Assistant:'. A question that the text itself
    announces is still its own.
    """
    if body.startswith(ECHOES, first) and (place := body.find("assistant:", first)) >= 0:
        first = place + len("assistant:")
    end = len(body)
    for token in TURN_TOKENS if "<" in body or "[" in body else ():
        place = body.find(token, first + 1, end)
        end = place if place > 0 else end
    if gap := GAP.search(body, first + 1, end):
        end = gap.start()
    for turn in NEW_TURN.finditer(body, first + 1, end):
        before = body[first : turn.start() + 1].rstrip(" *#>_\n-")
        if before and not (before[-1] == ":" and ANNOUNCED.match(body, turn.start())):
            return first, turn.start() + (body[turn.start()] != "\n")
    return first, end


def _thinks(body: str, first: int, last: int) -> bool:
    """Whether the turn thinks aloud: it opens so, and shows another sign of it or stops in mid-sentence."""
    opening = TRACE.match(body, first, last)
    if opening is not None:
        start = opening.end() if opening["sound"] else first
        return THINKING.search(body, start, last) is not None or not CLOSED.search(body, max(first, last - 40), last)
    return MILD_TRACE.match(body, first, last) is not None and len(THINKING.findall(body, first, last)) > 1


def _concluded(body: str, first: int, last: int, finish: str | None) -> int:
    """Where thinking aloud turns into an answer; the end where it does not."""
    filled = len(body[:last].rstrip(" *_$\n"))
    starts = [(mark.start(), mark.end()) for mark in MARKED.finditer(body, first, last) if mark.end() < filled]
    boxes = [(_sentence(body, box.start()), box) for box in BOXED.finditer(body, first, last)]
    starts += [(low, box.end()) for low, box in boxes if not IN_FORMAT.search(body, low, box.start())]
    starts = [(low, end) for low, end in starts if not PLACEHOLDER.match(body, end)]
    if starts:
        return max(first, *(low for low, _ in starts))
    is_closed = CLOSED.search(body, max(first, last - 40), last) is not None
    paragraph, low = body.rfind("\n\n", first, last) + 1, max(first, _sentence(body, last - 1))
    if not is_closed or (is_cut(finish) and last == len(body)):
        return last
    if finish is not None and paragraph > first and not THINKING.search(body, paragraph, last):
        return paragraph
    return low if CONCLUDES.search(body, low, last) else last


def _sentence(text: str, place: int) -> int:
    """Where the sentence begins that holds a place, not more than 400 characters before it."""
    low = max(0, place - 400)
    ends = [(text.rfind(end, low, place), len(end)) for end in (". ", "! ", "? ", "\n")]
    return max([low, *(at + size for at, size in ends if at >= 0)])


ANSWER_BLOCK: Final = re.compile(
    r"(?<!`)<(?P<tag>(?:final[_ ]?)?answer)>(?P<content>[^<]{1,4000}(?:<(?!/?(?:final[_ ]?)?answer>)[^<]{0,400}){0,20})"
    r"(?:</(?P=tag)>|(?P<open>\Z))"
)
YOUR_ANSWER: Final = re.compile(r"\W*(?:(?:put |insert )?(?:your|the) )?(?:final )?(?:answer)?(?: here)?\W*")
"""What stands for an answer in a block that is only a form."""


def _answer_block(body: str, start: int, end: int, *, cut: bool) -> tuple[int, int] | None:
    """The content of the last <answer> block; a block that nothing closes reaches to the end, unless it was cut."""
    blocks = [*ANSWER_BLOCK.finditer(body, start, end)] if "answer>" in body else []
    filled = [one for one in blocks if not YOUR_ANSWER.fullmatch(one["content"]) and (one["open"] is None or not cut)]
    return _trimmed(body[: filled[-1].end("content")], filled[-1].start("content")) if filled else None


WORD: Final = re.compile(r"[^\W\d_]+(?:'[a-z]+)?")
ENGLISH: Final = words_of("english")
FOREIGN: Final = words_of("foreign")
LOOKED_AT: Final = 600
"""How many characters are looked at: the beginning shows the language."""


def is_english(folded: str) -> bool:
    """Whether a folded text may be read as English: most of its letters are Latin, and it does not have more function
    words of another language than English ones."""
    head = folded[:LOOKED_AT]
    letters = [] if head.isascii() else [char for char in head if char.isalpha()]
    if len(letters) > 3 and sum(char > "\u024f" for char in letters) > len(letters) / 2:
        return False
    words = WORD.findall(head)
    foreign = sum(word in FOREIGN for word in words)
    return len(words) < 3 or foreign < 2 or foreign <= sum(word in ENGLISH for word in words)
