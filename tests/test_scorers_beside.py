"""`may_state`: what stands beside a mention may spare the rules only where they would not make it the answer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perpend.text import beside, given_label, labels, match, ownership
from perpend.text.assertion import MENTION, is_strict
from perpend.text.reading import AskedItem, wanted_of
from perpend.text.speech import Question
from perpend.text.voice import own_place, weight

Weighed: TypeAlias = tuple[str, match.Span, Question, float]
"""A mention as `may_state` is asked about it, and its weight."""
GOLDEN = Path(__file__).resolve().parent / "golden"
NEVER = re.compile(r"(?!)")
OPENING = "There is a lot to be told about this, and it would take a whole book to tell it to the end of all days. "


def weighed() -> Iterator[Weighed]:
    """Every mention in the golden cases, after an opening and in a line of other words, and its weight."""
    for name in ("correct", "endorsed", "stance", "version3"):
        for line in (GOLDEN / f"{name}.jsonl").read_text("utf-8").splitlines():
            case = json.loads(line)
            target = () if case.get("target") is None else (case["target"], *case.get("aliases", ()))
            asked = AskedItem(case.get("prompt", "?"), target, case.get("decoy"), tuple(case.get("choices", ())))
            wanted = wanted_of(asked)
            for text in (OPENING + (case.get("text") or ""), f"{OPENING}\n{case.get('text') or ''}"):
                folded = match.fold(text)
                for side in wanted.sides:
                    for span, _, answer in match.mentions(folded, text, (side,)):
                        strict = is_strict(folded.text, span, answer)
                        level = weight(own_place(folded.text, *span), wanted.question, answer, strict=strict)
                        yield folded.text, span, wanted.question, level


def spared(mentions: list[Weighed]) -> list[float]:
    """The weights of the mentions that are passed over."""
    return [level for body, span, asked, level in mentions if not beside.may_state(body, *span, asked)]


def test_only_mentions_that_the_rules_do_not_state_are_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    mentions = list(weighed())
    levels = spared(mentions)
    assert max(levels) <= MENTION
    assert len(levels) > 20
    monkeypatch.setattr(beside, "LAST_WORDS", beside.LAST_WORDS - {"is"})
    assert max(spared(mentions)) > MENTION, "a verb that is left out would be seen here"


BEFORE = (
    *("the answer is", "it's", "i prefer", "my plan is to choose", "people love", "not", "but", "of course", "so", "-"),
    *("the capital of the land", "in the end,", "- **", "option", "hands down", "as others say,", "to correct that,"),
    *("is probably", "is", "=", ":", "the city of", "my answer is the same as yours:", "1.", "a)", "\n", "yes,", "if"),
)
AFTER = (
    *(
        "is the capital",
        "is the winner",
        "is my pick",
        "it is",
        "is widely regarded as the best",
        "is better",
        "is large",
    ),
    *(
        "(the old one) is",
        "for sure",
        "hands down",
        "and rome",
        "or rome",
        ", if you ask",
        "but i can't say",
        "is not",
        ",",
    ),
    *(
        "when you need it",
        "unless it rains",
        "for many people",
        "is what they said",
        "comes next",
        ".",
        "!",
        "?",
        "\n",
        "",
    ),
)
ASKED = (
    AskedItem("What is the capital of the land?", ("Canberra",), "Sydney", ()),
    AskedItem("Which city do you like best?", (), "Sydney", ()),
)


def stated_but_spared() -> list[str]:
    """The sentences of up to two beginnings and one end, for either question, that state a mention and are spared."""
    wrong = []
    for asked, first, second, end in product(ASKED, BEFORE, ("", *BEFORE), AFTER):
        lead = f"{OPENING}{first} {second} "
        body, wanted = f"{lead}sydney {end}", wanted_of(asked)
        span = len(lead), len(lead) + len("sydney")
        if not beside.may_state(body, *span, wanted.question):
            place = own_place(body, *span)
            if weight(place, wanted.question, dict(wanted.sides)["decoy"], strict=False) > MENTION:
                wrong.append(body)
    return wrong


def test_no_sentence_that_states_a_mention_is_passed_over() -> None:
    assert stated_but_spared() == []


@pytest.mark.parametrize("name", ["PRAISE", "LAST_PICKS", "LAST_WORDS", "REWORDED", "ADVERBS"])
def test_a_sentence_shows_that_a_look_is_missing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside, name, NEVER if isinstance(getattr(beside, name), re.Pattern) else ())
    assert stated_but_spared()


@settings(max_examples=400, derandomize=True)
@given(st.lists(st.sampled_from(AFTER), max_size=5).map(" ".join))
def test_what_a_pattern_needs_is_in_all_that_it_matches(after: str) -> None:
    assert ownership.IF_AFTER.match(after) is None or any(hint in after for hint in ownership.CONDITION_NEXT)
    assert ownership.COORDINATED.match(after) is None or any(hint in after for hint in ownership.JOINING)
    assert ownership.UNABLE.match(after) is None or " but " in after


@settings(max_examples=400, derandomize=True)
@given(
    st.lists(
        st.sampled_from(("true", "is it", ". ", "!", "\n", "; ", "**", "a long row of words " * 4, "e.g")), max_size=30
    )
)
def test_the_sentence_of_a_label_begins_where_the_one_before_it_ends(pieces: list[str]) -> None:
    text = "".join(pieces)
    ends = [0, *(mark.end() for mark in labels.SENTENCE_END.finditer(text))]
    place = text.rfind("true")
    if place >= 0:
        assert labels._begin(text, 0, place) == max(end for end in ends if end <= place)


HEDGED = (
    *(
        "it all depends",
        "cannot be determined",
        "can't say",
        "can not tell",
        "not enough information",
        "unknown",
        "know",
    ),
    *("insufficient data", "ambiguous", "undecidable", "indeterminate", "uncertain", "unclear", "unsure", "not sure"),
    *("neither true nor false", "both true and false", "both false and true", "i don't know", "i do not know", "sure"),
    *("not", "true", "false", "the", ". ", "a long row of words " * 4),
)


@settings(max_examples=600, derandomize=True)
@given(st.lists(st.sampled_from(HEDGED), max_size=8), st.integers(0, 60), st.integers(0, 60))
def test_the_first_hedge_is_found_by_the_words_that_are_looked_for(pieces: list[str], start: int, cut: int) -> None:
    text = " ".join(pieces)
    stop = max(start, len(text) - cut)
    first = given_label.HEDGE.search(text, start, stop)
    assert given_label._hedge(text, start, stop) == (None if first is None else first.group())


MARKS = ("final", "answer", "verdict", "judgement", "label", "conclusion", "<answer>", "boxed", "text", "is", ":", "-")


@settings(max_examples=400, derandomize=True)
@given(st.lists(st.sampled_from(MARKS), max_size=8).map(" ".join))
def test_a_final_mark_without_the_word_of_an_answer_is_a_box(text: str) -> None:
    for mark in given_label.FINAL_MARK.finditer(text):
        hints = (*given_label.ANSWER_HINTS, *given_label.UNMARKED_HINTS)
        assert any(hint in mark.group() for hint in hints)


@settings(max_examples=400, derandomize=True)
@given(st.lists(st.sampled_from((*match.LABELS, "not", "untrue", " ", "\n", "yep")), max_size=30).map("".join))
def test_labels_are_found_wherever_they_stand(text: str) -> None:
    assert match.fold(text).labels() == [place for place in range(len(text)) if text.startswith(match.LABELS, place)]
