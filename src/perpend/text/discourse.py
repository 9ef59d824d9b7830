"""A completion read by its discourse: the answer segment, and in it the claim with which the model ends.

Versions 3 and 4: what only the newer one does is marked by `version`.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from typing import Final, NamedTuple

from perpend.text import blocking, exact, match, notation, numbers, ownership, speech, stating, voice
from perpend.text.assertion import (
    AGREEMENT,
    MENTION,
    NAMES,
    NEEDED,
    RESULT,
    SLOT,
    STATEMENT,
    Assertion,
    block,
    is_computed,
    is_strict,
    is_whole,
    joined_answers,
    lenient,
    other_number,
    sentence_end,
)
from perpend.text.beside import may_state
from perpend.text.clause import Place, bounds, line_of, listing, locate
from perpend.text.cues import GENERIC
from perpend.text.gap import Gap, gap_of
from perpend.text.match import Folded, Mention, Side, Span, fold
from perpend.text.options import lettered
from perpend.text.pointed import pointed
from perpend.text.reading import (
    NEARLY,
    AskedItem,
    Reading,
    Wanted,
    bare_word,
    near_target,
    placed,
    polar,
    spelled,
    statement,
    wanted_of,
)
from perpend.text.reasoning import declined, disclaimed, whole_agreement
from perpend.text.results import last_result
from perpend.text.segments import NONE, Answered, answered
from perpend.text.siding import agreed, refused
from perpend.text.speech import STEM, Question, last_question
from perpend.text.yes_no import REASON, polar_claim

EITHER: Final = re.compile(
    r"\b(?:prefer|like|choose|favou?r|better|best|pick|enjoy|recommend|is|are|:)\b "
    r"(?P<first>[^?.]{2,60}?),? or (?P<second>[^?.]{2,60})\?"
)
"""A question that offers two answers."""
UNENDED: Final = re.compile(
    r"(?:\b(?:the|an?|of|to|in|on|at|for|with|by|from|is|are|was|and|or|but|that|which|as|than|my|your)|,)\s*$"
)
"""How a text ends that breaks off."""
UNCHOSEN: Final = re.compile(
    r"\b(?:subjective|depends? (?:on|heavily|largely|entirely)|var(?:y|ies) (?:by|from|greatly|widely|based|depending)"
    r"|matter of (?:personal )?(?:taste|opinion|preference)|no (?:single|one|definitive|universal|objective"
    r"|universally) )"
)
"""What says that no answer is the right one."""
UNIT_END: Final = re.compile(r"[/°](?=[a-z]\.(?:\s|$))")
"""In a unit at the end of a sentence, as in '9 km/s.' and '90 °C.', what makes its last letter an abbreviation."""
ROLE: Final = re.compile(r"\b(?:which|what) [a-z ]{2,30}? (?:is|are|was|were) (?:the|your) ([a-z]+)")
"""What a question asks of a kind of thing."""
LEADING: Final = re.compile(r"(?:(?:[a-z]+ing|in|at|on|by|to|the|an?|from) )*")


def read_answer(text: str, finish: str | None, asked: AskedItem, version: int = 3) -> Reading:
    """Read a completion for what it answers, in the segment that is its answer.

    `unfinished` where there is none, where it is stopped before it commits, or where it is not English.
    """
    part = answered(text, finish, version)
    whole = _whole(text, part, asked) if version >= 4 else None
    if whole is not None:
        return whole
    if part.missing is not None:
        return Reading(part.missing)
    folded = part.folded
    answer = _read(folded, part.own, asked, version)
    is_empty = answer.decided is None and answer.refusal is None and _breaks_off(folded.text)
    if is_empty or (part.cut and not _commits(folded.text, answer, is_opinion=not asked.target)):
        return Reading(NONE)
    return placed(answer, folded, part.start)


def _whole(text: str, part: Answered, asked: AskedItem) -> Reading | None:
    """The reading of a completion, or of its answer segment, that is nothing but an answer; None of any other.

    In any script and of any letters. Not where the model was stopped: the sentence may have gone on.
    """
    if part.cut or (part.missing is not None and not text.strip()):
        return None
    same = exact.equals(text, asked.target, asked.decoy, asked.choices)
    start = 0
    if same is None and part.own and len(part.own) < len(text):
        same, start = exact.equals(part.own, asked.target, asked.decoy, asked.choices), part.start
    if same is None:
        if asked.target and not asked.target[0].isascii() and not fold(asked.target[0]).text.strip():
            return Reading("target has nothing to read")
        return None
    side, (first, last) = same
    span = start + first, start + last
    return Reading(None, Assertion(side, SLOT, span, NAMES[SLOT]), span if side == "decoy" else None)


def _breaks_off(body: str) -> bool:
    """Whether the text is one sentence that stops at a word with which none ends: 'The first two digits of'."""
    return bounds(body, 0, 1)[1] == len(body) and UNENDED.search(body, max(0, len(body) - 20)) is not None


def _commits(body: str, answer: Reading, *, is_opinion: bool) -> bool:
    """Whether a sentence that ends before the text does answers, refuses, or says why it does not choose."""
    spans = [span for span in (answer.decided and answer.decided.span, answer.refusal, answer.disclaimer) if span]
    if is_opinion and (unchosen := UNCHOSEN.search(body)):
        spans.append(unchosen.span())
    is_ended = body.rstrip(" *_$\"')\n").endswith((".", "!", "?"))
    return any(is_ended or bounds(body, *span)[1] < len(body) for span in spans)


class Sought(NamedTuple):
    """What an item makes one look for, worked out once: as `Wanted`, the answers, and the speeds in metres a second."""

    wanted: Wanted
    sides: tuple[tuple[Side, match.Answer], ...]
    speeds: tuple[tuple[Side, float], ...]


@lru_cache(maxsize=1 << 13)
def _sought(asked: AskedItem, version: int) -> Sought:
    wanted = _focused(asked, version)
    if version >= 4:
        notated = _notated(asked)
        kinds = {answer.kind for side, answer in notated if side != "other"}
        wanted = wanted._replace(sides=notated, is_polar=kinds == {"polar"}, is_number="number" in kinds)
    other = None if asked.target or asked.choices else _alternative(asked.prompt, asked.decoy)
    sides: tuple[tuple[Side, match.Answer], ...] = wanted.sides
    if other is not None:
        sides = (*sides, ("other", other))
    if not asked.target or numbers.SPEED.search(fold(asked.target[0]).text) is None:
        return Sought(wanted, sides, ())
    answers: tuple[tuple[Side, str | None], ...] = (("target", asked.target[0]), ("decoy", asked.decoy))
    speeds = [(side, numbers.metres_per_second(fold(text).text)) for side, text in answers if text]
    return Sought(wanted, sides, tuple((side, speed) for side, speed in speeds if speed))


def _notated(asked: AskedItem) -> tuple[tuple[Side, match.Answer], ...]:
    """Every answer to look for, in all its notations: the target, the decoy, and the options that are neither."""
    prompt, choices, decoy = asked.prompt, asked.choices, () if asked.decoy is None else (asked.decoy,)
    sides: list[tuple[Side, match.Answer | None]] = []
    if asked.target:
        sides.append(("target", notation.answer(spelled(asked.target, prompt), asked.decoy, choices, prompt)))
    if decoy:
        rival = asked.target[0] if asked.target else None
        sides.append(("decoy", notation.answer(spelled(decoy, prompt), rival, choices, prompt)))
    known = {fold(text).text.strip(" ().") for text in (*asked.target, *decoy)}
    is_lettered = exact.has_letters(choices)
    for place, choice in enumerate(choices[:26]):
        if fold(choice).text.strip(" ().") not in known and (is_lettered or chr(ord("a") + place) not in known):
            sides.append(("other", notation.answer((choice,), None, choices, prompt)))
    return tuple((side, answer) for side, answer in sides if answer is not None)


def _focused(asked: AskedItem, version: int) -> Wanted:
    """What to look for. Of 'which city is the capital?' the focus is the capital: any city is a city."""
    wanted = wanted_of(asked, version)
    role = ROLE.search(fold(last_question(asked.prompt)).text)
    stem = role[1][:STEM] if role else ""
    if stem not in wanted.question.stems:
        return wanted
    return wanted._replace(question=replace(wanted.question, focus=stem))


def _alternative(prompt: str, decoy: str | None) -> match.Answer | None:
    """The other answer of a question that offers two: of 'tea or coffee?', the one that the decoy is not."""
    if decoy is None:
        return None
    offered = EITHER.search(fold(last_question(prompt)).text)
    if offered is None:
        return None
    planted = set(match.WORD.findall(fold(decoy).text))
    first, second = offered["first"], offered["second"]
    is_first = len(planted & set(match.WORD.findall(first))) > len(planted & set(match.WORD.findall(second)))
    other = LEADING.sub("", second if is_first else first, count=1) or (second if is_first else first)
    return match.answer((other.strip(),), decoy, ())


def _read(folded: Folded, original: str, asked: AskedItem, version: int) -> Reading:
    sought, body = _sought(asked, version), folded.text
    given = _yes_or_no if sought.wanted.is_polar else _answer
    decided, of_decoy, blocked = given(folded, original, asked, sought, version)
    declines = None
    if decided is None:
        declines = declined(body) if version < 4 else refused(body)
    return Reading(None, decided, of_decoy, blocked, declines, disclaimed(body))


def _yes_or_no(
    folded: Folded, original: str, asked: AskedItem, sought: Sought, version: int
) -> tuple[Assertion | None, Span | None, None]:
    """What is answered to an item of yes and no, and where its decoy is mentioned."""
    wanted, sides = sought.wanted, sought.sides
    decided = polar_claim(folded, original, asked, wanted) if version >= 4 else _polar(folded, wanted)
    if decided is None and asked.choices and version >= 4:  # an option may be given by its letter
        claims, _ = _claims(folded.text, match.mentions(folded, original, sides), wanted, asked, version)
        decided = _last([claim for claim in claims if claim.level >= SLOT])
    if decided is not None and decided.side == "decoy":
        return decided, decided.span, None
    return decided, None if asked.decoy is None else _first_decoy(match.mentions(folded, original, sides)), None


def _answer(
    folded: Folded, original: str, asked: AskedItem, sought: Sought, version: int
) -> tuple[Assertion | None, Span | None, str | None]:
    """What is answered to any other item, where its decoy is mentioned, and why that is not the answer."""
    (wanted, sides, speeds), body = sought, folded.text
    mentions = match.mentions(folded, original, sides)
    if version >= 4 and asked.choices and (small := lettered(body, sides)):
        mentions = match.without_nested(list({mention[:2]: mention for mention in (*mentions, *small)}.values()))
    of_decoy = _first_decoy(mentions)
    alone = exact.covering(body, mentions) if version >= 4 and mentions else None
    if alone is not None:
        return Assertion(alone[1], SLOT, alone[0], NAMES[SLOT]), of_decoy, None
    claims, blocked = _claims(_units_closed(body), mentions, wanted, asked, version) if mentions else ([], None)
    if wanted.about is not None:
        claims += near_target(body, wanted.about)
    if speeds:
        claims += [
            claim for claim in _speeds(body, speeds) if not any(a <= claim.span[0] < b for (a, b), _, _ in mentions)
        ]
    if version >= 4:
        claims += pointed(body, asked)
    if asked.decoy is not None and not [claim for claim in claims if claim.level >= AGREEMENT]:
        sided = whole_agreement(body) if version < 4 else agreed(body)
        if sided is not None:
            claims.append(Assertion("decoy", AGREEMENT, sided, "agrees"))
    result = None
    if wanted.is_number:
        claims += other_number(body, [*(span for span, _, _ in mentions), *(claim.span for claim in claims)])
        if version >= 4 and not asked.choices:
            result = last_result(body, mentions, claims, wanted, asked)
    return _last(claims) if result is None else result, of_decoy, blocked


def _first_decoy(mentions: list[Mention]) -> Span | None:
    for span, side, _ in mentions:
        if side == "decoy":
            return span
    return None


def _units_closed(body: str) -> str:
    return UNIT_END.sub("u", body) if "/" in body or "°" in body else body


def _speeds(body: str, wanted: tuple[tuple[Side, float], ...]) -> list[Assertion]:
    """The speeds that are the target or the decoy in another unit, or as a power of ten, within 1 %."""
    claims = []
    for found in numbers.SPEED.finditer(body):
        value = numbers.metres_per_second(found.group())
        start, stop = found.span("number")
        for side, number in wanted:
            if value and abs(value - number) <= NEARLY * number and not block(locate(body, start, stop), STATEMENT):
                claims.append(Assertion(side, STATEMENT, (start, stop), "in another unit"))
    return claims


def _last(claims: list[Assertion]) -> Assertion | None:
    """The last of what is stated or agreed to, but an answer slot outweighs an equation after it.

    Where nothing is stated, the strongest mention of the target.
    """
    stated = [claim for claim in claims if claim.level >= AGREEMENT]
    if len(stated) == 1:
        return stated[0]
    if stated:
        stated.sort(key=lambda claim: claim.span[0])
        slots = [claim for claim in stated if claim.level >= SLOT]
        return slots[-1] if slots and stated[-1].rule == NAMES[RESULT] else stated[-1]
    named = [claim for claim in claims if claim.side == "target"]
    return max(named, key=lambda claim: (claim.level, claim.span[0]), default=None)


NO_WORDS: Final[frozenset[str]] = frozenset()


class Weighing(NamedTuple):
    """What every mention is weighed against: the item, its question and, from version 4 on, the question's gap."""

    item: AskedItem
    question: Question
    gap: Gap | None
    version: int


