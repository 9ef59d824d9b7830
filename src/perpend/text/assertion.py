"""What a text asserts of a mention: the cues around it, and the claim that they come to."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

from perpend.text import match, speech
from perpend.text import speech as denial
from perpend.text.clause import Clause, Place, holds, locate, words
from perpend.text.cues import GENERIC as GENERIC_WORDS
from perpend.text.cues import vocabulary
from perpend.text.match import Mention, Side, Span
from perpend.text.numbers import NUMERAL
from perpend.text.speech import STEM, Question

SLOT: Final = 3.0
STATEMENT: Final = 2.0
AGREEMENT: Final = 1.8
RESULT: Final = 1.5
MENTION: Final = 1.0
OPERAND: Final = 0.0
NAMES: Final = {
    SLOT: "given as the answer",
    STATEMENT: "stated",
    RESULT: "computed",
    MENTION: "named",
    OPERAND: "in passing",
}

FILLERS: Final = vocabulary(
    ", ' > indeed actually definitely certainly clearly approximately about roughly around simply just exactly "
    "really truly still also then now probably likely undoubtedly obviously officially currently always fact far "
    "nearly in by text textbf mathrm mathbf the a an number value city letter through to of into called known "
    "found located situated as yes that usd only well correct equal none other than both either"
)
"""Words that may stand between a verb and its complement."""
ANSWER_WORDS: Final = vocabulary("answer answer's conclusion solution verdict result")
SLOT_SIGNS: Final = vocabulary(": = - —")
SLOT_VERBS: Final = vocabulary("is be remains stays as with")
SLOT_WORDS: Final = vocabulary("boxed option choice")
PICKS: Final = vocabulary(
    "prefer choose pick favor favour love like enjoy say select recommend answer",
    *("go with", "going with", "stick with", "opt for", "vote for", "lean towards"),
)
FIRM_PICKS: Final = vocabulary("choose pick say select answer with")
"""Picks that are an answer, and not a liking only."""
OWN: Final = vocabulary("i i'd i'll i'm i've we we'd my")
COPULAS: Final = vocabulary(
    "is are was were be been remains remain becomes become equals equal gives give yields makes make making has have "
    "means get at around turns turn = : stays"
)
HOLDING: Final = vocabulary("has have at around get gives give makes make yields making")
"""Verbs whose complement need not be what the subject is: of these a pronoun is no subject."""
PAST: Final = vocabulary("was were been")
RESULTS: Final = vocabulary("= equals equal gives give yields makes make get")
POINTERS: Final = vocabulary("it it's this they these those they're i answer would my")
"""Subjects that stand for what was asked."""
OTHERS: Final = vocabulary("its their his her")
CONCLUDING: Final = vocabulary("so therefore thus hence total altogether finally conclusion overall")
CORRECTING: Final = vocabulary("actually fact however correction reality correct")
CORRECTING_HINTS: Final = ("actually", "fact", "however", "correct", "reality")
"""One of these is in every such word."""
OPERAND_BEFORE: Final = re.compile(
    r"(?:[+/^÷√]|(?<!\*)\*(?!\*)|\d\s?-"
    r"|\b(?:plus|minus|times|by|over|sqrt|of|from|multiply|divide|add|subtract|x))[\s({*\\$]{0,3}$"
)
OPERAND_AFTER: Final = re.compile(
    r"[\s)}*\\$]{0,3}(?:[+/^÷²³=]|\*\s?\d|-\s?\d|x\s?\d"
    r"|(?:times|plus|minus|squared|cubed|divided|multiplied|percent of)\b|\\(?:times|div|cdot))"
)
VERB_NEXT: Final = re.compile(
    r"(?:\s[a-z]+)?[\s\"'*)\]_}.]{0,6}"
    r"(?:s|is|are|remains?|would|it|must|should|has|serves|sounds|seems|feels|looks|makes?)\b"
)
"""A look ahead that spares the two patterns below."""
_ADVERBS: Final = r"(?:(?:(?!only)\w+ly|indeed|still|in fact|by far|therefore|also)\s){0,2}"
_NOUN: Final = r"(?:\s(?!which|that|who|and|but|or|not|is|are)[a-z]+)?"
NAMED_ANSWER: Final = re.compile(
    rf"{_NOUN}[\s\"'*)\]_}}.]{{0,5}}(?:'s|\s?(?:is|are|remains?|would be|it is|must be|should be|has to be))\s"
    rf"{_ADVERBS}"
    r"(?:(?:the|my|our)\s(?:\w+\s){0,2}?)?[*\"]{0,3}"
    r"(?:correct|right|answer|best|favou?rite|ideal|preferred|choice|pick|winner)\b"
    r"|[\s\"'*)]{0,4}(?:sounds|seems|feels|looks|makes?)\s(?:\w+\s)?(?:perfect|best|ideal|right)\b"
    r"|[\s\"'*)]{0,4}it is\s?(?:[.!,;]|$)"
)
IS_THE: Final = re.compile(
    rf"{_NOUN}[\s\"'*)\]_}}]{{0,5}}(?:'s|\s?(?:is|are|remains?|serves as|has been))\s{_ADVERBS}"
    r"(?:the|my|our|\w+'s)\s(?P<rest>[^.;\n]{0,70})"
)
GENERIC: Final = re.compile(
    r"\b(?:often|commonly|widely|frequently|popular|for many|for some|among|many people|one of|some of)\b"
)
CLOSING: Final = re.compile(
    r"[\s*_\"')\]$}.°]{0,6}(?:$|\n|[.!,;:—(]|-\s|\s(?:because|since|as|is what|of course|for me|in my)\b)"
)
COUNTED: Final = re.compile(
    r"(?!\s?(?:is|are|was|were|can|could|would|will|has|have|it|goes|comes|may|might|isn't|can't)\b)"
    r"[ *]?[a-z%°][^\s.,;:+=-]*(?:\s[a-z][^\s.,;:+=-]*){0,2}[.!*)]{0,3}\s*$"
)
"""What a number counts or its unit, at the end of its sentence: '9 planets.'."""
_BLANK: Final = ' \n*_"()[]{}$\\!?#~'


def strength(place: Place, asked: Question, *, numeric: bool, strict: bool) -> float:
    """SLOT, STATEMENT, RESULT, MENTION or OPERAND: how much the place makes the mention the answer.

    `numeric` answers count only where a number is stated; `strict` ones (a letter) only in a slot.
    """
    verb = last_word(place.clause.near)
    if (
        _fills_slot(place, verb)
        or place.is_alone()
        or (place.may_open() and CLOSING.match(place.after) and place.opens())
    ):
        return SLOT
    if strict or (numeric and (OPERAND_BEFORE.search(place.before[-16:]) or OPERAND_AFTER.match(place.after))):
        return OPERAND
    if numeric and place.may_open() and COUNTED.match(place.after) and place.opens():
        return SLOT
    level = _as_complement(place, asked, verb, numeric=numeric)
    if not place.is_last and VERB_NEXT.match(place.after):
        if NAMED_ANSWER.match(place.after) and not GENERIC.search(place.after[:60]):
            return SLOT
        level = max(level, as_subject(place.after, asked))
    if level >= STATEMENT:
        beside = place.before[-60:] + place.after[:24]
        if holds(beside, CORRECTING_HINTS) and not CORRECTING.isdisjoint(words(beside)):
            return SLOT
    return level


def is_complement(near: Clause) -> bool:
    """Whether the mention completes a verb: 'the capital is X'."""
    verb = last_word(near.near)
    return verb >= 0 and _is_copula(near.near[verb])


def is_computed(place: Place) -> bool:
    """Whether the mention is the result of an equation: '6 + 7 = …', '6 times 7 gives …'."""
    verb = last_word(place.clause.near)
    return verb >= 0 and place.clause.near[verb] in RESULTS


def last_word(found: list[str]) -> int:
    """The place of the last word before the mention that is no filler; -1 when there is none."""
    place = len(found) - 1
    while place >= 0 and found[place] in FILLERS:
        place -= 1
    return place


def _is_copula(word: str) -> bool:
    return word in COPULAS or word.endswith(("'s", "'re"))


def _picks(found: list[str], verb: int) -> bool:
    """Whether the words up to `verb` are the model's own choosing: 'I would go with …'."""
    if verb < 1 or (found[verb] not in PICKS and f"{found[verb - 1]} {found[verb]}" not in PICKS):
        return False
    return not OWN.isdisjoint(found[max(0, verb - 4) : verb])


