"""RUNS_AUDIT.md: every check of every run with pass or fail, the numbers, and nothing that the data does not say."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from perpend.canon import write_atomic
from perpend.compat.chaosbench.analyze import Analysis, RunRow, summary
from perpend.compat.chaosbench.figures import write_figures
from perpend.compat.chaosbench.metrics import LOW_SUPPORT, Measured
from perpend.compat.chaosbench.rundir import number, write_json
from perpend.compat.chaosbench.tables import as_markdown, table_rows, write_tables
from perpend.inert import markdown
from perpend.types import Estimate

PAGE = "RUNS_AUDIT.md"


def write_audit(found: Analysis, out: Path) -> None:
    """summary.json, the tables, the figures and RUNS_AUDIT.md."""
    write_json(out / "summary.json", summary(found))
    write_tables(found, out)
    write_atomic(out / PAGE, page(found, write_figures(found, out)))


def page(found: Analysis, figures: Sequence[str]) -> str:
    """The page, with links to the figures that were drawn."""
    biased = [run for run in found.runs if run.measured and _verdict(run.measured) == "LABEL-BIASED"]
    known = f"`{found.freeze}`, {found.freeze_items} items" if found.freeze_items else markdown(found.freeze)
    lines = [
        "# Audit of runs",
        "",
        f"Made {found.generated}. {len(found.runs)} runs, {len(found.errors)} errors, {len(biased)} label-biased.",
        f"Freeze of the canonical set: {known}.",
        "",
        "## Results",
        "",
        "Values with 95% intervals; NA is undefined. Rows in italics are shortcuts that know no system.",
        "",
        as_markdown(table_rows(found)),
        *(f"![{name}]({name})" for name in figures),
        "",
        "## Checks",
        "",
        "| run | check | | found |",
        "|---|---|---|---|",
    ]
    for run in found.runs:
        for check in (*run.integrity, *run.acceptance):
            verdict = "pass" if check.passed else "FAIL"
            lines.append(f"| {markdown(run.run_id)} | {markdown(check.name)} | {verdict} | {markdown(check.told)} |")
    lines += ["", *_comparisons(found), *(line for run in found.runs for line in _families(run)), *_shortcuts(found)]
    return "\n".join(lines) + "\n"


def _verdict(measured: Measured) -> object:
    return measured.estimates["bias"].also.get("verdict") if "bias" in measured.estimates else None


def _comparisons(found: Analysis) -> list[str]:
    if not found.comparisons:
        return []
    lines = [
        "## Runs on the same items",
        "",
        "Second minus first. p of the paired test on right answers, and Holm's over all pairs.",
        "",
        "| first | second | items | balanced accuracy | MCC | p | p (Holm) |",
        "|---|---|---:|---|---|---|---|",
    ]
    for pair in found.comparisons:
        names = f"{markdown(pair.first)} | {markdown(pair.second)} | {pair.items}"
        tests = " | ".join("NA" if p is None else f"{p:.2g}" for p in (pair.p, pair.adjusted))
        lines.append(f"| {names} | {_shown(pair.balanced_accuracy)} | {_shown(pair.mcc)} | {tests} |")
    return [*lines, ""]


def _families(run: RunRow) -> list[str]:
    if run.measured is None:
        return []
    lines = [
        f"## {markdown(run.run_id)} by family and split",
        "",
        f"Intervals are clustered by {run.measured.clustered_by}. \\* marks fewer than {LOW_SUPPORT} items.",
        "",
        "| | N | coverage | balanced accuracy | MCC | TPR | TNR | bias |",
        "|---|---:|---|---|---|---|---|---|",
    ]
    for name, one in (*run.families.items(), *((f"split {name}", one) for name, one in run.splits.items())):
        few = r"\*" if one.total < LOW_SUPPORT else ""
        cells = [_shown(one.estimates[key]) if key in one.estimates else "NA" for key in ("balanced_accuracy", "mcc")]
        rates = [number(one.value(key), 3) for key in ("tpr", "tnr")]
        bias = f"{number(one.value('bias'), 3)} {_verdict(one) or ''}"
        head = f"{markdown(name)}{few} | {one.total} | {number(one.value('coverage'), 3)}"
        lines.append(f"| {head} | {' | '.join((*cells, *rates, bias))} |")
    return [*lines, ""]


def _shortcuts(found: Analysis) -> list[str]:
    if not found.baselines:
        return []
    lines = ["## Shortcuts by family", "", "| items | shortcut | family | balanced accuracy |", "|---|---|---|---|"]
    for base in found.baselines:
        for entry in base.shortcuts:
            head = f"| {markdown(base.items)} | {entry.name} |"
            if entry.note:
                lines.append(f"{head} | {markdown(entry.note)} |")
            lines += [f"{head} {markdown(name)} | {_shown(value)} |" for name, value in entry.families.items()]
    return [*lines, ""]


def _shown(estimate: Estimate) -> str:
    if estimate.value is None:
        return "NA"
    interval = "" if estimate.lo is None or estimate.hi is None else f" [{estimate.lo:.3f}, {estimate.hi:.3f}]"
    return f"{estimate.value:.3f}{interval}"
