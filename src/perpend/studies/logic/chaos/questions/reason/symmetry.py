"""Quartets about changes of variables that leave a system as it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from perpend.studies.logic.chaos.questions.reason.equations import Equations, Lots, Stem, bare, written
from perpend.studies.logic.chaos.questions.reason.poly import Monomial, Poly
from perpend.studies.logic.chaos.questions.reason.quartet import (
    SIZES,
    Quartet,
    coefficients,
    crossed,
    monomial,
    variables,
)  # fmt: skip
from perpend.studies.logic.chaos.questions.reason.remarks import Remark, listed
from perpend.studies.logic.chaos.questions.reason.remarks_symmetry import reversal, symmetry

KIND = "symmetry"
_RECIPES = ("flip", "flip", "flip", "swap", "swap", "reversal", "reversal")


@dataclass(frozen=True, slots=True)
class Mirror:
    """A change of variables that undoes itself: variable → variable with a sign; `backwards` also turns time."""

    names: tuple[str, ...]
    to: tuple[str, ...]
    signs: tuple[int, ...]
    backwards: bool = False

    def image(self, side: int, term: Monomial) -> tuple[int, Monomial, int]:
        """Where the term of a right-hand side is carried: the side, the term, and the sign."""
        # With X = s x', the equation of x' has the sign of x' in front; its side is that of the variable it comes from.
        moved = Poly.of([(term, Fraction(1))]).moved(
            dict(zip(self.names, self.to, strict=True)), dict(zip(self.names, self.signs, strict=True))
        )
        ((new, value),) = moved.terms.items()
        target = self.names.index(self.to[side])
        return target, new, int(value) * self.signs[side] * (-1 if self.backwards else 1)

    def keeps(self, system: Equations) -> bool:
        """Whether every term is carried onto a term with the same coefficient."""
        for side, poly in enumerate(system.sides):
            for term, value in poly.terms.items():
                target, new, sign = self.image(side, term)
                if system.sides[target].terms.get(new) != sign * value:
                    return False
        return True

    def remark(self, discrete: bool) -> Remark:
        """The statement that it leaves the system as it is."""
        shown = [("-" if s < 0 else "") + n for s, n in zip(self.signs, self.to, strict=True)]
        if self.backwards:
            return reversal(self.names, shown)
        flipped = [n for n, s in zip(self.names, self.signs, strict=True) if s < 0]
        changed = [n for n, m in zip(self.names, self.to, strict=True) if n != m]
        if changed:
            phrase = f"exchanging {listed(changed)}" + (" and changing both signs" if flipped else "")
        else:
            sign, end = ("sign", "") if len(flipped) == 1 else ("signs", " together")
            phrase = f"changing the {sign} of {listed(flipped)}{end}"
        return symmetry(self.names, shown, phrase, discrete)


def quartet(stem: Stem) -> Quartet | None:
    """The quartet that grows from a stem; None where the draw does not give one."""
    lots = Lots(stem, KIND)
    recipe = lots.pick(_RECIPES)
    discrete = recipe != "reversal" and lots.pick((True, False, False))
    names = variables(lots, stem, lots.pick(SIZES))
    mirrors = [_mirror(lots, names, recipe) for _ in range(2)]
    if mirrors[0] == mirrors[1]:
        return None
    shared: list[list[tuple[int, Monomial, int]]] = []
    for side in range(len(names)):
        for term in lots.shuffled(_pool(lots, names, side, 2 if recipe == "swap" else 3))[: 6 if len(names) < 4 else 3]:
            circle = _circle(mirrors, side, term)
            if circle and len(circle) <= 4 and len(shared) < len(names) + 1:
                shared.append(circle)
                break
    own = [_deciding(lots, names, mirrors[i], mirrors[1 - i], 2 if recipe == "swap" else 3) for i in range(2)]
    if own[0] is None or own[1] is None:
        return None
    numbers = coefficients(lots, len(shared) + 1)
    systems = []
    for circle in own:
        parts: list[list[tuple[Monomial, Fraction]]] = [[] for _ in names]
        for terms, number in zip([*shared, circle or []], numbers, strict=True):
            for side, term, sign in terms:
                parts[side].append((term, sign * number))
        if any(len(row) != len(dict(row)) or not row for row in parts):
            return None
        systems.append(bare(names, [Poly.of(row) for row in parts], discrete))
    if not crossed([[mirror.keeps(system) for mirror in mirrors] for system in systems]):
        return None
    remarks = mirrors[0].remark(discrete), mirrors[1].remark(discrete)
    return Quartet(KIND, recipe, written(stem, *systems), remarks)


def _mirror(lots: Lots, names: tuple[str, ...], recipe: str) -> Mirror:
    if recipe == "swap":
        a, b = lots.shuffled(range(len(names)))[:2]
        to = list(names)
        to[a], to[b] = names[b], names[a]
        sign = lots.sign()
        return Mirror(names, tuple(to), tuple(sign if i in (a, b) else 1 for i in range(len(names))))
    flipped = lots.shuffled(range(len(names)))[: lots.whole(1, min(3, len(names)))]
    signs = tuple(-1 if i in flipped else 1 for i in range(len(names)))
    return Mirror(names, names, signs, recipe == "reversal")


def _pool(lots: Lots, names: tuple[str, ...], side: int, degree: int) -> list[Monomial]:
    own = names[side]
    near = [own, *lots.shuffled([n for n in names if n != own])[:2]]
    pool = [monomial(a) for a in near]
    pool += [monomial(a, b) for i, a in enumerate(near) for b in near[i:]]
    if degree > 2:
        pool += [monomial(a, b, c) for i, a in enumerate(near) for j, b in enumerate(near[i:], i) for c in near[j:]]
    pool += [monomial(f"{lots.pick(('sin', 'cos'))}({a})") for a in near[-1:]]
    return pool


def _circle(mirrors: Sequence[Mirror], side: int, term: Monomial) -> list[tuple[int, Monomial, int]] | None:
    """All terms that the mirrors make of one, with their signs; None where they contradict each other."""
    monomials = {(side, term): 1}
    open_ones = [(side, term)]
    while open_ones:
        here = open_ones.pop()
        for mirror in mirrors:
            target, new, sign = mirror.image(*here)
            value = sign * monomials[here]
            if (target, new) not in monomials:
                monomials[target, new] = value
                open_ones.append((target, new))
            elif monomials[target, new] != value:
                return None
    return [(s, t, v) for (s, t), v in sorted(monomials.items())]


def _deciding(
    lots: Lots, names: tuple[str, ...], mirror: Mirror, other: Mirror, degree: int
) -> list[tuple[int, Monomial, int]] | None:
    """Terms that one mirror keeps and the other does not."""
    for side in lots.shuffled(range(len(names))):
        for term in lots.shuffled(_pool(lots, names, side, degree))[:8]:
            circle = _circle([mirror], side, term)
            if circle and {(s, t): v for s, t, v in circle} != {
                (s, t): v for s, t, v in _circle([mirror, other], side, term) or []
            }:
                return circle
    return None
