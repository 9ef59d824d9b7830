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

STRATA_HEAD = ("items", "effective n", "coverage", "balanced accuracy", "whole pairs right", "TPR", "TNR")
COUNTS = ("total", "valid", "invalid", "unfinished", "errors", "correct", *CONFUSION)
RATES = ("coverage", "accuracy_valid", "accuracy_effective", "balanced_accuracy", "balanced_accuracy_effective", "mcc")
COLUMNS = (
    *COUNTS,
    *(f"{name}{end}" for name in (*RATES, "tpr", "tnr", "bias") for end in ("", "_lo", "_hi")),
    "bias_verdict",
)
_CITED = ("balanced_accuracy", "tpr", "tnr", "coverage")
_SHOWN = ("coverage", "balanced_accuracy", "mcc", "tpr", "tnr", "bias")
_WHOLE = (
    ("accuracy of valid replies", "accuracy_valid"),
    ("accuracy, invalid as wrong", "accuracy_effective"),
    ("balanced accuracy, invalid as wrong", "balanced_accuracy_effective"),
)
_HEAD = ("items", "coverage", "balanced accuracy", "MCC", "TPR", "TNR", "bias")


def report(numbers: Numbers) -> Report:
    """The answer, then by family and split for each model, each rule of reading, and the rates of every run."""
    parser, cells = parser_of(numbers), cells_of(numbers)
    several = len({cell["model"] for cell in cells}) < len(cells)
    sentences, cited = [], list[Estimate]()
    for cell in cells:
        overall, own = measured(numbers, parser, part="all", **cell), strata(numbers, parser, **cell)
        who = answer.name(cell["model"]) + (f", temperature {cell['temperature']}" if several else "")
        sentences.append(f"{who}: {_answer(overall, own)}")
        summaries = own.values() if own else [overall]
        cited += [one for part in summaries for key in _CITED if (one := part.estimates.get(key)) is not None]
    return Report(
        title=", ".join(markdown(name) for name in numbers.runs),
        headline=f"Replies are read by {parser}. {covered(numbers)}\n\n{HOW_TO_READ}",
        sections=(
            *(section for cell in cells for section in _sections(numbers, parser, cell)),
            *sections(numbers),
            *no_answer_sections(numbers),
        ),
        tables=tuple(_tables(numbers)),
        answer=answer.most_of(sentences, "model"),
        cautions=(*unanswered(numbers), *answer.caution_sentences(cited)),
    )


def _answer(overall: Measured, strata: Mapping[str, Measured]) -> str:
    """How well one model tells true from false, and whether it leans to one of them; by stratum where there are."""
    values, total = overall.estimates, answer.counted(overall.count("total"), "item")
    balanced = values.get("balanced_accuracy")
    if balanced is None:
        return f"none of {total} got a reply, so nothing can be measured."
    if strata:
        summaries = ", ".join(f"{name} {_share(one)}" for name, one in strata.items())
        kept = f"{overall.count('valid')} of {total}"
        return f"balanced accuracy by stratum, on {kept} (50% is guessing): {summaries}."
    if balanced.value is None:
        return f"balanced accuracy is {answer.undefined(balanced)}; {balanced.n} of {total} have a label."
    true, false = (answer.share(values[key]) for key in ("tpr", "tnr"))
    leans = ": it leans to one label" if overall.verdict == "LABEL-BIASED" else ""
    rates = f"right on {true} of what is TRUE and {false} of what is FALSE{leans}."
    return f"balanced accuracy {answer.share(balanced)} on {balanced.n} of {total} (50% is guessing); {rates}"


def _share(one: Measured) -> str:
    balanced = one.estimates.get("balanced_accuracy")
    if balanced is None:
        return "no reply"
    return answer.undefined(balanced) if balanced.value is None else answer.share(balanced)


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
    note = f"Intervals are clustered by {overall.counts['clustered_by']}. \\* marks fewer than {LOW_SUPPORT} items."
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
        # Not told where items are of several strata: these are over all of them.
        *((words, shown(overall.estimates.get(name))) for words, name in _WHOLE if PAIRS not in overall.estimates),
        ("tokens that 95% of replies need", f"{number(budget.value, 0)} ({markdown(budget.note)})"),
    ]
    return markdown_table(("replies", ""), rows)


def _row(name: str, one: Measured) -> tuple[str, ...]:
    cells = (shown(one.estimates.get(key)) for key in _SHOWN)
    return (markdown(name) + _few(one), str(one.counts["total"]), *cells)


def _tables(numbers: Numbers) -> Iterator[TableOf]:
    """by_family, by_split and by_parser, and by_stratum where there are: every number under every rule of reading."""
    head, rules = ("model", "temperature", "parser"), parsers(numbers)
    each = [((cell["model"], cell["temperature"], rule), cell, rule) for cell in cells_of(numbers) for rule in rules]
    for part in ("family", "split", "stratum"):
        rows = [
            (*key, name, *_values(one))
            for key, cell, rule in each
            for name, one in sorted(parts(numbers, rule, part, **cell).items())
        ]
        if rows or part != "stratum":
            yield TableOf(f"by_{part}", (*head, part, *COLUMNS), tuple(rows))
    overall = ((*key, *_values(measured(numbers, rule, part="all", **cell))) for key, cell, rule in each)
    yield TableOf("by_parser", (*head, *COLUMNS), tuple(overall))


def _values(one: Measured) -> tuple[Value, ...]:
    ends: list[Value] = []
    for name in (*RATES, "tpr", "tnr", "bias"):
        estimate = one.estimates.get(name, Estimate(None, 0))
        ends += (estimate.value, estimate.lo, estimate.hi)
    return (*(one.counts[name] for name in COUNTS), *ends, one.verdict)
