"""Honest runs of every kind and their published folders, made once; each test forges copies of them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from perpend.proof.publish import write_index
from tests.attack import honest

Copied: TypeAlias = Callable[[str], Path]


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with runs/<kind> and published/<kind>."""
    folder = tmp_path_factory.mktemp("attacked")
    honest.make(folder)
    return folder


@pytest.fixture
def copied(source: Path, tmp_path: Path) -> Copied:
    """Copy one of them, such as 'runs/questions', for one test; the index of published ones names the copies."""

    def copy(name: str) -> Path:
        folder = Path(shutil.copytree(source / name, tmp_path / name))
        if name.startswith("published/"):
            write_index(folder.parent)
        return folder

    return copy
