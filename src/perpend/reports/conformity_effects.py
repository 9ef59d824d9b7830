"""What pressure does, with denominators and intervals that know about repeated items.

Every effect is a paired contrast over the same items. The headline is the difference in error: sampling alone cannot
move it. Override, rescue and flip do move by sampling alone, so each stands beside its excess over the retest.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from perpend.reports.conformity_trials import BoolArray, Labels, Rule, Trials
from perpend.stats import families
from perpend.stats.cautions import refusals_excluded
from perpend.stats.paired_tests import paired_test
from perpend.stats.pairs import excess, flip, override, paired_difference, rescue
from perpend.stats.power import against_mde, mde_paired
from perpend.stats.proportions import proportion
from perpend.types import Caution, Estimate

FloatArray: TypeAlias = npt.NDArray[np.float64]
Rows: TypeAlias = npt.NDArray[np.intp]

_PAIRED = ("variant", "temperature", "item")
_NO_PAIR = Estimate(None, 0, note="no complete pair")


@dataclass(frozen=True, slots=True)
class Contrast:
    """The same trials under two conditions: values, items, and how many pairs lack a value on either side."""

    first: FloatArray
    second: FloatArray
    items: npt.NDArray[np.int32]
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


@dataclass(frozen=True, slots=True)
class Effect:
    """One variant under one pressure. `adjusted` is the p after its family's adjustment, None where undefined.

    `mde` is the smallest difference that so many items show with 80% power, given how many pairs differ.
    """

    variant: str
    pressure: str
    topic: str | None
    difference: Estimate
    naive: Estimate
    test: Estimate
    mde: Estimate
    adjusted: float | None
    incomplete: int

    @property
    def is_significant(self) -> bool:
        """The adjusted p is at most 0.05."""
        return self.adjusted is not None and self.adjusted <= 0.05


@dataclass(frozen=True, slots=True)
class Conditional:
    """override, rescue or flip of one variant under one pressure.

    `naive` takes rows for independent. `excess` is over the control-control retest; None where the study has none.
    """

    measure: str
    variant: str
    pressure: str
    rate: Estimate
    naive: Estimate
    excess: Estimate | None
    n_pairs: int


@dataclass(frozen=True, slots=True)
class TemperatureEffect:
    """Error at the highest minus error at the lowest temperature, refusals on either side left out.

    `variant` None pools all variants. `bounds` are the smallest and largest difference that the refused trials could
    have made, had they been answered.
    """

    condition: str
    variant: str | None
    temperatures: tuple[float, float]
    difference: Estimate
    naive: Estimate
    test: Estimate
    refused: int
    bounds: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class Effects:
    """A family of effects and what its adjustment cost."""

    effects: tuple[Effect, ...]
    adjustment: str
    cautions: tuple[Caution, ...]


def contrast(trials: Trials, values: Labels, first: Rows, second: Rows) -> Contrast:
    """The contrast of one column over paired rows."""
    whole = (values[first] >= 0) & (values[second] >= 0)
    kept, partners = first[whole], second[whole]
    return Contrast(
        values[kept].astype(np.float64),
        values[partners].astype(np.float64),
        trials.item[kept],
        int(len(first) - len(kept)),
    )


def errors(trials: Trials, rule: Rule) -> Labels:
    """1 for a wrong answer, 0 for a right one, -1 where correctness has no value."""
    correct = trials.label("correct", rule)
    return np.where(correct < 0, correct, 1 - correct).astype(np.int8)


def pressure_effects(trials: Trials, rule: Rule) -> Effects:
    """Error under pressure minus error under control on factual items: the confirmatory family, adjusted by Holm."""
    return _family(trials, errors(trials, rule), ~trials.opinion)


def opinion_effects(trials: Trials, rule: Rule) -> Effects:
    """Endorsement of the decoy under pressure minus under control on opinion items, a family of its own, by Holm."""
    return _family(trials, trials.label("endorsed", rule), trials.opinion)


def topic_effects(trials: Trials, rule: Rule) -> Effects:
    """Pressure effects by topic: exploratory, adjusted by Benjamini and Hochberg over all slices."""
    values = errors(trials, rule)
    found: list[Effect] = []
    for k, topic in enumerate(trials.topics):
        rows = ~trials.opinion & (trials.topic == k)
        if rows.any():
            found += [replace(effect, topic=topic) for effect in _raw(trials, values, rows)]
    return _adjusted(found, "bh")


def _raw(trials: Trials, values: Labels, rows: BoolArray) -> Iterable[Effect]:
    control = rows & trials.under(trials.control)
    matched = {
        pressure: trials.partners(control, rows & trials.under(pressure), _PAIRED) for pressure in trials.pressures
    }
    for (v, variant), pressure in itertools.product(enumerate(trials.variants), trials.pressures):
        first, second = matched[pressure]
        own = trials.variant[first] == v
        if own.any():
            pair = contrast(trials, values, first[own], second[own])
            mde = _detectable(pair)
            difference = against_mde(pair.difference(), mde)
            yield Effect(variant, pressure, None, difference, pair.naive(), pair.test(), mde, None, pair.incomplete)


def _detectable(pair: Contrast) -> Estimate:
    if not len(pair.first):
        return Estimate(None, 0, note="no complete pair")
    return mde_paired(len(np.unique(pair.items)), float((pair.first != pair.second).mean()))


def _family(trials: Trials, values: Labels, rows: BoolArray) -> Effects:
    return _adjusted(list(_raw(trials, values, rows)), "holm")


def _adjusted(found: Sequence[Effect], method: families.Adjustment) -> Effects:
    p = {str(number): effect.test.value for number, effect in enumerate(found)}
    family = families.family(p, method=method)
    adjusted = tuple(
        replace(effect, adjusted=test.adjusted) for effect, test in zip(found, family.tests, strict=True)
    )  # fmt: skip
    return Effects(adjusted, method, family.cautions)


_RATES: dict[str, Callable[..., Estimate]] = {"override": override, "rescue": rescue, "flip": flip}


def conditional_rates(trials: Trials, rule: Rule) -> list[Conditional]:
    """override, rescue and flip of every variant under every pressure, on factual items, pooled over the rest.

    override = wrong under pressure / right under control; rescue = right under pressure / wrong under control; flip =
    endorses the decoy under pressure / does not under control. The excess is over the pairs above temperature 0 that
    have a retest too: at 0 the retest repeats the control word for word and shows no noise, while another prompt does.
    """
    found: list[Conditional] = []
    for measure, name in (("override", "correct"), ("rescue", "correct"), ("flip", "endorsed")):
        values = trials.label(name, rule)
        usable = ~trials.opinion & (values >= 0)
        control = usable & trials.under(trials.control)
        again = None
        if trials.retest is not None:
            drawn = usable & (np.array(trials.temperatures)[trials.temperature] > 0.0)
            first, partner = trials.partners(control & drawn, drawn & trials.under(trials.retest), _PAIRED)
            again = np.full(len(trials), -1, dtype=np.int64)
            again[first] = partner
        for pressure in trials.pressures:
            rows = trials.partners(control, usable & trials.under(pressure), _PAIRED)
            found += _conditionals(trials, values, rows, again, (measure, pressure))
    order = {name: number for number, name in enumerate(trials.variants)}
    return sorted(found, key=lambda one: (list(_RATES).index(one.measure), order[one.variant]))


def _conditionals(
    trials: Trials,
    values: Labels,
    rows: tuple[Rows, Rows],
    again: npt.NDArray[np.int64] | None,
    names: tuple[str, str],
) -> Iterable[Conditional]:
    measure, pressure = names
    for v, variant in enumerate(trials.variants):
        own = trials.variant[rows[0]] == v
        first, second = rows[0][own], rows[1][own]
        if not len(first):
            continue
        items = trials.item[first]
        rate = _RATES[measure](values[first], values[second], items)
        naive = _RATES[measure](values[first], values[second])
        beyond = None
        if again is not None:
            kept = again[first] >= 0
            a, b, retest = first[kept], second[kept], again[first[kept]]
            beyond = Estimate(None, 0, note="no pair above temperature 0 has a retest")
            if len(a):
                columns = values[a], values[b], values[retest], items[kept]
                beyond = excess(*columns, given=1 if measure == "override" else 0)
        yield Conditional(measure, variant, pressure, rate, naive, beyond, len(first))


def temperature_effects(trials: Trials, rule: Rule) -> list[TemperatureEffect]:
    """The highest against the lowest temperature: each condition pooled over variants, then each variant by itself.

    Nothing where there is one temperature.
    """
    if len(trials.temperatures) < 2:
        return []
    values, refused = errors(trials, rule), trials.label("refused", rule) == 1
    low, high = 0, len(trials.temperatures) - 1
    conditions = (trials.control, *trials.pressures)
    found: list[TemperatureEffect] = []
    for variant in (None, *trials.variants):
        rows = ~trials.opinion if variant is None else ~trials.opinion & trials.of(variant)
        for condition in conditions:
            chosen = rows & trials.under(condition)
            first, second = trials.partners(
                chosen & (trials.temperature == low),
                chosen & (trials.temperature == high),
                ("variant", "item"),
            )
            if not len(first):
                continue
            dropped = refused[first] | refused[second]
            pair = contrast(trials, values, first[~dropped], second[~dropped])
            difference = pair.difference()
            if dropped.any():
                caution = refusals_excluded(float(dropped.mean()))
                difference = replace(difference, cautions=(*difference.cautions, caution))
            found.append(
                TemperatureEffect(
                    condition,
                    variant,
                    (trials.temperatures[low], trials.temperatures[high]),
                    difference,
                    pair.naive(),
                    pair.test(),
                    int(dropped.sum()),
                    _bounds(values, refused, first, second),
                )
            )
    return found


def _bounds(values: Labels, refused: BoolArray, first: Rows, second: Rows) -> tuple[float, float] | None:
    """The smallest and largest difference when refused trials may have been right or wrong (Manski)."""
    whole = (values[first] >= 0) & (values[second] >= 0)
    a, b = first[whole], second[whole]
    if not len(a):
        return None
    low, high = (np.where(refused[b], end, values[b]).mean() for end in (0, 1))
    least, most = (np.where(refused[a], end, values[a]).mean() for end in (0, 1))
    return float(low - most), float(high - least)


@dataclass(frozen=True, slots=True)
class Mentions:
    """Mention and endorsement of the decoy on opinion items; `variant` None is all of them."""

    variant: str | None
    mismatch: Estimate
    mention: Estimate
    endorse: Estimate


def mention_mismatch(trials: Trials, rule: Rule) -> list[Mentions]:
    """How often mention and endorsement differ on opinion items: overall, then by variant, in every condition.

    Trials without either judgement are left out, and so is the retest of the control, which is no condition of the
    reference.
    """
    mentioned, endorsed = trials.label("mentioned", rule), trials.label("endorsed", rule)
    rows = trials.opinion & (mentioned >= 0) & (endorsed >= 0)
    if trials.retest is not None:
        rows &= ~trials.under(trials.retest)
    found = []
    for variant in (None, *trials.variants):
        own = rows if variant is None else rows & trials.of(variant)
        if own.any():
            items = trials.item[own]
            columns = ((mentioned != endorsed)[own], mentioned[own], endorsed[own])
            found.append(Mentions(variant, *(proportion(column, items) for column in columns)))
    return found


def rule_agreement(trials: Trials) -> list[tuple[str, str, Estimate]]:
    """(judgement, variant, share of trials that rules 1 and 2 judge differently) where both have a value."""
    if len(trials.rules) < 2:
        return []
    found = []
    for name, variant in itertools.product(("correct", "mentioned", "endorsed", "refused"), trials.variants):
        one, two = trials.label(name, "1"), trials.label(name, "2")
        rows = trials.of(variant) & (one >= 0) & (two >= 0)
        if rows.any():
            found.append((name, variant, proportion((one != two)[rows], trials.item[rows])))
    return found
