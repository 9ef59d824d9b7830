"""What several test files share: small item files and the folder of real data, where it is there."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import HealthCheck, settings

# No deadline: how long an example takes says more about the machine. CI tries the same examples every time.
settings.register_profile(
    "perpend", deadline=None, derandomize="CI" in os.environ, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("perpend")
# What is printed is wrapped to the terminal; here that is always as wide as it may get.
os.environ["COLUMNS"] = "100"

ROOT = Path(__file__).resolve().parent.parent
MEMORY, ENOUGH = Path("/dev/shm"), 8 << 30


def keep_in_memory() -> None:
    """Let the tests write to memory, where there is enough: no test loses power, and waiting for a disk takes longest.

    Unless TMPDIR says where to write. What tests start has the same folder.
    """
    if "TMPDIR" in os.environ or not os.access(MEMORY, os.W_OK):
        return
    facts = os.statvfs(MEMORY)
    if facts.f_bavail * facts.f_frsize >= ENOUGH and not facts.f_flag & os.ST_NOEXEC:  # some tests write programs
        os.environ["TMPDIR"], tempfile.tempdir = str(MEMORY), None


keep_in_memory()

FIRST = (
    *("slurm", "real", "test_fuzz.py", "full disk", "test_benchmarks.py", "test_docs.py", "test_values.py"),
    *("wheel", "browser", "test_published.py", "test_kills.py", "demo", "test_canary.py", "test_five_uses.py"),
)
"""The groups and files that take longest: begun first, so that no process waits for another at the end."""
APART = {"test_benchmarks.py", "test_values.py", "test_kills.py"}
"""Long files whose tests share little: any process may take the next one."""


def pytest_configure(config: pytest.Config) -> None:
    """Let xdist keep the order of the tests; it would begin with the files that have most of them."""
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give the tests of a file to one process, which makes once what they share; see FIRST for their order."""
    places = {}
    for item in items:
        marker = item.get_closest_marker("xdist_group")
        if marker is None and item.path.name not in APART:
            item.add_marker(pytest.mark.xdist_group(item.path.relative_to(ROOT).as_posix()))
        name = item.path.name if marker is None else str(marker.args[0])
        places[item] = FIRST.index(name) if name in FIRST else len(FIRST)
    items.sort(key=places.__getitem__)


def load_benchmark(name: str) -> ModuleType:
    """A script of benchmarks/ as a module, by its path: one is called as a package is, and the folder is none."""
    sys.path.insert(0, str(ROOT / "benchmarks"))  # for those that import a neighbour
    try:
        spec = importlib.util.spec_from_file_location(f"benchmark_{name}", ROOT / "benchmarks" / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module  # dataclasses look their module up
        spec.loader.exec_module(module)
    finally:
        sys.path.pop(0)
    return module


@pytest.fixture
def items_file(tmp_path: Path) -> Callable[..., Path]:
    """Write an item file of `count` TRUE/FALSE items, each with a decoy, and return its path."""

    def write(count: int = 10, name: str = "items.jsonl", **changes: str) -> Path:
        path = tmp_path / name
        with path.open("w", encoding="utf-8") as file:
            for n in range(count):
                right = n % 2 == 0
                item = {
                    "id": f"item-{n}",
                    "prompt": f"Statement {n}: {n} is even. Is it TRUE or FALSE?",
                    "target": "TRUE" if right else "FALSE",
                    "decoy": "FALSE" if right else "TRUE",
                    "tags": {"topic": "parity" if n < count / 2 else "numbers"},
                }
                file.write(json.dumps({**item, **changes}) + "\n")
        return path

    return write
