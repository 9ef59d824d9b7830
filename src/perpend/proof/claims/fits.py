"""Numbers of a claim that are of many answers at once: a regression's odds ratio, preferences, ranks and tiers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from perpend.errors import SpecError, did_you_mean
from perpend.measure.column import Column
from perpend.measure.grid import PlanGrid
from perpend.measure.keys import BoolArray, FloatArray
from perpend.types import Estimate

if TYPE_CHECKING:
    from perpend.stats.cells import Column as CellColumn

RANKED_BY = "model"
"""The key whose values are ranked, unless a claim says over='…'."""
_COVARIATES = ("temperature", "repeat", "turn")
_FACTOR = re.compile(r"(?P<key>[^\s\[\]:+*]+)(?:\[(?P<level>[^\[\]]*)\])?")
_EVEN = 0.5


def regression(column: Column, options: Mapping[str, str | float]) -> Estimate:
    """exp(coefficient) of one term of a binomial logit of a column of 0 and 1, with items as clusters.

    `terms` are joined by '+': keys, tags and products such as 'model:condition'. Temperature, repeat and turn are
    numbers, all else are factors; 'condition[control]' names a factor's reference, which is else the first in order.
    `term` is the coefficient: 'temperature', or 'condition[asch_history_5]'. With `outcome` 0 the odds are those of 0.
    Over trials with a value. Undefined where there is none, and where the other terms determine the coefficient.
    """
    from perpend.stats.regression import collapse, fit_logit, odds_ratio

    written, term, outcome = (options.get(key) for key in ("terms", "term", "outcome"))
    if not isinstance(written, str) or not isinstance(term, str):
        raise SpecError("regression() takes terms='model + condition + temperature' and term='temperature'")
    if outcome not in (None, 0.0, 1.0):
        raise SpecError(f"outcome is 0 or 1, not {outcome!r}")
    terms, references = _terms(written)
    rows = column.defined
    if not rows.any():
        return Estimate(None, 0, note="no trial has a value")
    values = column.all_values[rows]
    if not np.isin(values, (0.0, 1.0)).all():
        raise SpecError(f"regression() is of a column of 0 and 1; {column.name} has other values")
    keys = dict.fromkeys(key for one in terms for key in one.split(":"))
    columns = [_explanatory(column.table, key, rows, references.get(key)) for key in keys]
    cells = collapse(1.0 - values if outcome == 0.0 else values, columns, items=column.table.codes["item"][rows])
    fit = fit_logit(cells, terms)
    known = (*fit.names[1:], *fit.aliased)
    if term not in known:
        raise SpecError(f"the regression has no coefficient {term!r}; {did_you_mean(term, known)}")
    ratio = odds_ratio(cells, fit, term)
    return replace(ratio, also={**ratio.also, "p_method": ratio.method})


def _terms(written: str) -> tuple[list[str], dict[str, str]]:
    """The terms as the fit takes them, and the reference level of each factor that names one."""
    terms: list[str] = []
    references: dict[str, str] = {}
    for one in written.split("+"):
        parts = [_FACTOR.fullmatch(part.strip()) for part in one.split(":")]
        names = [part["key"] for part in parts if part is not None]
        if len(names) != len(parts):
            raise SpecError(f"terms: {one.strip()!r:.80} is no key and no product of keys such as 'model:condition'")
        references |= {part["key"]: part["level"] for part in parts if part is not None and part["level"] is not None}
        terms.append(":".join(names))
    return list(dict.fromkeys(terms)), references


def _explanatory(table: PlanGrid, key: str, rows: BoolArray, reference: str | None) -> CellColumn:
    from perpend.stats.regression import factor, number

    names = table.values(key)
    codes = table.codes[key][rows]
    if key in _COVARIATES:
        used = [names[code] for code in np.unique(codes)]
        if "" in used:
            raise SpecError(f"regression(): some trials have no {key}; leave them out with 'where'")
        return number(key, np.array([float(name) if name else 0.0 for name in names])[codes])
    return factor(key, [names[code] for code in codes], reference=reference)


def preference(function: str, column: Column) -> Estimate:
    """Of preferences, 1 where the model is preferred, 0 where its rival is, 0.5 for a draw, or between.

    win_rate is their mean; discrete_win_rate is wins and half of the draws over all; wins, losses and draws are counts
    of values above, below and at 0.5. Over comparisons with a value. The rates are undefined where there is none.
    """
    values = column.all_values[column.defined]
    if ((values < 0.0) | (values > 1.0)).any():
        raise SpecError(f"{function}() is of preferences between 0 and 1; {column.name} has other values")
    if function == "win_rate":
        return column.mean()
    if function == "discrete_win_rate":
        return column.with_values((1.0 + np.sign(column.all_values - _EVEN)) / 2.0).mean()
    chosen = {"wins": values > _EVEN, "losses": values < _EVEN, "draws": values == _EVEN}[function]
    return Estimate(float(chosen.sum()), len(values), method=f"{function} counted")


def place(function: str, column: Column, name: str, key: str, best: str | float) -> Estimate:
    """The rank, or the tier, of one model among all: 1 is the best mean over items, repeats of an item averaged first.

    A rank is 1 + the models with a better mean; its interval are the ranks that the items do not rule out. A tier is 1
    where no model is shown to be better, else 1 + the largest tier of those that are. n counts items. Undefined where
    the model has no value; fewer than two models with one are an error.
    """
    from perpend.stats.ranking import by_item, rank

    if best not in ("highest", "lowest"):
        raise SpecError(f"best is 'highest' or 'lowest', not {best!r}")
    table, rows = column.table, column.defined
    names = table.values(key)
    if name not in names:
        raise SpecError(f"no trial has {key} = {name!r}; {did_you_mean(name, names)}")
    labels = [names[code] for code in table.codes[key][rows]]
    if name not in labels:
        return Estimate(None, 0, note=f"no trial of {name} has a value")
    if len(set(labels)) < 2:
        raise SpecError(f"{function}() compares values of {key}, and only {name!r} has any here")
    values: FloatArray = column.all_values[rows]
    ranking = rank(by_item(values, labels, table.codes["item"][rows]), lowest_first=best == "lowest")
    one = next(model for model in ranking.models if model.name == name)
    place = one.tier if function == "tier" else one.rank
    if place is None:
        return Estimate(None, ranking.n_items, note=f"{name} has no score to be ranked by")
    if function == "tier":
        return Estimate(float(place), ranking.n_items, method="tier of models told apart by their items")
    ends = float(one.lowest), float(one.highest)
    return Estimate(float(place), ranking.n_items, *ends, method="rank of the mean over items")
