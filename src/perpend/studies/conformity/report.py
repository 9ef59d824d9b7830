"""report.md of the conformity study: the headline first, then what it rests on, then what it does not show."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from perpend.inert import markdown
from perpend.measure.outcomes import OUTCOME, PART
from perpend.measure.study import Metric, Numbers, Report, Section
from perpend.report.answer import counted
from perpend.report.outcomes import LISTED
from perpend.report.tables import markdown_table, with_ends
from perpend.stats.families import is_shown
from perpend.studies.conformity.answer import answer_sentences, cautions_of
from perpend.studies.conformity.figures import EFFECTS, TOPICS, figures
from perpend.studies.conformity.tables import Results, tables, tex_files
from perpend.types import Estimate

_SHORT = 10
_MEASURED = {
    "planted_effect": "planted answers",
    "pressure_effect": "factual error",
    "opinion_effect": "planted opinions",
}
_RULE_NAMES = {
    "1": "rule 1 (the reference's)",
    "2": "rule 2 (ours)",
}
_DEFINITIONS = """\
- **Error rate**: wrong answers / factual trials that have a correctness. Refusals and empty answers count as wrong.
- **Effect on planted answers**: endorsed under pressure − endorsed under control, over the same factual items.
- **Effect on error**: error under pressure − error under control, over the same items. A model that is wrong anyway
  can take up the planted answer without a new error. Sampling noise averages out of both.
- **Truth override**: wrong under pressure / right under control. NA when nothing was right under control.
- **Truth rescue**: right under pressure / wrong under control. NA when nothing was wrong under control.
- **Wrong-answer flip**: endorses the planted answer under pressure / does not under control, factual items.
- **Excess**: the same rate minus what changes between the control and its retest, over the same denominator. A model
  that is asked twice changes some answers by itself; only the excess is an effect of pressure. Trials at temperature 0
  are left out of it: there the retest repeats the control and shows no noise.
- **Endorsement**: the planted answer is given as the model's own. **Mention**: it occurs at all.
- **Intervals** are 95%. Where an item is asked more than once (temperatures, repeats) they are clustered by item; the
  naive intervals, which take every row for an independent item, are in the tables.
- **p** is the sign flip of whole items where items repeat, else McNemar's mid-p. Holm adjusts the declared family:
  every variant × pressure × both measures (planted answers, errors) by rule 2, errors alone by rule 1.
  Opinion items are a second family. Benjamini–Hochberg adjusts the topics, which are exploratory.
- **NA** is undefined: a denominator of 0, or no complete pair. It is never 0."""
_OUTCOMES = f"""\
Factual answers that have a verdict, in %. What is not right gives the planted answer, gives another, or abstains: it
declines or says that it does not know. Some right answers give only a part of the target. {LISTED}"""
_LIMITS = """\
- Labels come from rules that read text, not from people. Compare the two rules above, read cases (`perpend show`), and
  label a sample by hand before a claim rests on a small difference.
- By our rules answers that were never reached have no label and are left out; by rule 1 they are scored as they stand.
- The regression and the temperature contrasts leave out refusals, as the reference does. Pressure may cause refusals,
  so their bounds belong beside them (STAT016).
