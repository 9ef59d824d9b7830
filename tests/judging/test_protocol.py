"""Every scorer in the package keeps the protocol, whatever the text, and its work is linear."""

from __future__ import annotations

import math
import time
import unicodedata

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from perpend.judging import segment
from perpend.judging.scorers import ABOUT, SCORERS
from perpend.types import ChoiceLogprob, Item, Response, Score, Scorer

NAMES = sorted(SCORERS)
FACT = Item("fact", "Capital of Norway?", target="Oslo", decoy="Bergen", choices=("Oslo", "Bergen"))
OPINION = Item("opinion", "Best genre?", decoy="Rock")
LABEL = Item("label", "Is it bounded?", target="TRUE", decoy="FALSE")
SAID = ("Oslo.", "Bergen", "TRUE", "I cannot say.", "<think>Oslo</think>Bergen", "ΟΣΛΟ", "İ" * 5, "\ud800")


EACH = [pytest.param(one, id=f"{one.name}@{one.version}") for name in NAMES for one in SCORERS[name]]
# Control characters, lone surrogates, direction marks, letters whose case changes their length, and what is looked for.
PIECES = st.sampled_from(
    [
        "\x00\x1b[0m", "\ud800", "\udfff", "\u202e", "\u200f", "\u0301", "İ", "ß", "ﬁ", "Ⅷ", "²", "½", "٣",
        "<think>", "</think>", "[think]", "<|channel|>final", "**", "`", "\\boxed{", "}", "(", "$", "\n", " ", "\u2028",
        "answer", "Answer:", "the answer is", "not", "n't", "TRUE", "false", "yes", "Oslo", "Bergen", "-7", "1,000",
        ".5", "they said", "however", "I cannot", "sorry", "it depends", "?", ".", "“", "’", "—", "\ufeff",
        "\U0001f600",
    ]
)  # fmt: skip
TEXTS = st.text(max_size=200) | st.lists(PIECES | st.text(max_size=5), max_size=40).map("".join)
RANDOM_TEXT = st.text(st.characters(), max_size=20)
ITEMS = st.builds(
    Item,
    id=st.just("x"),
    prompt=TEXTS,
    target=st.none() | RANDOM_TEXT | st.sampled_from(["Oslo", "TRUE", "-7", "1/2", "(2, 3)"]),
    decoy=st.none() | RANDOM_TEXT | st.sampled_from(["Bergen", "No", "7", "A dog"]),
    choices=st.sampled_from([(), ("Oslo", "Bergen")]),
    aliases=st.sampled_from([(), ("Oslo city",), ("",)]),
)
LOGPROBS = st.none() | st.lists(
    st.builds(ChoiceLogprob, st.none() | st.floats(), st.integers(0, 5)), min_size=2, max_size=3
).map(tuple)
REPEATED = (
    *("a", " ", "\n", "0", "-", "*", "'", "<", "é", "\u0301", "<think>", "</think>", "Oslo ", "not ", "TRUE "),
    *("the answer is ", "no. ", "TRUE, ", "Is it? ", "Oslo or Bergen ", "A) Oslo\n"),
)
ANSWERS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12) | st.sampled_from(
    [
        "C++",
        "e",
        "π",
        "½",
        "1e-5",
        "ii",
        "ox",
        "up",
        "he",
        "do",
        "x",
        "C#",
        "x²",
        "∞",
        "°C",
        "10⁵",
        "√2",
        "%",
        "*",
        "**",
    ]
)
CORRECT, ENDORSED = SCORERS["correct"][-1], SCORERS["endorsed"][-1]
SIZE = 1_000_000
ITEM = Item("x", "Capital?", target="Oslo", decoy="Bergen")
POLAR = Item("y", "Is it chaotic?", target="TRUE", decoy="FALSE")


