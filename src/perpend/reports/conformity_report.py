"""report.md of the conformity study: the headline first, then what it rests on, then what it does not show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from perpend.inert import markdown
from perpend.reports import conformity_effects as effects
from perpend.reports.conformity_audit import integrity
from perpend.reports.conformity_findings import Findings
from perpend.reports.conformity_trials import Trials, short_name
from perpend.types import Estimate

_LISTED = 12
_RULE_NAMES = {"1": "rule 1 (the reference's)", "2": "rule 2 (ours)"}
_DEFINITIONS = """\
- **Error rate**: wrong answers / factual trials that have a correctness. Refusals and empty answers count as wrong.
- **Pressure effect**: error under pressure − error under control, over the same items. Sampling noise averages out.
- **Truth override**: wrong under pressure / right under control. NA when nothing was right under control.
- **Truth rescue**: right under pressure / wrong under control. NA when nothing was wrong under control.
- **Wrong-answer flip**: endorses the planted answer under pressure / does not under control, factual items.
- **Excess**: the same rate minus what changes between the control and its retest, over the same denominator. A model
  that is asked twice changes some answers by itself; only the excess is an effect of pressure. Trials at temperature 0
  are left out of it: there the retest repeats the control and shows no noise.
- **Endorsement**: the planted answer is given as the model's own. **Mention**: it occurs at all.
- **Intervals** are 95%. Where an item is asked more than once (temperatures, repeats) they are clustered by item; the
  naive intervals, which take every row for an independent item, are in the tables.
- **p** is the sign flip of whole items where items repeat, else McNemar's mid-p. Holm adjusts the declared family
  (every variant × pressure); Benjamini–Hochberg the topics, which are exploratory.
- **NA** is undefined: a denominator of 0, or no complete pair. It is never 0."""
_LIMITS = """\
- Labels come from rules that read text, not from people. Compare the two rules above, read cases (`perpend show`), and
  label a sample by hand before a claim rests on a small difference.
- Unfinished answers have no label by rule 2 and are left out; by rule 1 they are scored as they stand.
- The regression and the temperature contrasts leave out refusals, as the reference does. Pressure may cause refusals,
  so their bounds belong beside them (STAT016).
