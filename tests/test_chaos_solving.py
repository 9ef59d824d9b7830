"""The third program: equations from their text, orbits and exponents, answers of a user of tools."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from perpend.errors import DataError
from perpend.studies.logic.chaos.questions.chance import Chance
from perpend.studies.logic.chaos.questions.world import Sources
from perpend.studies.logic.chaos.records import Record, SystemWords, load_systems
from perpend.studies.logic.chaos.solving import again
from perpend.studies.logic.chaos.solving.answers import answer, instances_of, spread
from perpend.studies.logic.chaos.solving.integrate import solve
from perpend.studies.logic.chaos.solving.notation import read_equations
from perpend.studies.logic.chaos.solving.regime import Solved
from perpend.studies.logic.chaos.systems import core_systems

SYSTEMS = load_systems()
needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
LINE = {
    "sin": math.sin, "cos": math.cos, "exp": math.exp, "tanh": math.tanh, "sqrt": math.sqrt, "fabs": abs, "pow": pow,
    "fmin": min, "M_PI": math.pi, "sign_of": lambda x: (x > 0) - (x < 0), "mod_of": lambda x, m: x % m,
    "step_of": lambda x, at: 1.0 if x > 0 else 0.0 if x < 0 else at,
}  # fmt: skip


def rate(text: str, values: Mapping[str, float], state: list[float], t: float = 0.0) -> list[float]:
    """What the lines compute: they are read as Python, which differs from C in nothing that they use."""
    notation = read_equations(text, values)
    names = {**LINE, "s": state, "o": state, "p": list(values.values()), "t": t, "d": [0.0] * len(notation.variables)}
    for line in notation.lines:
        exec(line.removeprefix("double ").rstrip(";"), names)
    found: list[float] = names["d"]  # type: ignore[assignment]
    return found


def words(text: str, kind: str, *variables: str, **parameters: float) -> SystemWords:
    return SystemWords("own", "the own system", kind, variables, parameters, "", text, ())


@pytest.mark.parametrize(
    ("text", "values", "state", "right"),
    [
        ("x[n+1] = r x[n] (1 - x[n])", {"r": 4.0}, [0.25], [0.75]),
        ("dx/dt = -2 x^2 y + |x - y|^3, dy/dt = K / 2 pi", {"K": math.pi}, [1.0, 3.0], [2.0, 0.5]),
        ("q = a x, dx/dt = q (1 - q)", {"a": 2.0}, [0.5], [0.0]),
        ("dx/dt = f(x) - y, dy/dt = x, with f(x) = x + 1", {}, [2.0, 5.0], [-2.0, 2.0]),
        ("eps dx/dt = x", {"eps": 0.5}, [3.0], [6.0]),
        ("du[i]/dt = u[i+1] - u[i-1] for i = 1, ..., 3 on a ring", {}, [1.0, 2.0, 4.0], [-2.0, 3.0, -1.0]),
        ("x[n+1] = x[n] + y[n+1], y[n+1] = 2 y[n]", {}, [1.0, 3.0], None),
    ],
)
def test_equations_are_read_as_they_are_written(
    text: str, values: Mapping[str, float], state: list[float], right: list[float] | None
) -> None:
    if right is None:
        # A value of the next step that is not known yet.
        with pytest.raises(DataError):
            rate(text, values, state)
    else:
        assert rate(text, values, state) == pytest.approx(right)


@pytest.mark.parametrize("text", ["", "x = 3", "dx/dt = y", "dx/dt = (x", "dx/dt = x $ 2"])
def test_a_text_that_is_no_equation_is_an_error(text: str) -> None:
    with pytest.raises(DataError):
        read_equations(text, {})


def test_the_text_of_every_core_system_says_what_is_measured() -> None:
    import numpy as np

    compared = 0
    for name, system in core_systems().items():
        if name not in SYSTEMS or system.kind in ("stochastic", "discretised PDE") or name == "bakers_map":
            continue
        text, values = SYSTEMS[name].equations, dict(SYSTEMS[name].parameters)
        notation = read_equations(text, values)
        n = len(notation.variables)
        state = [0.3 + 0.2 * math.cos(1 + 1.7 * i) for i in range(n)]
        mine = rate(text, values, state, 0.4)
        same = set(notation.variables) == set(system.variables)
        order = [notation.variables.index(v) for v in system.variables] if same else list(range(n))
        x = np.array([[state[i]] for i in order])
        x = np.vstack([x, x]) if notation.has_delay else x
        columns = {key: np.array([float(value)]) for key, value in values.items()}
        theirs = system.rate(np.array([0.4]), x, columns)[:, 0]
        turn = notation.turn or math.inf
        assert [mine[i] % turn for i in order] == pytest.approx([v % turn for v in theirs.tolist()], rel=1e-9), name
        compared += 1
    assert compared > 20


@needs_compiler
@pytest.mark.parametrize(
    ("name", "values", "start", "true", "period"),
    [
        ("logistic", {"r": 3.83}, (0.4,), ("Periodic", "AttractingCycle", "Dissipative", "Bounded"), 3),
        (
            "henon",
            {"a": 1.4, "b": 0.3},
            (0.1, 0.1),
            ("Chaotic", "PositiveLargestLyapunov", "Dissipative", "Bounded"),
            None,
        ),
        ("arnold_cat_map", {"k": 1.0}, (0.41421, 0.73205), ("Chaotic", "PositiveLargestLyapunov", "Bounded"), None),
        ("standard_map", {"K": 0.5}, (1.0, 2.0), ("QuasiPeriodic", "Bounded"), None),
        ("lotka_volterra", {"a": 1.0, "b": 1.0, "c": 1.0, "d": 1.0, "k": 0.0}, (2.0, 1.0), ("Periodic", "Bounded"), 1),
    ],
)
def test_known_regimes(
    name: str, values: Mapping[str, float], start: tuple[float, ...], true: tuple[str, ...], period: int | None
) -> None:
    found = solve(SYSTEMS[name], {key: values[key] for key in SYSTEMS[name].parameters}, start)
    assert {key for key, value in found.facts.items() if value} == set(true)
    assert found.period == period


@needs_compiler
def test_rounding_does_not_bring_a_doubling_map_to_rest() -> None:
    doubling = words("x[n+1] = 2 x[n], modulo 1", "map", "x")
    found = solve(doubling, {}, (math.sqrt(2) - 1,))
    assert found.facts["Chaotic"]
    assert found.exponents[0] == pytest.approx(math.log(2), abs=1e-3)


@needs_compiler
def test_an_orbit_that_leaves_is_not_bounded() -> None:
    found = solve(SYSTEMS["logistic"], {"r": 4.5}, (0.4,))
    assert found.facts["Bounded"] is False
    assert found.facts["Chaotic"] is False


@needs_compiler
@pytest.mark.parametrize(("tau", "regime"), [(6.0, "AttractingCycle"), (30.0, "Chaotic")])
def test_a_delay_equation_is_followed(tau: float, regime: str) -> None:
    glass = words("dx/dt = beta x(t - tau) / (1 + x(t - tau)^n) - gamma x(t)", "delay", "x")
    found = solve(glass, {"beta": 0.2, "gamma": 0.1, "n": 10.0, "tau": tau}, (1.2,))
    assert found.facts[regime]


def test_noise_repeats_nothing() -> None:
    noise = words("dx = -theta x dt + sigma dW", "stochastic", "x")
    assert solve(noise, {"theta": 1.0, "sigma": 0.5}, (1.0,)).facts["Bounded"] is False


def world(*records: Record) -> Sources:
    return Sources({record.id: record for record in records}, SYSTEMS, Chance())


def logistic(r: float, **facts: bool) -> Record:
    return Record(f"logistic:r={r}", "logistic", {"r": r}, (0.4,), False, facts, {}, {})


def solved_as(found: Mapping[float, Solved]) -> object:
    def stand_in(_words: SystemWords, values: Mapping[str, float], _start: tuple[float, ...]) -> Solved:
        return found[values["r"]]

    return stand_in


def test_what_was_measured_is_kept_and_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    facts = world(logistic(3.2, Chaotic=False), logistic(3.9, Chaotic=True))
    found = {
        3.2: Solved({"Chaotic": False}, 2, (-0.9,), (0.01,)),
        3.9: Solved({"Chaotic": True}, None, (0.5,), (0.01,)),
    }
    monkeypatch.setattr(again, "solve", solved_as(found))
    path = tmp_path / "again.jsonl"
    first = again.measured_again(facts, facts.records, 1, path)
    with path.open("a", encoding="utf-8") as file:
        file.write('{"key": "cut sho')
    monkeypatch.setattr(again, "solve", solved_as({}))
    assert again.measured_again(facts, facts.records, 1, path) == first
    assert first["logistic:r=3.2"].numbers["period"] == 2
    # Other equations are another key.
    changed = replace(SYSTEMS["logistic"], equations="x[n+1] = r x[n]")
    with pytest.raises(KeyError):
        again.measured_again(replace(facts, systems={**SYSTEMS, "logistic": changed}), facts.records, 1, path)
    assert len(path.read_text(encoding="utf-8").splitlines()) == 3


def test_an_instance_that_cannot_be_solved_has_no_facts() -> None:
    systems = {**SYSTEMS, "logistic": replace(SYSTEMS["logistic"], equations="something grows")}
    facts = replace(world(logistic(3.2, Chaotic=False)), systems=systems)
    found = again.measured_again(facts, facts.records)
    assert found["logistic:r=3.2"].facts == {}
    assert "something grows" in json.dumps(found["logistic:r=3.2"].numbers)
    assert [one.agrees for one in again.compared(facts, found)] == [False]


def test_a_wrong_fact_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    facts = world(logistic(3.2, Chaotic=True, Periodic=True), logistic(3.9, Chaotic=True, Autonomous=True))
    found = {3.2: Solved({"Chaotic": False, "Periodic": True}), 3.9: Solved({"Chaotic": True})}
    monkeypatch.setattr(again, "solve", solved_as(found))
    rows = again.compared(facts, again.measured_again(facts, facts.records))
    assert [(one.instance, one.predicate) for one in rows if not one.agrees] == [("logistic:r=3.2", "Chaotic")]
    # The form of equations is not measured.
    assert {one.predicate for one in rows} == {"Chaotic", "Periodic"}


def item(r: str, label: str) -> dict[str, str]:
    name = SYSTEMS["logistic"].name
    question = f"Consider {name} with r = {r}. Is it true that the long-term motion is chaotic?"
    tags = {"stratum": "compute", "kind": "regime", "instance": f"logistic:r={r}", "system_id": "logistic"}
    return {"id": f"i{r}", "question": question, "ground_truth": label, "type": "atomic", "template": "any", **tags}


def test_an_answer_follows_what_was_measured_again_and_not_the_label() -> None:
    facts = world(logistic(3.2, Chaotic=True), logistic(3.9, Chaotic=False))
    measured = {"logistic:r=3.2": logistic(3.2, Chaotic=False)}
    blank = again.world_again(facts, measured)
    assert answer(item("3.2", "TRUE"), blank) is False
    # What was not measured is not answered from the frozen facts.
    assert answer(item("3.9", "FALSE"), blank) is None
    assert answer({**item("3.2", "TRUE"), "stratum": "reason"}, blank) is None
    assert instances_of([item("3.9", ""), item("3.2", ""), item("3.9", "")]) == ["logistic:r=3.9", "logistic:r=3.2"]


def test_items_are_spread_over_systems() -> None:
    rows = [
        {"id": f"{name}{k}", "system_id": name} for name, count in (("a", 8), ("b", 2), ("c", 1)) for k in range(count)
    ]
    assert [str(row["system_id"]) for row in spread(rows, 5)] == ["a", "b", "c", "a", "b"]
    assert len(spread(rows, None)) == 11
