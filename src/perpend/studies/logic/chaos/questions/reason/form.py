"""Squares about the form of the equations: conserved quantities, potentials, invariant sets, closed subsystems."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from perpend.studies.logic.chaos.questions.reason.equations import Dice, Equations, bare, poly_text, written, Stem
from perpend.studies.logic.chaos.questions.reason.poly import Monomial, Poly
from perpend.studies.logic.chaos.questions.reason.remarks_local import clocked, closed, conserved, invariant, potential
from perpend.studies.logic.chaos.questions.reason.square import (
    SIZES, Square, coefficients, crossed, filled, monomial, variables,
)  # fmt: skip

KIND = "form"
_RECIPES = (
    "energy",
    "energy",
    "energy",
    "sum",
    "sum",
    "sum",
    "potential",
    "potential",
    "invariant",
    "invariant",
    "closed",
    "clocked",
)
_TRIES = 12


def square(stem: Stem) -> Square | None:
    """The square that grows from a stem; None where the draw does not give one."""
    dice = Dice(stem, KIND)
    recipe = dice.pick(_RECIPES)
    make = {
        "energy": _energy, "sum": _sum, "potential": _potential,
        "invariant": _invariant, "closed": _closed, "clocked": _clocked,
    }  # fmt: skip
    return make[recipe](dice, stem)


def drift(system: Equations, quantity: Poly) -> Poly:
    """How fast the quantity changes along a flow; by how much in one step of a map, for a linear quantity."""
    total = Poly.constant(0)
    for name, side in zip(system.names, system.sides, strict=True):
        rate = side - Poly.variable(name) if system.discrete else side
        total = total + quantity.slope(name) * rate
    return total


def _landscape(dice: Dice, names: tuple[str, ...], number: int) -> list[Monomial]:
    """Terms of a quantity in all the variables."""
    squares = [monomial(n, n) for n in names]
    pool = [monomial(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    pool += [monomial(n, n, n) for n in names] + [monomial(n, n, n, n) for n in names]
    pool += [monomial(a, a, b) for a in names for b in names if a != b]
    return squares + dice.shuffled(pool)[:number]


def _quantities(dice: Dice, names: tuple[str, ...], terms: list[Monomial]) -> list[Poly] | None:
    """Two with the same terms and the same numbers, in another order."""
    numbers = coefficients(dice, len(terms), 6)
    first = filled([terms], numbers)[0]
    for _ in range(_TRIES):
        second = filled([terms], dice.shuffled(numbers))[0]
        if second.terms != first.terms:
            return [first, second]
    return None


def _named(stem: Stem, quantity: Poly) -> str:
    return poly_text(quantity, {}, stem, "quantity")


def _energy(dice: Dice, stem: Stem) -> Square | None:
    names = variables(dice, stem, dice.pick((2, 2, 2, 4)))
    half = len(names) // 2
    quantities = _quantities(dice, names, _landscape(dice, names, 2))
    if quantities is None:
        return None
    systems = []
    for h in quantities:
        # Pairs of variables: the first half moves with the slope by the second, and back.
        sides = [h.slope(names[i + half]) for i in range(half)] + [h.slope(names[i]).times(-1) for i in range(half)]
        systems.append(bare(names, sides, False))
    return _conserving(stem, systems, quantities, "energy")


def _sum(dice: Dice, stem: Stem) -> Square | None:
    names = variables(dice, stem, dice.pick(SIZES))
    weights = [Fraction(dice.sign() * dice.whole(1, 4)) for _ in names]
    last = dice.whole(0, len(names) - 1)
    weights[last] = Fraction(dice.sign())
    others = [i for i in range(len(names)) if i != last]
    quantities, systems = [], []
    pool = [monomial(n) for n in names] + [monomial(a, b) for i, a in enumerate(names) for b in names[i:]]
    shape = [dice.shuffled(pool)[: dice.whole(1, 2) if len(names) < 4 else 1] for _ in others]
    free = filled(shape, coefficients(dice, sum(map(len, shape)), 5))
    discrete = dice.pick((False, False, True))
    for _ in range(2):
        mixed = dice.shuffled([weights[i] for i in others])
        total = [Fraction(0)] * len(names)
        rates = [Poly.constant(0) for _ in names]
        total[last] = weights[last]
        for i, weight, rate in zip(others, mixed, free, strict=True):
            total[i] = weight * dice.sign()
            rates[i] = rate
            rates[last] = rates[last] - rate.times(total[i] * weights[last])
        quantities.append(Poly.of((monomial(n), w) for n, w in zip(names, total, strict=True)))
        sides = [r + Poly.variable(n) if discrete else r for r, n in zip(rates, names, strict=True)]
        systems.append(bare(names, sides, discrete))
    return _conserving(stem, systems, quantities, "sum")


def _conserving(stem: Stem, systems: list[Equations], quantities: list[Poly], recipe: str) -> Square | None:
    if any(not side.terms for system in systems for side in system.sides):
        return None
    if not crossed([[not drift(system, quantity).terms for quantity in quantities] for system in systems]):
        return None
    size, discrete = systems[0].size, systems[0].discrete
    one, other = (conserved(_named(stem, quantity), size, discrete) for quantity in quantities)
    return Square(KIND, recipe, written(stem, *systems), (one, other))


def _potential(dice: Dice, stem: Stem) -> Square | None:
    names = variables(dice, stem, dice.pick((2, 2, 3, 3, 4)))
    quantities = _quantities(dice, names, _landscape(dice, names, 2))
    if quantities is None:
        return None
    systems = [bare(names, [v.slope(n).times(-1) for n in names], False) for v in quantities]
    one, other = (potential(_named(stem, quantity), names) for quantity in quantities)
    return Square(KIND, "potential", written(stem, *systems), (one, other))


def _rows(dice: Dice, names: tuple[str, ...]) -> list[list[Monomial]]:
    pool = [monomial(n) for n in names] + [monomial(a, b) for i, a in enumerate(names) for b in names[i:]]
    return [dice.shuffled(pool)[: dice.whole(1, 2) if len(names) > 3 else 2] for _ in names]


def _invariant(dice: Dice, stem: Stem) -> Square | None:
    names = variables(dice, stem, dice.pick(SIZES))
    discrete = dice.pick((True, False, False))
    i, j = dice.shuffled(range(len(names)))[:2]
    rows = _rows(dice, names)
    for k in (i, j):
        # Both rates vanish with their own variable, but for the term that tells the partners apart.
        rows[k] = dice.shuffled([monomial(names[k], *([n] if n else [])) for n in ("", *names)])[: dice.whole(1, 2)]
    numbers = coefficients(dice, sum(map(len, rows)) + 1)
    sides = filled(rows, numbers[1:])
    systems = []
    for k, keeper in ((j, i), (i, j)):
        own = names[k]
        strange = dice.pick(
            [monomial(n) for n in names if n != own] + [monomial(names[keeper], n) for n in names if n != own]
        )
        new = list(sides)
        new[k] = new[k] + Poly.of([(strange, numbers[0])])
        systems.append(bare(names, new, discrete))
    if not crossed([[_vanishes(system, k) for k in (i, j)] for system in systems]):
        return None
    one, other = (invariant(f"{names[k]} = 0", len(names)) for k in (i, j))
    return Square(KIND, "invariant", written(stem, *systems), (one, other))


def _vanishes(system: Equations, index: int) -> bool:
    name = system.names[index]
    return all(any(factor == name for factor, _ in term) for term in system.sides[index].terms)


def _closed(dice: Dice, stem: Stem) -> Square | None:
    names = variables(dice, stem, dice.pick((3, 3, 4, 5, 6)))
    number = dice.whole(2, len(names) - 1)
    sets = [sorted(dice.shuffled(range(len(names)))[:number]) for _ in range(2)]
    if sets[0] == sets[1]:
        return None
    rows = []
    for k in range(len(names)):
        allowed = [n for i, n in enumerate(names) if all(i in s for s in sets if k in s)]
        pool = [monomial(n) for n in allowed] + [monomial(a, b) for i, a in enumerate(allowed) for b in allowed[i:]]
        rows.append(dice.shuffled(pool)[: dice.whole(1, 2)])
    numbers = coefficients(dice, sum(map(len, rows)) + 1)
    sides = filled(rows, numbers[1:])
    systems = []
    for keeps, breaks in (sets, sets[::-1]):
        # A variable of the other set feels one from outside of it; this set must not notice.
        links = [
            (k, i) for k in breaks for i in range(len(names)) if i not in breaks and (k not in keeps or i in keeps)
        ]
        if not links:
            return None
        k, i = dice.pick(links)
        new = list(sides)
        new[k] = new[k] + Poly.of([(monomial(names[i], *dice.pick(((), (names[k],)))), numbers[0])])
        systems.append(bare(names, new, False))
    if not crossed([[_shut(system, s) for s in sets] for system in systems]):
        return None
    one, other = (closed([names[i] for i in s], [n for i, n in enumerate(names) if i not in s]) for s in sets)
    return Square(KIND, "closed", written(stem, *systems), (one, other))


def _shut(system: Equations, inside: Sequence[int]) -> bool:
    own = {system.names[i] for i in inside}
    return all(system.sides[i].names() <= own for i in inside)


def _clocked(dice: Dice, stem: Stem) -> Square | None:
    names = variables(dice, stem, dice.pick((2, 3, 3, 4)))
    rows = _rows(dice, names)
    numbers = coefficients(dice, sum(map(len, rows)) + 2)
    sides = filled(rows, numbers[2:])
    i, j = dice.shuffled(range(len(names)))[:2]
    wave = f"{dice.pick(('sin', 'cos'))}({dice.whole(2, 5)} "
    other = dice.pick(names)
    systems = []
    for k, decoy in ((i, j), (j, i)):
        new = list(sides)
        new[k] = new[k] + Poly.of([(monomial(f"{wave}t)"), numbers[0])])
        new[decoy] = new[decoy] + Poly.of([(monomial(f"{wave}{other})"), numbers[1])])
        systems.append(bare(names, new, False))
    if not crossed([["t" in system.sides[k].names() for k in (i, j)] for system in systems]):
        return None
    one, two = (clocked(names[k], len(names)) for k in (i, j))
    return Square(KIND, "clocked", written(stem, *systems), (one, two))