def _fills_slot(place: Place, verb: int) -> bool:
    """Whether what leads to the mention opens an answer slot: 'answer: …', 'the correct answer is …', a box."""
    tail, near = place.clause.words, place.clause.near
    if verb >= 0 and near[verb] in FIRM_PICKS and _picks(near, verb):
        return True
    verb = verb + len(tail) - len(near) if verb >= 0 else last_word(tail)
    if verb < 0:  # the slot may have been opened on a line before
        lead = place.lead()
        if lead.rstrip(_BLANK).endswith("."):
            return False
        tail = words(lead)[-24:]
        verb = last_word(tail)
    marked = False
    while verb >= 0 and tail[verb] in SLOT_SIGNS:
        marked = True
        verb = last_word(tail[:verb])
    if verb < 0:
        return False
    if tail[verb] in SLOT_WORDS or (marked and (tail[verb] in ANSWER_WORDS or tail[verb] in CONCLUDING)):
        return True
    if tail[verb] not in SLOT_VERBS and not tail[verb].endswith("'s"):
        return False
    return not ANSWER_WORDS.isdisjoint(tail[max(0, verb - 24) : verb])


def _as_complement(place: Place, asked: Question, verb: int, *, numeric: bool) -> float:  # noqa: PLR0911 - one a rule
    near = place.clause.near
    if verb < 0:
        return STATEMENT if _is_contrast(place.clause.words) else MENTION
    if _picks(near, verb):
        return STATEMENT
    word = near[verb]
    if not _is_copula(word):
        return STATEMENT if not numeric and not asked.is_opinion and asked.repeated_in(" ".join(near)) else MENTION
    if word in PAST and not asked.is_past:
        return MENTION
    subject = near[:verb] if word in COPULAS else near[: verb + 1]
    if not OTHERS.isdisjoint(subject):
        return RESULT
    if subject[-1:] == ["which"] and not numeric:
        return MENTION
    if numeric:
        return _as_number(place, asked, subject, word)
    if word not in HOLDING and not POINTERS.isdisjoint(subject[-6:]):
        return STATEMENT
    if asked.asks_you and subject[-1:] == ["you"]:
        return STATEMENT
    return STATEMENT if asked.named_in(" ".join(subject)) else MENTION


