"""The integrators that measure facts: against closed forms, published exponents, numpy's right-hand sides and each
other."""

from __future__ import annotations

import itertools
import math
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from perpend.errors import DataError
from perpend.studies.logic.chaos.measuring import engine
from perpend.studies.logic.chaos.measuring.delay import history
from perpend.studies.logic.chaos.measuring.engine import Machine
from perpend.studies.logic.chaos.measuring.machines import machine
from perpend.studies.logic.chaos.measuring.second import SecondMachine, sizes
from perpend.studies.logic.chaos.measuring.source import text
from perpend.studies.logic.chaos.measuring.trace import Derivatives, Tape, traced
from perpend.studies.logic.chaos.system import Array, Params, System
from perpend.studies.logic.chaos.systems import core_systems

needs_compiler = pytest.mark.skipif(
    not any(shutil.which(name) for name in ("cc", "gcc", "clang")), reason="facts are measured with a C compiler"
)
CORE = core_systems()


def still(system: System) -> dict[str, float]:
    """The default parameters without noise and without delay."""
    return {k: 0.0 if k in (system.noise, system.lag) else v for k, v in system.parameters.items()}


def evaluate(tape: Tape, x: Array, time: float, parameters: list[float]) -> list[float]:
    """Every node of a tape as a number, by another way than C."""
    values: list[float] = []
    for operation, arguments, value in tape.nodes:
        a = [values[i] for i in arguments]
        made: Mapping[str, Callable[[], float]] = {
            "const": lambda value=value: value,
            "state": lambda value=value: float(x[int(value)]),
            "param": lambda value=value: parameters[int(value)],
            "time": lambda: time,
            "+": lambda a=a: a[0] + a[1],
            "-": lambda a=a: a[0] - a[1],
            "*": lambda a=a: a[0] * a[1],
            "/": lambda a=a: float(np.divide(a[0], a[1])),
            "neg": lambda a=a: -a[0],
            "pow": lambda a=a: float(np.power(a[0], a[1])),
            "<": lambda a=a: float(a[0] < a[1]),
            "<=": lambda a=a: float(a[0] <= a[1]),
            ">": lambda a=a: float(a[0] > a[1]),
            ">=": lambda a=a: float(a[0] >= a[1]),
            "select": lambda a=a: a[1] if a[0] else a[2],
        }
        values.append(made[operation]() if operation in made else float(getattr(np, operation)(a[0])))
    return values


def assert_traced(system: System) -> None:
    """The tape's rate is numpy's, and its derivatives are numpy's central differences, at random states."""
    values = still(system)
    dimension = system.dimension(values)
    assert dimension is not None
    past = tuple(range(dimension)) if system.lag is not None else ()
    tape, outputs = traced(system.rate, tuple(values), dimension, past)
    derivatives = Derivatives(tape)
    rows = [derivatives.of(node) for node in outputs]
    params: Params = {k: np.array(v) for k, v in values.items()}

    def rate(x: Array) -> Array:
        return np.ravel(system.rate(np.array(1.3), np.concatenate([x, x[: len(past)]]), params))

    chance = np.random.default_rng(7)
    compared = 0
    for _ in range(6):
        x = np.resize(np.array(system.start), dimension)
        x = x * (1 + 0.2 * chance.standard_normal(dimension)) + 0.1 * chance.standard_normal(dimension)
        h = 1e-6 * np.maximum(0.1, np.abs(x))
        with np.errstate(all="ignore"):
            expected = rate(x)
            slopes = [(rate(x + d) - rate(x - d)) / (2 * d.sum()) for d in np.diag(h)]
            nodes = evaluate(tape, x, 1.3, list(values.values()))
        if not np.isfinite(expected).all() or not np.isfinite(slopes).all():
            continue
        compared += 1
        jacobian = np.array([[nodes[row[i]] if i in row else 0.0 for i in range(dimension)] for row in rows])
        wanted = np.array(slopes).T
        np.testing.assert_allclose(
            [nodes[i] for i in outputs], expected, rtol=1e-12, atol=1e-13 * np.abs(expected).max()
        )
        np.testing.assert_allclose(jacobian, wanted, rtol=1e-5, atol=1e-6 * np.abs(wanted).max() + 1e-9)
    assert compared >= 2, system.system_id


@pytest.mark.parametrize("system_id", CORE)
def test_a_core_system_is_traced_with_its_jacobian(system_id: str) -> None:
    assert_traced(CORE[system_id])


def test_a_wrong_derivative_is_seen() -> None:
    wrong = replace(CORE["lorenz63"], rate=lambda t, x, p: np.floor(x * 1e7) / 1e7 * p["sigma"])
    with pytest.raises(AssertionError):
        assert_traced(wrong)


