"""Equal-width bins of a probability, and the sums per bin from which every binned calibration number follows.

Edges are `linspace(0, 1, n_bins + 1)`, bins are `[lo, hi)`, and the last is closed. The comparison is with those very
floats: 0.3 lies below edge 3 (0.30000000000000004), 0.1 * 3 does not, and `floor(c * n_bins)` gets both wrong.
"""

from __future__ import annotations

import operator
import warnings
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from perpend.errors import DataError
from perpend.stats import gate
from perpend.stats.cautions import caution
from perpend.stats.gate import FloatArray, IntArray

# 64k rows: the index, the comparison and two columns stay in the second-level cache, and memory stays flat.
CHUNK = 1 << 16
# Above this many bins one binary search a row is cheaper than one comparison a row and edge.
_COMPARED_BINS = 64
# Sums go to four copies of the bins in turn: one add need not wait for the last to the same bin (a fifth of the time).
_LANES = 4
# Rows closer to an edge than this are there by rounding: verbalised confidences 0.1, 0.2 … are all such rows, also when
# they come in single precision.
EDGE_WIDTH = 5e-8

_Index: TypeAlias = npt.NDArray[np.uint8] | IntArray


@dataclass(frozen=True, slots=True)
class BinSums:
    """What the rows leave behind, one entry per bin, empty bins included."""

    n_bins: int
    count: FloatArray
    confidence: FloatArray
    """Σ c"""
    correct: FloatArray
    """Σ y"""
    squares: FloatArray
    """Σ (c - y)²"""
    null_variance: FloatArray
    """Σ c (1 - c): the variance of Σ (c - y) if the model is calibrated and the rows are independent."""

    @property
    def n(self) -> int:
        """Rows in all bins together."""
        return int(self.count.sum())

    @property
    def gap(self) -> FloatArray:
        """Σ (c - y): the bin's mean gap times its count."""
        return self.confidence - self.correct

    @property
    def filled(self) -> npt.NDArray[np.bool_]:
        """Which bins hold at least one row."""
        return self.count > 0


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """One bar of the diagram; mean confidence and accuracy are None in an empty bin."""

    lo: float
    hi: float
    count: int
    confidence: float | None
    accuracy: float | None


@dataclass(frozen=True, slots=True)
class Reliability:
    """The reliability diagram as a value: every bin in order, the empty ones too."""

    bins: tuple[ReliabilityBin, ...]
    n: int
    ece: float

    @property
    def min_bin_count(self) -> int:
        """Rows in the smallest bin; 0 as soon as one bin is empty."""
        return min(one.count for one in self.bins)


def edges(n_bins: int) -> FloatArray:
    """The n_bins + 1 edges, as float64."""
    try:
        whole = operator.index(n_bins)
    except TypeError:
        raise DataError(f"n_bins: is {n_bins!r}; give an integer number of bins") from None
    if isinstance(n_bins, bool):
        raise DataError(f"n_bins: is {n_bins!r}; give an integer number of bins")
    if whole < 1:
        raise DataError(f"n_bins: is {whole}; give at least 1 bin")
    return np.linspace(0.0, 1.0, whole + 1)


def index_into(confidences: FloatArray, inner: FloatArray, lanes: npt.NDArray[np.uint8] | None = None) -> _Index:
    """The bin of each row, given the inner edges, on top of what `lanes` has for it (at most 64 bins then).

    Rows are trusted: `bin_index` is the checked form.
    """
    if len(inner) >= _COMPARED_BINS:
        return np.searchsorted(inner, confidences, side="right").astype(np.int64)
    n = len(confidences)
    index = np.zeros(n, dtype=np.uint8) if lanes is None else lanes[:n].copy()
    above = np.empty(len(confidences), dtype=np.bool_)
    passed = above.view(np.uint8)
    for edge in inner:
        np.greater_equal(confidences, edge, out=above)
        np.add(index, passed, out=index)
    return index


def bin_index(confidences: npt.ArrayLike, n_bins: int = 10) -> IntArray:
    """The bin of each row, 0 … n_bins - 1."""
    inner = edges(n_bins)[1:-1]
    return index_into(gate.probabilities("confidences", confidences), inner).astype(np.int64)


def rows_of(confidences: npt.ArrayLike, correct: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """The two checked columns of every calibration number. A clipped rounding unit gives a Python warning."""
    c, clipped = gate.probabilities_clipped("confidences", confidences)
    y = gate.labels("correct", correct)
    gate.same_length(confidences=c, correct=y)
    if clipped:
        warned = caution("STAT023", clipped)
        warnings.warn(f"{warned.id}: {warned.text}", stacklevel=3)
    return c, y


def gap_sums(c: FloatArray, y: FloatArray, n_bins: int, *, shift: float = 0.0) -> FloatArray:
    """Σ (c - y) per bin: all that ECE needs. `shift` moves the rows, for the bin only, across edges they lie on."""
    inner = edges(n_bins)[1:-1] - shift
    scratch = np.empty(min(CHUNK, len(c)))
    copies = _LANES if n_bins <= _COMPARED_BINS else 1
    lanes = (np.arange(len(scratch)) % copies * n_bins).astype(np.uint8) if copies > 1 else None
    sums = np.zeros(copies * n_bins)
    for start in range(0, len(c), CHUNK):
        part = c[start : start + CHUNK]
        gap = np.subtract(part, y[start : start + CHUNK], out=scratch[: len(part)])
        sums += np.bincount(index_into(part, inner, lanes), gap, copies * n_bins)
    return np.asarray(sums.reshape(copies, n_bins).sum(axis=0), dtype=np.float64)


def edge_rows(c: FloatArray, n_bins: int) -> int:
    """How many rows lie within EDGE_WIDTH of an inner edge."""
    inner = edges(n_bins)[1:-1]
    count = 0
    for start in range(0, len(c), CHUNK):
        part = c[start : start + CHUNK]
        count += int(np.count_nonzero(index_into(part, inner - EDGE_WIDTH) != index_into(part, inner + EDGE_WIDTH)))
    return count


def bin_sums(c: FloatArray, y: FloatArray, n_bins: int) -> BinSums:
    """The sums per bin of checked rows, in one pass and flat memory."""
    inner = edges(n_bins)[1:-1]
    sums = np.zeros((5, n_bins))
    for start in range(0, len(c), CHUNK):
        part, right = c[start : start + CHUNK], y[start : start + CHUNK]
        index = index_into(part, inner).astype(np.int64)
        gap = part - right
        for row, weight in enumerate((None, part, right, gap * gap, part * (1.0 - part))):
            sums[row] += np.bincount(index, weight, n_bins)
    return BinSums(n_bins, *sums)


def reliability(confidences: npt.ArrayLike, correct: npt.ArrayLike, n_bins: int = 10) -> Reliability:
    """Count, mean confidence and accuracy of every equal-width bin, with the ECE that they add up to."""
    sums = bin_sums(*rows_of(confidences, correct), n_bins)
    at = edges(n_bins)
    bins = tuple(
        ReliabilityBin(
            lo=float(at[m]),
            hi=float(at[m + 1]),
            count=int(sums.count[m]),
            confidence=float(sums.confidence[m] / sums.count[m]) if sums.count[m] else None,
            accuracy=float(sums.correct[m] / sums.count[m]) if sums.count[m] else None,
        )
        for m in range(n_bins)
    )
    return Reliability(bins, sums.n, float(np.abs(sums.gap).sum() / sums.n))
