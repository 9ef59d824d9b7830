"""Trials as columns, one row per trial, of one run or of several pooled into one: slice, pair, agree → Estimates.

run = Run("runs/my-run")
run["correct"].where(condition="control").rate()
run["correct"].pair("control", "asch_history_5").by("topic")
run["mentioned"].disagreement(run["endorsed"])
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from perpend.errors import SpecError, did_you_mean
from perpend.inert import one_line
from perpend.measure.packed import Packed, narrow
from perpend.measure.population import Population
from perpend.measure.shown import html_columns, pandas_frame, polars_frame
from perpend.types import Estimate, Item, Response, Score

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

_SHOWN = 10
_PART = 1 << 20

IntArray: TypeAlias = npt.NDArray[np.int64]
Codes: TypeAlias = npt.NDArray[np.integer]
"""Numbers that stand for values, as narrow as there are values: so ten million trials fit into memory."""


def joined(columns: Sequence[npt.NDArray[np.integer]], sizes: Sequence[int] = ()) -> npt.NDArray[np.int64]:
    """One number for each row that names its values in all columns, ordered as they are.

    `sizes` are above each column's values, where rows of several selections are to have the same numbers.
    """
    keys = np.zeros(len(columns[0]), dtype=np.int64)
    for codes, size in zip(columns, sizes or [int(own.max(initial=0)) + 1 for own in columns], strict=True):
        keys *= size
        keys += codes
    return keys


def replicates(keys: npt.NDArray[np.integer]) -> Codes:
    """For each row, how many rows before it have the same key."""
    span = int(keys.max(initial=-1)) + 1
    if 0 < span <= 8 * len(keys):  # to sort ten million keys takes long, and mostly each is there once
        seen = np.zeros(span, dtype=np.bool_)
        seen[keys] = True
        if int(seen.sum()) == len(keys):
            return np.zeros(len(keys), dtype=np.int8)
    order = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(np.diff(keys[order], prepend=np.int64(-1)))
    counts = np.diff(starts, append=len(keys))
    numbers = np.empty(len(keys), dtype=narrow(counts[:0], int(counts.max(initial=0))).dtype)
    numbers[order] = np.arange(len(keys)) - np.repeat(starts, counts)
    return numbers


def match(left: npt.NDArray[np.integer], right: npt.NDArray[np.integer]) -> tuple[IntArray, IntArray]:
    """Positions in `left` and in `right` of the keys that both have, in the order of `left`. Keys are unique."""
    span = max(int(left.max(initial=-1)), int(right.max(initial=-1))) + 1
    if span <= 8 * (len(left) + len(right)):  # a place for each key: to sort ten million takes long, and memory
        places = np.full(span, -1, dtype=np.int32 if len(right) <= np.iinfo(np.int32).max else np.int64)
        places[right] = np.arange(len(right), dtype=places.dtype)
        at_right = places[left]
        at_left = np.flatnonzero(at_right >= 0)
        return at_left, at_right[at_left].astype(np.int64)
    _, at_left, at_right = np.intersect1d(left, right, assume_unique=True, return_indices=True)
    order = np.argsort(at_left, kind="stable")
    return at_left[order].astype(np.int64), at_right[order].astype(np.int64)


FloatArray: TypeAlias = npt.NDArray[np.float64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
Judgement: TypeAlias = tuple[int, Response, Mapping[str, Score]]
"""A row that was asked, its answer, and its whole scores by 'name@version'."""
Reply: TypeAlias = tuple[int, Response | None, Response | None]
"""A row that was asked, its answer to the first question (None: not kept) and to a second one (None: not asked)."""


@dataclass(frozen=True, slots=True)
class Answers:
    """What came back for each trial: whether it was answered, whether the text is blank, and how long it took.

    `ms` is NaN where no time was stored.
    """

    answered: BoolArray
    empty: BoolArray
    ms: FloatArray


@dataclass(frozen=True)  # not slotted: what is read is kept
class Table:
    """The plan as columns, for each key the codes of its values and their names; and the scores, read when asked for.

    Keys are item, condition, model, sampling, temperature, repeat, run, and every tag of the items; '' is the value of
    an item without that tag. `scorers` are the 'name@version' that every run was scored by.
    """

    runs: tuple[str, ...]
    codes: Mapping[str, Codes]
    names: Mapping[str, tuple[str, ...]]
    items: Sequence[Item]
    """The items, by their code."""
    scorers: tuple[str, ...] = ()
    read_values: Callable[[Sequence[str]], Mapping[str, FloatArray | Packed]] = field(
        default=lambda _names: {}, repr=False
    )
    """The values of some scorers, in the order of the rows; NaN where a trial has none."""
    read_answers: Callable[[], Answers] | None = field(default=None, repr=False)
    read_judgements: Callable[[Sequence[str]], Iterator[Judgement]] | None = field(default=None, repr=False)
    read_replies: Callable[[], Iterator[Reply]] | None = field(default=None, repr=False)
    read_unfit: Callable[[str], IntArray] | None = field(default=None, repr=False)
    """The codes of the items that a scorer cannot judge, whatever is answered: `correct` without a target."""
    _columns: dict[str, Packed] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.codes["item"])

    def __repr__(self) -> str:
        counts = {"trial": len(self), **{key: len(self.names[key]) for key in ("item", "condition", "model")}}
        sizes = ", ".join(f"{n} {noun}{'s' * (n != 1)}" for noun, n in counts.items())
        return one_line(f"Table({', '.join(self.runs)}: {sizes}; scored by {len(self.scorers)})")

    def _columns_of(self, rows: slice) -> dict[str, FloatArray | npt.NDArray[np.object_]]:
        """Every key as text, then every scorer's values, of some rows."""
        self.load(self.scorers)
        keys = {key: np.array(self.names[key], dtype=object)[codes[rows]] for key, codes in self.codes.items()}
        return {**keys, **{name: self._columns[name][rows] for name in self.scorers}}

    def to_pandas(self) -> pd.DataFrame:
        """One row per trial: every key of the plan as text, every scorer's value, NaN where a trial has none."""
        return pandas_frame(self._columns_of(slice(None)))

    def to_polars(self) -> pl.DataFrame:
        """The same as a polars DataFrame, null where a trial has no value."""
        return polars_frame(self._columns_of(slice(None)))

    def _repr_html_(self) -> str:
        more = f"; the first {_SHOWN} are shown" if len(self) > _SHOWN else ""
        return html_columns(self._columns_of(slice(_SHOWN)), f"{', '.join(self.runs)}: {len(self)} trials{more}")

    def values(self, key: str) -> tuple[str, ...]:
        """The values of one key, in plan order."""
        if key not in self.names:
            raise SpecError(f"trials have no {key!r}; {did_you_mean(key, self.names)}")
        return self.names[key]

    def mask(self, wanted: Mapping[str, str | float]) -> BoolArray:
        """The rows where every key has the wanted value. An unknown key or value is an error with the near ones."""
        mask = np.ones(len(self), dtype=np.bool_)
        for key, value in wanted.items():
            text = f"{value:g}" if isinstance(value, float | int) else value
            names = self.values(key)
            if text not in names:
                raise SpecError(f"no trial has {key} = {text!r}; {did_you_mean(text, names)}")
            mask &= self.codes[key] == names.index(text)
        return mask

    def name(self, key: str, row: int) -> str:
        """The value of a key in one row."""
        return self.names[key][int(self.codes[key][row])]

    def place(self, row: int) -> str:
        """A row as a message names it."""
        return f"trial {row + 1} ({', '.join(self.name(key, row) for key in ('item', 'condition', 'model'))})"

    def has(self, name: str) -> bool:
        """Whether there are scores of 'correct' or 'correct@1'."""
        return any(name in (full, full.partition("@")[0]) for full in self.scorers)

    def full_name(self, name: str) -> str:
        """'correct' as its latest version; 'correct@1' as itself."""
        stem, _, version = name.partition("@")
        versions = [full for full in self.scorers if full.partition("@")[0] == stem and full.endswith(f"@{version}")]
        versions = versions if version else [full for full in self.scorers if full.partition("@")[0] == stem]
        if not versions:
            raise SpecError(f"{', '.join(self.runs)}: no scores of {name!r}; {did_you_mean(name, self.scorers)}")
        return versions[-1]

    def load(self, names: Sequence[str]) -> None:
        """Read several columns in one pass, so that a later `column` costs nothing."""
        wanted = [name for name in dict.fromkeys(map(self.full_name, names)) if name not in self._columns]
        for name, values in self.read_values(wanted).items() if wanted else ():
            self._columns[name] = values if isinstance(values, Packed) else Packed.of(values)

    def column(self, name: str) -> Column:
        """The column of a scorer: 'correct@1', or 'correct' for the latest version."""
        full = self.full_name(name)
        self.load([full])
        return Column(full, self, self._columns[full], np.ones(len(self), dtype=np.bool_))

    def __getitem__(self, name: str) -> Column:
        return self.column(name)

    def columns(self) -> dict[str, Column]:
        """Every scored column by 'name@version'."""
        return {name: self.column(name) for name in self.scorers}

    @cached_property
    def answers(self) -> Answers:
        """What came back for each trial."""
        if self.read_answers is None:
            nothing = np.zeros(len(self), dtype=np.bool_)
            return Answers(nothing, nothing, np.full(len(self), np.nan))
        return self.read_answers()

    def judgements(self, names: Sequence[str]) -> Iterator[Judgement]:
        """Every row that was asked, in plan order, with its answer and what some scorers read in it and why."""
        return iter(()) if self.read_judgements is None else self.read_judgements(list(map(self.full_name, names)))

    def replies(self) -> Iterator[Reply]:
        """What every row that was asked got, turn by turn, in plan order."""
        return iter(()) if self.read_replies is None else self.read_replies()

    @cached_property
    def opinion(self) -> BoolArray:
        """The rows whose item has no target: no answer is right."""
        return np.array([item.target is None for item in self.items], dtype=np.bool_)[self.codes["item"]]

    def keys(self, axes: Sequence[str]) -> tuple[IntArray, list[int]]:
        """One number for each row that names its cell of the axes, and the sizes of the axes."""
        keys, sizes = np.zeros(len(self), dtype=np.int64), []
        for axis in axes:
            sizes.append(len(self.values(axis)))
            keys = keys * sizes[-1] + self.codes[axis]
        return keys, sizes

    def tally(self, rows: BoolArray, axes: Sequence[str]) -> IntArray:
        """How many of the rows are in each cell of the axes, as an array with one dimension for each axis."""
        sizes = [len(self.values(axis)) for axis in axes]
        counts = np.zeros(int(np.prod(sizes)), dtype=np.int64)
        for keys, chosen in self._parts(rows, axes, sizes):
            counts += np.bincount(keys[chosen], minlength=len(counts))
        return counts.reshape(sizes)

    def totals(self, values: FloatArray, rows: BoolArray, axes: Sequence[str]) -> FloatArray:
        """The sums of the rows' values in each cell of the axes, added up in plan order; likewise an array."""
        sizes = [len(self.values(axis)) for axis in axes]
        sums, start = np.zeros(int(np.prod(sizes))), 0
        for keys, chosen in self._parts(rows, axes, sizes):
            np.add.at(sums, keys[chosen], values[start : start + len(chosen)][chosen])
            start += len(chosen)
        return sums.reshape(sizes)

    def _parts(
        self, rows: BoolArray, axes: Sequence[str], sizes: Sequence[int]
    ) -> Iterator[tuple[IntArray, BoolArray]]:
        """Keys of the cells and which rows are chosen, a million at a time: memory."""
        for start in range(0, len(self), _PART):
            here = slice(start, start + _PART)
            yield joined([self.codes[axis][here] for axis in axes], sizes), rows[here]

    def partners(self, first: BoolArray, second: BoolArray, axes: Sequence[str]) -> tuple[IntArray, IntArray]:
        """Row numbers of the first and of the second selection that share the values of all axes, in plan order."""
        left, right = np.flatnonzero(first), np.flatnonzero(second)
        own = [[self.codes[axis][rows] for axis in axes] for rows in (left, right)]
        sizes = [max(int(codes.max(initial=0)) for codes in both) + 1 for both in zip(*own, strict=True)]
        at_left, at_right = match(*(joined(codes, sizes) for codes in own))
        return left[at_left], right[at_right]

    def digest(self, names: Sequence[str], rows: BoolArray) -> str:
        """SHA-256 over the positions of some rows and their values in some columns: what an Estimate came from."""
        return _digest([self.column(name).scores for name in names], rows)


