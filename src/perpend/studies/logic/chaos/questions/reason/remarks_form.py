"""Statements about the form of the equations: conserved quantities, potentials, invariant sets, subsystems."""

from __future__ import annotations

from collections.abc import Sequence

from perpend.studies.logic.chaos.questions.reason.definitions import CLOSED, CONSERVED, INVARIANT, LINEAR
from perpend.studies.logic.chaos.questions.reason.remarks import Remark, listed


def conserved(quantity: str, size: int, discrete: bool) -> Remark:
    """The quantity keeps its value along every orbit."""
    along = "along every orbit" if discrete else "along every solution"
    orbit = "orbit" if discrete else "solution"
    return Remark(
        "conserved",
        quantity,
        (
            (
                f"the quantity {quantity} stays constant {along}",
                f"the quantity {quantity} does not stay constant {along}",
            ),
            (f"{quantity} is conserved", f"{quantity} is not conserved"),
            (
                f"{quantity} keeps the value that it has at the start",
                f"{quantity} fails to keep the value that it has at the start",
            ),
            (f"{quantity} is a constant of the motion", f"{quantity} is not a constant of the motion"),
            (f"{quantity} is a first integral of the system", f"{quantity} is not a first integral of the system"),
            (
                f"{along}, {quantity} has the same value at all times",
                f"it is not the case that, {along}, {quantity} has the same value at all times",
            ),
            (
                f"the value of {quantity} stays the same {along}",
                f"the value of {quantity} does not stay the same {along}",
            ),
            (
                f"{along}, {quantity} remains what it was at the start",
                f"{along}, {quantity} does not remain what it was at the start",
            ),
            (
                f"the combination {quantity} is preserved by the dynamics",
                f"the combination {quantity} is not preserved by the dynamics",
            ),
            (
                f"each {orbit} stays on a set where {quantity} is constant",
                f"it is not the case that each {orbit} stays on a set where {quantity} is constant",
            ),
        ),
        size + 2,
        CONSERVED[discrete],
    )


def potential(quantity: str, names: Sequence[str]) -> Remark:
    """The flow goes down the gradient of the quantity."""
    rates = "both rates of change are" if len(names) == 2 else "the rates of change are all"
    sense = "in the sense that each rate of change is minus the slope of V in that direction"
    return Remark(
        "potential",
        quantity,
        (
            (
                f"the flow follows minus the gradient of V = {quantity}",
                f"the flow does not follow minus the gradient of V = {quantity}",
            ),
            (
                f"with V = {quantity}, {rates} minus the slopes of V by the same variables",
                f"it is not the case that, with V = {quantity}, {rates} minus the slopes of V by the same variables",
            ),
            (
                f"the system is the gradient flow that runs downhill on V = {quantity}",
                f"the system is not the gradient flow that runs downhill on V = {quantity}",
            ),
            (
                f"the function V = {quantity} is a potential of the flow, {sense}",
                f"the function V = {quantity} is not a potential of the flow, {sense}",
            ),
            (
                f"the right-hand sides are the components of minus the gradient of V = {quantity}",
                f"the right-hand sides are not the components of minus the gradient of V = {quantity}",
            ),
            (
                f"minus the gradient of V = {quantity} gives exactly these equations",
                f"minus the gradient of V = {quantity} does not give exactly these equations",
            ),
            (
                f"each variable changes by minus the slope of V = {quantity} in its direction",
                f"it is not the case that each variable changes by minus the slope of V = {quantity} in its direction",
            ),
            (
                f"moving down the gradient of V = {quantity} reproduces the equations",
                f"moving down the gradient of V = {quantity} does not reproduce the equations",
            ),
        ),
        len(names) + 2,
    )


def invariant(condition: str, size: int) -> Remark:
    """Orbits that start on the set stay on it."""
    place = f"the {({1: 'point', 2: 'line', 3: 'plane'}).get(size, 'subspace')} {condition}"
    return Remark(
        "invariant",
        condition,
        (
            (f"{place} is invariant", f"{place} is not invariant"),
            (
                f"whatever starts on {place} remains on it",
                f"whatever starts on {place} does not in general remain on it",
            ),
            (
                f"{place} is mapped into itself as time goes on",
                f"{place} is not mapped into itself as time goes on",
            ),
            (
                f"if {condition} holds at the start, it holds at all later times",
                f"if {condition} holds at the start, it need not hold at later times",
            ),
            (
                f"all orbits that start on {place} stay on it",
                f"it is not the case that all orbits that start on {place} stay on it",
            ),
            (
                f"a state with {condition} is always followed by states with {condition}",
                f"a state with {condition} is not always followed by states with {condition}",
            ),
            (
                f"once {condition} holds, it holds for ever",
                f"once {condition} holds, it does not have to hold for ever",
            ),
            (
                f"motion that begins on {place} is confined to it",
                f"motion that begins on {place} is not confined to it",
            ),
            (f"{place} is an invariant set of the system", f"{place} is not an invariant set of the system"),
        ),
        size,
        INVARIANT,
    )


