"""Which part of a completion is its answer: the model's own turn, after its reasoning, as far as it was written."""

from __future__ import annotations

import re
from typing import NamedTuple

from perpend.text.clause import bounds, own_turn
from perpend.text.match import fold
from perpend.text.reasoning import CLOSING, CUT_WORDS, OPENING, STOP_TOKENS

NONE = "no answer reached"
EMPTY = "empty"
GAP = re.compile(r"\n\s*?\n\s*?\n\s*?\n")
"""Three empty lines or more: a new document begins."""
NEW_TURN = re.compile(
    r"\n[ *#>_-]*(?:(?:question|problem|exercise|user|human|student|quiz|flashcard|claim|scenario)s?[ *]?\d*[ *]*"
    r"(?:\([^)\n]{0,20}\)[ *]*)?:|system message|prior users\b|agent [a-z]\*{0,2}:|(?:q|a)\d?:|\{\{|```\w*\n[*#]|#{1,3} characters)"
)
"""How a turn, a question or a document begins that the model invents after its answer."""
INVENTED = re.compile(
    r"\W*(?:question|problem|exercise|example|task|q)\W?\d|\W*\[q\]|in this task\b|here is (?:the|a) (?:question|problem)"
)
"""How a question of its own follows the instructions that a model invents."""
FORMAT_WORD = re.compile(
    r"\b(?:format(?:s|ted)?|tags?|latex|texttt|step[- ]by[- ]step|please|do not|don't|you (?:must|should|are|may|can)"
    r"|your (?:answer|response|reply|output|final|thinking|mind|own)|final answer|must|make sure|ensure"
    r"|no (?:other|outputs?|results)|not required|means that|for example|say (?:you|that)|remember to|avoid using"
    r"|if (?:the|you|my|there|a) |(?:in|use|using) markdown)\b|\$answer|\$functional"
)
"""What marks a line as an instruction about answering: a prompt that goes on, and no answer."""
OKAY = (
    r"(?:(?:okay|ok|alright|all right|hmm+|well|so|right|now)\b[,.!\u2026 ]*){1,3}"
    r"(?:(?:so|first|now|wait)\b[, ]*){0,2}"
)
_TASK = r"(?:user|question|problem|prompt|task|query|human|statement|instructions?|person)\b"
TRACE = re.compile(
    rf"\W*(?:{OKAY}(?:the {_TASK}|this (?:is a |question|problem|seems)|let me|let's (?:see|think|tackle|break|figure|start"
    r"|look|check|consider|analy[sz]e|work|try|go|read|recall|dive)|i(?:'m| am)? (?:need|have to|have this|have a|should|must|remember|recall|see|wonder"
    r"|know|want|got|can see|trying|supposed|asked|think i)|i've (?:got|been)|we (?:need|have|are|know|should)|what|how|looking|here'?s|there(?:'s| is| are)|\W*\Z)"
    r"|hmm\b|wait\b)"
)
"""How thinking aloud opens: 'Okay, so the user is asking …', 'Hmm, …'."""
MILD_TRACE = re.compile(
    rf"\W*(?:(?:first|so|now)[, ]+)?(?:the (?:user|human) (?:is |just |has |was |wants|asks|asked|says|said|thinks|mention|seem|provid)"
    rf"|(?:let me|let's) (?:think|see|recall|figure|start by|tackle|break)|(?:i|we) (?:need|have) to (?:figure|find|determine|think|answer|recall|respond|solve)"
    rf"|the {_TASK} (?:is asking|asks|wants))"
)
"""How thinking aloud may open, if more signs of it follow."""
THINKING = re.compile(
    r"\b(?:wait|hmm+|let me (?:think|check|recall|see|verify|double|confirm|start|look|make|try)|i (?:should|need to) (?:make|check|consider"
    r"|confirm|verify|mention|provide|explain|respond|acknowledge|also|be|start|present|address|clarify)|double-check|the user (?:is|might|may|wants|thinks|said|mentioned|probably|just|says|could|seems|asked))\b"
)
"""Signs of thinking aloud."""
MARKED = re.compile(
    r"(?:^|\n)[ *#>_$\\-]*(?:(?:my |the )?(?:final |correct )?(?:answer|verdict|conclusion|response)\b(?: is)?[ *_]*:|(?:final answer|answer)[ *_]*(?:\n|$)|-{3,}\s*\n|\*{3}\s*\n)"
    r"[ *_$]*"
)
"""The line that ends thinking aloud without a tag: 'Answer: …', 'Final answer', a rule."""
BOXED = re.compile(r"boxed\s?\{\s?(?!\s*(?:your|the|answer|result|x\b|n\b|\.{2}|\}|\\text\{\s?(?:your|answer)))[^}]")
IN_FORMAT = re.compile(
    r"\b(?:format\w*|for example|e\.g|such as|instruct\w*|inside|within|in a box|put|should be in|placeholder|example)\b"
)
"""What makes a box in a sentence an example of the format."""
CONCLUDES = re.compile(
    r"\b(?:(?:final|correct|right|best) answer|the answer (?:is|must|should|has)|therefore|thus|hence|in conclusion|so it(?:'s| is)"
    r"|i(?:'ll| will) (?:go|answer|say|pick|choose)|i(?:'d| would) (?:go with|answer|say)|that's my answer)\b"
)
"""What makes the last sentence of finished thinking its conclusion."""
CLOSED = re.compile(r"[.!?][\"')\]*_$}`]*\s*\Z|\}\$*\s*\Z")


