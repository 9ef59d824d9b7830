"""The runs of the tests of large runs, of the export and of Python."""

from __future__ import annotations

from tests.test_export import run
from tests.test_scale import study

__all__ = ["run", "study"]
