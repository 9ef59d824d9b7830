"""Headline numbers and recomputed claims as LaTeX commands: names of letters, nothing that TeX would run."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from perpend.ask.conditions import asch, control
from perpend.ask.runner import evaluate_task
from perpend.ask.task import Task
from perpend.errors import SpecError
from perpend.measure.run import Run
from perpend.models.mock import model
from perpend.proof.claims import check, extract
from perpend.proof.claims.tex import is_sealed
from perpend.proof.macros import macros, write_macros
from perpend.spec.runspec import ModelSpec, RunSpec
from perpend.types import Sampling
from tests.test_claims_check import items

TASK = Task(name="t", conditions=(control(), asch(2)), scorers=("label@2",))
COMMAND = re.compile(r"\\newcommand\{\\([A-Za-z]+)\}\{(\$[-+0-9.]+(?:\\times10\^\{-\d+\})?\$|\d+|NA)\}")
CLAIMS = """
[[claim]]
name = "control rate"
number = "rate(label, condition='control')"
expect = 0.50
[[claim]]
number = "trials()"
by = "topic"
expect = { parity = 80, numbers = 80 }
[[claim]]
name = "order"
order = "trials() > 0"
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("macros")
    return made(folder, "run_1", "m~%\\input{x}")


def made(folder: Path, name: str, *labels: str) -> Run:
    specs = tuple(ModelSpec("mock/true", label) for label in labels)
    spec = RunSpec("t", specs, items=(items(folder),), name=name, samplings=(Sampling(0.0), Sampling(0.7)))
    directory = evaluate_task(spec, TASK, [model("true") for _ in labels], folder, quiet=True).directory
    run = Run(directory)
    run.score()
    return run


def test_every_line_is_one_command_of_letters_with_one_number(run: Run, tmp_path: Path) -> None:
    (tmp_path / "claims.toml").write_text(CLAIMS, encoding="utf-8")
    path = write_macros([run], tmp_path / "numbers.tex", check(tmp_path / "claims.toml", [run]))
    head, *lines = path.read_text(encoding="utf-8").splitlines()
    assert head.startswith("% perpend numbers, sha256 ")
    assert is_sealed(path.read_text(encoding="utf-8"))
    found = dict(COMMAND.fullmatch(line).groups() for line in lines if COMMAND.fullmatch(line))  # type: ignore[union-attr]  # matched in the same expression
    assert len(found) == len(lines)
    assert found["RateLabelTwoMInputXZeroControl"] == "$0.500$"
    assert found["RateLabelTwoMInputXZeroControlPct"] == "$50.0$"
    assert found["DifferenceLabelTwoMInputXZeroSevenControlAschHistoryTwoP"] == "$1$"
    assert found["ClaimControlRate"] == "$0.50$"
    assert found["ClaimTwoParity"] == "$80$"
    assert not any("Order" in name for name in found)


def test_several_runs_and_models_have_names_of_their_own(run: Run, tmp_path: Path) -> None:
    other = made(tmp_path, "run_2", "m1", "m-1")
    text = macros([run, other])
    names = re.findall(r"newcommand\{\\([A-Za-z]+)\}", text)
    assert "RunTwoDifferenceLabelTwoMOneZeroControlAschHistoryTwo}{$+0.000$}" in text
    assert len(names) == len(set(names))
    assert "RunTwoRateLabelTwoMOneZeroControl" in names
    assert "RunTwoRateLabelTwoMOneBZeroControl" in names


def test_two_claims_of_one_command_are_refused(run: Run, tmp_path: Path) -> None:
    text = '[[claim]]\nname = "a b"\nnumber = "trials()"\nexpect = 1\n'
    (tmp_path / "claims.toml").write_text(text + text.replace("a b", "a-b"), encoding="utf-8")
    with pytest.raises(SpecError, match="both give the LaTeX command"):
        macros([run], check(tmp_path / "claims.toml", [run]))


def test_a_paper_that_takes_its_numbers_in_types_none(run: Run, tmp_path: Path) -> None:
    write_macros([run], tmp_path / "numbers.tex")
    (tmp_path / "paper.tex").write_text(
        "\\documentclass{article}\\input{numbers}\\begin{document}\nRight in "
        "\\RateLabelTwoMInputXZeroControlPct\\% of \\RateLabelTwoMInputXZeroControlN{} trials.\n\\end{document}\n",
        encoding="utf-8",
    )
    found = extract(tmp_path / "paper.tex")
    assert (found.uncovered, found.macros) == ((), 2)


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_the_commands_compile(run: Run, tmp_path: Path) -> None:
    write_macros([run], tmp_path / "numbers.tex")
    (tmp_path / "paper.tex").write_text(
        "\\documentclass{article}\\input{numbers}\\begin{document}\\RateLabelTwoMInputXZeroControl\\end{document}",
        encoding="utf-8",
    )
    subprocess.run(["pdflatex", "-interaction=batchmode", "-halt-on-error", "paper.tex"], cwd=tmp_path, check=True)
