"""From numbers to facts: what decides, what leaves a fact undecided, and a build that can be stopped and repeated."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from perpend.canon import dumps
from perpend.errors import DataError
from perpend.studies.logic.chaos import measure
from perpend.studies.logic.chaos.instances import Instance, default_start
from perpend.studies.logic.chaos.measuring import build as building
from perpend.studies.logic.chaos.measuring.build import build, collect, kept, read_work, record_of, regime
from perpend.studies.logic.chaos.measuring.check import check, closes, second_look
from perpend.studies.logic.chaos.measuring.decide import REGIMES, MethodReading, apart, doubt, rounded
from perpend.studies.logic.chaos.measuring.endure import as_json, endurance, largest_divergence
from perpend.studies.logic.chaos.measuring.endure import measure as measured
from perpend.studies.logic.chaos.measuring.numbers import Clock, Orbit
from perpend.studies.logic.chaos.measuring.plan import Quota, Sighting, choose, distance, oscillation, written
from perpend.studies.logic.chaos.records import Record, load_records
from perpend.studies.logic.chaos.rules import violations
from perpend.studies.logic.chaos.systems import core_systems

needs_compiler = pytest.mark.skipif(
    not any(shutil.which(name) for name in ("cc", "gcc", "clang")), reason="facts are measured with a C compiler"
)
CORE = core_systems()
# A map, a map of two variables and a flow whose pieces are cheap.
CHEAP = ("logistic", "henon", "damped_oscillator")


def instance(system_id: str, start: tuple[float, ...] | None = None, **values: float) -> Instance:
    system = CORE[system_id]
    stated = {**system.parameters, **values}
    return Instance(system_id, stated, start or default_start(system, stated))


def first(end: str, exponents: Sequence[float], error: float = 1e-3, **more: Any) -> dict[str, Any]:
    """What the first method leaves of an orbit on which nothing is doubtful."""
    body: dict[str, Any] = {
        "end": end, "why": "", "exponents": list(exponents), "errors": [error] * len(exponents),
        "divergence": sum(exponents), "complete": True, "period": None, "period_time": None, "unit": 1.0,
        "transient": 5000.0, "robust": True, "start_matters": False, "others": [end] * 11, "spreads": False,
        "endured": 1e5 if end == "chaos" else None, "volume": 1.0,
    }  # fmt: skip
    return {**body, **more}


def second(end: str, exponents: Sequence[float], error: float = 1e-3, **more: Any) -> dict[str, Any]:
    """What the second method leaves."""
    return {"end": end, "exponents": list(exponents[:2]), "errors": [error] * len(exponents[:2]), "unit": 1.0, **more}


LORENZ = (0.9, 0.0, -14.5)


def lorenz(one: dict[str, Any], two: dict[str, Any]) -> Record:
    return record_of(CORE["lorenz63"], instance("lorenz63"), one, two)


def test_chaos_that_both_methods_see_is_chaos() -> None:
    record = lorenz(first("chaos", LORENZ), second("moves", LORENZ))
    assert regime(record) == "Chaotic"
    assert record.facts["Dissipative"]
    assert record.facts["DimensionAboveTwo"]
    assert record.facts["Hyperchaotic"] is False
    assert not record.start_matters
    assert record.numbers["endured"] == 1e5
    assert violations(record.facts) == ()


@pytest.mark.parametrize(
    ("one", "two", "why"),
    [
        (first("chaos", LORENZ, 0.31), second("moves", LORENZ), "did not last"),
        (first("chaos", LORENZ), second("moves", LORENZ, 0.31), "second method"),
        (first("chaos", LORENZ), second("moves", (-0.9, -1.0)), "second method"),
        (first("chaos", LORENZ), second("moves", (1.4, 0.0)), "second method"),
        (first("chaos", LORENZ), second("unclear", ()), "second method"),
        (first("chaos", LORENZ, endured=None), second("moves", LORENZ), "did not last"),
        (first("chaos", LORENZ, robust=False), second("moves", LORENZ), "end elsewhere"),
        (first("chaos", LORENZ, divergence=-12.0), second("moves", LORENZ), "add up"),
        (first("chaos", (0.9, -0.4, -14.0)), second("moves", (0.9, -0.4)), "neutral"),
        (first("escaped", ()), second("moves", LORENZ), "only one method"),
        (first("chaos", LORENZ), second("escaped", ()), "only one method"),
        (first("unclear", LORENZ, why="0–1 test"), second("moves", LORENZ), "0–1 test"),
        (first("rest", (-1.0, -1.0, -9.0)), second("moves", (-1.0, -1.0)), "second method"),
        (first("torus", (0.0, 0.0, -9.0)), second("moves", (0.0, 0.02)), "second method"),
        (first("cycle", (0.0, -1e-3, -9.0)), second("moves", (0.0, -1e-3)), "not seen to attract"),
    ],
)
def test_a_doubt_leaves_the_regime_undecided(one: dict[str, Any], two: dict[str, Any], why: str) -> None:
    said = doubt(CORE["lorenz63"], instance("lorenz63"), MethodReading.of(one), MethodReading.of(two))
    assert said is not None
    assert why in said
    record = lorenz(one, two)
    assert regime(record) is None
    assert not {"Chaotic", "Periodic", "Bounded", "PositiveLargestLyapunov"} & set(record.facts)
    assert record.facts["Deterministic"]
    assert "lyapunov" not in record.numbers


def test_a_centre_is_periodic_but_draws_nothing_in() -> None:
    """Lotka–Volterra at k = 0: λ₂ = −0.0013 ± 0.0014, which set 1 took for attraction."""
    system, place = CORE["lotka_volterra"], instance("lotka_volterra", k=0.0)
    numbers = {"error": 1.4e-3, "divergence": 1e-5, "period": 1, "period_time": 6.5}
    centre = first("cycle", (1e-4, -1.3e-3), spreads=True, **numbers)
    record = record_of(system, place, centre, second("moves", (1e-4, -1e-3)))
    assert record.facts["Periodic"]
    assert record.facts["AttractingCycle"] is False
    assert "Dissipative" not in record.facts
    assert record.start_matters
    alone = record_of(system, place, {**centre, "spreads": False}, second("moves", (1e-4, -1e-3)))
    weak = record_of(system, place, {**centre, "divergence": -1e-3}, second("moves", (1e-4, -1e-3)))
    for undecided in (alone, weak):
        assert regime(undecided) is None
        assert "AttractingCycle" not in undecided.facts
    drawn = first("cycle", (1e-4, -0.4), period=1, period_time=6.5)
    cycle = record_of(system, place, drawn, second("moves", (1e-4, -0.4)))
    assert cycle.facts["AttractingCycle"]
    assert cycle.facts["Dissipative"]
    assert not cycle.start_matters


def test_an_orbit_that_leaves_by_both_methods_is_unbounded_and_nothing_else() -> None:
    record = lorenz(first("escaped", (), divergence=None), second("escaped", ()))
    assert regime(record) == "Escape"
    assert not any(record.facts[name] for name in ("Bounded", "Chaotic", "Periodic", "FixedPointAttractor"))
    assert "PositiveLargestLyapunov" not in record.facts
    assert "DimensionAboveTwo" not in record.facts


@pytest.mark.parametrize("end", ["escaped", "unclear"])
def test_one_start_that_ends_otherwise_makes_the_start_matter(end: str) -> None:
    one = first("chaos", LORENZ, others=["chaos"] * 10 + [end])
    record = lorenz(one, second("moves", LORENZ))
    assert regime(record) == "Chaotic"
    assert record.start_matters
    assert record.numbers["starts"] == {end: 1, "same": 10}


def test_the_start_matters_where_nothing_contracts() -> None:
    spectrum = (0.5, -0.5)
    one = first("chaos", spectrum, volume=0.0, divergence=0.0)
    record = record_of(CORE["standard_map"], instance("standard_map"), one, second("moves", spectrum))
    assert record.facts["Chaotic"]
    assert record.facts["VolumePreserving"]
    assert record.facts["Dissipative"] is False
    assert record.start_matters
    torus = first("torus", (1e-4, -1e-4), volume=1.0)
    assert record_of(CORE["henon"], instance("henon"), torus, second("moves", (0.0, 0.0))).start_matters


def test_hyperchaos_needs_two_exponents_by_both_methods() -> None:
    system, place = CORE["lorenz96"], instance("lorenz96", N=4.0)
    spectrum = (0.8, 0.3, 0.0, -5.0)
    assert record_of(system, place, first("chaos", spectrum), second("moves", spectrum)).facts["Hyperchaotic"]
    faint = record_of(system, place, first("chaos", spectrum), second("moves", (0.8, 0.3), 0.11))
    assert faint.facts["Chaotic"]
    assert "Hyperchaotic" not in faint.facts


def test_a_period_that_the_second_method_does_not_close_is_undecided() -> None:
    cycle = first("cycle", (-0.2, -1.0), period=7, period_time=7.0)
    for agrees, kind in ((True, "Periodic"), (False, None)):
        two = second("moves", (-0.2, -1.0), period_agrees=agrees)
        assert regime(record_of(CORE["henon"], instance("henon"), cycle, two)) == kind
    points = np.resize([[0.1], [0.5], [0.9]], (30, 1))
    assert closes(points, 3, 0.8)
    assert not closes(points, 6, 0.8)
    assert not closes(points, 2, 0.8)


def test_exact_maps_are_known_by_arithmetic_from_irrational_starts() -> None:
    rounding = first("rest", (0.69, -0.69), volume=0.0, others=["rest"] * 11)
    cat = record_of(CORE["arnold_cat_map"], instance("arnold_cat_map"), rounding, second("rest", ()))
    assert cat.facts["Chaotic"]
    assert cat.methods["Chaotic"] == "theorem"
    assert cat.numbers["lyapunov"] == [0.962424, -0.962424]
    assert cat.numbers["start_words"] == ["sqrt(2) - 1", "sqrt(3) - 1"]
    assert cat.start[0] == math.sqrt(2) - 1
    assert cat.start_matters
    for k, kind in ((-1.0, "Periodic"), (-4.0, "QuasiPeriodic"), (-5.0, "Chaotic")):
        there = record_of(CORE["arnold_cat_map"], instance("arnold_cat_map", k=k), rounding, second("rest", ()))
        assert regime(there) == kind
        assert violations(there.facts) == ()


def test_noise_is_neither_bounded_nor_in_a_regime() -> None:
    record = record_of(CORE["ornstein_uhlenbeck"], instance("ornstein_uhlenbeck"), None, None)
    assert regime(record) == "Noise"
    assert record.methods["Bounded"] == "cited"
    assert not any(record.facts[name] for name in ("Bounded", "Chaotic", "Periodic"))


def test_exponents_are_apart_beyond_the_errors_of_both() -> None:
    reading = MethodReading.of(second("moves", (1.0, 0.0)))
    assert not apart(1.03, 1e-3, reading, 0)
    assert apart(1.2, 1e-3, reading, 0)
    assert not apart(1.2, 0.05, reading, 0)
    assert not apart(5.0, 1e-3, reading, 2)


def test_numbers_keep_the_digits_that_their_error_supports() -> None:
    assert rounded(0.906123, 0.0075) == 0.9061
    assert rounded(-14.57561, 0.3) == -14.58
    assert rounded(1.23456789, 0.0) == 1.234568


def sighting(end: Any, i: int) -> Sighting:
    place = Instance("x", {"a": float(i)}, (0.0,))
    return Sighting(place, "a", i / 10, abs(i / 10), end)


def test_a_plan_pairs_chaos_with_order_at_like_distances() -> None:
    seen = [sighting("chaos", i) for i in range(1, 9)] + [sighting("cycle", -i) for i in range(1, 9)]
    chosen = choose(seen, Quota(8, 8, 2))
    assert sum(one.end == "chaos" for one in chosen) == 4
    apart_by = [abs(a.distance - b.distance) for a, b in zip(chosen[::2], chosen[1::2], strict=True)]
    assert max(apart_by) < 0.15
    assert len(choose(seen[:8], Quota(8, 8, 2))) == 4


def test_scanned_values_have_equal_decimals_and_no_last_zero() -> None:
    assert written(1.2, 2) == 1.21
    assert written(1.234, 2) == 1.23
    assert written(0.0, 2) == 0.0
    assert distance(CORE["henon"], {"a": 1.4, "b": 0.3}) == 0.0


def test_as_many_chaotic_as_other_records_are_kept() -> None:
    def made(kind: str, i: int) -> Record:
        facts = {"Bounded": True, "Stochastic": False, **({kind: True} if kind else {})}
        return Record(f"x:{kind}{i:03}", "x", {}, (0.0,), False, facts, {}, {})

    rows = [made(kind, i) for kind in ("Chaotic", "Periodic", "") for i in range(6)]
    assert [regime(row) for row in kept(rows, Quota(20, 8, 2))] == ["Chaotic"] * 4 + ["Periodic"] * 4
    assert len(kept(rows[:6], Quota(20, 8, 2))) == 2


@needs_compiler
def test_chaos_that_ends_is_seen_by_the_endurance_stage() -> None:
    """Beyond the crisis near a = 1.427 orbits of the Hénon map are chaotic for a while, then leave."""
    system = CORE["henon"]
    home = Orbit("chaos", "", np.array([0.42, -1.62]), np.array([4e-3, 4e-3]))
    for a, lasts in ((1.4, True), (1.428, False)):
        found = endurance(system, {"a": a, "b": 0.3}, home, [(0.1, 0.1)], Clock(1.0, 1))
        assert (found is not None) is lasts, a


def both(place: Instance) -> Record:
    """An instance measured by both methods, as a build does."""
    system = CORE[place.system_id]
    unit = oscillation(system)
    one = as_json(measured(system, place, unit), largest_divergence(system, place))
    return record_of(system, place, one, second_look(system, place, unit, one))


@needs_compiler
@pytest.mark.parametrize(
    ("place", "kinds", "states_start"),
    [
        (instance("lotka_volterra", k=0.0), ("Periodic",), True),
        (instance("ikeda_map", u=0.899), (*REGIMES, None), True),
        (instance("henon", a=1.07), (*REGIMES, None), True),
        (instance("circle_map", Omega=0.7, K=2.7), REGIMES, True),
        (instance("henon", a=1.24), ("Periodic",), True),
        (instance("lorenz63", rho=8.13), ("FixedPointAttractor",), False),
        (instance("rossler", c=6.0), ("Chaotic", None), True),
    ],
    ids=lambda value: value.settings if isinstance(value, Instance) else str(value),
)
def test_named_faults_of_set_1_are_right_or_undecided(
    place: Instance, kinds: tuple[str | None, ...], states_start: bool
) -> None:
    """Multistable instances state their start, whichever regime it leads to."""
    record = both(place)
    assert regime(record) in kinds
    assert record.start_matters is states_start
    if place.system_id == "lotka_volterra":
        assert record.facts["AttractingCycle"] is False
    assert violations(record.facts) == ()


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole build of the cheapest systems."""
    path = tmp_path_factory.mktemp("chaos") / "work.jsonl"
    build(CHEAP, path)
    return path


