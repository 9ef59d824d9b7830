"""Where an import is collected before it becomes a run: on disk, so that memory does not grow with the source.

What a trial is. A record names its trial by the source's own id. Records of one id are outputs of one trial: the first
is the answer, the others further attempts, as the reference's 'first output' rule reads them. Other ids in the same
cell (item, condition, model, sampling) are repeats. Without an id the cell itself is the trial.
"""

from __future__ import annotations

import json
import sqlite3
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sized
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from types import TracebackType
from typing import Literal, Self, TypeAlias

from perpend.canon import JSON, clean_text, dumps
from perpend.disk import temporary_folder
from perpend.errors import DataError, StoreError
from perpend.ledger.database import connect, translated
from perpend.ledger.items import check_item, stored_item
from perpend.ledger.manifest import ItemsDigest, ItemsFacts
from perpend.ledger.plan import Dataset, Plan, read_score, response_row, whole
from perpend.ledger.planned import PlannedTrial
from perpend.ledger.store import Store
from perpend.types import Item, Response, Sampling, Score, Scorer, Usage

IMPORTED = "import"
"""The version of every scorer whose scores a source had stored: nothing here can compute them again."""
Further: TypeAlias = Literal["attempt", "refused", "same"]
CONTROL = "control"
"""An item asked as it stands."""
_MOST = 2000
"""Conditions, models, samplings, data sets and kinds of stored scores; an import has a handful of each."""
_LARGEST, _WHOLE = sys.float_info.max, (1 << 63) - 1
_ROUNDING = 1e-6  # a sum of log-likelihoods in single precision can end this far above 0


@dataclass(frozen=True, slots=True)
class ImportRecord:
    """One output of one trial as a source states it; `response` None is a trial that was planned and never answered.

    `facts` are what it states of the item, by the names of Item; a later record may add to them, not change them.
    `further` is what a second record of a trial is: another attempt; a DataError, where a source has one row per trial;
    or the same answer with other labels, where a source has one row per judge, and then the text must be the same.
    The answer to a second question of the same trial has `turn` 1.
    """

    where: str
    item: str
    facts: Mapping[str, JSON]
    dataset: Dataset
    model: str
    sampling: Sampling
    variant: str = ""
    """'': called as the model is."""
    condition: str = CONTROL
    trial: str | None = None
    repeat: int | None = None
    turn: int = 0
    response: Response | None = None
    at: float | None = None
    prompt_sha256: str = ""
    labels: Mapping[str, Score] = field(default_factory=dict)
    further: Further = "attempt"


@dataclass(frozen=True, slots=True)
class Staged:
    """What a ledger came to hold. `likelihoods`: some output has likelihoods of choices; `texts`: some has none."""

    plan: Plan
    items: ItemsFacts
    trials: int
    likelihoods: bool
    texts: bool


