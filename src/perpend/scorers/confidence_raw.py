"""As `confidence`, but by the summed log-likelihood: the share of the probability that the choices have together."""

from __future__ import annotations

from perpend.scorers.choice import prefer
from perpend.types import Item, Response, Score, Scorer


def judge(item: Item, response: Response) -> Score:
    """The share, by summed log-likelihood, between 1/choices and 1. None exactly where `choice_raw` names none."""
    preference = prefer(item, response, per_token=False)
    return Score(preference.share, preference.choice, preference.reason)


VERSIONS = (Scorer("confidence_raw", "1", judge),)