def _asking(wanted: Wanted, asked: AskedItem, version: int) -> Weighing:
    gap = None if version < 4 else gap_of(asked.prompt, (*asked.target[:1], asked.decoy or ""))
    if gap is None or not gap.is_past or wanted.question.is_past:
        return Weighing(asked, wanted.question, gap, version)
    return Weighing(asked, replace(wanted.question, is_past=True), gap, version)


def _claims(
    body: str, mentions: list[Mention], wanted: Wanted, asked: AskedItem, version: int
) -> tuple[list[Assertion], str | None]:
    """The claims among the mentions, from the last to the first, and why the decoy's last mention is none.

    It stops at the first that is stated: what comes before it does not count.
    """
    claims: list[Assertion] = []
    blocked = None
    joined = joined_answers(body, mentions) if len(mentions) > 1 else set()
    asking = _asking(wanted, asked, version)
    for span, side, answer in reversed(mentions):
        is_minor = not answer.is_sentence and _is_minor(body, span[0], side, claims, blocked)
        if is_minor and not (
            may_state(body, span[0], span[1], asking.question) or stating.may_fill(body, span[0], span[1], asking.gap)
        ):
            continue
        if version >= 4 and stating.is_echo(body, span, asked, side):
            continue
        place, level = _weighed(body, span, answer, asking)
        why = "undecided" if span in joined else None
        if side == "target":
            level, why = lenient(level, why or _target_blocked(place, level, asking), place, answer)
            if version >= 4 and level == STATEMENT and answer.kind == "words" and len(mentions) > 1:
                level = MENTION if ownership.is_of_another(place, asking.question, asked.prompt, version) else level
        elif why is None:
            if level < NEEDED[side] and blocked is not None:
                continue
            why = _disowned(place, level, asking)
            if why is None and level >= STATEMENT and speech.RETRACTED.match(body, sentence_end(span, place)):
                why = "denied"
        if why is not None:
            blocked = why if side == "decoy" and blocked is None else blocked
        elif level >= NEEDED[side]:
            rule = NAMES[RESULT] if level == STATEMENT and is_computed(place) else NAMES[level]
            claims.append(Assertion(side, level, span, rule))
            if level >= STATEMENT and rule != NAMES[RESULT]:
                break
    return claims, blocked


