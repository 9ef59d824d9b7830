"""The same trials under control and under a pressure, and what missing verdicts leave open of their difference."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from perpend.measure.keys import BoolArray, FloatArray, IntArray
from perpend.measure.packed import Packed
from perpend.stats import edition, families
from perpend.stats.families import mde_clustered, mde_paired
from perpend.stats.pairs import paired_difference, paired_test
from perpend.studies.conformity.trials import Trials
from perpend.types import Estimate, Number

_NO_PAIR = Estimate(None, 0, note="no complete pair")


def also(one: Estimate, **more: Number) -> Estimate:
    """The estimate with more companions."""
    return replace(one, also={**one.also, **more})


@dataclass(frozen=True, slots=True)
class Contrast:
    """The same trials under two conditions: values, items, and how many pairs lack a value on either side."""

    first: FloatArray
    second: FloatArray
    items: IntArray
    incomplete: int

    def difference(self) -> Estimate:
        """mean(second) - mean(first), clustered by item where items repeat. Undefined without a pair."""
        return paired_difference(self.first, self.second, self.items) if len(self.first) else _NO_PAIR

    def naive(self) -> Estimate:
        """The same difference with every row taken for independent, as the reference has it."""
        return paired_difference(self.first, self.second) if len(self.first) else _NO_PAIR

    def test(self) -> Estimate:
        """The default paired test: sign flip of items where items repeat, else McNemar's mid-p."""
        return paired_test(self.first, self.second, self.items) if len(self.first) else _NO_PAIR

    def detectable(self, tests: int) -> Estimate:
        """The smallest difference that these items show with 80% power as one of several tests that are adjusted
        together: at 5% / tests, which Holm as well as Benjamini and Hochberg ask of one effect alone."""
        if not len(self.first):
            return _NO_PAIR
        if edition.is_first():
            return mde_paired(len(np.unique(self.items)), float((self.first != self.second).mean()))
        return mde_clustered(self.difference(), alpha=families.SIGNIFICANT / tests)


def contrast(trials: Trials, values: Packed, first: IntArray, second: IntArray) -> Contrast:
    """The contrast of one column over paired rows."""
    complete = ~np.isnan(values[first]) & ~np.isnan(values[second])
    kept, partners = first[complete], second[complete]
    return Contrast(values[kept], values[partners], trials.item[kept].astype(np.int64), int(len(first) - len(kept)))


def contrasts(trials: Trials, values: Packed, rows: BoolArray) -> Iterator[tuple[dict[str, str], Contrast]]:
    """One contrast for every variant and pressure that has a pair, with its place."""
    control = rows & trials.under(trials.conditions.control)
    pressures = trials.conditions.pressures
    matched = {pressure: trials.partners(control, rows & trials.under(pressure)) for pressure in pressures}
    for (v, variant), pressure in itertools.product(enumerate(trials.variants), pressures):
        first, second = matched[pressure]
        own = trials.table.codes["model"][first] == v
        if own.any():
            yield {"model": variant, "condition": pressure}, contrast(trials, values, first[own], second[own])


def lacking(trials: Trials, judged: str, values: Packed, rows: BoolArray) -> dict[tuple[str, str], Estimate] | None:
    """By variant and pressure, the share of trials without a verdict under pressure minus that under control.

    p is adjusted by Holm over all of them; None where every trial has a verdict. `also` has the least and the most that
    the mean of `values` can have risen by, whatever the missing verdicts were.
    """
    lacks = trials.table.column(judged).without_verdict().scores
    if not (lacks[rows] == 1.0).any():
        return None
    pairs = [*contrasts(trials, lacks, rows)]
    known = [pair for _, pair in contrasts(trials, values.filled(lacks.equals(1.0), 0.5), rows)]
    tests = families.family({str(at): pair.test().value for at, (_, pair) in enumerate(pairs)}).tests
    shares = {}
    for (where, pair), half, test in zip(pairs, known, tests, strict=True):
        difference = also(pair.difference(), p_adjusted=test.adjusted)
        if difference.n:
            # A missing verdict stands as one half: it may be half higher or half lower on either side.
            middle, width = float((half.second - half.first).mean()), float((pair.first + pair.second).mean()) / 2
            difference = also(difference, least=middle - width, most=middle + width)
        shares[where["model"], where["condition"]] = difference
    return shares
