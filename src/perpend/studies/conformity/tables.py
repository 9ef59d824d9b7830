"""The study's numbers looked up, and its tables as CSV and LaTeX: each a metric's name and a list of columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from perpend.measure.outcomes import OUTCOME
from perpend.measure.study import Metric, Numbers, TableOf, Value
from perpend.report import tables as latex
from perpend.studies.conformity.trials import Conditions, short_name
from perpend.types import Estimate

_PLACES = {
    "variant": "model",
    "condition_name": "condition",
    "pressure_condition": "condition",
    "dataset_category": "topic",
}
"""What the tables call the keys of a metric's place."""
_PARTS = ("value", "n", "lo", "hi", "method", "note")


@dataclass(frozen=True)  # not slotted: what is looked up is kept
class Results:
    """Numbers of the study, with the names of its design as the numbers themselves have them."""

    numbers: Numbers

    @cached_property
    def conditions(self) -> Conditions:
        """The conditions, in plan order."""
        return Conditions(self._names("condition"))

    @cached_property
    def variants(self) -> tuple[str, ...]:
        """The labels of the models, in plan order."""
        return self._names("model")

    @cached_property
    def temperatures(self) -> tuple[str, ...]:
        """The temperatures, lowest first."""
        return self._names("temperature")

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """'factual', 'opinion' or both: what kinds of items there are."""
        return self._names("kind")

    @cached_property
    def rules(self) -> tuple[str, ...]:
        """The rule versions, oldest first; the newest is the headline."""
        return tuple(metric.scorer.rpartition("@")[2] for metric in self.numbers.find("pressure_effect_family"))

    def _names(self, key: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(cell.where[key] for cell in self.numbers.find("integrity")))

    @cached_property
    def _exact(self) -> dict[tuple[str, str, frozenset[tuple[str, str]]], Estimate]:
        return {(row.name, row.scorer, frozenset(row.where.items())): row.estimate for row in self.numbers.metrics}

    def short(self, metric: Metric) -> str:
        """The condition of a metric, as tables and figures call it."""
        return short_name(metric.where["condition"], self.conditions.pressures)

    def rows(self, name: str, rule: str, **where: str) -> list[Metric]:
        """Every metric of that name by one rule version."""
        return [row for row in self.numbers.find(name, **where) if row.scorer.endswith(f"@{rule}")]

    def one(self, name: str, rule: str, **where: str) -> Estimate | None:
        """The first metric of that name by one rule version; None where there is none."""
        rows = self.rows(name, rule, **where)
        return rows[0].estimate if rows else None

    def beside(self, metric: Metric, part: str) -> Estimate | None:
        """The estimate of that part beside a metric (naive, test, excess, ratio); None where it has none."""
        return self._exact.get((f"{metric.name}_{part}", metric.scorer, frozenset(metric.where.items())))

    def overall(self, name: str, rule: str) -> Metric | None:
        """The metric that pools all variants; None where there is none."""
        return next((row for row in self.rows(name, rule) if "model" not in row.where), None)

    def cell(self, metric: Metric, column: str) -> Value:
        """What a column of a table shows of a metric: 'n', 'rate=value', 'naive_lo=naive.lo', 'k' …"""
        source = column.rpartition("=")[2]
        part, dot, inner = source.partition(".")
        if dot:
            beside = self.beside(metric, part)
            return None if beside is None else _of(beside, inner)
        key = _PLACES.get(source, source)
        if key == "rule":
            return metric.scorer.rpartition("@")[2]
        if key in metric.where:
            return float(metric.where[key]) if key == "temperature" else metric.where[key]
        return "all" if key == "model" else _of(metric.estimate, source)

    def table_rows(self, metrics: Sequence[Metric], columns: Sequence[str]) -> tuple[tuple[Value, ...], ...]:
        """One row for each metric."""
        return tuple(tuple(self.cell(metric, column) for column in columns) for metric in metrics)


def _of(one: Estimate, name: str) -> Value:
    if name in _PARTS:
        value: Value = getattr(one, name)
        return value
    return clusters(one) if name == "n_clusters" else one.also.get(name)


def clusters(one: Estimate) -> Value:
    """How many items an estimate rests on: where none repeats, as many as it has rows."""
    return one.also.get("n_clusters", one.n)


