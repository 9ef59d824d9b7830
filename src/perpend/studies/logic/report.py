"""What is told of the benchmark's numbers: a headline for each model, tables by family, split and parser."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from perpend.inert import markdown
from perpend.measure.study import Numbers, Report, Section, TableOf, Value
from perpend.report import answer
from perpend.report.derive import HOW_TO_READ, covered, no_answer_sections, sections, unanswered
from perpend.report.tables import markdown_table, number, undefined
from perpend.studies.logic.metrics import (
    CONFUSION,
    LOW_SUPPORT,
    PAIRS,
    Measured,
    cells_of,
    measured,
    parser_of,
    parsers,
    parts,
    strata,
)
from perpend.types import Estimate

COUNTS = ("total", "valid", "invalid", "unfinished", "errors", "correct", *CONFUSION)
RATES = ("coverage", "accuracy_valid", "accuracy_effective", "balanced_accuracy", "balanced_accuracy_effective", "mcc")
COLUMNS = (
    *COUNTS,
    *(f"{name}{end}" for name in (*RATES, "tpr", "tnr", "bias") for end in ("", "_lo", "_hi")),
    "bias_verdict",
)
_CITED = ("balanced_accuracy", "tpr", "tnr", "coverage")
_LEANS = {"LABEL-BIASED": ": it leans to one label"}
_SHOWN = ("coverage", "balanced_accuracy", "mcc", "tpr", "tnr", "bias")
_HEAD = ("items", "coverage", "balanced accuracy", "MCC", "TPR", "TNR", "bias")
STRATA_HEAD = ("items", "effective n", "coverage", "balanced accuracy", "whole pairs right", "TPR", "TNR")


def report(numbers: Numbers) -> Report:
    """The headline, then by family and split for each model, each rule of reading, and the rates of every run."""
    parser, cells = parser_of(numbers), cells_of(numbers)
    overall = [(measured(numbers, parser, part="all", **cell), cell) for cell in cells]
    by_stratum = [strata(numbers, parser, **cell) for cell in cells]
    several = len({cell["model"] for cell in cells}) < len(cells)
    headline, sentences, cited = [], [], []
    for (one, cell), own in zip(overall, by_stratum, strict=True):
        headline.append(_headline(one, cell["model"], own))
        sentences.append(_answer(one, cell, own, several=several))
        summaries = own.values() if own else [one]
        cited += [estimate for part in summaries for key, estimate in part.estimates.items() if key in _CITED]
    lines = [*headline, f"Replies are read by {parser}. {covered(numbers)}", HOW_TO_READ]
    return Report(
        title=", ".join(markdown(name) for name in numbers.runs),
        headline="\n\n".join(lines),
        sections=(
            *(section for cell in cells for section in _sections(numbers, parser, cell)),
            *sections(numbers),
            *no_answer_sections(numbers),
        ),
        tables=tuple(_tables(numbers)),
        answer=answer.most_of(sentences, "model"),
        cautions=(*unanswered(numbers), *answer.caution_sentences(cited)),
    )


def _answer(overall: Measured, cell: dict[str, str], strata: Mapping[str, Measured], *, several: bool) -> str:
    """How well one model tells true from false, and whether it leans to one of them; by stratum where there are."""
    values, total = overall.estimates, overall.count("total")
    who = answer.name(cell["model"]) + (f", temperature {cell['temperature']}" if several else "")
    if strata and "balanced_accuracy" in values:
        summaries = ", ".join(
            f"{name} {_share(one.estimates.get('balanced_accuracy'))}" for name, one in strata.items()
        )
        kept = f"{overall.count('valid')} of {answer.counted(total, 'item')}"
        return f"{who}: balanced accuracy by stratum, on {kept} (50% is guessing): {summaries}."
    balanced = values.get("balanced_accuracy")
    if balanced is None:
        return f"{who}: none of {answer.counted(total, 'item')} got a reply, so nothing can be measured."
    if balanced.value is None:
        return f"{who}: balanced accuracy is {answer.undefined(balanced)}; {balanced.n} of {total} items have a label."
    kept = f"{balanced.n} of {answer.counted(total, 'item')}"
    true, false = (answer.share(values[key]) for key in ("tpr", "tnr"))
    text = f"{who}: balanced accuracy {answer.share(balanced)} on {kept} (50% is guessing); right on"
    return f"{text} {true} of what is TRUE and {false} of what is FALSE{_LEANS.get(str(overall.verdict), '')}."


def _share(balanced: Estimate | None) -> str:
    if balanced is None:
        return "no reply"
    return answer.share(balanced) if balanced.value is not None else answer.undefined(balanced)


def _headline(overall: Measured, model: str, strata: Mapping[str, Measured]) -> str:
    values = overall.estimates
    if "balanced_accuracy" not in values:
        return f"{markdown(model)}: none of {overall.count('total')} items got a reply, so nothing can be measured."
    if strata:
        listed = "; ".join(f"{name} {shown(one.estimates.get('balanced_accuracy'))}" for name, one in strata.items())
        rates = f"coverage {shown(values['coverage'])}; bias {shown(values['bias'])} ({overall.verdict})"
        return f"{markdown(model)}: balanced accuracy by stratum: {listed}. {rates}."
    rates = "; ".join(
        f"{name} {shown(values[key])}"
        for name, key in (("MCC", "mcc"), ("TPR", "tpr"), ("TNR", "tnr"), ("coverage", "coverage"), ("bias", "bias"))
    )
    balanced = values["balanced_accuracy"]
    return (
        f"{markdown(model)}: balanced accuracy {shown(balanced)}, n = {balanced.n} items with a label of "
        f"{overall.count('total')}. {rates} ({overall.verdict})."
    )


def shown(estimate: Estimate | None) -> str:
    """Value and interval; NA where it is undefined, and what others print there."""
    if estimate is None or estimate.value is None:
        return undefined({} if estimate is None else estimate.also)
    interval = "" if estimate.lo is None or estimate.hi is None else f" [{estimate.lo:.3f}, {estimate.hi:.3f}]"
    return f"{number(estimate.value)}{interval}"


def _sections(numbers: Numbers, parser: str, cell: dict[str, str]) -> Iterator[Section]:
    overall = measured(numbers, parser, part="all", **cell)
    place = f"{markdown(cell['model'])}, temperature {cell['temperature']}"
    known = strata(numbers, parser, **cell)
    if known:
        yield Section(f"{place}: by stratum", _table("stratum", strata_rows(known), overall, STRATA_HEAD))
    yield Section(f"{place}: what the replies were", _outcomes(numbers, parser, overall, cell))
    for part in ("family", "split"):
        rows = [_row(name, one) for name, one in parts(numbers, parser, part, **cell).items()]
        yield Section(f"{place}: by {part}", _table(part, sorted(rows), overall))
    rows = [_row(rule, measured(numbers, rule, part="all", **cell)) for rule in parsers(numbers)]
    yield Section(f"{place}: by each rule of reading a reply", markdown_table(("read by", *_HEAD), rows))


def _table(part: str, rows: Iterable[Sequence[str]], overall: Measured, head: Sequence[str] = _HEAD) -> str:
    note = f"Intervals are clustered by {overall.clustered_by}. \\* marks fewer than {LOW_SUPPORT} items."
    return f"{markdown_table((part, *head), rows)}\n\n{note}"


def strata_rows(strata: Mapping[str, Measured]) -> list[tuple[str, ...]]:
    """One row a stratum: what its items are worth as independent ones, and the pairs that are right as a whole."""
    rows = []
    for name, one in strata.items():
        worth = one.estimates.get("accuracy_valid", Estimate(None, 0)).also.get("n_effective")
        counts = (str(one.counts["total"]), number(worth if isinstance(worth, float) else None, 0))
        cells = (shown(one.estimates.get(key)) for key in ("coverage", "balanced_accuracy", PAIRS, "tpr", "tnr"))
        rows.append((markdown(name) + _few(one), *counts, *cells))
    return rows


def _few(one: Measured) -> str:
    return r"\*" if one.counts["low_support"] else ""


def _outcomes(numbers: Numbers, parser: str, overall: Measured, cell: dict[str, str]) -> str:
    first, kinds, budget = (
        numbers.cite(name, parser, part="all", **cell) for name in ("first_replies", "invalid_kinds", "token_budget")
    )
    confusion = " / ".join(str(overall.counts[name]) for name in CONFUSION)
    rows = [
        *((name, str(overall.counts[name])) for name in ("total", "valid", "invalid", "unfinished", "errors")),
        ("asked again", str(first.also["reprompted"])),
        ("coverage of first replies", number(first.value)),
        *((f"invalid: {markdown(kind)}", str(count)) for kind, count in kinds.also.items()),
        ("TP / FP / TN / FN", confusion),
        *([] if PAIRS in overall.estimates else _mixed(overall)),
        ("tokens that 95% of replies need", f"{number(budget.value, 0)} ({markdown(budget.note)})"),
    ]
    return markdown_table(("replies", ""), rows)


def _mixed(overall: Measured) -> list[tuple[str, str]]:
    """The rates over all items, which are not told where items are of several strata."""
    return [
        ("accuracy of valid replies", shown(overall.estimates.get("accuracy_valid"))),
        ("accuracy, invalid as wrong", shown(overall.estimates.get("accuracy_effective"))),
        ("balanced accuracy, invalid as wrong", shown(overall.estimates.get("balanced_accuracy_effective"))),
    ]


def _row(name: str, one: Measured) -> tuple[str, ...]:
    cells = (shown(one.estimates.get(key)) for key in _SHOWN)
    return (markdown(name) + _few(one), str(one.counts["total"]), *cells)


def _tables(numbers: Numbers) -> Iterator[TableOf]:
    """by_family, by_split and by_parser, and by_stratum where there are: every number under every rule of reading."""
    cells, head = cells_of(numbers), ("model", "temperature", "parser")
    for part in ("family", "split", "stratum"):
        rows = [
            (cell["model"], cell["temperature"], rule, name, *_values(one))
            for cell in cells
            for rule in parsers(numbers)
            for name, one in sorted(parts(numbers, rule, part, **cell).items())
        ]
        if rows or part != "stratum":
            yield TableOf(f"by_{part}", (*head, part, *COLUMNS), tuple(rows))
    overall = [
        (cell["model"], cell["temperature"], rule, *_values(measured(numbers, rule, part="all", **cell)))
        for cell in cells
        for rule in parsers(numbers)
    ]
    yield TableOf("by_parser", (*head, *COLUMNS), tuple(overall))


def _values(one: Measured) -> tuple[Value, ...]:
    ends: list[Value] = []
    for name in (*RATES, "tpr", "tnr", "bias"):
        estimate = one.estimates.get(name, Estimate(None, 0))
        ends += (estimate.value, estimate.lo, estimate.hi)
    return (*(one.counts[name] for name in COUNTS), *ends, one.verdict)
