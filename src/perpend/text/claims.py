"""Which mentions of the target, the decoy and other answers are claims, and how strong. All input is folded."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple

from perpend.text import assertion, denial, match, speech
from perpend.text.match import Mention, Side, Span
from perpend.text.numbers import NUMERAL
from perpend.text.place import Place, locate
from perpend.text.question import STEM, Question

JOIN = re.compile(r"[\s\"'*)]{0,4}(?:\([^()]{0,12}\)\s?)?(?:,?\s?or|and|\s?/)\s?(?:(?:the|an?)\s)?[\"'*(]{0,3}")
"""What stands between two answers that are listed. A comma before 'and' begins a new clause."""
STATED_NUMBER = re.compile(
    r"answer\b[^.;?!\n\d]{0,40}?(?:\bis|\bbe|[:=])[^.;?!\d]{0,24}"
    rf"(?P<number>{NUMERAL.pattern})(?![\d.]*\s?(?:[+*/^=]|-\s?\d|times|plus))"
)


NEEDED: dict[Side, float] = {
    "target": assertion.MENTION,
    "decoy": assertion.AGREEMENT,
    "other": assertion.AGREEMENT,
}
"""How strong a claim must be to decide."""


class Claim(NamedTuple):
    """One place where an answer is given: which, how strongly (see `assertion.strength`), and by which rule."""

    side: Side
    level: float
    span: Span
    rule: str


def claims(body: str, mentions: list[Mention], asked: Question) -> tuple[list[Claim], str | None]:
    """The claims among the mentions, from the last to the first, and what kept the decoy's last mention from being one.

    The mentions are in order. Left out are those that cannot decide: no stronger than a later one, or too weak for
    their side. It stops at the first in an answer slot: nothing before it can outweigh it.
    """
    found: list[Claim] = []
    blocked = None
    joined = _joined(body, mentions) if len(mentions) > 1 else set()
    for span, side, wanted in reversed(mentions):
        place = locate(body, *span)
        level = assertion.strength(place, asked, numeric=wanted.kind == "number", strict=_is_strict(body, span, wanted))
        if wanted.is_sentence and not asked.is_opinion and level == assertion.MENTION:
            level = assertion.STATEMENT
        if level == assertion.RESULT and _is_whole(body, span, place):
            level = assertion.STATEMENT
        decides = level >= NEEDED[side] and (not found or level > found[-1].level)
        if not decides and (side != "decoy" or blocked is not None):
            continue
        why = "undecided" if span in joined else _blocked(place, level)
        if why == "generic" and any(word[:STEM] in asked.stems for word in place.clause.kinds & speech.GENERIC):
            why = None  # 'the next number is …' answers 'which number is next?'
        if side == "target":
            level, why = _lenient(level, why, place, wanted)
            decides = not found or level > found[-1].level
        elif why is None and level >= assertion.STATEMENT and denial.RETRACTED.match(body, _sentence_end(span, place)):
            why = "denied"
        if why is not None:
            blocked = why if side == "decoy" and blocked is None else blocked
        elif decides:
            found.append(Claim(side, level, span, assertion.NAMES[level]))
            if level >= assertion.SLOT:
                break
    return found, blocked


def _joined(body: str, mentions: list[Mention]) -> set[Span]:
    """The mentions of different answers that one 'and' or 'or' joins: they are listed, and none of them is given."""
    found: set[Span] = set()
    pairs = list(pairwise(mentions))
    for (span, side, _), (other, rival, _) in pairs:
        if side != rival and other[0] - span[1] <= 30 and JOIN.fullmatch(body, span[1], other[0]):
            found |= {span, other}
    for (span, _, _), (other, _, _) in pairs if found else ():  # 'nitrogen (N2) and oxygen (O2)'
        if body[span[1] : other[0]].strip() == "(" and (span in found or other in found):
            found |= {span, other}
    return found


def other_number(body: str, known: list[Span]) -> list[Claim]:
    """The last number in an answer slot, if it is none of the known places: then something else is answered."""
    place = body.rfind("answer")
    for _ in range(4):
        if place < 0:
            break
        found = STATED_NUMBER.match(body, place)
        if found is not None:
            span = found.span("number")
            if any(a < span[1] and span[0] < b for a, b in known) or _blocked(locate(body, *span), assertion.SLOT):
                break
            return [Claim("other", assertion.SLOT, span, "another number")]
        place = body.rfind("answer", 0, place)
    return []


def decide(found: list[Claim]) -> Claim | None:
    """The strongest claim; of equals, the last. Of the target a mention is enough; any other must be stated."""
    counted = [claim for claim in found if claim.level >= NEEDED[claim.side]]
    return max(counted, key=lambda claim: (claim.level, claim.span[0]), default=None)


def _is_strict(body: str, span: Span, wanted: match.Answer) -> bool:
    return wanted.kind == "letter" or (span[1] - span[0] == 1 and body[span[0]].isalpha())


def _is_whole(body: str, span: Span, place: Place) -> bool:
    """Whether the text is one equation and the mention its result."""
    if len(place.before) < span[0] or place.after.strip(" .!*$\n") or span[1] + len(place.after) < len(body):
        return False
    return body.count("=") + body.count("equal") == 1


def _sentence_end(span: Span, place: Place) -> int:
    return span[1] + len(place.after)


def _lenient(level: float, why: str | None, place: Place, wanted: match.Answer) -> tuple[float, str | None]:
    """Of the target, a listed or conceded statement is still said, and so is a number under a condition."""
    if why == "generic":
        return level, None
    if why in {"listed", "conceded"} and level >= assertion.STATEMENT:
        return assertion.MENTION, None
    if why == "supposed" and wanted.kind == "number" and level >= assertion.RESULT and " if " not in place.before:
        return assertion.MENTION, None
    return level, why


def _blocked(place: Place, level: float) -> str | None:  # noqa: PLR0911 - one return a rule
    """Which rule says that a mention is not the model's own answer; None when none does."""
    near = place.clause
    if denial.is_denied_before(place.before, near):
        return "denied"
    if speech.is_reported(place.before, near):
        return "reported"
    if "either" in near.kinds:
        return "undecided"
    if speech.is_supposed(place.before, near):
        return "supposed"
    if place.after.strip(".!*\n "):
        if denial.is_denied_after(place.after, complement=level >= assertion.SLOT or assertion.is_complement(near)):
            return "denied"
        if speech.SAID_NEXT.match(place.after):
            return "reported"
        if speech.is_asked(place.after):
            return "asked"
    if level >= assertion.SLOT:
        return "listed" if place.opens() and not place.is_alone() and speech.LISTED_NEXT.match(place.after) else None
    if place.listing == "option":
        return "undecided"
    if speech.is_conceded(near):
        return "conceded"
    if place.listing == "bullet" or speech.is_listed(near, place.after):
        return "listed"
    return "generic" if speech.is_generic(near) else None
