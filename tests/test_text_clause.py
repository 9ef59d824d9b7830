"""The words before a mention, and the clause that they end in."""

from __future__ import annotations

import importlib
import pkgutil

import perpend.text
from perpend.text.clause import clause
from perpend.text.cues import PAIR_HEADS, PAIR_SIGNS


def test_a_comma_ends_a_clause_only_before_a_new_subject() -> None:
    assert clause("they say sydney, but also, it is ").near == ["it", "is"]
    assert clause("in the west, near perth ").near == ["in", "the", "west", ",", "near", "perth"]


def test_then_begins_a_clause_but_not_after_a_form_of_be() -> None:
    assert clause("not so cold then it is ").near == ["it", "is"]
    assert clause("it is then ").near == ["it", "is", "then"]


def test_a_contraction_counts_as_a_denial() -> None:
    assert "not" in clause("it isn't ").kinds


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
    assert {pair.split(" ")[0] for pair in pairs} | {"based"} == PAIR_HEADS
    assert all(not PAIR_SIGNS.isdisjoint(pair.split(" ")) for pair in pairs), "one word of each is a sign of it"
