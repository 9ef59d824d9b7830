"""Hostile text in every field of the page: nothing of it runs, loads, links or moves the page."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from perpend.canon import JSON
from perpend.view.page import packed, shell
from tests.more.browser.conftest import Visit

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("browser")]

HOSTILE = (
    "</script><script>window.pwned=1;fetch('http://127.0.0.1:9/')</script>",
    "<img src=x onerror=window.pwned=1><svg onload=window.pwned=1><iframe srcdoc='<script>parent.pwned=1</script>'>",
    "</style><style>*{display:none}</style><base href=http://127.0.0.1:9/><meta http-equiv=refresh content='0;url=x'>",
    "[click](javascript:window.pwned=1) ![x](http://127.0.0.1:9/x.png) http://127.0.0.1:9/ <a href=//x>y</a>",
    "data:text/html,<script>window.pwned=1</script> javascript:window.pwned=1",
    "\x1b[31mred\x1b[0m\x1b]8;;http://127.0.0.1:9\x07link\x1b]8;;\x07\x00\x07\x08\x7f\x9b2J\r\x0c",
    "abc\u202egnp.exe\u202c \u2067\u05d0\u2069\u200f\u061c \u2028\u2029 \U000e0041\U000e0042",
    "a\u200bb\u200cc\u200dd\ufeffe\u00adf\u2060g\u3164h\u115f\u2800" * 20,
    "e" + "\u0301" * 500 + " \u0e01" + "\u0e49" * 300,
    "W" * 3000,
    "\n" * 500,
    "\t" * 2000,
    "{{ 7*7 }} ${window.pwned=1} `x` %s %n &lt;b&gt; &#x3c;script&#x3e; -->]]>",
    "__proto__",
    "\ud800 lone \udfff",
    "\u05d0\u05d1\u05d2" * 200 + " rtl",
    "\u4e2d" * 400,
)
# What says how the page is to be read, not what it shows; the outcomes are perpend's own words.
STRUCTURE = {
    "format", "mode", "version", "kind", "codes", "data", "width", "at", "type", "key", "verdict", "trial",
    "number", "text_sha256", "rubric_sha256", "growing", "seed", "sample", "chunks", "trials", "start", "end", "turn",
}  # fmt: skip
SCREENS = ["overview", "matrix", "trials", "compare", "claims", "labels?reader=anna"]
UNSEEN = re.compile(
    "[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]"
)
STATE = """() => ({
  pwned: window.pwned, scripts: [...document.scripts].filter(one => !one.type).length,
  links: [...document.querySelectorAll('a')].map(one => one.getAttribute('href')).filter(href => !href.startsWith('#')),
  strange: [...document.querySelectorAll('main *')].map(one => one.localName).filter(name => ['script', 'iframe',
    'object', 'embed', 'form', 'style', 'link', 'meta', 'base', 'video', 'audio'].includes(name)),
  pictures: [...document.querySelectorAll('img')].map(one => one.src).filter(src => !src.startsWith('data:image/')),
  handlers: [...document.querySelectorAll('*')].flatMap(one => one.getAttributeNames())
    .filter(name => name.startsWith('on')),
  wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  head: document.querySelector('.top').getBoundingClientRect().height,
  tall: Math.max(...[...document.querySelectorAll('.rows .row')].map(one => one.getBoundingClientRect().height), 0),
  text: document.body.innerText, title: document.title })"""


def opened_data(page: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The index and the chunks of a page."""
    scripts = re.findall(r'<script type="text/plain" id="([\w-]+)">([^<]*)</script>', page.read_text(encoding="utf-8"))
    parts = {name: json.loads(gzip.decompress(base64.b64decode(text))) for name, text in scripts}
    return parts.pop("index"), parts


def spoiled(body: JSON, texts: Iterator[str], key: str = "") -> JSON:
    """The same structure with a hostile text for every string that is shown."""
    if isinstance(body, dict):
        return {name: spoiled(value, texts, name) for name, value in body.items()}
    if isinstance(body, list):
        return [spoiled(value, texts, key) for value in body]
    if isinstance(body, str) and key not in STRUCTURE:
        return next(texts)
    return body


def hostile_page(page: Path, out: Path, first: int) -> Path:
    """A page with hostile text wherever a string is shown; names stay different from one another."""
    index, chunks = opened_data(page)
    number = count(first)
    texts = (HOSTILE[n % len(HOSTILE)] + f" {n}" for n in number)
    outcomes, runs = index["columns"]["outcome"], [run["name"] for run in index["runs"]]
    index = spoiled(index, texts)
    names = {name: f"{HOSTILE[(first + n) % len(HOSTILE)]} {n}" for n, name in enumerate(runs)}
    index["columns"]["outcome"] = outcomes
    index["columns"]["run"]["values"] = [names[name] for name in runs]
    for run, name in zip(index["runs"], runs, strict=True):
        run["name"] = names[name]
    for at, name in enumerate(list(index["columns"])):
        if name.startswith(("tag:", "score:", "label:")):
            kind = name.split(":")[0]
            index["columns"][f"{kind}:{HOSTILE[(first + at) % len(HOSTILE)]}{at}"] = index["columns"].pop(name)
    mangled = [(name, packed(json.dumps(spoiled(body, texts)).encode())) for name, body in chunks.items()]
    out.write_text("".join(shell("file", packed(json.dumps(index).encode()), mangled)), encoding="utf-8")
    return out


