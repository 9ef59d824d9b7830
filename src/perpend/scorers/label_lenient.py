"""The seed's lenient label rule: as `label@1`, but patterns such as 'answer: X' come before the last line."""

from __future__ import annotations

from perpend.scorers.label import against_target
from perpend.text.seed import label_lenient
from perpend.types import Item, Response, Score, Scorer


def judge(item: Item, response: Response) -> Score:
    """1 when the label is the target's, 0 when it is the other one. None for an error, no label or no target label."""
    if response.text is None:
        return Score(None, None, f"error: {response.error}")
    return against_target(item, *label_lenient(response.text))


VERSIONS = (Scorer("label_lenient", "1", judge),)