- Items are taken for a sample of the items that could have been asked; nothing here speaks of other topics."""


def study_report(numbers: Numbers, *, with_figures: bool) -> Report:
    """The whole report; the newest rule version is the headline. Without figures it links to none."""
    results = Results(numbers)
    head = results.rules[-1]
    drawn = tuple(figures(results)) if with_figures else ()
    paths = [f"figures/{figure.name}.png" for figure in drawn]

    def picture(name: str) -> str:
        path = f"figures/{name}_double.png"
        return f"\n\n![{markdown(name)}]({path})" if path in paths else ""

    sections = {
        "Pressure effects": _pressure(results) + picture(EFFECTS),
        "What the answers give": _outcomes(results, head),
        "Without an answer": _unanswered(results, head),
        "Override, rescue and flip": _conditional(results, head),
        "Opinion items": _opinion(results, head),
        "Temperature and regression": f"{_temperature(results, head)}\n\n{_regression(results, head)}",
        "Topics (exploratory)": _topics(results, head) + picture(TOPICS),
        "How the answers were labelled": _rules(results),
        "What was run": _coverage(results),
        "Cautions": _cautions(results, head),
        "Figures": "\n".join(f"- [{markdown(path)}]({path})" for path in paths) or "None drawn.",
        "Definitions and denominators": _DEFINITIONS,
        "Limits": _LIMITS,
    }
    return Report(
        title="Conformity: what pressure does to answers",
        headline=_headline(results, head),
        sections=tuple(Section(title, text) for title, text in sections.items()),
        tables=tuple(tables(results)),
        figures=drawn,
        answer=answer_sentences(results, head),
        cautions=cautions_of(results, head),
        files=tex_files(results, head),
    )


def shown_p(p: object) -> str:
    """A p with two significant digits; NA where it is undefined."""
    if not isinstance(p, float | int):
        return "NA"
    return f"{p:.2g}" if p > 0.0 else "< 1e-300"


def _percent(one: Estimate | None, key: str) -> str:
    """A companion of an estimate as a percentage."""
    value = None if one is None else one.also.get(key)
    return f"{100 * value:.1f}" if isinstance(value, float) else "NA"


def _kind(row: Metric) -> str:
    return {"opinion_effect": "opinion", "planted_effect": "factual, planted"}.get(row.name, "factual")


def _between(one: Estimate | None) -> str:
    """What an effect can be, whatever the missing verdicts were."""
    ends = [] if one is None else [one.also.get(key) for key in ("least", "most")]
    return " to ".join(f"{100 * end:+.1f}".replace("-", "−") for end in ends if isinstance(end, float)) or "NA"


def _test(results: Results, row: Metric) -> str:
    test = results.beside(row, "test")
    return shown_p(None if test is None else test.value)


def _override(results: Results, row: Metric) -> Estimate | None:
    rule = row.scorer.rpartition("@")[2]
    return results.one("conditional_rate_excess", rule, **row.where, measure="override")


_COLUMNS: Mapping[str, Callable[[Results, Metric], str]] = {
    "rate": lambda _, row: row.where["measure"],
    "variant": lambda _, row: markdown(row.where.get("model", "all")),
    "pressure": lambda results, row: markdown(results.short(row)),
    "condition": lambda results, row: markdown(results.short(row)),
    "topic": lambda _, row: markdown(row.where["topic"]),
    "error, control %": lambda _, row: _percent(row.estimate, "control"),
    "error, pressure %": lambda _, row: _percent(row.estimate, "pressure"),
    "control %": lambda _, row: _percent(row.estimate, "control"),
    "pressure %": lambda _, row: _percent(row.estimate, "pressure"),
    "effect, points": lambda _, row: with_ends(row.estimate, sign=True),
    "p": _test,
    "p (Holm)": lambda _, row: shown_p(row.estimate.also.get("p_adjusted")),
    "p (BH)": lambda _, row: shown_p(row.estimate.also.get("p_adjusted")),
    "pairs": lambda _, row: str(row.estimate.n),
    "refused, left out": lambda _, row: str(row.estimate.also["refused_pairs"]),
    "%": lambda _, row: with_ends(row.estimate),
    "k/n": lambda _, row: f"{row.estimate.also.get('k', 0)}/{row.estimate.n}",
    "items": lambda _, row: _kind(row),
    "no answer, control %": lambda results, row: _percent(results.beside(row, "no_answer"), "control"),
    "no answer, pressure %": lambda results, row: _percent(results.beside(row, "no_answer"), "pressure"),
    "effect lies between, points": lambda results, row: _between(results.beside(row, "no_answer")),
    "by retest alone, %": lambda results, row: _percent(results.beside(row, "excess"), "retest_rate"),
    "excess, points": lambda results, row: with_ends(results.beside(row, "excess"), sign=True),
    "excess override, points": lambda results, row: with_ends(_override(results, row), sign=True),
    "effect by rule 1": lambda results, row: with_ends(results.one("pressure_effect", "1", **row.where), sign=True),
}
"""What each column of the page's tables shows of a row."""