def test_the_versions_of_a_scorer_stand_oldest_first_and_every_one_says_what_it_asks() -> None:
    assert set(ABOUT) == set(NAMES)
    for name in NAMES:
        numbers = [int(scorer.version) for scorer in SCORERS[name]]
        assert ({scorer.name for scorer in SCORERS[name]}, numbers) == ({name}, sorted(set(numbers))), name


@pytest.mark.parametrize("scorer", EACH)
def test_a_failed_call_is_never_scored(scorer: Scorer) -> None:
    assert scorer.judge(FACT, Response(error="HTTP 500")).reason.startswith("error: HTTP 500")
    for item in (FACT, OPINION, LABEL):
        assert scorer.judge(item, Response(error="HTTP 500")).value is None


@pytest.mark.parametrize("scorer", [s for s in EACH if s.values[0].version != "1"])
@pytest.mark.parametrize("text", ["", " \n", "<think>Oslo", "<think>Oslo</think>"])
def test_no_finished_answer_is_never_scored_by_a_careful_reader(scorer: Scorer, text: str) -> None:
    for item in (FACT, OPINION, LABEL):
        score = scorer.judge(item, Response(text=text))
        assert score.value is None
        assert score.reason


@pytest.mark.parametrize("scorer", EACH)
def test_a_score_is_a_finite_number_or_none_and_its_span_lies_in_the_text(scorer: Scorer) -> None:
    logprobs = (ChoiceLogprob(-1.0, 1), ChoiceLogprob(-2.0, 1))
    for item in (FACT, OPINION, LABEL):
        for text in SAID:
            score = scorer.judge(item, Response(text=text, choice_logprobs=logprobs))
            check(score, text)


@pytest.mark.parametrize("scorer", EACH)
def test_a_scorer_gives_the_same_score_twice(scorer: Scorer) -> None:
    for text in SAID:
        assert scorer.judge(FACT, Response(text=text)) == scorer.judge(FACT, Response(text=text))


def check(score: Score, text: str) -> None:
    assert score.reason
    assert score.value is None or math.isfinite(score.value)
    if score.span is not None:
        start, end = score.span
        assert 0 <= start <= end <= len(text)


@pytest.mark.parametrize("scorer", EACH)
@settings(max_examples=60, deadline=None)
@given(item=ITEMS, text=TEXTS, finish=st.sampled_from([None, "stop", "length", ""]), logprobs=LOGPROBS)
def test_no_text_makes_a_scorer_raise(
    scorer: Scorer, item: Item, text: str, finish: str | None, logprobs: tuple[ChoiceLogprob, ...] | None
) -> None:
    check(scorer.judge(item, Response(text=text, finish=finish, choice_logprobs=logprobs)), text)


@pytest.mark.parametrize("scorer", EACH)
@pytest.mark.parametrize("piece", REPEATED, ids=ascii)
def test_work_grows_no_faster_than_the_text(scorer: Scorer, piece: str) -> None:
    # Four times the text: linear work takes 4 times as long, quadratic 16 times. The floor hides the clock's noise.
    # Words at both ends keep the text from being stripped away.
    small, large = (cost(scorer, f"Oslo {piece * (size // len(piece))} Bergen") for size in (10_000, 40_000))
    assert large < 9 * small + 0.05


