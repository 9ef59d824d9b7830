"""simulation.db of the conformity study in and out, and the seed's own query on both sides."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pytest

from perpend.errors import PerpendError
from perpend.ledger.store import Store
from perpend.measure.run import Run
from perpend.studies.conformity.simulation_db import read, read_sweep, write
from tests.test_compat_rows import notes

TABLES = Path(__file__).with_name("simulation_tables.txt")
"""The study's tables: 'column type', NN = NOT NULL, > table = foreign key; then the indexes."""
# The seed's five tables, joined as its analysis joins them.
JOIN = (
    "SELECT t.variant, t.model_id, t.item_id, c.name, t.temperature, d.name, i.question, i.ground_truth_text,"
    " json_extract(i.source_json, '$.wrong_answer'), o.raw_text, o.parsed_answer_text, o.is_correct, o.refusal_flag"
    " FROM conformity_trials t JOIN conformity_items i ON i.item_id = t.item_id"
    " JOIN conformity_datasets d ON d.dataset_id = i.dataset_id"
    " JOIN conformity_conditions c ON c.condition_id = t.condition_id"
    " JOIN conformity_outputs o ON o.trial_id = t.trial_id"
    " ORDER BY t.variant, t.temperature, t.item_id, c.name"
)
ITEMS = {
    "peru": ("What is the capital of Peru?", "Lima", "Cusco"),
    "colour": ("Which colour is best?", None, "Red"),
}
PARAMS = {
    "control": {"type": "control"},
    "asch_history_2": {"type": "synthetic_asch_history", "confederates": 2, "confidence": "high"},
}


def prompt(condition: str, question: str, decoy: str) -> tuple[str, str]:
    if condition == "control":
        return "Be brief.\n\n", question
    lines = "".join(f"Agent {letter}: surely {decoy}.\n" for letter in "AB")
    return "Others may speak.\n", f"Question: {question}\n\n{lines}\nYour answer?\n\n"


