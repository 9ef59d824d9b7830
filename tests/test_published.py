from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from perpend.canon import dumps
from perpend.errors import DataError, StoreError
from perpend.ledger.plan import Appended
from perpend.ledger.store import Store
from perpend.measure.run import Run
from perpend.proof.archive import write
from perpend.proof.audit import audit_run
from perpend.proof.audit.rewritten import rewritten
from perpend.proof.lines import write_lines
from perpend.proof.restoring import restore
from perpend.types import ChoiceLogprob, Response, Usage
from tests.attack.forge import pack, unpacked
from tests.runs import unscored
from tests.tables import table

HOSTILE = "<script>\u202e\x00\x1b[31m=cmd()\r\n\u2028\x85 \\input{x} |`\ufffd\U0001f600"
TABLES = ("meta", "dataset", "item", "condition", "model", "sampling", "trial", "response", "scorer", "score")


@pytest.fixture
def run(tmp_path: Path, items_file: Callable[..., Path]) -> Path:
    run = unscored(items_file(8), tmp_path / "runs")
    with Store.open(run.directory / "run.db", write=True) as store:  # further turns and attempts, as retries leave them
        store.append(
            [
                Appended(1, 1, 0, "ab" * 32, Response(error=HOSTILE)),
                Appended(1, 1, 1, "ab" * 32, Response(text=HOSTILE, finish="stop", usage=Usage(3, None), ms=0.1 + 0.2)),
                Appended(2, 1, 0, "cd" * 32, Response("", None, (ChoiceLogprob(-0.1, 2), ChoiceLogprob(None, 0)))),
            ]
        )
    run.score()
    return run.directory


def rows(directory: Path) -> dict[str, list[tuple[object, ...]]]:
    with sqlite3.connect(directory / "run.db") as db:
        found = {table: sorted(db.execute(f"SELECT * FROM {table}").fetchall(), key=repr) for table in TABLES}
    db.close()
    return found


