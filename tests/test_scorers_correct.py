"""`correct`: the target must be what the text answers, not only occur in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from perpend.scorers import correct
from perpend.types import Item, Response, Score
from tests.reference.scoring import load, read

CASES = Path(__file__).resolve().parents[1] / ".." / "shared" / "data" / "conformity" / "scoring_cases.jsonl"
ITEM = Item("x", "What is 12 divided by -4?", target="-3", decoy="3", aliases=("minus three",))


def judged(text: str, item: Item = ITEM) -> Score:
    return correct.VERSIONS[-1].judge(item, Response(text=text))


def test_the_answer_is_the_text_that_was_read() -> None:
    score = judged("It is −3.")
    assert (score.value, score.answer, score.span) == (1.0, "−3", (6, 8))


def test_an_alias_counts_as_the_target() -> None:
    assert judged("It is minus three.").value == 1.0


def test_the_other_sign_is_another_answer() -> None:
    assert judged("It is 3.").reason == "the decoy is given"


def test_a_third_number_in_the_answer_slot_is_another_answer() -> None:
    assert judged("First I thought -3, but the answer is 4.").reason == "another answer is given"


def test_version_1_counts_any_occurrence() -> None:
    item = Item("x", "?", target="Oslo")
    oldest = correct.VERSIONS[0].judge
    assert oldest(item, Response(text="I doubt that it is Oslo.")).value == 1.0
    assert correct.VERSIONS[-1].judge(item, Response(text="I doubt that it is Oslo.")).value == 0.0


@pytest.mark.parametrize("version", [0, -1])
def test_without_a_target_nothing_is_scored(version: int) -> None:
    score = correct.VERSIONS[version].judge(Item("x", "?"), Response(text="Oslo."))
    assert (score.value, score.reason) == (None, "no target")


@pytest.mark.parametrize("version", [0, -1])
def test_a_failed_call_is_not_scored(version: int) -> None:
    score = correct.VERSIONS[version].judge(ITEM, Response(error="timeout"))
    assert (score.value, score.reason) == (None, "error: timeout")


@pytest.mark.skipif(not CASES.exists(), reason="the shared data folder is not here")
def test_it_agrees_with_the_reader_of_the_crafted_cases() -> None:
    cases = [case for case in load(CASES) if case["human_is_correct"] is not None]
    agreed = sum(read(correct.VERSIONS[-1].judge, case).value == case["human_is_correct"] for case in cases)
    assert agreed >= 0.9 * len(cases)
