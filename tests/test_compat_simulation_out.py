"""A run written as the conformity study's simulation.db: its schema exactly, and nothing lost on the way back."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from hashlib import sha256
from pathlib import Path

from perpend.ask.conditions import asch, control
from perpend.ask.runner import evaluate_task
from perpend.ask.task import Task
from perpend.ledger.plan import Appended
from perpend.ledger.store import Store
from perpend.measure.run import Run
from perpend.models.callable import Callable as CallableModel
from perpend.spec.runspec import ModelSpec, RunSpec
from perpend.studies.conformity.simulation_db import read, write
from perpend.types import Request, Response, Sampling
from tests.test_compat_simulation import change, content, joined, simulation, tables


def shape(db: sqlite3.Connection) -> dict[str, object]:
    """Everything that a schema says: columns with types and keys, foreign keys, indexes."""
    names = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    found: dict[str, object] = {}
    for name in names:
        columns = db.execute(
            'SELECT name, type, "notnull", dflt_value, pk FROM pragma_table_info(?)', (name,)
        ).fetchall()
        keys = {tuple(row[2:4]) for row in db.execute(f"PRAGMA foreign_key_list({name})")}
        indexes = {
            tuple(column[2] for column in db.execute(f"PRAGMA index_info({row[1]})"))
            for row in db.execute(f"PRAGMA index_list({name})")
            if row[3] == "c"
        }
        found[name] = (columns, keys, indexes)
    return found


def native_run(tmp_path: Path) -> Path:
    """A run of perpend's own: two models with limits of their own, two temperatures, two repeats."""
    items = tmp_path / "items.jsonl"
    items.write_text(
        '{"id": "a", "prompt": "What is 7 times 8?", "target": "56", "decoy": "54", "aliases": ["fifty-six"],'
        ' "tags": {"topic": "math"}}\n'
        '{"id": "b", "prompt": "Which is right?", "target": "yes", "decoy": "no", "choices": ["yes", "no"]}\n'
    )
    spec = RunSpec(
        "t",
        (ModelSpec("callable/one", "one"), ModelSpec("callable/two", "two", max_tokens=900)),
        items=(items,),
        name="native",
        samplings=(Sampling(0.0, 64), Sampling(0.7, 64, None, 0.9, ("END",))),
        repeats=2,
    )
    task = Task(name="t", conditions=(control(), asch(2)), scorers=("correct@1", "refused@1"))

    def reply(request: Request) -> str:
        return f"I say {len(request.messages[-1].content) % 7} and 56. USER: {request.sampling.seed}"

    models = [CallableModel(name, reply) for name in ("one", "two")]
    directory = evaluate_task(spec, task, models, tmp_path, quiet=True).directory
    Run(directory).score()
    return directory


def test_a_written_database_has_the_studys_schema_exactly(tmp_path: Path) -> None:
    written = write(read(simulation(tmp_path / "simulation.db"), tmp_path / "run"), tmp_path / "out.db")
    with closing(sqlite3.connect(":memory:")) as wanted, closing(sqlite3.connect(written)) as db:
        for name, columns, indexes in tables():
            wanted.execute(f"CREATE TABLE {name}({', '.join(columns)})")
            for number, index in enumerate(indexes):
                wanted.execute(f"CREATE INDEX i_{name}_{number} ON {name}({', '.join(index)})")
        expected, found = shape(wanted), shape(db)
        assert len(expected) == 18
        # A foreign key that names no column means the primary key, which the study's names too.
        assert found.keys() == expected.keys()
        for name, (columns, keys, indexes) in expected.items():  # type: ignore[misc]  # a tuple of three
            got_columns, got_keys, got_indexes = found[name]  # type: ignore[misc]  # a tuple of three
            assert (got_columns, {key[0] for key in got_keys}, got_indexes) == (
                columns,
                {key[0] for key in keys},
                indexes,
            )
        assert db.execute("PRAGMA foreign_key_check").fetchall() == []


