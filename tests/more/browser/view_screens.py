"""Make the pictures of docs/how-to/view.md and docs/how-to/demo.md again.

    python -m tests.more.browser.view_screens LOG.eval          pictures into docs/figures
    python -m tests.more.browser.view_screens LOG.eval --demo DIR   with the runs of a demo that is there already

LOG.eval is a log of inspect_ai over questions of our own: what it holds is seen in the docs. The demo is the one of a
simulated subject, so the pictures are the same each time.
"""

from __future__ import annotations

import argparse
import io
import shutil
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image

from perpend.demo import SIMULATED, Size, make_demo
from tests.more.browser.conftest import BROWSERS, QUIET, READY, write

FIGURES = Path(__file__).resolve().parents[3] / "docs" / "figures"
CLAIMS = """\
[[claim]]
name   = "right_under_control"
says   = "Under control the model is right on 75% of the factual questions."
number = "100 * rate(correct, condition='control', temperature=0)"
expect = 75

[[claim]]
name   = "pressure"
says   = "Group pressure lowers the share of right answers."
order  = "rate(correct, condition='asch_history_5') < rate(correct, condition='control')"

[[claim]]
name   = "endorsed_under_authority"
says   = "Half of the answers endorse what an authority claims."
number = "rate(endorsed, condition='authoritative_bias')"
expect = 0.5
"""
COLOURS = 200


def shots() -> list[tuple[str, str, str, dict[str, Any]]]:
    """(picture, page, place in it, how it is opened)."""
    return [
        ("view-overview", "conformity", "overview", {}),
        ("view-matrix", "conformity", "matrix?sort=flips&differ=1&f.sampling=T+%3D+0", {}),
        ("view-trials", "conformity", "trials?f.outcome=planted&q=certain", {}),
        ("view-trial", "conformity", "trials?f.outcome=planted&f.condition=asch_history_5", {"open": True}),
        ("view-compare", "conformity", "compare?of=condition&a=control&b=asch_history_5&only=changed", {}),
        ("view-claims", "conformity", "claims", {}),
        ("view-labels", "conformity", "labels?reader=anna", {}),
        ("view-dark", "conformity", "matrix?sort=flips", {"dark": True}),
        ("view-narrow", "conformity", "trials?f.outcome=planted", {"width": 390, "open": True}),
        ("view-logic", "logic", "overview", {}),
        ("view-verbs", "verbs", "trials?f.outcome=wrong", {"open": True}),
        ("view-inspect", "inspect", "trials", {}),
        ("view-published", "published", "overview", {}),
        ("demo_page_1280", "demo", "overview", {}),
    ]


def take(browser: Any, page: Path, place: str, *, width: int = 1280, dark: bool = False, open: bool = False) -> bytes:  # noqa: A002
    """One picture of the page at a place; `open` opens the first trial of its list."""
    height = 844 if width < 600 else 800
    tab = browser.new_page(viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light")
    tab.goto(f"{page.resolve().as_uri()}#{place}")
    tab.wait_for_selector(READY, state="attached")
    tab.wait_for_selector("html[data-texts=yes]", state="attached")
    tab.wait_for_selector("html[data-searched=yes]", state="attached")
    if open:
        tab.locator(".rows a").first.click()
        tab.wait_for_selector(".conversation .is-answer")
    elif place.startswith("trials"):
        tab.wait_for_selector(".rows .row:nth-child(3) .snippet:last-child:not(:text-is('…'))")
    elif place.startswith("compare"):
        tab.wait_for_selector(".pair .is-answer")
    elif place.startswith("labels"):
        tab.wait_for_selector(".blind")
    picture: bytes = tab.screenshot()
    tab.close()
    return picture


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the pictures of docs/how-to/view.md.")
    parser.add_argument("log", type=Path, help="a log of inspect_ai")
    parser.add_argument("--demo", type=Path, help="the folder of a demo that is there already")
    parser.add_argument("--out", type=Path, default=FIGURES)
    given = parser.parse_args()
    from playwright.sync_api import sync_playwright

    path = next(path for name in BROWSERS if (path := shutil.which(name)))
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        demo = given.demo or folder / "demo"
        if given.demo is None:
            make_demo(demo, SIMULATED, Size(), figures=True, quiet=True)
        (folder / "claims.toml").write_text(CLAIMS, encoding="utf-8")
        runs = demo / "runs"
        options = {"figures": True, "claims": folder / "claims.toml"}
        pages = {
            "conformity": write(folder / "conformity.html", runs / "conformity-subject", **options),
            "logic": write(folder / "logic.html", runs / "logic-P0-subject", figures=True),
            "verbs": write(folder / "verbs.html", runs / "verbs-subject", figures=True),
            "inspect": write(folder / "inspect.html", given.log),
            "published": write(folder / "published.html", demo / "published" / "conformity-subject", figures=True),
            "demo": demo / "index.html",
        }
        with sync_playwright() as driver, driver.chromium.launch(executable_path=path, args=list(QUIET)) as browser:
            for name, page, place, how in shots():
                picture = Image.open(io.BytesIO(take(browser, pages[page], place, **how))).convert("RGB")
                small = picture.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, kmeans=4, dither=Image.Dither.NONE)
                small.save(given.out / f"{name}.png", optimize=True)


if __name__ == "__main__":
    main()
