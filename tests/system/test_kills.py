"""Every verb, killed at any moment: what it was given stays as it was, and the last call ends as ever."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import sqlite3
import time
import tomllib
from pathlib import Path

import pytest

import perpend as pp
from tests.commands import Begun

KILLS = 3
VERBS = tomllib.loads(Path(__file__).with_name("verbs.toml").read_text(encoding="utf-8"))["killed"]


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("given")
    rows = [
        {"id": f"item-{n}", "prompt": f"Is {n} even?", "target": "yes" if n % 2 == 0 else "no", "decoy": "perhaps"}
        for n in range(60)
    ]
    write(folder / "items.jsonl", rows)
    write(folder / "rows.jsonl", [{**row, "text": "yes"} for row in rows])
    write(
        folder / "predictions.jsonl",
        [{"id": row["id"], "confidence": 0.6 + n % 4 / 10, "correct": n % 3 > 0} for n, row in enumerate(rows)],
    )
    task = pp.task("conformity", items=folder / "items.jsonl", conditions=["control", "asch_history_5"])
    for name, sway in (("study", 0.2), ("other", 0.6)):
        pp.evaluate(task, [pp.model("mock/subject", sway=sway)], name=name, out=folder, quiet=True)
    return folder


def write(path: Path, rows: list[dict[str, object]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def start(programs: Path, folder: Path, verb: str) -> Begun:
    (folder / "tmp").mkdir(exist_ok=True)
    environment = {**os.environ, "TMPDIR": str(folder / "tmp")}
    return Begun(programs, ["perpend", *VERBS[verb].split()], folder, environment)


def finish(programs: Path, folder: Path, verb: str) -> None:
    with start(programs, folder, verb) as process:
        code = process.wait()
        process.printed.seek(0)
        assert code == 0, process.printed.read().decode()


def answers(database: Path) -> str:
    """The facts of a ledger, and that SQLite finds nothing wrong with it."""
    with sqlite3.connect(database) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        rows = db.execute("SELECT * FROM response ORDER BY trial, turn, attempt").fetchall()
    db.close()
    return hashlib.sha256(repr(rows).encode()).hexdigest()


def tree(folder: Path) -> dict[str, object]:
    """Every file below a folder by its bytes; a database by its rows, and what states the time not at all."""
    files: dict[str, object] = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = path.relative_to(folder).as_posix()
        if path.suffix == ".db":
            files[name] = path.stat().st_size > 0
        elif path.name not in ("manifest.json", "receipt.json", "index.json", "README.md"):
            files[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return files


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_that_was_killed_ends_as_if_it_had_never_been(
    programs: Path, given: Path, tmp_path: Path, verb: str
) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    shutil.copytree(given, whole)
    shutil.copytree(given, killed)
    begun = time.monotonic()
    finish(programs, whole, verb)
    took = time.monotonic() - begun
    before = answers(given / "study" / "run.db")
    rng = random.Random(verb)
    for _ in range(KILLS):
        with start(programs, killed, verb) as process:
            time.sleep(took * rng.uniform(0.0, 1.0))
            process.kill()
        assert answers(killed / "study" / "run.db") == before
        if verb in ("import", "export simulation"):
            # What it wrote whole may not be overwritten; what it left is for the next call.
            shutil.rmtree(killed / "out" / "imported", ignore_errors=True)
            (killed / "out" / "simulation.db").unlink(missing_ok=True)
    finish(programs, killed, verb)
    assert answers(killed / "study" / "run.db") == before
    assert tree(killed) == tree(whole)
    left = [path.name for path in killed.rglob("*") if path.name.endswith(".perpend-tmp")]
    assert left == []
