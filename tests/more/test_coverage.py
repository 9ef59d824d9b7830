"""Intervals cover and tests reject as often as benchmarks/coverage.csv says: the one test of levels, over its cells."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from itertools import islice
from types import ModuleType

import pytest

from tests.conftest import ROOT, load_benchmark

STEP = {"calibration": 40, "odds": 40, "agreement": 6, "looks": 2, "stops": 1, "rank": 8, "clustered-tables": 8}
"""Of every so many designs one is measured again; of the other families one in 20."""


@pytest.fixture(scope="module")
def benchmark(request: pytest.FixtureRequest) -> Iterator[ModuleType]:
    """benchmarks/coverage.py with its neighbours."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    yield load_benchmark("coverage")
    sys.path.remove(str(ROOT / "benchmarks"))


def known(benchmark: ModuleType) -> dict[tuple[str, str, str], Mapping[str, str]]:
    return {(cell["family"], cell["quantity"], cell["design"]): cell for cell in benchmark.cells.read()}


def families() -> list[str]:
    return list(load_benchmark("coverage").coverage_designs.FAMILIES)


@pytest.mark.parametrize("family", families())
def test_a_design_that_is_measured_again_gives_the_cell_that_it_gave(family: str, benchmark: ModuleType) -> None:
    """By the same seed: a run or two may differ by another machine's arithmetic, where an end lies on the truth."""
    cells = known(benchmark)
    for design in islice(benchmark.coverage_designs.FAMILIES[family](), 0, None, STEP.get(family, 20)):
        for row in benchmark.measured(family, design, 42, 300):
            cell = cells[family, row.quantity, row.design]
            now, then = (row.runs, round(row.share * row.runs)), (int(cell["runs"]), int(cell["hits"]))
            assert now == pytest.approx(then, abs=2), f"{row.quantity}, {row.design}: {now} of {then}"


@pytest.mark.parametrize("name", ["decisions", "judged"])
def test_decisions_and_corrected_rates_are_right_as_often_as_their_cells_say(name: str, benchmark: ModuleType) -> None:
    """By fewer runs, and another seed where a design has none of its own: within 4 Monte Carlo errors."""
    module, cells = load_benchmark(name), known(benchmark)
    if name == "decisions":
        found = [row.as_cell() for row in module.rows(60)]
    else:
        found = [cell for row in module.measure(7, 25, module.DESIGNS[::4]) for cell in row.as_cells()]
        found += [cell for row in module.agreement(7, 50) for cell in module.agreement_cells(row, 50)]
    assert found
    for row in found:
        cell, runs, hits = cells[row["family"], row["quantity"], row["design"]], row["runs"], row["hits"]
        if runs:
            error = benchmark.cells.error(hits, runs) + benchmark.cells.error(int(cell["hits"]), int(cell["runs"]))
            assert abs(hits / runs - benchmark.cells.share(cell)) < 4.0 * error, f"{row}: it was {cell}"
