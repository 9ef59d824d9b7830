"""Every number of the conformity study, derived from raw text: the reference's audit JSON, and what it left out.

The nine keys of the reference keep its shapes and its statistics (rows taken for independent). What knows about
repeated items stands under keys of our own.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from perpend.canon import JSON
from perpend.measure import Run
from perpend.reports import conformity_effects as effects
from perpend.reports.conformity_findings import Findings, findings
from perpend.reports.conformity_mismatches import Comparison, compare
from perpend.reports.conformity_regression import clustered_block, reference_block
from perpend.reports.conformity_tables import opinion_counts
from perpend.reports.conformity_trials import RULES, Rule, Trials, judgements, load, read_answers
from perpend.stats.paired_tests import mcnemar
from perpend.stats.pairs import pair_table
from perpend.types import Estimate

_PAIRED = ("variant", "temperature", "item")


def audit_numbers(runs: Sequence[Run], rules: Sequence[Rule] = RULES) -> dict[str, JSON]:
    """All numbers of some runs, from the raw text by each rule version, and how they compare with the stored labels.

    The first rule's numbers stand at the top, the others' under `rules`. Nothing stored is used but to be compared.
    """
    answers = [read_answers(run, judgements(rules)) for run in runs]
    trials = load(runs, answers)
    compared = [found for run, own in zip(runs, answers, strict=True) for found in compare(run, own, rules)]
    return {
        **numbers(trials, rules[0], compared),
        "label_mismatches": [one.as_json() for one in compared],
        "rules": {rule: numbers(trials, rule, compared) for rule in rules[1:]},
        "rule": rules[0],
    }


def numbers(trials: Trials, rule: Rule, compared: Sequence[Comparison] = ()) -> dict[str, JSON]:
    """The numbers of one rule version: the reference's nine keys, and ours."""
    found = findings(trials, rule)
    cells = integrity(trials)
    return {
        "stats": _stats(trials, rule, compared),
        "cell_error_rates": _cell_error_rates(trials, rule),
        "pressure_table": _pressure_table(trials, rule),
        "paired_temp_deltas": [_temperature_row(one) for one in found.temperatures if one.variant is None],
        "regression_lrt": reference_block(found.regression),
        "opinion_endorsement": _opinion_endorsement(trials, rule),
        "opinion_endorsement_deltas": _opinion_deltas(trials, rule),
        "factual_wrong_answer_flip_pooled": [
            _conditional_row(one, "denom_control_not_wrong", "num_flip_to_wrong", "flip_rate")
            for one in _by_pressure(found.conditional, "flip")
        ],
        "opinion_mention_vs_endorsement": _mention_rows(found.mentions),
        "opinion_mention_vs_endorsement_overall": next(
            (_mention_row(one) for one in found.mentions if one.variant is None), None
        ),
        "paired_temp_deltas_by_variant": [
            {"variant": one.variant, **_temperature_row(one)} for one in found.temperatures if one.variant is not None
        ],
        "factual_truth_rescue_pooled": [
            _conditional_row(one, "denom_control_incorrect", "num_rescue", "rescue_rate")
            for one in _by_pressure(found.conditional, "rescue")
        ],
        "integrity": [cell.as_json() for cell in cells],
        "integrity_complete": all(cell.found == cell.expected for cell in cells),
        "regression_clustered": clustered_block(found.regression),
        "clustered": _clustered(found),
    }


def _stats(trials: Trials, rule: Rule, compared: Sequence[Comparison]) -> dict[str, JSON]:
    """Trials that were answered. A mismatch is a stored correctness that the raw text does not give."""
    own = [one for one in compared if one.label == "correct" and one.rule == rule]
    imported = [one for one in own if one.stored.startswith("stored_")]
    rows = imported or own
    differing, total = sum(one.differing for one in rows), sum(one.compared for one in rows)
    return {
        "total_trials": int(trials.answered.sum()),
        "factual_trials": int((trials.answered & ~trials.opinion).sum()),
        "opinion_trials": int((trials.answered & trials.opinion).sum()),
        "correctness_mismatch_count": differing if rows else None,
        "correctness_mismatch_rate": differing / total if total else None,
    }


@dataclass(frozen=True, slots=True)
class IntegrityCell:
    """How complete one cell is. `expected` is every item of that kind, as often as the fullest cell has it."""

    temperature: float
    variant: str
    condition: str
    kind: str
    expected: int
    planned: int
    found: int
    empty: int
    unfinished: int

    def as_json(self) -> dict[str, JSON]:
        """The entry in the audit's numbers."""
        return {
            "temperature": self.temperature,
            "variant": self.variant,
            "condition_name": self.condition,
            "kind": self.kind,
            "expected": self.expected,
            "planned": self.planned,
            "found": self.found,
            "empty": self.empty,
            "unfinished": self.unfinished,
        }


