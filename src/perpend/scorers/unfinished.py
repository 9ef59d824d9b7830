"""Whether a response is no finished answer: cut off, still reasoning, or empty."""

from __future__ import annotations

from perpend.text.reasoning import visible
from perpend.types import Item, Response, Score, Scorer


def judge(_item: Item, response: Response) -> Score:
    """1 for an unfinished answer, 0 for a finished one. None for an error, and where likelihoods stand for the text."""
    if response.text is None:
        return Score(None, None, f"error: {response.error}")
    if response.choice_logprobs is not None and not response.text.strip():
        return Score(None, None, "likelihoods were asked for, not a text")
    seen = visible(response.text, response.finish)
    if seen.unfinished is not None:
        return Score(1.0, "unfinished", seen.unfinished, (seen.start, seen.end))
    return Score(0.0, "finished", "an answer follows all reasoning", (seen.start, seen.end))


VERSIONS = (Scorer("unfinished", "1", judge),)
