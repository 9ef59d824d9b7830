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
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from perpend.errors import DataError
from perpend.stats import gate, grouping
from perpend.stats.cautions import caution
from perpend.stats.clusters import normal_quantile, student_quantile
from perpend.stats.gate import FloatArray, Ids, IntArray
from perpend.types import Caution, Estimate, Number

Variances: TypeAlias = dict[str, float | None]
Replicates: TypeAlias = dict[str, FloatArray]
"""Variances by name, one for each item or group that was left out; NaN where undefined."""

# Up to 2,000 items are left out one by one; more than that, in 100 groups.
_JACKKNIFED, _GROUPS = 2000, 100
# With this many items or more, jackknife intervals need no caution.
_PLENTY = 200
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Components:
    """Variances of the parts of a value. One that the design cannot tell is undefined, and its note says why.

    `repeats` is the harmonic mean of the rows of a cell. `residual` is the variance of a cell with one row beyond item
    and condition: item × condition + sampling, which is defined where either is not. `single` is that of one row under
    one condition: item + item × condition + sampling. `left` has the variances without each item.
    """

    item: Estimate
    condition: Estimate
    item_condition: Estimate
    sampling: Estimate
    residual: float | None
    single: float | None
    mean: float
    n_items: int
    n_conditions: int
    repeats: float
    left: Replicates = field(default_factory=dict, repr=False, compare=False)


