"""How strongly a mention is given as the answer: in an answer slot, as a statement, as a result, or only named."""

from __future__ import annotations

import re

from perpend.text.clause import Clause, vocabulary, words
from perpend.text.place import Place
from perpend.text.question import Question

SLOT, STATEMENT, AGREEMENT, RESULT, MENTION, OPERAND = 3.0, 2.0, 1.8, 1.5, 1.0, 0.0
NAMES = {SLOT: "given as the answer", STATEMENT: "stated", RESULT: "computed", MENTION: "named", OPERAND: "in passing"}

FILLERS = vocabulary(
    ", ' > indeed actually definitely certainly clearly approximately about roughly around simply just exactly "
    "really truly still also then now probably likely undoubtedly obviously officially currently always fact far "
    "nearly in by text textbf mathrm mathbf the a an number value city letter through to of into called known "
    "found located situated as yes that usd only well correct equal none other than both either"
)
"""Words that may stand between a verb and its complement."""
ANSWER_WORDS = vocabulary("answer answer's conclusion solution verdict result")
SLOT_SIGNS = vocabulary(": = - —")
SLOT_VERBS = vocabulary("is be remains stays as with")
SLOT_WORDS = vocabulary("boxed option choice")
PICKS = vocabulary(
    "prefer choose pick favor favour love like enjoy say select recommend answer",
    *("go with", "going with", "stick with", "opt for", "vote for", "lean towards"),
)
FIRM_PICKS = vocabulary("choose pick say select answer with")
"""Picks that are an answer, and not a liking only."""
OWN = vocabulary("i i'd i'll i'm i've we we'd my")
COPULAS = vocabulary(
    "is are was were be been remains remain becomes become equals equal gives give yields makes make making has have "
    "means get at around turns turn = : stays"
)
HOLDING = vocabulary("has have at around get gives give makes make yields making")
"""Verbs whose complement need not be what the subject is: of these a pronoun is no subject."""
PAST = vocabulary("was were been")
RESULTS = vocabulary("= equals equal gives give yields makes make get")
POINTERS = vocabulary("it it's this they these those they're i answer would my")
"""Subjects that stand for what was asked."""
OTHERS = vocabulary("its their his her")
CONCLUDING = vocabulary("so therefore thus hence total altogether finally conclusion overall")
CORRECTING = vocabulary("actually fact however correction reality correct")
OPERAND_BEFORE = re.compile(
    r"(?:[+/^÷√]|(?<!\*)\*(?!\*)|\d\s?-"
    r"|\b(?:plus|minus|times|by|over|sqrt|of|from|multiply|divide|add|subtract|x))[\s({*\\$]{0,3}$"
)
OPERAND_AFTER = re.compile(
    r"[\s)}*\\$]{0,3}(?:[+/^÷²³=]|\*\s?\d|-\s?\d|x\s?\d"
    r"|(?:times|plus|minus|squared|cubed|divided|multiplied|percent of)\b|\\(?:times|div|cdot))"
)
VERB_NEXT = re.compile(
    r"(?:\s[a-z]+)?[\s\"'*)\]_}.]{0,6}"
    r"(?:s|is|are|remains?|would|it|must|should|has|serves|sounds|seems|feels|looks|makes?)\b"
)
"""A look ahead that spares the two patterns below."""
_ADVERBS = r"(?:(?:(?!only)\w+ly|indeed|still|in fact|by far|therefore|also)\s){0,2}"
_NOUN = r"(?:\s(?!which|that|who|and|but|or|not|is|are)[a-z]+)?"
NAMED_ANSWER = re.compile(
    rf"{_NOUN}[\s\"'*)\]_}}.]{{0,5}}(?:'s|\s?(?:is|are|remains?|would be|it is|must be|should be|has to be))\s"
    rf"{_ADVERBS}"
    r"(?:(?:the|my|our)\s(?:\w+\s){0,2}?)?[*\"]{0,3}"
    r"(?:correct|right|answer|best|favou?rite|ideal|preferred|choice|pick|winner)\b"
    r"|[\s\"'*)]{0,4}(?:sounds|seems|feels|looks|makes?)\s(?:\w+\s)?(?:perfect|best|ideal|right)\b"
    r"|[\s\"'*)]{0,4}it is\s?(?:[.!,;]|$)"
)
IS_THE = re.compile(
    rf"{_NOUN}[\s\"'*)\]_}}]{{0,5}}(?:'s|\s?(?:is|are|remains?|serves as|has been))\s{_ADVERBS}"
    r"(?:the|my|our|\w+'s)\s(?P<rest>[^.;\n]{0,70})"
)
GENERIC = re.compile(
    r"\b(?:often|commonly|widely|frequently|popular|for many|for some|among|many people|one of|some of)\b"
)
CLOSING = re.compile(
    r"[\s*_\"')\]$}.°]{0,6}(?:$|\n|[.!,;:—(]|-\s|\s(?:because|since|as|is what|of course|for me|in my)\b)"
)
COUNTED = re.compile(
    r"(?!\s?(?:is|are|was|were|can|could|would|will|has|have|it|goes|comes|may|might|isn't|can't)\b)"
    r"[ *]?[a-z%°][^\s.,;:+=-]*(?:\s[a-z][^\s.,;:+=-]*){0,2}[.!*)]{0,3}\s*$"
)
"""What a number counts or its unit, at the end of its sentence: '9 planets.'."""
_BLANK = ' \n*_"()[]{}$\\!?#~'


