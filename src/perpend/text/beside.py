"""What stands right beside a mention: a look that spares the rules where none of them can make it the answer."""

from __future__ import annotations

import re

from perpend.text.assertion import (
    COPULAS,
    FIRM_PICKS,
    PICKS,
    SLOT_SIGNS,
    SLOT_VERBS,
    SLOT_WORDS,
    VERB_NEXT,
    last_word,
)
from perpend.text.clause import WINDOW, words
from perpend.text.speech import Question
from perpend.text.voice import BETTER, FIRST_PERSON, GLOSS, STRESS

LAST_WORDS = frozenset(
    ends.split(" ")[-1] for ends in {"but"} | SLOT_SIGNS | SLOT_VERBS | SLOT_WORDS | FIRM_PICKS | PICKS | COPULAS
)
"""The words right before a mention, but for fillers, with which some rule can make it the answer."""
REWORDED = ("same as", "including m", "correct", "i mean", "scratch that", *FIRST_PERSON)
ADVERBS = ("ly", "often", "perhaps", "hands")
"""One of these is in all that `voice.own_words` rewords so that other words come to stand before the mention."""
ENDS_NEXT = re.compile(r"[ *_\"')\\$}\]°]{0,24}(?:[.!?\n]|$)|[ *_\"')\\$}\]°]{25}")
"""No word follows in the sentence."""
LOOK = 60
"""How far before a mention its last word is looked for."""


def may_state(body: str, start: int, stop: int, asked: Question) -> bool:
    """Whether `voice.weight` may give the mention more than MENTION. To ask that instead costs four times as much.

    Every rule that does so rests on where the mention stands (at the start of the text or of a line, alone, at the end
    of a sentence), on the last word before it, on a question that is repeated before it, or on what follows it.
    """
    before, after = body[max(0, start - WINDOW) : start], body[stop : stop + WINDOW]
    if start <= 80 or "\n" in before[-9:] or ENDS_NEXT.match(after) or VERB_NEXT.match(after):
        return True
    if any(map(before.__contains__, REWORDED)) or any(map(before[-40:].__contains__, ADVERBS)):
        return True
    last_words = words(before[-LOOK:])
    last = last_word(last_words)
    if last < 1 or last_words[last] in LAST_WORDS or last_words[last].endswith(("'s", "'re")):
        return True
    if STRESS.match(after) or GLOSS.match(after):
        return True
    return BETTER.match(after) is not None if asked.is_opinion else asked.repeated_in(before)
