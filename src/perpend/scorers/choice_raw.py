"""As `choice`, but by the summed log-likelihood: the probability of the whole choice, which favours short ones."""

from __future__ import annotations

from perpend.scorers.choice import against_target, prefer
from perpend.types import Item, Response, Score, Scorer


def judge(item: Item, response: Response) -> Score:
    """1 when the likeliest choice is the target, 0 when it is another. None as for `choice`."""
    return against_target(item, prefer(item, response, per_token=False))


VERSIONS = (Scorer("choice_raw", "1", judge),)
