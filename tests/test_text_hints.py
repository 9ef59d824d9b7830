"""A cheap look before a pattern may spare it only where it does not match: texts are made from the patterns themselves.

`regex_texts.texts` takes every alternative of a pattern at least once. Each text stands in several sentences, and
wherever the pattern matches, what is behind the look must find it. An alternative without a hint fails here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from types import ModuleType
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perpend.text import (
    assertion,
    clause,
    given_label,
    labels,
    numbers,
    ownership,
    reading,
    reasoning,
    segments,
    siding,
    speech,
    voice,
    worded,
)
from perpend.text.clause import Clause, holds
from perpend.text.match import fold, places_of
from tests.regex_texts import FILLER, texts

NOWHERE = Clause([], [], frozenset())
FACT = speech.question("What is the capital of Australia?", ("Canberra", "Sydney"), is_opinion=False)
OPINION = speech.question("Which city do you like best?", ("Sydney",), is_opinion=True)
WHOLE = ("{}", "{}.", "well, {} zu.", FILLER * 9 + "{} zu qa.", "{} " + FILLER * 15)
BEFORE = ("{}", "well, {}", "zu qa mo {}", FILLER * 9 + "{}")
AFTER = ("{}", "{} zu", "{}.", "{},", "{}\n")


class Look(NamedTuple):
    """What a look guards: `finds` must be true of every text of which `matches` is."""

    pattern: re.Pattern[str]
    finds: Callable[[str], object]
    matches: Callable[[str], object] | None = None
    around: tuple[str, ...] = WHOLE

    def spared(self) -> list[str]:
        """The texts that the pattern matches, and that the look passes over."""
        matches = self.matches or self.pattern.search
        made = [frame.replace("{}", text) for text, _ in texts(self.pattern, drawn=150) for frame in self.around]
        matched = [text for text in made if matches(text)]
        assert len(matched) > len(made) / 20, "too few texts that match: the look is not tested"
        return [text for text in matched if not self.finds(text)]


def near(hints: tuple[str, ...]) -> Callable[[str], bool]:
    return lambda text: holds(text, hints)


def is_option(text: str) -> bool:
    lead = clause.OPTION.fullmatch(text)
    return lead is not None and len(text.lstrip("\n")) <= 8


def looks() -> dict[str, Look]:
    """Every look before a pattern in the rules of the newest versions, by the names of its hints or its function."""
    return {
        "REFUSAL_WORDS": Look(reasoning.REFUSAL, reasoning.declined),
        "DECLINED_HINTS": Look(
            reasoning.DECLINED,
            reasoning.declined,
            lambda text: (found := reasoning.DECLINED.search(text)) and reasoning.NEGATED.search(text, *found.span()),
        ),
        "DISCLAIMED_HINTS": Look(reasoning.DISCLAIMED, reasoning.disclaimed),
        "AI_HINTS": Look(reasoning.AI_DENIES, reasoning.disclaimed),
        "SIDING_HINTS": Look(
            reasoning.AGREEMENT,
            reasoning.sided,
            lambda text: (found := reasoning.AGREEMENT.search(text)) and reasoning._sides(text, found),
        ),
        "whole_agreement": Look(reasoning.CONCURRING, reasoning.whole_agreement, around=("{}", "well, {}")),
        "first_sign": Look(reasoning.OPENING, lambda text: reasoning.first_sign(text) >= 0),
        "first_sign, closing": Look(reasoning.CLOSING, lambda text: reasoning.first_sign(text) >= 0),
        "is_reported, according": Look(speech.ACCORDING, lambda text: speech.is_reported(text, NOWHERE)),
        "is_reported, quoted": Look(speech.QUOTED, lambda text: speech.is_reported(text, NOWHERE), around=BEFORE),
        "disowned, framed": Look(speech.FRAME, lambda text: _is_disowned(text, "."), around=BEFORE),
        "FRAME_HINTS": Look(speech.FRAME, speech.is_framed, around=BEFORE),
        "LATER_HINTS": Look(
            speech.DENIED_LATER,
            lambda text: speech.is_denied_after(text, complement=False),
            speech.DENIED_LATER.match,
            AFTER,
        ),
        "BYGONE_HINTS": Look(
            speech.BYGONE, lambda text: speech.is_denied_after(text, complement=False), speech.BYGONE.match, AFTER
        ),
        "LISTED_HINTS": Look(
            speech.LISTED_NEXT, lambda text: speech.is_listed(NOWHERE, text), speech.LISTED_NEXT.match, AFTER
        ),
        "SCOPE_STARTS": Look(ownership.SCOPE_AFTER, ownership.is_limited, ownership.SCOPE_AFTER.match, AFTER),
        "HEARSAY_HINTS": Look(ownership.HEARSAY, near(ownership.HEARSAY_HINTS), around=BEFORE),
        "EXAMPLE_HINTS": Look(ownership.EXAMPLE, near(ownership.EXAMPLE_HINTS), around=BEFORE),
        "CONDITION_HINTS": Look(
            ownership.IF,
            lambda text: ownership._is_conditional(text, "", FACT),
            lambda text: ownership.IF.search(text) and not ownership.IF_OWN.search(text),
            BEFORE,
        ),
        "is_conditional, when": Look(
            ownership.WHEN, lambda text: ownership._is_conditional(text, "", OPINION), around=BEFORE
        ),
        "CONDITION_NEXT": Look(
            ownership.IF_AFTER,
            lambda text: ownership._is_conditional("", text, FACT),
            ownership.IF_AFTER.match,
            AFTER,
        ),
        "JOINING": Look(ownership.COORDINATED, near(ownership.JOINING), ownership.COORDINATED.match, AFTER),
        "disowned, unable": Look(ownership.UNABLE, lambda text: _is_disowned("", text), ownership.UNABLE.match, AFTER),
        "CONCUR_HINTS": Look(voice.CONCUR, _rewords, around=BEFORE),
        "CONCUR_HINTS, included": Look(voice.INCLUDED, _rewords, around=BEFORE),
        "FIRST_PERSON": Look(voice.GERUND, _rewords, around=BEFORE),
        "own_words, hedged": Look(voice.HEDGE, _rewords, around=(*BEFORE, "{} the **")),
        "own_words, agreed": Look(voice.AGREED, _rewords, around=(*BEFORE, "{} the **")),
        "own_words, ground": Look(voice.GROUND, _rewords, voice.GROUND.match, ("{}", "{}zu is ")),
        "ASIDE_STARTS": Look(voice.ASIDE, _passes_over, _has_aside, AFTER),
        "CORRECTED_HINTS": Look(voice.CORRECTED, near(voice.CORRECTED_HINTS), around=BEFORE),
        "THINKING_HINTS": Look(segments.THINKING, near(segments.THINKING_HINTS)),
        "_has_lines": Look(segments.GAP, lambda text: segments._has_lines(text, text.find("\n"), len(text))),
        "_turn, question": Look(
            segments.NEW_QUESTION, lambda text: segments._turn(text, "", 0)[1] < len(text), around=("zu.{}", "zu!{} qa")
        ),
        "CORRECTION_HINTS": Look(reading.CORRECTS, near(reading.CORRECTION_HINTS)),
        "MORE_HINTS": Look(
            reading.POLAR_WORD, lambda text: reading.bare_word(fold(text), FACT), around=("{}", "{}.", "answer: {}!")
        ),
        "OPENING_ENDS": Look(reading.WORD_OPENS, reading._may_open, around=("{}", "zu {}", "zu: {}", "zu\n{}")),
        "FINAL_HINTS": _marks(given_label.FINAL_MARK, given_label.FINAL_HINTS),
        "ANSWER_HINTS": _marks(given_label.ANSWER_MARK, given_label.ANSWER_HINTS),
        "ANSWER_HINTS, hedged": _marks(given_label.ANSWER_HEDGE, given_label.ANSWER_HINTS),
        "UNMARKED_HINTS": Look(given_label.FINAL_MARK, near((*given_label.ANSWER_HINTS, *given_label.UNMARKED_HINTS))),
        "HEDGE_HINTS NOT_HINTS PAIR_HINTS": Look(
            given_label.HEDGE, lambda text: given_label._hedge(text, 0, len(text))
        ),
        "WHOLE_WORD": Look(given_label.OPTIONS, _has_options),
        "ASIDE_HINT": Look(labels.ASIDE, _clarifies, around=("the answer{}is no.", "the answer{}is yes. zu")),
        "INITIALS": Look(labels.ASSURED, _clarifies, around=("{}it is true.", "zu. {}zu is incorrect. zu")),
        "MINUS_HINTS": Look(numbers.MINUS, near(numbers.MINUS_HINTS), around=BEFORE),
        "VERB_NEXT": Look(assertion.NAMED_ANSWER, assertion.VERB_NEXT.match, assertion.NAMED_ANSWER.match, AFTER),
        "VERB_NEXT, is the": Look(assertion.IS_THE, assertion.VERB_NEXT.match, assertion.IS_THE.match, AFTER),
        "VERB_NEXT, chosen": Look(voice.CHOSEN, assertion.VERB_NEXT.match, voice.CHOSEN.match, AFTER),
        "VERB_NEXT, regarded": Look(voice.REGARDED, assertion.VERB_NEXT.match, voice.REGARDED.match, AFTER),
        "strength, operand": Look(
            assertion.OPERAND_BEFORE, lambda text: assertion.OPERAND_BEFORE.search(text[-16:]), around=BEFORE
        ),
        "FOLLOWS_HINTS": Look(siding.FOLLOWS, near(siding.FOLLOWS_HINTS)),
        "ENDORSES_HINTS": Look(siding.ENDORSES, near(siding.ENDORSES_HINTS)),
        "REFUSES_HINTS": Look(siding.REFUSES, near(siding.REFUSES_HINTS)),
        **{f"worded, {place}": Look(pattern, near(hints)) for place, (hints, pattern, _) in enumerate(worded._rules())},
        "is_alone": Look(
            clause.OPTION,
            lambda text: clause.locate(text + "sydney.", len(text), len(text) + 6).is_alone(),
            is_option,
            ("{}",),
        ),
    }


def _is_disowned(before: str, after: str) -> bool:
    place = clause.Place(f"{before}sydney{after}", len(before), 0, before, after)
    return ownership.disowned(place, assertion.STATEMENT, FACT, "") is not None


def _rewords(before: str) -> bool:
    """Whether the own words are those that come of asking every pattern."""
    plain = voice.CONCUR.sub(voice._for_itself, voice.INCLUDED.sub("i ", before))
    plain = voice.AGREED.sub(voice._verb, voice.HEDGE.sub(voice._verb, plain))
    opening = voice.GROUND.match(plain)
    plain = plain if opening is None else plain[opening.end() :]
    return voice.own_words(before) == voice.GERUND.sub(voice._prefers, plain)


def _has_aside(after: str) -> bool:
    return voice.ASIDE.match(clause.around("sydney" + after, 0, 6)[2]) is not None


def _passes_over(after: str) -> bool:
    rest = clause.around("sydney" + after, 0, 6)[2]
    aside = voice.ASIDE.match(rest)
    return aside is not None and voice.own_place("sydney" + after, 0, 6).after.lstrip("\"')") == rest[aside.end() :]


def _marks(pattern: re.Pattern[str], hints: tuple[str, ...]) -> Look:
    def finds(text: str) -> bool:
        matches = given_label._matches(text, places_of(text, hints), pattern)
        return [found.span() for found in matches] == [found.span() for found in pattern.finditer(text)]

    return Look(pattern, finds)


def _has_options(text: str) -> bool:
    places = [place for place in fold(text).labels() if given_label.WHOLE_WORD.match(text, place)]
    return any(given_label.OPTIONS.match(text, place) for place in places)


def _clarifies(text: str) -> bool:
    return labels.clarified(text, fold(text), "?") != text


@pytest.mark.parametrize("name", looks())
def test_what_a_pattern_matches_is_not_passed_over(name: str) -> None:
    assert looks()[name].spared() == []


def test_every_list_of_hints_is_tested() -> None:
    released = {"REFUSAL_HINTS", "DISCLAIMER_HINTS", "AGREEMENT_HINTS"}  # of version 2, as they were
    others = {"CORRECTING_HINTS", "HEDGE_HINT"}  # of a list of words, below; and a length
    tested = set(" ".join(looks()).replace(",", " ").split())
    modules: tuple[ModuleType, ...] = (
        *(assertion, clause, given_label, labels, numbers, ownership, reading, reasoning, segments, siding, speech),
        *(voice, worded),
    )
    named = {name for module in modules for name in vars(module) if name.endswith(("_HINT", "_HINTS"))}
    assert named - tested - released - others == set()


def test_every_word_that_corrects_holds_a_hint() -> None:
    assert [word for word in assertion.CORRECTING if not holds(word, assertion.CORRECTING_HINTS)] == []


PLANTED = (
    ("REFUSAL_WORDS", reasoning, "REFUSAL", r"\bi shall not utter\b"),
    ("DECLINED_HINTS", reasoning, "DECLINED", r"\bi never blab\b"),
    ("DISCLAIMED_HINTS", reasoning, "DISCLAIMED", r"\bno whims\b"),
    ("SIDING_HINTS", reasoning, "AGREEMENT", r"\bso say we all(?P<opening>)?\b"),
    ("HEARSAY_HINTS", ownership, "HEARSAY", r"\brumour has\b"),
    ("THINKING_HINTS", segments, "THINKING", r"\blet us ponder\b"),
    ("CORRECTION_HINTS", reading, "CORRECTS", r"\bon reflection\b"),
    ("HEDGE_HINTS NOT_HINTS PAIR_HINTS", given_label, "HEDGE", r"\bwho can say\b"),
    ("ASIDE_HINT", labels, "ASIDE", r"(?<=answer) - surely - "),
)


@pytest.mark.parametrize(("name", "module", "pattern", "more"), PLANTED, ids=[name for name, *_ in PLANTED])
def test_an_alternative_without_a_hint_is_seen(
    name: str, module: ModuleType, pattern: str, more: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before: re.Pattern[str] = getattr(module, pattern)
    more = more.replace("(?P<opening>)?", "")
    monkeypatch.setattr(module, pattern, re.compile(f"{before.pattern}|{more}", before.flags))
    assert looks()[name].spared()


@settings(max_examples=120, derandomize=True, deadline=None)
@given(st.data())
def test_what_another_generator_makes_is_not_passed_over(data: st.DataObject) -> None:
    look = looks()[data.draw(st.sampled_from(("REFUSAL_WORDS", "DISCLAIMED_HINTS", "SIDING_HINTS", "DECLINED_HINTS")))]
    text = data.draw(st.from_regex(look.pattern, fullmatch=True))
    folded = fold(text).text
    matches = look.matches or look.pattern.search
    assert not matches(folded) or look.finds(folded)


@pytest.mark.parametrize("first", ["i agree.", "you are right.", "the others were right.", "i can confirm that."])
@pytest.mark.parametrize("gap", ["zu ", FILLER * 3, FILLER * 9])
@pytest.mark.parametrize("second", ["i agree.", "you're\nright.", "all of them are plainly correct.", "confirmed."])
def test_the_last_agreement_is_found_however_near_another_is(first: str, gap: str, second: str) -> None:
    text = f"nobody asks whether {first} {gap}{second}"
    spans = [found.span() for found in reasoning.AGREEMENT.finditer(text) if reasoning._sides(text, found)]
    assert reasoning.sided(text) == spans[-1]


def test_a_hint_is_found_in_capitals_and_with_other_quotes_and_spaces() -> None:
    assert reasoning.declined(fold("I CAN\u2019T\u00a0HELP WITH THAT.").text)
    assert reasoning.disclaimed(fold("I DON\u2019T\u2009HAVE BELIEFS.").text)
    assert reasoning.sided(fold("YOU\u2019RE\u3000RIGHT.").text)
