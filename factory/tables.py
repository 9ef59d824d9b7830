"""The TOML files beside the code."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any


@cache
def toml(name: str) -> dict[str, Any]:
    """A file by its name in this folder, `again/…` for one of the second labelling."""
    return tomllib.loads((Path(__file__).parent / name).read_text(encoding="utf-8"))
