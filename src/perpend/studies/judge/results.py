"""The numbers of a judge run, and what is told of them: its rate, its verdicts, whether the order mattered.

Answers of one judged item count as one cluster.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

import numpy as np

from perpend.canon import JSON, as_object
from perpend.inert import markdown
from perpend.measure.keys import BoolArray, IntArray
from perpend.measure.study import Metric, Numbers, Report, Section
from perpend.measure.table import Table
from perpend.measure.verdicts import unanimous
from perpend.report import answer
from perpend.report.derive import coverage, covered, estimated, unanswered
from perpend.report.tables import markdown_table
from perpend.stats.proportions import proportion
from perpend.types import Estimate, Score

JUDGED = ("judged_model", "judged_condition")
Number: TypeAlias = tuple[str, Mapping[str, str], Estimate]
"""The name of a metric, the slice beside the judge, and the Estimate."""
_CAUTION = (
    "A judge errs, and it may err differently from one condition to the next. Label a sample of the same answers\n"
    "(`perpend label`) before you believe a rate or a difference."
)


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


def study_report(numbers: Numbers) -> Report:
    """Headline with each judge's rate; then verdicts and orders, rates by judged model and condition, and a caution."""
    return Report(
        title=", ".join(markdown(name) for name in numbers.runs),
        headline="\n".join([*_headline(numbers), "", covered(numbers)]),
        sections=(
            Section("Verdicts", _verdict_table(numbers)),
            Section("By what was judged", _judged(numbers)),
            Section("How to read this", _CAUTION),
        ),
        answer=answer.most_of([*_answer(numbers)], "judge"),
        cautions=(*unanswered(numbers), "a judge errs; label a sample of the same answers (perpend label)."),
    )


def _answer(numbers: Numbers) -> Iterator[str]:
    """One sentence per judge: the share of answers of which it says yes, what it left open, whether order mattered."""
    run, rubric = _asked(numbers)
    of_run = f" of {answer.name(run)}" if run else ""
    for metric, none, agreement in _judges(numbers):
        one = metric.estimate
        text = (
            f"{answer.name(metric.where['model'])} as judge of answers{of_run}: {answer.name(str(rubric.get('name')))} "
        )
        text += answer.share(one) + (f", {answer.rows_of_items(one)}" if one.n else "")
        for other, name in ((none, "without a verdict"), (agreement, "the same in both orders")):
            text += "" if other is None else f"; {name} {answer.share(other)}"
        yield f"{text}."


def _headline(numbers: Numbers) -> Iterator[str]:
    run, rubric = _asked(numbers)
    of_run = f" of {markdown(run)}" if run else ""
    name = f"{markdown(str(rubric.get('name')))}@{markdown(str(rubric.get('version')))}"
    for metric, none, agreement in _judges(numbers):
        line = f"- {markdown(metric.where['model'])} on answers{of_run}, {name}: **{estimated(metric.estimate)}**"
        for other, what in ((none, "without a verdict"), (agreement, "same verdict in both orders")):
            line += "" if other is None else f"; {what} {estimated(other)}"
        yield line


def _asked(numbers: Numbers) -> tuple[str, Mapping[str, JSON]]:
    """The run that was judged, '' where it is not known, and the rubric."""
    options = as_object(numbers.manifests[0].options) if numbers.manifests else {}
    return str(as_object(options.get("judged")).get("run", "")), as_object(options.get("rubric"))


def _judges(numbers: Numbers) -> Iterator[tuple[Metric, Estimate | None, Estimate | None]]:
    """The rate of each judge, its share without a verdict, and how often both orders agree."""
    for metric in numbers.find("judged_rate"):
        if not metric.where.keys() & {*JUDGED}:
            label = metric.where["model"]
            yield metric, numbers.get("no_verdict", model=label), numbers.get("order_agreement", model=label)


def _verdict_table(numbers: Numbers) -> str:
    rows = []
    for metric in (*numbers.find("verdict"), *numbers.find("no_verdict"), *numbers.find("order_agreement")):
        what = metric.where.get("verdict") or metric.name.replace("_", " ")
        rows.append([markdown(metric.where["model"]), markdown(what), estimated(metric.estimate)])
    return markdown_table(["judge", "verdict", "share of answers"], rows)


def _judged(numbers: Numbers) -> str:
    rows = [
        [*(markdown(metric.where[key]) for key in ("model", *JUDGED)), estimated(metric.estimate)]
        for metric in numbers.find("judged_rate")
        if metric.where.keys() >= {*JUDGED}
    ]
    return markdown_table(["judge", "judged model", "judged condition", "rate"], rows)
