"""Rows collapsed to cells for regression, and the model matrix on them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from perpend.errors import DataError, did_you_mean
from perpend.stats import cautions, gate, grouping, measured
from perpend.stats.clusters import FEW
from perpend.stats.gate import BoolArray, FloatArray, Ids, IntArray
from perpend.stats.sums import long_sum
from perpend.types import Caution

Codes: TypeAlias = npt.NDArray[np.integer]

# Rows per pass: keys and codes stay in the second-level cache.
_CHUNK = 1 << 16
# Beyond this many possible keys for the rows at hand, sorting the keys beats counting into a mostly empty table.
_SPARSE = 8
# Items times cells that are counted at once; and the most blocks of items, whatever their size.
_COUNTED, _BLOCKS = 1 << 19, 16


@dataclass(frozen=True, slots=True)
class Column:
    """One explanatory column: `codes[row]` points into `levels`. Text levels make a factor, numbers a covariate.

    The first level of a factor is its reference. Narrow codes (uint8) are the fastest to collapse.
    """

    name: str
    levels: tuple[str, ...] | tuple[float, ...]
    codes: Codes

    @property
    def is_number(self) -> bool:
        """A covariate with a slope rather than a factor with a step per level."""
        return not isinstance(self.levels[0], str)


@dataclass(frozen=True, slots=True)
class ItemCells:
    """Successes and trials of each item in each cell where it has rows, by item; in as few bytes as they need."""

    starts: IntArray
    """The first line of each item; last, how many lines there are."""
    cell: Codes
    k: Codes
    n: Codes

    @property
    def n_items(self) -> int:
        """How many items have rows."""
        return len(self.starts) - 1

    def cautions(self) -> tuple[Caution, ...]:
        """STAT022 where items are few or unequal, else STAT028 where few of them hold the rarer answer."""
        sizes = self.per_item(self.n)
        n_items = float(sizes.sum() ** 2 / (sizes @ sizes))
        if n_items < FEW:
            return (cautions.few_clusters(self.n_items, n_items),)
        # Repeats count for little where they agree: an item in a cell counts by the share of its rows.
        ones = long_sum(len(self.n), lambda here: self.k[here] / self.n[here])
        return measured.ODDS.caution(min(ones, long_sum(len(self.n), lambda here: 1.0 - self.k[here] / self.n[here])))

    def per_item(self, counts: Codes) -> FloatArray:
        """The counts of each item in all its cells together."""
        return np.add.reduceat(counts, self.starts[:-1], dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Cells:
    """k successes in n trials for each combination of levels that has rows; `codes` is cells × columns."""

    names: tuple[str, ...]
    levels: tuple[tuple[str, ...] | tuple[float, ...], ...]
    codes: IntArray
    k: FloatArray
    n: FloatArray
    items: ItemCells | None = None

    @property
    def rows(self) -> int:
        """Trials in all cells together."""
        return int(self.n.sum())

    def label(self, cell: int) -> str:
        """A cell by its levels, for messages."""
        parts = (f"{name}={self.levels[j][self.codes[cell, j]]}" for j, name in enumerate(self.names))
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class Design:
    """The model matrix on the cells, its column names, and which columns belong to which term."""

    names: tuple[str, ...]
    x: FloatArray
    terms: tuple[str, ...]
    """The term of each column."""

    def only(self, terms: Sequence[str]) -> Design:
        """The columns of some of the terms (and the intercept)."""
        wanted = {"1", *terms}
        keep = [j for j, term in enumerate(self.terms) if term in wanted]
        return self.at(keep)

    def at(self, columns: Sequence[int]) -> Design:
        """Some of the columns."""
        return Design(tuple(self.names[j] for j in columns), self.x[:, columns], tuple(self.terms[j] for j in columns))


def factor(name: str, values: Sequence[str] | npt.NDArray[np.str_], *, reference: str | None = None) -> Column:
    """A factor from text, its levels in sorted order after the reference (the first of them unless named)."""
    rows: list[str] = values.tolist() if isinstance(values, np.ndarray) else list(values)
    if not rows:
        raise DataError(f"{name}: is empty; give one level per row, and at least one row")
    distinct = set(rows)
    strange = next((level for level in distinct if not isinstance(level, str)), None)
    if strange is not None:
        raise DataError(f"{name}: holds {strange!r}; a level is text, and a number belongs in a covariate")
    levels = sorted(distinct)
    if reference is not None:
        if reference not in levels:
            raise DataError(f"{name}: no row has the reference level {reference!r}; {did_you_mean(reference, levels)}")
        levels = [reference, *(level for level in levels if level != reference)]
    place = {level: code for code, level in enumerate(levels)}
    return Column(name, tuple(levels), np.fromiter(map(place.__getitem__, rows), np.int64, len(rows)))


def number(name: str, values: npt.ArrayLike) -> Column:
    """A covariate from numbers; its slope is per 1.0."""
    distinct, codes = np.unique(gate.values(name, values), return_inverse=True)
    return Column(name, tuple(distinct.tolist()), codes)


def collapse(
    outcome: npt.ArrayLike, columns: Sequence[Column], *, items: Ids | None = None, rows: BoolArray | None = None
) -> Cells:
    """Count successes (outcome 1) and trials per cell, and per item and cell where items are given.

    `rows` says which rows count (None: all), so that what is left of ten million is not copied.
    """
    is_bool = isinstance(outcome, np.ndarray) and outcome.dtype == np.bool_ and outcome.ndim == 1 and len(outcome)
    y: npt.NDArray[np.bool_ | np.float64] = np.asarray(outcome) if is_bool else gate.labels("outcome", outcome)
    chosen = np.broadcast_to(np.True_, len(y)) if rows is None else rows
    gate.same_length(outcome=y, rows=chosen)
    if not chosen.any():
        raise DataError("rows: none is chosen; give at least one")
    for column in columns:
        _check(column, chosen)
    sizes = [len(column.levels) for column in columns]
    used, k, n = _counted(y, chosen, columns)
    place = np.unravel_index(used, sizes) if sizes else ()
    codes = np.stack(place, axis=1).astype(np.int64) if sizes else np.zeros((len(used), 0), dtype=np.int64)
    by_item = None if items is None else _by_item(y, grouping.small_codes("items", items), chosen, columns, used)
    return Cells(tuple(c.name for c in columns), tuple(c.levels for c in columns), codes, k, n, by_item)


def _check(column: Column, chosen: BoolArray) -> None:
    if len(column.codes) != len(chosen):
        raise DataError(f"lengths differ: {column.name} has {len(column.codes)} rows, the outcome {len(chosen)}")
    if not column.levels:
        raise DataError(f"{column.name}: has no levels; name at least one")
    codes = column.codes
    ends = [(int(codes[rows].min()), int(codes[rows].max())) for rows in _parts(chosen)]
    low, high = min(low for low, _ in ends), max(high for _, high in ends)
    if low < 0 or high >= len(column.levels):
        bad = low if low < 0 else high
        raise DataError(f"{column.name}: code {bad} is outside its {len(column.levels)} levels; codes start at 0")


def _parts(chosen: BoolArray) -> Iterator[IntArray]:
    """The numbers of the chosen rows, from a part of all rows at a time: memory."""
    for start in range(0, len(chosen), _CHUNK):
        rows = np.flatnonzero(chosen[start : start + _CHUNK])
        if len(rows):
            yield rows + start


def _keys(columns: Sequence[Column], rows: IntArray) -> IntArray:
    """One number for the cell of each row: the last column's level counts fastest."""
    keys = np.zeros(len(rows), dtype=np.int64)
    for column in columns:
        keys *= len(column.levels)
        keys += column.codes[rows]
    return keys


