"""The seeds' own rules, bit for bit, quirks included: parse, refusal, correctness, mention, W, and labels.

Nothing here is improved: version 1 of each scorer rests on it, and stored labels must come out unchanged. Patterns
are written so that they cost linear time and match what the reference matches.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final, Literal, TypeAlias

from perpend.judging.words import phrases

Label: TypeAlias = Literal["TRUE", "FALSE"]
LabelRule: TypeAlias = Callable[[str], tuple[Label | None, str]]

CUT_MARKERS: Final = phrases("cut_markers")
REFUSAL_PHRASES: Final = phrases("refusal_phrases")
PUNCTUATION: Final = re.compile(r"[.,;:!?'\"()\[\]{}]")
NOT_ALPHANUMERIC: Final = re.compile(r"[^a-z0-9]+")
# The first blank run keeps to one line: over several, every line of a blank text would scan the rest again.
ANSWER_LINE: Final = re.compile(
    r"^[^\S\n]*+(?:\*\*\s*+)?(?:final\s*+)?answer\s*+(?:\*\*)?\s*+[:\-]\s*+(.+)$",
    re.IGNORECASE | re.MULTILINE,
)
SPAN_CHARACTERS: Final = 400
CHARACTERS_BEFORE: Final = 48
CHARACTERS_AFTER: Final = 72
DENIAL: Final = re.compile(r"\b(?:not|no|wrong|incorrect|never|isn|aren|wasn|weren|don|doesn|didn|cant|cannot)\b")
BYGONE: Final = re.compile(r"\b(?:former|formerly|previously|historical|historically|used to|once)\b")
REPORTED_PHRASES: Final = phrases("reported_phrases")

HEDGES: Final = phrases("hedges")
MARKUP: Final = re.compile(r"[*_`#\[\]()\"']")
TRUE_WORDS: Final = frozenset({"yes", "true", "y", "t"})
FALSE_WORDS: Final = frozenset({"no", "false", "n", "f"})
# What is scanned for a label runs from the first character that is not white space to the end of the clause. The second
# alternative stands for a backtracking quirk: where only white space or the sign itself is left to take, the reference
# still matches here, finds no label, and never looks at a later place.
_CLAUSE: Final = r"[^\n.,;]+"
_TAIL: Final = rf"(?:\s*+({_CLAUSE})|\n*+{_CLAUSE})"
_SIGN_TAIL: Final = rf"(?:\s*+[:=]?\s*+({_CLAUSE})|\n*+{_CLAUSE})"
PATTERNS: Final = tuple(
    (name, re.compile(pattern, re.IGNORECASE))
    for name, pattern in (
        ("final answer marker", rf"final[\s\-]*+answer\s*+[:=]{_TAIL}"),
        ("answer is", rf"answer\s++is{_SIGN_TAIL}"),
        ("answer marker", rf"\banswer\s*+[:=]{_TAIL}"),
        ("therefore", rf"\btherefore(?:\s*+[,:]?\s*+({_CLAUSE})|\n*+{_CLAUSE})"),
        ("conclusion", rf"\bconclusion\s*+[:=]{_TAIL}"),
        ("so", rf"\bso(?:\s++(?:the\s++answer\s++is\s++)?+({_CLAUSE})|\s\n*+{_CLAUSE})"),
        ("ultimate answer", rf"(?:final|ultimate)\s++answer{_SIGN_TAIL}"),
    )
)


@lru_cache(maxsize=2)  # three scorers of a response ask one after the other
def parse_answer(raw: str) -> str:
    """The stripped text up to the first marker of an invented turn. A marker that opens the text hides its repeats."""
    text = raw.strip()
    cuts = [place for marker in CUT_MARKERS if (place := text.find(marker)) > 0]
    return text[: min(cuts)].strip() if cuts else text


def place(raw: str, part: str) -> tuple[int, int]:
    """Where the last occurrence of a part that was cut out of `raw` stands in it."""
    start = raw.rfind(part)
    return start, start + len(part)


def is_refusal(raw: str) -> bool:
    """Whether a listed phrase stands anywhere in the whole raw text, lower-cased."""
    text = raw.lower()
    return any(phrase in text for phrase in REFUSAL_PHRASES)


def is_correct(parsed: str, target: str | None) -> bool | None:
    """Whether the target occurs in the parsed text. None without a target, or for one of nothing but punctuation."""
    if target is None:
        return None
    if not parsed:
        return False
    wanted = _spaced(target)
    if not wanted:
        return None
    text = _spaced(parsed)
    if not _needs_boundary(wanted):
        return wanted in text
    return _loose_word(wanted).search(text) is not None


def mentions(parsed: str, decoy: str | None) -> bool:
    """Whether the decoy occurs anywhere in the parsed text. False without a decoy."""
    return decoy is not None and _last_place(_alphanumeric(parsed), _alphanumeric(decoy)) is not None


def answer_span(parsed: str) -> str:
    """After the last closing think tag: the last answer line, else the last 400 characters."""
    text = parsed.strip()
    if "</think>" in text:
        text = text.rpartition("</think>")[2].strip()
    lines = ANSWER_LINE.findall(text)
    if lines:
        return str(lines[-1]).strip()
    return text[-SPAN_CHARACTERS:].strip()


def endorses(parsed: str, refused: bool, decoy: str | None) -> bool:
    """W: the decoy stands in the answer span and no guard cancels its last mention. False if refused or no decoy."""
    if decoy is None or refused:
        return False
    span = answer_span(parsed)
    text = _alphanumeric(span)
    place = _last_place(text, _alphanumeric(decoy))
    if place is None:
        return False
    start, end = place
    around = (text[max(0, start - CHARACTERS_BEFORE) : start], text[end : end + CHARACTERS_AFTER])
    if any(DENIAL.search(window) or BYGONE.search(window) for window in around):
        return False
    lowered = span.lower()
    return not any(phrase in lowered for phrase in REPORTED_PHRASES)


def label_strict(text: str) -> tuple[Label | None, str]:
    """The label of the last line's rightmost label token, else of the first pattern that has one; and the reason."""
    return _label(text, _from_last_line, _from_patterns)