def _table(results: Results, rows: Iterable[Metric], *columns: str, **renamed: str) -> str:
    cells = [[_COLUMNS[column](results, row) for column in columns] for row in rows]
    return markdown_table([renamed.get(column.partition(",")[0], column) for column in columns], cells)


def _are(n: object) -> str:
    return "is" if n == 1 else "are"


def _headline(results: Results, rule: str) -> str:
    study = results.numbers.cite("study", "").also
    design = ", ".join((
        counted(len(results.variants), "variant"),
        counted(len(results.conditions.pressures), "pressure"),
        counted(len(results.temperatures), "temperature"),
    ))  # fmt: skip
    items = f"{study['factual_items']} factual and {counted(study['opinion_items'], 'opinion item')}"
    units = "Effects are in percentage points with 95% intervals clustered by item."
    lines = [f"{design}, {items}. Labels by {_RULE_NAMES[rule]}. {units}", ""]
    for name, what in _MEASURED.items():
        family = results.one(f"{name}_family", rule)
        if family is not None and family.n:
            over = f" over the {family.also['tests']} of both measures" if "tests" in family.also else ""
            lines.append(f"- **{_share_of(family, 'pressure effect', f' on {what}')} from 0 after Holm{over}.**")
            others = [row for row in results.rows(name, rule) if not is_shown(row.estimate)]
            if others:
                lines[-1] += f" The other {len(others)}: no effect shown, which is not 'no effect'."
            lines.append(_detectable(family, what))
    moved = [row for name in _MEASURED for row in results.rows(name, rule)
             if (one := results.beside(row, "no_answer")) is not None and is_shown(one)]  # fmt: skip
    if moved:
        where = ", ".join(dict.fromkeys(
            f"{_COLUMNS['variant'](results, row)} under {_COLUMNS['pressure'](results, row)}" for row in moved
        ))  # fmt: skip
        lines.append(f"- **Pressure changes how often there is an answer at all** ({where}): see 'Without an answer'.")
    if results.conditions.retest is None or results.temperatures == ("0",):
        why = "is no retest of the control" if results.conditions.retest is None else "is no temperature above 0"
        lines.append(
            f"- There {why}, so override, rescue and flip cannot be distinguished from noise: read the effects."
        )
    return "\n".join(lines)


def _detectable(family: Estimate, what: str) -> str:
    """The smallest effect that the items can show as one of the family; NA, with the reason, where there is none."""
    least, most = (family.also.get(key) for key in ("mde_least", "mde_most"))
    lead = f"- The smallest effect on {what} that this number of items shows with 80% power"
    if not isinstance(least, float) or not isinstance(most, float):
        return f"{lead} is NA: there are too few of them for any."
    if least == most:
        return f"{lead} is {100 * least:.1f} points."
    return f"{lead} is {100 * least:.1f} to {100 * most:.1f} points, depending on the variant and the pressure."


def _share_of(family: Estimate, noun: str, what: str) -> str:
    """'2 of 4 effects on … differ', in numbers that agree with their noun."""
    return f"{family.value:g} of {counted(family.n, noun)}{what} {'differs' if family.value == 1 else 'differ'}"


def _pressure(results: Results) -> str:
    rule, parts = results.rules[-1], []
    planted, errors = results.rows("planted_effect", rule), results.rows("pressure_effect", rule)
    if planted:
        columns = ("variant", "pressure", "control %", "pressure %", *_lacking(results, planted), "effect, points",
                   "p", "p (Holm)", "pairs")  # fmt: skip
        parts += ["Planted answers: the share of factual answers that give the planted answer as the model's own.",
                  _table(results, planted, *columns)]  # fmt: skip
    older = ("effect by rule 1",) if len(results.rules) > 1 else ()
    columns = ("variant", "pressure", "error, control %", "error, pressure %", *_lacking(results, errors),
               "effect, points", "p", "p (Holm)", "pairs", "excess override, points", *older)  # fmt: skip
    parts += ["Errors: the share of factual answers that are wrong, whatever they give instead."] * bool(planted)
    return "\n\n".join([*parts, _table(results, errors, *columns)])


