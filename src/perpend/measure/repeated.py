"""Numbers of items that were asked several times: pass@k, pass^k, repeats that differ, where variance comes from.

A run without repeats has none of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from perpend.measure.column import Column
from perpend.measure.grid import PlanGrid
from perpend.measure.keys import BoolArray, joined
from perpend.measure.study import Metric
from perpend.measure.table import Table
from perpend.stats.components import Components, expected_se, variance_components
from perpend.stats.flips import flip_rate
from perpend.stats.passing import pass_at_k, pass_hat_k
from perpend.types import Estimate

PASS_AT, PASS_HAT, DIFFER, EXPECTED = "pass_at_k", "pass_hat_k", "repeats_differ", "expected_se"
VARIANCES = {
    "variance_item": "item",
    "variance_condition": "condition",
    "variance_item_condition": "item_condition",
    "variance_sampling": "sampling",
}
NOW, MORE_ITEMS, MORE_REPEATS = "as it is", "twice the items", "twice the repeats"
DESIGNS = {NOW: (1, 1), MORE_ITEMS: (2, 1), MORE_REPEATS: (1, 2)}
"""What a design multiplies items and repeats by."""
ARROW = " → "
ONE_CONDITION = "one condition"
"""Why a variance is undefined that only several conditions have."""


def repeat_metrics(table: Table) -> Iterator[Metric]:
    """For the latest version of every score, of each model and setting that some item was asked twice at.

    `pass_at_k` and `pass_hat_k` of scores of 0 and 1 (by condition and k): the mean over items with k scored answers or
    more of the chance that one of k, or all of k, are 1; `also.short` counts the items with fewer. `repeats_differ`:
    items whose answers do not all score the same / items with two scored answers or more. `variance_…`: the variance
    between items, between conditions, of items × conditions and of repeats; `also.share` is its part of their sum.
    `expected_se`: the standard error of the mean score under a condition, and of its paired difference from the first,
    as it is and with twice the items or repeats, from the variances of just these conditions.
    """
    cells = [*_repeated_cells(table)]
    for name in latest(table.scorers) if cells else ():
        column = table.column(name)
        for where, rows in cells:
            own = column.at(rows)
            if own.defined.any():
                with np.errstate(over="ignore", invalid="ignore"):  # what overflows is undefined, and its note says so
                    yield from _of_cell(own, where, is_binary=column.is_binary)


def latest(scorers: Sequence[str]) -> list[str]:
    """The latest version of every score; of judges each is a score of its own."""
    return [*{name if ":" in name else name.partition("@")[0]: name for name in scorers}.values()]


def main_score(declared: Sequence[str], scores: Sequence[str]) -> str | None:
    """Which of some scores that have values a reader cares for most; None where there is none.

    The first that the run declares. Where that has no values (an import without right answers), what the import brought
    along; else the first of the others.
    """
    stems = dict.fromkeys(name.partition("@")[0] for name in declared)
    named = {name.partition("@")[0]: name for name in scores}
    first = [named[stem] for stem in list(stems)[:1] if stem in named]
    brought = [name for name in scores if name.endswith("@import")]
    others = [named[stem] for stem in stems if stem in named]
    return next(iter((*first, *brought, *others, *scores)), None)


def ks_of(repeats: int) -> list[int]:
    """1, 2, 4, 8 … and the number of repeats itself."""
    powers = [2**power for power in range(repeats.bit_length())]
    return sorted({*powers, repeats})


def _repeated_cells(table: Table) -> Iterator[tuple[dict[str, str], BoolArray]]:
    """Each model and setting, of each run where these are several, that has repeats; and its rows."""
    for where in table.cells(["run"] * (len(table.runs) > 1) + [*table.cell_keys()]):
        rows = table.mask(where)
        if planned_repeats(table, rows) > 1:
            yield where, rows


def planned_repeats(table: PlanGrid, rows: BoolArray) -> int:
    """The most often that an item is asked under one condition among these rows."""
    if not rows.any():
        return 0
    keys = joined([table.codes[key][rows] for key in ("item", "condition")])
    return int(np.unique(keys, return_counts=True)[1].max())


def _of_cell(column: Column, where: Mapping[str, str], *, is_binary: bool) -> Iterator[Metric]:
    table = column.table
    conditions = [name for name in table.values("condition") if column.where(condition=name).defined.any()]
    for condition in conditions:
        own, place = column.where(condition=condition), {**where, "condition": condition}
        digest = own.digest()
        for k in ks_of(planned_repeats(table, own.mask)) if is_binary else ():
            at = {**place, "k": str(k)}
            yield Metric(PASS_AT, column.name, at, passed(own, k, at_least_one=True), digest)
            yield Metric(PASS_HAT, column.name, at, passed(own, k, at_least_one=False), digest)
        if is_binary:
            yield Metric(DIFFER, column.name, place, _differ(own), digest)
    parts, digest = parts_of(column), column.digest()
    values = [getattr(parts, name).value for name in VARIANCES.values()]
    total = sum(value for value in values if value is not None)
    for metric, name in VARIANCES.items():
        one: Estimate = getattr(parts, name)
        share = one.value / total if one.value is not None and total > 0.0 else None
        yield Metric(metric, column.name, where, replace(one, also={**one.also, "share": share}), digest)
    for condition in conditions:
        own = column.where(condition=condition)
        yield from _expected(own, {**where, "condition": condition}, paired=False)
    for condition in conditions[1:]:
        own = column.at(both(column, "condition", (conditions[0], condition)))
        yield from _expected(own, {**where, "condition": f"{conditions[0]}{ARROW}{condition}"}, paired=True)


def both(column: Column, key: str, sides: Sequence[str]) -> BoolArray:
    """The selected rows at either of two values of a key."""
    mask: BoolArray = column.mask & np.logical_or.reduce([column.table.mask({key: side}) for side in sides])
    return mask


def parts_of(column: Column, key: str = "condition") -> Components:
    """The variance components of the selected values; the values of the key are the conditions."""
    rows = column.defined
    return variance_components(column.all_values[rows], *(column.table.codes[name][rows] for name in ("item", key)))


def passed(column: Column, k: int, *, at_least_one: bool) -> Estimate:
    """pass@k or pass^k of the items with k values of 0 and 1 or more; `also.short` counts those with fewer."""
    rows = column.defined
    items = column.table.codes["item"][rows]
    enough = np.bincount(items)[items] >= k
    short = len(np.unique(items[~enough]))
    if not enough.any():
        return Estimate(None, 0, note=f"no item has {k} scored answers", also={"k": k, "short": short})
    of = pass_at_k if at_least_one else pass_hat_k
    one = of(column.all_values[rows][enough], items[enough], k)
    return replace(one, also={**one.also, "short": short})


def _differ(column: Column) -> Estimate:
    rows = column.defined
    return flip_rate(column.all_values[rows], column.table.codes["item"][rows])


def _expected(column: Column, where: Mapping[str, str], *, paired: bool) -> Iterator[Metric]:
    parts, digest = parts_of(column), column.digest()
    repeats = planned_repeats(column.table, column.mask)
    for design, (more_items, more_repeats) in DESIGNS.items():
        one = expected_se(parts, more_items * parts.n_items, more_repeats * repeats, paired=paired)
        yield Metric(EXPECTED, column.name, {**where, "design": design}, one, digest)
