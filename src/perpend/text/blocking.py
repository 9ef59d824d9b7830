"""What keeps a mention from being the model's own answer, by version 4: as `assertion.block`, asking for more.

A denial, a report and a list are claimed only on grounds that a plain statement does not have too.
"""

from __future__ import annotations

import re
from typing import Final

from perpend.text import speech
from perpend.text.assertion import SLOT, STATEMENT, is_complement
from perpend.text.clause import Clause, Place, clause, holds
from perpend.text.cues import CONCEDING, LISTING, SUPPOSING, vocabulary
from perpend.text.gap import PREPOSITIONS
from perpend.text.speech import STEM, Question

TENDENCIES: Final = vocabulary("often widely commonly frequently sometimes usually typically generally popularly")
"""Adverbs that say how often something holds. Of a fact they report only what is said, thought or called so."""
SAID: Final = vocabulary(
    "accepted agreed answered argued assumed believed chosen cited claimed confused considered described favored "
    "favoured found given held identified listed mentioned mistaken named preferred quoted recommended regarded "
    "reported said seen stated suggested taken thought viewed"
)
"""Participles of saying and thinking, which make a tendency a report."""
HEARSAY: Final = re.compile(
    r"\b(?:rumou?rs? (?:has|have) it|legend has it|word has it|the story goes"
    r"|according to (?:the |this |that |our |my )?(?:\w+ )?(?:group|crowd|people|everyone|everybody|chat|room))\b"
)
"""What is said by nobody in particular, or by the others under another name."""
HEARSAY_HINTS: Final = ("has it", "have it", "story goes", "according to")
"""One of these is in all of these."""
PEOPLE: Final = vocabulary("people person persons individuals student students developers fans friend friends")
"""Speakers whom a question may ask about."""
GENERIC_YOU: Final = re.compile(
    r"\byou (?:can|may|must|should|could|have to|need to) (?!say|think|claim|answer|believe)"
)
"""A 'you' that is anybody: of whom the question asks what they can or should do."""
USED_TO: Final = re.compile(r"[\s\"'*)\],]{0,5}(?:\w+ly |also |once |both |all )?used to\b")
"""What was so before: without a form of 'be' ('is used to measure') and without a noun ('the tool used to …')."""
RANKED: Final = re.compile(
    r"[\s\"'*)\],]{0,5}[^.;,]{0,24}?\b(?:is|was|were|are|being|as)\s(?:\w+\s){0,3}?"
    r"(?P<rank>former|formerly|once|historical|historically|old|previous|ancient|second|third|fourth|fifth)\b"
)
"""What makes the subject something else than the answer: what was before, or the next in rank."""
PARENTHESIS: Final = re.compile(
    r"[\s\"'*)]{0,4},\s(?:i (?:think|believe|guess|suppose|say)|i'd (?:say|guess)|of course|indeed|obviously|clearly"
    r"|however|therefore|naturally|actually|in fact|no doubt|without (?:a )?doubt|for sure|if you ask me"
    r"|(?:who|whose) [^,.;]{2,60}),"
)
"""Words between two commas that comment on what is said: no member of a list."""
OPENERS: Final = vocabulary(
    "yes no well fine okay ok sure right so then oh ah hmm hm alright great good thus therefore"
)
MONTHS: Final = vocabulary(
    "january february march april may june july august september october november december jan feb mar apr jun jul aug "
    "sep sept oct nov dec monday tuesday wednesday thursday friday saturday sunday"
)
DATING: Final = vocabulary("in on of since until from during early late mid last next its")
"""What makes a 'may' after it the month."""
CONTRASTING: Final = vocabulary("while whereas")
ITEM: Final = 3
"""How many words a member of a list has at most."""
JOINED_NEXT: Final = re.compile(r"[\s\"'*)]{0,4},? (?:and|or|&) (?!(?:it|that|this|is|was|has|so|the answer|i|we)\b)")


def block(  # noqa: PLR0911 - one return a rule
    place: Place, level: float, asked: Question, known: frozenset[str] = frozenset()
) -> str | None:
    """Which rule says that a mention is not the model's own answer; None when none does.

    `known`: the beginnings of the words of the sentence that asks.
    """
    near = place.clause
    if speech.is_denied_before(place.before, near):
        return "denied"
    if _is_reported(place.before, near, asked, known):
        return "reported"
    if "either" in near.kinds:
        return "undecided"
    if speech.is_supposed(place.before, near) and not _is_month(near):
        return "supposed"
    if not place.is_last:
        if _is_denied_after(place.after, asked, complement=level >= SLOT or is_complement(near)):
            return "denied"
        if speech.SAID_NEXT.match(place.after):
            return "reported"
        if speech.is_asked(place.after):
            return "asked"
    if level >= SLOT:
        is_first = place.opens() and not place.is_alone()
        return "listed" if is_first and speech.LISTED_NEXT.match(_uncommented(place.after)) else None
    listing = place.listing()
    if listing == "option":
        return "undecided"
    if (speech.is_conceded(near) and not _is_contrasted(place, level, asked)) or (
        "much as" in place.before and CONCEDED.match(place.before)
    ):
        return "conceded"
    if listing == "bullet" or is_listed(near, place.after):
        return "listed"
    return "generic" if speech.is_generic(near) else None


