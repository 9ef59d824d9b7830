"""The plain summary: what is told of a run whose task has no study of its own, and below every study's report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from perpend.inert import markdown
from perpend.measure.study import Metric, Numbers, Report, Section
from perpend.measure.table import Table
from perpend.report.tables import markdown_table
from perpend.types import Estimate

_IN_HEADLINE = 8
PAIRED = ("difference", "override", "rescue")
HOW_TO_READ = (
    "Each value comes with its 95% interval and its denominator; NA is undefined. Trials of one item count as one\n"
    "cluster where items repeat. Rows that end in @1 follow the rules of the seed studies, the others ours."
)


class PlainStudy:
    """A study without numbers of its own: the rates and pairs that every run states are all there is."""

    def metrics(self, table: Table) -> Iterator[Metric]:
        """How many trials were planned and answered."""
        yield from coverage(table)

    def report(self, numbers: Numbers, *, figures: bool = True) -> Report:  # noqa: ARG002  it draws none
        """How complete the run is, then for each model and temperature its rates and its pairs."""
        return Report(
            title=", ".join(markdown(name) for name in numbers.runs),
            headline="\n".join([*_headline(numbers), covered(numbers)]),
            sections=(*sections(numbers), Section("How to read this", HOW_TO_READ)),
        )


PLAIN = PlainStudy()


def coverage(table: Table) -> Iterator[Metric]:
    """`answered`: trials with an answer / trials planned. Undefined for an empty plan."""
    n, k = len(table), int(table.answers.answered.sum())
    estimate = Estimate(k / n if n else None, n, method="trials with an answer / trials planned", also={"k": k})
    yield Metric("answered", "", {}, estimate)


def covered(numbers: Numbers) -> str:
    """How complete the runs are, in a sentence."""
    answered = numbers.cite("answered", "")
    failed = answered.n - int(answered.also.get("k") or 0)
    return f"{answered.n} trials planned, {answered.also.get('k')} answered, {failed} without an answer."


def _headline(numbers: Numbers) -> Iterator[str]:
    """The rates of the first scorer that the run declares, in its latest version, one line per cell."""
    declared = numbers.manifests[0].scorers if numbers.manifests else ()
    stem = declared[0].partition("@")[0] if declared else ""
    latest = [name for name in declared if name.partition("@")[0] == stem][-1:]
    rates = [metric for name in latest for kind in ("rate", "mean") for metric in numbers.find(kind, name)]
    for metric in rates[:_IN_HEADLINE]:
        where = metric.where
        place = f"{where['model']}, {where['condition']}, temperature {where['temperature']}"
        yield f"- {markdown(metric.scorer)}, {markdown(place)}: **{estimated(metric.estimate)}**"
    if len(rates) > _IN_HEADLINE:
        yield f"- and {len(rates) - _IN_HEADLINE} more cells, in the tables below"
    if rates:
        yield ""


def sections(numbers: Numbers) -> Iterator[Section]:
    """Rates and pairs of every model and temperature, then the cautions that their Estimates carry."""
    metrics = [metric for metric in numbers.metrics if metric.name in ("rate", "mean", *PAIRED)]
    for model, temperature in dict.fromkeys((m.where["model"], m.where["temperature"]) for m in metrics):
        cell = [m for m in metrics if (m.where["model"], m.where["temperature"]) == (model, temperature)]
        yield Section(f"{markdown(model)}, temperature {temperature}", "\n\n".join([_rates(cell), *_pairs(cell)]))
    cautions = {caution.id: caution for metric in metrics for caution in metric.estimate.cautions}
    if cautions:
        lines = [f"- {name}: {markdown(cautions[name].text)}" for name in sorted(cautions)]
        yield Section("Cautions", "\n".join(lines))


def _rates(cell: Sequence[Metric]) -> str:
    """One row per scorer, one column per condition."""
    shown = [metric for metric in cell if metric.name in ("rate", "mean")]
    conditions = list(dict.fromkeys(metric.where["condition"] for metric in shown))
    rows = []
    for scorer in dict.fromkeys(metric.scorer for metric in shown):
        values = {metric.where["condition"]: estimated(metric.estimate) for metric in shown if metric.scorer == scorer}
        rows.append([markdown(scorer), *(values[condition] for condition in conditions)])
    return markdown_table(["scorer", *map(markdown, conditions)], rows)


def _pairs(cell: Sequence[Metric]) -> list[str]:
    """One row per scorer and pair of conditions: the difference, its test, and what turned in each direction."""
    grouped: dict[tuple[str, str], dict[str, Estimate]] = {}
    for metric in cell:
        if metric.name in PAIRED:
            grouped.setdefault((metric.scorer, metric.where["condition"]), {})[metric.name] = metric.estimate
    rows = []
    for (scorer, pair), estimates in grouped.items():
        p = estimates["difference"].also.get("p")
        shown = f"{p:.2g}" if isinstance(p, float) else "NA"
        turned = (estimated(estimates["override"]), estimated(estimates["rescue"]))
        rows.append((markdown(scorer), markdown(pair), estimated(estimates["difference"]), shown, *turned))
    return [markdown_table(["scorer", "pair", "difference", "p", "1 → 0", "0 → 1"], rows)] if rows else []


def estimated(estimate: Estimate) -> str:
    """An Estimate as a table shows it: value, interval, denominator."""
    if estimate.value is None:
        return f"NA (n = {estimate.n})"
    interval = "" if estimate.lo is None or estimate.hi is None else f" [{estimate.lo:.2f}, {estimate.hi:.2f}]"
    return f"{estimate.value:.3f}{interval} (n = {estimate.n})"
