"""Yes or no: what a text says to a question that asks for one of them. All input is folded."""

from __future__ import annotations

import re

from perpend.text import speech
from perpend.text.clause import clause
from perpend.text.question import Question
from perpend.text.sentences import bounds

SENTENCES = 200
"""How many sentences are read for an answer."""
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
WORD_CLOSES = re.compile(r"[*_\"')\]}]{0,4}(?:$|[.,;:!—\n]|\s-|\s(?:because|since|as)\b)")
WORD_OPENS = re.compile(
    r"(?:(?:^|\n)(?:(?:it's|it is|definitely|clearly|simply)\s){0,2}|:\s"
    r"|\banswer(?: to [^.\n]{0,60})?(?: is|:| -)(?:[^.\n]{0,16}(?:definitely|simply|clearly|is|it's|a|:))?)"
    r"[\s*_\"'$({\\#>]{0,6}(?:boxed\{?|text\{?)?$"
)
"""Where a bare yes or no is an answer: at the start of a text or line, or in an answer slot."""
DENIES = re.compile(r"\b(?:not|never|cannot|fails to|isnt|no one|nobody|none)\b|n't\b")
DOUBTS = re.compile(r"\b(?:disput\w+|doubt\w*|den(?:y|ies|ied)|question(?:s|ed)?|disagree\w*)\b[^.]{0,20}$")
REJECTS = re.compile(
    r"[\s*_\"',.!]{0,4}(?:that|this|your answer|the (?:claim|answer))(?:'s| is| was)\s(?:\w+\s)?"
    r"(?:incorrect|wrong|not|false)"
)
"""What makes a 'no' the denial of somebody's claim instead of an answer to the question."""


def polar(text: str, asked: Question) -> tuple[bool, tuple[int, int], str] | None:
    """What the text answers, where, and by which rule; None when it answers neither yes nor no.

    The last statement that repeats the question decides, else the last bare yes or no. A statement repeats the
    question when it has its first content word, half of them all, and all its numbers.
    """
    stated = worded = None
    start = 0
    for _ in range(SENTENCES):
        if start >= len(text):
            break
        end = max(bounds(text, start, start)[1], start + 1)
        sentence = text[start:end]
        value = _stated(sentence, asked)
        if value is not None:
            stated = value, (start, start + len(sentence.rstrip())), "stated"
        for word in POLAR_WORD.finditer(sentence):
            span = start + word.start(), start + word.end()
            if WORD_CLOSES.match(sentence, word.end()) and _is_answer(text, span, sentence[: word.start()], asked):
                worded = _VALUES[word[0]], span, "given as the answer"
        start = end
    return stated or worded


def _is_answer(text: str, span: tuple[int, int], before: str, asked: Question) -> bool:
    lead = text[max(0, span[0] - 90) : span[0]]
    repeated = lead.rstrip().endswith("?") and asked.stems[:1] != () and asked.stems[0] in lead
    if not repeated and WORD_OPENS.search(lead) is None:
        return False
    return REJECTS.match(text, span[1]) is None and not speech.is_reported("", clause(before))


def _stated(sentence: str, asked: Question) -> bool | None:
    """Whether the sentence affirms what was asked; None when it does not speak of it, or not in the model's voice."""
    stems = [place for stem in asked.stems if (place := sentence.find(stem)) >= 0]
    numerals = [sentence.find(numeral) for numeral in asked.numerals]
    if not stems or asked.stems[0] not in sentence or len(stems) < 0.5 * len(asked.stems) or -1 in numerals:
        return None
    places = stems + numerals
    before = sentence[: min(places)]
    near = clause(before)
    asking = sentence.rstrip("\"'*) \n").endswith("?")
    if asking or speech.is_reported(before, near) or speech.is_supposed(before, near):
        return None
    lead = " ".join(near.near)
    denials = [
        DENIES.search(sentence[min(places) : max(places) + 8]) is not None,
        DENIES.search(lead) is not None,
        DOUBTS.search(lead) is not None,
    ]
    return sum(denials) % 2 == 0