def test_a_branch_on_the_state_is_refused() -> None:
    def branching(_t: Array, x: Array, _p: Params) -> Array:
        return x if x[0] > 0 else -x

    with pytest.raises(DataError, match="branches"):
        traced(branching, (), 1)


PROBE = """
void probe(const double *p, double t, const double *x, double *out, double *matrix) {
    double q[SETTLED], j[VARYING];
    settle(p, q);
    linear(t, x, q, out, j);
    dense(j, q, matrix);
}
"""
NAMES = ("APART", "SETTLED", "VARYING", "settle", "rate", "linear", "spread", "dense", "probe")


def assert_compiled(systems: Mapping[str, System]) -> None:
    """All in one library, which is compiled in the time of a few: C gives what the tape gives, and numpy's rate."""
    parts = ["#include <math.h>\n"]
    tapes = {}
    for place, (system_id, system) in enumerate(systems.items()):
        values = still(system)
        dimension = system.dimension(values)
        assert dimension is not None
        tape, outputs = traced(system.rate, tuple(values), dimension, () if system.lag is None else range(dimension))
        made = text(tape, outputs, dimension)
        rows = [Derivatives(tape).of(node) for node in outputs]
        tapes[system_id] = (tape, outputs, rows)
        parts += [f"#define {name} {name}_{place}\n" for name in NAMES[1:]]
        parts += [made.rate, made.jacobian, PROBE, *(f"#undef {name}\n" for name in NAMES)]
    library = engine.compiled("".join(parts))
    chance = np.random.default_rng(3)
    for place, (system_id, (tape, outputs, rows)) in enumerate(tapes.items()):
        system = systems[system_id]
        values = still(system)
        n = len(outputs)
        p = np.array(list(values.values()))
        for _ in range(4):
            x = np.resize(np.array(system.start), n) * (1 + 0.2 * chance.standard_normal(n))
            rate, jacobian = np.zeros(n), np.zeros((n, n))
            arguments = [engine.pointer(p), *engine.doubles(0.7), *map(engine.pointer, (x, rate, jacobian))]
            getattr(library, f"probe_{place}")(*arguments)
            with np.errstate(all="ignore"):
                params = {k: np.array(v) for k, v in values.items()}
                expected = np.ravel(system.rate(np.array(0.7), np.concatenate([x, x][: 1 + bool(system.lag)]), params))
                nodes = evaluate(tape, x, 0.7, list(values.values()))
            wanted = [[nodes[row[i]] if i in row else 0.0 for i in range(n)] for row in rows]
            np.testing.assert_allclose(rate, expected, rtol=1e-12, atol=1e-13 * np.nanmax(np.abs(expected)))
            np.testing.assert_allclose(jacobian, wanted, rtol=1e-12, atol=1e-13 * np.nanmax(np.abs(wanted)))


@needs_compiler
def test_compiled_code_is_the_right_hand_side_of_every_core_system() -> None:
    assert_compiled(CORE)


