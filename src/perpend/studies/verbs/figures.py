"""Figures of one checkpoint. Every drawing function takes values that its Numbers hold, and draws nothing else.

Nothing rests on colour alone: bars carry their n and interval as text, and marks differ in shape. The same values give
the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from perpend.measure.study import FigureOf, Metric, Numbers
from perpend.report.style import drawable
from perpend.report.tables import number
from perpend.stats.adversarial import LOW_SAMPLE
from perpend.studies.verbs.report import Slice, slices_of
from perpend.types import Estimate

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LONGEST = 32
_BLUE, _ORANGE = "#0072B2", "#D55E00"


def figures_of(numbers: Numbers, name: str, folder: str = "") -> tuple[FigureOf, ...]:
    """Every figure that the numbers of one checkpoint allow."""
    figures = []
    core, overall = (numbers.cite("accuracy", category=category) for category in ("core", "adversarial"))
    bins = [one.estimate for one in numbers.find("reliability", category="core")]
    if bins:
        ece = numbers.cite("ece", category="core")
        figures.append(FigureOf(f"{folder}reliability", partial(draw_reliability, bins, ece, name)))
    if overall.n:
        tricks = numbers.find("trick_accuracy")
        draw = partial(draw_adversarial, tricks, overall, name)
        figures.append(FigureOf(f"{folder}adversarial_by_category", draw))
    if cells := slices_of(numbers):
        figures.append(FigureOf(f"{folder}per_slice", partial(draw_slices, cells, core, name)))
    return tuple(figures)


def reliability_diagram(
    confidences: npt.ArrayLike, correct: npt.ArrayLike, n_bins: int = 10, out_path: str | Path = "reliability.png"
) -> None:
    """Write the lab's diagram as a PNG. The checkpoint in its title is the folder that it is written to."""
    from perpend.stats.bins import reliability
    from perpend.studies.verbs.metrics import bins

    path, diagram = Path(out_path), reliability(confidences, correct, n_bins)
    figure = draw_reliability(bins(diagram), Estimate(diagram.ece, diagram.n), path.resolve().parent.name)
    figure.savefig(path, dpi=300, metadata={"Software": None})


def draw_reliability(bins: Sequence[Estimate], ece: Estimate, name: str) -> Figure:
    """Accuracy against mean confidence of each bin with Wilson's interval, y = x, and the bin counts behind."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.6, 5.2), layout="constrained")
    axis = figure.subplots()
    counts = axis.twinx()
    axis.set_zorder(counts.get_zorder() + 1)  # the counts are behind the points
    axis.patch.set_visible(False)
    filled, empty = [one for one in bins if one.n], [one for one in bins if not one.n]
    counts.bar(
        [_at(one, "from") for one in filled], [one.n for one in filled],
        [_at(one, "to") - _at(one, "from") for one in filled],
        align="edge", color="0.88", edgecolor="0.65", linewidth=0.7, label="probes in the bin (right axis)",
    )  # fmt: skip
    if empty:
        centres = [(_at(one, "from") + _at(one, "to")) / 2.0 for one in empty]
        counts.plot(
            centres, [0.0] * len(centres), "x", color="0.35", markersize=6, clip_on=False, label="empty bin"
        )  # fmt: skip
    axis.plot([0.0, 1.0], [0.0, 1.0], linestyle="--", color="0.4", linewidth=1.0, label="perfectly calibrated, y = x")
    axis.errorbar(
        [_at(one, "confidence") for one in filled], [one.value or 0.0 for one in filled], _ends(filled), fmt="o-",
        color=_BLUE, ecolor=_BLUE, linewidth=1.2, elinewidth=1.0, capsize=2.5, markersize=5.5, clip_on=False,
        label="accuracy in the bin, 95% Wilson interval",
    )  # fmt: skip
    axis.set(xlim=(0.0, 1.0), ylim=(0.0, 1.0), xlabel="mean confidence", ylabel="accuracy")
    largest = max(one.n for one in bins)
    counts.set_ylim(0.0, 2.2 * largest)
    counts.set_yticks(sorted({0, round(largest / 2), largest}))
    counts.set_ylabel("probes in the bin", color="0.35", loc="bottom")
    counts.tick_params(colors="0.35")
    _legend(figure, axis, counts)
    title = f"Reliability — checkpoint={drawable(name, _LONGEST)}, ECE={number(ece.value)}, N={ece.n}"
    figure.suptitle(title, fontsize=10 if len(title) <= 62 else 8)  # 62 characters of 10 points fill the width
    return figure


def _at(one: Estimate, key: str) -> float:
    value = one.also.get(key)
    return value if isinstance(value, float) else 0.0


def _ends(intervals: Sequence[Estimate]) -> list[list[float]]:
    """How far each interval reaches below and above its value, as error bars want it."""
    known = [(one.value, one.lo, one.hi) for one in intervals]
    below = [0.0 if value is None or lo is None else value - lo for value, lo, _ in known]
    above = [0.0 if value is None or hi is None else hi - value for value, _, hi in known]
    return [below, above]


def _legend(figure: Figure, *axes: Axes) -> None:
    parts = [axis.get_legend_handles_labels() for axis in axes]
    handles, names = [h for part in parts for h in part[0]], [n for part in parts for n in part[1]]
    figure.legend(handles, names, loc="outside lower center", ncols=2, fontsize=8, frameon=False)


def draw_adversarial(tricks: Sequence[Metric], overall: Estimate, name: str) -> Figure:
    """One horizontal bar per trick: length is accuracy, colour is n, n and Wilson's interval beside it."""
    import matplotlib as mpl
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LinearSegmentedColormap, Normalize
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    rows = [(one.where["reason_code"], one.estimate) for one in tricks]
    figure = Figure(figsize=(7.4, max(0.42 * len(rows) + 1.7, 2.6)), layout="constrained")
    axis = figure.subplots()
    # From a light to a dark blue, and never white: a bar must be seen on paper.
    shades = LinearSegmentedColormap.from_list("n", mpl.colormaps["Blues"]([0.25, 0.95]))
    scale = Normalize(0.0, max(one.n for _, one in rows))
    for place, (_, one) in enumerate(rows):
        ends, hatch = [one.lo or 0.0, one.hi or 0.0], "////" if one.n < LOW_SAMPLE else None
        shade = shades(scale(one.n))
        axis.barh(place, one.value or 0.0, height=0.62, color=shade, edgecolor="black", linewidth=0.7, hatch=hatch)
        axis.plot(ends, [place, place], color="black", linewidth=3.2, solid_capstyle="butt")
        axis.plot(ends, [place, place], color="white", linewidth=1.2, solid_capstyle="butt")
        text = f"n={one.n}  [{ends[0]:.2f}, {ends[1]:.2f}]" + ("  low sample" if hatch else "")
        axis.text(1.025, place, text, transform=axis.get_yaxis_transform(), va="center", fontsize=8)
    axis.axvline(overall.value or 0.0, color=_ORANGE, linestyle="--", linewidth=1.2, label="all tricks")
    axis.set_yticks(range(len(rows)), [drawable(code, _LONGEST) for code, _ in rows], fontsize=9)
    axis.set(xlim=(0.0, 1.0), ylim=(len(rows) - 0.45, -0.55), xlabel="accuracy, 95% Wilson interval")
    axis.grid(visible=True, axis="x", color="0.92", linewidth=0.6)
    axis.set_axisbelow(True)
    axis.tick_params(axis="y", length=0)
    bar = figure.colorbar(
        ScalarMappable(scale, shades), ax=axis, fraction=0.04, pad=0.02, aspect=18, ticks=MaxNLocator(integer=True)
    )
    bar.set_label("probes (n)", fontsize=8)
    bar.ax.tick_params(labelsize=8)
    title = (
        f"Adversarial accuracy — checkpoint={drawable(name, _LONGEST)}, "
        f"{overall.also['k']}/{overall.n} right (dashed line)"
    )
    figure.suptitle(title, fontsize=10)
    return figure


