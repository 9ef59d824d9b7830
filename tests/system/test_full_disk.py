"""A disk that fills up, or that nobody may write, is named as what it is; no ledger suffers, nothing is half there."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT

SCRIPT = ROOT / "benchmarks" / "full_disk.py"
VERBS = ("eval", "score", "publish", "import", "export csv", "freeze", "audit")


def _may_mount() -> bool:
    """Whether this process may have a small disk of its own, in a namespace of its own."""
    command = ["unshare", "-rm", "mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", "/mnt"]
    return shutil.which("unshare") is not None and _run(command).returncode == 0


def _run(command: list[str], **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, **{"capture_output": True, **more}, text=True, check=False)


def _perpend(*arguments: str) -> list[str]:
    return [
        sys.executable,
        "-c",
        "import sys; sys.argv[0] = 'perpend'; from perpend.cli import main; main()",
        *arguments,
    ]


NEEDS_A_DISK = pytest.mark.skipif(not _may_mount(), reason="no disk may be mounted here (unshare -rm mount)")


@pytest.fixture(scope="module")
def tried() -> dict[str, dict[str, Any]]:
    """What became of every verb of VERBS on a disk that fills up: all in one process, which makes its inputs once."""
    only = [word for verb in VERBS for word in ("--only", verb)]
    options = ["--quick", "--json", "--steps", "4", *only]
    done = _run(["unshare", "-rm", sys.executable, str(SCRIPT), *options], timeout=900)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    assert len(done.stdout.splitlines()) == 1, done.stdout[:500]
    return {verb["verb"]: verb for verb in json.loads(done.stdout)["verbs"]}


@NEEDS_A_DISK
@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_on_a_full_disk_says_so_and_ends_as_ever_with_more_space(
    tried: dict[str, dict[str, Any]], verb: str
) -> None:
    assert tried[verb]["wrong"] == []
    assert tried[verb]["sizes_refused"] > 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("command", [["--help"], ["eval", "--task", "conformity", "--model", "mock/true", "--dry-run"]])
def test_standard_output_on_a_full_disk_is_an_error_and_no_traceback(tmp_path: Path, command: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = _run(_perpend(*command), capture_output=False, stdout=full, stderr=subprocess.PIPE, cwd=tmp_path)
    assert done.returncode == 5, done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    assert "No space left" in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_an_error_that_cannot_be_printed_keeps_its_exit_code(tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = _run(_perpend("show", "nowhere"), capture_output=False, stderr=full, cwd=tmp_path)
    assert done.returncode == 5


def test_a_name_that_is_too_long_for_the_disk_is_an_error_of_any_verb(tmp_path: Path) -> None:
    for command in (["show", "x" * 300], ["audit", "x" * 300], ["import", "x" * 300, "out"], ["publish", "y" * 300]):
        done = _run(_perpend(*command), cwd=tmp_path)
        assert done.returncode in (3, 5), done.stderr
        assert "too long" in done.stderr
        assert "Traceback" not in done.stderr


def test_a_reader_that_closes_early_ends_the_verb_quietly(tmp_path: Path) -> None:
    code = (
        "import sys; sys.argv[0] = 'perpend'; from perpend.cli.group import group; import click\n"
        "@group.command()\n"
        "def flood():\n"
        "    for _ in range(100_000):\n"
        "        click.echo('line after line')\n"
        "from perpend.cli import main; main()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, "flood"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    message = process.stderr.read()
    process.stderr.close()
    assert process.wait(30) in (0, 1, 141)
    assert not message
