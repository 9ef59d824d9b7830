"""A run folder taken at its texts: every label is read again, every number recomputed, and what it states compared.

Where there is a ledger (run.db), predictions must be what it gives, byte for byte. Elsewhere the texts of the
predictions are the facts. Nothing that a folder names is imported: rules of reading are looked up among ours.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path

from perpend.canon import (
    JSON,
    as_list,
    number_of,
    object_of,
    parse,
    pretty,
    read_text,
)
from perpend.disk import temporary_folder
from perpend.errors import DataError, PerpendError, StoreError
from perpend.ledger.staging import IMPORTED
from perpend.measure.run import Run, table_of
from perpend.measure.study import Metric, Numbers, body_of, numbers_of, plain_metrics
from perpend.opening import refuse_links
from perpend.proof.audit.checks import Check, first_difference
from perpend.proof.gates import Gate
from perpend.report.derive import stated_metrics
from perpend.studies.logic.chaosbench.imported import SOURCE_METRICS, STORED, read_run_folder, reading_of
from perpend.studies.logic.chaosbench.items import text_of
from perpend.studies.logic.chaosbench.predictions import (
    NAMES,
    as_lines,
    longest_text,
    predictions_path,
    read_rows,
    repeated,
    stored_rows,
    unpacked,
)
from perpend.studies.logic.chaosbench.reference import rounded_metrics, rounded_page
from perpend.studies.logic.chaosbench.rundir import (
    FILES,
    METRICS,
    RECEIPT,
    RUN_MANIFEST,
    SUMMARY_PAGE,
    cut_stated,
    is_ours,
    parser_named,
    parser_stated,
    read_json,
    run_predictions,
    summary_page,
)
from perpend.studies.logic.chaosbench.stated import leaves, manifest_check, receipt_check
from perpend.studies.logic.design import PARSERS
from perpend.studies.logic.metrics import MetricCell, protocol, seed_names, study_metrics
from perpend.studies.logic.replies import Prediction, predictions_of

_FURTHER = 1 << 16
_SHORTENED = "texts were shortened"
_KNOWN = frozenset((*FILES, *NAMES, SOURCE_METRICS, "README.md"))
"""The files of a folder without a ledger that are compared."""


@dataclass(frozen=True, slots=True)
class Examined:
    """A run folder: what it states, what its texts come to, and whether the two are the same.

    `body` are its numbers by the protocol's names; `shortened` counts rows whose labels could not be read again.
    """

    folder: Path
    manifest: Mapping[str, JSON]
    stored: Mapping[str, JSON]
    predictions: tuple[Prediction, ...] = ()
    body: Mapping[str, JSON] | None = None
    checks: tuple[Check, ...] = ()
    shortened: int = 0

    @property
    def parser(self) -> str:
        """The rule of reading that the manifest names; it may be unknown here."""
        return parser_named(self.manifest)

    @property
    def gates(self) -> list[Gate]:
        """The checks as lines of the acceptance table."""
        return [
            Gate(
                one.name, not one.differ, one.first or "; not recomputed: ".join(filter(None, (one.note, one.missing)))
            )
            for one in self.checks
        ]


def examine(folder: Path) -> Examined:
    """Read a run folder and recompute what it states. What cannot be read, or is a link, is a check that fails."""
    try:
        refuse_links(folder)
    except StoreError as error:
        return Examined(folder, {}, {}, checks=(_failed("files are its own", str(error).replace(f"{folder}/", "")),))
    return _examined(folder)


def _examined(folder: Path) -> Examined:
    """The same of a folder in which an audit may have put links to the files that it was given."""
    checks: list[Check] = []
    metrics = SOURCE_METRICS if (folder / SOURCE_METRICS).is_file() else METRICS
    manifest, stored = (_object(folder / name, checks) for name in (RUN_MANIFEST, metrics))
    bare = Examined(folder, manifest, stored)
    path = predictions_path(folder)
    try:
        if path is None:
            raise DataError("no predictions.jsonl")
        ledger = _ledger(folder)
        texts = _from_ledger(ledger, manifest, path) if ledger is not None else _from_rows(manifest, path)
    except PerpendError as error:
        there = _failed("predictions are there", str(error).replace(f"{folder}/", ""))
        return replace(bare, checks=(*checks, there))
    predictions, n = texts.predictions, len(texts.ids)
    twice = repeated(texts.ids)
    planned = manifest.get("total_items_planned", manifest.get("total_items_evaluated"))
    status = manifest.get("status", "completed")
    is_whole = planned == n and status == "completed"
    checks += [
        _verdict("predictions are there", n > 0, f"{n} rows in {path.name}"),
        _verdict("every id once", not twice, f"{len(twice)} repeated" + (f", as {twice[0]!r}" if twice else "")),
        _verdict("every planned item was asked", is_whole, f"{n} of {planned}, {status}"),
        texts.check,
    ]
    examined = replace(bare, predictions=tuple(predictions), shortened=texts.shortened)
    try:
        body, rest = _numbers(examined, ledger)
    except PerpendError as error:
        return replace(examined, checks=(*checks, _failed("metrics recompute", str(error).replace(f"{folder}/", ""))))
    checks += rest
    receipt = receipt_check(folder, manifest, body, checks)
    return replace(examined, body=body, checks=(*checks, *receipt, *_others(folder, ledger)))


@dataclass(frozen=True, slots=True)
class _Texts:
    """The predictions that the facts give, the ids that are stored, and how what is stored compares."""

    predictions: Sequence[Prediction]
    ids: Sequence[str]
    check: Check
    shortened: int = 0


def _verdict(name: str, passed: bool, detail: str) -> Check:
    return Check(name, 1, note=detail) if passed else _failed(name, detail)


def _failed(name: str, detail: str) -> Check:
    return Check(name, 1, 1, detail)


def _object(path: Path, checks: list[Check]) -> Mapping[str, JSON]:
    try:
        return read_json(path)
    except PerpendError as error:
        checks.append(_failed(f"{path.name} can be read", str(error).replace(f"{path.parent}/", "")))
        return {}


def _ledger(folder: Path) -> Run | None:
    """The run whose files these are; None where there is none, or one that was imported from them."""
    known = [(folder / name).is_file() for name in ("run.db", "manifest.json")]
    if not any(known):
        return None
    if not all(known):
        raise StoreError("run.db and manifest.json belong together; one of them is missing")
    run = Run(folder)
    return None if run.manifest.is_imported else run


def _from_ledger(run: Run, manifest: Mapping[str, JSON], path: Path) -> _Texts:
    predictions = run_predictions(run, parser_stated(manifest))
    text = as_lines(predictions, cut_stated(manifest))
    with unpacked(path) as file:  # what is longer differs, however long it is
        stored = file.read(len(text) + _FURTHER).decode("utf-8", "replace").split("\n")
    now = text.split("\n")
    check = Check("predictions recompute", len(predictions), note=f"{len(predictions)} rows are those of run.db")
    if stored != now:
        line, one, other = _first_line(stored, now)
        check.miss(f"{path.name}:{line}: " + _rows_differ(one, other))
    return _Texts(predictions, [text_of(row, "id") for _, row in stored_rows(path)], check)


def _rows_differ(stored: str, now: str) -> str:
    try:
        bodies = (parse(stored), parse(now))
    except (ValueError, RecursionError):
        return f"stored {stored!r:.80}, run.db gives {now!r:.80}"
    return first_difference(*bodies, "row") or "other bytes than those of run.db"


def _from_rows(manifest: Mapping[str, JSON], path: Path) -> _Texts:
    rows = read_rows(path, reading_of(manifest))
    shortened = sum(row.shortened for row in rows)
    note = f"{len(rows) - shortened} rows read again by {parser_stated(manifest)}"
    left = f"{shortened} of {len(rows)} labels: {_SHORTENED}" if shortened else ""
    check = Check("predictions recompute", len(rows), note=note, missing=left)
    for row in rows:
        if row.differs:
            check.miss(f"{path.name}:{row.place.rpartition(':')[2]}: {row.differs}")
    predictions = [row.prediction for row in rows]
    return _Texts(predictions, [one.id for one in predictions], check, shortened)


def _numbers(examined: Examined, ledger: Run | None) -> tuple[Mapping[str, JSON], list[Check]]:
    """The protocol's numbers, and the checks of everything that states them."""
    manifest = examined.manifest
    body: Mapping[str, JSON]
    if not is_ours(manifest):
        if ledger is not None:
            raise DataError(f"{RUN_MANIFEST}: names no parser and no settings, though run.db has them")
        body = protocol_of(examined.predictions, parser_stated(manifest))
        page = examined.folder / SUMMARY_PAGE
        lines = read_text(page).split("\n") if page.is_file() else []
        return body, [rounded_metrics(examined.stored, body), rounded_page(manifest, lines, body)]
    if ledger is None and examined.shortened:
        body, metrics = _of_labels(examined)
    elif ledger is None:
        with temporary_folder("run") as scratch:
            run = Run(read_run_folder(examined.folder, scratch / "run"))
            run.score()
            body, metrics = _derived(run, examined, rescore=False)
    else:
        body, metrics = _derived(ledger, examined, rescore=True)
    return body, [metrics, manifest_check(manifest, examined.predictions, body, ledger), _page(examined, body)]


