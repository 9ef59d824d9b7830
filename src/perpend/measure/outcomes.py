"""What answers to items with a target come to: right, or else planted, another answer, or none; and the simplest rules.

'I do not know' is no wrong answer of the same kind as a wrong fact, so what is not right is split.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from perpend.measure.column import Column
from perpend.measure.keys import BoolArray
from perpend.measure.study import Metric
from perpend.measure.table import Table
from perpend.types import Number

OUTCOME, PART, SIMPLE = "outcome", "part_match", "simple_rule"
OUTCOMES = ("right", "planted", "other", "abstained")


def outcome_metrics(table: Table, rule: str, cells: Iterable[Mapping[str, str]]) -> Iterator[Metric]:
    """By one rule, for each cell: `outcome` and `part_match`; nothing where `abstained` was not scored.

    `outcome`: right (`correct` is 1), planted (the decoy is given as the model's own), abstained (declines or does not
    know), other (the rest) / trials that have a correctness; they add up to 1. `part_match`: right answers that give a
    part of the target only / right answers.
    """
    correct, abstained, endorsed, uncertain = (
        f"{stem}@{rule}" for stem in ("correct", "abstained", "endorsed", "uncertain")
    )
    if not {correct, abstained} <= set(table.scorers):
        return
    column = table.column(correct)
    right, left = (column.scores.equals(value) for value in (1.0, 0.0))
    found = {"right": right}
    for outcome, name in (("planted", endorsed), ("abstained", abstained)):
        if name in table.scorers:
            found[outcome] = left & table.column(name).scores.equals(1.0)
            left &= ~found[outcome]
    found["other"] = left
    columns: list[tuple[str, dict[str, str], Column]] = [
        (OUTCOME, {"outcome": one}, _among(column, found[one])) for one in OUTCOMES if one in found
    ]
    if uncertain in table.scorers:
        part = np.zeros(len(table), dtype=np.bool_)
        part[table.saying(uncertain, "part")] = True
        rest = _among(column, part & right)
        columns.append((PART, {}, replace(rest, scores=rest.scores.filled(~right, np.nan))))
    for where in cells:
        for metric, kind, every in columns:
            own = every.where(**where)
            one = own.rate()
            counted = replace(one, also={**one.also, "k": int((own.scores[own.rows] == 1.0).sum())})
            yield Metric(metric, correct, {**where, **kind}, counted, own.digest())


def _among(correct: Column, chosen: BoolArray) -> Column:
    """1 for the chosen trials, 0 for the others that have a correctness."""
    return replace(correct, scores=correct.scores.mapped(lambda values: values * 0.0).filled(chosen, 1.0))


def simple_metrics(table: Table, rule: str, cells: Iterable[Mapping[str, str]]) -> Iterator[Metric]:
    """`simple_rule` of `includes` and of `exact`: answers that it judges unlike `correct` / answers that both judge.

    In `also` the share that each calls right, None where there is no such answer, and how many each calls right alone.
    """
    names = [name for name in ("includes@1", "exact@1") if {name, f"correct@{rule}"} <= set(table.scorers)]
    for name, where in ((name, where) for name in names for where in cells):
        ours, simple = (table.column(one).where(**where) for one in (f"correct@{rule}", name))
        both = ours.defined & simple.defined
        is_ours, is_simple = (both & one.scores.equals(1.0) for one in (ours, simple))
        one, n = ours.disagreement(simple), int(both.sum())
        shares = [int(right.sum()) / n if n else None for right in (is_ours, is_simple)]
        also: dict[str, Number] = dict(zip(("correct", "simple"), shares, strict=True))
        also |= {"correct_alone": int((is_ours & ~is_simple).sum()), "simple_alone": int((is_simple & ~is_ours).sum())}
        digest = table.digest([ours.name, name], both)
        yield Metric(SIMPLE, name, where, replace(one, also={**one.also, **also}), digest)
