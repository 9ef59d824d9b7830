"""Two runs, two models or two scorer versions on the same trials: paired differences, tests, flips, a verdict.

A difference is always the second minus the first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from perpend.canon import JSON
from perpend.errors import SpecError
from perpend.inert import one_line
from perpend.measure.keys import FloatArray, IntArray
from perpend.measure.population import Population
from perpend.measure.run import Run
from perpend.measure.shown import Framed, html_table
from perpend.measure.table import Table
from perpend.report.columns import chosen_columns, shared_columns
from perpend.report.compare_contrasts import (
    DIFFERENCE_COLUMNS,
    MARGIN_COLUMNS,
    PairedColumn,
    RunContrast,
    adjusted,
    checked_margin,
)
from perpend.report.compare_forest import WIDTHS, draw_differences
from perpend.report.compare_pairs import Matched, Side, as_side, check_sides, match
from perpend.report.compare_verdict import verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_IN_JSON = 1000
_FLIP_KEYS = ("item", "condition", "model", "temperature", "repeat")


@dataclass(frozen=True, slots=True)
class Flip:
    """A trial of which a column says 1 on one side and 0 on the other, by its names on the first side."""

    column: str
    item: str
    condition: str
    model: str
    temperature: str
    repeat: str
    first: int


@dataclass(frozen=True, slots=True)
class RunComparison(Framed):
    """Two sides on the trials that both have. `unpaired` counts the trials of each without a partner."""

    first: str
    second: str
    n_pairs: int
    n_items: int
    unpaired: tuple[int, int]
    notes: tuple[str, ...]
    contrasts: tuple[RunContrast, ...]
    verdict: str
    table: Table
    """The first side's plan, which flips are named by."""
    flipped: tuple[tuple[str, IntArray, FloatArray], ...]
    """For each column of 0 and 1, the rows of the plan on which the sides differ, and the first side's values there."""
    margin: float | None = None
    """The largest difference that does not matter, where one was given."""
    population: Population = field(default_factory=Population)

    def __repr__(self) -> str:
        return one_line(f"RunComparison({self.first} → {self.second}: {self.n_pairs} pairs; {self.verdict})")

    def _repr_html_(self) -> str:
        """For a notebook: one row per column and condition, with the two rates and the paired difference."""
        rows = [(one.column, one.condition, one.first, one.second, str(one.difference), one.difference.also.get("p"),
                 one.difference.also.get("p_adjusted"), *([] if self.margin is None else [one.shown]))
                for one in self.contrasts]  # fmt: skip
        shown = () if self.margin is None else (f"within ±{self.margin:g}",)
        head = ("column", "condition", self.first, self.second, "difference", "p", "adjusted p", *shown)
        return html_table(head, rows, self.verdict)

    def columns_of(self) -> dict[str, list[str | int | float | bool | None]]:
        """Both rates, the difference, its interval and test, of every column and condition, as differences.csv."""
        rows = [one.row() for one in self.contrasts]
        return {name: [row[place] for row in rows] for place, name in enumerate(self.head())}

    def head(self) -> tuple[str, ...]:
        """The names of the columns of differences.csv."""
        return DIFFERENCE_COLUMNS if self.margin is None else (*DIFFERENCE_COLUMNS, *MARGIN_COLUMNS)

    def plot(self) -> Figure:
        """The paired differences with their intervals, second minus first, as a matplotlib Figure."""
        title = f"{self.first} → {self.second}"
        return draw_differences(self.contrasts, title, WIDTHS["double"], self.margin)

    def flips(self) -> Iterator[Flip]:
        """Every trial that flipped, column by column, in plan order."""
        for column, rows, before in self.flipped:
            for row, value in zip(rows.tolist(), before.tolist(), strict=True):
                item, condition, model, temperature, repeat = (self._name(key, row) for key in _FLIP_KEYS)
                yield Flip(column, item, condition, model, temperature, repeat, int(value))

    def _name(self, key: str, row: int) -> str:
        return self.table.names[key][int(self.table.codes[key][row])]

    def as_json(self) -> dict[str, JSON]:
        """COMPARE.json: of the flipped trials the first thousand items of each way; flips.csv has all."""
        ways: dict[str, JSON] = {}
        for column, rows, before in self.flipped:
            for name, value in (("1 to 0", 1.0), ("0 to 1", 0.0)):
                own = rows[before == value]
                items = [self.table.names["item"][code] for code in self.table.codes["item"][own[:_IN_JSON]]]
                ways[f"{column}: {name}"] = {"count": len(own), "items": list(dict.fromkeys(items))}
        body: dict[str, JSON] = {
            "format": 1,
            "first": self.first,
            "second": self.second,
            "n_pairs": self.n_pairs,
            "n_items": self.n_items,
            "unpaired": {"first": self.unpaired[0], "second": self.unpaired[1]},
            "notes": list(self.notes),
            "contrasts": [one.as_json() for one in self.contrasts],
            "flips": ways,
            "verdict": self.verdict,
        }
        body |= {} if self.margin is None else {"margin": self.margin}
        if self.population:
            own = self.population
            body["population"] = {"weights": own.weights, "strata": own.strata, "shares": dict(own.shares)}
        return body


