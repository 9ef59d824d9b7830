"""What is seen first: the help, figures with little in them, names that are long, numbers without an interval."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner
from matplotlib.collections import QuadMesh

import perpend as pp
from perpend.cli import cli
from perpend.cli.asking import dollars
from perpend.report.heatmap import Grid, draw_grid
from perpend.report.style import drawable_rows
from perpend.types import Estimate


def test_the_help_has_a_whole_line_for_every_verb() -> None:
    lines = CliRunner().invoke(cli, ["--help"], terminal_width=80).output.partition("Commands:")[2].splitlines()
    verbs = [line for line in lines if line.strip()]
    assert len(verbs) == len(cli.commands)
    assert all(line.endswith(".") and not line.endswith("...") for line in verbs)
    assert len({line.split(maxsplit=1)[1] for line in verbs}) == len(verbs)


def _grid(rows: int, panels: int) -> Grid:
    values = np.full((panels, rows, 3), 0.5)
    texts = tuple(("0.50\n(15)",) * 3 for _ in range(panels * rows))
    return Grid(
        "Shares",
        tuple(f"model {n}" for n in range(panels)),
        tuple(f"topic {n}" for n in range(rows)),
        ("control", "asch", "authority"),
        values,
        texts,
        across="",
        ends=(0.0, 1.0),
        ticks=("0.00", "0.25", "0.50", "0.75", "1.00"),
        colours="YlGnBu",
    )


@pytest.mark.parametrize("width", [3.3, 6.8])
@pytest.mark.parametrize(("rows", "panels"), [(1, 1), (1, 2), (2, 1), (2, 2), (6, 4)])
def test_the_colour_bar_is_inside_the_figure(rows: int, panels: int, width: float) -> None:
    figure = draw_grid(_grid(rows, panels), width)
    bar = next(one for one in figure.axes[0].collections if isinstance(one, QuadMesh)).get_coordinates().reshape(-1, 2)
    (left, top), (right, bottom) = bar.min(axis=0), bar.max(axis=0)
    assert 0.0 <= left < right <= figure.get_figwidth()
    assert 0.0 <= top < bottom <= figure.get_figheight()
    cells = np.concatenate([path.vertices for path in figure.axes[0].collections[0].get_paths()])
    if panels == 1 and width > 5.0:
        assert abs((cells[:, 0].min() + right) / 2 - width / 2) < 0.1 * width


def test_a_model_is_shortened_alike_in_every_row() -> None:
    model = "an-organisation/a-model-with-a-long-name-7b-instruct-v2"
    first, second = drawable_rows([f"{model}, asch", f"{model}, authority"], 40)
    assert first.rpartition(", ")[0] == second.rpartition(", ")[0]
    assert (first.endswith(", asch"), second.endswith(", authority")) == (True, True)
    assert max(len(first), len(second)) <= 40
    assert drawable_rows(["small, asch", "alone"], 40) == ["small, asch", "alone"]


def test_an_estimate_without_an_interval_says_its_note() -> None:
    assert str(Estimate(0.5, 2, note="too few items for an interval")) == "0.500 n=2 (too few items for an interval)"
    assert str(Estimate(0.5, 2, 0.1, 0.9, note="a note")) == "0.500 [0.100, 0.900] n=2"
    assert str(Estimate(0.5, 2)) == "0.500 n=2"


def test_one_of_something_is_one() -> None:
    task = pp.task("questions", items=[{"id": "a", "prompt": "?", "target": "x"}])
    assert repr(task).endswith("; 1 item)")


def test_what_costs_nothing_is_said_to() -> None:
    assert [dollars(0.0, ""), dollars(0.5, ""), dollars(None, "why")] == [
        "no cost",
        "cost $0.5000",
        "cost unknown (why)",
    ]
    assert pp.model("mock/subject").price == (0.0, 0.0)
    assert pp.model("openai/gpt-4o").price is None
