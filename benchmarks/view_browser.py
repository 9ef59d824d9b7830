"""How a page of `perpend view` feels in Chromium, from its file: benchmarks/view.py calls `felt`.

Every time is taken inside the page, from the event to the frame after the last change, and is the median of REPEATS.
"""

from __future__ import annotations

import shutil
import statistics
import sys
from pathlib import Path

REPEATS = 7
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
QUIET = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run")
PAINTED = "const painted = () => new Promise(done => requestAnimationFrame(() => setTimeout(done)));"
SHOWN = """async () => {
  await new Promise(done => requestAnimationFrame(() => setTimeout(done)));
  return [performance.getEntriesByName('first-contentful-paint')[0].startTime,
          performance.getEntriesByName('ready')[0].startTime];
}"""
FILTER = f"""async (n) => {{
  {PAINTED}
  const ticks = document.querySelectorAll("details[data-column='outcome'] input");
  const start = performance.now();
  ticks[n % ticks.length].click();
  await painted();
  return performance.now() - start;
}}"""
SEARCH = f"""async (text) => {{
  {PAINTED}
  const field = document.getElementById("search");
  const start = performance.now();
  field.value = text;
  field.dispatchEvent(new Event("change"));
  while (document.documentElement.dataset.searched !== "yes") await new Promise(done => setTimeout(done, 1));
  await painted();
  return performance.now() - start;
}}"""
OPEN = f"""async (n) => {{
  {PAINTED}
  const scroller = document.querySelector(".scroller");
  scroller.scrollTop = (scroller.scrollHeight * (n * 37 % 100)) / 100;
  await painted();
  const start = performance.now();
  document.querySelector(".rows .row:nth-child(3) a").click();
  while (!document.querySelector(".conversation .is-answer")) await new Promise(done => setTimeout(done, 1));
  await painted();
  const taken = performance.now() - start;
  history.back();
  while (!document.querySelector(".trials .rows .row")) await new Promise(done => setTimeout(done, 1));
  return taken;
}}"""
SCROLL = f"""async () => {{
  {PAINTED}
  const scroller = document.querySelector(".scroller"), space = scroller.clientHeight;
  let blank = 0, longest = 0;
  for (let n = 0; n < 120; n++) {{
    const start = performance.now();
    scroller.scrollTop = n < 60 ? n * space * 0.8 : (scroller.scrollHeight * ((n * 37) % 100)) / 100;
    await painted();
    longest = Math.max(longest, performance.now() - start);
    const rows = [...document.querySelectorAll(".rows .row")].map(row => row.getBoundingClientRect());
    const box = scroller.getBoundingClientRect();
    if (!rows.length || rows.at(-1).bottom < box.bottom - 40 || rows[0].top > box.top + 80) blank++;
  }}
  return [blank, longest];
}}"""


def felt(page: Path) -> dict[str, float]:
    """Milliseconds to the first paint and screen, to filter, to search and to open a trial; blank screens of 120
    scrolled; the seconds until all texts can be searched; and the megabytes of the tab's process.
    """
    from playwright.sync_api import sync_playwright

    path = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if path is None:
        sys.exit("no Chromium on the PATH")
    with sync_playwright() as driver, driver.chromium.launch(executable_path=path, args=list(QUIET)) as browser:
        firsts, readies = [], []
        for _ in range(3):
            tab = browser.new_page(viewport={"width": 1280, "height": 860})
            tab.goto(page.resolve().as_uri(), wait_until="commit")
            tab.wait_for_selector("html[data-ready=yes]", state="attached")
            first, ready = tab.evaluate(SHOWN)
            firsts.append(first)
            readies.append(ready)
            tab.close()
        tab = browser.new_page(viewport={"width": 1280, "height": 860})
        tab.set_default_timeout(300_000)
        tab.goto(f"{page.resolve().as_uri()}#trials")
        tab.wait_for_selector(".rows .row")
        opened = statistics.median(tab.evaluate(OPEN, n) for n in range(REPEATS))
        blank, longest = tab.evaluate(SCROLL)
        filters = statistics.median(tab.evaluate(FILTER, n // 2) for n in range(2 * REPEATS))
        tab.evaluate(SEARCH, "the")  # in the paged form this reads all pages
        tab.wait_for_selector("html[data-texts=yes]", state="attached")
        words = ("zebra", "water", "and the", "answer is", "xyzzy", "house", "e")
        searches = statistics.median(tab.evaluate(SEARCH, word) for word in words)
        tab.click("#pattern")
        patterns = statistics.median(tab.evaluate(SEARCH, f"{word}\\s+\\w+t\\b") for word in words)
        megabytes = _memory(browser)
    return {
        "first_paint_ms": statistics.median(firsts),
        "first_screen_ms": statistics.median(readies),
        "filter_ms": filters,
        "search_ms": searches,
        "pattern_ms": patterns,
        "open_ms": opened,
        "blank_screens": blank,
        "longest_scroll_ms": longest,
        "tab_mb": megabytes,
    }


def _memory(browser: object) -> float:
    """Resident megabytes of the largest process of a tab, worker included; 0 where the system does not say."""
    session = browser.new_browser_cdp_session()  # type: ignore[attr-defined]
    processes = session.send("SystemInfo.getProcessInfo")["processInfo"]
    sizes = [0.0]
    for process in processes:
        status = Path(f"/proc/{process['id']}/status")
        if process["type"] == "renderer" and status.is_file():
            line = next(line for line in status.read_text(encoding="utf-8").splitlines() if line.startswith("VmRSS"))
            sizes.append(int(line.split()[1]) / 1024)
    return max(sizes)


if __name__ == "__main__":
    for name, value in felt(Path(sys.argv[1])).items():
        print(f"{name} {value:,.1f}")
