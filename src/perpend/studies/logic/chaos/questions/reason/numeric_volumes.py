"""Claims about the growth of small volumes, tested with numbers."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from perpend.errors import DataError
from perpend.studies.logic.chaos.questions.reason.numeric_points import points_in
from perpend.studies.logic.chaos.questions.reason.reading import ReadSystem, scattered

_V = r"(-?\d+(?:\.\d+)?)"
_VALUES = tuple(
    re.compile(pattern)
    for pattern in (
        rf"exp\({_V} t\)",
        rf"(?:divergence of the vector field|determinant of the Jacobian matrix) is (?:not )?{_V}\b",
        rf"trace of the Jacobian matrix (?:equals|is not equal to) {_V}",
        rf"diagonal entries of the Jacobian matrix is (?:not )?{_V}\b",
        rf"constant divergence {_V}",
        rf"at the rate {_V}",
        rf"own variable, (?:gives|does not give) {_V}",
        rf"add up to {_V}",
        rf"(?:multiplies|multiply) (?:every |each )?small \w+ by {_V}",
        rf"by the factor {_V}",
        rf"\|det J\| (?:=|is not equal to) {_V}",
        rf"ends? up with {_V} times",
        rf"{_V} times as large",
        rf"absolute value {_V}\b",
        rf"Jacobian determinant (?:equals|does not equal) {_V}\b",
    )
)
_SOME = re.compile(
    r"there are (?:points|places)|at some points|somewhere|one can find|one point or more|some part"
    r"|takes positive values"
)
_NOWHERE = re.compile(r"no (?:point|state|part|positive values)|never")
_SHRINK = re.compile(r"shrinks?\b|negative|less than 1|smaller")
_GROW = re.compile(r"grows?\b|positive|greater than 1|larger|exceeds 1")
_KEEP = re.compile(
    r"preserv(?:es?|ing)\b|is zero (?:everywhere|at all points)|keeps? (?:their|its) size|the same size"
    r"|vanishes at every|free of divergence"
)
_SUBJECT = re.compile(
    r"divergence|trace|diagonal entries|\bdet\b|determinant|\bareas?\b|\bvolumes?\b|derivatives of all right-hand sides"
)
_TIGHT = 1e-9


def volume_truth(system: ReadSystem, claim: str, denied: bool) -> bool | None:
    """The truth of a claim about volumes; None where there is none of the kind."""
    if not _SUBJECT.search(claim):
        return None
    points = points_in(system, claim) if "(" in claim else []
    if len(points) == 1:
        rate = float(_rates(system, np.array(points))[0])
        return _signed(rate, claim) != denied
    rates = _rates(system, _everywhere(system))
    for pattern in _VALUES:
        match = pattern.search(claim)
        if match:
            value = float(match[1])
            level = np.exp(rates) if system.discrete else rates
            return bool(np.allclose(level, value, rtol=1e-7, atol=1e-7)) != denied
    if _KEEP.search(claim):
        return bool(np.all(np.abs(rates) < _TIGHT)) != denied
    return _quantified(rates, claim, denied)


def _quantified(rates: NDArray[np.float64], claim: str, denied: bool) -> bool:
    """'Everywhere' and 'somewhere'; a denial inside of 'somewhere' belongs to what happens there."""
    signs = [_signed(float(rate), claim) for rate in rates]
    if _NOWHERE.search(claim):
        return not any(signs)
    if _SOME.search(claim):
        return any(sign != denied for sign in signs)
    return all(signs) != denied


def _signed(rate: float, claim: str) -> bool:
    shrink, grow = bool(_SHRINK.search(claim)), bool(_GROW.search(claim))
    if shrink == grow:
        raise DataError(f"the claim says neither growth nor decay: {claim!r}")
    if abs(rate) < _TIGHT:
        return False
    return (rate < 0) == shrink


def _rates(system: ReadSystem, points: NDArray[np.float64]) -> NDArray[np.float64]:
    """The divergence of a flow; the logarithm of the size of the determinant of a map."""
    matrices = [system.jacobian(point) for point in points]
    if system.discrete:
        return np.array([np.linalg.slogdet(matrix)[1] for matrix in matrices])
    return np.array([np.trace(matrix) for matrix in matrices])


def _everywhere(system: ReadSystem) -> NDArray[np.float64]:
    """Points at all scales, along the axes too, where single terms decide."""
    size = len(system.names)
    axes = [scale * row for scale in (1e-3, 1.0, 1e3) for row in np.eye(size)]
    clouds = [scattered(6, size, width) for width in (1e-3, 0.3, 3.0, 100.0)]
    return np.vstack([np.zeros((1, size)), np.array(axes), *clouds])
