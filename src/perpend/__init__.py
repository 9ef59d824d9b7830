"""perpend: language-model evaluations whose every number a stranger can recompute.

import perpend as pp

task = pp.task("conformity", confederates=5)
run = pp.evaluate(task, [pp.model("mock/subject", sway=0.4)], seed=42, out="runs")
print(run["correct"].where(condition="control").rate())
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from perpend.api import evaluate, model, task
    from perpend.compose import Task
    from perpend.errors import AuditFailure, DataError, ModelError, PerpendError, SpecError, StoreError
    from perpend.measure import Run
    from perpend.spec import Limits
    from perpend.stats.calibration import brier, ece
    from perpend.types import Condition, Estimate, Item, Message, Request, Response, Sampling, Score, Scorer

__all__ = [
    "AuditFailure",
    "Condition",
    "DataError",
    "Estimate",
    "Item",
    "Limits",
    "Message",
    "ModelError",
    "PerpendError",
    "Request",
    "Response",
    "Run",
    "Sampling",
    "Score",
    "Scorer",
    "SpecError",
    "StoreError",
    "Task",
    "brier",
    "ece",
    "evaluate",
    "model",
    "task",
]

# `import perpend` must cost nothing (`perpend --help` answers in under 0.3 s): each name is loaded when it is used.
_HOMES = {
    "perpend.api": ("evaluate", "model", "task"),
    "perpend.errors": ("AuditFailure", "DataError", "ModelError", "PerpendError", "SpecError", "StoreError"),
    "perpend.measure": ("Run",),
    "perpend.spec": ("Limits",),
    "perpend.stats.calibration": ("brier", "ece"),
    "perpend.compose": ("Task",),
    "perpend.types": (
        "Condition",
        "Estimate",
        "Item",
        "Message",
        "Request",
        "Response",
        "Sampling",
        "Score",
        "Scorer",
    ),
}


def __getattr__(name: str) -> object:
    if name in __all__:
        for home, names in _HOMES.items():
            if name in names:
                value: object = getattr(importlib.import_module(home), name)
                return value
    raise AttributeError(f"module 'perpend' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