def _lacking(results: Results, rows: Iterable[Metric]) -> tuple[str, ...]:
    """The columns that stand beside rates where some trial has no verdict."""
    is_lacking = any(results.beside(row, "no_answer") is not None for row in rows)
    return ("no answer, control %", "no answer, pressure %") if is_lacking else ()


def _outcomes(results: Results, rule: str) -> str:
    """What factual answers give, by variant and condition: right, planted, another answer, or none."""
    rows: dict[tuple[str, str], dict[str, str]] = {}
    for row in (*results.rows(OUTCOME, rule), *results.rows(PART, rule)):
        cells = rows.setdefault((row.where["model"], row.where["condition"]), {"answers": str(row.estimate.n)})
        if row.name == PART:
            cells["by a part only"] = f"{row.estimate.also['k']} of {counted(row.estimate.n, 'right answer')}"
        else:
            cells[f"{row.where['outcome']} %"] = with_ends(row.estimate)
    if not rows:
        return "Not split; `perpend score RUN --only abstained --only uncertain` scores what it takes."
    table = [[*map(markdown, place), *cells.values()] for place, cells in rows.items()]
    return "\n\n".join([_OUTCOMES, markdown_table(["variant", "condition", *next(iter(rows.values()))], table)])


def _unanswered(results: Results, rule: str) -> str:
    """What trials without a verdict leave open of every effect, and whether pressure changes their share."""
    rows = [row for name in _MEASURED for row in results.rows(name, rule)
            if results.beside(row, "no_answer") is not None]  # fmt: skip
    if not rows:
        return "Every trial has a verdict."
    lines = []
    for row in rows:
        one = results.beside(row, "no_answer")
        if one is not None and is_shown(one):
            p = one.also.get("p_adjusted")
            place = f"{markdown(row.where['model'])} under {markdown(results.conditions.short(row.where['condition']))}"
            lines.append(f"- **{place}, {_kind(row)} items: {with_ends(one, sign=True)} points without an answer** "
                         f"(p = {shown_p(p)} after Holm). The two rates rest on different trials.")  # fmt: skip
    columns = ("variant", "pressure", "items", "no answer, control %", "no answer, pressure %",
               "effect lies between, points", "effect, points")  # fmt: skip
    lines = lines or ["No difference in this share between pressure and control is shown."]
    says = (
        "A failed call, an answer that was cut off or never reached, and one that cannot be read have no verdict. The\n"
        "effect is over the others; it lies between the bounds whatever the missing verdicts were."
    )
    return "\n\n".join([says, _table(results, rows, *columns), "\n".join(lines)])


def _conditional(results: Results, rule: str) -> str:
    columns = ("rate", "variant", "pressure", "%", "k/n", "by retest alone, %", "excess, points")
    return _table(results, results.rows("conditional_rate", rule), *columns)


def _opinion(results: Results, rule: str) -> str:
    rows = results.rows("opinion_effect", rule)
    if not rows:
        return "No opinion items."
    columns = ("variant", "pressure", "control %", "pressure %", *_lacking(results, rows), "effect, points", "p (Holm)",
               "pairs")  # fmt: skip
    parts = [
        "Share of answers that endorse the planted answer; there is no right one.",
        _table(results, rows, *columns),
    ]
    overall = results.overall("mention_mismatch", rule)
    if overall is not None:
        one = overall.estimate
        differ = f"Mention and endorsement differ on {with_ends(one)}% of {counted(one.n, 'opinion trial')}: "
        parts.append(differ + "a rule that counts mentions is off by that much.")
    return "\n\n".join(parts)


def _temperature(results: Results, rule: str) -> str:
    rows = results.rows("temperature_effect", rule)
    if not rows:
        return "One temperature, so nothing to compare."
    ends = rows[0].estimate.also
    contrast = f"error at {ends['temperature_high']:g} − error at {ends['temperature_low']:g}, points"
    columns = ("variant", "condition", "effect, points", "p", "pairs", "refused, left out")
    return _table(results, rows, *columns, effect=contrast)


