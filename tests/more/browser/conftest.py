"""What the tests of the viewer share: one browser, one small study, and pages whose every request and word is heard."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Playwright, sync_playwright

import perpend as pp
from perpend._view import OpenedRuns, ViewOptions
from perpend.view.page import write_page

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
READY = "html[data-ready=yes]"
CLAIMS = """\
[[claim]]
name   = "steady"
says   = "The steady model is right without pressure."
number = "rate(correct, condition='control', model='steady')"
expect = 1.0
within = 1.0

[[claim]]
name   = "wrong"
says   = "Everybody always endorses the claim."
number = "rate(endorsed, model='steady')"
expect = 1.0
"""


@dataclass
class Visit:
    """A page in a browser, with what it asked for beyond its own place and what it said on the console."""

    page: Any
    address: str
    asked: list[str] = field(default_factory=list)
    heard: list[str] = field(default_factory=list)
    may_say: str = "nothing"
    """A part of the lines that the console may have."""

    def go(self, hash_: str) -> Any:
        """Open the page anew at a place, as somebody does who was sent the link."""
        if self.page.url != "about:blank":
            self.page.goto("about:blank")
        self.page.goto(f"{self.address}#{hash_}", wait_until="load")
        self.page.wait_for_selector(READY, state="attached")
        return self.page

    def leave(self) -> None:
        """Close the page before its server ends, which it would ask in vain."""
        self.page.close()

    def rows(self) -> int:
        """How many trials pass the filters and the finished search."""
        self.page.wait_for_selector("html[data-searched=yes]", state="attached")
        return int(self.page.evaluate("document.documentElement.dataset.rows"))


def launched(driver: Playwright) -> Browser:
    """The browser that is installed here. Skips where there is none."""
    path = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if path is None:
        pytest.skip("no Chromium on the PATH; on Debian or Ubuntu: apt-get install chromium")
    return driver.chromium.launch(executable_path=path, args=QUIET)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """One browser per module. Not longer: while it is driven this thread has an event loop, and no other can run."""
    with sync_playwright() as driver, launched(driver) as browser:
        yield browser


@pytest.fixture
def visit(chromium: Any) -> Iterator[Callable[..., Visit]]:
    """Open a page; at the end of the test nothing was asked of anybody else, and the console was silent."""
    visits: list[Visit] = []
    contexts: list[Any] = []

    def opened(place: Path | str, *, width: int = 1280, dark: bool = False, **options: Any) -> Visit:
        address = place.as_uri() if isinstance(place, Path) else place
        own = address.rsplit("/", 1)[0] + "/"
        context = chromium.new_context(
            viewport={"width": width, "height": 800}, color_scheme="dark" if dark else "light", **options
        )
        contexts.append(context)
        page = context.new_page()
        visit = Visit(page, address)
        visits.append(visit)

        def answer(route: Any) -> None:
            url = route.request.url
            if url.startswith(own):
                route.continue_()
            else:
                visit.asked.append(url)
                route.abort()

        page.route(lambda url: not url.startswith(("data:", "blob:")), answer)
        page.on("console", lambda message: visit.heard.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: visit.heard.append(str(error)))
        page.on("dialog", lambda dialog: (visit.heard.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.set_default_timeout(10_000)
        return visit

    yield opened
    for context in contexts:
        context.close()
    for visit in visits:
        assert visit.asked == []
        assert [line for line in visit.heard if visit.may_say not in line] == []


@pytest.fixture(scope="session")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models, one of which gives in; three conditions, two temperatures: 96 trials."""
    folder = tmp_path_factory.mktemp("view")
    task = pp.task("conformity", conditions=["control", "asch_history_5", "authoritative_bias"])
    models = [
        pp.model("mock/subject", sway=0.9, label="swayed"),
        pp.model("mock/subject", sway=0.0, label="steady"),
    ]
    pp.evaluate(task, models, max_items=8, temperature=[0.0, 0.7], name="study", out=folder, quiet=True)
    (folder / "claims.toml").write_text(CLAIMS, encoding="utf-8")
    return folder / "study"


def write(out: Path, *runs: Path, **options: Any) -> Path:
    """The page of runs, as 'perpend view RUN --out' writes it."""
    with ExitStack() as stack:
        write_page(OpenedRuns(stack, runs, ViewOptions(**{"figures": False, **options})).view(), out)
    return out


@pytest.fixture(scope="session")
def study_page(study: Path) -> Path:
    return write(study.parent / "study.html", study, claims=study.parent / "claims.toml", sample=6)


@pytest.fixture(scope="session")
def write_view() -> Callable[..., Path]:
    return write


@pytest.fixture(scope="session")
def hostile_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose items, tags and answers are the hostile texts."""
    import json

    from tests.more.browser.test_view_hostile import HOSTILE

    folder = tmp_path_factory.mktemp("hostile")
    texts = [text.encode("utf-8", "replace").decode() for text in HOSTILE]
    with (folder / "items.jsonl").open("w", encoding="utf-8") as file:
        for n, text in enumerate(texts):
            item = {"id": f"{n} {text[:60]}", "prompt": f"{text} {n}", "target": f"right {n}", "decoy": f"{text[:40]}!"}
            file.write(json.dumps({**item, "tags": {"topic": f"{text[:80]} {n}", "<b>tag</b>": str(n % 3)}}) + "\n")

    def answer(prompt: str) -> str:
        return texts[sum(map(ord, prompt[-300:])) % len(texts)] + " right"

    pp.evaluate(
        pp.task("questions", items=folder / "items.jsonl"),
        pp.model(answer, label=texts[1][:60]),
        name="hostile",
        out=folder,
        quiet=True,
    )
    return folder / "hostile"
