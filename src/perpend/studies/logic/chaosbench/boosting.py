"""Gradient-boosted trees of three levels on binned columns: what any few features together give away."""

from __future__ import annotations

import numpy as np

from perpend.stats.gate import BoolArray, FloatArray, IntArray

BINS = 16
"""Of a column: the first for what is missing, the others between its quantiles."""
BINS_AND_MISSING = BINS + 1
DEPTH = 3
ROUNDS = 30
RATE = 0.2
_PENALTY = 5.0
"""Rows of nothing that each leaf is averaged with."""
_LEAST = 8
"""Rows that each side of a cut needs."""


def binned(table: FloatArray) -> IntArray:
    """Each column as the numbers of its bins; columns that never vary are left out."""
    columns = []
    for column in table.T:
        known = column[~np.isnan(column)]
        cuts = np.unique(np.quantile(known, np.linspace(0.0, 1.0, BINS)[1:-1])) if len(known) else known
        bins = np.where(np.isnan(column), 0, 1 + np.searchsorted(cuts, column, side="right"))
        if bins.min() != bins.max():
            columns.append(bins)
    return np.array(columns, dtype=np.int64).T if columns else np.zeros((len(table), 0), dtype=np.int64)


def boosted(bins: IntArray, truth: FloatArray, train: BoolArray, test: BoolArray) -> FloatArray:
    """1 or 0 for each test row by trees fitted to the training rows, least squares on ±1.

    0 throughout where a training row of either class is missing or no column varies.
    """
    width = bins.shape[1]
    if width == 0 or len(np.unique(truth[train])) < 2:
        return np.zeros(int(test.sum()))
    rows, others = bins[train], bins[test]
    wanted = np.where(truth[train] == 1.0, 1.0, -1.0)
    fitted = np.full(len(rows), wanted.mean())
    scores = np.full(len(others), wanted.mean())
    cells = np.arange(width) * BINS_AND_MISSING + rows
    for _ in range(ROUNDS):
        residual = wanted - fitted
        node, other = np.zeros(len(rows), dtype=np.int64), np.zeros(len(others), dtype=np.int64)
        for level in range(DEPTH):
            column, cut = _cuts(cells, residual, node, 2**level, width)
            node = 2 * node + (rows[np.arange(len(rows)), column[node]] > cut[node])
            other = 2 * other + (others[np.arange(len(others)), column[other]] > cut[other])
        sums = np.bincount(node, residual, 2**DEPTH)
        counts = np.bincount(node, minlength=2**DEPTH)
        leaves = RATE * sums / (counts + _PENALTY)
        fitted = fitted + leaves[node]
        scores = scores + leaves[other]
    return np.where(scores > 0.0, 1.0, 0.0)


def _cuts(cells: IntArray, residual: FloatArray, node: IntArray, nodes: int, width: int) -> tuple[IntArray, IntArray]:
    """For each node the column and the last bin of its left side that take most of the squares away."""
    keys = (node[:, None] * (width * BINS_AND_MISSING) + cells).ravel()
    shape = (nodes, width, BINS_AND_MISSING)
    sums = np.bincount(keys, np.repeat(residual, width), nodes * width * BINS_AND_MISSING).reshape(shape)
    counts = np.bincount(keys, minlength=nodes * width * BINS_AND_MISSING).reshape(shape)
    left, rows = sums.cumsum(axis=2), counts.cumsum(axis=2)
    total, size = left[:, :, -1:], rows[:, :, -1:]
    gain = left**2 / (rows + _PENALTY) + (total - left) ** 2 / (size - rows + _PENALTY)
    gain = np.where((rows >= _LEAST) & (size - rows >= _LEAST), gain, -1.0)
    best = gain.reshape(nodes, -1).argmax(axis=1)
    column, cut = np.divmod(best, BINS_AND_MISSING)
    # A node that cannot be cut sends all its rows to the left.
    stuck = gain.reshape(nodes, -1).max(axis=1) < 0.0
    return column, np.where(stuck, BINS_AND_MISSING, cut)
