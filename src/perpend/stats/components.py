"""Where the variance of a mean comes from: items, conditions, items × conditions, repeats; and what more would buy.

A value is mean + item + condition + item × condition + repeat, each part random with a variance of its own. The
variances are those of half squared differences between cells (item × condition), each cell with one vote: of cells that
share the item, the condition, or neither (Koch 1967). With equal repeats that is the analysis of variance. It is
unbiased, so a small variance may come out below 0: it is then stated as 0, and in `also` as it is.

Intervals are jackknifed over items, with t, on the logarithm of the variance and what it is measured against together,
so that they may reach 0; the upper end is not below that of a chi-square with the jackknife's spread. Conditions have a
chi-square with conditions - 1 degrees of freedom instead.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from perpend.errors import DataError
from perpend.stats import cautions, gate
from perpend.stats.clusters import normal_quantile, student_quantile
from perpend.stats.gate import FloatArray, Ids, IntArray
from perpend.types import Caution, Estimate, Number

Variances: TypeAlias = dict[str, float | None]

# Up to so many items are left out one after the other, beyond it in groups.
_JACKKNIFED, _GROUPS = 2000, 100
# From so many items on, jackknife intervals need no caution.
_PLENTY = 200


@dataclass(frozen=True, slots=True)
class Components:
    """Variances of the parts of a value. One that the design cannot tell is undefined, and its note says why.

    `repeats` is the harmonic mean of the rows of a cell. `residual` is the variance of a cell with one row beyond item
    and condition: item × condition + sampling, which is defined where either is not.
    """

    item: Estimate
    condition: Estimate
    item_condition: Estimate
    sampling: Estimate
    residual: float | None
    mean: float
    n_items: int
    n_conditions: int
    repeats: float


def variance_components(
    values: npt.ArrayLike, items: Ids, conditions: Ids | None = None, *, level: float = 0.95
) -> Components:
    """The variance between items, between conditions (or prompts), of items × conditions, and of repeats.

    Undefined: item with one item; condition with one condition; sampling where no cell has two rows; item × condition
    where it cannot be told from sampling, or with one item or condition. Values of 0 and 1 are values too.
    """
    column, rows = gate.values("values", values), gate.codes("items", items)
    columns = np.zeros(len(column), dtype=np.int64) if conditions is None else gate.codes("conditions", conditions)
    gate.same_length(values=column, items=rows, conditions=columns)
    normal_quantile(level)
    cells = _Cells.of(column, rows, columns)
    return cells.components(level)


@dataclass(frozen=True, slots=True, eq=False)
class _Cells:
    """An items × conditions table: rows, mean, and sum of squares within each cell. No rows is a missing cell."""

    size: FloatArray
    mean: FloatArray
    within: FloatArray

    @classmethod
    def of(cls, column: FloatArray, rows: IntArray, columns: IntArray) -> _Cells:
        shape = int(rows.max()) + 1, int(columns.max()) + 1
        keys, cells = rows * shape[1] + columns, shape[0] * shape[1]
        size = np.bincount(keys, minlength=cells).astype(np.float64)
        mean = np.bincount(keys, weights=column, minlength=cells) / np.maximum(size, 1.0)
        within = np.bincount(keys, weights=(column - mean[keys]) ** 2, minlength=cells).astype(np.float64)
        return cls(size.reshape(shape), mean.reshape(shape), within.reshape(shape))

    def without(self, item: int) -> _Cells:
        return _Cells(*(np.delete(part, item, axis=0) for part in (self.size, self.mean, self.within)))

    @property
    def there(self) -> FloatArray:
        return (self.size > 0.0).astype(np.float64)

    def sampling(self) -> float | None:
        """The variance of rows within a cell."""
        spare = float((self.size - self.there).sum())
        return float(self.within.sum()) / spare if spare > 0.0 else None

    def variances(self) -> Variances:
        """Item, condition, item × condition, sampling; and residual, the sum of the last two."""
        sampling = self.sampling()
        same_item, same_condition, neither = self._half_squares(sampling or 0.0)
        item = condition = crossed = None
        residual = same_condition
        if self.mean.shape[1] == 1:
            # Cells of one condition: what is left beside sampling is the items'.
            item = same_condition if sampling is not None else None
            residual = sampling
        elif neither is not None and same_item is not None and same_condition is not None:
            item, condition = neither - same_item, neither - same_condition
            crossed = same_item + same_condition - neither
            residual = crossed + (sampling or 0.0)
        return {
            "item": item,
            "condition": condition,
            "item_condition": crossed if sampling is not None else None,
            "sampling": sampling,
            "residual": residual,
        }

    def _half_squares(self, sampling: float) -> tuple[float | None, float | None, float | None]:
        """The mean half squared difference of two cells that share the item, the condition, neither; less sampling."""
        there, mean = self.there, np.where(self.size > 0.0, self.mean - self._centre(), 0.0)
        noise = np.where(self.size > 0.0, sampling / np.maximum(self.size, 1.0), 0.0)
        # Σ over pairs (x - y)² / 2 = (count - 1) Σ x² - … for any set of cells: by rows, by columns and in all.
        square = mean**2 - noise
        sums = []
        for axis in (1, 0, None):
            count, total, squares = there.sum(axis=axis), mean.sum(axis=axis), square.sum(axis=axis)
            # A pair's product of two cells holds no noise, but total² holds that of each cell with itself.
            product = total**2 - (mean**2).sum(axis=axis)
            sums.append((float((count * (count - 1.0)).sum()), float(((count - 1.0) * squares - product).sum())))
        (rows, by_rows), (columns, by_columns), (every, by_all) = sums
        neither = every - rows - columns, by_all - by_rows - by_columns
        parts = ((rows, by_rows), (columns, by_columns), neither)
        first, second, third = (value / pairs if pairs > 0.0 else None for pairs, value in parts)
        return first, second, third

    def _centre(self) -> float:
        return float((self.mean * self.there).sum() / self.there.sum())

    def components(self, level: float) -> Components:
        whole = self.variances()
        g, c = self.mean.shape
        left = [self.without(item).variances() for item in range(g)] if 2 < g <= _JACKKNIFED else self._grouped()
        there = self.size > 0.0
        repeats = float(there.sum() / (1.0 / self.size[there]).sum())
        also: dict[str, Number] = {"n_items": g, "n_conditions": c, "repeats": repeats}
        place = _Place(int(self.size.sum()), level, g, also)
        return Components(
            item=_estimate("item", [whole, *left], self.why("item"), place),
            condition=_of_conditions(self, whole, place),
            item_condition=_estimate("item_condition", [whole, *left], self.why("item_condition"), place),
            sampling=_estimate("sampling", [whole, *left], self.why("sampling"), place),
            residual=whole["residual"],
            mean=self._centre(),
            n_items=g,
            n_conditions=c,
            repeats=repeats,
        )

    def _grouped(self) -> list[Variances]:
        """Variances without each of a hundred groups of items, where leaving out one after the other takes long."""
        g = len(self.mean)
        if g <= 2:
            return []
        group = np.arange(g) % _GROUPS
        kept = [group != own for own in range(_GROUPS)]
        return [_Cells(self.size[own], self.mean[own], self.within[own]).variances() for own in kept]

    def why(self, name: str) -> str:
        """Why a component is undefined."""
        g, c = self.mean.shape
        repeated = bool((self.size > 1.0).any())
        if name == "sampling":
            return "no item is asked twice under one condition"
        if name != "condition" and g == 1:
            return "one item"
        if name != "item" and c == 1:
            return "one condition"
        if name == "item_condition" or (name == "item" and c == 1):
            apart = "an item's own" if name == "item" else "item × condition"
            if not repeated:
                return f"no item is asked twice under one condition, so {apart} is not told apart from sampling"
        return "no two items share two conditions"


@dataclass(frozen=True, slots=True)
class _Place:
    """What the estimates of one table share."""

    n: int
    level: float
    n_items: int
    also: dict[str, Number]

    def undefined(self, why: str) -> Estimate:
        return Estimate(None, self.n, note=why, level=self.level, also={**self.also, "unbiased": None})

    def without_interval(self, value: float, why: str) -> Estimate:
        return Estimate(max(value, 0.0), self.n, note=why, level=self.level, also={**self.also, "unbiased": value})

    def estimate(self, value: float, lo: float, hi: float, method: str, warned: tuple[Caution, ...] = ()) -> Estimate:
        also = {**self.also, "unbiased": value}
        value = max(value, 0.0)
        return Estimate(value, self.n, min(lo, value), max(hi, value), method, "", self.level, also, warned)


def _estimate(name: str, parts: list[Variances], why: str, place: _Place) -> Estimate:
    """One variance with its jackknife interval: of log(variance + base), base being what it is measured against.

    `parts` are the variances of all items, then those without each.
    """
    whole, left = parts[0], parts[1:]
    value = whole[name]
    if value is None:
        return place.undefined(why)
    beside = {"sampling": 0.0, "item": whole["residual"], "item_condition": whole["sampling"]}[name]
    base = max(beside or 0.0, 0.0)
    others = [part[name] for part in left]
    points = np.array([math.nan if other is None else other + base for other in others])
    if len(points) < 3 or not (points > 0.0).all() or value + base <= 0.0:
        return place.without_interval(value, "no interval: too few items, or nothing varies")
    logs = np.log(points)
    se = math.sqrt((len(logs) - 1) / len(logs) * float(((logs - logs.mean()) ** 2).sum()))
    if se <= 1e-12:
        return place.without_interval(value, "no interval: every item shows the same")
    step = student_quantile(place.level, len(logs) - 1) * se
    at_least = max(value, 0.0)
    lo = (value + base) * math.exp(-step) - base
    hi = (at_least + base) * max(math.exp(step), _upper_chi_square(2.0 / se**2, place.level)) - base
    units = "items" if len(logs) == place.n_items else "groups of items"
    method = f"half squared differences; jackknife over {units}, t({len(logs) - 1})"
    warned = (cautions.variance_of_few(place.n_items),) if place.n_items < _PLENTY else ()
    return place.estimate(value, max(lo, 0.0), hi, method, warned)


def _upper_chi_square(df: float, level: float) -> float:
    """The upper end of a variance of 1 that is known with so many degrees of freedom."""
    from scipy.special import chdtri

    return df / float(chdtri(df, 0.5 + level / 2.0))


def _of_conditions(cells: _Cells, whole: Variances, place: _Place) -> Estimate:
    """The variance of conditions: the observed variance of their means has a chi-square beside what items leave."""
    from scipy.special import chdtri

    value = whole["condition"]
    if value is None:
        return place.undefined(cells.why("condition"))
    g, c = cells.mean.shape
    left = max(whole["residual"] or 0.0, 0.0) / g
    seen, tail = max(value, 0.0) + left, (1.0 - place.level) / 2.0
    lo, hi = ((c - 1) * seen / float(chdtri(c - 1, end)) - left for end in (tail, 1.0 - tail))
    method = f"half squared differences; chi-square({c - 1})"
    return place.estimate(value, max(lo, 0.0), hi, method)


def expected_se(components: Components, items: int, repeats: int = 1, *, conditions: int | None = None) -> Estimate:
    """The standard error of the mean with so many items, each asked so many times under each condition.

    √(item / I + item × condition / (I C) + sampling / (I C R)). The conditions are those
    of the pilot; give another number if they are drawn from many, and condition / C is added. `also` has the part that
    each leaves, as a share of the variance. Undefined where the pilot leaves a part undefined that the design needs.
    """
    items, repeats = gate.counts(items=items, repeats=repeats)
    c = components.n_conditions if conditions is None else gate.counts(conditions=conditions)[0]
    if not (items and repeats and c):
        raise DataError("items, repeats, conditions: a design has at least one of each")
    also: dict[str, Number] = {"items": items, "repeats": repeats, "conditions": c, "rows": items * c * repeats}
    parts = {"item": components.item, "item_condition": components.item_condition, "sampling": components.sampling}
    if conditions is not None:
        parts["condition"] = components.condition
    weights = {"item": items, "item_condition": items * c, "sampling": items * c * repeats, "condition": c}
    if components.n_conditions == 1 and conditions in (None, 1):
        del parts["item_condition"]
    left = {}
    for name, part in parts.items():
        if part.value is None:
            return Estimate(None, items, note=f"{name.replace('_', ' × ')}: {part.note}", also=also)
        left[name] = part.value / weights[name]
    total = sum(left.values())
    also |= {f"share_{name}": part / total if total > 0.0 else None for name, part in left.items()}
    return Estimate(math.sqrt(total), items, method="variance components", also=also)