_INTERVAL = "value n lo hi method note naive_lo=naive.lo naive_hi=naive.hi"
_EFFECT = (
    f"rule variant pressure_condition topic control pressure {_INTERVAL} n_clusters design_effect icc p=test.value"
    " p_method=test.method p_adjusted adjustment p_mcnemar_exact=test.p_exact mde pairs_fell=b pairs_rose=c"
    " incomplete_pairs"
)


@dataclass(frozen=True, slots=True)
class Layout:
    """A table: the metric that each row is, and its columns, each 'header' or 'header=what of the metric'."""

    name: str
    metric: str
    columns: str
    where: Mapping[str, str] = field(default_factory=dict)

    def table(self, results: Results, metrics: list[Metric], folder: str = "") -> TableOf:
        """The table of these metrics."""
        columns = self.columns.split()
        rows = results.table_rows(metrics, columns)
        return TableOf(f"{folder}{self.name}", tuple(column.partition("=")[0] for column in columns), rows)


_CELL = "temperature variant condition_name dataset_category n_trials=n"


def _conditional(name: str, measure: str) -> Layout:
    columns = f"temperature variant dataset_category n_items=n {name}_rate=value pressure_condition"
    return Layout(f"factual_{name}_rates", "conditional_cell", columns, {"measure": measure})


_EFFECTS_BY_TOPIC = "factual_pressure_effects_by_temp_variant_category"
REFERENCE = (
    Layout(
        "factual_rates_by_temp_variant_condition_category",
        "factual_error",
        f"{_CELL} n_correct n_refusals n_empty mean_latency_ms accuracy error_rate=value refusal_rate empty_rate",
    ),
    Layout(_EFFECTS_BY_TOPIC, "error_delta", ""),
    _conditional("truth_override", "override"),
    _conditional("truth_rescue", "rescue"),
    Layout(
        "factual_wrong_answer_agreement_rates",
        "factual_endorsement",
        f"{_CELL} wrong_answer_agreements n_refusals n_empty wrong_answer_agreement_rate=value refusal_rate empty_rate",
    ),
    _conditional("wrong_answer_flip", "flip"),
    Layout(
        "opinion_wrong_answer_agreement_rates",
        "opinion_endorsement",
        "temperature variant condition_name n_trials=n wrong_answer_agreement_rate=value refusal_rate",
    ),
)
COMPANIONS = (
    Layout("planted_effects", "planted_effect", _EFFECT),
    Layout("pressure_effects", "pressure_effect", _EFFECT),
    Layout("topic_effects", "topic_effect", _EFFECT),
    Layout("opinion_effects", "opinion_effect", _EFFECT),
    Layout(
        "conditional_rates",
        "conditional_rate",
        f"rule measure variant pressure_condition k {_INTERVAL} retest_rate=excess.retest_rate excess=excess.value"
        " excess_n=excess.n excess_lo=excess.lo excess_hi=excess.hi excess_note=excess.note n_pairs",
    ),
    Layout(
        "temperature_effects",
        "temperature_effect",
        f"rule variant condition_name temperature_low temperature_high {_INTERVAL} p=test.value p_method=test.method"
        " p_mcnemar_exact=test.p_exact refused_pairs bound_lo bound_hi",
    ),
    Layout(
        "mention_vs_endorsement", "mention_mismatch", "rule variant value n lo hi method note mention_rate endorse_rate"
    ),
    Layout(
        "regression",
        "regression_term",
        "rule term clustered_wald=value df df2 clustered_p=p likelihood_ratio=ratio.value independent_rows_p=ratio.p"
        " n_trials=n refusals_excluded note",
    ),
    Layout("rule_disagreement", "rule_disagreement", "judgement variant value n lo hi method note"),
    Layout("outcomes", OUTCOME, "rule variant condition_name outcome k value n lo hi method note"),
    Layout("integrity", "integrity", "temperature variant condition_name kind expected planned found empty unfinished"),
)
OURS = ("planted_effect", OUTCOME)
"""What only our rule has: without any, there is no table of it."""


def folder_of(rule: str) -> str:
    """Where the tables and figures of a rule version are: rule 1 under the reference's own names."""
    return "" if rule == "1" else f"rule{rule}/"


def tables(results: Results) -> Iterator[TableOf]:
    """Every table."""
    for rule in results.rules:
        yield from reference_tables(results, rule)
    for layout in COMPANIONS:
        if layout.metric in OURS and not results.numbers.find(layout.metric):
            continue
        yield layout.table(results, results.numbers.find(layout.metric), "companions/")


