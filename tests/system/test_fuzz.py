"""Spoiled inputs of every kind: each verb says what is wrong, within 10 s and 500 MB. `benchmarks/fuzz.py` has more."""

from __future__ import annotations

import re
import subprocess
import sys

from tests.conftest import ROOT


def test_five_hundred_spoiled_inputs_end_in_an_exit_code_and_a_message() -> None:
    command = [sys.executable, str(ROOT / "benchmarks" / "fuzz.py"), "--cases", "500", "--workers", "2"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    table = re.search(r"^all +(\d+) +(\d+) .*0:(\d+).* 2:(\d+) .*3:(\d+).* 5:(\d+) 6:(\d+)", done.stdout, re.MULTILINE)
    assert table is not None, done.stdout[-3000:]
    cases, wrong, *codes = map(int, table.groups())
    # Enough of each: a fuzz whose every input is refused at the door tries nothing behind it.
    assert (cases, wrong) == (500, 0)
    assert min(codes) >= 20
