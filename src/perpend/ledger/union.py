"""The union of a run's ledger with that of a shard, on (trial, turn, attempt). What cannot both be true is refused."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from perpend.errors import StoreError
from perpend.ledger.plan import whole
from perpend.ledger.snapshot import Row, Snapshot, snapshot
from perpend.ledger.store import Store

_CHUNK = 2000
_KEYS = 50_000
"""Trials whose responses are compared by their keys at once."""
_COLUMNS = ("request_sha256", "text", "error", "logprobs", "finish", "usage")
_RESPONSES = (
    "SELECT trial, turn, attempt, lower(hex(request_sha256)), text, error, logprobs, finish, usage, ms, at"
    " FROM response WHERE trial BETWEEN ? AND ?"
)
_TRIALS = "SELECT trial, item, condition, model, sampling, repeat FROM trial WHERE trial BETWEEN ? AND ?"
_ITEMS = "SELECT item, dataset, id, body FROM item WHERE item BETWEEN ? AND ?"
_NAMED = (
    "SELECT i.id, c.name, m.label FROM trial t JOIN item i USING (item) JOIN condition c USING (condition)"
    " JOIN model m USING (model) WHERE t.trial = ?"
)
_SHOWN = 60


def unite_all(store: Store, shards: Iterable[Path]) -> int:
    """Add the responses of the shards in these folders that the ledger does not have, all or none; how many those are.

    The ledger was begun when the first of them was.
    """
    added, created = 0, [store.meta().get("created")]
    with store.transaction() as db:
        for folder in shards:
            with snapshot(folder / "run.db") as shard:
                added += unite(db, shard)
                created += [str(value) for key, value in shard.parts()["meta"] if key == "created"]
        first = min((str(time) for time in created if time is not None), key=_seconds)
        db.execute("INSERT OR REPLACE INTO meta VALUES('created', ?)", (first,))
    return added


def _seconds(written: str) -> float:
    try:
        return float(written)
    except ValueError:
        return math.inf


def unite(db: sqlite3.Connection, shard: Snapshot) -> int:
    """Add to a ledger, within a transaction, the responses of a shard that it does not have; how many those are.

    StoreError where the shard's plan is not a part of the ledger's, or where both have a response of one trial, turn
    and attempt and it is not the same. Of two that differ only in their times the one that is there stays.
    """
    _check_plan(db, shard)

    def new() -> Iterator[Row]:
        for row, other in _beside(db, shard.responses(), _RESPONSES, 3):
            if other is None:
                yield (*row[:3], bytes.fromhex(str(row[3])), *row[4:])
            elif tuple(row[3:9]) != tuple(other[3:9]):
                raise _conflict(db, shard.path.parent, row, other)

    return db.executemany("INSERT INTO response VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", new()).rowcount


def _beside(db: sqlite3.Connection, rows: Iterator[Row], sql: str, width: int) -> Iterator[tuple[Row, Row | None]]:
    """Each row, which come in the order of their first column, with the ledger's row of the same key, if it has one."""
    while chunk := list(islice(rows, _CHUNK)):
        here = {row[:width]: row for row in db.execute(sql, (chunk[0][0], chunk[-1][0]))}
        for row in chunk:
            yield row, here.get(tuple(row[:width]))


def _check_plan(db: sqlite3.Connection, shard: Snapshot) -> None:
    place = shard.path.parent
    own = Snapshot(shard.path, db).parts()
    for name, rows in shard.parts().items():
        if name != "meta" and [tuple(row) for row in rows] != [tuple(row) for row in own[name]]:
            raise StoreError(
                f"{place}: its {name} are not those of the run, though its manifest is; nothing was merged"
            )
    for row, other in _beside(db, shard.numbered_items(), _ITEMS, 1):
        if other is None or tuple(row) != tuple(other):
            raise StoreError(f"{place}: its item {row[0]} ({row[2]!r:.80}) is not that of the run; nothing was merged")
    for row, other in _beside(db, shard.trials(), _TRIALS, 1):
        if other is None or tuple(row) != tuple(other):
            raise StoreError(f"{place}: its trial {row[0]} is not that of the run; nothing was merged")
    last = whole(db.execute("SELECT coalesce(max(trial), 0) FROM trial").fetchone()[0])
    strays = [trial for trial in shard.response_span() if not 0 < trial <= last]
    if strays:
        raise StoreError(
            f"{place}: holds a response of trial {strays[0]}, which the run does not have; nothing was merged"
        )


def _conflict(db: sqlite3.Connection, place: Path, row: Row, other: Row) -> StoreError:
    item, condition, model = db.execute(_NAMED, (row[0],)).fetchone()
    lines = [
        f"{name}: {_short(there)} → {_short(new)}"
        for name, there, new in zip(_COLUMNS, other[3:9], row[3:9], strict=True)
        if there != new
    ]
    return StoreError(
        f"{place}: trial {row[0]} (item {item!r:.80}, condition {condition!r:.80}, model {model!r:.80}), turn "
        f"{row[1]}, attempt {row[2]} was answered otherwise elsewhere; nothing was merged. It differs in",
        *lines,
        "Somebody asked the same trial twice. Merge only one of the two ledgers.",
    )


def _short(value: object) -> str:
    text = "none" if value is None else repr(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def unasked_blocks(store: Store) -> list[tuple[int, int]]:
    """(model, item), by their numbers from 1, of every block with a trial that has no response."""
    rows = store.query(
        "SELECT DISTINCT model, item FROM trial t WHERE NOT EXISTS (SELECT 1 FROM response r WHERE r.trial = t.trial)"
    )
    return [(whole(model), whole(item)) for model, item in rows]


def response_count(folder: Path) -> int:
    """How many responses the ledger in a folder holds."""
    with Store.open(folder / "run.db") as store:
        return store.responses()


def contains(new: Path, old: Path) -> bool:
    """Whether the ledger in one folder holds every response of that in another, but for their times."""
    with snapshot(new / "run.db") as one, snapshot(old / "run.db") as other:
        mine = one.responses()
        return all(any(tuple(here[:9]) == tuple(row[:9]) for here in mine) for row in other.responses())


def lacks(ledger: Path, other: Path) -> bool:
    """Whether a second ledger holds a response of a trial of the first that the first does not hold, whatever it is."""
    spans = "SELECT min(trial), max(trial) FROM trial GROUP BY model, sampling"
    keys = "SELECT trial, turn, attempt FROM response WHERE trial BETWEEN ? AND ?"
    with Store.open(ledger) as own, Store.open(other) as theirs:
        for first, last in own.query(spans):
            for start in range(whole(first or 0), whole(last or -1) + 1, _KEYS):
                part = (start, min(start + _KEYS - 1, whole(last)))
                if set(theirs.query(keys, *part)) - set(own.query(keys, *part)):
                    return True
    return False
