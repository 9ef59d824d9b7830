"""A run → the conformity study's simulation.db, so that its own scripts read it.

Labels are the stored ones of an imported run, else those of the study's own rules (version 1). A failure has no place
there: a trial that only failed is written without an output. Of a trial with a second turn only the last is written.
What a look inside recorded goes into the tables that the study has for it.
"""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from perpend.canon import JSON, dumps, json_object, text_or_none
from perpend.disk import temporary_folder
from perpend.importers.intake import VERSION, must_be_free
from perpend.judging import seed
from perpend.ledger.database import connect, translated
from perpend.ledger.items import stored_item
from perpend.ledger.looks import looks
from perpend.ledger.plan import read_sampling
from perpend.ledger.store import Store
from perpend.studies.conformity.prompts import condition_of, render, rendered_prompt_hash
from perpend.studies.conformity.simulation_inside import Export
from perpend.studies.conformity.simulation_kept import restore
from perpend.types import Condition, Sampling

_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "perpend:simulation.db")
_STORED = (
    "stored_trial",
    "stored_prompt",
    "stored_parsed",
    "stored_correct",
    "stored_refused",
    "stored_judge",
    "stored_usage",
)
_TRIALS = (
    "SELECT t.trial, i.id, i.body, t.condition, m.name, m.label, t.model, t.sampling, s.answer, p.answer"
    " FROM trial t JOIN item i USING (item) JOIN model m USING (model)"
    " LEFT JOIN score s ON s.trial = t.trial AND s.scorer = :stored_trial"
    " LEFT JOIN score p ON p.trial = t.trial AND p.scorer = :stored_prompt"
    " ORDER BY t.trial"
)
_OUTPUTS = (
    "SELECT t.trial, s.answer, i.body, r.turn, r.attempt, r.text, coalesce(u.answer, r.usage), r.ms, r.at, p.answer,"
    " y.trial IS NOT NULL, coalesce(y.value, CAST(y.answer AS REAL)), f.value, j.answer"
    " FROM trial t JOIN item i USING (item) JOIN response r ON r.trial = t.trial"
    " LEFT JOIN score s ON s.trial = t.trial AND s.scorer = :stored_trial"
    " LEFT JOIN score p ON p.trial = t.trial AND p.scorer = :stored_parsed"
    " LEFT JOIN score y ON y.trial = t.trial AND y.scorer = :stored_correct"
    " LEFT JOIN score f ON f.trial = t.trial AND f.scorer = :stored_refused"
    " LEFT JOIN score j ON j.trial = t.trial AND j.scorer = :stored_judge"
    " LEFT JOIN score u ON u.trial = t.trial AND u.scorer = :stored_usage"
    " WHERE r.text IS NOT NULL"
    " AND r.turn = (SELECT max(turn) FROM response WHERE trial = t.trial AND text IS NOT NULL)"
    " ORDER BY t.trial, r.attempt"
)


@dataclass(frozen=True, slots=True)
class _Ledger:
    """An open run.db and what every row needs of it."""

    db: sqlite3.Connection
    run: str
    created: float
    conditions: Mapping[int, Condition | None]
    runs: Mapping[tuple[int, int], int]
    """The study's run of each (model, sampling)."""
    samplings: Mapping[int, Sampling]
    stored: Mapping[str, int | None]
    """The number of each scorer that an import stored; None where the run has none."""

    def id(self, kind: str, number: int | str) -> str:
        """The id of one row: the same run gives the same ids."""
        return str(uuid.uuid5(_NAMESPACE, f"{self.run}|{kind}|{number}"))

    def trial_id(self, trial: int, stored: object) -> str:
        """The id that the source of an import gave the trial, else its own."""
        return self.id("trial", trial) if stored is None else str(stored)


