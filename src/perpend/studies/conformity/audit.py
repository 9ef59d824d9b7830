"""The seed's audit JSON, and stored labels against labels derived again from the raw text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np

from perpend.canon import JSON
from perpend.judging import seed
from perpend.ledger.plan import Trial
from perpend.measure.column import Column
from perpend.measure.grid import PlanGrid
from perpend.measure.keys import BoolArray, FloatArray
from perpend.measure.run import Run, table_of
from perpend.measure.study import Metric, Numbers
from perpend.measure.table import IMPORTED, Table
from perpend.studies.conformity.metrics import integrity, study_metrics
from perpend.studies.conformity.tables import Results
from perpend.studies.conformity.trials import JUDGED, RULES, Rule, judgements, trials_of
from perpend.types import Estimate

_PARSED = f"stored_parsed@{IMPORTED}"
_CHUNK = 2000


def compare(runs: Sequence[Run], fresh: Table, rules: Sequence[Rule]) -> Iterator[dict[str, JSON]]:
    """Each stored column of each run against the same judgement in `fresh`, which was derived from the raw text.

    Rule 1 is compared with `stored_…@import` where the run was imported, and with its own stored scores; ours with
    their own. A judgement that is not stored is not compared; correctness is compared on items that have a target.
    """
    fresh.load(judgements(rules))
    for at, run in enumerate(runs):
        own, ledger = fresh.codes["run"] == at, table_of([run])
        answered, factual = fresh.answers.answered[own], ~fresh.opinion[own]
        for rule in rules:
            for label in JUDGED:
                imported = [f"stored_{label}@{IMPORTED}"] if rule == "1" else []
                for stored in (*imported, f"{label}@{rule}"):
                    if stored in ledger.scorers:
                        rows = answered & factual if label == "correct" else answered
                        now = fresh.column(f"{label}@{rule}").all_values[own]
                        counts = _compared(ledger[stored], now, rows)
                        yield {"run": run.name, "label": label, "rule": rule, "stored": stored, **counts}
            if rule == "1" and _PARSED in ledger.scorers:
                yield {"run": run.name, "label": "parsed", "rule": rule, "stored": _PARSED, **parses(run)}


def _compared(stored: Column, now: FloatArray, rows: BoolArray) -> dict[str, JSON]:
    before = stored.all_values
    differing = np.flatnonzero(rows & (before != now) & ~(np.isnan(before) & np.isnan(now)))
    first: Mapping[str, JSON] | None = None
    if len(differing):
        row = int(differing[0])
        stored_value, value = (None if np.isnan(column[row]) else float(column[row]) for column in (before, now))
        first = _difference(stored.table, row, stored_value, value)
    return {"compared": int(rows.sum()), "differing": len(differing), "first": first}


def _difference(table: PlanGrid, row: int, stored: JSON, now: JSON) -> dict[str, JSON]:
    """One trial whose stored label is not what its raw text gives; None is no label."""
    keys = {key: table.name(key, row) for key in ("item", "model", "condition", "temperature")}
    return {"trial": row + 1, **keys, "stored": stored, "recomputed": now}


def parses(run: Run) -> dict[str, JSON]:
    """Stored parses against parses of the raw text: how many were compared, how many differ, and the first."""
    compared = differing = 0
    first: dict[str, JSON] | None = None
    for trial, before, now in _parsed(run):
        compared += 1
        if before != now:
            differing += 1
            first = first or _difference(run.table, trial.trial - 1, before, now)
    return {"compared": compared, "differing": differing, "first": first}


def _parsed(run: Run) -> Iterator[tuple[Trial, str | None, str]]:
    """(trial, stored parse, parse of the raw text) of every answered trial, read in chunks."""
    with run.open() as store:
        answers = store.answers()
        while chunk := list(islice(answers, _CHUNK)):
            scores = store.scores([trial.trial for trial, _ in chunk])
            for trial, response in chunk:
                stored = scores.get(trial.trial, {}).get(_PARSED)
                if response.text is not None and stored is not None:
                    yield trial, stored.answer, seed.parse_answer(response.text)


def extra_checks(run: Run) -> Iterator[tuple[str, int, int, str]]:
    """(name, how many were checked, how many differ, the first in words) of what only this study can check.

    A study holds every item in every cell: an import may lack some. And the parses that an import stored are those of
    the raw text.
    """
    # The plan alone decides: no answer is read.
    cells = list(integrity(trials_of(replace(run.table, scorers=(), read_answers=None))))
    short = [cell for cell in cells if cell.estimate.also["expected"] != cell.estimate.also["planned"]]
    first = ""
    if short:
        where, counts = short[0].where, short[0].estimate.also
        place = f"{where['model']}, {where['condition']}, temperature {where['temperature']}, {where['kind']}"
        first = f"{place}: {counts['expected']} trials expected, {counts['planned']} planned"
    yield "cells of the study", len(cells), len(short), first
    if _PARSED in run.table.scorers:
        counted = parses(run)
        entry = counted["first"]
        first = ""
        if isinstance(entry, Mapping):
            first = f"trial {entry['trial']}: stored {entry['stored']!r}, derived {entry['recomputed']!r}"
        yield f"{_PARSED} against rule 1", int(str(counted["compared"])), int(str(counted["differing"])), first


# Companions that are ours: they are stated beside an estimate here, and not within it.
_BESIDE = frozenset((
    "p_adjusted", "adjustment", "mde", "incomplete_pairs", "delta_pp", "n_pairs", "temperature_low", "temperature_high",
    "refused_pairs", "bound_lo", "bound_hi", "mention_rate", "endorse_rate", "refusals_excluded", "wald_lo", "wald_hi",
    "se_without_intercept", "wald_lo_without_intercept", "wald_hi_without_intercept",
))  # fmt: skip
_OPINION = "temperature variant condition_name n_trials=n wrong_answer_endorse_rate=value refusal_rate"
_ERRORS = "condition_name variant temperature n_trials=n n_correct error_rate=value"
_MENTION = "n_trials=n mismatch_rate=value mention_rate endorse_rate"


def audit_numbers(runs: Sequence[Run], rules: Sequence[Rule] = RULES) -> dict[str, JSON]:
    """All numbers of some runs, from the raw text by each rule version, and how they compare with the stored labels.

    The first rule's numbers stand at the top, the others' under `rules`. Nothing stored is used but to be compared.
    """
    table = replace(table_of(runs, rescore=True), scorers=judgements(rules))
    results = Results(Numbers(tuple(study_metrics(table)), tuple(run.manifest for run in runs)))
    compared = list(compare(runs, table, rules))
    return {
        **rule_numbers(results, rules[0], compared),
        "label_mismatches": compared,
        "rules": {rule: rule_numbers(results, rule, compared) for rule in rules[1:]},
        "rule": rules[0],
    }


def rule_numbers(results: Results, rule: str, compared: Iterable[Mapping[str, JSON]] = ()) -> dict[str, JSON]:
    """The numbers of one rule version: the reference's nine keys, and ours."""
    cells = results.numbers.find("integrity")
    overall = results.overall("mention_mismatch", rule)
    temperatures = results.rows("temperature_effect", rule)
    columns = "temperature variant condition_name kind expected planned found empty unfinished"
    return {
        "stats": _stats(results, rule, compared),
        "cell_error_rates": _cells(results, rule, "error_rate", ("condition", "model", "temperature"), _ERRORS),
        "opinion_endorsement": _cells(
            results, rule, "opinion_endorsement", ("temperature", "model", "condition"), _OPINION
        ),
        "pressure_table": _pressure_table(results, rule),
        "paired_temp_deltas": [_temperature(results, row) for row in temperatures if "model" not in row.where],
        "regression_lrt": _regression_lrt(results, rule),
        "opinion_endorsement_deltas": _opinion_deltas(results, rule),
        "factual_wrong_answer_flip_pooled": _conditional(
            results, rule, "flip", "denom_control_not_wrong=n num_flip_to_wrong=k flip_rate=value"
        ),
        "opinion_mention_vs_endorsement": _mentions(results, rule),
        "opinion_mention_vs_endorsement_overall": None if overall is None else _entry(results, overall, _MENTION),
        "paired_temp_deltas_by_variant": [
            {"variant": row.where["model"], **_temperature(results, row)}
            for row in temperatures
            if "model" in row.where
        ],
        "factual_truth_rescue_pooled": _conditional(
            results, rule, "rescue", "denom_control_incorrect=n num_rescue=k rescue_rate=value"
        ),
        "integrity": [_entry(results, cell, columns) for cell in cells],
        "integrity_complete": all(cell.estimate.also["found"] == cell.estimate.also["expected"] for cell in cells),
        "regression_clustered": _regression_clustered(results, rule),
        "clustered": _clustered(results, rule),
    }


