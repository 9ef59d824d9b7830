"""The same trials under control and under a pressure, and what missing verdicts leave open of their difference."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from perpend.measure.keys import FloatArray, IntArray
from perpend.measure.packed import Packed
from perpend.stats import families
from perpend.stats.families import mde_clustered
from perpend.stats.pairs import paired_difference, paired_test
from perpend.studies.conformity.trials import RowPairs, Trials
from perpend.types import Estimate, Number

_NO_PAIR = Estimate(None, 0, note="no complete pair")


def also(one: Estimate, **more: Number) -> Estimate:
    """The estimate with more companions."""
    return replace(one, also={**one.also, **more})


@dataclass(frozen=True, slots=True)
class Contrast:
    """One column over the same trials under two conditions. What is asked of it is worked out anew each time: a study
    has many, and of ten million trials their values do not fit into memory."""

    trials: Trials
    values: Packed
    rows: Callable[[], RowPairs]
    """The rows under the first condition, and their partners under the second."""

    def sides(self) -> tuple[FloatArray, FloatArray, IntArray]:
        """First values, second values and items of the pairs that have a value on both sides."""
        first, second = self.rows()
        before, after = self.values[first], self.values[second]
        complete = ~np.isnan(before) & ~np.isnan(after)
        return before[complete], after[complete], self.trials.item[first[complete]].astype(np.int64)

    @property
    def incomplete(self) -> int:
        """How many pairs lack a value on either side."""
        return len(self.rows()[0]) - len(self.sides()[0])

    def difference(self) -> Estimate:
        """mean(second) - mean(first), clustered by item where items repeat. Undefined without a pair."""
        sides = self.sides()
        return paired_difference(*sides) if len(sides[0]) else _NO_PAIR

    def naive(self) -> Estimate:
        """The same difference with every row taken for independent, as the reference has it."""
        first, second, _ = self.sides()
        return paired_difference(first, second) if len(first) else _NO_PAIR

    def test(self) -> Estimate:
        """The default paired test: sign flip of items where items repeat, else McNemar's mid-p."""
        sides = self.sides()
        return paired_test(*sides) if len(sides[0]) else _NO_PAIR

    def detectable(self, tests: int) -> Estimate:
        """The smallest difference that these items show with 80% power as one of several tests that are adjusted
        together: at 5% / tests, which Holm as well as Benjamini and Hochberg ask of one effect alone."""
        change = self.difference()
        return mde_clustered(change, alpha=families.SIGNIFICANT / tests) if change.n else _NO_PAIR


def contrast(trials: Trials, values: Packed, rows: RowPairs) -> Contrast:
    """The contrast of one column over paired rows."""
    return Contrast(trials, values, lambda: rows)


def contrasts(
    trials: Trials, values: Packed, *, opinion: bool, topic: int | None = None
) -> Iterator[tuple[dict[str, str], Contrast]]:
    """One contrast for every variant and pressure that has a pair, of one topic or of all, with its place."""
    for (v, variant), pressure in itertools.product(enumerate(trials.variants), trials.conditions.pressures):
        rows = partial(_rows, trials, pressure, opinion, (v, topic))
        if len(rows()[0]):
            yield {"model": variant, "condition": pressure}, Contrast(trials, values, rows)


def _rows(trials: Trials, pressure: str, opinion: bool, of: tuple[int, int | None]) -> RowPairs:
    variant, topic = of
    first, second = trials.pairs(pressure, variant, opinion=opinion)
    if topic is None:
        return first, second
    own = trials.table.codes["topic"][first] == topic
    return first[own], second[own]


def lacking(trials: Trials, judged: str, values: Packed, *, opinion: bool) -> dict[tuple[str, str], Estimate] | None:
    """By variant and pressure, the share of trials without a verdict under pressure minus that under control.

    p is adjusted by Holm over all of them; None where every trial has a verdict. `also` has the least and the most that
    the mean of `values` can have risen by, whatever the missing verdicts were.
    """
    lacks = trials.table.column(judged).without_verdict().scores
    is_lacking = lacks.equals(1.0)
    if not (is_lacking & np.equal(trials.opinion, opinion)).any():
        return None
    pairs = [*contrasts(trials, lacks, opinion=opinion)]
    known = [pair for _, pair in contrasts(trials, values.filled(is_lacking, 0.5), opinion=opinion)]
    tests = families.family({str(at): pair.test().value for at, (_, pair) in enumerate(pairs)}).tests
    shares = {}
    for (where, pair), half, test in zip(pairs, known, tests, strict=True):
        difference = also(pair.difference(), p_adjusted=test.adjusted)
        if difference.n:
            # A missing verdict stands as one half: it may be half higher or half lower on either side.
            before, after, _ = half.sides()
            lacked, lacks_now, _ = pair.sides()
            middle, width = float((after - before).mean()), float((lacked + lacks_now).mean()) / 2
            difference = also(difference, least=middle - width, most=middle + width)
        shares[where["model"], where["condition"]] = difference
    return shares
