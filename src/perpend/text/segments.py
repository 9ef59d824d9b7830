"""Which part of a completion is its answer: the model's own turn, after its reasoning, as far as it was written."""

from __future__ import annotations

import re
from collections import deque
from functools import lru_cache
from typing import Final, NamedTuple

from perpend.text.clause import bounds, holds, own_turn
from perpend.text.language import NOT_ENGLISH, is_english
from perpend.text.match import Folded, fold
from perpend.text.reasoning import CLOSING, CUT_WORDS, OPENING, first_sign, trimmed, visible
from perpend.text.signs import answer_block, plain_signs

NONE: Final = "no answer reached"
EMPTY: Final = "empty"
GAP: Final = re.compile(r"\n\s*?\n\s*?\n\s*?\n")
"""Three empty lines or more: a new document begins."""
GAP_LINES: Final = 4
"""How many ends of lines are in every gap."""
_QUIZ: Final = r"question|quiz|flashcard"
NEW_TURN: Final = re.compile(
    rf"\n[ *#>_-]*(?:(?:{_QUIZ}|problem|exercise|claim|scenario) ?\d+|{_QUIZ}|user ?\d*|human|student"
    rf"|teacher|system message|agent [a-z]"
    r"|prior users'?(?: \w+)?|q\d?)[ *]*(?:\([^)\n]{0,20}\)[ *]*)?:"
)
NEW_QUESTION: Final = re.compile(r" q(?<=[.!?] q)\d?:")
"""How a turn, a question or a quiz begins that the model invents after its answer: on a new line, or after a sentence.
Two patterns, as each begins with a literal: their search takes a tenth of the time of one with both."""
ANNOUNCED: Final = re.compile(r"[\s*#>_-]*(?:question|problem)\b")
INVENTED: Final = re.compile(
    rf"\W*(?:(?:{_QUIZ}|problem|exercise|example|task|q)\W?\d|(?:flashcard|quiz)\b|\[q\])|in this task\b|here is (?:the"
    rf"|a) (?:question|problem)"
)
"""How a question of its own follows the instructions that a model invents."""
FORMAT_WORD: Final = re.compile(
    r"\b(?:format(?:s|ted)?|tags?|latex|texttt|step[- ]by[- ]step|please|do not|don't|you (?:must|should|are|may|can)"
    r"|your (?:answer|response|reply|output|final|thinking|mind|own)|must|make sure|ensure"
    r"|no (?:other|outputs?|results)|not required|means that|for example|say (?:you|that)|remember to|avoid using"
    r"|if (?:the|you|my|there|a) |(?:in|use|using) markdown)\b|\$answer|\$functional"
)
"""What marks a line as an instruction about answering: a prompt that goes on, and no answer."""
_TASK: Final = r"(?:user|question|problem|prompt|task|query|human|statement|instructions?|person)\b"
_TRYING: Final = r"(?:see|think|tackle|break|figure|start|look|check|consider|analy[sz]e|work|try|go|read|recall|dive)"
TRACE: Final = re.compile(
    rf"\W*(?:(?:okay|ok|alright|all right|hmm+)\b[,.!… ]*(?:(?:so|first|now|wait|well)\b[, ]*){{0,2}}"
    rf"(?:the {_TASK}|this (?:is a |question|problem|seems)|let me|let's {_TRYING}"
    r"|i(?:'m| am)? (?:need|have (?:to|this|a)|should|must|remember|recall|see|wonder|know|want|got|can see|trying"
    r"|supposed"
    r"|asked|think i)|i've (?:got|been)|we (?:need|have|are|know|should)|what|how|looking|here'?s|there(?:'s| is"
    r"| are)|\W*\Z)"
    r"|(?P<sound>hmm|wait)\b)"
)
"""How thinking aloud opens: 'Okay, so the user is asking …', 'Hmm, …'."""
MILD_TRACE: Final = re.compile(
    r"\W*(?:(?:first|so|now|well|right)[, ]+){0,2}"
    rf"(?:the (?:user|human) (?:is |just |has |was |wants|asks|asked|says|said|thinks|mention|seem|provid)"
    rf"|(?:let me|let's) {_TRYING}|the {_TASK} (?:is (?:asking|about)|asks|wants)"
    r"|(?:i|we) (?:need|have) to (?:figure|find|determine|think|answer|recall|respond|solve))"
)
"""How thinking aloud may open, if more signs of it follow."""
THINKING: Final = re.compile(
    r"\b(?:wait|hmm+|let me (?:think|check|recall|see|verify|double|confirm|start|look|make|try)|double-check"
    r"|i (?:should|need to) (?:make|check|consider|confirm|verify|mention|provide|explain|respond|acknowledge|also"
    r"|be|start"
    r"|present|address|clarify|find|figure|recall|decide)"
    r"|the user (?:is|might|may|wants|thinks|said|mentioned|probably|just|says|could|seems|asked))\b"
)
"""Signs of thinking aloud."""
THINKING_HINTS: Final = ("wait", "hmm", "let me ", "double-check", "i should ", "i need to ", "the user ")
"""One of these is in every sign."""
FIRST_MARKED: Final = re.compile(
    r"(?P<line>[ *#>_$\\-]*)(?:(?:my |the )?(?:final |correct )?(?:answer|verdict|conclusion"
    r"|response)\b(?: is)?[ *_]*:"
    r"|(?:final answer|answer)[ *_]*(?:\n|$)|-{3,}\s*\n|\*{3}\s*\n)[ *_$]*"
)
MARKED: Final = re.compile(r"\n" + FIRST_MARKED.pattern)
"""The line that ends thinking aloud without a tag: 'Answer: …', 'Final answer', a rule. Two patterns, as the second
begins with a literal: its search takes a tenth of the time."""
BOXED: Final = re.compile(r"boxed\s?\{")
PLACEHOLDER: Final = re.compile(
    r"\W*(?:text\W*)?(?:(?:your|(?:the (?:final )?)?(?:answer|result|number)|functional|x|n)\b|\.\.|\})"
)
"""What stands for an answer in an instruction: 'your answer', '…'."""
IN_FORMAT: Final = re.compile(
    r"\b(?:format\w*|for example|e\.g|such as|instruct\w*|inside|within|in a box|put|should be in|placeholder"
    r"|example)\b"
)
"""What makes a box in a sentence an example of the format."""
CONCLUDES: Final = re.compile(
    r"\b(?:(?:final|correct|right|best) answer|the answer (?:is|must|should|has)|therefore|thus|hence|in conclusion"
    r"|so it(?:'s| is)|i(?:'ll| will) (?:go|answer|say|pick|choose)|i(?:'d| would) (?:go with|answer|say)"
    r"|that's my answer)\b"
)
"""What makes the last sentence of finished thinking its conclusion."""
CLOSED: Final = re.compile(r"[.!?][\"')\]*_$}`]*\s*\Z|\}\$*\s*\Z")
"""How a text ends that was not stopped in mid-sentence."""


