"""Where a mention stands: its sentence, its line, and whether it opens the text or stands alone. Input is folded."""

from __future__ import annotations

import re
from typing import NamedTuple

from perpend.text import sentences
from perpend.text.clause import Clause, blanking, clause, vocabulary, words

WINDOW = 240
"""How much of a sentence is read on either side of a mention."""
LINE_LEAD = re.compile(r"[\s*_\"'#>$(\\{\[]*(?:(?:the|an?)\s)?[*_\"']{0,3}")
OPENING = vocabulary(
    "yes sure ok okay certainly of course well right indeed correct absolutely exactly definitely i think believe d s "
    "say would it is that be text textbf boxed the a an agent answer final option choice letter clearly without doubt "
    "no wait hmm actually sorry oh obviously naturally simply , : = b c e f g h"
)
"""Words before an answer that opens a text or is a sentence by itself: 'Yes, it's definitely …', 'Agent F: …'."""
_PAUSES = blanking(".>-'#/")


class Place(NamedTuple):
    """A mention that begins at `start` with what stands before and after it in its sentence, which begins at `low`.

    `line` is where its line begins, and `listing` which list the line is part of. What few mentions are asked for is
    worked out when asked for.
    """

    body: str
    start: int
    low: int
    line: int
    before: str
    after: str
    clause: Clause
    listing: sentences.Listing | None

    def lead(self) -> str:
        """What leads to the mention, over lines."""
        return self.body[max(0, self.start - WINDOW) : self.start]

    def opens(self) -> bool:
        """Whether nothing but an opening stands before it in the text, or in a sentence that it ends."""
        if self.listing is not None:
            return False
        if self.start <= 80 and _is_opening(self.body[: self.start]):
            return True
        # A text may stop in the middle of a sentence: only a mark makes a fragment a sentence of its own.
        is_fragment = not self.after.strip(" *_\"'.!)\n") and self.after.strip(" ") != ""
        return is_fragment and self.start - self.low <= 40 and _is_opening(self.before)

    def is_alone(self) -> bool:
        """Whether nothing else stands in its line; a single lettered option is alone too."""
        if self.listing is not None:
            return False
        if self.start - self.line <= 8 and sentences.OPTION.fullmatch(self.body, max(0, self.line - 1), self.start):
            return True
        is_end = len(self.after) < 24 and not self.after.strip(" *_\"'.!$)\\}]°\n")
        return is_end and LINE_LEAD.fullmatch(self.body, self.line, self.start) is not None


def locate(body: str, start: int, stop: int) -> Place:
    """The place of the mention `body[start:stop]`."""
    low, high = sentences.bounds(body, start, stop)
    line = body.rfind("\n", max(0, start - WINDOW), start) + 1
    before, after = body[max(low, start - WINDOW) : start], body[stop : min(high, stop + WINDOW)]
    return Place(body, start, low, line, before, after, clause(before), sentences.listing(body, line))


def _is_opening(lead: str) -> bool:
    return OPENING.issuperset(words(lead.translate(_PAUSES)))
