"""Quartets about volumes: the divergence of a flow, the determinant of a map."""

from __future__ import annotations

from fractions import Fraction

from perpend.studies.logic.chaos.questions.reason.equations import Lots, Stem, bare, written
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
from perpend.studies.logic.chaos.questions.reason.remarks import Remark
from perpend.studies.logic.chaos.questions.reason.remarks_volumes import (
    volume_at,
    volume_rate,
    volumes_everywhere,
    volumes_kept,
    volumes_somewhere,
)

KIND = "divergence"
_TRIES = 30
_RECIPES = (
    "rate",
    "rate",
    "rate",
    "factor",
    "factor",
    "sign",
    "sign",
    "kept",
    "somewhere",
    "somewhere",
    "point",
    "point",
    "step",
)


def quartet(stem: Stem) -> Quartet | None:
    """The quartet that grows from a stem; None where the draw does not give one."""
    lots = Lots(stem, KIND)
    recipe = lots.pick(_RECIPES)
    if recipe in ("factor", "step"):
        return _map_quartet(lots, stem, recipe)
    if recipe == "point":
        return _point_quartet(lots, stem)
    names = variables(lots, stem, lots.pick(SIZES))
    shape = _shape(lots, names, cubes=recipe == "somewhere")
    numbers = coefficients(lots, sum(map(len, shape)), 4 if recipe == "kept" else 9)
    size = len(names)
    for _ in range(_TRIES):
        systems = [bare(names, filled(shape, lots.shuffled(numbers)), False) for _ in range(2)]
        first, second = (system.divergence() for system in systems)
        if recipe == "rate":
            a, b = first.at(_zero(names)), second.at(_zero(names))
            if a != b and a and b:
                return Quartet(
                    KIND, recipe, written(stem, *systems), (volume_rate(size, False, a), volume_rate(size, False, b))
                )
            continue
        one = "keep" if recipe == "kept" else "shrink"
        other = {"sign": "grow", "kept": lots.pick(("shrink", "grow")), "somewhere": "grow somewhere"}[recipe]
        if crossed([[_behaves(d, how) for how in (one, other)] for d in (first, second)]):
            return Quartet(KIND, recipe, written(stem, *systems), (_remark(size, one), _remark(size, other)))
    return None


def determinant(rows: list[list[Poly]]) -> Poly:
    """By expansion along the first row."""
    if not rows:
        return Poly.constant(1)
    total = Poly.constant(0)
    for j, entry in enumerate(rows[0]):
        if entry.terms:
            minor = determinant([row[:j] + row[j + 1 :] for row in rows[1:]])
            total = total + (entry * minor).times((-1) ** j)
    return total


def _remark(size: int, how: str) -> Remark:
    if how == "keep":
        return volumes_kept(size)
    return volumes_somewhere(size) if how == "grow somewhere" else volumes_everywhere(size, False, how)


def _zero(names: tuple[str, ...]) -> dict[str, Fraction]:
    return dict.fromkeys(names, Fraction(0))


def _behaves(divergence: Poly, how: str) -> bool:
    # The divergence is a constant plus squares with coefficients: the signs of all of them decide.
    constant = divergence.terms.get((), Fraction(0))
    rest = [value for key, value in divergence.terms.items() if key]
    return {
        "shrink": constant < 0 and all(value < 0 for value in rest),
        "grow": constant > 0 and all(value > 0 for value in rest),
        "keep": not divergence.terms,
        "grow somewhere": constant > 0 or any(value > 0 for value in rest),
    }[how]


