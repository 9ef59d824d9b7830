"""The frozen facts: their form, their counts, and facts that the reference benchmark or set 1 had wrong."""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path

import pytest

from perpend.canon import dumps
from perpend.errors import DataError
from perpend.studies.logic.chaos.predicates import METHODS, PREDICATES
from perpend.studies.logic.chaos.records import FACTS_FILE, SYSTEMS_FILE, Record, load_records, load_systems
from perpend.studies.logic.chaos.systems import core_systems

RECORDS = load_records()
SYSTEMS = load_systems()
REGIMES = ("FixedPointAttractor", "Periodic", "QuasiPeriodic", "Chaotic")


def found(system_id: str, **parameters: float) -> Record:
    """The only frozen instance of a system with these parameter values and its own start."""
    (record,) = [
        r
        for r in RECORDS
        if r.system_id == system_id
        and ";start=" not in r.id
        and all(r.parameters[name] == value for name, value in parameters.items())
    ]
    return record


def test_the_files_are_canonical_sorted_and_small() -> None:
    for path in (FACTS_FILE, SYSTEMS_FILE):
        lines = path.read_text(encoding="utf-8").splitlines()
        assert [dumps(json.loads(line)) for line in lines] == lines
    assert [r.id for r in RECORDS] == sorted({r.id for r in RECORDS})
    assert FACTS_FILE.stat().st_size <= 3_000_000


def test_there_are_enough_systems_and_instances() -> None:
    dysts = [system_id for system_id in SYSTEMS if system_id.startswith("dysts_")]
    assert set(core_systems()) <= set(SYSTEMS)
    assert len(SYSTEMS) - len(dysts) >= 30
    assert len(dysts) >= 100
    assert len(RECORDS) >= 900


def test_all_thirty_systems_of_the_reference_are_covered() -> None:
    assert sum(len(system.reference_ids) for system in SYSTEMS.values()) == 30


def test_every_instance_states_every_parameter_of_its_system_and_a_start() -> None:
    for record in RECORDS:
        system = SYSTEMS[record.system_id]
        assert set(record.parameters) == set(system.parameters), record.id
        assert record.start, record.id


def test_every_parameter_and_variable_occurs_in_the_equations() -> None:
    for system in SYSTEMS.values():
        for name in system.parameters:
            assert name in system.equations, f"{system.system_id}: {name}"


def test_every_fact_names_a_predicate_and_a_method() -> None:
    for record in RECORDS:
        assert set(record.facts) <= set(PREDICATES), record.id
        assert set(record.methods) == set(record.facts), record.id
        assert set(record.methods.values()) <= set(METHODS), record.id


def test_nothing_is_in_two_regimes_and_chaos_has_its_numbers() -> None:
    for record in RECORDS:
        assert sum(record.facts.get(name, False) for name in REGIMES) <= 1, record.id
        if record.facts.get("Chaotic"):
            exponents, errors = record.numbers["lyapunov"], record.numbers["lyapunov_error"]
            assert isinstance(exponents, list), record.id
            assert isinstance(errors, list), record.id
            assert exponents[0] > 2.9 * errors[0], record.id  # three errors, before rounding
            assert "theorem" in record.methods.values() or "endured" in record.numbers, record.id


def test_every_orbit_settled_for_long_before_it_was_measured() -> None:
    for record in RECORDS:
        if record.facts["Stochastic"]:
            continue
        unit, settled = float(str(record.numbers["unit"])), float(str(record.numbers["transient"]))
        if record.facts["DiscreteTime"]:
            assert settled >= 20_000, record.id
        else:
            assert settled >= min(5_000, 30_000 * unit) * (1 - 1e-6), record.id


def test_where_no_start_is_stated_all_twelve_ended_alike() -> None:
    looked = 0
    for record in RECORDS:
        starts = record.numbers.get("starts")
        if isinstance(starts, dict) and not record.start_matters:
            assert starts == {"same": 11}, record.id
            looked += 1
    assert looked >= 200


def test_no_regime_is_undecided_and_cycles_attract_or_are_centres() -> None:
    for record in RECORDS:
        assert "Chaotic" in record.facts, record.id
        assert not record.facts["Periodic"] or "AttractingCycle" in record.facts, record.id


def test_knowing_the_system_does_not_give_the_regime() -> None:
    """Within the systems where the dynamics allow it, chaotic and other instances are about as many."""
    counts: dict[str, Counter[bool]] = defaultdict(Counter)
    for record in RECORDS:
        if "Chaotic" in record.facts:
            counts[record.system_id][record.facts["Chaotic"]] += 1
    mixed = [c for c in counts.values() if c[True] and c[False]]
    assert len(mixed) >= 75
    majority = sum(max(c.values()) for c in mixed) / sum(sum(c.values()) for c in mixed)
    assert majority <= 0.62


