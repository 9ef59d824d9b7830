"""What one trial shows: turns, reasoning, candidates, attempts, errors; and figures. A page with them put in."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from perpend.view.page import packed, shell
from tests.more.browser.conftest import Visit
from tests.more.browser.test_view_hostile import opened_data

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("browser")]

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
ANSWER = "<think>It could be Auckland.</think> It is Wellington.\n\nUser: And of Peru?"
FIRST = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "The capital?"}]
TRIAL = {
    "turns": [
        {"messages": FIRST, "answer": "Well …", "segments": [], "finish": "stop"},
        {
            "messages": [*FIRST, {"role": "assistant", "content": "Well …"}, {"role": "user", "content": "Decide."}],
            "answer": ANSWER,
            "segments": [
                {"start": 0, "end": 36, "kind": "reasoning"},
                {"start": 36, "end": 54, "kind": "answer"},
                {"start": 54, "end": len(ANSWER), "kind": "after"},
            ],
            "finish": "length",
            "error": None,
            "tokens_in": 1234,
            "tokens_out": 56,
            "seconds": 1.5,
            "attempts": [
                {"attempt": 0, "status": "429", "error": "too many requests", "seconds": 0.1},
                {"attempt": 1, "status": "200", "error": None, "seconds": 1.4},
            ],
        },
    ],
    "scores": [
        {"scorer": "mine@1", "value": 0.123456789, "reason": "it says so", "turn": 1, "start": 43, "end": 53},
        {"scorer": "blind@2", "value": None, "reason": "nothing to judge", "turn": 1, "start": None, "end": None},
        {"scorer": "odd@1", "value": 1, "reason": "a span of nowhere", "turn": 1, "start": 90, "end": 9000},
    ],
    "candidates": [
        {"text": " Wellington", "logprob": -0.1, "chosen": True},
        {"text": " Auckland", "logprob": -3.0, "chosen": False},
    ],
    "item": {"prompt": "The capital?", "choices": [], "target": "Wellington", "decoy": "Auckland", "aliases": []},
}


@pytest.fixture
def tab(visit: Callable[..., Visit], study_page: Path, tmp_path: Path) -> Visit:
    index, chunks = opened_data(study_page)
    for body in chunks.values():
        body["trials"] = [{**trial, **TRIAL} for trial in body["trials"]]
        body["trials"][1]["turns"] = [{"messages": FIRST, "answer": None, "error": "HTTP 500: <b>no</b>"}]
        body["trials"][2]["turns"] = []
    index["runs"][0]["figures"] = [{"title": "One pixel", "caption": "", "type": "image/png", "data": PIXEL}]
    out = tmp_path / "trial.html"
    packs = [(name, packed(json.dumps(body).encode())) for name, body in chunks.items()]
    out.write_text("".join(shell("file", packed(json.dumps(index).encode()), packs)), encoding="utf-8")
    page = visit(out)
    page.go("trials")
    page.page.locator(".rows a").first.click()
    page.page.wait_for_selector(".conversation .is-answer")
    return page


def test_a_second_turn_shows_what_is_new_in_it(tab: Visit) -> None:
    turns = tab.page.locator(".turn")
    assert turns.count() == 2
    assert "Be brief." in turns.nth(0).inner_text()
    second = turns.nth(1).inner_text()
    assert "Decide." in second
    assert "Be brief." not in second
    assert "the 2 messages before" in second


def test_reasoning_and_invented_turns_are_shaded_and_named(tab: Visit) -> None:
    answer = tab.page.locator(".turn").nth(1).locator(".is-answer")
    assert "Auckland" in answer.locator(".segment[data-segment=reasoning]").inner_text()
    assert "And of Peru?" in answer.locator(".segment[data-segment=after]").inner_text()
    assert answer.locator("mark.evidence").first.inner_text() == "Wellington"
    assert "reasoning" in answer.locator(".role").inner_text()


def test_scores_candidates_and_attempts_say_what_is_known_and_no_more(tab: Visit) -> None:
    words = tab.page.locator(".aside").inner_text()
    assert "0.1235" in words
    assert "none" in words
    assert words.count("no span") >= 1
    assert "94.8%" in words
    assert "-0.100" in words
    assert "1,234" in words
    assert "1.50" in words
    tab.page.locator(".aside summary").click()
    assert "429, too many requests, 0.10 s" in tab.page.locator(".aside").inner_text()


def test_a_failed_and_an_unasked_trial_say_so(tab: Visit) -> None:
    tab.page.keyboard.press("j")
    tab.page.wait_for_selector(".is-answer .error-text")
    assert "HTTP 500: <b>no</b>" in tab.page.inner_text(".is-answer")
    tab.page.keyboard.press("j")
    tab.page.locator(".steps", has_text="3 of 96").wait_for()
    tab.page.wait_for_selector(".trial-body .actions")
    assert tab.page.inner_text(".conversation") == "Not asked."


def test_a_figure_of_the_study_is_a_picture_with_its_title(tab: Visit) -> None:
    tab.go("overview")
    tab.page.evaluate("Promise.all([...document.images].map(one => one.decode()))")
    assert tab.page.eval_on_selector_all("img", "all => all.map(one => [one.naturalWidth, one.alt])") == [
        [1, "One pixel"]
    ]
    assert tab.page.inner_text("figcaption") == "One pixel"


@pytest.mark.parametrize("rows", [0, 1])
def test_a_page_of_no_trial_or_one_opens_on_every_screen(
    visit: Callable[..., Visit], study_page: Path, tmp_path: Path, rows: int
) -> None:
    index, chunks = opened_data(study_page)
    for column in index["columns"].values():
        name, width = ("codes", column["width"]) if column["kind"] == "coded" else ("data", 8)
        column[name] = base64.b64encode(base64.b64decode(column[name])[: rows * width]).decode()
    for run in index["runs"]:
        run["labelling"]["sample"] = []
        for claim in run["claims"]:
            claim["trials"] = []
    index |= {"n": rows, "chunks": [{**index["chunks"][0], "n": 1}] if rows else []}
    first = {"trials": chunks["chunk-0"]["trials"][:rows]}
    packs = [("chunk-0", packed(json.dumps(first).encode()))] if rows else []
    out = tmp_path / "few.html"
    out.write_text("".join(shell("file", packed(json.dumps(index).encode()), packs)), encoding="utf-8")
    page = visit(out)
    for screen in ("overview", "matrix", "trials?q=answer", "compare", "claims", "labels?reader=anna"):
        tab = page.go(screen)
        tab.wait_for_selector("html[data-searched=yes]", state="attached")
        assert tab.locator("main > *").count() > 0, screen
    page.go("trials")
    assert page.rows() == rows
