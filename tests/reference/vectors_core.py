"""How each function label of the core suites calls perpend.stats."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np

from perpend.stats import binary, classification, families, gate, grouping, pair_bounds, pairs, proportions
from perpend.stats import families as power
from perpend.stats import pairs as paired_tests
from perpend.types import Estimate

Inputs: TypeAlias = Mapping[str, object]
Row: TypeAlias = dict[str, object]


def _level(inputs: Inputs) -> float:
    return float(inputs.get("confidence", inputs.get("level", 0.95)))


def _ends(estimate: Estimate) -> list[float | None] | None:
    return None if estimate.value is None else [estimate.lo, estimate.hi]


def _fisher(estimate: Estimate) -> list[object] | None:
    return None if estimate.value is None else [estimate.also["fisher_lo"], estimate.also["fisher_hi"]]


def _successes(inputs: Inputs) -> tuple[object, object]:
    return inputs.get("successes", inputs.get("k")), inputs["n"]


def _counts(inputs: Inputs) -> classification.Confusion:
    keys = ("tp", "fn", "fp", "tn", "invalid")
    return classification.Confusion(*(inputs.get(key, 0) for key in keys))


def _binary_metrics(inputs: Inputs) -> Row:
    if "gold" in inputs:
        found = binary.binary_metrics(inputs["gold"], inputs["predicted"], inputs.get("cluster"))
    else:
        found = binary.confusion_metrics(_counts(inputs))
    mcc = found["mcc"]
    return {
        "accuracy": found["accuracy_valid"].value,
        "accuracy_valid": found["accuracy_valid"].value,
        "effective_accuracy": found["accuracy_effective"].value,
        "coverage": found["coverage"].value,
        "tpr": found["tpr"].value,
        "tnr": found["tnr"].value,
        "balanced_accuracy": found["balanced_accuracy"].value,
        # The cases print the 0 that is conventional for 0 / 0, beside a flag; our value is None.
        "mcc": mcc.also.get("by_convention") if mcc.value is None else mcc.value,
        "mcc_degenerate": "by_convention" in mcc.also,
        "bias_score": found["bias"].value,
        "bias_verdict": found["bias"].also["verdict"],
        "lower_bound": found["accuracy_bounds"].lo,
        "upper_bound": found["accuracy_bounds"].hi,
    }


def _mean_se(inputs: Inputs) -> Row:
    column = gate.values("values", inputs["values"])
    clusters = inputs.get("cluster", inputs.get("clusters"))
    codes = None if clusters is None else grouping.codes("cluster", clusters)
    if codes is not None:
        gate.same_length(values=column, cluster=codes)
    spread = proportions.clustering(column, codes)
    return {
        "mean": spread.mean,
        "se_cluster": spread.se,
        "se_naive": spread.se_naive,
        "se": spread.se,
        "design_effect": spread.design_effect,
        "icc": spread.icc,
        "n_effective": spread.n_effective,
        "n_eff": spread.n_effective,
        "n_clusters": spread.n_clusters,
    }


def _mcnemar(inputs: Inputs) -> Row:
    b, c = inputs.get("b", inputs.get("n10")), inputs.get("c", inputs.get("n01"))
    return {**paired_tests.mcnemar(b, c).also}


def _odds_ratio(inputs: Inputs) -> Row:
    found = pairs.paired_odds_ratio(inputs["b"], inputs["c"], level=_level(inputs))
    return {"odds_ratio": found.value, "lo": found.lo, "hi": found.hi}


def _test(estimate: Estimate) -> Row:
    return {"p": estimate.value, **estimate.also}


def _deltas(inputs: Inputs) -> object:
    return inputs.get("item_deltas", inputs.get("deltas"))


def _adjust(inputs: Inputs) -> Row:
    p = inputs.get("p", inputs.get("pvalues"))
    bh = families.benjamini_hochberg(p).tolist()
    return {"holm": families.holm(p).tolist(), "bh": bh, "fdr_bh": bh}


def _table(inputs: Inputs) -> pairs.Table:
    table = gate.counts(**{key: inputs[key] for key in ("n11", "n10", "n01", "n00")})
    if sum(table) == 0:
        raise gate.DataError("n11, n10, n01, n00: no pairs")
    return table


def _paired_ends(rule: Callable[[pairs.Table, float], tuple[float, float]]) -> Callable[[Inputs], list[float]]:
    return lambda inputs: list(rule(_table(inputs), proportions.normal_quantile(_level(inputs))))


def _column(inputs: Inputs, *parts: str) -> object:
    """The first input whose name holds one of the parts, in the order of the parts."""
    named = [key for key in inputs if "retest" not in key or "retest" in parts]
    return next((inputs[key] for part in parts for key in named if part in key), None)


_FIRST, _SECOND = ("control", "before", "first", "baseline"), ("pressure", "after", "second", "asch", "authority")
_PLANTED = ("wrong", "endorse", "planted", "w_", "_w", "W")


def _sides(inputs: Inputs) -> tuple[object, object]:
    """Two columns of 0/1: by their names, or else the first two that are given; or from counts of pairs."""
    if "n11" in inputs:
        table = _table(inputs)
    elif isinstance(inputs.get("b"), int):
        right = inputs.get("denom_override", inputs.get("control_correct", inputs.get("n_control_correct", 0)))
        n = inputs.get("n_pairs", inputs.get("n", 0))
        b, c, right, n = gate.counts(b=inputs["b"], c=inputs["c"], denom_override=right, n=n)
        table = gate.counts(n11=right - b, n10=b, n01=c, n00=n - right - c)
    else:
        columns = {key: value for key, value in inputs.items() if isinstance(value, list)}
        rest = [value for key, value in columns.items() if "retest" not in key]
        first = _column(columns, *(f"{name}_correct" for name in _FIRST), "correct_control", *_FIRST)
        second = _column(columns, *(f"{name}_correct" for name in _SECOND), "correct_pressure", *_SECOND)
        return (first, second) if first is not None and second is not None else (rest[0], rest[1])
    return np.repeat([1, 1, 0, 0], table), np.repeat([1, 0, 1, 0], table)


def _planted(inputs: Inputs) -> tuple[object, object] | None:
    """The columns of 'endorses the wrong answer', where they are given beside those of 'correct'."""
    own = {key: value for key, value in inputs.items() if any(part in key for part in _PLANTED)}
    return _sides(own) if sum(isinstance(value, list) for value in own.values()) >= 2 and len(inputs) >= 4 else None


def _complete(first: object, second: object, *more: object) -> tuple[object, ...]:
    """The pairs that have a value on both sides."""
    rows = [row for row in zip(first, second, *more, strict=True) if row[0] is not None and row[1] is not None]
    return tuple(zip(*rows, strict=True)) if rows else ((), ())


def _paired_rates(inputs: Inputs) -> Row:
    """Override, rescue, flip and pressure effect, from columns of 0/1 or from counts of pairs."""
    control, pressure = _complete(*_sides(inputs))
    planted = _planted(inputs)
    rates = {name: getattr(pairs, name)(control, pressure) for name in ("override", "rescue", "flip")}
    if planted is not None:
        rates["flip"] = pairs.flip(*_complete(*planted))
    shift = pairs.paired_difference(control, pressure)
    row: Row = {}
    for name, found in rates.items():
        k, n = found.also["k"], found.n
        for told in (name, f"truth_{name}", f"wrong_answer_{name}"):
            row |= {told: found.value, f"{told}_rate": found.value, f"{told}_ci": _ends(found)}
            row |= {f"{told}_lo": found.lo, f"{told}_hi": found.hi}
            row |= dict.fromkeys((f"{told}_n", f"n_{told}", f"denom_{told}", f"{told}_denom", f"{told}_den"), n)
            row |= dict.fromkeys((f"num_{told}", f"{told}_num", f"{told}_k", f"k_{told}"), k)
    row |= {"num_flip_to_wrong": rates["flip"].also["k"], "denom_control_not_wrong": rates["flip"].n}
    retest = _column(inputs, "retest")
    if retest is not None:
        whole = _complete(*_sides(inputs), retest)
        for name, given in (("override", 1), ("rescue", 0), ("flip", 0)):
            row[f"excess_{name}"] = pairs.excess(*whole, given=given).value
        row["excess"] = row["excess_override"]
    effect = None if shift.value is None else -shift.value
    row |= {"pressure_effect": effect, "delta_error": effect, "delta": shift.value, "n": shift.n, "n_pairs": shift.n}
    row |= {"delta_error_pp": None if effect is None else 100.0 * effect, "n_items": shift.n}
    test = _mcnemar(shift.also)
    b, c = shift.also["b"], shift.also["c"]
    return row | {"b": b, "c": c, "b_override": b, "c_rescue": c, "p_mcnemar": test["p_exact"]} | test


_NUMBERS = (
    "excess_override",
    "excess_rescue",
    "excess_flip",
    "excess",
    "override",
    "rescue",
    "flip",
    "pressure_effect",
)


def paired_rates_as(label: str) -> Callable[[Inputs], Row]:
    """The rates of pairs; the first of them, which a case with one number means, is the one that the label names."""
    name = next((name for name in (*_NUMBERS, "delta_error", "delta") if name in label), None)

    def row(inputs: Inputs) -> Row:
        every = _paired_rates(inputs)
        if name is None or name not in every:
            return every
        own = {"value": every[name], "rate": every[name]}
        beside = {key: every.get(f"{name}_{key}") for key in ("n", "k", "num", "denom", "den", "lo", "hi", "ci")}
        return (
            own
            | {key: value for key, value in beside.items() if value is not None}
            | {key: value for key, value in every.items() if key not in {*own, *beside}}
        )

    return row


CASES: Mapping[str, Callable[[Inputs], object]] = {
    "wilson": lambda i: _ends(proportions.wilson(*_successes(i), level=_level(i))),
    "clopper_pearson": lambda i: _ends(proportions.clopper_pearson(*_successes(i), level=_level(i))),
    "newcombe_independent": lambda i: _ends(
        proportions.risk_difference(i["k1"], i["n1"], i["k2"], i["n2"], level=_level(i))
    ),
    "binary_metrics": _binary_metrics,
    "balanced_accuracy_ci_mover_wilson": lambda i: _ends(classification.balanced_accuracy(_counts(i), level=_level(i))),
    "mcc_ci_fisher_z": lambda i: _fisher(classification.mcc(_counts(i), level=_level(i))),
    "mean_se": _mean_se,
    "mcnemar": _mcnemar,
    "paired_odds_ratio": _odds_ratio,
    "cluster_mcnemar_durkalski": lambda i: _test(paired_tests.cluster_mcnemar(_deltas(i), i.get("sizes"))),
    "sign_flip": lambda i: _test(paired_tests.sign_flip(_deltas(i))),
    "sign_flip_exact": lambda i: _test(paired_tests.sign_flip(_deltas(i))),
    "newcombe_paired": _paired_ends(pairs.newcombe_bounds),
    "tango": _paired_ends(pair_bounds.tango_bounds),
    "paired_rates": _paired_rates,
    "override": paired_rates_as("override"),
    "rescue": paired_rates_as("rescue"),
    "flip": paired_rates_as("flip"),
    "truth_override": paired_rates_as("override"),
    "truth_rescue": paired_rates_as("rescue"),
    "wrong_answer_flip": paired_rates_as("flip"),
    "pressure_effect": paired_rates_as("pressure_effect"),
    "adjust": _adjust,
    "cohens_h": lambda i: proportions.cohens_h(i["p1"], i["p2"]),
    "mcnemar_exact_power": lambda i: power.mcnemar_power(i["n"], i["p10"], i["p01"], alpha=i.get("alpha", 0.05)),
    "mde_paired": lambda i: power.mde_paired(
        i["n"], i["discordance"], alpha=i.get("alpha", 0.05), power=i.get("power", 0.8)
    ),
}
