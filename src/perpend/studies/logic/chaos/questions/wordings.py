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
        _does("stay within a finite part of state space", "stays within a finite part of state space", ORBIT),
        _is("confined to a bounded region", MOTION),
        _does("remain in a finite region for all time", "remains in a finite region for all time", ORBIT),
        _is("bounded in the sense defined here", ORBIT),
        _does("stay bounded at all times", "stays bounded at all times", SYSTEM),
        _does("lie in a bounded region of state space", "lies in a bounded region of state space", ORBIT),
        _does("keep to a finite region at all times", "keeps to a finite region at all times", MOTION),
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
        _has("a negative sum of all Lyapunov exponents", "a sum of all Lyapunov exponents that is not negative",
             MOTION),
        _is("dissipative in the sense defined here", MOTION),
        _does("count as dissipative", "counts as dissipative", SYSTEM),
        _has("Lyapunov exponents that add up to less than zero",
             "Lyapunov exponents that do not add up to less than zero", SYSTEM),
        _does("shrink small volumes of state space on average", "shrinks small volumes of state space on average",
              SYSTEM),
        _does("qualify as dissipative", "qualifies as dissipative", MOTION),
        FactWording("turns out to be dissipative", "turns out not to be dissipative", "turn out to be dissipative",
                    SYSTEM),
    ),
    "PositiveLargestLyapunov": (
        _has("a positive largest Lyapunov exponent", "a largest Lyapunov exponent that is not positive", SYSTEM),
        _has("at least one positive Lyapunov exponent", "no positive Lyapunov exponent at all", SYSTEM),
        _has("a largest Lyapunov exponent greater than zero", "a largest Lyapunov exponent not above zero", ORBIT),
        _has("some positive Lyapunov exponent", "no positive Lyapunov exponent", MOTION),
        _does("separate from nearby orbits exponentially fast, on average over a long time",
              "separates from nearby orbits exponentially fast, on average over a long time", ORBIT),
        _has("a Lyapunov exponent above zero", "no Lyapunov exponent above zero", SYSTEM),
        _has("a largest Lyapunov exponent above zero", "a largest Lyapunov exponent of zero or less", MOTION),
        _has("a leading Lyapunov exponent that is positive", "a leading Lyapunov exponent that is not positive", ORBIT),
        _has("a positive maximal Lyapunov exponent", "a maximal Lyapunov exponent that is not positive", SYSTEM),
        _has("one or more positive Lyapunov exponents", "no positive Lyapunov exponents whatsoever", SYSTEM),
        _does("possess a positive Lyapunov exponent", "possesses a positive Lyapunov exponent", MOTION),
        _does("draw away from neighbouring orbits exponentially fast in the long-run average",
              "draws away from neighbouring orbits exponentially fast in the long-run average", ORBIT),
    ),
    "Chaotic": (
        _is("chaotic", SYSTEM),
        _is("chaotic", MOTION),
        _is("chaotic", ORBIT),
        _does("behave chaotically in the long run", "behaves chaotically in the long run", SYSTEM),
        _does("end up in chaotic motion", "ends up in chaotic motion", ORBIT),
        _shows("chaos in the long run", SYSTEM),
        FactWording("turns out to be chaotic", "turns out not to be chaotic", "turn out to be chaotic", SYSTEM),
        _does("count as chaotic", "counts as chaotic", SYSTEM),
        _does("qualify as chaotic", "qualifies as chaotic", MOTION),
        _is("chaotic in the sense defined here", MOTION),
        _does("settle into chaotic motion", "settles into chaotic motion", ORBIT),
        _does("end in chaos", "ends in chaos", ORBIT),
        FactWording("exhibits chaos", "exhibits no chaos", "exhibit chaos", SYSTEM),
        _does("move chaotically once transients have died out", "moves chaotically once transients have died out",
              SYSTEM),
    ),
    "Hyperchaotic": (
        _is("hyperchaotic", SYSTEM),
        _is("hyperchaotic", MOTION),
        _is("hyperchaotic", ORBIT),
        _shows("hyperchaos in the long run", SYSTEM),
        FactWording("turns out to be hyperchaotic", "turns out not to be hyperchaotic",
                    "turn out to be hyperchaotic", SYSTEM),
        _does("count as hyperchaotic", "counts as hyperchaotic", SYSTEM),
        _does("qualify as hyperchaotic", "qualifies as hyperchaotic", MOTION),
        _is("hyperchaotic in the sense defined here", ORBIT),
        _does("end up in hyperchaotic motion", "ends up in hyperchaotic motion", ORBIT),
        FactWording("exhibits hyperchaos", "exhibits no hyperchaos", "exhibit hyperchaos", SYSTEM),
        _does("behave hyperchaotically in the long run", "behaves hyperchaotically in the long run", SYSTEM),
        _does("settle into hyperchaotic motion", "settles into hyperchaotic motion", ORBIT),
    ),
    "Periodic": (
        _is("periodic", MOTION),
        _does("move periodically in the long run", "moves periodically in the long run", SYSTEM),
        _does("end up in a periodic motion", "ends up in a periodic motion", ORBIT),
        _does("become periodic once transients have died out", "becomes periodic once transients have died out", ORBIT),
        _does("settle into a periodic motion", "settles into a periodic motion", SYSTEM),
        FactWording("turns out to be periodic", "turns out not to be periodic", "turn out to be periodic", MOTION),
        _does("count as periodic", "counts as periodic", MOTION),
        _does("qualify as periodic", "qualifies as periodic", MOTION),
        _is("periodic in the sense defined here", MOTION),
        _does("end in a periodic motion", "ends in a periodic motion", SYSTEM),
        _does("settle down to a periodic motion", "settles down to a periodic motion", ORBIT),
        _does("approach a periodic motion", "approaches a periodic motion", SYSTEM),
        _does("move periodically once transients have died out", "moves periodically once transients have died out",
              SYSTEM),
    ),
    "AttractingCycle": (
        _does("settle on an attracting cycle", "settles on an attracting cycle", SYSTEM),
        _does("approach an attracting periodic orbit", "approaches an attracting periodic orbit", SYSTEM),
        _does("converge to an attracting cycle", "converges to an attracting cycle", ORBIT),
        _does("run into an attracting cycle", "runs into an attracting cycle", ORBIT),
        _does("follow an attracting cycle", "follows an attracting cycle", MOTION),
        _is("drawn to an attracting cycle", ORBIT),
        _is("captured by an attracting cycle", ORBIT),
        _does("end up on an attracting cycle", "ends up on an attracting cycle", SYSTEM),
        _does("tend to an attracting cycle", "tends to an attracting cycle", ORBIT),
        _does("take place on an attracting cycle", "takes place on an attracting cycle", MOTION),
        _does("come ever closer to an attracting cycle", "comes ever closer to an attracting cycle", ORBIT),
        _does("settle down to an attracting cycle", "settles down to an attracting cycle", SYSTEM),
        FactWording("has an attracting cycle as its long-term motion",
                    "does not have an attracting cycle as its long-term motion",
                    "have an attracting cycle as its long-term motion", SYSTEM),
    ),
    "QuasiPeriodic": (
        _is("quasi-periodic", MOTION),
        _does("move quasi-periodically in the long run", "moves quasi-periodically in the long run", SYSTEM),
        _does("end up in quasi-periodic motion", "ends up in quasi-periodic motion", ORBIT),
        _does("settle into quasi-periodic motion", "settles into quasi-periodic motion", SYSTEM),
        FactWording("turns out to be quasi-periodic", "turns out not to be quasi-periodic",
                    "turn out to be quasi-periodic", MOTION),
        _does("count as quasi-periodic", "counts as quasi-periodic", MOTION),
        _does("qualify as quasi-periodic", "qualifies as quasi-periodic", MOTION),
        _is("quasi-periodic in the sense defined here", MOTION),
        _does("end in quasi-periodic motion", "ends in quasi-periodic motion", SYSTEM),
        _does("approach a quasi-periodic motion", "approaches a quasi-periodic motion", ORBIT),
        _does("settle down to quasi-periodic motion", "settles down to quasi-periodic motion", ORBIT),
        _does("move quasi-periodically once transients have died out",
              "moves quasi-periodically once transients have died out", SYSTEM),
    ),
    "FixedPointAttractor": (
        _does("settle on a stable fixed point", "settles on a stable fixed point", SYSTEM),
        _does("come to rest at a stable fixed point", "comes to rest at a stable fixed point", SYSTEM),
        _does("converge to a stable fixed point", "converges to a stable fixed point", ORBIT),
        _does("die down to a stable state of rest", "dies down to a stable state of rest", MOTION),
        _does("end at a stable fixed point", "ends at a stable fixed point", ORBIT),
        _is("drawn to a stable fixed point", ORBIT),
        _does("end up at a stable fixed point", "ends up at a stable fixed point", SYSTEM),
        _does("tend to a stable fixed point", "tends to a stable fixed point", ORBIT),
        _does("approach a stable fixed point", "approaches a stable fixed point", SYSTEM),
        _does("come ever closer to a stable fixed point", "comes ever closer to a stable fixed point", ORBIT),
        _does("settle down at a stable fixed point", "settles down at a stable fixed point", SYSTEM),
        _does("converge on a stable fixed point", "converges on a stable fixed point", SYSTEM),
    ),
    "DimensionAboveTwo": (
        _has("a Kaplan–Yorke dimension above two", "a Kaplan–Yorke dimension of at most two", SYSTEM),
        _has("a Kaplan–Yorke dimension greater than two", "a Kaplan–Yorke dimension not greater than two", MOTION),
        _has("a Lyapunov spectrum whose Kaplan–Yorke dimension exceeds two",
             "a Lyapunov spectrum whose Kaplan–Yorke dimension does not exceed two", ORBIT),
        _has("more than two dimensions by the Kaplan–Yorke formula",
             "at most two dimensions by the Kaplan–Yorke formula", MOTION),
        _has("a Kaplan–Yorke dimension larger than two", "a Kaplan–Yorke dimension that is not larger than two",
             SYSTEM),
        _has("a Kaplan–Yorke dimension of more than two", "a Kaplan–Yorke dimension of two or less", ORBIT),
        _has("a Lyapunov spectrum that gives a Kaplan–Yorke dimension above two",
             "a Lyapunov spectrum that gives a Kaplan–Yorke dimension of two or less", SYSTEM),
        _is("more than two-dimensional by the Kaplan–Yorke formula", MOTION),
        FactWording("leads to a Kaplan–Yorke dimension above two", "leads to a Kaplan–Yorke dimension of at most two",
                    "lead to a Kaplan–Yorke dimension above two", ORBIT),
    ),
}  # fmt: skip
"""How a predicate is said of an instance. The predicates are those of predicates.py that are measured."""