@dataclass(frozen=True, slots=True)
class Column:
    """One scorer's values over the plan; NaN where a trial has none (not asked, failed, unfinished, not scorable)."""

    name: str
    table: Table
    scores: Packed
    mask: BoolArray

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
        others = self.scores.where(lambda values: ~np.isnan(values) & ~np.isin(values, (0.0, 1.0)))
        return not (self.mask & others).any()

    def __repr__(self) -> str:
        runs = ", ".join(self.table.runs)
        return one_line(f"Column({self.name!r} of {runs}: {self.defined.sum()} of {self.mask.sum()} trials have one)")

    def where(self, **wanted: str | float) -> Column:
        """The rows with these values, for example condition='control', temperature=0.0 or a tag."""
        return replace(self, mask=self.mask & self.table.mask(wanted))

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

        chosen, items = np.flatnonzero(self.mask), self.table.codes["item"]
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

        chosen = np.flatnonzero(self.mask)
        rows = self._scored(chosen)
        if not len(rows):
            return Estimate(None, 0, note="no trial has a value", also={"unscored": len(chosen)})
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is undefined, and its note says so
            return mean(self.scores[rows], self.table.codes["item"][rows])

    def pair(self, first: str, second: str, key: str = "condition") -> Pair:
        """The same trials at two values of a key, row by row: control and pressure, two models, two temperatures.

        Rows pair by everything else in the plan; a pair with a missing value on either side is left out and counted.
        """
        # Two models may have token limits of their own, so they pair by temperature and not by the whole sampling.
        sampling = "temperature" if key == "model" else "sampling"
        fixed = "sampling" if key == "temperature" else key
        others = [name for name in ("item", "condition", "model", sampling, "repeat") if name != fixed]
        one, other = (self.mask & self.table.mask({key: value}) for value in (first, second))
        return Pair(self.name, (first, second), self, *self.table.partners(one, other, others))

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
        if self.table.read_unfit is not None and lacks.equals(1.0).any():
            unfit = np.zeros(len(self.table.items), dtype=np.bool_)
            unfit[self.table.read_unfit(self.name)] = True
            lacks = lacks.filled(unfit[self.table.codes["item"]], np.nan)
        return replace(self, scores=lacks)

    def digest(self) -> str:
        """SHA-256 over the selected trials' positions and values: what an Estimate came from."""
        return _digest([self.scores], self.mask)


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


def _digest(columns: Sequence[Packed], rows: BoolArray) -> str:
    parts = range(0, len(rows), _PART)  # ten million positions at once would be 80 MB, and as many for each column
    digest = hashlib.sha256()
    for start in parts:
        digest.update((np.flatnonzero(rows[start : start + _PART]) + start).astype("<i8").data)
    for values in columns:
        for start in parts:
            here = slice(start, start + _PART)
            digest.update(values[here][rows[here]].astype("<f8").data)
    return digest.hexdigest()
