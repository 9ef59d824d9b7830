"""The compiled rules, which a user may ask for, give the scores of the interpreted ones."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import astuple
from pathlib import Path

import pytest

from perpend.ledger.manifest import code_version
from perpend.spec.resolve import docstring_of, names
from tests.conftest import ROOT
from tests.test_golden import cases, judge

SCORES = """
import json
from dataclasses import astuple
from perpend.ledger.manifest import code_version
from perpend.spec.resolve import docstring_of, names
from tests.test_golden import cases, judge, modules
scores = [astuple(judge(case)) for _, case in cases()]
files = [module.__file__ for module in modules()]
about = {name: docstring_of("scorers", name) for name in names("scorers")}
print(json.dumps({"files": files, "code": dict(code_version()), "scores": scores, "about": about}))
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_a_wheel_with_compiled_rules_gives_the_scores_of_the_interpreted_ones(tmp_path: Path) -> None:
    environment = os.environ | {"HATCH_BUILD_HOOK_ENABLE_CUSTOM": "1"}
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    installed = tmp_path / "installed"
    zipfile.ZipFile(wheel).extractall(installed)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(installed), str(ROOT)])}
    done = subprocess.run([sys.executable, "-c", SCORES], env=environment, check=True, capture_output=True, text=True)
    compiled = json.loads(done.stdout)
    assert not wheel.name.endswith("none-any.whl")
    assert {Path(file).suffix for file in compiled["files"]} <= {".so", ".pyd"}, (
        "not all rules of the wheel are compiled"
    )
    assert compiled["about"] == {name: docstring_of("scorers", name) for name in names("scorers")}
    assert all(compiled["about"].values()), "what a scorer says of itself is missing"
    assert compiled["code"] == code_version(), "the wheel holds another source"
    for (name, case), score in zip(cases(), compiled["scores"], strict=True):
        assert score == json.loads(json.dumps(astuple(judge(case)))), name
    assert not list((ROOT / "src").rglob("*.so")), "the build left extensions in the source, which would be imported"
