"""Polynomials with exact coefficients in variables and in sines and cosines of one variable."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from perpend.errors import DataError

Monomial = tuple[tuple[str, int], ...]
"""Factors and their powers, in the order of the factors; a factor is 'x', 'sin(2 x)' or 'cos(x)'."""

_WAVE = re.compile(r"(sin|cos)\((?:(\d+) )?(\w+)\)")


@dataclass(frozen=True, slots=True)
class Poly:
    """A sum of monomials; none has the coefficient 0."""

    terms: Mapping[Monomial, Fraction]

    @staticmethod
    def of(terms: Iterable[tuple[Monomial, Fraction]]) -> Poly:
        """The sum of the given terms."""
        total: dict[Monomial, Fraction] = {}
        for monomial, coefficient in terms:
            total[monomial] = total.get(monomial, Fraction(0)) + coefficient
        return Poly({monomial: value for monomial, value in sorted(total.items()) if value})

    @staticmethod
    def constant(value: Fraction | int) -> Poly:
        """The polynomial that is `value` everywhere."""
        return Poly.of([((), Fraction(value))])

    @staticmethod
    def variable(name: str) -> Poly:
        """The polynomial that is a factor alone."""
        return Poly.of([(((name, 1),), Fraction(1))])

    def __add__(self, other: Poly) -> Poly:
        return Poly.of([*self.terms.items(), *other.terms.items()])

    def __sub__(self, other: Poly) -> Poly:
        return self + other.times(-1)

    def __mul__(self, other: Poly) -> Poly:
        return Poly.of(
            (product(left, right), a * b) for left, a in self.terms.items() for right, b in other.terms.items()
        )

    def times(self, value: Fraction | int) -> Poly:
        """Every coefficient multiplied by `value`."""
        return Poly.of((monomial, coefficient * value) for monomial, coefficient in self.terms.items())

    def power(self, exponent: int) -> Poly:
        """The polynomial multiplied by itself; the zeroth power is 1."""
        result = Poly.constant(1)
        for _ in range(exponent):
            result = result * self
        return result

    def slope(self, name: str) -> Poly:
        """The partial derivative by a variable."""
        parts = []
        for monomial, coefficient in self.terms.items():
            for factor, exponent in monomial:
                outer = coefficient * exponent
                rest = product(*([(f, e)] if f != factor else [(f, e - 1)] for f, e in monomial))
                for inner, weight in _factor_slope(factor, name):
                    parts.append((product(rest, inner), outer * weight))
        return Poly.of(parts)

    def at(self, point: Mapping[str, Fraction]) -> Fraction:
        """The value at a point. Raises DataError for a wave anywhere but at 0, where its value is no fraction."""
        total = Fraction(0)
        for monomial, coefficient in self.terms.items():
            value = coefficient
            for factor, exponent in monomial:
                value *= _factor_value(factor, point) ** exponent
            total += value
        return total

    def moved(self, names: Mapping[str, str], signs: Mapping[str, int]) -> Poly:
        """Every variable replaced by another, with a sign."""
        parts = []
        for monomial, coefficient in self.terms.items():
            factors = []
            value = coefficient
            for factor, exponent in monomial:
                wave = _WAVE.fullmatch(factor)
                name = wave[3] if wave else factor
                odd = wave is None or wave[1] == "sin"
                value *= signs.get(name, 1) ** exponent if odd else 1
                new = names.get(name, name)
                factors.append([(factor.replace(name + ")", new + ")") if wave else new, exponent)])
            parts.append((product(*factors), value))
        return Poly.of(parts)

    def names(self) -> frozenset[str]:
        """The variables that it depends on."""
        factors = [factor for monomial in self.terms for factor, _ in monomial]
        return frozenset(wave[3] if (wave := _WAVE.fullmatch(factor)) else factor for factor in factors)

    @property
    def degree(self) -> int:
        """The largest number of factors of a term; a wave counts two."""
        return max((sum(e * (1 + ("(" in f)) for f, e in monomial) for monomial in self.terms), default=0)


def product(*monomials: Iterable[tuple[str, int]]) -> Monomial:
    """The product of monomials."""
    powers: dict[str, int] = {}
    for monomial in monomials:
        for factor, exponent in monomial:
            powers[factor] = powers.get(factor, 0) + exponent
    return tuple(sorted((factor, exponent) for factor, exponent in powers.items() if exponent))


def plain(value: Fraction) -> str:
    """A fraction as a decimal number, '-0.5'. Raises DataError where three decimals do not hold it exactly."""
    thousandths = value * 1000
    if thousandths.denominator != 1:
        raise DataError(f"{value} has more than three decimals; draw other numbers")
    text = f"{abs(thousandths.numerator) // 1000}.{abs(thousandths.numerator) % 1000:03d}".rstrip("0").rstrip(".")
    return f"-{text}" if value < 0 else text


def _factor_slope(factor: str, name: str) -> list[tuple[Monomial, Fraction]]:
    wave = _WAVE.fullmatch(factor)
    if wave is None:
        return [((), Fraction(1))] if factor == name else []
    if wave[3] != name:
        return []
    other, sign = ("cos", 1) if wave[1] == "sin" else ("sin", -1)
    return [(((factor.replace(wave[1], other), 1),), Fraction(sign * int(wave[2] or 1)))]


def _factor_value(factor: str, point: Mapping[str, Fraction]) -> Fraction:
    wave = _WAVE.fullmatch(factor)
    if wave is None:
        return point[factor]
    if point[wave[3]] != 0:
        raise DataError(f"{factor} is no fraction at {point[wave[3]]}")
    return Fraction(int(wave[1] == "cos"))
