"""Figures of estimates with their intervals, one below the other: rates of a run, differences, rankings.

Differences and rankings are for a single and for a double column of a paper. Rows are values first, then marks; the
same rows give the same bytes. Nothing rests on colour: what survives the correction is a filled mark, and the tier and
the ranks of a model are written beside it.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from perpend.report.compare_contrasts import RunContrast
from perpend.report.style import drawable, drawable_rows, save
from perpend.report.tables import with_ends
from perpend.stats.ranking import RankedModel, Ranking
from perpend.types import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTHS = {"single": 3.3, "double": 6.8}
"""Inches of a single and of a double column."""
DIFFERENCES, RANKING = "differences", "ranking"
_MOST, _MOST_RATES = 60, 40
_ROW, _SMALL, _LABEL, _TITLE = 0.2, 6.0, 7.0, 8.0
_MARK, _BAND = "#0072B2", "0.94"


def write_forest(rows: Sequence[RunContrast], title: str, folder: Path, margin: float | None = None) -> list[Path]:
    """Write figures/differences_single and _double, each as PNG and PDF, below a folder."""
    return save_widths(lambda width: draw_differences(rows, title, width, margin), DIFFERENCES, folder)


def save_widths(draw: Callable[[float], Figure], name: str, folder: Path) -> list[Path]:
    """Write figures/NAME_single and _double, each as PNG and PDF, below a folder."""
    paths: list[Path] = []
    for column, width in WIDTHS.items():
        paths += save(draw(width), folder / "figures" / f"{name}_{column}")
    return paths


def _panels(width: float, heights: Sequence[float], more: float) -> tuple[Figure, list[Axes]]:
    """A figure with one plot below the other, and `more` inches for what is written around them."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    figure = Figure(figsize=(width, sum(heights) + more), layout=ConstrainedLayoutEngine(w_pad=0.1))
    return figure, figure.subplots(len(heights), 1, squeeze=False, height_ratios=heights).ravel().tolist()


def _letters(width: float) -> int:
    """How many letters of a title fit."""
    return max(int(width * 72 / (0.56 * _TITLE)), 20)


def _span(axis: Axes, place: int, one: Estimate | None, scale: float, *, thick: bool = False) -> None:
    """The interval, where there is one."""
    if one is not None and one.lo is not None and one.hi is not None:
        (line,) = axis.plot([scale * one.lo, scale * one.hi], [place, place], color=_MARK, linewidth=1.2)
        if thick:
            line.set(linewidth=2.6, solid_capstyle="butt")


def _beside(axis: Axes, texts: Sequence[str]) -> None:
    """A text to the right of each row."""
    right = axis.secondary_yaxis("right")
    right.set_yticks(range(len(texts)), texts, fontsize=_SMALL)
    right.tick_params(length=0)


