"""Rows collapsed to cells for regression, and Firth's penalised logit on them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from perpend.errors import DataError, did_you_mean
from perpend.stats import gate, measured
from perpend.stats.clusters import FEW
from perpend.stats.gate import BoolArray, FloatArray, Ids, IntArray
from perpend.types import Caution

Codes: TypeAlias = npt.NDArray[np.integer]

# Rows per pass: keys and codes stay in the second-level cache.
_CHUNK = 1 << 16
# Beyond this many possible keys for the rows at hand, sorting the keys beats counting into a mostly empty table.
_SPARSE = 8
# Items times cells that are counted at once; and the most blocks of items, whatever their size.
_COUNTED, _BLOCKS = 1 << 20, 16


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

    n_items: int
    item: Codes
    cell: Codes
    k: Codes
    n: Codes

    def cautions(self) -> tuple[Caution, ...]:
        """STAT022 where items are few or unequal, else STAT028 where few of them hold the rarer answer."""
        sizes = self.per_item(self.n)
        n_items = float(sizes.sum() ** 2 / (sizes @ sizes))
        if n_items < FEW:
            return (gate.few_clusters(self.n_items, n_items),)
        # Repeats count for little where they agree: an item in a cell counts by the share of its rows.
        right = self.k / self.n
        ones = float(right.sum())
        return measured.ODDS.caution(min(ones, float(np.subtract(1.0, right, out=right).sum())))

    def per_item(self, counts: Codes) -> FloatArray:
        """The counts of each item in all its cells together, a part of the lines at a time: memory."""
        sums = np.zeros(self.n_items)
        for start in range(0, len(counts), _CHUNK):
            here = slice(start, start + _CHUNK)
            np.add.at(sums, self.item[here], counts[here])
        return sums


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
    is_bool = isinstance(outcome, np.ndarray) and outcome.dtype == np.bool_ and outcome.ndim == 1 and len(outcome)
    y: npt.NDArray[np.bool_ | np.float64] = np.asarray(outcome) if is_bool else gate.labels("outcome", outcome)
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
            twice = part.astype(np.intp) * 2 + (y[start : start + _CHUNK] != 0)
            counts += np.bincount(twice, minlength=2 * n_keys).reshape(n_keys, 2)
    if counts is not None:
        used = np.flatnonzero(counts.sum(axis=1))
        k, n = counts[used, 1], counts[used].sum(axis=1)
    else:
        used, inverse = np.unique(keys, return_inverse=True)
        k, n = np.bincount(inverse, y).astype(np.float64), np.bincount(inverse).astype(np.float64)
    place = np.unravel_index(used.astype(np.int64), sizes) if sizes else ()
    codes = np.stack(place, axis=1).astype(np.int64) if sizes else np.zeros((len(used), 0), dtype=np.int64)
    by_item = None if items is None else _by_item(y, gate.narrow_codes("items", items), keys, used)
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


def _by_item(y: npt.NDArray[np.bool_ | np.float64], item: Codes, keys: Codes, cells: Codes) -> ItemCells:
    """Counts by item and cell; `cells` are the sorted keys that some row has. Some items at a time: memory."""
    gate.same_length(outcome=y, items=item)
    n_items, n_cells = int(item.max()) + 1, len(cells)
    step = max(1, _COUNTED // n_cells, n_items // _BLOCKS)
    kinds = np.min_scalar_type(n_items), np.min_scalar_type(n_cells)
    parts = [
        _of_items(y, item, keys, cells, (first, min(first + step, n_items)), kinds) for first in range(0, n_items, step)
    ]
    return ItemCells(n_items, *(np.concatenate([own[at] for own in parts]) for at in range(4)))


def _of_items(
    y: npt.NDArray[np.bool_ | np.float64],
    item: Codes,
    keys: Codes,
    cells: Codes,
    within: tuple[int, int],
    kinds: tuple[np.dtype[np.generic], np.dtype[np.generic]],
) -> tuple[Codes, Codes, Codes, Codes]:
    """Item, cell, successes and trials of the items from the first to before the last."""
    first, last = within
    rows = np.flatnonzero((item >= first) & (item < last))
    place = (item[rows].astype(np.int64) - first) * len(cells) + np.searchsorted(cells, keys[rows])
    used, inverse = np.unique(place, return_inverse=True)
    k, n = (np.bincount(own, minlength=len(used)) for own in (inverse[y[rows] != 0], inverse))
    own, cell = np.divmod(used, len(cells))
    most = np.min_scalar_type(int(n.max()))
    return (own + first).astype(kinds[0]), cell.astype(kinds[1]), k.astype(most), n.astype(most)


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


_SCORE_LIMIT = 1e-6


@dataclass(frozen=True, slots=True)
class FirthFit:
    """Coefficients that maximise likelihood times √|information|, their covariance, and that maximum's logarithm."""

    coef: FloatArray
    covariance: FloatArray
    penalised: float


