"""From numbers to facts. A fact that the numbers do not decide is absent; none has a default.

Both methods must agree: the first (adaptive DOP853, variational equations; endure.py) and the second (another
integrator, displaced orbits; check.py). An exponent has a sign only beyond three of its errors.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from perpend.canon import JSON
from perpend.studies.logic.chaos.indicators import kaplan_yorke
from perpend.studies.logic.chaos.instances import Instance, start_words
from perpend.studies.logic.chaos.measuring.endure import (
    DELAY_TRANSIENT_UNITS,
    TRANSIENT_ITERATES,
    TRANSIENT_MOST,
    TRANSIENT_TIME,
    TRANSIENT_UNITS,
)
from perpend.studies.logic.chaos.measuring.numbers import LEAST_RATE, SUM_TOLERANCE, stroboscopic
from perpend.studies.logic.chaos.system import System

Facts: TypeAlias = Mapping[str, tuple[bool, str]]
"""Predicate → (value, method)."""
REGIMES = ("FixedPointAttractor", "Periodic", "QuasiPeriodic", "Chaotic")
# |divergence| T below which it vanishes at every state, and above which it does not.
_NO_VOLUME, _SOME_VOLUME = 1e-9, 1e-3
_LEAST_DIVERGENCE = 0.01
# A flow's own direction is neutral to within this rate, in 1 / T, or three errors.
_NEUTRAL = 0.02
# |divergence| T of a cycle that draws nothing in.
_CENTRE = 3e-4
# Two methods' exponents are apart beyond this many errors of both, this share of them, and this rate in 1 / T.
_SIGMAS, _SHARE, _LEAST_GAP = 8.0, 0.05, 0.02


@dataclass(frozen=True, slots=True)
class MethodReading:
    """One method's numbers of an instance, read back from a work file."""

    end: str
    exponents: tuple[float, ...]
    errors: tuple[float, ...]
    unit: float
    body: Mapping[str, Any]

    @staticmethod
    def of(body: Mapping[str, Any]) -> MethodReading:
        """From a line of a work file."""
        return MethodReading(body["end"], tuple(body["exponents"]), tuple(body["errors"]), body["unit"], body)

    def sign(self, i: int) -> int | None:
        """1 or −1 where the i-th exponent is beyond three errors and the least rate; None where it is not."""
        if i >= len(self.exponents):
            return None
        x = self.exponents[i]
        if abs(x) <= 3 * self.errors[i] or abs(x) * self.unit < LEAST_RATE:
            return None
        return 1 if x > 0 else -1


@dataclass(slots=True)
class Ledger:
    """The facts of one instance as they are found. The first decision of a predicate stays."""

    facts: dict[str, tuple[bool, str]]

    def put(self, method: str, *, where: bool = True, **values: bool) -> None:
        """Record facts of one method where a condition holds."""
        if where:
            for name, value in values.items():
                self.facts.setdefault(name, (value, method))

    def holds(self, name: str) -> bool:
        """Whether the fact is known and true."""
        return self.facts.get(name, (False, ""))[0]

    def fails(self, name: str) -> bool:
        """Whether the fact is known and false."""
        return not self.facts.get(name, (True, ""))[0]


def by_form(system: System, instance: Instance, volume: float | None) -> Facts:
    """What follows from the equations alone. `volume`: the largest |divergence| found; None: not looked at."""
    values = instance.values
    dimension = system.dimension(values)
    noisy, forced = system.is_noisy(values), system.is_forced(values)
    ledger = Ledger({})
    ledger.put("equation", Deterministic=not noisy, Stochastic=noisy)
    ledger.put("equation", ContinuousTime=system.kind != "map", DiscreteTime=system.kind == "map")
    ledger.put("equation", Autonomous=not forced, Forced=forced, Delay=system.is_delayed(values))
    for least in (2, 3, 4):
        ledger.put("equation", **{f"DimensionAtLeast{least}": dimension is None or dimension >= least})
    if volume is not None:
        ledger.put("equation", where=volume < _NO_VOLUME / system.time_scale, VolumePreserving=True)
        ledger.put("equation", where=volume > _SOME_VOLUME / system.time_scale, VolumePreserving=False)
    return ledger.facts


