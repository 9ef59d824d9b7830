"""The demo's page in a real browser: three published studies, audited, each with its gates."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from perpend.demo import SIMULATED, Size, make_demo
from tests.more.browser.conftest import Visit

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("browser")]


@pytest.fixture(scope="module")
def demo_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo")
    make_demo(folder, SIMULATED, Size(facts=6, opinions=3, logic=8, probes=60), figures=False, quiet=True)
    return folder / "index.html"


@pytest.mark.parametrize("width", [1280, 390])
def test_each_study_says_what_it_found_and_that_its_audit_passed(
    visit: Callable[..., Visit], demo_page: Path, width: int
) -> None:
    page = visit(demo_page, width=width)
    assert page.go("overview").locator("article.run").count() == 3
    for number in range(3):
        tab = page.go(f"overview?run={number}")
        assert tab.locator(".answer").count() == 1
        assert "nothing differs" in tab.inner_text(".eyebrow")
        assert tab.locator(".gates li").count() > 3
        widths = tab.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
        assert widths[0] <= widths[1]
