"""How sure a model is of the choice that it finds likeliest: its share of the softmax over the item's choices."""

from __future__ import annotations

from perpend.scorers.choice import prefer
from perpend.types import Item, Response, Score, Scorer


def judge(item: Item, response: Response) -> Score:
    """The share, by mean log-likelihood per token, between 1/choices and 1. None exactly where `choice` names none."""
    preference = prefer(item, response, per_token=True)
    return Score(preference.share, preference.choice, preference.reason)


VERSIONS = (Scorer("confidence", "1", judge),)
