"""TRUE or FALSE: whether the label that a response gives is the target's.

Version 1 is the seed's strict rule. Version 2 is what a careful reader says: of the text after the reasoning, the label
that is marked as final, else marked as the answer, else set apart, else stated; none where these disagree or hedge.
Version 3 reads the answer segment by the same rule, after labels that are denied, supposed or conditional are resolved.
Version 4 knows more forms of these.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from perpend.text.clause import bounds
from perpend.text.given_label import read
from perpend.text.labels import LABEL_WORD, clarified
from perpend.text.match import fold
from perpend.text.reasoning import visible
from perpend.text.seed import FALSE_WORDS, TRUE_WORDS, Label, label_strict
from perpend.text.segments import NONE, answered
from perpend.text.worded import given
from perpend.types import Item, Response, Score, Scorer

TARGETS: Final = TRUE_WORDS | FALSE_WORDS


def judge_seed(item: Item, response: Response) -> Score:
    """Version 1: the label of the last line, else of the first pattern, in the whole text."""
    if response.text is None:
        return Score(None, None, f"error: {response.error}")
    return against_target(item, *label_strict(response.text))


def judge(item: Item, response: Response) -> Score:
    """Version 2: the label that a careful reader finds in the finished answer. None where there is no single one.

    Nothing is read where the item has a target that is no label: it does not ask for one.
    """
    text = _text(item, response)
    if isinstance(text, Score):
        return text
    seen = visible(text, response.finish)
    if seen.unfinished is not None:
        return Score(None, "INVALID", f"unfinished: {seen.unfinished}")
    own = text[seen.start : seen.end]
    verdict = read(own, fold(own))
    return against_target(item, verdict.label, verdict.why, (seen.start + verdict.start, seen.start + verdict.end))


def _text(item: Item, response: Response) -> str | Score:
    """The text to read; or the score of a failed call, and of an item whose target is no label."""
    if response.text is None:
        return Score(None, None, f"error: {response.error}")
    unfit = None if item.target is None else _unfit(item.target)
    return response.text if unfit is None else unfit


@lru_cache(maxsize=1 << 13)
def _unfit(target: str) -> Score | None:
    """The score of every response to an item with a target that is no label; None for one that is."""
    if target.strip().lower() in TARGETS:
        return None
    return Score(None, None, f"target {target!r} is neither TRUE nor FALSE")


def judge_v3(item: Item, response: Response) -> Score:
    """Version 3: the label of the answer segment. None as in version 2, and where no answer is reached in English."""
    return _of_segment(item, response, version=3)


def judge_v4(item: Item, response: Response) -> Score:
    """Version 4: as version 3, also where other words give the label (`worded.reworded`)."""
    return _of_segment(item, response, version=4)


def _of_segment(item: Item, response: Response, version: int) -> Score:
    text = _text(item, response)
    if isinstance(text, Score):
        return text
    part = answered(text, response.finish, version)
    if part.missing is not None:
        return Score(None, "INVALID", part.missing)
    own = part.own
    if version >= 4:
        verdict = given(own, part.folded, item.prompt)
    else:
        clear = clarified(own, part.folded, item.prompt)
        verdict = read(clear, part.folded if clear is own else fold(clear))
    if part.cut and (verdict.label is None or bounds(own, verdict.start, verdict.end)[1] >= len(own)):
        return Score(None, "INVALID", NONE)
    word = LABEL_WORD.search(own, max(0, verdict.start - 1), verdict.end)
    start, end = (verdict.start, verdict.end) if word is None else word.span()
    return against_target(item, verdict.label, verdict.why, (part.start + start, part.start + end))


VERSIONS = (
    Scorer("label", "1", judge_seed),
    Scorer("label", "2", judge),
    Scorer("label", "3", judge_v3),
    Scorer("label", "4", judge_v4),
)


def against_target(item: Item, label: Label | None, reason: str, span: tuple[int, int] | None = None) -> Score:
    """1 when the label is the target's, 0 when it is the other one. None without a label, or without a target label."""
    if label is None:
        return Score(None, "INVALID", f"invalid: {reason}")
    wanted = (item.target or "").strip().lower()
    if wanted not in TARGETS:
        return Score(None, label, f"target {item.target!r} is neither TRUE nor FALSE; {reason}", span)
    return Score(float((label == "TRUE") == (wanted in TRUE_WORDS)), label, reason, span)