def by_noise() -> Facts:
    """What the definitions say of a process with noise, and Uhlenbeck and Ornstein of its unbounded Gaussian paths."""
    ledger = Ledger({})
    ledger.put("cited", Bounded=False)
    for name in (*REGIMES, "Hyperchaotic", "AttractingCycle"):
        ledger.put("definition", **{name: False})
    return ledger.facts


def by_theorem(system: System, instance: Instance) -> tuple[Facts, tuple[float, ...]]:
    """Facts and exponents of maps whose orbits floating-point numbers cannot follow but arithmetic knows; else nothing.

    The cat map's matrix has determinant 1 and trace k + 2. Its periodic points are the rational ones (Arnold and Avez
    1968), and the stated start is irrational: where |k + 2| > 2 the orbit is chaotic with exponents ± ln |μ|, μ the
    larger eigenvalue; where |k + 2| < 2 the matrix has finite order, and every orbit is periodic. The baker's map with
    s = 2 and the Kaplan–Yorke map double x modulo a rational number, whose orbits from irrational starts never repeat;
    the exponents are ln 2 and the logarithm of the other direction's factor.
    """
    ledger = Ledger({})
    if system.system_id == "arnold_cat_map":
        trace = instance.values["k"] + 2
        ledger.put("theorem", Bounded=True)
        if abs(trace) > 2:
            rate = math.log((abs(trace) + math.sqrt(trace * trace - 4)) / 2)
            ledger.put("theorem", Chaotic=True, PositiveLargestLyapunov=True, Hyperchaotic=False)
            return ledger.facts, (rate, -rate)
        ledger.put("theorem", PositiveLargestLyapunov=False, Chaotic=False)
        ledger.put("theorem", where=abs(trace) < 2, Periodic=True)
        ledger.put("theorem", where=abs(trace) == 2, QuasiPeriodic=True)
        return ledger.facts, (0.0, 0.0)
    shrinks = {"bakers_map": "c", "dysts_kaplanyorke_map": "alpha"}.get(system.system_id)
    if shrinks is not None and instance.values.get("s", 2.0) == 2 and 0 < instance.values[shrinks] < 1:
        rates = math.log(2), math.log(instance.values[shrinks])
        ledger.put("theorem", Bounded=True, Chaotic=True, PositiveLargestLyapunov=True, Hyperchaotic=False)
        ledger.put("theorem", where=sum(rates) != 0, Dissipative=sum(rates) < 0)
        return ledger.facts, rates
    return {}, ()


def decide(system: System, instance: Instance, first: MethodReading | None, second: MethodReading | None) -> Facts:
    """All facts of an instance. None for both: a noisy one, which is not integrated."""
    if system.is_noisy(instance.values):
        return {**by_form(system, instance, None), **by_noise()}
    assert first is not None
    ledger = Ledger(dict(by_form(system, instance, first.body["volume"])))
    proved, _ = by_theorem(system, instance)
    if proved:
        ledger.facts.update(proved)
        ledger.put("equation", where=ledger.holds("VolumePreserving"), Dissipative=False)
        ledger.put("equation", DimensionAboveTwo=False)
        _conclude(ledger)
        return ledger.facts
    if second is not None and doubt(system, instance, first, second) is None:
        _regime(ledger, system, instance, first, second)
        _conclude(ledger)
    return ledger.facts


def doubt(system: System, instance: Instance, first: MethodReading, second: MethodReading) -> str | None:
    """Why the regime stays undecided; None where the first method is clear and the second bears it out."""
    if first.end == "unclear":
        return f"unclear: {first.body['why']}"
    if not first.body["robust"]:
        return "near starts or the other tolerance end elsewhere"
    if first.end == "escaped" or second.end == "escaped":
        return None if first.end == second.end else "only one method escapes"
    weak = weakness(system, instance, first)
    return weak or (None if borne_out(first, second) else "the second method disagrees")