def _of_labels(examined: Examined) -> tuple[Mapping[str, JSON], Check]:
    """The numbers by the rule that the run was read by, from the labels that rows with shortened texts state.

    What another rule would read in a whole text nobody can know.
    """
    manifest, stored = examined.manifest, examined.stored
    parser, most = parser_stated(manifest), manifest.get("max_tokens")
    where = {"model": str(manifest.get("provider")), "temperature": f"{number_of(manifest, 'temperature', ''):g}"}
    cell = MetricCell(parser, where, most if isinstance(most, int) else None)
    metrics = tuple(cell.metrics(examined.predictions))
    body = protocol(Numbers(metrics), parser, **where)
    known = {*body, "by_parser", *body_of([""], (), {})}
    stated = [
        one
        for one in numbers_of(stored, ()).metrics
        if one.scorer == parser and one.where.items() >= where.items() and "part" in one.where
    ]
    then: dict[str, JSON] = {**{key: stored.get(key) for key in body}, "metrics": _by_name(stated)}
    now: dict[str, JSON] = {**body, "metrics": _by_name(metrics)}
    check = _compared("metrics recompute", METRICS, then, json.loads(pretty(now)))
    for key in sorted(stored.keys() ^ known):
        check.miss(f"{METRICS}, {key}: {'missing' if key in known else 'nothing gives such a key'}")
    check.missing = f"{len(as_list(stored.get('metrics'))) - len(stated)} numbers by other rules: {_SHORTENED}"
    return body, check


