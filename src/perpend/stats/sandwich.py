"""The covariance of regression coefficients that knows which rows belong to one item."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from scipy.special import expit

from perpend.stats.cells import ItemCells
from perpend.stats.gate import FloatArray

# Above so many items the leverage of one is nothing.
_LEVERAGED = 500
_LINES = 1 << 18


def item_covariance(x: FloatArray, coef: FloatArray, bread: FloatArray, items: ItemCells) -> FloatArray | None:
    """Item-clustered covariance from the scores per item; None for one item.

    With few items residuals are too small, as the fit follows them: up to 500 items they are scaled up by the item's
    leverage (Mancl and DeRouen 2001), above by G / (G - 1).
    """
    if items.n_items < 2:
        return None
    p = expit(x @ coef)
    factor, scaled = items.n_items / (items.n_items - 1.0), None
    if items.n_items <= _LEVERAGED:
        scaled, factor = _leveraged(x, p, bread, items), 1.0
    scores = np.zeros((items.n_items, x.shape[1]))
    for here in _whole_items(items):
        starts = items.starts[here.start : here.stop + 1]
        lines, item = slice(starts[0], starts[-1]), np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        cell = items.cell[lines]
        residual = items.k[lines] - items.n[lines] * p[cell] if scaled is None else scaled[lines]
        for number, column in enumerate(x.T):
            scores[here, number] = np.bincount(item, residual * column[cell], len(starts) - 1)
    return np.asarray(bread @ (scores.T @ scores) @ bread * factor, dtype=np.float64)


def _whole_items(items: ItemCells) -> Iterator[slice]:
    """All items, some at a time: so many as fill a part of the lines, memory."""
    edges = np.searchsorted(items.starts, range(0, int(items.starts[-1]), _LINES)).tolist()
    for first, last in pairwise([*dict.fromkeys(edges), items.n_items]):
        yield slice(first, last)


def _leveraged(x: FloatArray, p: FloatArray, bread: FloatArray, items: ItemCells) -> FloatArray:
    """Residuals without the part of the fit that the item itself is the cause of.

    They solve (I - W X B X') s = r over an item's rows: s = r + W X (I - B X' W X)⁻¹ B X' r has a system as large as
    the number of coefficients, however many rows an item has. Both have the same determinant.
    """
    residual = items.k - items.n * p[items.cell]
    scaled = residual.copy()
    for first, last in pairwise(items.starts.tolist()):
        own = slice(first, last)
        rows, chance = x[items.cell[own]], p[items.cell[own]]
        weighted = (items.n[own] * chance * (1.0 - chance))[:, None] * rows
        kept = np.eye(x.shape[1]) - bread @ (rows.T @ weighted)
        # An item that alone decides a coefficient leaves nothing to scale by.
        if abs(float(np.linalg.det(kept))) > 1e-9:
            scaled[own] += weighted @ np.linalg.solve(kept, bread @ (rows.T @ residual[own]))
    return scaled
