"""Figures of the conformity study: values first, then drawing. Every drawing function takes plain values.

Colours are safe for colour-blind readers; every cell carries its number, every line its own marker, so nothing rests
on colour alone. The same values give the same bytes.
"""

from __future__ import annotations

import itertools
import math
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from perpend.canon import portable_name
from perpend.measure.study import FigureOf, Metric
from perpend.measure.table import FloatArray
from perpend.report.style import drawable
from perpend.studies.conformity.tables import Results, folder_of
from perpend.types import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Scale: TypeAlias = Literal["share", "difference", "count"]

FOREST, LINES = "pressure_effects_forest", "opinion_wrong_answer_agreement"
_ACROSS, _TITLE = 3, 110
_NA_GREY = "0.85"
# Okabe and Ito's colours with a marker and a dash each: distinct in grey, too.
_LINES = (
    ("#000000", "o", "-"),
    ("#D55E00", "s", "--"),
    ("#0072B2", "^", "-."),
    ("#009E73", "D", ":"),
    ("#CC79A7", "v", (0, (5, 1))),
    ("#E69F00", "P", (0, (3, 1, 1, 1))),
)
_MEASURES = {
    "override": ("truth_override", "Truth override: P(wrong under {} | right under control)"),
    "rescue": ("truth_rescue", "Truth rescue: P(right under {} | wrong under control)"),
    "flip": ("wrong_answer_flip", "Wrong-answer flip: P(endorses under {} | does not under control)"),
}


@dataclass(frozen=True, slots=True)
class Panels:
    """One panel for each variant: `values` by variant, row (a topic or a condition), temperature; nan is undefined."""

    title: str
    variants: tuple[str, ...]
    rows: tuple[str, ...]
    temperatures: tuple[float, ...]
    values: FloatArray
    scale: Scale = "share"


@dataclass(frozen=True, slots=True)
class ForestRow:
    """One variant under one pressure: its effect, and what it overrides beyond the retest (None: no retest)."""

    label: str
    series: int
    effect: Estimate
    excess: Estimate | None


@dataclass(frozen=True, slots=True)
class Forest:
    """Rows from top to bottom, and the name of each series of markers (a pressure)."""

    title: str
    rows: tuple[ForestRow, ...]
    series: tuple[str, ...]


def figures(results: Results) -> Iterator[FigureOf]:
    """Every figure: by each rule version the forest plot, the heat maps of the reference, the opinion lines."""
    for rule in results.rules:
        folder = folder_of(rule)
        yield FigureOf(f"{folder}{FOREST}", partial(draw_forest, forest(results, rule)))
        if "factual" in results.kinds:
            for name, drawing in heatmaps(results, rule):
                yield FigureOf(f"{folder}{name}", partial(draw_heatmaps, drawing))
        if "opinion" in results.kinds:
            yield FigureOf(f"{folder}{LINES}", partial(draw_lines, opinion_lines(results, rule)))


def forest(results: Results, rule: str) -> Forest:
    """The values of the forest plot: each effect with its interval, and the override beyond the retest."""
    pressures = results.conditions.pressures
    rows = []
    for row in results.rows("pressure_effect", rule):
        beyond = results.one("conditional_rate_excess", rule, **row.where, measure="override")
        label = f"{row.where['model']}, {results.short(row)}"
        rows.append(ForestRow(label, pressures.index(row.where["condition"]), row.estimate, beyond))
    title = f"What pressure does to factual error, by rule {rule} (95% intervals, clustered by item)"
    return Forest(title, tuple(rows), tuple(map(results.conditions.short, pressures)))


def panels(
    results: Results, title: str, rows: tuple[str, tuple[str, ...]], metrics: Iterable[Metric], scale: Scale = "share"
) -> Panels:
    """The values of some metrics by variant, row and temperature; `rows` are the key of the rows and its values."""
    axes = {"model": results.variants, rows[0]: rows[1], "temperature": results.temperatures}
    values = np.full([len(names) for names in axes.values()], np.nan)
    for metric in metrics:
        shown = metric.estimate.n if scale == "count" else metric.estimate.value
        if shown is not None:
            values[tuple(names.index(metric.where[key]) for key, names in axes.items())] = shown
    return Panels(title, results.variants, rows[1], tuple(map(float, results.temperatures)), values, scale)


