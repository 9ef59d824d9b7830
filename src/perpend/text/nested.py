"""Mentions of different answers that lie inside each other."""

from __future__ import annotations

from operator import itemgetter
from typing import Final

from perpend.text.match import Mention, Span

_SPAN: Final = itemgetter(0)


def without_nested(mentions: list[Mention]) -> list[Mention]:
    """The mentions in order, less those inside a longer one: 'water' is not said by 'water vapour'.

    No two mentions of one answer are nested, so the longer one is always another answer's.
    """
    mentions = sorted(mentions, key=_SPAN)
    kept: list[Mention] = []
    first, last = 0, 0
    for (start, end), _, _ in mentions:
        if start < last:
            break
        last = end
    else:
        return mentions
    last = 0
    for mention in sorted(mentions, key=_outer_first):
        start, end = mention[0]
        if end > last:
            first, last = start, end
        elif (first, last) != (start, end):
            continue
        kept.append(mention)
    return kept


def _outer_first(mention: Mention) -> Span:
    return mention[0][0], -mention[0][1]
