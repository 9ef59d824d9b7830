"""The raw rows of run.db: streamed out in plan order, written back into a new run.db, and counted.

Rows travel as SQLite holds them, so what is written back is what was read, to the last bit of a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from sqlite3 import SQLITE_LIMIT_ATTACHED, Connection
from typing import TypeAlias

from perpend.ledger.database import connect, insert_rows, translated
from perpend.ledger.plan import whole
from perpend.ledger.store import Store

Row: TypeAlias = Sequence[object]

_RESPONSES = (
    "SELECT trial, turn, attempt, lower(hex(request_sha256)), text, error, logprobs, finish, usage, ms, at"
    " FROM response WHERE trial BETWEEN ? AND ? ORDER BY trial, turn, attempt"
)
LEAST, MOST = -(1 << 63), (1 << 63) - 1
"""What SQLite can hold as the number of a trial."""
_SCORES = "SELECT trial, value, answer, reason, span FROM score WHERE scorer = ? ORDER BY trial"
_BATCH = 1000
_PARTS = {
    "datasets": "SELECT name, version, path, sha256 FROM dataset ORDER BY dataset",
    "conditions": "SELECT name, params FROM condition ORDER BY condition",
    "models": "SELECT name, label, options FROM model ORDER BY model",
    "samplings": "SELECT params FROM sampling ORDER BY sampling",
    "meta": "SELECT key, value FROM meta ORDER BY key",
}


@dataclass(frozen=True, slots=True)
class Counts:
    """How many trials are planned, were asked, and have an answer; `gapless` when they are numbered 1, 2, 3, …"""

    planned: int
    asked: int
    answered: int
    gapless: bool


@dataclass(frozen=True, slots=True)
class ScoreCounts:
    """Of one scorer version: how many trials have a score, a value, the value 1, and are read as INVALID.

    INVALID does not count answers that were cut off: those are unfinished.
    """

    trials: int
    values: int
    ones: int
    invalid: int


class Snapshot:
    """One moment of a run.db: whoever writes meanwhile is not seen. Open it with `snapshot`."""

    def __init__(self, path: Path, db: Connection) -> None:
        self.path = path
        self._db = db

    def _rows(self, sql: str, *values: object) -> Iterator[Row]:
        with translated(self.path):
            for row in self._db.execute(sql, values):  # noqa: UP028  'yield from' would close a cursor of a closed file
                yield row

    def parts(self) -> dict[str, list[Row]]:
        """The small tables, in the order of their numbers: datasets, conditions, models, samplings, meta."""
        return {name: list(self._rows(sql)) for name, sql in _PARTS.items()}

    def items(self) -> Iterator[Row]:
        """(number of the dataset, body) of every item, in plan order."""
        return self._rows("SELECT dataset, body FROM item ORDER BY item")

    def item_texts(self) -> Iterator[tuple[str, str]]:
        """(id, body) of every item, as the columns hold them."""
        for name, body in self._rows("SELECT id, body FROM item ORDER BY item"):
            yield str(name), str(body)

    def trials(self) -> Iterator[Row]:
        """(trial, item, condition, model, sampling, repeat) of the plan, all as numbers."""
        return self._rows("SELECT trial, item, condition, model, sampling, repeat FROM trial ORDER BY trial")

    def numbered_items(self) -> Iterator[Row]:
        """(item, number of the dataset, id, body) of every item, in plan order."""
        return self._rows("SELECT item, dataset, id, body FROM item ORDER BY item")

    def response_span(self) -> list[int]:
        """The first and the last trial that have a response; empty where none has."""
        row = next(self._rows("SELECT min(trial), max(trial) FROM response"))
        return [whole(trial) for trial in row if trial is not None]

    def responses(self, first: int = LEAST, last: int = MOST) -> Iterator[Row]:
        """trial, turn, attempt, request_sha256, text, error, logprobs, finish, usage, ms, at; in that order.

        Of the trials from first to last, both included.
        """
        return self._rows(_RESPONSES, first, last)

    def scorers(self) -> dict[str, int]:
        """Every 'name@version' that has scores, sorted, with its number."""
        rows = self._rows("SELECT name || '@' || version, scorer FROM scorer ORDER BY name, version")
        return {str(name): whole(number) for name, number in rows}

    def score_batches(self) -> Iterator[tuple[str, list[Row]]]:
        """('name@version', rows of trial, value, answer, reason, span) by scorer, then trial, in lists."""
        for name, number in self.scorers().items():
            with translated(self.path):
                cursor = self._db.execute(_SCORES, (number,))
                while rows := cursor.fetchmany(_BATCH):
                    yield name, rows

    def same_plan(self, other: Snapshot) -> bool:
        """Whether two ledgers hold the same items, conditions, models, samplings and trials, in the same order."""
        mine, theirs = ({**one.parts(), "meta": []} for one in (self, other))
        pairs = (zip_longest(self.items(), other.items()), zip_longest(self.trials(), other.trials()))
        return mine == theirs and all(one == two for rows in pairs for one, two in rows)

    def counts(self) -> Counts:
        """How complete the run is."""
        planned, *ends = next(
            self._rows("SELECT count(*), coalesce(min(trial), 1), coalesce(max(trial), 0) FROM trial")
        )
        asked, answered = next(
            self._rows(
                "SELECT count(DISTINCT trial), count(DISTINCT CASE WHEN text IS NOT NULL THEN trial END) FROM response"
            )
        )
        return Counts(whole(planned), whole(asked), whole(answered), ends == [1, planned])

    def has_answer(self) -> bool:
        """Whether any trial was answered; failures are no answers."""
        return bool(next(self._rows("SELECT EXISTS(SELECT 1 FROM response WHERE text IS NOT NULL)"))[0])

    def score_counts(self) -> dict[str, ScoreCounts]:
        """The counts of every scorer version that has scores, by 'name@version'."""
        sql = (
            "SELECT count(*), count(value), count(CASE WHEN value = 1 THEN 1 END),"
            " count(CASE WHEN value IS NULL AND answer = 'INVALID' AND reason NOT LIKE 'unfinished%' THEN 1 END)"
            " FROM score WHERE scorer = ?"
        )
        counts = {name: next(self._rows(sql, number)) for name, number in self.scorers().items()}
        return {name: ScoreCounts(*map(whole, row)) for name, row in counts.items()}

    def size(self) -> int:
        """How many trials, responses and scores there are together."""
        row = next(
            self._rows("SELECT (SELECT count(*) FROM trial) + (SELECT count(*) FROM response)"
                       " + (SELECT count(*) FROM score)")
        )  # fmt: skip
        return whole(row[0])


@contextmanager
def snapshot(path: Path) -> Iterator[Snapshot]:
    """A run.db for reading, as it is at this moment."""
    Store.open(path).close()  # says what is wrong with a file that is no run
    with translated(path), closing(connect(path, "ro")) as db:
        db.execute("BEGIN")
        yield Snapshot(path, db)


class Rebuild:
    """A new run.db, written table by table from raw rows. Use it with `with`; nothing is checked but the schema."""

    def __init__(self, path: Path, db: Connection) -> None:
        self.path = path
        self._db = db

    def _insert(self, table: str, columns: int, rows: Iterable[Row]) -> None:
        with translated(self.path):
            insert_rows(self._db, table, columns, rows)

    def parts(self, parts: Mapping[str, Sequence[Row]]) -> None:
        """The small tables, as `Snapshot.parts` gives them."""
        with translated(self.path):
            self._db.execute("DELETE FROM meta")
        self._insert("meta", 2, parts["meta"])
        self._insert("dataset", 5, ((n, *row) for n, row in enumerate(parts["datasets"])))
        self._insert("condition", 3, ((n, *row) for n, row in enumerate(parts["conditions"], 1)))
        self._insert("model", 4, ((n, *row) for n, row in enumerate(parts["models"], 1)))
        self._insert("sampling", 2, ((n, *row) for n, row in enumerate(parts["samplings"], 1)))

    def items(self, rows: Iterable[tuple[int, str, str]]) -> None:
        """(number of the dataset, id, body)"""
        self._insert("item", 4, ((n, *row) for n, row in enumerate(rows, 1)))

    def trials(self, rows: Iterable[Row]) -> None:
        """(trial, item, condition, model, sampling, repeat)"""
        self._insert("trial", 6, rows)

    def responses(self, rows: Iterable[Row]) -> None:
        """As `Snapshot.responses`, with the digest of the request as bytes."""
        self._insert("response", 11, rows)

    def looks(self, rows: Iterable[Row]) -> None:
        """(look, items, stop as 0 or 1, numbers as JSON)"""
        self._insert("look", 4, rows)

    def scores(self, scorers: Sequence[str], rows: Iterable[Row]) -> None:
        """(number of the scorer from 1, trial, value, answer, reason, span)"""
        self._scorers(scorers)
        self._insert("score", 6, rows)

    def take_scores(self, scorers: Sequence[str], path: Path) -> list[int]:
        """The same from a file that `score_table` made; which trials they name that the plan does not hold.

        The plan's trials are numbered from 1 without a gap.
        """
        self._scorers(scorers)
        with translated(self.path):
            self._db.execute("COMMIT")  # no file can be attached within a transaction
            self._db.setlimit(SQLITE_LIMIT_ATTACHED, 1)
            self._db.execute("ATTACH ? AS beside", (str(path),))
            self._db.execute("BEGIN")
            self._db.execute("INSERT INTO score SELECT * FROM beside.score ORDER BY scorer, trial")
            bounds = self._db.execute(
                "SELECT min(trial), max(trial), (SELECT coalesce(max(trial), 0) FROM trial) FROM score GROUP BY scorer"
            )
            return [trial for first, last, planned in bounds for trial in (first, last) if not 0 < trial <= planned]

    def _scorers(self, scorers: Sequence[str]) -> None:
        named = (name.rpartition("@") for name in scorers)
        self._insert("scorer", 3, ((n, name, version) for n, (name, _, version) in enumerate(named, 1)))


def score_table(path: Path, rows: Iterable[Row]) -> None:
    """A new file that holds the table of scores and nothing else."""
    with translated(path), closing(connect(path, "rwc")) as db:
        db.execute("PRAGMA journal_mode=OFF")
        db.execute("PRAGMA synchronous=OFF")
        db.execute("BEGIN")
        db.execute(
            "CREATE TABLE score(scorer INTEGER NOT NULL, trial INTEGER NOT NULL, value REAL, answer TEXT,"
            " reason TEXT NOT NULL, span TEXT, PRIMARY KEY(scorer, trial)) STRICT, WITHOUT ROWID"
        )
        insert_rows(db, "score", 6, rows)
        db.execute("COMMIT")


@contextmanager
def rebuild(path: Path) -> Iterator[Rebuild]:
    """A new run.db at `path`, committed at the end of the block. What is half written must be thrown away."""
    Store.create(path, "").close()
    with translated(path), closing(connect(path, "rw")) as db:
        # Nobody else sees the file before it is whole, so it needs no journal.
        db.execute("PRAGMA journal_mode=OFF")
        db.execute("PRAGMA synchronous=OFF")
        db.execute("BEGIN")
        yield Rebuild(path, db)
        db.execute("COMMIT")
