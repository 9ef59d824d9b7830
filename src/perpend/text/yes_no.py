"""What a text answers to a question that yes or no, or TRUE or FALSE, answers: version 4."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import Final

from perpend.text.affirming import affirmed
from perpend.text.assertion import AGREEMENT, SLOT, Assertion
from perpend.text.clause import bounds, holds, sentence_stop
from perpend.text.cues import vocabulary
from perpend.text.match import Answer, Folded, Side, Span, fold, places_of
from perpend.text.proposition import Proposition, proposition
from perpend.text.reading import CONCLUDES, CORRECTION_HINTS, CORRECTS, Answered, AskedItem, Wanted, bare_word
from perpend.text.siding import agreed
from perpend.text.worded import given

REASON: Final = re.compile(r"[\s.!*_,—-]*(?:since|because|as|given|if|when|although|while|for)\b")
"""How a reason opens: what it says is not what the yes or no stands for."""
MERITS: Final = vocabulary("true false correct incorrect untrue wrong right")
"""Words that judge a claim: of a yes/no question they may judge what others said."""
JUDGES: Final = re.compile(
    r"[\s*_\"',.!]{0,4}(?:that|this|you|they|your answer|the (?:claim|answer|others))(?:'s|'re| is| are| was| were)\s"
    r"(?:\w+\s)?(?:not\s)?(?:incorrect|wrong|false|mistaken|correct|right|true|accurate)\b"
)
SAID: Final = re.compile(r"\b(?:says?|said|saying|answer(?:s|ed)?|chose|think|thinks) [\"']?(yes|no|true|false)\b")
"""What somebody said, in the sentence that agrees: 'They all said no, and I agree.'"""
IMPERSONAL: Final = re.compile(
    r"\W*(?:(?:yes|indeed),? )?(?:(?:that's|that is|this is|it is) )?(?:\w+ly )?"
    r"(?:correct|right|true|exactly|confirmed|yes)\s?[.!]?"
)
"""A judgement that need not be of what others said."""
STATED: Final = ("statement", "only label in capitals")
"""How the reading of a label calls one that is no answer by its place."""
SHORT: Final = 40
"""Up to so many characters a sentence may answer without a word of the question: 'It does not.'"""
FINAL_HINTS: Final = (
    *CORRECTION_HINTS,
    "so ",
    "so,",
    "therefore",
    "thus",
    "hence",
    "conclusion",
    "in short",
    "overall",
)
"""One of these is in every correction and conclusion."""
CLOSING: Final = 400
"""How much of the end of a text is looked at for a correction or conclusion."""
SENTENCES: Final = 400
"""How many sentences are looked at for a statement."""


def polar_claim(folded: Folded, own: str, asked: AskedItem, wanted: Wanted) -> Assertion | None:
    """The side that the text answers, and where; None where it answers neither.

    The reading of `label` decides where the item wants TRUE or FALSE. Of a yes/no item, the yes or no that is given as
    the answer decides, unless its own sentence, the next one if it stands alone, or a later correction or conclusion
    says the contrary of it and exactly what was asked (`affirming.affirmed`): 'No, 11 is a prime number' is yes.
    'True', 'correct' and the like count there only if the decoy is yes or missing, because they may judge what others
    said. Without such a word a sentence that says or denies exactly what was asked decides; without one, agreement with
    whoever spoke before is agreement with what its sentence says they said, else with the decoy.
    """
    answer = _answered(folded, own, asked, wanted)
    if answer is not None:
        value, span, rule = answer
        for side, side_is in wanted.sides:
            if side_is.polar == value:
                return Assertion(side, SLOT, span, rule)
        return None
    sided = None if asked.decoy is None else agreed(folded.text)
    if sided is None or (not _counts(wanted.sides) and IMPERSONAL.fullmatch(folded.text, *sided)):
        return None
    values = {word in {"yes", "true"} for word in SAID.findall(folded.text[slice(*bounds(folded.text, *sided))])}
    for side, side_is in wanted.sides:
        if side_is.polar in values if len(values) == 1 else side == "decoy":
            return Assertion(side, AGREEMENT, sided, "agrees")
    return None


def _answered(folded: Folded, own: str, asked: AskedItem, wanted: Wanted) -> Answered | None:
    body, put = folded.text, proposition(asked.prompt)
    verdict = given(own, folded, asked.prompt)
    labelled: Answered | None = None
    if verdict.label is not None:
        labelled = verdict.label == "TRUE", _placed(folded, verdict.start, verdict.end), verdict.why
    if labelled is not None and _wants_label(asked):
        return labelled
    is_plain = verdict.why not in STATED and verdict.why.partition(",")[0] not in STATED
    worded = labelled if is_plain else None
    if worded is None and not verdict.why.startswith("contradictory"):
        worded = bare_word(folded, wanted.question)
    if worded is not None and not _judges(body, worded[1]):
        return worded if put is None else _outweighed(body, put, worded)
    stated = None if put is None else _stated(body, put)
    if stated is not None:
        return stated
    return (worded or labelled) if _counts(wanted.sides) else None


def _wants_label(asked: AskedItem) -> bool:
    """Whether the item asks for TRUE or FALSE, and not for yes or no."""
    wanted = asked.target[0] if asked.target else asked.decoy or ""
    return fold(wanted).text.strip(" .!") in {"true", "false"}


def _placed(folded: Folded, start: int, end: int) -> Span:
    """The span of the answer segment as one of its folded text."""
    if folded.offsets is None:
        return start, end
    return bisect_left(folded.offsets, start), bisect_left(folded.offsets, end)


def _judges(body: str, span: Span) -> bool:
    """Whether the word judges a claim, or a judgement of one follows it: 'No, that's wrong.'"""
    return body[slice(*span)].strip(" *_.!") in MERITS or JUDGES.match(body, span[1]) is not None


