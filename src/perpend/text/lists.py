"""Answers of several members: all of them, in any order, and none else."""

from __future__ import annotations

import re
from typing import Final

from perpend.text.clause import WINDOW
from perpend.text.match import END, WORD, Folded, Form, Span

JOINED: Final = re.compile(r"\s*[,;]\s*(?:(?:and|or|&)\s+)?|\s+(?:and|&)\s+")
LAST: Final = re.compile(r"(?:[,;]|\s)\s*(?:and|&)\s")
MOST: Final = 6
"""How many members are looked for in any order."""
_BETWEEN: Final = r"(?:[\s*_\"'.,;:&+/()\-]|\d{1,2}[.)]|and\b|the\b|an?\b){1,12}"
BULLETED: Final = re.compile(r"[ *>]*(?:[-*+]|\d{1,2}[.)])[ *_\"']*")
MORE_LINES: Final = re.compile(r"[^\n]{0,80}\n\s*(?:[-*+]|\d{1,2}[.)])\s")
MORE_NEXT: Final = re.compile(
    r"[*_\"']{0,4}(?:,?\s(?:and|or|&|plus|as well as|along with)\s(?:the\s|an?\s|also\s)?[*_\"']{0,3}"
    r"[^\W\d_][\w-]*(?:\s\w+)?"
    r"|,\s(?!and\b|or\b|which|who|as\b|not\b|but\b|in\b|with\b|because|so\b)[\w-]+)[*_\"']{0,3}\s?(?:[.!,;\n]|$)"
)
"""One more member after the last."""
MORE_BEFORE: Final = re.compile(
    r"(?:^|[:.\n]|\b(?:is|are|was|were|by|of)\s)[\s*_\"']*(?:[\w-]+\s)?[\w-]+,\s(?:and\s)?[*_\"']{0,3}$"
)
"""One more member before the first."""
MARKERS: Final = frozenset({"sure", "yes", "no", "ok", "okay", "well", "so", "answer", "indeed", "correct", "actually"})


def members(answer: str) -> tuple[str, ...]:
    """The members of a folded answer such as 'red, green, and blue': two or more joined by 'and', or three by commas.

    Each has one to three words. Empty for anything else: 'Paris, France' is one answer.
    """
    parts = tuple(part.strip() for part in JOINED.split(answer.strip(" .")))
    if not 2 <= len(parts) <= MOST or len(set(parts)) < len(parts):
        return ()
    if len(parts) == 2 and LAST.search(answer) is None:
        return ()
    if any(not 1 <= len(part.split()) <= 3 or not WORD.findall(part) or not part[0].isalnum() for part in parts):
        return ()
    return parts


def list_forms(names: tuple[str, ...]) -> list[Form]:
    """Every member once, in any order, with nothing between them but commas, 'and', articles, bullets or numbers."""
    alternatives = "|".join(r"[\s-]".join(map(re.escape, WORD.findall(name))) for name in sorted(names, reverse=True))
    pattern = r"(?<![^\W_])"
    for place in range(len(names)):
        seen = "|".join(f"(?P=m{before})" for before in range(place))
        pattern += _BETWEEN + rf"(?!(?:{seen})(?![^\W_]))" if place else ""
        pattern += rf"(?P<m{place}>{alternatives})" + ("(?![^\\W_])" if place < len(names) - 1 else END)
    return [Form(needle, pattern, check=_only) for needle in dict.fromkeys(WORD.findall(name)[0] for name in names)]


def _only(text: Folded, original: str, span: Span) -> Span | None:  # noqa: ARG001 - a check
    """The span of a list that has no further member; a list of lines begins where the line before it ends."""
    body, (start, stop) = text.text, span
    low = max(0, start - WINDOW)
    line = body.rfind("\n", low, start) + 1
    bullet = BULLETED.fullmatch(body, line, start)
    if bullet is not None:
        lead = body[low:line].rstrip()
        before = lead[lead.rfind("\n") + 1 :]
        if BULLETED.match(before) or ("\n" in body[start:stop] and MORE_LINES.match(body, stop)):
            return None
        return low + len(lead), stop
    if MORE_NEXT.match(body, stop):
        return None
    more = MORE_BEFORE.search(body[max(0, start - 40) : start])
    if more is not None and MARKERS.isdisjoint(WORD.findall(more[0])):
        return None
    return span
