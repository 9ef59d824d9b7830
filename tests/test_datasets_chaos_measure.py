"""Measuring facts again, choosing a balanced set of them, and being told when one does not hold."""

from __future__ import annotations

import importlib.util
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from perpend.studies.logic.chaos.build import DYSTS, Quota, chosen, regime
from perpend.studies.logic.chaos.measure import check, differences, main, sample, systems_like
from perpend.studies.logic.chaos.records import Record, instance_id, load_records, rounded
from perpend.studies.logic.chaos.systems import core_systems

RECORDS = load_records()
# Maps, and the cheapest flow.
FAST = ("logistic", "henon", "circle_map", "arnold_cat_map", "tent_map", "shm")


def test_a_sample_of_the_facts_is_measured_again_and_holds() -> None:
    picks = [r for name in FAST for r in [r for r in RECORDS if r.system_id == name][::12]]
    compared, found = check(picks, core_systems())
    assert found == []
    assert compared > 300


def test_the_command_measures_again_and_says_how_many() -> None:
    done = CliRunner().invoke(main, ["--check", "--only", "henon", "--sample", "3", "--seed", "5"])
    assert done.exit_code == 0, done.output
    assert "facts of 3 instances measured again: no difference" in done.output


def test_a_check_that_would_compare_nothing_is_an_error() -> None:
    done = CliRunner().invoke(main, ["--check", "--only", "lorens63"])
    assert done.exit_code != 0
    assert "did you mean 'lorenz63'" in done.output
    assert CliRunner().invoke(main, []).exit_code != 0


@pytest.mark.skipif(bool(importlib.util.find_spec("dysts")), reason="dysts is installed here")
def test_the_dysts_systems_say_what_to_install() -> None:
    done = CliRunner().invoke(main, ["--check", "--only", "dysts_*"])
    assert done.exit_code != 0
    assert "pip install --no-deps dysts==0.96" in done.output


def test_an_instance_read_back_keeps_its_id() -> None:
    """The file sorts parameters by name; ids state them in the system's order."""
    systems = core_systems()
    for record in RECORDS:
        if record.system_id in systems:
            assert instance_id(systems[record.system_id], record.instance) == record.id


def test_a_wrong_fact_and_a_wrong_number_are_named() -> None:
    record = next(r for r in RECORDS if r.id == "henon:a=1.4,b=0.3")
    wrong = replace(
        record, facts={**record.facts, "Periodic": True}, numbers={**record.numbers, "lyapunov": [0.6, -1.8]}
    )
    _, found = check([wrong], core_systems())
    assert any("henon:a=1.4,b=0.3: Periodic was True, is False" in line for line in found)
    assert any("Lyapunov exponent 1 was 0.6" in line for line in found)


def test_a_fact_that_is_merely_undecided_now_is_no_difference() -> None:
    record = RECORDS[0]
    assert differences(record, replace(record, facts={})) == []


def test_a_sample_is_drawn_by_its_seed() -> None:
    first = sample(RECORDS, 20, 1)
    assert first == sample(RECORDS, 20, 1)
    assert first != sample(RECORDS, 20, 2)
    assert len({record.id for record in first}) == 20


def test_without_a_pattern_the_core_systems_are_meant() -> None:
    assert set(systems_like("*")) == set(core_systems())


def test_building_a_system_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        done = CliRunner().invoke(main, ["--build", str(tmp_path / name), "--only", "tent_map"])
        assert done.exit_code == 0, done.output
    first, second = ((tmp_path / name / "tent_map.jsonl").read_bytes() for name in ("a", "b"))
    assert first == second
    assert first.count(b"\n") > 20


def made(kind: str, i: int) -> Record:
    facts = {"Bounded": kind != "Escape", "Stochastic": False, kind: True} if kind else {"Stochastic": False}
    return Record(f"x:{kind}{i:03}", "x", {}, (0.0,), False, facts, {}, {})


def test_a_choice_has_as_many_chaotic_as_other_instances_spread_over_the_regimes() -> None:
    rows = [made(kind, i) for kind in ("Chaotic", "Periodic", "FixedPointAttractor", "Escape", "") for i in range(40)]
    counts = Counter(regime(record) for record in chosen(rows, Quota(40, 10, 0)))
    assert counts["Chaotic"] == 20
    assert abs(counts["Periodic"] - counts["FixedPointAttractor"]) <= 1
    assert counts["Escape"] == 4
    assert None not in counts


def test_a_system_with_one_regime_keeps_a_few_instances() -> None:
    assert len(chosen([made("Chaotic", i) for i in range(40)], DYSTS)) == DYSTS.least


def test_numbers_keep_the_digits_that_their_error_supports() -> None:
    assert rounded(0.906123, 0.0075) == 0.9061
    assert rounded(-14.57561, 0.3) == -14.58
    assert rounded(1.23456789, 0.0) == 1.234568
