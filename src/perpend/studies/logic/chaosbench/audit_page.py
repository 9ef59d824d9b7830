"""RUNS_AUDIT.md: every check of every run with pass or fail, the numbers, and nothing that the data does not say."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from perpend.canon import write_atomic
from perpend.inert import markdown
from perpend.report.tables import markdown_table, number
from perpend.studies.logic.chaosbench.analyze import Analysis, RunRow, summary
from perpend.studies.logic.chaosbench.figures import write_figures
from perpend.studies.logic.chaosbench.rundir import write_json
from perpend.studies.logic.chaosbench.tables import as_markdown, table_rows, write_tables
from perpend.studies.logic.metrics import LOW_SUPPORT
from perpend.studies.logic.report import shown
from perpend.studies.logic.strata import PAIRS

PAGE = "RUNS_AUDIT.md"


def write_audit(analysis: Analysis, out: Path) -> None:
    """summary.json, the tables, the figures and RUNS_AUDIT.md."""
    write_json(out / "summary.json", summary(analysis))
    write_tables(analysis, out)
    write_atomic(out / PAGE, page(analysis, write_figures(analysis, out)))


def page(analysis: Analysis, figures: Sequence[str]) -> str:
    """The page, with links to the figures that were drawn."""
    runs = analysis.all_runs
    failed = sum(bool(run.failed) for run in runs)
    biased = [run for run in runs if run.measured and run.measured.verdict == "LABEL-BIASED"]
    freeze, errors = analysis.freeze, len(analysis.errors)
    counts = f"{len(runs)} run{'s' * (len(runs) != 1)}, {errors} error{'s' * (errors != 1)}"
    frozen = markdown(freeze.missing) if freeze.missing else f"`{freeze.sha256}`, {freeze.total} items"
    lines = [
        "# Audit of runs",
        "",
        f"Made {analysis.generated}. {counts}, {len(biased)} label-biased.",
        f"{len(runs) - failed} accepted, {failed} not accepted, {len(analysis.left_out)} left out of the results.",
        f"Freeze of the canonical set: {frozen}.",
        "",
        "## Results",
        "",
        "Values with 95% intervals; NA is undefined. Rows in italics are shortcuts that know no system.",
        "",
        as_markdown(table_rows(analysis)),
        *(f"![{name}]({name})" for name in figures),
        "",
        *_left_out(analysis),
        "## Checks",
        "",
    ]
    rows = [
        (markdown(run.run_id), markdown(gate.gate), "pass" if gate.passed else "FAIL", markdown(gate.detail))
        for run in runs
        for gate in (*run.integrity, *run.acceptance)
    ]
    lines += [markdown_table(["run", "check", "", "found"], rows), "", *_comparisons(analysis)]
    return (
        "\n".join([*lines, *(line for run in analysis.runs for line in _families(run)), *_shortcuts(analysis)]) + "\n"
    )


def _left_out(analysis: Analysis) -> list[str]:
    """The runs that no table and no figure shows, and why."""
    if not analysis.left_out:
        return []
    rows = [(markdown(run.run_id), markdown(run.accepted)) for run in analysis.left_out]
    why = "These runs fail a check or an acceptance criterion. --include-failed shows them among the results, marked."
    return ["## Left out of the results", "", why, "", markdown_table(["run", "accepted"], rows), ""]


def _comparisons(analysis: Analysis) -> list[str]:
    if not analysis.comparisons:
        return []
    marks = {run.run_id: run.mark for run in analysis.runs}
    rows = []
    for pair in analysis.comparisons:
        names = (f"{markdown(name)}{marks[name]}" for name in (pair.first, pair.second))
        tests = ("NA" if p is None else f"{p:.2g}" for p in (pair.p, pair.adjusted))
        rows.append((*names, str(pair.items), shown(pair.balanced_accuracy), shown(pair.mcc), *tests))
    how = "Second minus first. p of the paired test on right answers, and Holm's over all pairs."
    head = ("first", "second", "items", "balanced accuracy", "MCC", "p", "p (Holm)")
    return ["## Runs on the same items", "", how, "", markdown_table(head, rows), ""]


def _families(run: RunRow) -> list[str]:
    if run.measured is None:
        return []
    parts = (
        *((f"stratum {name}", one) for name, one in run.strata.items()),
        *((f"grade: {name}", one) for name, one in run.parts("grade").items()),
        *run.parts("family").items(),
        *((f"split {name}", one) for name, one in run.parts("split").items()),
    )
    rows = []
    for name, one in parts:
        few = r"\*" if one.counts["low_support"] else ""
        balanced, mcc = (shown(one.estimates.get(key)) for key in ("balanced_accuracy", "mcc"))
        coverage, tpr, tnr, bias = (number(one.value(key)) for key in ("coverage", "tpr", "tnr", "bias"))
        total = str(one.counts["total"])
        pairs = [shown(one.estimates.get(PAIRS))] if run.strata else []
        tail = (tpr, tnr, *pairs, f"{bias} {one.verdict or ''}")
        rows.append((f"{markdown(name)}{few}", total, coverage, balanced, mcc, *tail))
    whole = ["whole pairs right"] if run.strata else []
    return [
        f"## {markdown(run.run_id)}{run.mark} by {'stratum, grade, ' if run.strata else ''}family and split",
        "",
        f"Intervals are clustered by {run.measured.clustered_by}. \\* marks fewer than {LOW_SUPPORT} items.",
        "",
        markdown_table(("", "N", "coverage", "balanced accuracy", "MCC", "TPR", "TNR", *whole, "bias"), rows),
        "",
    ]


def _shortcuts(analysis: Analysis) -> list[str]:
    rows = []
    for base in analysis.baselines:
        for entry in base.shortcuts:
            names = (markdown(base.items), entry.name)
            if entry.note:
                rows.append((*names, "", markdown(entry.note)))
            rows += [(*names, markdown(family), shown(value)) for family, value in entry.families.items()]
    table = markdown_table(("items", "shortcut", "family", "balanced accuracy"), rows)
    return ["## Shortcuts by family", "", table, ""] if analysis.baselines else []
