"""What unpacks to more than it may, and what the small verifier is given in place of JSON: a verdict, and soon."""

from __future__ import annotations

import gzip
import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from perpend.canon import dumps
from perpend.proof import lines
from perpend.proof.audit import Options, audit
from tests.attack.conftest import Copied
from tests.attack.crafted import changed
from tests.attack.forge import seal
from tests.attack.hostile import ROOT


@pytest.fixture
def folder(copied: Copied) -> Path:
    """A copy of an honest published folder."""
    return copied("published/questions")


def _told(folder: Path) -> str:
    (outcome,) = audit([folder], Options(workers=1))
    return " ".join(check.first for check in outcome.checks if check.fails)


@pytest.mark.parametrize("name", ["items.jsonl.gz", "trials.jsonl.gz"])
def test_no_more_lines_are_restored_than_the_manifest_states(folder: Path, name: str) -> None:
    path = folder / name
    rows = gzip.decompress(path.read_bytes()).decode().split("\n")[:-1]
    body = json.loads(rows[0])
    with path.open("wb") as file, gzip.GzipFile("", "wb", 1, file, mtime=0) as packed:
        packed.write(("\n".join(rows) + "\n").encode())
        for number in range(40):
            if name.startswith("items"):
                body["item"] |= {"id": f"x{number}", "prompt": "a" * (8 << 20)}
            packed.write((dumps(body) + "\n").encode())
    seal(folder)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    told = _told(folder)
    assert f"{name}:{len(rows) + 1}: one more than the {len(rows)} that manifest.json states" in told
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 400 << 10


def test_a_file_that_unpacks_to_far_more_than_its_size_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "_FREE", 1 << 20)
    path = folder / "responses.jsonl.gz"
    rows = gzip.decompress(path.read_bytes()).decode().split("\n")[:-1]
    body = json.loads(rows[-1])
    with path.open("wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        packed.write(("\n".join(rows) + "\n").encode())
        for number in range(1, 40):
            packed.write((dumps({**body, "turn": number, "text": "a" * (1 << 20)}) + "\n").encode())
    seal(folder)
    assert "responses.jsonl.gz: unpacks to more than 500 times its size" in _told(folder)


DEEP = "[" * 100_000 + "]" * 100_000
FORMAT, FILES = '"format": 3', '"files": {'
FORGED: dict[str, tuple[tuple[str, ...], str]] = {
    "manifest is a list": (("manifest.json", "write", "[]"), "manifest.json"),
    "manifest is cut": (("manifest.json", "write", "{"), "manifest.json"),
    "manifest is deep": (("manifest.json", "write", DEEP), "manifest.json"),
    "metrics have another bit": (("metrics.json", "flip a bit"), "metrics.json: SHA-256 differs"),
    "responses have another bit": (("responses.jsonl.gz", "flip a bit"), "responses.jsonl.gz: SHA-256 differs"),
    "scores are gone": (("scores.jsonl.gz", "remove"), "scores.jsonl.gz: missing"),
    "a file more": (("more.txt", "write", "x"), "more.txt: not in the receipt"),
    "a link": (("link", "link", "plan.json"), "link: a link"),
    "receipt has half a letter": (("receipt.json", "replace", FILES, f'{FILES}"\\ud800": "x",'), ""),
    "receipt has half a letter elsewhere": (("receipt.json", "replace", FORMAT, '"format": "\\ud800"'), ""),
    "receipt has NaN": (("receipt.json", "replace", FORMAT, '"format": NaN'), ""),
    "receipt has an endless number": (("receipt.json", "replace", FORMAT, f'"format": {"9" * 5000}'), ""),
    "receipt is deep": (("receipt.json", "replace", FORMAT, f'"format": {"[" * 990}{"]" * 990}'), ""),
    "receipt is a list": (("receipt.json", "write", "[]"), "receipt.json cannot be read"),
    "receipt is gone": (("receipt.json", "remove"), "receipt.json cannot be read"),
    "files is a list": (("receipt.json", "replace", FILES, '"files": [], "others": {'), ""),
    "a file left out": (("receipt.json", "pop", "files/plan.json"), "root_sha256 is not"),
    "a gate left out": (("receipt.json", "pop", "gates/-1"), "receipt_sha256 is not"),
    "another attempt": (("receipt.json", "set", "attempts/position", 9), "receipt_sha256"),
}
"""A step of crafted.jsonl on a published folder, and what verify.py says of it beside DIFFERS."""


@pytest.mark.parametrize("name", FORGED)
def test_the_small_verifier_says_6_and_no_traceback(folder: Path, name: str) -> None:
    step, said = FORGED[name]
    changed(*step)(folder)
    if step[0] == "manifest.json":
        seal(folder, restate=False)
    command = [sys.executable, ROOT / "src" / "perpend" / "proof" / "verify.py", folder]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 6, done.stderr
    assert "Traceback" not in done.stderr
    assert "DIFFERS" in done.stdout
    assert said in done.stdout