CONCEDED: Final = re.compile(r"[\s*\"'(-]*(?:(?:but|and|well|yes|no),? )?(?:as )?much as [^,.;]{0,60}$")
"""A concession that no conjunction marks: 'much as I love …'."""


def _is_reported(before: str, near: Clause, asked: Question, known: frozenset[str]) -> bool:
    """As `speech.is_reported`, but of a fact a tendency reports only before a participle of saying.

    'A spider typically has eight legs' is a statement; 'is commonly believed to be' is a report. Of an opinion, what is
    often chosen is not what the model chooses. What the question itself says of people ('what should people choose?')
    is no report.
    """
    near_words = near.near
    if not asked.is_opinion and not near.kinds.isdisjoint(TENDENCIES):
        for place, word in enumerate(near_words):
            if word in TENDENCIES and not SAID.isdisjoint(near_words[place + 1 : place + 3]):
                return True
        near = clause(" ".join([word for word in near_words if word not in TENDENCIES]))
    if holds(before, HEARSAY_HINTS) and HEARSAY.search(before) is not None:
        return True
    if not speech.is_reported(before, near):
        return False
    own = [word for word in near.near if word in PEOPLE and word[:STEM] in known]
    if "you" in known and GENERIC_YOU.search(" ".join(near.near)):
        own.append("you")
    return not own or speech.is_reported("", clause(" ".join([word for word in near.near if word not in own])))


def _is_contrasted(place: Place, level: float, asked: Question) -> bool:
    """Whether the clause is stated beside another, and does not give way to it: '…, while X …' after a clause."""
    if level < STATEMENT or not place.clause.kinds & CONCEDING <= CONTRASTING:
        return False
    before = place.clause.words
    start = len(before) - next(n for n, word in enumerate(reversed(before)) if word in CONTRASTING)
    return start > 1 and asked.repeated_in(" ".join(before[start:]) + place.after)


def _is_month(near: Clause) -> bool:
    """Whether the only word that supposes is a 'may' that names the month."""
    if near.kinds & SUPPOSING != {"may"}:
        return False
    place = near.near.index("may")
    return near.near[place + 1 : place + 2] == [] or near.near[place + 1].isdigit() or near.near[place - 1] in DATING


def _is_denied_after(after: str, asked: Question, *, complement: bool) -> bool:
    """As `speech.is_denied_after`, but 'used to' denies only as a past habit, and a rank that was asked for never."""
    if speech.DENIED_NEXT.match(after):
        return True
    if complement:
        return False
    if holds(after, speech.LATER_HINTS) and speech.DENIED_LATER.match(after):
        return True
    if not holds(after, speech.BYGONE_HINTS):
        return False
    if USED_TO.match(after):
        return True
    ranked = RANKED.match(after)
    return ranked is not None and ranked["rank"][:STEM] not in asked.stems


def is_listed(near: Clause, after: str) -> bool:
    """Whether it is one of several: both … and, after such as or between, or joined by a second comma or an 'and'.

    One comma before the mention lists nothing: it closes an opening ('Measured so, X is …'), an interjection ('Fine,
    X'), or stands in a date ('November 9, 1989').
    """
    near_words = near.near
    if "both" in near.kinds and ("and" in near_words or " and " in after):
        return True
    if not near.kinds.isdisjoint(LISTING):
        return True
    if near_words and near_words[-1] in {"and", ","} and _follows_items(near_words, after):
        return True
    return speech.LISTED_NEXT.match(_uncommented(after)) is not None


def _follows_items(near_words: list[str], after: str) -> bool:
    """Whether the comma or 'and' before the mention joins it to a member of a list."""
    end = len(near_words) - 1
    if near_words[end] == "and" and end and near_words[end - 1] == ",":
        end -= 1
        if "," not in near_words[max(0, end - ITEM - 1) : end]:
            return False
    elif near_words[end] == "," and JOINED_NEXT.match(after) is not None:
        return True
    comma = end - 1
    while comma >= 0 and near_words[comma] != ",":
        comma -= 1
    item = near_words[comma + 1 : end]
    if comma < 0 or not 0 < len(item) <= ITEM:
        return False
    return OPENERS.isdisjoint(item) and item[0] not in MONTHS and item[0] not in PREPOSITIONS


def _uncommented(after: str) -> str:
    comment = PARENTHESIS.match(after) if after[:8].find(",") >= 0 else None
    return after if comment is None else after[comment.end() :]