def draw_intervals(title: str, name: str, all_rows: Sequence[tuple[str, Estimate]]) -> Figure:
    """The first 40 shares from top to bottom, each with its interval and n; an undefined one says NA.

    `name` is that of the axis.
    """
    from matplotlib.figure import Figure

    rows = all_rows[:_MOST_RATES]
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
    axes.set_xlabel(name, fontsize=9)
    more = f" (first {_MOST_RATES} of {len(all_rows)})" if len(all_rows) > _MOST_RATES else ""
    axes.set_title(drawable(title, 90) + more, fontsize=10, loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def draw_differences(rows: Sequence[RunContrast], title: str, width: float, margin: float | None = None) -> Figure:
    """Shares in percentage points; other numbers, in their own units, on an axis of their own below.

    A margin is a band around 0: what lies in it does not matter.
    """
    shown = rows[:_MOST]
    groups = [own for own in ([r for r in shown if r.is_share], [r for r in shown if not r.is_share]) if own]
    figure, axes = _panels(width, [_ROW * len(own) + 0.45 for own in groups], 0.6)
    for axis, own in zip(axes, groups, strict=True):
        _differences(axis, own, width)
        if margin is not None:
            limit = 100.0 * margin if own[0].is_share else margin
            axis.axvspan(-limit, limit, facecolor="0.9", edgecolor="0.6", linestyle="--", linewidth=0.6, zorder=0)
    more = f" (the first {_MOST} of {len(rows)})" if len(rows) > _MOST else ""
    figure.suptitle("\n".join(textwrap.wrap(drawable(title, 110) + more, _letters(width))), fontsize=_TITLE)
    words = "Second minus first, 95% intervals; filled: differs after Holm's correction"
    if margin is not None:
        size = f"{100 * margin:.4g} points" if shown and shown[0].is_share else f"{margin:.4g}"
        words += f"; band: the margin, ±{size}; thick: 90% intervals, as equivalence is tested"
    figure.supxlabel("\n".join(textwrap.wrap(words, _letters(width))), fontsize=_SMALL)
    return figure


def _differences(axis: Axes, rows: Sequence[RunContrast], width: float) -> None:
    is_share = rows[0].is_share
    scale, is_wide = 100.0 if is_share else 1.0, width >= WIDTHS["double"]
    axis.axvline(0.0, color="0.6", linewidth=0.8)
    for place, row in enumerate(rows):
        d = row.difference
        if d.value is None:
            axis.text(0.0, place, " NA", va="center", ha="left", fontsize=_SMALL, color="0.35")
            continue
        _span(axis, place, d, scale)
        _span(axis, place, row.within, scale, thick=True)
        face = _MARK if row.is_detected else "white"
        axis.plot([scale * d.value], [place], marker="o", color=_MARK, markerfacecolor=face, markersize=4)
    longest, size = (44, _LABEL) if is_wide else (32, _SMALL)
    axis.set_yticks(range(len(rows)), drawable_rows([row.label for row in rows], longest), fontsize=size)
    axis.set_ylim(len(rows) - 0.4, -0.6)
    axis.set_xlabel("difference, percentage points" if is_share else "difference", fontsize=_LABEL)
    axis.grid(visible=True, axis="x", color="0.92", linewidth=0.6)
    axis.tick_params(axis="x", labelsize=_SMALL)
    if is_wide:  # the numbers themselves, where there is room
        _beside(axis, [_signed(row.difference, scale) for row in rows])


def _signed(d: Estimate, scale: float) -> str:
    if d.value is None:
        return "NA"
    places = 0 if scale > 1.0 else 3
    ends = "" if d.lo is None or d.hi is None else f" [{scale * d.lo:.{places}f}, {scale * d.hi:.{places}f}]"
    value = f"{scale * d.value:+.{places}f}"
    value = value if float(value) else value[1:]
    return f"{value}{ends}  n={d.n}".replace("-", "\N{MINUS SIGN}")


def draw_rankings(panels: Sequence[tuple[str, Ranking]], width: float) -> Figure:
    """One panel for each ranking; shares in percent. Of many models and rankings the first."""
    shown: list[tuple[str, Ranking]] = []
    for title, ranking in panels:
        if not shown or sum(min(len(own.models), _MOST) for _, own in shown) + len(ranking.models) <= _MOST:
            shown.append((title, ranking))
    heights = [_ROW * min(len(ranking.models), _MOST) + 0.55 for _, ranking in shown]
    figure, axes = _panels(width, heights, 0.45)
    is_wide, across = width >= WIDTHS["double"], _letters(width)
    for axis, (title, ranking) in zip(axes, shown, strict=True):
        _ranking(axis, ranking, is_wide=is_wide)
        # From the axis there is room to the right in a wide figure, to the left, above the names, in a narrow one.
        lines = textwrap.wrap(drawable(title, 90), int((0.6 if is_wide else 0.74) * across))
        axis.set_title("\n".join(lines), fontsize=_TITLE, loc="left" if is_wide else "right")
    if all(_is_share(ranking) for _, ranking in shown):
        low = min(axis.get_xlim()[0] for axis in axes)
        for axis in axes:
            axis.set_xlim(low, 103.0)
    words = (
        "Beside each model its tier and the ranks that it can have. Intervals and ranks hold for all at once; models "
        "of one tier (band) are not told apart"
    )
    left_out = len(panels) - len(shown)
    words += f"; {left_out} more not drawn" if left_out else ""
    figure.supxlabel("\n".join(textwrap.wrap(words, int(across * _TITLE / _SMALL))), fontsize=_SMALL)
    return figure


def _ranking(axis: Axes, ranking: Ranking, *, is_wide: bool) -> None:
    models = ranking.by_tier()[:_MOST]
    is_share = _is_share(ranking)
    scale = 100.0 if is_share else 1.0
    for place, model in enumerate(models):
        mean = model.mean
        if model.tier is not None and model.tier % 2 == 0:
            axis.axhspan(place - 0.5, place + 0.5, color=_BAND, linewidth=0, zorder=0)
        if mean.value is None:
            continue
        _span(axis, place, mean, scale)
        axis.plot([scale * mean.value], [place], marker="o", color=_MARK, markersize=4)
    names = _names(models, 40 if is_wide else 26)
    size = (_LABEL if is_wide else _SMALL) * (0.8 if any("\n" in name for name in names) else 1.0)
    axis.set_yticks(range(len(models)), names, fontsize=size, linespacing=0.95)
    axis.set_ylim(len(models) - 0.5, -0.5)
    axis.set_xlabel("mean, %" if is_share else "mean", fontsize=_LABEL)
    axis.grid(visible=True, axis="x", color="0.88", linewidth=0.6)
    axis.tick_params(axis="x", labelsize=_SMALL)
    _beside(axis, [_tier(model, scale, is_wide=is_wide) for model in models])
    if len(ranking.models) > _MOST:
        axis.set_ylabel(f"the first {_MOST} of {len(ranking.models)}", fontsize=_SMALL)


def _names(models: Sequence[RankedModel], line: int) -> list[str]:
    """The names, long ones on two lines; those that come to the same with their number in the table."""
    short = [drawable(model.name, 2 * line - 6) for model in models]
    clear = [f"{n}. {name}" if short.count(name) > 1 else name for n, name in enumerate(short, 1)]
    return ["\n".join(textwrap.wrap(name, line)) for name in clear]


def _is_share(ranking: Ranking) -> bool:
    ends = [end for m in ranking.models for end in (m.mean.value, m.mean.lo, m.mean.hi) if end is not None]
    return all(0.0 <= end <= 1.0 for end in ends)


def _tier(model: RankedModel, scale: float, *, is_wide: bool) -> str:
    """Tier and ranks and, where there is room, the numbers."""
    if model.mean.value is None:
        return "NA"
    ranks = f"{model.lowest}" if model.lowest == model.highest else f"{model.lowest}–{model.highest}"
    if not is_wide:
        return f"tier {model.tier} ({ranks})"
    numbers = with_ends(model.mean, 0 if scale > 1.0 else 3, scale=scale)
    return f"tier {model.tier}, rank {ranks}:  {numbers}  n={model.mean.n}"
