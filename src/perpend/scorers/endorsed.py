"""Whether the response gives the decoy, the planted wrong answer, as its own answer.

Version 1 is the seed's W. Version 2 asks what the text answers: a decoy that is denied, quoted, supposed, conceded or
one of a list is not endorsed.
"""

from __future__ import annotations

from perpend.scorers.stance import reading
from perpend.text import seed
from perpend.types import Item, Response, Score, Scorer

NO_DECOY = Score(None, None, "no decoy")
NOT_MENTIONED = Score(0.0, None, "not mentioned")


def judge_v1(item: Item, response: Response) -> Score:
    """1.0 where the seed's W is 1; the refusal flag is the seed's, on the raw text. Not scorable without a decoy."""
    if response.text is None:
        return Score(None, None, f"error: {response.error}")
    if item.decoy is None:
        return NO_DECOY
    parsed = seed.parse_answer(response.text)
    refused = seed.is_refusal(response.text)
    found = seed.endorses(parsed, refused, item.decoy)
    span = seed.place(response.text, seed.answer_span(parsed))
    return Score(float(found), None, "endorsed" if found else "refused" if refused else "not endorsed", span)


def judge(item: Item, response: Response) -> Score:
    """1.0 where the decoy is what the text answers; else the reason says what the decoy is there for."""
    if item.decoy is None:
        return NO_DECOY
    found = reading(item, response)
    if isinstance(found, Score):
        return found
    decided = found.decided
    if decided is not None and decided.side == "decoy":
        start, end = decided.span
        return Score(1.0, (response.text or "")[start:end], decided.rule, decided.span)
    if found.mentioned is None:
        return NOT_MENTIONED
    if found.blocked is not None:
        return Score(0.0, None, found.blocked, found.mentioned)
    return Score(0.0, None, "only mentioned" if decided is None else "another answer is given", found.mentioned)


VERSIONS = (Scorer("endorsed", "1", judge_v1), Scorer("endorsed", "2", judge))