def closed(inside: Sequence[str], outside: Sequence[str]) -> Remark:
    """Two variables or more evolve by themselves."""
    those, others = listed(inside), listed(outside)
    return Remark(
        "closed",
        those,
        (
            (f"{those} evolve independently of {others}", f"{those} do not evolve independently of {others}"),
            (
                f"the equations for {those} form a closed subsystem of their own",
                f"the equations for {those} do not form a closed subsystem of their own",
            ),
            (
                f"the future of {those} is settled by their own initial values, whatever {others} may be",
                f"the future of {those} is not settled by their own initial values alone",
            ),
            (
                f"it is possible to follow {those} in time and leave {others} out of the calculation",
                f"it is not possible to follow {those} in time and leave {others} out of the calculation",
            ),
            (
                f"the right-hand sides of the equations for {those} are free of {others}",
                f"the right-hand sides of the equations for {those} are not free of {others}",
            ),
            (
                f"{those} form a subsystem that can be solved without {others}",
                f"{those} do not form a subsystem that can be solved without {others}",
            ),
            (
                f"one can solve for {those} without knowing {others}",
                f"it is not possible to solve for {those} without knowing {others}",
            ),
            (
                f"another start of {others} leaves the course of {those} as it was",
                f"another start of {others} does not in general leave the course of {those} as it was",
            ),
            (
                f"the motion of {those} is decided by these variables alone",
                f"the motion of {those} is not decided by these variables alone",
            ),
        ),
        len(inside) + len(outside),
        CLOSED,
    )


def clocked(name: str, size: int) -> Remark:
    """The right-hand side of one variable holds the time itself."""
    return Remark(
        "clocked",
        name,
        (
            (
                f"the rate of change of {name} depends explicitly on the time t",
                f"the rate of change of {name} does not depend explicitly on the time t",
            ),
            (
                f"the right-hand side of the equation for {name} changes with t even if the state is held fixed",
                f"the right-hand side of the equation for {name} does not change with t if the state is held fixed",
            ),
            (
                f"explicit time dependence enters through the equation for {name}",
                f"explicit time dependence does not enter through the equation for {name}",
            ),
            (
                f"the time t appears explicitly in the equation for {name}",
                f"the time t does not appear explicitly in the equation for {name}",
            ),
            (
                f"the equation for {name} has an explicit dependence on t",
                f"the equation for {name} has no explicit dependence on t",
            ),
            (
                f"the equation for {name} is explicitly time-dependent",
                f"the equation for {name} is not explicitly time-dependent",
            ),
            (
                f"with the state held fixed, the rate of change of {name} still varies with t",
                f"with the state held fixed, the rate of change of {name} does not vary with t",
            ),
            (
                f"the equation for {name} contains the time t itself",
                f"the equation for {name} does not contain the time t itself",
            ),
        ),
        size,
    )


def linear(name: str, size: int) -> Remark:
    """One right-hand side is of the first degree in the state, with terms of time alone allowed."""
    return Remark(
        "linear",
        name,
        (
            (f"the equation for {name} is linear", f"the equation for {name} is not linear"),
            (
                f"in the sense just defined, the equation for {name} is linear",
                f"in the sense just defined, the equation for {name} is not linear",
            ),
            (f"the equation for {name} counts as linear", f"the equation for {name} does not count as linear"),
            (f"{name} obeys a linear equation", f"{name} does not obey a linear equation"),
            (
                f"the equation for {name} is linear in this sense",
                f"the equation for {name} is not linear in this sense",
            ),
            (
                f"the equation for {name} meets the definition of a linear one",
                f"the equation for {name} does not meet the definition of a linear one",
            ),
            (
                f"by this definition, the equation for {name} is linear",
                f"by this definition, the equation for {name} is not linear",
            ),
            (
                f"the definition makes the equation for {name} a linear one",
                f"the definition does not make the equation for {name} a linear one",
            ),
        ),
        size,
        LINEAR,
    )


def hamiltonian(quantity: str, position: str, momentum: str) -> Remark:
    """The equations are those of Hamilton for the quantity."""
    roles = f"with {position} as the position and {momentum} as the momentum"
    return Remark(
        "hamiltonian",
        f"{quantity} {position}",
        (
            (
                f"{roles}, these are Hamilton's equations for H = {quantity}",
                f"{roles}, these are not Hamilton's equations for H = {quantity}",
            ),
            (
                f"{roles}, the motion follows from the Hamiltonian H = {quantity}",
                f"{roles}, the motion does not follow from the Hamiltonian H = {quantity}",
            ),
            (
                f"{roles}, the Hamiltonian H = {quantity} gives exactly these equations",
                f"{roles}, the Hamiltonian H = {quantity} does not give these equations",
            ),
            (
                f"{roles}, the equations are those of the Hamiltonian H = {quantity}",
                f"{roles}, the equations are not those of the Hamiltonian H = {quantity}",
            ),
            (
                f"{roles}, H = {quantity} is a Hamiltonian of this system",
                f"{roles}, H = {quantity} is not a Hamiltonian of this system",
            ),
            (
                f"the Hamiltonian H = {quantity} generates the motion, {roles}",
                f"the Hamiltonian H = {quantity} does not generate the motion, {roles}",
            ),
            (
                f"the rates of change follow from H = {quantity} by Hamilton's equations, {roles}",
                f"the rates of change do not follow from H = {quantity} by Hamilton's equations, {roles}",
            ),
            (
                f"{roles}, Hamilton's equations for H = {quantity} are exactly these",
                f"{roles}, Hamilton's equations for H = {quantity} are not exactly these",
            ),
        ),
        4,
    )
