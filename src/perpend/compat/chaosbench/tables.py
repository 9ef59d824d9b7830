"""The audit's tables: csv for programs, Markdown and LaTeX for people."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from perpend.canon import JSON, write_atomic
from perpend.compat.chaosbench.analyze import Analysis, Baseline, RunRow
from perpend.compat.chaosbench.rundir import number
from perpend.inert import csv_cell, markdown
from perpend.stats.proportions import wilson
from perpend.types import Estimate

Row: TypeAlias = dict[str, JSON]

COLUMNS = (
    "model",
    "provider",
    "n_total",
    "n_valid",
    "coverage",
    "accuracy_valid",
    "effective_accuracy",
    "balanced_accuracy",
    "mcc",
    "tpr",
    "tnr",
    "bias_score",
    "bias_verdict",
    "invalid_rate",
    "is_full_run",
    "run_id",
    "balanced_accuracy_lo",
    "balanced_accuracy_hi",
    "balanced_accuracy_invalid_as_wrong",
    "mcc_lo",
    "mcc_hi",
    "tpr_lo",
    "tpr_hi",
    "tnr_lo",
    "tnr_hi",
    "unfinished",
    "errors",
    "items",
)
FAMILY_COLUMNS = (
    "model",
    "provider",
    "run_id",
    "family",
    "total",
    "valid",
    "correct",
    "coverage",
    "accuracy_valid",
    "balanced_accuracy",
    "balanced_accuracy_lo",
    "balanced_accuracy_hi",
    "mcc",
    "tpr",
    "tnr",
    "low_support",
    "wilson_lo",
    "wilson_hi",
)
SHOWN = (
    ("model", "model"),
    ("N", "n_total"),
    ("balanced accuracy", "balanced_accuracy"),
    ("MCC", "mcc"),
    ("TPR", "tpr"),
    ("TNR", "tnr"),
    ("coverage", "coverage"),
    ("invalid as wrong", "balanced_accuracy_invalid_as_wrong"),
    ("bias", "bias_score"),
    ("verdict", "bias_verdict"),
    ("items", "items"),
)
_INTERVALS = ("balanced_accuracy", "mcc", "tpr", "tnr")
_TEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        **{mark: f"\\{mark}" for mark in "&%$#_{}"},
    }
)


def write_tables(found: Analysis, out: Path) -> None:
    """baselines_table.csv, .md and .tex, and baselines_by_family.csv."""
    rows = table_rows(found)
    write_atomic(out / "baselines_table.csv", as_csv(rows, COLUMNS))
    write_atomic(out / "baselines_table.md", as_markdown(rows))
    write_atomic(out / "baselines_table.tex", as_latex(rows))
    write_atomic(out / "baselines_by_family.csv", as_csv(family_rows(found.runs), FAMILY_COLUMNS))


def table_rows(found: Analysis) -> list[Row]:
    """One row a run, by balanced accuracy from the best; then one a shortcut and set of items."""
    return [*map(_run, found.runs), *(row for base in found.baselines for row in _shortcuts(base))]


def _run(run: RunRow) -> Row:
    provider, model = run.provider
    numbers: Mapping[str, JSON] = run.stored if run.measured is None else run.measured.numbers()
    estimates: Mapping[str, Estimate] = {} if run.measured is None else run.measured.estimates
    dataset = run.manifest.get("dataset")
    row: Row = {
        **{column: numbers.get(column) for column in COLUMNS},
        "model": model,
        "provider": provider,
        "n_total": numbers.get("total"),
        "n_valid": numbers.get("valid"),
        "is_full_run": run.is_full,
        "run_id": run.run_id,
        "items": dataset.get("name") if isinstance(dataset, Mapping) else None,
    }
    return row | _ends(estimates)


def _shortcuts(base: Baseline) -> list[Row]:
    rows: list[Row] = []
    for entry in base.shortcuts:
        if not entry.note:
            row: Row = {key: estimate.value for key, estimate in entry.overall.items()}
            row |= {"model": entry.name, "provider": "shortcut", "n_total": base.n, "n_valid": base.n, "coverage": 1.0}
            rows.append(row | {"items": base.items} | _ends(entry.overall))
    return rows


def _ends(estimates: Mapping[str, Estimate]) -> Row:
    ends: Row = {}
    for name in _INTERVALS:
        estimate = estimates.get(name)
        ends |= {f"{name}_lo": estimate.lo if estimate else None, f"{name}_hi": estimate.hi if estimate else None}
    return ends


def family_rows(runs: Sequence[RunRow]) -> list[Row]:
    """One row a run and family, with Wilson's interval on its accuracy."""
    rows: list[Row] = []
    for run in runs:
        provider, model = run.provider
        for family, one in run.families.items():
            accuracy = wilson(one.correct, one.valid)
            row: Row = {**one.numbers(), "model": model, "provider": provider, "run_id": run.run_id, "family": family}
            rows.append(row | _ends(one.estimates) | {"wilson_lo": accuracy.lo, "wilson_hi": accuracy.hi})
    return rows


def as_csv(rows: Sequence[Row], columns: Sequence[str]) -> str:
    """Numbers at full precision; what is undefined is empty."""
    made = io.StringIO()
    writer = csv.writer(made, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        cells = [row.get(column) for column in columns]
        writer.writerow([csv_cell(cell) if isinstance(cell, str) else "" if cell is None else cell for cell in cells])
    return made.getvalue()


def cell(row: Row, column: str) -> str:
    """One cell for people: the number, and its interval where it has one."""
    value = row.get(column)
    if isinstance(value, str):
        return value
    if column in ("n_total", "n_valid"):
        return "NA" if value is None else str(value)
    lo, hi = row.get(f"{column}_lo"), row.get(f"{column}_hi")
    interval = "" if lo is None or hi is None else f" [{number(lo, 3)}, {number(hi, 3)}]"
    return "" if value is None and column == "items" else number(value, 3) + interval


def as_markdown(rows: Sequence[Row]) -> str:
    """The table in Markdown; shortcuts are marked."""
    lines = ["| " + " | ".join(title for title, _ in SHOWN) + " |", "|---" * len(SHOWN) + "|"]
    for row in rows:
        cells = [markdown(cell(row, column)) for _, column in SHOWN]
        cells[0] = f"*{cells[0]}*" if row.get("provider") == "shortcut" else cells[0]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def as_latex(rows: Sequence[Row]) -> str:
    """The same table for a paper that loads booktabs."""
    lines = [r"\begin{tabular}{l" + "r" * (len(SHOWN) - 1) + "}", r"\toprule"]
    lines += [" & ".join(title.translate(_TEX) for title, _ in SHOWN) + r" \\", r"\midrule"]
    lines += [" & ".join(cell(row, column).translate(_TEX) for _, column in SHOWN) + r" \\" for row in rows]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"
