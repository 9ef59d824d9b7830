"""What a question asks about, so that a sentence that answers it can be known."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from perpend.text.clause import vocabulary, words
from perpend.text.normalise import fold

WORD = re.compile(r"[^\W_]+")
NUMERAL = re.compile(r"\d+(?:\.\d+)?")
STOP_WORDS = vocabulary(
    "what which who whom whose where when why how the and for are was were does did you your yours our their its his "
    "her with from that this these those have has had can could will would should than then there here about into "
    "over many much approximately following most likely been being not true false yes"
)
_OPERATORS = {
    "add": ("+", "plus", "add", "sum"),
    "subtract": (" - ", "minus", "subtract", "difference"),
    "multiply": ("*", " x ", "times", "multipl", "product"),
    "divide": ("/", "divid", "quotient"),
    "root": ("root", "√", "sqrt"),
}
STEM, STEMS = 5, 12
"""A content word is known by its first five letters, so that 'orbits' is 'orbit'; the first twelve words count."""


@dataclass(frozen=True, slots=True)
class Question:
    """The beginnings of a question's content words, its numbers and its operators.

    `focus` is the first content word of the sentence that asks. `is_opinion`: nothing is right. `asks_you`: it speaks
    to 'you'.
    """

    stems: tuple[str, ...]
    focus: str
    numerals: tuple[str, ...]
    operators: frozenset[str]
    is_past: bool
    is_opinion: bool
    asks_you: bool

    def named_in(self, text: str) -> bool:
        """Whether a content word stands in the text; of a question without any, everything may speak."""
        return not self.stems or any(stem in text for stem in self.stems)

    def repeated_in(self, text: str) -> bool:
        """Whether three of five content words, and at least two, stand in the text."""
        return len(self.stems) >= 2 and sum(stem in text for stem in self.stems) >= 0.6 * len(self.stems)

    def computed_in(self, text: str) -> bool:
        """Whether the text ends in the expression that the question asks for; without numbers, whether it names it."""
        numerals = NUMERAL.findall(text)
        if not numerals:
            return self.named_in(text)
        if not self.operators or tuple(numerals[-len(self.numerals) :]) != self.numerals:
            return False
        unmarked = text.replace("**", "")
        return any(sign in unmarked for name in self.operators for sign in _OPERATORS[name])


def _stems(text: str, own: set[str]) -> tuple[str, ...]:
    found = [word[:STEM] for word in WORD.findall(text) if len(word) >= 3 and not word.isdigit() and word not in own]
    return tuple(dict.fromkeys(found))[:STEMS]


def last_question(prompt: str) -> str:
    """The last sentence that asks something; the whole prompt when there is none, or nothing is asked about in it."""
    end = prompt.rfind("?") + 1
    start = max(prompt.rfind(mark, 0, max(0, end - 1)) for mark in (". ", "? ", "! ", "\n")) + 1
    asked = prompt[start:end]
    return asked if any(len(word) > 2 and word not in STOP_WORDS for word in WORD.findall(fold(asked).text)) else prompt


@lru_cache(maxsize=1 << 13)
def question(prompt: str, answers: tuple[str, ...], *, is_opinion: bool) -> Question:
    """What to expect in a sentence that answers `prompt`. Words of the answers themselves do not count."""
    text = fold(prompt[-600:]).text
    own = set(WORD.findall(" ".join(fold(answer).text for answer in answers))) | STOP_WORDS
    stems = _stems(text, own)
    return Question(
        stems=stems,
        focus=next(iter(_stems(fold(last_question(prompt)).text, own)), next(iter(stems), "")),
        numerals=tuple(NUMERAL.findall(text)),
        operators=frozenset(name for name, signs in _OPERATORS.items() if any(sign in text for sign in signs)),
        is_past=not {"was", "were", "did"}.isdisjoint(words(text)),
        is_opinion=is_opinion,
        asks_you="you" in words(text),
    )
