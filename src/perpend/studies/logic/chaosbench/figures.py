"""The figures of analyze-runs, drawn from what summary.json holds: balanced accuracy with its interval, TPR, TNR."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from perpend.report.style import drawable
from perpend.studies.logic.chaosbench.analyze import Analysis
from perpend.studies.logic.metrics import Measured
from perpend.types import Estimate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAMES = ("balanced_accuracy.png", "tpr_tnr.png")
_RUN, _SHORTCUT = "#1f4e79", "#b5651d"


class Point(NamedTuple):
    """One run or shortcut: what the figures show of it."""

    label: str
    balanced: Estimate
    tpr: float | None
    tnr: float | None
    is_shortcut: bool


def points(analysis: Analysis) -> list[Point]:
    """Every run, or each of its strata, and shortcut with a defined balanced accuracy, runs first."""
    shown = []
    for run in analysis.runs:
        strata: list[tuple[str, Measured | None]] = [(f", {name}", one) for name, one in run.strata.items()]
        for what, measured in strata or [("", run.measured)]:
            if measured is None or "balanced_accuracy" not in measured.estimates:
                continue
            rates = (measured.value("tpr"), measured.value("tnr"))
            label = drawable(f"{run.run_id}{run.mark}{what}", 200)
            shown.append(Point(label, measured.estimates["balanced_accuracy"], *rates, False))
    for base in analysis.baselines:
        for entry in base.shortcuts:
            if not entry.note:
                rates = (entry.overall["tpr"].value, entry.overall["tnr"].value)
                label = drawable(f"{entry.name} ({base.items})", 200)
                shown.append(Point(label, entry.overall["balanced_accuracy"], *rates, True))
    return [point for point in shown if point.balanced.value is not None]


def write_figures(analysis: Analysis, out: Path) -> list[str]:
    """Draw what there is to draw, and return the names of the files."""
    shown = points(analysis)
    if not shown:
        return []
    out.mkdir(parents=True, exist_ok=True)
    for name, figure in zip(NAMES, (_balanced(shown), _rates(shown)), strict=True):
        figure.savefig(out / name, dpi=120, metadata={"Software": None})
    return list(NAMES)


def _balanced(shown: list[Point]) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 1.2 + 0.32 * len(shown)), layout="constrained")
    axes = figure.subplots()
    for place, point in enumerate(reversed(shown)):
        value, colour = point.balanced.value or 0.0, _SHORTCUT if point.is_shortcut else _RUN
        if point.balanced.lo is not None and point.balanced.hi is not None:
            axes.plot([point.balanced.lo, point.balanced.hi], [place, place], color=colour, linewidth=1.5)
        axes.plot([value], [place], marker="s" if point.is_shortcut else "o", color=colour, linestyle="none")
    axes.axvline(0.5, color="0.6", linewidth=1.0, linestyle=":")
    axes.set_yticks(range(len(shown)), [point.label for point in reversed(shown)], fontsize=8)
    axes.set_xlim(0.0, 1.0)
    axes.set_xlabel("balanced accuracy with its 95% interval")
    axes.set_title("squares: shortcuts that know no system; dotted: chance", fontsize=8, loc="left")
    return figure


def _rates(shown: list[Point]) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.0, 5.5 + 0.1 * len(shown)), layout="constrained")
    axes = figure.subplots()
    for number, point in enumerate(shown, 1):
        if point.tpr is None or point.tnr is None:
            continue
        colour = _SHORTCUT if point.is_shortcut else _RUN
        axes.plot([point.tnr], [point.tpr], marker="s" if point.is_shortcut else "o", color=colour, linestyle="none")
        axes.annotate(str(number), (point.tnr, point.tpr), textcoords="offset points", xytext=(4, 4), fontsize=8)
    axes.plot([0, 1], [1, 0], color="0.6", linewidth=1.0, linestyle=":")
    axes.set_xlim(-0.02, 1.02)
    axes.set_ylim(-0.02, 1.02)
    axes.set_xlabel("TNR")
    axes.set_ylabel("TPR")
    axes.set_title("\n".join(f"{n} {point.label}" for n, point in enumerate(shown, 1)), fontsize=6, loc="left")
    return figure
