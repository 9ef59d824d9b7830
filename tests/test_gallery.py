"""The gallery of audits: a data file per source, and a page with a row of each."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests import source_files
from tests.conftest import load_benchmark

gallery = load_benchmark("gallery")


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A root of files of our own in two formats; a win rate is stated that the annotations do not give."""
    root = tmp_path / "public"
    source_files.judged(root / "judges" / "judges.csv")
    source_files.alpaca(root / "alpaca")
    path = root / "alpaca" / "leaderboard.csv"
    path.write_text(path.read_text().replace("58.3", "68.3"))
    table = "".join(f"| `{name}/` | lab/{name} (1234567) | MIT | files | numbers |\n" for name in ("alpaca", "judges"))
    (root / "README.md").write_text(
        f"# Files\n\n| folder | source (commit) | licence | what | wanted |\n|---|\n{table}"
    )
    return root


def test_the_page_says_of_each_source_what_follows_and_what_differs(own: Path, tmp_path: Path) -> None:
    paths = gallery.write(own, tmp_path / "audits")
    alpaca, judges = gallery.table(gallery.entries(tmp_path / "audits")).replace("\\", "").splitlines()[2:]
    stated = json.loads(paths[0].read_text())["audits"][0]["numbers"]
    wrong = [number for number in stated if number["status"] == "does not follow"]
    assert [number["value"] for number in wrong] == [pytest.approx(68.333333)]
    assert "win_rate of tiny (leaderboard.csv) is stated as 68.33333333, and the files give 58.33333333" in alpaca
    assert judges == "| lab/judges (1234567) | MIT | 4 of 4 | none | 0 | nothing | `judges.json` |"


def test_the_same_files_give_the_same_bytes_wherever_they_are(own: Path, tmp_path: Path) -> None:
    first = {path.name: path.read_bytes() for path in gallery.write(own, tmp_path / "audits")}
    [path] = gallery.write(own.rename(tmp_path / "elsewhere"), tmp_path / "again", ["judges"])
    assert path.read_bytes() == first["judges.json"]
    assert not any(str(tmp_path).encode() in content for content in first.values())