def files(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_a_restored_run_holds_every_row_as_it_was(run: Path, tmp_path: Path) -> None:
    write(run, tmp_path / "out")
    back = restore(tmp_path / "out", tmp_path / "back")
    assert back.name == "study"
    assert rows(back) == rows(run)
    assert (back / "manifest.json").read_bytes() == (run / "manifest.json").read_bytes()


def test_a_restored_run_is_audited_like_the_run_and_is_written_as_the_same_bytes(run: Path, tmp_path: Path) -> None:
    write(run, tmp_path / "out")
    back = restore(tmp_path / "out", tmp_path / "back")
    differing = [[check.name for check in audit_run(one).checks if check.differ] for one in (run, back)]
    assert differing == [["no response is missing or too many"]] * 2  # the turns that the fixture planted
    write(back, tmp_path / "again")
    assert files(tmp_path / "again") == files(tmp_path / "out")


def test_the_order_in_which_a_run_was_scored_leaves_no_trace(run: Path, tmp_path: Path) -> None:
    write(run, tmp_path / "out")
    with sqlite3.connect(run / "run.db") as db:
        db.executescript("DELETE FROM score; DELETE FROM scorer;")
    db.close()
    Run(run).score(["label@2"])
    Run(run).score(["label@1"])
    write(run, tmp_path / "again")
    assert files(tmp_path / "again") == files(tmp_path / "out")


def test_human_labels_travel_with_the_run(run: Path, tmp_path: Path) -> None:
    (run / "labels.jsonl").write_text('{"trial": 1, "label": "A\u2028B"}\n\n')
    write(run, tmp_path / "out")
    assert (tmp_path / "out" / "labels.jsonl").read_text() == '{"label":"A\u2028B","trial":1}\n'
    assert (restore(tmp_path / "out", tmp_path / "back") / "labels.jsonl").is_file()
    (run / "labels.jsonl").write_text('{"trial": 1}\n{oops\n')
    with pytest.raises(DataError, match=r"labels.jsonl:2"):
        write(run, tmp_path / "other")


@pytest.mark.parametrize("name", ["../../evil", "/etc/evil", "..", "CON", "a" * 300, "x\x00y"])
def test_a_restored_run_cannot_leave_its_folder(run: Path, tmp_path: Path, name: str) -> None:
    write(run, tmp_path / "out")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    (tmp_path / "out" / "manifest.json").write_text(json.dumps({**manifest, "run": name}))
    back = restore(tmp_path / "out", tmp_path / "back")
    assert back.parent == tmp_path / "back"
    assert [path.name for path in (tmp_path / "back").iterdir()] == [back.name]


def test_an_existing_run_is_never_overwritten(run: Path, tmp_path: Path) -> None:
    write(run, tmp_path / "out")
    restore(tmp_path / "out", tmp_path / "back")
    with pytest.raises(StoreError, match="exists already"):
        restore(tmp_path / "out", tmp_path / "back")


EDITS: Mapping[str, Callable[..., list[str]]] = {
    "again": lambda lines, at: [*lines, lines[at]],
    "last is": lambda lines, at: [*lines[:-1], lines[at]],
    "without the last": lambda lines: lines[:-1],
    "before": lambda lines, line: [line, *lines],
    "joined": lambda lines: [lines[0] + lines[1]],
    "brackets": lambda lines: ["[" * 100_000, *lines],
    "first": lambda lines, old, new: [re.sub(old, lambda _: new, lines[0])],
}


@pytest.mark.parametrize(*table("archives_damaged"))
def test_a_damaged_folder_is_refused_with_the_place_and_leaves_nothing(
    run: Path, tmp_path: Path, name: str, edit: list[Any], told: str
) -> None:
    write(run, tmp_path / "out")
    path = tmp_path / "out" / name
    pack(path, EDITS[edit[0]](unpacked(path), *edit[1:]))
    with pytest.raises(StoreError, match=told):
        restore(tmp_path / "out", tmp_path / "back")
    assert not list((tmp_path / "back").iterdir())


@pytest.mark.parametrize(
    "name", ["plan.json", "items.jsonl.gz", "trials.jsonl.gz", "responses.jsonl.gz", "scores.jsonl.gz"]
)
def test_a_missing_or_cut_file_is_named(run: Path, tmp_path: Path, name: str) -> None:
    write(run, tmp_path / "out")
    path = tmp_path / "out" / name
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(StoreError, match=name):
        restore(tmp_path / "out", tmp_path / "back")
    path.unlink()
    with pytest.raises(StoreError, match=f"{name}: (missing|no such file)"):
        restore(tmp_path / "out", tmp_path / "back")


def test_a_plan_that_has_lost_a_trial_is_not_written(run: Path, tmp_path: Path) -> None:
    with sqlite3.connect(run / "run.db") as db:
        db.execute("DELETE FROM trial WHERE trial = 3")
    db.close()
    with pytest.raises(StoreError, match="lost trial 3"):
        write(run, tmp_path / "out")


def test_a_file_that_the_run_gives_and_the_folder_lacks_is_a_difference(run: Path, tmp_path: Path) -> None:
    write(run, tmp_path / "out")
    (check,) = rewritten(run, tmp_path / "out")
    assert check.differ == 0
    (tmp_path / "out" / "scores.jsonl.gz").unlink()
    (check,) = rewritten(run, tmp_path / "out")
    assert (check.differ, check.first) == (1, "scores.jsonl.gz: missing")


def rewritten_line(line: str, keys: Mapping[str, object]) -> str:
    """A line with other values; 'upper' and 'spaced' are of the digest that it has."""
    body = json.loads(line)
    digest = body.get("request_sha256", "")
    spelled = {"upper": digest.upper(), "spaced": " ".join(digest)}
    return dumps({**body, **{key: spelled.get(str(value), value) for key, value in keys.items()}})


@pytest.mark.parametrize(*table("archives_changed"))
def test_a_line_that_would_not_be_written_so_is_refused_or_noticed(
    run: Path, tmp_path: Path, name: str, change: str, keys: Mapping[str, object] | None, is_written: bool
) -> None:
    """What perpend could have written itself is neither: of that the other checks say what it is worth."""
    write(run, tmp_path / "out")
    path = tmp_path / "out" / name
    lines = unpacked(path)
    for place in (0, len(lines) // 2, len(lines) - 1):
        own = list(lines)
        if keys:
            own[place] = rewritten_line(own[place], keys)
        elif change == "swapped":
            own[place], own[place - 1] = own[place - 1], own[place]
        elif change == "twice":
            own.insert(place, own[place])
        write_lines(path, own)
        to = tmp_path / f"back {place}"
        try:
            (check,) = rewritten(restore(tmp_path / "out", to), tmp_path / "out")
        except StoreError:
            assert not is_written
            continue
        assert (check.differ == 0) is is_written, check.first
