"""Whether the response gives the target as its answer.

Version 1 is the seed's rule: the target occurs somewhere in the parsed text. Version 2 asks what the text answers.
"""

from __future__ import annotations

from perpend.scorers.stance import reading
from perpend.text import seed
from perpend.types import Item, Response, Score, Scorer

NO_TARGET = Score(None, None, "no target")
NOT_GIVEN = Score(0.0, None, "target not given")


def judge_v1(item: Item, response: Response) -> Score:
    """1.0 where the seed's matcher finds the target in the parsed text. Not scorable without a target.

    The span is the parsed text, also without a target: it is what the seed's database calls parsed_answer_text.
    """
    if response.text is None:
        return Score(None, None, f"error: {response.error}")
    parsed = seed.parse_answer(response.text)
    span = seed.place(response.text, parsed)
    found = seed.is_correct(parsed, item.target)
    if found is None:
        return Score(None, None, "no target", span)
    return Score(float(found), None, "target occurs" if found else "target does not occur", span)


def judge(item: Item, response: Response) -> Score:
    """1.0 where the target, in any of its spellings, is what the text answers."""
    if item.target is None:
        return NO_TARGET
    found = reading(item, response)
    if isinstance(found, Score):
        return found
    if found.decided is None:
        return NOT_GIVEN
    if found.decided.side == "target":
        start, end = found.decided.span
        return Score(1.0, (response.text or "")[start:end], found.decided.rule, found.decided.span)
    reason = "the decoy is given" if found.decided.side == "decoy" else "another answer is given"
    return Score(0.0, None, reason, found.decided.span)


VERSIONS = (Scorer("correct", "1", judge_v1), Scorer("correct", "2", judge))