def reference_tables(results: Results, rule: str) -> Iterator[TableOf]:
    """The reference's seven, by one rule version. The retest of the control is no condition of the reference."""
    for layout in REFERENCE:
        if layout.name == _EFFECTS_BY_TOPIC:
            yield _effects_by_topic(results, rule)
            continue
        metrics = results.rows(layout.metric, rule, **layout.where)
        retest = results.conditions.retest
        kept = [row for row in metrics if row.estimate.n and row.where["condition"] != retest]
        yield layout.table(results, kept, folder_of(rule))


def _effects_by_topic(results: Results, rule: str) -> TableOf:
    """Error rate in each condition and its rise over control, one row for each temperature, variant and topic."""
    conditions = results.conditions
    compared = sorted((conditions.control, *conditions.pressures))
    keys = ("temperature", "model", "topic")
    rows: dict[tuple[str, ...], dict[str, Value]] = {}
    for name in ("factual_error", "error_delta"):
        for metric in results.rows(name, rule):
            row = rows.setdefault(tuple(metric.where[key] for key in keys), {})
            row[f"{name} {metric.where['condition']}"] = metric.estimate.value
            row["n"] = int(row.get("n") or 0) + metric.estimate.n
    shown = [f"factual_error {name}" for name in compared] + [f"error_delta {name}" for name in conditions.pressures]
    deltas = (f"delta_{conditions.short(name)}" for name in conditions.pressures)
    return TableOf(
        f"{folder_of(rule)}{_EFFECTS_BY_TOPIC}",
        ("temperature", "variant", "dataset_category", *compared, *deltas),
        tuple(
            (float(temperature), variant, topic, *(row.get(column) for column in shown))
            for (temperature, variant, topic), row in rows.items()
            if row["n"]
        ),
    )


_SUFFIX = {"1": "RuleOne", "2": "RuleTwo"}


def macros(results: Results) -> str:
    r"""One command for each number, such as \PressureEffectInstructAsch; percentages and points have one decimal.

    The newest rule's numbers have no suffix, the others' end in RuleOne. …Interval is the 95% interval, …P the p after
    Holm. Undefined is NA.
    """
    study = results.numbers.cite("study", "").also
    entries: dict[tuple[str, ...], str] = {
        (name,): str(study[key])
        for name, key in (
            ("TotalTrials", "answered"),
            ("FactualTrials", "answered_factual"),
            ("OpinionTrials", "answered_opinion"),
        )
    }
    for rule in results.rules:
        entries |= _of_rule(results, rule, "" if rule == results.rules[-1] else _SUFFIX[rule])
    return latex.macros(entries)


def _of_rule(results: Results, rule: str, suffix: str) -> dict[tuple[str, ...], str]:
    variants = latex.macro_words(results.variants)
    pressures = latex.macro_words([results.conditions.short(name) for name in results.conditions.pressures])
    entries: dict[tuple[str, ...], str] = {}

    def words(metric: Metric) -> tuple[str, str]:
        return variants[metric.where["model"]], pressures[results.short(metric)]

    def put(name: str, parts: Sequence[str], one: Estimate, *, sign: bool) -> None:
        entries[name, *parts, suffix] = percent(one, sign=sign)
        entries[name, *parts, "Interval", suffix] = interval(one, sign=sign)

    for name, prefix in (
        ("planted_effect", "PlantedEffect"),
        ("pressure_effect", "PressureEffect"),
        ("opinion_effect", "OpinionEffect"),
    ):
        for row in results.rows(name, rule):
            put(prefix, words(row), row.estimate, sign=True)
            entries[prefix, *words(row), "P", suffix] = latex.tex_p_value(number(row.estimate, "p_adjusted"))
    for row in results.rows("conditional_rate", rule):
        name = row.where["measure"].capitalize()
        put(name, words(row), row.estimate, sign=False)
        entries[name, *words(row), "Denominator", suffix] = str(row.estimate.n)
        beyond = results.beside(row, "excess")
        if beyond is not None:
            put(f"Excess{name}", words(row), beyond, sign=True)
    for row in results.rows("mention_mismatch", rule):
        put("MentionMismatch", (variants.get(row.where.get("model", ""), "Overall"),), row.estimate, sign=False)
    slope = results.one("regression_slope", rule)
    if slope is not None:
        entries["TemperatureOddsRatio", suffix] = latex.tex_number(slope.value, 3)
        ends = "NA" if slope.lo is None or slope.hi is None else f"$[{slope.lo:.3f}, {slope.hi:.3f}]$"
        entries["TemperatureOddsRatioInterval", suffix] = ends
    return {tuple(part for part in parts if part): value for parts, value in entries.items()}


