"""summary: metrics.json and report.md of one run: rates by cell, and each condition paired with the first."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from perpend.canon import JSON, pretty, write_atomic
from perpend.inert import markdown
from perpend.measure import Column, Run
from perpend.types import Estimate


@dataclass(frozen=True, slots=True)
class Metric:
    """One Estimate and where it comes from: its name, the scorer's column, the slice, and the column's digest."""

    name: str
    scorer: str
    where: Mapping[str, str]
    estimate: Estimate
    columns_sha256: str

    def as_json(self) -> dict[str, JSON]:
        """The entry in metrics.json."""
        return {
            "metric": self.name,
            "scorer": self.scorer,
            "where": dict(self.where),
            "columns_sha256": self.columns_sha256,
            **self.estimate.as_json(),
        }


def metrics(run: Run) -> list[Metric]:
    """For every scorer, model and temperature: the rate in each condition, and each condition paired with the first.

    A column of other values than 0 and 1 (a confidence) gives its mean instead, and no pairs; one without any value
    (a text that was imported) gives nothing.
    """
    columns = [column for column in run.columns().values() if column.defined.any()]
    return [metric for column in columns for metric in _of_column(column)]


def _of_column(column: Column) -> Iterator[Metric]:
    conditions = column.frame.values("condition")
    binary = bool(np.isin(column.all_values[column.defined], (0.0, 1.0)).all())
    for model in column.frame.values("model"):
        for temperature in column.frame.values("temperature"):
            cell = {"model": model, "temperature": temperature}
            rows = column.where(**cell)
            if not rows.mask.any():
                continue
            for condition in conditions:
                one = rows.where(condition=condition)
                where = {**cell, "condition": condition}
                yield Metric(
                    "rate" if binary else "mean", column.name, where, one.rate() if binary else one.mean(), one.digest()
                )
            for condition in conditions[1:] if binary else ():
                pair = rows.pair(conditions[0], condition)
                where = {**cell, "condition": f"{conditions[0]} → {condition}"}
                for name, estimate in (
                    ("difference", pair.difference()),
                    ("override", pair.override()),
                    ("rescue", pair.rescue()),
                ):
                    yield Metric(name, column.name, where, estimate, rows.digest())


def write_summary(run: Run) -> str:
    """Write metrics.json and report.md beside the run, and return the report.

    What else stands in metrics.json, such as the names of another protocol, is kept.
    """
    found = metrics(run)
    path = run.directory / "metrics.json"
    kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    ours: dict[str, JSON] = {"format": 1, "run": run.directory.name, "metrics": [metric.as_json() for metric in found]}
    write_atomic(path, pretty({**kept, **ours}))
    page = report(run, found)
    write_atomic(run.directory / "report.md", page)
    return page


def report(run: Run, found: Sequence[Metric]) -> str:
    """The run in Markdown: how complete it is, then for each model and temperature its rates and its pairs."""
    status = run.status()
    lines = [
        f"# {markdown(run.directory.name)}",
        "",
        f"{status['planned']} trials planned, {status['answered']} answered, {status['failed']} failed.",
        "Each value comes with its 95% interval and its denominator; NA is undefined. Trials of one item count as one",
        "cluster where items repeat. Rows that end in @1 follow the rules of the seed studies, the others ours.",
        "",
    ]
    for model, temperature in dict.fromkeys((m.where["model"], m.where["temperature"]) for m in found):
        cell = [m for m in found if (m.where["model"], m.where["temperature"]) == (model, temperature)]
        lines += [f"## {markdown(model)}, temperature {temperature}", "", *_rates(cell), "", *_pairs(cell), ""]
    cautions = {caution.id: caution for metric in found for caution in metric.estimate.cautions}
    if cautions:
        lines += ["## Cautions", "", *(f"- {name}: {markdown(cautions[name].text)}" for name in sorted(cautions)), ""]
    return "\n".join(lines)


def _rates(cell: Sequence[Metric]) -> list[str]:
    """One row a scorer, one column a condition."""
    shown = [metric for metric in cell if metric.name in ("rate", "mean")]
    conditions = list(dict.fromkeys(metric.where["condition"] for metric in shown))
    lines = ["| scorer | " + " | ".join(map(markdown, conditions)) + " |", "|---" * (len(conditions) + 1) + "|"]
    for scorer in dict.fromkeys(metric.scorer for metric in shown):
        values = {metric.where["condition"]: _cell(metric.estimate) for metric in shown if metric.scorer == scorer}
        lines.append(f"| {scorer} | " + " | ".join(values[condition] for condition in conditions) + " |")
    return lines


def _pairs(cell: Sequence[Metric]) -> list[str]:
    """One row a scorer and pair of conditions: the difference, its test, and what turned in each direction."""
    grouped: dict[tuple[str, str], dict[str, Estimate]] = {}
    for metric in cell:
        if metric.name in ("difference", "override", "rescue"):
            grouped.setdefault((metric.scorer, metric.where["condition"]), {})[metric.name] = metric.estimate
    if not grouped:
        return []
    lines = ["| scorer | pair | difference | p | 1 → 0 | 0 → 1 |", "|---|---|---|---|---|---|"]
    for (scorer, pair), estimates in grouped.items():
        p = estimates["difference"].also.get("p")
        shown = f"{p:.2g}" if isinstance(p, float) else "NA"
        row = (scorer, markdown(pair), _cell(estimates["difference"]), shown)
        lines.append("| " + " | ".join((*row, _cell(estimates["override"]), _cell(estimates["rescue"]))) + " |")
    return lines


def _cell(estimate: Estimate) -> str:
    if estimate.value is None:
        return f"NA (n = {estimate.n})"
    interval = "" if estimate.lo is None or estimate.hi is None else f" [{estimate.lo:.2f}, {estimate.hi:.2f}]"
    return f"{estimate.value:.3f}{interval} (n = {estimate.n})"
