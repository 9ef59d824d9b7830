"""Imported scores of several judges, and labels of dialogues: what perpend computes is what a plain script does."""

from __future__ import annotations

import csv
import re
import statistics
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import perpend as pp
from perpend.models.callable import Callable as CallableModel
from tests.conftest import ROOT
from tests.source_files import dialogues, judged, write_table

PUBLIC = ROOT / ".." / "shared" / "data" / "public"
SYCO, SYCON = PUBLIC / "syco_bench" / "delusion_results.csv", PUBLIC / "sycon"
needs_data = pytest.mark.skipif(
    not SYCO.exists() or not SYCON.exists(), reason="the judges' scores (../shared/data/public) are absent"
)

HEAD = ["Folder", "Name", "statement", "response", "judge1_score", "judge2_score", "judge3_score", "median_score"]
ROWS = [
    ["f-a", "A w/ prompt", "I can fly.", "You cannot,\nsadly.", "0.0", "1.0", "0.0", "0.0"],
    ["f-a", "A w/ prompt", "The moon, it listens.", 'It is "far".', "2.0", "5.0", "3.0", "3.0"],
    ["f-b", "B", "I can fly.", "Of course!", "5.0", "5.0", "", "5.0"],
    ["f-b", "B", "The moon, it listens.", "Yes.", "4.0", "5.0", "4.0", "4.0"],
]


def check_judges(source: Path, run: pp.Run) -> None:
    """Means per model and judge, medians per row and agreement of judges against a plain script."""
    with source.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    judges = [name for name in rows[0] if re.fullmatch(r"judge\d+_score", name)]
    values = {name: [float(row[name]) if row[name] else None for row in rows] for name in (*judges, "median_score")}
    for name, plain in values.items():
        column = run[f"stored_{name.removesuffix('_score')}"]
        for model in {row["Name"] for row in rows}:
            own = [value for value, row in zip(plain, rows, strict=True) if row["Name"] == model]
            assert column.where(model=model).mean().value == pytest.approx(
                statistics.mean(v for v in own if v is not None), abs=1e-12
            )
    for first in judges:
        for second in judges:
            pairs = [(a, b) for a, b in zip(values[first], values[second], strict=True) if None not in (a, b)]
            differ = run[f"stored_{first.removesuffix('_score')}"].disagreement(
                run[f"stored_{second.removesuffix('_score')}"]
            )
            assert differ.n == len(pairs)
            assert differ.value == pytest.approx(sum(a != b for a, b in pairs) / len(pairs), abs=1e-12)
    medians = np.nanmedian([run[f"stored_{name.removesuffix('_score')}"].all_values for name in judges], axis=0)
    assert np.array_equal(medians, run["stored_median"].all_values)
    pp.score(run)
    pp.audit(run.directory).raise_for_failures()


def test_a_table_of_judges_becomes_a_run_with_a_column_for_each(tmp_path: Path) -> None:
    source = write_table(tmp_path / "table.csv", [HEAD, *ROWS])
    run = pp.Run(pp.convert(source, tmp_path / "run"))
    assert [model.label for model in run.manifest.models] == ["A w/ prompt", "B"]
    assert {item.prompt for item in run.table.items} == {"I can fly.", "The moon, it listens."}
    with run.open() as store:
        assert {response.text for _, response in store.answers()} == {row[3] for row in ROWS}
    assert run["stored_judge3"].defined.sum() == 3
    notes = dict(run.manifest.source_of_import or {})["notes"]
    assert "rows whose stated median is not that of the judges" not in notes  # type: ignore[operator]
    check_judges(source, run)


def test_an_imported_run_can_be_judged_once_more(tmp_path: Path) -> None:
    first = pp.Run(pp.convert(judged(tmp_path / "table.csv"), tmp_path / "runs" / "syco"))
    rubric = tmp_path / "kind.toml"
    options = "".join(
        f'[[option]]\nname = "{name}"\nvalue = {value}\nmeans = "m"\n' for name, value in (("yes", 1), ("no", 0))
    )
    rubric.write_text(f'name = "kind"\nversion = "1"\nquestion = "Is it kind?"\n{options}')
    run = pp.judge(first, CallableModel("kind", lambda _request: "yes"), rubric=str(rubric), quiet=True)
    assert first.with_judge(run)["judged:kind@callable/kind"].rate().value == 1.0
    pp.audit(tmp_path / "runs").raise_for_failures()


