"""Rows of a designed experiment collapsed to its cells: successes and trials per combination of levels.

Every binomial logit on the same columns has the same likelihood on the cells as on the rows, so two million rows cost
one counting pass and every model after it a hundred lines of arithmetic.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from perpend.errors import DataError, did_you_mean
from perpend.stats import gate
from perpend.stats.gate import FloatArray, Ids, IntArray

Codes: TypeAlias = npt.NDArray[np.integer]

# Rows per pass: keys and codes stay in the second-level cache.
_CHUNK = 1 << 16
# Beyond this many possible keys for the rows at hand, sorting the keys beats counting into a mostly empty table.
_SPARSE = 8


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
    """Successes and trials of each item in each cell where it has rows."""

    n_items: int
    item: IntArray
    cell: IntArray
    k: FloatArray
    n: FloatArray


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


def collapse(outcome: npt.ArrayLike, columns: Sequence[Column], *, items: Ids | None = None) -> Cells:
    """Count successes (outcome 1) and trials per cell, and per item and cell where items are given."""
    y = gate.labels("outcome", outcome)
    for column in columns:
        _check(column, len(y))
    sizes = [len(column.levels) for column in columns]
    n_keys = int(np.prod(sizes, dtype=np.int64)) if sizes else 1
    keys = np.empty(len(y), dtype=np.min_scalar_type(n_keys))
    counts = np.zeros((n_keys, 2)) if n_keys <= _SPARSE * len(y) + 1024 else None
    for start in range(0, len(y), _CHUNK):
        part = keys[start : start + _CHUNK]
        part[:] = 0
        for column, size in zip(columns, sizes, strict=True):
            np.multiply(part, size, out=part)
            np.add(part, column.codes[start : start + _CHUNK], out=part, casting="unsafe")
        if counts is not None:
            twice = part.astype(np.intp) * 2 + (y[start : start + _CHUNK] != 0.0)
            counts += np.bincount(twice, minlength=2 * n_keys).reshape(n_keys, 2)
    if counts is not None:
        used = np.flatnonzero(counts.sum(axis=1))
        k, n = counts[used, 1], counts[used].sum(axis=1)
    else:
        used, inverse = np.unique(keys, return_inverse=True)
        k, n = np.bincount(inverse, y).astype(np.float64), np.bincount(inverse).astype(np.float64)
    place = np.unravel_index(used.astype(np.int64), sizes) if sizes else ()
    codes = np.stack(place, axis=1).astype(np.int64) if sizes else np.zeros((len(used), 0), dtype=np.int64)
    by_item = None if items is None else _by_item(y, np.searchsorted(used, keys), gate.codes("items", items), len(used))
    return Cells(tuple(c.name for c in columns), tuple(c.levels for c in columns), codes, k, n, by_item)


def _check(column: Column, rows: int) -> None:
    if len(column.codes) != rows:
        raise DataError(f"lengths differ: {column.name} has {len(column.codes)} rows, the outcome {rows}")
    if not column.levels:
        raise DataError(f"{column.name}: has no levels; name at least one")
    low, high = int(column.codes.min()), int(column.codes.max())
    if low < 0 or high >= len(column.levels):
        bad = low if low < 0 else high
        raise DataError(f"{column.name}: code {bad} is outside its {len(column.levels)} levels; codes start at 0")


def _by_item(y: FloatArray, cell: npt.NDArray[np.intp], item: IntArray, n_cells: int) -> ItemCells:
    gate.same_length(outcome=y, items=item)
    used, inverse = np.unique(item * n_cells + cell, return_inverse=True)
    return ItemCells(
        int(item.max()) + 1,
        used // n_cells,
        used % n_cells,
        np.bincount(inverse, y).astype(np.float64),
        np.bincount(inverse).astype(np.float64),
    )


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