def write(run: Path, destination: Path) -> Path:
    """Write a run directory as the file `destination`; an existing file is an error."""
    must_be_free(destination)
    with Store.open(run / "run.db") as store:
        meta = store.meta()
    with translated(destination), temporary_folder("export", destination.parent) as folder:
        database = folder / "simulation.db"
        with closing(connect(run / "run.db", "ro")) as source, closing(sqlite3.connect(database)) as db:
            db.execute("PRAGMA foreign_keys=ON")
            db.executescript(files("perpend.studies.conformity").joinpath("simulation.sql").read_text(encoding="utf-8"))
            ledger = _ledger(source, meta["run"], float(meta["created"]))
            _fill(db, ledger)
            if recorded := looks(run):
                rows = source.execute(_TRIALS, ledger.stored)
                trials = {row[0]: ledger.trial_id(row[0], row[8]) for row in rows}
                Export(db, trials, ledger.id, ledger.created).write(recorded)
            restore(db, run)
            db.commit()
        database.replace(destination)
    return destination


def _ledger(db: sqlite3.Connection, run: str, created: float) -> _Ledger:
    conditions: dict[int, Condition | None] = {}
    for number, name, text in db.execute("SELECT condition, name, params FROM condition"):
        params = json_object(text, f"condition {name!r}")
        user, system = params.get("user"), text_or_none(params, "system", name)
        conditions[number] = condition_of(name, system, user) if isinstance(user, str) else None
    samplings = {n: read_sampling(params) for n, params in db.execute("SELECT sampling, params FROM sampling")}
    known = dict(db.execute("SELECT name, scorer FROM scorer WHERE version = ?", (VERSION,)))
    stored = {name: known.get(name) for name in _STORED}
    return _Ledger(db, run, created, conditions, _runs(db, samplings), samplings, stored)


def _runs(db: sqlite3.Connection, samplings: Mapping[int, Sampling]) -> dict[tuple[int, int], int]:
    """Number the study's runs: one for each sampling, models that differ only in max_tokens together.

    A run there has one temperature and seed, and a model in it one token limit.
    """
    shapes = {number: (s.temperature, s.seed, s.top_p, s.stop) for number, s in samplings.items()}
    groups: dict[tuple[object, ...], int] = {}
    runs: dict[tuple[int, int], int] = {}
    for model, number in db.execute("SELECT DISTINCT model, sampling FROM trial ORDER BY model, sampling"):
        before = sum(m == model and shapes[n] == shapes[number] for m, n in runs)
        runs[model, number] = groups.setdefault((*shapes[number], before), len(groups))
    return runs


def _fill(db: sqlite3.Connection, ledger: _Ledger) -> None:
    at = ledger.created
    db.executemany("INSERT INTO runs VALUES(?, ?, ?, ?)", _run_rows(ledger))
    db.executemany(
        "INSERT INTO conformity_datasets VALUES(?, ?, ?, ?, ?, ?)",
        (
            (ledger.id("dataset", number), *facts, at)
            for number, *facts in ledger.db.execute("SELECT dataset, name, version, path, sha256 FROM dataset")
        ),
    )
    db.executemany("INSERT INTO conformity_items VALUES(?, ?, ?, ?, ?, NULL, ?, ?)", _item_rows(ledger))
    db.executemany(
        "INSERT INTO conformity_conditions VALUES(?, ?, ?, ?)",
        (
            (ledger.id("condition", number), name, params, at)
            for number, name, params in ledger.db.execute("SELECT condition, name, params FROM condition")
        ),
    )
    db.executemany("INSERT INTO conformity_trials VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)", _trial_rows(ledger))
    db.executemany("INSERT INTO conformity_prompts VALUES(?, ?, ?, ?, ?, ?, ?)", _prompt_rows(ledger))
    db.executemany("INSERT INTO conformity_outputs VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", _output_rows(ledger))


