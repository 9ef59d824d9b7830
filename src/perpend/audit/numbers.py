"""Every number again from the stored scores: metrics.json, report.md, the cells of every table, the figures.

Figures are redrawn and compared byte by byte only on demand: a full study has dozens, of a second or two each. What
they show stands in the tables, which are always recomputed, and whether all of them are there is always looked at.
"""

from __future__ import annotations

import csv
import io
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path

from perpend.audit.bundle import stated_attempts
from perpend.audit.checks import Check, first_difference, shown
from perpend.audit.intent import entries, table
from perpend.canon import JSON, write_atomic
from perpend.derived import METRICS, REPORT, close_report
from perpend.measure import Run
from perpend.reports import conformity, conformity_latex
from perpend.reports.conformity_figures import heatmaps
from perpend.reports.conformity_findings import Findings, findings
from perpend.reports.conformity_report import report as study_report
from perpend.reports.conformity_trials import Trials, load
from perpend.reports.summary import metrics, report

_MISSING = "(no such line)"


def numbers(run: Run, stored: Path, facts: Mapping[str, JSON] | None, *, redraw: bool = False) -> list[Check]:
    """Compare what the folder `stored` holds with what follows from a run.

    `facts` are the receipt's, for a published folder, whose report ends with them; None for a run directory, whose
    tables and figures are looked at where it has some.
    """
    found = metrics(run)
    # Through JSON and back, as the stored ones went.
    now: list[JSON] = json.loads(json.dumps([metric.as_json() for metric in found]))
    checks = [_metrics(stored / METRICS, now)]
    analysed = facts is not None or (stored / "tables").is_dir()
    with tempfile.TemporaryDirectory() as held:
        fresh = Path(held)
        if analysed and table(run.manifest.get("task")).get("name") == "conformity":
            _study(run, fresh, drawn=(stored / "figures").is_dir(), redraw=redraw)
        else:
            write_atomic(fresh / REPORT, report(run, found))
        if facts is not None:
            close_report(fresh, facts)
            checks.append(stated_attempts(run.manifest, facts, now))
        checks.append(_report(stored / REPORT, (fresh / REPORT).read_text(encoding="utf-8")))
        if analysed:
            checks += [_tables(stored, fresh), _figures(stored, fresh, redraw=redraw)]
    return checks


def _metrics(path: Path, now: Sequence[JSON]) -> Check:
    check = Check(METRICS)
    if not path.is_file():
        check.note = "not there; 'perpend score' writes it"
        return check
    try:
        body = table(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, RecursionError) as error:
        check.checked = 1
        check.miss(f"{METRICS}: not JSON: {error}")
        return check
    stored = [table(entry) for entry in entries(body.get("metrics"))]
    check.compare(len(stored), len(now), "number of metrics")
    for then, again in zip(stored, now, strict=False):
        check.compare(then, again, _named(then))
    others = sorted(set(body) - {"format", "run", "metrics"})
    if others:
        check.note = f"not recomputed, of another protocol: {', '.join(others)}"
    return check


def _named(metric: Mapping[str, JSON]) -> str:
    place = ", ".join(f"{key} {value}" for key, value in table(metric.get("where")).items())
    return f"{metric.get('metric')} of {metric.get('scorer')} at {place}"


def _study(run: Run, out: Path, *, drawn: bool, redraw: bool) -> None:
    """What 'perpend analyze' writes of a conformity study; without a redraw empty files stand for the figures."""
    if redraw or not drawn:
        conformity.analyze([run], out, with_figures=drawn)
        return
    trials = load([run])
    found = [findings(trials, rule) for rule in trials.rules]
    conformity.write_tables(trials, found, out / "tables")
    write_atomic(out / "numbers.tex", conformity_latex.macros(trials, found))
    names = [name for one in found for name in _figure_names(trials, one)]
    for name in names:
        write_atomic(out / name, b"")
        write_atomic((out / name).with_suffix(".pdf"), b"")
    write_atomic(out / REPORT, study_report(trials, found, [run.directory.name], names))


