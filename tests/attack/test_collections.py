"""A folder of published runs: every run in it is audited, its index follows from them, and what is beside is named."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from perpend.canon import pretty
from perpend.errors import StoreError
from perpend.proof.audit import Audit, Options, audit
from perpend.proof.audit.checks import as_table
from perpend.proof.publish import publish, write_index
from tests.attack.test_cli import perpend


@pytest.fixture
def published(source: Path, tmp_path: Path) -> Path:
    """A folder with two published runs and its index."""
    folder = tmp_path / "published"
    for kind in ("questions", "logic"):
        shutil.copytree(source / "published" / kind, folder / kind)
    write_index(folder)
    return folder


def _audited(folder: Path) -> list[Audit]:
    return audit([folder], Options(workers=1))


def _told(folder: Path) -> str:
    outcomes = _audited(folder)
    assert not all(one.ok for one in outcomes), as_table(outcomes)
    return as_table(outcomes)


def test_an_honest_folder_has_an_outcome_for_each_run_and_no_other(published: Path) -> None:
    assert [(one.name, one.verdict) for one in _audited(published)] == [
        ("logic", "nothing differs"),
        ("questions", "nothing differs"),
    ]


def _entries(folder: Path, change: Callable[[list[dict[str, Any]]], object]) -> None:
    body = json.loads((folder / "index.json").read_text())
    change(body["runs"])
    (folder / "index.json").write_text(pretty(body))


def _page(folder: Path, change: Callable[[list[str]], object]) -> None:
    lines = (folder / "README.md").read_text().split("\n")
    change(lines)
    (folder / "README.md").write_text("\n".join(lines))


ROW = "| [{0}]({0}/report.md) | gpqa | gpt-9 | 4800 | accuracy 99.9 % | 1 of 1 | none | `0000` |"


def _prose(folder: Path) -> None:
    _page(folder, lambda page: page.insert(4, "**All models reach 99.9 % (questions/report.md).**"))


def _second_row(folder: Path) -> None:
    _page(folder, lambda page: page.insert(-1, ROW.format("questions")))
    _entries(folder, lambda runs: runs.insert(0, {**runs[1], "trials": 4800}))


def _alias(folder: Path) -> None:
    _page(folder, lambda page: page.insert(-1, ROW.format("./questions")))
    _entries(folder, lambda runs: runs.append({"run": "./questions", "answer": ["99.9%"]}))


def _ghost(folder: Path) -> None:
    (folder / ".ghost").mkdir()
    (folder / ".ghost" / "receipt.json").write_text("x")
    _page(folder, lambda page: page.insert(-1, ROW.format(".ghost")))
    _entries(folder, lambda runs: runs.append({"run": ".ghost", "answer": ["99.9%"]}))


def _hidden(folder: Path) -> None:
    _page(folder, lambda page: page.pop(next(n for n, line in enumerate(page) if "](logic/" in line)))
    _entries(folder, lambda runs: runs.pop(0))


def _other_row(folder: Path) -> None:
    text = (folder / "README.md").read_text()
    (folder / "README.md").write_text(
        text.replace("](logic/report.md) | logic |", "](logic/report.md) | logic 100 % |")
    )


def _without_page(folder: Path) -> None:
    (folder / "README.md").unlink()


@pytest.mark.parametrize("forge", [_prose, _second_row, _alias, _ghost, _hidden, _other_row, _without_page])
def test_an_index_that_does_not_follow_from_the_runs_is_a_difference_of_each(
    published: Path, forge: Callable[[Path], None]
) -> None:
    forge(published)
    for name in ("questions", "logic"):
        (outcome,) = _audited(published / name)
        assert [check.name for check in outcome.checks if check.fails] == ["index agrees"], outcome.checks
    assert not all(one.ok for one in _audited(published))


def test_a_run_behind_a_link_is_a_difference_also_where_the_index_leaves_it_out(published: Path) -> None:
    (published / "logic").rename(published / ".logic")
    (published / "logic").symlink_to(".logic")
    assert "logic: a link to a folder" in _told(published)
    (published / "logic").unlink()
    write_index(published)
    (published / "logic").symlink_to(".logic")
    told = _told(published)
    assert "logic: a link to a folder" in told
    assert ".logic" in told


@pytest.mark.parametrize("kind", ["runs", "published"])
def test_the_files_of_a_run_above_the_others_keep_none_from_being_audited(
    published: Path, source: Path, kind: str
) -> None:
    for path in (source / kind / "questions").iterdir():
        if path.is_file() and path.name not in ("README.md", "index.json"):
            shutil.copyfile(path, published / path.name)
    outcomes = _audited(published)
    assert [one.name for one in outcomes] == ["logic", "questions", "published"]
    assert "of a run, and the folder holds runs" in as_table(outcomes[2:])
    (published / "index.json").unlink()
    assert [one.name for one in _audited(published)][:2] == ["logic", "questions"]


def test_a_run_that_the_index_lists_and_that_has_lost_its_files_is_a_difference(published: Path) -> None:
    for path in (published / "logic").iterdir():
        if path.is_file():
            path.unlink()
    assert "lists 'logic', which is no run there" in _told(published)
    shutil.rmtree(published / "questions")
    assert perpend("audit", published).returncode != 0


def test_what_is_beside_the_runs_is_named_in_the_verdict(published: Path) -> None:
    (published / "RESULTS.md").write_text("99.9 %\n")
    (published / "index.html").write_text("99.9 %\n")
    (published / ".hidden").mkdir()
    (published / "notes").mkdir()
    *runs, beside = _audited(published)
    assert all(one.verdict == "nothing differs" for one in runs)
    assert beside.name == "published"
    assert beside.verdict == "nothing differs in what was recomputed; not recomputed: what is beside the runs"
    assert [check.missing for check in beside.checks] == [".hidden, RESULTS.md, index.html, notes"]
    done = perpend("audit", published.parent)
    assert done.returncode == 0
    assert "published/RESULTS.md" in done.stdout


def test_a_link_to_the_newest_of_ones_own_runs_is_no_difference(source: Path, tmp_path: Path) -> None:
    shutil.copytree(source / "runs" / "questions", tmp_path / "runs" / "questions")
    (tmp_path / "runs" / "latest").symlink_to("questions")
    (outcome,) = _audited(tmp_path / "runs")
    assert outcome.ok


@pytest.mark.parametrize("name", ["x](javascript:alert)", "a b", "<b>", "ünder"])
def test_a_folder_that_no_publish_named_is_never_linked_to(source: Path, published: Path, name: str) -> None:
    (published / "logic").rename(published / name)
    with pytest.raises(StoreError, match="rename it"):
        publish([source / "runs" / "logic"], published, {}, figures=False)
    assert not (published / "logic").exists()


def test_a_link_to_a_published_run_is_not_put_into_the_index(source: Path, published: Path) -> None:
    (published / "again").symlink_to("logic")
    with pytest.raises(StoreError, match="a link"):
        publish([source / "runs" / "logic"], published, {}, figures=False)
