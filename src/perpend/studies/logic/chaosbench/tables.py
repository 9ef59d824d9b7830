"""The tables of analyze-runs: CSV at full precision, Markdown and LaTeX with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from perpend.canon import JSON, write_atomic
from perpend.inert import markdown
from perpend.report.tables import as_csv, markdown_table, number, undefined
from perpend.stats.proportions import wilson
from perpend.studies.logic.chaos.questions.draft import STRATA
from perpend.studies.logic.chaosbench.analyze import Analysis, Baseline, RunRow
from perpend.types import Estimate

Row: TypeAlias = dict[str, JSON]

COLUMNS = (
    "model", "provider", "n_total", "n_valid", "coverage", "accuracy_valid", "effective_accuracy",
    "balanced_accuracy", "mcc", "tpr", "tnr", "bias_score", "bias_verdict", "invalid_rate", "is_full_run", "run_id",
    "balanced_accuracy_lo", "balanced_accuracy_hi", "balanced_accuracy_invalid_as_wrong", "mcc_lo", "mcc_hi",
    "tpr_lo", "tpr_hi", "tnr_lo", "tnr_hi", "unfinished", "errors", "items", "accepted",
)  # fmt: skip
FAMILY_COLUMNS = (
    "model", "provider", "run_id", "family", "total", "valid", "correct", "coverage", "accuracy_valid",
    "balanced_accuracy", "balanced_accuracy_lo", "balanced_accuracy_hi", "mcc", "tpr", "tnr", "low_support",
    "wilson_lo", "wilson_hi", "accepted",
)  # fmt: skip
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
    ("accepted", "accepted"),
)
MIXED = frozenset(
    ("balanced_accuracy", "mcc", "tpr", "tnr", "balanced_accuracy_invalid_as_wrong"),
)
"""Numbers over all items, which the tables for readers do not show of a run on several strata."""
_INTERVALS = ("balanced_accuracy", "mcc", "tpr", "tnr")
_TEX = str.maketrans(
    {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {mark: f"\\{mark}" for mark in "&%$#_{}"}
)


def write_tables(analysis: Analysis, out: Path) -> None:
    """baselines_table.csv, .md and .tex, and baselines_by_family.csv."""
    rows = table_rows(analysis)
    named = [name for name in STRATA if any(row.get(name) is not None for row in rows)]
    strata = [f"{name}{end}" for name in named for end in ("", "_lo", "_hi")]
    write_atomic(out / "baselines_table.csv", _csv(rows, (*COLUMNS[:-1], *strata, COLUMNS[-1])))
    write_atomic(out / "baselines_table.md", as_markdown(rows))
    write_atomic(out / "baselines_table.tex", as_latex(rows))
    write_atomic(out / "baselines_by_family.csv", _csv(family_rows(analysis.runs), FAMILY_COLUMNS))


def _csv(rows: Sequence[Row], columns: Sequence[str]) -> str:
    return as_csv(columns, ([row.get(column) for column in columns] for row in rows))


def table_rows(analysis: Analysis) -> list[Row]:
    """One row per run, by balanced accuracy from the best; then one per shortcut and set of items."""
    return [*map(_run, analysis.runs), *(row for base in analysis.baselines for row in _shortcuts(base))]


def _run(run: RunRow) -> Row:
    provider, model = run.provider
    numbers: Mapping[str, JSON] = {} if run.measured is None else run.measured.numbers()
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
        "accepted": run.accepted,
    }
    for stratum, one in run.strata.items():
        balanced = one.estimates.get("balanced_accuracy", Estimate(None, 0))
        row |= {stratum: balanced.value, f"{stratum}_lo": balanced.lo, f"{stratum}_hi": balanced.hi}
    return row | _ends({} if run.measured is None else run.measured.estimates)


def _shortcuts(base: Baseline) -> list[Row]:
    rows: list[Row] = []
    for entry in base.shortcuts:
        if not entry.note:
            row: Row = {key: estimate.value for key, estimate in entry.overall.items()}
            row |= {"model": entry.name, "provider": "shortcut", "n_total": base.n, "n_valid": base.n, "coverage": 1.0}
            rows.append(row | {"items": base.items, "accepted": ""} | _ends(entry.overall))
    return rows


def _ends(estimates: Mapping[str, Estimate]) -> Row:
    ends: Row = {}
    for name in _INTERVALS:
        estimate = estimates.get(name)
        ends |= {f"{name}_lo": estimate.lo if estimate else None, f"{name}_hi": estimate.hi if estimate else None}
        if estimate is not None and estimate.value is None:
            ends[f"{name}_undefined"] = undefined(estimate.also)
    return ends


def family_rows(runs: Sequence[RunRow]) -> list[Row]:
    """One row per run and family, with Wilson's interval on its accuracy."""
    rows: list[Row] = []
    for run in runs:
        provider, model = run.provider
        names: Row = {"model": model, "provider": provider, "run_id": run.run_id, "accepted": run.accepted}
        for family, one in run.parts("family").items():
            accuracy = wilson(one.count("correct"), one.count("valid"))
            row: Row = {**one.numbers(), **names, "family": family}
            rows.append(row | _ends(one.estimates) | {"wilson_lo": accuracy.lo, "wilson_hi": accuracy.hi})
    return rows


def cell(row: Row, column: str) -> str:
    """One cell: the number, and its interval where it has one."""
    value = row.get(column)
    if isinstance(value, str):
        return value
    if column in ("n_total", "n_valid"):
        return "NA" if value is None else str(value)
    lo, hi = row.get(f"{column}_lo"), row.get(f"{column}_hi")
    interval = "" if lo is None or hi is None else f" [{number(lo)}, {number(hi)}]"
    if column in MIXED and any(row.get(stratum) is not None for stratum in STRATA):
        return "by stratum"
    if value is None:
        return "" if column == "items" or column in STRATA else str(row.get(f"{column}_undefined", "NA"))
    return number(value) + interval


def shown_columns(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """(title, column) of the tables for readers: with the strata where a run has some, right after the items."""
    strata = [(name, name) for name in STRATA if any(row.get(name) is not None for row in rows)]
    return [*SHOWN[:2], *strata, *SHOWN[2:]]


def as_markdown(rows: Sequence[Row]) -> str:
    """The table in Markdown; shortcuts are marked."""
    lines, columns = [], shown_columns(rows)
    for row in rows:
        cells = [markdown(cell(row, column)) for _, column in columns]
        lines.append([f"*{cells[0]}*" if row.get("provider") == "shortcut" else cells[0], *cells[1:]])
    return markdown_table([title for title, _ in columns], lines) + "\n"


def as_latex(rows: Sequence[Row]) -> str:
    """The same table for a paper that loads booktabs."""
    columns = shown_columns(rows)
    lines = [r"\begin{tabular}{l" + "r" * (len(columns) - 1) + "}", r"\toprule"]
    lines += [" & ".join(title.translate(_TEX) for title, _ in columns) + r" \\", r"\midrule"]
    lines += [" & ".join(cell(row, column).translate(_TEX) for _, column in columns) + r" \\" for row in rows]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"
