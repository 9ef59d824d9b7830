"""The bundles of the stratum 'data': squares of two data sets by two claims, each asked in one layout."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from perpend.errors import DataError
from perpend.studies.logic.chaos.questions.chance import Chance
from perpend.studies.logic.chaos.questions.data import agreement, bifurcation, orbit, series, spectrum, table
from perpend.studies.logic.chaos.questions.data.layouts import DATA_FIRST, ORDERS, laid_out, layout
from perpend.studies.logic.chaos.questions.data.sheet import Dice, Square
from perpend.studies.logic.chaos.questions.draft import Draft
from perpend.studies.logic.chaos.questions.world import Sources


@dataclass(frozen=True, slots=True)
class Sheet:
    """One kind: its family, its asks, how many squares each ask gives, and what may come first in a question."""

    kind: str
    family: str
    asks: tuple[Callable[[Dice], Square | None], ...]
    squares: int
    orders: Sequence[str] = ORDERS


SHEETS = (
    Sheet("orbit", "atomic", orbit.ASKS, 29),
    Sheet("spectrum", "indicator_diagnostics", spectrum.ASKS, 27),
    Sheet("series", "indicator_diagnostics", series.ASKS, 27),
    Sheet("table", "cross_indicator", table.ASKS, 30, DATA_FIRST),
    Sheet("agreement", "cross_indicator", agreement.ASKS, 40, DATA_FIRST),
    Sheet("bifurcation", "regime_transition", bifurcation.ASKS, 24),
)


TRIES = 5000
"""Most draws of one square. Most asks need fewer than ten."""


def bundles(world: Sources) -> Iterator[tuple[Draft, ...]]:
    """Four drafts each, two of them TRUE. The records of the world are not read: every number is drawn."""
    for sheet in SHEETS:
        for place, ask in enumerate(sheet.asks):
            for turn in range(sheet.squares):
                yield _drafts(world.chance, sheet, ask, f"data/{sheet.kind}/{place}/{turn}")


def _drafts(chance: Chance, sheet: Sheet, ask: Callable[[Dice], Square | None], pair: str) -> tuple[Draft, ...]:
    tries = (ask(Dice(chance, pair, attempt)) for attempt in range(TRIES))
    square = next((square for square in tries if square is not None), None)
    if square is None:
        raise DataError(f"{TRIES} draws of {pair} gave no square")
    # A claim is laid out alike for both sets of data; the other claim has a layout of its own.
    layouts = [layout(chance, claim, sheet.orders, pair, str(n)) for n, claim in enumerate(square.claims)]
    return tuple(
        Draft(
            stratum="data",
            family=sheet.family,
            kind=sheet.kind,
            form=f"data_{sheet.kind}_{square.ask}_{layouts[claim][0]}",
            question=laid_out(*layouts[claim][1:], square.data[data], square.rule, square.claims[claim]),
            label=data == claim,
            pair=pair,
            grade=square.grade,
            predicate=square.ask,
            polarity=not square.denied[claim],
        )
        for data in range(2)
        for claim in range(2)
    )
