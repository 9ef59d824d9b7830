"""Planted effects come back, and none is found where none was planted; at full size in benchmarks/conformity.py."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType

import numpy as np
import pytest

from tests.conftest import ROOT


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    spec = importlib.util.spec_from_file_location("conformity_benchmark", ROOT / "benchmarks" / "conformity.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


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
