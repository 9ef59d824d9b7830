"""The parts that rules are made of. `text_cases.jsonl` says what each gives: one case per line, with its law."""

from __future__ import annotations

import importlib
import json
import pkgutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import perpend.text
from perpend.text import clause, match, notation, numbers, reasoning, speech
from perpend.text.language import is_english
from perpend.text.match import Answer, Mention, fold
from perpend.text.reading import AskedItem, read
from perpend.text.segments import segment

CASES = [json.loads(line) for line in Path(__file__).with_name("text_cases.jsonl").read_text("utf-8").split("\n")[:-1]]
CAPITAL = AskedItem("What is the capital of Italy?", ("Rome",), "Milan", ())
PIECES = (
    *("<think>", "</think>", "Okay, so the user asks. ", "Wait, ", "It is Oslo. ", "Answer: Oslo\n", "\n\n\n\n"),
    *("\nUser: ", "tag, in the format above. Please answer.\n", "\u200b", "Question 2: ", "<|im_end|>", "["),
)
WORDS = (
    "Rome",
    "Milan",
    "is",
    "not",
    "the",
    "capital",
    "answer",
    ":",
    "?",
    ".",
    "\n",
    "They say",
    "-",
    '"',
    "**",
    "If",
    ",",
)


def mentions(text: str, spellings: list[str], rival: str | None = None, choices: tuple[str, ...] = ()) -> list[str]:
    """The places where an answer is given, as they are spelled."""
    wanted = match.answer(tuple(spellings), rival, tuple(choices))
    assert wanted is not None
    folded = fold(text)
    return [text[slice(*folded.span(*span))] for span, _, _ in match.mentions(folded, text, (("target", wanted),))]


def quantity(wanted: str) -> list[object] | None:
    found = numbers.quantity(wanted)
    return None if found is None else [found.value, found.unit]


def same(first: str, second: str) -> bool:
    there, back = notation.same(first, second), notation.same(second, first)
    assert there == back
    return there


def own_turn(text: str) -> str:
    return text[slice(*clause.own_turn(fold(text).text, text))]


def sentence(text: str, word: str) -> str:
    start = text.index(word)
    return text[slice(*clause.bounds(text, start, start + len(word)))].strip()


def visible(text: str, finish: str | None = None) -> list[str | None]:
    seen = reasoning.visible(text, finish)
    return [text[seen.start : seen.end], seen.unfinished]


def answer_of(text: str, finish: str | None = None) -> list[object]:
    part = segment(text, finish)
    return [None if part.missing is not None else text[part.start : part.end], part.cut]


def reading(text: str, prompt: str, target: list[str], decoy: str) -> object:
    """The side that is given and its words, or why there is none."""
    found = read(text, None, AskedItem(prompt, tuple(target), decoy, ()))
    if found.decided is None:
        return found.unfinished or found.blocked
    return [found.decided.side, text[slice(*found.decided.span)]]


RULES: dict[str, Callable[..., object]] = {
    "fold": lambda written: fold(written).text,
    "mentions": mentions,
    "nothing to look for": lambda spellings: match.answer(tuple(spellings), None, ()) is None,
    "quantity": quantity,
    "same": same,
    "own turn": own_turn,
    "sentence": sentence,
    "listing": clause.listing,
    "clause": lambda text: clause.clause(text).near,
    "computed": lambda text, asked, given: speech.question(asked, (given,), is_opinion=False).computed_in(text),
    "visible": visible,
    "segment": answer_of,
    "english": lambda text: is_english(fold(text).text, text),
    "reading": reading,
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
    assert len(once) == len(match.INVISIBLE.sub("", text))
    assert fold(once).text == once, "folding again changes nothing"


def test_a_mention_inside_a_longer_mention_of_the_other_answer_does_not_count() -> None:
    short, long = Answer("words", ()), Answer("words", ())
    known: list[Mention] = [((0, 5), "target", short), ((20, 25), "target", short), ((0, 12), "decoy", long)]
    assert [span for span, _, _ in match.without_nested(known)] == [(0, 12), (20, 25)]


def test_a_text_full_of_mentions_is_read_from_both_ends() -> None:
    assert len(mentions("Rome " * 1000, ["Rome"])) == 2 * match.MENTIONS


def test_invisible_letters_are_no_answer() -> None:
    assert notation.answer(("\u200b",), None, (), "What?") is None


def test_a_sentence_without_an_end_is_read_only_so_far() -> None:
    assert clause.bounds("x" * 5000, 2500, 2501) == (2500 - clause.REACH, 2501 + clause.REACH)


def test_a_contraction_counts_as_a_denial() -> None:
    assert "not" in clause.clause("it isn't ").kinds


def test_every_pair_that_a_vocabulary_holds_is_looked_for() -> None:
    # The picks are the one vocabulary that is not asked of a clause.
    pairs = {
        word
        for module in pkgutil.iter_modules(perpend.text.__path__)
        for name, value in vars(importlib.import_module(f"perpend.text.{module.name}")).items()
        if isinstance(value, frozenset) and name != "PICKS"
        for word in value
        if " " in word
    }
    assert {pair.split(" ")[0] for pair in pairs} | {"based"} == clause.PAIR_HEADS
    assert all(not clause.PAIR_SIGNS.isdisjoint(pair.split(" ")) for pair in pairs), "one word of each is a sign of it"


def test_a_thousand_nested_blocks_close_at_once() -> None:
    assert visible("<think>" * 1000 + "</think>Oslo") == ["Oslo", None]


def test_a_refusal_is_found_after_other_things_that_one_cannot_do() -> None:
    text = f"i cannot stress this enough. {'it matters a lot. ' * 10}so i cannot help with it."
    span = reasoning.refusal(text)
    assert span is not None
    assert text[slice(*span)] == "i cannot help"


@given(st.lists(st.sampled_from(PIECES), max_size=10), st.sampled_from([None, "stop", "length"]))
def test_a_segment_is_a_part_of_the_text_without_white_space_around_it(pieces: list[str], finish: str | None) -> None:
    text = "".join(pieces)
    part = segment(text, finish)
    assert 0 <= part.start <= part.end <= len(text)
    if part.missing is None:
        assert text[part.start : part.end].strip()
        assert not text[part.end - 1].isspace()


def test_tags_cost_linear_time() -> None:
    def seconds(count: int) -> float:
        start = time.process_time()
        segment("</think> <think> " * count, None)
        return time.process_time() - start

    assert min(seconds(20_000) for _ in range(3)) < 20 * min(seconds(2_000) for _ in range(3)) + 0.01


@given(st.lists(st.sampled_from(WORDS), max_size=30))
def test_every_span_lies_in_the_text_and_a_decoy_that_is_not_there_is_not_endorsed(words: list[str]) -> None:
    text = " ".join(words)
    found = read(text, None, CAPITAL)
    spans = [found.mentioned, found.refusal, found.disclaimer, found.decided and found.decided.span]
    assert all(0 <= span[0] < span[1] <= len(text) for span in spans if span)
    decided = read(text.replace("Milan", ""), None, CAPITAL).decided
    assert decided is None or decided.side == "target"


def test_a_long_text_of_one_thing_is_read() -> None:
    for piece in ("a", "\x00", "\ud800", "\u200f", "<think>", "(", "Milan ", "answer: ", "no. ", "- "):
        read(piece * 20_000, None, CAPITAL)
