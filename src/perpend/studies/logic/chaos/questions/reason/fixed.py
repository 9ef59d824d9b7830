"""Quartets about fixed points: where they are, how many there are, and cycles of two points."""

from __future__ import annotations

from fractions import Fraction

from perpend.studies.logic.chaos.questions.reason.equations import Equations, Lots, Stem, bare, written
from perpend.studies.logic.chaos.questions.reason.poly import Monomial, Poly
from perpend.studies.logic.chaos.questions.reason.quartet import (
    SIZES,
    Quartet,
    coefficients,
    crossed,
    filled,
    located,
    monomial,
    variables,
)  # fmt: skip
from perpend.studies.logic.chaos.questions.reason.remarks_points import fixed, fixed_count, two_cycle

KIND = "fixed_point"
_RECIPES = ("point", "point", "point", "point", "count", "cycle", "cycle")
_LARGEST = 30


def quartet(stem: Stem) -> Quartet | None:
    """The quartet that grows from a stem; None where the draw does not give one."""
    lots = Lots(stem, KIND)
    recipe = lots.pick(_RECIPES)
    return {"point": _point, "count": _count, "cycle": _cycle}[recipe](lots, stem)


def _terms(lots: Lots, names: tuple[str, ...], own: str, number: int) -> list[Monomial]:
    near = list(dict.fromkeys([own, *lots.shuffled(names)[:2]]))
    pool = [monomial(a) for a in near] + [monomial(a, b) for i, a in enumerate(near) for b in near[i:]]
    pool += [monomial(own, own, own)]
    return lots.shuffled(pool)[:number]


def _close(lots: Lots, point: list[Fraction]) -> list[Fraction]:
    """A point that differs in one or two places."""
    other = list(point)
    for i in lots.shuffled(range(len(point)))[: lots.whole(1, min(2, len(point)))]:
        other[i] = Fraction(lots.whole(-4, 4))
    return other


def _rests(system: Equations, point: list[Fraction]) -> bool:
    aim = tuple(point) if system.discrete else (0,) * system.size
    return system.values(point) == aim


def _point(lots: Lots, stem: Stem) -> Quartet | None:
    names = variables(lots, stem, lots.pick((1, *SIZES)))
    discrete = lots.pick((True, False, False))
    shape = [_terms(lots, names, own, lots.whole(1, 2) if len(names) > 3 else lots.whole(2, 3)) for own in names]
    numbers = coefficients(lots, sum(map(len, shape)), 5)
    sides = filled(shape, numbers)
    first = [Fraction(lots.whole(-4, 4)) for _ in names]
    points = [first, _close(lots, first)]
    systems = []
    for point in points:
        values = bare(names, sides, discrete).values(point)
        offsets = [(p if discrete else 0) - v for p, v in zip(point, values, strict=True)]
        if any(abs(offset) > _LARGEST for offset in offsets):
            return None
        systems.append(bare(names, [s + Poly.constant(o) for s, o in zip(sides, offsets, strict=True)], discrete))
    if not crossed([[_rests(system, point) for point in points] for system in systems]):
        return None
    one, other = (fixed(located(names, point), len(names), discrete) for point in points)
    return Quartet(KIND, "point", written(stem, *systems), (one, other))


def _count(lots: Lots, stem: Stem) -> Quartet | None:
    """Rates that are products of a variable and a quadratic: one real root each, or three."""
    pairs = lots.pick((1, 1, 1, 2, 2, 3))
    oscillators = pairs < 3 and lots.pick((True, False))
    size = 2 * pairs if oscillators else pairs
    if size == 1:
        return None
    names = variables(lots, stem, size)
    places = [names[2 * i] if oscillators else names[i] for i in range(pairs)]
    numbers = coefficients(lots, 3 * pairs, 6)
    systems, counts = [], []
    for _ in range(2):
        drawn = lots.shuffled(numbers)
        sides: list[Poly] = []
        count = 1
        for i, x in enumerate(places):
            a, b, c = drawn[3 * i : 3 * i + 3]
            if oscillators:
                y = names[2 * i + 1]
                sides += [Poly.variable(y), Poly.of([(monomial(x, x, x), a), (monomial(x), b), (monomial(y), c)])]
                roots = _roots(a, Fraction(0), b)
            else:
                sides.append(Poly.of([(monomial(x, x, x), a), (monomial(x, x), b), (monomial(x), c)]))
                roots = _roots(a, b, c)
            if roots is None:
                return None
            count *= roots
        systems.append(bare(names, sides, False))
        counts.append(count)
    if counts[0] == counts[1]:
        return None
    one, other = (fixed_count(count, 2 * pairs + size) for count in counts)
    return Quartet(KIND, "count", written(stem, *systems), (one, other))


def _roots(a: Fraction, b: Fraction, c: Fraction) -> int | None:
    """How many real roots a x^3 + b x^2 + c x has; None where two of them coincide."""
    inside = b * b - 4 * a * c
    return None if inside == 0 or c == 0 else 3 if inside > 0 else 1


def _cycle(lots: Lots, stem: Stem) -> Quartet | None:
    """Maps in which a constant and one coefficient in each rule are chosen such that two points change places."""
    names = variables(lots, stem, lots.pick((1, 1, 2, 2, 3)))
    shape = [lots.shuffled(_terms(lots, names, own, 6))[: lots.whole(2, 3)] for own in names]
    numbers = coefficients(lots, sum(map(len, shape)), 3)
    first, second = ([Fraction(lots.whole(-3, 4)) for _ in names] for _ in range(2))
    third = [b if lots.pick((True, False)) else a for a, b in zip(first, _close(lots, second), strict=True)]
    pairs = [(first, second), (third, _close(lots, second))]
    systems = []
    for one, two in pairs:
        sides = _exchanging(filled(shape, numbers), names, shape, one, two)
        if sides is None:
            return None
        systems.append(bare(names, sides, True))
    if not crossed([[_exchanges(system, *pair) for pair in pairs] for system in systems]):
        return None
    left, right = (two_cycle(located(names, a), located(names, b), len(names)) for a, b in pairs)
    return Quartet(KIND, "cycle", written(stem, *systems), (left, right))


def _exchanges(system: Equations, one: list[Fraction], two: list[Fraction]) -> bool:
    return one != two and list(system.values(one)) == two and list(system.values(two)) == one


def _exchanging(
    sides: list[Poly], names: tuple[str, ...], shape: list[list[Monomial]], one: list[Fraction], two: list[Fraction]
) -> list[Poly] | None:
    here, there = (dict(zip(names, point, strict=True)) for point in (one, two))
    result = []
    for i, side in enumerate(sides):
        free = Poly.of([(shape[i][0], Fraction(1))])
        spread = free.at(here) - free.at(there)
        if not spread:
            return None
        gain = ((two[i] - one[i]) - (side.at(here) - side.at(there))) / spread
        full = side + free.times(gain)
        offset = two[i] - full.at(here)
        full = full + Poly.constant(offset)
        if abs(offset) > _LARGEST or any((value * 10).denominator != 1 for value in full.terms.values()):
            return None
        result.append(full)
    return result
