"""The documentation's site in a real browser: it asks nobody but its own server, and finds what is searched for."""

from __future__ import annotations

import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import sync_playwright

from tests.more.browser.conftest import launched
from tests.test_site import build

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("browser")]


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""


def test_the_site_asks_no_other_host_and_its_search_works(tmp_path: Path) -> None:
    build(tmp_path)
    asked: list[str] = []
    heard: list[str] = []
    with (
        ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=tmp_path)) as server,
        sync_playwright() as driver,
        launched(driver) as running,
    ):
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"127.0.0.1:{server.server_port}"
        page = running.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: heard.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: heard.append(str(error)))
        for name in ("index.html", "reference/cli.html", "how-to/install.html"):
            page.goto(f"http://{address}/{name}", wait_until="load")
        page.click("input.md-search__input")
        page.keyboard.type("ledger")
        page.wait_for_selector(".md-search-result__item a[href*='explanation/ledger.html']", state="attached")
        server.shutdown()
    assert {urlsplit(url).netloc for url in asked if not url.startswith(("data:", "blob:"))} == {address}
    assert heard == []