def draw_slices(cells: Sequence[Slice], overall: Estimate, name: str) -> Figure:
    """Accuracy of every slice with its interval, a panel per tag; filled marks differ from the rest, corrected."""
    from matplotlib.figure import Figure

    groups = [(key, list(rows)) for key, rows in groupby(cells, key=lambda cell: cell.key)]
    heights = [len(rows) + 0.6 for _, rows in groups]
    figure = Figure(figsize=(6.4, 0.22 * sum(heights) + 0.3 * len(groups) + 1.3), layout="constrained")
    axes = figure.subplots(len(groups), 1, sharex=True, squeeze=False, height_ratios=heights).ravel().tolist()
    for axis, (key, rows) in zip(axes, groups, strict=True):
        if overall.value is not None:
            axis.axvline(overall.value, color="0.5", linestyle="--", linewidth=1.0)
        for place, cell in enumerate(rows):
            _draw_cell(axis, place, cell)
        axis.set_yticks(range(len(rows)), [drawable(cell.value, _LONGEST) for cell in rows], fontsize=8)
        axis.set_ylim(len(rows) - 0.4, -0.6)
        axis.set_ylabel(drawable(key, 20), fontsize=9)
        axis.grid(visible=True, axis="x", color="0.92", linewidth=0.6)
        axis.tick_params(labelsize=8)
    axes[-1].set(xlim=(0.0, 1.0))
    axes[-1].set_xlabel("accuracy, 95% Wilson interval (dashed: all core probes)", fontsize=9)
    figure.align_ylabels(axes)
    _slice_legend(figure)
    figure.suptitle(f"Accuracy by slice — checkpoint={drawable(name, _LONGEST)}, N={overall.n}", fontsize=10)
    return figure


def _draw_cell(axis: Axes, place: int, cell: Slice) -> None:
    one = cell.accuracy
    if one.value is None or one.lo is None or one.hi is None:
        return
    colour = _ORANGE if cell.differs else _BLUE
    axis.plot([one.lo, one.hi], [place, place], color=colour, linewidth=1.5, solid_capstyle="butt")
    marker, face = ("D", colour) if cell.differs else ("o", "white")
    axis.plot(
        [one.value], [place], marker=marker, color=colour, markerfacecolor=face, markersize=5.5, clip_on=False, zorder=3
    )  # fmt: skip
    text = f"n={one.n}" + (" low" if cell.low_sample else "")
    axis.text(1.025, place, text, transform=axis.get_yaxis_transform(), va="center", fontsize=7.5)


def _slice_legend(figure: Figure) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=_ORANGE, marker="D", markersize=5.5, label="differs from the rest, corrected"),
        Line2D(
            [], [], color=_BLUE, marker="o", markerfacecolor="white", markersize=5.5, label="no detectable difference"
        ),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=2, fontsize=8, frameon=False)