def test_each_predicate_is_true_of_some_instances_and_false_of_others() -> None:
    counts = Counter((name, value) for record in RECORDS for name, value in record.facts.items())
    for name in PREDICATES:
        # One system has noise; the plan measures the first of its settings.
        least = 6 if name in ("Deterministic", "Stochastic") else 15
        assert min(counts[name, True], counts[name, False]) >= least, name


def test_what_the_reference_has_wrong_is_right_here() -> None:
    assert found("henon", a=1.4, b=0.3).facts["Chaotic"]
    assert found("lorenz63", rho=8.13).facts["FixedPointAttractor"]
    assert not found("lorenz63", rho=8.13).facts["Periodic"]
    assert found("logistic", r=3.83).facts["Periodic"]
    assert found("logistic", r=3.83).numbers["period"] == 3
    assert SYSTEMS["lorenz84"].variables == ("x", "y", "z")
    assert not any(record.facts["DimensionAtLeast4"] for record in RECORDS if record.system_id == "lorenz84")
    assert all(r.facts["Bounded"] is False for r in RECORDS if r.facts["Stochastic"])
    energy = [r for r in RECORDS if r.system_id in ("dysts_henonheiles", "shm", "standard_map")]
    assert all(r.facts["VolumePreserving"] for r in energy)
    assert not any(r.facts.get("Dissipative") for r in energy)
    assert "dysts_torus" not in SYSTEMS


def test_named_faults_of_set_1_are_right_or_gone() -> None:
    """Settings that an independent measurement found wrong, and multistable ones that did not state their start."""
    regimes = (
        ("lotka_volterra", {"k": 0.0}, "Periodic"), ("rossler", {"c": 6.0}, "Chaotic"),
        ("dysts_jerkcircuit", {"eps": 1.91e-9}, "Chaotic"), ("dysts_hastingspowell", {"b2": 2.38}, "Chaotic"),
        ("dysts_luchen", {"c": 18.7}, "Periodic"), ("chua_circuit", {"alpha": 14.1}, "Periodic"),
        ("dysts_burkeshaw", {"n": 26.1}, "Periodic"), ("lorenz84", {"F": 8.8}, "Periodic"),
        ("dysts_thomas", {"a": 0.346}, "Periodic"),
    )  # fmt: skip
    several: tuple[tuple[str, dict[str, float]], ...] = (
        ("ikeda_map", {"u": 0.899}), ("dysts_aizawa", {}), ("henon", {"a": 1.07}), ("duffing", {"gamma": 0.68}),
        ("circle_map", {"Omega": 0.7, "K": 2.7}), ("arnold_cat_map", {}),
    )  # fmt: skip
    for system_id, values, kind in regimes:
        for record in like(system_id, values):
            assert record.facts[kind], record.id
    for system_id, values in several:
        for record in like(system_id, values):
            assert record.start_matters, record.id
    assert not any(r.facts["AttractingCycle"] for r in like("lotka_volterra", {"k": 0.0}))
    assert not any(r.facts["Bounded"] for r in like("dysts_halvorsen", {"b": 4.54}))
    roots = [r for r in RECORDS if r.system_id in ("arnold_cat_map", "dysts_gingerbreadman_map")]
    assert roots
    assert all(r.numbers["start_words"] and r.start[0] == math.sqrt(2) - 1 for r in roots)


def like(system_id: str, values: Mapping[str, float]) -> list[Record]:
    """Frozen instances at these values and the system's own for all others; none, where it was not decided."""
    if system_id not in SYSTEMS:
        return []
    wanted = {**SYSTEMS[system_id].parameters, **values}
    return [r for r in RECORDS if r.system_id == system_id and r.parameters == wanted]


def test_a_delay_is_a_matter_of_its_value_not_of_a_letter() -> None:
    delayed = {r.system_id for r in RECORDS if r.facts["Delay"]}
    assert "mackey_glass" in delayed
    assert all(SYSTEMS[system_id].kind == "delay" for system_id in delayed)
    assert not any(r.facts["Delay"] for r in RECORDS if r.system_id == "mackey_glass" and r.parameters["tau"] == 0)


def test_volume_preserving_instances_state_their_start() -> None:
    for record in RECORDS:
        if (
            record.facts.get("VolumePreserving")
            and record.facts["DimensionAtLeast2"]
            and record.numbers.get("lyapunov")
        ):
            assert record.start_matters, record.id


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    lines = FACTS_FILE.read_text(encoding="utf-8").splitlines()
    broken = tmp_path / "facts.jsonl"
    broken.write_text(lines[0] + "\n" + lines[1][:-40] + "\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"facts\.jsonl:2"):
        load_records(broken)
