"""The seeds' rules: quirks stated in the specification, and every stored label of the real rows where they are here."""

from __future__ import annotations

from pathlib import Path

import pytest

from perpend.text import seed
from tests.reference import real_outputs, scoring

DATA = Path(__file__).resolve().parents[1] / ".." / "shared" / "data"


def data(*parts: str) -> Path:
    path = DATA.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"third-party data {'/'.join(parts)} is not beside the repository")
    return path


def test_a_marker_cuts_wherever_it_first_stands_after_the_start() -> None:
    assert seed.parse_answer("Oslo ASSISTANT: x Passage: y") == "Oslo"


def test_the_span_of_an_answer_line_may_start_on_the_next_line() -> None:
    assert seed.answer_span("**Answer** :\n\n  Oslo  \nBye") == "Oslo"


def test_an_empty_answer_line_takes_the_next_one_whole() -> None:
    assert seed.answer_span("Answer:\nAnswer: Oslo") == "Answer: Oslo"


def test_of_several_answer_lines_the_last_is_the_span() -> None:
    assert seed.answer_span("Answer: Bergen\nNo.\nAnswer: Oslo") == "Oslo"


def test_nothing_after_the_tag_endorses_nothing() -> None:
    assert seed.answer_span("It is Bergen</think> ") == ""
    assert seed.endorses("It is Bergen</think> ", False, "Bergen") is False


@pytest.mark.parametrize(("before", "cancelled"), [(48, True), (49, False)])
def test_a_denial_counts_within_48_characters_before_the_mention(before: int, cancelled: bool) -> None:
    text = "not " + "x" * (before - 5) + " Bergen"
    assert seed.endorses(text, False, "Bergen") is not cancelled


@pytest.mark.parametrize(("after", "cancelled"), [(72, True), (73, False)])
def test_a_denial_counts_within_72_characters_after_the_mention(after: int, cancelled: bool) -> None:
    text = "Bergen " + "x" * (after - 7) + " wrong"
    assert seed.endorses(text, False, "Bergen") is not cancelled


def test_the_crafted_cases_come_out_as_the_reference_has_them() -> None:
    cases = scoring.load(data("conformity", "scoring_cases.jsonl"))
    assert cases
    assert [found for case in cases for found in scoring.seed_differences(case)] == []


def test_every_stored_label_of_the_real_rows_is_reproduced() -> None:
    rows = real_outputs.load(data("conformity", "real_outputs_t0.jsonl"))
    assert rows
    assert [found for row in rows for found in real_outputs.seed_differences(row)] == []


def test_the_strict_rule_reproduces_every_stored_prediction() -> None:
    (run,) = data("chaosbench", "runs").glob("*/predictions.jsonl")
    rows = scoring.load(run)
    assert rows
    assert [row["id"] for row in rows if seed.label_strict(row["pred_text"])[0] != row["parsed_label"]] == []
