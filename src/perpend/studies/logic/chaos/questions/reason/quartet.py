"""Two systems and two statements, such that each statement holds for one of the systems.

Whatever is read from the system alone, or from the statement alone, then says nothing about the label.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from perpend.studies.logic.chaos.questions.reason.equations import Equations, Lots, Stem, point_text
from perpend.studies.logic.chaos.questions.reason.poly import Monomial, Poly, product
from perpend.studies.logic.chaos.questions.reason.remarks import Remark

SIZES = (2, 2, 3, 3, 3, 4, 4, 5, 6)


@dataclass(frozen=True, slots=True)
class Quartet:
    """The first remark holds for the first system only, the second for the second only."""

    kind: str
    recipe: str
    systems: tuple[Equations, Equations]
    remarks: tuple[Remark, Remark]

    @property
    def sound(self) -> bool:
        """Whether the systems and the remarks can be told apart."""
        first, second = self.systems
        says, others = self.remarks
        return (first.text, first.parameters) != (second.text, second.parameters) and (
            says.predicate,
            says.arguments,
        ) != (others.predicate, others.arguments)


def crossed(table: Sequence[Sequence[bool | None]]) -> bool:
    """Whether row by row the table is TRUE, FALSE; FALSE, TRUE."""
    return [list(row) for row in table] == [[True, False], [False, True]]


def variables(lots: Lots, stem: Stem, size: int) -> tuple[str, ...]:
    """Names for the variables of a system."""
    return lots.pick(stem.names[size])


def coefficients(lots: Lots, number: int, largest: int = 9, tenths: bool | None = None) -> list[Fraction]:
    """Numbers with signs, of one sort: whole, or with one decimal where `tenths`; None draws the sort."""
    if tenths is None:
        tenths = lots.pick((False, False, True))
    sizes = [Fraction(lots.whole(1, 5 * largest), 10) if tenths else lots.whole(1, largest) for _ in range(number)]
    return [Fraction(size) * lots.sign() for size in sizes]


def monomial(*names: str) -> Monomial:
    """The product of the named factors."""
    return product(*(((name, 1),) for name in names))


def filled(shape: Sequence[Sequence[Monomial]], numbers: Sequence[Fraction]) -> list[Poly]:
    """The right-hand sides whose terms have these coefficients, in a row."""
    supply = iter(numbers)
    return [Poly.of((m, next(supply)) for m in row) for row in shape]


def located(names: Sequence[str], point: Sequence[Fraction]) -> str:
    """'(x, y) = (1, -2)', or 'x = 1'."""
    left = names[0] if len(names) == 1 else f"({', '.join(names)})"
    return f"{left} = {point_text(point)}"