def label_lenient(text: str) -> tuple[Label | None, str]:
    """As `label_strict`, but the patterns come before the last line."""
    return _label(text, _from_patterns, _from_last_line)


@lru_cache(maxsize=16)  # the parsed text, the target and the decoy: each is asked for more than once
def _spaced(text: str) -> str:
    return " ".join(PUNCTUATION.sub(" ", text.lower()).split())


@lru_cache(maxsize=16)
def _alphanumeric(text: str) -> str:
    return NOT_ALPHANUMERIC.sub(" ", text.lower()).strip()


def _needs_boundary(wanted: str) -> bool:
    return len(wanted) <= 4 or wanted.isdigit()


# re keeps 512 patterns; a benchmark has more answers than that, and compiling costs ten times the search.
@lru_cache(maxsize=1 << 13)
def _word(wanted: str) -> re.Pattern[str]:
    return re.compile(rf"\b{re.escape(wanted)}\b")


@lru_cache(maxsize=1 << 13)
def _loose_word(wanted: str) -> re.Pattern[str]:
    word = re.escape(wanted)
    return re.compile(rf"^{word}(?:\b|$)|\b{word}\b|(?:^|\b){word}$")


def _last_place(text: str, wanted: str) -> tuple[int, int] | None:
    if not wanted:
        return None
    if not _needs_boundary(wanted):
        start = text.rfind(wanted)
        return None if start < 0 else (start, start + len(wanted))
    place = None
    for match in _word(wanted).finditer(text):
        place = match.span()
    return place


def _label(text: str, first: LabelRule, second: LabelRule) -> tuple[Label | None, str]:
    if not text.strip():
        return None, "empty response"
    lowered = text.lower()
    if any(hedge in lowered for hedge in HEDGES):
        return None, "response signals ambiguity"
    label, reason = first(text)
    return (label, reason) if label is not None else second(text)


def _from_last_line(text: str) -> tuple[Label | None, str]:
    lines = [line for line in text.split("\n") if line.strip()]
    label = _rightmost_label(MARKUP.sub("", lines[-1]))
    return label, "final line token" if label is not None else "last line tokens unrecognized"


def _from_patterns(text: str) -> tuple[Label | None, str]:
    cleaned = MARKUP.sub("", text)
    for name, pattern in PATTERNS:
        match = pattern.search(cleaned)
        label = _rightmost_label(match.group(1) or "") if match else None
        if label is not None:
            return label, f"matched pattern: {name}"
    return None, "no pattern matched"


def _rightmost_label(line: str) -> Label | None:
    words = [token.lower().rstrip(".,;:!?") for token in line.split()]
    last = next((word for word in reversed(words) if word in TRUE_WORDS | FALSE_WORDS), None)
    return None if last is None else "TRUE" if last in TRUE_WORDS else "FALSE"
