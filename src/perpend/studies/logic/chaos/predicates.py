"""The predicates: what each one means of an instance, in one sentence.

An instance is a system with all parameter values stated; 'the orbit' is the one from the stated initial state (any
start near it, where none is stated) after its transient. λ is a Lyapunov exponent, T the instance's unit of time: one
iterate, one forcing period, or one oscillation. What decides a predicate is in measuring/decide.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


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
    _is("Chaotic", "regime", "chaotic",
        "It is deterministic, the orbit is bounded and never settles on a point, a cycle or a torus, and its largest "
        "Lyapunov exponent is positive."),
    _is("Hyperchaotic", "regime", "hyperchaotic", "It is chaotic with two or more positive Lyapunov exponents."),
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
)  # fmt: skip

PREDICATES: Mapping[str, Predicate] = {p.name: p for p in (*_FORM, *_REGIME, *_NUMBER)}

METHODS: Mapping[str, str] = {
    "equation": "follows from the form of the equations at the stated parameter values",
    "divergence": "mean divergence (or ln |det J|) along the orbit, beyond three errors",
    "spectrum": "Lyapunov exponents beyond three errors, their signs borne out by a second method",
    "orbit": "the orbit itself, by two integrators: it stayed, left, came to rest or repeated",
    "theorem": "arithmetic of an exact map from an irrational start",
    "definition": "follows by the definition from the other facts of the instance",
    "rule": "follows by the rules from the other facts of the instance",
    "cited": "stated in the work that the system cites",
}
