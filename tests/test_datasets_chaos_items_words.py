"""The parts that word and check the items: grammar, arguments, labels computed again."""

from __future__ import annotations

import pytest

from perpend.errors import DataError
from perpend.studies.logic.chaos.families.arguments import chained, closure, excluded, joint, rule_of, rule_text
from perpend.studies.logic.chaos.families.chance import mixed, pick, share
from perpend.studies.logic.chaos.families.grammar import mistake
from perpend.studies.logic.chaos.families.recompute import Facts
from perpend.studies.logic.chaos.families.words import FACT_WORDINGS, LOGIC_WORDINGS
from perpend.studies.logic.chaos.predicates import PREDICATES
from perpend.studies.logic.chaos.records import load_records
from perpend.studies.logic.chaos.rules import RULES, entails


@pytest.mark.parametrize(
    "text",
    [
        "Is the Hénon map with a = 1.4 and b = 0.3 chaotic?",
        "Take x[n+1] = a - x[n]^2 with a = 1.4. Is it true that a unit step is an exact one?",
        "Let k = 1, ..., 10 in the model. True or false: it is bounded.",
    ],
)
def test_sound_sentences_have_no_mistake(text: str) -> None:
    assert mistake(text) is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("is it chaotic?", "capital"),
        ("Is it chaotic", "full stop"),
        ("Is it chaotic?? Is it?", "two question marks"),
        ("Is f(x chaotic?", "bracket"),
        ("Is {name} chaotic?", "placeholder"),
        ("Is it  chaotic?", "blanks"),
        ("Is it , then, chaotic?", "blanks"),
        ("Is it it chaotic?", "twice"),
        ("Take the map. is it chaotic?", "small letter"),
        ("Has it an strange attractor?", "'a' and 'an'"),
        ("Has it a attracting cycle?", "'a' and 'an'"),
        ("Has it a StrangeAttractor?", "identifier"),
    ],
)
def test_each_mistake_is_named(text: str, told: str) -> None:
    assert told in str(mistake(text))


def test_a_name_that_is_broken_up_is_a_mistake() -> None:
    assert mistake("Is the Hénon map chaotic?", "Hénon map") is None
    assert "name" in str(mistake("Is the Hénon is map chaotic?", "Hénon map"))


def test_choices_depend_on_their_name_only() -> None:
    assert share("a", "b") == share("a", "b") != share("ab")
    assert pick("xyz", "k") in "xyz"
    assert mixed("abc", str, "k") == mixed("cba", str, "k")
    picked = [share(str(n)) for n in range(2000)]
    assert abs(sum(picked) / 2000 - 0.5) < 0.03


def test_every_predicate_has_words_that_say_and_deny_it() -> None:
    assert set(FACT_WORDINGS) == set(LOGIC_WORDINGS) == set(PREDICATES)
    for wordings in FACT_WORDINGS.values():
        for wording in wordings:
            assert wording.says != wording.denies
            assert wording.question("it").split()[0] in ("is", "does")


def test_rules_survive_being_written_as_a_tag() -> None:
    for rule in RULES:
        again = rule_of(rule_text(rule))
        assert (again.given, again.then) == (rule.given, rule.then)


@pytest.mark.parametrize("make", [lambda n: chained(n, 1), lambda n: chained(n, 4), joint, excluded])
def test_two_of_four_follow_and_each_needs_its_rules(make: object) -> None:
    assert callable(make)
    found = [argument for n in range(30) if (argument := make(f"t{n}")) is not None]
    assert len(found) >= 5
    for argument in found:
        assert [case.follows for case in argument.cases] == [True, True, False, False]
        for case in argument.cases:
            assert entails(dict(case.premises), case.rules, case.conclusion) is case.follows


def test_the_closure_is_what_the_checker_entails() -> None:
    for name in PREDICATES:
        known = closure(((name, True),))
        for other in PREDICATES:
            assert ((other, True) in known) == entails({name: True}, RULES, (other, True))


@pytest.mark.parametrize(
    ("tags", "told"),
    [
        ({}, "kind"),
        ({"kind": "fact", "instance": "nowhere", "parameters": ""}, "no facts about"),
        ({"kind": "fact", "instance": "henon:a=1.4,b=0.3", "parameters": "a=1"}, "'parameters'"),
        ({"kind": "argument", "premises": "Chaotic", "rules": "Chaotic>-Chaotic"}, "contradict"),
        ({"kind": "world_knowledge", "premises": "Chaotic;Periodic"}, None),
    ],
)
def test_a_label_that_cannot_be_computed_says_why(tags: dict[str, str], told: str | None) -> None:
    facts = Facts(load_records())
    item = {"question": "", "predicate": "Chaotic", "polarity": "positive", **tags}
    if told is None:
        assert facts.label(item)
    else:
        with pytest.raises(DataError, match=told):
            facts.label(item)


def test_what_neither_follows_nor_is_refuted_has_no_label() -> None:
    facts = Facts([])
    item = {"kind": "world_knowledge", "premises": "Bounded", "predicate": "Chaotic", "polarity": "positive"}
    with pytest.raises(DataError, match="neither"):
        facts.label(item)
