"""Scores as rows of run.db."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from sqlite3 import Connection
from typing import TypeAlias

from perpend.types import Score, Scorer

Verdict: TypeAlias = tuple[float | None, str | None, str, str | None]
"""value, answer, reason, span as JSON"""
ScoredPart: TypeAlias = tuple[Sequence[tuple[int, int]], Sequence[Sequence[Verdict]]]
"""Some trials, each with the place of its verdicts; and verdicts, one of each scorer. Many trials may share a place."""

_PART, _LARGER = 2000, 16_000
CACHE = 64_000
"""KiB of pages: scores are written at many places of their table, and each place is come back to."""
# SQLite itself puts verdicts and trials together: as rows of Python they would take twice as long.
_PLACED = "CREATE TEMP TABLE placed(trial INTEGER PRIMARY KEY, place INTEGER NOT NULL)"
_VERDICTS = (
    "CREATE TEMP TABLE verdict(scorer INTEGER, place INTEGER, value REAL, answer TEXT, reason TEXT, span TEXT,"
    " PRIMARY KEY(scorer, place)) WITHOUT ROWID"
)
_JOINED = (
    "INSERT INTO score SELECT ?1, p.trial, v.value, v.answer, v.reason, v.span"
    " FROM placed p CROSS JOIN verdict v ON v.scorer = ?1 AND v.place = p.place ORDER BY p.trial"
)


def verdict_row(score: Score) -> Verdict:
    """What the table holds of a score beside its scorer and its trial."""
    span = None if score.span is None else f"[{score.span[0]},{score.span[1]}]"
    return (score.value, score.answer, score.reason, span)


def scored_parts(rows: Iterable[tuple[int, Sequence[Score]]]) -> Iterator[ScoredPart]:
    """Trials with their scores, one of each scorer, in parts."""
    rest = iter(rows)
    while some := list(islice(rest, _PART)):
        placed = [(trial, place) for place, (trial, _) in enumerate(some)]
        yield placed, [[verdict_row(score) for score in own] for _, own in some]


def replace_scores(db: Connection, scorers: Sequence[Scorer], parts: Iterable[ScoredPart]) -> None:
    """Replace all scores of these scorer versions, whose order is that of the verdicts."""
    keys: list[int] = []
    for scorer in scorers:
        named = (scorer.name, scorer.version)
        db.execute("INSERT OR IGNORE INTO scorer(name, version) VALUES(?, ?)", named)
        keys.append(db.execute("SELECT scorer FROM scorer WHERE name = ? AND version = ?", named).fetchone()[0])
        db.execute("DELETE FROM score WHERE scorer = ?", (keys[-1],))
    db.execute(_PLACED)
    db.execute(_VERDICTS)
    for placed, verdicts in parts:
        db.executemany("INSERT INTO placed VALUES(?, ?)", placed)
        for key, own in zip(keys, zip(*verdicts, strict=True), strict=True):
            rows = ((key, place, *verdict) for place, verdict in enumerate(own))
            db.executemany("INSERT INTO verdict VALUES(?, ?, ?, ?, ?, ?)", rows)
            db.execute(_JOINED, (key,))
        db.execute("DELETE FROM placed")
        db.execute("DELETE FROM verdict")
    db.execute("DROP TABLE placed")
    db.execute("DROP TABLE verdict")


def larger(parts: Iterable[ScoredPart]) -> Iterator[ScoredPart]:
    """Parts put together: the more trials are written at once, the more of them share a page of the table."""
    placed: list[tuple[int, int]] = []
    verdicts: list[Sequence[Verdict]] = []
    for more, others in parts:
        placed += [(trial, len(verdicts) + place) for trial, place in more]
        verdicts += others
        if len(placed) >= _LARGER:
            yield placed, verdicts
            placed, verdicts = [], []
    if placed:
        yield placed, verdicts
