"""Honest runs of every kind and their published folders, made once; each test forges copies of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.attack import honest


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with runs/<kind> and published/<kind>."""
    folder = tmp_path_factory.mktemp("attacked")
    honest.make(folder)
    return folder
