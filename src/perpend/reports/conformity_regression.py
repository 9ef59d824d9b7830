"""The logit of error on variant, condition and temperature: the reference's tests, and what they should have been."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from perpend.canon import JSON
from perpend.errors import DataError
from perpend.reports.conformity_effects import errors
from perpend.reports.conformity_trials import BoolArray, Rule, Trials
from perpend.stats.cautions import refusals_excluded
from perpend.stats.cells import Cells, Column, collapse
from perpend.stats.regression import NestedTests, fit_logit, nested_tests, odds_ratio
from perpend.types import Caution, Estimate

_TERMS = ("variant", "condition", "variant:condition", "temperature")
_BASE = "base"


@dataclass(frozen=True, slots=True)
class Regression:
    """All tests of V*C+T on factual trials without refusals. `tests` None: not fitted, and `note` says why.

    `se_without_intercept` is the reference's standard error of the slope: its information matrix lacks the intercept,
    so it is too small. `with_refusals` is the slope when refusals count as errors instead of being left out.
    """

    tests: NestedTests | None
    se_without_intercept: float | None
    with_refusals: Estimate
    rows: int
    refused: int
    cautions: tuple[Caution, ...]
    note: str


def regression(trials: Trials, rule: Rule) -> Regression:
    """Fit and test. Rows: factual, with a correctness, under control or a pressure; refusals left out (STAT016)."""
    rows = ~trials.opinion & (trials.label("correct", rule) >= 0)
    if trials.retest is not None:
        rows &= ~trials.under(trials.retest)
    refused = rows & (trials.label("refused", rule) == 1)
    kept, n_refused = rows & ~refused, int(refused.sum())
    warned = (refusals_excluded(n_refused / int(rows.sum())),) if n_refused else ()
    undefined = Estimate(None, int(rows.sum()), note="not fitted")
    try:
        cells = _cells(trials, rule, kept)
        tests = nested_tests(cells, "variant", "condition", "temperature")
        everything = _cells(trials, rule, rows)
        slope = odds_ratio(everything, fit_logit(everything, _TERMS), "temperature")
    except DataError as error:
        return Regression(None, None, undefined, int(kept.sum()), n_refused, warned, str(error))
    return Regression(tests, _se_without_intercept(cells), slope, int(kept.sum()), n_refused, warned, "")


def _cells(trials: Trials, rule: Rule, rows: BoolArray) -> Cells:
    """Errors and trials per cell and item. The references are 'base', or the first variant, and the control."""
    base = _BASE if _BASE in trials.variants else trials.variants[0]
    variants = (base, *(name for name in trials.variants if name != base))
    conditions = (trials.control, *trials.pressures)
    columns = [
        Column("variant", variants, _recoded(trials.variants, variants)[trials.variant[rows]]),
        Column("condition", conditions, _recoded(trials.conditions, conditions)[trials.condition[rows]]),
        Column("temperature", trials.temperatures, trials.temperature[rows]),
    ]
    return collapse(errors(trials, rule)[rows], columns, items=trials.item[rows])


def _recoded(before: tuple[str, ...], now: tuple[str, ...]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    # The retest is no level: its rows are not among those that are fitted.
    return np.array([now.index(name) if name in now else -1 for name in before], dtype=np.int64)


def _se_without_intercept(cells: Cells) -> float | None:
    """The slope's standard error from the information matrix without its first column. None under separation."""
    fit = fit_logit(cells, _TERMS)
    if fit.covariance is None or "temperature" not in fit.names:
        return None
    information = np.linalg.inv(fit.covariance)[1:, 1:]
    place = fit.names.index("temperature") - 1
    return math.sqrt(float(np.linalg.inv(information)[place, place]))


def reference_block(found: Regression) -> dict[str, JSON]:
    """`regression_lrt` in the reference's shape; `temperature_or` with the correct standard error and, named, theirs.

    Undefined numbers are null.
    """
    body: dict[str, JSON] = {"n_trials": found.rows}
    for term in ("variant", "condition", "interaction", "temperature"):
        test = None if found.tests is None else found.tests.likelihood_ratio[term]
        body[term] = {
            "chi2": None if test is None else test.value,
            "df": None if test is None else test.also.get("df"),
            "p": None if test is None else test.also.get("p"),
        }
    slope = Estimate(None, found.rows) if found.tests is None else found.tests.slope
    beta, se = slope.also.get("beta"), slope.also.get("se_independent")
    theirs = found.se_without_intercept
    body["temperature_or"] = {
        "beta": beta,
        "or": slope.value,
        "se": se,
        "ci95": _wald(beta, se),
        "se_without_intercept_as_in_the_reference": theirs,
        "ci95_without_intercept_as_in_the_reference": _wald(beta, theirs),
    }
    return body


def _wald(beta: object, se: object) -> list[JSON] | None:
    """The reference's interval: exp(beta ± 1.96 se)."""
    if not isinstance(beta, float) or not isinstance(se, float):
        return None
    return [math.exp(beta - 1.96 * se), math.exp(beta + 1.96 * se)]


def clustered_block(found: Regression) -> dict[str, JSON]:
    """The headline: item-clustered tests, the marginal odds ratio per +1.0, and what they rest on."""
    body: dict[str, JSON] = {
        "n_trials": found.rows,
        "n_refusals_excluded": found.refused,
        "note": found.note,
        "cautions": [{"id": c.id, "text": c.text, "number": c.number} for c in found.cautions],
        "temperature_or_refusals_as_errors": found.with_refusals.as_json(),
    }
    if found.tests is not None:
        body |= {term: test.as_json() for term, test in found.tests.clustered.items()}
        body |= {
            "temperature_or": found.tests.slope.as_json(),
            "temperature_linearity": found.tests.linearity.as_json(),
            "overdispersion": found.tests.overdispersion.as_json(),
            "icc": found.tests.icc.as_json(),
        }
    return body
