"""Runs on disks without shared memory, without locks, and that may not be written: what holds, and what is refused.

The first two are real to every process here: a small library, compiled for the test, lets the system calls fail for the
files of one folder.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import perpend as pp
from perpend.cli import cli
from perpend.ledger.digest import content_digest
from perpend.ledger.filesystem import SharedDisk, of_mounts

START = "from perpend.cli import main; main()"
SHIM = Path(__file__).with_name("disk.c")


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if sys.platform != "linux" or compiler is None:
        pytest.skip("needs Linux and a C compiler")
    folder = tmp_path_factory.mktemp("shim")
    command = [compiler, "-shared", "-fPIC", "-o", folder / "disk.so", SHIM, "-ldl"]
    subprocess.run(command, check=True, capture_output=True)
    return folder / "disk.so"


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    folder = tmp_path / "disk"
    folder.mkdir()
    rows = [
        {"id": f"item-{n}", "prompt": f"Is {n} even?", "target": "yes" if n % 2 == 0 else "no", "decoy": "perhaps"}
        for n in range(12)
    ]
    (tmp_path / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def perpend(shim: Path | None, disk: Path, *words: str, locks: str = "all") -> subprocess.CompletedProcess[str]:
    simulated = {} if shim is None else {"LD_PRELOAD": str(shim), "DISK": str(disk), "LOCKS": locks}
    return subprocess.run(
        [sys.executable, "-c", START, *words],
        cwd=disk.parent,
        env={**os.environ, **simulated},
        capture_output=True,
        text=True,
        check=False,
        timeout=25,
    )


ASK = ("eval", "--task", "questions", "--items", "items.jsonl", "--model", "mock/subject", "--name", "study", "--quiet")


def test_without_shared_memory_a_run_has_a_rollback_journal_and_the_same_content(shim: Path, disk: Path) -> None:
    asked = perpend(shim, disk, *ASK, "--out", "disk")
    assert (asked.returncode, asked.stderr) == (0, "")
    assert perpend(None, disk, *ASK, "--out", "local").returncode == 0
    assert content_digest(disk / "study") == content_digest(disk.parent / "local" / "study")
    assert not list((disk / "study").glob("run.db-*"))
    done = perpend(shim, disk, "score", "disk/study")
    assert done.returncode == 0, done.stderr


def test_a_run_that_was_killed_elsewhere_is_resumed_without_shared_memory(shim: Path, disk: Path) -> None:
    assert perpend(None, disk, *ASK, "--out", "disk", "--max-requests", "5").returncode == 0
    left(disk / "study")
    assert perpend(shim, disk, "show", "disk/study").returncode == 0
    resumed = perpend(shim, disk, *ASK, "--out", "disk")
    assert resumed.returncode == 0, resumed.stderr
    assert not list((disk / "study").glob("run.db-*"))
    assert pp.Run(disk / "study").status()["answered"] == 12


def test_without_locks_nothing_is_written_and_the_message_says_what_to_do(shim: Path, disk: Path) -> None:
    refused = perpend(shim, disk, *ASK, "--out", "disk", locks="none")
    assert refused.returncode == 5
    assert "a disk without locks" in refused.stderr
    assert "--scratch" in refused.stderr
    assert perpend(None, disk, *ASK, "--out", "disk").returncode == 0
    before = listing(disk)
    refused = perpend(shim, disk, "score", "disk/study", locks="none")
    assert (refused.returncode, "a disk without locks" in refused.stderr) == (5, True), refused.stderr
    done = perpend(shim, disk, "audit", "disk/study", "--quiet", locks="none")
    assert done.returncode == 0, done.stderr
    assert listing(disk) == before


def test_a_shard_asked_on_scratch_reaches_a_disk_without_locks(shim: Path, disk: Path) -> None:
    for part in ("1/2", "2/2"):
        done = perpend(shim, disk, *ASK, "--out", "disk", "--shard", part, "--scratch", "scratch", locks="none")
        assert (done.returncode, done.stderr) == (0, "")
    assert [path.name[:12] for path in sorted((disk / "study" / "shards").glob("*-of-*"))] == [
        "0001-of-0002",
        "0002-of-0002",
    ]
    shards = [str(path) for path in (disk / "study" / "shards").glob("*-of-*")]
    assert perpend(shim, disk, "merge", "local/study", *shards, "--quiet", locks="none").returncode == 0
    assert perpend(None, disk, *ASK, "--out", "other").returncode == 0
    assert content_digest(disk.parent / "local/study") == content_digest(disk.parent / "other/study")


READING = (
    "show {}",
    "show {} --where correct=0 --json",
    "audit {} --quiet --workers 1",
    "export {} --out out/trials.csv",
    "analyze {} --out out/analysis --no-figures",
    "publish {} --to out/published --no-figures",
    "view {} --out out/page.html --no-figures",
    "plan {}",
    "export {} --out out/simulation.db --as simulation.db",
    "merge out/merged {} --quiet",
)


def here(*words: str) -> int:
    """The exit code of a verb that is run in this process."""
    return CliRunner().invoke(cli, words).exit_code


def listing(folder: Path) -> list[tuple[str, int, int, int]]:
    """Every file and folder with its size, time and mode."""
    facts = [(path.relative_to(folder).as_posix(), path.lstat()) for path in (folder, *sorted(folder.rglob("*")))]
    return [(name, one.st_size, one.st_mtime_ns, one.st_mode) for name, one in facts]


def left(run: Path) -> None:
    """A run as a killed process leaves it: a log that nobody folded in, and the memory that it was shared by."""
    script = (
        "import os, sqlite3, sys; db = sqlite3.connect(sys.argv[1], isolation_level=None);"
        "db.execute('PRAGMA journal_mode=WAL'); db.execute('INSERT OR REPLACE INTO meta SELECT * FROM meta');"
        "os._exit(9)"
    )
    subprocess.run([sys.executable, "-c", script, run / "run.db"], check=False)
    assert (run / "run.db-wal").stat().st_size


@pytest.mark.parametrize("state", ["finished", "killed"])
def test_no_verb_that_reads_changes_a_run(disk: Path, state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(disk.parent)
    assert here(*ASK, "--out", "disk") == 0
    run = disk / "study"
    if state == "killed":
        left(run)
    for path in (run, *run.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    before = listing(disk)
    try:
        for verb in READING:
            (disk.parent / "out").mkdir(exist_ok=True)
            assert here(*verb.format("disk/study").split()) == 0, verb
            assert listing(disk) == before, verb
    finally:
        run.chmod(0o755)


MOUNTS = tomllib.loads(Path(__file__).with_name("mounts.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("place", "disk"), MOUNTS["places"].items())
def test_network_file_systems_are_told_by_the_mount_table(place: str, disk: list[Any]) -> None:
    assert of_mounts(MOUNTS["table"], Path(place)) == (SharedDisk(disk[0], has_locks=disk[1]) if disk else None)
