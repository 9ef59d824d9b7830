"""What a published folder holds beside the ledger: metrics, report, tables and figures, all derived from it again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from perpend.analyze import analyze
from perpend.canon import JSON, pretty, write_atomic
from perpend.inert import markdown
from perpend.measure import Run
from perpend.reports.summary import metrics

METRICS, REPORT = "metrics.json", "report.md"
_SHOWN = 20


def derive(run: Run, out: Path, *, figures: bool = True) -> None:
    """Write metrics.json and the analysis of the run's task (report.md, tables, figures) into `out`.

    The run's directory must bear the run's own name, for reports show it.
    """
    found: dict[str, JSON] = {
        "format": 1,
        "run": run.directory.name,
        "metrics": [metric.as_json() for metric in metrics(run)],
    }
    write_atomic(out / METRICS, pretty(found))
    analyze([run], out, figures=figures)


def close_report(out: Path, facts: Mapping[str, JSON]) -> None:
    """End report.md with the gates and the attempts, which `facts` hold as the receipt does."""
    page = (out / REPORT).read_text(encoding="utf-8").rstrip("\n")
    write_atomic(out / REPORT, f"{page}\n\n{published_sections(facts)}")


def published_sections(facts: Mapping[str, JSON]) -> str:
    """The end of a published report: the gates, those that were accepted although they failed, and the attempts."""
    gates = [gate for gate in _list(facts.get("gates")) if isinstance(gate, Mapping)]
    accepted = [gate for gate in gates if gate.get("accepted") is not None]
    lines = ["## Gates", "", "| gate | | found |", "|---|---|---|"]
    for gate in gates:
        verdict = "pass" if gate.get("passed") else "accepted" if gate in accepted else "FAIL"
        lines.append(f"| {markdown(str(gate.get('gate')))} | {verdict} | {markdown(str(gate.get('found')))} |")
    if accepted:
        lines += ["", "## Accepted gates", "", "These gates failed, and the run was published all the same:", ""]
        lines += [
            f"- **{markdown(str(gate.get('gate')))}**: {markdown(str(gate.get('found')))}. "
            f"Accepted because: {markdown(str(gate.get('accepted')))}"
            for gate in accepted
        ]
    attempts = facts.get("attempts")
    lines += ["", "## Attempts", "", *(_attempts(attempts) if isinstance(attempts, Mapping) else ["Not counted."])]
    return "\n".join(lines) + "\n"


def _attempts(attempts: Mapping[str, JSON]) -> list[str]:
    others = [run for run in _list(attempts.get("others")) if isinstance(run, Mapping)]
    lines = [markdown(str(attempts.get("told")))]
    if not others:
        return lines
    headline = attempts.get("headline")
    lines += ["", f"Headline: {_headline(headline)}.", ""]
    lines += ["| run | begun | its headline | what differs |", "|---|---|---|---|"]
    for run in others[:_SHOWN]:
        differs = "; ".join(str(told) for told in _list(run.get("differs"))) or "nothing"
        cells = (run.get("run"), run.get("created"), _headline(run.get("headline"), plain=True), differs)
        lines.append("| " + " | ".join(markdown(str(cell)) for cell in cells) + " |")
    if len(others) > _SHOWN:
        lines += ["", f"And {len(others) - _SHOWN} more, in receipt.json."]
    return lines


def _headline(found: JSON, *, plain: bool = False) -> str:
    if not isinstance(found, Mapping) or not isinstance(found.get("value"), float | int):
        return "none stored"
    where = found.get("where")
    value = f"{found['value']:.4f} (n = {found.get('n')})"
    if plain or not isinstance(where, Mapping):
        return value
    cell = ", ".join(f"{key} {name}" for key, name in where.items())
    return f"{markdown(str(found.get('metric')))} of {markdown(str(found.get('scorer')))}, {markdown(cell)}: {value}"


def _list(value: JSON) -> Sequence[JSON]:
    return value if isinstance(value, list) else []