def _figure_names(trials: Trials, found: Findings) -> Iterator[str]:
    """The figures of one rule as 'perpend analyze' names and orders them."""
    folder = "figures/" if found.rule == "1" else f"figures/rule{found.rule}/"
    yield f"{folder}pressure_effects_forest.png"
    if not trials.opinion.all():
        for name, _ in heatmaps(trials, found.rule):
            yield f"{folder}{name}.png"
    if trials.opinion.any():
        yield f"{folder}opinion_wrong_answer_agreement.png"


def _report(path: Path, now: str) -> Check:
    check = Check(REPORT)
    if not path.is_file():
        check.note = "not there; 'perpend score' writes it"
        return check
    _lines(check, path.read_text(encoding="utf-8", errors="replace"), now, REPORT)
    return check


def _lines(check: Check, stored: str, now: str, name: str) -> None:
    pairs = zip_longest(stored.split("\n"), now.split("\n"), fillvalue=_MISSING)
    for number, (then, again) in enumerate(pairs, 1):
        check.checked += 1
        if then != again:
            check.miss(f"{name}:{number}: stored {shown(then)}, recomputed {shown(again)}")


def _tables(stored: Path, fresh: Path) -> Check:
    """Every cell of every CSV file, every line of every LaTeX file."""
    check = Check("tables")
    for name in _names(stored, fresh, (".csv", ".tex")):
        there, again = stored / name, fresh / name
        if not there.is_file() or not again.is_file():
            check.checked += 1
            check.miss(f"{name}: {'missing' if again.is_file() else 'nothing in this run gives such a table'}")
            continue
        then, now = (path.read_text(encoding="utf-8", errors="replace") for path in (there, again))
        if name.endswith(".csv"):
            _cells(check, then, now, name)
        else:
            _lines(check, then, now, name)
    if not check.checked:
        check.note = "this task has none"
    return check


def _cells(check: Check, stored: str, now: str, name: str) -> None:
    try:
        rows = [list(csv.reader(io.StringIO(text))) for text in (stored, now)]
    except csv.Error as error:
        check.checked += 1
        check.miss(f"{name}: not a table: {error}")
        return
    heads = rows[1][0] if rows[1] else []
    for number, (then, again) in enumerate(zip_longest(*rows, fillvalue=[]), 1):
        for column, (one, other) in enumerate(zip_longest(then, again, fillvalue=_MISSING)):
            check.checked += 1
            if one != other:
                head = heads[column] if column < len(heads) else str(column + 1)
                found = first_difference(_number(one), _number(other), f"{name}:{number}, column {head!r}")
                if found is not None:
                    check.miss(found)


def _number(cell: str) -> float | str:
    """A cell as a number where it is one: the last digit may be another machine's."""
    try:
        return float(cell)
    except ValueError:
        return cell


def _figures(stored: Path, fresh: Path, *, redraw: bool) -> Check:
    check = Check("figures")
    for name in _names(stored, fresh, (".png", ".pdf")):
        check.checked += 1
        there, again = stored / name, fresh / name
        if not there.is_file() or not again.is_file():
            check.miss(f"{name}: {'missing' if again.is_file() else 'nothing in this run gives such a figure'}")
        elif redraw and there.read_bytes() != again.read_bytes():
            check.miss(f"{name}: not the bytes that this run gives when it is drawn again")
    if not check.checked:
        check.note = "this task has none, or none was drawn"
    elif redraw:
        from matplotlib import __version__ as version

        check.note = f"redrawn by matplotlib {version}; another version may draw other bytes"
    else:
        check.note = "there, and their data are in the tables; redraw to compare what they show"
    return check


def _names(stored: Path, fresh: Path, endings: tuple[str, ...]) -> list[str]:
    """The files of these endings in either folder."""
    found = {
        path.relative_to(root).as_posix()
        for root in (stored, fresh)
        for folder in (root / "tables", root / "figures", root)
        for path in (folder.rglob("*") if folder != root else folder.glob("*"))
        if path.is_file() and path.suffix in endings
    }
    return sorted(found)