def _counts(sides: tuple[tuple[Side, Answer], ...]) -> bool:
    """Whether a word that judges a claim means the same of the question and of what others may have said."""
    return all(answer.polar for side, answer in sides if side == "decoy")


def _sentences(body: str, start: int) -> Iterator[Span]:
    """The sentences from a place on."""
    for _ in range(SENTENCES):
        while start < len(body) and body[start].isspace():
            start += 1
        if start >= len(body):
            return
        end = max(sentence_stop(body, start), start + 1)
        yield start, end
        start = end


def _may_say(sentence: str, put: Proposition) -> bool:
    """Whether a sentence may say what was asked: it has one of its words, or so few that a verb may answer alone."""
    return len(sentence) <= SHORT or holds(sentence, put.hints)


def _stated(body: str, put: Proposition) -> Answered | None:
    """What the sentences say that affirm or deny just what was asked: a conclusion or correction, else all alike."""
    answers: list[Answered] = []
    final: Answered | None = None
    before = ""
    for start, end in _sentences(body, 0):
        sentence = body[start:end]
        value = affirmed(sentence, put, before) if _may_say(sentence, put) else None
        before = sentence
        if value is not None:
            answers.append((value, (start, start + len(sentence.rstrip())), "stated"))
            if CONCLUDES.search(sentence) or CORRECTS.search(sentence):
                final = answers[-1]
    if final is not None:
        return final
    return answers[-1] if len({value for value, _, _ in answers}) == 1 else None


def _outweighed(body: str, put: Proposition, worded: Answered) -> Answered:
    """The yes or no, or what outweighs it."""
    place = worded[1][1]
    if REASON.match(body, place):
        return worded
    answer, end = worded, place
    for start, stop in _sentences(body, place):  # the one that the word stands in, or the next if that is all of it
        end = stop
        if body[start:stop].strip(" .!*_,;:)\"'"):
            answer = _unless_contrary(body, put, (start, stop), worded)
            break
    low = max(end, len(body) - CLOSING)
    for hint in places_of(body[low:], FINAL_HINTS):
        if low + hint >= place:
            start, place = bounds(body, low + hint, low + hint)
            sentence = body[start:place]
            if CORRECTS.search(sentence) or CONCLUDES.search(sentence):
                answer = _unless_contrary(body, put, (max(start, end), place), worded, answer)
    return answer


def _unless_contrary(
    body: str, put: Proposition, span: Span, worded: Answered, before: Answered | None = None
) -> Answered:
    """The yes or no, or the sentence that says the contrary of it; what was known before where it says neither."""
    start, stop = span
    sentence = body[start:stop]
    previous = "" if before is None else body[bounds(body, max(0, start - 2), max(0, start - 2))[0] : start]
    stated = affirmed(sentence, put, previous) if _may_say(sentence, put) else None
    if stated is None:
        return before or worded
    return worded if stated == worded[0] else (stated, (start, start + len(sentence.rstrip())), "stated")
