"""What is stored of a run against what is derived now: metrics by value, texts by line, tables by cell, figures."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping
from itertools import zip_longest
from pathlib import Path

from perpend.canon import JSON, as_list, as_object, open_file, pretty
from perpend.errors import StoreError
from perpend.ledger.manifest import Manifest
from perpend.measure.run import Run
from perpend.measure.study import METRICS, Metric, Report
from perpend.proof.archive import archived
from perpend.proof.audit.checks import Check, first_difference, shown
from perpend.proof.pages import is_page
from perpend.proof.receipt import UNLISTED
from perpend.proof.statements import names as statement_names
from perpend.report.derive import FIGURES, REPORT, TABLES, is_given

NOT_THERE = "not there; 'perpend score' writes it"
_MISSING = "(no such line)"
_FURTHER = 1 << 16
"""Bytes beyond twice the length of what is derived that are read of a stored file, so that a difference is shown."""
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


def as_json(metrics: Iterable[Metric]) -> list[JSON]:
    """Metrics through JSON and back, as the stored ones went."""
    body: list[JSON] = json.loads(pretty([metric.as_json() for metric in metrics]))
    return body


def compare_metrics(
    check: Check, stored: Mapping[str, JSON] | None, now: Mapping[str, JSON], manifest: Manifest
) -> None:
    """Every key of metrics.json and every metric of it. A copy in another folder is the same run."""
    if stored is None:
        return
    if stored.get("run") == manifest.run:
        now = {**now, "run": manifest.run}
    then, again = (as_list(body.get("metrics")) for body in (stored, now))
    check.compare(len(then), len(again), "number of metrics")
    for one, other in zip(then, again, strict=False):
        check.compare(one, other, named(as_object(one)))
    check.compare({**stored, "metrics": []}, {**now, "metrics": []}, METRICS)


def named(metric: Mapping[str, JSON]) -> str:
    """A metric as a difference names it."""
    place = ", ".join(f"{key} {value}" for key, value in as_object(metric.get("where")).items())
    return f"{metric.get('metric')} of {metric.get('scorer')} at {place}"


def beside(manifest: Manifest, stored: Path, *, page: bool) -> Check:
    """What a folder holds beside its ledger, for a run whose study is not run: nothing that no study gives.

    With `page` its page is checked apart."""
    check = Check(f"{REPORT}, {TABLES}, {FIGURES}")
    for name in sorted(files_below(stored) - _apart(manifest)):
        if not is_given(name) and not (page and is_page(name)):
            check.checked += 1
            check.miss(f"{name}: no study gives such a file")
    return check


class Trees:
    """Two folders with what is derived of one run: as it is stored, and as it is derived now.

    In a published folder every file must be one that is archived, fixed or derived; in a run directory this holds for
    the folders of tables and figures, and what was never written into it is not missed. With `page` the files of the
    page are checked apart.
    """

    def __init__(
        self, run: Run, stored: Path, fresh: Path, report: Report, *, published: bool, page: bool = False
    ) -> None:
        self.stored, self.fresh, self.published = stored, fresh, published
        drawn = [f"{FIGURES}/{figure.name}.{kind}" for figure in report.figures for kind in ("png", "pdf")]
        self.now = {*files_below(fresh), *(drawn if (stored / FIGURES).is_dir() else ())} - {METRICS, REPORT}
        if published:
            there = files_below(stored) - _apart(run.manifest)
            self.names = self.now | {name for name in there if not (page and is_page(name))}
        else:
            there = {name for name in files_below(stored) if name.startswith((f"{TABLES}/", f"{FIGURES}/"))}
            self.names = {name for name in self.now | there if (stored / name.partition("/")[0]).exists()}

    def report(self) -> Check:
        """Every line of report.md."""
        check = Check(REPORT)
        if (self.stored / REPORT).is_file():
            compare_lines(check, self.stored, self.fresh, REPORT)
        else:
            check.note = NOT_THERE
        return check

    def files(self, *, redraw: bool) -> list[Check]:
        """Tables and figures; of a run directory that has some."""
        checks = [self.texts(), self.figures(redraw=redraw)]
        return [check for check in checks if check.checked or self.published]

    def texts(self) -> Check:
        """Every cell of every CSV file, every line of every other file but figures."""
        check = Check(TABLES)
        for name in self._ordered(name for name in self.names if not name.startswith(f"{FIGURES}/")):
            if self._both(check, name, "file"):
                (_cells if name.endswith(".csv") else compare_lines)(check, self.stored, self.fresh, name)
        if not check.checked:
            check.note = "this run has none"
        return check

    def figures(self, *, redraw: bool) -> Check:
        """Every figure is there, and no other; with `redraw` also the same bytes."""
        check = Check(FIGURES)
        for name in self._ordered(name for name in self.names if name.startswith(f"{FIGURES}/")):
            if self._both(check, name, "figure"):
                check.checked += 1
                if redraw and len({*_texts(self.stored, self.fresh, name)}) > 1:
                    check.miss(f"{name}: not the bytes that this run gives when it is drawn again")
        if not check.checked:
            check.note = "this run has none, or none was drawn"
        elif redraw:
            from matplotlib import __version__ as version

            check.note = f"redrawn by matplotlib {version}; another version may draw other bytes"
        else:
            check.note = "there, and their data are in the tables; redraw to compare what they show"
        return check

    def _ordered(self, names: Iterable[str]) -> list[str]:
        """By name; what nothing gives comes first, so that it is what the check shows."""
        return sorted(names, key=lambda name: (name in self.now, name))

    def _both(self, check: Check, name: str, what: str) -> bool:
        """Whether a file is stored and derived; what is only one of them is a difference."""
        is_stored, is_derived = (self.stored / name).is_file(), name in self.now
        if not is_stored or not is_derived:
            check.checked += 1
            check.miss(f"{name}: {'missing' if is_derived else f'nothing in this run gives such a {what}'}")
        return is_stored and is_derived


def _apart(manifest: Manifest) -> set[str]:
    """The files of a published folder that are checked by themselves."""
    return {*archived(manifest), *UNLISTED, METRICS, REPORT, *statement_names(manifest)}


def files_below(folder: Path) -> set[str]:
    """The names of all files below a folder, with '/'."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}


