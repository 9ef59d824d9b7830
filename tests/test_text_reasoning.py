"""What a reader may take as the answer."""

from __future__ import annotations

import pytest

from perpend.text.reasoning import refusal, visible


def shown(text: str, finish: str | None = None) -> str:
    seen = visible(text, finish)
    return text[seen.start : seen.end]


@pytest.mark.parametrize(
    ("opening", "closing"),
    [
        ("<think>", "</think>"),
        ("<THINKING>", "</THINKING>"),
        ("<thought>", "</thought>"),
        ("<reasoning>", "</reasoning >"),
        ("<scratchpad>", "</scratchpad>"),
        ("<seed:think>", "</seed:think>"),
        ("<|begin_of_thought|>", "<|end_of_thought|>"),
        ("<|START_THINKING|>", "<|END_THINKING|>"),
        ("[THINK]", "[/THINK]"),
        ("◁think▷", "◁/think▷"),
        ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
    ],
)
def test_every_tag_form_opens_and_closes(opening: str, closing: str) -> None:
    assert shown(f"{opening}Bergen{closing} Oslo ") == "Oslo"
    assert visible(f"{opening}Bergen", None).unfinished == "a reasoning block is never closed"
    assert shown(f"Bergen{closing}Oslo") == "Oslo"


def test_offsets_point_into_the_original_text() -> None:
    seen = visible("<think>x</think>\n  Oslo\n", None)
    assert (seen.start, seen.end, seen.unfinished) == (19, 23, None)


def test_a_text_cut_by_the_limit_is_unfinished_even_if_the_answer_came_first() -> None:
    assert visible("Oslo. It is the", "length").unfinished == "cut off, finish reason 'length'"


@pytest.mark.parametrize("finish", [None, "stop", "end_turn", "eos"])
def test_only_structure_counts_without_a_finish_reason_that_says_cut(finish: str | None) -> None:
    assert visible("Oslo. It is the", finish).unfinished is None


def test_an_unfinished_block_leaves_nothing_to_read() -> None:
    assert shown("Oslo. <think>or") == ""


def test_a_thousand_nested_blocks_close_at_once() -> None:
    assert shown("<think>" * 1000 + "</think>Oslo") == "Oslo"


def test_a_refusal_is_found_after_other_things_that_one_cannot_do() -> None:
    text = f"i cannot stress this enough. {'it matters a lot. ' * 10}so i cannot help with it."
    span = refusal(text)
    assert span is not None
    assert text[slice(*span)] == "i cannot help"
