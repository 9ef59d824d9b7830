"""Measured instances against answers that are known from elsewhere."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pytest

from perpend.studies.logic.chaos.decide import decide
from perpend.studies.logic.chaos.instances import Instance, default_start
from perpend.studies.logic.chaos.spectra import divergence, orthonormalise
from perpend.studies.logic.chaos.survey import Length, SurveyNumbers, survey
from perpend.studies.logic.chaos.systems import core_systems

CORE = core_systems()
SHORT = Length(150, 400, 100)
# Shorter than the frozen facts' runs: enough for these answers, and fast.
MAP_SHORT = Length(2_000, 8_000, 500)


def measured(system_id: str, *settings: Mapping[str, float]) -> list[tuple[SurveyNumbers, dict[str, bool]]]:
    system = CORE[system_id]
    values = [{**system.parameters, **setting} for setting in settings]
    instances = [Instance(system_id, v, default_start(system, v)) for v in values]
    length = MAP_SHORT if system.kind == "map" else SHORT
    rows = survey(system, instances, length)
    return [(n, {k: v for k, (v, _) in decide(system, i, n).items()}) for i, n in zip(instances, rows, strict=True)]


def exponents(numbers: SurveyNumbers) -> tuple[list[float], list[float]]:
    assert numbers.spectrum is not None
    return numbers.spectrum.exponents.tolist(), numbers.spectrum.errors.tolist()


def test_the_logistic_map_from_extinction_to_full_chaos() -> None:
    rows = measured("logistic", {"r": 0.8}, {"r": 2.8}, {"r": 3.2}, {"r": 3.83}, {"r": 4.0}, {"r": 4.2})
    (_, gone), (_, fixed), (two, _), (three, window), (full, chaos), (_, away) = rows
    assert gone["FixedPointAttractor"]
    assert fixed["FixedPointAttractor"]
    assert two.period == 2
    assert three.period == 3
    assert window["Periodic"]
    assert not window["Chaotic"]
    (value,), (error,) = exponents(full)
    assert abs(value - math.log(2)) < 4 * error + 1e-4
    assert chaos["Chaotic"]
    assert not chaos["Dissipative"]
    assert not chaos["StrangeAttractor"]
    assert not away["Bounded"]
    assert not away["Chaotic"]


def test_the_henon_map_has_the_known_exponents_and_their_sum() -> None:
    ((numbers, facts),) = measured("henon", {})
    (first, second), (error, _) = exponents(numbers)
    assert abs(first - 0.4192) < 4 * error
    assert first + second == pytest.approx(math.log(0.3), abs=1e-6)
    assert facts["Chaotic"]
    assert facts["StrangeAttractor"]


def test_windows_of_the_henon_map_are_not_chaotic() -> None:
    """The reference calls a = 1.2652 chaotic. Its cycle has 70 points, more than are tried, so nothing else is said."""
    (seven, window), (_, narrow) = measured("henon", {"a": 1.24}, {"a": 1.2652})
    assert window["Periodic"]
    assert not window["Chaotic"]
    assert seven.period == 7
    assert not narrow["Chaotic"]
    assert not narrow["PositiveLargestLyapunov"]
    assert "Periodic" not in narrow


def test_the_standard_map_preserves_area_chaotic_or_not() -> None:
    (wild, chaos), (calm, regular) = measured("standard_map", {"K": 6.0}, {"K": 0.3})
    assert chaos["VolumePreserving"]
    assert regular["VolumePreserving"]
    assert chaos["Chaotic"]
    assert not chaos["Dissipative"]
    assert not chaos["StrangeAttractor"]
    assert sum(exponents(wild)[0]) == pytest.approx(0, abs=1e-6)
    assert exponents(wild)[0][0] == pytest.approx(math.log(3.0), abs=0.05)  # ln(K/2) for large K
    assert regular.get("Chaotic") is not True
    assert abs(exponents(calm)[0][0]) < 5e-3


def test_the_circle_map_is_quasi_periodic_below_k_1_and_locked_in_a_tongue() -> None:
    (_, torus), (locked, cycle) = measured("circle_map", {"Omega": 0.6, "K": 0.5}, {"Omega": 0.5, "K": 0.9})
    assert torus["QuasiPeriodic"]
    assert not torus["Periodic"]
    assert not torus["Chaotic"]
    assert cycle["Periodic"]
    assert locked.period == 2


def test_the_cat_map_has_its_exact_exponent_and_its_elliptic_relative_has_period_six() -> None:
    (cat, chaos), (elliptic, cycle) = measured("arnold_cat_map", {"k": 1.0}, {"k": -1.0})
    assert exponents(cat)[0][0] == pytest.approx(math.log((3 + math.sqrt(5)) / 2), abs=1e-4)
    assert chaos["Chaotic"]
    assert chaos["VolumePreserving"]
    assert elliptic.period == 6
    assert cycle["Periodic"]
    assert not cycle["AttractingCycle"]


def test_lorenz_at_rest_and_in_chaos() -> None:
    (_, rest), (numbers, chaos) = measured("lorenz63", {"rho": 8.13}, {"rho": 28.0, "beta": 8 / 3})
    assert rest["FixedPointAttractor"]
    assert not rest["Periodic"]
    values, errors = exponents(numbers)
    assert abs(values[0] - 0.9056) < 4 * errors[0]
    assert abs(values[1]) < 4 * errors[1] + 2e-3
    assert abs(values[2] + 14.572) < 4 * errors[2] + 0.01
    assert numbers.dimension == pytest.approx(2.062, abs=0.005)
    assert numbers.k is not None
    assert numbers.k > 0.9
    assert chaos["StrangeAttractor"]
    assert not chaos["Hyperchaotic"]
    assert chaos["DimensionAboveTwo"]


def test_rossler_has_the_known_exponent_and_a_limit_cycle_before() -> None:
    (cycle, before), (numbers, chaos) = measured("rossler", {"c": 2.5}, {})
    assert before["AttractingCycle"]
    assert cycle.period_time == pytest.approx(5.75, abs=0.05)
    values, errors = exponents(numbers)
    assert abs(values[0] - 0.0714) < 4 * errors[0]
    assert sum(values) == pytest.approx(numbers.divergence or 0.0, rel=0.02)
    assert chaos["Chaotic"]


def test_oscillators_swing_rest_or_grow() -> None:
    ((free, periodic),) = measured("shm", {"omega": 2.0})
    (_, damped), (_, growing) = measured("damped_oscillator", {"zeta": 0.2}, {"zeta": -0.3})
    assert periodic["Periodic"]
    assert periodic["VolumePreserving"]
    assert not periodic["AttractingCycle"]
    assert free.period_time == pytest.approx(np.pi, abs=1e-3)
    assert damped["FixedPointAttractor"]
    assert damped["Dissipative"]
    assert not growing["Bounded"]
    assert "PositiveLargestLyapunov" not in growing


def test_switching_the_forcing_or_the_delay_off_changes_the_form() -> None:
    system = CORE["duffing"]
    for gamma, forced in ((0.0, False), (0.5, True)):
        values = {**system.parameters, "gamma": gamma}
        facts = decide(system, Instance("duffing", values, system.start), None)
        assert facts["Forced"][0] is forced
        assert facts["Autonomous"][0] is not forced
    glass = CORE["mackey_glass"]
    assert glass.dimension({**glass.parameters, "tau": 0.0}) == 1
    assert glass.dimension(glass.parameters) is None


def test_gram_schmidt_gives_orthonormal_vectors_and_the_volume() -> None:
    vectors = np.random.default_rng(0).normal(size=(4, 3, 5))
    q, lengths = orthonormalise(vectors)
    for b in range(5):
        assert q[:, :, b].T @ q[:, :, b] == pytest.approx(np.eye(3), abs=1e-12)
        gram = vectors[:, :, b].T @ vectors[:, :, b]
        assert np.prod(lengths[:, b]) == pytest.approx(math.sqrt(np.linalg.det(gram)))


def test_divergence_of_lorenz_is_its_trace() -> None:
    system = CORE["lorenz63"]
    params = {name: np.full(3, value) for name, value in system.parameters.items()}
    found = divergence(system, params, np.zeros(3), np.array([[1.0, 5, -3], [2, 9, 4], [20, 30, 1]]))
    assert found == pytest.approx(-(10 + 1 + 2.6667), abs=1e-6)
