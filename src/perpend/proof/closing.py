"""The sections that end a published report: the gates that the run passed, and the attempts beside it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from perpend.canon import JSON, as_list, as_object, write_atomic
from perpend.inert import markdown
from perpend.report.derive import REPORT
from perpend.report.tables import markdown_table

_SHOWN = 20


def close_report(folder: Path, facts: Mapping[str, JSON]) -> None:
    """End report.md with the gates and the attempts, which `facts` hold as the receipt does."""
    page = (folder / REPORT).read_text(encoding="utf-8")
    write_atomic(folder / REPORT, closed(page, facts))


def closed(page: str, facts: Mapping[str, JSON]) -> str:
    """A report with the sections that end a published one."""
    gates = [as_object(gate) for gate in as_list(facts.get("gates"))]
    accepted = [gate for gate in gates if gate.get("accepted") is not None]
    rows = [
        (
            markdown(str(gate.get("gate"))),
            "pass" if gate.get("passed") else "accepted" if gate in accepted else "FAIL",
            markdown(str(gate.get("found"))),
        )
        for gate in gates
    ]
    parts = [page.rstrip("\n"), "## Gates", markdown_table(["gate", "outcome", "figures"], rows)]
    if accepted:
        reasons = [
            f"- **{markdown(str(gate.get('gate')))}**: {markdown(str(gate.get('found')))}. "
            f"Accepted because: {markdown(str(gate.get('accepted')))}"
            for gate in accepted
        ]
        parts += ["## Accepted gates", "These gates failed, and the run was published all the same:"]
        parts.append("\n".join(reasons))
    return "\n\n".join([*parts, "## Attempts", *_attempts(as_object(facts.get("attempts")))]) + "\n"


def _attempts(attempts: Mapping[str, JSON]) -> list[str]:
    if not attempts:
        return ["Not counted."]
    others = [as_object(run) for run in as_list(attempts.get("others"))]
    parts = [markdown(str(attempts.get("told")))]
    empty = [as_object(run) for run in as_list(attempts.get("unanswered"))]
    if empty:
        names = [f"{run.get('run')} ({run.get('created')})" for run in empty[:_SHOWN]]
        more = f", and {len(empty) - _SHOWN} more in receipt.json" * (len(empty) > _SHOWN)
        parts.append(f"Without an answer: {markdown(', '.join(names))}{more}.")
    if not others:
        return parts
    parts.append(f"Headline: {_headline(as_object(attempts.get('headline')))}.")
    rows = []
    for run in others[:_SHOWN]:
        differs = "; ".join(str(line) for line in as_list(run.get("differs"))) or "nothing"
        cells = (run.get("run"), run.get("created"), _value(as_object(run.get("headline"))), differs)
        rows.append([markdown(str(cell)) for cell in cells])
    parts.append(markdown_table(["run", "begun", "its headline", "what differs"], rows))
    if len(others) > _SHOWN:
        parts.append(f"And {len(others) - _SHOWN} more, in receipt.json.")
    return parts


def _headline(headline: Mapping[str, JSON]) -> str:
    cell = ", ".join(f"{key} {name}" for key, name in as_object(headline.get("where")).items())
    named = "" if headline.get("value") is None else f"{headline.get('metric')} of {headline.get('scorer')}, {cell}: "
    return markdown(named + _value(headline))


def _value(headline: Mapping[str, JSON]) -> str:
    value = headline.get("value")
    return f"{value:.4f} (n = {headline.get('n')})" if isinstance(value, float | int) else "none stored"
