"""What is told of a judge run: its rate, its verdicts, whether the order mattered. Looks numbers up, computes none."""

from __future__ import annotations

from collections.abc import Iterator

from perpend.canon import as_object
from perpend.inert import markdown
from perpend.measure.study import Numbers, Report, Section
from perpend.report import answer
from perpend.report.derive import covered, estimated, unanswered
from perpend.report.tables import markdown_table
from perpend.studies.judge.metrics import JUDGED

_CAUTION = (
    "A judge errs, and it may err differently from one condition to the next. Label a sample of the same answers\n"
    "(`perpend label`) before you believe a rate or a difference."
)


def study_report(numbers: Numbers) -> Report:
    """Headline with each judge's rate; then verdicts and orders, rates by judged model and condition, and a caution."""
    return Report(
        title=", ".join(markdown(name) for name in numbers.runs),
        headline="\n".join([*_headline(numbers), "", covered(numbers)]),
        sections=(
            Section("Verdicts", _verdicts(numbers)),
            Section("By what was judged", _judged(numbers)),
            Section("How to read this", _CAUTION),
        ),
        answer=answer.most_of([*_answer(numbers)], "judge"),
        cautions=(*unanswered(numbers), "a judge errs; label a sample of the same answers (perpend label)."),
    )


def _answer(numbers: Numbers) -> Iterator[str]:
    """One sentence per judge: the share of answers of which it says yes, what it left open, whether order mattered."""
    options = as_object(numbers.manifests[0].options) if numbers.manifests else {}
    rubric, judged = as_object(options.get("rubric")), as_object(options.get("judged"))
    of_run = f" of {answer.name(str(judged['run']))}" if "run" in judged else ""
    for metric in numbers.find("judged_rate"):
        if metric.where.keys() & {*JUDGED}:
            continue
        label, one = metric.where["model"], metric.estimate
        text = f"{answer.name(label)} as judge of answers{of_run}: {answer.name(str(rubric.get('name')))} "
        text += answer.share(one) + (f", {answer.rows_of_items(one)}" if one.n else "")
        for name, what in (("no_verdict", "without a verdict"), ("order_agreement", "the same in both orders")):
            other = numbers.get(name, model=label)
            if other is not None:
                text += f"; {what} {answer.share(other)}"
        yield f"{text}."


def _headline(numbers: Numbers) -> Iterator[str]:
    options = as_object(numbers.manifests[0].options) if numbers.manifests else {}
    rubric, judged = as_object(options.get("rubric")), as_object(options.get("judged"))
    of_run = f" of {markdown(str(judged['run']))}" if "run" in judged else ""
    for metric in numbers.find("judged_rate"):
        if not metric.where.keys() & {*JUDGED}:
            name = f"{markdown(str(rubric.get('name')))}@{markdown(str(rubric.get('version')))}"
            label = metric.where["model"]
            line = f"- {markdown(label)} on answers{of_run}, {name}: **{estimated(metric.estimate)}**"
            agreement = numbers.get("order_agreement", model=label)
            none = numbers.get("no_verdict", model=label)
            if none is not None:
                line += f"; without a verdict {estimated(none)}"
            if agreement is not None:
                line += f"; same verdict in both orders {estimated(agreement)}"
            yield line


def _verdicts(numbers: Numbers) -> str:
    rows = []
    for metric in (*numbers.find("verdict"), *numbers.find("no_verdict"), *numbers.find("order_agreement")):
        what = metric.where.get("verdict") or metric.name.replace("_", " ")
        rows.append([markdown(metric.where["model"]), markdown(what), estimated(metric.estimate)])
    return markdown_table(["judge", "verdict", "share of answers"], rows)


def _judged(numbers: Numbers) -> str:
    rows = [
        [*(markdown(metric.where[key]) for key in ("model", *JUDGED)), estimated(metric.estimate)]
        for metric in numbers.find("judged_rate")
        if metric.where.keys() >= {*JUDGED}
    ]
    return markdown_table(["judge", "judged model", "judged condition", "rate"], rows)
