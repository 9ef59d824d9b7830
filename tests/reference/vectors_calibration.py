"""How each function label of the calibration and regression suites calls perpend.stats."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from perpend.errors import DataError
from perpend.stats import bins, calibration, cells, firth, recalibrate, regression, selective
from perpend.types import Estimate

Inputs: TypeAlias = Mapping[str, object]
Row: TypeAlias = dict[str, object]


def _rows(inputs: Inputs) -> tuple[object, object]:
    return inputs["confidences"], inputs["correct"]


def _n_bins(inputs: Inputs) -> object:
    given = inputs.get("n_bins")
    return 10 if given is None else given


def _binned(function: Callable[[object, object, object], object]) -> Callable[[Inputs], object]:
    return lambda inputs: function(*_rows(inputs), _n_bins(inputs))


def _ece(inputs: Inputs) -> Estimate:
    """The lab's plain number, with the cautions of the full estimate."""
    plain = calibration.ece(*_rows(inputs), _n_bins(inputs))
    return replace(calibration.ece_estimate(*_rows(inputs), _n_bins(inputs)), value=plain)


def _brier_multiclass(inputs: Inputs) -> Row:
    probs, labels = inputs["probs"], inputs["labels"]
    return {
        "lab_per_class": calibration.brier_multiclass(probs, labels),
        "sum_form": calibration.brier_multiclass_sum(probs, labels),
        "half_form": calibration.brier_multiclass_half(probs, labels),
    }


def _corp(inputs: Inputs) -> Row:
    found = calibration.brier_corp(*_rows(inputs))
    return {"score": found.score, "mcb": found.mcb, "dsc": found.dsc, "unc": found.unc}


def _murphy(inputs: Inputs) -> Row:
    found = calibration.brier_murphy(*_rows(inputs))
    return {
        "reliability": found.reliability,
        "resolution": found.resolution,
        "uncertainty": found.uncertainty,
        "brier": found.brier,
    }


def _debiased(inputs: Inputs) -> Row:
    level = float(inputs.get("confidence", 0.95))
    found = calibration.debiased_l2_squared(*_rows(inputs), _n_bins(inputs), level=level)
    return {"estimate": found.value, "lo": found.also["closed_lo"], "hi": found.also["closed_hi"]}


def _reliability(inputs: Inputs) -> list[Row]:
    found = calibration.reliability(*_rows(inputs), _n_bins(inputs))
    return [
        {"count": one.count, "conf": one.confidence, "acc": one.accuracy, "lo": one.lo, "hi": one.hi}
        for one in found.bins
    ]


def _spiegelhalter(inputs: Inputs) -> Row:
    clusters = inputs.get("clusters", inputs.get("cluster"))
    found = calibration.spiegelhalter(*_rows(inputs), clusters=clusters)
    return {"z": found.value, "p": found.also["p"]}


def _aurc(inputs: Inputs) -> Row:
    found = selective.selective(*_rows(inputs))
    return {
        "aurc": found.aurc,
        "aurc_trapezoid": found.aurc_trapezoid,
        "augrc": found.augrc,
        "oracle": found.oracle,
        "e_aurc": found.e_aurc,
    }


def _isotonic(inputs: Inputs) -> list[float]:
    _, rate, place = recalibrate.isotonic_steps(*bins.rows_of(*_rows(inputs)))
    return [float(value) for value in rate[place]]


def _temperature(inputs: Inputs) -> Row:
    correct = inputs["correct"]
    fit = recalibrate.fit_temperature_logits(inputs["logits"], correct, list(range(len(correct))))
    return {"temperature": fit.temperature, "nll": fit.nll}


def _table(inputs: Inputs) -> tuple[list[dict[str, str]], list[float]]:
    rows = list(csv.DictReader(io.StringIO(str(inputs["csv"]).strip())))
    try:
        return rows, [float(row[str(inputs["outcome"])]) for row in rows]
    except (KeyError, ValueError) as error:
        raise DataError(f"csv: the outcome column is missing or holds text ({error})") from error


def _column(rows: Sequence[Mapping[str, str]], name: str) -> cells.Column:
    values = [row[name] for row in rows]
    try:
        return cells.number(name, [float(value) for value in values])
    except ValueError:
        return cells.factor(name, values)


def _cells(inputs: Inputs, terms: Sequence[str], items: str | None = None) -> cells.Cells:
    rows, outcome = _table(inputs)
    names = dict.fromkeys(part for term in terms for part in term.split(":") if part != "1")
    ids = None if items is None else [row[items] for row in rows]
    return cells.collapse(outcome, [_column(rows, name) for name in names], items=ids)


def _logit_lrt(inputs: Inputs) -> Row:
    models = [list(model) for model in inputs["models"]]
    table = _cells(inputs, [term for model in models for term in model])
    fits = [regression.fit_logit(table, model) for model in models]
    tests = [regression.likelihood_ratio(large, small) for small, large in itertools.pairwise(fits)]
    last = fits[-1]
    level = float(inputs.get("ci", 0.95))
    ratios = {name: regression.odds_ratio(table, last, name, level=level) for name in last.names}
    return {
        "loglik": [fit.loglik for fit in fits],
        "lrt": [
            {"added": ",".join(t for t in large if t not in small), "chi2": test.value, **test.also}
            for (small, large), test in zip(itertools.pairwise(models), tests, strict=True)
        ],
        "coef": {name: found.also["beta"] for name, found in ratios.items()},
        "se": {name: found.also["se"] for name, found in ratios.items()},
        "odds_ratio": {name: [found.value, found.lo, found.hi] for name, found in ratios.items()},
        "separation": last.coef is None,
    }


def _firth(inputs: Inputs) -> Row:
    table = _cells(inputs, inputs["terms"])
    model = cells.design(table, inputs["terms"])
    found = firth.firth(model.x, table.k, table.n).coef.tolist()
    return {
        "separation": bool(firth.separated_cells(model.x, table.k, table.n).any()),
        "intercept": found[0],
        "coef": found[1] if len(found) == 2 else found[1:],
    }


CASES: Mapping[str, Callable[[Inputs], object]] = {
    "ace_equal_bin_weight": _binned(calibration.ace),
    "aurc": _aurc,
    "bin_index": lambda inputs: bins.bin_index(inputs["confidences"], _n_bins(inputs)).tolist(),
    "brier": lambda inputs: calibration.brier(*_rows(inputs)),
    "brier_corp": _corp,
    "brier_multiclass": _brier_multiclass,
    "brier_murphy_discrete": _murphy,
    "debiased_l2_squared_ci": _debiased,
    "debiased_rmsce": _binned(calibration.debiased_rmsce),
    "ece": _ece,
    "ece_classwise": lambda inputs: calibration.ece_classwise(inputs["probs"], inputs["labels"], _n_bins(inputs)),
    "ece_equal_mass": _binned(calibration.ece_equal_mass),
    "expected_ece_if_calibrated": lambda inputs: calibration.ece_estimate(
        inputs["confidences"], [0] * len(inputs["confidences"]), _n_bins(inputs)
    ).also["expected_if_calibrated"],
    "isotonic": _isotonic,
    "logit_lrt": _logit_lrt,
    "mce": _binned(calibration.mce),
    "reliability_bins": _reliability,
    "rmsce": _binned(calibration.rmsce),
    "separation_firth": _firth,
    "smece": lambda inputs: calibration.smooth_ece(*_rows(inputs)),
    "spiegelhalter": _spiegelhalter,
    "temperature_scaling_binary": _temperature,
}