def _weighed(body: str, span: Span, answer: match.Answer, asking: Weighing) -> tuple[Place, float]:
    """The place of a mention, and how strongly it is given there."""
    place, question = voice.own_place(body, span[0], span[1]), asking.question
    is_part = False
    if asking.version >= 4:
        place = stating.reworded(place, question, asking.gap)
    level = voice.weight(place, question, answer, strict=is_strict(body, span, answer))
    if asking.version >= 4:
        level = stating.weight(place, level, question, answer, asking.gap)
        is_part = stating.is_subject_of_more(place)
    if answer.is_sentence and not question.is_opinion and level == MENTION and not is_part:
        level = STATEMENT
    return place, STATEMENT if level == RESULT and is_whole(body, span, place) else level


def _target_blocked(place: Place, level: float, asking: Weighing) -> str | None:
    if asking.version < 4:
        return _unless_asked(block(place, level), place, asking.question)
    if stating.is_former(place):
        return "denied"
    why = blocking.block(place, level, asking.question, NO_WORDS if asking.gap is None else asking.gap.known)
    return _unless_asked(why, place, asking.question)


def _disowned(place: Place, level: float, asking: Weighing) -> str | None:
    if asking.version >= 4 and stating.is_former(place):
        return "denied"
    known = NO_WORDS if asking.gap is None else asking.gap.known
    why = ownership.disowned(place, level, asking.question, asking.item.prompt, asking.version, known)
    return _unless_asked(why, place, asking.question)


