"""Drawing takes any values and any names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from perpend.report.style import drawable, save
from perpend.studies.conformity import figures
from perpend.types import Estimate


def test_hostile_names_can_be_drawn(tmp_path: Path) -> None:
    label = "$\\frac{1$ 模型 \x1b[31m " + "very " * 30 + "long"
    assert drawable(label) == r"\$\frac{1\$ □□ \u001b[…very very very long"
    one = Estimate(0.1, 10, 0.0, 0.2)
    forest_plot = figures.Forest(label, (figures.ForestRow(label, 0, one, Estimate(None, 0)),), (label,))
    panels = figures.Panels(label, (label,), (label,), (0.0,), np.full((1, 1, 1), np.nan), "difference")
    lines = figures.Panels(label, (label,), (label,), (0.0,), np.zeros((1, 1, 1)))
    drawings = (figures.draw_forest(forest_plot), figures.draw_heatmaps(panels), figures.draw_lines(lines))
    for number, figure in enumerate(drawings):
        assert [path.suffix for path in save(figure, tmp_path / f"f{number}")] == [".png", ".pdf"]


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
def test_a_cell_says_its_number_and_an_undefined_one_says_na(value: float, scale: figures.Scale, text: str) -> None:
    panels = figures.Panels("t", ("m",), ("topic",), (0.0,), np.full((1, 1, 1), value), scale)
    (axis, _bar) = figures.draw_heatmaps(panels).axes
    assert [entry.get_text() for entry in axis.texts] == [text]


def test_the_scale_of_differences_is_symmetric_about_0() -> None:
    values = np.array([[[0.1, -0.4, np.nan]]])
    panels = figures.Panels("t", ("m",), ("topic",), (0.0, 0.5, 1.0), values, "difference")
    mesh = figures.draw_heatmaps(panels).axes[0].collections[0]
    assert mesh.get_clim() == (-0.4, 0.4)


def test_any_number_of_variants_gets_a_panel_each() -> None:
    for count in (1, 2, 4, 7):
        names = tuple(f"m{n}" for n in range(count))
        panels = figures.Panels("t", names, ("a", "b"), (0.0, 1.0), np.zeros((count, 2, 2)), "share")
        drawn = figures.draw_heatmaps(panels).axes
        assert [axis.get_title() for axis in drawn[:-1]] == list(names)
