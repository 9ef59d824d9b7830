"""The benchmark of candidates says which side is nearer to single precision, and both ways of its rows are right."""

from __future__ import annotations

from argparse import Namespace
from types import ModuleType

import numpy as np
import pytest
import torch

from tests.conftest import load_benchmark


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    return load_benchmark("candidates")


def test_a_side_that_is_farther_and_chooses_otherwise_is_seen(benchmark: ModuleType) -> None:
    exact = np.array([[-1.0, -2.0], [-3.0, -2.5], [-1.0, -4.0]])
    near, far = (exact + 0.1).tolist(), (exact + 0.3).tolist()
    far[1] = [-2.0, -2.5]  # the other candidate
    rows = benchmark.nearness({benchmark.ROWS: near, benchmark.PRECISE_ROWS: near, "trees": far}, exact)
    trees = next(row for row in rows if row["side"] == "trees" and row["against"] == benchmark.ROWS)
    assert trees["same_argmax"] == trees["agree"] == pytest.approx(2 / 3)
    assert (trees["only_here"], trees["only_there"]) == (0, 1)
    assert trees["error"] == pytest.approx((0.3 + 0.5 + 0.3) / 3)
    assert trees["more"] == pytest.approx((0.2 + 0.4 + 0.2) / 3)
    assert trees["standard_error"] == pytest.approx(np.std([0.2, 0.4, 0.2], ddof=1) / np.sqrt(3))
    own = next(row for row in rows if row["side"] == benchmark.ROWS)
    assert (own["same_argmax"], own["more"], own["against"]) == (1.0, 0.0, benchmark.PRECISE_ROWS)


def test_rows_with_either_softmax_are_the_trees_in_single_precision(benchmark: ModuleType) -> None:
    model = benchmark.random_model("tiny", "cpu", torch.float32)
    groups = benchmark.items(benchmark.Case(3, 2, 12), model.config.vocab_size, np.random.default_rng(1))
    rows, precise = benchmark.padded_rows_twice(model, groups, 64)
    assert np.allclose(rows, benchmark.padded_rows(model, groups, 64), atol=1e-5)
    trees = benchmark.trees(benchmark.Weigher(model, 64), groups)
    assert np.allclose(rows, trees, atol=1e-4)
    assert np.allclose(precise, trees, atol=1e-4)


def test_every_length_of_the_contexts_is_compared(benchmark: ModuleType) -> None:
    model = benchmark.random_model("tiny", "cpu", torch.bfloat16)
    asked = Namespace(batch_tokens=64, candidates=[2], context=[6, 12], truth=3, seed=2004, compile=False)
    body = benchmark.truth(model, asked)
    assert [row["context"] for row in body["truth"]] == [6] * 4 + [12] * 4
    assert all(row["error"] > 0 and row["reference_away"] < 1e-4 for row in body["truth"])
