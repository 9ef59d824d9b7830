"""Polynomials with exact coefficients and the systems that they make: flows and maps, and how these are printed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

Exponents = tuple[int, ...]
Point = tuple[Fraction, ...]


class Poly:
    """A sum of terms: exponents of the variables → coefficient, in the order in which they are printed."""

    def __init__(self, terms: Iterable[tuple[Exponents, Fraction]] = ()) -> None:
        self.terms: dict[Exponents, Fraction] = {}
        for exponents, coefficient in terms:
            self.terms[exponents] = self.terms.get(exponents, Fraction(0)) + coefficient
        self.terms = {exponents: c for exponents, c in self.terms.items() if c}

    def __add__(self, other: Poly) -> Poly:
        return Poly([*self.terms.items(), *other.terms.items()])

    def __mul__(self, other: Poly) -> Poly:
        return Poly(
            (tuple(i + j for i, j in zip(a, b, strict=True)), c * d)
            for a, c in self.terms.items()
            for b, d in other.terms.items()
        )

    def scaled(self, factor: Fraction) -> Poly:
        return Poly((exponents, factor * c) for exponents, c in self.terms.items())

    def slope(self, i: int) -> Poly:
        """The derivative in variable i."""
        return Poly(
            ((*exponents[:i], exponents[i] - 1, *exponents[i + 1 :]), c * exponents[i])
            for exponents, c in self.terms.items()
            if exponents[i]
        )

    def at(self, point: Sequence[Fraction]) -> Fraction:
        total = Fraction(0)
        for exponents, c in self.terms.items():
            for value, power in zip(point, exponents, strict=True):
                c *= value**power  # noqa: PLW2901
            total += c
        return total

    def moved(self, places: Sequence[int], signs: Sequence[int]) -> Poly:
        """With variable i replaced by signs[i] times variable places[i]."""
        moved = []
        for exponents, c in self.terms.items():
            new, sign = [0] * len(exponents), 1
            for i, power in enumerate(exponents):
                new[places[i]] += power
                sign *= signs[i] ** power
            moved.append((tuple(new), c * sign))
        return Poly(moved)

    def uses(self) -> set[int]:
        return {i for exponents in self.terms for i, power in enumerate(exponents) if power}

    def text(self, names: Sequence[str]) -> str:
        written = ""
        for exponents, c in self.terms.items():
            factors = [
                name if power == 1 else f"{name}^{power}" for name, power in zip(names, exponents, strict=True) if power
            ]
            size = abs(c)
            body = " ".join([*([] if size == 1 and factors else [decimal(size)]), *factors])
            sign = ("-" if c < 0 else "") if not written else (" - " if c < 0 else " + ")
            written += sign + body
        return written or "0"


def variable(i: int, of: int) -> Poly:
    return Poly([(tuple(int(j == i) for j in range(of)), Fraction(1))])


def constant(value: Fraction, of: int) -> Poly:
    return Poly([((0,) * of, value)])


def decimal(value: Fraction) -> str:
    """All digits of a number that has finitely many."""
    if value.denominator == 1:
        return str(value.numerator)
    digits = next(n for n in range(1, 12) if (value * 10**n).denominator == 1)
    return f"{float(value):.{digits}f}"


def point_text(point: Point) -> str:
    return f"({', '.join(map(decimal, point))})" if len(point) > 1 else decimal(point[0])


@dataclass(frozen=True)
class System:
    """dx/dt = rhs of each variable, or x[n+1] = rhs; `extra` names what stands behind the variables, as cos(2 t)."""

    names: tuple[str, ...]
    rhs: tuple[Poly, ...]
    discrete: bool
    extra: tuple[str, ...] = ()

    @cached_property
    def jacobian(self) -> list[list[Poly]]:
        return [[f.slope(j) for j in range(len(self.names))] for f in self.rhs]

    def slopes(self, point: Point) -> list[list[Fraction]]:
        return [[entry.at(point) for entry in row] for row in self.jacobian]

    @property
    def divergence(self) -> Poly:
        return sum((self.jacobian[i][i] for i in range(len(self.names))), Poly())

    def trace(self, point: Point) -> Fraction:
        return self.divergence.at(point)

    def det(self, point: Point) -> Fraction:
        return determinant(self.slopes(point))

    def after(self, point: Point) -> Point:
        return tuple(f.at(point) for f in self.rhs)

    def rests(self, point: Point) -> bool:
        return self.after(point) == (point if self.discrete else (Fraction(0),) * len(point))

    def excess(self, point: Point) -> float:
        """How far the eigenvalue that decides stability lies beyond the border: negative is stable."""
        eigenvalues = np.linalg.eigvals(np.array(self.slopes(point), dtype=float))
        return float(np.max(np.abs(eigenvalues)) - 1 if self.discrete else np.max(eigenvalues.real))

    def keeps(self, quantity: Poly) -> bool:
        """Whether a quantity is constant along every solution of the flow."""
        rate = sum((quantity.slope(i) * f for i, f in enumerate(self.rhs)), Poly())
        return not rate.terms

    def unchanged(self, places: Sequence[int], signs: Sequence[int]) -> bool:
        """Whether the equations keep their form when variable i becomes signs[i] times variable places[i]."""
        return all(
            f.moved(places, signs).terms == self.rhs[places[i]].scaled(Fraction(signs[i])).terms
            for i, f in enumerate(self.rhs)
        )

    def text(self, style: str) -> str:
        """The equations; the style writes {v} for a variable of the left side and {f} for its right side."""
        left, _, inside = style.partition("|")
        names = [inside.format(v=name) for name in self.names] if inside else list(self.names)
        written = [left.format(v=n, f=f.text([*names, *self.extra])) for n, f in zip(self.names, self.rhs, strict=True)]
        return written[0] if len(written) == 1 else ", ".join(written[:-1]) + " and " + written[-1]


def determinant(matrix: list[list[Fraction]]) -> Fraction:
    """By its first row: the matrices here are small."""
    if not matrix:
        return Fraction(1)
    below = [[row[:j] + row[j + 1 :] for row in matrix[1:]] for j in range(len(matrix))]
    return sum(((-1) ** j * c * determinant(below[j]) for j, c in enumerate(matrix[0]) if c), Fraction(0))
