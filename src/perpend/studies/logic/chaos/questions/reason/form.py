"""Quartets about the form of the equations: conserved quantities, potentials, invariant sets, closed subsystems."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from perpend.studies.logic.chaos.questions.reason.equations import Equations, Lots, Stem, bare, poly_text, written
from perpend.studies.logic.chaos.questions.reason.poly import Monomial, Poly
from perpend.studies.logic.chaos.questions.reason.quartet import (
    SIZES,
    Quartet,
    coefficients,
    crossed,
    filled,
    monomial,
    variables,
)  # fmt: skip
from perpend.studies.logic.chaos.questions.reason.remarks_form import (
    clocked,
    closed,
    conserved,
    hamiltonian,
    invariant,
    linear,
    potential,
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
    "closed",
    "closed",
    "clocked",
    "linear",
    "hamilton",
    "hamilton",
)
_TRIES = 12


def quartet(stem: Stem) -> Quartet | None:
    """The quartet that grows from a stem; None where the draw does not give one."""
    lots = Lots(stem, KIND)
    recipe = lots.pick(_RECIPES)
    make = {
        "energy": _energy, "sum": _sum, "potential": _potential,
        "invariant": _invariant, "closed": _closed,         "clocked": _clocked,
        "linear": _linear,
        "hamilton": _hamilton,
    }  # fmt: skip
    return make[recipe](lots, stem)


def drift(system: Equations, quantity: Poly) -> Poly:
    """How fast the quantity changes along a flow; by how much in one step of a map, for a linear quantity."""
    total = Poly.constant(0)
    for name, side in zip(system.names, system.sides, strict=True):
        rate = side - Poly.variable(name) if system.discrete else side
        total = total + quantity.slope(name) * rate
    return total


def _landscape(lots: Lots, names: tuple[str, ...], number: int) -> list[Monomial]:
    """Terms of a quantity in all the variables."""
    squares = [monomial(n, n) for n in names]
    pool = [monomial(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    pool += [monomial(n, n, n) for n in names] + [monomial(n, n, n, n) for n in names]
    pool += [monomial(a, a, b) for a in names for b in names if a != b]
    return squares + lots.shuffled(pool)[:number]


def _quantities(lots: Lots, terms: list[Monomial], opposite: bool = False) -> list[Poly] | None:
    """Two with the same terms and the same numbers in another order, or where allowed with opposite signs."""
    numbers = coefficients(lots, len(terms), 6)
    first = filled([terms], numbers)[0]
    if opposite and lots.pick((True, False, False)):
        return [first, first.times(-1)]
    for _ in range(_TRIES):
        second = filled([terms], lots.shuffled(numbers))[0]
        if second.terms != first.terms:
            return [first, second]
    return None


def _named(stem: Stem, quantity: Poly) -> str:
    return poly_text(quantity, {}, stem, "quantity")


def _energy(lots: Lots, stem: Stem) -> Quartet | None:
    names = variables(lots, stem, lots.pick((2, 2, 2, 4)))
    half = len(names) // 2
    quantities = _quantities(lots, _landscape(lots, names, 2))
    if quantities is None:
        return None
    systems = []
    for h in quantities:
        # Pairs of variables: the first half moves with the slope by the second, and back.
        sides = [h.slope(names[i + half]) for i in range(half)] + [h.slope(names[i]).times(-1) for i in range(half)]
        systems.append(bare(names, sides, False))
    return _conserving(stem, systems, quantities, "energy")


def _sum(lots: Lots, stem: Stem) -> Quartet | None:
    names = variables(lots, stem, lots.pick(SIZES))
    weights = [Fraction(lots.sign() * lots.whole(1, 4)) for _ in names]
    last = lots.whole(0, len(names) - 1)
    weights[last] = Fraction(lots.sign())
    others = [i for i in range(len(names)) if i != last]
    quantities, systems = [], []
    pool = [monomial(n) for n in names] + [monomial(a, b) for i, a in enumerate(names) for b in names[i:]]
    shape = [lots.shuffled(pool)[: lots.whole(1, 2) if len(names) < 4 else 1] for _ in others]
    free = filled(shape, coefficients(lots, sum(map(len, shape)), 5))
    discrete = lots.pick((False, False, True))
    for _ in range(2):
        mixed = lots.shuffled([weights[i] for i in others])
        total = [Fraction(0)] * len(names)
        rates = [Poly.constant(0) for _ in names]
        total[last] = weights[last]
        for i, weight, rate in zip(others, mixed, free, strict=True):
            total[i] = weight * lots.sign()
            rates[i] = rate
            rates[last] = rates[last] - rate.times(total[i] * weights[last])
        quantities.append(Poly.of((monomial(n), w) for n, w in zip(names, total, strict=True)))
        sides = [r + Poly.variable(n) if discrete else r for r, n in zip(rates, names, strict=True)]
        systems.append(bare(names, sides, discrete))
    return _conserving(stem, systems, quantities, "sum")


def _hamilton(lots: Lots, stem: Stem) -> Quartet | None:
    names = variables(lots, stem, 2)
    x, y = lots.shuffled(names)
    quantities = _quantities(lots, _landscape(lots, names, 2), opposite=True)
    if quantities is None:
        return None
    rates = [{x: h.slope(y), y: h.slope(x).times(-1)} for h in quantities]
    systems = [bare(names, [rate[n] for n in names], False) for rate in rates]
    one, other = (hamiltonian(_named(stem, quantity), x, y) for quantity in quantities)
    return Quartet(KIND, "hamilton", written(stem, *systems), (one, other))


def _conserving(stem: Stem, systems: list[Equations], quantities: list[Poly], recipe: str) -> Quartet | None:
    if any(not side.terms for system in systems for side in system.sides):
        return None
    if not crossed([[not drift(system, quantity).terms for quantity in quantities] for system in systems]):
        return None
    size, discrete = systems[0].size, systems[0].discrete
    one, other = (conserved(_named(stem, quantity), size, discrete) for quantity in quantities)
    return Quartet(KIND, recipe, written(stem, *systems), (one, other))


def _potential(lots: Lots, stem: Stem) -> Quartet | None:
    names = variables(lots, stem, lots.pick((2, 2, 3, 3, 4)))
    quantities = _quantities(lots, _landscape(lots, names, 2), opposite=True)
    if quantities is None:
        return None
    systems = [bare(names, [v.slope(n).times(-1) for n in names], False) for v in quantities]
    one, other = (potential(_named(stem, quantity), names) for quantity in quantities)
    return Quartet(KIND, "potential", written(stem, *systems), (one, other))


def _rows(lots: Lots, names: tuple[str, ...]) -> list[list[Monomial]]:
    pool = [monomial(n) for n in names] + [monomial(a, b) for i, a in enumerate(names) for b in names[i:]]
    return [lots.shuffled(pool)[: lots.whole(1, 2) if len(names) > 3 else 2] for _ in names]


def _invariant(lots: Lots, stem: Stem) -> Quartet | None:
    names = variables(lots, stem, lots.pick(SIZES))
    discrete = lots.pick((True, False, False))
    i, j = lots.shuffled(range(len(names)))[:2]
    rows = _rows(lots, names)
    for k in (i, j):
        # Both rates vanish with their own variable, but for the term that tells the partners apart.
        rows[k] = lots.shuffled([monomial(names[k], *([n] if n else [])) for n in ("", *names)])[: lots.whole(1, 2)]
    numbers = coefficients(lots, sum(map(len, rows)) + 1)
    sides = filled(rows, numbers[1:])
    systems = []
    for k, keeper in ((j, i), (i, j)):
        own = names[k]
        strange = lots.pick(
            [monomial(n) for n in names if n != own] + [monomial(names[keeper], n) for n in names if n != own]
        )
        new = list(sides)
        new[k] = new[k] + Poly.of([(strange, numbers[0])])
        systems.append(bare(names, new, discrete))
    if not crossed([[_vanishes(system, k) for k in (i, j)] for system in systems]):
        return None
    one, other = (invariant(f"{names[k]} = 0", len(names)) for k in (i, j))
    return Quartet(KIND, "invariant", written(stem, *systems), (one, other))


def _vanishes(system: Equations, index: int) -> bool:
    name = system.names[index]
    return all(any(factor == name for factor, _ in term) for term in system.sides[index].terms)


def _closed(lots: Lots, stem: Stem) -> Quartet | None:
    names = variables(lots, stem, lots.pick((3, 3, 4, 5, 6)))
    number = lots.whole(2, len(names) - 1)
    sets = [sorted(lots.shuffled(range(len(names)))[:number]) for _ in range(2)]
    if sets[0] == sets[1]:
        return None
    rows = []
    for k in range(len(names)):
        allowed = [n for i, n in enumerate(names) if all(i in s for s in sets if k in s)]
        pool = [monomial(n) for n in allowed] + [monomial(a, b) for i, a in enumerate(allowed) for b in allowed[i:]]
        rows.append(lots.shuffled(pool)[: lots.whole(1, 2)])
    numbers = coefficients(lots, sum(map(len, rows)) + 1)
    sides = filled(rows, numbers[1:])
    systems = []
    for keeps, breaks in (sets, sets[::-1]):
        # A variable of the other set feels one from outside of it; this set must not notice.
        links = [
            (k, i) for k in breaks for i in range(len(names)) if i not in breaks and (k not in keeps or i in keeps)
        ]
        if not links:
            return None
        k, i = lots.pick(links)
        new = list(sides)
        new[k] = new[k] + Poly.of([(monomial(names[i], *lots.pick(((), (names[k],)))), numbers[0])])
        systems.append(bare(names, new, False))
    if not crossed([[_shut(system, s) for s in sets] for system in systems]):
        return None
    one, other = (closed([names[i] for i in s], [n for i, n in enumerate(names) if i not in s]) for s in sets)
    return Quartet(KIND, "closed", written(stem, *systems), (one, other))


def _shut(system: Equations, inside: Sequence[int]) -> bool:
    own = {system.names[i] for i in inside}
    return all(system.sides[i].names() <= own for i in inside)


def _clocked(lots: Lots, stem: Stem) -> Quartet | None:
    names = variables(lots, stem, lots.pick((2, 3, 3, 4)))
    rows = _rows(lots, names)
    numbers = coefficients(lots, sum(map(len, rows)) + 2)
    sides = filled(rows, numbers[2:])
    i, j = lots.shuffled(range(len(names)))[:2]
    wave = f"{lots.pick(('sin', 'cos'))}({lots.whole(2, 5)} "
    other = lots.pick(names)
    systems = []
    for k, decoy in ((i, j), (j, i)):
        new = list(sides)
        new[k] = new[k] + Poly.of([(monomial(f"{wave}t)"), numbers[0])])
        new[decoy] = new[decoy] + Poly.of([(monomial(f"{wave}{other})"), numbers[1])])
        systems.append(bare(names, new, False))
    if not crossed([["t" in system.sides[k].names() for k in (i, j)] for system in systems]):
        return None
    one, two = (clocked(names[k], len(names)) for k in (i, j))
    return Quartet(KIND, "clocked", written(stem, *systems), (one, two))


def _linear(lots: Lots, stem: Stem) -> Quartet | None:
    names = variables(lots, stem, lots.pick((2, 3, 3, 4)))
    i, j = lots.shuffled(range(len(names)))[:2]
    rows = _rows(lots, names)
    for k in (i, j):
        rows[k] = [monomial(n) for n in lots.shuffled(names)[:2]]
    numbers = coefficients(lots, sum(map(len, rows)) + 2)
    sides = filled(rows, numbers[2:])
    first, second = lots.shuffled(names)[:2]
    bend = lots.pick((monomial(first, second), monomial(first, first), monomial(f"sin({first})")))
    systems = []
    for straight_one, bent in ((i, j), (j, i)):
        new = list(sides)
        new[bent] = new[bent] + Poly.of([(bend, numbers[0])])
        # What only depends on time leaves an equation linear.
        new[straight_one] = new[straight_one] + Poly.of([(monomial("cos(2 t)"), numbers[1])])
        systems.append(bare(names, new, False))
    if not crossed([[_is_linear(system.sides[k]) for k in (i, j)] for system in systems]):
        return None
    one, other = (linear(names[k], len(names)) for k in (i, j))
    return Quartet(KIND, "linear", written(stem, *systems), (one, other))


def _is_linear(side: Poly) -> bool:
    state = [[factor for factor, _ in term if not factor.endswith("t)")] for term in side.terms]
    powers = [sum(e for f, e in term if not f.endswith("t)")) for term in side.terms]
    return max(powers) <= 1 and not any("(" in factor for factors in state for factor in factors)
