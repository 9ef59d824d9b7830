"""Sums of columns that are too long to be made whole."""

from __future__ import annotations

from collections.abc import Callable

from perpend.stats.gate import FloatArray

PART = 1 << 18
"""Values that are made at once; at least 128, which NumPy itself adds up in one go."""


def long_sum(n: int, values: Callable[[slice], FloatArray], *, start: int = 0) -> float:
    """The sum of n values from `start` on, made a part at a time, with the bits of NumPy's sum of all; 0 for none.

    NumPy halves a contiguous column at a multiple of 8 until few are left (pairwise summation), and so does this.
    """
    if n <= PART:
        return float(values(slice(start, start + n)).sum())
    half = n // 2 - n // 2 % 8
    return long_sum(half, values, start=start) + long_sum(n - half, values, start=start + half)
