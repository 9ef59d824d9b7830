"""Drawing of the conformity study's figures: heat maps, lines, forests. Each takes plain values and a width in inches.

3.3 and 6.8 inches are the single and the double column of a paper; no letter is below 6 points at that size. Colours
are safe for colour-blind readers; every cell carries its number, every line its own marker, so nothing rests on colour
alone. The same values give the same bytes.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from perpend.measure.keys import FloatArray
from perpend.report.answer import counted
from perpend.report.heatmap import Grid, draw_grid
from perpend.report.style import drawable, drawable_rows
from perpend.types import Estimate

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Scale: TypeAlias = Literal["share", "difference", "count"]

SINGLE, DOUBLE = 3.3, 6.8
_SMALL, _LABEL, _TITLE = 6.0, 7.0, 8.0
_ACROSS, _LONGEST_TITLE = 3, 110
# Okabe and Ito's colours with a marker and a dash each: distinct in grey, too.
_LINES = (
    ("#000000", "o", "-"),
    ("#D55E00", "s", "--"),
    ("#0072B2", "^", "-."),
    ("#009E73", "D", ":"),
    ("#CC79A7", "v", (0, (5, 1))),
    ("#E69F00", "P", (0, (3, 1, 1, 1))),
)


@dataclass(frozen=True, slots=True)
class Panels:
    """One panel for each variant: `values` by variant, row (a topic or a condition) and column; nan is undefined.

    `counts` are the denominators, in the same places; `across` says what the columns are.
    """

    title: str
    variants: tuple[str, ...]
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: FloatArray
    scale: Scale = "share"
    across: str = "temperature"
    counts: FloatArray | None = None


@dataclass(frozen=True, slots=True)
class ForestPanel:
    """One measure of a forest plot: an Estimate for each row; None where there is none."""

    title: str
    estimates: tuple[Estimate | None, ...]


@dataclass(frozen=True, slots=True)
class Forest:
    """Rows from top to bottom with the series of each (a pressure), and the measures side by side."""

    title: str
    labels: tuple[str, ...]
    series_of: tuple[int, ...]
    series: tuple[str, ...]
    panels: tuple[ForestPanel, ...]


def draw_heatmaps(panels: Panels, width: float = DOUBLE) -> Figure:
    """Annotated cells, rows down, columns across; with counts, n in brackets in every cell. NA is grey and hatched."""
    texts = [
        [_cell(float(value), panels.scale) for value in row]
        for row in panels.values.reshape(-1, panels.values.shape[2])
    ]
    if panels.counts is not None:
        flat = panels.counts.reshape(-1, panels.values.shape[2])
        texts = [
            [f"{text}\n({n:.0f})" for text, n in zip(*both, strict=True)] for both in zip(texts, flat, strict=True)
        ]
    known = panels.values[~np.isnan(panels.values)]
    largest = float(np.abs(known).max()) if len(known) else 1.0
    largest = largest or 1.0  # all cells 0: any scale shows that
    ends = {"share": (0.0, 1.0), "difference": (-largest, largest), "count": (0.0, largest)}[panels.scale]
    ticks = tuple(_cell(float(value), panels.scale) for value in np.linspace(*ends, 5))
    colours = "RdBu_r" if panels.scale == "difference" else "YlGnBu"
    grid = Grid(
        panels.title, panels.variants, panels.rows, panels.columns, panels.values, tuple(map(tuple, texts)),
        across=panels.across, ends=ends, ticks=ticks, colours=colours,
    )  # fmt: skip
    return draw_grid(grid, width)


def _cell(value: float, scale: Scale) -> str:
    """What a cell says."""
    if math.isnan(value):
        return "NA"
    text = {"share": f"{value:.2f}", "difference": f"{value:+.2f}", "count": f"{value:.0f}"}[scale]
    return "0.00" if text in ("+0.00", "-0.00") else text.replace("-", "\N{MINUS SIGN}")


def _title(figure: Figure, text: str) -> None:
    """The title, broken into as many lines as the figure's width needs."""
    across = max(int(figure.get_figwidth() * 72 / (0.56 * _TITLE)), 20)
    figure.suptitle("\n".join(textwrap.wrap(drawable(text, _LONGEST_TITLE), across)), fontsize=_TITLE)


