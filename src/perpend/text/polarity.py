"""Yes or no: what a text says to a question that asks for one of them. All input is folded."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TypeAlias

from perpend.text import speech
from perpend.text.clause import clause
from perpend.text.question import Question
from perpend.text.sentences import bounds

PLACES = 100
"""How many words, and how many places of the question's first content word, are looked into from either end."""
_VALUES = {
    "yes": True,
    "true": True,
    "correct": True,
    "yep": True,
    "yeah": True,
    "no": False,
    "false": False,
    "incorrect": False,
    "nope": False,
}
POLAR_WORD = re.compile(rf"(?<![\w'])(?:{'|'.join(_VALUES)})(?![\w'])")
WORD_HINTS = ("yes", "no", "true", "false", "correct", "yep", "yeah")
"""How every such word begins or ends."""
WORD_CLOSES = re.compile(r"[*_\"')\]}]{0,4}(?:$|[.,;:!—\n]|\s-|\s(?:because|since|as)\b)")
WORD_OPENS = re.compile(
    r"(?:(?:^|\n)(?:(?:it's|it is|definitely|clearly|simply)\s){0,2}|:\s"
    r"|\banswer(?: to [^.\n]{0,60})?(?: is|:| -)(?:[^.\n]{0,16}(?:definitely|simply|clearly|is|it's|a|:))?"
    r"|\bi(?:'d|'m| would| am)?(?: \w+ly| quite| pretty)? (?:think|believe|guess|say|certain|sure|confident)"
    r"(?: that)?(?: (?:it|this|that|the answer)(?:'s| is| must be))?)"
    r"[\s*_\"'$({\\#>]{0,6}(?:boxed\{?|text\{?)?$"
)
"""Where a bare yes or no is an answer: at the start of a text or line, in an answer slot, or as the model's belief."""
DENIES = re.compile(
    r"\b(?:not|never|cannot|fails to|isnt|no one|nobody|none|no (?:\w+ )?(?:evidence|proof|way|reason|longer)"
    r"|impossible|myth|misconception|untrue|false|incorrect)\b|n't\b"
)
DOUBTS = re.compile(r"\b(?:disput\w+|doubt\w*|den(?:y|ies|ied)|question(?:s|ed)?|disagree\w*)\b[^.]{0,20}$")
DENIED_AFTER = re.compile(
    r"[^.;,]{0,30}?\b(?:is|are|was|were)\s(?:\w+\s){0,3}?(?:myth|misconception|false|untrue|incorrect|impossible|not)\b"
)
REJECTS = re.compile(
    r"[\s*_\"',.!]{0,4}(?:that|this|your answer|the (?:claim|answer))(?:'s| is| was)\s(?:\w+\s)?"
    r"(?:incorrect|wrong|not|false)"
)
"""What makes a 'no' the denial of somebody's claim instead of an answer to the question."""
CORRECTS = re.compile(
    r"\b(?:wait|actually|in fact|correction|on second thought|i was wrong|my mistake|i made a mistake)\b"
)
CORRECTION_HINTS = ("wait", "actually", "in fact", "correction", "second thought", "i was wrong", "mistake")
"""One of these stands in every correction: to look for them first takes a third of the time."""
CONCLUDES = re.compile(r"\b(?:so|therefore|thus|hence|in conclusion|in short|overall|actually|in fact)\b")
Answered: TypeAlias = tuple[bool, tuple[int, int], str]