def variance_components(
    values: npt.ArrayLike, items: Ids, conditions: Ids | None = None, *, level: float = 0.95
) -> Components:
    """The variance between items, between conditions (or prompts), of items × conditions, and of repeats.

    Undefined: item with one item; condition with one condition; sampling where no cell has two rows; item × condition
    where it cannot be told from sampling, or with one item or condition. Values of 0 and 1 are values too.
    """
    column, rows = gate.values("values", values), grouping.codes("items", items)
    columns = np.zeros(len(column), dtype=np.int64) if conditions is None else grouping.codes("conditions", conditions)
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

    @property
    def there(self) -> FloatArray:
        return (self.size > 0.0).astype(np.float64)

    def variances(self, left_out: IntArray | None = None) -> Replicates:
        """Item, condition, item × condition, sampling; `residual`, the sum of the last two, and `single`, of three.

        One value of each, NaN where it is undefined; with `left_out`, which names the group of each item, one for every
        group, without it.
        """
        there = self.there

        def kept(parts: FloatArray) -> FloatArray:
            every: FloatArray = parts.sum(axis=0, keepdims=True)
            return every if left_out is None else every - _by_group(parts, left_out)

        with np.errstate(divide="ignore", invalid="ignore"):
            sampling = kept(self.within.sum(axis=1)) / kept((self.size - there).sum(axis=1))
            sampling[~np.isfinite(sampling)] = np.nan
            same_item, same_condition, neither = self._half_squares(np.nan_to_num(sampling), kept)
        single = same_condition + np.nan_to_num(sampling)
        if self.mean.shape[1] == 1:
            # Cells of one condition: what is left beside sampling is the items'.
            undefined = np.full_like(sampling, np.nan)
            item, condition, crossed, residual = same_condition + 0.0 * sampling, undefined, undefined, sampling
        else:
            item, condition = neither - same_item, neither - same_condition
            crossed = same_item + same_condition - neither
            residual = crossed + np.nan_to_num(sampling)
            residual = np.where(np.isnan(residual), same_condition, residual)
        parts = {
            "item": item,
            "condition": condition,
            "item_condition": crossed + 0.0 * sampling,
            "sampling": sampling,
            "residual": residual,
            "single": single,
        }
        # What rounding leaves of sums that cancel is no variance: one item in a million that differs leaves 1e-6.
        means = self.mean[there > 0.0]
        with np.errstate(over="ignore"):
            apart = np.square(means - self._centre()).max() + self.within.max()
            least = max(1e-12 * float(apart), 1e-26 * float(np.square(means).max()))
        return {name: np.where(np.abs(part) <= least, 0.0, part) for name, part in parts.items()}

    def _half_squares(
        self, sampling: FloatArray, kept: Callable[[FloatArray], FloatArray]
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The mean half squared difference of two cells that share the item, the condition, neither; less sampling."""
        there, mean = self.there, np.where(self.size > 0.0, self.mean - self._centre(), 0.0)
        square, shrunk = mean**2, np.where(self.size > 0.0, 1.0 / np.maximum(self.size, 1.0), 0.0)
        # Σ over pairs (x - y)² / 2 = (count - 1) Σ x² - … for any set of cells: by rows, by columns and in all.
        # A pair's product of two cells holds no noise, but total² holds that of each cell with itself.
        parts = [there, mean, square, shrunk]
        count, total, squares, noise = (part.sum(axis=1) for part in parts)
        rows = kept(count * (count - 1.0))
        by_rows = kept((count - 1.0) * squares - total**2 + squares) - sampling * kept((count - 1.0) * noise)
        count, total, squares, noise = map(kept, parts)
        spread = (count - 1.0) * (squares - sampling[:, None] * noise) - total**2 + squares
        columns, by_columns = (count * (count - 1.0)).sum(axis=1), spread.sum(axis=1)
        count, total, squares, noise = (part.sum(axis=1) for part in (count, total, squares, noise))
        every, by_all = count * (count - 1.0), (count - 1.0) * (squares - sampling * noise) - total**2 + squares
        pairs = ((rows, by_rows), (columns, by_columns), (every - rows - columns, by_all - by_rows - by_columns))
        first, second, third = (np.where(number > 0.0, value / number, np.nan) for number, value in pairs)
        return first, second, third

    def _centre(self) -> float:
        return float((self.mean * self.there).sum() / self.there.sum())

    def components(self, level: float) -> Components:
        g, c = self.mean.shape
        whole: Variances = {name: None if np.isnan(one[0]) else float(one[0]) for name, one in self.variances().items()}
        group = np.arange(g) if g <= _JACKKNIFED else np.arange(g) % _GROUPS
        left = self.variances(group) if g > 2 else {name: np.empty(0) for name in whole}
        there = self.size > 0.0
        repeats = float(there.sum() / (1.0 / self.size[there]).sum())
        also: dict[str, Number] = {"n_items": g, "n_conditions": c, "repeats": repeats}
        place = _Place(int(self.size.sum()), level, g, also)
        return Components(
            item=_estimate("item", whole, left, self.why("item"), place),
            condition=_of_conditions(self, whole, place),
            item_condition=_estimate("item_condition", whole, left, self.why("item_condition"), place),
            sampling=_estimate("sampling", whole, left, self.why("sampling"), place),
            residual=whole["residual"],
            single=whole["single"],
            mean=self._centre(),
            n_items=g,
            n_conditions=c,
            repeats=repeats,
            left=left,
        )

    def why(self, name: str) -> str:
        """Why a component is undefined."""
        if not np.isfinite(float(np.square(self.mean).sum() + self.within.sum())):
            return "beyond every number: the values are too large"
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


def _by_group(parts: FloatArray, group: IntArray) -> FloatArray:
    """The sums of rows over groups."""
    sums = np.zeros((int(group.max()) + 1, *parts.shape[1:]))
    np.add.at(sums, group, parts)
    return sums


def _estimate(name: str, whole: Variances, left: Replicates, why: str, place: _Place) -> Estimate:
    """One variance with its jackknife interval: of log(variance + base), base being what it is measured against.

    `left` are the variances without each item.
    """
    value = whole[name]
    if value is None:
        return place.undefined(why)
    beside = {"sampling": 0.0, "item": whole["residual"], "item_condition": whole["sampling"]}[name]
    base = max(beside or 0.0, 0.0)
    points = left[name] + base
    if value + base <= 0.0:
        return place.without_interval(value, "no interval: nothing varies")
    factors = jackknifed(points, place.level)
    if isinstance(factors, str):
        return place.without_interval(value, factors)
    at_least = max(value, 0.0)
    lo, hi = (value + base) * factors[0] - base, (at_least + base) * factors[1] - base
    units = "items" if len(points) == place.n_items else "groups of items"
    method = f"half squared differences; jackknife over {units}, t({len(points) - 1})"
    warned = (caution("STAT031", place.n_items),) if place.n_items < _PLENTY else ()
    return place.estimate(value, max(lo, 0.0), hi, method, warned)


def jackknifed(without_each: FloatArray, level: float) -> tuple[float, float] | str:
    """What a variance is multiplied by for the ends of its interval, from the variances without each item; or why not.

    On the logarithm with t; the upper end is not below that of a chi-square with the same spread.
    """
    # Where one item holds all that varies, rounding leaves some 1e-17 without it, which is not a variance.
    if len(without_each) < 3 or not (without_each > _ROUNDING * max(float(without_each.max()), 0.0)).all():
        return "no interval: too few items, or nothing varies without one of them"
    logs = np.log(without_each)
    se = math.sqrt((len(logs) - 1) / len(logs) * float(((logs - logs.mean()) ** 2).sum()))
    if se <= 1e-12:
        return "no interval: every item shows the same"
    step, df = student_quantile(level, len(logs) - 1) * se, 2.0 / se**2
    quantile = _chi_square_quantile(df, level)
    if quantile < sys.float_info.min or step > math.log(sys.float_info.max):
        return "no interval: one of the items holds nearly all that varies"
    return math.exp(-step), max(math.exp(step), df / quantile)


def _chi_square_quantile(df: float, level: float) -> float:
    """What a chi-square exceeds but in its lower tail; 0 where that is below all numbers."""
    from scipy.special import chdtri

    return float(chdtri(df, 0.5 + level / 2.0))


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


def expected_se(
    components: Components, items: int, repeats: int = 1, *, conditions: int | None = None, paired: bool = False
) -> Estimate:
    """The standard error of the mean of `items` items, each asked `repeats` times under each condition.

    √(item / I + item × condition / (I C) + sampling / (I C R)). The conditions are those
    of the pilot; give another number if they are drawn from many, and condition / C is added. `also` has the part that
    each leaves, as a share of the variance. `paired`: of the difference of two conditions on the same items instead,
    √(2 (item × condition + sampling / R) / I), without parts. Undefined where the pilot leaves a part undefined that
    the design needs, and where nothing varies; one without repeats knows the error of a design without.
    """
    items, repeats = gate.counts(items=items, repeats=repeats)
    c = components.n_conditions if conditions is None else gate.counts(conditions=conditions)[0]
    if not (items and repeats and c):
        raise DataError("items, repeats, conditions: a design has at least one of each")
    c = 2 if paired else c
    also: dict[str, Number] = {"items": items, "repeats": repeats, "conditions": c, "rows": items * c * repeats}
    if paired or (conditions is None and components.sampling.value is None):
        fixed, per_repeat, reason = of_one_item(components, paired=paired, repeats=repeats)
        if fixed is None:
            return Estimate(None, items, note=reason, also=also)
        method = f"variance components; {reason}" if reason else "variance components"
        return _root((fixed + per_repeat / repeats) / items, items, method, also)
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
    return _root(total, items, "variance components", also)


def _root(variance: float, items: int, method: str, also: dict[str, Number]) -> Estimate:
    if variance <= 0.0:
        return Estimate(None, items, note="nothing varies, so the error is unknown", also=also)
    return Estimate(math.sqrt(variance), items, method=method, also=also)


def of_one_item(pilot: Components, *, paired: bool, repeats: int | None) -> tuple[float | None, float, str]:
    """Of one item: the variance that repeats do not lessen, that of one repeat, and what is assumed, or lacking.

    `paired`: of the difference of two conditions; of one condition, as if the other had nothing in common with it. A
    pilot without repeats knows only the sum, for one repeat.
    """
    values: Replicates = {"residual": _array(pilot.residual), "single": _array(pilot.single)}
    for name in ("item", "item_condition", "sampling"):
        values[name] = _array(getattr(pilot, name).value)
    fixed, per_repeat = (float(one[0]) for one in _shares(values, pilot.n_conditions, paired, repeats))
    assumed = "the pilot has one condition, so the two are taken to have nothing in common: an upper bound"
    if not math.isnan(fixed + per_repeat):
        return fixed, per_repeat, assumed if paired and pilot.n_conditions == 1 else ""
    if pilot.sampling.value is None:
        why = f"what repeats buy is unknown (sampling: {pilot.sampling.note})"
        return None, 0.0, f"{why}; repeat the pilot, or plan one repeat"
    lacking = ("item_condition",) if paired and pilot.n_conditions > 1 else ("item", "item_condition")
    name = next(name for name in lacking if getattr(pilot, name).value is None)
    return None, 0.0, f"{name.replace('_', ' × ')}: {getattr(pilot, name).note}"


def ends_of_one_item(pilot: Components, *, paired: bool, repeats: int) -> tuple[float, float] | str:
    """What the variance of one item is multiplied by for the ends of its interval, given its repeats; or why not.

    Jackknifed over the pilot's items. Parts that come out below 0 count as they are here, so that their spread counts.
    """
    fixed, per_repeat, _ = of_one_item(pilot, paired=paired, repeats=repeats)
    value = (fixed or 0.0) + per_repeat / repeats
    own, each = _shares(pilot.left, pilot.n_conditions, paired, repeats, least=-math.inf)
    left = own + each / repeats
    if value <= 0.0 or len(left) < 3 or np.isnan(left).any():
        return "no interval: too few items, or nothing varies"
    # The spread of the variance beside its value, as that of a logarithm: without an item the sum may be below 0.
    with np.errstate(over="ignore"):  # beyond every number is no interval
        return jackknifed(np.exp((left - left.mean()) / value), 0.95)


def _array(value: float | None) -> FloatArray:
    return np.array([math.nan if value is None else value])


def _shares(
    values: Replicates, c: int, paired: bool, repeats: int | None, *, least: float = 0.0
) -> tuple[FloatArray, FloatArray]:
    """`of_one_item` for each of several sets of variances, none below `least`; NaN where a part is lacking."""
    parts = {name: np.maximum(value, least) for name, value in values.items()}
    item, crossed, sampling = parts["item"], parts["item_condition"], parts["sampling"]
    if repeats == 1 and np.isnan(sampling).all():
        nothing = np.zeros_like(sampling)
        if c == 1:
            return nothing, (2.0 if paired else 1.0) * parts["single"]
        return nothing, 2.0 * parts["residual"] if paired else item + parts["residual"] / c
    if paired:
        own = crossed if c > 1 else item
        return 2.0 * own, 2.0 * sampling
    return item + (crossed / c if c > 1 else 0.0), sampling / c
