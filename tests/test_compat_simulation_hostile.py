"""A simulation.db that is incomplete or wrong, or made to hang its readers, is refused in plain words, at once."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from perpend._convert import convert
from perpend.errors import PerpendError
from tests.test_compat_simulation import simulation

ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n"
UNCHECKED = "PRAGMA ignore_check_constraints=ON"
TWICE = (
    "CREATE TABLE copy AS SELECT * FROM {0}; DROP TABLE {0}; ALTER TABLE copy RENAME TO {0};"
    "INSERT INTO {0} SELECT * FROM {0}"
)
HEAVY = "length(hex(zeroblob(30000000)))"


FORGED: dict[str, tuple[str, str]] = {
    "an endless view in the place of a table": (
        f"DROP TABLE conformity_prompts; CREATE VIEW conformity_prompts AS SELECT x AS trial_id FROM ({ENDLESS})",
        "conformity_prompts is a view",
    ),
    "an endless view of the trials": (
        f"ALTER TABLE conformity_trials RENAME TO old; CREATE VIEW conformity_trials AS SELECT * FROM old, ({ENDLESS})",
        "without the study's tables",
    ),
    "a virtual table": (
        "DROP TABLE conformity_prompts; CREATE VIRTUAL TABLE conformity_prompts USING fts5(trial_id)",
        "conformity_prompts is a view or a virtual table",
    ),
    "a computed column": (
        f"ALTER TABLE conformity_items ADD COLUMN heavy GENERATED ALWAYS AS ({HEAVY})",
        "'heavy' of 'conformity_items' is computed",
    ),
    "a computed column of a table that is only counted": (
        f"ALTER TABLE trace ADD COLUMN heavy GENERATED ALWAYS AS ({HEAVY})",
        "'heavy' of 'trace' is computed",
    ),
    "rows that multiply": (
        TWICE.format("conformity_items"),
        "is in it twice, so its rows multiply",
    ),
    "bytes for a text": ("UPDATE conformity_items SET question = x'ff00'", "question holds bytes"),
    "bytes for an answer": ("UPDATE conformity_outputs SET raw_text = x'ff00'", "raw_text holds bytes"),
    "an infinite temperature": ("UPDATE conformity_trials SET temperature = 9e999", "temperature is inf"),
    "a temperature below 0": ("UPDATE conformity_trials SET temperature = -1", "temperature -1.0 is not"),
    "an infinite time": ("UPDATE conformity_outputs SET latency_ms = -9e999", "'latency_ms' must be a number"),
    "a time below 0": ("UPDATE conformity_outputs SET latency_ms = -1", "milliseconds of the answer is -1"),
    "a moment that is none": ("UPDATE conformity_outputs SET created_at = 9e999", "'answered_at' must be a number"),
    "a correctness that is none": ("UPDATE conformity_outputs SET is_correct = 9e999", "'is_correct' must be a number"),
    "JSON without end": (
        "UPDATE conformity_prompts SET chat_history_json = replace(hex(zeroblob(100000)), '00', '[')",
        "chat_history_json cannot be read as JSON",
    ),
    "JSON that says a key twice": ('UPDATE runs SET config_json = \'{"a": 1, "a": 2}\'', "said twice"),
    "JSON with NaN": ("UPDATE conformity_items SET source_json = '{\"wrong_answer\": NaN}'", "malformed JSON|NaN"),
    "a blob of JSON": ("UPDATE conformity_conditions SET params_json = x'7b7d'", "not JSON"),
    "no table of answers": ("DROP TABLE conformity_outputs", "no table conformity_outputs"),
    "no such item": ("DELETE FROM conformity_items WHERE item_id = 'peru'", "its item 'peru' is not in the file"),
    "no data set": ("DELETE FROM conformity_datasets", "its data set of item 'peru' is not in the file"),
    "no such condition": (
        "DELETE FROM conformity_conditions WHERE name = 'control'",
        "its condition 'c-control' is not in the file",
    ),
    "a temperature in words": ("UPDATE conformity_trials SET temperature = 'warm'", "'warm' is not a number"),
    "a correctness in words": (
        "UPDATE conformity_outputs SET is_correct = 'yes'",
        "'is_correct' must be a number, not 'yes'",
    ),
    "a moment in words": (
        "UPDATE conformity_outputs SET created_at = 'noon'",
        "'answered_at' must be a number, not 'noon'",
    ),
    "a suite that is no JSON": ("UPDATE runs SET config_json = 'x'", "not JSON"),
    "a source that is cut": ("UPDATE conformity_items SET source_json = '{'", "malformed JSON"),
    "a blank question": ("UPDATE conformity_items SET question = ' '", "'prompt' is missing or blank"),
}


@pytest.mark.parametrize(("statements", "message"), FORGED.values(), ids=FORGED)
def test_a_forged_file_is_refused_at_once(tmp_path: Path, statements: str, message: str) -> None:
    path = simulation(tmp_path / "simulation.db")
    with closing(sqlite3.connect(path)) as db:
        db.executescript(statements)
    begun = time.process_time()
    with pytest.raises(PerpendError, match=message) as error:
        convert(path, tmp_path / "run")
    assert time.process_time() - begun < 5
    assert str(path) in str(error.value)
    assert list(tmp_path.iterdir()) == [path]


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
    convert(path, tmp_path / "run")
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
        convert(path, tmp_path / "run")
