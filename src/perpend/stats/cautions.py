"""The cautions that estimates carry, each once: its stable id, its figure, what it says and what to do.

Those that state what simulations measured where few answers are of one kind are in `measured`.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from perpend.stats.gate import BoolArray, FloatArray, IntArray
from perpend.types import Caution, Number

# Behind each id what its figure is.
_SAYS = {
    # The 95th percentile of ECE for a perfect model at this n.
    "STAT003": "ECE {ece:.4f} is no larger than {number:.4f}, which a perfectly calibrated model exceeds 5% of the "
    "time at this n: cannot distinguish from calibrated; collect more rows (in simulations the intervals of calibrated "
    "models, which start at 0, cover 96% to 100%)",
    # The size of the smallest bin that is not empty.
    "STAT004": "{n_bins} bins for {n} rows, the smallest with {number}: use fewer bins, equal-mass bins or smECE",
    # The share of confidences on a bin edge.
    "STAT005": "{number:.1%} of confidences lie on bin edges: ECE is {lo:.4f} to {hi:.4f} by edge convention; "
    "name the convention or use smECE",
    # The share of rows whose confidence another row has too.
    "STAT006": "{number:.1%} of rows share their confidence with another: AURC is averaged over the orders of ties",
    # How many rows there are, all of the other class.
    "STAT007": "no valid row of the {name} class among {number}: what needs it is undefined; add rows of that class",
    # A row or column of the confusion table is empty.
    "STAT008": "no valid row is {name}, so MCC is 0/0 (0 by convention): quote TPR and TNR instead",
    # The share of rows without a valid answer.
    "STAT009": "{number:.1%} of rows have no valid answer (gate: 5%): {what} lies between {lo:.4f} and {hi:.4f} "
    "whatever they would have been; an effect smaller than that width is not shown",
    # How many cells are saturated.
    "STAT010": "(quasi-)separation in {number} cell(s) ({cells}): the maximum-likelihood odds ratio is infinite; "
    "use Firth",
    # The norm of the score at the returned point.
    "STAT011": "the optimiser stopped with score norm {number:.2g} (limit 1e-6): do not quote these coefficients",
    # How many tests are significant only before the adjustment.
    "STAT012": "{number} of {tests} tests are significant only before {method}: quote the adjusted p",
    # The minimum detectable effect.
    "STAT013": "|effect| {effect:.4f} is below the minimum detectable effect {number:.4f}: absence of evidence, not "
    "evidence of absence; add items",
    # How many rows at temperature 0 only say again what another row said.
    "STAT015": "{number} of {trials} rows are repeats at temperature 0 that all agree: the interval counts each item "
    "once; ask once at temperature 0, or repeat above it",
    # The share of rows left out because the model refused.
    "STAT016": "{number:.1%} of rows left out as refusals, which the treatment may have caused: quote the bounds too",
    # How many sizes of candidate set are pooled.
    "STAT017": "{number} candidate-set sizes pooled, each with its own chance level: quote calibration by size",
    # How many adversarial probes are in the core calibration set.
    "STAT018": "{number} adversarial probes in the core calibration set: take them out",
    # How many rows were both fitted and evaluated on.
    "STAT019": "recalibration evaluated on {number} of its own training rows: cross-fit by item",
    # How many groups have one member, which cannot disagree with itself.
    "STAT020": "{number} of {groups} groups have one member: the flip rate is {among_two} among groups of two or more "
    "and {among_all:.4f} among all; name the denominator",
    # The Monte Carlo error of the interval's ends over its width.
    "STAT021": "the ends are uncertain by {number:.0%} of the width after {resamples} resamples (limit 10%): draw more",
    # How many probabilities lay one unit in the last place outside [0, 1].
    "STAT023": "{number} probabilities were one rounding unit outside [0, 1]: clipped",
    # Sensitivity + specificity - 1.
    "STAT025": "sensitivity + specificity - 1 is {number:.2f} [{lo:.2f}, {hi:.2f}], so the judge may tell nothing: use "
    "method='ppi', label more trials or take a better judge",
    # The skewness of the items' differences over the root of their number.
    "STAT027": "{n_items:.4g} items whose differences have skewness {skewness:.2f}: in simulations a one-sided test at "
    "5% rejects up to 9% with skewed (exponential) and 14% with very skewed (log-normal) items; add items",
    # How many items the pilot has.
    "STAT030": "a pilot of {number} items (limit 100): in simulations studies planned by 30 to 60 items had a power of "
    "0.75 to 0.85 instead of 0.80; plan for more items than stated",
    # How many items there are.
    "STAT031": "a variance between {number} items (limit 200): in simulations such 95% intervals cover 90% to 99%, and "
    "74% where 20 items are nearly all right; add items",
    # How many items of one weight these are worth.
    "STAT032": "{n_clusters} items with weights so unequal that they are as good as {number:.1f}: in simulations such "
    "95% intervals cover 95% to 99%; draw with less unequal probabilities",
    # How many items' worth of the rarer outcome there are.
    "STAT033": "only {number:.1f} items' worth of the rarer outcome (limit 5): in simulations such 95% intervals cover "
    "93% to 100%; add items",
}


def caution(stat: str, number: float, /, **facts: str | float) -> Caution:
    """The caution of that id with its figure; `facts` are what else it states."""
    return Caution(stat, _SAYS[stat].format(number=number, **facts), number)


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


def small_denominator(n: int, given: str) -> Caution:
    """STAT014. The number is the conditional denominator."""
    rows = f"only {n} {'row' if n == 1 else 'rows'} {given} (limit 30): no ranking claims from it"
    text = rows if n else f"no row {given}, so the rate is undefined"
    return Caution("STAT014", f"{text}; pool slices or add items", n)


def few_clusters(n_clusters: int, n_items: float | None = None) -> Caution:
    """STAT022. The number is how many clusters there are, or how many of one size would weigh as much."""
    as_good = n_clusters if n_items is None else n_items
    unequal = "" if as_good > 0.95 * n_clusters else f", so unequal that they are as good as {as_good:.1f}"
    text = (
        f"only {n_clusters} items{unequal} (limit 30): in simulations such 95% intervals cover 83% to 100%, and "
        "tests at 5% reject up to 16%; add items, or test with sign_flip"
    )
    return Caution("STAT022", text, as_good)


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


def _number(value: Number) -> str:
    return f"{value:.2f}" if isinstance(value, float) else "unknown"


def same_again(values: FloatArray, trials: IntArray, cold: BoolArray) -> tuple[Caution, ...]:
    """STAT015 where every trial that was repeated at temperature 0 gave the same value each time; else nothing.

    `trials` tells for each row which trial it repeats, `cold` whether its temperature is 0.
    """
    if not cold.any():
        return ()
    _, inverse = np.unique(trials[cold], return_inverse=True)
    own = values[cold]
    sizes = np.bincount(inverse)
    first = np.empty(len(sizes))
    first[inverse[::-1]] = own[::-1]
    copies = int(len(own) - len(sizes))
    return (caution("STAT015", copies, trials=len(values)),) if copies and bool((own == first[inverse]).all()) else ()
