"""Small runs that several test files start from."""

from __future__ import annotations

from pathlib import Path

from perpend.ask.conditions import asch, control
from perpend.ask.runner import evaluate_task
from perpend.ask.task import Task
from perpend.measure.run import Run
from perpend.models.mock import model
from perpend.report.derive import derive
from perpend.spec.model import Model
from perpend.spec.runspec import ModelSpec, RunSpec

TASK = Task(name="t", conditions=(control(), asch(2)), scorers=("label@1", "label@2"))


def unscored(
    items: Path, folder: Path, *, task: Task = TASK, says: Model | None = None, label: str = "m", **spec: object
) -> Run:
    """A run of `task` in a folder; its model says TRUE, unless `says` is another. `spec` is of RunSpec."""
    asked = RunSpec("t", (ModelSpec("mock/true", label),), items=(items,), **{"name": "study", **spec})
    return Run(evaluate_task(asked, task, [says or model("true")], folder, quiet=True).directory)


def asked(items: Path, folder: Path, **options: object) -> Run:
    """The same with its scores and its report."""
    run = unscored(items, folder, **options)
    run.score()
    derive([run], run.directory, figures=False)
    return run
