"""Every value that a published folder states, of every study: changed alone, sealed again, and still noticed."""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest
from click.testing import CliRunner

import perpend as pp
from perpend.canon import dumps
from perpend.cli import cli
from perpend.errors import AuditFailure
from perpend.measure.run import Run
from perpend.measure.study import metrics_text
from perpend.proof.audit import Options
from perpend.proof.audit.trees import Trees
from perpend.proof.publish import publish
from perpend.proof.restoring import restore
from perpend.proof.statements.published import RECORDS
from perpend.report.derive import derive
from tests.tamper.forgery import of, seal

Change: TypeAlias = Callable[[Path], None]
SAMPLED, CELLS = 24, 8
"""How many values of one artefact are changed, each by itself; of tables fewer, whose cells are also compared alone."""
STUDIES = ("conformity", "logic", "verbs", "plain")
ARTEFACTS = ("metrics.json", "report.md", "scores.jsonl.gz", "tables")
NUMBER = re.compile(r"\d+(?:\.\d+)?")
OLD = Path(__file__).parent.parent / "fixtures" / "v0_1"


@pytest.fixture(scope="session")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One small run of each study, and one of a task that has none, published without figures."""
    out = tmp_path_factory.mktemp("values")
    logic = pp.task("logic", items=OLD / "items" / "logic.jsonl")
    plain = pp.Task("plain", (pp.condition("control", "{question}"),), ("correct",), logic.items)
    wordy = pp.model("mock/subject", accuracy=0.7)
    for task, model, items in (
        (pp.task("conformity"), pp.model("mock/subject", accuracy=0.7, sway=0.4), 12),
        (logic, wordy, 20),
        (pp.task("verbs"), pp.model("ngram/final"), 30),
        (plain, wordy, 8),
    ):
        run = pp.evaluate(task, [model], name=task.name, max_items=items, out=out / "runs", quiet=True)
        publish([run.directory], out / "published", {}, figures=False)
    return out / "published"


def leaves(value: object, path: tuple[object, ...] = ()) -> Iterator[tuple[object, ...]]:
    """The path to every value of a JSON body that is no object and no list."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, entry in entries:
        if isinstance(entry, dict | list):
            yield from leaves(entry, (*path, key))
        else:
            yield (*path, key)


