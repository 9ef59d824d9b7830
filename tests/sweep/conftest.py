"""Commands that start at once, for the tests of sweeps: a test calls a dozen, and each sweep starts its own beside."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import sweep


@pytest.fixture(scope="session", autouse=True)
def at_once(programs: Path) -> None:
    sweep.CALLED[:] = [str(programs / "perpend")]
