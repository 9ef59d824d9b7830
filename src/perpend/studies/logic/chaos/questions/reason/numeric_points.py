"""Claims about fixed points, cycles and stability, tested with numbers."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from perpend.errors import DataError
from perpend.studies.logic.chaos.questions.reason.reading import ReadSystem, scattered

_NUMBERS = {"one": 1, "three": 3, "nine": 9, "twenty-seven": 27}
_COUNT = re.compile(r"(?:exactly|points is(?: not)?) (one|three|nine|twenty-seven)\b")
_POINT = re.compile(r"\(([\w, ]+)\) = \(([-\d., ]+)\)")
_CYCLE = re.compile(
    r"(?:cycle|orbit) of period two|back to|back at|then returns?|\bexchanges?\b|\bswaps?\b|to the other\b"
)
_FIXED = re.compile(
    r"fixed point|\bstays? (?:at|there)\b|equilibrium|steady state|to itself|remains? (?:there|the same)|vanish|at rest"
    r"|where it is\b|the same point|right-hand sides? (?:is|are) (?:not )?(?:all )?zero"
)
_STABLE = re.compile(
    r"\bstable\b|negative real part|inside the unit|die out|drawn into|pure decay|decay in the long|\battracts?\b"
)
_UNSTABLE = re.compile(r"\bunstable\b|positive real part|outside the unit|\bgrow\b|driven away|leave its neighbourhood")
_TURNING = re.compile(r"off the real axis|imaginary part|oscillates|oscillating|complex-conjugate")
_STRAIGHT = re.compile(r"\breal\b|free of oscillation")
_LOCAL = re.compile(
    r"fixed point at|stable fixed point|eigenvalue|linearis|Jacobian matrix at|characteristic polynomial"
)
_VOLUME = re.compile(r"divergence|trace|diagonal entries|\b(?:area|volume)s?\b")
_TIGHT = 1e-9
_DEGREE = 4


def point_truth(system: ReadSystem, claim: str, denied: bool) -> bool | None:
    """The truth of a claim about points; None where there is none of the kind."""
    holds = _counted(system, claim)
    if holds is None:
        points = points_in(system, claim)
        if not points or _VOLUME.search(claim):
            return None
        holds = _located(system, claim, points)
    return holds != denied


def points_in(system: ReadSystem, claim: str) -> list[NDArray[np.float64]]:
    """The points that a claim names, in the order of the equations."""
    points = []
    for names, values in _POINT.findall(claim):
        order, numbers = names.split(", "), values.split(", ")
        if sorted(order) != sorted(system.names) or len(numbers) != len(order):
            raise DataError(f"a point does not fit the variables: ({names}) = ({values})")
        where = dict(zip(order, map(float, numbers), strict=True))
        points.append(np.array([where[name] for name in system.names]))
    if len(system.names) == 1:
        points += [np.array([float(v)]) for v in re.findall(rf"\b{system.names[0]} = (-?\d+(?:\.\d+)?)", claim)]
    return points


def _located(system: ReadSystem, claim: str, points: list[NDArray[np.float64]]) -> bool:
    if len(points) == 2 or (len(points) == 3 and _CYCLE.search(claim)) or len(points) == 4:
        if not _CYCLE.search(claim):
            raise DataError(f"two points, but no cycle: {claim!r}")
        one, two = points[0], points[1]
        return not np.allclose(one, two) and _sent(system, one, two) and _sent(system, two, one)
    if len(points) != 1:
        raise DataError(f"one point or a pair of points is expected: {claim!r}")
    point = points[0]
    local = _local(system, claim, point) if _LOCAL.search(claim) else None
    if local is not None:
        return local
    if not _FIXED.search(claim):
        raise DataError(f"the claim about a point cannot be read: {claim!r}")
    return _rests(system, point)


def _sent(system: ReadSystem, start: NDArray[np.float64], end: NDArray[np.float64]) -> bool:
    return bool(np.allclose(system.values(start), end, rtol=0, atol=_TIGHT))


def _rests(system: ReadSystem, point: NDArray[np.float64]) -> bool:
    return _sent(system, point, point if system.discrete else np.zeros(len(point)))


def _local(system: ReadSystem, claim: str, point: NDArray[np.float64]) -> bool | None:
    """What the eigenvalues at a point say; None where the claim is not about them."""
    kinds = [p for p in (_UNSTABLE, _STABLE, _TURNING, _STRAIGHT) if p.search(claim)]
    if not kinds:
        return None
    if not _rests(system, point):
        raise DataError(f"the point of the claim is no fixed point: {claim!r}")
    values = np.linalg.eigvals(system.jacobian(point))
    if kinds[0] in (_TURNING, _STRAIGHT):
        apart = float(np.max(np.abs(values.imag)))
        if 1e-9 < apart < 1e-4:
            raise DataError(f"the eigenvalues are too close to the real axis: {claim!r}")
        return (apart > 1e-4) == (kinds[0] is _TURNING)
    edge = float(np.max(np.abs(values)) - 1 if system.discrete else np.max(values.real))
    if abs(edge) < 1e-7:
        raise DataError(f"the fixed point is on the border of stability: {claim!r}")
    return (edge < 0) == (kinds[0] is _STABLE)


def _counted(system: ReadSystem, claim: str) -> bool | None:
    match = _COUNT.search(claim)
    if match is None:
        return None
    return len(_solved(system, {})) == _NUMBERS[match[1]]


def _solved(system: ReadSystem, fixed: dict[int, float]) -> list[dict[int, float]]:
    """All real fixed points, equation by equation: there must always be one with a single variable left."""
    size = len(system.names)
    if len(fixed) == size:
        return [fixed]
    base = scattered(1, size, 1.3)[0]
    for i, value in fixed.items():
        base[i] = value
    for row in range(size):
        slopes = [abs(_residual(system, _moved(base, j), row) - _residual(system, base, row)) for j in range(size)]
        free = [j for j in range(size) if slopes[j] > _TIGHT and j not in fixed]
        if len(free) == 1:
            return [
                s for root in _real_roots(system, base, row, free[0]) for s in _solved(system, {**fixed, free[0]: root})
            ]
    raise DataError("the fixed points cannot be found one variable at a time")


def _moved(point: NDArray[np.float64], index: int, value: float | None = None) -> NDArray[np.float64]:
    moved = point.copy()
    moved[index] = point[index] + 0.77 if value is None else value
    return moved


def _residual(system: ReadSystem, point: NDArray[np.float64], row: int) -> float:
    value = float(system.values(point)[row].real)
    return value - float(point[row]) if system.discrete else value


def _real_roots(system: ReadSystem, base: NDArray[np.float64], row: int, column: int) -> list[float]:
    places = np.linspace(-2, 2, _DEGREE + 1)
    values = [_residual(system, _moved(base, column, float(place)), row) for place in places]
    powers = np.polyfit(places, values, _DEGREE)
    powers[np.abs(powers) < _TIGHT] = 0
    roots = np.roots(np.trim_zeros(powers, "f"))
    return [float(root.real) for root in roots if abs(root.imag) < 1e-7]
