"""The built wheel, in an environment that has it, what it declares that it needs, and nothing else of this checkout.

No network is needed: the declared dependencies are linked from where they are installed, each one with what it needs in
turn. What perpend imports without declaring it, or finds only in its source folder, is missing there.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import Distribution, distribution, distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from perpend.canon import VERSION
from perpend.disk import CACHE
from perpend.studies.logic.chaosbench.sets import BESIDE, FILES, PACKED, packaged_root
from tests.conftest import ROOT

pytestmark = pytest.mark.xdist_group("wheel")  # built once, by one process

SOURCE = ROOT / "src"


def built(target: str, folder: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (path,) = folder.iterdir()
    return path


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built("wheel", tmp_path_factory.mktemp("dist"))


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


@dataclass(frozen=True)
class Clean:
    """An environment in a folder and a home of its own, with none of our variables but where items are kept."""

    folder: Path

    def link(self, requirements: Iterable[str], extras: frozenset[str] = frozenset()) -> None:
        """Put what the requirements need into the environment."""
        (packages,) = (self.folder / "env" / "lib").glob("python*/site-packages")
        for dependency in needed(requirements, extras).values():
            for name in {file.parts[0] for file in dependency.files or ()} - {"..", "__pycache__"}:
                if not (packages / name).exists():
                    (packages / name).symlink_to(Path(str(dependency.locate_file(name))))

    def pip_install(self, *arguments: str) -> None:
        """As a user would, but that nothing can be downloaded."""
        pip = [sys.executable, "-m", "pip", "--python", str(self.folder / "env"), "--disable-pip-version-check"]
        done = subprocess.run(
            [*pip, "install", "--quiet", "--no-index", *arguments], check=False, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr

    def __call__(self, program: str, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        """Call a program of the environment."""
        programs = self.folder / "env" / "bin"
        done = subprocess.run(
            [str(programs / program), *arguments],
            cwd=self.folder / "work",
            env={
                "HOME": str(self.folder),
                "PATH": f"{programs}{os.pathsep}{os.defpath}",
                "LANG": "C.UTF-8",
                CACHE: str(packaged_root().parent),
            },
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert done.returncode == code, f"{done.stdout}\n{done.stderr}"
        return done


def declared(wheel: Path) -> list[str]:
    (ours,) = distributions(name="perpend", path=[str(wheel)])
    return ours.requires or []


@pytest.fixture(scope="module")
def clean(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Clean:
    clean = Clean(tmp_path_factory.mktemp("clean"))
    venv.create(clean.folder / "env", symlinks=True)
    (clean.folder / "work").mkdir()
    clean.link(declared(wheel))
    # Before the wheel is there, nothing of perpend can be imported: the source does not leak in.
    assert "No module named 'perpend'" in clean("python", "-c", "import perpend", code=1).stderr
    clean.pip_install(str(wheel))  # which looks for the dependencies, and is content with those that are there
    return clean


def test_the_wheel_holds_every_file_of_the_source_and_no_other(wheel: Path) -> None:
    source = {path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*") if path.is_file()}
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert packed == {name for name in source if "__pycache__" not in name}
    assert {f".{name.rpartition('.')[2]}" for name in packed} >= {".py", ".jsonl", ".json", ".sql", ".toml", ".txt"}


def test_the_source_distribution_holds_what_make_and_the_tests_need(tmp_path: Path) -> None:
    with tarfile.open(built("sdist", tmp_path)) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    tops = {"Makefile", "constraints.txt", "pyproject.toml", "mkdocs.yml", ".ci/run", ".gitignore"}
    assert tops | {path.name for path in ROOT.glob("*.md")} <= names
    for folder in ("src", "tests", "docs", "benchmarks"):
        files = [path for ending in ("py", "md", "jsonl") for path in (ROOT / folder).rglob(f"*.{ending}")]
        assert {path.relative_to(ROOT).as_posix() for path in files} <= names


def test_the_clean_environment_imports_the_wheel_and_lacks_what_is_optional(clean: Clean) -> None:
    code = "import perpend, sys; print(perpend.__file__, perpend.__version__, *sys.path, sep='\\n')"
    file, version, *places = clean("python", "-c", code).stdout.splitlines()
    assert "/env/lib/" in file
    assert version == VERSION
    assert not [place for place in places if Path(place).is_relative_to(ROOT)]
    for name in ("pandas", "statsmodels", "torch", "xllamacpp", "pytest"):
        assert f"No module named '{name}'" in clean("python", "-c", f"import {name}", code=1).stderr


def test_every_module_but_those_of_extras_can_be_imported_from_the_wheel(clean: Clean) -> None:
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
    assert missing <= {"torch", "transformers", "gguf", "xllamacpp", "pytest"}


def test_the_simulated_demo_runs_from_the_wheel(clean: Clean) -> None:
    done = clean("perpend", "demo", "--model", "mock/subject", "--no-figures")
    assert done.stdout.splitlines()[-1] == "Report: demo/index.html"


def test_chaosbench_asks_the_packaged_questions_from_the_wheel(clean: Clean) -> None:
    done = clean("chaosbench", "eval", "--provider", "mock", "--tier", "P0")
    assert "runs/" in done.stdout.splitlines()[-1]


def test_the_wheel_has_the_packed_items_and_little_else_of_the_logic_benchmark(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        packed = {entry.filename: entry.compress_size for entry in archive.infolist()}
    data = {name: packed[f"perpend/studies/logic/{name}"] for name in (PACKED, FILES, *BESIDE)}
    assert sum(data.values()) < 2_500_000
    assert not [name for name in packed if "factory" in name or "/chaos/" in name]


def test_what_an_extra_brings_is_named_where_it_is_missing(clean: Clean) -> None:
    refused = clean("perpend", "eval", "--task", "conformity", "--model", "local/smollm2", code=4)
    assert "pip install 'perpend[local]'" in refused.stderr


def test_an_extra_is_added_to_an_installed_perpend_that_is_on_no_index(clean: Clean, wheel: Path) -> None:
    clean.link(declared(wheel), frozenset({"inspect"}))  # instead of a download
    clean.pip_install("perpend[inspect]")
    assert "zstandard" in clean("python", "-c", "import zstandard; print(zstandard.__name__)").stdout