class Segment(NamedTuple):
    """`text[start:end]` is the answer. `missing` says why there is none. `cut`: the model was stopped inside it."""

    start: int
    end: int
    missing: str | None = None
    cut: bool = False


class Answered:
    """The answer of a completion, from `start` on: as it is, and folded. `missing` and `cut` as of a segment."""

    __slots__ = ("cut", "folded", "missing", "own", "start")

    def __init__(self, start: int, own: str, folded: Folded, missing: str | None, *, cut: bool) -> None:
        self.start, self.own, self.folded, self.missing, self.cut = start, own, folded, missing, cut


NOTHING: Final = Folded("")


@lru_cache(maxsize=2)
def answered(text: str, finish: str | None, version: int = 3) -> Answered:
    """The answer segment of a completion, folded once for all scorers. Missing too where it is not English.

    From version 4 on, the last <answer> block in it is the answer, and its signs are plain (`signs.plain_signs`).

    The last two are kept: the scorers of a response ask one after the other.
    """
    start, end, missing, cut, whole = _located(text, finish)
    block = None if version < 4 else answer_block(text, start, end, is_cut=cut)
    if block is not None:
        (start, end), missing, cut = block, None, False
    if missing is not None:
        return Answered(start, "", NOTHING, missing, cut=cut)
    own = text[start:end]
    signed = own if version < 4 else plain_signs(own)
    is_whole = signed is own and whole.offsets is None and len(own) == len(whole.text)
    folded = whole if is_whole else fold(signed)
    is_read = is_english(folded.text, signed, version)
    return Answered(start, signed, folded, None if is_read else NOT_ENGLISH, cut=cut)


