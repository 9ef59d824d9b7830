"""A stranger's folder leads nowhere else: links are not followed, and what is too long is not read to its end."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from perpend.errors import DiskError
from perpend.ledger.database import LOCK
from perpend.measure.labels import HumanLabel, append_labels
from perpend.measure.run import Run
from perpend.proof.audit import Options, audit
from perpend.proof.audit.checks import as_table
from tests.attack.conftest import Copied
from tests.attack.forge import seal
from tests.attack.hostile import ROOT
from tests.attack.test_cli import perpend
from tests.test_chaosbench_forgery import original, root, run_of

__all__ = ["original", "root"]
SECRET = "correct horse battery staple"
SPARSE, MEMORY = 6 << 30, 3 << 30


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A file of the reader's."""
    path = tmp_path / "private" / "diary.txt"
    path.parent.mkdir()
    path.write_text(f"{SECRET}\n" * 3)
    return path


def _linked(path: Path, target: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    path.symlink_to(target)


def _told(folder: Path) -> str:
    """What an audit prints; it must find something."""
    outcomes = audit([folder], Options(workers=1, figures=True))
    assert not all(one.ok for one in outcomes), as_table(outcomes)
    return as_table(outcomes)


NAMES = ("report.md", "metrics.json", "manifest.json", "tables", "run.db")


@pytest.mark.parametrize("name", [*NAMES, "labels.jsonl", "manifest.journal"])
def test_a_link_in_a_run_directory_is_a_difference_and_shows_nothing(
    copied: Copied, source: Path, tmp_path: Path, secret: Path, name: str
) -> None:
    run = copied("runs/questions")
    is_ledger, is_folder = name == "run.db", name == "tables"
    if is_ledger:
        shutil.move(run / name, tmp_path / "other.db")
    if is_folder:
        tables = [path.name for path in (source / "runs" / "questions" / name).iterdir()]
        for table in tables:
            (secret.parent / table).write_text(secret.read_text())
    _linked(run / name, tmp_path / "other.db" if is_ledger else secret.parent if is_folder else secret)
    told = _told(run)
    assert name in told
    assert SECRET not in told


@pytest.mark.parametrize(
    "name", ["report.md", "tables", "signer.pub", "responses.jsonl.gz", "../index.json", "../README.md"]
)
def test_a_link_in_a_published_folder_is_a_difference_and_shows_nothing(
    copied: Copied, secret: Path, name: str
) -> None:
    folder = copied("published/questions")
    seal(folder)
    if name == "tables":
        for path in (folder / name).iterdir():
            (secret.parent / path.name).write_text(secret.read_text())
    _linked(folder / name, secret.parent if name == "tables" else secret)
    told = _told(folder)
    assert Path(name).name in told
    assert SECRET not in told


def test_the_page_of_a_run_takes_nothing_along_that_a_link_leads_to(
    copied: Copied, tmp_path: Path, secret: Path
) -> None:
    for kind in ("runs/questions", "published/questions"):
        run = copied(kind)
        _linked(run / "report.md", secret)
        out = tmp_path / "page.html"
        done = perpend("view", run, "--out", out)
        assert done.returncode == 5, done.stderr
        assert "report.md" in done.stderr
        assert not out.exists()


@pytest.mark.parametrize("name", ["summary.md", "metrics.json"])
def test_a_link_in_a_folder_of_the_logic_benchmark_is_a_difference_and_shows_nothing(
    root: Path, secret: Path, name: str
) -> None:
    folder = run_of(root)
    _linked(folder / name, secret)
    told = _told(folder)
    assert name in told
    assert SECRET not in told


@pytest.mark.parametrize("name", ["tables", "run.db", LOCK])
def test_nothing_is_written_by_way_of_a_link_in_a_run_directory(
    copied: Copied, source: Path, tmp_path: Path, name: str
) -> None:
    run, victim = copied("runs/questions"), tmp_path / "victim"
    if name == "tables":
        victim.mkdir()
        (victim / "mine.txt").write_text("mine")
    else:
        shutil.copyfile(run / "run.db", victim)
    _linked(run / name, victim)
    before = _state(victim)
    again = ("eval", "--task", "questions", "--items", source / "sums.jsonl", "--model", "mock/subject")
    again = (*again, "--name", run.name, "--out", run.parent)
    for arguments in (("score", run), ("analyze", run, "--out", run, "--no-figures"), again):
        done = perpend(*arguments)
        assert "Traceback" not in done.stderr
        is_used = name != LOCK or arguments[0] != "analyze"
        assert done.returncode == (5 if is_used else 0), (arguments, done.stderr)
        assert _state(victim) == before, arguments


def _state(path: Path) -> object:
    if path.is_dir():
        return {file.name: file.read_bytes() for file in path.iterdir()}
    return path.read_bytes(), path.stat().st_mtime_ns


def test_labels_are_not_appended_to_a_file_that_a_link_leads_to(copied: Copied, secret: Path) -> None:
    run = copied("runs/questions")
    _linked(run / "labels.jsonl", secret)
    with pytest.raises(DiskError, match="link"):
        append_labels(Run(run), [HumanLabel(1, 1, "reader-1", "correct")])
    assert secret.read_text() == f"{SECRET}\n" * 3


@pytest.mark.parametrize("name", ["report.md", "tables/", "labels.jsonl", "signer.pub", "receipt.json.sig"])
def test_a_file_of_six_gigabytes_is_a_difference_and_is_not_read_whole(copied: Copied, name: str) -> None:
    folder = copied("published/questions")
    path = next((folder / name).iterdir()) if name.endswith("/") else folder / name
    for file in ("receipt.json.sig", "signer.pub") if "sig" in name else (path.name,):
        (path.parent / file).touch()
    os.truncate(path, SPARSE)
    words = [sys.executable, "-c", "from perpend.cli import main; main()", "audit", folder, "--workers", "1", "--quiet"]
    done = subprocess.run(
        ["bash", "-c", f'ulimit -v {MEMORY >> 10}; exec "$@"', "bash", *map(str, words)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 6, done.stderr
    assert "Traceback" not in done.stderr


def test_what_a_receipt_does_not_list_is_not_read(copied: Copied, source: Path) -> None:
    folder = copied("published/questions")
    (folder / "notes.bin").touch()
    os.truncate(folder / "notes.bin", 8 << 40)
    assert "notes.bin: not in the receipt" in _told(folder)
    assert perpend("publish", source / "runs" / "questions", "--to", folder.parent, limit=30).returncode == 5


def test_a_listed_file_that_is_almost_all_a_hole_is_not_read_either(copied: Copied) -> None:
    folder = copied("published/questions")
    os.truncate(folder / "report.md", 8 << 40)
    assert "almost nothing is on the disk" in _told(folder)