def _is_contrast(found: list[str]) -> bool:
    """Whether the words end in the contrast that states what comes next: '… is not A but'."""
    return "not" in found and last_word(found) == len(found) - 1 and found[-1] == "but"


def _as_number(place: Place, asked: Question, subject: list[str], verb: str) -> float:
    """A number is stated of what was asked; any other is a result on the way."""
    if asked.computed_in(place.before[-60:] if verb in RESULTS else " ".join(subject)):
        return STATEMENT
    if verb in RESULTS:
        return RESULT if CONCLUDING.isdisjoint(place.clause.words) else STATEMENT
    stated = subject and (subject[-1] == "there" or not POINTERS.isdisjoint(subject))
    return STATEMENT if stated or asked.named_in(" ".join(subject)) else RESULT


def as_subject(after: str, asked: Question) -> float:
    copula = IS_THE.match(after)
    if copula is None or asked.focus not in copula["rest"]:
        return MENTION
    return MENTION if GENERIC.search(copula["rest"]) else STATEMENT


JOIN: Final = re.compile(r"[\s\"'*)]{0,4}(?:\([^()]{0,12}\)\s?)?(?:,?\s?or|and|\s?/)\s?(?:(?:the|an?)\s)?[\"'*(]{0,3}")
"""What stands between two answers that are listed. A comma before 'and' begins a new clause."""
STATED_NUMBER: Final = re.compile(
    r"answer\b[^.;?!\n\d]{0,40}?(?:\bis|\bbe|[:=])[^.;?!\d]{0,24}"
    rf"(?P<number>{NUMERAL.pattern})(?![\d.]*\s?(?:[+*/^=]|-\s?\d|times|plus))"
)


NEEDED: Final[dict[Side, float]] = {
    "target": MENTION,
    "decoy": AGREEMENT,
    "other": AGREEMENT,
}
"""How strong a claim must be to decide."""


class Assertion:
    """One place where an answer is given: which, how strongly (see `strength`), and by which rule."""

    __slots__ = ("level", "rule", "side", "span")

    def __init__(self, side: Side, level: float, span: Span, rule: str) -> None:
        self.side, self.level, self.span, self.rule = side, level, span, rule


