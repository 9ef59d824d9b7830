"""Planted effects come back, and none is found where none was planted; at full size in benchmarks/conformity.py."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

from tests.conftest import load_benchmark


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    return load_benchmark("conformity")


def test_planted_effects_lie_inside_their_intervals(bench: ModuleType) -> None:
    found = bench.recovery(bench.SWAYED, studies=25, n=(30, 15), rule="2")
    assert set(found.covered) == {
        f"{what} {pressure}"
        for what in ("effect", "opinion", "excess")
        for pressure in ("asch_history_5", "authoritative_bias")
    }
    # 150 intervals over 25 seeded studies: 95% nominal, 0.04 is two standard errors.
    assert 0.91 <= float(np.mean(list(found.covered.values()))) <= 0.99
    assert found.rejected["opinion asch_history_5"] >= 0.9


def test_a_subject_that_cannot_be_swayed_is_not_said_to_be(bench: ModuleType) -> None:
    found = bench.recovery(bench.FIRM, studies=25, n=(30, 15), rule="2", seed=1000)
    assert float(np.mean(list(found.rejected.values()))) <= 0.05
    assert float(np.mean(list(found.covered.values()))) >= 0.91
