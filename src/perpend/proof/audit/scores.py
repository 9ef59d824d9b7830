"""Stored scores against the verdicts that the scorers give now on the raw text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from perpend.errors import StoreError
from perpend.ledger.plan import Trial, read_score
from perpend.ledger.raw import RawScore, RawScores
from perpend.ledger.scores import Verdict, verdict_row
from perpend.measure.scoring import is_packaged
from perpend.proof.audit.checks import Check, first_difference, where
from perpend.types import Item, Response, Score, Scorer


class ScoredAgain:
    """Some scorers, and the checks that count for each what it gives and what is stored.

    Packaged scorers see the same answer to an item once. `unscored` counts answers that lack a score.
    """

    def __init__(self, scorers: Sequence[tuple[str, Scorer]], checks: Mapping[str, Check], unscored: Check) -> None:
        self._scorers = scorers
        self._once = all(is_packaged(scorer) for _, scorer in scorers)
        self._known: dict[tuple[object, ...], tuple[Item, list[Verdict]]] = {}
        self._checks, self._unscored = checks, unscored

    def _verdicts(self, trial: Trial, answer: Response) -> list[Verdict]:
        # All of a response but the time that it took, and not the key that scoring uses: this is to see its faults.
        key = (trial.item.id, answer.text, answer.error, answer.choice_logprobs, answer.finish, answer.usage)
        item, verdicts = self._known.get(key, (None, []))
        if item != trial.item or not self._once:  # a forger may give two items one id
            verdicts = [verdict_row(scorer.judge(trial.item, answer)) for _, scorer in self._scorers]
            self._known[key] = trial.item, verdicts
        return verdicts

    def compare(self, answered: Sequence[tuple[Trial, Response | None]], stored: RawScores) -> None:
        """The stored scores of some trials with their answers; None is no answer: nothing was asked, nothing is scored.

        Scorer by scorer where all are the same, as a million mostly are; else trial by trial.
        """
        now = {trial.trial: self._verdicts(trial, answer) for trial, answer in answered if answer is not None}
        for place, (name, _) in enumerate(self._scorers):
            own = stored.get(name, {})
            if own != {number: verdicts[place] for number, verdicts in now.items()}:
                break
        else:
            self._unscored.checked += len(now) * len(self._scorers)
            for name, _ in self._scorers:
                self._checks[name].checked += len(now)
            return
        for trial, _ in answered:
            self._compare_trial(trial, now.get(trial.trial), stored)

    def _compare_trial(self, trial: Trial, verdicts: Sequence[Verdict] | None, stored: RawScores) -> None:
        number, unscored = trial.trial, self._unscored
        for place, (name, _) in enumerate(self._scorers):
            row = stored[name].get(number) if name in stored else None
            now = None if verdicts is None else verdicts[place]
            if row is None and now is None:
                continue
            unscored.checked += 1
            if row is None:
                unscored.miss(f"{where(trial)}: no score of {name}")
                continue
            check = self._checks[name]
            check.checked += 1
            if row != now and (words := _both(_score(row, number, number), None if now is None else read_score(*now))):
                check.miss(f"{where(trial)}: {words}")
                check.note = check.note or (
                    f"{name} changed without its version, or its scores or the raw text were edited after scoring"
                )

    def read_others(self, stored: RawScores, first: int, last: int) -> None:
        """Read the scores that nothing here gives again, so that what is no score is seen there, too."""
        for name in stored.keys() - {name for name, _ in self._scorers}:
            for row in stored[name].values():
                _score(row, first, last)


def _score(row: RawScore, first: int, last: int) -> Score:
    """A stored score. One that is none is a StoreError."""
    try:
        return read_score(*row)
    except ValueError as error:
        raise StoreError(f"a score of trials {first} to {last} is not what a run holds: {error}") from None


def _both(then: Score, now: Score | None) -> str:
    """What differs between two scores, but for rounding; None is no score at all."""
    if now is None:
        return f"stored {then.value} ({then.reason}), recomputed no score"
    keys = ("value", "answer", "reason", "span")
    differences = (first_difference(getattr(then, key), getattr(now, key), key) for key in keys)
    return "; ".join(words for words in differences if words is not None)