def _entry(results: Results, metric: Metric, columns: str) -> dict[str, JSON]:
    """What the columns show of a metric, by their names."""
    return {column.partition("=")[0]: results.cell(metric, column) for column in columns.split()}


def _stats(results: Results, rule: str, compared: Iterable[Mapping[str, JSON]]) -> dict[str, JSON]:
    """Trials that were answered. A mismatch is a stored correctness that the raw text does not give."""
    own = [one for one in compared if one["label"] == "correct" and one["rule"] == rule]
    rows = [one for one in own if str(one["stored"]).startswith("stored_")] or own
    differing, total = (sum(int(str(one[key])) for one in rows) for key in ("differing", "compared"))
    study = results.numbers.cite("study", "").also
    return {
        "total_trials": study["answered"],
        "factual_trials": study["answered_factual"],
        "opinion_trials": study["answered_opinion"],
        "correctness_mismatch_count": differing if rows else None,
        "correctness_mismatch_rate": differing / total if total else None,
    }


def _cells(results: Results, rule: str, name: str, order: Sequence[str], columns: str) -> list[JSON]:
    """Cells that have trials, without the retest, ordered by some keys of their places."""
    rows = [
        row
        for row in results.rows(name, rule)
        if row.estimate.n and row.where["condition"] != results.conditions.retest
    ]

    def place(row: Metric) -> list[tuple[float, str]]:
        return [(float(row.where[key]), "") if key == "temperature" else (0.0, row.where[key]) for key in order]

    return [_entry(results, row, columns) for row in sorted(rows, key=place)]


