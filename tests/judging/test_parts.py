"""The parts that a reading is made of. `parts.jsonl` says what each gives: one case per line, with its law."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perpend.judging import mentions, segment
from perpend.judging.words import INVISIBLE, Words, fold, numbers

CASES = [json.loads(line) for line in Path(__file__).with_name("parts.jsonl").read_text("utf-8").split("\n")[:-1]]
PIECES = (
    *("<think>", "</think>", "Okay, so the user asks. ", "Wait, ", "It is Oslo. ", "Answer: Oslo\n", "\n\n\n\n"),
    *("\nUser: ", "tag, in the format above. Please answer.\n", "\u200b", "Question 2: ", "<|im_end|>", "["),
)


def quantity(wanted: str) -> list[object] | None:
    words = Words(fold(wanted).text)
    found = numbers(words.keys, words.raws)
    return [found[0].value, found[0].unit or None] if len(found) == 1 else None


def same(first: str, second: str) -> bool:
    there, back = mentions.same(first, second), mentions.same(second, first)
    assert there == back
    return there


def visible(text: str, finish: str | None = None) -> list[str | None]:
    seen = segment.visible(text, finish)
    return [text[seen.start : seen.end], seen.unfinished]


def answer_of(text: str, finish: str | None = None) -> list[object]:
    part = segment.answered(text, finish)
    return [None if part.missing is not None else part.own, part.cut]


RULES: dict[str, Callable[..., object]] = {
    "fold": lambda written: fold(written).text,
    "quantity": quantity,
    "same": same,
    "visible": visible,
    "segment": answer_of,
    "english": lambda text: segment.is_english(fold(text).text),
}


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_gives_what_its_cases_say(rule: str) -> None:
    cases = [case for case in CASES if case["rule"] == rule]
    assert cases
    wrong = [
        f"{case['law']}: {case['given']} gives {found!r}, not {case['found']!r}"
        for case in cases
        if (found := RULES[rule](*case["given"])) != case["found"]
    ]
    assert not wrong, "\n".join(wrong)


def test_every_case_is_of_a_known_rule() -> None:
    assert {case["rule"] for case in CASES} == RULES.keys()


def test_a_place_after_invisible_characters_is_found_in_the_original() -> None:
    text = "x\u200b\u200bBer\u00adlin."
    found = fold(text)
    start = found.text.index("berlin")
    assert text[slice(*found.span(start, start + 6))] == "Ber\u00adlin"
    assert fold("Zürich").offsets is None, "a place is the same place"


@given(st.text())
def test_every_character_becomes_one_character_or_is_invisible(text: str) -> None:
    once = fold(text).text
    assert len(once) == len(INVISIBLE.sub("", text))
    assert fold(once).text == once, "folding again changes nothing"


@given(st.lists(st.sampled_from(PIECES), max_size=10), st.sampled_from([None, "stop", "length"]))
def test_a_segment_is_a_part_of_the_text_without_white_space_around_it(pieces: list[str], finish: str | None) -> None:
    text = "".join(pieces)
    part = segment.answered(text, finish)
    if part.missing is None:
        assert part.own == text[part.start : part.start + len(part.own)]
        assert part.own.strip()
        assert not part.own[-1].isspace()
