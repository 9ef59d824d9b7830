"""What pressure and temperature do: paired contrasts, conditional rates, and the logit of error, as Metrics."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from perpend.errors import DataError
from perpend.measure.keys import BoolArray, Codes, IntArray, match
from perpend.measure.packed import Packed, narrow, taken
from perpend.measure.study import Metric
from perpend.stats import families
from perpend.stats.cautions import caution
from perpend.stats.cells import Cells, Column, collapse
from perpend.stats.families import SIGNIFICANT, against_mde
from perpend.stats.pairs import excess, flip, override, rescue
from perpend.stats.proportions import proportion
from perpend.stats.regression import fit_logit, nested_tests, odds_ratio
from perpend.studies.conformity.contrasts import Contrast, also, contrast, contrasts, lacking
from perpend.studies.conformity.trials import JUDGED, MEASURES, RowPairs, Rule, Trials
from perpend.types import Estimate, Number

_RATES: dict[str, Callable[..., Estimate]] = {"override": override, "rescue": rescue, "flip": flip}
FAMILIES: Mapping[str, families.Adjustment] = {
    "planted_effect": "holm",
    "pressure_effect": "holm",
    "topic_effect": "bh",
    "opinion_effect": "holm",
}
"""Families of effects: the confirmatory ones are adjusted by Holm, the exploratory by Benjamini and Hochberg."""
SEEDS: Rule = "1"
"""The rule whose declared family is the effects on error alone, as what the seed published by it states it."""


@dataclass(frozen=True, slots=True)
class MetricSource:
    """Where metrics come from: the name of their scorer, and the digest of the columns."""

    scorer: str
    sha256: str

    def metrics(
        self, name: str, where: Mapping[str, str], one: Estimate, **beside: Estimate | None
    ) -> Iterator[Metric]:
        """The metric of an estimate, and one for each that stands beside it."""
        yield Metric(name, self.scorer, where, one, self.sha256)
        for part, other in beside.items():
            if other is not None:
                yield Metric(f"{name}_{part}", self.scorer, where, other, self.sha256)


def families_of(rule: Rule) -> tuple[tuple[str, ...], ...]:
    """The names of effects that are adjusted together: by our rule, planted answers and errors are one family."""
    first = ("pressure_effect",) if rule == SEEDS else ("planted_effect", "pressure_effect")
    return first, ("topic_effect",), ("opinion_effect",)


def effects(trials: Trials, rule: Rule, *names: str) -> Iterator[Metric]:
    """Effects that are adjusted as one family: each with its naive twin and its test, then how many differ from 0.

    planted_effect: endorsement of the decoy under pressure minus under control on factual items; pressure_effect: the
    same of error; topic_effect: that by topic; opinion_effect: endorsement of the decoy on opinion items.
    """
    measured = {name: _contrasts(trials, rule, name) for name in names}
    tests = {(name, at): pair.test() for name in names for at, (_, pair) in enumerate(measured[name])}
    family = families.family({str(key): test.value for key, test in tests.items()}, method=FAMILIES[names[0]])
    adjusted = dict(zip(tests, (test.adjusted for test in family.tests), strict=True))
    for name in names:
        opinion, judged, values = _judgement(trials, rule, name)
        source = MetricSource(judged, trials.digest((judged,), opinion=opinion))
        unanswered = lacking(trials, judged, values, opinion=opinion) if name != "topic_effect" else None
        detectable: list[float] = []
        for at, (where, pair) in enumerate(measured[name]):
            mde = pair.detectable(len(tests))
            detectable += [] if mde.value is None else [mde.value]
            difference = also(
                against_mde(pair.difference(), mde),
                p_adjusted=adjusted[name, at],
                adjustment=family.method,
                mde=mde.value,
                incomplete_pairs=pair.incomplete,
            )
            if difference.n:
                difference = also(difference, delta_pp=_points(difference, by_rates=opinion))
            unknown = None if unanswered is None else unanswered[where["model"], where["condition"]]
            yield from source.metrics(
                name, where, difference, naive=pair.naive(), test=tests[name, at], no_answer=unknown
            )
        clear = sum(p is not None and p <= SIGNIFICANT for (own, _), p in adjusted.items() if own == name)
        method = f"effects with an adjusted p of at most {SIGNIFICANT:g}"
        whole = Estimate(float(clear), len(measured[name]), method=method, cautions=family.cautions)
        ends: dict[str, Number] = {
            "mde_least": min(detectable, default=None),
            "mde_most": max(detectable, default=None),
        }
        together: dict[str, Number] = {"tests": len(tests)} if len(names) > 1 else {}
        yield from source.metrics(f"{name}_family", {}, also(whole, adjustment=family.method, **together, **ends))


def _judgement(trials: Trials, rule: Rule, name: str) -> tuple[bool, str, Packed]:
    """Of a family: whether it is about opinion items, its scorer, and the values that it compares."""
    opinion = name == "opinion_effect"
    label = "endorsed" if opinion or name == "planted_effect" else "correct"
    values = trials.label("endorsed", rule) if label == "endorsed" else trials.errors(rule)
    return opinion, f"{label}@{rule}", values


def _contrasts(trials: Trials, rule: Rule, name: str) -> list[tuple[dict[str, str], Contrast]]:
    """Every variant under every pressure that has a pair, by topic where the effect is."""
    opinion, _, values = _judgement(trials, rule, name)
    topics = [*enumerate(trials.topics)] if name == "topic_effect" else [(None, "")]
    return [
        (place if at is None else place | {"topic": topic}, pair)
        for at, topic in topics
        for place, pair in contrasts(trials, values, opinion=opinion, topic=at)
    ]


def _points(difference: Estimate, *, by_rates: bool) -> float:
    """The difference in percentage points, rounded as the reference rounds it."""
    control, pressure, fell, rose = (difference.also[key] for key in ("control", "pressure", "b", "c"))
    if by_rates:
        return 100.0 * (float(pressure or 0.0) - float(control or 0.0))
    return 100.0 * (int(rose or 0) - int(fell or 0)) / difference.n


def conditional_rates(trials: Trials, rule: Rule) -> Iterator[Metric]:
    """override, rescue and flip of every variant under every pressure, on factual items, pooled over the rest.

    override = wrong under pressure / right under control; rescue = right under pressure / wrong under control; flip =
    endorses the decoy under pressure / does not under control. The excess is over the pairs above temperature 0 that
    have a retest too: at 0 the retest repeats the control word for word and shows no noise, while another prompt does.
    """
    conditions = trials.conditions
    for measure, name in MEASURES.items():
        values = trials.label(name, rule)
        source = MetricSource(f"{name}@{rule}", trials.digest((f"{name}@{rule}",), opinion=False))
        usable = ~values.missing()
        for (v, variant), pressure in itertools.product(enumerate(trials.variants), conditions.pressures):
            first, second = trials.pairs(pressure, v, opinion=False)
            own = usable[first] & usable[second]
            first, second = first[own], second[own]
            if len(first):
                rate = _RATES[measure](values[first], values[second], trials.item[first])
                naive = _RATES[measure](values[first], values[second])
                again = None if conditions.retest is None else _retests(trials, usable, v)
                beyond = None if again is None else _excess(trials, values, (first, second), again, measure)
                where = {"measure": measure, "model": variant, "condition": pressure}
                rate = also(rate, n_pairs=len(first))
                yield from source.metrics("conditional_rate", where, rate, naive=naive, excess=beyond)


def _retests(trials: Trials, usable: BoolArray, variant: int) -> RowPairs:
    """The control rows of a variant above temperature 0 that have a retest, and the rows of it."""
    is_drawn = np.array([float(name) > 0.0 for name in trials.temperatures], dtype=np.bool_)
    first, again = trials.pairs(str(trials.conditions.retest), variant, opinion=False)
    own = usable[first] & usable[again] & is_drawn[trials.table.codes["temperature"][first]]
    return first[own], again[own]


def _excess(trials: Trials, values: Packed, pairs: RowPairs, retests: RowPairs, measure: str) -> Estimate:
    at_pair, at_retest = match(pairs[0], retests[0])
    first, second, again = pairs[0][at_pair], pairs[1][at_pair], retests[1][at_retest]
    if not len(first):
        return Estimate(None, 0, note="no pair above temperature 0 has a retest")
    columns = values[first], values[second], values[again], trials.item[first]
    return excess(*columns, given=1 if measure == "override" else 0)


def temperature_effects(trials: Trials, rule: Rule) -> Iterator[Metric]:
    """Error at the highest minus error at the lowest temperature, refusals on either side left out.

    Each condition pooled over variants, then each variant by itself; nothing where there is one temperature. The bounds
    are the smallest and largest difference that the refused trials could have made, had they been answered.
    """
    if len(trials.temperatures) < 2:
        return
    values, refused = trials.errors(rule), trials.refused(rule)
    names = (f"correct@{rule}", f"refused@{rule}")
    source = MetricSource(names[0], trials.digest(names, opinion=False))
    codes, highest = trials.table.codes["temperature"], len(trials.temperatures) - 1
    ends: dict[str, Number] = {
        "temperature_low": float(trials.temperatures[0]),
        "temperature_high": float(trials.temperatures[-1]),
    }
    for variant in (None, *trials.variants):
        rows = ~trials.opinion if variant is None else ~trials.opinion & trials.of(variant)
        for condition in (trials.conditions.control, *trials.conditions.pressures):
            chosen = rows & trials.under(condition)
            first, second = trials.partners(chosen & (codes == 0), chosen & (codes == highest), ("model", "item"))
            if not len(first):
                continue
            dropped = refused[first] | refused[second]
            pair = contrast(trials, values, (first[~dropped], second[~dropped]))
            difference = pair.difference()
            if dropped.any():
                excluded = caution("STAT016", float(dropped.mean()))
                difference = replace(difference, cautions=(*difference.cautions, excluded))
            low, high = _bounds(values, refused, first, second)
            more = {**ends, "refused_pairs": int(dropped.sum()), "bound_lo": low, "bound_hi": high}
            where = {"condition": condition} | ({} if variant is None else {"model": variant})
            difference = also(difference, **more)
            yield from source.metrics("temperature_effect", where, difference, naive=pair.naive(), test=pair.test())


def _bounds(
    values: Packed, refused: BoolArray, first: IntArray, second: IntArray
) -> tuple[float, float] | tuple[None, None]:
    """The smallest and largest difference when refused trials may have been right or wrong (Manski)."""
    complete = ~np.isnan(values[first]) & ~np.isnan(values[second])
    a, b = first[complete], second[complete]
    if not len(a):
        return None, None
    low, high = (np.where(refused[b], end, values[b]).mean() for end in (0, 1))
    least, most = (np.where(refused[a], end, values[a]).mean() for end in (0, 1))
    return float(low - most), float(high - least)


def mention_mismatch(trials: Trials, rule: Rule) -> Iterator[Metric]:
    """How often mention and endorsement differ on opinion items: overall, then by variant, in every condition.

    Trials without either judgement are left out, and so is the retest of the control, which is no condition of the
    reference.
    """
    names = (f"mentioned@{rule}", f"endorsed@{rule}")
    mentioned, endorsed = (trials.table.column(name).scores for name in names)
    rows = trials.opinion & ~mentioned.missing() & ~endorsed.missing()
    if trials.conditions.retest is not None:
        rows &= ~trials.under(trials.conditions.retest)
    source = MetricSource(names[0], trials.digest(names, opinion=True))
    for variant in (None, *trials.variants):
        own = rows if variant is None else rows & trials.of(variant)
        if own.any():
            says, means = mentioned[own], endorsed[own]
            columns: tuple[npt.ArrayLike, ...] = (says != means, says, means)
            mismatch, mention, endorse = (proportion(column, trials.item[own]) for column in columns)
            mismatch = also(mismatch, mention_rate=mention.value, endorse_rate=endorse.value)
            yield from source.metrics("mention_mismatch", {} if variant is None else {"model": variant}, mismatch)


def rule_disagreement(trials: Trials) -> Iterator[Metric]:
    """The share of trials that the oldest and the newest rule judge differently, by judgement and variant.

    Over trials on which both have a value.
    """
    oldest, newest = trials.rules[0], trials.rules[-1]
    for name in JUDGED if oldest != newest else ():
        one, two = trials.label(name, oldest), trials.label(name, newest)
        source = MetricSource(f"{name}@{newest}", trials.digest((f"{name}@{oldest}", f"{name}@{newest}")))
        for variant in trials.variants:
            rows = trials.of(variant) & ~one.missing() & ~two.missing()
            if rows.any():
                differing = proportion(one[rows] != two[rows], trials.item[rows])
                where = {"judgement": name, "model": variant}
                yield from source.metrics("rule_disagreement", where, differing)


_TERMS = ("variant", "condition", "variant:condition", "temperature")
_BASE = "base"


def regression(trials: Trials, rule: Rule) -> Iterator[Metric]:
    """All tests of V*C+T on factual trials without refusals (STAT016), under control or a pressure.

    `regression` counts the rows, and says why where nothing could be fitted; `regression_with_refusals` is the slope
    when refusals count as errors instead of being left out.
    """
    rows = ~trials.opinion & ~trials.label("correct", rule).missing()
    if trials.conditions.retest is not None:
        rows &= ~trials.under(trials.conditions.retest)
    kept = rows & ~trials.refused(rule)
    n = int(kept.sum())
    n_refused = int(rows.sum()) - n
    cautions = (caution("STAT016", n_refused / int(rows.sum())),) if n_refused else ()
    names = (f"correct@{rule}", f"refused@{rule}")
    source = MetricSource(names[0], trials.digest(names, opinion=False))
    try:
        cells = _cells(trials, rule, kept)
        tests = nested_tests(cells, "variant", "condition", "temperature")
        se_without_intercept = _se_without_intercept(cells)
        if n_refused:
            del cells  # before others are made: memory
            cells = _cells(trials, rule, rows)
        all_rows = odds_ratio(cells, fit_logit(cells, _TERMS), "temperature")
    except DataError as error:
        unfitted = Estimate(None, n, note=str(error), also={"refusals_excluded": n_refused}, cautions=cautions)
        undefined = Estimate(None, int(rows.sum()), note="not fitted")
        yield from source.metrics("regression", {}, unfitted, with_refusals=undefined)
        return
    whole = Estimate(float(n), n, method="trials fitted", also={"refusals_excluded": n_refused}, cautions=cautions)
    yield from source.metrics("regression", {}, whole, with_refusals=all_rows)
    for term, test in tests.clustered.items():
        clustered = also(test, refusals_excluded=n_refused)
        yield from source.metrics("regression_term", {"term": term}, clustered, ratio=tests.likelihood_ratio[term])
    yield from source.metrics("regression_slope", {}, _slope(tests.slope, se_without_intercept))
    for name in ("linearity", "overdispersion", "icc"):
        yield from source.metrics(f"regression_{name}", {}, getattr(tests, name))


def _cells(trials: Trials, rule: Rule, rows: BoolArray) -> Cells:
    """Errors and trials per cell and item. The references are 'base', or the first variant, and the control."""
    base = _BASE if _BASE in trials.variants else trials.variants[0]
    variants = (base, *(name for name in trials.variants if name != base))
    conditions = (trials.conditions.control, *trials.conditions.pressures)
    codes = trials.table.codes
    columns = [
        Column("variant", variants, taken(_recoded(trials.variants, variants), codes["model"])),
        Column("condition", conditions, taken(_recoded(trials.conditions.names, conditions), codes["condition"])),
        Column("temperature", tuple(map(float, trials.temperatures)), codes["temperature"]),
    ]
    return collapse(trials.errors(rule).equals(1.0), columns, items=trials.item, rows=rows)


def _recoded(before: tuple[str, ...], now: tuple[str, ...]) -> Codes:
    # The retest is no level: its rows are not among those that are fitted.
    return narrow(np.array([now.index(name) if name in now else len(now) for name in before]), len(now) + 1)


def _se_without_intercept(cells: Cells) -> float | None:
    """The slope's standard error from the information matrix without its first column. None under separation."""
    fit = fit_logit(cells, _TERMS)
    if fit.covariance is None or "temperature" not in fit.names:
        return None
    information = np.linalg.inv(fit.covariance)[1:, 1:]
    place = fit.names.index("temperature") - 1
    return math.sqrt(float(np.linalg.inv(information)[place, place]))


def _slope(slope: Estimate, without_intercept: float | None) -> Estimate:
    """The odds ratio per +1.0 of temperature, with the reference's intervals beside it.

    The reference's standard error comes from an information matrix that lacks the intercept, so it is too small.
    """
    beta = slope.also.get("beta")
    lo, hi = _wald(beta, slope.also.get("se_independent"))
    lo_reference, hi_reference = _wald(beta, without_intercept)
    return also(
        slope,
        wald_lo=lo,
        wald_hi=hi,
        se_without_intercept=without_intercept,
        wald_lo_without_intercept=lo_reference,
        wald_hi_without_intercept=hi_reference,
    )


def _wald(beta: object, se: object) -> tuple[float, float] | tuple[None, None]:
    """The reference's interval: exp(beta ± 1.96 se)."""
    if not isinstance(beta, float) or not isinstance(se, float):
        return None, None
    return math.exp(beta - 1.96 * se), math.exp(beta + 1.96 * se)
