"""The plugin of pytest: claims as tests of a project that is not ours, and nothing at all where there are none."""

from __future__ import annotations

import csv
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from perpend._convert import convert
from tests.conftest import ROOT

CLAIMS = """
runs = ["study"]

[[claim]]
name = "count"
says = "We asked\\u001b[2J 8 :: questions"
number = "trials()"
expect = 8

[[claim]]
name = "rate"
says = "Most answers are right"
number = "rate(stored_right@import)"
expect = 0.9
cell = "paper.tex, table 1, row 'all', column 'right'"

[[claim]]
name = "temperature"
says = "Warmth does not matter"
number = "difference(stored_right@import, 0, 1, over='temperature')"
expect = 0.0
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    with (folder / "rows.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["id", "right", "warm"], *([f"q{n}", n % 4 != 0, 0] for n in range(8))])
    convert(folder / "rows.csv", folder / "study", {"id": "id", "score.right": "right", "temperature": "warm"})
    (folder / "test_own.py").write_text("def test_own(): pass\n")
    (folder / "claims.toml").write_text(CLAIMS)
    return folder


def pytest_in(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-p", "perpend.pytest", "-p", "no:cacheprovider", "-rs", *args]
    env = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "COLUMNS": "200", "PYTEST_ADDOPTS": ""}
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=120, check=False)


def test_each_claim_is_a_test_under_its_sentence_and_a_failure_says_what_follows_from_where(project: Path) -> None:
    done = pytest_in(project, "-v")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "claims.toml::We asked\\u001b[2J 8 : questions PASSED" in done.stdout
    assert "\x1b[2J" not in done.stdout
    assert "claims.toml::Most answers are right FAILED" in done.stdout
    assert "claims.toml:10: Most answers are right (paper.tex, table 1, row 'all', column 'right')" in done.stdout
    assert "stated 0.9; rate(stored_right@import) gives 0.75" in done.stdout
    assert "off by 0.15, more than 0.05" in done.stdout
    assert "from the runs that claims.toml names" in done.stdout
    assert "not checkable: no trial has temperature 1" in done.stdout
    assert "1 failed, 2 passed, 1 skipped" in done.stdout


def test_a_file_of_any_name_is_checked_on_the_runs_that_are_named_and_strict_takes_no_excuse(project: Path) -> None:
    (project / "other").mkdir(exist_ok=True)
    (project / "other" / "table2.toml").write_text(CLAIMS.replace('runs = ["study"]', "").replace("0.9", "0.75"))
    done = pytest_in(
        project, "--perpend-claims", "other/table2.toml", "--perpend-run", "study", "--perpend-strict", "test_own.py"
    )
    assert done.returncode == 1, done.stdout
    assert "1 failed, 3 passed" in done.stdout
    assert "from study" in done.stdout
    nothing = pytest_in(project, "--perpend-claims", "other/table2.toml", "other")
    assert "no run is given" in nothing.stdout


def test_a_file_with_a_wrong_key_is_an_error_of_collection_that_says_where(project: Path) -> None:
    (project / "wrong").mkdir(exist_ok=True)
    (project / "wrong" / "claims.toml").write_text('[[claim]]\nnumbr = "trials()"\n')
    done = pytest_in(project, "wrong")
    assert done.returncode == 2, done.stdout
    assert "claims.toml:2: unknown key 'numbr'; did you mean 'number'?" in done.stdout


def test_a_project_without_claims_gets_no_test_and_loads_nothing(tmp_path: Path) -> None:
    (tmp_path / "claims.toml").write_text('issuer = "a token of somebody else"\n')
    (tmp_path / "test_own.py").write_text(
        "import sys\n"
        "def test_own():\n"
        "    heavy = {'numpy', 'scipy', 'click', 'perpend.proof', 'perpend.api'}\n"
        "    assert not heavy & set(sys.modules)\n"
    )
    done = pytest_in(tmp_path)
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout


def test_the_entry_point_has_the_name_of_the_module_so_that_it_never_loads_twice() -> None:
    body = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert body["project"]["entry-points"]["pytest11"] == {"perpend.pytest": "perpend.pytest"}


def test_the_workflow_in_the_docs_pins_its_actions_and_gives_options_that_the_plugin_has() -> None:
    page = (ROOT / "docs" / "how-to" / "claims.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```yaml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    steps = yaml.safe_load(block)["jobs"]["claims"]["steps"]
    uses = [step["uses"] for step in steps if "uses" in step]
    assert len(uses) == 2
    assert all(re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40}", one) for one in uses)
    plugin = (ROOT / "src" / "perpend" / "pytest.py").read_text(encoding="utf-8")
    for option in re.findall(r"--perpend-[a-z]+", page):
        assert f'"{option}"' in plugin
