"""Spoiled inputs of every kind: each verb says what is wrong, within 10 s and 500 MB. `benchmarks/fuzz.py` has more."""

from __future__ import annotations

import json
import subprocess
import sys

from tests.conftest import ROOT

CASES = 500


def test_five_hundred_spoiled_inputs_end_in_an_exit_code_and_a_message() -> None:
    options = ["--quick", "--json", "--cases", str(CASES), "--workers", "2"]
    command = [sys.executable, str(ROOT / "benchmarks" / "fuzz.py"), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    assert len(done.stdout.splitlines()) == 1, done.stdout[-3000:] + done.stderr[-2000:]
    said = json.loads(done.stdout)
    assert (done.returncode, said["failures"]) == (0, {}), "python benchmarks/fuzz.py --cases 500 says which and how"
    # Enough of each: a fuzz whose every input is refused at the door tries nothing behind it.
    codes = {int(code): count for code, count in said["exit_codes"].items()}
    assert (said["cases"], sum(codes.values())) == (CASES, CASES)
    assert min(codes[code] for code in (0, 2, 3, 5, 6)) >= 20