def polar(text: str, asked: Question) -> Answered | None:
    """What the text answers, where, and by which rule; None when it answers neither yes nor no.

    The last bare yes or no that is given as an answer decides, unless the text takes it back ('wait, …', 'it is
    actually …') and states otherwise, or a yes is followed in its sentence by the denial of what was asked ('Yes, 9 is
    not prime'). Without one, the fullest statement that repeats the question decides: a conclusion before others, then
    the first. A statement repeats the question when it has its first content word, half of them all, and all its
    numbers.
    """
    worded = _worded(text, asked)
    if worded is None:
        return _stated(text, asked, 0, len(text))
    end = worded[1][1]
    hinted = any(text.rfind(hint, end) >= 0 for hint in CORRECTION_HINTS)
    taken_back = CORRECTS.search(text, end) if hinted else None
    if taken_back is not None:
        start = max(end, bounds(text, *taken_back.span())[0])
        return _stated(text, asked, start, len(text)) or worded
    if worded[0] and text.startswith(",", end):
        stated = _stated(text, asked, end, bounds(text, end, end)[1])
        return stated if stated is not None and not stated[0] else worded
    return worded


def _places(text: str, hints: tuple[str, ...], start: int, stop: int) -> Iterator[int]:
    """Where any of the hints stands, from each the first `PLACES` and the last."""
    for hint in hints:
        if text.rfind(hint, start, stop) < 0:  # in half the time of `find`
            continue
        place = text.find(hint, start, stop)
        for _ in range(PLACES):
            if place < 0:
                break
            yield place
            place = text.find(hint, place + 1, stop)
        else:
            place = text.rfind(hint, start, stop)
            for _ in range(PLACES):
                yield place
                place = text.rfind(hint, start, place + len(hint) - 1)


def _worded(text: str, asked: Question) -> Answered | None:
    """The last bare yes or no that is given as an answer."""
    for place in sorted(set(_places(text, WORD_HINTS, 0, len(text))), reverse=True):
        word = POLAR_WORD.match(text, place - 2 if text.startswith("in", place - 2) and place >= 2 else place)
        if word is not None and WORD_CLOSES.match(text, word.end()) and _is_answer(text, word.span(), asked):
            return _VALUES[word[0]], word.span(), "given as the answer"
    return None


def _is_answer(text: str, span: tuple[int, int], asked: Question) -> bool:
    lead = text[max(0, span[0] - 90) : span[0]]
    repeated = lead.rstrip().endswith("?") and asked.stems[:1] != () and asked.stems[0] in lead
    if not repeated and WORD_OPENS.search(lead) is None:
        return False
    if REJECTS.match(text, span[1]):
        return False
    before = text[bounds(text, *span)[0] : span[0]]
    return not speech.is_reported("", clause(before.rstrip(' :*"')))


def _stated(text: str, asked: Question, start: int, stop: int) -> Answered | None:
    """The statement that answers between two places."""
    best, found, seen = (False, 0.0), None, -1
    for place in _places(text, asked.stems[:1], start, stop):
        if place < seen:
            continue
        low, seen = bounds(text, place, place)
        low, high = max(low, start), min(seen, stop)
        sentence = text[low:high]
        value, share = _affirmed(sentence, asked)
        weight = CONCLUDES.search(sentence) is not None, share
        if value is not None and weight > best:
            best, found = weight, (value, (low, low + len(sentence.rstrip())), "stated")
    return found


def _affirmed(sentence: str, asked: Question) -> tuple[bool | None, float]:
    """Whether the sentence affirms what was asked, and the share of its content words that it repeats.

    None when it does not speak of it, or not in the model's voice.
    """
    stems = [place for stem in asked.stems if (place := sentence.find(stem)) >= 0]
    share = len(stems) / len(asked.stems)
    numerals = [sentence.find(numeral) for numeral in asked.numerals]
    if share < 0.5 or -1 in numerals:
        return None, share
    places = stems + numerals
    before = sentence[: min(places)]
    near = clause(before)
    asking = sentence.rstrip("\"'*) \n").endswith("?")
    if asking or speech.is_reported(before, near) or speech.is_supposed(before, near):
        return None, share
    lead = " ".join(near.near)
    denials = [
        DENIES.search(sentence[min(places) : max(places) + 8]) is not None or DENIED_AFTER.match(sentence, max(places)),
        DENIES.search(lead) is not None,
        DOUBTS.search(lead) is not None,
    ]
    return sum(map(bool, denials)) % 2 == 0, share
