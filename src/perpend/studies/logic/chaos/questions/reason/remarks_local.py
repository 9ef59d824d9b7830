"""Statements about the neighbourhood of a fixed point: stability, and whether the linearisation turns.

Near a stable fixed point a disturbance may grow for a while before it dies out; no wording speaks of that while.
"""

from __future__ import annotations

from perpend.studies.logic.chaos.questions.reason.definitions import STABLE
from perpend.studies.logic.chaos.questions.reason.remarks import Remark


def stable(where: str, size: int, discrete: bool) -> Remark:
    """Every eigenvalue at the fixed point makes disturbances decay."""
    one = "lies inside the unit circle" if discrete else "has a negative real part"
    many = "lie inside the unit circle" if discrete else "have negative real parts"
    point = f"the fixed point at {where}"
    return Remark(
        "stable",
        where,
        (
            (f"{point} is stable", f"{point} is not stable"),
            (
                f"every eigenvalue of the Jacobian matrix at {where} {one}",
                f"not every eigenvalue of the Jacobian matrix at {where} {one}",
            ),
            (
                f"all sufficiently small disturbances of {point} die out",
                f"it is not the case that all sufficiently small disturbances of {point} die out",
            ),
            (
                f"orbits that start close enough to {point} are drawn into it",
                f"it is not the case that orbits that start close enough to {point} are drawn into it",
            ),
            (
                f"the linearisation about {where} describes pure decay",
                f"the linearisation about {where} does not describe pure decay",
            ),
            (
                f"the eigenvalues of the Jacobian matrix at {where} all {many}",
                f"the eigenvalues of the Jacobian matrix at {where} do not all {many}",
            ),
            (f"{point} counts as stable", f"{point} does not count as stable"),
            (f"{where} is a stable fixed point", f"{where} is not a stable fixed point"),
            (
                f"going by its eigenvalues, {point} is stable",
                f"going by its eigenvalues, {point} is not stable",
            ),
            (
                f"{point} attracts all orbits that start close enough to it",
                f"{point} does not attract all orbits that start close enough to it",
            ),
            (
                f"small disturbances of {point} decay in the long run",
                f"it is not the case that all small disturbances of {point} decay in the long run",
            ),
        ),
        2 * size,
        STABLE[discrete],
    )


def unstable(where: str, size: int, discrete: bool) -> Remark:
    """Some eigenvalue at the fixed point makes disturbances grow."""
    part = "lies outside the unit circle" if discrete else "has a positive real part"
    point = f"the fixed point at {where}"
    return Remark(
        "unstable",
        where,
        (
            (f"{point} is unstable", f"{point} is not unstable"),
            (
                f"at least one eigenvalue of the Jacobian matrix at {where} {part}",
                f"no eigenvalue of the Jacobian matrix at {where} {part}",
            ),
            (
                f"some small disturbances of {point} grow instead of dying out",
                f"it is not the case that some small disturbances of {point} grow instead of dying out",
            ),
            (
                f"there are states as close as one likes to {point} that are driven away from it",
                f"no states close enough to {point} are driven away from it",
            ),
            (f"{point} counts as unstable", f"{point} does not count as unstable"),
            (f"{where} is an unstable fixed point", f"{where} is not an unstable fixed point"),
            (
                f"the Jacobian matrix at {where} has at least one eigenvalue that {part}",
                f"the Jacobian matrix at {where} has no eigenvalue that {part}",
            ),
            (
                f"going by its eigenvalues, {point} is unstable",
                f"going by its eigenvalues, {point} is not unstable",
            ),
            (
                f"some orbits that start as close as one likes to {point} leave its neighbourhood",
                f"no orbits that start close enough to {point} leave its neighbourhood",
            ),
            (
                f"one eigenvalue or more of the Jacobian matrix at {where} {part}",
                f"it is not the case that one eigenvalue or more of the Jacobian matrix at {where} {part}",
            ),
        ),
        2 * size,
        STABLE[discrete],
    )


def turning(where: str, size: int) -> Remark:
    """The linearisation has a pair of eigenvalues off the real axis."""
    return Remark(
        "turning",
        where,
        (
            (
                f"the Jacobian matrix at {where} has a pair of eigenvalues off the real axis",
                f"the Jacobian matrix at {where} has no pair of eigenvalues off the real axis",
            ),
            (
                f"at least two eigenvalues of the linearisation about {where} have nonzero imaginary parts",
                f"no eigenvalues of the linearisation about {where} have nonzero imaginary parts",
            ),
            (
                f"the linearisation about {where} describes motion that oscillates",
                f"the linearisation about {where} does not describe any motion that oscillates",
            ),
            (
                f"the eigenvalues at {where} include a complex-conjugate pair",
                f"the eigenvalues at {where} include no complex-conjugate pair",
            ),
            (
                f"the linearised equations about {where} have oscillating solutions",
                f"the linearised equations about {where} have no oscillating solutions",
            ),
            (
                f"the Jacobian matrix at {where} has eigenvalues with an imaginary part different from zero",
                f"the Jacobian matrix at {where} has no eigenvalues with an imaginary part different from zero",
            ),
            (
                f"some eigenvalues of the Jacobian matrix at {where} come as a complex-conjugate pair",
                f"no eigenvalues of the Jacobian matrix at {where} come as a complex-conjugate pair",
            ),
            (
                f"the characteristic polynomial at {where} has a pair of complex-conjugate roots",
                f"the characteristic polynomial at {where} has no pair of complex-conjugate roots",
            ),
        ),
        2 * size + 1,
    )


def straight(where: str, size: int) -> Remark:
    """All eigenvalues of the linearisation are real."""
    return Remark(
        "straight",
        where,
        (
            (
                f"all eigenvalues of the Jacobian matrix at {where} are real",
                f"the eigenvalues of the Jacobian matrix at {where} are not all real",
            ),
            (
                f"every eigenvalue of the linearisation about {where} is real",
                f"some eigenvalue of the linearisation about {where} fails to be real",
            ),
            (
                f"the eigenvalues at {where} all lie on the real axis",
                f"the eigenvalues at {where} do not all lie on the real axis",
            ),
            (
                f"the linearisation about {where} has real eigenvalues only",
                f"it is not the case that the linearisation about {where} has real eigenvalues only",
            ),
            (
                f"every eigenvalue found at {where} is a real number",
                f"not every eigenvalue found at {where} is a real number",
            ),
            (
                f"the linearised motion about {where} is free of oscillation",
                f"the linearised motion about {where} is not free of oscillation",
            ),
            (
                f"the spectrum of the Jacobian matrix at {where} is wholly real",
                f"the spectrum of the Jacobian matrix at {where} is not wholly real",
            ),
            (
                f"all roots of the characteristic polynomial at {where} are real",
                f"the roots of the characteristic polynomial at {where} are not all real",
            ),
        ),
        2 * size + 1,
    )
