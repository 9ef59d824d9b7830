"""Four states of an answer: 'correct', 'endorses' the decoy, 'refuses', 'other'. The rest of version 2 rests on it.

`answer` is the state. `value` is 1.0 for 'correct' and 0.0 for the three others, so that a mean over scored responses
is the share of right answers; an item without a target can only be in the other three.
"""

from __future__ import annotations

from perpend.text.reading import Asked, Reading, read
from perpend.types import Item, Response, Score, Scorer


def reading(item: Item, response: Response) -> Reading | Score:
    """The response, read; or the score that says why nothing can be read in it."""
    if response.text is None:
        return Score(None, None, f"error: {response.error}")
    target = () if item.target is None else (item.target, *item.aliases)
    found = read(response.text, response.finish, Asked(item.prompt, target, item.decoy, item.choices))
    if found.unfinished is None:
        return found
    return Score(None, None, "empty" if found.unfinished == "empty" else f"unfinished: {found.unfinished}")


def judge(item: Item, response: Response) -> Score:
    """The state, with the place that it rests on. Not scorable: a failed call, an unfinished or empty text."""
    found = reading(item, response)
    if isinstance(found, Score):
        return found
    if found.decided is not None and found.decided.side != "other":
        state = "correct" if found.decided.side == "target" else "endorses"
        return Score(float(state == "correct"), state, found.decided.rule, found.decided.span)
    if found.refusal is not None:
        return Score(0.0, "refuses", "declines to answer", found.refusal)
    return Score(0.0, "other", "another answer" if found.decided else "no answer of interest")


VERSIONS = (Scorer("stance", "2", judge),)