def heatmaps(results: Results, rule: str) -> Iterator[tuple[str, Panels]]:
    """(file name, panels) of every heat map of the reference, on factual items."""
    conditions = results.conditions
    topics = tuple(dict.fromkeys(row.where["topic"] for row in results.rows("factual_error", rule)))

    def drawing(title: str, metrics: Iterable[Metric], scale: Scale = "share") -> Panels:
        return panels(results, f"{title} (rule {rule})", ("topic", topics), metrics, scale)

    control = results.rows("factual_error", rule, condition=conditions.control)
    yield "factual_control_error_rate_heatmaps", drawing("Error rate under control", control)
    for pressure in conditions.pressures:
        name = conditions.short(pressure)
        title = f"Pressure effect: error under {name} minus error under control"
        deltas = results.rows("error_delta", rule, condition=pressure)
        yield portable_name(f"factual_pressure_effect_{name}_heatmaps"), drawing(title, deltas, "difference")
    for measure, pressure in itertools.product(_MEASURES, conditions.pressures):
        name = conditions.short(pressure)
        stem, title = _MEASURES[measure]
        title = title.format(name)
        cells = results.rows("conditional_cell", rule, measure=measure, condition=pressure)
        yield portable_name(f"factual_{stem}_{name}_heatmaps"), drawing(title, cells)
        counted = drawing(f"Denominators of {title}", cells, "count")
        yield portable_name(f"factual_{stem}_{name}_n_items_heatmaps"), counted


def opinion_lines(results: Results, rule: str) -> Panels:
    """Endorsement of the decoy on opinion items against temperature, one line for each condition."""
    conditions = (results.conditions.control, *results.conditions.pressures)
    metrics = [row for row in results.rows("opinion_endorsement", rule) if row.where["condition"] in conditions]
    title = f"Opinion items: share of answers that endorse the planted answer (rule {rule})"
    lines = panels(results, title, ("condition", conditions), metrics)
    return replace(lines, rows=tuple(map(results.conditions.short, conditions)))


def _title(figure: Figure, text: str) -> None:
    """The title, broken into as many lines as the figure's width needs."""
    across = max(int(figure.get_figwidth() * 11), 20)  # about 11 characters of 11 points to the inch
    figure.suptitle("\n".join(textwrap.wrap(drawable(text, _TITLE), across)), fontsize=11)


def _grid(variants: Sequence[str], width: float, height: float) -> tuple[Figure, list[Axes]]:
    """A figure with a titled plot for each variant, three across, wide enough for the titles."""
    from matplotlib.figure import Figure

    titles = [drawable(variant) for variant in variants]
    width = max(width, 0.095 * max(map(len, titles)) + 0.2)
    across = min(_ACROSS, len(variants))
    down = math.ceil(len(variants) / across)
    figure = Figure(figsize=(width * across + 2.0, height * down + 0.5), layout="constrained")
    axes = figure.subplots(down, across, squeeze=False).ravel().tolist()
    for unused in axes[len(variants) :]:
        unused.remove()
    for axis, title in zip(axes, titles, strict=False):
        axis.set_title(title, fontsize=10)
    return figure, axes[: len(variants)]


def draw_heatmaps(panels: Panels) -> Figure:
    """Annotated cells, topics down, temperatures across; NA is grey."""
    import matplotlib as mpl
    from matplotlib.colors import Normalize

    rows, columns = len(panels.rows), len(panels.temperatures)
    figure, axes = _grid(panels.variants, max(0.52 * columns + 0.5, 2.4), max(0.34 * rows + 0.7, 1.4))
    known = panels.values[~np.isnan(panels.values)]
    largest = float(np.abs(known).max()) if len(known) else 1.0
    largest = largest or 1.0  # all cells 0: any scale shows that
    ends = {"share": (0.0, 1.0), "difference": (-largest, largest), "count": (0.0, largest)}[panels.scale]
    colours = mpl.colormaps["RdBu_r" if panels.scale == "difference" else "YlGnBu"]
    norm = Normalize(*ends)
    for place, axis in enumerate(axes):
        shown = np.ma.masked_invalid(panels.values[place])
        image = axis.pcolormesh(shown, cmap=colours, norm=norm, edgecolors="white", linewidth=0.8)
        axis.patch.set(facecolor=_NA_GREY, edgecolor="0.7", hatch="////")  # shows through undefined cells
        axis.invert_yaxis()
        axis.set_xticks(np.arange(columns) + 0.5, [f"{t:g}" for t in panels.temperatures], fontsize=9)
        axis.set_yticks(np.arange(rows) + 0.5, [drawable(topic) for topic in panels.rows], fontsize=9)
        if place % _ACROSS:
            axis.set_yticklabels([])
        axis.tick_params(length=0)
        axis.set_xlabel("temperature", fontsize=9)
        for row, column in itertools.product(range(rows), range(columns)):
            value = float(panels.values[place, row, column])
            text, colour = _cell(value, panels.scale, colours(norm(value)))
            centre = column + 0.5, row + 0.5
            axis.text(*centre, text, ha="center", va="center", fontsize=8, color=colour, in_layout=False)
    bar = figure.colorbar(image, ax=axes, shrink=0.8, pad=0.01, fraction=0.03, aspect=30)
    bar.ax.tick_params(labelsize=8)
    _title(figure, panels.title)
    return figure


