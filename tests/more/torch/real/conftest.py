"""The embedded weights in transformers, once for each test process, beside the engine that runs them."""

from __future__ import annotations

from pathlib import Path

import pytest

from perpend.models.hf import model as in_transformers
from perpend.models.hf.provider import Transformers
from tests.real.conftest import variants, weights

__all__ = ["variants", "weights"]
HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder is a real test."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.real)


@pytest.fixture(scope="session")
def dense(weights: Path) -> Transformers:
    """The model in transformers, in this process: most of its time goes into reading the file."""
    import torch

    torch.set_num_threads(1)
    return in_transformers("smollm2", device="cpu", places=2)
