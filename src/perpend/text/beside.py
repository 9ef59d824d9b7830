"""What stands right beside a mention: a look that spares the rules where none of them can make it the answer."""

from __future__ import annotations

import re
from typing import Final

from perpend.text.assertion import (
    COPULAS,
    FILLERS,
    FIRM_PICKS,
    IS_THE,
    NAMED_ANSWER,
    OWN,
    PICKS,
    SLOT_SIGNS,
    SLOT_VERBS,
    SLOT_WORDS,
    VERB_NEXT,
    last_word,
)
from perpend.text.clause import WINDOW, begin, holds, words
from perpend.text.speech import Question
from perpend.text.voice import ASIDE, BETTER, CHOSEN, FIRST_PERSON, REGARDED

LAST_WORDS: Final = frozenset({"but"}) | SLOT_SIGNS | SLOT_VERBS | SLOT_WORDS | COPULAS
"""The words right before a mention, but for fillers, with which some rule can make it the answer."""
LAST_PICKS: Final = frozenset(ends.split(" ")[-1] for ends in FIRM_PICKS | PICKS) - LAST_WORDS
"""Such words too, after one of the model's `OWN`."""
REWORDED: Final = ("same as", "including m", "correct", "i mean", "scratch that", *FIRST_PERSON)
ADVERBS: Final = ("ly", "often", "perhaps", "hands")
"""One of these is in all that `voice.own_words` rewords so that other words come to stand before the mention."""
STRESS_NEXT: Final = re.compile(rf"[ *_\"')\\$}}\]°]{{0,24}}(?:[.!?\n]|$)|[ *_\"')\\$}}\]°]{{25}}|{ASIDE.pattern}")
"""No word follows in the sentence, or only such as stress the mention."""
PRAISE: Final = re.compile(f"{NAMED_ANSWER.pattern}|{CHOSEN.pattern}|{REGARDED.pattern}")
"""Where a verb follows the mention, this matches what makes it the answer, or the question's focus is in it."""
NEAR: Final = 10
"""Up to so many characters after the beginning of its line, a mention may be alone in it."""


def may_state(body: str, start: int, stop: int, asked: Question) -> bool:  # noqa: PLR0911 - one a rule
    """Whether `voice.weight` may give the mention `body[start:stop]` more than MENTION. To ask that costs far more.

    Every rule that does so rests on where the mention stands (at the start of the text or of a line, alone, at the end
    of a sentence), on the last word before it, on a question that is repeated before it, or on what follows it.
    """
    if start <= 80 or STRESS_NEXT.match(body, stop):
        return True
    if VERB_NEXT.match(body, stop):
        is_the = IS_THE.match(body, stop)
        if (is_the is not None and asked.focus in is_the["rest"]) or PRAISE.match(body, stop):
            return True
    if asked.is_opinion and BETTER.match(body, stop):
        return True
    before = body[begin(body, start) : start][-WINDOW:]
    if before in {"- ", "- **"}:  # a bullet: no word of its sentence, and a dash that opens no slot
        return False
    if holds(before, REWORDED) or holds(before[-40:], ADVERBS):
        return True
    if len(before) < NEAR:
        return True
    bare = before.rstrip()
    word = bare[bare.rfind(" ") + 1 :]
    if not word.isalpha() or word in FILLERS or word in LAST_PICKS:  # else it is the last of the words, as it stands
        last_words = words(before)
        last = last_word(last_words)
        if last < 0 or last_words[last].endswith(("'s", "'re")):
            return True
        word = last_words[last]
        if word in LAST_PICKS and not OWN.isdisjoint(last_words):
            return True
    return word in LAST_WORDS or (not asked.is_opinion and asked.repeated_in(before))
