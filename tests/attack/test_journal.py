"""A ledger that came with files of SQLite's own beside it: they delete nothing, and no two readers see two ledgers."""

from __future__ import annotations

import shutil
import sqlite3
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from perpend.errors import StoreError
from perpend.ledger.database import LOCK, exclusive
from perpend.ledger.digest import content_digest
from perpend.ledger.store import Store
from perpend.measure.run import Run
from perpend.proof.audit import Options, audit
from tests.attack.conftest import Copied
from tests.attack.test_cli import perpend

MAGIC = bytes.fromhex("d9d505f920a163d7")
SECTOR, NONCE = 512, 7


def _journal(ledger: Path, pages: dict[int, bytes], victim: Path | None = None) -> None:
    """A hot rollback journal beside a ledger: SQLite puts the pages back, then deletes the file that it names."""
    data = ledger.read_bytes()
    size = int.from_bytes(data[16:18]) or 1 << 16
    head = MAGIC + struct.pack(">IIIII", len(pages), NONCE, len(data) // size, SECTOR, size)
    body = head.ljust(SECTOR, b"\0")
    for number, page in pages.items():
        checksum = NONCE + sum(page[at] for at in range(size - 200, 0, -200))
        body += struct.pack(">I", number) + page + struct.pack(">I", checksum & 0xFFFFFFFF)
    if victim is not None:
        name = str(victim).encode()
        body += struct.pack(">I", 0x40000000 // size + 1) + name
        body += struct.pack(">II", len(name), sum(name) & 0xFFFFFFFF) + MAGIC
    ledger.with_name(f"{ledger.name}-journal").write_bytes(body)


def _first_page(ledger: Path) -> bytes:
    data = ledger.read_bytes()
    return data[: int.from_bytes(data[16:18]) or 1 << 16]


@pytest.fixture
def run(copied: Copied) -> Path:
    """A copy of an honest run."""
    return copied("runs/questions")


def test_sqlite_itself_deletes_what_such_a_journal_names(run: Path, tmp_path: Path) -> None:
    """What is defended against is real: without us the file is gone."""
    victim = tmp_path / "thesis.txt"
    victim.write_text("x")
    _journal(run / "run.db", {1: _first_page(run / "run.db")}, victim)
    with sqlite3.connect(run / "run.db") as db:
        db.execute("SELECT count(*) FROM trial").fetchone()
    db.close()
    assert not victim.exists()


@pytest.mark.parametrize("name", ["run.db", LOCK])
def test_no_verb_deletes_a_file_that_a_journal_names(source: Path, run: Path, tmp_path: Path, name: str) -> None:
    victim = tmp_path / "thesis.txt"
    victim.write_text("x")
    if name == LOCK:
        shutil.copyfile(run / "run.db", run / LOCK)
    _journal(run / name, {1: _first_page(run / name)}, victim)
    before = (run / name).read_bytes()
    again = ("eval", "--task", "questions", "--items", source / "sums.jsonl", "--model", "mock/subject")
    verbs = [(*again, "--name", run.name, "--out", run.parent)]
    verbs += [] if name == LOCK else [("score", run), ("show", run), ("audit", run)]
    for arguments in verbs:
        done = perpend(*arguments)
        assert done.returncode == (6 if arguments[0] == "audit" else 5), (arguments, done.stderr)
        assert "Traceback" not in done.stderr
        assert f"{name}-journal" in done.stderr + done.stdout
        assert victim.exists(), arguments
        assert (run / name).read_bytes() == before


def test_a_ledger_that_sqlite_would_read_otherwise_is_a_difference(run: Path) -> None:
    """The journal turns the ledger back into another one: whoever opens it with SQLite sees that one."""
    ledger = run / "run.db"
    honest = ledger.read_bytes()
    with sqlite3.connect(ledger) as db:
        db.execute("DROP TRIGGER response_is_a_fact")
        db.execute("UPDATE response SET text = 'forged' WHERE trial = 1")
    db.close()
    forged, size = ledger.read_bytes(), int.from_bytes(honest[16:18]) or 1 << 16
    ledger.write_bytes(honest)
    assert audit([run], Options(workers=1))[0].ok
    count = len(forged) // size
    _journal(ledger, {n + 1: forged[n * size : (n + 1) * size] for n in range(count)})
    (outcome,) = audit([run], Options(workers=1))
    assert not outcome.ok
    assert "run.db-journal is there" in " ".join(check.first for check in outcome.checks)
    with pytest.raises(StoreError, match="run.db-journal is there"):
        Run(run).table  # noqa: B018  reading it is what fails


KILLED = """
import os, sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("PRAGMA cache_size=1")
db.execute("BEGIN IMMEDIATE")
db.execute("CREATE TABLE half(x)")
db.executemany("INSERT INTO half VALUES (?)", [("x" * 3000,) for _ in range(200)])
os._exit(9)
"""


def test_a_writer_that_was_killed_with_a_journal_is_recovered_by_the_next_one(run: Path) -> None:
    """As on a network disk, where a ledger has no log: reading is refused, going on undoes what was half done."""
    before = content_digest(run)
    subprocess.run([sys.executable, "-c", KILLED, str(run / "run.db")], check=False)
    assert (run / "run.db-journal").stat().st_size > SECTOR
    with pytest.raises(StoreError, match="perpend score"):
        Store.open(run / "run.db")
    with exclusive(run), Store.open(run / "run.db", write=True):
        assert not (run / "run.db-journal").exists()
    assert content_digest(run) == before
