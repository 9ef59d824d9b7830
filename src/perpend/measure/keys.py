"""Keys of trials: several codes as one number, rows of the same key counted, two selections matched."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from perpend.measure.packed import narrow

FloatArray: TypeAlias = npt.NDArray[np.float64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
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
            return np.broadcast_to(np.int8(0), len(keys))
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
