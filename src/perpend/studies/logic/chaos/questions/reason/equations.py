"""A system with exact right-hand sides and the text that states it, and the draws that make one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import count
from typing import TypeVar

from perpend.studies.logic.chaos.questions.chance import Chance
from perpend.studies.logic.chaos.questions.reason.poly import Monomial, Poly, plain

T = TypeVar("T")

NAMES: Mapping[int, tuple[tuple[str, ...], ...]] = {
    1: (("x",), ("y",), ("u",), ("s",)),
    2: (("x", "y"), ("u", "v"), ("x", "v"), ("p", "q"), ("r", "s")),
    3: (("x", "y", "z"), ("u", "v", "w"), ("x", "v", "w"), ("p", "q", "r")),
    4: (("x", "y", "z", "w"), ("x", "y", "u", "v"), ("p", "q", "r", "s"), ("x1", "x2", "x3", "x4")),
    5: (("x", "y", "z", "u", "v"), ("x1", "x2", "x3", "x4", "x5"), ("p", "q", "r", "u", "v")),
    6: (("x", "y", "z", "u", "v", "w"), ("x1", "x2", "x3", "x4", "x5", "x6"), ("p", "q", "r", "u", "v", "w")),
}
"""Names of the variables of a system of a given size, in an item."""
FACT_NAMES: Mapping[int, tuple[tuple[str, ...], ...]] = {
    1: (("z",), ("h",), ("v",)),
    2: (("y", "z"), ("u", "w"), ("x", "z"), ("h", "k"), ("x", "w")),
    3: (("x", "y", "w"), ("h", "k", "m"), ("u", "y", "z"), ("r", "s", "v")),
    4: (("x", "y", "z", "v"), ("h", "k", "u", "v"), ("y1", "y2", "y3", "y4"), ("u1", "u2", "u3", "u4")),
    5: (("u", "v", "x", "y", "z"), ("y1", "y2", "y3", "y4", "y5")),
    6: (("u", "v", "w", "x", "y", "z"), ("y1", "y2", "y3", "y4", "y5", "y6")),
}
"""Those in a base fact: no set is the same, so that no system of a fact stands in an item."""
FLOW_STYLES = ("rate", "dash")
MAP_STYLES = ("index", "arrow")


@dataclass(frozen=True, slots=True)
class Stem:
    """What a quartet grows from: its name, and the names that its variables may have."""

    chance: Chance
    name: str
    names: Mapping[int, tuple[tuple[str, ...], ...]] = field(default_factory=lambda: NAMES)


class Lots:
    """Draws in a row that belong to one name."""

    def __init__(self, stem: Stem, kind: str) -> None:
        self._chance, self._name, self._turns = stem.chance, (kind, stem.name), count()

    def pick(self, options: Sequence[T]) -> T:
        """One of the options, all equally likely."""
        return self._chance.pick(options, *self._name, str(next(self._turns)))

    def whole(self, low: int, high: int) -> int:
        """A whole number from `low` to `high`, both possible."""
        return low + self._chance.below(high - low + 1, *self._name, str(next(self._turns)))

    def sign(self) -> int:
        """1 or -1."""
        return self.pick((1, -1))

    def shuffled(self, options: Sequence[T]) -> list[T]:
        """The options in another order, all orders equally likely."""
        turn = str(next(self._turns))
        marked = sorted((self._chance.share(*self._name, turn, str(i)), i) for i in range(len(options)))
        return [options[i] for _, i in marked]


@dataclass(frozen=True, slots=True)
class Equations:
    """A flow or a map with its text; that of a named system is the stated one."""

    names: tuple[str, ...]
    sides: tuple[Poly, ...]
    discrete: bool
    text: str = ""
    title: str = ""
    """The name of a named system, without its article."""
    system_id: str = ""
    parameters: str = ""
    citation: str = ""

    @property
    def size(self) -> int:
        """The number of variables."""
        return len(self.names)

    @property
    def effort(self) -> int:
        """What there is to read: terms, degree and variables."""
        terms = sum(len(side.terms) for side in self.sides)
        return terms + max(side.degree for side in self.sides) + self.size

    def jacobian(self) -> list[list[Poly]]:
        """The partial derivatives; row i belongs to the i-th right-hand side."""
        return [[side.slope(name) for name in self.names] for side in self.sides]

    def divergence(self) -> Poly:
        """The trace of the Jacobian matrix."""
        total = Poly.constant(0)
        for name, side in zip(self.names, self.sides, strict=True):
            total = total + side.slope(name)
        return total

    def values(self, point: Sequence[Fraction]) -> tuple[Fraction, ...]:
        """The right-hand sides at a point."""
        where = dict(zip(self.names, point, strict=True))
        return tuple(side.at(where) for side in self.sides)


def bare(names: tuple[str, ...], sides: Sequence[Poly], discrete: bool) -> Equations:
    """The system without its text."""
    return Equations(names, tuple(sides), discrete)


def written(stem: Stem, *systems: Equations) -> tuple[Equations, Equations]:
    """The two systems with their texts. Order and style belong to the name, so that partners look alike."""
    first, second = (replace(system, text=_text(stem, system)) for system in systems)
    return first, second


def _text(stem: Stem, system: Equations) -> str:
    chance, name = stem.chance, stem.name
    style = chance.pick(MAP_STYLES if system.discrete else FLOW_STYLES, name, "style")
    order: Sequence[int] = range(system.size)
    if chance.share(name, "ordered") < 0.3:
        order = chance.mixed(order, str, name, "order")
    state = {n: f"{n}[n]" for n in system.names} if style == "index" else {}
    parts = []
    for i in order:
        n = system.names[i]
        heads = {"rate": f"d{n}/dt = ", "dash": f"{n}' = ", "index": f"{n}[n+1] = ", "arrow": f"{n} -> "}
        parts.append(heads[style] + poly_text(system.sides[i], state, stem, str(i)))
    if len(parts) == 1 or chance.share(name, "joint") < 0.6:
        return ", ".join(parts)
    if chance.share(name, "joint") < 0.8:
        return "; ".join(parts)
    return ", ".join(parts[:-1]) + " and " + parts[-1]


def poly_text(poly: Poly, state: Mapping[str, str], stem: Stem, part: str) -> str:
    """A polynomial such as '-2 x + 0.5 x^2 y', in the order that belongs to a part of the stem; '0' if empty."""
    monomials = stem.chance.mixed(poly.terms, str, stem.name, part)
    text = ""
    for monomial in monomials:
        value = poly.terms[monomial]
        mark = (" - " if value < 0 else " + ") if text else ("-" if value < 0 else "")
        text += mark + _term(abs(value), monomial, state)
    return text or "0"


def _term(size: Fraction, monomial: Monomial, state: Mapping[str, str]) -> str:
    factors = []
    for factor, exponent in sorted(monomial, key=lambda part: ("(" in part[0], part[0])):
        shown = factor
        for name, long in state.items():
            if factor == name:
                shown = long
            elif factor.endswith((f"({name})", f" {name})")):
                shown = factor[: -len(name) - 1] + long + ")"
        factors.append(shown if exponent == 1 else f"{shown}^{exponent}")
    if size != 1 or not factors:
        factors.insert(0, plain(size))
    return " ".join(factors)


def point_text(point: Sequence[Fraction]) -> str:
    """'(1, -0.5)'; the number alone for one variable."""
    inner = ", ".join(plain(value) for value in point)
    return inner if len(point) == 1 else f"({inner})"
