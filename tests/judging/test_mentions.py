"""Where an answer is named: every way to write it that a reader takes for the same."""

from __future__ import annotations

import time

import pytest

from perpend.judging.mentions import answer, mentions
from perpend.judging.segment import answered
from perpend.judging.words import Words, fold, numbers

CASES = (
    # target, aliases or choices, text, what names the target
    ("10 000 km", (), "It is 10,000 kilometres long.", ["10,000"]),
    ("10,000 km", (), "It is 10 000 km long.", ["10 000"]),
    ("20%", (), "About 20 percent of them.", ["20"]),
    ("100 °C", (), "Water boils at 100 degrees Celsius.", ["100"]),
    ("5 km", (), "It is 5000 m.", ["5000"]),
    ("CO2", (), "Plants take in CO₂.", ["co2"]),
    ("D₃", (), "It is vitamin D3, also D_3.", ["d3", "d_3"]),
    ("Fe^{3+}", (), "The ion is Fe³⁺.", ["fe³⁺"]),
    ("Fe3+", (), "The ion is $\\mathrm{Fe}^{3+}$.", ["fe}^{3+"]),
    ("7 December 1941", (), "It was on 12/7/1941.", ["12/7/1941"]),
    ("7 December 1941", (), "It was on 07/12/1941.", ["07/12/1941"]),
    ("December 7, 1941", (), "It was on 1941-12-07.", ["1941-12-07"]),
    ("12/7/1941", (), "It was on the 7th of Dec. 1941.", ["7th of dec. 1941"]),
    ("7 December 1941", (), "It was on 12/8/1941.", []),
    ("2/3", (), "It is two thirds.", ["two thirds"]),
    ("1/2", (), "About a half.", ["half"]),
    ("1/3", (), "It is a third of it, in the third year.", ["a third"]),
    ("1.5", (), "It takes one and a half hours.", ["one and a half"]),
    ("5/8", (), "⅝", ["⅝"]),
    ("The UK", (), "He lives in the United Kingdom.", ["united kingdom"]),
    ("United Kingdom", (), "It is the U.K.", ["u.k."]),
    ("United States", ("American",), "She is American.", ["american"]),
    ("B) Saturn", (), "Saturn.", ["saturn"]),
    ("B) Saturn", (), "The answer is B.", ["b"]),
    ("J. Smith", (), "It was J. Smith.", ["j. smith"]),
    ("x = 12", (), "It is 12.", ["12"]),
    ("e", (), "The constant e is about 2.718, E too.", ["e", "e"]),
    ("E", (), "It is e, perhaps e or E.", ["e", "e"]),
    ("us", (), "It is about us.", ["us"]),
    ("US", (), "It is about us, not in the US.", ["us"]),
)
CHOICES = (
    ("B", "B) Saturn", ["b", "saturn"]),
    ("B", "The second option.", ["second option"]),
    ("Saturn", "I choose option 2.", ["option 2"]),
    ("Saturn", "I choose option b.", ["option b"]),
    ("Saturn", "The second one.", ["second one"]),
    ("Mars", "I choose option a.", ["option a"]),
    ("Saturn", "The first option.", []),
)


def named(target: str, aliases: tuple[str, ...], text: str, choices: tuple[str, ...] = ()) -> list[str]:
    part = answered(text, None)
    words = Words(part.folded.text)
    found = mentions(words, (answer("target", (target, *aliases), None, "?", choices),), part.own)
    return [words.text[words.places[one.start][0] : words.places[one.end - 1][1]] for one in found]


@pytest.mark.parametrize(("target", "aliases", "text", "found"), CASES)
def test_an_answer_is_found_however_it_is_written(
    target: str, aliases: tuple[str, ...], text: str, found: list[str]
) -> None:
    assert named(target, aliases, text) == found


@pytest.mark.parametrize(("target", "text", "found"), CHOICES)
def test_a_choice_is_found_by_letter_text_and_place(target: str, text: str, found: list[str]) -> None:
    assert named(target, (), text, ("Mars", "Saturn", "Venus")) == found


def test_of_two_choices_the_former_and_the_latter_are_found() -> None:
    assert named("tea", (), "I take the former.", ("tea", "coffee")) == ["former"]
    assert named("coffee", (), "I take the former.", ("tea", "coffee")) == []


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("-5 and $1,000", [-5, 1000]),
        ("twenty one million three hundred and five", [21_000_305]),
        ("3 x 10^4 or 10^-2", [30_000, 0.01]),
        ("at 3:30, in 12 h", [3.5, 12]),
        ("\\frac{1}{4} of 2.5 billion", [0.25, 2.5e9]),
        ("first, the 3rd", []),
    ],
)
def test_numbers_are_read_by_value(text: str, values: list[float]) -> None:
    words = Words(fold(text).text)
    assert [one.value for one in numbers(words.keys, words.raws)] == values


@pytest.mark.parametrize("text", ["a b\n\n\n  - c, d\n* e isn't", "- x", "é\u0301 x\u200by U.S. 1,000", "", " \n \n "])
def test_every_token_is_at_its_place(text: str) -> None:
    words = Words(fold(text).text)
    assert [words.text[start:end] for start, end in words.places] == words.raws
    assert len(words.keys) == len(words.raws)


HOSTILE = (
    "1 ",
    "1,000",
    "a.",
    "<",
    "{",
    "\n ",
    "\n***",
    "\n---\n",
    "boxed{",
    "^{",
    "one hundred and ",
    "Saturn option ",
    "\u200b",
)


@pytest.mark.parametrize("piece", HOSTILE)
def test_finding_takes_linear_time_on_hostile_text(piece: str) -> None:
    def cost(size: int) -> float:
        started = time.process_time()
        named("10 000 km", ("Saturn ring",), "Okay, so the user asks. Hmm. " + piece * (size // len(piece)))
        return time.process_time() - started

    assert cost(60_000) < 40 * max(cost(6_000), 0.002)
