"""What a reader may believe of rules and judges: their rates, corrected by labels, and how they err."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from perpend.inert import markdown, plain
from perpend.measure.calibrated import CASCADE, READERS
from perpend.measure.samplings import settings_in
from perpend.measure.study import Metric, Numbers, Report, Section, TableOf
from perpend.report.answer import MOST, counted
from perpend.report.tables import markdown_table, p_value, with_ends
from perpend.types import Estimate

TITLE = "What the labels say"
ERRORS = ("sensitivity", "specificity", "precision", "npv", "agreement", "kappa", "ac1")
DIFFERENT, JUDGED = "STAT024", "judged"
_EXPLAINED = """\
The raw rate is the share of 1 among the trials with a verdict. Corrected, it is what the readers' labels would give
over the same trials: PPI++ learns from the labels what a verdict is worth, Rogan and Gladen divide the errors out. Both
intervals hold what the labels leave open. A rule or judge that errs differently under pressure moves a difference by
itself: then believe only the corrected one."""


def believed(report: Report, numbers: Numbers) -> Report:
    """The report with what judges say, and with the sentence, the section and the table about labels.

    As it is where there is neither a judge nor a label.
    """
    report = _with_judges(report, numbers)
    stems = [metric.scorer.partition(":")[2] for metric in numbers.find("labelled")]
    if not numbers.find("corrected_rate"):
        return report
    sentences = [line for stem in stems for line in _sentences(numbers, stem)]
    spoken = [plain(line) for line in sentences]
    section = Section(TITLE, "\n\n".join([_EXPLAINED, *(part for stem in stems for part in _parts(numbers, stem))]))
    return replace(
        report,
        headline="\n\n".join([report.headline, "\n".join(sentences)]),
        answer=(*report.answer[: max(MOST - len(spoken), 1)], *spoken)[:MOST],
        sections=(*report.sections, section),
        tables=(*report.tables, _table(numbers)),
    )


def _with_judges(report: Report, numbers: Numbers) -> Report:
    """The report with the rates and differences that judges give; a study's own sections are about its rules."""
    metrics = [metric for metric in numbers.metrics if metric.scorer.startswith(f"{JUDGED}:")]
    rows, settings = [], settings_in(metric.where for metric in metrics)
    for metric in metrics:
        if metric.name in ("rate", "difference"):
            p = metric.estimate.also.get("p") if metric.name == "difference" else None
            setting = (metric.where.get(key, "") for key in settings)
            place = (metric.scorer, metric.where["model"], *setting, metric.where["condition"])
            shown = with_ends(metric.estimate, unit="%", sign=metric.name == "difference")
            rows.append(
                [*map(markdown, place), metric.name, shown, str(metric.estimate.n), "" if p is None else p_value(p)]
            )
    if not rows:
        return report
    head = ["judge", "model", *settings, "condition", "number", "value", "n", "p"]
    unmeasured = (
        ""
        if numbers.find("labelled")
        else "\n\nNobody has measured these judges on answers of this run: `perpend label`."
    )
    section = Section("What judges say", markdown_table(head, rows) + unmeasured)
    return replace(report, sections=(*report.sections, section))


def _columns(numbers: Numbers, stem: str) -> list[str]:
    """The rules and judges of one thing, rules first, oldest first."""
    names = dict.fromkeys(metric.scorer for metric in numbers.find("corrected_rate", by="ppi"))
    return [name for name in names if name.partition("@")[0] in (stem, f"{JUDGED}:{stem}", f"{CASCADE}:{stem}")]


def _sentences(numbers: Numbers, stem: str) -> Iterator[str]:
    """'by rule 12%, by judge 9%, corrected by 150 labels 10% [7, 14]', and where errors differ between conditions."""
    columns = _columns(numbers, stem)
    if not columns:
        return
    rules = [name for name in columns if ":" not in name][-1:]
    others = [name for name in columns if ":" in name]
    corrected = _overall(numbers, (others or rules)[-1])
    raw = [f"by {_called(name)} {_percent(_overall(numbers, name).also.get('raw'))}" for name in (*rules, *others)]
    labels = numbers.cite("labelled", f"{READERS}:{stem}").also.get("k")
    rate = with_ends(corrected, unit="%")
    yield f"**{markdown(stem)}: {', '.join(raw)}, corrected by {counted(labels, 'label')} {rate}.**"
    for name in columns:
        for metric in numbers.find("errs_differently", name):
            if any(caution.id == DIFFERENT for caution in metric.estimate.cautions) and "model" not in metric.where:
                yield (
                    f"**{markdown(name)} errs differently between {markdown(metric.where['condition'])}** "
                    f"(p = {p_value(metric.estimate.value)}): its difference is not the subject's alone."
                )


