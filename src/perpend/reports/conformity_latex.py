"""The study's numbers as LaTeX commands, and its headline tables."""

from __future__ import annotations

from collections.abc import Sequence

from perpend.reports import latex
from perpend.reports.conformity_findings import Findings
from perpend.reports.conformity_trials import Trials, short_name
from perpend.types import Estimate

_SUFFIX = {"1": "RuleOne", "2": "RuleTwo"}


def macros(trials: Trials, found: Sequence[Findings]) -> str:
    r"""One command for each number, such as \PressureEffectInstructAsch; percentages and points have one decimal.

    The newest rule's numbers have no suffix, the others' end in RuleOne. …Interval is the 95% interval, …P the p after
    Holm. Undefined is NA.
    """
    entries: dict[tuple[str, ...], str] = {
        ("TotalTrials",): str(int(trials.answered.sum())),
        ("FactualTrials",): str(int((trials.answered & ~trials.opinion).sum())),
        ("OpinionTrials",): str(int((trials.answered & trials.opinion).sum())),
    }
    for one in found:
        entries |= _of_rule(trials, one, "" if one is found[-1] else _SUFFIX[one.rule])
    return latex.macros(entries)


def _of_rule(trials: Trials, found: Findings, suffix: str) -> dict[tuple[str, ...], str]:
    variants = latex.macro_words(trials.variants)
    pressures = latex.macro_words([short_name(name, trials.pressures) for name in trials.pressures])
    entries: dict[tuple[str, ...], str] = {}

    def put(name: str, words: Sequence[str], one: Estimate | None, *, sign: bool) -> None:
        value = None if one is None or one.value is None else 100.0 * one.value
        entries[name, *words, suffix] = latex.number(value, sign=sign)
        entries[name, *words, "Interval", suffix] = interval(one, sign=sign)

    for prefix, family in (("PressureEffect", found.pressure), ("OpinionEffect", found.opinion)):
        for one in family.effects:
            words = (variants[one.variant], pressures[short_name(one.pressure, trials.pressures)])
            put(prefix, words, one.difference, sign=True)
            entries[prefix, *words, "P", suffix] = latex.p_value(one.adjusted)
    for rate in found.conditional:
        words = (variants[rate.variant], pressures[short_name(rate.pressure, trials.pressures)])
        name = rate.measure.capitalize()
        put(name, words, rate.rate, sign=False)
        entries[name, *words, "Denominator", suffix] = str(rate.rate.n)
        if rate.excess is not None:
            put(f"Excess{name}", words, rate.excess, sign=True)
    for mention in found.mentions:
        word = "Overall" if mention.variant is None else variants[mention.variant]
        put("MentionMismatch", (word,), mention.mismatch, sign=False)
    tests = found.regression.tests
    if tests is not None:
        slope = tests.slope
        entries["TemperatureOddsRatio", suffix] = latex.number(slope.value, 3)
        ends = "NA" if slope.lo is None or slope.hi is None else f"$[{slope.lo:.3f}, {slope.hi:.3f}]$"
        entries["TemperatureOddsRatioInterval", suffix] = ends
    return {tuple(part for part in parts if part): value for parts, value in entries.items()}


def interval(one: Estimate | None, *, sign: bool) -> str:
    """[lo, hi] in percentage points; NA where there is none."""
    if one is None or one.lo is None or one.hi is None:
        return "NA"
    form = "+.1f" if sign else ".1f"
    return f"$[{100 * one.lo:{form}}, {100 * one.hi:{form}}]$"


def pressure_table(trials: Trials, found: Findings) -> str:
    """The headline table: effect, adjusted p, override with its denominator, excess override."""
    rows = []
    for one in found.pressure.effects:
        override = found.conditional_of("override", one.variant, one.pressure)
        value = None if one.difference.value is None else 100.0 * one.difference.value
        rate = None if override is None or override.rate.value is None else 100.0 * override.rate.value
        beyond = None if override is None else override.excess
        rows.append((
            latex.escaped(one.variant),
            latex.escaped(short_name(one.pressure, trials.pressures)),
            f"{latex.number(value, sign=True)} {interval(one.difference, sign=True)}",
            latex.p_value(one.adjusted),
            latex.number(rate),
            "0" if override is None else str(override.rate.n),
            latex.number(None if beyond is None or beyond.value is None else 100.0 * beyond.value, sign=True),
        ))  # fmt: skip
    columns = ("variant", "pressure", "effect (points)", "$p$ (Holm)", r"override (\%)", "$n$", "excess (points)")
    return latex.table(columns, rows, align="llrrrrr")


def opinion_table(trials: Trials, found: Findings) -> str:
    """Endorsement on opinion items under control and pressure, and its change."""
    rows = []
    for one in found.opinion.effects:
        shares = (one.difference.also.get("control"), one.difference.also.get("pressure"))
        value = None if one.difference.value is None else 100.0 * one.difference.value
        rows.append((
            latex.escaped(one.variant),
            latex.escaped(short_name(one.pressure, trials.pressures)),
            *(latex.number(100.0 * share if isinstance(share, float) else None) for share in shares),
            f"{latex.number(value, sign=True)} {interval(one.difference, sign=True)}",
            latex.p_value(one.adjusted),
        ))  # fmt: skip
    columns = ("variant", "pressure", r"control (\%)", r"pressure (\%)", "effect (points)", "$p$ (Holm)")
    return latex.table(columns, rows, align="llrrrr")
