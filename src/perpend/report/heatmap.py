"""Heat maps with a number in every cell, several panels to a figure.

A figure is one plot that is laid out here, in inches: matplotlib's own layout of six panels with 36 cells each takes a
second, this a tenth of it, and 34 of them are drawn at a time.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from perpend.report.style import drawable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap, Normalize
    from matplotlib.figure import Figure
    from matplotlib.path import Path

_CELL, _LABEL, _TITLE = 6.0, 6.5, 8.0  # points
_LINE, _GAP, _EDGE, _WIDEST = 0.115, 0.14, 0.06, 0.75  # inches
_TILT = math.radians(40.0)
_NA_GREY = "0.85"
_PLAIN = re.compile(r"[\w .,+=-]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class Grid:
    """Panels of cells: `values` by panel, row and column (nan is undefined), `texts` by (panel and row), column.

    A text may have several lines. `ends` are those of the colour scale, `ticks` its labels from the lowest.
    """

    title: str
    panels: tuple[str, ...]
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: npt.NDArray[np.float64]
    texts: tuple[tuple[str, ...], ...]
    across: str
    ends: tuple[float, float]
    ticks: tuple[str, ...]
    colours: str


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where everything is, in inches from the top left."""

    size: tuple[float, float]
    title: tuple[str, ...]
    left: float
    top: float
    cell: tuple[float, float]
    pitch: tuple[float, float]
    across: int
    tilted: bool

    def corner(self, panel: int) -> tuple[float, float]:
        """The top left of a panel's cells."""
        down, along = divmod(panel, self.across)
        return self.left + along * self.pitch[0], self.top + down * self.pitch[1]


@cache
def _step(character: str) -> float:
    """How far the next character is from this one, at a size of 1 inch."""
    from matplotlib.textpath import TextPath

    mark = "|"
    pair, alone = (TextPath((0.0, 0.0), text, size=1.0).get_extents().x1 for text in (character + mark, mark))
    return float(pair - alone)


@cache
def _shape(character: str) -> Path:
    """The outline of a character that has one, at a size of 1 inch."""
    from matplotlib.textpath import TextPath

    return TextPath((0.0, 0.0), character, size=1.0)


def _length(line: str, size: float) -> float:
    return sum(map(_step, line)) * size / 72.0


def _wide(texts: Sequence[str], size: float) -> float:
    return max((_length(line, size) for text in texts for line in text.split("\n")), default=0.0)


def _fitted(names: Sequence[str], size: float, room: float) -> list[str]:
    """Names as they can be drawn, the middle of long ones left out until all fit."""
    for longest in (40, 32, 26, 20, 16, 12, 8):
        shown = [drawable(name, longest) for name in names]
        if _wide(shown, size) <= room:
            break
    return shown


def _layout(grid: Grid, rows: Sequence[str], width: float) -> _Layout:
    texts = [text for line in grid.texts for text in line]
    lines = max((text.count("\n") + 1 for text in texts), default=1)
    left = _wide(rows, _LABEL) + 0.1 + _EDGE
    bar = _wide(grid.ticks, _CELL) + 0.36
    narrowest = max(_wide(texts, _CELL) + 0.05, 0.24)
    columns = len(grid.columns)
    least = max(columns * narrowest, min(_wide([drawable(name) for name in grid.panels], _LABEL), 1.3))
    room = width - left - bar
    across = max(min(int((room + _GAP) / (least + _GAP)), len(grid.panels)), 1)
    across = math.ceil(len(grid.panels) / math.ceil(len(grid.panels) / across))  # rows of the same length
    pitch = max((room + _GAP) / across, columns * narrowest + _GAP)
    width = max(width, left + across * pitch - _GAP + bar)
    cell = min((pitch - _GAP) / columns, _WIDEST), lines * _LINE + 0.09
    pitch = min(pitch, max(cell[0] * columns, least) + 4 * _GAP)
    labels = _wide([drawable(name) for name in grid.columns], _CELL)
    tilted = labels > cell[0] - 0.03
    below = (math.sin(_TILT) * labels if tilted else 0.0) + 0.13 + (0.15 if grid.across else 0.0)
    wrapped = textwrap.wrap(drawable(grid.title, 110), max(int((width - 0.2) * 72 / (0.57 * _TITLE)), 16))
    top = 0.1 + 0.135 * len(wrapped) + 0.24
    tall = len(rows) * cell[1] + below + 0.3
    down = math.ceil(len(grid.panels) / across)
    size = (width, max(top + down * tall - 0.24, top + _bar_tall(grid, cell) + _EDGE))
    used = left + across * pitch - _GAP + 0.1 + bar
    left += max(width - used, 0.0) / 2  # few narrow panels are in the middle
    return _Layout(size, tuple(wrapped), left, top, cell, (pitch, tall), across, tilted)