def number(one: Estimate, key: str) -> float | None:
    """A companion of an estimate; None where it is undefined."""
    value = one.also.get(key)
    return float(value) if isinstance(value, float | int) else None


def percent(one: Estimate | None, *, sign: bool = False) -> str:
    """A share or difference in percentage points; NA where it is undefined."""
    return latex.tex_number(None if one is None or one.value is None else 100.0 * one.value, sign=sign)


def interval(one: Estimate, *, sign: bool) -> str:
    """[lo, hi] in percentage points; NA where there is none."""
    if one.lo is None or one.hi is None:
        return "NA"
    form = "+.1f" if sign else ".1f"
    return f"$[{100 * one.lo:{form}}, {100 * one.hi:{form}}]$"


def _effect(results: Results, row: Metric) -> tuple[str, str, str, str]:
    """Variant, pressure, effect with its interval, adjusted p."""
    one = row.estimate
    names = (latex.tex_escaped(name) for name in (row.where["model"], results.short(row)))
    p = latex.tex_p_value(number(one, "p_adjusted"))
    variant, pressure = names
    return variant, pressure, f"{percent(one, sign=True)} {interval(one, sign=True)}", p


def pressure_table(results: Results, rule: str) -> str:
    """The headline table: effect, adjusted p, override with its denominator, excess override."""
    rows = []
    for row in results.rows("pressure_effect", rule):
        beyond, denominator, rate = None, "0", None
        for override in results.rows("conditional_rate", rule, **row.where, measure="override"):
            rate, denominator, beyond = override.estimate, str(override.estimate.n), results.beside(override, "excess")
        rows.append((*_effect(results, row), percent(rate), denominator, percent(beyond, sign=True)))
    columns = ("variant", "pressure", "effect (points)", "$p$ (Holm)", r"override (\%)", "$n$", "excess (points)")
    return latex.tex_table(columns, rows, align="llrrrrr")


def seed_pressure_table(results: Results, rule: str) -> str:
    """The reference's pressure table: change of error, override and rescue with their counts, McNemar's exact p.

    A rate whose denominator is 0 is NA.
    """
    rows = []
    for row in results.rows("pressure_effect", rule):
        rates = []
        for measure in ("override", "rescue"):
            one = results.one("conditional_rate", rule, **row.where, measure=measure) or Estimate(None, 0)
            rates += [f"{one.also.get('k', 0)}/{one.n}", percent(one)]
        test = results.beside(row, "test") or Estimate(None, 0)
        names = (latex.tex_escaped(name) for name in (row.where["model"], results.short(row)))
        delta = latex.tex_number(number(row.estimate, "delta_pp"), 2, sign=True)
        rows.append((*names, str(row.estimate.n), delta, *rates, latex.tex_p_value(number(test, "p_exact"))))
    columns = ("variant", "pressure", "pairs", r"$\Delta$ error (points)", "override", r"\%", "rescue", r"\%", "$p$")
    return latex.tex_table(columns, rows, align="llrrrrrrr")


def endorsement_table(results: Results, rule: str, effect: str) -> str:
    """Endorsement of the planted answer under control and pressure, and its change; `effect` says on which items."""
    rows = []
    for row in results.rows(effect, rule):
        shares = (number(row.estimate, key) for key in ("control", "pressure"))
        shown = (latex.tex_number(None if share is None else 100.0 * share) for share in shares)
        variant, pressure, effect_and_interval, p = _effect(results, row)
        rows.append((variant, pressure, *shown, effect_and_interval, p))
    columns = ("variant", "pressure", r"control (\%)", r"pressure (\%)", "effect (points)", "$p$ (Holm)")
    return latex.tex_table(columns, rows, align="llrrrr")


def tex_files(results: Results, rule: str) -> dict[str, str]:
    """The headline tables by one rule version, and the reference's pressure table by each, as LaTeX."""
    files = {
        "numbers.tex": macros(results),
        "tables/pressure_effects.tex": pressure_table(results, rule),
        "tables/opinion_effects.tex": endorsement_table(results, rule, "opinion_effect"),
    }
    if results.one("planted_effect_family", rule) is not None:
        files["tables/planted_effects.tex"] = endorsement_table(results, rule, "planted_effect")
    for each in results.rules:
        files[f"tables/{folder_of(each)}seed_pressure.tex"] = seed_pressure_table(results, each)
    return files
