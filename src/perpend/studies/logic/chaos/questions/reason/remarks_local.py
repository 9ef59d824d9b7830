"""Statements about a fixed point's neighbourhood and about the form of the equations, each in several wordings."""

from __future__ import annotations

from collections.abc import Sequence

from perpend.studies.logic.chaos.questions.reason.remarks import Remark, listed

_FLOW_STABLE = (
    "Call a fixed point stable if every eigenvalue of the Jacobian matrix there has a negative real part, "
    "and unstable if at least one has a positive real part."
)
_MAP_STABLE = (
    "Call a fixed point stable if every eigenvalue of the Jacobian matrix there is smaller than 1 in absolute value, "
    "and unstable if at least one is larger."
)
_LINEAR = (
    "Call an equation linear if its right-hand side is a sum of constant multiples of the state variables "
    "and of a function of t alone."
)


def stable(where: str, size: int, discrete: bool) -> Remark:
    """Every eigenvalue at the fixed point makes disturbances decay."""
    part = "lies inside the unit circle" if discrete else "has a negative real part"
    return Remark(
        "stable",
        where,
        (
            f"the fixed point at {where} is stable",
            f"every eigenvalue of the Jacobian matrix at {where} {part}",
            f"all sufficiently small disturbances of the fixed point at {where} die out",
            f"orbits that start close enough to the fixed point at {where} are drawn into it",
            f"the linearisation about {where} describes pure decay",
        ),
        (
            f"the fixed point at {where} is not stable",
            f"not every eigenvalue of the Jacobian matrix at {where} {part}",
            f"it is not so that all sufficiently small disturbances of the fixed point at {where} die out",
        ),
        2 * size,
        _MAP_STABLE if discrete else _FLOW_STABLE,
    )


def unstable(where: str, size: int, discrete: bool) -> Remark:
    """Some eigenvalue at the fixed point makes disturbances grow."""
    part = "lies outside the unit circle" if discrete else "has a positive real part"
    return Remark(
        "unstable",
        where,
        (
            f"the fixed point at {where} is unstable",
            f"at least one eigenvalue of the Jacobian matrix at {where} {part}",
            f"some small disturbances of the fixed point at {where} grow",
            f"there are states as close as one likes to the fixed point at {where} that are driven away from it",
        ),
        (
            f"the fixed point at {where} is not unstable",
            f"no eigenvalue of the Jacobian matrix at {where} {part}",
            f"the fixed point at {where} does not count as unstable",
        ),
        2 * size,
        _MAP_STABLE if discrete else _FLOW_STABLE,
    )


def turning(where: str, size: int) -> Remark:
    """The linearisation has a pair of eigenvalues off the real axis."""
    return Remark(
        "turning",
        where,
        (
            f"the Jacobian matrix at {where} has a pair of eigenvalues off the real axis",
            f"two eigenvalues of the linearisation about {where} have an imaginary part different from zero",
            f"the linearisation about {where} describes motion that oscillates",
        ),
        (
            f"the Jacobian matrix at {where} has no eigenvalues off the real axis",
            f"the linearisation about {where} does not describe any motion that oscillates",
            f"the imaginary parts of the eigenvalues at {where} are never different from zero",
        ),
        2 * size + 1,
    )


def straight(where: str, size: int) -> Remark:
    """All eigenvalues of the linearisation are real."""
    return Remark(
        "straight",
        where,
        (
            f"all eigenvalues of the Jacobian matrix at {where} are real",
            f"the linearisation about {where} has real eigenvalues only",
            f"the eigenvalues at {where} all lie on the real axis",
        ),
        (
            f"the eigenvalues of the Jacobian matrix at {where} are not all real",
            f"some eigenvalue of the linearisation about {where} fails to be real",
            f"the eigenvalues at {where} do not all lie on the real axis",
        ),
        2 * size + 1,
    )


def conserved(quantity: str, size: int, discrete: bool) -> Remark:
    """The quantity keeps its value along every orbit."""
    along = "along every orbit" if discrete else "along every solution"
    return Remark(
        "conserved",
        quantity,
        (
            f"the quantity {quantity} stays constant {along}",
            f"{quantity} is conserved",
            f"{quantity} keeps the value that it has at the start",
            f"{quantity} is a constant of the motion",
        ),
        (
            f"the quantity {quantity} does not stay constant {along}",
            f"{quantity} is not conserved",
            f"{quantity} fails to keep the value that it has at the start",
            f"{quantity} is not a constant of the motion",
        ),
        size + 2,
    )


