"""What the terms of a statement mean, each meaning in several wordings.

Where the answer hangs on a convention the definition always stands in the question; elsewhere it stands there at times,
as a reminder. Every definition opens with one of the words by which a reader knows it for one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

_REMINDERS = (
    "Recall that {}.",
    "Remember that {}.",
    "As usual, {}.",
    "In what follows, {}.",
    "By definition, {}.",
    "For the record, {}.",
    "Here, {}.",
)
_STABILITY = (
    "Call a fixed point stable if {a}, and unstable if {b}.",
    "A fixed point is called stable here if {a}, and unstable if {b}.",
    "Let a fixed point count as stable if {a}, and as unstable if {b}.",
    "We call a fixed point stable if {a}, and unstable if {b}.",
    "In what follows, a fixed point is stable if {a}, and unstable if {b}.",
    "By definition, a fixed point is stable if {a}, and unstable if {b}.",
    "Here, a fixed point counts as stable if {a}; it counts as unstable if {b}.",
    "By a stable fixed point we mean one such that {a}, by an unstable one a fixed point such that {b}.",
)
_INSIDE = {
    False: (
        "every eigenvalue of the Jacobian matrix at that point has a negative real part",
        "all eigenvalues of the Jacobian matrix at that point have negative real parts",
        "the real parts of all eigenvalues of the Jacobian matrix at that point are negative",
    ),
    True: (
        "every eigenvalue of the Jacobian matrix at that point is smaller than 1 in absolute value",
        "all eigenvalues of the Jacobian matrix at that point have absolute values below 1",
        "all eigenvalues of the Jacobian matrix at that point lie inside the unit circle",
    ),
}
_OUTSIDE = {
    False: (
        "at least one eigenvalue has a positive real part",
        "some eigenvalue has a positive real part",
        "one eigenvalue or more has a positive real part",
    ),
    True: (
        "at least one eigenvalue is larger than 1 in absolute value",
        "some eigenvalue has an absolute value above 1",
        "one eigenvalue or more lies outside the unit circle",
    ),
}


def _always(frames: Sequence[str], meanings: Sequence[str]) -> tuple[str, ...]:
    return tuple(frame.format(meaning) for frame in frames for meaning in meanings)


def _at_times(*meanings: str) -> tuple[str, ...]:
    """The reminders of a term, and as often none."""
    reminders = _always(_REMINDERS, meanings)
    return (*reminders, *("",) * len(reminders))


STABLE: Mapping[bool, tuple[str, ...]] = {
    discrete: tuple(
        frame.format(a=a, b=b) for frame in _STABILITY for a in _INSIDE[discrete] for b in _OUTSIDE[discrete]
    )
    for discrete in (False, True)
}
"""Of a fixed point; by whether time is discrete."""
LINEAR = _always(
    (
        "Call an equation linear if {}.",
        "We call an equation linear if {}.",
        "An equation is called linear here if {}.",
        "Let an equation count as linear if {}.",
        "Here, an equation counts as linear if {}.",
        "In what follows, an equation is linear if {}.",
        "By definition, an equation is linear if {}.",
    ),
    (
        "its right-hand side is a sum of constant multiples of the state variables and of a function of t alone",
        "its right-hand side consists of constant multiples of the state variables and perhaps a function of t alone",
        "each term of its right-hand side is a constant times one state variable or depends on t alone",
        (
            "its right-hand side is a sum of constant multiples of the state variables, apart from terms that depend"
            " on t alone"
        ),
    ),
)
DIVERGENCE = _at_times(
    (
        "the divergence of a vector field is the sum of the derivatives of its components, each with respect to its own"
        " variable"
    ),
    "the divergence of a vector field is the trace of its Jacobian matrix",
    "the divergence is the relative rate at which a small piece of state space changes its size",
)
DETERMINANT = _at_times(
    "one step of a map multiplies the size of a small set by the absolute value of its Jacobian determinant",
    "the Jacobian matrix of a map consists of the partial derivatives of its components",
    "the absolute value of the Jacobian determinant is the factor by which a map scales small sets",
)
SYMMETRY = _at_times(
    "a symmetry of a system is a change of variables that leaves the form of its equations as it is",
    "a change of variables is a symmetry if the new variables obey the same equations as the old ones",
    "the form of the equations is kept by a change of variables if they read the same in the new variables",
)
REVERSAL = _at_times(
    "a reversing symmetry is a change of variables and of the direction of time that leaves the equations as they are",
    "a flow is reversible if some change of variables, with time run backwards, gives the same equations",
)
FIXED: Mapping[bool, tuple[str, ...]] = {
    False: _at_times(
        "a fixed point of a flow is a state at which all rates of change are zero",
        "a state that the system keeps for all time is called a fixed point",
        "fixed points, equilibria and steady states are all the same, namely states at which every rate of change is"
        " zero",
    ),
    True: _at_times(
        "a fixed point of a map is a point that the map sends to itself",
        "a point that stays where it is under the map is called a fixed point",
        "the fixed points of a map are the points that one step leaves as they are",
    ),
}
TWO_CYCLE = _at_times(
    "a cycle of period two consists of two different points that the map takes into each other",
    "two different points form a cycle of period two if the map sends each of them to the other",
)
CONSERVED: Mapping[bool, tuple[str, ...]] = {
    discrete: _at_times(
        f"a quantity is conserved if it keeps its value along every {orbit}",
        "a constant of the motion is a function of the state that keeps its value as time goes on",
        f"a first integral is a function of the state that is constant along every {orbit}",
    )
    for discrete, orbit in ((False, "solution"), (True, "orbit"))
}
INVARIANT = _at_times(
    "a set is invariant if whatever starts in it stays in it",
    "a set of states is called invariant if orbits that begin in it remain in it at all later times",
)
CLOSED = _at_times(
    "some of the variables form a closed subsystem if their equations contain these variables only",
    "variables evolve independently of the others if their own equations are enough to follow them",
)
