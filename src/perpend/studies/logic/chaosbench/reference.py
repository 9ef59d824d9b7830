"""What the reference's own files state: fewer numbers, rounded to four places, 0 for what is undefined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from perpend.canon import JSON, as_object, object_of
from perpend.proof.audit.checks import Check
from perpend.studies.logic.chaosbench.rundir import METRICS, RUN_MANIFEST, SUMMARY_PAGE

PLACES = 4
_LINES = {
    "Total items": "total",
    "Valid responses": "valid",
    "Invalid responses": "invalid",
    "Coverage": "coverage",
    "Accuracy (valid)": "accuracy_valid",
    "Effective accuracy": "effective_accuracy",
    "Balanced accuracy": "balanced_accuracy",
    "MCC": "mcc",
}
"""The lines of summary.md above the families."""


def rounded_metrics(stored: Mapping[str, JSON], body: Mapping[str, JSON]) -> Check:
    """Every number of metrics.json against the protocol's numbers."""
    check = Check("metrics recompute")
    _compare(check, stored, body, METRICS)
    if not check.checked:
        check.checked = 1
        check.miss(f"{METRICS}: holds no number of the protocol")
    check.note = f"{check.checked} numbers agree"
    return check


def _compare(check: Check, stored: JSON, now: JSON, where: str) -> None:
    if isinstance(stored, Mapping):
        for key, value in stored.items():
            _compare(check, value, as_object(now).get(key), f"{where}, {key}")
    elif isinstance(stored, int | float):
        check.checked += 1
        expected = 0.0 if now is None else now
        if not isinstance(expected, int | float) or stored not in (expected, round(expected, PLACES)):
            check.miss(f"{where.partition(', ')[2]} {stored} → {now}")


def rounded_page(manifest: Mapping[str, JSON], lines: Sequence[str], body: Mapping[str, JSON]) -> Check:
    """Every number of summary.md and of the manifest's metrics_summary."""
    check = Check("summary recomputes")
    _compare(check, object_of(manifest, "metrics_summary", RUN_MANIFEST), body, RUN_MANIFEST)
    rows = {label: [_shown(body[key])] for label, key in _LINES.items()}
    for name, one in object_of(body, "per_family", METRICS).items():
        total, *rates = (as_object(one).get(key) for key in ("total", "coverage", "accuracy_valid"))
        rows[name] = [str(total), *(f"{rate or 0:.3f}" for rate in rates)]
    for line in lines:
        name, *cells = (cell.strip() for cell in line.strip().strip("|").split("|"))
        if cells and cells[0].lstrip("-")[:1].isdigit():
            check.checked += 1
            if rows.get(name) != cells:
                check.miss(f"{SUMMARY_PAGE}: {line.strip()!r:.80}, recomputed {rows.get(name)}")
    check.note = f"{check.checked} numbers agree"
    return check


def _shown(value: JSON) -> str:
    return str(value) if isinstance(value, int) else f"{value or 0:.4f}"
