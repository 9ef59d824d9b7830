"""One scorer's values over the plan, and the pairs in them: slice, pair, agree → Estimates."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from perpend.inert import one_line
from perpend.measure.grid import PlanGrid
from perpend.measure.keys import BoolArray, FloatArray, IntArray, joined
from perpend.measure.packed import Packed, taken
from perpend.measure.population import Population
from perpend.types import Estimate

_PART = 1 << 20


@dataclass(frozen=True, slots=True)
class Column:
    """One scorer's values over the plan; NaN where a trial has none (not asked, failed, unfinished, not scorable)."""

    name: str
    table: PlanGrid
    scores: Packed
    selected: IntArray | None = None
    """The numbers of the selected rows, in order; None: all."""

    @property
    def rows(self) -> IntArray:
        """The numbers of the selected rows, in order."""
        return np.arange(len(self.table)) if self.selected is None else self.selected

    @property
    def mask(self) -> BoolArray:
        """Which rows are selected."""
        mask = np.full(len(self.table), self.selected is None)
        if self.selected is not None:
            mask[self.selected] = True
        return mask

    def at(self, mask: BoolArray) -> Column:
        """These rows, whatever was selected before."""
        return replace(self, selected=np.flatnonzero(mask))

    @property
    def all_values(self) -> FloatArray:
        """The value of every trial, selected or not: 8 bytes each, made anew each time. `scores` takes one byte."""
        return self.scores.values()

    def with_values(self, values: FloatArray) -> Column:
        """The same trials with other values."""
        return replace(self, scores=Packed.of(values))

    @property
    def is_binary(self) -> bool:
        """Whether the selected values are all 0 or 1."""
        if self.selected is not None:
            values = self.scores[self.selected]
            return bool((np.isnan(values) | np.isin(values, (0.0, 1.0))).all())
        return bool(self.scores.where(lambda values: np.isnan(values) | np.isin(values, (0.0, 1.0))).all())

    def __repr__(self) -> str:
        runs = ", ".join(self.table.runs)
        return one_line(f"Column({self.name!r} of {runs}: {self.defined.sum()} of {len(self.rows)} trials have one)")

    def where(self, **wanted: str | float) -> Column:
        """The rows with these values, for example condition='control', temperature=0.0 or a tag."""
        if self.selected is None:
            return self.at(self.table.mask(wanted))
        rows = self.selected
        for key, value in wanted.items():
            code = self.table.code(key, value)
            rows = rows[self.table.codes[key][rows] == code]
        return replace(self, selected=rows)

    def by(self, key: str) -> dict[str, Column]:
        """One column for each value of a key."""
        return {value: self.where(**{key: value}) for value in self.table.values(key)}

    @property
    def defined(self) -> BoolArray:
        """The rows that are selected and have a value."""
        return self.mask & ~self.scores.missing()

    def rate(self, *, weights: str = "", strata: str = "", shares: Mapping[str, float] | None = None) -> Estimate:
        """The share of 1 among the selected trials that have a value; clustered by item where items repeat.

        `weights` and `strata` are tags of the items, `shares` how large each stratum is: then the share is that of the
        population. `also.unscored` counts selected trials without a value. Undefined when no trial has one, or none of
        a stratum. STAT015 where repeats at temperature 0 all agree: they are one answer, read again.
        """
        from perpend.stats.cautions import same_again
        from perpend.stats.proportions import proportion

        chosen, items = self.rows, self.table.codes["item"]
        whom = Population(weights, strata, shares or {})
        whom.check(self.table.items, items[chosen])
        rows = self._scored(chosen)
        unscored = len(chosen) - len(rows)
        standing = whom.of(self.table.items, items[rows])
        lacks = whom.empty(standing) if len(rows) else "no trial has a value"
        if lacks:
            return Estimate(None, len(rows), note=lacks, also={"unscored": unscored})
        rate = proportion(self.scores[rows], items[rows], **standing)
        repeats = len(self.table.names["repeat"]) > 1
        warned = same_again(self.scores[rows], *self._cold_trials(rows)) if repeats else ()
        return replace(rate, also={**rate.also, "unscored": unscored}, cautions=(*rate.cautions, *warned))

    def _scored(self, rows: IntArray) -> IntArray:
        """Those of some rows that have a value; by their numbers, for a cell is a small part of a large run."""
        return rows[~np.isnan(self.scores[rows])]

    def _cold_trials(self, rows: IntArray) -> tuple[IntArray, BoolArray]:
        """For each row the number of its trial without the repeat, and whether its temperature is 0."""
        codes = [self.table.codes[axis][rows] for axis in ("run", "item", "condition", "model", "sampling")]
        cold = np.array([float(name) == 0.0 for name in self.table.names["temperature"]], dtype=np.bool_)
        return joined(codes), cold[self.table.codes["temperature"][rows]]

    def mean(self) -> Estimate:
        """The mean of the selected values, clustered by item where items repeat. Undefined when there is none."""
        from perpend.stats.proportions import mean

        chosen = self.rows
        rows = self._scored(chosen)
        if not len(rows):
            return Estimate(None, 0, note="no trial has a value", also={"unscored": len(chosen)})
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is undefined, and its note says so
            return mean(self.scores[rows], self.table.codes["item"][rows])

    def pair(self, first: str, second: str, key: str = "condition") -> Pair:
        """The same trials at two values of a key, row by row: control and pressure, two models, two temperatures.

        Rows pair by everything else in the plan; a pair with a missing value on either side is left out and counted.
        """
        # Two models may have token limits of their own, so they pair by the settings and not by the whole sampling.
        settings = self.table.settings if key in ("model", *self.table.settings) else ("sampling",)
        others = [name for name in ("item", "condition", "model", *settings, "repeat") if name != key]
        one, other = (self.where(**{key: value}).rows for value in (first, second))
        return Pair(self.name, (first, second), self, *self.table.matched(one, other, others))

    def disagreement(self, other: Column) -> Estimate:
        """The share of trials on which two columns differ, among the selected ones where both have a value."""
        from perpend.stats.proportions import proportion

        rows = self.defined & other.defined
        if not rows.any():
            return Estimate(None, 0, note="no trial has a value in both")
        differ = self.scores[rows] != other.scores[rows]
        return proportion(differ, self.table.codes["item"][rows])

    def without_verdict(self) -> Column:
        """1 where a trial has no value, 0 where it has one; no value where the scorer cannot judge the item at all."""
        lacks = self.scores.mapped(lambda values: np.isnan(values).astype(np.float64))
        items = self.table.unfit(self.name) if lacks.equals(1.0).any() else None
        if items is not None:
            unfit = np.zeros(len(self.table.items), dtype=np.bool_)
            unfit[items] = True
            lacks = lacks.filled(taken(unfit, self.table.codes["item"]), np.nan)
        return replace(self, scores=lacks)

    def digest(self) -> str:
        """SHA-256 over the selected trials' positions and values: what an Estimate came from."""
        return columns_digest([self.scores], lambda: parts_of(self.rows))


