"""A completion read by its discourse: the answer segment, and in it the claim with which the model ends. Version 3."""

from __future__ import annotations

import re
from functools import lru_cache

from perpend.text import assertion, match, speech, voice
from perpend.text import reasoning as refusal
from perpend.text.assertion import (
    AGREEMENT, MENTION, NAMES, NEEDED, RESULT, SLOT, STATEMENT, Assertion, is_strict, is_whole, joined_answers, lenient,
    other_number, sentence_end, strength,
)  # fmt: skip
from perpend.text.clause import bounds, locate
from perpend.text.language import NOT_ENGLISH, is_english
from perpend.text.match import Folded, Mention, Span, fold
from perpend.text.reading import (
    AskedItem, Reading, Wanted, bare_word, near_target, placed, statement, wanted_of,
)  # fmt: skip
from perpend.text.segments import NONE, segment
from perpend.text.speech import STEM, Question, last_question

EITHER = re.compile(
    r"\b(?:prefer|like|choose|favou?r|better|best|pick|enjoy|recommend|is|are|:)\b (?P<first>[^?.]{2,60}?),? or (?P<second>[^?.]{2,60})\?"
)
LEADING = re.compile(r"(?:(?:[a-z]+ing|in|at|on|by|to|the|an?|from) )*")


def read_answer(text: str, finish: str | None, asked: AskedItem) -> Reading:
    """Read a completion for what it answers, in the segment that is its answer.

    `unfinished` where there is none, where it is stopped before it commits, or where it is not English.
    """
    part = segment(text, finish)
    if part.missing is not None:
        return Reading(part.missing)
    own = text[part.start : part.end]
    folded = fold(own)
    if not is_english(folded.text):
        return Reading(NOT_ENGLISH)
    found = _read(folded, own, asked)
    if part.cut and not _commits(folded.text, found):
        return Reading(f"{NONE}: stopped before it commits")
    return placed(found, folded, part.start)


def _commits(body: str, found: Reading) -> bool:
    """Whether what decides is in a sentence that ends before the text does."""
    spans = [span for span in (found.decided and found.decided.span, found.refusal, found.disclaimer) if span]
    return any(bounds(body, *span)[1] < len(body) or body[span[1] :].strip(" *_$\n") in {".", "!"} for span in spans)


@lru_cache(maxsize=1 << 13)
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


def _read(folded: Folded, original: str, asked: AskedItem) -> Reading:
    wanted, body = wanted_of(asked), folded.text
    sides = wanted.sides
    if not asked.target and not asked.choices:
        other = _alternative(asked.prompt, asked.decoy)
        sides = (*sides, ("other", other)) if other is not None else sides
    mentions: list[Mention] = [
        (span, side, answer) for side, answer in sides for span in match.find(folded, original, answer)
    ]
    if len(mentions) > 1:
        mentions = match.without_nested(mentions)
    of_decoy = next((span for span, side, _ in mentions if side == "decoy"), None)
    if wanted.is_polar:
        decided, blocked = _polar(body, wanted), None
        if decided is not None and decided.side == "decoy":
            of_decoy = decided.span
    else:
        claims, blocked = _claims(body, mentions, wanted, asked) if mentions else ([], None)
        if wanted.about is not None:
            claims += near_target(body, wanted.about)
        if asked.decoy is not None and max([claim.level for claim in claims], default=0.0) < AGREEMENT:
            agreed = voice.agreement(body)
            if agreed is not None:
                claims.append(Assertion("decoy", AGREEMENT, agreed, "agrees"))
        if wanted.is_number:
            claims += other_number(body, [*(span for span, _, _ in mentions), *(claim.span for claim in claims)])
        decided = _last(claims)
    refused = refusal.declined(body) if decided is None else None
    return Reading(None, decided, of_decoy, blocked, refused, refusal.disclaimer(body))


def _last(claims: list[Assertion]) -> Assertion | None:
    """The last of what is stated or agreed to; where nothing is, the strongest mention of the target."""
    stated = [claim for claim in claims if claim.level >= AGREEMENT]
    if stated:
        return max(stated, key=lambda claim: claim.span[0])
    named = [claim for claim in claims if claim.side == "target"]
    return max(named, key=lambda claim: (claim.level, claim.span[0]), default=None)


def _claims(body: str, mentions: list[Mention], wanted: Wanted, asked: AskedItem) -> tuple[list[Assertion], str | None]:
    """The claims among the mentions, from the last to the first, and why the decoy's last mention is none.

    It stops at the first that is stated: what comes before it does not count.
    """
    claims: list[Assertion] = []
    blocked = None
    joined = joined_answers(body, mentions) if len(mentions) > 1 else set()
    for span, side, answer in reversed(mentions):
        place = voice.own_place(locate(body, *span))
        level = voice.weight(place, wanted.question, answer, strict=is_strict(body, span, answer))
        if answer.is_sentence and not wanted.question.is_opinion and level == MENTION:
            level = STATEMENT
        if level == RESULT and is_whole(body, span, place):
            level = STATEMENT
        why = "undecided" if span in joined else None
        if side == "target":
            if why is None:
                why = _unless_asked(assertion.block(place, level), place, wanted.question)
            level, why = lenient(level, why, place, answer)
        elif why is None:
            if level < NEEDED[side] and blocked is not None:
                continue
            why = _unless_asked(voice.disowned(place, level, wanted.question, asked.prompt), place, wanted.question)
            if why is None and level >= STATEMENT and speech.RETRACTED.match(body, sentence_end(span, place)):
                why = "denied"
        if why is not None:
            blocked = why if side == "decoy" and blocked is None else blocked
        elif level >= NEEDED[side]:
            claims.append(Assertion(side, level, span, NAMES[level]))
            if level >= STATEMENT:
                break
    return claims, blocked


def _unless_asked(why: str | None, place: assertion.Place, asked: Question) -> str | None:
    """'the next number is …' answers 'which number is next?'"""
    if why == "generic" and any(word[:STEM] in asked.stems for word in place.clause.kinds & speech.GENERIC):
        return None
    return why


def _polar(body: str, wanted: Wanted) -> Assertion | None:
    """The last bare yes or no, unless a statement after it that repeats the question says otherwise."""
    word = bare_word(body, wanted.question)
    start = 0 if word is None else word[1][1]
    said = statement(body, wanted.question, start, len(body))
    answered = word if said is None or (word is not None and said[0] == word[0]) else said
    if answered is None:
        return None
    value, span, rule = answered
    return next((Assertion(side, SLOT, span, rule) for side, answer in wanted.sides if answer.polar == value), None)
