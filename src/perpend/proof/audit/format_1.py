"""metrics.json and report.md as perpend 0.1 wrote them: the plain metrics, and reports in other words.

Numbers are compared as strictly as ever. Words are not: of a report the rows of its tables are compared by their
numbers, in their order, and the numbers in its prose by whether they occur in the report as it is now.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from perpend.canon import JSON, as_list, as_object, read_bytes, write_atomic
from perpend.disk import temporary_folder
from perpend.errors import StoreError
from perpend.measure.run import Run
from perpend.measure.study import METRICS, Numbers, Report, all_figures_of, names_of, plain_metrics
from perpend.proof.audit.bundle import stated_attempts
from perpend.proof.audit.checks import Check
from perpend.proof.audit.trees import NOT_THERE, Trees, as_json, compare_metrics
from perpend.proof.audit.words_0_1 import NOT_YET
from perpend.proof.closing import close_report
from perpend.report.derive import FIGURES, PLAIN, REPORT, TABLES, coverage, derive, study_of
from perpend.report.style import save_all

_OWN = ("format", "run", "metrics")
_TOKEN = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


def numbers(
    run: Run, stored: Path, body: Mapping[str, JSON], facts: Mapping[str, JSON] | None, *, redraw: bool
) -> list[Check]:
    """Compare what a folder of format 1 holds with what follows from a run; arguments as those of `numbers.numbers`."""
    published = facts is not None
    plain = [*plain_metrics(run.table)]
    metrics = Check(METRICS, note="of format 1: the rates and pairs that every run states")
    now: dict[str, JSON] = {"format": 1, "run": run.name, "metrics": as_json(plain)}
    begun_by = str(run.manifest.code.get("perpend"))
    if not begun_by.startswith("0.1."):  # only that version wrote format 1: the looser comparison is not for others
        metrics.miss(f"of format 1, but perpend {begun_by} began the run, which writes format 2")
    own = {key: body[key] for key in _OWN if key in body}
    compare_metrics(metrics, _wordless(own), _wordless(now), run.manifest)
    _compare_names(metrics, run, {key: value for key, value in body.items() if key not in _OWN})
    checks = [metrics]
    with temporary_folder("audit") as fresh:
        reported = getattr(run.code.study, "reported_in_format_1", False)
        if reported and (published or (stored / TABLES).is_dir()):
            report = _derived(run, fresh, drawn=(stored / FIGURES).is_dir(), redraw=redraw)
        else:
            report = PLAIN.report(Numbers((*plain, *coverage(run.table)), (run.manifest,)))
            write_atomic(fresh / REPORT, report.page())
        if facts is not None:
            close_report(fresh, facts)
            checks.append(stated_attempts(run.manifest, facts, as_list(now["metrics"])))
        checks.append(_compare_reports(stored, fresh / REPORT))
        if published or (stored / TABLES).is_dir():
            trees = Trees(run, stored, fresh, report, published=published)
            checks += trees.files(redraw=redraw)
    return checks


def _derived(run: Run, fresh: Path, *, drawn: bool, redraw: bool) -> Report:
    """What is derived now, as 0.1 wrote it: all figures and no others, none of the tables that there were not yet."""
    derived = derive([run], fresh, figures=False)
    figures = all_figures_of(study_of([run]), derived.numbers) if drawn else ()
    if redraw:
        save_all(figures, fresh / FIGURES)
    for path in fresh.rglob("*"):
        if path.relative_to(fresh).as_posix() in NOT_YET:
            path.unlink()
        elif path.suffix == ".csv":
            _as_0_1_wrote(path)
    return replace(derived.report, figures=figures)


def _as_0_1_wrote(path: Path) -> None:
    """0.1 wrote 0.0 for the smallest effect that items can show where no pair differs; it is undefined there."""
    head, *rows = csv.reader(io.StringIO(path.read_text(encoding="utf-8")))
    if "mde" not in head:
        return
    mde, n = head.index("mde"), head.index("n")
    for row in rows:
        row[mde] = "0.0" if not row[mde] and row[n] != "0" else row[mde]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([head, *rows])  # what is in the cells is inert already
    write_atomic(path, text.getvalue())


def _compare_names(check: Check, run: Run, stored: Mapping[str, JSON]) -> None:
    """The numbers that a study's front wrote by the names of its seed."""
    if not stored:
        return
    study = run.code.study
    metrics = () if study is None else (*plain_metrics(run.table), *study.metrics(run.table))
    now = {} if study is None else names_of(study, metrics, (run.manifest,))
    for key, value in stored.items():
        if key in now:
            check.compare(value, now[key], key)
    unknown = sorted(stored.keys() - now.keys())
    if unknown:
        check.missing = f"of another protocol: {', '.join(unknown)}"


def _wordless(body: Mapping[str, JSON]) -> dict[str, JSON]:
    """metrics.json without its sentences: of a caution the id and the number, of a note that there is one."""
    entries: list[JSON] = []
    for metric in map(as_object, as_list(body.get("metrics"))):
        cautions = [{**as_object(one), "text": ""} for one in as_list(metric.get("cautions"))]
        entries.append({**metric, "note": bool(metric.get("note")), "cautions": cautions})
    return {**body, "metrics": entries}


def _compare_reports(folder: Path, now: Path) -> Check:
    """Each row of a table is, by its numbers, one of the report as it is now, and they are in the same order."""
    check = Check(REPORT)
    if not (folder / REPORT).is_file():
        check.note = NOT_THERE
        return check
    check.note = "of format 1: the numbers of its tables were compared by row, others by whether they occur"
    check.missing = "its words, which perpend 0.1 chose otherwise"
    stored = read_bytes(folder / REPORT, StoreError, within=folder).decode("utf-8", "replace")
    pages = [text.split("\n") for text in (stored, now.read_text(encoding="utf-8"))]
    rows = [_TOKEN.findall(line) for line in pages[1] if line.startswith("|")]
    known = Counter(token for line in pages[1] for token in _TOKEN.findall(line))
    section = ""
    for number, line in enumerate(pages[0], 1):
        section = line if line.startswith("## ") else section
        # What a caution says is worded anew now and then; its number is in metrics.json.
        tokens = _TOKEN.findall(line.partition(":")[0] if section == "## Cautions" else line)
        check.checked += bool(tokens)
        if tokens and line.startswith("|"):
            if tokens not in rows:
                check.miss(f"{REPORT}:{number}: no row that is recomputed has these numbers here: {', '.join(tokens)}")
            else:
                del rows[: rows.index(tokens) + 1]
        elif strange := Counter(tokens) - known:
            check.miss(f"{REPORT}:{number}: {', '.join(strange)} is not among the numbers that are recomputed")
        known -= Counter(tokens)
    return check
