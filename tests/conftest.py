"""What several test files share: small item files and the folder of real data, where it is there."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from xdist.remote import Producer  # type: ignore[import-untyped]
    from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

# No deadline: how long an example takes says more about the machine. CI tries the same examples every time.
settings.register_profile(
    "perpend", deadline=None, derandomize="CI" in os.environ, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("perpend")
# What is printed is wrapped to the terminal; here that is always as wide as it may get.
os.environ["COLUMNS"] = "100"
# A job in the background of a shell ignores interrupts, and so would everything that the tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

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


def keep_compiled() -> None:
    """Let Python keep what it compiles, also where the environment forbids it, as images of containers do.

    Every process here and every command that a test starts would compile the package again. What tests start has the
    same setting; one that looks for what is left behind sets its own.
    """
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False


keep_in_memory()
keep_compiled()

TOGETHER = ("tests/real", "tests/more/torch/real", "tests/more/browser", "tests/more/slurm")
"""Folders whose tests share a cluster, a model in memory or a browser: one process runs all of them."""
APART = ("tests/more/benchmarks/test_benchmarks.py", "tests/attack/test_published.py", "tests/system/test_kills.py")
"""Long files whose tests share little: any process may take the next test."""
FIRST = (
    *("tests/more/slurm", "tests/more/torch/real", "tests/more/browser", "tests/real", "tests/test_docs.py"),
    *("tests/system/test_full_disk.py", "tests/system/test_fuzz.py", "tests/system/test_wheel.py", *APART),
)
"""What takes longest begins first, so that no process waits for another at the end."""


def group_of(name: str) -> str:
    """What is run by one process with this test: its folder, its file, or the test alone."""
    path = name.partition("::")[0]
    folder = path.rpartition("/")[0]
    return folder if folder in TOGETHER else name if path in APART else path


def place_of(item: pytest.Item) -> int:
    """Where the group of a test comes in FIRST; after all of them for any other."""
    group = group_of(item.nodeid).partition("::")[0]
    return FIRST.index(group) if group in FIRST else len(FIRST)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest."""
    items.sort(key=place_of)


@pytest.hookimpl(optionalhook=True)  # where xdist is not installed, nothing asks for it
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling | None:
    """With `--dist loadgroup`, give each group to one process, which makes once what its tests share, in our order.

    xdist 3.8 writes a group into the name of a test in a way that pytest 9.2 no longer reads.
    """
    if config.getoption("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class Groups(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
        def _split_scope(self, nodeid: str) -> str:
            return group_of(nodeid)

    config.option.loadscopereorder = False  # it would begin with the files that have most tests
    return Groups(config, log)


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


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of `perpend` and `chaosbench`, which start at once."""
    from tests import commands

    with commands.started(tmp_path_factory.mktemp("commands")) as folder:
        yield folder


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