def compare_runs(
    first: Run | Side,
    second: Run | Side,
    *,
    columns: Sequence[str] = (),
    margin: float | str | None = None,
    population: Population | None = None,
) -> RunComparison:
    """The second side against the first, on the trials that both have, for every column that both were scored by.

    `columns` narrows that ('correct', 'correct@1'). `margin` is the largest difference that does not matter: whether
    differences are shown to be smaller is then tested too. `population` says whom the trials stand for, by the tags of
    the first side. Sides that are the same, or have no trial in common, are refused.
    """
    limit = None if margin is None else checked_margin(margin)
    one, other = as_side(first), as_side(second)
    check_sides(one, other)
    matched = match(one, other)
    whom = population or Population()
    table = one.run.table
    items = table.codes["item"][matched.rows].astype(np.int64)
    whom.check(table.items, items)
    slices = _slices(one, other, matched)
    contrasts: list[RunContrast] = []
    flipped: list[tuple[str, IntArray, FloatArray]] = []
    for name, names in _columns(one, other, columns).items():
        before = one.run[names[0]].all_values[matched.rows]
        after = other.run[names[1]].all_values[matched.partners]
        whole = ~np.isnan(before) & ~np.isnan(after)
        if not whole.any():
            continue
        binary = bool(np.isin(np.concatenate((before[whole], after[whole])), (0.0, 1.0)).all())
        for condition, chosen in slices.items():
            rows = whole & chosen
            if rows.any():
                standing = whom.of(table.items, items[rows])
                pairs = PairedColumn(
                    before[rows], after[rows], items[rows], standing, binary=binary, lacks=whom.empty(standing)
                )
                contrasts.append(pairs.contrast(name, condition, limit, int(chosen.sum() - rows.sum())))
        if binary:
            turned = np.flatnonzero(whole & (before != after))
            flipped.append((name, matched.rows[turned], before[turned]))
    if not contrasts:
        raise SpecError("the sides share trials, but no column has a value on both; run 'perpend score' on both")
    names = _names(one, other)
    tested = adjusted(contrasts)
    return RunComparison(
        *names,
        n_pairs=len(matched.rows),
        n_items=len(np.unique(items)),
        unpaired=matched.unpaired,
        notes=(*matched.notes, *([whom.note()] if whom else [])),
        contrasts=tested,
        verdict=verdict(*names, tested, limit),
        table=table,
        flipped=tuple(flipped),
        margin=limit,
        population=whom,
    )


def _names(first: Side, second: Side) -> tuple[str, str]:
    """What a reader calls the two sides: never the same."""
    with_run = first.run.directory.resolve() != second.run.directory.resolve()
    one, other = first.title(with_run=with_run), second.title(with_run=with_run)
    return (one, other) if one != other else (f"{one} (first)", f"{other} (second)")


def _columns(first: Side, second: Side, wanted: Sequence[str]) -> dict[str, tuple[str, str]]:
    """What each column is called on the two sides: the latest version that both have, or each side's own."""
    known: list[list[tuple[str, str]]] = []
    for side in (first, second):
        scorers = [(stem, version) for stem, _, version in (name.rpartition("@") for name in side.run.table.scorers)]
        known.append([(stem, version) for stem, version in scorers if side.version in ("", version)])
        if not known[-1] and scorers:
            kept = ", ".join(sorted({version for _, version in scorers}))
            raise SpecError(f"{side.run.name}: no scorer has version {side.version!r}; there are {kept}")
    shared: dict[str, tuple[str, str]] = {}
    if first.version or second.version:
        versions = [dict(own) for own in known]
        for name in versions[0]:
            if name in versions[1]:
                shared[name] = f"{name}@{versions[0][name]}", f"{name}@{versions[1][name]}"
    else:
        full = [[f"{stem}@{version}" for stem, version in own] for own in known]
        shared = {name: (name, name) for name in shared_columns(full, wanted)}
    return {name: shared[name] for name in chosen_columns(shared, wanted, "both sides")}


def _slices(first: Side, second: Side, matched: Matched) -> dict[str, np.ndarray[tuple[int], np.dtype[np.bool_]]]:
    """The pairs of each condition; one slice where the sides are two conditions."""
    table = first.run.table
    codes = table.codes["condition"][matched.rows]
    if "condition" in {*first.where, *second.where}:
        return {"": np.ones(len(codes), dtype=np.bool_)}
    return {table.names["condition"][code]: codes == code for code in np.unique(codes)}
