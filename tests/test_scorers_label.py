"""TRUE and FALSE as a careful reader finds them, and as the seed does."""

from __future__ import annotations

from pathlib import Path

import pytest

from perpend.scorers import label, label_lenient
from perpend.types import Item, Response, Scorer
from tests.reference.scoring import load

RUNS = Path(__file__).resolve().parents[1] / ".." / "shared" / "data" / "chaosbench" / "runs"


def answer(text: str, finish: str | None = None) -> str | None:
    return label.judge(Item("x", "Is it bounded?", target="TRUE"), Response(text=text, finish=finish)).answer


@pytest.mark.parametrize("text", ["at time t.", "x and y", "for all n", "so f maps to y", "It holds at each n, as T"])
def test_a_variable_is_not_a_label(text: str) -> None:
    assert answer(text) == "INVALID"


@pytest.mark.parametrize(("text", "label_read"), [("T", "TRUE"), ("f.", "FALSE"), ("**Answer: Y**", "TRUE")])
def test_a_letter_that_is_the_whole_answer_is_a_label(text: str, label_read: str) -> None:
    assert answer(text) == label_read


@pytest.mark.parametrize(
    "text",
    [
        "The answer is not TRUE",
        "That is not true.",
        "It is not true that it is bounded.",
        "It is false that it is bounded.",
        "It's not TRUE.",
        "This statement isn't true.",
        "The claim cannot be true.",
        "Not TRUE but FALSE.",
        "NOT TRUE",
        "This is untrue.",
    ],
)
def test_denying_true_is_saying_false(text: str) -> None:
    assert answer(text) == "FALSE"


@pytest.mark.parametrize(
    "text",
    [
        "TRUE or FALSE",
        "True/False",
        "I must say TRUE or FALSE.",
        "Whether it is TRUE or FALSE depends on r.",
        "Both TRUE and FALSE",
        "Neither true nor false.",
    ],
)
def test_restating_the_options_answers_nothing(text: str) -> None:
    assert answer(text) == "INVALID"


@pytest.mark.parametrize(
    "text",
    [
        "FALSE. It cannot be determined from K alone that it mixes.",
        "The final answer is FALSE, although the start is unknown.",
        "Some call it ambiguous.\n\nFALSE",
        "Answer: FALSE\nNot enough information is given to say more.",
    ],
)
def test_a_hedge_in_an_explanation_does_not_hide_the_answer(text: str) -> None:
    assert answer(text) == "FALSE"


@pytest.mark.parametrize(
    "text",
    [
        "It depends on r.",
        "Answer: cannot be determined",
        "Indeterminate.",
        "The answer is unknown. It may be TRUE.",
        "TRUE if r > 1, FALSE otherwise.",
        "If r > 1 the answer is TRUE; otherwise the answer is FALSE.",
    ],
)
def test_a_hedge_or_a_condition_as_the_answer_is_no_answer(text: str) -> None:
    assert answer(text) == "INVALID"


@pytest.mark.parametrize(
    "text",
    [
        "True\nExplanation: it folds and stays bounded",
        "TRUE — it folds",
        "Yes, although it is false that it is periodic.",
        "<think>FALSE? No.</think>\n\n**TRUE**",
        "Reasoning: x.\nConclusion: TRUE",
        "The correct answer is “TRUE”.",
        '{"answer": "TRUE"}',
        "Is it bounded? Yes.",
        "TRUE or FALSE? TRUE.",
        "I believe the statement is true.",
    ],
)
def test_the_label_is_found_where_a_reader_finds_it(text: str) -> None:
    assert answer(text) == "TRUE"


def test_what_others_answer_is_read_once_and_from_its_beginning() -> None:
    """'response is' stands inside 'the answer to … is', and only the whole says who speaks."""
    others = "Some people say the answer to the long question in the very last response is false."
    assert answer(f"Answer: true. {others}") == "TRUE"


def test_two_final_labels_that_differ_are_none_and_the_reason_names_both() -> None:
    score = label.judge(Item("x", "?", target="TRUE"), Response(text="Answer: TRUE\nSo it goes.\nAnswer: FALSE"))
    assert (score.value, score.answer) == (None, "INVALID")
    assert score.reason == "invalid: contradictory: TRUE (marked answer), FALSE (marked answer)"


def test_an_answer_cut_at_the_token_limit_is_unfinished() -> None:
    assert answer("TRUE. It is bounded bec", "length") == "INVALID"
    assert answer("TRUE. It is bounded bec", "stop") == "TRUE"


def test_the_span_covers_the_label_in_the_original_text() -> None:
    text = "<think>no</think>\u200b The answer is “ＦＡＬＳＥ”."
    score = label.judge(Item("x", "?", target="FALSE"), Response(text=text))
    assert score.value == 1.0
    assert score.span is not None
    assert text[slice(*score.span)] == "ＦＡＬＳＥ"


def test_the_lenient_rule_prefers_a_marked_answer_to_the_last_line() -> None:
    response = Response(text="Answer: TRUE\nThere is no other.")
    item = Item("x", "?", target="TRUE")
    assert label_lenient.judge(item, response).answer == "TRUE"
    assert label.judge_seed(item, response).answer == "FALSE"


@pytest.mark.parametrize("scorer", [*label.VERSIONS, *label_lenient.VERSIONS], ids=lambda s: f"{s.name}@{s.version}")
def test_every_stored_prediction_parses_to_its_stored_outcome(scorer: Scorer) -> None:
    if not RUNS.exists():
        pytest.skip("third-party data chaosbench/runs is not beside the repository")
    (run,) = RUNS.glob("*/predictions.jsonl")
    rows = load(run)
    assert rows
    differing = []
    for row in rows:
        score = scorer.judge(
            Item(row["id"], row["question"], target=row["ground_truth"]), Response(text=row["pred_text"])
        )
        if score.answer != (row["parsed_label"] or "INVALID") or score.value != row["correct"]:
            differing.append(row["id"])
    assert differing == []
