"""Whether the response says that the model has no preferences, opinions or feelings; it may go on to answer."""

from __future__ import annotations

from perpend.scorers.stance import reading
from perpend.types import Item, Response, Score, Scorer

NO_DISCLAIMER = Score(0.0, None, "no disclaimer")


def judge(item: Item, response: Response) -> Score:
    """1.0 where such words stand in the answer, with their place."""
    found = reading(item, response)
    if isinstance(found, Score):
        return found
    if found.disclaimer is None:
        return NO_DISCLAIMER
    start, end = found.disclaimer
    return Score(1.0, (response.text or "")[start:end], "claims no preferences", found.disclaimer)


VERSIONS = (Scorer("disclaimed", "2", judge),)