def simulation(path: Path, *, temperatures: Iterable[float] = (0.0,), run: str = "run-1") -> Path:
    """A small simulation.db as the study's runner writes it: one model, two items, two conditions."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as db, db:
        for name, columns, _ in tables():
            db.execute(f"CREATE TABLE {name}({', '.join(columns)})")
        suite = {"datasets": [{"name": "mixed", "category": "general"}], "run": {"seed": 42}}
        config = json.dumps({"mode": "olmo_conformity", "suite_config": suite})
        db.execute("INSERT INTO runs VALUES(?, 42, 100.0, ?)", (run, config))
        db.execute("INSERT INTO conformity_datasets VALUES('d', 'mixed', 'v1', 'data/mixed.jsonl', 'abc', 100.0)")
        for item, (question, truth, decoy) in ITEMS.items():
            source = json.dumps({"name": "curated", "index": 3, "wrong_answer": decoy})
            row = (item, "d", "geography", question, truth, None, source, 100.0)
            db.execute("INSERT INTO conformity_items VALUES(?, ?, ?, ?, ?, ?, ?, ?)", row)
        for name, params in PARAMS.items():
            db.execute(
                "INSERT INTO conformity_conditions VALUES(?, ?, ?, 100.0)", (f"c-{name}", name, json.dumps(params))
            )
        at = 100.0
        for temperature in temperatures:
            for item, (question, truth, decoy) in ITEMS.items():
                for name in PARAMS:
                    trial, at = f"{run}-{temperature:g}-{item}-{name}", at + 1.0
                    cell = (trial, run, "lab/Small", "small", item, f"c-{name}", 42, temperature, at)
                    db.execute("INSERT INTO conformity_trials VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)", cell)
                    system, user = prompt(name, question, decoy)
                    hashed = sha256(
                        json.dumps({"history": [], "system": system, "user": user}, separators=(",", ":")).encode()
                    ).hexdigest()
                    db.execute(
                        "INSERT INTO conformity_prompts VALUES(?, ?, ?, ?, '[]', ?, ?)",
                        (f"p-{trial}", trial, system, user, hashed, at),
                    )
                    text = f"It is {truth or decoy}, I think." if name == "control" else f"Sorry, {decoy}."
                    correct = None if truth is None else int(truth in text)
                    output = (
                        f"o-{trial}",
                        trial,
                        text,
                        text,
                        None,
                        correct,
                        int("Sorry" in text),
                        250.0,
                        None,
                        at + 0.5,
                    )
                    db.execute("INSERT INTO conformity_outputs VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", output)
    return path


def tables() -> list[tuple[str, list[str], list[tuple[str, ...]]]]:
    """(name, columns as SQL, columns of each index) of every table of the study."""
    found = []
    for line in TABLES.read_text(encoding="utf-8").splitlines():
        name, _, rest = line.partition(": ")
        columns, _, indexes = rest.partition(" | ")
        as_sql = [
            column.replace(" PK", " PRIMARY KEY").replace(" NN", " NOT NULL").replace(">", "REFERENCES ")
            for column in columns.split(", ")
        ]
        found.append((name, as_sql, [tuple(index.split("+")) for index in indexes.split()]))
    return found


def joined(path: Path) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as db:
        return db.execute(JOIN).fetchall()


def change(path: Path, *statements: str) -> Path:
    with closing(sqlite3.connect(path)) as db, db:
        for statement in statements:
            db.execute(statement)
    return path


def content(directory: Path) -> list[tuple[object, ...]]:
    """Trials, texts, times and imported labels of a run, in plan order."""
    with Store.open(directory / "run.db") as store:
        return store.query(
            "SELECT i.id, i.body, c.name, m.label, m.name, s.params, t.repeat, r.attempt, r.text, r.ms, r.at,"
            " (SELECT group_concat(k.name || '=' || coalesce(x.value, x.answer, ''), ';') FROM score x"
            "  JOIN scorer k USING (scorer) WHERE x.trial = t.trial AND k.version = 'import')"
            " FROM trial t JOIN item i USING (item) JOIN condition c USING (condition) JOIN model m USING (model)"
            " JOIN sampling s USING (sampling) LEFT JOIN response r USING (trial) ORDER BY t.trial, r.attempt"
        )


def test_the_seeds_join_answers_the_same_on_the_views_of_an_imported_run(tmp_path: Path) -> None:
    source = simulation(tmp_path / "simulation.db", temperatures=(0.0, 0.6))
    run = Run(read(source, tmp_path / "run"))
    run.score()
    assert len(joined(source)) == 8
    assert joined(run.directory / "run.db") == joined(source)


def test_an_import_keeps_ids_labels_times_tags_and_hashes(tmp_path: Path) -> None:
    run = Run(read(simulation(tmp_path / "simulation.db"), tmp_path / "run"))
    with Store.open(run.directory / "run.db") as store:
        assert [(d.name, d.version, d.path, d.sha256) for d in store.datasets()] == [
            ("mixed", "v1", "data/mixed.jsonl", "abc")
        ]
        peru = next(iter(store.items()))
        scores = store.scores([2])[2]
        [(at, hashed)] = store.query("SELECT at, lower(hex(request_sha256)) FROM response WHERE trial = 2")
    assert peru.tags == {
        "dataset": "mixed",
        "topic": "general",
        "domain": "geography",
        "kind": "factual",
        "source_name": "curated",
        "source_index": "3",
    }
    assert scores["stored_trial@import"].answer == "run-1-0-peru-asch_history_2"
    assert (scores["stored_correct@import"].value, scores["stored_refused@import"].value) == (0.0, 1.0)
    assert at == 102.5
    system, user = prompt("asch_history_2", "What is the capital of Peru?", "Cusco")
    assert (
        hashed
        == sha256(
            json.dumps({"history": [], "system": system, "user": user}, separators=(",", ":")).encode()
        ).hexdigest()
    )


def test_the_template_behind_the_prompts_is_found_so_that_the_run_says_what_was_asked(tmp_path: Path) -> None:
    run = Run(read(simulation(tmp_path / "simulation.db"), tmp_path / "run"))
    with Store.open(run.directory / "run.db") as store:
        shown = store.query(
            "SELECT system_prompt, user_prompt FROM conformity_prompts ORDER BY CAST(trial_id AS INTEGER)"
        )
    assert shown == [prompt(name, question, decoy) for question, _, decoy in ITEMS.values() for name in PARAMS]
    assert "stored_prompt@import" not in run.columns()


def test_prompts_without_one_template_are_kept_one_by_one(tmp_path: Path) -> None:
    source = change(
        simulation(tmp_path / "simulation.db"),
        "UPDATE conformity_prompts SET user_prompt = 'Tell me. ' || user_prompt WHERE trial_id LIKE '%colour-control'",
    )
    directory = read(source, tmp_path / "run")
    with Store.open(directory / "run.db") as store:
        stored = [found.get("stored_prompt@import") for found in store.scores([1, 2, 3, 4]).values()]
    assert [score is not None for score in stored] == [True, False, True, False]
    back = write(directory, tmp_path / "back.db")
    with closing(sqlite3.connect(back)) as db, closing(sqlite3.connect(source)) as before:
        columns = (
            "SELECT trial_id, system_prompt, user_prompt, chat_history_json FROM conformity_prompts ORDER BY trial_id"
        )
        assert db.execute(columns).fetchall() == before.execute(columns).fetchall()


def test_the_first_output_is_the_earliest_then_the_smallest_id(tmp_path: Path) -> None:
    insert = (
        "INSERT INTO conformity_outputs SELECT '{id}', trial_id, '{text}', '{text}', NULL, 0, 0, NULL, NULL,"
        " created_at + {d} FROM conformity_outputs WHERE output_id = 'o-run-1-0-peru-control'"
    )
    source = change(
        simulation(tmp_path / "simulation.db"),
        insert.format(id="zz", text="later", d=5),
        insert.format(id="a", text="same time, smaller id", d=0),
    )
    with Store.open(read(source, tmp_path / "run") / "run.db") as store:
        texts = [text for (text,) in store.query("SELECT text FROM response WHERE trial = 1 ORDER BY attempt")]
        assert texts == ["same time, smaller id", "It is Lima, I think.", "later"]
        assert next(store.answers())[1].text == "same time, smaller id"
        assert store.scores([1])[1]["stored_correct@import"].value == 0.0


def test_a_trial_without_an_output_stays_planned(tmp_path: Path) -> None:
    source = change(
        simulation(tmp_path / "simulation.db"), "DELETE FROM conformity_outputs WHERE output_id LIKE '%colour%'"
    )
    run = Run(read(source, tmp_path / "run"))
    status = run.status()
    assert (status["planned"], status["answered"], status["failed"]) == (4, 2, 0)
    assert notes(run)["trials without an output, kept as planned and unanswered"] == 2


def test_an_opinion_stored_as_the_word_none_is_recognised_and_reported(tmp_path: Path) -> None:
    source = change(
        simulation(tmp_path / "simulation.db"),
        "UPDATE conformity_items SET ground_truth_text = 'None' WHERE item_id = 'colour'",
        "UPDATE conformity_outputs SET is_correct = 0 WHERE is_correct IS NULL",
    )
    run = Run(read(source, tmp_path / "run"))
    with Store.open(run.directory / "run.db") as store:
        assert [(item.target, item.tags["kind"]) for item in store.items()] == [("Lima", "factual"), (None, "opinion")]
        stored = store.scores([3])[3]["stored_correct@import"]
    assert (stored.value, stored.answer) == (None, "0")
    assert stored.reason == "stored for an item without a right answer, graded against the word 'None'"
    assert any("'None', read as opinions: colour" in note for note in notes(run))
    with closing(sqlite3.connect(write(run.directory, tmp_path / "back.db"))) as db:
        graded = "SELECT is_correct FROM conformity_outputs WHERE trial_id LIKE '%colour%'"
        assert db.execute(graded).fetchall() == [(0,), (0,)]


def test_tables_without_a_place_are_counted_and_those_of_later_versions_do_no_harm(tmp_path: Path) -> None:
    source = change(
        simulation(tmp_path / "simulation.db"),
        "CREATE TABLE conformity_trial_metadata(trial_id TEXT PRIMARY KEY, metadata_json TEXT, created_at REAL)",
        "INSERT INTO conformity_trial_metadata VALUES('x', '{}', 1.0)",
        "INSERT INTO messages VALUES('m', 'run-1', 0, 'a', 'hello', 1.0)",
        "UPDATE conformity_outputs SET parsed_answer_json = '{\"truthfulness\": 0.5}',"
        " token_usage_json = '{\"quality\": \"VALID\"}' WHERE output_id LIKE '%peru-control'",
    )
    run = Run(read(source, tmp_path / "run"))
    found = notes(run)
    assert found["rows of table messages, which a run has no place for"] == 1
    assert found["rows of table conformity_trial_metadata, which a run has no place for"] == 1
    with Store.open(run.directory / "run.db") as store:
        scores = store.scores([1])[1]
    assert scores["stored_judge@import"].answer == '{"truthfulness": 0.5}'
    assert scores["stored_usage@import"].answer == '{"quality": "VALID"}'


def test_activations_proofs_steps_and_thoughts_of_a_study_are_kept_and_written_back(tmp_path: Path) -> None:
    source = simulation(tmp_path / "simulation.db")
    with closing(sqlite3.connect(source)) as db:
        (trial,) = db.execute("SELECT min(trial_id) FROM conformity_trials").fetchone()
    rows = {
        "activation_metadata": (
            "a",
            "run-1",
            3,
            "agent",
            "m",
            7,
            "resid",
            -1,
            "a/b.safetensors",
            "k",
            "[1]",
            "f32",
            5.0,
        ),
        "merkle_log": ("m", "run-1", 3, "agent", "p", "a", "l", "r", 5.0),
        "conformity_trial_steps": (trial, 3, "agent", 5.0),
        "conformity_think_tokens": ("t", trial, 0, "hmm", None, 5.0),
    }
    with closing(sqlite3.connect(source)) as db, db:
        for table, row in rows.items():
            db.execute(f"INSERT INTO {table} VALUES({', '.join('?' * len(row))})", row)
    run = Run(read(source, tmp_path / "run"))
    with closing(sqlite3.connect(write(run.directory, tmp_path / "back.db"))) as db:
        for table, row in rows.items():
            ((*back,),) = db.execute(f"SELECT * FROM {table}").fetchall()
            # The id of a run is each file's own.
            kept = [(old, new) for old, new in zip(row, back, strict=True) if old != "run-1"]
            assert all(old == new for old, new in kept), table
        assert db.execute("PRAGMA foreign_key_check").fetchall() == []


def test_several_databases_make_one_sweep(tmp_path: Path) -> None:
    sources = [
        simulation(tmp_path / str(n) / "simulation.db", temperatures=(t,), run=f"run-{n}")
        for n, t in enumerate((0.0, 1.0))
    ]
    run = Run(read_sweep(sources, tmp_path / "run"))
    assert (len(run.table), run.table.values("temperature")) == (8, ("0", "1"))
    assert run.table.values("condition") == tuple(PARAMS)
    clash = change(simulation(tmp_path / "clash.db", run="run-0"), "UPDATE conformity_trials SET variant = 'x'")
    with pytest.raises(PerpendError, match="has another item, condition, model or sampling at"):
        read_sweep([sources[0], clash], tmp_path / "other")


def test_what_a_running_study_has_only_in_its_log_is_read_too(tmp_path: Path) -> None:
    source = simulation(tmp_path / "simulation.db")
    with closing(sqlite3.connect(source, isolation_level=None)) as writer:
        writer.execute("PRAGMA journal_mode=WAL")
        writer.execute("UPDATE conformity_outputs SET raw_text = 'in the log'")
        assert (tmp_path / "simulation.db-wal").stat().st_size > 0
        with Store.open(read(source, tmp_path / "run") / "run.db") as store:
            assert {response.text for _, response in store.answers()} == {"in the log"}


def test_one_variant_of_two_models_becomes_two_labels(tmp_path: Path) -> None:
    source = change(
        simulation(tmp_path / "simulation.db"),
        "UPDATE conformity_trials SET model_id = 'lab/Big' WHERE item_id = 'colour'",
    )
    assert Run(read(source, tmp_path / "run")).table.values("model") == ("small/lab/Small", "small/lab/Big")


ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n"
UNCHECKED = "PRAGMA ignore_check_constraints=ON"
HEAVY = "length(hex(zeroblob(30000000)))"


@pytest.mark.parametrize(
    "statements",
    [
        # None of these is read, so none of them runs.
        f"CREATE VIEW other AS {ENDLESS}",
        f"CREATE TRIGGER t AFTER INSERT ON runs BEGIN INSERT INTO runs SELECT x, 1, 1, '{{}}' FROM ({ENDLESS}); END",
        f"{UNCHECKED}; CREATE TABLE checked(x CHECK({HEAVY} > 0)); INSERT INTO checked {ENDLESS} LIMIT 3000",
        'CREATE TABLE "a"" UNION SELECT 1; --"(x); INSERT INTO "a"" UNION SELECT 1; --" VALUES (1)',
    ],
    ids=["a view", "a trigger", "a constraint", "a name"],
)
def test_what_a_file_would_run_is_not_run(tmp_path: Path, statements: str) -> None:
    path = simulation(tmp_path / "simulation.db")
    with closing(sqlite3.connect(path)) as db:
        db.executescript(statements)
        db.commit()
    begun = time.process_time()
    read(path, tmp_path / "run")
    assert time.process_time() - begun < 5


def test_a_schema_that_calls_a_view_a_table_is_not_believed(tmp_path: Path) -> None:
    path = simulation(tmp_path / "simulation.db")
    with closing(sqlite3.connect(path)) as db:
        db.executescript(f"DROP TABLE conformity_prompts; CREATE VIEW conformity_prompts AS {ENDLESS};")
        db.execute("PRAGMA writable_schema=ON")
        db.execute("UPDATE sqlite_master SET type = 'table' WHERE name = 'conformity_prompts'")
        db.commit()
    # SQLite sees it too, from some version on.
    with pytest.raises(PerpendError, match="is a view or a virtual table|malformed database schema"):
        read(path, tmp_path / "run")
