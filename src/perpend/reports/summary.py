"""summary: metrics.json and report.md of one run: rates by cell, and each condition paired with the first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from perpend.canon import JSON, pretty, write_atomic
from perpend.inert import markdown
from perpend.measure import Column, Run
from perpend.types import Caution, Estimate


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

    A column of other values than 0 and 1 (a confidence) gives its mean instead, and no pairs.
    """
    return [metric for column in run.columns().values() for metric in _of_column(column)]


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
    """Write metrics.json and report.md beside the run, and return the report."""
    found = metrics(run)
    body: dict[str, JSON] = {"format": 1, "run": run.directory.name, "metrics": [metric.as_json() for metric in found]}
    write_atomic(run.directory / "metrics.json", pretty(body))
    page = report(run, found)
    write_atomic(run.directory / "report.md", page)
    return page


def report(run: Run, found: list[Metric]) -> str:
    """The run in Markdown: how complete it is, the rates, the paired differences, and what a reader must know."""
    status = run.status()
    lines = [
        f"# {markdown(run.directory.name)}",
        "",
        f"{status['planned']} trials planned, {status['answered']} answered, {status['failed']} failed.",
        "Intervals are 95%; trials of one item count as one cluster where items repeat. NA: undefined, with the reason.",
        "",
    ]
    for title, names in (
        ("Rates", ("rate", "mean")),
        ("Paired with the first condition", ("difference", "override", "rescue")),
    ):
        rows = [metric for metric in found if metric.name in names]
        if rows:
            lines += [
                f"## {title}",
                "",
                "| scorer | model | T | condition | | value | 95% interval | n | |",
                "|---|---|---|---|---|--:|---|--:|---|",
            ]
            lines += [_row(metric) for metric in rows]
            lines.append("")
    warned: dict[str, Caution] = {}
    for metric in found:
        for caution in metric.estimate.cautions:
            warned.setdefault(caution.id, caution)
    if warned:
        lines += [
            "## Cautions",
            "",
            *(f"- {c.id}: {markdown(c.text)}" for c in sorted(warned.values(), key=lambda c: c.id)),
            "",
        ]
    return "\n".join(lines)


def _row(metric: Metric) -> str:
    estimate = metric.estimate
    value = "NA" if estimate.value is None else f"{estimate.value:.3f}"
    interval = "" if estimate.lo is None or estimate.hi is None else f"{estimate.lo:.3f} to {estimate.hi:.3f}"
    p = estimate.also.get("p")
    remark = f"p = {p:.2g}" if isinstance(p, float) else estimate.note
    cells = (metric.scorer, metric.where["model"], metric.where["temperature"], metric.where["condition"], metric.name)
    return "| " + " | ".join((*map(markdown, cells), value, interval, str(estimate.n), markdown(remark))) + " |"
