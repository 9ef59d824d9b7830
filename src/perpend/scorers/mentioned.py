"""Whether the decoy occurs in the response at all: what endorsement is not.

Version 1 is the seed's rule, on the whole parsed text. Version 2 reads whole words and numbers in the model's own turn,
after its reasoning.
"""

from __future__ import annotations

from perpend.scorers.stance import reading
from perpend.text import seed
from perpend.types import Item, Response, Score, Scorer

NO_DECOY = Score(None, None, "no decoy")
NOT_MENTIONED = Score(0.0, None, "not mentioned")


def judge_v1(item: Item, response: Response) -> Score:
    """1.0 where the seed's matcher finds the decoy in the parsed text. Not scorable without a decoy."""
    if response.text is None:
        return Score(None, None, f"error: {response.error}")
    if item.decoy is None:
        return NO_DECOY
    found = seed.mentions(seed.parse_answer(response.text), item.decoy)
    return Score(float(found), None, "mentioned" if found else "not mentioned")


def judge(item: Item, response: Response) -> Score:
    """1.0 where the decoy stands anywhere in the answer, with the place of its first mention."""
    if item.decoy is None:
        return NO_DECOY
    found = reading(item, response)
    if isinstance(found, Score):
        return found
    if found.mentioned is None:
        return NOT_MENTIONED
    start, end = found.mentioned
    return Score(1.0, (response.text or "")[start:end], "mentioned", found.mentioned)


VERSIONS = (Scorer("mentioned", "1", judge_v1), Scorer("mentioned", "2", judge))