_CHAOS = (
    "Call a motion chaotic if it stays bounded, never repeats and has a positive largest Lyapunov exponent.",
    "Here 'chaotic' means bounded, never repeating, and with a positive largest Lyapunov exponent.",
    "Chaos means here that the motion is bounded, never comes to repeat, and has a positive Lyapunov exponent.",
    "By chaos is meant bounded motion without repetition whose largest Lyapunov exponent is positive.",
    "A motion counts as chaotic here if it is bounded, never repeats and has at least one positive Lyapunov exponent.",
    "We call bounded motion that never repeats chaotic if its largest Lyapunov exponent is positive.",
    "The word 'chaotic' is used for bounded motion without repetition and with a positive Lyapunov exponent.",
    "Chaos requires that a motion stays bounded, that it never repeats, and that some Lyapunov exponent is positive.",
    "Here chaotic motion is bounded motion that never repeats and whose largest Lyapunov exponent is above zero.",
    "For a motion to be chaotic it has to be bounded, never repeat, and have a largest Lyapunov exponent above zero.",
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
    (
        "To get the Kaplan–Yorke dimension, one adds the Lyapunov exponents from the largest on while the sum is not "
        "negative, counts them, and adds to the count that sum divided by the size of the next exponent."
    ),
    (
        "Let S be the sum of the j largest Lyapunov exponents, with j as large as possible while S is not negative; "
        "the Kaplan–Yorke dimension is then j plus S divided by the size of the exponent that follows."
    ),
)
_CYCLE: Mapping[str, tuple[str, ...]] = {
    "map": (
        "An attracting cycle is a periodic orbit of two points or more that nearby orbits approach.",
        "By an attracting cycle is meant a periodic orbit of at least two points that all nearby orbits approach.",
        "A periodic orbit of two points or more is called an attracting cycle if nearby orbits approach it.",
        "Here an attracting cycle has two points or more, which are visited in turn, and nearby orbits approach it.",
        "An attracting cycle consists of two points or more that repeat in turn and that nearby orbits approach.",
        "A cycle consists of two points or more here, and attracting means that nearby orbits approach it.",
    ),
    "flow": (
        "An attracting cycle is a motion that repeats exactly, is more than rest, and is approached by nearby motions.",
        "An attracting cycle repeats exactly after a finite time, is more than rest, and draws nearby motions to it.",
        "A motion that repeats exactly, rest excluded, is called an attracting cycle if nearby motions approach it.",
        "Here an attracting cycle is a closed orbit, on which the motion repeats, that nearby motions approach.",
        "By an attracting cycle we understand a repeating motion, other than rest, to which nearby motions are drawn.",
        "By an attracting cycle is meant an exactly repeating motion, other than rest, that nearby motions approach.",
    ),
}
_PERIODIC: Mapping[str, tuple[str, ...]] = {
    "map": (
        "Periodic means that the orbit comes to repeat after two or more iterates; a fixed point does not count.",
        "An orbit counts as periodic here if it comes to repeat after two iterates or more; fixed points are excluded.",
        "By a periodic motion is meant one that comes to repeat itself after two or more iterates, so no fixed point.",
        "We call a motion periodic if, in the end, it repeats after two or more iterates; rest is left out.",
        "Here a periodic motion comes to repeat exactly, with two different points or more.",
        "A motion is called periodic here if it repeats exactly after two iterates or more, rest excluded.",
    ),
    "flow": (
        "Periodic means that, after a transient, the motion repeats exactly after a finite time; rest does not count.",
        "A motion counts as periodic here if in the end it repeats exactly after a finite time; rest is excluded.",
        "By a periodic motion is meant one that comes to repeat itself exactly after a finite time; rest is left out.",
        "We call a motion periodic if, transients apart, it repeats exactly after a finite time and is not rest.",
        "Here a periodic motion is one that, after transients, repeats exactly; a state of rest is none.",
        "A motion is called periodic here if it comes to repeat exactly after a finite time, rest excluded.",
    ),
}
_TORUS: Mapping[str, tuple[str, ...]] = {
    "map": (
        (
            "Quasi-periodic means bounded, never repeating, and without a positive Lyapunov exponent: the iterates "
            "fill closed curves."
        ),
        (
            "A motion is called quasi-periodic here if its iterates fill closed curves and never repeat, and no "
            "Lyapunov exponent is positive."
        ),
        (
            "We call a motion quasi-periodic if its iterates never repeat but fill closed curves, with no positive "
            "Lyapunov exponent."
        ),
        (
            "By quasi-periodic motion is meant motion on closed curves that never repeats and has no positive Lyapunov "
            "exponent."
        ),
        (
            "Motion counts as quasi-periodic here if it fills closed curves, never repeats and is without "
            "positive exponents."
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
        "A motion is quasi-periodic if it never repeats but winds round a torus, with no positive Lyapunov exponent.",
        "By quasi-periodic motion is meant motion on a torus with incommensurate frequencies: it never repeats.",
        (
            "Motion counts as quasi-periodic here if it winds round a torus and never repeats, and no exponent "
            "is positive."
        ),
    ),
}
_ANY: Mapping[str, tuple[str, ...]] = {
    "Bounded": (
        "Bounded means that the orbit never leaves some finite region; angles count modulo a full turn.",
        "An orbit is bounded if some finite region holds all of it, angles being taken modulo a full turn.",
        "We call a motion bounded if all of it lies in some finite region, where angles count modulo a full turn.",
        "By a bounded motion is meant one that stays in a finite region for ever; angles count modulo a full turn.",
        "A motion counts as bounded here if its variables stay below some limit in size, angles modulo a full turn.",
        "Here bounded means: within some finite region for all time, with angles taken modulo a full turn.",
    ),
    "Dissipative": (
        (
            "Dissipative means that small volumes of state space shrink on average along the orbit: the Lyapunov "
            "exponents have a negative sum."
        ),
        "A motion is called dissipative here if the sum of all its Lyapunov exponents is negative.",
        "We call a motion dissipative if its Lyapunov exponents add up to a negative number.",
        "By dissipative is meant that small volumes shrink on average: all Lyapunov exponents together are below zero.",
        (
            "A motion counts as dissipative here if small volumes around it shrink on average, so that the "
            "exponents sum to less than zero."
        ),
        "Here dissipative means that the Lyapunov exponents have a negative sum, so that volumes shrink on average.",
    ),
    "PositiveLargestLyapunov": ("",),
    "Chaotic": _CHAOS,
    "Hyperchaotic": (
        "Hyperchaotic means bounded and never repeating, with two or more positive Lyapunov exponents.",
        "Hyperchaos is chaos with at least two positive Lyapunov exponents.",
        "Call a chaotic motion hyperchaotic if two or more of its Lyapunov exponents are positive.",
        "We call bounded motion that never repeats hyperchaotic if it has two or more positive Lyapunov exponents.",
        "By hyperchaos is meant bounded motion without repetition that has at least two positive Lyapunov exponents.",
        "A motion counts as hyperchaotic here if it is bounded, never repeats, and two or more exponents are positive.",
        "Here hyperchaotic motion is bounded, never repeats and has two positive Lyapunov exponents or more.",
    ),
    "FixedPointAttractor": (
        *("", ""),
        "A fixed point is stable if all nearby motions approach it.",
        "We call a fixed point stable if every motion that begins near it approaches it.",
        "By a stable fixed point is meant one that all nearby motions approach.",
        "Here a fixed point counts as stable if all motions that begin close by approach it.",
    ),
    "DimensionAboveTwo": _KAPLAN_YORKE,
}
_BY_TIME: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "Periodic": _PERIODIC,
    "AttractingCycle": _CYCLE,
    "QuasiPeriodic": _TORUS,
}


def definitions(predicate: str, time: str) -> tuple[str, ...]:
    """The sentences that may define a predicate; '' where none is needed. `time` is 'map' or 'flow'."""
    return _BY_TIME[predicate][time] if predicate in _BY_TIME else _ANY[predicate]


def all_definitions() -> list[str]:
    """Every defining sentence, the longest first."""
    sentences = {text for texts in _ANY.values() for text in texts}
    sentences |= {text for times in _BY_TIME.values() for texts in times.values() for text in texts}
    return sorted(sentences - {""}, key=lambda text: (-len(text), text))
