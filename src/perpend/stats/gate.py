"""One strict input gate for every statistic."""

from __future__ import annotations

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
    if isinstance(given, np.ma.MaskedArray) and np.ma.getmaskarray(given).any():
        masked = int(np.ma.getmaskarray(given).sum())
        raise DataError(f"{name}: {masked} values are masked; leave these rows out, or fill them in")
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


def refuse(name: str, array: FloatArray, bad: BoolArray, rule: str) -> None:
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
    refuse(name, array, ~np.isfinite(array), "a probability is a finite number in [0, 1]")
    outside = (array > 1.0) | (array < 0.0)
    near = (array <= _ABOVE_ONE) & (array >= _BELOW_ZERO)
    refuse(name, array, outside & ~near, "a probability lies in [0, 1]; apply softmax or sigmoid to logits first")
    return np.clip(array, 0.0, 1.0), int(outside.sum())


def probabilities(name: str, values: npt.ArrayLike) -> FloatArray:
    """At least one row, each finite and in [0, 1]. One unit in the last place outside is rounding, and clipped."""
    return probabilities_clipped(name, values)[0]


def labels(name: str, values: npt.ArrayLike) -> FloatArray:
    """At least one row, each 0 or 1 (or a bool)."""
    array = _column(name, values)
    bad = (array != 0.0) & (array != 1.0)
    refuse(name, array, bad, "a label is 0 or 1")
    return array


def values(name: str, values: npt.ArrayLike) -> FloatArray:
    """At least one row, each finite."""
    array = _column(name, values)
    refuse(name, array, ~np.isfinite(array), "a value is a finite number")
    return array


def probability_rows(name: str, rows: npt.ArrayLike) -> FloatArray:
    """At least one row of at least one class; every entry in [0, 1], every row summing to 1 within 1e-6."""
    array = _column(name, rows, dimensions=2)
    refuse(name, array, ~np.isfinite(array), "a probability is a finite number in [0, 1]")
    outside = (array > _ABOVE_ONE) | (array < _BELOW_ZERO)
    refuse(name, array, outside, "a probability lies in [0, 1]; apply softmax to logits first")
    sums = array.sum(axis=1)
    off = np.abs(sums - 1.0) > 1e-6
    if off.any():
        row = int(np.flatnonzero(off)[0])
        raise DataError(
            f"{name}: row {row} sums to {float(sums[row])!r} ({int(off.sum())} such rows); normalise it to 1"
        )
    return np.clip(array, 0.0, 1.0)


def class_labels(name: str, values: npt.ArrayLike, n_classes: int) -> IntArray:
    """At least one row, each an integer in 0 … n_classes - 1: no -1 that wraps around, no class beyond the last."""
    array = _column(name, values)
    bad = ~np.isfinite(array) | (array != np.floor(array)) | (array < 0) | (array >= n_classes)
    refuse(name, array, bad, f"a class is an integer from 0 to {n_classes - 1}")
    return array.astype(np.int64)


def same_length(**arrays: npt.NDArray[np.generic]) -> int:
    """The number of rows that all the named arrays share."""
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) != 1:
        stated = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise DataError(f"lengths differ: {stated} rows; give one value per row to each")
    return next(iter(lengths.values()))


def counts(**named: int) -> tuple[int, ...]:
    """Non-negative integers, in the order given."""
    out: list[int] = []
    for name, value in named.items():
        try:
            whole = operator.index(value)
        except TypeError:
            raise DataError(f"{name}: is {value!r}; a count is an integer") from None
        if whole < 0:
            raise DataError(f"{name}: is {whole}; a count is not negative")
        out.append(whole)
    return tuple(out)