def _called(name: str) -> str:
    kind, _, rest = name.partition(":")
    judge = f"judge {markdown(rest.partition('@')[2])}"
    return {JUDGED: judge, CASCADE: f"rule and {judge}"}.get(kind, f"rule {markdown(name)}")


def _overall(numbers: Numbers, name: str) -> Estimate:
    return next(row.estimate for row in numbers.find("corrected_rate", name, by="ppi") if row.where.keys() == {"by"})


def _parts(numbers: Numbers, stem: str) -> Iterator[str]:
    columns = _columns(numbers, stem)
    labelled = numbers.cite("labelled", f"{READERS}:{stem}")
    also = labelled.also
    by = f"{also['readers']} {'reader' if also['readers'] == 1 else 'readers'}"
    yield (
        f"**{markdown(stem)}**: {also['k']} of the {labelled.n} trials that {by} read have a label; "
        f"{also['undecidable']} could not be decided."
    )
    if also["drawn"] != also["k"]:
        yield (
            f"How {int(also['k'] or 0) - int(also['drawn'] or 0)} of these labels were drawn is not known; they "
            "count as drawn evenly. If they were chosen by verdict, the corrections are wrong."
        )
    agreements = [(name, numbers.get(name, f"{READERS}:{stem}")) for name in ("agreement", "kappa", "ac1", "alpha")]
    shown = [f"{name} {with_ends(one, 2, scale=1.0)}" for name, one in agreements if one is not None]
    if shown:
        yield f"The readers among themselves: {', '.join(shown)}."
    whole = {(row.name, row.scorer): row.estimate for row in numbers.metrics if not row.where}
    shares = {name: [with_ends(whole.get((kind, name)), 2, scale=1.0) for kind in ERRORS] for name in columns}
    rows = [[markdown(name), *own] for name, own in shares.items()]
    yield markdown_table(["against the labels", *ERRORS], rows)
    yield _rates(numbers, columns)
    differences = _differences(numbers, columns)
    if differences:
        yield differences


def _rates(numbers: Numbers, columns: Sequence[str]) -> str:
    rows = []
    for name in columns:
        for row in numbers.find("corrected_rate", name, by="ppi"):
            place = {key: value for key, value in row.where.items() if key != "by"}
            other = next(
                one.estimate
                for one in numbers.find("corrected_rate", name, by="rogan-gladen")
                if one.where == {**place, "by": "rogan-gladen"}
            )
            cells = (name, place.get("model", "all"), place.get("condition", "all"))
            one = row.estimate
            raw, labels = _percent(one.also.get("raw")), str(one.also.get("labels"))
            rows.append([*map(markdown, cells), raw, labels, with_ends(one, unit="%"), with_ends(other, unit="%")])
    return markdown_table(["by", "model", "condition", "raw", "labels", "PPI++", "Rogan–Gladen"], rows)


def _differences(numbers: Numbers, columns: Sequence[str]) -> str:
    rows = []
    for name in columns:
        for row in numbers.find("corrected_difference", name, by="ppi"):
            place = {key: value for key, value in row.where.items() if key != "by"}
            tests = [one.estimate for one in numbers.find("errs_differently", name) if one.where == place]
            one = row.estimate
            p = p_value(tests[0].value if tests else None)
            cells = (name, place.get("model", "all"), place["condition"])
            raw = _percent(one.also.get("raw"), sign=True)
            rows.append([*map(markdown, cells), raw, with_ends(one, unit="%", sign=True), p])
    head = ["by", "model", "pair", "raw difference", "corrected (PPI++)", "p that it errs alike"]
    return markdown_table(head, rows) if rows else ""


def _table(numbers: Numbers) -> TableOf:
    """Every number about labels, at full precision."""
    kinds = (*ERRORS, "corrected_rate", "corrected_difference", "errs_differently")
    keys = {"model", "condition", "by"}
    rows = [_row(one) for one in numbers.metrics if one.name in kinds and one.where.keys() <= keys]
    head = ("by", "number", "model", "condition", "correction", "value", "lo", "hi", "n", "raw", "labels", "note")
    return TableOf("labels", head, tuple(rows))


def _row(metric: Metric) -> tuple[str | int | float | None, ...]:
    one, where = metric.estimate, metric.where
    place = (where.get("model", ""), where.get("condition", ""), where.get("by", ""))
    raw, labels = one.also.get("raw"), one.also.get("labels")
    return (metric.scorer, metric.name, *place, one.value, one.lo, one.hi, one.n, raw, labels, one.note)


def _percent(value: object, *, sign: bool = False) -> str:
    form = "+.1f" if sign else ".1f"
    return f"{100 * value:{form}}%".replace("-", "−") if isinstance(value, float | int) else "NA"