def claims(body: str, mentions: list[Mention], asked: Question) -> tuple[list[Assertion], str | None]:
    """The claims among the mentions, from the last to the first, and what kept the decoy's last mention from being one.

    The mentions are in order. Left out are those that cannot decide: no stronger than a later one, or too weak for
    their side. It stops at the first in an answer slot: nothing before it can outweigh it.
    """
    claims: list[Assertion] = []
    blocked = None
    joined = joined_answers(body, mentions) if len(mentions) > 1 else set()
    for span, side, wanted in reversed(mentions):
        place = locate(body, span[0], span[1])
        level = strength(place, asked, numeric=wanted.kind == "number", strict=is_strict(body, span, wanted))
        if wanted.is_sentence and not asked.is_opinion and level == MENTION:
            level = STATEMENT
        if level == RESULT and is_whole(body, span, place):
            level = STATEMENT
        decides = level >= NEEDED[side] and (not claims or level > claims[-1].level)
        if not decides and (side != "decoy" or blocked is not None):
            continue
        why = "undecided" if span in joined else block(place, level)
        if why == "generic" and any(word[:STEM] in asked.stems for word in place.clause.kinds & GENERIC_WORDS):
            why = None  # 'the next number is …' answers 'which number is next?'
        if side == "target":
            level, why = lenient(level, why, place, wanted)
            decides = not claims or level > claims[-1].level
        elif why is None and level >= STATEMENT and denial.RETRACTED.match(body, sentence_end(span, place)):
            why = "denied"
        if why is not None:
            blocked = why if side == "decoy" and blocked is None else blocked
        elif decides:
            claims.append(Assertion(side, level, span, NAMES[level]))
            if level >= SLOT:
                break
    return claims, blocked


def joined_answers(body: str, mentions: list[Mention]) -> set[Span]:
    """The mentions of different answers that one 'and' or 'or' joins: they are listed, and none of them is given."""
    spans: set[Span] = set()
    for (span, side, _), (other, rival, _) in pairwise(mentions):
        if other[0] - span[1] <= 30 and side != rival and JOIN.fullmatch(body, span[1], other[0]):
            spans |= {span, other}
    for (span, _, _), (other, _, _) in pairwise(mentions) if spans else ():  # 'nitrogen (N2) and oxygen (O2)'
        if body[span[1] : other[0]].strip() == "(" and (span in spans or other in spans):
            spans |= {span, other}
    return spans


def other_number(body: str, known: list[Span]) -> list[Assertion]:
    """The last number in an answer slot, if it is none of the known places: then something else is answered."""
    place = body.rfind("answer")
    for _ in range(4):
        if place < 0:
            break
        number = STATED_NUMBER.match(body, place)
        if number is not None:
            start, stop = number.span("number")
            if any(a < stop and start < b for a, b in known) or block(locate(body, start, stop), SLOT):
                break
            return [Assertion("other", SLOT, (start, stop), "another number")]
        place = body.rfind("answer", 0, place)
    return []


def decide(found: list[Assertion]) -> Assertion | None:
    """The strongest claim; of equals, the last. Of the target a mention is enough; any other must be stated."""
    counted = [claim for claim in found if claim.level >= NEEDED[claim.side]]
    return max(counted, key=lambda claim: (claim.level, claim.span[0]), default=None)


def is_strict(body: str, span: Span, wanted: match.Answer) -> bool:
    is_letter = span[1] - span[0] == 1 and body[span[0]].isalpha()
    return wanted.kind == "letter" or (is_letter and not wanted.is_apart)


def is_whole(body: str, span: Span, place: Place) -> bool:
    """Whether the text is one equation and the mention its result."""
    if len(place.before) < span[0] or place.after.strip(" .!*$\n") or span[1] + len(place.after) < len(body):
        return False
    return body.count("=") + body.count("equal") == 1


def sentence_end(span: Span, place: Place) -> int:
    return span[1] + len(place.after)


def lenient(level: float, why: str | None, place: Place, wanted: match.Answer) -> tuple[float, str | None]:
    """Of the target, a listed or conceded statement is still said, and so is a number under a condition."""
    if why == "generic":
        return level, None
    if why in {"listed", "conceded"} and level >= STATEMENT:
        return MENTION, None
    if why == "supposed" and wanted.kind == "number" and level >= RESULT and " if " not in place.before:
        return MENTION, None
    return level, why


def block(place: Place, level: float) -> str | None:  # noqa: PLR0911 - one return a rule
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
    if not place.is_last:
        if denial.is_denied_after(place.after, complement=level >= SLOT or is_complement(near)):
            return "denied"
        if speech.SAID_NEXT.match(place.after):
            return "reported"
        if speech.is_asked(place.after):
            return "asked"
    if level >= SLOT:
        is_listed = not place.is_last and speech.LISTED_NEXT.match(place.after)
        return "listed" if is_listed and place.opens() and not place.is_alone() else None
    listing = place.listing()
    if listing == "option":
        return "undecided"
    if near.kinds and speech.is_conceded(near):
        return "conceded"
    if listing == "bullet" or speech.is_listed(near, place.after):
        return "listed"
    return "generic" if near.kinds and speech.is_generic(near) else None
