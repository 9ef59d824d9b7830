"""The documentation as a site: built without a warning, every page, nothing loaded from another host."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.xdist_group("site")  # built once, by one process

# What Markdown would have turned into an element, had the page been written as this converter reads it.
LEFT_OVER = re.compile(r"^\s*(?:[-*+] |\d+\. |\|.*\|$|#+ |```)|\*\*\w|\]\(|^---", re.MULTILINE)


def build(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},  # about the year in which the theme ends, see pyproject.toml
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    # Not with --quiet, which keeps warnings from --strict, too.
    assert [line for line in (done.stdout + done.stderr).splitlines() if not line.startswith("INFO ")] == []


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    build(folder)
    return folder


class Page(HTMLParser):
    """What a page loads and says in its paragraphs, code left out."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.paragraphs: list[str] = []
        self._within: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self._within += [tag] if tag in ("p", "code", "pre", "script", "style") else []
        self.paragraphs += [""] if tag == "p" else []
        self.loaded += [given[name] for name in ("src", "srcset", "data", "action", "poster") if name in given]
        self.loaded += [given["href"]] if tag != "a" and "href" in given else []

    def handle_endtag(self, tag: str) -> None:
        if tag in self._within:
            self._within.remove(tag)

    def handle_data(self, data: str) -> None:
        if self._within == ["p"]:
            self.paragraphs[-1] += data


def test_every_page_is_built(site: Path) -> None:
    pages = {path.relative_to(ROOT / "docs").with_suffix(".html").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert {path.relative_to(site).as_posix() for path in site.rglob("*.html")} == pages | {"404.html"}


def test_no_page_loads_anything_from_another_host(site: Path) -> None:
    for path in site.rglob("*.html"):
        assert [one for one in Page(path).loaded if re.match(r"\w+:|//", one) and not one.startswith("data:")] == []
    for path in site.rglob("*.css"):
        assert not re.search(r"url\(['\"]?(?:\w+:)?//|@import", path.read_text(encoding="utf-8")), path.name


def test_no_page_shows_markdown_that_was_not_understood(site: Path) -> None:
    for path in site.rglob("*.html"):
        for paragraph in Page(path).paragraphs:
            assert not LEFT_OVER.search(paragraph), f"{path.relative_to(site)}: {paragraph}"
