"""Trials without a verdict: their share, what it leaves open of every rate, and whether conditions differ in it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from perpend.measure.column import Column
from perpend.measure.study import Metric
from perpend.measure.table import IMPORTED, Table
from perpend.stats.cautions import caution
from perpend.stats.classification import INVALID_GATE
from perpend.stats.families import family
from perpend.types import Estimate

NO_ANSWER, NO_ANSWER_DIFFERENCE = "no_answer", "no_answer_difference"
UNSCORED = "no_score"
FAILED = "failed: "
"""How the reason of `no_score` begins where there is no answer, but an error."""
NOT_ASKED = "not asked"
_ERROR, _BESIDE, _MOST, _LONGEST = "error: ", "unfinished", 12, 60
_TRIED = re.compile(r"\d{1,6} attempts, the last: ")
_CLAUSE = re.compile(r"[:;] |\n")


def no_answer_metrics(table: Table) -> Iterator[Metric]:
    """For every column of 0 and 1 in which some trial lacks a verdict, by model, setting and condition.

    `no_answer`: trials without a verdict / trials of items that the scorer can judge; in `also`, between what the rate
    over all these trials lies, whatever the missing verdicts were. Trials that were not asked, failed, stopped before
    an answer or cannot be read count alike. `no_answer_difference`: that share under a condition minus that under the
    first, paired, with p adjusted by Holm over the column's pairs. Columns with a verdict everywhere give nothing.
    """
    known: dict[str, list[Metric]] = {}
    for column in map(table.column, table.scorers):  # one at a time: memory
        if not column.is_binary:
            continue
        lacks = column.without_verdict()
        if not lacks.scores.equals(1.0).any():
            continue
        key = lacks.digest()
        if key not in known:  # scorers that read the same answer lack the same verdicts
            known[key] = [*_differences(lacks)]
        yield from _shares(column, lacks)
        yield from (replace(metric, scorer=column.name) for metric in known[key])


def unscored_metrics(table: Table) -> Iterator[Metric]:
    """`no_score` by reason, for the latest version of the first scorer that the run declares.

    Trials without a value / trials planned. Reasons are the scorer's own words up to the first colon, the most frequent
    first; of a failed call the error after 'failed: '. Of the rest there is 'other reasons'. A scorer with a value
    everywhere gives nothing.
    """
    own = [name for name in table.scorers if ":" not in name and not name.endswith(f"@{IMPORTED}")]
    if not own:
        return
    stem = next((name for name in table.declared if name in own), own[0]).partition("@")[0]
    scorer = [name for name in own if name.partition("@")[0] == stem][-1]
    column = table.column(scorer)
    if not column.scores.missing().any():
        return
    counts: Counter[str] = Counter()
    beside = [name for name in own if name.partition("@")[0] == _BESIDE]
    for (reason, other), count in table.unscored(scorer, beside[-1] if beside else "").items():
        counts[_worded(reason, other)] += count
    ordered = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    rest = sum(count for _, count in ordered[_MOST:])
    method, digest = "trials without a value / trials planned", column.digest()
    for reason, count in (*ordered[:_MOST], *((("other reasons", rest),) if rest else ())):
        estimate = Estimate(count / len(table), len(table), method=method, also={"k": count})
        yield Metric(UNSCORED, scorer, {"reason": reason}, estimate, digest)


def _worded(reason: str, other: str) -> str:
    """A reason without what differs from one answer to the next; with what else is known of the answer."""
    if not reason:
        return NOT_ASKED
    failed = reason.startswith(_ERROR)
    clause = _CLAUSE.split(_TRIED.sub("", reason.removeprefix(_ERROR), count=1), maxsplit=1)[0]
    text = f"{FAILED * failed}{clause[:_LONGEST]}"
    return f"{text} ({other[:_LONGEST]})" if other and other != reason else text


def _cells(column: Column) -> Iterator[tuple[dict[str, str], Column]]:
    table = column.table
    for cell in table.grid_of(table.cell_keys()):
        rows = column.where(**cell)
        if len(rows.rows):
            yield cell, rows


def _shares(column: Column, lacks: Column) -> Iterator[Metric]:
    for cell, rows in _cells(lacks):
        for condition in column.table.values("condition"):
            one = rows.where(condition=condition)
            right = int((column.scores[one.rows] == 1.0).sum())
            yield Metric(NO_ANSWER, column.name, {**cell, "condition": condition}, _bounded(one, right), one.digest())


def _bounded(lacks: Column, ones: int) -> Estimate:
    """The share without a verdict, and the least and the most that the rate of 1 over all trials can be."""
    share = lacks.rate()
    if share.value is None:
        return share
    missing = int((lacks.scores[lacks.rows] == 1.0).sum())
    least, most = ones / share.n, (ones + missing) / share.n
    cautions = (
        (caution("STAT009", share.value, lo=least, hi=most, what="the rate"),) if share.value > INVALID_GATE else ()
    )
    also = {**share.also, "k": missing, "least": least, "most": most}
    return replace(share, also=also, cautions=(*share.cautions, *cautions))


def _differences(lacks: Column) -> Iterator[Metric]:
    first, *others = lacks.table.values("condition")
    pairs = [
        ({**cell, "condition": f"{first} → {condition}"}, rows.digest(), rows.pair(first, condition).difference())
        for cell, rows in _cells(lacks)
        for condition in others
    ]
    tests = family({str(number): _p(estimate) for number, (_, _, estimate) in enumerate(pairs)}).tests if pairs else ()
    for (where, digest, estimate), test in zip(pairs, tests, strict=True):
        also = {**estimate.also, "p_adjusted": test.adjusted}
        yield Metric(NO_ANSWER_DIFFERENCE, lacks.name, where, replace(estimate, also=also), digest)


def _p(estimate: Estimate) -> float | None:
    p = estimate.also.get("p")
    return p if isinstance(p, float) else None
