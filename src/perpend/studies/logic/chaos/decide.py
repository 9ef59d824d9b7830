"""From numbers to facts. A fact that the numbers do not decide is absent; none has a default."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from perpend.studies.logic.chaos import predicates as limits
from perpend.studies.logic.chaos.instances import Instance
from perpend.studies.logic.chaos.spectra import divergence
from perpend.studies.logic.chaos.survey import SurveyNumbers, is_resolved
from perpend.studies.logic.chaos.system import System

Facts: TypeAlias = Mapping[str, tuple[bool, str]]
"""Predicate → (value, method)."""


@dataclass(slots=True)
class Ledger:
    """The facts of one instance as they are found. The first decision of a predicate stays."""

    facts: dict[str, tuple[bool, str]]

    def put(self, method: str, *, where: bool | None = None, **values: bool) -> None:
        """Record facts of one method; `where` None or True records them, False does nothing."""
        if where is False:
            return
        for name, value in values.items():
            self.facts.setdefault(name, (value, method))

    def holds(self, name: str) -> bool:
        """Whether the fact is known and true."""
        return self.facts.get(name, (False, ""))[0]

    def fails(self, name: str) -> bool:
        """Whether the fact is known and false."""
        return not self.facts.get(name, (True, ""))[0]


def by_form(system: System, instance: Instance) -> Facts:
    """What follows from the equations alone."""
    values = instance.values
    dimension = system.dimension(values)
    noisy, forced = system.is_noisy(values), system.is_forced(values)
    ledger = Ledger({})
    ledger.put("equation", Deterministic=not noisy, Stochastic=noisy)
    ledger.put("equation", ContinuousTime=system.kind != "map", DiscreteTime=system.kind == "map")
    ledger.put("equation", Autonomous=not forced, Forced=forced, Delay=system.is_delayed(values))
    for least in (2, 3, 4):
        ledger.put("equation", **{f"DimensionAtLeast{least}": dimension is None or dimension >= least})
    if dimension is not None and not noisy:
        rate = _largest_divergence(system, instance)
        ledger.put("divergence", where=rate < 1e-6 / system.time_scale, VolumePreserving=True)
        ledger.put("divergence", where=rate > 1e-3 / system.time_scale, VolumePreserving=False)
    return ledger.facts


def _largest_divergence(system: System, instance: Instance) -> float:
    """Largest |divergence| or |ln |det J|| at 64 random states as far out as the start. NaN where undefined."""
    start = np.array(instance.start)
    rng = np.random.default_rng(0)
    size = np.maximum(np.abs(start), 0.5)
    states = (start + size * rng.uniform(-1.0, 1.0, (64, len(start)))).T
    params = {name: np.full(64, value) for name, value in instance.values.items()}
    with np.errstate(all="ignore"):
        return float(np.abs(divergence(system, params, np.full(64, 0.3), states)).max())


def by_noise() -> Facts:
    """What the definitions say of a process with noise, and Uhlenbeck and Ornstein of its unbounded Gaussian paths."""
    ledger = Ledger({})
    ledger.put("cited", Bounded=False)
    ledger.put("definition", Chaotic=False, Hyperchaotic=False, StrangeAttractor=False, AttractingCycle=False)
    ledger.put("definition", Periodic=False, QuasiPeriodic=False, FixedPointAttractor=False)
    return ledger.facts


def decide(system: System, instance: Instance, numbers: SurveyNumbers | None) -> Facts:
    """All facts of an instance. `numbers` None: a noisy instance, which is not integrated."""
    ledger = Ledger(dict(by_form(system, instance)))
    if numbers is None:
        return {**ledger.facts, **by_noise()}
    if numbers.escaped:
        ledger.put("orbit", Bounded=False)
        for name in ("Periodic", "QuasiPeriodic", "FixedPointAttractor", "AttractingCycle"):
            ledger.put("definition", **{name: False})
        ledger.put("definition", Chaotic=False, Hyperchaotic=False, StrangeAttractor=False)
        return ledger.facts
    if numbers.drifts or numbers.spectrum is None or not is_resolved(system, instance, numbers):
        return ledger.facts
    ledger.put("orbit", Bounded=True)
    _indicators(ledger, numbers)
    _rates(ledger, numbers)
    _regime(ledger, numbers, stroboscopic=system.kind == "map" or system.is_forced(instance.values))
    _conclusions(ledger, numbers, system.dimension(instance.values))
    # A long cycle sampled in step with itself can look diffusive; where the test contradicts orbit and exponents its
    # value tells of the sampling, and is left out.
    if {"Chaotic", "ZeroOneHigh"} <= ledger.facts.keys() and ledger.holds("Chaotic") != ledger.holds("ZeroOneHigh"):
        del ledger.facts["ZeroOneHigh"]
    return ledger.facts


def _indicators(ledger: Ledger, numbers: SurveyNumbers) -> None:
    if numbers.k is not None:
        ledger.put("indicator", where=numbers.k >= limits.K_HIGH, ZeroOneHigh=True)
        ledger.put("indicator", where=numbers.k <= limits.K_LOW, ZeroOneHigh=False)
    if numbers.entropy is not None:
        off = numbers.entropy - limits.ENTROPY_THRESHOLD
        ledger.put("indicator", where=abs(off) >= limits.ENTROPY_MARGIN, EntropyHigh=off > 0)
    if numbers.megno is not None:
        ledger.put("indicator", where=numbers.megno >= limits.MEGNO_HIGH, MegnoHigh=True)
        ledger.put("indicator", where=numbers.megno <= limits.MEGNO_LOW, MegnoHigh=False)


def scaled(numbers: SurveyNumbers, i: int) -> tuple[float, float]:
    """The i-th exponent and its error per unit of time."""
    assert numbers.spectrum is not None
    return float(numbers.spectrum.exponents[i]) * numbers.unit, float(numbers.spectrum.errors[i]) * numbers.unit


def is_positive(numbers: SurveyNumbers, i: int) -> bool | None:
    """Whether the i-th exponent is positive; None inside the margin."""
    if numbers.spectrum is None or i >= len(numbers.spectrum.exponents):
        return None
    rate, error = scaled(numbers, i)
    if rate > limits.POSITIVE and rate > 4 * error and bool((numbers.spectrum.blocks[:, i] > 0).all()):
        return True
    return False if rate < limits.ZERO and error < limits.POSITIVE / 2 else None


def _rates(ledger: Ledger, numbers: SurveyNumbers) -> None:
    """Volumes and nearby orbits: do they shrink, do they part?"""
    assert numbers.spectrum is not None
    ledger.put("divergence", where=ledger.holds("VolumePreserving"), Dissipative=False)
    if numbers.divergence is not None:
        total, method = numbers.divergence * numbers.unit, "divergence"
    else:
        # A delay equation: the exponents not followed are below the last, so a negative partial sum is an upper bound.
        total, method = min(float(numbers.spectrum.exponents.sum()) * numbers.unit, 0.0), "spectrum"
    ledger.put(method, where=total < -limits.POSITIVE, Dissipative=True)
    ledger.put(method, where=total > limits.POSITIVE, Dissipative=False)
    positive = is_positive(numbers, 0)
    ledger.put("spectrum", where=positive is not None, PositiveLargestLyapunov=bool(positive))
    if numbers.twin is not None:
        ledger.put("orbit", where=numbers.twin >= limits.TWIN_PARTED, Sensitive=True)
        ledger.put("orbit", where=numbers.twin <= limits.TWIN_CLOSE, Sensitive=False)


def _regime(ledger: Ledger, numbers: SurveyNumbers, *, stroboscopic: bool) -> None:
    """At most one of rest, cycle, torus, chaos; decided only where orbit, exponents and 0–1 test agree."""
    largest, error = scaled(numbers, 0)
    second = scaled(numbers, 1)[0] if numbers.spectrum is not None and len(numbers.spectrum.exponents) > 1 else -1.0
    still, k = numbers.still or 0.0, numbers.k
    away = numbers.return_distance
    calm = ledger.fails("PositiveLargestLyapunov") and ledger.fails("Sensitive")
    if still < limits.AT_REST:
        ledger.put("orbit", where=calm and largest < -limits.ZERO, FixedPointAttractor=True)
    elif away is not None and away < limits.CLOSED:
        level = stroboscopic or abs(largest) < limits.ZERO
        ledger.put("orbit", where=calm and level and still > 1e-3, Periodic=True)
        attracting = largest if stroboscopic else second
        ledger.put("spectrum", where=ledger.holds("Periodic") and attracting < -limits.ZERO, AttractingCycle=True)
    elif away is not None and away > limits.OPEN:
        torus = abs(largest) < limits.TORUS and error < limits.TORUS and (stroboscopic or abs(second) < limits.TORUS)
        settled = numbers.unsettled is not None and numbers.unsettled < 0.03
        regular = calm and k is not None and k <= limits.K_LOW
        ledger.put("orbit", where=regular and torus and settled and still > 1e-2, QuasiPeriodic=True)
        wild = ledger.holds("PositiveLargestLyapunov") and ledger.holds("Sensitive")
        ledger.put("definition", where=wild and (k is None or k >= limits.K_THRESHOLD), Chaotic=True)


def _conclusions(ledger: Ledger, numbers: SurveyNumbers, dimension: int | None) -> None:
    """What the definitions say once the regime is known."""
    regimes = ("FixedPointAttractor", "Periodic", "QuasiPeriodic", "Chaotic")
    if any(ledger.holds(name) for name in regimes):
        for name in regimes:
            ledger.put("definition", **{name: False})
    tame = ledger.fails("PositiveLargestLyapunov") or ledger.fails("Sensitive")
    ledger.put("definition", where=tame, Chaotic=False)
    ledger.put("definition", where=ledger.fails("Periodic") or ledger.holds("VolumePreserving"), AttractingCycle=False)
    if ledger.holds("Chaotic"):
        more = is_positive(numbers, 1)
        ledger.put("spectrum", where=more is not None, Hyperchaotic=bool(more))
        ledger.put("equation", where=dimension == 1, Hyperchaotic=False)
    ledger.put("definition", where=ledger.fails("Chaotic"), Hyperchaotic=False)
    ledger.put("definition", where=ledger.fails("Chaotic") or ledger.fails("Dissipative"), StrangeAttractor=False)
    ledger.put("definition", where=ledger.holds("Chaotic") and ledger.holds("Dissipative"), StrangeAttractor=True)
    ledger.put("equation", where=dimension is not None and dimension <= 2, DimensionAboveTwo=False)
    measured = numbers.dimension if ledger.holds("Dissipative") else None
    if ledger.holds("FixedPointAttractor") or ledger.holds("AttractingCycle"):
        ledger.put("definition", DimensionAboveTwo=False)
    elif measured is not None and ledger.holds("Chaotic"):
        ledger.put("spectrum", where=abs(measured - 2) > 3 * dimension_error(numbers), DimensionAboveTwo=measured > 2)


def dimension_error(numbers: SurveyNumbers) -> float:
    """Error of the Kaplan–Yorke dimension: the summed exponents' errors over the exponent that closes the sum."""
    assert numbers.spectrum is not None
    below = np.nonzero(np.cumsum(numbers.spectrum.exponents) < 0)[0]
    if not len(below):
        return float("inf")
    j = int(below[0])
    return float(np.sqrt((numbers.spectrum.errors[:j] ** 2).sum()) / abs(numbers.spectrum.exponents[j]))


def start_matters(own: Facts, others: Sequence[Facts]) -> bool:
    """Whether the start must be stated: nearby starts decide some fact otherwise, or nothing contracts."""
    if own.get("Dissipative", (True, ""))[0] is False and own.get("DimensionAtLeast2", (False, ""))[0]:
        return True
    return any(own[name][0] != other[name][0] for other in others for name in own.keys() & other.keys())