def integrity(trials: Trials) -> list[IntegrityCell]:
    """Expected, planned and answered trials of every cell, factual and opinion apart; the retest too.

    A cell that no run planned is listed with 0 planned, so a temperature that one variant lacks is seen.
    """
    axes = ("temperature", "variant", "condition")
    unfinished = trials.labels.get("unfinished@1")
    cut = np.zeros(len(trials), dtype=np.bool_) if unfinished is None else unfinished == 1
    times = int(trials.replicate.max(initial=-1)) + 1
    found = []
    for kind, rows in (("factual", ~trials.opinion), ("opinion", trials.opinion)):
        expected = len(np.unique(trials.item[rows])) * times
        if not expected:
            continue
        planned, done, empty, stopped = (
            trials.tally(rows & own, axes)
            for own in (np.ones(len(trials), dtype=np.bool_), trials.answered, trials.empty, cut)
        )
        for (t, temperature), (v, variant), (c, condition) in itertools.product(
            enumerate(trials.temperatures), enumerate(trials.variants), enumerate(trials.conditions)
        ):
            counts = (int(column[t, v, c]) for column in (planned, done, empty, stopped))
            found.append(IntegrityCell(temperature, variant, condition, kind, expected, *counts))
    return found


def _names(trials: Trials) -> tuple[list[str], list[str]]:
    """Conditions (without the retest) and variants by name, the order of the reference's longer lists."""
    return sorted((trials.control, *trials.pressures)), sorted(trials.variants)


def _cell_error_rates(trials: Trials, rule: Rule) -> list[JSON]:
    correct = trials.label("correct", rule)
    rows = ~trials.opinion & (correct >= 0)
    axes = ("condition", "variant", "temperature")
    n, right = trials.tally(rows, axes), trials.tally(rows & (correct == 1), axes)
    found: list[JSON] = []
    conditions, variants = _names(trials)
    for condition, variant, (t, temperature) in itertools.product(
        conditions, variants, enumerate(trials.temperatures)
    ):  # fmt: skip
        at = (trials.conditions.index(condition), trials.variants.index(variant), t)
        if n[at]:
            found.append({
                "condition_name": condition, "variant": variant, "temperature": temperature,
                "n_trials": int(n[at]), "n_correct": int(right[at]), "error_rate": 1 - int(right[at]) / int(n[at]),
            })  # fmt: skip
    return found


def _paired_counts(
    trials: Trials, rule: Rule, name: str, *, opinion: bool
) -> dict[tuple[str, str], tuple[int, int, int, int]]:
    """n11, n10, n01, n00 of control against each pressure, for every variant with a pair."""
    values = trials.label(name, rule)
    rows = (trials.opinion == opinion) & (values >= 0)
    found = {}
    for pressure in trials.pressures:
        first, second = trials.partners(rows & trials.under(trials.control), rows & trials.under(pressure), _PAIRED)
        for v, variant in enumerate(trials.variants):
            own = trials.variant[first] == v
            if own.any():
                found[variant, pressure] = pair_table(values[first[own]], values[second[own]])
    return found


def _pressure_table(trials: Trials, rule: Rule) -> list[JSON]:
    """By variant and pressure in plan order, pooled over temperatures; refusals stay in."""
    counts = _paired_counts(trials, rule, "correct", opinion=False)
    found: list[JSON] = []
    for variant, pressure in itertools.product(trials.variants, trials.pressures):
        if (variant, pressure) in counts:
            n11, b, c, n00 = counts[variant, pressure]
            n = n11 + b + c + n00
            found.append({
                "variant": variant, "pressure_condition": pressure, "n_pairs": n,
                "delta_error_pp": 100.0 * (b - c) / n, "b_override": b, "c_rescue": c,
                "denom_override": n11 + b, "truth_override": b / (n11 + b) if n11 + b else None,
                "p_mcnemar": mcnemar(b, c).also["p_exact"],
            })  # fmt: skip
    return found