def _cell(value: float, scale: Scale, background: Sequence[float]) -> tuple[str, str]:
    """What a cell says, in black or white, whichever stands out from its colour."""
    if math.isnan(value):
        return "NA", "black"
    red, green, blue = background[:3]
    colour = "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "white"
    text = {"share": f"{value:.2f}", "difference": f"{value:+.2f}", "count": f"{value:.0f}"}[scale]
    text = "0.00" if text in ("+0.00", "-0.00") else text
    return text.replace("-", "\N{MINUS SIGN}"), colour


def draw_lines(lines: Panels) -> Figure:
    """One plot per variant, one line per condition, 0 to 1.1; what is undefined is a gap."""
    figure, axes = _grid(lines.variants, 2.9, 2.2)
    for place, axis in enumerate(axes):
        for number, condition in enumerate(lines.rows):
            colour, marker, dash = _LINES[number % len(_LINES)]
            axis.plot(
                lines.temperatures, lines.values[place, number], color=colour, marker=marker, linestyle=dash,
                markerfacecolor=colour if number < len(_LINES) else "white", markersize=5, linewidth=1.3,
                label=drawable(condition), clip_on=False, zorder=3,
            )  # fmt: skip
        axis.set_ylim(0.0, 1.1)
        axis.set_xticks(lines.temperatures, [f"{t:g}" for t in lines.temperatures])
        axis.tick_params(labelsize=8)
        axis.grid(visible=True, color="0.9", linewidth=0.6)
        axis.set_xlabel("temperature", fontsize=8)
        if place % _ACROSS == 0:
            axis.set_ylabel("share endorsing", fontsize=8)
    handles, names = axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=min(len(names), 4), fontsize=8, frameon=False)
    _title(figure, lines.title)
    return figure


def draw_forest(forest: Forest) -> Figure:
    """Effects with their 95% intervals on the left; on the right the override beyond the retest, where there is one."""
    from matplotlib.figure import Figure

    beside = any(row.excess is not None for row in forest.rows)
    height = max(0.3 * len(forest.rows) + 1.5, 2.4)
    figure = Figure(figsize=(10.0 if beside else 6.5, height), layout="constrained")
    axes = figure.subplots(1, 2 if beside else 1, sharey=True, squeeze=False).ravel().tolist()
    parts = [("pressure effect on error,\npercentage points", [row.effect for row in forest.rows])]
    if beside:
        empty = Estimate(None, 0)
        title = "override beyond the control–control retest,\npercentage points"
        parts.append((title, [row.excess or empty for row in forest.rows]))
    for axis, (title, intervals) in zip(axes, parts, strict=True):
        axis.axvline(0.0, color="0.6", linewidth=0.8)
        for place, (row, interval) in enumerate(zip(forest.rows, intervals, strict=True)):
            _draw_interval(axis, place, row.series, interval)
        axis.set_xlabel(title, fontsize=9)
        axis.grid(visible=True, axis="x", color="0.92", linewidth=0.6)
        axis.tick_params(labelsize=8)
    axes[0].set_yticks(range(len(forest.rows)), [drawable(row.label, _TITLE // 2) for row in forest.rows], fontsize=8)
    axes[0].set_ylim(len(forest.rows) - 0.4, -0.6)
    _legend(figure, forest.series)
    _title(figure, forest.title)
    return figure


def _draw_interval(axis: Axes, place: int, series: int, interval: Estimate) -> None:
    colour, marker, _ = _LINES[1 + series % (len(_LINES) - 1)]
    if interval.value is None:
        axis.text(0.0, place, " NA", va="center", ha="left", fontsize=7, color="0.35")
        return
    if interval.lo is not None and interval.hi is not None:
        axis.plot([100 * interval.lo, 100 * interval.hi], [place, place], color=colour, linewidth=1.6)
    axis.plot([100 * interval.value], [place], marker=marker, color=colour, markersize=6, linestyle="none")


def _legend(figure: Figure, series: Sequence[str]) -> None:
    from matplotlib.lines import Line2D

    marks = [_LINES[1 + number % (len(_LINES) - 1)] for number in range(len(series))]
    handles = [Line2D([], [], color=colour, marker=marker, linewidth=1.6) for colour, marker, _ in marks]
    names = [drawable(name) for name in series]
    figure.legend(handles, names, loc="outside lower center", ncols=min(len(names), 4), fontsize=8, frameon=False)