def weakness(system: System, instance: Instance, first: MethodReading) -> str | None:
    """What the first method's own numbers leave open of an orbit that stays; None: nothing."""
    if not resolved(system, instance, first):
        return "the exponents do not add up, or none is neutral"
    if first.end != "chaos" and first.body["transient"] > 2 * _usual_transient(system, instance, first.unit):
        return "it settled only in a longer run"
    if _chosen_by_chaos(first):
        return "chaos beside a calm attractor, or most starts unclear: which of them is reached, a transient decides"
    if first.end == "chaos" and (first.body["endured"] is None or first.sign(0) != 1):
        return "the chaos did not last"
    if first.end == "cycle" and _drawn(system, instance, first) != -1 and not _centre(first):
        return "a closed orbit that is not seen to attract, nor to be one of many"
    return None


def _usual_transient(system: System, instance: Instance, unit: float) -> float:
    """How long an orbit gets to settle before it is given longer."""
    if system.kind == "map":
        return TRANSIENT_ITERATES
    if system.is_delayed(instance.values):
        return max(TRANSIENT_TIME, DELAY_TRANSIENT_UNITS * unit)
    return max(TRANSIENT_UNITS * unit, min(TRANSIENT_TIME, TRANSIENT_MOST * unit))


def _chosen_by_chaos(first: MethodReading) -> bool:
    """Whether a chaotic transient may decide where the orbit ends, so that another integrator may end elsewhere.

    Of a motion that contracts: other starts end in chaos and this one does not, or the other way round; or half of the
    other starts of a calm one had not settled. Where volume is kept, calm and chaotic orbits lie side by side for good.
    """
    others = tuple(first.body.get("others", ()))
    volume = first.body["volume"]
    if (volume is not None and volume < _SOME_VOLUME) or not others:
        return False
    calm = ("rest", "cycle", "torus")
    if first.end == "chaos":
        return any(end in calm for end in others)
    return "chaos" in others or 2 * others.count("unclear") > len(others)


def borne_out(first: MethodReading, second: MethodReading) -> bool:
    """Whether the second method's end and exponents fit a bounded end of the first."""
    pairs = zip(first.exponents, first.errors, strict=True)
    if second.end == "unclear" or any(apart(x, error, second, i) for i, (x, error) in enumerate(pairs)):
        return False
    if first.end == "chaos":
        return second.sign(0) == 1
    if first.end == "rest":
        return second.end == "rest" and second.sign(0) == -1
    grows = any(second.sign(i) == 1 for i in range(len(second.exponents)))
    return second.end == "moves" and not grows and second.body.get("period_agrees") is not False


def apart(exponent: float, error: float, second: MethodReading, i: int) -> bool:
    """Whether an exponent is not the second method's i-th; False where that followed fewer."""
    if i >= len(second.exponents):
        return False
    gap = abs(exponent - second.exponents[i])
    return gap > _SIGMAS * (error + second.errors[i]) + _SHARE * abs(exponent) + _LEAST_GAP / second.unit


def resolved(system: System, instance: Instance, first: MethodReading) -> bool:
    """Whether the exponents add up to the mean divergence, and a moving autonomous flow has a neutral direction."""
    divergence = first.body["divergence"]
    if first.body["complete"] and divergence is not None:
        gap = abs(sum(first.exponents) - divergence)
        if gap > SUM_TOLERANCE * max(map(abs, first.exponents)) + 3 * sum(first.errors) + 0.01 / first.unit:
            return False
    if stroboscopic(system, instance.values) or first.end == "rest":
        return True
    neutral = any(
        abs(x) <= max(_NEUTRAL / first.unit, 3 * e) for x, e in zip(first.exponents, first.errors, strict=True)
    )
    return neutral or first.sign(len(first.exponents) - 1) == 1


