"""Segment: the part of a completion that is its answer: the model's own turn, after reasoning, as far as written."""

from __future__ import annotations

import re
from collections import deque
from functools import lru_cache
from typing import Final, NamedTuple

from perpend.judging.words import Folded, fold, phrases, words_of

NONE: Final = "no answer reached"
EMPTY: Final = "empty"
NOT_ENGLISH: Final = "not English"

# Each regex matches a bounded number of characters from any position, so a scan is linear in the text. They begin with
# a set of characters, which lets the search skip: the look behind for a backtick comes second. A tag right after a
# backtick is talked about, not used. gpt-oss has no closing tag: its final channel ends the analysis.
OPENING: Final = re.compile(
    r"[<\[◁](?<!`.)(?:(?<=<)(?:seed:)?(?:think|thinking|thoughts?|reasoning|scratchpad)\s{0,3}>"
    r"|(?<=<)\|(?:(?:begin_of_thought|start_thinking)\|>|channel\|>\s{0,3}(?:analysis|commentary)\b)"
    r"|(?<=\[)think\]|(?<=◁)think▷)",
    re.IGNORECASE | re.DOTALL,
)
CLOSING: Final = re.compile(
    r"[<\[◁](?<!`.)(?:(?<=<)/(?:seed:)?(?:think|thinking|thoughts?|reasoning|scratchpad)\s{0,3}>"
    r"|(?<=<)\|(?:(?:end_of_thought|end_thinking)\|>|channel\|>\s{0,3}final\b(?:\s{0,3}<\|message\|>)?)"
    r"|(?<=\[)/think\]|(?<=◁)/think▷)",
    re.IGNORECASE | re.DOTALL,
)
STOP_TOKENS: Final = ("<|return|>", "<|end|>", "<|eot_id|>", "<|im_end|>", "<|endoftext|>", "</s>")
"""Special tokens that servers sometimes leave at the end of a text."""
CUT_WORDS: Final = frozenset({"length", "max_tokens", "max_output_tokens", "model_length", "content_filter"})
"""Finish reasons, in lower case, that say that the model was stopped before it had finished."""


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
    start, first = 0, first_sign(text)
    if first >= 0:
        for tag in CLOSING.finditer(text, first):
            start = tag.end()
        if OPENING.search(text, max(start, first)):
            return Visible(len(text), len(text), "a reasoning block is never closed")
    begin, end = trimmed(text, start)
    if finish is not None and finish.lower() in CUT_WORDS:
        return Visible(begin, end, f"cut off, finish reason {finish!r}")
    if begin == end:
        return Visible(begin, end, "nothing after the reasoning" if start else "empty")
    return Visible(begin, end, None)


def first_sign(text: str) -> int:
    """Where the first character stands with which a tag may begin; -1 when there is none."""
    if "<" not in text and "[" not in text and "◁" not in text:  # of most texts
        return -1
    return min(place for sign in "<[◁" if (place := text.find(sign)) >= 0)


def trimmed(text: str, start: int) -> tuple[int, int]:
    """Where the text from `start` on begins and ends without white space and without `STOP_TOKENS` at its end."""
    end = max(start, len(text.rstrip()))
    while end > start and text[end - 1] == ">" and text.endswith(STOP_TOKENS, start, end):
        end = text.rindex("<", start, end)
        while end > start and text[end - 1].isspace():
            end -= 1
    while start < end and text[start].isspace():
        start += 1
    return start, end


