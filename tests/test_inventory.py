"""The script that compares with the inventory notices what it is there to notice."""

from __future__ import annotations

import json
from pathlib import Path

from tests.inventory.__main__ import Difference, Measured, Named, differences, explained, of_files, report
from tests.inventory.written import contents


def written(folder: Path, **body: object) -> Measured:
    """What is recorded of a folder with one file."""
    folder.mkdir()
    (folder / "metrics.json").write_text(json.dumps(body))
    return of_files(contents(folder))


def test_a_changed_number_differs_and_another_time_differs_only_by_version(tmp_path: Path) -> None:
    before = written(tmp_path / "before", rate=0.25, code="2026")
    later = written(tmp_path / "later", rate=0.25, code="2027", format=3)
    other = written(tmp_path / "other", rate=0.26, code="2026")
    assert [one.how for one in differences("runs", before.lines, later.lines)] == ["only by version"]
    (changed,) = explained(differences("runs", before.lines, other.lines), before.texts, other.texts)
    assert (changed.how, changed.words) == ("changed", '1 lines are 1 others: - "rate": 0.25 ⏎ + "rate": 0.26')
    assert [one.how for one in differences("runs", before.lines, {})] == ["vanished"]


def test_what_vanished_is_to_be_named_once_and_what_moved_is_not() -> None:
    before, now = {"tests/a.py::test_x": "3", "tests/a.py::test_y": "1"}, {"tests/b.py::test_y": "1"}
    found = differences("tests", before, now)
    assert {one.name: one.how for one in found if one.counts} == {"tests/a.py::test_x": "vanished"}
    before |= {"tests/c.py::test_z": "9", "tests/d.py::test_z": "2"}
    moved = {"tests/more/c.py::test_z": "9", "tests/more/d.py::test_z": "2"}
    assert not [one for one in differences("tests", before, {**now, **moved, "tests/a.py::test_x": "3"}) if one.counts]
    named = {"tests: tests/a.py::test_x": "it checked nothing"}
    assert not report(found, Named({}), ["tests"], most=9)
    assert report(found, Named(named), ["tests"], most=9)
    assert not report(found, Named({**named, "tests: tests/c.py::*": "gone"}), ["tests"], most=9)
    assert Difference("golden", "label.jsonl 00", "changed").counts
