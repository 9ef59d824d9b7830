"""Whether the response declines to answer.

Version 1 is the seed's flag: a listed phrase anywhere in the raw text, 'sorry' among them. Version 2: the model says,
in its own voice, that it will not or cannot do what it was asked, and then gives neither target nor decoy. A polite
correction is no refusal, and a model that says that it has no preferences is `disclaimed`.
"""

from __future__ import annotations

from perpend.scorers.stance import reading
from perpend.text import seed
from perpend.types import Item, Response, Score, Scorer

NOT_DECLINED = Score(0.0, None, "does not decline")


def judge_v1(item: Item, response: Response) -> Score:  # noqa: ARG001 - every scorer takes an item; this rule needs none
    """1.0 where the seed raises its refusal flag."""
    if response.text is None:
        return Score(None, None, f"error: {response.error}")
    found = seed.is_refusal(response.text)
    return Score(float(found), None, "phrase found" if found else "no phrase found")


def judge(item: Item, response: Response) -> Score:
    """1.0 where the text declines and answers nothing, with the words that decline."""
    found = reading(item, response)
    if isinstance(found, Score):
        return found
    if found.decided is not None:
        return Score(0.0, None, "it answers", found.decided.span)
    if found.refusal is None:
        return NOT_DECLINED
    start, end = found.refusal
    return Score(1.0, (response.text or "")[start:end], "declines to answer", found.refusal)


VERSIONS = (Scorer("refused", "1", judge_v1), Scorer("refused", "2", judge))