def potential(quantity: str, names: Sequence[str]) -> Remark:
    """The flow goes down the gradient of the quantity."""
    rates = "both rates of change are" if len(names) == 2 else "the rates of change are all"
    return Remark(
        "potential",
        quantity,
        (
            f"the flow follows minus the gradient of V = {quantity}",
            f"with V = {quantity}, {rates} minus the partial derivatives of V by the same variables",
            f"the system is the gradient flow that runs downhill on V = {quantity}",
        ),
        (
            f"the flow does not follow minus the gradient of V = {quantity}",
            f"with V = {quantity}, it is not so that {rates} minus the partial derivatives of V by the same variables",
            f"the system is not the gradient flow that runs downhill on V = {quantity}",
        ),
        len(names) + 2,
    )


def invariant(condition: str, size: int) -> Remark:
    """Orbits that start on the set stay on it."""
    place = {1: "point", 2: "line", 3: "plane"}.get(size, "subspace")
    return Remark(
        "invariant",
        condition,
        (
            f"the {place} {condition} is invariant",
            f"whatever starts on the {place} {condition} remains on it",
            f"the {place} {condition} is mapped into itself as time goes on",
            f"if {condition} holds at the start, it holds at all later times",
        ),
        (
            f"the {place} {condition} is not invariant",
            f"whatever starts on the {place} {condition} does not in general remain on it",
            f"if {condition} holds at the start, it need not hold at later times",
        ),
        size,
    )


def closed(inside: Sequence[str], outside: Sequence[str]) -> Remark:
    """Two variables or more evolve by themselves."""
    those, others = listed(inside), listed(outside)
    return Remark(
        "closed",
        those,
        (
            f"{those} evolve independently of {others}",
            f"the equations for {those} form a closed subsystem of their own",
            f"the future of {those} is settled by their own initial values, whatever {others} may be",
            f"one can follow {those} in time and leave {others} out of the calculation",
        ),
        (
            f"{those} do not evolve independently of {others}",
            f"the equations for {those} do not form a closed subsystem of their own",
            f"the future of {those} is not settled by their own initial values alone",
        ),
        len(inside) + len(outside),
    )


def clocked(name: str, size: int) -> Remark:
    """The right-hand side of one variable holds the time itself."""
    return Remark(
        "clocked",
        name,
        (
            f"the rate of change of {name} depends explicitly on the time t",
            f"the right-hand side of the equation for {name} changes with t even if the state is held fixed",
            f"explicit time dependence enters through the equation for {name}",
        ),
        (
            f"the rate of change of {name} does not depend explicitly on the time t",
            f"the right-hand side of the equation for {name} does not change with t if the state is held fixed",
            f"the equation for {name} holds no explicit time dependence",
        ),
        size,
    )


def linear(name: str, size: int) -> Remark:
    """One right-hand side is of the first degree in the state, with terms of time alone allowed."""
    return Remark(
        "linear",
        name,
        (
            f"the equation for {name} is linear",
            f"in the equation for {name} the state enters linearly",
            f"the equation for {name} counts as linear",
        ),
        (
            f"the equation for {name} is not linear",
            f"in the equation for {name} the state does not enter linearly",
            f"the equation for {name} does not count as linear",
        ),
        size,
        _LINEAR,
    )


def hamiltonian(quantity: str, position: str, momentum: str) -> Remark:
    """The equations are those of Hamilton for the quantity."""
    roles = f"with {position} as the position and {momentum} as the momentum"
    return Remark(
        "hamiltonian",
        f"{quantity} {position}",
        (
            f"{roles}, these are Hamilton's equations for H = {quantity}",
            f"{roles}, the motion follows from the Hamiltonian H = {quantity}",
            f"{roles}, the Hamiltonian H = {quantity} gives exactly these equations",
        ),
        (
            f"{roles}, these are not Hamilton's equations for H = {quantity}",
            f"{roles}, the motion does not follow from the Hamiltonian H = {quantity}",
            f"{roles}, the Hamiltonian H = {quantity} does not give these equations",
        ),
        4,
    )
