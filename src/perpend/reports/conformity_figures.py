"""Figures of the conformity study: values first, then drawing. Every drawing function takes plain values.

Colours are safe for colour-blind readers; every cell carries its number, every line its own marker, so nothing rests
on colour alone. The same values give the same bytes.
"""

from __future__ import annotations

import io
import itertools
import math
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from perpend.canon import portable_name, write_atomic
from perpend.inert import terminal
from perpend.reports.conformity_tables import conditional_counts, error_rates, opinion_counts
from perpend.reports.conformity_trials import Rule, Trials, short_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FloatArray: TypeAlias = npt.NDArray[np.float64]
Scale: TypeAlias = Literal["share", "difference", "count"]

_ACROSS = 3
_LONGEST, _TITLE = 40, 110
_NA_GREY = "0.85"
# Okabe and Ito's colours with a marker and a dash each: told apart in grey, too.
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
    """One grid of cells for each variant: `values` by variant, topic, temperature; nan is undefined, shown as NA."""

    title: str
    variants: tuple[str, ...]
    topics: tuple[str, ...]
    temperatures: tuple[float, ...]
    values: FloatArray
    scale: Scale


@dataclass(frozen=True, slots=True)
class Lines:
    """One plot for each variant, one line for each condition: `values` by variant, condition, temperature."""

    title: str
    variants: tuple[str, ...]
    conditions: tuple[str, ...]
    temperatures: tuple[float, ...]
    values: FloatArray


@dataclass(frozen=True, slots=True)
class Interval:
    """A point with its ends; None is undefined."""

    value: float | None
    lo: float | None
    hi: float | None


@dataclass(frozen=True, slots=True)
class ForestRow:
    """One variant under one pressure: its effect, and what it overrides beyond the retest (None: no retest)."""

    label: str
    series: int
    effect: Interval
    excess: Interval | None


@dataclass(frozen=True, slots=True)
class Forest:
    """Rows from top to bottom, and the name of each series of markers (a pressure)."""

    title: str
    rows: tuple[ForestRow, ...]
    series: tuple[str, ...]


def heatmaps(trials: Trials, rule: Rule) -> Iterator[tuple[str, Panels]]:
    """(file name, panels) of every heat map of the reference, on factual items."""
    factual = [k for k in range(len(trials.topics)) if (~trials.opinion & (trials.topic == k)).any()]
    topics = tuple(trials.topics[k] for k in factual)

    def panels(title: str, values: npt.NDArray[np.float64], scale: Scale) -> Panels:
        by_variant = values.transpose(1, 2, 0)[:, factual, :]
        return Panels(f"{title} (rule {rule})", trials.variants, topics, trials.temperatures, by_variant, scale)

    _, errors = error_rates(trials, rule)
    control = errors[:, :, trials.conditions.index(trials.control), :]
    yield "factual_control_error_rate_heatmaps", panels("Error rate under control", control, "share")
    for pressure in trials.pressures:
        name = short_name(pressure, trials.pressures)
        rise = errors[:, :, trials.conditions.index(pressure), :] - control
        title = f"Pressure effect: error under {name} minus error under control"
        yield portable_name(f"factual_pressure_effect_{name}_heatmaps"), panels(title, rise, "difference")
    for measure, pressure in itertools.product(_MEASURES, trials.pressures):
        name = short_name(pressure, trials.pressures)
        stem, title = _MEASURES[measure]
        denominator, numerator = conditional_counts(trials, rule, measure, pressure)
        with np.errstate(invalid="ignore"):
            share = numerator / denominator
        title = title.format(name)
        yield portable_name(f"factual_{stem}_{name}_heatmaps"), panels(title, share, "share")
        counted = panels(f"Denominators of {title}", denominator.astype(np.float64), "count")
        yield portable_name(f"factual_{stem}_{name}_n_items_heatmaps"), counted


def opinion_lines(trials: Trials, rule: Rule) -> Lines:
    """Endorsement of the decoy on opinion items against temperature."""
    n, agreed, _ = opinion_counts(trials, rule)
    with np.errstate(invalid="ignore"):
        share = (agreed / n).transpose(1, 2, 0)
    shown = [trials.control, *trials.pressures]
    places = [trials.conditions.index(name) for name in shown]
    names = tuple(short_name(name, trials.pressures) for name in shown)
    title = f"Opinion items: share of answers that endorse the planted answer (rule {rule})"
    return Lines(title, trials.variants, names, trials.temperatures, share[:, places, :])


def drawable(text: str, longest: int = _LONGEST) -> str:
    """The text as one line of a figure: no mathematics, no control characters, no glyph that the font lacks.

    Of a long one the middle is left out.
    """
    from matplotlib.font_manager import FontProperties, findfont, get_font

    glyphs = get_font(findfont(FontProperties())).get_charmap()
    clean = " ".join(terminal(text).split())
    if len(clean) > longest:  # names of models often differ at their ends only
        clean = f"{clean[: longest // 2]}…{clean[len(clean) - (longest - 1) // 2 :]}"
    return "".join(ch if ord(ch) in glyphs else "\N{WHITE SQUARE}" for ch in clean).replace("$", r"\$")


def save(figure: Figure, stem: Path) -> list[Path]:
    """Write PNG at 300 dpi and PDF, with no time and no version in them."""
    metadata: dict[str, dict[str, str | None]] = {
        "png": {"Software": None},
        "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    }
    # The layout is found once: left on, every file would be drawn twice, to find it again.
    figure.draw_without_rendering()
    figure.set_layout_engine(None)
    paths = []
    for kind, facts in metadata.items():
        held = io.BytesIO()
        figure.savefig(held, format=kind, dpi=300, metadata=facts)
        paths.append(stem.parent / f"{stem.name}.{kind}")
        write_atomic(paths[-1], held.getvalue())
    return paths


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

    rows, columns = len(panels.topics), len(panels.temperatures)
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
        axis.set_yticks(np.arange(rows) + 0.5, [drawable(topic) for topic in panels.topics], fontsize=9)
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


def draw_lines(lines: Lines) -> Figure:
    """One plot a variant, one line a condition, 0 to 1.1; what is undefined is a gap."""
    figure, axes = _grid(lines.variants, 2.9, 2.2)
    for place, axis in enumerate(axes):
        for number, condition in enumerate(lines.conditions):
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
        empty = Interval(None, None, None)
        told = "override beyond the control–control retest,\npercentage points"
        parts.append((told, [row.excess or empty for row in forest.rows]))
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


def _draw_interval(axis: Axes, place: int, series: int, interval: Interval) -> None:
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
