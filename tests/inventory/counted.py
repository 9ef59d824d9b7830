"""Tests, golden cases and public names, counted without running anything."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.inventory.written import ROOT, call

FOLDERS = ("tests", "factory/tests")
"""Where tests are; those that are not there yet, or no more, are left out."""
ALSO = ("-o", "norecursedirs=.*")
"""Collects tests/more too, which pytest otherwise runs only when it is named."""


def tests() -> dict[str, int]:
    """How many cases every test function has, by file::function; file::skipped is a file that is skipped whole."""
    folders = [folder for folder in FOLDERS if (ROOT / folder).is_dir()]
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *ALSO, *folders]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 5):
        sys.exit(f"pytest cannot collect the tests:\n{done.stdout[-2000:]}")
    found = Counter(
        line.partition("[")[0] for line in done.stdout.splitlines() if re.match(r"\S*tests/\S+\.py::", line)
    )
    for path in re.findall(r"^SKIPPED \[\d+\] (\S*tests/\S+?\.py):\d+", done.stdout, re.MULTILINE):
        found[f"{path}::skipped"] = 1
    return dict(found)


def seconds(junit: Path) -> dict[str, str]:
    """Seconds of every test function in a JUnit file, and how many of its cases were skipped or failed."""
    total: Counter[str] = Counter()
    ended: dict[str, Counter[str]] = {}
    for case in ET.parse(junit).iter("testcase"):
        file, _, group = _file(case.get("classname") or "")
        name = "::".join(part for part in (file, group, (case.get("name") or "").partition("[")[0]) if part)
        total[name] += float(case.get("time") or 0)
        how = next((child.tag for child in case if child.tag in ("skipped", "failure", "error")), "passed")
        ended.setdefault(name, Counter())[how] += 1
    return {
        name: f"{total[name]:.2f}" + "".join(f" {n} {how}" for how, n in sorted(counts.items()) if how != "passed")
        for name, counts in ended.items()
    }


def _file(classname: str) -> tuple[str, str, str]:
    """The file of a dotted name, and the class in it."""
    parts = classname.split(".")
    for end in range(len(parts), 0, -1):
        path = "/".join(parts[:end]) + ".py"
        if (ROOT / path).is_file():
            return path, "", "::".join(parts[end:])
    return classname, "", ""


def golden() -> dict[str, int]:
    """Every golden case: its file and the digest of its line."""
    return dict(Counter(
        f"{path.name} {hashlib.sha256(line.encode()).hexdigest()[:12]}"
        for path in sorted((ROOT / "tests").rglob("golden/*.jsonl"))
        for line in path.read_text(encoding="utf-8").rstrip("\n").split("\n")
    ))  # fmt: skip


def doors() -> dict[str, str]:
    """What a user can call: every verb with its options and arguments, every public name with its parameters."""
    found = {f"$ {path}": digest for program in ("perpend", "chaosbench") for path, digest in _verbs(program)}
    for module in ("perpend", "perpend.stats"):
        home = importlib.import_module(module)
        for name in home.__all__:
            value = getattr(home, name)
            found[f"{module}.{name}"] = _parameters(value)
    return found


def _parameters(value: object) -> str:
    """Names, kinds and defaults of what can be called; the type of anything else."""
    try:
        signature = inspect.signature(value)  # type: ignore[arg-type]  # refused below, if it is no callable
    except (TypeError, ValueError):
        return type(value).__name__
    bare = [one.replace(annotation=inspect.Parameter.empty) for one in signature.parameters.values()]
    said = str(signature.replace(parameters=bare, return_annotation=inspect.Signature.empty))
    return re.sub(r" at 0x[0-9a-f]+", "", said)


def _verbs(program: str) -> Iterator[tuple[str, str]]:
    """(command and option, its words in the help) of every command of a program."""
    waiting = [program]
    while waiting:
        line = waiting.pop()
        text = call(f"{line} --help", ROOT).stdout
        yield line, " ".join(text.partition("\n")[0].removeprefix("Usage:").split())
        options = text.partition("\nOptions:\n")[2].partition("\nCommands:\n")[0]
        for flags, words in re.findall(r"^  (-\S.*?)(?:  +|\n +)(\S.*(?:\n {8,}\S.*)*)", options, re.MULTILINE):
            yield f"{line} {flags}", " ".join(words.split())
        commands = text.partition("\nCommands:\n")[2]
        waiting += [f"{line} {name}" for name in re.findall(r"^  (\S+)", commands, re.MULTILINE)]
