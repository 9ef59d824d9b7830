"""Figures of a look inside: the lens as a heat map, the shift in log-odds by condition. Values first, then drawing."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from perpend.canon import JSON, as_object
from perpend.ledger.looks import Look
from perpend.report.style import drawable, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh
    from matplotlib.colors import Colormap, Normalize
    from matplotlib.figure import Figure

FloatArray: TypeAlias = npt.NDArray[np.float64]

_ROLES = ("target", "decoy")
_MARKS = (("#0072B2", "o"), ("#D55E00", "s"))
_NA_GREY = "0.85"


class Interval(NamedTuple):
    """An estimate as a figure shows it; None is undefined."""

    value: float | None
    lo: float | None
    hi: float | None


@dataclass(frozen=True, slots=True)
class LensMap:
    """The mean log10 probability of the first token of target and decoy: `values` by role, layer, condition.

    `counts` are the trials of each condition: those whose two first tokens differ, for otherwise the lens cannot tell
    the answers apart. nan where there is none.
    """

    title: str
    layers: tuple[int, ...]
    conditions: tuple[str, ...]
    counts: tuple[int, ...]
    values: FloatArray


@dataclass(frozen=True, slots=True)
class Shifts:
    """The shift in log-odds of each condition against the control, by sums and by means per token, in nats."""

    title: str
    control: str
    conditions: tuple[str, ...]
    total: tuple[Interval, ...]
    per_token: tuple[Interval, ...]


def lens_map(look: Look) -> LensMap:
    """The lens of all trials of a look, averaged within each condition."""
    condition = {row["trial"]: str(row["condition"]) for row in look.rows("answers")}
    names = tuple(dict.fromkeys(condition.values()))
    logprobs: dict[tuple[str, JSON, str], list[float]] = defaultdict(list)
    layers: dict[int, None] = {}
    for row in look.rows("lens"):
        layer, sides = row["layer"], [as_object(row.get(role)) for role in _ROLES]
        if not isinstance(layer, int):
            continue
        layers[layer] = None
        if len({side.get("id") for side in sides if side}) < len(_ROLES):
            continue
        for role, side in zip(_ROLES, sides, strict=True):
            logprob = side.get("logprob")
            if isinstance(logprob, float):
                logprobs[role, layer, condition[row["trial"]]].append(logprob / math.log(10.0))
    values = np.array(
        [
            [
                [float(np.mean(cell)) if (cell := logprobs[role, layer, name]) else math.nan for name in names]
                for layer in layers
            ]
            for role in _ROLES
        ]
    )
    counts = tuple(max((len(logprobs["target", layer, name]) for layer in layers), default=0) for name in names)
    title = f"Logit lens at the answer position: {look.model}"
    return LensMap(title, tuple(layers), names, counts, values.reshape(len(_ROLES), len(layers), len(names)))


def shift_rows(look: Look) -> Shifts:
    """The shifts of a look, in the order of the conditions."""
    order = dict.fromkeys(str(row["condition"]) for row in look.rows("answers"))
    total, per_token = (as_object(look.estimates.get(kind)) for kind in ("log_odds", "log_odds_per_token"))
    names = tuple(name for name in order if name in total)
    control = str(look.estimates.get("control"))
    return Shifts(
        f"Pressure as a shift in log-odds: {look.model}",
        control,
        names,
        tuple(_interval(total[name]) for name in names),
        tuple(_interval(per_token.get(name)) for name in names),
    )


def _interval(estimate: JSON) -> Interval:
    numbers = [as_object(estimate).get(key) for key in ("value", "lo", "hi")]
    return Interval(*(float(number) if isinstance(number, int | float) else None for number in numbers))


def draw_lens(shown: LensMap) -> Figure:
    """Three grids, layers upwards and conditions across: target, decoy, and the decoy minus the target."""
    import matplotlib as mpl
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure

    rows, columns = len(shown.layers), len(shown.conditions)
    figure = Figure(figsize=(3 * max(0.75 * columns, 1.9) + 2.4, max(0.19 * rows, 1.2) + 1.9), layout="constrained")
    axes = figure.subplots(1, 3, sharey=True).ravel().tolist()
    ahead = shown.values[1] - shown.values[0]
    least = float(np.nanmin(shown.values)) if not np.isnan(shown.values).all() else -1.0
    most = float(np.nanmax(np.abs(ahead))) if not np.isnan(ahead).all() else 1.0
    share, difference = Normalize(least, 0.0), Normalize(-(most or 1.0), most or 1.0)
    shades = mpl.colormaps["viridis"], mpl.colormaps["RdBu_r"]
    _cells(axes[0], "first token of the target", shown.values[0], share, shades[0])
    level = _cells(axes[1], "first token of the decoy", shown.values[1], share, shades[0])
    beyond = _cells(axes[2], "decoy \N{MINUS SIGN} target", ahead, difference, shades[1])
    names = [f"{drawable(name, 20)}, n = {count}" for name, count in zip(shown.conditions, shown.counts, strict=True)]
    for axis in axes:
        axis.set_xticks(np.arange(columns) + 0.5, names, fontsize=8, rotation=35, ha="right", rotation_mode="anchor")
        axis.set_yticks(np.arange(rows) + 0.5, [str(layer) for layer in shown.layers], fontsize=8)
    axes[0].set_ylabel("after layer", fontsize=9)
    for image, beside, name in ((level, axes[1], "mean log10 probability"), (beyond, axes[2], "difference")):
        bar = figure.colorbar(image, ax=beside, shrink=0.8, pad=0.03, aspect=30)
        bar.set_label(name, fontsize=8)
        bar.ax.tick_params(labelsize=8)
    figure.suptitle(drawable(shown.title, 80), fontsize=11)
    return figure


def _cells(axis: Axes, title: str, values: FloatArray, norm: Normalize, colours: Colormap) -> QuadMesh:
    """One grid, every cell with its number in black or white, whichever stands out; NA is grey."""
    image = axis.pcolormesh(np.ma.masked_invalid(values), cmap=colours, norm=norm, edgecolors="white", linewidth=0.5)
    axis.patch.set(facecolor=_NA_GREY, edgecolor="0.7", hatch="////")  # shows through undefined cells
    axis.set_title(title, fontsize=10)
    axis.tick_params(length=0)
    for (row, column), value in np.ndenumerate(values):
        text, colour = "NA", "black"
        if not math.isnan(value):
            red, green, blue, _ = colours(norm(value))
            colour = "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "white"
            text = f"{value:.1f}".replace("-0.0", "0.0").replace("-", "\N{MINUS SIGN}")
        axis.text(column + 0.5, row + 0.5, text, ha="center", va="center", fontsize=7, color=colour, in_layout=False)
    return image


def draw_shifts(shown: Shifts) -> Figure:
    """One row per condition, one plot per measure: the shift with its 95% interval, 0 marked; NA where undefined."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, max(0.42 * len(shown.conditions), 0.8) + 1.5), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True).ravel().tolist()
    measures = (("sum over tokens, nats", shown.total), ("mean per token, nats", shown.per_token))
    for axis, (name, intervals), (colour, marker) in zip(axes, measures, _MARKS, strict=True):
        axis.axvline(0.0, color="0.6", linewidth=0.8)
        for place, interval in enumerate(intervals):
            if interval.value is None:
                axis.text(0.0, place, " NA", va="center", ha="left", fontsize=7, color="0.35")
                continue
            if interval.lo is not None and interval.hi is not None:
                axis.plot([interval.lo, interval.hi], [place, place], color=colour, linewidth=1.6)
            axis.plot([interval.value], [place], marker=marker, color=colour, markersize=6, linestyle="none")
        axis.set_xlabel(name, fontsize=9)
        axis.grid(visible=True, axis="x", color="0.92", linewidth=0.6)
        axis.tick_params(labelsize=8)
    axes[0].set_yticks(range(len(shown.conditions)), [drawable(name) for name in shown.conditions], fontsize=9)
    axes[0].set_ylim(len(shown.conditions) - 0.4, -0.6)
    figure.suptitle(drawable(shown.title, 80), fontsize=11)
    figure.supxlabel(
        f"shift of log p(decoy) \N{MINUS SIGN} log p(target) against {drawable(shown.control)}, 95% intervals",
        fontsize=9,
    )
    return figure


def write_inside_figures(look: Look, folder: Path) -> list[Path]:
    """Draw both figures as PNG and PDF and return their paths. A look without a lens gets no heat map."""
    paths = save(draw_shifts(shift_rows(look)), folder / "log_odds_shift")
    lens = lens_map(look)
    return paths + (save(draw_lens(lens), folder / "lens") if lens.layers else [])