def _regime(ledger: Ledger, system: System, instance: Instance, first: MethodReading, second: MethodReading) -> None:
    """What an agreed end says."""
    if first.end == "escaped":
        ledger.put("orbit", Bounded=False)
        ledger.put("definition", Chaotic=False, **{name: False for name in REGIMES if name != "Chaotic"})
        return
    ledger.put("orbit", Bounded=True)
    _volume(ledger, first)
    strobed = stroboscopic(system, instance.values)
    dimension = system.dimension(instance.values)
    # Whether time counts as a dimension of a forced flow is a convention.
    counted = not system.is_forced(instance.values)
    ledger.put("equation", where=counted and dimension is not None and dimension <= 2, DimensionAboveTwo=False)
    if first.end == "chaos":
        ledger.put("spectrum", PositiveLargestLyapunov=True)
        ledger.put("definition", Chaotic=True)
        _hyperchaos(ledger, first, second, strobed=strobed, dimension=dimension)
        whole = kaplan_yorke(np.array(first.exponents))
        if counted and ledger.holds("Dissipative") and whole is not None:
            ledger.put("spectrum", where=abs(whole - 2) > 3 * dimension_error(first), DimensionAboveTwo=whole > 2)
        return
    ledger.put("spectrum", PositiveLargestLyapunov=False)
    if first.end == "rest":
        ledger.put("orbit", FixedPointAttractor=True)
        ledger.put("definition", DimensionAboveTwo=False)
    elif first.end == "torus":
        ledger.put("orbit", QuasiPeriodic=True)
    else:
        ledger.put("orbit", Periodic=True)
        ledger.put("spectrum", where=_drawn(system, instance, first) == -1, AttractingCycle=True)
        ledger.put("equation", where=ledger.holds("VolumePreserving"), AttractingCycle=False)
        ledger.put("orbit", where=_centre(first), AttractingCycle=False)
        ledger.put("definition", where=ledger.holds("AttractingCycle"), DimensionAboveTwo=False)


def _drawn(system: System, instance: Instance, first: MethodReading) -> int | None:
    """The sign of the exponent that says whether a cycle attracts: the first besides the flow's own direction."""
    return first.sign(0 if stroboscopic(system, instance.values) else 1)


def _centre(first: MethodReading) -> bool:
    """Whether a cycle is one of many side by side: near starts end on others, and nothing contracts on average.

    Other cycles alone do not show it: the extremes of a weakly attracting one are reached slowly.
    """
    divergence = first.body["divergence"]
    calm = all(first.sign(i) is None for i in range(len(first.exponents)))
    return bool(calm and first.body["spreads"] and divergence is not None and abs(divergence) * first.unit < _CENTRE)


def _volume(ledger: Ledger, first: MethodReading) -> None:
    """Whether small volumes shrink. Of a delay equation the exponents not followed are below the last."""
    ledger.put("equation", where=ledger.holds("VolumePreserving"), Dissipative=False)
    divergence = first.body["divergence"]
    if divergence is None:
        total = sum(first.exponents)
        shrinks = total < 0 and -total > 3 * sum(first.errors) and -total * first.unit > _LEAST_DIVERGENCE
        ledger.put("spectrum", where=shrinks and first.sign(len(first.exponents) - 1) == -1, Dissipative=True)
        return
    clear = abs(divergence) * first.unit > _LEAST_DIVERGENCE and abs(divergence) > 3 * sum(first.errors)
    ledger.put("divergence", where=clear, Dissipative=divergence < 0)


def _hyperchaos(
    ledger: Ledger, first: MethodReading, second: MethodReading, *, strobed: bool, dimension: int | None
) -> None:
    """Two positive exponents by both methods; or enough negative ones that one at most is left besides the flow's."""
    ledger.put("equation", where=dimension == 1, Hyperchaotic=False)
    ledger.put("spectrum", where=first.sign(1) == 1 and second.sign(1) == 1, Hyperchaotic=True)
    calm = first.sign(1) == -1 if strobed else first.sign(2) == -1 and first.sign(1) is None
    ledger.put("spectrum", where=calm and second.sign(1) != 1, Hyperchaotic=False)