def _opinion_deltas(trials: Trials, rule: Rule) -> list[JSON]:
    counts = _paired_counts(trials, rule, "endorsed", opinion=True)
    found: list[JSON] = []
    for pressure, variant in itertools.product(sorted(trials.pressures), sorted(trials.variants)):
        if (variant, pressure) in counts:
            n11, b, c, n00 = counts[variant, pressure]
            n = n11 + b + c + n00
            control, pressured = (n11 + b) / n, (n11 + c) / n
            found.append({
                "variant": variant, "pressure_condition": pressure, "n_pairs": n,
                "control_rate": control, "pressure_rate": pressured, "delta_pp": 100.0 * (pressured - control),
                "b_10": b, "c_01": c, "p_mcnemar": mcnemar(b, c).also["p_exact"],
            })  # fmt: skip
    return found


def _opinion_endorsement(trials: Trials, rule: Rule) -> list[JSON]:
    n, agreed, refused = opinion_counts(trials, rule)
    conditions, variants = _names(trials)
    found: list[JSON] = []
    for (t, temperature), variant, condition in itertools.product(
        enumerate(trials.temperatures), variants, conditions
    ):  # fmt: skip
        at = (t, trials.variants.index(variant), trials.conditions.index(condition))
        if n[at]:
            total = int(n[at])
            found.append({
                "temperature": temperature, "variant": variant, "condition_name": condition, "n_trials": total,
                "wrong_answer_endorse_rate": int(agreed[at]) / total, "refusal_rate": int(refused[at]) / total,
            })  # fmt: skip
    return found


def _by_pressure(found: Sequence[effects.Conditional], measure: str) -> list[effects.Conditional]:
    own = [one for one in found if one.measure == measure]
    return sorted(own, key=lambda one: (one.pressure, one.variant))


def _conditional_row(one: effects.Conditional, denominator: str, numerator: str, rate: str) -> dict[str, JSON]:
    return {
        "variant": one.variant,
        "pressure_condition": one.pressure,
        "n_pairs": one.n_pairs,
        denominator: one.rate.n,
        numerator: one.rate.also["k"],
        rate: one.rate.value,
    }


def _temperature_row(one: effects.TemperatureEffect) -> dict[str, JSON]:
    """b_1to0 counts pairs that were right at the lower temperature and wrong at the higher."""
    value, b, c = one.difference.value, one.difference.also.get("c", 0), one.difference.also.get("b", 0)
    return {
        "condition": one.condition,
        "n_pairs": one.difference.n,
        "delta_error_pp": None if value is None else 100.0 * value,
        "b_1to0": b,
        "c_0to1": c,
        "p_mcnemar": one.test.also.get("p_exact"),
    }


def _mention_row(one: effects.Mentions) -> dict[str, JSON]:
    return {
        "n_trials": one.mismatch.n,
        "mismatch_rate": one.mismatch.value,
        "mention_rate": one.mention.value,
        "endorse_rate": one.endorse.value,
    }


def _mention_rows(found: Sequence[effects.Mentions]) -> list[JSON]:
    own = [one for one in found if one.variant is not None]
    ranked = sorted(own, key=lambda one: (-(one.mismatch.value or 0.0), one.variant))
    return [{"variant": one.variant, **_mention_row(one)} for one in ranked]


def _estimates(**found: Estimate | None) -> dict[str, JSON]:
    return {name: None if one is None else one.as_json() for name, one in found.items()}


def _clustered(found: Findings) -> dict[str, JSON]:
    """The estimates that know about repeated items, with the naive ones beside them."""
    families = {
        "pressure_effects": found.pressure,
        "opinion_effects": found.opinion,
        "topic_effects": found.topics,
    }
    body: dict[str, JSON] = {
        name: {
            "adjustment": family.adjustment,
            "cautions": [caution.text for caution in family.cautions],
            "effects": [
                {
                    "variant": one.variant,
                    "pressure_condition": one.pressure,
                    "topic": one.topic,
                    "p_adjusted": one.adjusted,
                    "incomplete_pairs": one.incomplete,
                    **_estimates(difference=one.difference, naive=one.naive, test=one.test),
                }
                for one in family.effects
            ],
        }
        for name, family in families.items()
    }
    body["conditional_rates"] = [
        {
            "measure": one.measure,
            "variant": one.variant,
            "pressure_condition": one.pressure,
            **_estimates(rate=one.rate, naive=one.naive, excess=one.excess),
        }
        for one in found.conditional
    ]
    body["temperature_effects"] = [
        {
            "condition": one.condition,
            "variant": one.variant,
            "temperatures": list(one.temperatures),
            "refused_pairs": one.refused,
            "bounds": None if one.bounds is None else list(one.bounds),
            **_estimates(difference=one.difference, naive=one.naive, test=one.test),
        }
        for one in found.temperatures
    ]
    return body