class Staging:
    """Records on their way into a run. Use it with `with`; nothing is left behind when it is not written."""

    def __init__(self, destination: Path) -> None:
        must_be_free(destination)
        self._open = ExitStack()
        self.folder = self._open.enter_context(temporary_folder("import", destination.parent))
        self.destination = destination
        self.notes: Counter[str] = Counter()
        self.conditions: dict[str, Mapping[str, JSON]] = {}
        schema = files("perpend.ledger").joinpath("staging.sql").read_text(encoding="utf-8")
        with translated(destination):
            self._db = sqlite3.connect(self.folder / "staging.db", isolation_level=None)
            self._db.executescript(f"PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; {schema} BEGIN;")
        self._datasets: dict[Dataset, int] = {}
        self._models: dict[tuple[str, str], int] = {}
        self._samplings: dict[Sampling, int] = {}
        self._places: dict[str, int] = {}
        self._labels_known: set[str] = set()
        self._now = time.time()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._db.close()
        self._open.__exit__(kind, error, tb)

    def add(self, record: ImportRecord) -> None:
        """Take one record in. What contradicts an earlier record is a DataError that names both places.

        A record without a response adds its labels to a trial that is there already.
        """
        with translated(self.destination):
            self._add(record)

    def _add(self, record: ImportRecord) -> None:
        facts = dumps(record.facts)
        dataset = record.dataset.name + record.dataset.version
        variant = record.variant or record.model
        names = (record.item, record.condition, variant, record.model, record.trial or "", dataset, facts)
        if any(clean_text(name) != name for name in names):
            raise DataError(
                f"{record.where}: half a surrogate pair in a name or in item {record.item!a}; save as UTF-8"
            )
        _check_numbers(record)
        self.conditions.setdefault(record.condition, {"type": "imported"})
        self._labels_known.update(record.labels)
        cell = (
            self._item(record, facts),
            self._place(record.condition),
            self._models.setdefault((variant, record.model), len(self._models)),
            self._samplings.setdefault(record.sampling, len(self._samplings)),
        )
        self._check_kinds(record.where)
        source = dumps([*cell, record.repeat]) if record.trial is None else f"id {record.trial}"
        row = (source, *cell, record.repeat, record.where)
        added = self._db.execute("INSERT OR IGNORE INTO trial VALUES(NULL, ?, ?, ?, ?, ?, ?, ?)", row)
        trial, attempt = added.lastrowid, 0
        if not added.rowcount:
            trial, attempt = self._known_trial(source, cell, record)
            attempt = 0 if record.turn else attempt
            record = self._again(record, trial)
        if record.response is not None:
            at = self._now if record.at is None else record.at
            request, said = bytes.fromhex(record.prompt_sha256), response_row(self._clean(record.response))
            self._db.execute(
                "INSERT INTO output VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (trial, record.turn, attempt, request, *said, at),
            )
        if attempt and record.response is not None:
            self.notes["further outputs of a trial, kept without their labels: a score belongs to the first"] += 1
            return
        self._db.executemany(
            "INSERT OR IGNORE INTO label VALUES(?, ?, ?, ?, ?)",
            (
                (name, trial, s.value, None if s.answer is None else clean_text(s.answer), clean_text(s.reason))
                for name, s in record.labels.items()
            ),
        )

    def write_ledger(self, path: Path) -> Staged:
        """Write all that was taken in as a new run.db. A source without a trial is a DataError."""
        with translated(self.destination):
            return self._write_ledger(path)

    def _write_ledger(self, path: Path) -> Staged:
        trials = self._number_trials()
        if not trials:
            raise DataError(f"{self.destination.name}: the source holds no trial, so there is nothing to import")
        plan, digest = self._plan(), ItemsDigest()
        with Store.create(path, self.destination.name) as store:
            store.write_plan(plan, self._items(digest), self._planned(plan))
            earliest, outputs, likelihoods = self._db.execute(
                "SELECT min(at), count(*), count(logprobs) FROM output"
            ).fetchone()
            store.set_meta({"created": repr(self._now if earliest is None else earliest)})
            self._write_outputs(path)
            for (name,) in self._db.execute("SELECT DISTINCT name FROM label ORDER BY name").fetchall():
                store.write_scores([Scorer(name, IMPORTED, as_stored)], self._labels(name))
        items = ItemsFacts(digest.count, digest.hexdigest())
        return Staged(plan, items, trials, likelihoods=likelihoods > 0, texts=outputs > likelihoods)

    def _place(self, condition: str) -> int:
        """The number of a condition, in the order in which they became known."""
        if condition not in self._places:
            self._places = {name: place for place, name in enumerate(self.conditions)}
        return self._places[condition]

    def _check_kinds(self, where: str) -> None:
        kinds: dict[str, Sized] = {
            "conditions": self.conditions,
            "models": self._models,
            "samplings": self._samplings,
            "data sets": self._datasets,
            "stored scores": self._labels_known,
        }
        for kind, known in kinds.items():
            if len(known) > _MOST:
                raise DataError(f"{where}: more than {_MOST} {kind}; is something else taken for them?")

    def _item(self, record: ImportRecord, facts: str) -> int:
        dataset = self._datasets.setdefault(record.dataset, len(self._datasets))
        row = (record.item, dataset, facts, record.where)
        added = self._db.execute("INSERT OR IGNORE INTO item VALUES(NULL, ?, ?, ?, ?)", row)
        if added.rowcount:
            return int(added.lastrowid or 0)
        number, before, place = self._db.execute(
            "SELECT item, facts, place FROM item WHERE id = ?", (record.item,)
        ).fetchone()
        if before != facts:
            merged = _merged(json.loads(before), record, place)
            self._db.execute("UPDATE item SET facts = ? WHERE item = ?", (dumps(merged), number))
        return int(number)

    def _known_trial(self, source: str, cell: tuple[int, ...], record: ImportRecord) -> tuple[int, int]:
        """The number of a trial that was there before, and how many outputs it has."""
        trial, place, *known = self._db.execute(
            "SELECT trial, place, item, condition, model, sampling FROM trial WHERE source = ?", (source,)
        ).fetchone()
        if tuple(known) != cell:
            raise DataError(
                f"{record.where}: trial {record.trial!r} has another item, condition, model or sampling at {place}; "
                "one id is one trial"
            )
        return trial, self._db.execute("SELECT count(*) FROM output WHERE trial = ?", (trial,)).fetchone()[0]

    def _again(self, record: ImportRecord, trial: int) -> ImportRecord:
        """A record of a trial that is there already, as its `further` takes it; DataError where it refuses it."""
        if record.further == "attempt":
            return record
        (place,) = self._db.execute("SELECT place FROM trial WHERE trial = ?", (trial,)).fetchone()
        if record.further == "refused":
            raise DataError(
                f"{record.where}: the same row as at {place}: item {record.item!r:.80}, model "
                f"{record.variant or record.model!r:.80}, "
                f"condition {record.condition!r:.80}. Remove one, or give each a repeat"
            )
        known = "SELECT value, answer FROM label WHERE name = ? AND trial = ?"
        before = {name: self._db.execute(known, (name, trial)).fetchone() for name in sorted(record.labels)}
        twice = [name for name, row in before.items() if row not in (None, (None, record.labels[name].answer))]
        text = self._db.execute("SELECT text FROM output WHERE trial = ?", (trial,)).fetchone()
        stated = None if record.response is None else self._clean(record.response).text
        if twice or (text is not None and record.response is not None and text[0] != stated):
            differs = f"states {twice[0]!r} once more" if twice else "states another text"
            raise DataError(f"{record.where}: {differs} for the trial at {place}. Remove one, or give each a repeat")
        return record if text is None else replace(record, response=None)

    def _clean(self, response: Response) -> Response:
        text, error, finish = (
            None if part is None else clean_text(part) for part in (response.text, response.error, response.finish)
        )
        cleaned = replace(response, text=text, error=error, finish=finish)
        if cleaned != response:
            self.notes["texts with half a surrogate pair, which was replaced by U+FFFD"] += 1
        return cleaned

    def _number_trials(self) -> int:
        """Number the trials by model, sampling, item, condition (control first) and repeat; say how many there are."""
        first = self._place(CONTROL) if CONTROL in self.conditions else 0
        self._db.execute(
            "INSERT INTO plan SELECT row_number() OVER"
            " (ORDER BY model, sampling, item, condition != ?, condition, repeat, trial), trial, item, condition,"
            " model, sampling,"
            " row_number() OVER (PARTITION BY item, condition, model, sampling ORDER BY repeat, trial) - 1 FROM trial",
            (first,),
        )
        return int(self._db.execute("SELECT count(*) FROM plan").fetchone()[0])

    def _plan(self) -> Plan:
        labels = self._labels_of_models()
        samplings = list(self._samplings)
        used: dict[str, list[Sampling]] = {label: [] for label in labels}
        for model, sampling in self._db.execute("SELECT DISTINCT model, sampling FROM plan ORDER BY model, sampling"):
            used[labels[model]].append(samplings[sampling])
        names = sorted(self.conditions, key=lambda name: name != CONTROL)
        return Plan(
            datasets=list(self._datasets),
            conditions={name: self.conditions[name] for name in names},
            models=[(label, name, {}) for label, (_, name) in zip(labels, self._models, strict=True)],
            samplings=used,
            repeats=int(self._db.execute("SELECT max(repeat) + 1 FROM plan").fetchone()[0]),
        )

    def _labels_of_models(self) -> list[str]:
        """The variants; where one variant names several models, 'variant/model', for a label is one model."""
        shared = Counter(variant for variant, _ in self._models)
        return [variant if shared[variant] == 1 else f"{variant}/{model}" for variant, model in self._models]

    def _items(self, digest: ItemsDigest) -> Iterator[tuple[int, str, Item]]:
        for name, dataset, facts, place in self._db.execute("SELECT id, dataset, facts, place FROM item ORDER BY item"):
            item = item_of(name, json.loads(facts))
            check_item(item, place)
            digest.add(item)
            yield dataset, place, item

    def _planned(self, plan: Plan) -> Iterator[PlannedTrial]:
        conditions, samplings = list(self.conditions), list(self._samplings)
        rows = self._db.execute(
            "SELECT i.id, p.condition, p.model, p.sampling, p.repeat FROM plan p JOIN item i USING (item)"
            " ORDER BY p.number"
        )
        for item, condition, model, sampling, repeat in rows:
            yield item, conditions[condition], plan.models[model][0], samplings[sampling], repeat

    def _write_outputs(self, path: Path) -> None:
        """Append the outputs with the times that the source states, which Store.append would make its own."""
        rows = self._db.execute(
            "SELECT p.number, o.turn, o.attempt, o.request, o.text, o.error, o.logprobs, o.finish, o.usage, o.ms, o.at"
            " FROM plan p JOIN output o ON o.trial = p.trial ORDER BY p.number, o.turn, o.attempt"
        )
        with translated(path), closing(connect(path, "rw")) as db:
            db.execute("BEGIN")
            db.executemany("INSERT INTO response VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
            db.execute("COMMIT")

    def _labels(self, name: str) -> Iterator[tuple[int, list[Score]]]:
        rows = self._db.execute(
            "SELECT p.number, l.value, l.answer, l.reason FROM label l JOIN plan p ON p.trial = l.trial"
            " WHERE l.name = ?",
            (name,),
        )
        for number, value, answer, reason in rows:
            yield whole(number), [read_score(value, answer, reason, None)]


def must_be_free(destination: Path) -> None:
    """Refuse a destination that holds something; an empty folder is free."""
    if destination.exists() and not (destination.is_dir() and not any(destination.iterdir())):
        raise StoreError(f"{destination} exists already; give another name or remove it")


def _check_numbers(record: ImportRecord) -> None:
    """Refuse numbers that no answer can have, before any of them reaches a statistic."""
    sampling, response = record.sampling, record.response
    limits: list[tuple[str, float | None, float, float]] = [
        ("temperature", sampling.temperature, 0.0, _LARGEST),
        ("max_tokens", sampling.max_tokens, 0, _WHOLE),
        ("seed", sampling.seed, -_WHOLE, _WHOLE),
        ("top_p", sampling.top_p, 0.0, 1.0),
        ("repeat", record.repeat, 0, _WHOLE),
        ("the time of the answer", record.at, -_LARGEST, _LARGEST),
        *((f"the score {name!r}", score.value, -_LARGEST, _LARGEST) for name, score in record.labels.items()),
    ]
    if response is not None:
        usage, likelihoods = response.usage or Usage(), response.choice_logprobs or ()
        limits += [
            ("the milliseconds of the answer", response.ms, 0.0, _LARGEST),
            ("the tokens that were read", usage.input, 0, _WHOLE),
            ("the tokens that were written", usage.output, 0, _WHOLE),
            *(("a log-likelihood", one.total, -_LARGEST, _ROUNDING) for one in likelihoods),
        ]
    for name, value, lo, hi in limits:
        if value is not None and not lo <= value <= hi:
            raise DataError(f"{record.where}: {name} is {value:.6g}, and must be {_range(lo, hi)}")


def _range(lo: float, hi: float) -> str:
    if lo == 0 and hi >= _WHOLE:
        return "0 or more, and finite"
    return "finite" if hi >= _WHOLE else f"at most {hi:g}" if lo <= -_WHOLE else f"from {lo:g} to {hi:g}"


def _merged(before: dict[str, JSON], record: ImportRecord, place: str) -> dict[str, JSON]:
    """What two records state of one item together; DataError where they contradict each other."""
    merged = dict(before)
    for key, value in record.facts.items():
        known = merged.get(key, value)
        if isinstance(known, Mapping) and isinstance(value, Mapping):
            clash = sorted(tag for tag in value if known.get(tag, value[tag]) != value[tag])
            merged[key] = {**known, **value}
        else:
            clash = [key] if known != value else []
            merged[key] = value
        if clash:
            raise DataError(
                f"{record.where}: item {record.item!r} has another {clash[0]} than at {place}; one id is one item"
            )
    return merged


def item_of(name: str, facts: Mapping[str, JSON]) -> Item:
    """The Item of that id of which these facts are stated; what is null is not stated."""
    stated = {key: value for key, value in facts.items() if value is not None}
    return stored_item(dumps({"prompt": "", **stated, "id": name}))


def as_stored(item: Item, response: Response) -> Score:  # noqa: ARG001 - every scorer takes an item and a response
    """The scorer of what a source had stored: it can compute nothing."""
    return Score(None, None, "stored by the source of an import; it cannot be computed again")
