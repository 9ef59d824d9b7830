"""The rules of the chaos-logic facts: what follows, what does not, and that the checker misses nothing."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from perpend.errors import DataError
from perpend.studies.logic.chaos.predicates import PREDICATES
from perpend.studies.logic.chaos.records import load_records
from perpend.studies.logic.chaos.rules import (
    RULES,
    Literal,
    Rule,
    consequences,
    consistent,
    entails,
    requires,
    violations,
)

NAMES = tuple(PREDICATES)


def test_a_chain_of_requirements_is_followed_to_its_end() -> None:
    assert entails({"Hyperchaotic": True}, RULES, ("PositiveLargestLyapunov", True))
    assert entails({"AttractingCycle": True}, RULES, ("Bounded", True))


def test_contraposition_is_followed() -> None:
    assert entails({"Bounded": False}, RULES, ("Hyperchaotic", False))
    assert entails({"DimensionAtLeast3": False, "ContinuousTime": True, "Autonomous": True}, RULES, ("Chaotic", False))


def test_exclusion_reads_both_ways() -> None:
    assert entails({"Chaotic": True}, RULES, ("Periodic", False))
    assert entails({"Periodic": True}, RULES, ("Hyperchaotic", False))


def test_denying_the_antecedent_and_affirming_the_consequent_prove_nothing() -> None:
    for holds in (True, False):
        assert not entails({"Chaotic": False}, RULES, ("Bounded", holds))
        assert not entails({"PositiveLargestLyapunov": True}, RULES, ("Chaotic", holds))


def test_a_case_split_is_found() -> None:
    """Neither branch is a unit clause: only DPLL's split sees that b holds either way."""
    rules = (
        Rule((("Chaotic", True),), ("Bounded", True)),
        Rule((("Chaotic", False),), ("Bounded", True)),
    )
    assert entails({}, rules, ("Bounded", True))


def test_only_the_rules_in_force_count() -> None:
    counterfactual = requires("Periodic", "Hyperchaotic")
    assert entails({"Periodic": True}, counterfactual, ("Hyperchaotic", True))
    assert not entails({"Periodic": True}, (), ("Hyperchaotic", True))


def test_no_claim_of_the_reference_that_fails_is_a_rule_here() -> None:
    assert "Mixing" not in PREDICATES
    assert not entails({"Dissipative": True}, RULES, ("Bounded", True))
    assert not entails({"VolumePreserving": True}, RULES, ("Bounded", True))
    assert consistent({"Chaotic": True, "VolumePreserving": True})


def test_contradictions_are_seen() -> None:
    assert not consistent({"Chaotic": True, "Periodic": True})
    assert not consistent({"VolumePreserving": True, "FixedPointAttractor": True})
    assert violations({"Chaotic": True, "Bounded": False})


def test_an_unknown_predicate_is_an_error_that_helps() -> None:
    with pytest.raises(DataError, match="did you mean 'Chaotic'"):
        consistent({"Chaotc": True})


def holds_everywhere(rules: tuple[Rule, ...], names: tuple[str, ...], premises: dict[str, bool], end: Literal) -> bool:
    """Entailment by the truth table, for comparison."""
    for row in product((True, False), repeat=len(names)):
        world = dict(zip(names, row, strict=True))
        fits = all(world[name] is value for name, value in premises.items())
        if fits and all(any(world[n] is v for n, v in rule.clause()) for rule in rules) and world[end[0]] is not end[1]:
            return False
    return True


@pytest.mark.parametrize("seed", range(60))
def test_the_checker_agrees_with_the_truth_table(seed: int) -> None:
    rng = np.random.default_rng(seed)
    names = NAMES[:6]

    def literal() -> Literal:
        return names[rng.integers(6)], bool(rng.integers(2))

    rules = tuple(Rule(tuple(literal() for _ in range(rng.integers(1, 3))), literal()) for _ in range(7))
    premises = dict([literal() for _ in range(2)])
    end = literal()
    assert entails(premises, rules, end) is holds_everywhere(rules, names, premises, end)


def test_every_rule_names_known_predicates_and_the_rules_can_all_hold() -> None:
    assert consistent({})
    for name, holds in product(NAMES, (True, False)):
        assert consistent({name: holds}), f"{name} could never be {holds}"


def test_consequences_are_drawn_forwards_and_backwards() -> None:
    found = consequences({"Delay": True, "Bounded": False})
    assert found["DimensionAtLeast2"]
    assert not found["DiscreteTime"]
    assert not found["Hyperchaotic"]
    assert "Delay" not in found
    assert "Dissipative" not in found


def test_whatever_follows_from_the_facts_of_an_instance_is_a_fact_of_it() -> None:
    missing = [
        (record.id, name)
        for record in load_records()
        for name in consequences(record.facts)
        if PREDICATES[name].kind != "number"
    ]
    assert missing == []


def test_every_instance_satisfies_every_rule() -> None:
    broken = [(record.id, violations(record.facts)) for record in load_records() if violations(record.facts)]
    assert broken == []
    assert [record.id for record in load_records() if not consistent(record.facts)] == []
