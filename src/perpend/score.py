"""Responses → Scores, again at any time, with no model and no network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from perpend.compose import find_scorer
from perpend.database import exclusive
from perpend.store import Store
from perpend.types import Score, Scorer


def score_run(directory: Path, names: Sequence[str]) -> list[Scorer]:
    """Score every response of a run with the named scorers; stored scores of the same versions are replaced."""
    scorers = [find_scorer(name) for name in names]
    with exclusive(directory), Store.open(directory / "run.db", write=True) as store:
        store.write_scores(scorers, judged(store, scorers))
    return scorers


def judged(store: Store, scorers: Sequence[Scorer]) -> Iterator[tuple[int, list[Score]]]:
    """(trial, its scores) for every trial that was asked, in plan order."""
    for trial, response in store.answers():
        yield trial.trial, [scorer.judge(trial.item, response) for scorer in scorers]
