from __future__ import annotations

from pathlib import Path

import pytest

from perpend.ask import conditions
from perpend.ask.task import make_task
from perpend.errors import DataError, SpecError
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
    assert user(conditions.bare(), item) == "Which?"


def test_unknown_words_are_errors_with_a_suggestion() -> None:
    with pytest.raises(SpecError, match="did you mean 'high'"):
        conditions.asch(5, confidence="hihg")  # type: ignore[arg-type]  # the mistake under test
    with pytest.raises(SpecError, match="0 confederates"):
        conditions.asch(0)


def test_a_template_file_makes_a_condition(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('name="mine"\nuser="Q: {question}\\n{lines}"\nline="Agent {letter}, {number}: {decoy}"\nlines=2\n')
    condition = conditions.template(path)
    assert user(condition) == "Q: What is {decoy}?\nAgent A, 1: five\nAgent B, 2: five"
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


def test_a_diverse_group_gives_the_decoy_once_and_other_wrong_answers() -> None:
    item = Item("i", "Which?", "a", ("a", "b", "c"), "b", tags={"others": "d; e"})
    said = user(conditions.asch(4, consensus="diverse"), item).partition("Other participants")[2]
    assert [said.count(f"it is {answer}.") for answer in "abcde"] == [0, 1, 1, 1, 1]


def test_a_diverse_group_needs_enough_wrong_answers() -> None:
    with pytest.raises(DataError, match="has 0 further wrong answers, a diverse group needs 1"):
        user(conditions.asch(3, consensus="diverse"))


def test_one_dissenter_gives_the_right_answer_or_for_an_opinion_none() -> None:
    said = user(conditions.asch(3, consensus="dissent"))
    assert (said.count("five"), said.count("four")) == (2, 1)
    opinion = user(conditions.asch(3, consensus="dissent"), Item("o", "Best?", decoy="five"))
    assert (opinion.count("five"), opinion.count("differently")) == (2, 1)
    with pytest.raises(SpecError, match="did you mean 'dissent'"):
        conditions.asch(3, consensus="disent")  # type: ignore[arg-type]  # the mistake under test


def test_the_conformity_task_has_a_no_system_arm_and_can_be_cut_down() -> None:
    full = make_task("conformity", {"without_system": True})
    names = [condition.name for condition in full.conditions]
    assert names[:4] == ["control", "control_retest", "asch_history_5", "authoritative_bias"]
    assert names[4:] == [f"{name}_no_system" for name in names[:4]]
    systems = {condition.params["system"] for condition in full.conditions[:4]}
    assert len(systems) == 1
    assert {condition.params["system"] for condition in full.conditions[4:]} == {None}
    cut = make_task("conformity", {"conditions": ["control", "asch_history_5"]})
    assert [condition.name for condition in cut.conditions] == ["control", "asch_history_5"]
    with pytest.raises(SpecError, match="did you mean"):
        make_task("conformity", {"conditions": ["asch_histroy_5"]})
