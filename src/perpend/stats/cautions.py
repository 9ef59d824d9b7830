"""What a reader of a number must know, one function per stable id: its figure, and what to do about it."""

from __future__ import annotations

from perpend.types import Caution


def items_repeat(n: int, n_clusters: int, design_effect: float | None, icc: float | None) -> Caution:
    """STAT001. Rows are not independent; the number is how much too small the naive standard error is."""
    if design_effect is None:
        told, ratio = "all rows agree, so the design effect is undefined", None
    else:
        ratio = design_effect**0.5
        shown = "undefined" if icc is None else f"{icc:.2f}"
        told = (
            f"ICC {shown}, design effect {design_effect:.2f}; the naive standard error is off by a factor {ratio:.2f}"
        )
    text = f"{n} rows are repeats of {n_clusters} items ({told}): quote the clustered interval and {n_clusters} items"
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
        "at this n: cannot distinguish from calibrated; collect more rows"
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


def many_invalid(share: float, lo: float, hi: float) -> Caution:
    """STAT009. The number is the share of rows without a valid answer."""
    text = (
        f"{share:.1%} of rows have no valid answer (gate: 5%): accuracy lies between {lo:.4f} and {hi:.4f} whatever "
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
    told = "the rate is undefined" if n == 0 else "no ranking claims from it"
    return Caution("STAT014", f"only {n} rows {given} (limit 30): {told}; pool slices or add items", n)


def identical_replicates(rows: int) -> Caution:
    """STAT015. The number is how many rows only repeat another at T = 0."""
    return Caution("STAT015", f"{rows} rows at T = 0 repeat another exactly: counted once each", rows)


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


def singleton_groups(groups: int) -> Caution:
    """STAT020. The number is how many flip groups have one member and can never flip."""
    return Caution(
        "STAT020", f"{groups} groups have one member and cannot flip: quote the rate with and without", groups
    )


def resampling_error(share: float, resamples: int) -> Caution:
    """STAT021. The number is the Monte Carlo error of the interval's ends over its width."""
    text = f"the ends are uncertain by {share:.0%} of the width after {resamples} resamples (limit 10%): draw more"
    return Caution("STAT021", text, share)


def few_clusters(n_clusters: int) -> Caution:
    """STAT022. The number is how many clusters there are."""
    text = f"only {n_clusters} clusters (limit 30): t quantiles are used here; test with sign_flip"
    return Caution("STAT022", text, n_clusters)


def clipped(rows: int) -> Caution:
    """STAT023. The number is how many probabilities lay one unit in the last place outside [0, 1]."""
    return Caution("STAT023", f"{rows} probabilities were one rounding unit outside [0, 1]: clipped", rows)
