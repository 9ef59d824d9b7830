"""The numbers of a judge run. Answers of one judged item count as one cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

import numpy as np

from perpend.measure.keys import BoolArray, IntArray
from perpend.measure.study import Metric
from perpend.measure.table import Table
from perpend.measure.verdicts import unanimous
from perpend.report.derive import coverage
from perpend.stats.proportions import proportion
from perpend.types import Estimate, Score

JUDGED = ("judged_model", "judged_condition")
Number: TypeAlias = tuple[str, Mapping[str, str], Estimate]
"""The name of a metric, the slice beside the judge, and the Estimate."""


def study_metrics(table: Table) -> Iterator[Metric]:
    """`answered`; for each judge `verdict`, `no_verdict`, `order_agreement` and `judged_rate`."""
    yield from coverage(table)
    if not table.has("verdict"):
        return
    scorer = table.full_name("verdict")
    clusters = _codes(table, "judged_item")
    for label, verdicts in unanimous(table).items():
        digest = table.digest([scorer], table.mask({"model": label}))
        for name, where, estimate in (
            *_verdicts(table, verdicts, clusters),
            *_orders(table, scorer, label, clusters),
            *_rates(table, verdicts, clusters),
        ):
            yield Metric(name, scorer, {"model": label, **where}, estimate, digest)


def _codes(table: Table, tag: str) -> IntArray:
    """For each item the number of its tag's value, in the order in which values first occur."""
    values = [item.tags.get(tag, item.id) for item in table.items]
    numbers = {value: number for number, value in enumerate(dict.fromkeys(values))}
    return np.array([numbers[value] for value in values], dtype=np.int64)


def _verdicts(table: Table, verdicts: Mapping[int, Score], clusters: IntArray) -> Iterator[Number]:
    """Share of each option, and of none, among the items that the judge answered."""
    items = np.array(sorted(verdicts), dtype=np.int64)
    answers = [verdicts[int(code)].answer for code in items]
    for option in dict.fromkeys(choice for item in table.items for choice in item.choices):
        hits = np.array([answer == option for answer in answers], dtype=np.bool_)
        yield "verdict", {"verdict": option}, _share(hits, clusters[items])
    none = np.array([answer is None for answer in answers], dtype=np.bool_)
    yield "no_verdict", {}, _share(none, clusters[items])


def _orders(table: Table, scorer: str, label: str, clusters: IntArray) -> Iterator[Number]:
    """`order_agreement`: the share of items with the same verdict in both orders, among those with one in each."""
    orders = table.values("condition")
    if len(orders) < 2:
        return
    given: dict[tuple[int, str, str], dict[str, str]] = {}
    for row, _, scores in table.judgements([scorer]):
        answer = scores[scorer].answer if scorer in scores else None
        if table.name("model", row) == label and answer is not None:
            place = (int(table.codes["item"][row]), table.name("sampling", row), table.name("repeat", row))
            given.setdefault(place, {})[table.name("condition", row)] = answer
    both = {place: own for place, own in given.items() if len(own) == len(orders)}
    same = np.array([len(set(own.values())) == 1 for own in both.values()], dtype=np.bool_)
    items = np.array([place[0] for place in both], dtype=np.int64)
    yield "order_agreement", {}, _share(same, clusters[items])


def _rates(table: Table, verdicts: Mapping[int, Score], clusters: IntArray) -> Iterator[Number]:
    """`judged_rate`: the share of 1 among the items whose verdict has a value, in all, and by judged cell."""
    values = np.array([_value(verdicts.get(code)) for code in range(len(table.items))])
    cells = [tuple(item.tags.get(tag, "") for tag in JUDGED) for item in table.items]
    for cell in (None, *dict.fromkeys(cells)):
        rows = np.array([cell in (None, own) for own in cells], dtype=np.bool_) & ~np.isnan(values)
        where = {} if cell is None else dict(zip(JUDGED, cell, strict=True))
        yield "judged_rate", where, _share(values[rows] == 1.0, clusters[rows])


def _value(score: Score | None) -> float:
    return np.nan if score is None or score.value is None else score.value


def _share(hits: BoolArray, clusters: IntArray) -> Estimate:
    return proportion(hits, clusters) if len(hits) else Estimate(None, 0, note="no answer was judged")
