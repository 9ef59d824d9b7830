"""derive: a ledger → metrics.json, report.md, tables and figures. The same ledger, the same bytes; no model is asked.

`eval`, `score`, `analyze` and `publish` write what this gives; `audit` derives again and compares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from perpend.canon import write_atomic
from perpend.errors import SpecError
from perpend.measure.run import Run, table_of
from perpend.measure.study import (
    Numbers,
    Report,
    Study,
    body_of,
    names_of,
    numbers_of,
    plain_metrics,
    read_metrics,
    write_metrics,
)
from perpend.report.style import save
from perpend.report.summary import PLAIN
from perpend.report.tables import as_csv

REPORT, TABLES, FIGURES = "report.md", "tables", "figures"


@dataclass(frozen=True, slots=True)
class Derived:
    """What was derived: the numbers, what is told of them, and the page."""

    numbers: Numbers
    report: Report
    path: Path


def study_of(runs: Sequence[Run]) -> Study:
    """The study of all these runs, or the plain summary; runs of several tasks are an error."""
    tasks = sorted({run.manifest.task for run in runs})
    if len(tasks) != 1:
        raise SpecError(f"these runs are of several tasks ({', '.join(tasks)}); analyse each by itself")
    missing = runs[0].code.missing.get("study")
    if missing is not None:
        raise SpecError(f"the study of {runs[0].name} cannot be derived: {missing}")
    return runs[0].code.study or PLAIN


def derive(runs: Sequence[Run], out: Path, *, figures: bool = True, draw: bool = True) -> Derived:
    """Write metrics.json, report.md, tables and figures of some scored runs of one study into `out`.

    Without `draw` the report links to its figures, and none is drawn.
    """
    study = study_of(runs)
    table = table_of(runs) if len(runs) > 1 else runs[0].table
    metrics = [*plain_metrics(table), *study.metrics(table)]
    manifests = [run.manifest for run in runs]
    names = [run.name for run in runs]
    body = body_of(names, metrics, names_of(study, Numbers(tuple(metrics), tuple(manifests))))
    write_metrics(out, body)
    # Through the file and back: a report can cite nothing but what metrics.json holds.
    numbers = numbers_of(read_metrics(out), manifests)
    report = study.report(numbers, figures=figures)
    write_report(report, out, figures=figures and draw)
    return Derived(numbers, report, out / REPORT)


def write_report(report: Report, out: Path, *, figures: bool = True) -> None:
    """Write report.md, the tables, the other files and, with `figures`, the figures."""
    for table in report.tables:
        write_atomic(out / TABLES / f"{table.name}.csv", as_csv(table.columns, table.rows))
    for name, text in report.files.items():
        write_atomic(out / name, text)
    for figure in report.figures if figures else ():
        save(figure.draw(), out / FIGURES / figure.name)
    write_atomic(out / REPORT, report.page())
