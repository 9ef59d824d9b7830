"""A figure of estimates with their intervals, one below the other: the rates of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perpend.report.style import drawable, drawable_rows
from perpend.types import Estimate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST = 40


@dataclass(frozen=True, slots=True)
class Intervals:
    """What the figure shows: labelled estimates of shares on one axis."""

    title: str
    axis: str
    rows: tuple[tuple[str, Estimate], ...]


def draw_intervals(shown: Intervals) -> Figure:
    """The first 40 estimates from top to bottom, each with its interval and n; an undefined one says NA."""
    from matplotlib.figure import Figure

    rows: Sequence[tuple[str, Estimate]] = shown.rows[:_MOST]
    figure = Figure(figsize=(6.8, max(0.32 * len(rows) + 1.2, 1.8)), layout="constrained")
    axes = figure.subplots()
    for place, (_, one) in enumerate(rows):
        if one.value is None:
            axes.annotate("NA", (0.0, place), xycoords=("axes fraction", "data"), va="center", fontsize=8)
            continue
        if one.lo is not None and one.hi is not None:
            axes.plot([one.lo, one.hi], [place, place], color="#30526f", linewidth=1.4)
        axes.plot([one.value], [place], marker="o", markersize=5, color="#30526f")
    for place, (_, one) in enumerate(rows):
        text = f"n = {one.n}"
        axes.annotate(text, (1.01, place), xycoords=("axes fraction", "data"), va="center", fontsize=8)
    axes.set_xlim(-0.02, 1.02)
    axes.set_yticks(range(len(rows)), drawable_rows([label for label, _ in rows], 60), fontsize=8)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlabel(shown.axis, fontsize=9)
    more = f" (first {_MOST} of {len(shown.rows)})" if len(shown.rows) > _MOST else ""
    axes.set_title(drawable(shown.title, 90) + more, fontsize=10, loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    return figure
