"""One strict input gate for every statistic, and the cautions that estimates carry."""

from __future__ import annotations

import operator
from collections.abc import Hashable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from perpend.errors import DataError
from perpend.types import Caution, Number

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


def items_repeat(n: int, n_clusters: int, design_effect: float | None, icc: float | None) -> Caution:
    """STAT001. Rows are not independent; the number is how much too small the naive standard error is."""
    if design_effect is None:
        effect, ratio = "all rows agree, so the design effect is undefined", None
    else:
        ratio = design_effect**0.5
        shown = "undefined" if icc is None else f"{icc:.2f}"
        effect = (
            f"ICC {shown}, design effect {design_effect:.2f}; the naive standard error is off by a factor {ratio:.2f}"
        )
    text = f"{n} rows are repeats of {n_clusters} items ({effect}): quote the clustered interval and {n_clusters} items"
    return Caution("STAT001", text, ratio)


def balanced_accuracy_as_proportion(lo: float | None, hi: float | None, width_ratio: float | None) -> Caution:
    """STAT002. Wilson with n = all rows on balanced accuracy; the number is MOVER's width over its width."""
    shown = "undefined" if lo is None or hi is None else f"[{lo:.4f}, {hi:.4f}]"
    text = (
        "balanced accuracy is not a proportion of n rows, so this interval covers as little as 56% at 5% prevalence: "
        f"quote MOVER-Wilson, {shown}"
    )
    return Caution("STAT002", text, width_ratio)


def not_distinguishable_from_calibrated(ece: float, quantile: float) -> Caution:
    """STAT003. The number is the 95th percentile of ECE for a perfect model at this n."""
    text = (
        f"ECE {ece:.4f} is no larger than {quantile:.4f}, which a perfectly calibrated model exceeds 5% of the time "
        "at this n: cannot distinguish from calibrated; collect more rows (in simulations the intervals of calibrated "
        "models, which start at 0, cover 96% to 100%)"
    )
    return Caution("STAT003", text, quantile)


def thin_bins(n: int, n_bins: int, smallest: int) -> Caution:
    """STAT004. The number is the size of the smallest bin that is not empty."""
    text = f"{n_bins} bins for {n} rows, the smallest with {smallest}: use fewer bins, equal-mass bins or smECE"
    return Caution("STAT004", text, smallest)


def on_bin_edges(share: float, lo: float, hi: float) -> Caution:
    """STAT005. The number is the share of confidences on a bin edge."""
    text = (
        f"{share:.1%} of confidences lie on bin edges: ECE is {lo:.4f} to {hi:.4f} by edge convention; "
        "name the convention or use smECE"
    )
    return Caution("STAT005", text, share)


def tied_confidences(share: float) -> Caution:
    """STAT006. The number is the share of rows whose confidence another row has too."""
    text = f"{share:.1%} of rows share their confidence with another: AURC is averaged over the orders of ties"
    return Caution("STAT006", text, share)


def class_absent(name: str, n: int) -> Caution:
    """STAT007. The number is how many rows there are, all of the other class."""
    text = f"no valid row of the {name} class among {n}: what needs it is undefined; add rows of that class"
    return Caution("STAT007", text, n)


def mcc_denominator_zero(row_or_column: str) -> Caution:
    """STAT008. A row or column of the confusion table is empty."""
    text = f"no valid row is {row_or_column}, so MCC is 0/0 (0 by convention): quote TPR and TNR instead"
    return Caution("STAT008", text, 0.0)


def many_invalid(share: float, lo: float, hi: float, what: str = "accuracy") -> Caution:
    """STAT009. The number is the share of rows without a valid answer."""
    text = (
        f"{share:.1%} of rows have no valid answer (gate: 5%): {what} lies between {lo:.4f} and {hi:.4f} whatever "
        "they would have been; an effect smaller than that width is not shown"
    )
    return Caution("STAT009", text, share)


def separation(cells: str, count: int) -> Caution:
    """STAT010. The number is how many cells are saturated."""
    text = f"(quasi-)separation in {count} cell(s) ({cells}): the maximum-likelihood odds ratio is infinite; use Firth"
    return Caution("STAT010", text, count)


def not_stationary(score_norm: float) -> Caution:
    """STAT011. The number is the norm of the score at the returned point."""
    text = f"the optimiser stopped with score norm {score_norm:.2g} (limit 1e-6): do not quote these coefficients"
    return Caution("STAT011", text, score_norm)


