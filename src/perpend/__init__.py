"""perpend: language-model evaluations whose every number a stranger can recompute.

import perpend as pp

task = pp.task("conformity", confederates=5)
run = pp.evaluate(task, [pp.model("mock/subject", sway=0.4)], seed=42, out="runs")
print(run["correct"].where(condition="control").rate())
pp.publish(run, to="published")
pp.audit("published").raise_for_failures()
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from perpend.canon import VERSION

__version__ = VERSION

if TYPE_CHECKING:
    from perpend._audit import audit
    from perpend._make import model, scorer, task
    from perpend.api import analyze, compare, convert, evaluate, export, fit, judge, merge, plan, publish, rank, score
    from perpend.ask.conditions import condition, template
    from perpend.ask.task import Reprompt, Task
    from perpend.errors import AuditFailure, DataError, ModelError, PerpendError, SpecError, StoreError
    from perpend.measure.calibration import ece
    from perpend.measure.study import FigureOf, Metric, Numbers, Report, Section, TableOf
    from perpend.measure.table import Table
    from perpend.models.local.variants import make_variants as variants
    from perpend.report.interactive import InteractiveRun as Run
    from perpend.spec.runspec import Limits
    from perpend.types import Condition, Estimate, Item, Message, Request, Response, Sampling, Score, Scorer

# `import perpend` must cost nothing (`perpend --help` answers in under 0.3 s): each name is loaded when it is used.
_HOMES = {
    "perpend._audit": "audit",
    "perpend._make": "model scorer task",
    "perpend.api": "analyze compare convert evaluate export fit judge merge plan publish rank score",
    "perpend.ask.conditions": "condition template",
    "perpend.ask.task": "Reprompt Task",
    "perpend.errors": "AuditFailure DataError ModelError PerpendError SpecError StoreError",
    "perpend.measure.study": "FigureOf Metric Numbers Report Section TableOf",
    "perpend.measure.table": "Table",
    "perpend.measure.calibration": "ece",
    "perpend.models.local.variants": "variants",
    "perpend.report.interactive": "Run",
    "perpend.spec.runspec": "Limits",
    "perpend.types": "Condition Estimate Item Message Request Response Sampling Score Scorer",
}
_CALLED = {"Run": "InteractiveRun", "variants": "make_variants"}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = [
    "AuditFailure",
    "Condition",
    "DataError",
    "Estimate",
    "FigureOf",
    "Item",
    "Limits",
    "Message",
    "Metric",
    "ModelError",
    "Numbers",
    "PerpendError",
    "Report",
    "Reprompt",
    "Request",
    "Response",
    "Run",
    "Sampling",
    "Score",
    "Scorer",
    "Section",
    "SpecError",
    "StoreError",
    "Table",
    "TableOf",
    "Task",
    "analyze",
    "audit",
    "compare",
    "condition",
    "convert",
    "ece",
    "evaluate",
    "export",
    "fit",
    "judge",
    "merge",
    "model",
    "plan",
    "publish",
    "rank",
    "score",
    "scorer",
    "task",
    "template",
    "variants",
]


def __getattr__(name: str) -> object:
    if name in _HOME_OF:
        value: object = getattr(importlib.import_module(_HOME_OF[name]), _CALLED.get(name, name))
        return value
    raise AttributeError(f"module 'perpend' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
