"""run.db: schema, plan, append, read. SQL lives in this room and in the studies' own formats.

The plan is written whole before the first answer, so what is missing, how far a run is and what each cell should
hold are one query each. Responses are only ever appended; scores can be derived again at any time.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Self

from perpend.canon import dumps
from perpend.errors import StoreError
from perpend.ledger.database import connect, refuse_foreign, translated
from perpend.ledger.items import stored_item
from perpend.ledger.journal import acknowledge, acknowledged
from perpend.ledger.plan import (
    Appended,
    Cell,
    Dataset,
    OpenTrials,
    Plan,
    Trial,
    read_response,
    read_sampling,
    read_score,
    read_trials,
    response_row,
    whole,
)
from perpend.ledger.planned import PlannedTrial, insert_plan
from perpend.ledger.schema import check_schema, create_schema
from perpend.ledger.scores import ScoredPart, larger, replace_scores, scored_parts
from perpend.ledger.shards import Shard
from perpend.types import OWN_RULES, Item, Response, Sampling, Score, Scorer, Spent

_TRIALS = (
    "SELECT t.trial, t.item, i.body, c.name, m.label, s.params, t.repeat FROM trial t JOIN item i USING (item)"
    " JOIN condition c USING (condition) JOIN model m USING (model) JOIN sampling s USING (sampling)"
    " WHERE t.trial BETWEEN ? AND ? ORDER BY t.trial"
)
_NUMBERS = "SELECT trial FROM trial WHERE model = (SELECT model FROM model WHERE label = ?)"
_ANSWERS = (
    "SELECT t.trial, t.item, i.body, c.name, m.label, s.params, t.repeat,"
    " r.text, r.error, r.logprobs, r.finish, r.usage, r.ms FROM trial t JOIN item i USING (item)"
    " JOIN condition c USING (condition) JOIN model m USING (model) JOIN sampling s USING (sampling)"
    " JOIN response r ON r.trial = t.trial WHERE t.trial BETWEEN ?2 AND ?3 AND r.rowid = coalesce("
    " (SELECT rowid FROM response WHERE trial = t.trial AND turn <= ?1 AND text IS NOT NULL"
    " ORDER BY turn DESC, attempt LIMIT 1),"
    " (SELECT rowid FROM response WHERE trial = t.trial AND turn <= ?1 ORDER BY turn DESC, attempt DESC LIMIT 1))"
    " ORDER BY t.trial"
)
_TEXTS = (
    "SELECT r.trial, r.text, r.ms FROM response r WHERE r.text IS NOT NULL AND r.rowid = (SELECT rowid FROM response"
    " WHERE trial = r.trial AND text IS NOT NULL ORDER BY turn DESC, attempt LIMIT 1)"
)
_SCORES = (
    "SELECT s.trial, r.name || '@' || r.version, s.value, s.answer, s.reason, s.span FROM json_each(?1) wanted"
    " CROSS JOIN scorer r CROSS JOIN score s ON s.scorer = r.scorer AND s.trial = wanted.value"
    " ORDER BY r.name, r.version"
)


class Store:
    """One run.db. Open it with `create` or `open`, and close it (or use `with`)."""

    def __init__(self, path: Path, connection: sqlite3.Connection, *, write: bool) -> None:
        self.path = path
        self._db = connection
        self._write = write
        self._kept: int | None = None

    @classmethod
    def create(cls, path: Path, run: str) -> Self:
        """A new, empty ledger. An existing file is an error."""
        if path.exists() or path.is_symlink():
            raise StoreError(f"{path} exists already; give the run another name or remove it")
        with translated(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            store = cls(path, connect(path, "rwc"), write=True)
            create_schema(store._db)
            store.set_meta({"run": run, "created": repr(time.time())})
        return store

    @classmethod
    def open(cls, path: Path, *, write: bool = False, durable: bool = False) -> Self:
        """An existing ledger, for reading unless `write` is said. Nothing is read from one of another schema."""
        if not path.is_file():
            raise StoreError(f"{path.parent}: not a run (there is no {path.name}); 'perpend eval' makes one")
        with translated(path):
            refuse_foreign(path)
            connection = connect(path, "rw" if write else "ro", durable=durable)
            try:
                check_schema(connection, path)
            except (sqlite3.Error, StoreError):
                connection.close()
                raise
        return cls(path, connection, write=write)

    def close(self) -> None:
        """Close the file; a ledger that was written is left as one file, unless somebody else is reading it.

        On a disk too full for that it raises: whoever moves the file alone would leave its log, and answers, behind.
        """
        with translated(self.path), closing(self._db):
            if self._write:
                try:
                    self._db.execute("PRAGMA journal_mode=DELETE")
                except sqlite3.OperationalError as error:
                    if "locked" not in str(error):
                        raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All that is written in the block, or nothing of it."""
        with translated(self.path):
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
            except BaseException:
                if self._db.in_transaction:  # a full disk has rolled it back already
                    self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    def _rows(self, sql: str, *values: object) -> Iterator[tuple[object, ...]]:
        with translated(self.path):
            for row in self._db.execute(sql, values):  # noqa: UP028  'yield from' would close a cursor of a closed file
                yield row

    def batches(self, sql: str, *values: object, size: int = 20_000) -> Iterator[list[tuple[object, ...]]]:
        """The rows of one reading statement, as they are read, in lists of up to `size`."""
        with translated(self.path):
            cursor = self._db.execute(sql, values)
            while batch := cursor.fetchmany(size):
                yield batch

    def query(self, sql: str, *values: object) -> list[tuple[object, ...]]:
        """All rows of one reading statement."""
        return list(self._rows(sql, *values))

    def meta(self) -> dict[str, str]:
        """Facts about the run as a whole, by name."""
        return {str(key): str(value) for key, value in self._rows("SELECT key, value FROM meta")}

    def set_meta(self, values: Mapping[str, str]) -> None:
        """Set facts about the run as a whole."""
        with self.transaction() as db:
            db.executemany("INSERT OR REPLACE INTO meta VALUES(?, ?)", values.items())

    def write_plan(
        self,
        plan: Plan,
        items: Iterable[tuple[int, str, Item]],
        trials: Iterable[PlannedTrial] | None = None,
        shard: Shard | None = None,
    ) -> int:
        """Write the plan in one transaction and return the number of trials of the whole plan.

        `items` are (number of the dataset, file:line, item). Trials are every combination, ordered by model, sampling,
        item, condition, repeat, so a server sees one item's conditions together and can reuse what they share; or just
        `trials`, in their order, for a run that was imported and may be ragged. Of a `shard` only its part is kept.
        """
        with self.transaction() as db:
            count = insert_plan(db, plan, items, trials, shard)
        if shard is not None:
            self.set_meta({"shard": str(shard)})
            with translated(self.path):  # the other shards' items were here for a moment
                most = self._db.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 1)  # VACUUM attaches a file of its own
                self._db.execute("VACUUM")
                self._db.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, most)
        return count

    def datasets(self) -> list[Dataset]:
        """The item files that the plan was made from."""
        rows = self._rows("SELECT name, version, path, sha256 FROM dataset ORDER BY dataset")
        return [Dataset(*(str(value) for value in row)) for row in rows]

    def items(self) -> Iterator[Item]:
        """Every item of the plan, in order."""
        return map(stored_item, self.item_lines())

    def item_lines(self) -> Iterator[str]:
        """The same as they are stored, a line of JSON each."""
        return (str(body) for (body,) in self._rows("SELECT body FROM item ORDER BY item"))

    def cells(self) -> list[Cell]:
        """Every cell of the plan with its counts."""
        planned = self.query(
            "SELECT t.model, t.sampling, t.condition, m.label, c.name, s.params, count(*) FROM trial t"
            " JOIN model m USING (model) JOIN condition c USING (condition) JOIN sampling s USING (sampling)"
            " GROUP BY t.model, t.sampling, t.condition ORDER BY t.model, t.sampling, t.condition"
        )
        asked = {
            tuple(cell): (whole(count), whole(answered))
            for *cell, count, answered in self._rows(
                "SELECT t.model, t.sampling, t.condition, count(DISTINCT r.trial),"
                " count(DISTINCT CASE WHEN r.text IS NOT NULL THEN r.trial END)"
                " FROM response r JOIN trial t USING (trial) GROUP BY t.model, t.sampling, t.condition"
            )
        }
        cells = []
        for *cell, model, condition, sampling, count in planned:
            tried, answered = asked.get(tuple(cell), (0, 0))
            cells.append(Cell(str(model), str(condition), str(sampling), whole(count), answered, tried - answered))
        return cells

    def open_trials(self, model: str) -> OpenTrials:
        """The trials of one model that have no answer yet."""
        row = self.query(
            "SELECT min(trial), max(trial), count(*) FROM trial"
            " WHERE model = (SELECT model FROM model WHERE label = ?)",
            model,
        )[0]
        first, last = whole(row[0] or 0), whole(row[1] or -1)
        answered = bytearray(last - first + 1)
        if len(answered) > whole(row[2]):  # a shard has the trials of its items, a stretch of each sampling
            answered = bytearray(b"\2" * len(answered))
            for (trial,) in self._rows(_NUMBERS, model):
                answered[whole(trial) - first] = 0
        attempts: dict[int, int] = {}
        # The first statement reads only the primary key's index, the second only the few failures.
        for (trial,) in self._rows("SELECT trial FROM response WHERE trial BETWEEN ? AND ? AND turn = 0", first, last):
            answered[whole(trial) - first] = 1
        for trial, count in self.failures(0).items():
            if first <= trial <= last and not self.query(
                "SELECT 1 FROM response WHERE trial = ? AND turn = 0 AND text IS NOT NULL", trial
            ):
                answered[trial - first] = 0
                attempts[trial] = count
        return OpenTrials(self.trials, first, answered, attempts)

    def trials(self, first: int, last: int) -> Iterator[Trial]:
        """The trials numbered first to last, both included."""
        return (trial for trial, _ in read_trials(self._rows(_TRIALS, first, last)))

    def append(self, rows: Iterable[Appended], spent: Mapping[str, Spent] | None = None) -> None:
        """Add responses in one transaction, then note in the journal that they are kept and what each model `spent`.

        Nothing is ever overwritten."""
        now = time.time()
        if self._kept is None:
            self._kept = self.responses()
        with self.transaction() as db:
            added = db.executemany(
                "INSERT INTO response VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    (
                        row.trial,
                        row.turn,
                        row.attempt,
                        bytes.fromhex(row.request_sha256),
                        *response_row(row.response),
                        now,
                    )
                    for row in rows
                ),
            ).rowcount
        self._kept += added
        acknowledge(self.path.parent, self._kept, spent or {})

    def responses(self) -> int:
        """How many responses there are, failures included."""
        return whole(self.query("SELECT count(*) FROM response")[0][0])

    def lost(self) -> int:
        """How many responses the journal beside the ledger knows of that are not here; 0 where there is no journal."""
        return max(0, (acknowledged(self.path.parent) or 0) - self.responses())

    def answers(
        self, last_turn: int = 1 << 30, *, first: int = 1, last: int = 1 << 62
    ) -> Iterator[tuple[Trial, Response]]:
        """Every trial that was asked, or of those numbered first to last, in plan order, with its answer.

        That is, of the last turn that has one, up to `last_turn`, the first response that is not a failure. A trial
        that only ever failed comes with its last failure.
        """
        rows = self._rows(_ANSWERS, last_turn, first, last)
        return ((trial, read_response(rest)) for trial, rest in read_trials(rows))

    def texts(self) -> Iterator[tuple[int, str, float | None]]:
        """(trial, text of its answer, milliseconds) of every answered trial: `answers` for who needs no more of it."""
        for trial, text, ms in self._rows(_TEXTS):
            yield whole(trial), str(text), ms if isinstance(ms, float) else None

    def answered_turns(self, turn: int) -> set[int]:
        """The trials that have an answer of that turn."""
        rows = self._rows("SELECT trial FROM response WHERE turn = ? AND text IS NOT NULL", turn)
        return {whole(trial) for (trial,) in rows}

    def failures(self, turn: int) -> dict[int, int]:
        """For each trial that failed in that turn, how often."""
        rows = self._rows(
            "SELECT trial, count(*) FROM response INDEXED BY failure WHERE error IS NOT NULL AND turn = ?"
            " GROUP BY trial",
            turn,
        )
        return {whole(trial): whole(count) for trial, count in rows}

    def recorded(self, model: str) -> Iterator[tuple[str, Response]]:
        """(SHA-256 of the request, answer) for every answered request of one model, retries and reprompts included."""
        rows = self._rows(
            "SELECT lower(hex(r.request_sha256)), r.text, r.error, r.logprobs, r.finish, r.usage, r.ms FROM response r"
            " JOIN trial t USING (trial) JOIN model m USING (model) WHERE m.label = ? AND r.text IS NOT NULL"
            " ORDER BY r.trial, r.turn, r.attempt DESC",
            model,
        )
        for request, *response in rows:
            yield str(request), read_response(response)

    def sample_requests(self, count: int) -> list[tuple[int, str]]:
        """(trial, SHA-256 of its first request) of the first `count` answered trials."""
        rows = self.query("SELECT trial, lower(hex(request_sha256)) FROM response WHERE turn = 0 LIMIT ?", count)
        return [(whole(trial), str(request)) for trial, request in rows]

    def write_scores(self, scorers: Sequence[Scorer], rows: Iterable[tuple[int, Sequence[Score]]]) -> None:
        """Replace all scores of these scorer versions. A row is a trial and its scores, in the scorers' order."""
        self.write_scored(scorers, scored_parts(rows))

    def write_scored(self, scorers: Sequence[Scorer], parts: Iterable[ScoredPart], *, cache: int | None = None) -> None:
        """The same in parts, where the same verdicts are given once for many trials; with `cache` KiB of pages."""
        with translated(self.path):
            self._db.execute("PRAGMA temp_store = MEMORY")  # not within a transaction, and answers stay off other disks
            before = self._db.execute("PRAGMA cache_size").fetchone()[0]
            self._db.execute(f"PRAGMA cache_size = {before if cache is None else -cache}")
        with self.transaction() as db:
            replace_scores(db, scorers, parts if cache is None else larger(parts))
        with translated(self.path):
            self._db.execute(f"PRAGMA cache_size = {before}")

    def scores(self, trials: Sequence[int]) -> dict[int, dict[str, Score]]:
        """The stored scores of some trials, by 'name@version'."""
        scores: dict[int, dict[str, Score]] = {}
        known: dict[tuple[object, ...], Score] = {}  # a rule says the same of many answers
        for trial, name, *verdict in self._rows(_SCORES, dumps(list(trials))):
            score = known.get(tuple(verdict))
            if score is None:
                score = known[tuple(verdict)] = read_score(*verdict)
            scores.setdefault(whole(trial), {})[str(name)] = score
        return scores

    def first_requests(self) -> Iterator[tuple[int, str]]:
        """(trial, SHA-256 of its first request as it was sent) of every trial that was asked, in plan order."""
        rows = self._rows(
            "SELECT trial, lower(hex(request_sha256)) FROM response WHERE turn = 0 ORDER BY trial, attempt"
        )
        for trial, request in rows:
            yield whole(trial), str(request)

    def integrity(self) -> list[str]:
        """What SQLite itself finds wrong with the file, and rows that name what is not there; empty when nothing is."""
        damages = [str(message) for (message,) in self._rows("PRAGMA integrity_check(5)") if message != "ok"]
        lost = [f"row {row} of {table} names no row of {other}" for table, row, other, _ in
                islice(self._rows("PRAGMA foreign_key_check"), 5)]  # fmt: skip
        return damages + lost

    def score_values(self, name: str, version: str) -> Iterator[tuple[int, float | None]]:
        """(trial, value) of every score of one scorer version."""
        rows = self._rows(
            "SELECT trial, value FROM score WHERE scorer = (SELECT scorer FROM scorer WHERE name = ? AND version = ?)",
            name,
            version,
        )
        for trial, value in rows:
            yield whole(trial), value if isinstance(value, float) else None

    def plan_names(self) -> tuple[list[str], list[str], list[Sampling]]:
        """The conditions, the models' labels and the samplings, each in the order of their numbers."""
        conditions = [str(name) for (name,) in self._rows("SELECT name FROM condition ORDER BY condition")]
        models = [str(label) for (label,) in self._rows("SELECT label FROM model ORDER BY model")]
        samplings = [read_sampling(str(p)) for (p,) in self._rows("SELECT params FROM sampling ORDER BY sampling")]
        return conditions, models, samplings

    def scorers(self) -> list[tuple[str, str]]:
        """(name, version) of every scorer that has scores here; of a name the latest last, which no own rules are."""
        rows = self._rows("SELECT name, version FROM scorer ORDER BY name, version")
        return sorted(((str(name), str(version)) for name, version in rows), key=_latest_last)


def _latest_last(scorer: tuple[str, str]) -> tuple[str, bool]:
    return scorer[0], OWN_RULES.fullmatch("@".join(scorer)) is None