def lost_after_adjustment(lost: int, tests: int, method: str) -> Caution:
    """STAT012. The number is how many tests are significant only before the adjustment."""
    text = f"{lost} of {tests} tests are significant only before {method}: quote the adjusted p"
    return Caution("STAT012", text, lost)


def below_mde(effect: float, mde: float) -> Caution:
    """STAT013. The number is the minimum detectable effect."""
    text = (
        f"|effect| {abs(effect):.4f} is below the minimum detectable effect {mde:.4f}: absence of evidence, not "
        "evidence of absence; add items"
    )
    return Caution("STAT013", text, mde)


def small_denominator(n: int, given: str) -> Caution:
    """STAT014. The number is the conditional denominator."""
    rows = f"only {n} {'row' if n == 1 else 'rows'} {given} (limit 30): no ranking claims from it"
    text = rows if n else f"no row {given}, so the rate is undefined"
    return Caution("STAT014", f"{text}; pool slices or add items", n)


def refusals_excluded(share: float) -> Caution:
    """STAT016. The number is the share of rows left out because the model refused."""
    text = f"{share:.1%} of rows left out as refusals, which the treatment may have caused: quote the bounds too"
    return Caution("STAT016", text, share)


def mixed_choice_counts(sizes: int) -> Caution:
    """STAT017. The number is how many sizes of candidate set are pooled."""
    text = f"{sizes} candidate-set sizes pooled, each with its own chance level: quote calibration by size"
    return Caution("STAT017", text, sizes)


def adversarial_in_core(rows: int) -> Caution:
    """STAT018. The number is how many adversarial probes are in the core calibration set."""
    return Caution("STAT018", f"{rows} adversarial probes in the core calibration set: take them out", rows)


def recalibrated_in_sample(rows: int) -> Caution:
    """STAT019. The number is how many rows were both fitted and evaluated on."""
    return Caution("STAT019", f"recalibration evaluated on {rows} of its own training rows: cross-fit by item", rows)


def resampling_error(share: float, resamples: int) -> Caution:
    """STAT021. The number is the Monte Carlo error of the interval's ends over its width."""
    text = f"the ends are uncertain by {share:.0%} of the width after {resamples} resamples (limit 10%): draw more"
    return Caution("STAT021", text, share)


def few_clusters(n_clusters: int, n_items: float | None = None) -> Caution:
    """STAT022. The number is how many clusters there are, or how many of one size would weigh as much."""
    as_good = n_clusters if n_items is None else n_items
    unequal = "" if as_good > 0.95 * n_clusters else f", so unequal that they are as good as {as_good:.1f}"
    text = (
        f"only {n_clusters} items{unequal} (limit 30): in simulations such 95% intervals cover 83% to 100%, and "
        "tests at 5% reject up to 16%; add items, or test with sign_flip"
    )
    return Caution("STAT022", text, as_good)


def clipped(rows: int) -> Caution:
    """STAT023. The number is how many probabilities lay one unit in the last place outside [0, 1]."""
    return Caution("STAT023", f"{rows} probabilities were one rounding unit outside [0, 1]: clipped", rows)


def judge_errs_differently(p: float, errors: Mapping[str, Number]) -> Caution:
    """STAT024. The number is p. `errors` has sensitivity and specificity under control and under pressure."""
    first, second = (
        f"{name} {_number(errors[f'{name}_control'])} and {_number(errors[f'{name}_pressure'])}"
        for name in ("sensitivity", "specificity")
    )
    text = (
        f"the judge errs differently under control and under pressure ({first}, {second}; p = {p:.2g}): the raw "
        "difference is biased by it; quote the difference corrected by condition"
    )
    return Caution("STAT024", text, p)


def judge_uninformative(informed: float, lo: float, hi: float) -> Caution:
    """STAT025. The number is sensitivity + specificity - 1."""
    text = (
        f"sensitivity + specificity - 1 is {informed:.2f} [{lo:.2f}, {hi:.2f}], so the judge may tell nothing: use "
        "method='ppi', label more trials or take a better judge"
    )
    return Caution("STAT025", text, informed)


def _number(value: Number) -> str:
    return f"{value:.2f}" if isinstance(value, float) else "unknown"
