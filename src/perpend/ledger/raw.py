"""Many trials as raw rows: the answers that scorers read, which can travel, and the scores as they are stored."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from perpend.ledger.blocks import item_blocks
from perpend.ledger.plan import whole
from perpend.ledger.store import Store
from perpend.types import UNFIT

AnswerPart: TypeAlias = tuple[dict[object, str], list[tuple[object, ...]]]
"""The bodies of some items by their numbers; and (trial, item, text, error, logprobs, finish, usage, ms) of answers."""
RawScore: TypeAlias = tuple[object, object, object, object]
"""value, answer, reason, span, as the table holds them"""
RawScores: TypeAlias = dict[str, dict[int, RawScore]]
"""By 'name@version', then trial."""
Batches: TypeAlias = Iterator[list[tuple[object, ...]]]
"""Rows in lists: a million of them are read faster so."""
_ANSWERS = (
    "SELECT t.trial, t.item, r.text, r.error, r.logprobs, r.finish, r.usage, r.ms"
    " FROM trial t JOIN response r ON r.trial = t.trial WHERE t.trial BETWEEN ? AND ?"
)
_THE_ANSWER = (
    " AND r.rowid = coalesce("
    " (SELECT rowid FROM response WHERE trial = t.trial AND text IS NOT NULL ORDER BY turn DESC, attempt LIMIT 1),"
    " (SELECT rowid FROM response WHERE trial = t.trial ORDER BY turn DESC, attempt DESC LIMIT 1))"
)
_BODY = "SELECT body FROM item WHERE item = ?"
_BLANK = (
    "SELECT r.trial, CASE WHEN r.text GLOB '[!-~]*' THEN NULL ELSE r.text END, r.ms FROM response r"
    " WHERE r.text IS NOT NULL"
)
_THE_TEXT = (
    " AND r.rowid = (SELECT rowid FROM response WHERE trial = r.trial AND text IS NOT NULL"
    " ORDER BY turn DESC, attempt LIMIT 1)"
)
_OF_SCORER = "scorer = (SELECT scorer FROM scorer WHERE name = ? AND version = ?)"
_VALUES = f"SELECT trial, value FROM score WHERE value IS NOT NULL AND {_OF_SCORER} AND trial BETWEEN ? AND ?"  # noqa: S608
_END = f"SELECT {{}}(trial) FROM score WHERE {_OF_SCORER}"  # noqa: S608
_UNFIT = " OR ".join(f"reason GLOB '{beginning}*'" for beginning in UNFIT)
_LETTER = f"CASE value WHEN 0.0 THEN '0' WHEN 1.0 THEN '1' ELSE iif(value IS NULL, iif({_UNFIT}, 'u', '-'), '?') END"
_ORDERED = f"SELECT value, reason FROM score WHERE {_OF_SCORER} AND trial BETWEEN ? AND ? ORDER BY trial"  # noqa: S608
_LETTERS = f"SELECT group_concat({_LETTER}, '') FROM ({_ORDERED})"  # noqa: S608
_BLOCK = 20_000


def last_trial(store: Store) -> int:
    """The number of the last trial of the plan; 0 where it is empty."""
    return whole(store.query("SELECT coalesce(max(trial), 0) FROM trial")[0][0])


def trial_count(store: Store) -> int:
    """How many trials the plan has."""
    return whole(store.query("SELECT count(*) FROM trial")[0][0])


def asked_once(store: Store) -> bool:
    """Whether no trial has a second turn or attempt, so that its one response is the one that counts."""
    return not store.query("SELECT 1 FROM response WHERE turn > 0 OR attempt > 0 LIMIT 1")


def answer_parts(store: Store, size: int) -> Iterator[AnswerPart]:
    """The answers that `Store.answers` gives, as raw rows, in parts that keep those to an item together."""
    sql = (_ANSWERS if asked_once(store) else _ANSWERS + _THE_ANSWER) + " ORDER BY t.trial"
    for ranges in item_blocks(store, last_trial(store), size):
        rows = [row for first, last in ranges for batch in store.batches(sql, first, last) for row in batch]
        numbers = dict.fromkeys(row[1] for row in rows)
        bodies = {number: str(own[0][0]) for number in numbers if (own := store.query(_BODY, number))}
        yield bodies, rows if len(bodies) == len(numbers) else [row for row in rows if row[1] in bodies]


def blank_batches(store: Store) -> Batches:
    """(trial, text or None, milliseconds) of every answered trial, where None is a text that is surely not blank."""
    return store.batches(_BLANK if asked_once(store) else _BLANK + _THE_TEXT)


def score_bounds(store: Store, name: str, version: str) -> tuple[int, int] | None:
    """The first and the last trial that one scorer version has scores of; None where it has none."""
    first, last = (store.query(_END.format(end), name, version)[0][0] for end in ("min", "max"))
    return None if first is None else (whole(first), whole(last))


def value_blocks(
    store: Store, name: str, version: str, bounds: tuple[int, int]
) -> Iterator[tuple[int, str] | list[tuple[object, ...]]]:
    """The values of one scorer version from the first to the last trial, in parts.

    A part is its first trial and a letter for each that follows: '0', '1', '-' for none, 'u' for none because the
    scorer cannot judge the item. Where a trial is left out or a value is another one, it is the rows (trial, value)
    that have a value. Letters are read in a quarter of the time.
    """
    for first in range(bounds[0], bounds[1] + 1, _BLOCK):
        last = min(first + _BLOCK - 1, bounds[1])
        letters = str(store.query(_LETTERS, name, version, first, last)[0][0] or "")
        if len(letters) == last - first + 1 and "?" not in letters:
            yield first, letters
        else:
            yield store.query(_VALUES, name, version, first, last)


def plan_batches(store: Store) -> Batches:
    """(item, condition, model, sampling, repeat) of every trial, in plan order, as numbers that count from 1 (repeat
    from 0)."""
    return store.batches("SELECT item, condition, model, sampling, repeat FROM trial ORDER BY trial")


def raw_scores(store: Store, first: int, last: int) -> RawScores:
    """The stored scores of the trials from first to last, as they are stored."""
    sql = "SELECT trial, value, answer, reason, span FROM score WHERE scorer = ? AND trial BETWEEN ? AND ?"
    scorers = store.query("SELECT name || '@' || version, scorer FROM scorer ORDER BY name, version")
    return {
        str(name): {row[0]: row[1:] for rows in store.batches(sql, key, first, last) for row in rows}  # type: ignore[misc]
        for name, key in scorers
    }