def _texts(stored: Path, fresh: Path, name: str) -> tuple[bytes, bytes]:
    """A file of the two folders; of the stored one not much more than the other holds: what is longer differs."""
    now = (fresh / name).read_bytes()
    with open_file(stored / name, StoreError, within=stored) as file:
        return file.read(2 * len(now) + _FURTHER), now


def compare_lines(check: Check, stored: Path, fresh: Path, name: str) -> None:
    """Count every line of a file of the folder `stored` that is not that of `fresh`."""
    texts = _texts(stored, fresh, name)
    lines = [text.decode("utf-8", "replace").split("\n") for text in texts]
    before = check.differ
    for number, (then, again) in enumerate(zip_longest(*lines, fillvalue=_MISSING), 1):
        check.checked += 1
        if then != again:
            check.miss(f"{name}:{number}: stored {shown(then)}, recomputed {shown(again)}")
    if texts[0] != texts[1] and check.differ == before:
        check.miss(f"{name}: not UTF-8")


def _cells(check: Check, stored: Path, fresh: Path, name: str) -> None:
    """Numbers may differ in the digits that another machine may move; everything else is the same."""
    texts = _texts(stored, fresh, name)
    try:
        rows = [list(csv.reader(io.StringIO(text.decode("utf-8"), newline=""))) for text in texts]
    except (csv.Error, UnicodeDecodeError) as error:
        check.checked += 1
        check.miss(f"{name}: not a table: {error}")
        return
    before = check.differ
    heads = rows[1][0] if rows[1] else []
    for number, (then, again) in enumerate(zip_longest(*rows, fillvalue=[]), 1):
        for column, (one, other) in enumerate(zip_longest(then, again, fillvalue=_MISSING)):
            check.checked += 1
            if one != other:
                head = heads[column] if column < len(heads) else str(column + 1)
                place = f"{name}:{number}, column {head!r}"
                difference = first_difference(_number(one), _number(other), place, of=head)
                if difference is not None:
                    check.miss(difference)
    layouts = {_NUMBER.sub("#", text.decode("utf-8")) for text in texts}
    if check.differ == before and len(layouts) > 1:
        check.miss(f"{name}: the same cells, written in another way")


def _number(cell: str) -> float | str:
    """A cell as a number where it is one that arithmetic gave; a name such as 007 or a count is compared as it is."""
    return float(cell) if _NUMBER.fullmatch(cell) and not cell.lstrip("-").isdigit() else cell
