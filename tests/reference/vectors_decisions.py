"""How function labels of decisions, and other names of what the contract lists, call perpend.stats."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np

from perpend import stats
from perpend.stats import calibration, families, pairs, proportions, regression, selective
from perpend.types import Estimate
from tests.reference.vectors_calibration import CASES as CALIBRATION
from tests.reference.vectors_calibration import _cells, _n_bins, _rows
from tests.reference.vectors_core import CASES as CORE
from tests.reference.vectors_core import _counts, _level, _table

Inputs: TypeAlias = Mapping[str, object]
Row: TypeAlias = dict[str, object]


def _first(inputs: Inputs, *names: str, default: object = None) -> object:
    """The input that has the first of these names."""
    return next((inputs[name] for name in names if name in inputs), default)


def _clusters(inputs: Inputs) -> object:
    return _first(inputs, "clusters", "cluster", "items", "item", "groups")


def _row(found: Estimate, *names: str) -> Row:
    """An Estimate under several names, with its ends and companions."""
    ends = None if found.lo is None or found.hi is None else [found.lo, found.hi]
    own: Row = dict.fromkeys((*names, "value", "estimate", "rate"), found.value)
    return {**own, "lo": found.lo, "hi": found.hi, "ci": ends, "n": found.n, **found.also}


def _raters(inputs: Inputs) -> list[object]:
    """Columns of ratings: a matrix of one row per rater or a pair of columns; or from a table of counts."""
    if "table" in inputs:
        counts = np.asarray(inputs["table"])
        places = [(i, j) for i, j in np.ndindex(counts.shape) for _ in range(int(counts[i, j]))]
        return [list(column) for column in zip(*places, strict=True)]
    whole = _first(inputs, "raters", "ratings", "reliability_data", "data")
    if whole is not None:
        return list(whole.values()) if isinstance(whole, Mapping) else list(whole)
    return [value for key, value in inputs.items() if isinstance(value, list) and key not in ("clusters", "cluster")]


def _agreement(function: Callable[..., Estimate], *names: str) -> Callable[[Inputs], Row]:
    def adapter(inputs: Inputs) -> Row:
        more = {"scale": _first(inputs, "scale", "level_of_measurement", "metric")} if function is stats.alpha else {}
        kept = {key: value for key, value in more.items() if value is not None}
        return _row(function(_raters(inputs), _first(inputs, "clusters", "cluster"), **kept), *names)

    return adapter


def _passing(function: Callable[..., Estimate], name: str) -> Callable[[Inputs], Row]:
    def adapter(inputs: Inputs) -> Row:
        outcomes, items = _first(inputs, "outcomes", "correct", "values"), _first(inputs, "items", "item", "clusters")
        if outcomes is None:  # n attempts of which c were right, for one item or for several
            n, c = (np.atleast_1d(inputs[key]).tolist() for key in ("n", "c"))
            outcomes = [x for size, ones in zip(n, c, strict=True) for x in [1] * ones + [0] * (size - ones)]
            items = [i for i, size in enumerate(n) for _ in range(size)]
        return _row(function(outcomes, items, inputs["k"], level=_level(inputs)), name)

    return adapter


def _corrected(method: str) -> Callable[[Inputs], Row]:
    def judged(inputs: Inputs, said: str, read: str) -> stats.JudgedTrials:
        return stats.JudgedTrials(inputs[said], inputs[read], _first(inputs, "clusters", "cluster"))

    def adapter(inputs: Inputs) -> Row:
        verdicts = "verdicts" if "verdicts" in inputs else "predictions"
        found = stats.corrected_rate(judged(inputs, verdicts, "labels"), method=method, level=_level(inputs))
        return _row(found, "corrected")

    return adapter


def _equivalence(inputs: Inputs) -> Row:
    if "n11" in inputs:
        table = _table(inputs)
        first, second = np.repeat([1, 1, 0, 0], table), np.repeat([1, 0, 1, 0], table)
    else:
        first, second = (_first(inputs, *names) for names in (("first", "control", "x"), ("second", "pressure", "y")))
    alpha = float(inputs.get("alpha", 0.05))
    found = stats.equivalence(
        first, second, _first(inputs, "clusters", "cluster"), margin=inputs["margin"], alpha=alpha
    )
    return _row(found, "difference")


def _risk(inputs: Inputs) -> Row:
    found = selective.risk_at(*_rows(inputs), inputs["coverage"], clusters=_clusters(inputs), level=_level(inputs))
    return _row(found, "risk", "risk_at_coverage")


def _skill(inputs: Inputs) -> Row:
    return _row(calibration.brier_skill(*_rows(inputs), clusters=_clusters(inputs)), "brier_skill", "skill", "bss")


def _consistency(inputs: Inputs) -> Row:
    found = calibration.ece_estimate(*_rows(inputs), _n_bins(inputs), clusters=_clusters(inputs))
    return {"p": found.also["p_calibrated"], **_row(found, "ece")}


def _adjusted(rule: Callable[..., np.ndarray]) -> Callable[[Inputs], list[float]]:
    return lambda inputs: rule(_first(inputs, "p", "pvalues", "p_values")).tolist()


def _mcnemar_p(name: str) -> Callable[[Inputs], Row]:
    def adapter(inputs: Inputs) -> Row:
        also = pairs.mcnemar(_first(inputs, "b", "n10"), _first(inputs, "c", "n01")).also
        return {"p": also[name], "p_value": also[name], **also}

    return adapter


def _bounds(inputs: Inputs) -> Row:
    found = stats.confusion_metrics(_counts(inputs))["accuracy_bounds"]
    return {
        "lo": found.lo,
        "hi": found.hi,
        "lower_bound": found.lo,
        "upper_bound": found.hi,
        "ci": [found.lo, found.hi],
    }


def _flip_rate(inputs: Inputs) -> Row:
    values = _first(inputs, "values", "answers", "predictions", "predicted")
    return _row(stats.flip_rate(values, _first(inputs, "groups", "group", "group_id", "clusters")), "flip_rate")


def _ratios(inputs: Inputs) -> dict[str, Estimate]:
    items = str(_first(inputs, "items", "cluster", "clusters", "groups", "random_intercept"))
    table = _cells(inputs, inputs["terms"], items=items)
    fit = regression.fit_logit(table, inputs["terms"])
    return {name: regression.odds_ratio(table, fit, name, level=_level(inputs)) for name in fit.names}


def _clustered_logit(inputs: Inputs) -> Row:
    found = _ratios(inputs)
    return {
        "coef": {name: one.also["beta"] for name, one in found.items()},
        "se": {name: one.also["se"] for name, one in found.items()},
        "odds_ratio": {name: [one.value, one.lo, one.hi] for name, one in found.items()},
        "p": {name: one.also["p"] for name, one in found.items()},
    }


def _collapse(inputs: Inputs) -> Row:
    table = _cells(inputs, inputs["terms"])
    return {"k": sorted(table.k.tolist()), "n": sorted(table.n.tolist()), "cells": len(table.n)}


def _excess(inputs: Inputs) -> Row:
    columns = inputs["control"], inputs["pressure"], inputs["retest"]
    return _row(pairs.excess(*columns, _clusters(inputs), given=inputs.get("given", 1)), "excess")


def _from_selective(name: str) -> Callable[[Inputs], object]:
    return lambda inputs: getattr(selective.selective(*_rows(inputs)), name)


_OTHER_NAMES = {
    "wilson_ci": "wilson", "wilson_interval": "wilson", "clopper_pearson_ci": "clopper_pearson",
    "newcombe": "newcombe_paired", "newcombe_10": "newcombe_paired", "tango_score": "tango",
    "balanced_accuracy_ci": "balanced_accuracy_ci_mover_wilson", "mover_wilson": "balanced_accuracy_ci_mover_wilson",
    "mcc_ci": "mcc_ci_fisher_z", "mean_clustered_se": "mean_se", "clustered_mean": "mean_se",
    "cluster_mcnemar": "cluster_mcnemar_durkalski", "durkalski": "cluster_mcnemar_durkalski", "mde": "mde_paired",
    "mcnemar_power": "mcnemar_exact_power", "ace": "ace_equal_bin_weight", "corp": "brier_corp",
    "brier_murphy": "brier_murphy_discrete", "debiased_l2_squared": "debiased_l2_squared_ci",
    "expected_ece": "expected_ece_if_calibrated", "e0_ece": "expected_ece_if_calibrated", "smooth_ece": "smece",
    "firth": "separation_firth",
    "temperature_scaling": "temperature_scaling_binary", "spiegelhalter_clustered": "spiegelhalter",
    "spiegelhalter_z": "spiegelhalter", "selective": "aurc", "sign_flip_items": "sign_flip",
}  # fmt: skip
_KNOWN = {**CORE, **CALIBRATION}

CASES: Mapping[str, Callable[[Inputs], object]] = {
    **{name: _KNOWN[other] for name, other in _OTHER_NAMES.items()},
    **{name: _agreement(stats.kappa, "kappa") for name in ("kappa", "cohens_kappa", "cohen_kappa")},
    **{name: _agreement(stats.ac1, "ac1") for name in ("ac1", "gwet_ac1", "gwets_ac1")},
    **{name: _agreement(stats.alpha, "alpha") for name in ("alpha", "krippendorff_alpha", "krippendorffs_alpha")},
    "raw_agreement": _agreement(stats.raw_agreement, "agreement"),
    "pass_at_k": _passing(stats.pass_at_k, "pass_at_k"),
    **{name: _passing(stats.pass_hat_k, name) for name in ("pass_hat_k", "pass_power_k", "pass^k")},
    **{name: _corrected("rogan-gladen") for name in ("rogan_gladen", "rogan-gladen")},
    **{name: _corrected("ppi") for name in ("ppi", "ppi++", "ppi_plus_plus", "ppi_mean")},
    **dict.fromkeys(("equivalence", "tost", "tost_paired", "non_inferiority", "noninferiority"), _equivalence),
    **dict.fromkeys(("risk_at", "risk_at_coverage"), _risk),
    **{name: _from_selective(name) for name in ("augrc", "e_aurc", "aurc_trapezoid", "oracle")},
    "brier_skill": _skill,
    **dict.fromkeys(("consistency_test", "ece_consistency", "calibration_test"), _consistency),
    **{name: lambda i: calibration.ece_top_label(i["probs"], i["labels"], _n_bins(i))
       for name in ("ece_top_label", "ece_toplabel", "top_label_ece")},
    "holm": _adjusted(families.holm),
    **{name: _adjusted(families.benjamini_hochberg) for name in ("bh", "fdr_bh", "benjamini_hochberg")},
    **{name: _mcnemar_p("p_midp") for name in ("mcnemar_midp", "mcnemar_mid_p")},
    "mcnemar_exact": _mcnemar_p("p_exact"),
    **dict.fromkeys(("accuracy_bounds", "manski_bounds"), _bounds),
    "flip_rate": _flip_rate,
    **dict.fromkeys(("logit_cluster_robust", "cluster_robust_logit", "logit_clustered"), _clustered_logit),
    "collapse": _collapse,
    "excess": _excess,
    "paired_difference": lambda i: _row(
        pairs.paired_difference(i["control"], i["pressure"], _clusters(i), level=_level(i)), "difference"
    ),
    "proportion": lambda i: _row(proportions.proportion(i["values"], _clusters(i), level=_level(i)), "proportion"),
    "risk_difference": lambda i: _row(
        proportions.risk_difference(i["k1"], i["n1"], i["k2"], i["n2"], level=_level(i)), "difference"
    ),
    "clustering": _KNOWN["mean_se"],
    "icc": lambda i: _KNOWN["mean_se"](i)["icc"],
    "nested_lrt": _KNOWN["logit_lrt"],
}  # fmt: skip
