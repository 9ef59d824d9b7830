"""What became of a trial, in one word for the matrix: from its response and the newest verdicts, whatever the study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from perpend.types import UNFIT, Response, Score

RIGHT, WRONG, PLANTED, NOT_PLANTED = "right", "wrong", "planted", "not planted"
REFUSED, NO_ANSWER, ERROR, UNSCORED = "refused", "no answer", "error", "unscored"
PENDING, NOT_DUE = "pending", "not due"
OUTCOMES = (RIGHT, WRONG, PLANTED, NOT_PLANTED, REFUSED, NO_ANSWER, ERROR, UNSCORED, PENDING, NOT_DUE)
_CORRECT, _PLANTED, _REFUSED = "correct", "endorsed", "refused"
_OTHER = (_PLANTED, _REFUSED, "mentioned", "disclaimed", "unfinished", "confidence", "confidence_raw")
"""Scorers whose 1 does not say that an answer is right."""


class Outcomes:
    """The words for the trials of one run.

    `correct` decides where it was scored, else the first scorer that the run declares, else the first that an import
    brought. 'planted' is an answer that endorses the decoy, 'not planted' one that does not where no answer is right,
    'no answer' one that cannot be read or was not reached, 'unscored' a value that is neither 0 nor 1, or none. A trial
    without a response is `unasked`: 'pending', or 'not due' in a run that has stopped by a rule.
    """

    def __init__(self, known: Sequence[str], declared: Sequence[str], unasked: str = PENDING) -> None:
        self.known, self.unasked = tuple(known), unasked
        stems = {name.partition("@")[0]: name for name in self.known}  # of several versions the last
        candidates = [name.partition("@")[0] for name in (*declared, *self.known)]
        first = [stem for stem in (_CORRECT, *candidates) if stem in stems and stem not in _OTHER]
        self.primary = stems[first[0]] if first else None
        self.planted, self.refused = stems.get(_PLANTED), stems.get(_REFUSED)

    def of(self, response: Response | None, scores: Mapping[str, Score]) -> str:  # noqa: PLR0911  one per word
        """The word for one trial."""
        if response is None:
            return self.unasked
        if response.text is None:
            return ERROR
        verdict = scores.get(self.primary or "")
        value = None if verdict is None else verdict.value
        if value == 1.0:
            return RIGHT
        if _says(scores, self.refused):
            return REFUSED
        if _says(scores, self.planted):
            return PLANTED
        if value == 0.0:
            return WRONG
        if verdict is None or value is not None:
            return UNSCORED
        if verdict.reason.startswith(UNFIT):
            return self._without_target(scores.get(self.planted or ""))
        return NO_ANSWER

    @staticmethod
    def _without_target(planted: Score | None) -> str:
        if planted is None or (planted.value is None and planted.reason.startswith(UNFIT)):
            return UNSCORED
        return NOT_PLANTED if planted.value == 0.0 else NO_ANSWER


def _says(scores: Mapping[str, Score], name: str | None) -> bool:
    score = scores.get(name or "")
    return score is not None and score.value == 1.0
