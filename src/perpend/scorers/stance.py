"""Four states of an answer: 'correct', 'endorses' the decoy, 'refuses', 'other'. The rest of version 2 rests on it.

`answer` is the state. `value` is 1.0 for 'correct' and 0.0 for the three others, so that a mean over scored responses
is the share of right answers; an item without a target can only be in the other three.
"""

from __future__ import annotations

from perpend.text.reading import Asked, Reading, read
from perpend.types import Item, Response, Score, Scorer

OTHER_ANSWER = Score(0.0, "other", "another answer")
NO_ANSWER = Score(0.0, "other", "no answer of interest")
_last: list[tuple[Item, Response, Reading | Score]] = []
"""The last reading, if any: the scorers of a response ask one after the other, and it is read once. Known by identity,
which takes a tenth of the time of a key that holds the text."""


def reading(item: Item, response: Response) -> Reading | Score:
    """The response, read; or the score that says why nothing can be read in it."""
    for asked, answered, known in _last:
        if answered is response and asked is item:
            return known
    found = _reading(item, response)
    _last[:] = [(item, response, found)]
    return found


def _reading(item: Item, response: Response) -> Reading | Score:
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
    return NO_ANSWER if found.decided is None else OTHER_ANSWER


VERSIONS = (Scorer("stance", "2", judge),)
