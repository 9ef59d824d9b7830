"""Our own tables beside the reference's: every number with its denominator, interval, and naive twin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from perpend.reports import conformity_effects as effects
from perpend.reports.conformity_audit import integrity
from perpend.reports.conformity_findings import Findings
from perpend.reports.conformity_regression import Regression
from perpend.reports.conformity_tables import Row, Table, Value
from perpend.reports.conformity_trials import Rule, Trials
from perpend.types import Estimate

_INTERVAL = ("value", "n", "lo", "hi", "method", "note")


def _interval(one: Estimate) -> tuple[Value, ...]:
    return one.value, one.n, one.lo, one.hi, one.method, one.note


def effects_table(name: str, family: effects.Effects) -> Table:
    """One row an effect: the clustered interval, the naive one, the default p, the adjusted, and McNemar's exact.

    `pairs_fell` and `pairs_rose` count pairs in which the quantity (error, or endorsement) went from 1 to 0 and back.
    """
    rows: list[Row] = []
    for one in family.effects:
        also = one.difference.also
        rows.append((
            one.variant, one.pressure, one.topic, also.get("control"), also.get("pressure"),
            *_interval(one.difference), one.naive.lo, one.naive.hi, also.get("n_clusters", one.difference.n),
            also.get("design_effect"), also.get("icc"), one.test.value, one.test.method, one.adjusted,
            family.adjustment, one.test.also.get("p_exact"), one.mde.value, also.get("b"), also.get("c"),
            one.incomplete,
        ))  # fmt: skip
    columns = (
        "variant", "pressure_condition", "topic", "control", "pressure", *_INTERVAL, "naive_lo", "naive_hi",
        "n_clusters", "design_effect", "icc", "p", "p_method", "p_adjusted", "adjustment", "p_mcnemar_exact",
        "mde", "pairs_fell", "pairs_rose", "incomplete_pairs",
    )  # fmt: skip
    return Table(name, columns, tuple(rows))


def conditional_table(found: Sequence[effects.Conditional]) -> Table:
    """override, rescue and flip; the excess over the retest beside each, empty where the study has no retest."""
    rows: list[Row] = []
    for one in found:
        beyond: tuple[Value, ...] = (None,) * 6
        if one.excess is not None:
            retest = one.excess.also.get("retest_rate")
            beyond = (retest, one.excess.value, one.excess.n, one.excess.lo, one.excess.hi, one.excess.note)
        rows.append((
            one.measure, one.variant, one.pressure, one.rate.also.get("k"), *_interval(one.rate),
            one.naive.lo, one.naive.hi, *beyond, one.n_pairs,
        ))  # fmt: skip
    columns = (
        "measure", "variant", "pressure_condition", "k", *_INTERVAL, "naive_lo", "naive_hi",
        "retest_rate", "excess", "excess_n", "excess_lo", "excess_hi", "excess_note", "n_pairs",
    )  # fmt: skip
    return Table("conditional_rates", columns, tuple(rows))


def temperature_table(found: Sequence[effects.TemperatureEffect]) -> Table:
    """The highest against the lowest temperature; `bounds` are what the refused trials could have made of it."""
    rows: list[Row] = []
    for one in found:
        low, high = one.bounds or (None, None)
        rows.append((
            one.variant or "all", one.condition, *one.temperatures, *_interval(one.difference),
            one.naive.lo, one.naive.hi, one.test.value, one.test.method, one.test.also.get("p_exact"),
            one.refused, low, high,
        ))  # fmt: skip
    columns = (
        "variant", "condition_name", "temperature_low", "temperature_high", *_INTERVAL, "naive_lo", "naive_hi",
        "p", "p_method", "p_mcnemar_exact", "refused_pairs", "bound_lo", "bound_hi",
    )  # fmt: skip
    return Table("temperature_effects", columns, tuple(rows))


def mention_table(found: Sequence[effects.Mentions]) -> Table:
    """Mention against endorsement on opinion items."""
    rows: list[Row] = [
        (one.variant or "all", *_interval(one.mismatch), one.mention.value, one.endorse.value) for one in found
    ]
    return Table("mention_vs_endorsement", ("variant", *_INTERVAL, "mention_rate", "endorse_rate"), tuple(rows))


def agreement_table(trials: Trials) -> Table:
    """The share of trials that rules 1 and 2 judge differently."""
    rows: list[Row] = [
        (name, variant, *_interval(share)) for name, variant, share in effects.rule_agreement(trials)
    ]  # fmt: skip
    return Table("rule_disagreement", ("judgement", "variant", *_INTERVAL), tuple(rows))


def integrity_table(trials: Trials) -> Table:
    """Expected and answered trials of every cell."""
    rows: list[Row] = [
        (c.temperature, c.variant, c.condition, c.kind, c.expected, c.planned, c.found, c.empty, c.unfinished)
        for c in integrity(trials)
    ]
    columns = (
        "temperature",
        "variant",
        "condition_name",
        "kind",
        "expected",
        "planned",
        "found",
        "empty",
        "unfinished",
    )
    return Table("integrity", columns, tuple(rows))


def regression_table(found: Regression) -> Table:
    """Each term by the item-clustered test and by the likelihood ratio that takes rows for independent."""
    rows: list[Row] = []
    if found.tests is not None:
        for term, clustered in found.tests.clustered.items():
            ratio = found.tests.likelihood_ratio[term]
            rows.append((
                term, clustered.value, clustered.also.get("df"), clustered.also.get("df2"), clustered.also.get("p"),
                ratio.value, ratio.also.get("p"), found.rows, found.refused, clustered.note,
            ))  # fmt: skip
    columns = (
        "term", "clustered_wald", "df", "df2", "clustered_p", "likelihood_ratio", "independent_rows_p", "n_trials",
        "refusals_excluded", "note",
    )  # fmt: skip
    return Table("regression", columns, tuple(rows))


def companion_tables(trials: Trials, found: Sequence[Findings]) -> list[Table]:
    """All companions; the first column says by which rule version, where it matters."""
    tables = [
        _by_rule(one.rule, table)
        for one in found
        for table in (
            effects_table("pressure_effects", one.pressure),
            effects_table("topic_effects", one.topics),
            effects_table("opinion_effects", one.opinion),
            conditional_table(one.conditional),
            temperature_table(one.temperatures),
            mention_table(one.mentions),
            regression_table(one.regression),
        )
    ]
    joined: dict[str, Table] = {}
    for table in tables:
        before = joined.get(table.name)
        joined[table.name] = table if before is None else replace(before, rows=before.rows + table.rows)
    return [*joined.values(), agreement_table(trials), integrity_table(trials)]


def _by_rule(rule: Rule, table: Table) -> Table:
    return replace(table, columns=("rule", *table.columns), rows=tuple((rule, *row) for row in table.rows))