TURN_NAMES: Final = phrases("turn_names")
"""What opens, before a colon, a turn or a new document that the model invents after its answer."""
TURN_ENDS: Final = frozenset(name[-2:] for name in TURN_NAMES)
TURN_TOKENS: Final = ("<|im_start|>", "<|user|>", "<|start_header_id|>", "[inst]")
ECHOES: Final = ("user:", "human:", "question:", "**question", "**user")
OPENS: Final = re.compile(r"(?:\n|[.!?\"'*)\]}]\s?)[ #>*\-]*$")
"""What may stand before a marker: a new line, the end of a sentence, markup. Prose before it makes it a word."""
DETERMINED: Final = re.compile(r"(?:\b(?:the|this|your|that|my|an?|each|first|next|following|dear)|[,:;-]) $")
"""What makes a capitalised marker in a line a noun of its sentence: 'the Question: …'."""
GAP: Final = re.compile(r"\n\s*?\n\s*?\n\s*?\n")
"""Three empty lines or more: a new document begins."""
GAP_LINES: Final = 4
"""How many ends of lines are in every gap."""
_QUIZ: Final = r"question|quiz|flashcard"
NEW_TURN: Final = re.compile(
    rf"\n[ *#>_-]*(?:(?:{_QUIZ}|problem|exercise|claim|scenario) ?\d+|{_QUIZ}|user ?\d*|human|student"
    rf"|teacher|system message|agent [a-z]|prior users'?(?: \w+)?|q\d?)[ *]*(?:\([^)\n]{{0,20}}\)[ *]*)?:"
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
    r"| are)|\W*\Z)|(?P<sound>hmm|wait)\b)"
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
    r"|be|start|present|address|clarify|find|figure|recall|decide)"
    r"|the user (?:is|might|may|wants|thinks|said|mentioned|probably|just|says|could|seems|asked))\b"
)
"""Signs of thinking aloud."""
THINKING_HINTS: Final = ("wait", "hmm", "let me ", "double-check", "i should ", "i need to ", "the user ")
"""One of these is in every sign."""
FIRST_MARKED: Final = re.compile(
    r"(?P<line>[ *#>_$\\-]*)(?:(?:my |the )?(?:final |correct )?(?:answer|verdict|conclusion"
    r"|response)\b(?: is)?[ *_]*:|(?:final answer|answer)[ *_]*(?:\n|$)|-{3,}\s*\n|\*{3}\s*\n)[ *_$]*"
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


class Answered(NamedTuple):
    """The answer of a completion, from `start` on: as it is, and folded. `missing` says why there is none; `cut`: the
    model was stopped inside it."""

    start: int
    own: str
    folded: Folded
    missing: str | None
    cut: bool


NOTHING: Final = Folded("")


@lru_cache(maxsize=2)
def answered(text: str, finish: str | None) -> Answered:
    """The answer segment of a completion, folded once for all scorers; the last <answer> block in it is the answer.

    The last two are kept: the scorers of a response ask one after the other.
    """
    start, end, missing, cut, whole = _located(text, finish)
    block = answer_block(text, start, end, is_cut=cut)
    if block is not None:
        (start, end), missing, cut = block, None, False
    if missing is not None:
        return Answered(start, "", NOTHING, missing, cut)
    own = text[start:end]
    is_whole = whole.offsets is None and len(own) == len(whole.text)
    return Answered(start, own, whole if is_whole else fold(own), None, cut)


def _located(text: str, finish: str | None) -> tuple[int, int, str | None, bool, Folded]:
    """Where the answer begins and ends, why there is none, whether it was cut; and all after the reasoning, folded.

    1. Reasoning in tags is passed over; what opens a tag after an invented turn belongs to that turn. 2. Lines that
    only continue the prompt's instructions are passed over. 3. The turn ends before an invented turn, question or
    document. 4. A turn that thinks aloud without tags answers from its last answer line or box on; without one, in its
    last paragraph if it is known to be finished and that thinks no more, or in its last sentence if that concludes;
    else it reached no answer.
    """
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
    if MILD_TRACE.match(body, first, last) is None or not any(hint in body for hint in THINKING_HINTS):
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
        low, _ = _bounds(body, box.start(), box.end())
        if not PLACEHOLDER.match(body, box.end()) and not IN_FORMAT.search(body, low, box.start()):
            starts.append(low)
    if starts:
        return max(first, *starts)
    if is_cut or CLOSED.search(body, max(first, last - 40), last) is None:
        return None
    paragraph = max(first, body.rfind("\n\n", first, last) + 1)
    if finish is not None and paragraph > first and not THINKING.search(body, paragraph, last):
        return paragraph
    low, _ = _bounds(body, last - 1, last)
    return max(low, first) if CONCLUDES.search(body, max(low, first), last) else None


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
            place = _marker(text, original, colon)
            if place:
                return start, place
        colon = text.find(":", colon + 1, end)
    return start, end


def _marker(text: str, original: str, colon: int) -> int:
    """Where the marker before a colon begins, if it opens a turn; else 0."""
    name = next(name for name in TURN_NAMES if text.endswith(name, 1, colon))
    place = colon - len(name)
    before = text[max(0, place - 8) : place]
    if place < 8 and not before.strip(" *#>\n"):
        return 0
    capital = len(original) == len(text) and original[place].isupper()
    inline = capital and (before[-1].isalnum() or (before[-1] == " " and DETERMINED.search(before) is None))
    return place if inline or OPENS.search(before) else 0


def _bounds(text: str, start: int, stop: int) -> tuple[int, int]:
    """The sentence that holds `text[start:stop]`, cut at 400 characters on either side."""
    low = max(0, start - 400)
    low = text.rfind("\n", low, start) + 1 or low
    for end in SENTENCE_END.finditer(text, low, start):
        low = end.end()
    after = SENTENCE_END.search(text, stop, stop + 400)
    return low, after.end() if after else min(len(text), stop + 400)


SENTENCE_END: Final = re.compile(r"[.!?][\"')\]}*_]*(?=\s|\Z)|\n")

ANSWER_BLOCK: Final = re.compile(
    r"(?<!`)<(?P<tag>(?:final[_ ]?)?answer)>(?P<content>[^<]{1,4000}(?:<(?!/?(?:final[_ ]?)?answer>)[^<]{0,400}){0,20})"
    r"(?:</(?P=tag)>|(?P<open>\Z))",
    re.IGNORECASE,
)
BLOCK_PLACEHOLDER: Final = re.compile(
    r"\W*(?:(?:put |insert )?(?:your|the) (?:final )?answer(?: here)?|answer)?\W*", re.IGNORECASE
)
"""What stands for an answer in an instruction."""


def answer_block(text: str, start: int, end: int, *, is_cut: bool) -> tuple[int, int] | None:
    """The content of the last <answer> block between two places; None where there is none, or only a placeholder.

    A block that nothing closes reaches to the end, unless the model was stopped in it.
    """
    if "<" not in text or (text.find("nswer>", start, end) < 0 and text.find("NSWER>", start, end) < 0):
        return None
    content: tuple[int, int] | None = None
    for block in ANSWER_BLOCK.finditer(text, start, end):
        if BLOCK_PLACEHOLDER.fullmatch(block["content"]) is None and not (is_cut and block["open"] is not None):
            low, high = block.span("content")
            inner = text[low:high]
            content = low + len(inner) - len(inner.lstrip()), high - len(inner) + len(inner.rstrip())
    return content


WORD: Final = re.compile(r"[^\W\d_]+(?:'[a-z]+)?")
OTHER_LETTER: Final = re.compile(r"[^\u0000-\u024f\W\d_]")
"""Of an alphabet that is not Latin."""
ENGLISH: Final = words_of("english")
FOREIGN: Final = words_of("foreign")
"""Function words of other languages, folded."""
SHARED: Final = words_of("shared")
"""Those that are English words too, of which none shows another language by itself."""
NAME: Final = re.compile(r"\b[A-Z]\w+(?: (?:de|del|di|da|dos|du|des|la|las|los|el)){1,3} (?=[A-Z])")
"""The beginning of a name in a Romance language: 'Ciudad de los Reyes'."""
FREQUENT: Final = (" the ", " and ", " that ", " with ", " are ", " can ", " you ", " it's ")
FEW: Final = 2
"""Up to so many words nothing can be said of the language: 'Paris', 'TRUE', 'Port Moresby'."""
LOOKED_AT: Final = 600
"""How many characters are looked at: the beginning shows the language."""


def is_english(folded: str, original: str) -> bool:
    """Whether a text, given folded and as it is, may be read as English.

    It may not where most of its letters are of another alphabet; nor where it has more than `FEW` words, two of them
    function words of another language and not of English too nor inside a name, at least one in small letters ('Los
    Angeles, Las Vegas' are names), and fewer English ones. Three of `FREQUENT` make it English.
    """
    head = folded[:LOOKED_AT]
    if not head.isascii() and len(OTHER_LETTER.findall(head)) > 2:
        letters = [char for char in head if char.isalpha()]
        if len(letters) > 3 and sum(char > "\u024f" for char in letters) > len(letters) / 2:
            return False
    if sum(word in head for word in FREQUENT) > 2:
        return True
    words = WORD.findall(head)
    foreign = [word for word in words if word in FOREIGN]
    if len(words) <= FEW or len(foreign) < 2 or len(foreign) <= sum(word in ENGLISH for word in words):
        return True
    words = WORD.findall(NAME.sub(" ", original[:LOOKED_AT]).lower())
    if sum(word in FOREIGN and word not in SHARED for word in words) < 2:
        return True
    small = set(WORD.findall(original[: 2 * LOOKED_AT]))
    return not any(word in small for word in foreign)