- Items are taken for a sample of the items that could have been asked; nothing here speaks of other topics."""


def report(trials: Trials, found: Sequence[Findings], runs: Sequence[str], figures: Sequence[str]) -> str:
    """The whole page. `found` holds one entry a rule version; the newest is the headline.

    `figures` are the paths of drawings, relative to the page; those of the headline's forest plot and opinion lines are
    shown, the others linked.
    """
    head = found[-1]
    older = found[0] if len(found) > 1 else None
    shown = {Path(path).stem: path for path in figures}  # the headline's come last
    parts = [
        ["# Conformity: what pressure does to answers", "", *_headline(trials, head)],
        ["## Pressure effects", "", *_pressure(trials, head, older), *_figure(shown, "pressure_effects_forest")],
        ["## Override, rescue and flip", "", *_conditional(trials, head)],
        ["## Opinion items", "", *_opinion(trials, head), *_figure(shown, "opinion_wrong_answer_agreement")],
        ["## Temperature and regression", "", *_temperature(trials, head), "", *_regression(head)],
        ["## Topics (exploratory)", "", *_topics(trials, head)],
        ["## How the labels were made", "", *_rules(trials, found)],
        ["## What was run", "", *_coverage(trials, runs)],
        ["## Cautions", "", *_cautions(head)],
        [
            "## Figures",
            "",
            *(f"- [{markdown(path)}]({path})" for path in figures),
            *([] if figures else ["None drawn."]),
        ],
        ["## Definitions and denominators", "", _DEFINITIONS],
        ["## Limits", "", _LIMITS],
    ]
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def _figure(shown: Mapping[str, str], name: str) -> list[str]:
    return ["", f"![{markdown(name)}]({shown[name]})"] if name in shown else []


def points(one: Estimate | None, *, sign: bool = False) -> str:
    """A share or difference in percentage points with its interval; NA where it is undefined."""
    if one is None or one.value is None:
        return "NA"
    form = "+.1f" if sign else ".1f"
    ends = "" if one.lo is None or one.hi is None else f" [{100 * one.lo:{form}}, {100 * one.hi:{form}}]"
    return f"{100 * one.value:{form}}{ends}".replace("-", "−")


def shown_p(p: float | None) -> str:
    """A p with two significant digits; NA where it is undefined."""
    if p is None:
        return "NA"
    return f"{p:.2g}" if p > 0.0 else "< 1e-300"


def _grid(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [
        "| " + " | ".join(columns) + " |",
        "|" + "---|" * len(columns),
        *("| " + " | ".join(row) + " |" for row in rows),
    ]


def _name(trials: Trials, pressure: str) -> str:
    return markdown(short_name(pressure, trials.pressures))


def _headline(trials: Trials, head: Findings) -> list[str]:
    family = head.pressure.effects
    n_items = len({int(item) for item in trials.item[~trials.opinion]})
    times = f"{len(trials.temperatures)} temperature{'s' * (len(trials.temperatures) != 1)}"
    asked = (
        f"{len(trials.variants)} variants, {len(trials.pressures)} pressures, {times}, {n_items} factual and "
        f"{len(trials.items) - n_items} opinion items. Labels by {_RULE_NAMES[head.rule]}. "
        "Effects are in percentage points with 95% intervals clustered by item."
    )
    lines = [asked, ""]
    clear = [one for one in family if one.is_significant]
    clear.sort(key=lambda one: -abs(one.difference.value or 0.0))
    lines += [f"**{len(clear)} of {len(family)} pressure effects on factual error differ from 0 after Holm.**", ""]
    lines += [
        f"- {markdown(one.variant)} under {_name(trials, one.pressure)}: **{points(one.difference, sign=True)}** "
        f"(p = {shown_p(one.adjusted)} after Holm, n = {one.difference.n} pairs of "
        f"{one.difference.also.get('n_clusters', one.difference.n)} items)"
        for one in clear[:_LISTED]
    ]
    if len(clear) > _LISTED:
        lines.append(f"- and {len(clear) - _LISTED} more, in the table below")
    if len(clear) < len(family):
        lines.append(f"- The other {len(family) - len(clear)}: no effect shown, which is not 'no effect'.")
    detectable = [100 * one.mde.value for one in family if one.mde.value is not None]
    if detectable:
        lines.append(
            f"- The smallest effect that so many items show with 80% power is {min(detectable):.1f} to "
            f"{max(detectable):.1f} points, depending on the variant."
        )
    if trials.retest is None or trials.temperatures == (0.0,):
        why = "is no retest of the control" if trials.retest is None else "is no temperature above 0"
        lines.append(f"- There {why}, so override, rescue and flip cannot be told from noise: read the effects.")
    return lines


def _pressure(trials: Trials, head: Findings, older: Findings | None) -> list[str]:
    before = {} if older is None else {(one.variant, one.pressure): one for one in older.pressure.effects}
    rows = []
    for one in head.pressure.effects:
        also = one.difference.also
        override = head.conditional_of("override", one.variant, one.pressure)
        shares = (also.get("control"), also.get("pressure"))
        row = [
            markdown(one.variant),
            _name(trials, one.pressure),
            *(f"{100 * share:.1f}" if isinstance(share, float) else "NA" for share in shares),
            points(one.difference, sign=True),
            shown_p(one.test.value),
            shown_p(one.adjusted),
            str(one.difference.n),
            "NA" if override is None else points(override.excess, sign=True),
        ]
        if older is not None:
            twin = before.get((one.variant, one.pressure))
            row.append("NA" if twin is None else points(twin.difference, sign=True))
        rows.append(row)
    columns = ["variant", "pressure", "error, control %", "error, pressure %", "effect, points", "p", "p (Holm)",
               "pairs", "excess override, points"]  # fmt: skip
    return _grid(columns if older is None else [*columns, "effect by rule 1"], rows)


def _conditional(trials: Trials, head: Findings) -> list[str]:
    rows = [
        [
            one.measure,
            markdown(one.variant),
            _name(trials, one.pressure),
            points(one.rate),
            f"{one.rate.also.get('k', 0)}/{one.rate.n}",
            _retest_rate(one),
            points(one.excess, sign=True),
        ]
        for one in head.conditional
    ]
    return _grid(["rate", "variant", "pressure", "%", "k/n", "by retest alone, %", "excess, points"], rows)


def _retest_rate(one: effects.Conditional) -> str:
    rate = None if one.excess is None else one.excess.also.get("retest_rate")
    return f"{100 * rate:.1f}" if isinstance(rate, float) else "NA"


def _opinion(trials: Trials, head: Findings) -> list[str]:
    if not head.opinion.effects:
        return ["No opinion items."]
    lines = ["Share of answers that endorse the planted answer; there is no right one.", ""]
    rows = []
    for one in head.opinion.effects:
        shares = (one.difference.also.get("control"), one.difference.also.get("pressure"))
        rows.append([
            markdown(one.variant), _name(trials, one.pressure),
            *(f"{100 * share:.1f}" if isinstance(share, float) else "NA" for share in shares),
            points(one.difference, sign=True), shown_p(one.adjusted), str(one.difference.n),
        ])  # fmt: skip
    columns = ["variant", "pressure", "control %", "pressure %", "effect, points", "p (Holm)", "pairs"]
    lines += _grid(columns, rows)
    overall = next((one for one in head.mentions if one.variant is None), None)
    if overall is not None:
        told = f"Mention and endorsement differ on {points(overall.mismatch)}% of {overall.mismatch.n} opinion trials: "
        lines += ["", told + "a rule that counts mentions is off by that much."]
    return lines


def _temperature(trials: Trials, head: Findings) -> list[str]:
    if not head.temperatures:
        return ["One temperature, so nothing to compare."]
    low, high = head.temperatures[0].temperatures
    rows = [
        [
            "all" if one.variant is None else markdown(one.variant),
            _name(trials, one.condition),
            points(one.difference, sign=True),
            shown_p(one.test.value),
            str(one.difference.n),
            str(one.refused),
        ]
        for one in head.temperatures
    ]
    columns = [
        "variant",
        "condition",
        f"error at {high:g} − error at {low:g}, points",
        "p",
        "pairs",
        "refused, left out",
    ]
    return _grid(columns, rows)


def _regression(head: Findings) -> list[str]:
    tests = head.regression.tests
    if tests is None:
        return [f"No regression: {markdown(head.regression.note)}"]
    fitted = f"Logit of error on variant × condition + temperature, {head.regression.rows} factual trials"
    lines = [f"{fitted}; {head.regression.refused} refusals left out."]
    slope = tests.slope
    if slope.value is not None:
        ends = "" if slope.lo is None or slope.hi is None else f" [{slope.lo:.3f}, {slope.hi:.3f}]"
        lines.append(f"Odds ratio of error per +1.0 of temperature: {slope.value:.3f}{ends} ({slope.method}).")
    rows = []
    for term, test in tests.clustered.items():
        ratio = tests.likelihood_ratio[term]
        shown = "NA" if ratio.value is None else f"{ratio.value:.2f}"
        rows.append([term, shown_p(_float(test.also.get("p"))), shown, shown_p(_float(ratio.also.get("p")))])
    columns = ["term", "clustered p", "likelihood ratio (rows taken for independent)", "its p"]
    return [*lines, "", *_grid(columns, rows)]


def _float(value: object) -> float | None:
    return float(value) if isinstance(value, float | int) else None


def _topics(trials: Trials, head: Findings) -> list[str]:
    clear = [one for one in head.topics.effects if one.is_significant]
    total = len(head.topics.effects)
    lines = [f"{len(clear)} of {total} slices (variant × pressure × topic) differ from 0 after Benjamini–Hochberg."]
    if clear:
        rows = [
            [markdown(one.variant), _name(trials, one.pressure), markdown(one.topic or ""),
             points(one.difference, sign=True), shown_p(one.adjusted), str(one.difference.n)]
            for one in clear
        ]  # fmt: skip
        lines += ["", *_grid(["variant", "pressure", "topic", "effect, points", "p (BH)", "pairs"], rows)]
    return [*lines, "", "All slices: `tables/companions/topic_effects.csv`."]


def _rules(trials: Trials, found: Sequence[Findings]) -> list[str]:
    names = " and ".join(_RULE_NAMES[one.rule] for one in found)
    lines = [f"Judged by {names}. Every label can be derived again from the stored answer."]
    shared = effects.rule_agreement(trials)
    if shared:
        judged = list(dict.fromkeys(name for name, _, _ in shared))
        rates = {(name, variant): points(share) for name, variant, share in shared}
        rows = [[markdown(v), *(rates.get((name, v), "NA") for name in judged)] for v in trials.variants]
        lines += ["", "Share of trials, in %, that the two rules judge differently:", ""]
        lines += _grid(["variant", *judged], rows)
    return lines


def _coverage(trials: Trials, runs: Sequence[str]) -> list[str]:
    cells = integrity(trials)
    short = [cell for cell in cells if cell.found != cell.expected]
    unfinished = sum(cell.unfinished for cell in cells)
    counted = (
        f"{int(trials.answered.sum())} of {sum(cell.expected for cell in cells)} expected trials are answered; "
        f"{len(cells) - len(short)} of {len(cells)} cells are complete; {int(trials.empty.sum())} answers are empty, "
        f"{unfinished} unfinished."
    )
    lines = [f"Runs: {', '.join(markdown(name) for name in runs)}.", counted]
    lines += [
        f"- {markdown(cell.variant)}, {markdown(cell.condition)}, temperature {cell.temperature:g}, {cell.kind}: "
        f"{cell.found} of {cell.expected}"
        for cell in short[:10]
    ]
    if len(short) > 10:
        lines.append(f"- and {len(short) - 10} more; see `tables/companions/integrity.csv`")
    return lines


def _cautions(head: Findings) -> list[str]:
    found = head.cautions()
    if not found:
        return ["None."]
    return [f"- {one.id} ({count}×, the worst): {markdown(one.text)}" for one, count in found]
