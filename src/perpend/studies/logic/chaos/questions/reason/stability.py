"""Quartets about what happens close to a fixed point, decided by blocks of one or two rows."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from perpend.studies.logic.chaos.questions.reason.equations import Equations, Lots, Stem, bare, written
from perpend.studies.logic.chaos.questions.reason.poly import Poly
from perpend.studies.logic.chaos.questions.reason.quartet import (
    SIZES,
    Quartet,
    coefficients,
    crossed,
    located,
    monomial,
    variables,
)  # fmt: skip
from perpend.studies.logic.chaos.questions.reason.remarks_local import stable, straight, turning, unstable

KIND = "stability"
_RECIPES = (*("flow",) * 8, *("turning",) * 6, *("map",) * 5, "ends", "ends", "map ends")
"""Blocks seldom come out as wanted, so they are tried more often."""
_TRIES = 60
_LARGEST = 60

Matrix = list[list[Fraction]]


def quartet(stem: Stem) -> Quartet | None:
    """The quartet that grows from a stem; None where the draw does not give one."""
    lots = Lots(stem, KIND)
    recipe = lots.pick(_RECIPES)
    return _ends(lots, stem, recipe == "map ends") if "ends" in recipe else _blocks(lots, stem, recipe)


def verdict(block: Matrix, question: str) -> bool | None:
    """Whether a block of one or two rows is stable as a 'flow' or 'map', or turns; None on the border."""
    if len(block) == 1:
        value = block[0][0]
        if question == "turning":
            return False
        edge = abs(value) - 1 if question == "map" else value
        return None if edge == 0 else edge < 0
    (a, b), (c, d) = block
    trace, det = a + d, a * d - b * c
    if question == "turning":
        inside = trace * trace - 4 * det
        return None if inside == 0 else inside < 0
    # Flow: trace < 0 < det. Map: |trace| < 1 + det < 2.
    edges = (trace, -det) if question == "flow" else (abs(trace) - 1 - det, det - 1)
    return None if 0 in edges else all(edge < 0 for edge in edges)


def _blocks(lots: Lots, stem: Stem, recipe: str) -> Quartet | None:
    size = lots.pick(SIZES if recipe != "map" else (1, *SIZES))
    names = variables(lots, stem, size)
    order = lots.shuffled(range(size))
    groups = [order[:2]] if size > 1 else [order]
    rest = order[2:]
    while rest:
        step = 2 if len(rest) > 1 and lots.pick((True, False, False)) else 1
        groups.append(rest[:step])
        rest = rest[step:]
    places = [(i, j) for group in groups for i in group for j in group]
    # Couplings from later groups to earlier ones leave the eigenvalues alone.
    later = [(i, j) for n, group in enumerate(groups) for i in group for other in groups[n + 1 :] for j in other]
    places += lots.shuffled(later)[: max(1, size // 2)] if later else []
    numbers = coefficients(lots, len(places), 2 if recipe == "map" else 9, tenths=True if recipe == "map" else None)
    signs = [1 if n > 0 else -1 for n in numbers]
    question = recipe if recipe == "map" else "flow" if recipe == "flow" else "turning"
    blocks: dict[bool, Matrix] = {}
    for _ in range(_TRIES):
        # Signs stay where they are and sizes change places: neither the signs nor the set of sizes tells the label.
        sizes = lots.shuffled([abs(n) for n in numbers])
        matrix = [[Fraction(0)] * size for _ in names]
        for (i, j), sign, value in zip(places, signs, sizes, strict=True):
            matrix[i][j] = sign * value
        verdicts = [verdict([[matrix[i][j] for j in group] for i in group], question) for group in groups]
        if None in verdicts:
            continue
        blocks.setdefault(any(verdicts) if question == "turning" else all(verdicts), matrix)
        if len(blocks) == 2:
            break
    if len(blocks) < 2:
        return None
    extra = _bends(lots, names)
    point = [Fraction(lots.whole(-2, 2)) if size < 4 and lots.pick((True, False)) else Fraction(0) for _ in names]
    discrete = recipe == "map"
    systems = [_about(names, blocks[label], extra, point, discrete) for label in (True, False)]
    if any(abs(value) > _LARGEST for system in systems for side in system.sides for value in side.terms.values()):
        return None
    where = located(names, point)
    if question == "turning":
        remarks = turning(where, size), straight(where, size)
    else:
        remarks = stable(where, size, discrete), unstable(where, size, discrete)
    return Quartet(KIND, recipe, written(stem, *systems), remarks)


def _bends(lots: Lots, names: tuple[str, ...]) -> list[Poly]:
    """A nonlinear term in some of the equations, as it is where the fixed point is the origin."""
    bends = [Poly.constant(0) for _ in names]
    for i in lots.shuffled(range(len(names)))[: 1 + len(names) // 2]:
        factors = [lots.pick(names) for _ in range(lots.pick((2, 2, 3)))]
        bends[i] = Poly.of([(monomial(*factors), Fraction(lots.sign() * lots.whole(1, 4)))])
    return bends


def _about(
    names: tuple[str, ...], matrix: Matrix, extra: Sequence[Poly], point: Sequence[Fraction], discrete: bool
) -> Equations:
    """The system with this linear part about the point."""
    shifted = {n: Poly.variable(n) - Poly.constant(p) for n, p in zip(names, point, strict=True)}
    sides = []
    for i, row in enumerate(matrix):
        side = Poly.constant(point[i] if discrete else 0)
        for n, value in zip(names, row, strict=True):
            side = side + shifted[n].times(value)
        for term, value in extra[i].terms.items():
            part = Poly.constant(value)
            for factor, exponent in term:
                part = part * shifted[factor].power(exponent)
            side = side + part
        sides.append(side)
    return bare(names, sides, discrete)


def _ends(lots: Lots, stem: Stem, discrete: bool) -> Quartet | None:
    """Two fixed points on one axis, of which one is stable; the partner is the other way round."""
    size = lots.pick((1, 1, 2, 2, 3))
    names = variables(lots, stem, size)
    x = lots.pick(names)
    low = Fraction(lots.whole(-4, 3))
    high = low + lots.whole(1, 4)
    gain = Fraction(lots.whole(1, 9), 10) if discrete else Fraction(lots.whole(1, 6))
    if discrete and not 0 < gain * (high - low) < 2:
        return None
    # The remaining variables decay to 0 by themselves.
    rates = [Fraction(lots.sign() * lots.whole(1, 9), 10) if discrete else Fraction(-lots.whole(1, 6)) for _ in names]
    bend = Fraction(lots.sign() * lots.whole(1, 5))
    systems = []
    for sign in lots.shuffled((1, -1)):
        sides = []
        for n, rate in zip(names, rates, strict=True):
            if n == x:
                along = Poly.variable(x) - Poly.constant(low)
                side = (along * (Poly.variable(x) - Poly.constant(high))).times(sign * gain)
                side = side + Poly.variable(x) if discrete else side
            else:
                side = Poly.of([(monomial(n), rate), (monomial(n, n), bend)])
            sides.append(side)
        systems.append(bare(names, sides, discrete))
    points = [[value if n == x else Fraction(0) for n in names] for value in lots.shuffled((low, high))]
    table = [[_axis_stable(system, x, point) for point in points] for system in systems]
    if table == [[False, True], [True, False]]:
        points.reverse()
    elif not crossed(table):
        return None
    remark = lots.pick((stable, unstable))
    if remark is unstable:
        points.reverse()
    one, other = (remark(located(names, point), size, discrete) for point in points)
    return Quartet(KIND, "map ends" if discrete else "ends", written(stem, *systems), (one, other))


def _axis_stable(system: Equations, x: str, point: list[Fraction]) -> bool | None:
    where = dict(zip(system.names, point, strict=True))
    i = system.names.index(x)
    return verdict([[system.sides[i].slope(x).at(where)]], "map" if system.discrete else "flow")