def mean_rates(growth: Array, interval: float) -> tuple[Array, Array]:
    """Mean exponents and their standard errors from twenty blocks."""
    blocks = growth[: len(growth) // 20 * 20].reshape(20, -1, growth.shape[1]).mean(axis=1) / interval
    return blocks.mean(axis=0), blocks.std(axis=0, ddof=1) / math.sqrt(20)


PUBLISHED = (
    # system, parameters, start, span, interval, exponents
    ("lorenz63", {"beta": 8 / 3}, (1.0, 3.0, 20.0), 1000.0, 1.0, (0.9056, 0.0, -14.572)),
    ("rossler", {}, (1.0, 1.0, 0.0), 6000.0, 6.0, (0.0714, 0.0, -5.394)),
    ("henon", {}, (0.1, 0.1), 100_000.0, 100.0, (0.41922, -1.62319)),
    ("logistic", {}, (0.3,), 100_000.0, 100.0, (math.log(2),)),
)


@needs_compiler
@pytest.mark.parametrize(("system_id", "changed", "start", "span", "interval", "known"), PUBLISHED)
def test_published_exponents_by_both_methods(
    system_id: str, changed: dict[str, float], start: tuple[float, ...], span: float, interval: float,
    known: tuple[float, ...],
) -> None:  # fmt: skip
    system = CORE[system_id]
    values = {**system.parameters, **changed}
    reached = machine(system, values).advance(values, np.array(start), 0.0, 500, 1e-9)
    assert reached.status == "ok"
    first = machine(system, values).follow(values, reached.state, 0.0, span, interval, 1e-9, len(known))
    second = SecondMachine(system, values).exponents(values, reached.state, 0.0, span, interval, len(known))
    for run in (first, second):
        assert run.status == "ok"
        mean, error = mean_rates(run.growth, interval)
        assert (np.abs(mean - known) <= 4 * error + 2e-3 * np.abs(known) + 5 / span).all(), (mean, error)
        assert (run.low <= run.states.min(axis=0)).all()
        assert (run.states.max(axis=0) <= run.high).all()
    assert first.growth.sum() / span == pytest.approx(first.divergence, abs=1e-6)
    assert second.divergence == pytest.approx(first.divergence, rel=2e-2)


@needs_compiler
def test_a_damped_oscillator_is_exact() -> None:
    system = CORE["damped_oscillator"]
    omega, zeta = 2.0, 0.1
    values = {"omega": omega, "zeta": zeta}
    run = machine(system, values).follow(values, np.array([1.0, 0.0]), 0.0, 20.0, 0.5, 1e-12, 2)
    rate, turn = zeta * omega, omega * math.sqrt(1 - zeta**2)
    t = 0.5 * np.arange(1, 41)
    exact = np.exp(-rate * t) * (np.cos(turn * t) + rate / turn * np.sin(turn * t))
    np.testing.assert_allclose(run.states[:, 0], exact, atol=1e-10)
    assert run.divergence == pytest.approx(-2 * rate, abs=1e-12)
    assert run.growth.sum() == pytest.approx(-2 * rate * 20, abs=1e-8)
    other = SecondMachine(system, values).advance(values, np.array([1.0, 0.0]), 0.0, 20.0, 1e-12)
    np.testing.assert_allclose(other.state, run.state, atol=1e-10)


@needs_compiler
@pytest.mark.parametrize("made", [machine, SecondMachine])
def test_the_energy_of_the_harmonic_oscillator_is_kept(made: Callable[[System, dict[str, float]], Machine]) -> None:
    system = CORE["shm"]
    values = {"omega": 1.0}
    end = made(system, values).advance(values, np.array([1.0, 0.0]), 0.0, 5000.0, 1e-12)
    assert end.time == 5000.0
    assert float(end.state @ end.state) == pytest.approx(1.0, abs=1e-8)
    assert end.state[0] == pytest.approx(math.cos(5000.0), abs=1e-7)


@needs_compiler
def test_a_smaller_tolerance_gives_a_smaller_error() -> None:
    system = CORE["duffing"]
    values = dict(system.parameters)
    start = np.array([0.5, 0.0])
    best = SecondMachine(system, values).advance(values, start, 0.0, 10.0, 1e-13).state
    errors = [
        np.abs(machine(system, values).advance(values, start, 0.0, 10.0, tolerance).state - best).max()
        for tolerance in (1e-5, 1e-7, 1e-9, 1e-11)
    ]
    assert all(b < a / 10 for a, b in itertools.pairwise(errors)), errors
    assert errors[-1] < 1e-9


@needs_compiler
def test_escape_failure_and_an_unfinished_orbit_are_told_apart() -> None:
    henon = CORE["henon"]
    values = dict(henon.parameters)
    for run in (
        machine(henon, values).advance(values, np.array([3.0, 3.0]), 0.0, 1000, 1e-9),
        machine(henon, values).follow(values, np.array([3.0, 3.0]), 0.0, 1000, 1, 1e-9, 2),
        SecondMachine(henon, values).exponents(values, np.array([3.0, 3.0]), 0.0, 1000, 1, 2),
    ):
        assert run.status == "escaped"
        assert run.time < 20
    lorenz = CORE["lorenz63"]
    start, values = np.array([1.0, 1.0, 1.0]), dict(lorenz.parameters)
    run = machine(lorenz, values).follow(values, start, 0.0, 100, 1, 1e-9, 3, cap=500)
    assert (run.status, run.steps) == ("unfinished", 500)
    assert len(run.growth) == len(run.states) < 100
    assert machine(lorenz, values).advance(values, start, 0.0, 100, 1e-9, cap=500).status == "unfinished"
    assert SecondMachine(lorenz, values).advance(values, start, 0.0, 100, 1e-9, cap=50).status == "unfinished"

    def root(_t: Array, x: Array, _p: Params) -> Array:  # x' = -1/x ends where x = 0, at t = 1/2
        return -1 / x

    ending = replace(CORE["ornstein_uhlenbeck"], system_id="ending", rate=root, noise=None)
    values = dict(ending.parameters)
    for end in (machine(ending, values), SecondMachine(ending, values)):
        stopped = end.advance(values, np.array([1.0]), 0.0, 1.0, 1e-9)
        assert stopped.status in ("failed", "escaped")
        assert stopped.time == pytest.approx(0.5, abs=1e-6)


@needs_compiler
def test_passages_of_an_oscillator() -> None:
    system = CORE["shm"]
    values = {"omega": 1.0}
    times, points = machine(system, values).section(values, np.array([1.0, 0.0]), 0.0, 100.0, 1e-12, 0, 0.5)
    np.testing.assert_allclose(times, 2 * np.pi * np.arange(1, len(times) + 1) - np.pi / 3, atol=1e-9)
    assert len(times) == 16
    np.testing.assert_allclose(points, [[0.5, math.sqrt(0.75)]] * len(points))
    with pytest.raises(DataError, match="map"):
        machine(CORE["henon"], CORE["henon"].parameters).section(
            CORE["henon"].parameters, np.array([0.1, 0.1]), 0.0, 10, 1e-9, 0, 0.0
        )


@needs_compiler
def test_a_delay_without_nonlinearity_has_the_exponents_of_its_characteristic_equation() -> None:
    """x' = -a x(t - 1): the exponents are the real parts of the roots of z = -a exp(-z)."""
    system = replace(
        CORE["mackey_glass"], system_id="linear_delay", rate=lambda _t, x, p: (-p["a"] * x[1])[None],
        parameters={"a": 1.0, "tau": 1.0}, time_scale=1.0,
    )  # fmt: skip
    values = {"a": 1.0, "tau": 1.0}
    root = complex(-0.3, 1.3)
    for _ in range(50):
        root -= (root + np.exp(-root)) / (1 - np.exp(-root))
    start = np.array([1.0])
    first = machine(system, values).follow(values, start, 0.0, 200.0, 1.0, 1e-10, 2)
    second = SecondMachine(system, values).exponents(values, np.array([1.0]), 0.0, 200.0, 1.0, 2)
    for run in (first, second):
        np.testing.assert_allclose(run.growth[50:].mean(axis=0), [root.real] * 2, atol=5e-3)
    # Over the first delay x = 1 - t, over the second 1 - t + (t - 1)²/2.
    end = machine(system, values).advance(values, start, 0.0, 2.0, 1e-10)
    assert end.state[len(end.state) // 2 - 1] == pytest.approx(-0.5, abs=1e-9)
    again = machine(system, values).advance(values, end.state, end.time, 1.0, 1e-6)
    assert again.state[len(again.state) // 2 - 1] == pytest.approx(-1 / 6, abs=1e-6)


@needs_compiler
def test_the_mackey_glass_equation_by_both_methods() -> None:
    system = CORE["mackey_glass"]
    values = dict(system.parameters)
    start = machine(system, values).advance(values, np.array(system.start), 0.0, 1700.0, 1e-8).state
    first = machine(system, values).follow(values, start, 0.0, 1700.0, 17.0, 1e-8, 1)
    second = SecondMachine(system, values).exponents(values, start, 0.0, 1700.0, 17.0, 1, tolerance=1e-8)
    np.testing.assert_allclose(first.states[:8], second.states[:8], atol=1e-3)
    for run in (first, second):
        mean, error = mean_rates(run.growth, 17.0)
        assert abs(mean[0] - 0.006) < 4 * error[0] + 1e-3


def test_a_history_is_read_between_its_points() -> None:
    t = np.linspace(-2, 0, 41)
    fine = history(np.concatenate([np.sin(t), np.cos(t)]), 70, 2.0)
    s = np.linspace(-2, 0, 71)
    np.testing.assert_allclose(fine, np.concatenate([np.sin(s), np.cos(s)]), atol=1e-5)
    with pytest.raises(DataError, match="history"):
        history(np.ones(5), 70, 2.0)


def test_sizes_are_never_nothing() -> None:
    np.testing.assert_allclose(sizes(np.zeros(2), np.zeros(2)), [1e-3, 1e-3])
    np.testing.assert_allclose(sizes(np.array([-1.0, 0.0]), np.array([1.0, 0.0])), [1.0, 1e-4])


@needs_compiler
def test_the_same_run_gives_the_same_bits_and_one_machine() -> None:
    system = CORE["rossler"]
    values = dict(system.parameters)
    runs = [machine(system, values).follow(values, np.ones(3), 0.0, 50.0, 1.0, 1e-9, 3) for _ in range(2)]
    assert runs[0].growth.tobytes() == runs[1].growth.tobytes()
    assert machine(system, values) is machine(system, {**values, "c": 4.0})
    with pytest.raises(DataError, match="finite"):
        machine(system, values).advance(values, np.array([1.0, math.nan, 0.0]), 0.0, 1.0, 1e-9)
    with pytest.raises(DataError, match="exponents"):
        machine(system, values).follow(values, np.ones(3), 0.0, 1.0, 1.0, 1e-9, 4)


def test_without_a_compiler_one_line_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DataError, match="C compiler; install one"):
        engine.compiler()


@needs_compiler
def test_nothing_is_run_from_a_folder_that_others_can_write(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    folder = tmp_path / f"perpend-measuring-{os.getuid()}"
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.raises(DataError, match="private"):
        engine.compiled("int nothing(void) { return 0; }")
    folder.chmod(0o700)
    assert engine.compiled("int nothing(void) { return 0; }").nothing() == 0
    with pytest.raises(DataError, match="refuses"):
        engine.compiled("this is not C")
