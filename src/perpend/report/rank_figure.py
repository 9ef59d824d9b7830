"""Rankings as a figure: every mean with its interval, tier by tier, tiers as bands; for both widths of a paper.

Nothing rests on colour: the tier and the ranks of each model are written beside it.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from perpend.report.compare_forest import WIDTHS
from perpend.report.style import drawable
from perpend.report.tables import with_ends
from perpend.stats.ranking import RankedModel, Ranking

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FIGURE = "ranking"
_MOST = 60
_ROW, _SMALL, _LABEL, _TITLE = 0.2, 6.0, 7.0, 8.0
_MARK, _BAND = "#0072B2", "0.94"


def draw_rankings(panels: Sequence[tuple[str, Ranking]], width: float) -> Figure:
    """One panel for each ranking; shares in percent. Of many models and rankings the first."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    shown: list[tuple[str, Ranking]] = []
    for title, ranking in panels:
        if not shown or sum(min(len(own.models), _MOST) for _, own in shown) + len(ranking.models) <= _MOST:
            shown.append((title, ranking))
    heights = [_ROW * min(len(ranking.models), _MOST) + 0.55 for _, ranking in shown]
    figure = Figure(figsize=(width, sum(heights) + 0.45), layout=ConstrainedLayoutEngine(w_pad=0.1))
    axes = figure.subplots(len(shown), 1, squeeze=False, height_ratios=heights).ravel().tolist()
    is_wide = width >= WIDTHS["double"]
    across = max(int(width * 72 / (0.56 * _TITLE)), 20)
    for axis, (title, ranking) in zip(axes, shown, strict=True):
        _panel(axis, ranking, is_wide=is_wide)
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


def _panel(axis: Axes, ranking: Ranking, *, is_wide: bool) -> None:
    models = ranking.by_tier()[:_MOST]
    is_share = _is_share(ranking)
    scale = 100.0 if is_share else 1.0
    for place, model in enumerate(models):
        mean = model.mean
        if model.tier is not None and model.tier % 2 == 0:
            axis.axhspan(place - 0.5, place + 0.5, color=_BAND, linewidth=0, zorder=0)
        if mean.value is None:
            continue
        if mean.lo is not None and mean.hi is not None:
            axis.plot([scale * mean.lo, scale * mean.hi], [place, place], color=_MARK, linewidth=1.2)
        axis.plot([scale * mean.value], [place], marker="o", color=_MARK, markersize=4)
    names = _names(models, 40 if is_wide else 26)
    size = (_LABEL if is_wide else _SMALL) * (0.8 if any("\n" in name for name in names) else 1.0)
    axis.set_yticks(range(len(models)), names, fontsize=size, linespacing=0.95)
    axis.set_ylim(len(models) - 0.5, -0.5)
    axis.set_xlabel("mean, %" if is_share else "mean", fontsize=_LABEL)
    axis.grid(visible=True, axis="x", color="0.88", linewidth=0.6)
    axis.tick_params(axis="x", labelsize=_SMALL)
    right = axis.secondary_yaxis("right")
    right.set_yticks(range(len(models)), [_words(model, scale, is_wide=is_wide) for model in models], fontsize=_SMALL)
    right.tick_params(length=0)
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


def _words(model: RankedModel, scale: float, *, is_wide: bool) -> str:
    """Tier and ranks and, where there is room, the numbers."""
    if model.mean.value is None:
        return "NA"
    ranks = f"{model.lowest}" if model.lowest == model.highest else f"{model.lowest}–{model.highest}"
    if not is_wide:
        return f"tier {model.tier} ({ranks})"
    numbers = with_ends(model.mean, 0 if scale > 1.0 else 3, scale=scale)
    return f"tier {model.tier}, rank {ranks}:  {numbers}  n={model.mean.n}"
