"""Calibration as a reader needs it: the number, what a perfect model would show at this n, an interval, cautions.

`ece`, `brier` and `brier_multiclass` are the plain numbers of the calibration lab, under its names and signatures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from perpend.errors import DataError
from perpend.stats import dependent, gate, grouping, measured, proportions, resample
from perpend.stats.bins import (
    EDGE_WIDTH,
    BinSums,
    Reliability,
    ReliabilityBin,
    bin_index,
    bin_sums,
    edge_rows,
    gap_sums,
    reliability,
    rows_of,
)
from perpend.stats.brier import (
    Corp,
    Murphy,
    brier,
    brier_corp,
    brier_estimate,
    brier_multiclass,
    brier_multiclass_half,
    brier_multiclass_sum,
    brier_murphy,
    brier_skill,
    spiegelhalter,
)
from perpend.stats.calibration_error import (
    ace,
    debiased_from,
    debiased_l2_squared,
    debiased_rmsce,
    ece,
    ece_classwise,
    ece_equal_mass,
    ece_top_label,
    expected_from,
    mce,
    rmsce,
    smooth_ece,
)
from perpend.stats.cautions import caution
from perpend.stats.gate import FloatArray, Ids
from perpend.types import Caution, Estimate, Number

__all__ = [
    "ChoiceCalibration", "Corp", "Murphy", "Reliability", "ReliabilityBin", "above_chance", "ace", "bin_index",
    "brier", "brier_corp", "brier_estimate", "brier_multiclass", "brier_multiclass_half", "brier_multiclass_sum",
    "brier_murphy", "brier_skill", "debiased_l2_squared", "debiased_rmsce", "ece", "ece_above_chance",
    "ece_by_choices", "ece_classwise", "ece_equal_mass", "ece_estimate",
    "ece_top_label", "mce", "refuse_adversarial", "reliability",
    "rmsce", "smooth_ece", "spiegelhalter",
]  # fmt: skip

DRAWS = dependent.DRAWS
# Up to here the null draws answers row by row; above, the sum of a bin's answers is normal to a hair.
_EXACT_ROWS = 1000


def ece_estimate(
    confidences: npt.ArrayLike,
    correct: npt.ArrayLike,
    n_bins: int = 10,
    *,
    clusters: Ids | None = None,
    rng: np.random.Generator | None = None,
) -> Estimate:
    """ECE with the value a perfect model shows at this n, a test of calibration, and the gated-hull interval.

    The interval is empirical: no theory, measured coverage 0.90 to 0.99 (a percentile bootstrap covers 0 % at ECE 0),
    and 0.80 to 1.00 where items repeat; STAT028 says so below 2,000 rows or 300 items.
    Where items repeat, the null is that of a calibrated model whose repeats agree as much as the rows allow, and items
    are resampled (stats/dependent.py). `also` holds the bins, the edge conventions and the null. One item: no interval
    and no test.
    """
    c, clipped = gate.probabilities_clipped("confidences", confidences)
    y = gate.labels("correct", correct)
    n = gate.same_length(confidences=c, correct=y)
    codes = proportions.coded(clusters, n)
    generator = resample.generator(rng)
    sums = bin_sums(c, y, n_bins)
    value = float(np.abs(sums.gap).sum() / n)
    spread = proportions.clustering(c - y, codes)
    items = None if codes is None else dependent.item_rows(c, y, codes)
    null = _null_draws(c, sums, generator) if items is None else dependent.null_draws(items, n_bins, generator)
    p = (1.0 + float(np.count_nonzero(null >= value - 1e-12))) / (DRAWS + 1.0)
    quantile = float(np.quantile(null, 0.95))
    also: dict[str, Number] = {
        "n_bins": n_bins,
        "min_bin_count": int(sums.count.min()),
        "min_filled_bin_count": int(sums.count[sums.filled].min()),
        "empty_bins": int(np.count_nonzero(~sums.filled)),
        "resamples": DRAWS,
        "expected_if_calibrated": expected_from(sums.null_variance, n) if items is None else float(null.mean()),
        "q95_if_calibrated": quantile,
        "p_calibrated": p,
        **spread.also(),
    }
    warned = [*spread.cautions(), *_edge_facts(c, y, value, n_bins, also)]
    warned.extend(measured.ECE.caution(n) if items is None else measured.CLUSTERED_ECE.caution(spread.n_items))
    if clipped:
        warned.append(caution("STAT023", clipped))
    if value <= quantile:
        warned.append(caution("STAT003", quantile, ece=value))
    smallest = int(sums.count[sums.filled].min())
    if n_bins > n / 3 or smallest < 5:
        warned.append(caution("STAT004", smallest, n=n, n_bins=n_bins))
    if spread.repeats and spread.n_clusters == 1:
        note = f"no interval: all {n} rows belong to one cluster"
        return Estimate(value, n, note=note, also=also, cautions=tuple(warned))
    if items is None:
        debiased = debiased_from(sums)
        also |= {"debiased_l2": debiased.value, "debiased_l2_lo": debiased.lo, "debiased_l2_hi": debiased.hi}
        draws, mean = _drawn(sums, generator), dependent.folded(sums.gap, _bin_variance(sums), n)
        lo, hi = _gated_hull(value, draws, mean, p)
        method = "gated hull, bin-moment bootstrap (empirical)"
    else:
        lo, hi = dependent.hull(value, items, n_bins, p, generator)
        method = "gated hull, cluster bootstrap (empirical)"
    return Estimate(value, n, lo, hi, method, also=also, cautions=tuple(warned))


def _edge_facts(
    c: FloatArray, y: FloatArray, value: float, n_bins: int, also: dict[str, Number]
) -> tuple[Caution, ...]:
    """How far ECE moves when the rows that lie on edges go up or down; nothing where no row does."""
    on_edge = edge_rows(c, n_bins)
    also["edge_rows"] = on_edge
    if not on_edge:
        return ()
    moved = [float(np.abs(gap_sums(c, y, n_bins, shift=s)).sum() / len(c)) for s in (-EDGE_WIDTH, EDGE_WIDTH)]
    lo, hi = min(value, *moved), max(value, *moved)
    also |= {"edge_lo": lo, "edge_hi": hi}
    return (caution("STAT005", on_edge / len(c), lo=lo, hi=hi),)


def _gated_hull(value: float, draws: FloatArray, mean: float, p: float) -> tuple[float, float]:
    """The interval of spec §A2: lower end 0 unless the test rejects calibration, upper end a hull of two."""
    se, quantile = float(draws.std(ddof=1)), float(np.quantile(draws, 0.975))
    centre = 2.0 * value - mean
    lo = 0.0 if p > 0.025 else max(0.0, min(2.0 * value - quantile, centre - 1.96 * se, value))
    return lo, min(1.0, max(value + 1.64 * se, max(centre, 0.0) + 1.96 * se))


def _bin_variance(sums: BinSums) -> FloatArray:
    """The spread of c - y in each bin, times its count. An all-right or all-wrong bin gets Jeffreys' rate's."""
    count = np.maximum(sums.count, 1.0)
    observed = np.maximum(sums.squares - sums.gap**2 / count, 0.0)
    rate = (sums.correct + 0.5) / (sums.count + 1.0)
    one_sided = (sums.correct == 0.0) | (sums.correct == sums.count)
    return np.where(one_sided, np.maximum(observed, sums.count * rate * (1.0 - rate)), observed)


def _drawn(sums: BinSums, rng: np.random.Generator) -> FloatArray:
    """Bootstrap draws of ECE from the sums alone: multinomial counts, then normal sums in each bin."""
    filled = sums.filled
    count = sums.count[filled]
    drawn = rng.multinomial(sums.n, count / sums.n, size=DRAWS)
    mean, variance = sums.gap[filled] / count, _bin_variance(sums)[filled] / count
    gaps = drawn * mean + np.sqrt(drawn * variance) * rng.standard_normal(drawn.shape)
    return np.asarray(np.abs(gaps).sum(axis=1) / sums.n, dtype=np.float64)


def _null_draws(c: FloatArray, sums: BinSums, rng: np.random.Generator) -> FloatArray:
    """ECE of a calibrated model on these confidences: answers are right with probability c, independently."""
    if len(c) > _EXACT_ROWS:
        gaps = rng.standard_normal((DRAWS, sums.n_bins)) * np.sqrt(sums.null_variance)
    else:
        # Bins follow the order of c, so sorting puts each bin's rows side by side.
        rows = np.sort(c)
        starts = (np.cumsum(sums.count) - sums.count)[sums.filled].astype(np.int64)
        gaps = np.add.reduceat(rows - (rng.random((DRAWS, len(c))) < rows), starts, axis=1)
    return np.asarray(np.abs(gaps).sum(axis=1) / len(c), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class ChoiceCalibration:
    """ECE for each candidate-set size, and pooled; pooled carries STAT017 where sizes differ."""

    by_size: Mapping[int, Estimate]
    pooled: Estimate


def _sizes(n_choices: npt.ArrayLike, n: int) -> FloatArray:
    sizes = gate.values("n_choices", n_choices)
    bad = np.flatnonzero((sizes < 2.0) | (sizes != np.floor(sizes)))
    if len(bad):
        raise DataError(f"n_choices: row {bad[0]} is {sizes[bad[0]]!r}; a candidate set has 2 members or more")
    if len(sizes) != n:
        raise DataError(f"lengths differ: n_choices has {len(sizes)} rows, the data {n}; give one size per row")
    return sizes


def ece_by_choices(
    confidences: npt.ArrayLike,
    correct: npt.ArrayLike,
    n_choices: npt.ArrayLike,
    n_bins: int = 10,
    *,
    clusters: Ids | None = None,
    rng: np.random.Generator | None = None,
) -> ChoiceCalibration:
    """`ece_estimate` for the rows of each candidate-set size: confidence 0.5 of 4 is not confidence 0.5 of 2."""
    c, y = rows_of(confidences, correct)
    sizes = _sizes(n_choices, len(c))
    generator = resample.generator(rng)
    codes = None if clusters is None else grouping.codes("clusters", clusters)
    pooled = ece_estimate(c, y, n_bins, clusters=codes, rng=generator)
    by_size: dict[int, Estimate] = {}
    for size in np.unique(sizes):
        rows = sizes == size
        own = None if codes is None else codes[rows]
        by_size[int(size)] = ece_estimate(c[rows], y[rows], n_bins, clusters=own, rng=generator)
    if len(by_size) > 1:
        pooled = replace(pooled, cautions=(*pooled.cautions, caution("STAT017", len(by_size))))
    return ChoiceCalibration(by_size, pooled)


def above_chance(confidences: npt.ArrayLike, n_choices: npt.ArrayLike) -> FloatArray:
    """(c - 1/k) / (1 - 1/k): 0 is the confidence of a guess among k candidates, 1 stays 1.

    A confidence below 1/k is an error: it is not the largest of k candidates.
    """
    c = gate.probabilities("confidences", confidences)
    chance = 1.0 / _sizes(n_choices, len(c))
    low = np.flatnonzero(c < chance - EDGE_WIDTH)
    if len(low):
        row = int(low[0])
        raise DataError(
            f"confidences: row {row} is {float(c[row])!r}, below chance {float(chance[row]):.4f}; "
            "give the confidence of the candidate chosen, the largest of its set"
        )
    return np.maximum((c - chance) / (1.0 - chance), 0.0)


def ece_above_chance(
    confidences: npt.ArrayLike, correct: npt.ArrayLike, n_choices: npt.ArrayLike, n_bins: int = 10
) -> float:
    """ECE on the above-chance scale: bins of `above_chance`, and both confidence and accuracy rescaled.

    Rescaling confidence alone would make a calibrated model look underconfident.
    """
    c, y = rows_of(confidences, correct)
    scaled = above_chance(c, n_choices)
    gaps = (c - y) / (1.0 - 1.0 / _sizes(n_choices, len(c)))
    return float(np.abs(np.bincount(bin_index(scaled, n_bins), gaps, n_bins)).sum() / len(c))


def refuse_adversarial(categories: Sequence[str]) -> None:
    """A DataError (STAT018) when a row of the core calibration set is adversarial: trick items get their own line."""
    rows = [row for row, category in enumerate(categories) if category == "adversarial"]
    if rows:
        found = caution("STAT018", len(rows))
        raise DataError(f"{found.id}: {found.text} (first: row {rows[0]}); report their ECE on its own line")
