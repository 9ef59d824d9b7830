"""Every benchmark starts and prints one JSON object with --quick --json; those that need no GPU are run here."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

FOLDER = ROOT / "benchmarks"
# Whatever is started by itself and has options is a benchmark; the others are what benchmarks import or start.
OPTION = re.compile(r'(?:add_argument|click\.option)\(\s*"--')
TEXTS = {path: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.py"))}
SCRIPTS = [path for path, text in TEXTS.items() if OPTION.search(text) and "__main__" in text]
ELSEWHERE = {
    "full_disk.py": "system/test_full_disk.py",
    "fuzz.py": "system/test_fuzz.py",
}
"""Those that a test of their own calls with --quick --json, and whose JSON it reads."""


def called(script: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(script), "--quick", "--json"]
    # One thread each, and no GPU: what is started here is not to measure anything.
    quiet = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "HF_HUB_OFFLINE": "1"}
    paths = {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **quiet, **paths})


def test_the_benchmarks_are_listed() -> None:
    names = {path.name for path in SCRIPTS}
    assert {"throughput.py", "scoring.py", "stats.py", "view.py"} | ELSEWHERE.keys() <= names
    for name, test in ELSEWHERE.items():
        text = (ROOT / "tests" / test).read_text(encoding="utf-8")
        assert name in text
        assert '"--quick", "--json"' in text


@pytest.mark.parametrize("script", [path for path in SCRIPTS if path.name not in ELSEWHERE], ids=lambda path: path.stem)
def test_a_benchmark_prints_one_json_object(script: Path) -> None:
    done = called(script)
    assert done.returncode == 0, done.stderr[-3000:]
    assert len(done.stdout.splitlines()) == 1, done.stdout[:500]
    assert isinstance(json.loads(done.stdout), dict)