def segment(text: str, finish: str | None) -> Segment:
    """The answer within a completion: own turn, then reasoning against answer, then the finish reason.

    1. Reasoning in tags is passed over; what opens a tag after an invented turn belongs to that turn. 2. Lines that
    only continue the prompt's instructions are passed over. 3. The turn ends before an invented turn, question or
    document. 4. A turn that thinks aloud without tags answers from its last answer line or box on; without one, in its
    last paragraph if it is known to be finished and that thinks no more, or in its last sentence if that concludes;
    else it reached no answer.
    """
    start, end, missing, cut, _ = _located(text, finish)
    return Segment(start, end, missing, cut)


def _located(text: str, finish: str | None) -> tuple[int, int, str | None, bool, Folded]:
    """What a segment says, and all that stands after the reasoning blocks, folded."""
    is_cut = finish is not None and finish.lower() in CUT_WORDS
    sign = first_sign(text)
    if sign < 0:  # no tag: the text as `visible` trims it, which keeps it for `unfinished`
        seen = visible(text, finish)
        start, end, is_first = seen.start, seen.end, True
    else:
        start, is_open = _after_blocks(text, sign)
        if is_open:
            return len(text), len(text), NONE, is_cut, NOTHING
        start, end = trimmed(text, start)
        is_first = not text[:start].strip()
    if start == end:
        return start, end, NONE if text.strip() else EMPTY, is_cut, NOTHING
    after = text[start:end]
    folded = fold(after)
    first, last, missing, is_cut = _within(after, folded, finish, is_cut=is_cut, is_first=is_first)
    return start + first, start + last, missing, is_cut, folded


def _within(
    text: str, folded: Folded, finish: str | None, *, is_cut: bool, is_first: bool
) -> tuple[int, int, str | None, bool]:
    """The answer within a text after its reasoning blocks. `is_first`: there are none, and a prompt may go on."""
    body = folded.text
    first = _after_instructions(body) if is_first and text[0].islower() else 0
    instructed = first > 0
    if instructed and (first >= len(body) or INVENTED.match(body, first)):
        return 0, len(text), NONE, is_cut
    first, last = _turn(body, text if folded.offsets is None else "", first)
    is_cut = is_cut and last == len(body)
    if instructed and body[first:last].rstrip(" *_\n").endswith("?"):
        return 0, len(text), NONE, is_cut
    if _thinks(body, first, last):
        place = _concluded(body, first, last, finish, is_cut=is_cut)
        if place is None:
            return 0, len(text), NONE, is_cut
        first = place
    last = first + len(body[first:last].rstrip())
    if first == last:
        return 0, len(text), NONE, is_cut
    return *folded.span(first, last), None, is_cut


def _after_blocks(text: str, first: int) -> tuple[int, bool]:
    """Where the text goes on after its reasoning blocks, and whether one is left open. No tag begins before `first`.

    A closing tag needs no opening one, and closes every block before it. A tag that comes after an invented turn
    belongs to that turn.
    """
    opened, start = deque(tag.start() for tag in OPENING.finditer(text, first)), 0
    for tag in CLOSING.finditer(text, first):
        before = opened[0] if opened else len(text)
        if (start or before < tag.start()) and _has_turn(text[start : min(before, tag.start())]):
            return start, False
        start = tag.end()
        while opened and opened[0] < start:
            opened.popleft()
    return start, bool(opened) and not _has_turn(text[start : opened[0]])


def _has_turn(text: str) -> bool:
    folded = fold(text).text.rstrip()
    return bool(folded) and own_turn(folded + " ", text)[1] < len(folded)


