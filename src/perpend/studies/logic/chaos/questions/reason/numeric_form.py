"""Claims about the form of equations, tested with numbers: symmetries, conserved quantities, subsystems."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from perpend.errors import DataError
from perpend.studies.logic.chaos.questions.reason.reading import (
    Complex,
    Expression,
    ReadSystem,
    derivatives,
    parse,
    scattered,
)  # fmt: skip

_ARROW = re.compile(r"\(([\w, ]+)\) -> \(([-\w, ]+)\)")
_LIST = r"((?:\w+, )*\w+ and \w+)"
_FLIP = re.compile(r"changing the signs? of ((?:\w+, )*(?:\w+ and )?\w+)", re.IGNORECASE)
_SWAP = re.compile(r"exchanging (\w+) and (\w+)", re.IGNORECASE)
_CONSERVED = re.compile(
    r" (?:stays constant|does not stay constant|is (?:not )?conserved|keeps the value|fails to keep the value"
    r"|is (?:not )?a constant of the motion|is (?:not )?a first integral|has the same value at|stays the same"
    r"|does not stay the same|remains what|does not remain what|is (?:not )?preserved|is constant\b)"
)
_CLOSED = (
    re.compile(_LIST + r" (?:do not )?evolve independently"),
    re.compile(r"equations for " + _LIST + r" (?:do not )?form a closed"),
    re.compile(r"the future of " + _LIST + r" is (?:not )?settled"),
    re.compile(r"possible to follow " + _LIST + r" in time"),
    re.compile(r"equations for " + _LIST + r" are (?:not )?free of"),
    re.compile(_LIST + r" (?:do not )?form a subsystem"),
    re.compile(r"solve for " + _LIST + r" without"),
    re.compile(r"the course of " + _LIST + r" as it was"),
    re.compile(r"the motion of " + _LIST + r" is (?:not )?decided"),
)
_CLOCKED = re.compile(r"(?:rate of change of|the equation for) (\w+)\b|\b(\w+) (?:obeys|does not obey) a linear")
_EXPLICIT = re.compile(r"explicit|with t (?:even )?if|var(?:ies|y) with t\b|the time t itself")
_LINEAR = re.compile(r"\blinear\b")
_INVARIANT = re.compile(
    r"\b(\w+) = 0 (?:is (?:not )?(?:an )?invariant|remains|does not in general remain|is (?:not )?mapped|holds|stay on"
    r"|is (?:not )?always followed|is (?:not )?confined)"
)
_SAMPLES = 12


def form_truth(system: ReadSystem, claim: str, denied: bool) -> bool | None:
    """The truth of a claim about the form of the equations; None where there is none of the kind."""
    for decide in (_symmetric, _potential, _hamiltonian, _constant, _closed, _linear, _clocked, _invariant):
        holds = decide(system, claim)
        if holds is not None:
            return holds != denied
    return None


def _near(values: Complex, others: Complex) -> bool:
    return bool(np.allclose(values, others, rtol=1e-9, atol=1e-9))


def _samples(system: ReadSystem) -> NDArray[np.float64]:
    return scattered(_SAMPLES, len(system.names), 1.7)


def _mirror(system: ReadSystem, claim: str) -> tuple[NDArray[np.float64], bool] | None:
    """The matrix of the change of variables in the order of the equations, and whether time turns round."""
    names = system.names
    matrix = np.eye(len(names))
    arrow, flip, swap = _ARROW.search(claim), _FLIP.search(claim), _SWAP.search(claim)
    if arrow:
        left, right = arrow[1].split(", "), arrow[2].split(", ")
        if len(left) != len(right) or set(left) - {"t"} != set(names):
            raise DataError(f"the change of variables does not fit: {arrow[0]!r}")
        for name, image in zip(left, right, strict=True):
            if name != "t":
                row = matrix[names.index(name)]
                row[:] = 0
                row[names.index(image.removeprefix("-"))] = -1 if image.startswith("-") else 1
        return matrix, "t" in left
    if swap:
        a, b = names.index(swap[1]), names.index(swap[2])
        matrix[[a, b]] = matrix[[b, a]]
        if "changing both signs" in claim:
            matrix[[a, b]] *= -1
        return matrix, False
    if flip:
        for name in re.split(r", | and ", flip[1]):
            if name in names:
                matrix[names.index(name)] *= -1
        return matrix, False
    return None


def _symmetric(system: ReadSystem, claim: str) -> bool | None:
    mirror = _mirror(system, claim)
    if mirror is None:
        return None
    matrix, backwards = mirror
    sign = -1 if backwards else 1
    return all(_near(system.values(matrix @ p), sign * (matrix @ system.values(p))) for p in _samples(system))


def _expression(system: ReadSystem, text: str) -> Expression:
    """The expression that ends a text: the longest end that can be read whole."""
    known = {*system.names, *system.constants}
    starts = [0, *(match.end() for match in re.finditer(r"[ :]+", text))]
    for start in starts:
        try:
            side, stop = parse(text, start, known)
        except DataError:
            continue
        if stop == len(text):
            return side
    raise DataError(f"no quantity is found in {text!r}")


def _potential(system: ReadSystem, claim: str) -> bool | None:
    start = claim.find("V = ")
    if start < 0:
        return None
    side, _ = parse(claim, start + 4, {*system.names, *system.constants})
    return all(_near(system.values(p), -derivatives(_of(system, side), p)[0].astype(complex)) for p in _samples(system))


def _of(system: ReadSystem, side: Expression) -> Callable[[Complex], Complex]:
    return lambda point: np.array([side({**system.constants, **dict(zip(system.names, point, strict=True))})])


def _constant(system: ReadSystem, claim: str) -> bool | None:
    match = _CONSERVED.search(claim)
    if match is None:
        return None
    quantity = _of(system, _expression(system, claim[: match.start()]))
    if system.discrete:
        return all(_near(quantity(system.values(p)), quantity(p.astype(complex))) for p in _samples(system))
    slopes = [(derivatives(quantity, p)[0], system.values(p)) for p in _samples(system)]
    return all(abs(slope @ rates) < 1e-9 * (1 + np.abs(slope) @ np.abs(rates)) for slope, rates in slopes)


def _unmoved(system: ReadSystem, inside: list[int]) -> bool:
    first, *others = _samples(system)
    for other in others:
        mixed = other.copy()
        mixed[inside] = first[inside]
        if not _near(system.values(mixed)[inside], system.values(first)[inside]):
            return False
    return True


def _hamiltonian(system: ReadSystem, claim: str) -> bool | None:
    start = claim.find("H = ")
    if start < 0:
        return None
    roles = re.search(r"with (\w+) as the position and (\w+) as the momentum", claim, re.IGNORECASE)
    if roles is None or {roles[1], roles[2]} != set(system.names):
        raise DataError(f"position and momentum cannot be read: {claim!r}")
    side, _ = parse(claim, start + 4, {*system.names, *system.constants})
    x, y = system.names.index(roles[1]), system.names.index(roles[2])
    for point in _samples(system):
        slopes, rates = derivatives(_of(system, side), point)[0], system.values(point)
        if not _near(np.array([slopes[y], -slopes[x]], dtype=complex), rates[[x, y]]):
            return False
    return True


def _linear(system: ReadSystem, claim: str) -> bool | None:
    """Sums and multiples of states give sums and multiples, whatever the time adds."""
    if not _LINEAR.search(claim):
        return None
    i = _meant(system, claim)
    first, second, *_ = _samples(system)
    for time in (0.0, 0.7):
        zero, one, other, both = (system.values(p, time)[i] for p in (0 * first, first, second, 2 * first - 3 * second))
        if abs(both - zero - 2 * (one - zero) + 3 * (other - zero)) > 1e-9 * (1 + abs(both)):
            return False
    return True


def _meant(system: ReadSystem, claim: str) -> int:
    match = _CLOCKED.search(claim)
    name = match and (match[1] or match[2])
    if name not in system.names:
        raise DataError(f"the equation that is meant cannot be read: {claim!r}")
    return system.names.index(name)


def _closed(system: ReadSystem, claim: str) -> bool | None:
    for pattern in _CLOSED:
        match = pattern.search(claim)
        if match:
            listed = re.split(r", | and ", match[1])
            # Words before the list may look like its first entry.
            names = [name for name in listed if name in system.names]
            if len(names) < 2:
                raise DataError(f"the subsystem cannot be read: {claim!r}")
            return _unmoved(system, [system.names.index(name) for name in names])
    return None


def _clocked(system: ReadSystem, claim: str) -> bool | None:
    if not _EXPLICIT.search(claim):
        return None
    i = _meant(system, claim)
    point = _samples(system)[0]
    values = [system.values(point, time)[i] for time in (0.0, 0.3, 1.1, 2.3)]
    return any(abs(value - values[0]) > 1e-9 for value in values)


def _invariant(system: ReadSystem, claim: str) -> bool | None:
    match = _INVARIANT.search(claim)
    if match is None:
        return None
    i = system.names.index(match[1])
    points = _samples(system)
    points[:, i] = 0
    return all(abs(system.values(p)[i]) < 1e-9 for p in points)
