"""What is written is whole or not there; what a killed process left is swept, and nothing else ever is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from perpend.canon import write_atomic
from perpend.disk import replacing, temporary_folder
from perpend.errors import StoreError

ENDING = ".perpend-tmp"
HOLD_FOLDER = """
import sys, time
from pathlib import Path
from perpend.disk import temporary_folder
with temporary_folder("publish", Path(sys.argv[1])) as folder:
    (folder / "inner").mkdir()
    (folder / "inner" / "half.txt").write_text("half")
    print(folder, flush=True)
    time.sleep(60)
"""
HOLD_FILE = """
import sys, time
from pathlib import Path
from perpend.disk import replacing
with replacing(Path(sys.argv[1]) / "report.md") as temporary:
    temporary.write_text("half")
    print(temporary, flush=True)
    time.sleep(60)
"""


def _begin(code: str, place: Path) -> tuple[subprocess.Popen[str], Path]:
    process = subprocess.Popen([sys.executable, "-c", code, str(place)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def _kill(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.communicate()


def _folder(place: Path) -> None:
    with temporary_folder("publish", place):
        pass


def _file(place: Path) -> None:
    write_atomic(place / "report.md", "whole\n")


KINDS = pytest.mark.parametrize(("code", "again"), [(HOLD_FOLDER, _folder), (HOLD_FILE, _file)], ids=["folder", "file"])


@KINDS
def test_what_a_killed_process_left_is_swept_by_the_next(
    tmp_path: Path, code: str, again: Callable[[Path], None]
) -> None:
    process, leftover = _begin(code, tmp_path)
    _kill(process)
    assert leftover.exists()
    again(tmp_path)
    assert not leftover.exists()


@KINDS
def test_what_a_living_process_holds_is_not_swept(tmp_path: Path, code: str, again: Callable[[Path], None]) -> None:
    process, in_use = _begin(code, tmp_path)
    again(tmp_path)
    assert in_use.exists()
    _kill(process)


@KINDS
def test_nothing_that_perpend_did_not_make_is_swept(tmp_path: Path, code: str, again: Callable[[Path], None]) -> None:
    process, leftover = _begin(code, tmp_path)
    _kill(process)
    stem, host, _ = leftover.name.removesuffix(ENDING).rsplit("-", 2)
    kept = [
        tmp_path / name
        for name in (
            f"{stem}-{host}-abcdefgh",
            f"{stem}-{host}-abcdefgh{ENDING}.bak",
            f"{stem}-00000000-abcdefgh{ENDING}",  # another machine's, which shares the disk
            f"{stem}-{host}-ABCDEFGH{ENDING}",
            f"{stem}.abcdefgh",
            f"other{stem}-{host}-abcdefgh{ENDING}",
            ".report.md.swp",
            ".publish-abcdefgh",
        )
    ]
    for path in kept:
        path.write_text("mine", encoding="utf-8")
    precious = tmp_path / "precious.txt"
    precious.write_text("mine", encoding="utf-8")
    link, twin = tmp_path / f"{stem}-{host}-linklink{ENDING}", tmp_path / f"{stem}-{host}-twintwin{ENDING}"
    link.symlink_to(precious)
    os.link(precious, twin)
    again(tmp_path)
    assert not leftover.exists()
    assert all(path.read_text(encoding="utf-8") == "mine" for path in (*kept, precious, link, twin))


def test_a_link_in_a_left_over_folder_is_not_followed(tmp_path: Path) -> None:
    process, leftover = _begin(HOLD_FOLDER, tmp_path)
    _kill(process)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "answer.txt").write_text("mine", encoding="utf-8")
    (leftover / "link").symlink_to(elsewhere, target_is_directory=True)
    _folder(tmp_path)
    assert not leftover.exists()
    assert (elsewhere / "answer.txt").read_text(encoding="utf-8") == "mine"


def test_processes_that_write_and_sweep_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    code = """
import sys
from pathlib import Path
from perpend.canon import write_atomic
from perpend.disk import temporary_folder
place = Path(sys.argv[1])
for number in range(150):
    with temporary_folder("publish", place) as folder:
        (folder / "a").write_text("x")
        write_atomic(place / "report.md", f"{sys.argv[2]} {number}")
        assert (folder / "a").read_text() == "x"
"""
    started = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path), str(n)]) for n in range(4)]
    assert [process.wait(60) for process in started] == [0] * 4
    assert [path.name for path in tmp_path.iterdir()] == ["report.md"]


def _write_and_fail(path: Path) -> None:
    path.write_text("half", encoding="utf-8")
    _ = 1 / 0


def test_a_folder_is_gone_when_its_block_fails_and_when_it_ends(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), temporary_folder("publish", tmp_path) as folder:
        _write_and_fail(folder / "x")
    with temporary_folder("publish", tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_fails_halfway_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "report.md"
    path.write_text("old", encoding="utf-8")
    with pytest.raises(ZeroDivisionError), replacing(path) as temporary:
        _write_and_fail(temporary)
    assert path.read_text(encoding="utf-8") == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["report.md"]


def test_the_folder_for_temporary_files_is_the_systems_where_no_other_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with temporary_folder("audit") as folder:
        assert folder.parent == tmp_path
        assert folder.name.startswith("perpend-audit-")


@pytest.mark.parametrize(
    ("name", "words"),
    [("folder", "not a file"), ("file/inner", "something else is in its place"), ("x" * 300, "too long")],
)
def test_a_place_that_cannot_be_written_says_what_to_do(tmp_path: Path, name: str, words: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match=words):
        write_atomic(tmp_path / name, "x")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


def test_a_device_is_not_replaced_by_a_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    began = time.monotonic()
    with pytest.raises(StoreError, match="not a file"):
        write_atomic(tmp_path / "fifo", "x")
    assert time.monotonic() - began < 5
    assert (tmp_path / "fifo").is_fifo()
