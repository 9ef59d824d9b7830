"""What is said of a motion, denied of it and asked about it, with the definition that a question states beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from perpend.studies.logic.chaos.questions.frames import AskedClaim

SYSTEM, MOTION, ORBIT = "system", "motion", "orbit"


@dataclass(frozen=True, slots=True)
class FactWording:
    """One way to say a fact after a subject: `says` holds, `denies` does not, `base` is the infinitive.

    `subject` is what it is said of: the system, its long-term motion, or its orbit.
    """

    says: str
    denies: str
    base: str
    subject: str = SYSTEM

    def claim(self, subject: str, holds: bool) -> str:
        """'the map is chaotic', without capital and full stop."""
        return f"{subject} {self.says if holds else self.denies}"

    def asked(self, subject: str) -> str:
        """'is the map chaotic', 'does the map settle on a cycle', without capital and question mark."""
        if self.says.startswith("is "):
            return f"is {subject} {self.says.removeprefix('is ')}"
        return f"does {subject} {self.base}"

    def statement(self, subject: str, far: str, *, holds: bool) -> AskedClaim:
        """The statement for a layout; `far` is the subject before the setting, '' where it must not stand there."""
        return AskedClaim(
            claim=self.claim(subject, holds),
            asks=self.asked(subject) if holds else "",
            far=self.claim(far, holds) if far else "",
            far_asks=self.asked(far) if far and holds else "",
        )


def _is(word: str, subject: str) -> FactWording:
    return FactWording(f"is {word}", f"is not {word}", f"be {word}", subject)


def _has(what: str, lacks: str, subject: str) -> FactWording:
    return FactWording(f"has {what}", f"has {lacks}", f"have {what}", subject)


def _does(base: str, third: str, subject: str) -> FactWording:
    return FactWording(third, f"does not {base}", base, subject)


def _shows(what: str, subject: str) -> FactWording:
    return FactWording(f"shows {what}", f"shows no {what}", f"show {what}", subject)


WORDINGS: Mapping[str, tuple[FactWording, ...]] = {
    "Bounded": (
        _does("stay in a bounded region", "stays in a bounded region", MOTION),
        _does("remain bounded for all time", "remains bounded for all time", ORBIT),
        _does("keep to a bounded part of its state space", "keeps to a bounded part of its state space", SYSTEM),
        _does("stay within finite bounds for ever", "stays within finite bounds for ever", ORBIT),
        _is("bounded", MOTION),
    ),
    "Dissipative": (
        _does(
            "contract volumes of state space on average along its orbit",
            "contracts volumes of state space on average along its orbit",
            SYSTEM,
        ),
        _is("dissipative along its orbit", SYSTEM),
        _is("dissipative", MOTION),
        _does(
            "make small volumes around it shrink on average", "makes small volumes around it shrink on average", ORBIT
        ),
        _has("Lyapunov exponents with a negative sum", "Lyapunov exponents whose sum is not negative", ORBIT),
    ),
    "PositiveLargestLyapunov": (
        _has("a positive largest Lyapunov exponent", "a largest Lyapunov exponent that is not positive", SYSTEM),
        _has("at least one positive Lyapunov exponent", "no positive Lyapunov exponent at all", SYSTEM),
        _has("a largest Lyapunov exponent greater than zero", "a largest Lyapunov exponent not above zero", ORBIT),
        _has("some positive Lyapunov exponent", "no positive Lyapunov exponent", MOTION),
        _does("separate from nearby orbits exponentially fast, on average over a long time",
              "separates from nearby orbits exponentially fast, on average over a long time", ORBIT),
    ),
    "Chaotic": (
        _is("chaotic", SYSTEM),
        _is("chaotic", MOTION),
        _is("chaotic", ORBIT),
        _does("behave chaotically in the long run", "behaves chaotically in the long run", SYSTEM),
        _does("end up in chaotic motion", "ends up in chaotic motion", ORBIT),
        _shows("chaos in the long run", SYSTEM),
    ),
    "Hyperchaotic": (
        _is("hyperchaotic", SYSTEM),
        _is("hyperchaotic", MOTION),
        _is("hyperchaotic", ORBIT),
        _shows("hyperchaos in the long run", SYSTEM),
    ),
    "Periodic": (
        _is("periodic", MOTION),
        _does("move periodically in the long run", "moves periodically in the long run", SYSTEM),
        _does("end up in a periodic motion", "ends up in a periodic motion", ORBIT),
        _does("become periodic once transients have died out", "becomes periodic once transients have died out", ORBIT),
        _does("settle into a periodic motion", "settles into a periodic motion", SYSTEM),
    ),
    "AttractingCycle": (
        _does("settle on an attracting cycle", "settles on an attracting cycle", SYSTEM),
        _does("approach an attracting periodic orbit", "approaches an attracting periodic orbit", SYSTEM),
        _does("converge to an attracting cycle", "converges to an attracting cycle", ORBIT),
        _does("run into an attracting cycle", "runs into an attracting cycle", ORBIT),
        _does("follow an attracting cycle", "follows an attracting cycle", MOTION),
    ),
    "QuasiPeriodic": (
        _is("quasi-periodic", MOTION),
        _does("move quasi-periodically in the long run", "moves quasi-periodically in the long run", SYSTEM),
        _does("end up in quasi-periodic motion", "ends up in quasi-periodic motion", ORBIT),
        _does("settle into quasi-periodic motion", "settles into quasi-periodic motion", SYSTEM),
    ),
    "FixedPointAttractor": (
        _does("settle on a stable fixed point", "settles on a stable fixed point", SYSTEM),
        _does("come to rest at a stable fixed point", "comes to rest at a stable fixed point", SYSTEM),
        _does("converge to a stable fixed point", "converges to a stable fixed point", ORBIT),
        _does("die down to a stable state of rest", "dies down to a stable state of rest", MOTION),
        _does("end at a stable fixed point", "ends at a stable fixed point", ORBIT),
    ),
    "DimensionAboveTwo": (
        _has("a Kaplan–Yorke dimension above two", "a Kaplan–Yorke dimension of at most two", SYSTEM),
        _has("a Kaplan–Yorke dimension greater than two", "a Kaplan–Yorke dimension not greater than two", MOTION),
        _has("a Lyapunov spectrum whose Kaplan–Yorke dimension exceeds two",
             "a Lyapunov spectrum whose Kaplan–Yorke dimension does not exceed two", ORBIT),
        _has("more than two dimensions by the Kaplan–Yorke formula",
             "at most two dimensions by the Kaplan–Yorke formula", MOTION),
    ),
}  # fmt: skip
"""How a predicate is said of an instance. The predicates are those of predicates.py that are measured."""

_CHAOS = (
    "Call a motion chaotic if it stays bounded, never repeats and has a positive largest Lyapunov exponent.",
    "Here 'chaotic' means bounded, never repeating, and with a positive largest Lyapunov exponent.",
    "Chaos means here that the motion is bounded, never comes to repeat, and has a positive Lyapunov exponent.",
    "By chaos is meant bounded motion without repetition whose largest Lyapunov exponent is positive.",
)
_KAPLAN_YORKE = (
    (
        "The Kaplan–Yorke dimension is j + (L1 + ... + Lj) / |Lj+1|, with the Lyapunov exponents L1, L2, ... in "
        "falling order and j the largest number for which L1 + ... + Lj is not negative (zero if L1 is negative, the "
        "number of exponents if their whole sum is not negative)."
    ),
    (
        "For the Kaplan–Yorke dimension, add the Lyapunov exponents in falling order as long as the sum stays at or "
        "above zero; their number, plus that sum divided by the size of the next exponent, is the dimension."
    ),
)
_CYCLE = {
    "map": (
        "An attracting cycle is a periodic orbit of two points or more that nearby orbits approach.",
        "A cycle consists of two points or more here, and attracting means that nearby orbits approach it.",
    ),
    "flow": (
        "An attracting cycle is a motion that repeats exactly, is more than rest, and is approached by nearby motions.",
        "By an attracting cycle is meant an exactly repeating motion, other than rest, that nearby motions approach.",
    ),
}
_PERIODIC = {
    "map": (
        "Periodic means that the orbit comes to repeat after two or more iterates; a fixed point does not count.",
        "A motion is called periodic here if it repeats exactly after two iterates or more, rest excluded.",
    ),
    "flow": (
        "Periodic means that, after a transient, the motion repeats exactly after a finite time; rest does not count.",
        "A motion is called periodic here if it comes to repeat exactly after a finite time, rest excluded.",
    ),
}
_TORUS = {
    "map": (
        (
            "Quasi-periodic means bounded, never repeating, and without a positive Lyapunov exponent: the iterates "
            "fill closed curves."
        ),
        (
            "A motion is called quasi-periodic here if its iterates fill closed curves and never repeat, and no "
            "Lyapunov exponent is positive."
        ),
    ),
    "flow": (
        (
            "Quasi-periodic means bounded, never repeating, and without a positive Lyapunov exponent: the motion winds "
            "round a torus."
        ),
        (
            "A motion is called quasi-periodic here if it winds round a torus with incommensurate frequencies, so "
            "that it never repeats."
        ),
    ),
}
_ANY: Mapping[str, tuple[str, ...]] = {
    "Bounded": (
        "Bounded means that the orbit never leaves some finite region; angles count modulo a full turn.",
        "An orbit is bounded if some finite region holds all of it, angles being taken modulo a full turn.",
    ),
    "Dissipative": (
        (
            "Dissipative means that small volumes of state space shrink on average along the orbit: the Lyapunov "
            "exponents have a negative sum."
        ),
        "A motion is called dissipative here if the sum of all its Lyapunov exponents is negative.",
    ),
    "PositiveLargestLyapunov": ("",),
    "Chaotic": _CHAOS,
    "Hyperchaotic": (
        "Hyperchaotic means bounded and never repeating, with two or more positive Lyapunov exponents.",
        "Hyperchaos is chaos with at least two positive Lyapunov exponents.",
        "Call a chaotic motion hyperchaotic if two or more of its Lyapunov exponents are positive.",
    ),
    "FixedPointAttractor": ("", "A fixed point is stable if all nearby motions approach it."),
    "DimensionAboveTwo": _KAPLAN_YORKE,
}
_BY_TIME = {"Periodic": _PERIODIC, "AttractingCycle": _CYCLE, "QuasiPeriodic": _TORUS}


def definitions(predicate: str, time: str) -> tuple[str, ...]:
    """The sentences that may define a predicate; '' where none is needed. `time` is 'map' or 'flow'."""
    return _BY_TIME[predicate][time] if predicate in _BY_TIME else _ANY[predicate]


def all_definitions() -> list[str]:
    """Every defining sentence, the longest first."""
    sentences = {text for texts in _ANY.values() for text in texts}
    sentences |= {text for times in _BY_TIME.values() for texts in times.values() for text in texts}
    return sorted(sentences - {""}, key=lambda text: (-len(text), text))