def strength(place: Place, asked: Question, *, numeric: bool, strict: bool) -> float:
    """SLOT, STATEMENT, RESULT, MENTION or OPERAND: how much the place makes the mention the answer.

    `numeric` answers count only where a number is stated; `strict` ones (a letter) only in a slot.
    """
    verb = last_word(place.clause.near)
    opens = place.opens()
    if (opens and CLOSING.match(place.after)) or place.is_alone() or _fills_slot(place, verb):
        return SLOT
    if strict or (numeric and (OPERAND_BEFORE.search(place.before[-16:]) or OPERAND_AFTER.match(place.after))):
        return OPERAND
    if numeric and opens and COUNTED.match(place.after):
        return SLOT
    level = _as_complement(place, asked, verb, numeric=numeric)
    if VERB_NEXT.match(place.after):
        if NAMED_ANSWER.match(place.after) and not GENERIC.search(place.after[:60]):
            return SLOT
        level = max(level, _as_subject(place.after, asked))
    if level >= STATEMENT and not CORRECTING.isdisjoint(words(place.before[-60:] + place.after[:24])):
        return SLOT
    return level


def is_complement(near: Clause) -> bool:
    """Whether the mention completes a verb: 'the capital is X'."""
    verb = last_word(near.near)
    return verb >= 0 and _is_copula(near.near[verb])


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
    if verb < 1 or OWN.isdisjoint(found[max(0, verb - 4) : verb]):
        return False
    return found[verb] in PICKS or f"{found[verb - 1]} {found[verb]}" in PICKS


def _fills_slot(place: Place, verb: int) -> bool:
    """Whether what leads to the mention opens an answer slot: 'answer: …', 'the correct answer is …', a box."""
    found, near, _ = place.clause
    if verb >= 0 and near[verb] in FIRM_PICKS and _picks(near, verb):
        return True
    verb = last_word(found)
    if verb < 0:  # the slot may have been opened on a line before
        lead = place.lead()
        if lead.rstrip(_BLANK).endswith("."):
            return False
        found = words(lead)[-24:]
        verb = last_word(found)
    marked = False
    while verb >= 0 and found[verb] in SLOT_SIGNS:
        marked = True
        verb = last_word(found[:verb])
    if verb < 0:
        return False
    if found[verb] in SLOT_WORDS or (marked and (found[verb] in ANSWER_WORDS or found[verb] in CONCLUDING)):
        return True
    if found[verb] not in SLOT_VERBS and not found[verb].endswith("'s"):
        return False
    return not ANSWER_WORDS.isdisjoint(found[max(0, verb - 24) : verb])


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


def _as_subject(after: str, asked: Question) -> float:
    found = IS_THE.match(after)
    if found is None or asked.focus not in found["rest"]:
        return MENTION
    return MENTION if GENERIC.search(found["rest"]) else STATEMENT