def separated_cells(x: FloatArray, k: FloatArray, n: FloatArray) -> BoolArray:
    """Which cells a separating direction moves; none where the maximum-likelihood estimate exists.

    A linear program looks for the direction (Konis 2007); it is asked again until the rest has none left.
    """
    from scipy.optimize import linprog

    x = x / np.maximum(np.abs(x).max(axis=0), 1e-300)  # the limits below are for columns of like size
    moved = np.zeros(len(n), dtype=np.bool_)
    while not moved.all():
        rest = ~moved
        sign = np.where(k == n, 1.0, np.where(k == 0.0, -1.0, 0.0))[rest]
        if not sign.any():
            return moved
        pure = sign != 0.0
        signed = sign[pure, None] * x[rest][pure]
        equal = x[rest][~pure] if (~pure).any() else None
        program = linprog(
            -signed.sum(axis=0),
            A_ub=-signed,
            b_ub=np.zeros(len(signed)),
            A_eq=equal,
            b_eq=None if equal is None else np.zeros(len(equal)),
            bounds=(-1.0, 1.0),
            method="highs",
        )
        if program.status != 0:
            raise DataError(f"separation: the linear program ended with {program.message!r}; collapse sparse levels")
        direction = np.asarray(program.x, dtype=np.float64)
        if float(signed.sum(axis=0) @ direction) < 1e-7:
            return moved
        moved[np.flatnonzero(rest)[np.abs(x[rest] @ direction) > 1e-9]] = True
    return moved


@dataclass(frozen=True, slots=True)
class _Point:
    """The penalised likelihood at some coefficients, with what a step from there needs."""

    value: float
    score: FloatArray
    information: FloatArray
    curvature: FloatArray


def _point(x: FloatArray, k: FloatArray, n: FloatArray, coef: FloatArray) -> _Point:
    eta = x @ coef
    p = expit(eta)
    spread = p * (1.0 - p)
    information: FloatArray = (x.T * (n * spread)) @ x
    _, logdet = np.linalg.slogdet(information)
    leverage = n * spread * np.einsum("ij,jk,ik->i", x, np.linalg.pinv(information), x)
    # Firth's score is that of a table with h/2 successes and h trials more in each cell. The curvature must count
    # those trials too: without them a step from a cell of one row is twice too long, and swings for ever.
    curvature: FloatArray = (x.T * ((n + leverage) * spread)) @ x
    value = float(k @ eta - n @ np.logaddexp(0.0, eta)) + 0.5 * float(logdet)
    return _Point(value, x.T @ (k - n * p + leverage * (0.5 - p)), information, curvature)


def firth(x: FloatArray, k: FloatArray, n: FloatArray) -> FirthFit:
    """Firth's penalised logit on cells. A fit that is not stationary is an error (STAT011), not a number."""
    coef, at = _maximised(x, k, n, np.zeros(x.shape[1]), np.ones(x.shape[1], dtype=np.bool_), _SCORE_LIMIT)
    return FirthFit(coef, np.asarray(np.linalg.pinv(at.information), dtype=np.float64), at.value)


def _maximised(
    x: FloatArray, k: FloatArray, n: FloatArray, start: FloatArray, free: BoolArray, limit: float
) -> tuple[FloatArray, _Point]:
    """The free coefficients that maximise the penalised likelihood, the others held at the start."""
    coef, at = start, _point(x, k, n, start)
    for _ in range(500):
        if not free.any() or np.abs(at.score[free]).max() < 1e-9:
            break
        step = np.zeros_like(coef)
        step[free] = np.linalg.lstsq(at.curvature[np.ix_(free, free)], at.score[free], rcond=None)[0]
        step *= min(1.0, 5.0 / max(float(np.abs(step).max()), 1e-300))
        for _ in range(30):
            trial = _point(x, k, n, coef + step)
            if trial.value >= at.value - 1e-12 * abs(at.value):
                break
            step /= 2.0
        coef, at = coef + step, trial
    norm = float(np.abs(at.score[free]).max()) if free.any() else 0.0
    if norm > limit:
        caution = gate.not_stationary(norm)
        raise DataError(f"{caution.id}: {caution.text}")
    return coef, at


def firth_profile(
    x: FloatArray, k: FloatArray, n: FloatArray, column: int, *, critical: float
) -> tuple[float, float | None, float | None, float]:
    """One coefficient with its profile interval and p. `critical` is the chi-square quantile with 1 df.

    An end is None where the profile stays below the critical value out to 50 on the logit scale.
    """
    from scipy.optimize import brentq
    from scipy.special import chdtrc

    best = firth(x, k, n)
    centre = float(best.coef[column])

    free = np.arange(x.shape[1]) != column

    def drop(at: float) -> float:
        # Only the value is used, and its error is the square of the score's: 1e-3 is enough here.
        start = np.where(free, best.coef, at)
        return 2.0 * (best.penalised - _maximised(x, k, n, start, free, 1e-3)[1].value)

    width = max(math.sqrt(float(best.covariance[column, column])), 1e-3)
    ends: list[float | None] = []
    for side in (-1.0, 1.0):
        reach = width
        while reach <= 50.0 and drop(centre + side * reach) < critical:
            reach *= 2.0
        if reach > 50.0:
            ends.append(None)
            continue
        inner, outer = sorted((centre, centre + side * reach))
        ends.append(float(brentq(lambda at: drop(at) - critical, inner, outer, xtol=1e-8)))
    return centre, ends[0], ends[1], float(chdtrc(1.0, max(drop(0.0), 0.0)))
