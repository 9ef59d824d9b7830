"""The page of an audit of a source in a browser: silent, readable in both lights, without a finding of axe."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import perpend as pp
from tests import source_files
from tests.more.browser.conftest import Visit
from tests.more.browser.test_view_looks import AXE, FINDINGS
from tests.test_import_damage import replaced


def test_the_page_of_a_source_has_no_serious_finding(visit: Callable[..., Visit], tmp_path: Path) -> None:
    source = source_files.helm(tmp_path / "capitals")
    replaced("stats.json", '"mean": 0.25', '"mean": 0.5')(source)
    audited = pp.audit([source, source_files.judged(tmp_path / "judges.csv")])
    opened = visit(audited.write_page(tmp_path / "page.html"), width=390, dark=True)
    opened.page.goto(opened.address)
    opened.page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    opened.page.evaluate(AXE.read_text(encoding="utf-8") + "; 0")
    for scheme in ("dark", "light"):
        opened.page.emulate_media(color_scheme=scheme)
        assert opened.page.evaluate(FINDINGS) == [], scheme
    assert opened.page.locator("svg .not").count() == 1
