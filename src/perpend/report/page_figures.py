"""The figure of the page: numbers as marks with their intervals, narrow enough to be read on a phone."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from perpend.canon import write_atomic
from perpend.report.style import drawable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's colours, each with a marker of its own: told apart in grey, too.
_SERIES = (("#0072B2", "o"), ("#D55E00", "s"), ("#009E73", "D"))
_WIDTH, _DPI = 4.6, 220


@dataclass(frozen=True, slots=True)
class Mark:
    """A value and the ends of its interval; None is undefined and drawn as NA."""

    value: float | None
    lo: float | None = None
    hi: float | None = None


@dataclass(frozen=True, slots=True)
class Panel:
    """Marks over the same rows: `series` maps a name to one mark for each row. `line` is a value to compare with."""

    title: str
    rows: Sequence[str]
    series: Mapping[str, Sequence[Mark]]
    line: float | None = None


def draw_marks(panels: Sequence[Panel], path: Path) -> None:
    """Draw panels below each other on a scale from 0 to 1 and write the PNG; the same values give the same bytes."""
    from matplotlib.figure import Figure

    heights = [len(panel.rows) + 0.8 for panel in panels]
    named = max(len(panel.series) for panel in panels) > 1
    size = (_WIDTH, 0.34 * sum(heights) + 0.45 * len(panels) + (0.35 if named else 0.0))
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(len(panels), 1, squeeze=False, height_ratios=heights).ravel().tolist()
    for axis, panel in zip(axes, panels, strict=True):
        _draw(axis, panel)
    if named:
        handles, names = axes[0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside lower center", ncols=len(names), fontsize=8.5, frameon=False)
    png = io.BytesIO()
    figure.savefig(png, format="png", dpi=_DPI, metadata={"Software": None})
    write_atomic(path, png.getvalue())


def _draw(axis: Axes, panel: Panel) -> None:
    if panel.line is not None:
        axis.axvline(panel.line, color="0.55", linestyle="--", linewidth=1.0, zorder=1)
    step = 0.26
    for number, (name, marks) in enumerate(panel.series.items()):
        colour, marker = _SERIES[number % len(_SERIES)]
        shift = step * (number - (len(panel.series) - 1) / 2)
        for place, mark in enumerate(marks):
            at = place + shift
            if mark.value is None:
                axis.text(0.01, at, "NA", va="center", fontsize=8, color=colour)
                continue
            if mark.lo is not None and mark.hi is not None:
                axis.plot([mark.lo, mark.hi], [at, at], color=colour, linewidth=1.8, solid_capstyle="butt", zorder=2)
            axis.plot([mark.value], [at], marker=marker, color=colour, markersize=6, clip_on=False, zorder=3)
        axis.plot([], [], marker=marker, color=colour, linewidth=1.8, markersize=6, label=drawable(name))
    axis.set_title(drawable(panel.title, 60), fontsize=9.5)
    axis.set_yticks(range(len(panel.rows)), [drawable(row) for row in panel.rows], fontsize=9)
    # A little room beyond 0 and 1, so that a mark there covers no name.
    axis.set(xlim=(-0.03, 1.03), ylim=(len(panel.rows) - 0.4, -0.6))
    axis.tick_params(labelsize=9, length=2.5)
    axis.tick_params(axis="y", length=0)
    axis.grid(visible=True, axis="x", color="0.9", linewidth=0.7)
    axis.set_axisbelow(True)
    axis.spines[["top", "right", "left"]].set_visible(False)