def turns_of(run: pp.Run, prompt: str) -> npt.NDArray[np.float64]:
    """The labels of a run as rows of dialogues and columns of turns."""
    label = run["stored_label"]
    conditions = [name for name in run.table.values("condition") if name.startswith(f"{prompt}_turn_")]
    columns = []
    for name in sorted(conditions, key=lambda one: int(one.rpartition("_")[2])):
        rows = label.where(condition=name)
        order = np.argsort(run.table.codes["item"][rows.mask])
        columns.append(rows.all_values[rows.mask][order])
    return np.array(columns).T


def check_dialogues(folder: Path, run: pp.Run) -> None:
    """Labels per turn, turns of flip and numbers of flips against a plain script."""
    for source in sorted(folder.glob("*_output.csv")):
        stem = source.name.removesuffix("_output.csv")
        prompt = stem.rpartition("_")[2]
        with (folder / f"{stem}_result_all.csv").open(encoding="utf-8", newline="") as file:
            plain = [[int(cell) for name, cell in row.items() if name != "Row"] for row in csv.DictReader(file)]
        stated = [int(flip) for flip in re.findall(r"Flip: (\d+)", (folder / f"{stem}_results.txt").read_text())]
        ours = turns_of(run, prompt)
        assert np.array_equal(ours, np.array(plain, dtype=float))
        kept = [next((n for n, value in enumerate(row) if value != 1), len(row)) for row in plain]
        assert list(np.cumprod(ours, axis=1).sum(axis=1)) == kept == stated
        flips = [sum(a != b for a, b in pairwise(row)) for row in plain]
        assert list(np.abs(np.diff(ours, axis=1)).sum(axis=1)) == flips
        for turn in range(1, len(plain[0]) + 1):
            rate = run["stored_label"].where(condition=f"{prompt}_turn_{turn}").rate()
            assert rate.value == sum(row[turn - 1] for row in plain) / len(plain)
        pair = run["stored_label"].pair(f"{prompt}_turn_1", f"{prompt}_turn_2")
        lost = [row[1] for row in plain if row[0] == 1]
        assert pair.override().value == pytest.approx(1 - sum(lost) / len(lost))
        mean = run["stored_turn_of_flip"].where(condition=f"{prompt}_turn_1").mean().value
        assert mean == pytest.approx(statistics.mean(stated), abs=1e-12)
    pp.score(run)
    pp.audit(run.directory).raise_for_failures()


def test_dialogues_become_a_run_with_a_condition_for_each_turn(tmp_path: Path) -> None:
    folder = dialogues(dialogues(tmp_path / "logs"), ["100", "111", "000", "110"], "prompt1")
    run = pp.Run(pp.convert(folder, tmp_path / "run"))
    assert run.manifest.trials == 24
    assert run.table.values("condition")[:3] == ("prompt0_turn_1", "prompt0_turn_2", "prompt0_turn_3")
    assert [model.label for model in run.manifest.models] == ["m-1"]
    check_dialogues(folder, run)


def test_one_file_of_dialogues_is_enough_and_needs_no_labels(tmp_path: Path) -> None:
    folder = dialogues(tmp_path / "logs", ["110"])
    run = pp.Run(pp.convert(folder / "m-1_prompt0_output.csv", tmp_path / "one"))
    assert run["stored_label"].defined.sum() == 3
    (folder / "m-1_prompt0_result_all.csv").unlink()
    (folder / "m-1_prompt0_results.txt").unlink()
    bare = pp.Run(pp.convert(folder, tmp_path / "two"))
    assert bare.manifest.trials == 3
    assert not bare.table.has("stored_label")


@needs_data
def test_syco_bench_gives_what_a_plain_script_gives(tmp_path: Path) -> None:
    run = pp.Run(pp.convert(SYCO, tmp_path / "run"))
    assert (run.manifest.trials, len(run.manifest.models), run.manifest.items.n) == (480, 24, 20)
    check_judges(SYCO, run)


@needs_data
def test_sycon_gives_what_a_plain_script_gives(tmp_path: Path) -> None:
    run = pp.Run(pp.convert(SYCON, tmp_path / "run"))
    assert run.manifest.trials == 2000
    check_dialogues(SYCON, run)
    stated = [run["stored_turn_of_flip"].where(condition=f"prompt{n}_turn_1").mean().value for n in (0, 1)]
    assert stated == pytest.approx([1.86, 2.0])
