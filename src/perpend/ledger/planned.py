"""Writing the plan into a new run.db: all of it, or the part of one shard under the same numbers."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import TypeAlias

from perpend.canon import dumps
from perpend.errors import DataError
from perpend.ledger.plan import Plan
from perpend.ledger.shards import Shard
from perpend.types import Item, Sampling

PlannedTrial: TypeAlias = tuple[str, str, str, Sampling, int]
"""item id, condition, model label, sampling, repeat"""

_PRODUCT = (
    "WITH RECURSIVE times(repeat) AS (SELECT 0 UNION ALL SELECT repeat + 1 FROM times WHERE repeat + 1 < :repeats)"
    " INSERT INTO trial SELECT"
    " :before + ((item - 1) * (SELECT count(*) FROM condition) + condition - 1) * :repeats + repeat + 1,"
    " item, condition, (SELECT model FROM model WHERE label = :label),"
    " (SELECT sampling FROM sampling WHERE params = :params), repeat"
    " FROM item, condition, times WHERE item BETWEEN :first AND :last ORDER BY item, condition, repeat"
)
"""Every combination for the items from first to last, numbered as in the whole plan."""
_ONE_TRIAL = (
    "INSERT INTO trial(item, condition, model, sampling, repeat) VALUES((SELECT item FROM item WHERE id = ?),"
    " (SELECT condition FROM condition WHERE name = ?), (SELECT model FROM model WHERE label = ?),"
    " (SELECT sampling FROM sampling WHERE params = ?), ?)"
)


def insert_plan(
    db: sqlite3.Connection,
    plan: Plan,
    items: Iterable[tuple[int, str, Item]],
    trials: Iterable[PlannedTrial] | None = None,
    shard: Shard | None = None,
) -> int:
    """Fill the tables of the plan, inside the caller's transaction; how many trials the whole plan has.

    `items` are (number of the dataset, file:line, item), all of the run's. With `shard`, only its trials and their
    items are kept.
    """
    db.executemany(
        "INSERT INTO dataset VALUES(?, ?, ?, ?, ?)",
        ((n, d.name, d.version, d.path, d.sha256) for n, d in enumerate(plan.datasets)),
    )
    for dataset, where, item in items:
        try:
            db.execute("INSERT INTO item VALUES(NULL, ?, ?, ?)", (dataset, item.id, dumps(item.as_json())))
        except sqlite3.IntegrityError:
            raise DataError(f"{where}: id {item.id!r} is used twice; ids must be unique in a run") from None
    db.executemany(
        "INSERT INTO condition VALUES(NULL, ?, ?)",
        ((name, dumps(dict(params))) for name, params in plan.conditions.items()),
    )
    db.executemany(
        "INSERT INTO model VALUES(NULL, ?, ?, ?)",
        ((name, label, dumps(dict(options))) for label, name, options in plan.models),
    )
    samplings = [(label, dumps(s.as_json())) for label, _, _ in plan.models for s in plan.samplings[label]]
    db.executemany("INSERT OR IGNORE INTO sampling VALUES(NULL, ?)", ((params,) for _, params in samplings))
    if trials is not None:
        db.executemany(_ONE_TRIAL, ((*t[:3], dumps(t[3].as_json()), t[4]) for t in trials))
        return int(db.execute("SELECT count(*) FROM trial").fetchone()[0])
    count = int(db.execute("SELECT count(*) FROM item").fetchone()[0])
    labels = [label for label, _, _ in plan.models]
    each = count * len(plan.conditions) * plan.repeats
    for number, (label, params) in enumerate(samplings):
        first, last = (1, count) if shard is None else shard.items_of(labels.index(label), len(labels), count)
        named = {"repeats": plan.repeats, "label": label, "params": params}
        db.execute(_PRODUCT, {**named, "before": number * each, "first": first, "last": last})
    if shard is not None:
        db.execute("DELETE FROM item WHERE item NOT IN (SELECT item FROM trial)")
    return each * len(samplings)
