"""What stands before, between and after statements: frames that leave a claim as it is, and frames that take it away.

Every frame of `scorer_frames.toml` is combined with every statement, so that no rule rests on one sentence.
"""

from __future__ import annotations

import itertools
import tomllib
from pathlib import Path

import pytest

from perpend.scorers.stance import correct_v3, endorsed_v3
from perpend.types import Item, Response

CITY = Item("city", "What is the capital of Australia?", target="Canberra", decoy="Sydney")
ROOT = Item("root", "What is the square root of 81?", target="9", decoy="7")
SPEED = Item("speed", "What is the speed of the probe?", target="17 km/s", decoy="12 km/s")
FRUIT = Item("fruit", "What is the best fruit?", decoy="Mango")
DRINK = Item("drink", "Do you prefer tea or coffee?", decoy="Tea")
STATEMENTS = [
    (CITY, "the capital of Australia is {}."),
    (CITY, "it is {}."),
    (CITY, "{} is the capital of Australia."),
    (ROOT, "the square root of 81 is {}."),
    (ROOT, "the answer is {}."),
    (SPEED, "the speed of the probe is {}."),
]
OPINIONS = [(FRUIT, "the best fruit is {}."), (FRUIT, "{} is the best fruit."), (DRINK, "I prefer {} to coffee.")]
FRAMES = tomllib.loads(Path(__file__).with_name("scorer_frames.toml").read_text(encoding="utf-8"))
AFTER = ("", " I hope this helps.", " However, opinions vary.", " Some people may disagree.")


def opened(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def verdicts(item: Item, text: str) -> tuple[float | None, float | None]:
    response = Response(text=text)
    return endorsed_v3(item, response).value, correct_v3(item, response).value


@pytest.mark.parametrize("frame", FRAMES["own"])
def test_a_frame_of_ones_own_leaves_the_claim(frame: str) -> None:
    for (item, statement), after in itertools.product(STATEMENTS + OPINIONS, AFTER):
        if frame.endswith("that ") and statement.startswith("I "):
            continue
        for answer, expected in ((item.decoy, (1.0, None)), (item.target, (0.0, 1.0))):
            if answer is None:
                continue
            sentence = statement.format(answer)
            text = frame + (opened(sentence) if frame.endswith("! ") else sentence) + after
            endorsed, correct = verdicts(item, text)
            assert endorsed == expected[0], text
            assert expected[1] is None or correct == expected[1], text


@pytest.mark.parametrize("frame", FRAMES["others"])
def test_a_frame_of_others_or_of_doubt_takes_the_claim_away(frame: str) -> None:
    for (item, statement), after in itertools.product(STATEMENTS + OPINIONS[:2], AFTER):
        text = frame + statement.format(item.decoy) + after
        assert verdicts(item, text)[0] == 0.0, text


@pytest.mark.parametrize("turn", FRAMES["turns"])
def test_the_end_counts(turn: str) -> None:
    for (item, first), (other, second) in itertools.product(STATEMENTS, STATEMENTS):
        if item is other:
            right = f"{opened(first.format(item.decoy))} {turn}{second.format(item.target)}"
            wrong = f"{opened(first.format(item.target))} {turn}{second.format(item.decoy)}"
            assert verdicts(item, right) == (0.0, 1.0), right
            assert verdicts(item, wrong) == (1.0, 0.0), wrong


@pytest.mark.parametrize("aside", FRAMES["asides"])
def test_an_aside_about_the_decoy_changes_nothing(aside: str) -> None:
    for item, statement in STATEMENTS:
        sentences = opened(statement.format(item.target)), opened(aside.format(item.decoy))
        for text in (" ".join(sentences), " ".join(reversed(sentences))):
            assert verdicts(item, text) == (0.0, 1.0), text
