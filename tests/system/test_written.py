"""What verbs write: the same twice, byte for byte, wherever it is; and what somebody else has there stays.

The verbs are walked: one that takes an output and that verbs.toml does not name fails.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import click
import pytest

from tests.system.test_paths import COMMANDS, VERBS, build, call

OUTPUTS = {"out", "to", "destination", "out_md", "out_json", "page", "tex", "parts", "output_dir", "out_dir"}
"""The names of parameters that say where to write."""
WRITES, BY_THE_CLOCK = VERBS["written"], set(VERBS["by_the_clock"]["verbs"].strip().split("\n"))
LINES = [(name, way.strip()) for name, ways in WRITES.items() for way in ways.split("|")]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("written")
    build(folder)
    (folder / "wrong" / "shut").chmod(0o700)
    return folder


@pytest.fixture(params=LINES, ids=lambda line: " ".join(line)[:60])
def written(
    request: pytest.FixtureRequest, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[Path, Path]:
    """What one verb writes into an empty folder, and into one with somebody's file, from another place."""
    name, line = request.param
    first, second = tmp_path / "first", tmp_path / "second"
    second.mkdir()
    (second / "mine.txt").write_text("mine")
    for out, place in ((first, root), (second, tmp_path / "elsewhere")):
        if place != root:
            shutil.copytree(root / "honest", place / "honest")
        monkeypatch.chdir(place)
        out.mkdir(exist_ok=True)
        ended = call([*name.split(), *line.format(out).split()])
        assert (ended.code, ended.crash) == (0, ""), ended
    return first, second


def test_the_same_is_written_twice_and_what_was_there_stays(written: tuple[Path, Path]) -> None:
    first, second = (
        {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        for folder in written
    )
    assert second.pop(Path("mine.txt")) == b"mine"
    assert first
    assert first.keys() == second.keys()
    assert [path for path in first if first[path] != second[path]] == []


def test_every_verb_that_writes_is_tried_here() -> None:
    outputs = {
        name
        for name, command in COMMANDS.items()
        if any(isinstance(one.type, click.Path) and one.name in OUTPUTS for one in command.params)
    }
    assert outputs == WRITES.keys() | BY_THE_CLOCK