def _regression(results: Results, rule: str) -> str:
    fit, slope = results.rows("regression", rule)[0].estimate, results.one("regression_slope", rule)
    if slope is None:
        return f"No regression: {markdown(fit.note)}"
    refused = counted(fit.also["refusals_excluded"], "refusal")
    fitted = f"Logit of error on variant × condition + temperature, {counted(fit.n, 'factual trial')}"
    lines = [f"{fitted}; {refused} left out."]
    if slope.value is not None:
        odds = with_ends(slope, 3, scale=1.0)
        lines.append(f"Odds ratio of error per +1.0 of temperature: {odds} ({slope.method}).")
    rows = []
    for row in results.rows("regression_term", rule):
        ratio = results.beside(row, "ratio") or Estimate(None, 0)
        shown = "NA" if ratio.value is None else f"{ratio.value:.2f}"
        rows.append((row.where["term"], shown_p(row.estimate.also.get("p")), shown, shown_p(ratio.also.get("p"))))
    columns = ["term", "clustered p", "likelihood ratio (rows taken for independent)", "its p"]
    return "\n".join([*lines, "", markdown_table(columns, rows)])


def _topics(results: Results, rule: str) -> str:
    family = results.rows("topic_effect_family", rule)[0].estimate
    parts = [f"{_share_of(family, 'slice', ' (variant × pressure × topic)')} from 0 after Benjamini–Hochberg."]
    rows = [row for row in results.rows("topic_effect", rule) if is_shown(row.estimate)]
    if rows:
        parts.append(_table(results, rows, "variant", "pressure", "topic", "effect, points", "p (BH)", "pairs"))
    return "\n\n".join([*parts, "All slices: `tables/companions/topic_effects.csv`."])


def _rules(results: Results) -> str:
    names = " and ".join(_RULE_NAMES[rule] for rule in results.rules)
    parts = [f"Judged by {names}. Every label can be derived again from the stored answer."]
    metrics = results.numbers.find("rule_disagreement")
    if metrics:
        judged = list(dict.fromkeys(row.where["judgement"] for row in metrics))
        shares = {(row.where["judgement"], row.where["model"]): with_ends(row.estimate) for row in metrics}
        rows = [[markdown(v), *(shares.get((name, v), "NA") for name in judged)] for v in results.variants]
        parts += ["Share of trials, in %, that the two rules judge differently:"]
        parts += [markdown_table(["variant", *judged], rows)]
    return "\n\n".join(parts)


def _coverage(results: Results) -> str:
    study, cells = results.numbers.cite("study", ""), results.numbers.find("integrity")
    incomplete = [cell for cell in cells if cell.estimate.also["found"] != cell.estimate.also["expected"]]
    done = study.also
    amounts = (
        f"{done['answered']} of {counted(study.n, 'expected trial')} {_are(study.n)} answered",
        f"{done['complete_cells']} of {counted(done['cells'], 'cell')} {_are(done['cells'])} complete",
        f"{counted(done['empty'], 'answer')} {_are(done['empty'])} empty, {done['unfinished']} unfinished.",
    )
    lines = [f"Runs: {', '.join(markdown(name) for name in results.numbers.runs)}.", "; ".join(amounts)]
    for cell in incomplete[:_SHORT]:
        where, counts = cell.where, cell.estimate.also
        lines.append(
            f"- {markdown(where['model'])}, {markdown(where['condition'])}, temperature {where['temperature']}, "
            f"{where['kind']}: {counts['found']} of {counts['expected']}"
        )
    if len(incomplete) > _SHORT:
        lines.append(f"- and {len(incomplete) - _SHORT} more; see `tables/companions/integrity.csv`")
    return "\n".join(lines)


def _cautions(results: Results, rule: str) -> str:
    lines = []
    for row in results.rows("caution", rule):
        (worst,) = row.estimate.cautions
        lines.append(f"- {worst.id} ({row.estimate.value:g}×, the worst): {markdown(worst.text)}")
    return "\n".join(lines) or "None."
