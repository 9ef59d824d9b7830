"""An import end to end: converted, scored, shown and written back; and memory that does not grow with the source."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from perpend._convert import convert
from perpend.measure.run import Run
from tests.peak import PEAK_KB
from tests.test_compat_rows import ROW
from tests.test_compat_simulation import joined, simulation

# Converts a file and prints how many MiB the process held at most.
PEAK = f"""{PEAK_KB}
import sys
from pathlib import Path
from perpend._convert import convert
convert(Path(sys.argv[1]), Path(sys.argv[2]))
print(peak_kb() // 1024)
"""


def perpend(*arguments: str | Path) -> str:
    command = [sys.executable, "-c", "from perpend.cli import main; main()", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_an_imported_run_is_scored_and_shown_like_any_other(tmp_path: Path) -> None:
    run = convert(simulation(tmp_path / "simulation.db", temperatures=(0.0, 1.0)), tmp_path / "runs" / "study")
    assert "correct@1" in perpend("score", run, "--json")
    status = json.loads(perpend("show", run, "--json"))
    assert (status["planned"], status["answered"]) == (8, 8)
    cases = json.loads(perpend("show", run, "--where", "condition=control", "--where", "item=peru", "--json"))
    assert [case["scores"]["stored_correct@import"]["value"] for case in cases] == [1.0, 1.0]
    assert "8 of 8 expected trials are answered" in (run / "report.md").read_text()
    assert Run(run)["correct@1"].disagreement(Run(run)["stored_correct"]).value == 0.0


def test_a_scored_import_goes_back_to_the_study_unchanged(tmp_path: Path) -> None:
    source = simulation(tmp_path / "simulation.db")
    run = convert(source, tmp_path / "run")
    perpend("score", run)
    assert joined(convert(run, tmp_path / "back.db")) == joined(source)


@pytest.mark.skipif(sys.platform == "win32", reason="needs the resource module to measure memory")
def test_memory_does_not_grow_with_the_number_of_rows(tmp_path: Path) -> None:
    peaks = []
    for count in (500, 20_000):
        path = tmp_path / f"{count}.jsonl"
        with path.open("w") as file:
            for n in range(count):
                row = {"trial_id": f"t-{n}", "item_id": f"i-{n // 4}", "variant": f"m-{n % 4}"}
                file.write(json.dumps({**ROW, **row, "raw_text": "x" * 1000}) + "\n")
        done = subprocess.run(
            [sys.executable, "-c", PEAK, path, tmp_path / f"run-{count}"],
            capture_output=True,
            text=True,
            check=True,
            timeout=300,
        )
        peaks.append(int(done.stdout))
    # 20 MB of text more; what SQLite caches while it sorts stays below a few.
    assert peaks[1] < peaks[0] + 15
