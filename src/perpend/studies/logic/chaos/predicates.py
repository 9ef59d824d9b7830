"""The predicates: what each one means of an instance, in one sentence, and the thresholds that decide it.

An instance is a system with all parameter values stated; 'the orbit' is the one from the stated initial state (any
start near it, where none is stated) after its transient. λ is a Lyapunov exponent, T the instance's unit of time: one
iterate, one forcing period, one delay, or the system's time scale.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

# A rate counts as positive above POSITIVE / T (and above four times its error, in all of eight blocks), as not
# positive below ZERO / T. What lies between is not decided: near an onset no finite run is.
POSITIVE = 0.02
ZERO = 0.008
# Two vanishing exponents make a torus; slow spirals have small ones too, hence the narrower band.
TORUS = 0.004
# Orbits that come back to within CLOSED of their span repeat; those never within OPEN of it do not.
CLOSED = 3e-4
OPEN = 1e-2
# Extent over size of an orbit that has come to rest.
AT_REST = 1e-6
# Twin orbits, first 1e-7 apart: apart by this share of the orbit's extent, or never by more than that.
TWIN_PARTED = 0.1
TWIN_CLOSE = 1e-3
# One threshold for each indicator, and the margin around it in which nothing is said.
K_THRESHOLD, K_LOW, K_HIGH = 0.5, 0.2, 0.8
ENTROPY_THRESHOLD, ENTROPY_MARGIN = 0.6, 0.02
MEGNO_THRESHOLD, MEGNO_LOW, MEGNO_HIGH = 3.0, 2.5, 5.0


@dataclass(frozen=True, slots=True)
class Predicate:
    """A yes/no property. `says` and `denies` follow a subject in a sentence; `kind` is 'form', 'regime' or 'number'."""

    name: str
    kind: str
    says: str
    denies: str
    definition: str


def _is(name: str, kind: str, word: str, definition: str) -> Predicate:
    return Predicate(name, kind, f"is {word}", f"is not {word}", definition)


_FORM = (
    _is("Deterministic", "form", "deterministic", "No random term stands in its equations."),
    _is("Stochastic", "form", "stochastic", "A random term with non-zero amplitude stands in its equations."),
    Predicate(
        "ContinuousTime", "form", "evolves in continuous time", "does not evolve in continuous time",
        "Its state is defined at every real time, by differential equations.",
    ),
    Predicate(
        "DiscreteTime", "form", "evolves in discrete time", "does not evolve in discrete time",
        "Its state is defined at whole steps, by a map from one state to the next.",
    ),
    _is("Autonomous", "form", "autonomous", "Time does not occur explicitly in its equations."),
    _is("Forced", "form", "externally forced",
        "A prescribed function of time with non-zero amplitude occurs in its equations."),
    Predicate(
        "Delay", "form", "has a time delay", "has no time delay",
        "The rate of change depends on the state at an earlier time, by a delay that is not zero.",
    ),
    *(
        Predicate(
            f"DimensionAtLeast{n}", "form", f"has a state space of dimension {least} or more",
            f"has a state space of dimension less than {least}",
            f"Its state is {least} numbers or more; time is not counted, "
            "a delay equation's state is infinite-dimensional.",
        )
        for n, least in ((2, "two"), (3, "three"), (4, "four"))
    ),
    _is("VolumePreserving", "form", "volume-preserving",
        "The divergence of its flow is zero, or its map's Jacobian determinant is ±1, at every state."),
)  # fmt: skip

_REGIME = (
    _is("Bounded", "regime", "bounded", "The orbit stays in a bounded region; angles are taken modulo a full turn."),
    _is("Dissipative", "regime", "dissipative",
        "Along the orbit small volumes shrink on average: the sum of all Lyapunov exponents is negative."),
    Predicate(
        "PositiveLargestLyapunov", "regime", "has a positive largest Lyapunov exponent",
        "has no positive Lyapunov exponent", "The orbit's largest Lyapunov exponent is greater than zero.",
    ),
    _is("Sensitive", "regime", "sensitive to initial conditions",
        "An orbit that starts 1e-7 of the size away parts from it by a tenth of the orbit's extent or more."),
    _is("Chaotic", "regime", "chaotic",
        "It is deterministic, the orbit is bounded, sensitive to initial conditions and never repeats, and the largest "
        "Lyapunov exponent is positive."),
    _is("Hyperchaotic", "regime", "hyperchaotic", "It is chaotic with two or more positive Lyapunov exponents."),
    Predicate(
        "StrangeAttractor", "regime", "has a strange attractor", "has no strange attractor",
        "It is chaotic and dissipative: a bounded, volume-contracting motion with a positive Lyapunov exponent.",
    ),
    _is("Periodic", "regime", "periodic",
        "The orbit settles on a motion that repeats exactly after a finite time (two or more iterates of a map); rest "
        "does not count."),
    Predicate(
        "AttractingCycle", "regime", "settles on an attracting cycle", "does not settle on an attracting cycle",
        "It is periodic, and nearby orbits approach the periodic one.",
    ),
    _is("QuasiPeriodic", "regime", "quasi-periodic",
        "The orbit winds around a torus with two or more incommensurate frequencies: bounded, never repeating, no "
        "positive Lyapunov exponent."),
    Predicate(
        "FixedPointAttractor", "regime", "settles on a stable fixed point", "does not settle on a stable fixed point",
        "The orbit converges to a state of rest, and all Lyapunov exponents there are negative.",
    ),
)  # fmt: skip

_NUMBER = (
    Predicate(
        "DimensionAboveTwo", "number", "has a Kaplan–Yorke dimension above two",
        "has a Kaplan–Yorke dimension of at most two",
        "The Kaplan–Yorke dimension of its Lyapunov spectrum is greater than 2.",
    ),
    Predicate(
        "ZeroOneHigh", "number", "has a 0–1 test value above one half", "has a 0–1 test value below one half",
        "K of the 0–1 test on the decimated series is above 0.5 (decided at 0.8 or more against 0.2 or less).",
    ),
    Predicate(
        "EntropyHigh", "number", "has a normalised permutation entropy above 0.6",
        "has a normalised permutation entropy below 0.6",
        "Permutation entropy of order 5 on the decimated series, over ln 120, is above 0.6 (by 0.02 or more).",
    ),
    Predicate(
        "MegnoHigh", "number", "has a MEGNO above three", "has a MEGNO below three",
        "Mean MEGNO is above 3 (decided at 5 or more against 2.5 or less; 2 is the limit of regular motion).",
    ),
)  # fmt: skip

PREDICATES: Mapping[str, Predicate] = {p.name: p for p in (*_FORM, *_REGIME, *_NUMBER)}

METHODS: Mapping[str, str] = {
    "equation": "follows from the form of the equations at the stated parameter values",
    "divergence": "divergence (or ln |det J|) from the equations, at random states or averaged along the orbit",
    "spectrum": "Lyapunov spectrum by Benettin's method, outside the margin and its error",
    "orbit": "the orbit itself: it stayed, left, came to rest, repeated, or parted from its twin",
    "indicator": "the indicator's own value, outside the margin of its threshold",
    "definition": "follows by the definition from the other facts of the instance",
    "rule": "follows by the rules from the other facts of the instance",
    "cited": "stated in the work that the system cites",
}
