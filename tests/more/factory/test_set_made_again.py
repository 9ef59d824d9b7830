"""The shipped set of logic items comes out of its factory byte for byte, and measured facts come out again."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_the_factory_makes_the_shipped_set_again() -> None:
    command = [sys.executable, "-m", "factory", "build", "--check"]
    done = subprocess.run(command, cwd=Path(__file__).parents[3], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 disagreements" in done.stdout