def test_an_import_written_back_answers_the_seeds_join_and_reads_back_the_same(tmp_path: Path) -> None:
    source = simulation(tmp_path / "simulation.db", temperatures=(0.0, 0.6))
    first = read(source, tmp_path / "first")
    back = write(first, tmp_path / "back.db")
    assert joined(back) == joined(source)
    with closing(sqlite3.connect(back)) as db, closing(sqlite3.connect(source)) as before:
        for columns in (
            "SELECT trial_id, seed, temperature FROM conformity_trials ORDER BY 1",
            "SELECT trial_id, system_prompt, user_prompt, rendered_prompt_hash FROM conformity_prompts ORDER BY 1",
            "SELECT trial_id, raw_text, is_correct, refusal_flag, created_at FROM conformity_outputs ORDER BY 1",
        ):
            assert db.execute(columns).fetchall() == before.execute(columns).fetchall()
    assert content(read(back, tmp_path / "second")) == content(first)


def test_a_run_of_our_own_survives_the_way_out_and_in(tmp_path: Path) -> None:
    directory = native_run(tmp_path)
    written = write(directory, tmp_path / "simulation.db")
    again = Run(read(written, tmp_path / "again"))
    before, after = content(directory), content(again.directory)
    assert len(before) == 32
    assert [row[:-1] for row in after] == [row[:-1] for row in before]
    again.score(["correct@1", "refused@1"])
    for stored, computed in (("stored_correct", "correct@1"), ("stored_refused", "refused@1")):
        found = again[stored].disagreement(again[computed])
        assert (found.value, found.n) == (0.0, 32)
    with closing(sqlite3.connect(written)) as db:
        rows = db.execute("SELECT raw_text, parsed_answer_text FROM conformity_outputs").fetchall()
    assert all(parsed == raw.partition("USER:")[0].strip() for raw, parsed in rows)


def test_written_prompts_are_those_that_were_asked_with_the_studys_hash(tmp_path: Path) -> None:
    directory = native_run(tmp_path)
    written = write(directory, tmp_path / "simulation.db")
    with Store.open(directory / "run.db") as store:
        asked = store.query(
            "SELECT system_prompt, user_prompt FROM conformity_prompts ORDER BY CAST(trial_id AS INTEGER)"
        )
    with closing(sqlite3.connect(written)) as db:
        rows = db.execute("SELECT system_prompt, user_prompt, rendered_prompt_hash FROM conformity_prompts").fetchall()
    assert [row[:2] for row in rows] == asked
    for system, user, hashed in rows:
        body = json.dumps({"history": [], "system": system, "user": user}, separators=(",", ":"), ensure_ascii=False)
        assert hashed == sha256(body.encode()).hexdigest()
    again = Run(read(written, tmp_path / "again"))
    assert again.manifest.conditions == Run(directory).manifest.conditions


def test_of_a_second_turn_only_the_last_answer_is_written(tmp_path: Path) -> None:
    directory = read(simulation(tmp_path / "simulation.db"), tmp_path / "run")
    with Store.open(directory / "run.db", write=True) as store:
        store.append([Appended(1, 1, 0, "", Response(text="One word: Cusco"))])
    with closing(sqlite3.connect(write(directory, tmp_path / "out.db"))) as db:
        first = "SELECT raw_text, is_correct FROM conformity_outputs WHERE trial_id = 'run-1-0-peru-control'"
        assert db.execute(first).fetchall() == [("One word: Cusco", 0)]


def test_a_failure_is_written_as_a_trial_without_an_output(tmp_path: Path) -> None:
    directory = read(change(simulation(tmp_path / "simulation.db"), "DELETE FROM conformity_outputs"), tmp_path / "run")
    with Store.open(directory / "run.db", write=True) as store:
        store.append([Appended(1, 0, 0, "", Response(error="500")), Appended(1, 0, 1, "", Response(text="Lima"))])
        store.append([Appended(2, 0, 0, "", Response(error="500"))])
    with closing(sqlite3.connect(write(directory, tmp_path / "out.db"))) as db:
        assert db.execute("SELECT raw_text, is_correct FROM conformity_outputs").fetchall() == [("Lima", 1)]
        assert db.execute("SELECT count(*) FROM conformity_trials").fetchone() == (4,)