def draw_grid(grid: Grid, width: float) -> Figure:
    """The figure, `width` inches wide; wider only where one panel does not fit."""
    import matplotlib as mpl
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure

    rows = _fitted(grid.rows, _LABEL, 0.34 * width)
    at = _layout(grid, rows, width)
    figure = Figure(figsize=at.size)
    axis = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axis.set_axis_off()
    axis.set_xlim(0.0, at.size[0])
    axis.set_ylim(at.size[1], 0.0)
    norm, colours = Normalize(*grid.ends), mpl.colormaps[grid.colours]
    shades = colours(norm(np.nan_to_num(grid.values)))
    # Black or white, whichever stands out; an undefined cell is light grey.
    is_bright = (shades[..., :3] @ (0.299, 0.587, 0.114) > 0.5) | np.isnan(grid.values)
    for number, line in enumerate(at.title):
        _write(axis, (at.size[0] / 2, 0.13 + 0.135 * number), line, _TITLE, ha="center")
    names = [drawable(name) for name in grid.columns]
    variants = _fitted(grid.panels, _LABEL, at.pitch[0] - 0.05)
    cells: list[tuple[tuple[float, float], float]] = []
    small: _Small = []
    for number, variant in enumerate(variants):
        x, y = at.corner(number)
        _write(axis, (x, y - 0.08), variant, _LABEL)
        if number % at.across == 0:
            for row, label in enumerate(rows):
                _write(axis, (x - 0.05, y + (row + 0.5) * at.cell[1]), label, _LABEL, ha="right")
        bottom = y + len(rows) * at.cell[1]
        _column_labels(axis, at, names, (x, bottom), small)
        if grid.across:
            foot = at.corner(number)[1] + at.pitch[1] - 0.37
            _write(axis, (x + len(names) * at.cell[0] / 2, foot), grid.across, _CELL, ha="center")
        for row in range(len(rows)):
            for column in range(len(names)):
                corner = x + column * at.cell[0], y + row * at.cell[1]
                cells.append((corner, float(grid.values[number, row, column])))
                text = grid.texts[number * len(rows) + row][column]
                small.append((corner, text, "black" if is_bright[number, row, column] else "white"))
    _fill(axis, cells, at.cell, colours, norm)
    _print(figure, axis, small, at.cell)
    _bar(axis, at, grid, colours, norm)
    return figure


def _write(axis: Axes, place: tuple[float, float], text: str, size: float, *, ha: str = "left") -> None:
    axis.text(*place, text, fontsize=size, ha=ha, va="center")


_Small = list[tuple[tuple[float, float], str, str]]


def _column_labels(axis: Axes, at: _Layout, names: Sequence[str], corner: tuple[float, float], small: _Small) -> None:
    for column, name in enumerate(names):
        x = corner[0] + column * at.cell[0]
        if at.tilted:
            axis.text(x + at.cell[0] / 2 + 0.04, corner[1] + 0.04, name, fontsize=_CELL, rotation=40, ha="right",
                      va="top", rotation_mode="anchor")  # fmt: skip
        elif _PLAIN.fullmatch(name):
            small.append(((x, corner[1] + 0.09 - at.cell[1] / 2), name, "black"))
        else:
            _write(axis, (x + at.cell[0] / 2, corner[1] + 0.09), name, _CELL, ha="center")


def _fill(axis: Axes, cells: Sequence[tuple[tuple[float, float], float]], size: tuple[float, float], colours: Colormap,
          norm: Normalize) -> None:  # fmt: skip
    """The cells themselves; an undefined one is grey and hatched."""
    from matplotlib.collections import PolyCollection

    w, h = size
    boxes = [[(x, y), (x + w, y), (x + w, y + h), (x, y + h)] for (x, y), _ in cells]
    values = np.array([value for _, value in cells])
    known = ~np.isnan(values)
    for chosen, style in (
        (known, {"array": values[known], "cmap": colours, "norm": norm, "edgecolors": "white"}),
        (~known, {"facecolors": _NA_GREY, "edgecolors": "0.7", "hatch": "//////"}),
    ):
        polygons = [box for box, is_one in zip(boxes, chosen, strict=True) if is_one]
        if polygons:
            axis.add_collection(PolyCollection(polygons, linewidths=0.6, **style), autolim=False)


def _print(figure: Figure, axis: Axes, texts: _Small, cell: tuple[float, float]) -> None:
    """Texts in the middle of their cells, as outlines: one collection per character, ten times as fast as texts."""
    from matplotlib.collections import PathCollection
    from matplotlib.transforms import Affine2D

    size = _CELL / 72.0
    height = size * float(_shape("0").get_extents().y1)
    places: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for (x, y), text, ink in texts:
        lines = text.split("\n")
        for number, line in enumerate(lines):
            right = x + (cell[0] - _length(line, _CELL)) / 2
            base = y + cell[1] / 2 + (number - (len(lines) - 1) / 2) * _LINE + height / 2
            for character in line:
                if character != " ":
                    places.setdefault((character, ink), []).append((right, base))
                right += _step(character) * size
    scale = Affine2D().scale(size) + figure.dpi_scale_trans  # outlines are in inches, offsets in the plot's
    for (character, ink), offsets in places.items():
        shapes = PathCollection(
            [_shape(character)], offsets=offsets, offset_transform=axis.transData, facecolors=ink, linewidths=0.0
        )
        shapes.set_transform(scale)
        axis.add_collection(shapes, autolim=False)


def _bar_tall(grid: Grid, cell: tuple[float, float]) -> float:
    """As tall as the panels of one row, and never so short that its ticks touch."""
    return max(len(grid.rows) * cell[1], 0.9)


def _bar(axis: Axes, at: _Layout, grid: Grid, colours: Colormap, norm: Normalize) -> None:
    """The colour scale, at the right of the first row of panels."""
    tall = _bar_tall(grid, at.cell)
    left = at.left + at.across * at.pitch[0] - _GAP + 0.1 if len(grid.panels) >= at.across else at.left
    left = min(left, at.size[0] - 0.18 - _wide(grid.ticks, _CELL) - _EDGE)
    edges = np.linspace(at.top + tall, at.top, 65)
    shades = np.linspace(*grid.ends, 64)[:, None]
    axis.pcolormesh([left, left + 0.1], edges, shades, cmap=colours, norm=norm, linewidth=0, rasterized=True)
    for number, text in enumerate(grid.ticks):
        y = at.top + tall * (1.0 - number / (len(grid.ticks) - 1))
        _write(axis, (left + 0.14, y), text, _CELL)
    axis.set_xlim(0.0, at.size[0])
    axis.set_ylim(at.size[1], 0.0)