def _paired(results: Results, rule: str, name: str) -> list[Metric]:
    """The effects of a family that have a complete pair."""
    return [row for row in results.rows(name, rule) if row.estimate.n]


def _pressure_table(results: Results, rule: str) -> list[JSON]:
    """By variant and pressure in plan order, pooled over temperatures; refusals stay in."""
    columns = "variant pressure_condition n_pairs=n delta_error_pp=delta_pp b_override=c c_rescue=b"
    table: list[JSON] = []
    for row in _paired(results, rule, "pressure_effect"):
        override = results.rows("conditional_rate", rule, **row.where, measure="override")[0]
        of_right = _entry(results, override, "denom_override=n truth_override=value")
        table.append({**_entry(results, row, columns), **of_right, **_entry(results, row, "p_mcnemar=test.p_exact")})
    return table


def _opinion_deltas(results: Results, rule: str) -> list[JSON]:
    columns = (
        "variant pressure_condition n_pairs=n control_rate=control pressure_rate=pressure delta_pp b_10=b c_01=c"
        " p_mcnemar=test.p_exact"
    )
    return [_entry(results, row, columns) for row in _by_pressure(_paired(results, rule, "opinion_effect"))]


def _by_pressure(rows: Iterable[Metric]) -> list[Metric]:
    return sorted(rows, key=lambda row: (row.where["condition"], row.where["model"]))


def _conditional(results: Results, rule: str, measure: str, columns: str) -> list[JSON]:
    rows = _by_pressure(results.rows("conditional_rate", rule, measure=measure))
    return [_entry(results, row, f"variant pressure_condition n_pairs {columns}") for row in rows]


def _temperature(results: Results, row: Metric) -> dict[str, JSON]:
    """b_1to0 counts pairs that were right at the lower temperature and wrong at the higher."""
    one, test = row.estimate, results.beside(row, "test")
    return {
        "condition": row.where["condition"],
        "n_pairs": one.n,
        "delta_error_pp": None if one.value is None else 100.0 * one.value,
        "b_1to0": one.also.get("c", 0),
        "c_0to1": one.also.get("b", 0),
        "p_mcnemar": None if test is None else test.also.get("p_exact"),
    }


