"""Ids of items, clusters, strata or groups as numbers, in the order of their first appearance."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import TypeGuard

import numpy as np
import numpy.typing as npt

from perpend.errors import DataError
from perpend.stats.gate import BoolArray, Ids, IntArray, refuse

_CHUNK = 1 << 18


def codes(name: str, ids: Ids) -> IntArray:
    """Ids of any hashable kind as 0 … G-1 in the order of first appearance. nan and None are not ids.

    A column of pandas or polars counts as the array that it holds.
    """
    if not isinstance(ids, np.ndarray) and hasattr(ids, "to_numpy"):
        ids = np.asarray(ids.to_numpy())
    if isinstance(ids, np.ma.MaskedArray):
        if np.ma.getmaskarray(ids).any():
            raise DataError(f"{name}: {int(np.ma.getmaskarray(ids).sum())} ids are masked; every row needs an id")
        ids = ids.data
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


def small_codes(name: str, ids: Ids) -> npt.NDArray[np.integer]:
    """Ids as they are where they are numbers below four times the rows; else their `codes`."""
    if type(ids) is np.ndarray and ids.ndim == 1 and ids.size and _are_small(ids):
        return ids
    return codes(name, ids)


def _are_small(ids: npt.NDArray[np.generic]) -> TypeGuard[npt.NDArray[np.integer]]:
    return bool(ids.dtype.kind in "iu" and ids.min() >= 0 and ids.max() < 4 * len(ids))


def ranks(ids: npt.NDArray[np.integer], chosen: BoolArray | None = None) -> tuple[IntArray, int]:
    """For each number up to the largest id its place in the order of first appearance among the chosen rows (None:
    all), and how many ids appear there. The others come last."""
    where = np.full(int(ids.max()) + 1, len(ids))
    for start in reversed(range(0, len(ids), _CHUNK)):  # the last that is written is the first row
        here = slice(start, start + _CHUNK)
        rows = np.arange(start, start + len(ids[here])) if chosen is None else np.flatnonzero(chosen[here]) + start
        where[ids[rows[::-1]]] = rows[::-1]
    rank = np.empty(len(where), dtype=np.int64)
    rank[np.argsort(where, kind="stable")] = np.arange(len(where))
    return rank, int(np.count_nonzero(where < len(ids)))


def _codes_of_numbers(name: str, ids: npt.NDArray[np.generic]) -> IntArray:
    if ids.ndim != 1 or ids.size == 0:
        raise DataError(f"{name}: has shape {ids.shape}; give one id per row, and at least one row")
    if ids.dtype.kind == "f":
        refuse(name, ids.astype(np.float64), ~np.isfinite(ids.astype(np.float64)), "an id is not nan or infinity")
    if _are_small(ids):
        rank, _ = ranks(ids)
        return np.take(rank, ids)
    _, first, inverse = np.unique(ids, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]
