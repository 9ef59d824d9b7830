"""What the stored verdicts of a source give, whether it states that or not: means, pass^k, how far judges agree."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from perpend.canon import JSON
from perpend.measure.column import Column
from perpend.measure.repeated import ks_of, passed, planned_repeats
from perpend.measure.table import Table
from perpend.stats.agreement import MOST_CATEGORIES, alpha, raw_agreement
from perpend.types import Estimate

MOST = 1000
"""Cells of model and condition that a page lists; a leaderboard has a hundred."""
_EVERY_K = 8
_JUDGES = (re.compile(r"stored_judge\d+@import"), re.compile(r"stored_preference_.+@import"))


@dataclass(frozen=True, slots=True)
class GivenNumber:
    """A number that follows from stored verdicts: `statistic` of `column` among the trials with `where`."""

    statistic: str
    column: str
    where: Mapping[str, str]
    estimate: Estimate

    def as_json(self) -> dict[str, JSON]:
        """The entry of the outcome as JSON."""
        return {
            "statistic": self.statistic,
            "column": self.column,
            "where": dict(self.where),
            "estimate": self.estimate.as_json(),
        }


def given(table: Table, verdicts: Mapping[str, Column]) -> list[GivenNumber]:
    """Of judges their agreement; of repeats pass@k and pass^k; the rate or mean of each column by model and condition.

    Denominators are the trials of the cell that have a verdict; of pass@k and pass^k the items with k or more; of an
    agreement the trials that two judges or more rated. At most MOST numbers of each kind.
    """
    cells = [*islice(_cells(table, verdicts), MOST)]
    rates = [
        GivenNumber("rate" if verdicts[own.name].is_binary else "mean", own.name, where,
                    own.rate() if verdicts[own.name].is_binary else own.mean())
        for where, own in cells
    ]  # fmt: skip
    repeated = [(where, own, planned_repeats(table, own.mask)) for where, own in cells if verdicts[own.name].is_binary]
    return [*_agreement(table, verdicts), *islice(_of_repeats(repeated), MOST), *rates]


def _cells(table: Table, verdicts: Mapping[str, Column]) -> Iterator[tuple[dict[str, str], Column]]:
    for column in verdicts.values():
        for model, of_model in column.by("model").items():
            for condition, own in of_model.by("condition").items() if of_model.defined.any() else ():
                if own.defined.any():
                    named = {"model": model, "condition": condition}
                    yield {key: name for key, name in named.items() if len(table.values(key)) > 1}, own


def _of_repeats(cells: Sequence[tuple[dict[str, str], Column, int]]) -> Iterator[GivenNumber]:
    for where, own, repeats in cells:
        for k in (range(1, repeats + 1) if repeats <= _EVERY_K else ks_of(repeats)) if repeats > 1 else ():
            yield GivenNumber(f"pass@{k}", own.name, where, passed(own, k, at_least_one=True))
            yield GivenNumber(f"pass^{k}", own.name, where, passed(own, k, at_least_one=False))


def _agreement(table: Table, verdicts: Mapping[str, Column]) -> Iterator[GivenNumber]:
    for pattern in _JUDGES:
        own = {name: column for name, column in verdicts.items() if pattern.fullmatch(name)}
        if len(own) < 2:
            continue
        raters = np.stack([column.all_values for column in own.values()])
        rows = (~np.isnan(raters)).sum(axis=0) > 1
        if not rows.any() or len(np.unique(raters[:, rows][~np.isnan(raters[:, rows])])) > MOST_CATEGORIES:
            continue
        columns, items = [*raters[:, rows]], table.codes["item"][rows]
        names = ", ".join(name.removesuffix("@import").removeprefix("stored_") for name in own)
        yield GivenNumber("agreement", names, {}, raw_agreement(columns, items))
        yield GivenNumber("alpha", names, {}, alpha(columns, items, scale="interval"))