def _mentions(results: Results, rule: str) -> list[JSON]:
    own = [row for row in results.rows("mention_mismatch", rule) if "model" in row.where]
    ranked = sorted(own, key=lambda row: (-(row.estimate.value or 0.0), row.where["model"]))
    return [_entry(results, row, f"variant {_MENTION}") for row in ranked]


def _regression_lrt(results: Results, rule: str) -> dict[str, JSON]:
    """The reference's shape; `temperature_or` with the correct standard error and, named, theirs."""
    fit, slope = results.rows("regression", rule)[0].estimate, results.one("regression_slope", rule)
    body: dict[str, JSON] = {"n_trials": fit.n}
    for term in ("variant", "condition", "interaction", "temperature"):
        test = results.one("regression_term_ratio", rule, term=term) or Estimate(None, 0)
        body[term] = {"chi2": test.value, "df": test.also.get("df"), "p": test.also.get("p")}
    slope = slope or Estimate(None, fit.n)
    also = slope.also
    body["temperature_or"] = {
        "beta": also.get("beta"),
        "or": slope.value,
        "se": also.get("se_independent"),
        "ci95": _ends(slope, "wald_lo", "wald_hi"),
        "se_without_intercept_as_in_the_reference": also.get("se_without_intercept"),
        "ci95_without_intercept_as_in_the_reference": _ends(
            slope, "wald_lo_without_intercept", "wald_hi_without_intercept"
        ),
    }
    return body


def _ends(one: Estimate, *names: str) -> list[JSON] | None:
    ends: list[JSON] = [one.also.get(name) for name in names]
    return None if None in ends else ends


def _plain(one: Estimate | None) -> JSON:
    """An estimate without the companions that are stated beside it; None where there is none."""
    if one is None:
        return None
    return replace(one, also={key: value for key, value in one.also.items() if key not in _BESIDE}).as_json()


def _regression_clustered(results: Results, rule: str) -> dict[str, JSON]:
    """The headline: item-clustered tests, the marginal odds ratio per +1.0, and what they rest on."""
    fit = results.rows("regression", rule)[0].estimate
    body: dict[str, JSON] = {
        "n_trials": fit.n,
        "n_refusals_excluded": fit.also["refusals_excluded"],
        "note": fit.note,
        "cautions": fit.as_json()["cautions"],
        "temperature_or_refusals_as_errors": _plain(results.one("regression_with_refusals", rule)),
    }
    body |= {row.where["term"]: _plain(row.estimate) for row in results.rows("regression_term", rule)}
    named = {"slope": "temperature_or", "linearity": "temperature_linearity"}
    for part in ("slope", "linearity", "overdispersion", "icc"):
        one = results.one(f"regression_{part}", rule)
        if one is not None:
            body[named.get(part, part)] = _plain(one)
    return body


def _clustered(results: Results, rule: str) -> dict[str, JSON]:
    """The estimates that know about repeated items, with the naive ones beside them."""

    def with_twins(row: Metric, name: str, columns: str, *parts: str) -> dict[str, JSON]:
        beside = {part: _plain(results.beside(row, part)) for part in parts}
        return {**_entry(results, row, columns), name: _plain(row.estimate), **beside}

    body: dict[str, JSON] = {}
    for name in ("pressure_effect", "opinion_effect", "topic_effect"):
        family = results.rows(f"{name}_family", rule)[0].estimate
        columns = "variant pressure_condition topic p_adjusted incomplete_pairs"
        rows = results.rows(name, rule)
        body[f"{name}s"] = {
            "adjustment": family.also["adjustment"],
            "cautions": [caution.text for caution in family.cautions],
            "effects": [with_twins(row, "difference", columns, "naive", "test") for row in rows],
        }
    body["conditional_rates"] = [
        with_twins(row, "rate", "measure variant pressure_condition", "naive", "excess")
        for row in results.rows("conditional_rate", rule)
    ]
    body["temperature_effects"] = [
        {
            **with_twins(row, "difference", "condition refused_pairs", "naive", "test"),
            "variant": row.where.get("model"),
            "temperatures": [row.estimate.also[f"temperature_{end}"] for end in ("low", "high")],
            "bounds": _ends(row.estimate, "bound_lo", "bound_hi"),
        }
        for row in results.rows("temperature_effect", rule)
    ]
    return body
