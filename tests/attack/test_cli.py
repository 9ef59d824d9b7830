"""The program itself on forged folders: exit code 6, the place in its output, no traceback, and the others audited."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.attack.conftest import Copied
from tests.attack.crafted import CRAFTED
from tests.attack.files import whole_files
from tests.attack.forge import Forgery, fields, seal
from tests.attack.hostile import ROOT
from tests.attack.ledger import ENDLESS, run_sql

CHOSEN = (
    "manifest.json |  | NaN added",
    "manifest.json |  | 1e999 for a number",
    "manifest.json |  | deep added",
    "manifest.json | file | a pipe",
    "receipt.json | file | a pipe",
    "plan.json | scorers | added",
    "responses.jsonl.gz | file | a bomb",
    "responses.jsonl.gz | file | a link to a device",
    "scores.jsonl.gz | 1: value | doubled before",
    "tables/evil.py | file | added",
    "verify.py | file | added",
)


def perpend(*arguments: object, limit: float = 120) -> subprocess.CompletedProcess[str]:
    """The program in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", "from perpend.cli import main; main()", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=limit, check=False)


def chosen(folder: Path) -> list[Forgery]:
    """The forgeries that are tried on the program, and one that was crafted."""
    known = {f"{one.file} | {one.place} | {one.kind}": one for one in (*fields(folder), *whole_files(folder))}
    return [*(known[name] for name in CHOSEN), CRAFTED[0].forgeries()[0]]


def test_one_bad_folder_does_not_keep_the_others_from_being_audited(source: Path, tmp_path: Path) -> None:
    forgeries = chosen(source / "published" / "questions")
    above = tmp_path / "all"
    for number, forgery in enumerate(forgeries):
        folder = above / str(number) / "questions"
        shutil.copytree(source / "published" / "questions", folder)
        forgery.forge(folder)
        seal(folder)
    shutil.copytree(source / "published" / "logic", above / "zz" / "logic")
    done = perpend("audit", above, "--workers", "1")
    assert done.returncode == 6, done.stderr
    assert "Traceback" not in done.stderr + done.stdout
    assert done.stdout.count("questions: DIFFERS") == len(forgeries)
    assert "logic: nothing differs" in done.stdout
    assert "No recomputation can find:" in done.stdout


def test_a_ledger_that_never_ends_is_refused_by_every_verb_that_reads_it(copied: Copied, tmp_path: Path) -> None:
    run = copied("runs/questions")
    run_sql(run, "ALTER TABLE item RENAME TO kept", f"CREATE VIEW item AS {ENDLESS} k.* FROM kept k, n", guarded=False)
    assert perpend("audit", run, "--quiet").returncode == 6
    for arguments in (("show", run), ("score", run), ("export", run, "--out", tmp_path / "x.csv")):
        done = perpend(*arguments)
        assert done.returncode == 5, (arguments, done.stderr)
        assert "item" in done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize("name", ["a link to nowhere", "a link to itself", "a pipe", "a folder"])
def test_a_manifest_that_is_no_file_ends_every_verb_with_a_sentence(copied: Copied, source: Path, name: str) -> None:
    run = copied("runs/questions")
    known = {one.kind: one for one in whole_files(source / "published" / "questions") if one.file == "manifest.json"}
    known[name].forge(run)
    done = perpend("audit", run)
    assert done.returncode == 6, done.stderr
    assert "manifest.json" in done.stdout
    assert "Traceback" not in done.stderr
