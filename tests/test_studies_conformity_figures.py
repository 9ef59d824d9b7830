"""Drawing takes any values and any names, at the width of a paper's column."""

from __future__ import annotations

import struct
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from perpend.measure.study import FigureOf
from perpend.report.heatmap import _shape, _step
from perpend.report.style import drawable, save, save_all
from perpend.studies.conformity.drawing import (
    DOUBLE,
    SINGLE,
    Forest,
    ForestPanel,
    Panels,
    _cell,
    draw_forest,
    draw_heatmaps,
    draw_lines,
)
from perpend.types import Estimate

HOSTILE = "$\\frac{1$ 模型 \x1b[31m " + "very " * 30 + "long"
NAMES = ("base", "a-rather-long-name-of-a-model/that-nobody-wants-to-read:14b", HOSTILE)


def forest_of(names: tuple[str, ...]) -> Forest:
    one, few = Estimate(0.1, 40, 0.0, 0.2), Estimate(-0.3, 12, -0.6, 0.05)
    panels = (
        ForestPanel("Planted answers", tuple(one for _ in names)),
        ForestPanel("Wrong answers", (few, *(one for _ in names[1:]))),
        ForestPanel("Planted opinions", (None, *(Estimate(None, 0) for _ in names[1:]))),
    )
    return Forest("What pressure changes, by rule 2", names, tuple(range(len(names))), names, panels)


def panels_of(names: tuple[str, ...], columns: tuple[str, ...], *, counts: bool = False) -> Panels:
    values = np.linspace(0.0, 1.0, len(names) * 3 * len(columns)).reshape(len(names), 3, len(columns))
    values[0, 0, 0] = np.nan
    n = np.full_like(values, 1200.0) if counts else None
    return Panels(HOSTILE, names, ("math", HOSTILE, "general"), columns, values, across="temperature", counts=n)


FIGURES = {
    "forest": lambda width: draw_forest(forest_of(NAMES), width),
    "forest of one": lambda width: draw_forest(forest_of(NAMES[:1]), width),
    "heat maps": lambda width: draw_heatmaps(panels_of(NAMES, ("0", "0.2", "0.4", "0.6", "0.8", "1")), width),
    "many columns": lambda width: draw_heatmaps(panels_of(NAMES, tuple(f"{t / 10:g}" for t in range(15))), width),
    "conditions": lambda width: draw_heatmaps(panels_of(NAMES, ("control", "asch", HOSTILE), counts=True), width),
    "one cell": lambda width: draw_heatmaps(panels_of(NAMES[:1], ("0",)), width),
    "lines": lambda width: draw_lines(panels_of(NAMES, ("0", "0.5", "1")), width),
}


@pytest.mark.parametrize("width", [SINGLE, DOUBLE])
@pytest.mark.parametrize("name", FIGURES)
def test_every_letter_is_in_the_picture_and_can_be_read(name: str, width: float, tmp_path: Path) -> None:
    figure = FIGURES[name](width)
    paths = save(figure, tmp_path / "f")
    assert [path.suffix for path in paths] == [".png", ".pdf"]
    if name != "many columns":  # which do not fit: the figure is wider
        assert figure.get_figwidth() <= width + 0.01
    assert struct.unpack(">I", paths[0].read_bytes()[16:20])[0] == pytest.approx(300 * figure.get_figwidth(), abs=1)
    cut, small = problems(figure)
    assert not cut
    assert not small


def problems(figure: Figure) -> tuple[list[float], list[str]]:
    """How many inches what is drawn sticks out of the picture on each side, and texts below 6 points."""
    figure.draw_without_rendering()
    box, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
    cut = [inches for inches in (-box.x0, -box.y0, box.x1 - width, box.y1 - height) if inches > 0.01]
    shown = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]
    return cut, [text.get_text() for text in shown if text.get_fontsize() < 6.0]


def test_a_hostile_name_is_drawn_as_text() -> None:
    assert drawable(HOSTILE) == r"\$\frac{1\$ □□ \u001b[…very very very long"


@pytest.mark.parametrize(
    ("value", "scale", "text"),
    [
        (0.254, "share", "0.25"),
        (-0.254, "difference", "\N{MINUS SIGN}0.25"),
        (0.254, "difference", "+0.25"),
        (-0.001, "difference", "0.00"),
        (17.0, "count", "17"),
        (float("nan"), "share", "NA"),
    ],
)
def test_a_cell_says_its_number_and_an_undefined_one_says_na(value: float, scale: str, text: str) -> None:
    assert _cell(value, scale) == text  # type: ignore[arg-type]  # one of the three scales


def test_what_a_cell_says_is_in_the_picture() -> None:
    panels = Panels("t", ("m",), ("topic",), ("0",), np.full((1, 1, 1), 0.25), counts=np.full((1, 1, 1), 17.0))
    drawn = draw_heatmaps(panels).axes[0].collections
    shapes = {id(path): len(one.get_offsets()) for one in drawn for path in one.get_paths()}
    assert [shapes.get(id(_shape(character))) for character in "25.(17)"] == [1, 1, 1, 1, 1, 1, 1]
    assert _step("1") == pytest.approx(_step("7"))


def test_the_scale_of_differences_is_symmetric_about_0() -> None:
    values = np.array([[[0.1, -0.4, np.nan]]])
    panels = Panels("t", ("m",), ("topic",), ("0", "0.5", "1"), values, "difference")
    cells = draw_heatmaps(panels).axes[0].collections[0]
    assert cells.get_clim() == (-0.4, 0.4)


def test_any_number_of_variants_gets_a_panel_each() -> None:
    for count in (1, 2, 4, 7):
        names = tuple(f"m{n}" for n in range(count))
        panels = Panels("t", names, ("a", "b"), ("0", "1"), np.zeros((count, 2, 2)))
        texts = [text.get_text() for text in draw_heatmaps(panels).axes[0].texts]
        assert [text for text in texts if text in names] == list(names)


def some_lines() -> Figure:
    return draw_lines(panels_of(NAMES[:1], ("0", "1")))


def test_processes_draw_the_same_bytes_and_a_lambda_is_drawn_here(tmp_path: Path) -> None:
    sent = [FigureOf(f"a/{number}", partial(draw_lines, panels_of(NAMES[:1], ("0", "1")))) for number in range(6)]
    # A fresh process does not find a lambda, nor a function of a file that is in no package.
    figures = [*sent, FigureOf("here", lambda: some_lines()), FigureOf("there", some_lines)]  # noqa: PLW0108
    save_all(figures, tmp_path / "one")
    save_all(figures, tmp_path / "two", workers=2)
    one, two = (
        {p.relative_to(tmp_path / k): p.read_bytes() for p in (tmp_path / k).rglob("*.p*")} for k in ("one", "two")
    )
    assert len(one) == 16
    assert one == two