def _by_name(metrics: Iterable[Metric]) -> dict[str, JSON]:
    """Metrics by what they are of, without the digest of their columns, which a folder without a ledger has not."""
    return {
        " ".join((one.name, *(f"{key} {one.where[key]}" for key in sorted(one.where)))): {
            **one.as_json(),
            "columns_sha256": "",
        }
        for one in metrics
    }


def protocol_of(predictions: Sequence[Prediction], parser: str, max_tokens: int | None = None) -> dict[str, JSON]:
    """The numbers of some predictions by the protocol's names."""
    where = {"model": "", "temperature": ""}
    return protocol(Numbers(tuple(MetricCell(parser, where, max_tokens).metrics(predictions))), parser, **where)


def _derived(run: Run, examined: Examined, *, rescore: bool) -> tuple[Mapping[str, JSON], Check]:
    """metrics.json as it would be written now, by this format or the one before, which had less."""
    table = table_of([run], rescore=rescore)
    if not rescore:
        table = replace(table, scorers=tuple(name for name in table.scorers if not name.endswith("@import")))
    plain = tuple(plain_metrics(table))
    metrics = (*stated_metrics(table), *study_metrics(table))
    body = seed_names(Numbers(metrics, (run.manifest,)))
    now = body_of([str(examined.manifest.get("run_id"))], metrics, body)
    if examined.stored.get("format") == 1:
        now |= {"format": 1, "metrics": [metric.as_json() for metric in plain]}
    return body, _compared("metrics recompute", METRICS, examined.stored, json.loads(pretty(now)))


def _compared(name: str, where: str, stored: JSON, now: JSON) -> Check:
    check = Check(name, leaves(now), note=f"{leaves(now)} numbers agree")
    difference = first_difference(stored, now, where)
    if difference is not None:
        check.miss(difference)
    return check


def _page(examined: Examined, body: Mapping[str, JSON]) -> Check:
    stored, now = (
        read_text(examined.folder / SUMMARY_PAGE).split("\n"),
        summary_page(examined.manifest, body).split("\n"),
    )
    check = Check("summary recomputes", len(now), note=f"{len(now)} lines agree")
    if stored != now:
        line, one, other = _first_line(stored, now)
        check.miss(f"{SUMMARY_PAGE}:{line}: stored {one!r:.120}, recomputed {other!r:.120}")
    return check


def _first_line(stored: Sequence[str], now: Sequence[str]) -> tuple[int, str, str]:
    """The number of the first line that differs, and the line of both; '' beyond the end."""
    pairs = enumerate(zip_longest(stored, now, fillvalue=""), 1)
    return next(((n, one, other) for n, (one, other) in pairs if one != other), (len(now), "", ""))


def _others(folder: Path, ledger: Run | None) -> list[Check]:
    """What lies beside the files that are compared, where no ledger could give it again; nothing, if there is none."""
    # An import links what it does not read, and so does a copy of it: the source is the one that has no ledger.
    homes = {folder, *(entry.resolve().parent for entry in folder.iterdir() if entry.is_symlink())}
    sources = [home for home in homes if not (home / "run.db").is_file() and not (home / RECEIPT).is_file()]
    others = sorted({entry.name for home in sources for entry in home.iterdir() if entry.name not in _KNOWN})
    if ledger is not None or not others:
        return []
    more = f" and {len(others) - 5} more" if len(others) > 5 else ""
    return [Check("other files", missing=f"{', '.join(others[:5])}{more}: nothing here gives them")]


def extra_checks(run: Run) -> Iterator[Check]:
    """For `perpend audit`: the benchmark's own files beside a ledger; and the labels that an import brought along."""
    stated = f"{STORED}@{IMPORTED}"
    if run.manifest.is_imported and run.table.has(stated):
        parser = str(run.manifest.options.get("parser", PARSERS[0]))
        check = Check(f"{stated} against {parser}")
        cut = cut_stated(object_of(run.manifest.source_of_import or {}, "run_manifest", RUN_MANIFEST))
        for row, one in predictions_of(run.table, list(run.table.replies()), parser):
            if cut is not None and longest_text(one) == cut:
                check.missing = f"labels of replies whose {_SHORTENED}"
                continue
            then = float(run[stated].all_values[row])
            now = None if one.correct is None else float(one.correct)
            check.compare(None if math.isnan(then) else then, now, run.table.place(row))
        yield check
    if (run.directory / RUN_MANIFEST).is_file():
        for check in _examined(run.directory).checks:
            yield replace(check, name=f"chaosbench: {check.name}", note="" if check.differ else check.note)
