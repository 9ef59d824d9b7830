"""The screens of the viewer, its filters, its search, its keys and its URL, in a real browser."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.more.browser.conftest import Visit

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("browser")]


@pytest.fixture
def page(visit: Callable[..., Visit], study_page: Path) -> Visit:
    return visit(study_page, permissions=["clipboard-read", "clipboard-write"])


def test_the_overview_answers_the_question_with_numbers_and_denominators(page: Visit) -> None:
    text = page.go("overview").inner_text("main")
    assert "conformity" in text
    assert page.page.locator(".answer").count() == 1
    cards = page.page.locator(".card").all_inner_texts()
    assert 1 <= len(cards) <= 4
    assert all("n = " in words for words in cards)
    page.page.locator(".more > summary").first.click()
    page.page.wait_for_selector("table.numbers .whisker circle")
    assert "Without an answer" in text


def test_the_matrix_shows_what_differs_and_sorts_by_flips(page: Visit) -> None:
    tab = page.go("matrix")
    assert "8 rows of 8, 96 trials" in tab.inner_text(".matrix .count")
    tab.get_by_label("Only rows that differ").check()
    tab.get_by_label("Sort").select_option("flips")
    tab.wait_for_selector(".rows .row")
    flips = [int(words or 0) for words in tab.locator(".rows .flips").all_inner_texts()]
    assert flips == sorted(flips, reverse=True)
    assert "sort=flips" in tab.url
    assert "differ=1" in tab.url
    tab.get_by_label("Columns").select_option("model")
    heads = tab.locator(".head .cell").all_inner_texts()
    assert {"swayed", "steady"} <= {words.strip() for words in heads}


def test_a_cell_of_the_matrix_leads_to_its_trial_and_back(page: Visit) -> None:
    tab = page.go("matrix?f.model=swayed&f.sampling=T+%3D+0")
    tab.locator(".rows .row").nth(0).locator("a").nth(1).click()
    tab.wait_for_selector(".conversation .is-answer")
    assert tab.locator(".trial-head .place").inner_text().count("asch_history_5") == 1
    tab.go_back()
    tab.wait_for_selector(".matrix .rows .row")
    assert "24 trials" in tab.inner_text(".matrix .count")


def test_a_trial_shows_the_messages_the_answer_its_evidence_and_its_neighbours(page: Visit) -> None:
    tab = page.go("trials?f.outcome=planted&f.condition=asch_history_5")
    tab.locator(".rows a").first.click()
    tab.wait_for_selector(".conversation .is-answer")
    assert "Other participants" in tab.inner_text(".conversation .is-user")
    planted = tab.locator(".expected dd").nth(1).inner_text() if tab.locator(".expected dd").count() > 1 else ""
    evidence = tab.locator(".is-answer mark.evidence").all_inner_texts()
    assert any(planted in words for words in evidence)
    assert tab.locator(".is-primary").count() == 1
    assert tab.locator(".beside-card").count() == 11
    tab.get_by_label("Beside it").select_option("condition")
    assert tab.locator(".beside-card").count() == 2
    tab.locator("button.quote").first.click()
    assert tab.locator("mark.is-current").count() == 1


def test_a_trial_is_copied_as_markdown_and_as_a_command(page: Visit) -> None:
    tab = page.go("trials")
    tab.locator(".rows a").first.click()
    tab.get_by_role("button", name="Copy as Markdown").click()
    tab.get_by_text("Copied the trial as Markdown.").wait_for()
    words = tab.evaluate("navigator.clipboard.readText()")
    assert words.startswith("## ")
    assert "**user**" in words
    assert "```text\n" in words
    tab.get_by_role("button", name="Copy command").click()
    tab.get_by_text("Copied the command").wait_for()
    assert tab.evaluate("navigator.clipboard.readText()").startswith("perpend show ")


def test_every_kind_of_column_can_be_filtered_and_the_counts_are_those_of_the_rows(page: Visit) -> None:
    tab = page.go("trials")
    columns = tab.locator("details.group").evaluate_all("all => all.map(one => one.dataset.column)")
    assert {"outcome", "condition", "model", "sampling", "item"} <= set(columns)
    assert any(name.startswith("tag:") for name in columns)
    assert any(name.startswith("score:") for name in columns)
    one_of_each = {name.partition(":")[0]: name for name in columns}
    for name in one_of_each.values():
        group = tab.locator(f"details.group[data-column={json.dumps(name)}]")
        if not group.evaluate("one => one.open"):
            group.locator("summary").click()
        tick = group.locator("label.tick:not(.is-empty)").first
        if tick.count() == 0:
            continue  # a range of numbers
        stated = int(tick.locator(".n").inner_text().replace(",", ""))
        tick.locator("input").check()
        tab.wait_for_selector(".chips .chip")
        assert page.rows() == stated
        tab.locator(".chips .chip").first.click()
        tab.wait_for_selector(".chips", state="detached")
        assert page.rows() == 96


def test_a_range_of_numbers_and_a_filter_narrow_each_other(page: Visit) -> None:
    wide = page.go("trials?r.tokens_out=1..") and page.rows()
    none = page.go("trials?r.tokens_out=100000..") and page.rows()
    both = page.go("trials?r.tokens_out=1..&f.outcome=right") and page.rows()
    assert (wide, none) == (96, 0)
    assert 0 < both < 96
    assert page.page.locator(".chip").count() == 3


def test_the_search_finds_what_was_asked_and_answered(page: Visit) -> None:
    tab = page.go("trials")
    tab.keyboard.press("/")
    tab.keyboard.type("other PARTICIPANTS")
    tab.wait_for_selector("text=32 trials with a match.")
    assert page.rows() == 32
    assert tab.locator("mark.hit").count() > 0
    tab.get_by_label("Match case").check()
    tab.wait_for_selector("text=0 trials with a match.")
    page.go("trials?q=^the+answer+is+(?!zzz)&re=1")
    assert page.rows() > 0
    page.page.locator(".rows a").first.click()
    page.page.wait_for_selector(".conversation mark.hit")
    tab = page.go("trials?q=(&re=1")
    assert "Not a regular expression" in tab.inner_text("#search-status")
    assert page.rows() == 96


def test_a_catastrophic_expression_is_stopped_and_the_next_search_works(page: Visit) -> None:
    tab = page.go("trials?q=^(([a-z ])%2B.)%2B[A-Z]([a-z ]){50}0$&re=1")
    tab.locator("#search-status .problem").wait_for()
    assert "takes too long" in tab.inner_text("#search-status")
    tab.get_by_label("Regular expression").uncheck()
    tab.fill("#search", "participant 5")
    tab.wait_for_selector("text=32 trials with a match.")


def test_compare_pairs_trials_and_puts_what_changed_first(page: Visit) -> None:
    tab = page.go("compare?of=model&a=steady&b=swayed&f.condition=asch_history_5")
    assert "16 pairs" in tab.inner_text(".compare .count >> nth=0")
    rows = tab.locator(".pair-row")
    is_same = rows.evaluate_all("all => all.map(one => one.classList.contains('is-same'))")
    assert is_same == sorted(is_same)
    tab.wait_for_selector(".pair .sides .side:nth-child(2) .is-answer")
    first = tab.inner_text(".pair .sides")
    tab.keyboard.press("j")
    tab.keyboard.press("j")
    tab.wait_for_selector(".pair-row:nth-child(3)[aria-current]")
    assert "t=" in tab.url
    tab.wait_for_selector(".pair .sides .is-answer")
    assert "" not in (tab.inner_text(".pair .sides"), first)
    tab.locator(".transitions button").first.click()
    assert "only=" in tab.url


def test_rules_are_compared_on_the_same_trials(page: Visit) -> None:
    tab = page.go("compare?of=score")
    assert "96 pairs" in tab.inner_text(".compare .count >> nth=0")
    assert (
        tab.get_by_label("A", exact=True).input_value().split("@")[0]
        == (tab.get_by_label("B", exact=True).input_value().split("@")[0])
    )


def test_claims_have_their_verdict_and_their_trials(page: Visit) -> None:
    tab = page.go("claims")
    verdicts = tab.locator(".claim").evaluate_all("all => all.map(one => one.dataset.verdict)")
    assert verdicts == ["pass", "fail"]
    stated = tab.locator(".claim a").first.inner_text()
    tab.locator(".claim a").first.click()
    tab.wait_for_selector(".trials .rows .row")
    assert page.rows() == int(stated.split()[2])
    assert "steady model is right" in tab.inner_text(".chips")


def test_a_link_brings_back_the_same_state(page: Visit) -> None:
    place = "trials?f.model=swayed&f.outcome=planted&f.outcome=wrong&q=answer"
    first = page.go(place) and page.rows()
    page.page.reload()
    page.page.wait_for_selector("html[data-ready=yes]", state="attached")
    assert page.rows() == first > 0
    assert page.page.input_value("#search") == "answer"
    assert page.page.locator(".chip").count() == 3
    tab = page.go("nonsense?f.nothing=1&r.x=..&t=a&constructor=1")
    assert tab.locator(".answer").count() == 1
    tab = page.go("trial?t=&t=no+such+item")
    assert "no such trial" in tab.inner_text("main")


def test_the_keys_do_what_a_pointer_does(page: Visit) -> None:
    tab = page.go("trials")
    tab.keyboard.press("j")
    tab.keyboard.press("j")
    tab.wait_for_selector(".rows .row:nth-child(2)[aria-current]")
    tab.keyboard.press("n")
    tab.keyboard.press("p")
    tab.wait_for_selector(".rows .row[aria-current]")
    tab.keyboard.press("k")
    tab.keyboard.press("Enter")
    tab.wait_for_selector(".trial .conversation")
    where = tab.inner_text(".steps")
    tab.keyboard.press("j")
    tab.locator(".steps", has_text="of 96").wait_for()
    assert tab.inner_text(".steps") != where
    tab.wait_for_selector(".conversation mark")
    tab.keyboard.press("n")
    tab.wait_for_selector(".conversation mark.is-current")
    tab.keyboard.press("c")
    tab.get_by_text("Copied the trial as Markdown.").wait_for()
    tab.keyboard.press("Escape")
    tab.wait_for_selector(".trials .rows .row")
    for key, name in (("o", "overview"), ("m", "matrix"), ("t", "trials"), ("c", "compare"), ("a", "claims")):
        tab.keyboard.press("g")
        tab.keyboard.press(key)
        tab.wait_for_selector(f"body[data-screen={name}]", state="attached")
    tab.keyboard.press("?")
    tab.wait_for_selector("dialog[open]")
    assert "search in all texts" in tab.inner_text("dialog")
    tab.keyboard.press("Escape")
    tab.wait_for_selector("dialog[open]", state="detached")
    tab.keyboard.press("d")
    tab.wait_for_selector("html[data-theme=dark]", state="attached")


def test_the_matrix_is_walked_by_arrows(page: Visit) -> None:
    tab = page.go("matrix")
    tab.keyboard.press("j")
    tab.keyboard.press("ArrowRight")
    label = tab.evaluate("document.activeElement.innerText")
    assert "asch_history_5" in label
    tab.keyboard.press("n")
    tab.keyboard.press("Enter")
    tab.wait_for_selector(".trial .conversation")


def test_only_the_rows_in_sight_exist(page: Visit) -> None:
    tab = page.go("trials")
    assert 5 < tab.locator(".rows .row").count() < 40
    tab.locator(".scroller").evaluate("one => { one.scrollTop = one.scrollHeight; }")
    tab.wait_for_selector(".rows .row[aria-rowindex='97']")
    assert tab.locator(".rows .row").count() < 40


def test_back_from_a_trial_the_list_is_where_it_was(page: Visit) -> None:
    tab = page.go("trials?f.model=swayed")
    tab.locator(".scroller").evaluate("one => { one.scrollTop = 600; }")
    tab.wait_for_selector(".rows .row[aria-rowindex='20']")
    tab.locator(".rows .row[aria-rowindex='20'] a").click()
    tab.wait_for_selector(".trial .conversation")
    tab.keyboard.press("j")
    tab.locator(".steps", has_text="20 of 48").wait_for()
    tab.keyboard.press("Escape")
    tab.wait_for_selector(".rows .row[aria-rowindex='21'][aria-current]")
    assert tab.locator(".scroller").evaluate("one => one.scrollTop") == 600
