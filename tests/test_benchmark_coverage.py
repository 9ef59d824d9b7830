"""benchmarks/coverage.py: what it counts, that its cautions say what it measures, and the cells that it wrote.

What the cells state is measured again by tests/more/test_coverage.py.
"""

from __future__ import annotations

from types import ModuleType

import pytest

from perpend.types import Caution
from tests.conftest import load_benchmark


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    return load_benchmark("coverage")


def test_a_design_has_a_share_its_error_and_its_cautions(benchmark: ModuleType) -> None:
    rows = list(benchmark.measure(42, 30, ("rate",), step=40))
    assert rows[0].design == "10 items × 6, rate 0.05, ICC 0"
    assert all(0.7 <= row.share <= 1.0 and row.error > 0.0 for row in rows)
    assert rows[0].cautions["STAT022"] == 1.0
    assert rows == list(benchmark.measure(42, 30, ("rate",), step=40)), "seeded"


def test_outside_is_what_no_caution_states(benchmark: ModuleType) -> None:
    from outcomes import Design, Judged

    said = (Caution("STAT099", "such 95% intervals cover 70% to 90%, and tests at 5% reject up to 30%"),)

    def run(right: list[bool], cautions: tuple[Caution, ...], nominal: float) -> bool:
        ones = [Judged("m", one, cautions, {}, nominal) for one in right]
        return bool(benchmark.row_of("f", "q", Design("k", "n", lambda _: {}), ones).outside)

    low = [True] * 80 + [False] * 20
    assert run(low, (), 0.95)
    assert not run(low, said, 0.95)
    assert run([True] * 55 + [False] * 45, said, 0.95), "its figure is another"
    assert not run([True] * 95 + [False] * 5, (), 0.95)
    assert run([False] * 80 + [True] * 20, (), 0.05)
    assert not run([False] * 80 + [True] * 20, said, 0.05)


def test_the_cells_are_those_of_the_designs_and_none_is_outside_without_a_caution(benchmark: ModuleType) -> None:
    designs = {
        (family, design.kind, design.name)
        for family, designs in benchmark.coverage_designs.FAMILIES.items()
        for design in designs()
    }
    cells = benchmark.cells.read()
    own = [cell for cell in cells if cell["family"] in benchmark.coverage_designs.FAMILIES]
    assert {(cell["family"], cell["kind"], cell["design"]) for cell in own} == designs
    assert {cell["family"] for cell in cells if cell not in own} == {"decisions", "judged", "raters"}
    assert len({(cell["family"], cell["quantity"], cell["design"]) for cell in cells}) == len(cells)
    assert all(0 <= int(cell["hits"]) <= int(cell["runs"]) for cell in cells)
    assert [cell for cell in cells if cell["outside"]] == []


def test_a_planted_truth_is_covered_by_corrected_numbers_and_not_by_raw_ones(benchmark: ModuleType) -> None:
    judged = [cell for cell in benchmark.cells.read() if cell["family"] == "judged"]

    def shares(design: str) -> dict[str, float]:
        return {cell["quantity"]: benchmark.cells.share(cell) for cell in judged if cell["design"] == design}

    worse, same = shares("no true difference, judge worse by .15"), shares("same errors")
    for name in ("rate, PPI++", "rate, Rogan-Gladen", "difference, PPI++", "difference, Rogan-Gladen"):
        assert worse[f"{name}, judged"] >= 0.93, name
    assert worse["difference, raw, judged"] < 0.5
    assert worse["STAT024, judge errs differently"] > 0.8
    assert same["difference, pooled Rogan-Gladen, judged"] >= 0.93
    assert same["STAT024, judge errs the same"] < 0.1
