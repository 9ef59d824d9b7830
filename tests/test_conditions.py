from __future__ import annotations

from pathlib import Path

import pytest

from perpend import conditions
from perpend.errors import SpecError
from perpend.types import Item

ITEM = Item("i", "What is {decoy}?", target="four", decoy="five")


def user(condition: object, item: Item = ITEM) -> str:
    assert isinstance(condition, conditions.Condition)
    return condition.render(item)[-1].content


def test_control_asks_the_bare_question() -> None:
    assert [m.role for m in conditions.control().render(ITEM)] == ["system", "user"]
    assert user(conditions.control()) == "What is {decoy}?"
    assert [m.role for m in conditions.control(system=None).render(ITEM)] == ["user"]


def test_every_confederate_claims_the_decoy_and_nobody_the_target() -> None:
    said = user(conditions.asch(3))
    assert said.count("five") == 3
    assert "four" not in said
    assert "Participant 3:" in said


def test_braces_in_an_item_are_not_placeholders() -> None:
    assert user(conditions.authority()).endswith("What is {decoy}?")


def test_the_words_of_a_condition_stand_in_its_params() -> None:
    high, low = conditions.asch(2), conditions.asch(2, confidence="low")
    assert high.params != low.params
    assert high.params["user"] != low.params["user"]
    assert conditions.control().params["system"] == conditions.SYSTEM


def test_choices_are_asked_with_their_letters() -> None:
    item = Item("i", "Which?", "b", ("a", "b"))
    assert user(conditions.control(), item) == "Which?\nA) a\nB) b"


def test_unknown_words_are_errors_with_a_suggestion() -> None:
    with pytest.raises(SpecError, match="did you mean 'high'"):
        conditions.asch(5, confidence="hihg")  # type: ignore[arg-type]  # the mistake under test
    with pytest.raises(SpecError, match="0 confederates"):
        conditions.asch(0)


def test_a_template_file_makes_a_condition(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('name="mine"\nuser="Q: {question}\\n{lines}"\nline="Agent {letter}: {decoy}"\nlines=2\n')
    condition = conditions.template(path)
    assert user(condition) == "Q: What is {decoy}?\nAgent A: five\nAgent B: five"
    assert condition.needs_decoy


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('name="x"\nuser="{qestion}"', "did you mean 'question'"),
        ('name="x"\nuser="hello"', "never says {question}"),
        ('name="x"\nusr="{question}"', "did you mean 'user'"),
        ("name=", "not TOML"),
        ('user="{question}"', "'name' and 'user' must be strings"),
    ],
)
def test_a_bad_template_says_what_is_wrong(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(SpecError) as error:
        conditions.template(path)
    assert said in str(error.value)