def measured_lines(path: Path) -> list[dict[str, Any]]:
    """The lines of a work file without the seconds that they took."""
    bodies = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return sorted(({k: v for k, v in body.items() if k != "seconds"} for body in bodies), key=dumps)


@needs_compiler
def test_a_build_that_was_killed_goes_on_where_it_was(work: Path, tmp_path: Path) -> None:
    text = work.read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    half = "".join(lines[: len(lines) // 2])
    path = tmp_path / "work.jsonl"
    path.write_text(half + lines[len(lines) // 2][:25], encoding="utf-8")
    build(CHEAP, path)
    assert path.read_text(encoding="utf-8").startswith(half)
    assert measured_lines(path) == measured_lines(work)


@needs_compiler
def test_a_work_file_of_other_code_or_other_equations_is_refused(work: Path, tmp_path: Path) -> None:
    head, *rest = work.read_text(encoding="utf-8").splitlines(keepends=True)
    path = tmp_path / "work.jsonl"
    for bad in (head.replace('"digest":"', '"digest":"0'), "\n"):
        path.write_text("".join([bad, *rest]), encoding="utf-8")
        with pytest.raises(DataError, match="measured by other code"):
            build(CHEAP, path)
    at = next(i for i, line in enumerate(rest) if '"plan henon"' in line)
    body = json.loads(rest[at])
    changed = dumps({**body, "system": "0" * 64}) + "\n"
    path.write_text("".join([head, *rest[:at], changed, *rest[at + 1 :]]), encoding="utf-8")
    with pytest.raises(DataError, match="henon changed"):
        read_work(path)


@needs_compiler
def test_a_fresh_build_gives_the_frozen_facts(work: Path, tmp_path: Path) -> None:
    systems, instances = collect(work, tmp_path)
    fresh = load_records(tmp_path / "facts.jsonl")
    assert (systems, instances) == (len(CHEAP), len(fresh))
    frozen = [record for record in load_records() if record.system_id in CHEAP]
    assert [record.id for record in fresh] == [record.id for record in frozen]
    for one, two in zip(fresh, frozen, strict=True):
        assert one.facts == two.facts, one.id
        assert one.methods == two.methods, one.id
        assert one.start_matters == two.start_matters, one.id
        assert one.numbers.get("period") == two.numbers.get("period"), one.id


@needs_compiler
def test_what_was_built_stands_up_to_the_second_method_and_a_planted_fault_does_not(work: Path, tmp_path: Path) -> None:
    collect(work, tmp_path)
    rows = load_records(tmp_path / "facts.jsonl")
    good = check(rows, CORE)
    assert good.lines == ()
    assert good.instances == len(rows)
    assert good.compared > 3 * len(rows)
    (henon,) = [row for row in rows if row.id == "henon:a=1.4,b=0.3"]
    turned = {**henon.facts, "Chaotic": False, "PositiveLargestLyapunov": False, "Bounded": False}
    bad = replace(henon, facts=turned, numbers={**henon.numbers, "lyapunov": [0.6, -1.8]})
    lines = "\n".join(check([bad], CORE).lines)
    for part in ("Chaotic was False", "Bounded was False", "exponent 1 was 0.6", "exponent 2 was -1.8"):
        assert part in lines
    (cycle, *_) = [row for row in rows if row.numbers.get("period") == 2]
    longer = replace(cycle, numbers={**cycle.numbers, "period": 3})
    assert "the period 3 does not close" in "\n".join(check([longer], CORE).lines)


@needs_compiler
def test_the_command_fails_on_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    record = next(row for row in load_records() if row.id == "henon:a=1.4,b=0.3")
    wrong = replace(record, facts={**record.facts, "Chaotic": False})
    monkeypatch.setattr(measure, "load_records", lambda: (wrong,))
    done = CliRunner().invoke(measure.main, ["--check", "--only", "henon"])
    assert done.exit_code == 6
    assert "Chaotic was False, the second method says True" in done.output
    assert "1 differences in" in done.output


def test_a_check_without_a_compiler_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    record = next(row for row in load_records() if row.id == "henon:a=1.4,b=0.3")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("perpend.studies.logic.chaos.measuring.engine.compiled", _no_library)
    with pytest.raises(DataError, match="C compiler"):
        check([record], CORE)


def _no_library(_source: str) -> None:
    raise DataError("facts are measured with a C compiler; install one")


def test_the_order_of_work_is_round_by_round() -> None:
    plans = {
        f"plan {name}": {"unit": 1.0, "watched": 0, "instances": [{"values": values, "start": [0.4]}] * 2}
        for name, values in (("logistic", {"r": 4.0}), ("tent_map", {"mu": 1.9}))
    }
    todo = building.pieces(("logistic", "tent_map"), plans, ("first", "second"))
    assert [piece.system_id for piece in todo] == ["logistic", "tent_map", "logistic", "tent_map"]
    assert {piece.stage for piece in todo} == {"first"}
    assert [piece.name for piece in building.pieces(("logistic",), {}, ("first",))] == ["plan logistic"]


@pytest.mark.parametrize(
    ("end", "exponents", "others"),
    [
        ("chaos", LORENZ, ["chaos"] * 10 + ["cycle"]),
        ("cycle", (0.0, -0.2, -14.5), ["cycle"] * 10 + ["chaos"]),
        ("cycle", (0.0, -0.2, -14.5), ["cycle"] * 5 + ["unclear"] * 6),
    ],
)
def test_where_a_chaotic_transient_may_choose_the_attractor_nothing_is_decided(
    end: str, exponents: Sequence[float], others: list[str]
) -> None:
    two = second("moves" if end == "chaos" else "closed", exponents)
    assert "a transient decides" in str(
        doubt(
            CORE["lorenz63"],
            instance("lorenz63"),
            MethodReading.of(first(end, exponents, others=others)),
            MethodReading.of(two),
        )
    )
    assert regime(lorenz(first(end, exponents, others=others), two)) is None


def test_the_dimension_of_a_forced_flow_is_a_convention() -> None:
    forced = (0.1, -0.4)
    record = record_of(CORE["duffing"], instance("duffing"), first("chaos", forced), second("moves", forced))
    assert regime(record) == "Chaotic"
    assert "DimensionAboveTwo" not in record.facts


def test_a_cycle_that_was_reached_only_in_a_longer_run_is_undecided() -> None:
    cycle = (0.0, -0.2, -14.5)
    one, two = first("cycle", cycle, transient=40_000.0), second("closed", cycle)
    assert doubt(CORE["lorenz63"], instance("lorenz63"), MethodReading.of(one), MethodReading.of(two)) == (
        "it settled only in a longer run"
    )
