"""benchmarks/mutations.py: what a mutant is; and every survivor of the last run has a reason.

The runner is run by hand (docs/explanation/mutants.md).
"""

from __future__ import annotations

import ast
import json
import re
import tomllib
from pathlib import Path

import pytest

from tests.conftest import ROOT, load_benchmark

MUTATIONS = load_benchmark("mutations")


def changed(source: str) -> set[str]:
    """Every version of a source with one change, in the form that Python gives it."""
    versions = (MUTATIONS.mutant("x.py", source, candidate) for candidate in MUTATIONS.candidates(ast.parse(source)))
    return {ast.unparse(ast.parse(version.text)) for version in versions if version is not None}


@pytest.mark.parametrize(
    ("source", "versions"),
    [
        ("a < b", {"a <= b"}),
        ("a is not None", {"a is None"}),
        ("a + b", {"a - b"}),
        ("a and b", {"a or b"}),
        ("not a", {"a"}),
        ("x = 1", {"x = 2", "x = 0"}),
        ("x = 0.5", {"x = 0.55"}),
        ("x = 'größe'", {"x = 'größ'"}),
        ("x = True", {"x = False"}),
        ("f(a, b)", {"f(b, a)", "pass"}),
        ("x = sorted(a, key=b)", {"x = list(a)"}),
        ("x = 'SELECT a DESC'", {"x = 'SELECT a'", "x = 'SELECT a DES'"}),
        ("[x for x in a if b]", {"[x for x in a if True]"}),
        ("x = a if b else c", {"x = a if True else c", "x = a if False else c"}),
        ("raise a", {"pass"}),
        ("x += y", {"pass"}),
        ('"""A docstring."""', set()),
        ("x: int | None = None", set()),
        ("x = f'{a + 1}'", set()),
        ("zip(a, b, strict=True)", {"zip(b, a, strict=True)", "pass"}),
    ],
)  # fmt: skip
def test_one_place_is_changed_in_one_way(source: str, versions: set[str]) -> None:
    assert changed(source) == versions


def test_a_change_in_a_line_with_other_letters_hits_its_place() -> None:
    assert changed("x = ('ä' * 3, b)\n") == {
        "x = ('ä' / 3, b)",
        "x = ('' * 3, b)",
        "x = ('ä' * 4, b)",
        "x = ('ä' * 2, b)",
    }


def test_a_mutant_says_which_function_it_is_in() -> None:
    source = (
        "x = 1\nclass C:\n    y = 2\n    def g(self, a=3):\n        def h():\n            return 4\n        return h\n"
    )
    names = {candidate[1] for candidate in MUTATIONS.candidates(ast.parse(source))}
    assert names == {"", "C.g", "C.g.<locals>.h"}


def test_the_seed_and_the_file_decide_which_mutants_are_tried(tmp_path: Path) -> None:
    folder = tmp_path / "src" / "perpend"
    folder.mkdir(parents=True)
    for name in ("a.py", "b.py"):
        (folder / name).write_text("".join(f"x{n} = a{n} + b{n} < {n}\n" for n in range(40)), encoding="utf-8")

    def tried(seed: int) -> list[str]:
        return [mutant.id for mutant in MUTATIONS.selection(tmp_path, ("a.py", "b.py"), 4, seed)]

    first = tried(1)
    assert len(first) == len(set(first)) == 20
    assert first == tried(1) != tried(2)
    (folder / "b.py").write_text((folder / "b.py").read_text(encoding="utf-8").replace("a0", "c0"), encoding="utf-8")
    assert tried(1)[:10] == first[:10], "what is known of one file outlasts a change of another"


def test_every_survivor_of_the_last_run_has_a_reason_and_nothing_else_has_one() -> None:
    lines = (ROOT / "benchmarks" / "mutants.jsonl").read_text(encoding="utf-8").splitlines()
    known = {entry["id"]: entry["outcome"] for entry in map(json.loads, lines)}
    reasons = tomllib.loads((ROOT / "benchmarks" / "survivors.toml").read_text(encoding="utf-8"))
    assert set(known.values()) <= {"killed", "time-out", "survived", "not reached"}
    alive = {id_ for id_, outcome in known.items() if outcome in ("survived", "not reached")}
    assert reasons.keys() == alive
    assert all(reason.strip() for reason in reasons.values())


def test_the_page_names_for_each_survivor_the_file_that_holds_its_line_now() -> None:
    page = (ROOT / "docs" / "explanation" / "mutants.md").read_text(encoding="utf-8")
    named = re.findall(r"^- `(src/.+?)`( as it was)?.*\n\n  ```text\n  - (.*)\n", page, re.MULTILINE)
    source = {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py")
    }
    lines = {file: {line.strip() for line in text.splitlines()} for file, text in source.items()}
    reasons = tomllib.loads((ROOT / "benchmarks" / "survivors.toml").read_text(encoding="utf-8"))
    assert len(named) == len(reasons)
    for file, gone, line in named:
        holding = {name for name, known in lines.items() if line in known}
        assert len(holding) != 1 and file not in holding if gone else file in holding, f"{line}: {file}, not {holding}"