class Segment(NamedTuple):
    """`text[start:end]` is the answer. `missing` says why there is none. `cut`: the model was stopped inside it."""

    start: int
    end: int
    missing: str | None = None
    cut: bool = False


def segment(text: str, finish: str | None) -> Segment:
    """The answer within a completion: own turn, then reasoning against answer, then the finish reason.

    1. Reasoning in tags is passed over; what opens a tag after an invented turn belongs to that turn. 2. Lines that
    only continue the prompt's instructions are passed over. 3. The turn ends before an invented turn, question or
    document. 4. A turn that thinks aloud without tags answers from its last answer line or box on; without one, in its
    last paragraph if it is known to be finished, in its last sentence if that concludes; else it reached no answer.
    """
    is_cut = finish is not None and finish.lower() in CUT_WORDS
    start, is_open = _after_blocks(text)
    if is_open:
        return Segment(len(text), len(text), f"{NONE}: a reasoning block is never closed", is_cut)
    start, end = _trimmed(text, start, len(text))
    if start == end:
        missing = EMPTY if not text.strip() else f"{NONE}: nothing after the reasoning"
        return Segment(start, end, missing, is_cut)
    original = text[start:end]
    folded = fold(original)
    body = folded.text
    first = _after_instructions(body, original)
    if first >= len(body) or (first and INVENTED.match(body, first)):
        return Segment(start, end, f"{NONE}: the prompt goes on", is_cut)
    last = _turn_end(body, original, folded.offsets is None, first)
    is_cut = is_cut and last == len(body)
    thinking = _thinks(body, first, last)
    if thinking:
        place = _concluded(body, first, last, finish, is_cut=is_cut)
        if place is None:
            return Segment(start, end, f"{NONE}: still thinking", is_cut)
        first = place
    while last > first and body[last - 1].isspace():
        last -= 1
    if first >= last:
        return Segment(start, end, NONE, is_cut)
    low, high = folded.span(first, last)
    return Segment(start + low, start + high, None, is_cut)


def _after_blocks(text: str) -> tuple[int, bool]:
    """Where the text goes on after its reasoning blocks, and whether one is left open."""
    place = 0
    if "<" not in text and "[" not in text and "◁" not in text:
        return 0, False
    while True:
        opened, closed = OPENING.search(text, place), CLOSING.search(text, place)
        if closed is not None and (opened is None or closed.start() < opened.start()):
            if place and _has_turn(text[place : closed.start()]):
                return place, False
            place = closed.end()
        elif opened is not None:
            if _has_turn(text[place : opened.start()]):
                return place, False
            closed = CLOSING.search(text, opened.end())
            if closed is None:
                return place, True
            place = closed.end()
        else:
            return place, False


def _has_turn(text: str) -> bool:
    folded = fold(text).text.rstrip()
    return bool(folded) and own_turn(folded + " ", text)[1] < len(folded)


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    end = max(start, len(text[:end].rstrip()))
    while text.endswith(STOP_TOKENS, start, end):
        end = max(start, len(text[: text.rindex("<", start, end)].rstrip()))
    while start < end and text[start].isspace():
        start += 1
    return start, end


def _after_instructions(body: str, original: str) -> int:
    """Where a prompt that goes on stops: after the first line, if it begins in mid-sentence and instructs, and those
    like it. A repeated question in it is passed over too."""
    stop = body.find("\n")
    stop = len(body) if stop < 0 else stop
    if not original[:1].islower() or FORMAT_WORD.search(body, 0, stop) is None:
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


def _turn_end(body: str, original: str, aligned: bool, first: int) -> int:  # noqa: FBT001
    rest = body[first:]
    start, end = own_turn(rest, original[first:] if aligned else "")
    gap = GAP.search(rest, start + 1, end)
    end = end if gap is None else gap.start()
    turn = NEW_TURN.search(rest, start + 1, end)
    if turn is not None and rest[start : turn.start()].strip():
        end = turn.start()
    return first + end


def _thinks(body: str, first: int, last: int) -> bool:
    if TRACE.match(body, first, last):
        return True
    return MILD_TRACE.match(body, first, last) is not None and len(THINKING.findall(body, first, last)) >= 2


def _concluded(body: str, first: int, last: int, finish: str | None, *, is_cut: bool) -> int | None:
    """Where thinking aloud turns into an answer; None where it does not."""
    marks = [mark.end() for mark in MARKED.finditer(body, first, last) if body[mark.end() : last].strip(" *_$\n")]
    for box in BOXED.finditer(body, first, last):
        low, _ = bounds(body, box.start(), box.end())
        if IN_FORMAT.search(body, low, box.start()) is None:
            marks.append(low)
    if marks:
        return max(first, body.rfind("\n", first, marks[-1] - 1) + 1 if body[marks[-1] - 1] != "\n" else marks[-1])
    if is_cut or CLOSED.search(body, max(first, last - 40), last) is None:
        return None
    if finish is not None:
        return max(first, body.rfind("\n\n", first, last) + 1)
    low, _ = bounds(body, last - 1, last)
    return max(low, first) if CONCLUDES.search(body, max(low, first), last) else None