def _after_instructions(body: str) -> int:
    """Where a prompt that goes on, as the text begins in mid-sentence, stops: after the first line, if it instructs,
    and those like it. A repeated question in it is passed over too."""
    stop = body.find("\n")
    stop = len(body) if stop < 0 else stop
    if FORMAT_WORD.search(body, 0, stop) is None:
        return 0
    place = stop
    while place < len(body):
        while place < len(body) and body[place].isspace():
            place += 1
        stop = body.find("\n", place)
        stop = len(body) if stop < 0 else stop
        line = body[place:stop]
        if TRACE.match(line) or (FORMAT_WORD.search(line) is None and line.strip(" $*")):
            break
        place = stop
    return place


def _turn(body: str, original: str, first: int) -> tuple[int, int]:
    """Where the model's turn begins and ends: before an invented turn, question or document.

    A question that the text itself announces is still its own.
    """
    echoed, end = own_turn(body[first:], original[first:])
    first, end = first + echoed, first + end
    while end < len(body) and ANNOUNCED.match(body, end) and body[first:end].rstrip(" *#>\n").endswith(":"):
        place = end + 1
        end = place + own_turn(body[place:], original[place:])[1]
    turn = None
    line = body.find("\n", first + 1, end)
    if line >= 0:
        gap = GAP.search(body, line, end) if _has_lines(body, line, end) else None
        end = end if gap is None else gap.start()
        turn = NEW_TURN.search(body, line, end)
    if ":" in body and "q" in body and " q" in body:  # a search takes five times as long as the last of these
        turn = NEW_QUESTION.search(body, first + 1, end if turn is None else turn.start()) or turn
    if turn is not None and body[first : turn.start()].strip() and not _is_announced(body, first, turn):
        end = turn.start()
    return first, end


def _has_lines(body: str, line: int, end: int) -> bool:
    """Whether as many lines as a gap has end from `line` on. To count all takes longer."""
    for _ in range(GAP_LINES - 1):
        line = body.find("\n", line + 1, end)
        if line < 0:
            return False
    return True


def _is_announced(body: str, first: int, turn: re.Match[str]) -> bool:
    is_question = ANNOUNCED.match(turn[0].lstrip("\n")) is not None
    return is_question and body[first : turn.start()].rstrip(" *#>\n").endswith(":")


def _thinks(body: str, first: int, last: int) -> bool:
    """Whether the turn thinks aloud: it opens so, and shows another sign of it or stops in mid-sentence."""
    opening = TRACE.match(body, first, last)
    if opening is not None:
        start = opening.end() if opening["sound"] else first
        return THINKING.search(body, start, last) is not None or not CLOSED.search(body, max(first, last - 40), last)
    if MILD_TRACE.match(body, first, last) is None or not holds(body, THINKING_HINTS):
        return False
    return len(THINKING.findall(body, first, last)) >= 2


def _concluded(body: str, first: int, last: int, finish: str | None, *, is_cut: bool) -> int | None:
    """Where thinking aloud turns into an answer; None where it does not."""
    opening = None if first else FIRST_MARKED.match(body, 0, last)
    marks = [] if opening is None else [opening]
    marks += MARKED.finditer(body, first if opening is None else opening.end(), last)
    starts = [
        mark.start("line")
        for mark in marks
        if body[mark.end() : last].strip(" *_$\n") and not PLACEHOLDER.match(body, mark.end())
    ]
    for box in BOXED.finditer(body, first, last):
        low, _ = bounds(body, box.start(), box.end())
        if not PLACEHOLDER.match(body, box.end()) and not IN_FORMAT.search(body, low, box.start()):
            starts.append(low)
    if starts:
        return max(first, *starts)
    if is_cut or CLOSED.search(body, max(first, last - 40), last) is None:
        return None
    paragraph = max(first, body.rfind("\n\n", first, last) + 1)
    if finish is not None and paragraph > first and not THINKING.search(body, paragraph, last):
        return paragraph
    low, _ = bounds(body, last - 1, last)
    return max(low, first) if CONCLUDES.search(body, max(low, first), last) else None
