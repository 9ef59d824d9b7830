"""Two honest runs and their published folders, made once; every test gets copies that it may forge."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from perpend.ask.conditions import asch, control
from perpend.ask.runner import evaluate_task
from perpend.ask.task import Task, make_task
from perpend.measure.run import Run
from perpend.models.callable import Callable as CallableModel
from perpend.proof.publish import publish
from perpend.report.derive import derive
from perpend.spec.runspec import ModelSpec, RunSpec
from perpend.types import Request, Response

LOGIC = Task(name="t", conditions=(control(), asch(2)), scorers=("label@1", "label@2"))
STUDY = make_task("conformity", {"confederates": 2, "conditions": ["control", "asch_history_2"]})


@dataclass(frozen=True, slots=True)
class Honest:
    """The folders of the runs and of what was published of them."""

    runs: Path
    published: Path


def right_or_swayed(request: Request) -> Response:
    """TRUE alone; under pressure FALSE on every third statement, after a sentence."""
    asked = request.messages[-1].content
    if "colour" in asked:
        return Response(text="I would say teal." if "Participant" in asked else "Red.", finish="stop", ms=1.0)
    swayed = "Participant" in asked and any(f"Statement {n}:" in asked for n in (0, 3, 6))
    return Response(text="After some thought: FALSE" if swayed else "TRUE", finish="stop", ms=1.0)


def _ask(folder: Path, name: str, task: Task, items: list[dict[str, object]]) -> Path:
    path = folder / f"{name}.jsonl"
    path.write_text("".join(json.dumps(item) + "\n" for item in items))
    spec = RunSpec("t", (ModelSpec("callable/m", "m"),), items=(path,), name=name)
    made = evaluate_task(spec, task, [CallableModel("m", right_or_swayed)], folder / "runs", quiet=True).directory
    run = Run(made)
    run.score()
    derive([run], run.directory, figures=False)
    return made


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Honest:
    folder = tmp_path_factory.mktemp("honest")
    statements: list[dict[str, object]] = [
        {
            "id": f"item-{n}",
            "prompt": f"Statement {n}: {n} is even. Is it TRUE or FALSE?",
            "target": "TRUE" if n % 2 == 0 else "FALSE",
            "decoy": "FALSE" if n % 2 == 0 else "TRUE",
        }
        for n in range(8)
    ]
    tastes: list[dict[str, object]] = [
        {"id": f"taste-{n}", "prompt": f"Which colour suits box {n}?", "decoy": "teal"} for n in range(4)
    ]
    runs = [_ask(folder, "logic", LOGIC, statements), _ask(folder, "study", STUDY, tastes)]
    publish(runs, folder / "published", {})
    return Honest(folder / "runs", folder / "published")


@pytest.fixture
def honest(made: Honest, tmp_path: Path) -> Honest:
    """Copies of the honest folders, for one test."""
    shutil.copytree(made.runs, tmp_path / "runs")
    shutil.copytree(made.published, tmp_path / "published")
    return Honest(tmp_path / "runs", tmp_path / "published")
