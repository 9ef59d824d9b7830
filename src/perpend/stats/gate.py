"""The one input gate: every array that a statistic sees passes here first.

Nothing is dropped and nothing is repaired in silence. A violation is a DataError that names the argument, the row and
the value. An empty array is an error here; a statistic whose denominator turns out empty is an undefined Estimate.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Hashable, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from perpend.errors import DataError

FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
Ids: TypeAlias = npt.NDArray[np.generic] | Sequence[Hashable]

# A softmax in double precision can end one unit in the last place above 1 (or, by subtraction, below 0).
_ABOVE_ONE = float(np.nextafter(1.0, 2.0))
_BELOW_ZERO = -float(np.finfo(np.float64).eps)


def _column(name: str, given: npt.ArrayLike, dimensions: int = 1) -> FloatArray:
    """The values as float64 of the wanted shape; text and nested rows are errors, and so is an empty array."""
    try:
        raw = np.asarray(given)
        if raw.dtype.kind not in "biuf" and not (raw.dtype.kind == "O" and _all_numbers(raw)):
            raise DataError(f"{name}: holds {_kind(raw)}, not numbers; convert it before it comes here")
        array = raw.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{name}: is not a rectangular array of numbers ({error})") from error
    if array.size == 0:
        raise DataError(f"{name}: is empty; a statistic of no rows is undefined, so leave this slice out")
    if array.ndim != dimensions:
        shape = "x".join(map(str, array.shape)) or "one number"
        raise DataError(f"{name}: has shape {shape}; give {'rows' if dimensions == 1 else 'rows of columns'}")
    return array


def _all_numbers(raw: npt.NDArray[np.object_]) -> bool:
    return all(isinstance(value, (bool, int, float, np.number, np.bool_)) for value in raw.ravel())


def _kind(raw: npt.NDArray[np.generic]) -> str:
    if raw.dtype.kind in "US":
        return "text"
    if raw.dtype.kind == "O":
        strange = next(v for v in raw.ravel() if not isinstance(v, (bool, int, float, np.number, np.bool_)))
        return f"{type(strange).__name__} values ({strange!r:.40})"
    return str(raw.dtype)


def _refuse(name: str, array: FloatArray, bad: BoolArray, rule: str) -> None:
    """Raise for the first bad row, and say how many there are."""
    if not bad.any():
        return
    row = tuple(int(i) for i in np.argwhere(bad)[0])
    where = f"row {row[0]}" if len(row) == 1 else f"row {row[0]}, column {row[1]}"
    count = int(bad.sum())
    more = f" ({count} such values)" if count > 1 else ""
    raise DataError(f"{name}: {where} is {float(array[row])!r}{more}; {rule}")


def probabilities_clipped(name: str, values: npt.ArrayLike) -> tuple[FloatArray, int]:
    """Probabilities, and how many of them lay one unit in the last place outside [0, 1] and were clipped."""
    array = _column(name, values)
    if array.min() >= 0.0 and array.max() <= 1.0:  # false for nan
        return array, 0
    _refuse(name, array, ~np.isfinite(array), "a probability is a finite number in [0, 1]")
    outside = (array > 1.0) | (array < 0.0)
    near = (array <= _ABOVE_ONE) & (array >= _BELOW_ZERO)
    _refuse(name, array, outside & ~near, "a probability lies in [0, 1]; apply softmax or sigmoid to logits first")
    return np.clip(array, 0.0, 1.0), int(outside.sum())


def probabilities(name: str, values: npt.ArrayLike) -> FloatArray:
    """At least one row, each finite and in [0, 1]. One unit in the last place outside is rounding, and clipped."""
    return probabilities_clipped(name, values)[0]


def labels(name: str, values: npt.ArrayLike) -> FloatArray:
    """At least one row, each 0 or 1 (or a bool)."""
    array = _column(name, values)
    bad = (array != 0.0) & (array != 1.0)
    _refuse(name, array, bad, "a label is 0 or 1")
    return array


def values(name: str, values: npt.ArrayLike) -> FloatArray:
    """At least one row, each finite."""
    array = _column(name, values)
    _refuse(name, array, ~np.isfinite(array), "a value is a finite number")
    return array


def probability_rows(name: str, rows: npt.ArrayLike) -> FloatArray:
    """At least one row of at least one class; every entry in [0, 1], every row summing to 1 within 1e-6."""
    array = _column(name, rows, dimensions=2)
    _refuse(name, array, ~np.isfinite(array), "a probability is a finite number in [0, 1]")
    outside = (array > _ABOVE_ONE) | (array < _BELOW_ZERO)
    _refuse(name, array, outside, "a probability lies in [0, 1]; apply softmax to logits first")
    sums = array.sum(axis=1)
    off = np.abs(sums - 1.0) > 1e-6
    if off.any():
        row = int(np.flatnonzero(off)[0])
        raise DataError(
            f"{name}: row {row} sums to {float(sums[row])!r} ({int(off.sum())} such rows); normalise it to 1"
        )
    return np.clip(array, 0.0, 1.0)


def class_labels(name: str, values: npt.ArrayLike, n_classes: int) -> IntArray:
    """At least one row, each a whole number in 0 … n_classes - 1: no -1 that wraps around, no class beyond the last."""
    array = _column(name, values)
    bad = ~np.isfinite(array) | (array != np.floor(array)) | (array < 0) | (array >= n_classes)
    _refuse(name, array, bad, f"a class is a whole number from 0 to {n_classes - 1}")
    return array.astype(np.int64)


def same_length(**arrays: npt.NDArray[np.generic]) -> int:
    """The number of rows that all the named arrays share."""
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) != 1:
        told = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise DataError(f"lengths differ: {told} rows; give one value per row to each")
    return next(iter(lengths.values()))


def codes(name: str, ids: Ids) -> IntArray:
    """Ids of any hashable kind as 0 … G-1 in the order of first appearance. nan and None are not ids."""
    if isinstance(ids, np.ndarray) and (ids.ndim != 1 or ids.dtype.kind in "biuf"):
        return _codes_of_numbers(name, ids)
    rows = _rows(name, ids)
    for row, one in enumerate(rows):
        if one is None or (isinstance(one, float) and math.isnan(one)):
            raise DataError(f"{name}: row {row} is {one!r}; every row needs an id")
    # 1, 1.0 and True are one dictionary key; as ids they are three things.
    keys: list[Hashable] = rows if len(set(map(type, rows))) == 1 else [(type(row), row) for row in rows]
    try:
        index = {key: code for code, key in enumerate(dict.fromkeys(keys))}
    except TypeError as error:
        raise DataError(f"{name}: holds an id that cannot be compared ({error}); use text or numbers") from error
    return np.fromiter(map(index.__getitem__, keys), dtype=np.int64, count=len(keys))


def _rows(name: str, ids: Ids) -> list[Hashable]:
    if isinstance(ids, (str, bytes)) or not isinstance(ids, (Sequence, np.ndarray)):
        raise DataError(f"{name}: is {ids!r:.40}; give a sequence with one id per row")
    rows: list[Hashable] = ids.tolist() if isinstance(ids, np.ndarray) else list(ids)
    if not rows:
        raise DataError(f"{name}: is empty; give one id per row, and at least one row")
    return rows


def _codes_of_numbers(name: str, ids: npt.NDArray[np.generic]) -> IntArray:
    if ids.ndim != 1 or ids.size == 0:
        raise DataError(f"{name}: has shape {ids.shape}; give one id per row, and at least one row")
    if ids.dtype.kind == "f":
        _refuse(name, ids.astype(np.float64), ~np.isfinite(ids.astype(np.float64)), "an id is not nan or infinity")
    _, first, inverse = np.unique(ids, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]


def unique_keys(name: str, *columns: Ids) -> None:
    """No two rows agree in all columns: a repeated (item, cell) key would be counted twice."""
    coded = [codes(name, column) for column in columns]
    same_length(**{f"{name}[{i}]": column for i, column in enumerate(coded)})
    table = np.stack(coded, axis=1)
    _, first, count = np.unique(table, axis=0, return_index=True, return_counts=True)
    if (count > 1).any():
        row = int(first[count > 1].min())
        again = int(np.flatnonzero((table == table[row]).all(axis=1))[1])
        key = tuple(_rows(name, column)[row] for column in columns)
        shown = key[0] if len(key) == 1 else key
        raise DataError(
            f"{name}: rows {row} and {again} share the key {shown!r} ({int((count > 1).sum())} such keys); "
            "give one row per key"
        )


def counts(**named: int) -> tuple[int, ...]:
    """Non-negative whole numbers, in the order given."""
    out: list[int] = []
    for name, value in named.items():
        try:
            whole = operator.index(value)
        except TypeError:
            raise DataError(f"{name}: is {value!r}; a count is a whole number") from None
        if whole < 0:
            raise DataError(f"{name}: is {whole}; a count is not negative")
        out.append(whole)
    return tuple(out)
