"""Resampling on aggregates: rows are touched once, then every resample is a draw of counts.

Drawing n rows with replacement is a multinomial draw over the distinct kinds of rows, so the distribution is the
bootstrap's own, not an approximation of it. The same holds for clusters and their distinct profiles.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from perpend.stats.cautions import caution
from perpend.stats.gate import FloatArray, IntArray
from perpend.types import Caution

RESAMPLES = 10_000
# A block of resamples times clusters stays below 32 MB.
_BLOCK = 4_000_000
# Kinds of clusters from which on it may pay to draw the clusters themselves.
_MANY = 1000


def generator(rng: np.random.Generator | None) -> np.random.Generator:
    """The caller's generator, or a fresh one with a fixed seed: the same rows then give the same interval."""
    return np.random.default_rng(20240229) if rng is None else rng


def cell_counts(counts: IntArray, rng: np.random.Generator, resamples: int = RESAMPLES) -> FloatArray:
    """Bootstrap counts of each cell, one line per resample, for independent rows that fell into cells."""
    n = int(counts.sum())
    return rng.multinomial(n, counts / n, size=resamples).astype(np.float64)


def cluster_totals(table: FloatArray, rng: np.random.Generator, resamples: int = RESAMPLES) -> FloatArray:
    """Bootstrap column totals of a clusters × columns table, one line per resample; whole clusters are drawn."""
    profiles, times = np.unique(table, axis=0, return_counts=True)
    if len(profiles) >= _MANY and len(profiles) > len(table) // 4:
        return _drawn_one_by_one(table, rng, resamples)
    share = times / len(table)
    block = max(1, _BLOCK // len(profiles))
    drawn = np.empty((resamples, table.shape[1]))
    for start in range(0, resamples, block):
        size = min(block, resamples - start)
        drawn[start : start + size] = rng.multinomial(len(table), share, size=size) @ profiles
    return drawn


def _drawn_one_by_one(table: FloatArray, rng: np.random.Generator, resamples: int) -> FloatArray:
    """`cluster_totals` where most clusters are of a kind of their own: drawing clusters is then 4 to 9 times faster."""
    n = len(table)
    drawn = np.empty((resamples, table.shape[1]))
    for line in drawn:
        line[:] = np.bincount(rng.integers(0, n, size=n, dtype=np.int32), minlength=n) @ table
    return drawn


@dataclass(frozen=True, slots=True)
class Ends:
    """A percentile interval; both ends None where there is none, and `note` says why."""

    lo: float | None
    hi: float | None
    note: str = ""
    cautions: tuple[Caution, ...] = ()


def percentile_interval(draws: FloatArray, level: float) -> Ends:
    """The percentile interval of bootstrap draws (nan: undefined in that resample), with STAT021 where it is rough.

    No interval when more than one resample in twenty is undefined, as the rest would be a selection, nor when all
    resamples agree, as a width of zero would claim certainty.
    """
    defined = draws[np.isfinite(draws)]
    undefined = len(draws) - len(defined)
    if undefined > 0.05 * len(draws):
        return Ends(None, None, f"no interval: undefined in {undefined} of {len(draws)} resamples")
    tail = (1.0 - level) / 2.0
    # The Monte Carlo error of a quantile, read off the draws themselves.
    step = (tail * (1.0 - tail) / len(defined)) ** 0.5
    shares = [tail, 1.0 - tail, max(tail - step, 0.0), tail + step, 1.0 - tail - step, min(1.0 - tail + step, 1.0)]
    lo, hi, lo_low, lo_high, hi_low, hi_high = (float(q) for q in np.quantile(defined, shares))
    if lo == hi:
        return Ends(None, None, "no interval: every resample gives the same value")
    error = max(lo_high - lo_low, hi_high - hi_low) / 2.0 / (hi - lo)
    warned = (caution("STAT021", error, resamples=len(draws)),) if error > 0.1 else ()
    note = f"undefined in {undefined} of {len(draws)} resamples" if undefined else ""
    return Ends(lo, hi, note, warned)
