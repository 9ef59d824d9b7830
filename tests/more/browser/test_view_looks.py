"""How the viewer looks and reads: on a phone, in the dark, on paper, to a screen reader and by keyboard alone."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.more.browser.conftest import Visit

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("browser")]

SCREENS = ["overview", "matrix", "trials", "trial", "compare", "claims", "labels?reader=anna"]
AXE = Path(__file__).parent / "vendor" / "axe.min.js"
FINDINGS = """async () => (await axe.run()).violations.filter(one => ['serious', 'critical'].includes(one.impact))
  .map(one => [one.id, one.nodes.slice(0, 3).map(node => node.html.slice(0, 99) + node.any.map(any => any.message))])"""


def opened(page: Visit, screen: str) -> None:
    """Open a screen and wait until its texts are there."""
    tab = page.go("trials?f.outcome=planted" if screen == "trial" else screen)
    if screen == "trial":
        tab.locator(".rows a").first.click()
    ready = {
        "trial": ".beside-card .foreign",
        "compare": ".pair .is-answer",
        "trials": ".snippet",
        "matrix": ".cell-link",
    }
    tab.wait_for_selector(ready.get(screen, ".blind" if screen.startswith("labels") else "main > *"))


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_axe_has_no_serious_finding_on_any_screen(
    visit: Callable[..., Visit], study_page: Path, width: int, dark: bool
) -> None:
    page = visit(study_page, width=width, dark=dark)
    for screen in SCREENS:
        opened(page, screen)
        if screen == "overview":
            page.page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        page.page.evaluate(AXE.read_text(encoding="utf-8") + "; 0")
        assert page.page.evaluate(FINDINGS) == [], screen
    page.page.keyboard.press("Escape")
    page.page.keyboard.press("?")
    page.page.wait_for_selector("dialog[open]")
    assert page.page.evaluate(FINDINGS) == [], "keys"


def test_a_phone_never_scrolls_sideways(visit: Callable[..., Visit], study_page: Path) -> None:
    page = visit(study_page, width=390)
    for screen in SCREENS:
        opened(page, screen)
        widths = page.page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
        assert widths[0] <= widths[1], screen


def test_dark_follows_the_system_and_the_switch_which_is_remembered(
    visit: Callable[..., Visit], study_page: Path
) -> None:
    page = visit(study_page, dark=True)
    paper = "getComputedStyle(document.body).backgroundColor"
    dark = page.go("overview").evaluate(paper)
    page.page.click("#theme")
    light = page.page.evaluate(paper)
    shades = [sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in (dark, light)]
    assert shades[0] < 150
    assert shades[1] > 600
    page.go("matrix")
    assert page.page.evaluate(paper) == light


def test_every_screen_prints_and_lists_print_what_is_out_of_sight(
    visit: Callable[..., Visit], study_page: Path
) -> None:
    page = visit(study_page, dark=True)
    for screen in SCREENS:
        opened(page, screen)
        page.page.evaluate(
            """() => addEventListener('beforeprint', () => {
              document.title = document.querySelectorAll('.rows .row').length; }, { once: true })"""
        )
        document = page.page.pdf()
        assert document.startswith(b"%PDF-"), screen
        if screen == "trials":
            assert page.page.title() == "96"
            assert len(re.findall(rb"/Type\s*/Page\b(?!s)", document)) > 1
    assert page.page.locator(".rows .row").count() < 40


def test_a_keyboard_alone_reaches_a_trial_and_every_control(visit: Callable[..., Visit], study_page: Path) -> None:
    page = visit(study_page)
    tab = page.go("overview")
    names = []
    for _ in range(14):
        tab.keyboard.press("Tab")
        names.append(tab.evaluate("(document.activeElement.innerText || document.activeElement.id).trim()"))
    assert names[0] == "Skip to the content"
    assert {"Overview", "Matrix", "Trials", "Compare", "Claims", "Labels"} <= set(names)
    tab.locator("#nav a", has_text="Trials").focus()
    tab.keyboard.press("Enter")
    tab.wait_for_selector(".trials .rows .row")
    tab.keyboard.press("j")
    assert tab.evaluate("document.activeElement.closest('.row') !== null")
    tab.keyboard.press("Enter")
    tab.wait_for_selector(".trial .conversation")
    assert tab.evaluate("document.activeElement.id") == "main"
    tab.go_back()
    tab.wait_for_selector(".trials .rows .row")


def test_a_ticked_filter_keeps_the_focus(visit: Callable[..., Visit], study_page: Path) -> None:
    page = visit(study_page)
    tab = page.go("trials")
    box = tab.get_by_role("checkbox", name="planted", exact=False).first
    box.focus()
    tab.keyboard.press("Space")
    tab.wait_for_selector(".chips .chip")
    assert tab.evaluate("document.activeElement.type") == "checkbox"
    assert tab.evaluate("document.activeElement.checked")
