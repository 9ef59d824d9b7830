"""Scores as rows of run.db."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from sqlite3 import Connection
from typing import TypeAlias

from perpend.ledger.database import insert_rows
from perpend.types import Score, Scorer

ScoreRow: TypeAlias = tuple[int, int, float | None, str | None, str, str | None]
"""number of the scorer, trial, value, answer, reason, span as JSON"""


Verdict: TypeAlias = tuple[float | None, str | None, str, str | None]
"""value, answer, reason, span as JSON"""


def verdict_row(score: Score) -> Verdict:
    """What the table holds of a score beside its scorer and its trial."""
    span = None if score.span is None else f"[{score.span[0]},{score.span[1]}]"
    return (score.value, score.answer, score.reason, span)


def score_row(key: int, trial: int, score: Score) -> ScoreRow:
    """A score as the table holds it."""
    return (key, trial, *verdict_row(score))


_CACHE = 64_000
"""KiB of pages: scores are written at many places of their table, and each place is come back to."""


def replace_scores(
    db: Connection, scorers: Sequence[Scorer], parts: Callable[[Sequence[int]], Iterable[Iterable[ScoreRow]]]
) -> None:
    """Replace all scores of these scorer versions by the rows that `parts` gives for the scorers' numbers."""
    keys: list[int] = []
    for scorer in scorers:
        named = (scorer.name, scorer.version)
        db.execute("INSERT OR IGNORE INTO scorer(name, version) VALUES(?, ?)", named)
        keys.append(db.execute("SELECT scorer FROM scorer WHERE name = ? AND version = ?", named).fetchone()[0])
        db.execute("DELETE FROM score WHERE scorer = ?", (keys[-1],))
    before = db.execute("PRAGMA cache_size").fetchone()[0]
    db.execute(f"PRAGMA cache_size = -{_CACHE}")
    for rows in parts(keys):
        insert_rows(db, "score", 6, rows)
    db.execute(f"PRAGMA cache_size = {before}")