def assert_unharmed(state: dict[str, Any], where: str) -> None:
    assert state["pwned"] is None, where
    assert state["scripts"] == 1, where
    for kind in ("links", "strange", "pictures", "handlers"):
        assert state[kind] == [], f"{where}: {kind}"
    assert state["wide"] <= 0, where
    assert state["head"] < 160, where
    assert state["tall"] <= 63, where
    assert UNSEEN.search(state["text"].replace("\r", "")) is None, where
    assert UNSEEN.search(state["title"]) is None, where


@pytest.mark.parametrize(("width", "first"), [(1280, 0), (390, 5), (1280, 11)])
def test_nothing_in_any_field_runs_loads_links_or_moves_the_page(
    visit: Callable[..., Visit], study_page: Path, tmp_path: Path, width: int, first: int
) -> None:
    page = visit(hostile_page(study_page, tmp_path / "page.html", first), width=width)
    for screen in SCREENS:
        tab = page.go(screen)
        tab.wait_for_selector("html[data-texts=yes]", state="attached")
        if screen == "overview":
            tab.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        if screen == "compare":
            tab.wait_for_selector(".pair .is-answer, .problem")
        if screen.startswith("labels"):
            tab.wait_for_selector(".blind")
        assert_unharmed(tab.evaluate(STATE), screen)
    tab = page.go("trials")
    tab.locator(".rows a").first.click()
    tab.wait_for_selector(".beside-card .foreign, .beside-card .error-text")
    assert_unharmed(tab.evaluate(STATE), "trial")


def test_a_run_of_hostile_items_and_answers_is_harmless(
    visit: Callable[..., Visit], tmp_path: Path, hostile_run: Path, write_view: Callable[..., Path]
) -> None:
    page = visit(write_view(tmp_path / "page.html", hostile_run))
    for screen in SCREENS:
        tab = page.go(screen)
        tab.wait_for_selector("html[data-texts=yes]", state="attached")
        assert_unharmed(tab.evaluate(STATE), screen)
    tab = page.go("trials")
    for _ in range(len(HOSTILE)):
        tab.keyboard.press("j")
        tab.keyboard.press("Enter")
        tab.wait_for_selector(".conversation .is-answer")
        assert_unharmed(tab.evaluate(STATE), tab.inner_text("h2"))
        tab.keyboard.press("Escape")
        tab.wait_for_selector(".trials .rows .row")


def test_what_cannot_be_seen_is_shown_as_a_mark(
    visit: Callable[..., Visit], tmp_path: Path, hostile_run: Path, write_view: Callable[..., Path]
) -> None:
    page = visit(write_view(tmp_path / "page.html", hostile_run))
    tab = page.go("trials?q=gnp.exe")
    tab.wait_for_selector("html[data-searched=yes]", state="attached")
    tab.locator(".rows a").first.click()
    tab.wait_for_selector(".conversation .is-answer")
    marks = set(tab.locator(".conversation .mark").all_inner_texts())
    assert {"RLO", "PDF", "RLI", "PDI", "RLM"} <= marks


def test_a_line_of_a_megabyte_is_clipped_with_its_evidence_in_sight(
    visit: Callable[..., Visit], study_page: Path, tmp_path: Path
) -> None:
    index, chunks = opened_data(study_page)
    for body in chunks.values():
        for trial in body["trials"]:
            trial["turns"][-1]["answer"] = "x" * 600_000 + "EVIDENCE" + "y" * 400_000
            trial["scores"] = [
                {"scorer": "s@1", "value": 1, "reason": "r", "turn": 0, "start": 600_000, "end": 600_008}
            ]
    packs = [(name, packed(json.dumps(body).encode())) for name, body in chunks.items()]
    out = tmp_path / "long.html"
    out.write_text("".join(shell("file", packed(json.dumps(index).encode()), packs)), encoding="utf-8")
    page = visit(out)
    tab = page.go("trials")
    tab.locator(".rows a").first.click()
    tab.wait_for_selector(".conversation mark.evidence")
    assert tab.inner_text(".conversation mark.evidence") == "EVIDENCE"
    shown = tab.locator(".is-answer .foreign")
    assert len(shown.inner_text()) < 20_000
    tab.get_by_role("button", name="Show 100,000 of").first.click()
    assert 100_000 < len(shown.inner_text()) < 130_000
    assert_unharmed(tab.evaluate(STATE), "a megabyte")


def test_the_policy_lets_nothing_else_run(visit: Callable[..., Visit], study_page: Path) -> None:
    page = visit(study_page)
    refused = page.go("overview").evaluate(
        """async () => {
          const refused = [];
          document.addEventListener('securitypolicyviolation', event => refused.push(event.effectiveDirective));
          const script = document.createElement('script');
          script.textContent = 'window.pwned = 1';
          document.body.append(script);
          const image = new Image();
          image.src = 'http://127.0.0.1:9/x.png';
          document.body.append(image);
          await fetch('http://127.0.0.1:9/').catch(() => 0);
          document.body.insertAdjacentHTML('beforeend', '<p onclick="window.pwned = 1" style="color: red"></p>');
          await new Promise(done => setTimeout(done));
          document.body.lastElementChild.click();
          return [window.pwned, refused.sort()];
        }"""
    )
    assert refused[0] is None
    assert {"script-src-elem", "img-src", "connect-src", "style-src-attr"} <= set(refused[1])
    page.may_say = "Content Security Policy"
