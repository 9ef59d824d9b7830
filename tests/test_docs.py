"""Documentation that cannot lie: every code block runs; every verb, task, provider and scorer has its place.

```python blocks of a page run top to bottom in one namespace, in an empty folder; a block of `>>>` lines is a doctest.
The `$ ` lines of ```console blocks are run by bash, with the commands of tests/commands.py. Links between pages must
lead somewhere. mkdocs.yml is the list of the pages.
"""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from perpend.cli import cli
from perpend.spec.resolve import names
from tests.conftest import ROOT
from tests.generated_docs import PAGES as GENERATED

PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
WITH_MORE = ("docs/how-to/export.md", "docs/how-to/python.md")
"""Pages whose blocks need what only `make test-more` installs, which is polars: tests/more/test_docs.py runs them."""
LINK = re.compile(r"\[[^\]]*\]\(([^)#:]+)(?:#[^)]*)?\)")


def blocks(page: Path) -> list[tuple[str, str]]:
    return [(kind, body) for kind, body in BLOCK.findall(page.read_text(encoding="utf-8"))]


def named(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def run_blocks(page: Path, programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.pathsep.join([str(programs), str(Path(sys.executable).parent), os.environ["PATH"]]))
    namespace: dict[str, object] = {"__name__": "__main__"}
    for number, (kind, body) in enumerate(blocks(page), 1):
        where = f"{named(page)}, block {number}"
        if kind == "python" and body.lstrip().startswith(">>>"):
            example = doctest.DocTestParser().get_doctest(body, namespace, where, named(page), 0)
            runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
            said: list[str] = []
            runner.run(example, out=said.append, clear_globs=False)
            namespace |= example.globs
            assert runner.failures == 0, "".join(said)
        elif kind == "python":
            exec(compile(body, where, "exec"), namespace)
        elif kind == "console":
            script = "\n".join(line[2:] for line in body.splitlines() if line.startswith("$ "))
            done = subprocess.run(["bash", "-euc", script], capture_output=True, text=True, check=False, timeout=300)
            assert done.returncode == 0, f"{where}\n{done.stdout}\n{done.stderr}"
        elif kind == "yaml":
            assert isinstance(yaml.safe_load(body), dict), where
        else:
            assert kind in ("text", "toml", "json", "sql", "make"), f"{where}: a {kind} block is not run; use text"
            if kind == "toml" and body.startswith("# "):
                Path(body.splitlines()[0].removeprefix("# ").strip()).write_text(body, encoding="utf-8")


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page) and named(page) not in WITH_MORE], ids=named)
def test_every_code_block_runs(page: Path, programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_blocks(page, programs, tmp_path, monkeypatch)


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_link_between_pages_leads_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{named(page)} links to {target}"


def test_every_verb_provider_task_and_scorer_is_in_the_reference() -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "reference").glob("*.md"))
    for verb in cli.commands:
        assert f"perpend {verb}" in text, verb
    for kind in ("models", "tasks", "scorers"):
        for name in names(kind):
            assert f"`{name}" in text, f"{kind}: {name}"


def test_the_menu_has_every_page_once_and_nothing_else() -> None:
    menu = re.findall(r"\S+\.md$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(menu) == sorted(path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md"))


@pytest.mark.parametrize("path", sorted(GENERATED))
def test_pages_made_from_the_code_are_what_the_code_says(path: str) -> None:
    page = (ROOT / path).read_text(encoding="utf-8")
    assert page == GENERATED[path](), "run: python -m tests.generated_docs"