def _shape(lots: Lots, names: tuple[str, ...], cubes: bool) -> list[list[Monomial]]:
    rows = []
    diagonal = set(lots.shuffled(names)[: max(2, (2 * len(names) + 2) // 3)])
    curved = set(lots.shuffled(names)[: lots.whole(1, 2)]) if cubes else set()
    for own in names:
        others = [n for n in names if n != own]
        row = [monomial(own)] if own in diagonal else []
        if own in curved:
            row.append(
                lots.pick(
                    (
                        monomial(own, own, own),
                        monomial(own, lots.pick(others), others[0])
                        if len(others) == 1
                        else _square_of(lots, own, others),
                    )
                )
            )
        row += _cross(lots, others, lots.whole(1, 2) if len(names) < 4 else 1)
        rows.append(row)
    return rows


def _square_of(lots: Lots, own: str, others: list[str]) -> Monomial:
    other = lots.pick(others)
    return monomial(own, other, other)


def _cross(lots: Lots, others: list[str], number: int) -> list[Monomial]:
    pool = [monomial(a) for a in others]
    pool += [monomial(a, b) for i, a in enumerate(others) for b in others[i:]]
    pool += [monomial(f"{lots.pick(('sin', 'cos'))}({lots.pick(others)})")] if lots.pick((True, False, False)) else []
    return lots.shuffled(pool)[:number]


def _point_quartet(lots: Lots, stem: Stem) -> Quartet | None:
    names = variables(lots, stem, lots.pick(SIZES))
    rows = []
    for own in names:
        others = [n for n in names if n != own]
        pool = [monomial(own), monomial(own, own), monomial(own, lots.pick(others))]
        rows.append(lots.shuffled(pool)[: 1 if len(names) > 3 else lots.whole(1, 2)] + _cross(lots, others, 1))
    numbers = coefficients(lots, sum(map(len, rows)))
    point = [Fraction(lots.sign() * lots.whole(0, 4)) for _ in names]
    how = lots.pick(("shrink", "grow"))
    for _ in range(_TRIES):
        systems = [bare(names, filled(rows, lots.shuffled(numbers)), False) for _ in range(2)]
        other = [value * lots.sign() for value in lots.shuffled(point)]
        table = [[_sign(s.divergence().at(dict(zip(names, p, strict=True)))) for p in (point, other)] for s in systems]
        wanted = 1 if how == "grow" else -1
        if 0 not in table[0] + table[1] and crossed([[sign == wanted for sign in row] for row in table]):
            remarks = (
                volume_at(len(names), how, located(names, point)),
                volume_at(len(names), how, located(names, other)),
            )
            return Quartet(KIND, "point", written(stem, *systems), remarks)
    return None


def _sign(value: Fraction) -> int:
    return (value > 0) - (value < 0)


def _map_quartet(lots: Lots, stem: Stem, recipe: str) -> Quartet | None:
    names = variables(lots, stem, lots.pick((2, 2, 2, 3, 3, 4)))
    order = lots.shuffled(names)
    ring = lots.pick((True, False))
    rows: dict[str, list[Monomial]] = {}
    for i, own in enumerate(order):
        # In a chain each variable feeds on later ones; in a ring on the next one, and the last on the first.
        later = order[i + 1 :]
        if ring:
            rows[own] = [monomial(order[(i + 1) % len(order)])]
            others = [own] if i == 0 else []
        else:
            rows[own] = [monomial(own)]
            others = later
        if others:
            pool = [monomial(a, b) for a in others for b in others] + [monomial(a) for a in others] + [()]
            rows[own] += lots.shuffled(list(dict.fromkeys(pool)))[: lots.whole(1, 2)]
    if ring and len(order) > 2 and any(m == monomial(order[0]) for m in rows[order[0]]):
        return None
    shape = [rows[n] for n in names]
    numbers = coefficients(lots, sum(map(len, shape)), 3 if len(names) > 2 else 5, tenths=recipe == "step" or None)
    for _ in range(_TRIES):
        systems = [bare(names, filled(shape, lots.shuffled(numbers)), True) for _ in range(2)]
        sizes = [determinant(s.jacobian()) for s in systems]
        if any(set(d.terms) != {()} for d in sizes):
            return None
        a, b = (abs(d.terms[()]) for d in sizes)
        if recipe == "factor" and a != b and all((v * 100).denominator == 1 for v in (a, b)):
            return Quartet(
                KIND,
                recipe,
                written(stem, *systems),
                (volume_rate(len(names), True, a), volume_rate(len(names), True, b)),
            )
        if recipe == "step" and a < 1 < b:
            remarks = volumes_everywhere(len(names), True, "shrink"), volumes_everywhere(len(names), True, "grow")
            return Quartet(KIND, recipe, written(stem, *systems), remarks)
    return None