def _run_rows(ledger: _Ledger) -> Iterator[tuple[object, ...]]:
    models = {number: names for number, *names in ledger.db.execute("SELECT model, label, name FROM model")}
    conditions: list[JSON] = [
        {"name": name, "params": json_object(params, name)}
        for name, params in ledger.db.execute("SELECT name, params FROM condition ORDER BY condition")
    ]
    datasets: list[JSON] = [
        {"name": name, "version": version, "path": path}
        for name, version, path in ledger.db.execute("SELECT name, version, path FROM dataset ORDER BY dataset")
    ]
    for group in dict.fromkeys(ledger.runs.values()):
        members = [(model, ledger.samplings[s]) for (model, s), of in ledger.runs.items() if of == group]
        drawn = members[0][1].as_json()
        suite: dict[str, JSON] = {
            "suite_name": ledger.run,
            "datasets": datasets,
            "conditions": conditions,
            "models": [
                {"variant": models[model][0], "model_id": models[model][1], "max_tokens": s.max_tokens}
                for model, s in members
            ],
            "run": {key: value for key, value in drawn.items() if key != "max_tokens"},
        }
        config = dumps({"mode": "olmo_conformity", "suite_config": suite})
        yield ledger.id("run", group), drawn["seed"] or 0, ledger.created, config


def _item_rows(ledger: _Ledger) -> Iterator[tuple[object, ...]]:
    for dataset, body in ledger.db.execute("SELECT dataset, body FROM item ORDER BY item"):
        item = stored_item(body)
        source: dict[str, JSON] = {
            key.removeprefix("source_"): value for key, value in item.tags.items() if key.startswith("source_")
        }
        if item.decoy is not None:
            source["wrong_answer"] = item.decoy
        # What the study has no column for, so that reading the file gives the same item.
        ours = item.as_json()
        source["perpend"] = {key: ours[key] for key in ("tags", "choices", "aliases") if key in ours}
        domain = item.tags.get("domain") or item.tags.get("topic") or "general"
        key = ledger.id("dataset", dataset)
        yield item.id, key, domain, item.prompt, item.target, dumps(source), ledger.created


def _trial_rows(ledger: _Ledger) -> Iterator[tuple[object, ...]]:
    for trial, item, _, condition, name, label, model, sampling, stored, _ in ledger.db.execute(_TRIALS, ledger.stored):
        drawn = ledger.samplings[sampling]
        yield (
            ledger.trial_id(trial, stored),
            ledger.id("run", ledger.runs[model, sampling]),
            name,
            label,
            item,
            ledger.id("condition", condition),
            drawn.seed or 0,
            drawn.temperature,
            ledger.created,
        )


def _prompt_rows(ledger: _Ledger) -> Iterator[tuple[object, ...]]:
    """The prompts: as the source of an import stored them, else rendered. One that nobody knows is left out."""
    for trial, _, body, condition, _, _, _, _, stored, prompt in ledger.db.execute(_TRIALS, ledger.stored):
        template = ledger.conditions[condition]
        history: JSON = []
        if prompt is not None:
            known = json_object(prompt, f"trial {trial}")
            system, user, history = str(known["system"]), str(known["user"]), known.get("history", [])
        elif template is not None:
            system, user = render(template, stored_item(body))
        else:
            continue
        hashed = rendered_prompt_hash(system, user, history)
        key = ledger.id("prompt", trial)
        yield key, ledger.trial_id(trial, stored), system, user, dumps(history), hashed, ledger.created


def _output_rows(ledger: _Ledger) -> Iterator[tuple[object, ...]]:
    """The answers, first attempts first: by time, and where times are equal by their ids."""
    previous, latest = 0, 0.0
    for trial, stored, body, turn, attempt, text, usage, ms, at, *labels in ledger.db.execute(_OUTPUTS, ledger.stored):
        latest = max(latest, at) if trial == previous else at
        previous = trial
        owner = ledger.trial_id(trial, stored)
        # Stored labels are those of the first output that was imported.
        judged = _judged(text, stored_item(body).target, labels if turn == attempt == 0 else ())
        yield f"{owner}-{attempt:06d}", owner, text, *judged, ms, usage, latest


def _judged(text: str, target: str | None, labels: Sequence[object]) -> tuple[object, ...]:
    """parsed_answer_text, parsed_answer_json, is_correct, refusal_flag: what was stored, else by the study's rules."""
    parsed, is_stored, correct, refused, judge = labels or (None, 0, None, None, None)
    answer = seed.parse_answer(text) if parsed is None else parsed
    if not is_stored:
        correct = seed.is_correct(str(answer), target)
    return answer, judge, correct, seed.is_refusal(text) if refused is None else refused
