"""The forest of a comparison: every difference with its interval, for a single and for a double column of a paper.

Rows are values first, then marks; the same rows give the same bytes. Nothing rests on colour: what survives the
correction is a filled mark, what does not an open one.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from perpend.report.compare_contrasts import RunContrast
from perpend.report.style import drawable, drawable_rows, save
from perpend.types import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTHS = {"single": 3.3, "double": 6.8}
"""Inches of a single and of a double column."""
NAME = "differences"
_MOST = 60
_ROW, _SMALL, _LABEL, _TITLE = 0.2, 6.0, 7.0, 8.0
_MARK = "#0072B2"


def draw_differences(rows: Sequence[RunContrast], title: str, width: float, margin: float | None = None) -> Figure:
    """Shares in percentage points; other numbers, in their own units, on an axis of their own below.

    A margin is a band around 0: what lies in it does not matter.
    """
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    shown = rows[:_MOST]
    groups = [own for own in ([r for r in shown if r.is_share], [r for r in shown if not r.is_share]) if own]
    heights = [_ROW * len(own) + 0.45 for own in groups]
    figure = Figure(figsize=(width, sum(heights) + 0.6), layout=ConstrainedLayoutEngine(w_pad=0.1))
    axes = figure.subplots(len(groups), 1, squeeze=False, height_ratios=heights).ravel().tolist()
    for axis, own in zip(axes, groups, strict=True):
        _panel(axis, own, width)
        if margin is not None:
            limit = 100.0 * margin if own[0].is_share else margin
            axis.axvspan(-limit, limit, facecolor="0.9", edgecolor="0.6", linestyle="--", linewidth=0.6, zorder=0)
    more = f" (the first {_MOST} of {len(rows)})" if len(rows) > _MOST else ""
    across = max(int(width * 72 / (0.56 * _TITLE)), 20)
    figure.suptitle("\n".join(textwrap.wrap(drawable(title, 110) + more, across)), fontsize=_TITLE)
    words = "Second minus first, 95% intervals; filled: differs after Holm's correction"
    if margin is not None:
        size = f"{100 * margin:.4g} points" if shown and shown[0].is_share else f"{margin:.4g}"
        words += f"; band: the margin, ±{size}; thick: 90% intervals, as equivalence is tested"
    figure.supxlabel("\n".join(textwrap.wrap(words, across)), fontsize=_SMALL)
    return figure


def _panel(axis: Axes, rows: Sequence[RunContrast], width: float) -> None:
    is_share = rows[0].is_share
    scale, is_wide = 100.0 if is_share else 1.0, width >= WIDTHS["double"]
    axis.axvline(0.0, color="0.6", linewidth=0.8)
    for place, row in enumerate(rows):
        d = row.difference
        if d.value is None:
            axis.text(0.0, place, " NA", va="center", ha="left", fontsize=_SMALL, color="0.35")
            continue
        if d.lo is not None and d.hi is not None:
            axis.plot([scale * d.lo, scale * d.hi], [place, place], color=_MARK, linewidth=1.2)
        w = row.within
        if w is not None and w.lo is not None and w.hi is not None:
            ends = [scale * w.lo, scale * w.hi]
            axis.plot(ends, [place, place], color=_MARK, linewidth=2.6, solid_capstyle="butt")
        face = _MARK if row.is_detected else "white"
        axis.plot([scale * d.value], [place], marker="o", color=_MARK, markerfacecolor=face, markersize=4)
    longest, size = (44, _LABEL) if is_wide else (32, _SMALL)
    axis.set_yticks(range(len(rows)), drawable_rows([row.label for row in rows], longest), fontsize=size)
    axis.set_ylim(len(rows) - 0.4, -0.6)
    axis.set_xlabel("difference, percentage points" if is_share else "difference", fontsize=_LABEL)
    axis.grid(visible=True, axis="x", color="0.92", linewidth=0.6)
    axis.tick_params(axis="x", labelsize=_SMALL)
    if is_wide:  # the numbers themselves, where there is room
        right = axis.secondary_yaxis("right")
        right.set_yticks(range(len(rows)), [_words(row.difference, scale) for row in rows], fontsize=_SMALL)
        right.tick_params(length=0)


def _words(d: Estimate, scale: float) -> str:
    if d.value is None:
        return "NA"
    places = 0 if scale > 1.0 else 3
    ends = "" if d.lo is None or d.hi is None else f" [{scale * d.lo:.{places}f}, {scale * d.hi:.{places}f}]"
    value = f"{scale * d.value:+.{places}f}"
    value = value if float(value) else value[1:]
    return f"{value}{ends}  n={d.n}".replace("-", "\N{MINUS SIGN}")


def write_forest(rows: Sequence[RunContrast], title: str, folder: Path, margin: float | None = None) -> list[Path]:
    """Write figures/differences_single and _double, each as PNG and PDF, below a folder."""
    return save_widths(lambda width: draw_differences(rows, title, width, margin), NAME, folder)


def save_widths(draw: Callable[[float], Figure], name: str, folder: Path) -> list[Path]:
    """Write figures/NAME_single and _double, each as PNG and PDF, below a folder."""
    paths: list[Path] = []
    for column, width in WIDTHS.items():
        paths += save(draw(width), folder / "figures" / f"{name}_{column}")
    return paths
