"""*compute*: both labellings of known motions, and the frozen facts."""

from __future__ import annotations

from dataclasses import replace

import pytest
from factory.again.compute import Seen, kept, label, look, motions
from factory.compute import facts
from factory.items import bundles
from factory.measure import text_of
from factory.quartet import Unreadable
from factory.systems import systems

LORENZ = "dx/dt = 10 (y - x), dy/dt = x ({r} - z) - y and dz/dt = x y - 2.667 z"
START = "The orbit starts at (x, y, z) = (1, 2, 20), and the first 70 time units are left out."


@pytest.mark.parametrize(
    ("r", "claim"),
    [("28", "the motion is chaotic"), ("12", "the orbit tends to a single point"),
     ("160", "the motion is a periodic oscillation")],
)  # fmt: skip
def test_known_motions_of_the_lorenz_system(r: str, claim: str) -> None:
    text = f"Take the Lorenz system: {LORENZ.format(r=r)}. {START} Is it true that {{}}?"
    assert label(text.format(claim))
    others = {"the motion is chaotic", "the orbit tends to a single point"} - {claim}
    assert not any(label(text.format(other)) for other in others)


def test_cycles_of_the_logistic_map_have_the_periods_of_the_books() -> None:
    begun = "The orbit starts at x[0] = 0.3, and the first 1000 steps are left out."
    said = "Is it true that the orbit runs through exactly {} different points over and over again?"
    for r, cycle in (("3.2", 2), ("3.5", 4), ("3.83", 3)):
        text = f"Take the logistic map: x[n+1] = {r} x[n] (1 - x[n]). {begun} {said}"
        assert label(text.format(cycle))
        assert not label(text.format(2 * cycle))


def test_a_question_without_a_start_is_unreadable() -> None:
    with pytest.raises(Unreadable):
        label(f"Take the Lorenz system: {LORENZ.format(r='28')}. Is it true that the motion is chaotic?")


def test_a_few_steps_are_exact() -> None:
    said = "Is it true that the value of x[2] is larger than {}?"
    text = f"Iterate x[n+1] = 4 x[n] (1 - x[n]) from the start x[0] = 0.1. {said}"
    assert label(text.format("0.92"))  # 0.1, 0.36, 0.9216
    assert not label(text.format("0.93"))


def test_the_two_labellings_of_a_sample_agree() -> None:
    for family, count in (("atomic", 60), ("regime_transition", 60)):
        for bundle in bundles("compute", family, count):
            assert [label(q.text) for q in bundle.questions] == [q.label for q in bundle.questions]


def test_every_frozen_fact_was_looked_at_a_second_time() -> None:
    everything = [fact for groups in facts().values() for group in groups for fact in group]
    assert everything
    for fact in everything:
        seen = kept()[motions(text_of(fact))[0].digest]
        assert (seen.kind, seen.cycle) == (fact["kind"], fact["cycle"])


def test_what_was_seen_while_measuring_with_a_key_is_not_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    fact = facts()["lorenz"][0][0]
    motion, seen = replace(motions(text_of(fact))[0], skip=7), Seen(fact["kind"], fact["cycle"])
    monkeypatch.setattr("factory.compute.measured", lambda _: [(fact, motion, seen)])
    monkeypatch.setattr("factory.again.compute.watched", None)
    assert facts("a key") == {"lorenz": [[fact]]}
    assert look(motion) is seen


def test_no_number_of_a_system_is_printed_as_a_factor_of_one() -> None:
    for groups in facts().values():
        for fact in (fact for group in groups for fact in group):
            text = systems()[fact["system"]].equations(fact["numbers"])
            assert not any(bad in f" {text}" for bad in (" 1 x", " 0 ", "+ -", "- -")), text
