"""Options of a multiple choice that a text names by a letter in lower case: 'The answer is b.', '(b)'."""

from __future__ import annotations

import re
from typing import Final

from perpend.text.match import Answer, Mention, Side, Span, letter_form, places_of

LEADS: Final = ("answer", "option", "choice", "boxed", "choose", "pick ", "select")
"""One of these leads to an option that is given by its letter."""
PLACES: Final = 16
"""How many of them are looked at, from the last on."""
LED: Final = re.compile(
    r"[a-z]+ ?[^.;!?\n]{0,30}?[\s:({*\"'=](?P<letter>[a-z])(?=[*\"')}\].,:;!$]{1,4}(?:\s|$|\*|\))|\s*$|\s*\n)"
)
ALONE: Final = re.compile(r"[\s*(\"'$]*(?P<letter>[a-z])[)*.\"':$ ]*(?:\n|$)")
"""A line that is a letter."""


def lettered(body: str, sides: tuple[tuple[Side, Answer], ...]) -> list[Mention]:
    """The mentions of options by a letter in lower case: after a word that leads to an answer, where the clause closes,
    or as the first or last line. An option has a letter if it is found by that letter as a capital."""
    spans: set[Span] = set()
    for place in places_of(body, LEADS)[-PLACES:]:
        led = LED.match(body, place)
        if led is not None:
            spans.add(led.span("letter"))
    for start in {0, body.rfind("\n") + 1}:
        alone = ALONE.match(body, start)
        if alone is not None:
            spans.add(alone.span("letter"))
    mentions: list[Mention] = []
    for span in spans:
        capital = letter_form(body[span[0]])
        mentions += [(span, side, answer) for side, answer in sides if capital in answer.forms]
    return mentions