@dataclass(frozen=True, slots=True)
class Pair:
    """Paired rows of one column, in plan order: those under the first value, and their partners under the second."""

    name: str
    sides: tuple[str, str]
    column: Column
    all_rows: IntArray
    all_partners: IntArray

    def __repr__(self) -> str:
        return one_line(f"Pair({self.name!r}: {' → '.join(self.sides)}; {self.complete.sum()} complete pairs)")

    @property
    def complete(self) -> BoolArray:
        """Which pairs have a value on both sides."""
        values = self.column.scores
        return ~np.isnan(values[self.all_rows]) & ~np.isnan(values[self.all_partners])

    @property
    def rows(self) -> IntArray:
        """The rows under the first value, of the complete pairs."""
        return self.all_rows[self.complete]

    @property
    def partners(self) -> IntArray:
        """Their partners under the second value."""
        return self.all_partners[self.complete]

    @property
    def incomplete(self) -> int:
        """How many pairs lack a value on either side."""
        return int((~self.complete).sum())

    def values(self) -> tuple[FloatArray, FloatArray, IntArray]:
        """First values, second values and items of the complete pairs."""
        values, rows = self.column.scores, self.rows
        return values[rows], values[self.partners], self.column.table.codes["item"][rows].astype(np.int64)

    def difference(self, *, weights: str = "", strata: str = "", shares: Mapping[str, float] | None = None) -> Estimate:
        """mean(second) - mean(first) with its interval and, in `also`, the default paired test's p.

        `weights`, `strata` and `shares` are those of `Column.rate`. Undefined without a complete pair.
        """
        from perpend.stats.pairs import paired_difference, paired_test

        sides, table, whom = self.values(), self.column.table, Population(weights, strata, shares or {})
        whom.check(table.items, table.codes["item"][self.all_rows])
        standing = whom.of(table.items, sides[2])
        lacks = whom.empty(standing) if len(sides[0]) else "no complete pair"
        if lacks:
            return Estimate(None, len(sides[0]), note=lacks, also={"incomplete": self.incomplete})
        with np.errstate(over="ignore", invalid="ignore"):
            difference, test = paired_difference(*sides, **standing), paired_test(*sides, **standing)
        also = {**difference.also, "p": test.value, "p_method": test.method, "incomplete": self.incomplete}
        return replace(difference, also=also)

    def override(self) -> Estimate:
        """P(second = 0 | first = 1). Undefined when no first is 1."""
        from perpend.stats.pairs import override

        sides = self.values()
        return override(*sides) if len(sides[0]) else Estimate(None, 0, note="no complete pair")

    def rescue(self) -> Estimate:
        """P(second = 1 | first = 0). Undefined when no first is 0. On `endorsed` this is the wrong-answer flip."""
        from perpend.stats.pairs import rescue

        sides = self.values()
        return rescue(*sides) if len(sides[0]) else Estimate(None, 0, note="no complete pair")

    def by(self, key: str) -> dict[str, Pair]:
        """One Pair for each value of a key, such as a tag of the item."""
        parts = {}
        for value in self.column.table.values(key):
            chosen = self.column.table.mask({key: value})[self.all_rows]
            parts[value] = replace(self, all_rows=self.all_rows[chosen], all_partners=self.all_partners[chosen])
        return parts


def columns_digest(columns: Sequence[Packed], parts: Callable[[], Iterable[IntArray]]) -> str:
    """SHA-256 over the numbers of some rows, then their values in each column; the numbers come in parts: memory."""
    digest = hashlib.sha256()
    for rows in parts():
        digest.update(rows.astype("<i8", copy=False).data)
    for values in columns:
        for rows in parts():
            digest.update(values[rows].astype("<f8", copy=False).data)
    return digest.hexdigest()


def parts_of(rows: IntArray) -> Iterator[IntArray]:
    """A million of some rows at a time."""
    return (rows[start : start + _PART] for start in range(0, len(rows), _PART))


def parts_where(mask: BoolArray) -> Iterator[IntArray]:
    """The numbers of the rows where a mask holds, from a million rows at a time."""
    return (np.flatnonzero(mask[start : start + _PART]) + start for start in range(0, len(mask), _PART))
