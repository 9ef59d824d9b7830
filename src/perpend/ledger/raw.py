"""Many trials as raw rows: the answers that scorers read, which can travel, and the scores as they are stored."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TypeAlias

from perpend.ledger.plan import whole
from perpend.ledger.store import Store

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
