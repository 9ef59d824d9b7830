"""What a published folder states, of every study: tables hold nothing but its numbers, and no cell may change."""

from __future__ import annotations

import csv
import io
import random
import re
import shutil
from pathlib import Path

import pytest

from perpend.measure.run import Run
from perpend.proof.audit.trees import Trees
from perpend.proof.restoring import restore
from perpend.report.derive import derive
from tests.attack.conftest import Copied
from tests.attack.forge import Forgery, seal, values
from tests.attack.test_cli import perpend

STUDIES = ("conformity", "logic", "verbs", "questions")
DERIVED = ("tables", "every_eval_ever", "numbers.tex")


def test_the_verb_exits_with_6(copied: Copied) -> None:
    folder = copied("published/logic")
    next(values(folder, "metrics.json")).forge(folder)
    seal(folder)
    assert perpend("audit", folder.parent, "--quiet", "--workers", "1").returncode == 6


@pytest.mark.parametrize("study", STUDIES)
def test_every_number_that_a_report_prints_in_a_table_is_a_metric(source: Path, study: str) -> None:
    """A CSV of full precision holds nothing that metrics.json does not: reports cite, they do not compute."""
    folder = source / "published" / study
    body = (folder / "metrics.json").read_text(encoding="utf-8")
    stated = {float(token) for token in re.findall(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?", body)}
    for path in sorted(folder.rglob("*.csv")):
        for row in csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"))):
            for head, cell in row.items():
                if re.fullmatch(r"-?\d+\.\d{6,}(?:[eE][-+]?\d+)?", cell or ""):
                    assert float(cell) in stated, f"{path.name}, {head}: {cell}"


@pytest.mark.parametrize("study", STUDIES)
def test_a_changed_cell_of_any_table_is_a_difference(source: Path, tmp_path: Path, study: str) -> None:
    """The comparison alone, for many cells of every table; the whole audit is tried elsewhere."""
    run = Run(restore(source / "published" / study, tmp_path / "restored"))
    fresh, stored = tmp_path / "fresh", tmp_path / "stored"
    report = derive([run], fresh, figures=False).report
    shutil.copytree(source / "published" / study, stored)
    trees = Trees(run, stored, fresh, report, published=True)
    rng = random.Random(study)
    by_file: dict[str, list[Forgery]] = {}
    for forgery in (one for name in DERIVED for one in values(stored, name)):
        by_file.setdefault(forgery.file, []).append(forgery)
    assert trees.texts().differ == 0
    for name, known in by_file.items():
        honest = (stored / name).read_bytes()
        trees.names = {name}
        for forgery in rng.sample(known, min(40, len(known))):
            forgery.forge(stored)
            assert trees.texts().differ == 1, forgery
            (stored / name).write_bytes(honest)