def _conclude(ledger: Ledger) -> None:
    """What the definitions say once the regime is known: an orbit is in one regime only."""
    if any(ledger.holds(name) for name in REGIMES):
        for name in REGIMES:
            ledger.put("definition", **{name: False})
    ledger.put("definition", where=ledger.fails("Periodic"), AttractingCycle=False)
    ledger.put("equation", where=ledger.holds("VolumePreserving"), AttractingCycle=False)
    ledger.put("definition", where=ledger.fails("Chaotic"), Hyperchaotic=False)


def start_matters(system: System, instance: Instance, first: MethodReading, facts: Facts) -> bool:
    """Whether a question must state the start: not all other starts ended alike, or nothing draws orbits together.

    A start that escaped, or whose short run left its end unclear, did not end alike. A theorem is about the stated
    start, and other numbers have other orbits.
    """
    if any(method == "theorem" for _, method in facts.values()):
        return True
    if first.body["start_matters"] or any(end != first.end for end in first.body.get("others", ())):
        return True
    if (system.dimension(instance.values) or 2) < 2 or first.end == "escaped":
        return False
    known = {name: value for name, (value, _) in facts.items()}
    if known.get("Periodic") and not known.get("AttractingCycle"):
        return True
    across = 1 if stroboscopic(system, instance.values) else 2
    if known.get("QuasiPeriodic") and first.sign(across) != -1:
        return True
    return not known.get("Dissipative", False)


def dimension_error(reading: MethodReading) -> float:
    """Error of the Kaplan–Yorke dimension: the summed exponents' errors over the exponent that closes the sum."""
    below = np.nonzero(np.cumsum(reading.exponents) < 0)[0]
    if not len(below):
        return math.inf
    j = int(below[0])
    return float(np.sqrt(sum(e * e for e in reading.errors[:j])) / abs(reading.exponents[j]))


def rounded(value: float, error: float) -> float:
    """The value to the second digit of its error, six decimals at most: further digits would be noise."""
    places = 6 if error <= 0 else min(6, max(0, 1 - math.floor(math.log10(error))))
    return round(value, places) + 0.0


def numbers_of(system: System, instance: Instance, first: MethodReading, facts: Facts) -> dict[str, JSON]:
    """The measured numbers with their errors, of an instance whose regime was decided; of another nothing."""
    body: dict[str, JSON] = {"unit": float(f"{first.unit:.6g}"), "transient": float(f"{first.body['transient']:.6g}")}
    if words := start_words(system.system_id):
        body["start_words"] = list(words)
    _, exact = by_theorem(system, instance)
    if exact:
        body["lyapunov"], body["lyapunov_error"] = [round(x, 6) + 0.0 for x in exact], [0.0, 0.0]
        return {**body, "lyapunov_complete": True}
    if first.end == "escaped" or not any(facts.get(name, (False, ""))[0] for name in REGIMES):
        return body
    pairs = list(zip(first.exponents, first.errors, strict=True))
    body["lyapunov"] = [rounded(x, e) for x, e in pairs]
    body["lyapunov_error"] = [float(f"{e:.2g}") for _, e in pairs]
    body["lyapunov_complete"] = bool(first.body["complete"])
    divergence, endured = first.body["divergence"], first.body["endured"]
    if divergence is not None:
        body["divergence"] = rounded(divergence, max(1e-6, *first.errors))
    if first.end == "chaos":
        body["endured"] = float(f"{endured:.6g}")
        whole = kaplan_yorke(np.array(first.exponents))
        error = dimension_error(first)
        if whole is not None and facts.get("Dissipative", (False, ""))[0] and error < 0.1:
            body["kaplan_yorke"] = rounded(whole, max(error, 1e-3))
    if first.end == "cycle" and first.body["period"] is not None:
        if stroboscopic(system, instance.values):
            body["period"] = first.body["period"]
        body["period_time"] = float(f"{first.body['period_time']:.4g}")
    body["starts"] = _counted(["same" if first.end == end else end for end in first.body["others"]])
    return body


def _counted(ends: Sequence[str]) -> dict[str, JSON]:
    return {end: ends.count(end) for end in sorted(set(ends))}