def draw_lines(lines: Panels, width: float = DOUBLE) -> Figure:
    """One plot per variant, one line per condition, 0 to 1.1; what is undefined is a gap."""
    from matplotlib.figure import Figure

    most = max(int(width / 2.2), 1)
    across = min(most, _ACROSS, len(lines.variants))
    down = math.ceil(len(lines.variants) / across)
    figure = Figure(figsize=(width * max(across / most, 0.5), 1.9 * down + 0.6), layout="constrained")
    axes = figure.subplots(down, across, squeeze=False).ravel().tolist()
    for unused in axes[len(lines.variants) :]:
        unused.remove()
    where = [float(name) for name in lines.columns]
    for place, (axis, variant) in enumerate(zip(axes, lines.variants, strict=False)):
        axis.set_title(drawable(variant, 28), fontsize=_LABEL)
        for number, condition in enumerate(lines.rows):
            colour, marker, dash = _LINES[number % len(_LINES)]
            axis.plot(
                where, lines.values[place, number], color=colour, marker=marker, linestyle=dash,
                markerfacecolor=colour if number < len(_LINES) else "white", markersize=3.5, linewidth=1.0,
                label=drawable(condition), clip_on=False, zorder=3,
            )  # fmt: skip
        axis.set_ylim(0.0, 1.1)
        axis.set_xticks(where, lines.columns)
        axis.tick_params(labelsize=_SMALL)
        axis.grid(visible=True, color="0.9", linewidth=0.5)
        axis.set_xlabel("temperature", fontsize=_SMALL)
        if place % across == 0:
            axis.set_ylabel("share endorsing", fontsize=_SMALL)
    handles, names = axes[0].get_legend_handles_labels()
    _put_legend(figure, handles, names)
    _title(figure, lines.title)
    return figure


def draw_forest(forest: Forest, width: float = DOUBLE) -> Figure:
    """Estimates with their 95% intervals, in points: measures side by side, or below each other in a single column."""
    from matplotlib.figure import Figure

    stacked, count = width < 5.0, len(forest.panels)
    height = 0.17 * len(forest.labels) + 0.55
    size = (width, height * (count if stacked else 1) + 0.6)
    figure = Figure(figsize=size, layout="constrained")
    shape = (count, 1) if stacked else (1, count)
    axes = figure.subplots(*shape, sharex=True, sharey=True, squeeze=False).ravel().tolist()
    labels = drawable_rows(forest.labels, 24 if stacked else 40)
    for axis, panel in zip(axes, forest.panels, strict=True):
        axis.axvline(0.0, color="0.6", linewidth=0.7)
        sizes = {_items(one) for one in panel.estimates if one is not None}
        for place, (series, one) in enumerate(zip(forest.series_of, panel.estimates, strict=True)):
            _draw_interval(axis, place, series, one)
            if len(sizes) > 1 and one is not None:
                at = axis.get_yaxis_transform()
                axis.text(1.01, place, f"n = {_items(one)}", transform=at, va="center", fontsize=_SMALL, color="0.3")
        common = f" (n = {counted(next(iter(sizes)), 'item')})" if len(sizes) == 1 else ""
        axis.set_title(f"{panel.title}{common}", fontsize=_LABEL)
        axis.set_yticks(range(len(labels)), labels)
        axis.set_ylim(len(labels) - 0.4, -0.6)
        axis.grid(visible=True, axis="x", color="0.92", linewidth=0.5)
        axis.tick_params(labelsize=_SMALL)
    for axis in axes[-1:] if stacked else axes:
        axis.set_xlabel("percentage points", fontsize=_SMALL)
    if len(forest.series) > 1:
        _legend(figure, forest.series)
    _title(figure, forest.title)
    return figure


def _items(one: Estimate) -> object:
    return one.also.get("n_clusters", one.n)


def _draw_interval(axis: Axes, place: int, series: int, one: Estimate | None) -> None:
    colour, marker, _ = _LINES[1 + series % (len(_LINES) - 1)]
    if one is None or one.value is None:
        axis.text(0.0, place, " NA", va="center", ha="left", fontsize=_SMALL, color="0.35")
        return
    if one.lo is not None and one.hi is not None:
        axis.plot([100 * one.lo, 100 * one.hi], [place, place], color=colour, linewidth=1.2)
    axis.plot([100 * one.value], [place], marker=marker, color=colour, markersize=4, linestyle="none")


def _legend(figure: Figure, series: Sequence[str]) -> None:
    from matplotlib.lines import Line2D

    marks = [_LINES[1 + number % (len(_LINES) - 1)] for number in range(len(series))]
    handles = [Line2D([], [], color=colour, marker=marker, linewidth=1.2, markersize=4) for colour, marker, _ in marks]
    _put_legend(figure, handles, [drawable(name) for name in series])


def _put_legend(figure: Figure, handles: Sequence[Artist], names: Sequence[str]) -> None:
    """Below the plots, in as many columns as the figure's width allows."""
    longest = max(map(len, names))
    across = max(min(int(figure.get_figwidth() * 72 / (0.62 * _SMALL * (longest + 6))), 4), 1)
    figure.legend(handles, names, loc="outside lower center", ncols=across, fontsize=_SMALL, frameon=False)
