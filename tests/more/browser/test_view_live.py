"""The served page in a real browser: it grows with its run, and readers label in it; and labels in a file."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import perpend as pp
from perpend.measure.labels import read_labels
from perpend.measure.run import Run
from tests.more.browser.conftest import Visit, write

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("browser")]


@contextmanager
def served(*runs: Path, options: tuple[str, ...] = ()) -> Iterator[str]:
    """The address at which 'perpend view RUN' serves its page, as long as it is needed."""
    program = "from perpend.cli import main; main()"
    command = [sys.executable, "-c", program, "view", *map(str, runs), "--no-browser", "--no-figures", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        try:
            assert server.stdout is not None
            yield server.stdout.readline().removeprefix("Page: ").strip()
        finally:
            server.terminate()


@pytest.fixture
def study_copy(study: Path, tmp_path: Path) -> Path:
    import shutil

    return Path(shutil.copytree(study, tmp_path / "study"))


def label_as(visit: Visit, reader: str, keys: str) -> None:
    """Give one label per key; each is counted before the next key is pressed."""
    tab = visit.go("labels")
    tab.fill("#reader", reader)
    tab.keyboard.press("Enter")
    tab.locator(".progress", has_text=f"0 of 6 labelled by {reader}").wait_for()
    for done, key in enumerate(keys, 1):
        tab.wait_for_selector(".blind")
        tab.keyboard.press("Escape")
        tab.keyboard.press(key)
        tab.locator(".progress", has_text=f"{done} of 6 labelled by {reader}").wait_for()


def test_two_readers_label_blind_and_their_agreement_is_shown(visit: Callable[..., Visit], study_copy: Path) -> None:
    with served(study_copy, options=("--sample", "6")) as address:
        page = visit(address)
        label_as(page, "anna", "122u")
        blind = page.page.inner_text("main")
        for secret in ("swayed", "steady", "asch_history_5", "correct@", "T = "):
            assert secret not in blind
        other = visit(address)
        label_as(other, "ben", "121u")
        page.go("labels?reader=anna")
        page.page.locator(".agreement", has_text="agree on 3 of 4 (75%)").wait_for()
        assert "4 of 6 labelled by anna" in page.page.inner_text(".progress")
        page.leave()
        other.leave()
    labels = read_labels(Run(study_copy))
    assert [(label.by, label.label) for label in labels] == [
        ("anna", "yes"), ("anna", "no"), ("anna", "no"), ("anna", "undecidable"),
        ("ben", "yes"), ("ben", "no"), ("ben", "yes"), ("ben", "undecidable"),
    ]  # fmt: skip
    assert all(label.drawn is not None and label.text_sha256 and label.seed == 42 for label in labels)
    assert [label.trial for label in labels[:4]] == [label.trial for label in labels[4:]]


def test_a_label_can_be_taken_back(visit: Callable[..., Visit], study_copy: Path) -> None:
    with served(study_copy, options=("--sample", "6")) as address:
        page = visit(address)
        label_as(page, "anna", "11")
        page.page.wait_for_selector(".blind[data-at='2']")
        page.page.keyboard.press("b")
        page.page.wait_for_selector(".blind[data-at='1']")
        page.page.keyboard.press("2")
        page.page.wait_for_selector(".blind[data-at='2']")
        page.leave()
    assert [label.label for label in read_labels(Run(study_copy))] == ["yes", "no"]


def test_labels_of_a_file_are_offered_as_labels_jsonl(
    visit: Callable[..., Visit], study_copy: Path, tmp_path: Path
) -> None:
    page = visit(write(tmp_path / "page.html", study_copy, sample=6), accept_downloads=True)
    label_as(page, "anna", "12u")
    page.go("labels?reader=anna")
    page.page.locator(".progress", has_text="3 of 6 labelled by anna").wait_for()
    with page.page.expect_download() as download:
        page.page.click("#download-labels")
    download.value.save_as(study_copy / "labels.jsonl")
    assert [label.label for label in read_labels(Run(study_copy))] == ["yes", "no", "undecidable"]


def test_the_page_grows_while_the_run_is_asked(visit: Callable[..., Visit], tmp_path: Path) -> None:
    items = tmp_path / "items.jsonl"
    items.write_text(
        "".join(json.dumps({"id": f"q{n}", "prompt": f"What is {n}?", "target": str(n)}) + "\n" for n in range(12)),
        encoding="utf-8",
    )
    may_answer, asked = threading.Semaphore(0), threading.Event()

    def answer(prompt: str) -> str:
        asked.set()
        may_answer.acquire(timeout=60)
        return f"The answer is {prompt.rsplit(maxsplit=1)[-1].rstrip('?')}."

    task = pp.task("questions", items=items)
    arguments = {"name": "grows", "out": tmp_path, "quiet": True}
    asking = threading.Thread(target=pp.evaluate, args=(task, pp.model(answer, label="m")), kwargs=arguments)
    asking.start()
    try:
        assert asked.wait(30)
        with served(tmp_path / "grows") as address:
            page = visit(address)
            tab = page.go("trials?f.outcome=right")
            assert page.rows() == 0
            for _ in range(4):
                may_answer.release()
            tab.wait_for_selector("html[data-rows='4']", state="attached", timeout=30_000)
            tab.wait_for_selector(".rows .snippet:has-text('The answer is')")
            tab.fill("#search", tab.inner_text(".rows .snippet:has-text('The answer is') >> nth=0"))
            tab.wait_for_selector("html[data-rows='1']", state="attached")
            for _ in range(8):
                may_answer.release()
            asking.join(60)
            tab.fill("#search", "")
            tab.wait_for_selector("html[data-rows='12']", state="attached", timeout=30_000)
            tab.fill("#search", "answer is 11.")
            tab.wait_for_selector("html[data-rows='1']", state="attached")
            page.leave()
    finally:
        for _ in range(12):
            may_answer.release()
        asking.join(60)


def test_the_paged_form_opens_without_a_server_and_a_search_reads_all_pages(
    visit: Callable[..., Visit], study: Path, tmp_path: Path
) -> None:
    from contextlib import ExitStack

    from perpend._view import OpenedRuns, ViewOptions
    from perpend.view.page import write_page

    with ExitStack() as stack:
        written = write_page(
            OpenedRuns(stack, [study], ViewOptions(figures=False)).view(), tmp_path / "paged.html", most=10
        )
    assert written.folder is not None
    page = visit(written.page)
    tab = page.go("trials")
    assert "reads all" in tab.inner_text("#search-status")
    tab.fill("#search", "other participants")
    tab.keyboard.press("Enter")
    tab.wait_for_selector("text=32 trials with a match.")
    tab.locator(".rows a").first.click()
    tab.wait_for_selector(".conversation .is-answer")
    next(written.folder.glob("*.js")).unlink()
    page.may_say = "ERR_FILE_NOT_FOUND"
    page.go("trials?q=answer")
    tab.locator("#search-status .problem").wait_for()
    assert "is missing" in tab.inner_text("#search-status")
