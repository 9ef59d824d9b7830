"""First questions rendered again: how many have the digest of the one that was asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from perpend.ask.conditions import first_request
from perpend.ask.progress import Progress
from perpend.ledger.store import Store
from perpend.types import Condition

_CHUNK = 1000


@dataclass(slots=True)
class RenderedAgain:
    """First questions, rendered by this code: how many have the digest of the one that was asked, and how many not.

    `first` is the first trial that differs, `unknown` the first condition that the manifest does not have.
    """

    same: int = 0
    differ: int = 0
    first: str = ""
    unknown: str | None = None

    def miss(self, where: str) -> None:
        """Count a request that differs."""
        self.differ += 1
        self.first = self.first or where

    def add(self, later: RenderedAgain) -> None:
        """Take in the counts of later trials."""
        self.same += later.same
        self.differ += later.differ
        self.first = self.first or later.first
        self.unknown = later.unknown if self.unknown is None else self.unknown


def rendered_again(
    store: Store, conditions: Mapping[str, Condition], planned: int, choices_scored: bool, progress: Progress
) -> RenderedAgain:
    """Every first question that was asked of the planned trials, in their order, up to one of an unknown condition."""
    counted, requests = RenderedAgain(), store.first_requests()
    pending = next(requests, None)
    for start in range(1, planned + 1, _CHUNK):
        for trial in store.trials(start, start + _CHUNK - 1):
            while pending is not None and pending[0] == trial.trial:
                if trial.condition not in conditions:
                    return RenderedAgain(unknown=trial.condition)
                now = first_request(trial, conditions[trial.condition], choices_scored=choices_scored)
                if now.digest == pending[1]:
                    counted.same += 1
                else:
                    counted.miss(f"trial {trial.trial} ({trial.item.id}, {trial.condition})")
                pending = next(requests, None)
        progress.advance(min(_CHUNK, planned - start + 1))
    return counted