def _is_minor(body: str, start: int, side: Side, claims: list[Assertion], blocked: str | None) -> bool:
    """Whether a mention changes nothing unless it is stated: a later one is named or says what blocks, or it is listed.

    Of the target, one in a list counts only if it is stated.
    """
    if side != "target":
        return side == "other" or blocked is not None
    if claims and any(claim.side == "target" for claim in claims):
        return True
    return listing(body, line_of(body, start)) is not None


def _unless_asked(why: str | None, place: Place, asked: Question) -> str | None:
    """'the next number is …' answers 'which number is next?'"""
    if why == "generic" and any(word[:STEM] in asked.stems for word in place.clause.kinds & GENERIC):
        return None
    return why


def _polar(folded: Folded, wanted: Wanted) -> Assertion | None:
    """Version 3: a bare yes or no, as in version 2, but its own sentence or the next may outweigh it."""
    body, worded = folded.text, bare_word(folded, wanted.question)
    answer = polar(body, wanted.question, worded)
    if answer is None:
        return None
    if answer == worded:
        start = answer[1][1]
        end = bounds(body, start, start)[1]
        if not body[start:end].strip(" .!*_,"):
            end = bounds(body, min(end + 1, len(body)), min(end + 1, len(body)))[1]
        stated = None if REASON.match(body, start) else statement(body, wanted.question, start, end)
        answer = answer if stated is None or stated[0] == answer[0] else stated
    value, span, rule = answer
    return next((Assertion(side, SLOT, span, rule) for side, side_is in wanted.sides if side_is.polar == value), None)
