"""One SLURM for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.more.slurm import Cluster, cluster
from tests.sweep.conftest import at_once

__all__ = ["at_once"]


@pytest.fixture(scope="package")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("slurm") / "c") as started:
        yield started
