"""The demo's page in a real browser: nothing is fetched, nothing goes wrong, its numbers are the published ones."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from perpend.demo import SIMULATED, Size, make_demo
from tests.test_demo import published

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("browser")]

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
NUMBERS = "all => all.map(one => [one.dataset.key, one.value, one.textContent])"
PICTURES = "all => all.map(one => [one.complete, one.naturalWidth, one.alt])"
WIDTHS = "() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]"


@dataclass
class Visit:
    """What a browser saw and heard on the page at one width."""

    numbers: list[tuple[str, str, str]]
    pictures: list[tuple[bool, int, str]]
    widths: tuple[int, int]
    text: str
    asked: list[str] = field(default_factory=list)
    heard: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo")
    make_demo(folder, SIMULATED, Size(facts=6, opinions=3, logic=8, probes=60), figures=False, quiet=True)
    return folder


@pytest.fixture(scope="module", params=[1280, 390])
def visit(request: pytest.FixtureRequest, out: Path) -> Iterator[Visit]:
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: pip install playwright"
    )
    browser = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if browser is None:
        pytest.skip("no Chromium on the PATH; 'make browser' says how to get one")
    asked: list[str] = []
    heard: list[str] = []
    with playwright.sync_playwright() as driver, driver.chromium.launch(executable_path=browser, args=QUIET) as running:
        page = running.new_page(viewport={"width": request.param, "height": 900})
        address = (out / "index.html").as_uri()

        def answer(route: object) -> None:
            url = route.request.url  # type: ignore[attr-defined]  # playwright is imported only where it is installed
            if url == address:
                route.continue_()  # type: ignore[attr-defined]
            else:
                asked.append(url)
                route.abort()  # type: ignore[attr-defined]

        page.route(lambda url: not url.startswith("data:"), answer)
        page.on("console", lambda message: heard.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: heard.append(str(error)))
        page.goto(address, wait_until="load")
        yield Visit(
            numbers=[tuple(row) for row in page.eval_on_selector_all("data", NUMBERS)],
            pictures=[tuple(row) for row in page.eval_on_selector_all("img", PICTURES)],
            widths=tuple(page.evaluate(WIDTHS)),
            text=page.inner_text("body"),
            asked=asked,
            heard=heard,
        )


def test_nothing_is_asked_of_anybody_and_the_console_is_silent(visit: Visit) -> None:
    assert visit.asked == []
    assert visit.heard == []


def test_every_picture_is_there_and_says_what_it_shows(visit: Visit) -> None:
    assert len(visit.pictures) == 4
    assert all(is_whole and width > 0 and alt for is_whole, width, alt in visit.pictures)


def test_the_page_does_not_scroll_sideways(visit: Visit) -> None:
    assert visit.widths[0] <= visit.widths[1]


def test_every_number_is_the_one_in_a_published_metrics_json(visit: Visit, out: Path) -> None:
    stated = published(out)
    assert len(visit.numbers) > 60
    for key, value, words in visit.numbers:
        exact = stated[key]
        assert exact == (None if value == "" else float(value))
        assert words == "NA" if exact is None else words


def test_the_audit_s_verdict_is_on_the_page(visit: Visit) -> None:
    assert "nothing differs" in visit.text
    assert "root sha-256" in visit.text.lower()