def other(value: object) -> object:
    """Another value of the same kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1 if isinstance(value, int) else value + 0.25
    return 0.5 if value is None else f"{value}x"


def a_leaf(name: str, path: tuple[object, ...]) -> Change:
    def change(folder: Path) -> None:
        body = json.loads((folder / name).read_text(encoding="utf-8"))
        at = body
        for key in path[:-1]:
            at = at[key]
        at[path[-1]] = other(at[path[-1]])
        (folder / name).write_text(metrics_text(body), encoding="utf-8")

    return change


def a_number(name: str, at: re.Match[str]) -> Change:
    """The last digit of a number in a text."""

    def change(folder: Path) -> None:
        text = (folder / name).read_text(encoding="utf-8")
        digit = str((int(text[at.end() - 1]) + 1) % 10)
        (folder / name).write_text(text[: at.end() - 1] + digit + text[at.end() :], encoding="utf-8")

    return change


def a_cell(name: str, row: int, column: int) -> Change:
    def change(folder: Path) -> None:
        rows = list(csv.reader(io.StringIO((folder / name).read_text(encoding="utf-8"))))
        cell = rows[row][column]
        rows[row][column] = str(other(float(cell) if NUMBER.fullmatch(cell) else cell or None))
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(rows)
        (folder / name).write_text(text.getvalue(), encoding="utf-8")

    return change


def a_score(line: int, key: str) -> Change:
    def change(folder: Path) -> None:
        path = folder / "scores.jsonl.gz"
        rows = [json.loads(row) for row in gzip.decompress(path.read_bytes()).splitlines()]
        value = rows[line][key]
        rows[line][key] = [0, (value or [0, 0])[1] + 1] if key == "span" else "x" if value is None else other(value)
        if key == "value":
            rows[line][key] = None if value is not None else 1.0
        path.write_bytes(gzip.compress("".join(dumps(row) + "\n" for row in rows).encode(), mtime=0))

    return change


def changes(folder: Path, artefact: str) -> dict[str, Change]:
    """Every change of one value of an artefact, by the place of the value."""
    if artefact == "metrics.json":
        body = json.loads((folder / artefact).read_text(encoding="utf-8"))
        return {f"{artefact}: {path}": a_leaf(artefact, path) for path in leaves(body)}
    if artefact == "scores.jsonl.gz":
        lines = gzip.decompress((folder / artefact).read_bytes()).count(b"\n")
        keys = ("value", "answer", "reason", "span")
        return {f"score {line}, {key}": a_score(line, key) for line in range(lines) for key in keys}
    if artefact == "report.md":
        return texts(folder, artefact)
    known: dict[str, Change] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.suffix == ".csv":
            rows = list(csv.reader(io.StringIO(path.read_text(encoding="utf-8"))))
            known |= {
                f"{name}:{row + 1}:{column + 1}": a_cell(name, row, column)
                for row, cells in enumerate(rows)
                for column in range(len(cells))
            }
        elif path.suffix in {".tex", ".jsonl"} or (path.suffix in {".md", ".json"} and name.count("/")):
            known |= texts(folder, name)
    return known


def texts(folder: Path, name: str) -> dict[str, Change]:
    text = (folder / name).read_text(encoding="utf-8")
    return {f"{name}, character {at.start()}": a_number(name, at) for at in NUMBER.finditer(text)}


@pytest.mark.parametrize("artefact", ARTEFACTS)
@pytest.mark.parametrize("study", STUDIES)
def test_a_changed_value_is_noticed_when_everything_is_sealed_again(
    published: Path, tmp_path: Path, study: str, artefact: str
) -> None:
    honest = published / study
    known = changes(honest, artefact)
    if artefact == "tables" and not known:
        pytest.skip(f"{study} has no tables")
    assert of(honest, Options(workers=1)).ok
    rng = random.Random(f"{study} {artefact}")
    missed = []
    for place in sorted(rng.sample(sorted(known), min(CELLS if artefact == "tables" else SAMPLED, len(known)))):
        folder = tmp_path / "published" / study
        shutil.copytree(honest, folder)
        known[place](folder)
        seal(folder, restate=not place.startswith(RECORDS))
        if of(folder, Options(workers=1)).ok:
            missed.append(place)
        shutil.rmtree(folder)
    assert missed == []


def test_the_verb_exits_with_6(published: Path, tmp_path: Path) -> None:
    shutil.copytree(published, tmp_path / "published")
    folder = tmp_path / "published" / "logic"
    next(iter(changes(folder, "metrics.json").values()))(folder)
    seal(folder)
    done = CliRunner().invoke(cli, ["audit", str(tmp_path / "published"), "--quiet", "--workers", "1"])
    assert isinstance(done.exception, AuditFailure)
    assert done.exception.exit_code == 6


def test_every_number_that_a_report_prints_in_a_table_is_a_metric(published: Path) -> None:
    """A CSV of full precision holds nothing that metrics.json does not: reports cite, they do not compute."""
    for study in STUDIES:
        body = (published / study / "metrics.json").read_text(encoding="utf-8")
        stated = {float(token) for token in re.findall(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?", body)}
        for path in sorted((published / study).rglob("*.csv")):
            for row in csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"))):
                for head, cell in row.items():
                    if re.fullmatch(r"-?\d+\.\d{6,}(?:[eE][-+]?\d+)?", cell or ""):
                        assert float(cell) in stated, f"{path.name}, {head}: {cell}"


@pytest.mark.parametrize("study", STUDIES)
def test_a_changed_cell_of_any_table_is_a_difference(published: Path, tmp_path: Path, study: str) -> None:
    """The comparison alone, for many cells of every table; the whole audit is tried above."""
    run = Run(restore(published / study, tmp_path / "restored"))
    fresh, stored = tmp_path / "fresh", tmp_path / "stored"
    report = derive([run], fresh, figures=False).report
    shutil.copytree(published / study, stored)
    trees = Trees(run, stored, fresh, report, published=True)
    rng = random.Random(study)
    by_file: dict[str, list[str]] = {}
    known = changes(stored, "tables")
    for place in known:
        by_file.setdefault(re.split(r"[:,]", place)[0], []).append(place)
    assert trees.texts().differ == 0
    for name, cells in by_file.items():
        honest = (stored / name).read_bytes()
        trees.names = {name}
        for place in rng.sample(cells, min(40, len(cells))):
            known[place](stored)
            assert trees.texts().differ == 1, place
            (stored / name).write_bytes(honest)
