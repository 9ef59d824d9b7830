"""Everything derived again from the stored scores: metrics.json, report.md, every table, the figures; and nothing else.

Figures are redrawn and compared byte by byte only on demand: a full study has dozens, of a second or two each. What
they show is in the tables, which are always recomputed, and whether all of them are there is always looked at.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from itertools import zip_longest
from pathlib import Path

from perpend.canon import JSON, as_list, as_object
from perpend.errors import StoreError
from perpend.measure.run import Run
from perpend.measure.study import FORMAT, METRICS, plain_metrics, read_metrics
from perpend.proof.audit import format_1
from perpend.proof.audit.bundle import stated_attempts
from perpend.proof.audit.checks import Check
from perpend.proof.audit.intent import well_formed
from perpend.proof.audit.trees import NOT_THERE, Trees, as_json, compare_metrics, named
from perpend.proof.closing import close_report
from perpend.report.derive import FIGURES, REPORT, TABLES, derive


def numbers(run: Run, stored: Path, facts: Mapping[str, JSON] | None, *, redraw: bool = False) -> list[Check]:
    """Compare what the folder `stored` holds with what follows from a run.

    `facts` are the receipt's, for a published folder, whose report ends with them; None for a run directory, whose
    tables and figures are looked at where it has some.
    """
    if facts is None and not any((stored / name).exists() for name in (METRICS, REPORT, TABLES, FIGURES)):
        return [Check(f"{METRICS}, {REPORT}", note=NOT_THERE)]
    metrics, body = _read(stored)
    with well_formed("a number"), tempfile.TemporaryDirectory() as tmpdir:
        fresh = Path(tmpdir)
        why = run.code.missing.get("study")
        if why is not None:
            return _without_study(run, body, facts, metrics, why)
        if body is not None and body.get("format") == 1:
            return format_1.numbers(run, stored, body, facts, redraw=redraw)
        derived = derive([run], fresh, figures=(stored / FIGURES).is_dir(), draw=redraw)
        now = read_metrics(fresh)
        compare_metrics(metrics, body, now, run.manifest)
        checks = [metrics]
        if facts is not None:
            close_report(fresh, facts)
            checks.append(stated_attempts(run.manifest, facts, as_list(now.get("metrics"))))
        trees = Trees(run, stored, fresh, derived.report, published=facts is not None)
        return [*checks, trees.report(), *trees.files(redraw=redraw)]


def _read(stored: Path) -> tuple[Check, Mapping[str, JSON] | None]:
    """The stored body of metrics.json, and the check that says of it what is wrong where there is none."""
    check = Check(METRICS)
    if not (stored / METRICS).is_file():
        check.note = NOT_THERE
        return check, None
    try:
        return check, read_metrics(stored)
    except StoreError as error:
        check.checked = 1
        check.miss(str(error))
        return check, None


def _without_study(
    run: Run, body: Mapping[str, JSON] | None, facts: Mapping[str, JSON] | None, check: Check, why: str
) -> list[Check]:
    """The rates and pairs that every run states; what only the run's own code can derive is said to be left out."""
    now = as_json(plain_metrics(run.table))
    stored = as_list(None if body is None else body.get("metrics"))
    check.compare(FORMAT if body is None else body.get("format"), FORMAT, "format")
    for one, other in zip_longest(stored[: len(now)], now):
        check.compare(one, other, named(as_object(other)))
    check.missing = f"the study's own numbers, {why}"
    attempts = [] if facts is None else [stated_attempts(run.manifest, facts, now)]
    return [check, *attempts, Check(f"{REPORT}, {TABLES}, {FIGURES}", missing=why)]