def _counted(
    y: npt.NDArray[np.bool_ | np.float64], chosen: BoolArray, columns: Sequence[Column]
) -> tuple[IntArray, FloatArray, FloatArray]:
    """The keys of the cells that have rows, sorted, and their successes and trials."""
    n_keys = math.prod(len(column.levels) for column in columns)
    if n_keys <= _SPARSE * len(y) + 1024:
        counts = np.zeros((n_keys, 2))
        for rows in _parts(chosen):
            twice = _keys(columns, rows) * 2 + (y[rows] != 0)
            counts += np.bincount(twice, minlength=2 * n_keys).reshape(n_keys, 2)
        used: IntArray = np.flatnonzero(counts.sum(axis=1))
        return used, counts[used, 1], counts[used].sum(axis=1)
    rows = np.flatnonzero(chosen)
    used, inverse = np.unique(_keys(columns, rows), return_inverse=True)
    return used, np.bincount(inverse, y[rows]).astype(np.float64), np.bincount(inverse).astype(np.float64)


def _by_item(
    y: npt.NDArray[np.bool_ | np.float64], ids: Codes, chosen: BoolArray, columns: Sequence[Column], cells: IntArray
) -> ItemCells:
    """Counts by item and cell; `cells` are the sorted keys that some row has. Some items at a time: memory."""
    gate.same_length(outcome=y, items=ids)
    rank, n_items = grouping.ranks(ids, chosen)
    step = max(1, _COUNTED // len(cells), n_items // _BLOCKS)
    lines, parts = np.zeros(n_items + 1, dtype=np.int64), list[list[Codes]]()
    for first in range(0, n_items, step):
        last = min(first + step, n_items)
        rows = np.flatnonzero(_within(rank, ids, chosen, (first, last)))
        place = (rank[ids[rows]] - first) * len(cells) + np.searchsorted(cells, _keys(columns, rows))
        used, k, n = _tallied(place, y[rows] != 0, (last - first) * len(cells))
        item, cell = np.divmod(used, len(cells))
        lines[first + 1 : last + 1] = np.bincount(item, minlength=last - first)
        most = np.min_scalar_type(int(n.max()))
        parts.append([cell.astype(np.min_scalar_type(len(cells))), k.astype(most), n.astype(most)])
    joined = [np.concatenate([part.pop(0) for part in parts]) for _ in range(3)]
    return ItemCells(np.cumsum(lines), *joined)


def _within(rank: IntArray, ids: Codes, chosen: BoolArray, ends: tuple[int, int]) -> BoolArray:
    """The chosen rows of the items from the first to before the last."""
    wanted, own = (rank >= ends[0]) & (rank < ends[1]), np.empty(len(ids), dtype=np.bool_)
    for start in range(0, len(ids), _CHUNK):  # NumPy widens what it takes by: memory
        here = slice(start, start + _CHUNK)
        own[here] = wanted[ids[here]] & chosen[here]
    return own


def _tallied(place: IntArray, ones: BoolArray, span: int) -> tuple[IntArray, IntArray, IntArray]:
    """The places below `span` that some row has, sorted, and how many ones and rows there are at each."""
    if span <= _SPARSE * len(place) + 1024:
        n, k = np.bincount(place, minlength=span), np.bincount(place[ones], minlength=span)
        used: IntArray = np.flatnonzero(n)
        return used, k[used], n[used]
    used, inverse = np.unique(place, return_inverse=True)
    return used, np.bincount(inverse[ones], minlength=len(used)), np.bincount(inverse)


def design(cells: Cells, terms: Sequence[str]) -> Design:
    """The model matrix of an intercept and the terms: 'variant', 'temperature', 'variant:condition'."""
    blocks: dict[str, tuple[list[str], FloatArray]] = {}
    names, terms_of, parts = ["Intercept"], ["1"], [np.ones((len(cells.n), 1))]
    for term in terms:
        if term == "1":
            continue
        label, block = _block(cells, term, blocks)
        names += label
        terms_of += [term] * len(label)
        parts.append(block)
    return Design(tuple(names), np.hstack(parts), tuple(terms_of))


def _block(cells: Cells, term: str, known: dict[str, tuple[list[str], FloatArray]]) -> tuple[list[str], FloatArray]:
    """The columns of one term; those of an interaction are the products of its parts' columns."""
    if term in known:
        return known[term]
    if ":" in term:
        left, right = term.split(":", 1)
        (left_names, a), (right_names, b) = _block(cells, left, known), _block(cells, right, known)
        names = [f"{one}:{other}" for one, other in itertools.product(left_names, right_names)]
        block = (a[:, :, None] * b[:, None, :]).reshape(len(cells.n), -1)
    else:
        if term not in cells.names:
            raise DataError(f"term {term!r} names no column; {did_you_mean(term, cells.names)}")
        j = cells.names.index(term)
        levels, codes = cells.levels[j], cells.codes[:, j]
        if isinstance(levels[0], str):
            names = [f"{term}[{level}]" for level in levels[1:]]
            block = (codes[:, None] == np.arange(1, len(levels))).astype(np.float64)
        else:
            names, block = [term], np.asarray(levels, dtype=np.float64)[codes][:, None]
    known[term] = names, block
    return names, block