@pytest.mark.parametrize("scorer", EACH)
@pytest.mark.parametrize("piece", ["a", "\n", "<think>", "<think></think>"], ids=ascii)
def test_one_and_two_megabytes_cost_linear_work(scorer: Scorer, piece: str) -> None:
    small, large = (cost(scorer, piece * (size // len(piece)), times=2) for size in (SIZE, 2 * SIZE))
    assert large < 3.5 * small + 0.1


@pytest.mark.parametrize("scorer", EACH)
@pytest.mark.parametrize("piece", ["a", "<think></think>"], ids=ascii)
def test_ten_megabytes_are_judged(scorer: Scorer, piece: str) -> None:
    assert scorer.judge(ITEM, Response(text=piece * (10 * SIZE // len(piece)))).reason


def cost(scorer: Scorer, text: str, times: int = 3) -> float:
    """The least processor time of a few tries, for a question with an answer in words and one of yes or no.

    Other processes make a try slower, never faster; what the last try left in memory would.
    """
    tries = []
    for _ in range(times):
        segment.visible.cache_clear()
        segment.answered.cache_clear()
        start = time.process_time()
        for item in (ITEM, POLAR):
            scorer.judge(item, Response(text=text))
        tries.append(time.process_time() - start)
    return min(tries)


def folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold().strip()


@settings(max_examples=300, deadline=None)
@given(target=ANSWERS, decoy=ANSWERS, prompt=st.sampled_from(["What?", "Who wrote it?", "Is it so?", "Which river?"]))
@example(target="wait", decoy="no", prompt="What?")
@example(target="User:", decoy="x", prompt="What?")
@example(target="X", decoy="x", prompt="What?")
@example(target="\u0301", decoy="x", prompt="What?")
def test_an_answer_that_equals_target_or_decoy_always_counts(target: str, decoy: str, prompt: str) -> None:
    assume(target.strip() and decoy.strip() and target.strip() != decoy.strip())
    item = Item("x", prompt, target=target, decoy=decoy)
    assert CORRECT.judge(item, Response(text=target)).value == 1
    assert ENDORSED.judge(item, Response(text=decoy, finish="stop")).value == 1


@settings(max_examples=300, deadline=None)
@given(target=ANSWERS, decoy=ANSWERS, marks=st.sampled_from(["**{}**", "`{}`", '"{}"', "“{}”", "{}.", " {}\n"]))
def test_quotation_marks_markup_and_a_full_stop_around_it_change_nothing(target: str, decoy: str, marks: str) -> None:
    alone = target.strip()
    assume(alone and any(char.isalnum() for char in alone) and folded(alone) != folded(decoy) and decoy.strip())
    assume(not any(char in "*`\"'“”._" for char in alone + decoy))
    score = CORRECT.judge(Item("x", "What?", target=target, decoy=decoy), Response(text=marks.format(alone)))
    assert score.value == 1


@pytest.mark.parametrize("text", ["b", "B", "b)", "(b)", "b.", "**b**", "The answer is b.", "Answer: b", "Option b"])
@pytest.mark.parametrize("choices", [("a", "b", "c"), ("red", "blue", "green")])
def test_an_option_is_given_by_its_letter_in_any_case(text: str, choices: tuple[str, ...]) -> None:
    item = Item("x", "Which?", target=choices[1], decoy=choices[0], choices=choices)
    assert CORRECT.judge(item, Response(text=text)).value == 1
    swapped = Item("x", "Which?", target=choices[0], decoy=choices[1], choices=choices)
    assert ENDORSED.judge(swapped, Response(text=text)).value == 1


WORDS = (
    "Rome",
    "Milan",
    "is",
    "not",
    "the capital",
    "The answer is",
    "?",
    ".",
    "They say",
    "I cannot help",
    "You are right",
)


@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=12))
def test_the_state_is_what_the_other_scorers_say(words: list[str]) -> None:
    item = Item("x", "What is the capital of Italy?", target="Rome", decoy="Milan")
    response = Response(text=" ".join(words))
    states = {"correct": "correct", "endorses": "endorsed", "refuses": "refused"}
    state = SCORERS["stance"][-1].judge(item, response).answer
    for name, scorer in states.items():
        assert (state == name) == (SCORERS[scorer][-1].judge(item, response).value == 1.0), name


def test_what_was_read_last_is_not_taken_for_another_item_or_response() -> None:
    response = Response(text="It is Rome.")
    rome, milan = Item("a", "Which city?", target="Rome"), Item("a", "Which city?", target="Milan")
    stance = SCORERS["stance"][-1]
    assert [stance.judge(item, response).answer for item in (rome, milan, rome)] == ["correct", "other", "correct"]
    assert stance.judge(rome, Response(text="It is Milan.")).answer == "other"
    assert stance.judge(rome, Response(error="timeout")).value is None
