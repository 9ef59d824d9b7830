"""Scores in bulk: the answers that scorers read, as raw rows that can travel, and the rows that they become."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from sqlite3 import Connection
from typing import TYPE_CHECKING, TypeAlias

from perpend.ledger.plan import whole
from perpend.types import Score, Scorer

if TYPE_CHECKING:
    from perpend.ledger.store import Store

ScoreRow: TypeAlias = tuple[int, int, float | None, str | None, str, str | None]
"""number of the scorer, trial, value, answer, reason, span as JSON"""
AnswerPart: TypeAlias = tuple[dict[object, str], list[tuple[object, ...]]]
"""The bodies of some items by their numbers; and (trial, item, text, error, logprobs, finish, usage, ms) of answers."""
RawScore: TypeAlias = tuple[object, object, object, object]
"""value, answer, reason, span, as the table holds them"""
RawScores: TypeAlias = dict[str, dict[int, RawScore]]
"""By 'name@version', then trial."""
_ANSWERS = (
    "SELECT i.body, t.trial, t.item, r.text, r.error, r.logprobs, r.finish, r.usage, r.ms"
    " FROM trial t JOIN item i USING (item) JOIN response r ON r.trial = t.trial WHERE r.rowid = coalesce("
    " (SELECT rowid FROM response WHERE trial = t.trial AND text IS NOT NULL ORDER BY turn DESC, attempt LIMIT 1),"
    " (SELECT rowid FROM response WHERE trial = t.trial ORDER BY turn DESC, attempt DESC LIMIT 1))"
    " ORDER BY t.trial"
)


def last_trial(store: Store) -> int:
    """The number of the last trial of the plan; 0 where it is empty."""
    return whole(store.query("SELECT coalesce(max(trial), 0) FROM trial")[0][0])


def answer_parts(store: Store, size: int) -> Iterator[AnswerPart]:
    """The answers that `Store.answers` gives, in the same order, as raw rows in parts."""
    rows = store.rows(_ANSWERS)
    while chunk := list(islice(rows, size)):
        yield {row[2]: str(row[0]) for row in chunk}, [row[1:] for row in chunk]


def raw_scores(store: Store, first: int, last: int) -> RawScores:
    """The stored scores of the trials from first to last, as they are stored."""
    sql = "SELECT trial, value, answer, reason, span FROM score WHERE scorer = ? AND trial BETWEEN ? AND ?"
    scorers = store.query("SELECT name || '@' || version, scorer FROM scorer ORDER BY name, version")
    return {
        str(name): {whole(trial): (*row,) for trial, *row in store.rows(sql, key, first, last)}  # type: ignore[misc]
        for name, key in scorers
    }


def score_row(key: int, trial: int, score: Score) -> ScoreRow:
    """A score as the table holds it."""
    span = None if score.span is None else f"[{score.span[0]},{score.span[1]}]"
    return (key, trial, score.value, score.answer, score.reason, span)


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
    for rows in parts(keys):
        db.executemany("INSERT INTO score VALUES(?, ?, ?, ?, ?, ?)", rows)
