"""Predicates in words: what is said of a system, denied of it and asked about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from perpend.studies.logic.chaos.predicates import PREDICATES

SYSTEM, MOTION = "system", "motion"


@dataclass(frozen=True, slots=True)
class Wording:
    """One way to say a predicate after a subject: `says` holds, `denies` does not, `base` is the infinitive.

    `subject` is what it is said of: the system, or its long-term motion.
    """

    says: str
    denies: str
    base: str
    subject: str = SYSTEM

    def statement(self, subject: str, holds: bool) -> str:
        """'the map is chaotic', without capital and full stop."""
        return f"{subject} {self.says if holds else self.denies}"

    def question(self, subject: str) -> str:
        """'is the map chaotic', 'does the map have a strange attractor', without capital and question mark."""
        if self.says.startswith("is "):
            return f"is {subject} {self.says.removeprefix('is ')}"
        return f"does {subject} {self.base}"


def _is(word: str, subject: str = SYSTEM) -> Wording:
    return Wording(f"is {word}", f"is not {word}", f"be {word}", subject)


def _has(what: str, lacks: str) -> Wording:
    return Wording(f"has {what}", f"has {lacks}", f"have {what}")


def _does(base: str, third: str, subject: str = SYSTEM) -> Wording:
    return Wording(third, f"does not {base}", base, subject)


def _dimension(number: str) -> tuple[Wording, ...]:
    return (
        _has(
            f"a state space of dimension {number} or more, time not counted",
            f"a state space of dimension less than {number}, time not counted",
        ),
        _has(
            f"a state space with at least {number} dimensions, not counting time",
            f"a state space with fewer than {number} dimensions, not counting time",
        ),
    )


FACT_WORDINGS: Mapping[str, tuple[Wording, ...]] = {
    "Deterministic": (_is("deterministic"), _does("follow a deterministic law", "follows a deterministic law")),
    "Stochastic": (_is("stochastic"), _has("a random term in its equations", "no random term in its equations")),
    "ContinuousTime": (
        _does("evolve in continuous time", "evolves in continuous time"),
        _is("a continuous-time system"),
    ),
    "DiscreteTime": (_does("evolve in discrete time", "evolves in discrete time"), _is("a discrete-time system")),
    "Autonomous": (
        _is("autonomous"),
        _has("no explicit time dependence in its equations", "an explicit time dependence in its equations"),
    ),
    "Forced": (_is("externally forced"), _is("driven by a prescribed function of time")),
    "Delay": (_has("a time delay", "no time delay"), _does("depend on its own past through a delay",
                                                             "depends on its own past through a delay")),
    "DimensionAtLeast2": _dimension("two"),
    "DimensionAtLeast3": _dimension("three"),
    "DimensionAtLeast4": _dimension("four"),
    "VolumePreserving": (
        _is("volume-preserving"),
        _does("preserve volume everywhere in its state space", "preserves volume everywhere in its state space"),
    ),
    "Bounded": (
        _does("stay in a bounded region", "stays in a bounded region", MOTION),
        _is("bounded", MOTION),
        _does("keep to a bounded region of its state space", "keeps to a bounded region of its state space"),
    ),
    "Dissipative": (
        _does("contract volumes in state space on average along its orbit",
              "contracts volumes in state space on average along its orbit"),
        _is("dissipative along its orbit"),
    ),
    "PositiveLargestLyapunov": (
        _has("a positive largest Lyapunov exponent", "no positive Lyapunov exponent"),
        _has("at least one positive Lyapunov exponent", "no positive Lyapunov exponent"),
    ),
    "Sensitive": (
        _is("sensitive to initial conditions"),
        Wording(
            "shows sensitive dependence on initial conditions",
            "shows no sensitive dependence on initial conditions",
            "show sensitive dependence on initial conditions",
        ),
        _is("sensitive to small changes of the initial state", MOTION),
    ),
    "Chaotic": (
        _is("chaotic"),
        _does("behave chaotically in the long run", "behaves chaotically in the long run"),
        _is("chaotic", MOTION),
    ),
    "Hyperchaotic": (_is("hyperchaotic"), _is("hyperchaotic", MOTION)),
    "StrangeAttractor": (
        _has("a strange attractor", "no strange attractor"),
        _does("settle on a strange attractor", "settles on a strange attractor"),
    ),
    "Periodic": (
        _is("periodic", MOTION),
        _does("move periodically in the long run", "moves periodically in the long run"),
        _does("end up in a periodic motion", "ends up in a periodic motion"),
    ),
    "AttractingCycle": (
        _does("settle on an attracting cycle", "settles on an attracting cycle"),
        _does("approach an attracting periodic orbit", "approaches an attracting periodic orbit"),
    ),
    "QuasiPeriodic": (
        _is("quasi-periodic", MOTION),
        _does("move quasi-periodically in the long run", "moves quasi-periodically in the long run"),
    ),
    "FixedPointAttractor": (
        _does("settle on a stable fixed point", "settles on a stable fixed point"),
        _does("come to rest at a stable fixed point", "comes to rest at a stable fixed point"),
    ),
    "DimensionAboveTwo": (
        _has("a Kaplan–Yorke dimension above two", "a Kaplan–Yorke dimension of at most two"),
        _has("a Lyapunov spectrum whose Kaplan–Yorke dimension exceeds two",
             "a Lyapunov spectrum whose Kaplan–Yorke dimension does not exceed two"),
    ),
    "ZeroOneHigh": (
        _has("a 0–1 test value K above one half", "a 0–1 test value K below one half"),
        Wording(
            "yields K above one half in the 0–1 test for chaos",
            "yields K below one half in the 0–1 test for chaos",
            "yield K above one half in the 0–1 test for chaos",
        ),
    ),
    "EntropyHigh": (
        _has("a normalised permutation entropy of order five above 0.6",
             "a normalised permutation entropy of order five below 0.6"),
    ),
    "MegnoHigh": (
        _has("a mean MEGNO above three", "a mean MEGNO below three"),
        Wording("reaches a mean MEGNO above three", "keeps a mean MEGNO below three", "reach a mean MEGNO above three"),
    ),
}  # fmt: skip
"""How a predicate is said of an instance. The sampled indicators need their sampling beside them; see `sampling`."""

SAMPLED = frozenset(("ZeroOneHigh", "EntropyHigh"))
"""Predicates whose value depends on how the series was sampled."""


_BASES = {"is": "be", "has": "have", "evolves": "evolve", "settles": "settle"}


def _base(says: str) -> str:
    verb, rest = says.split(" ", 1)
    return f"{_BASES[verb]} {rest}"


LOGIC_WORDINGS: Mapping[str, Wording] = {
    name: Wording(predicate.says, predicate.denies, _base(predicate.says)) for name, predicate in PREDICATES.items()
}
"""How a predicate is said in rules and premises: always the same words, so that the argument is not in doubt."""
