"""The built wheel, in an environment that has it, what it declares that it needs, and nothing else of this checkout.

No network is needed: the declared dependencies are linked from where they are installed, each one with what it needs in
turn. What perpend imports without declaring it, or finds only in its source folder, is missing there.
"""

from __future__ import annotations

import os
import subprocess
import sys
import venv
import zipfile
from collections.abc import Callable, Iterable
from importlib.metadata import Distribution, distribution, distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from perpend.canon import VERSION
from tests.conftest import ROOT

pytestmark = pytest.mark.xdist_group("wheel")  # built once, by one process

SOURCE = ROOT / "src"
Call = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (path,) = folder.iterdir()
    return path


def needed(requirements: Iterable[str], extras: frozenset[str] = frozenset()) -> dict[str, Distribution]:
    """Every installed distribution that the requirements need here, by name."""
    chosen: dict[str, Distribution] = {}
    for requirement in map(Requirement, requirements):
        if requirement.marker and not any(requirement.marker.evaluate({"extra": one}) for one in extras | {""}):
            continue
        if requirement.name not in chosen:
            chosen[requirement.name] = distribution(requirement.name)
            chosen |= needed(chosen[requirement.name].requires or [], frozenset(requirement.extras))
    return chosen


@pytest.fixture(scope="module")
def clean(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Call:
    """Calls a program of the clean environment, in a folder and a home of its own, with none of our variables."""
    folder = tmp_path_factory.mktemp("clean")
    venv.create(folder / "env", symlinks=True)
    (packages,) = (folder / "env" / "lib").glob("python*/site-packages")
    (ours,) = distributions(name="perpend", path=[str(wheel)])
    for dependency in needed(ours.requires or []).values():
        for name in {file.parts[0] for file in dependency.files or ()} - {"..", "__pycache__"}:
            if not (packages / name).exists():
                (packages / name).symlink_to(Path(str(dependency.locate_file(name))))
    (folder / "work").mkdir()

    def call(program: str, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [str(folder / "env" / "bin" / program), *arguments],
            cwd=folder / "work",
            env={"HOME": str(folder), "PATH": f"{folder / 'env' / 'bin'}{os.pathsep}{os.defpath}", "LANG": "C.UTF-8"},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert done.returncode == code, f"{done.stdout}\n{done.stderr}"
        return done

    # Before the wheel is there, nothing of perpend can be imported: the source does not leak in.
    assert "No module named 'perpend'" in call("python", "-c", "import perpend", code=1).stderr
    install = ["pip", "--python", str(folder / "env"), "install", "--quiet", "--no-index", "--no-deps", str(wheel)]
    subprocess.run([sys.executable, "-m", *install, "--disable-pip-version-check"], check=True)
    return call


def test_the_wheel_holds_every_file_of_the_source_and_no_other(wheel: Path) -> None:
    source = {path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*") if path.is_file()}
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert packed == {name for name in source if "__pycache__" not in name}
    assert {f".{name.rpartition('.')[2]}" for name in packed} >= {".py", ".jsonl", ".json", ".sql", ".toml", ".txt"}


def test_the_clean_environment_imports_the_wheel_and_lacks_what_is_optional(clean: Call) -> None:
    code = "import perpend, sys; print(perpend.__file__, perpend.__version__, *sys.path, sep='\\n')"
    file, version, *places = clean("python", "-c", code).stdout.splitlines()
    assert "/env/lib/" in file
    assert version == VERSION
    assert not [place for place in places if Path(place).is_relative_to(ROOT)]
    for name in ("pandas", "statsmodels", "torch", "xllamacpp", "pytest"):
        assert f"No module named '{name}'" in clean("python", "-c", f"import {name}", code=1).stderr


def test_every_module_but_those_of_extras_can_be_imported_from_the_wheel(clean: Call) -> None:
    code = (
        "import importlib, perpend, pkgutil\n"
        "for one in pkgutil.walk_packages(perpend.__path__, 'perpend.'):\n"
        "    try: importlib.import_module(one.name)\n"
        "    except ImportError as error: print(error.name)\n"
        "    else: print(one.name)\n"
    )
    names = clean("python", "-c", code).stdout.split()
    missing = {name for name in names if not name.startswith("perpend.")}
    assert len(names) > 200
    assert missing <= {"torch", "transformers", "gguf", "xllamacpp", "dysts"}


def test_the_simulated_demo_runs_from_the_wheel(clean: Call) -> None:
    done = clean("perpend", "demo", "--model", "mock/subject", "--no-figures", "--quiet")
    assert done.stdout.splitlines()[-1] == "Report: demo/index.html"


def test_chaosbench_asks_the_packaged_questions_from_the_wheel(clean: Call) -> None:
    done = clean("chaosbench", "eval", "--provider", "mock", "--tier", "P0", "--quiet")
    assert "runs/" in done.stdout.splitlines()[-1]


def test_what_an_extra_brings_is_named_where_it_is_missing(clean: Call) -> None:
    code = (
        "from perpend.stats import cells, glmm\n"
        "table = cells.collapse([0, 1] * 4, [cells.factor('g', list('aabb') * 2)], items=list('uvwxuvwx'))\n"
        "glmm.gee_odds_ratio(table, ['g'], 'g[b]')"
    )
    assert "pip install 'perpend[gee]'" in clean("python", "-c", code, code=1).stderr.splitlines()[-1]
    refused = clean("perpend", "eval", "--task", "conformity", "--model", "local/smollm2", code=4)
    assert "pip install 'perpend[local]'" in refused.stderr
