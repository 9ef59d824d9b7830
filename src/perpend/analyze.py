"""Runs → the report of their task: the conformity study has its own, other tasks get the summary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from perpend.canon import JSON, write_atomic
from perpend.errors import SpecError
from perpend.measure import Run
from perpend.reports import conformity, conformity_audit
from perpend.reports.conformity_trials import RULES
from perpend.reports.summary import metrics, report


def task_name(runs: Sequence[Run]) -> str:
    """The task of all these runs; runs of several tasks are an error."""
    found: list[str] = []
    for run in runs:
        task = run.manifest.get("task")
        found.append(str(task.get("name")) if isinstance(task, Mapping) else "")
    if len(set(found)) != 1:
        raise SpecError(f"these runs are of several tasks ({', '.join(sorted(set(found)))}); analyse each by itself")
    return found[0]


def analyze(runs: Sequence[Run], out: Path, *, figures: bool = True) -> Path:
    """Write tables, figures and report of some runs of one task into `out`, and return the report's path."""
    if task_name(runs) == "conformity":
        return conformity.analyze(runs, out, with_figures=figures)
    page = "\n".join(report(run, metrics(run)) for run in runs)
    write_atomic(out / "report.md", page)
    return out / "report.md"


def study_numbers(runs: Sequence[Run], rules: str) -> dict[str, JSON]:
    """What a study's own audit states, derived from the raw answers by the rules 'v1', 'v2' or 'both'.

    For conformity these are the tables of its audit script; empty for tasks without such an audit.
    """
    if task_name(runs) != "conformity":
        return {}
    return conformity_audit.audit_numbers(runs, [rule for rule in RULES if rules in ("both", f"v{rule}")])
