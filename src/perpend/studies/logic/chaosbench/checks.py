"""A run folder taken at its texts: every label is read again, every number recomputed, and what it states compared.

Where there is a ledger (run.db), predictions must be what it gives, byte for byte. Elsewhere the texts of the
predictions are the facts. Nothing that a folder names is imported: rules of reading are looked up among ours.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path

from perpend.canon import (
    JSON,
    as_list,
    as_object,
    digest,
    digest_file,
    dumps,
    number_of,
    object_of,
    parse,
    pretty,
    read_text,
)
from perpend.disk import temporary_folder
from perpend.errors import DataError, PerpendError, StoreError
from perpend.ledger.staging import IMPORTED
from perpend.measure.missing import no_answer_metrics
from perpend.measure.run import Run, table_of
from perpend.measure.study import Numbers, body_of, plain_metrics
from perpend.opening import refuse_links
from perpend.proof.audit.checks import Check, first_difference
from perpend.proof.gates import Gate
from perpend.stats.edition import first_edition
from perpend.studies.logic.chaosbench.hashes import ids_hash
from perpend.studies.logic.chaosbench.imported import SOURCE_METRICS, STORED, read_run_folder, reading_of
from perpend.studies.logic.chaosbench.items import text_of
from perpend.studies.logic.chaosbench.predictions import (
    as_lines,
    predictions_path,
    read_rows,
    repeated,
    stored_rows,
    unpacked,
)
from perpend.studies.logic.chaosbench.reference import rounded_metrics, rounded_page
from perpend.studies.logic.chaosbench.rundir import (
    METRICS,
    RECEIPT,
    RUN_MANIFEST,
    SUMMARY_PAGE,
    cut_stated,
    index_row,
    is_older,
    is_ours,
    parser_named,
    parser_stated,
    read_json,
    run_predictions,
    summary_page,
    tokens,
)
from perpend.studies.logic.chaosbench.settings import settings_from
from perpend.studies.logic.design import OLDER, PARSERS
from perpend.studies.logic.metrics import SUMMARY, MetricCell, protocol, seed_names, study_metrics
from perpend.studies.logic.replies import Prediction, predictions_of
from perpend.types import Item

INVALID_LIMIT = 0.05
_FURTHER = 1 << 16


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
        return [Gate(check.name, not check.differ, check.first or check.note) for check in self.checks]


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
        with first_edition() if is_ours(manifest) and stored.get("format") == 1 else nullcontext():
            body, rest = _numbers(examined, ledger)
    except PerpendError as error:
        return replace(examined, checks=(*checks, _failed("metrics recompute", str(error).replace(f"{folder}/", ""))))
    return replace(examined, body=body, checks=(*checks, *rest))


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
    left = f"; {shortened} not recomputed: texts were shortened" if shortened else ""
    note = f"{len(rows) - shortened} rows read again by {parser_stated(manifest)}{left}"
    check = Check("predictions recompute", len(rows), note=note)
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
        stated = [rounded_metrics(examined.stored, body), rounded_page(manifest, lines, body)]
        return body, [*stated, *_receipt(examined, body)]
    if ledger is None and examined.shortened:
        body = protocol_of(examined.predictions, parser_stated(manifest), _whole(manifest.get("max_tokens")))
        stored = {key: value for key, value in examined.stored.items() if key in body}
        metrics = _compared("metrics recompute", METRICS, stored, body)
    elif ledger is None:
        with temporary_folder("run") as scratch:
            run = Run(read_run_folder(examined.folder, scratch / "run"))
            run.score()
            body, metrics = _derived(run, examined, rescore=False)
    else:
        body, metrics = _derived(ledger, examined, rescore=True)
    return body, [metrics, _manifest(examined, body, ledger), _page(examined, body), *_receipt(examined, body)]


def _whole(value: JSON) -> int | None:
    return value if isinstance(value, int) else None


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
    metrics = (*plain, *no_answer_metrics(table), *study_metrics(table))
    body = seed_names(Numbers(metrics, (run.manifest,)))
    now = body_of([str(examined.manifest.get("run_id"))], metrics, body)
    if examined.stored.get("format") == 1:
        now |= {"format": 1, "metrics": [metric.as_json() for metric in plain]}
    return body, _compared("metrics recompute", METRICS, examined.stored, json.loads(pretty(now)))


def _compared(name: str, where: str, stored: JSON, now: JSON) -> Check:
    check = Check(name, _leaves(now), note=f"{_leaves(now)} numbers agree")
    difference = first_difference(stored, now, where)
    if difference is not None:
        check.miss(difference)
    return check


def _leaves(value: JSON) -> int:
    if isinstance(value, Mapping):
        return sum(map(_leaves, value.values()))
    if isinstance(value, list):
        return sum(map(_leaves, value))
    return int(isinstance(value, int | float))


def _manifest(examined: Examined, body: Mapping[str, JSON], ledger: Run | None) -> Check:
    """What run_manifest.json states twice, and what follows from the predictions or the ledger."""
    manifest, predictions = examined.manifest, examined.predictions
    settings = settings_from(object_of(manifest, "settings", RUN_MANIFEST), RUN_MANIFEST)
    # 'careful' is whatever our newest rule was when the run was begun.
    is_older_rule = settings.parsing == "careful" and manifest.get("parser") in OLDER
    parser: dict[str, JSON] = {"parser": manifest.get("parser")} if is_older_rule else {}
    now: dict[str, JSON] = {
        **settings.stated(),
        **parser,
        **({"strict_parsing": settings.parsing != "lenient"} if is_older(manifest) else {}),
        "settings": settings.as_json(),
        "total_items_evaluated": len(predictions),
        "metrics_summary": {name: body[name] for name in SUMMARY},
    }
    items = object_of(manifest, "items", RUN_MANIFEST)
    if manifest.get("total_items_planned") == len(predictions):
        lines = "".join(dumps(item_of(one).as_json()) + "\n" for one in predictions)
        ids = ids_hash(one.id for one in predictions)
        now["items"] = {**items, "sha256": hashlib.sha256(lines.encode()).hexdigest(), "ids_hash": ids}
    if ledger is not None:
        facts, (asked,) = ledger.manifest, settings.spec(Path()).samplings
        now |= {
            "run_id": facts.run,
            "provider": facts.models[0].label,
            "total_items_planned": facts.trials,
            "tokens": tokens(ledger.table.replies()),
            "model": dict(facts.models[0].fingerprint),
        }
        now["parser"] = facts.options.get("parser")
        if facts.samplings != (asked,) or dict(facts.options) != settings.task_options() | parser:
            return _failed("manifest agrees", f"{RUN_MANIFEST}: another sampling or parser than in manifest.json")
    return _compared("manifest agrees", RUN_MANIFEST, {key: manifest.get(key) for key in now}, json.loads(pretty(now)))


def item_of(one: Prediction) -> Item:
    """The item that a prediction is about."""
    return Item(one.id, one.question, one.truth, tags=one.tags)


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


def limits(numbers: Mapping[str, JSON]) -> list[Gate]:
    """The two lines of the acceptance table about replies without a label."""
    rate, share = (number_of(numbers, key, METRICS) for key in ("invalid_rate", "coverage"))
    most, least = INVALID_LIMIT, 1.0 - INVALID_LIMIT
    lost = {key: numbers.get(key) for key in ("invalid", "unfinished", "errors") if numbers.get(key)}
    detail = "missing" if share is None else f"{share:.4f}" + (f" ({lost})" if lost else "")
    # 1 - 0.05 is not 0.95 in binary; a coverage of exactly 0.95 passes.
    is_covered = share is not None and share >= least - 1e-9
    shown = "missing" if rate is None else f"{rate:.4f}"
    return [
        Gate(f"invalid rate at most {most}", rate is not None and rate <= most, shown),
        Gate(f"coverage present and at least {least}", is_covered, detail),
    ]


def _receipt(examined: Examined, body: Mapping[str, JSON]) -> list[Check]:
    """Of a published copy: its receipt's digests, the figures of its acceptance table, and its line in the index."""
    path = examined.folder / RECEIPT
    if not path.is_file():
        return []
    folder = path.resolve().parent
    receipt, check = read_json(path), Check("receipt holds", note="every digest agrees")
    entries = [entry for entry in sorted(folder.iterdir()) if entry.name != RECEIPT]
    files: dict[str, JSON] = {entry.name: digest_file(entry) for entry in entries if entry.is_file()}
    now = {"run_id": examined.manifest.get("run_id"), "files_sha256": files, "artifacts_copied": list(files)}
    for key, value in {**now, "root_sha256": digest(files)}.items():
        check.compare(receipt.get(key), value, f"{RECEIPT}, {key}")
    figures = {gate.gate: gate.detail for gate in limits(body)}
    for entry in map(as_object, as_list(receipt.get("checks"))):
        name = str(entry.get("check"))
        check.compare(entry.get("passed"), True, f"{RECEIPT}, {name}")
        if name in figures:
            check.compare(entry.get("found"), figures[name], f"{RECEIPT}, {name}")
    readme = folder.parent / "README.md"
    if readme.is_file():
        lines = [line for line in read_text(readme).split("\n") if f"]({folder.name})" in line]
        check.compare(lines, [index_row(folder.name, examined.manifest, body)], readme.name)
    return [check]


def extra_checks(run: Run) -> Iterator[tuple[str, int, int, str]]:
    """For `perpend audit`: the benchmark's own files beside a ledger; and the labels that an import brought along."""
    stated = f"{STORED}@{IMPORTED}"
    if run.manifest.is_imported and run.table.has(stated):
        parser = str(run.manifest.options.get("parser", PARSERS[0]))
        check = Check(f"{stated} against {parser}")
        for row, one in predictions_of(run.table, list(run.table.replies()), parser):
            then = float(run[stated].all_values[row])
            now = None if one.correct is None else float(one.correct)
            check.compare(None if math.isnan(then) else then, now, run.table.place(row))
        yield check.name, check.checked, check.differ, check.first
    if (run.directory / RUN_MANIFEST).is_file():
        for check in _examined(run.directory).checks:
            yield f"chaosbench: {check.name}", check.checked, check.differ, check.first
