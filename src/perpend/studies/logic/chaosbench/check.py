"""A run folder taken at its texts: every label is read again, every number recomputed, and what it states compared.

Where there is a ledger (run.db), predictions must be what it gives. Elsewhere the texts of the predictions are the
facts. In run_manifest.json and in the receipt every field is known: one that follows from the predictions, the settings
or the ledger is compared; the others (times, costs, digests of files that are elsewhere) have their type.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import zip_longest
from pathlib import Path

from perpend.ask.task import packaged_task
from perpend.canon import (
    JSON,
    as_list,
    as_object,
    compress,
    digest,
    digest_file,
    dumps,
    inside,
    number_of,
    object_of,
    packed_lines,
    pretty,
    read_text,
    write_atomic,
)
from perpend.disk import temporary_folder
from perpend.errors import AuditFailure, DataError, FormatError, PerpendError, StoreError
from perpend.ledger.staging import IMPORTED
from perpend.measure.run import Run, table_of
from perpend.measure.study import METRICS, RULES, Metric, Numbers, body_of, numbers_of
from perpend.opening import refuse_links
from perpend.proof.audit.checks import Check, first_difference
from perpend.proof.audit.intent import is_time
from perpend.proof.gates import Gate
from perpend.proof.leaks import search_file, this_machine
from perpend.report.derive import stated_metrics
from perpend.spec.keys import noted_variables
from perpend.studies.logic.chaosbench import runs, sets
from perpend.studies.logic.chaosbench.runs import RUN_MANIFEST, SUMMARY_PAGE
from perpend.studies.logic.chaosbench.sets import PROTOCOL, Record, Selector, ids_hash, load_records, text_of, to_item
from perpend.studies.logic.design import PARSERS
from perpend.studies.logic.metrics import (
    SUMMARY,
    MetricCell,
    Prediction,
    predictions_of,
    protocol,
    seed_names,
    study_metrics,
)
from perpend.types import Item

PLACES = 4
"""The reference rounds to so many, and writes 0 for what is undefined."""
INVALID_LIMIT = 0.05
README = "README.md"
DATASET_GATE, PROMPT_GATE = "dataset SHA equals the freeze", "prompt hash is this code's"
ITEMS_GATE = "items are the canonical ones"
_SHORTENED = "texts were shortened"
_KNOWN = frozenset((*runs.FILES, *runs.NAMES, runs.SOURCE_METRICS, README))
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
    def gates(self) -> list[Gate]:
        """The checks as lines of the acceptance table."""
        notes = ["; not recomputed: ".join(filter(None, (one.note, one.missing))) for one in self.checks]
        pairs = zip(self.checks, notes, strict=True)
        return [Gate(one.name, not one.differ, one.first or note) for one, note in pairs]


def examine(folder: Path) -> Examined:
    """Read a run folder and recompute what it states. What cannot be read, or is a link, is a check that fails.

    A folder that another version of perpend wrote is a FormatError.
    """
    try:
        refuse_links(folder)
    except StoreError as error:
        return Examined(folder, {}, {}, checks=(_failed("files are its own", error, folder),))
    return _examined(folder)


def _examined(folder: Path) -> Examined:
    """The same of a folder in which an audit may have put links to the files that it was given."""
    checks: list[Check] = []
    metrics = runs.SOURCE_METRICS if (folder / runs.SOURCE_METRICS).is_file() else METRICS
    manifest, stored = (_object(folder / name, checks) for name in (RUN_MANIFEST, metrics))
    found, what = Examined(folder, manifest, stored), "predictions are there"
    try:
        runs.check_version(folder, manifest, stored)
        path = runs.predictions_path(folder)
        if path is None:
            raise DataError("no predictions.jsonl")
        ledger = _ledger(folder)
        predictions, ids, texts, shortened = _texts(manifest, path, ledger)
        n, twice = len(ids), runs.repeated(ids)
        planned = manifest.get("total_items_planned", manifest.get("total_items_evaluated"))
        status = manifest.get("status", "completed")
        checks += [
            _verdict(what, n > 0, f"{n} rows in {path.name}"),
            _verdict("every id once", not twice, f"{len(twice)} repeated" + (f", as {twice[0]!r}" if twice else "")),
            _verdict(
                "every planned item was asked", planned == n and status == "completed", f"{n} of {planned}, {status}"
            ),
            texts,
        ]
        found, what = replace(found, predictions=tuple(predictions), shortened=shortened), "metrics recompute"
        body, rest = _numbers(found, ledger)
    except FormatError:
        raise
    except PerpendError as error:
        return replace(found, checks=(*checks, _failed(what, error, folder)))
    checks += rest
    receipt = receipt_check(folder, manifest, body, checks)
    return replace(found, body=body, checks=(*checks, *receipt, *_others(folder, ledger)))


def _verdict(name: str, passed: bool, detail: str) -> Check:
    return Check(name, 1, note=detail) if passed else Check(name, 1, 1, detail)


def _failed(name: str, error: PerpendError, folder: Path) -> Check:
    return Check(name, 1, 1, str(error).replace(f"{folder}/", ""))


def _object(path: Path, checks: list[Check]) -> Mapping[str, JSON]:
    try:
        return runs.read_json(path)
    except PerpendError as error:
        checks.append(_failed(f"{path.name} can be read", error, path.parent))
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


def _texts(
    manifest: Mapping[str, JSON], path: Path, ledger: Run | None
) -> tuple[Sequence[Prediction], Sequence[str], Check, int]:
    """The predictions that the facts give, the ids that are stored, how the two compare, and how many were cut."""
    if ledger is None:
        rows = runs.read_rows(path, manifest)
        shortened = sum(row.shortened for row in rows)
        note = f"{len(rows) - shortened} rows read again by {runs.parser_stated(manifest)}"
        left = f"{shortened} of {len(rows)} labels: {_SHORTENED}" if shortened else ""
        check = Check("predictions recompute", len(rows), note=note, missing=left)
        for row in rows:
            if row.differs:
                check.miss(f"{path.name}:{row.place.rpartition(':')[2]}: {row.differs}")
        predictions = [row.prediction for row in rows]
        return predictions, [one.id for one in predictions], check, shortened
    predictions, cut = runs.run_predictions(ledger, runs.parser_stated(manifest)), runs.cut_stated(manifest)
    check = Check("predictions recompute", len(predictions), note=f"{len(predictions)} rows are those of run.db")
    stored = [row for _, row in packed_lines(path)]
    given, none = [runs.as_json(one, cut) for one in predictions], dict[str, JSON]()
    for line, (then, now) in enumerate(zip_longest(stored, given, fillvalue=none), 1):
        difference = first_difference(then, now, "row")
        if difference is not None:
            check.miss(f"{path.name}:{line}: {difference}")
    return predictions, [str(row.get("id")) for row in stored], check, 0


def _numbers(found: Examined, ledger: Run | None) -> tuple[Mapping[str, JSON], list[Check]]:
    """The protocol's numbers, and the checks of everything that states them."""
    manifest, stored, parser = found.manifest, found.stored, runs.parser_stated(found.manifest)
    body: Mapping[str, JSON]
    if not runs.is_ours(manifest):
        if ledger is not None:
            raise DataError(f"{RUN_MANIFEST}: names no parser and no settings, though run.db has them")
        body = protocol_of(found.predictions, parser)
        page = found.folder / SUMMARY_PAGE
        lines = read_text(page).split("\n") if page.is_file() else []
        return body, [rounded_metrics(stored, body), rounded_page(manifest, lines, body)]
    if ledger is None and found.shortened:
        body, metrics = _of_labels(found, parser)
    else:
        with ExitStack() as stack:
            if ledger is None:
                run = Run(runs.read_run_folder(found.folder, stack.enter_context(temporary_folder("run")) / "run"))
                run.score()
                table = table_of([run], rescore=False)
                own = tuple(name for name in table.scorers if not name.endswith(f"@{IMPORTED}"))
                table = replace(table, scorers=own)
            else:
                run, table = ledger, table_of([ledger], rescore=True)
            numbers = (*stated_metrics(table), *study_metrics(table))
            body = seed_names(Numbers(numbers, (run.manifest,)))
            metrics = _compared(stored, body_of([str(manifest.get("run_id"))], numbers, body))
    return body, [metrics, manifest_check(manifest, found.predictions, body, ledger), _page(found, body)]


def _of_labels(found: Examined, parser: str) -> tuple[Mapping[str, JSON], Check]:
    """The numbers by the rule that the run was read by, from the labels that rows with shortened texts state.

    What another rule would read in a whole text nobody can know.
    """
    manifest, stored, most = found.manifest, found.stored, found.manifest.get("max_tokens")
    degrees = number_of(manifest, "temperature", RUN_MANIFEST)
    where = {"model": str(manifest.get("provider")), "temperature": f"{degrees:g}"}
    metrics = tuple(MetricCell(parser, where, most if isinstance(most, int) else None).metrics(found.predictions))
    body = protocol(Numbers(metrics), parser, **where)
    everything = numbers_of(stored, ()).metrics
    own = [
        one for one in everything if one.scorer == parser and one.where.items() >= where.items() and "part" in one.where
    ]
    fields = body_of([""], everything, {})
    then = {**{key: stored.get(key) for key in body}, "metrics": _by_name(own), RULES: stored.get(RULES)}
    check = _compared(then, {**body, "metrics": _by_name(metrics), RULES: fields.get(RULES)})
    for key in sorted(stored.keys() ^ {*body, "by_parser", *fields}):
        check.miss(f"{METRICS}, {key}: nothing gives such a key, or it is missing")
    check.missing = f"{len(everything) - len(own)} numbers by other rules: {_SHORTENED}"
    return body, check


def _by_name(metrics: Iterable[Metric]) -> dict[str, JSON]:
    """Metrics by what they are of, without the digest of their columns, which a folder without a ledger has not."""
    return {f"{one.name} {sorted(one.where.items())}": {**one.as_json(), "columns_sha256": ""} for one in metrics}


def protocol_of(predictions: Sequence[Prediction], parser: str, max_tokens: int | None = None) -> dict[str, JSON]:
    """The numbers of some predictions by the protocol's names."""
    where = {"model": "", "temperature": ""}
    return protocol(Numbers(tuple(MetricCell(parser, where, max_tokens).metrics(predictions))), parser, **where)


def _compared(stored: Mapping[str, JSON], now: Mapping[str, JSON]) -> Check:
    check = Check("metrics recompute", leaves(now), note=f"{leaves(now)} numbers agree")
    return _agreeing(check, stored, json.loads(pretty(now)), METRICS)


def leaves(value: JSON) -> int:
    """How many numbers a body holds."""
    if isinstance(value, Mapping):
        return sum(map(leaves, value.values()))
    return sum(map(leaves, value)) if isinstance(value, list) else int(isinstance(value, int | float))


def _page(found: Examined, body: Mapping[str, JSON]) -> Check:
    pages = read_text(found.folder / SUMMARY_PAGE), runs.summary_page(found.manifest, body)
    stored, now = (dict(enumerate(page.split("\n"), 1)) for page in pages)
    check = Check("summary recomputes", len(now), note=f"{len(now)} lines agree")
    return _agreeing(check, stored, now, SUMMARY_PAGE)


def _agreeing(check: Check, stored: object, now: object, where: str) -> Check:
    """The check, with the first difference where there is one."""
    difference = first_difference(stored, now, where)
    if difference is not None:
        check.miss(difference)
    return check


def _others(folder: Path, ledger: Run | None) -> list[Check]:
    """What is beside the files that are compared, where no ledger could give it again; nothing, if there is none."""
    # An import links what it does not read, and so does a copy of it: the source is the one that has no ledger.
    homes = {folder, *(entry.resolve().parent for entry in folder.iterdir() if entry.is_symlink())}
    sources = [home for home in homes if not (home / "run.db").is_file() and not (home / runs.RECEIPT).is_file()]
    others = sorted({entry.name for home in sources for entry in home.iterdir() if entry.name not in _KNOWN})
    if ledger is not None or not others:
        return []
    more = f" and {len(others) - 5} more" if len(others) > 5 else ""
    return [Check("other files", missing=f"{', '.join(others[:5])}{more}: nothing here gives them")]


def extra_checks(run: Run) -> Iterator[Check]:
    """For `perpend audit`: the benchmark's own files beside a ledger; and the labels that an import brought along."""
    stated = f"{runs.STORED}@{IMPORTED}"
    if run.manifest.is_imported and run.table.has(stated):
        parser = str(run.manifest.options.get("parser", PARSERS[0]))
        check = Check(f"{stated} against {parser}")
        cut = runs.cut_stated(object_of(run.manifest.source_of_import or {}, "run_manifest", RUN_MANIFEST))
        for row, one in predictions_of(run.table, list(run.table.replies()), parser):
            if cut is not None and runs.longest_text((one.text, one.retry_text, one.first_text)) == cut:
                check.missing = f"labels of replies whose {_SHORTENED}"
                continue
            then = float(run[stated].all_values[row])
            now = None if one.correct is None else float(one.correct)
            check.compare(None if math.isnan(then) else then, now, run.table.place(row))
        yield check
    if (run.directory / RUN_MANIFEST).is_file():
        for check in _examined(run.directory).checks:
            yield replace(check, name=f"chaosbench: {check.name}", note="" if check.differ else check.note)


def rounded_metrics(stored: Mapping[str, JSON], body: Mapping[str, JSON]) -> Check:
    """Every number of the reference's metrics.json against the protocol's."""
    check = Check("metrics recompute")
    _rounded(check, stored, body, METRICS)
    if not check.checked:
        check.compare("no number of the protocol", "numbers", METRICS)
    check.note = f"{check.checked} numbers agree"
    return check


def _rounded(check: Check, stored: JSON, now: JSON, where: str) -> None:
    if isinstance(stored, Mapping):
        for key, value in stored.items():
            _rounded(check, value, as_object(now).get(key), f"{where}, {key}")
    elif isinstance(stored, int | float):
        check.checked += 1
        expected = 0.0 if now is None else now
        if not isinstance(expected, int | float) or stored not in (expected, round(expected, PLACES)):
            check.miss(f"{where.partition(', ')[2]} {stored} → {now}")


def rounded_page(manifest: Mapping[str, JSON], lines: Sequence[str], body: Mapping[str, JSON]) -> Check:
    """Every number of the reference's summary.md and of the manifest's metrics_summary."""
    check = Check("summary recomputes")
    _rounded(check, object_of(manifest, "metrics_summary", RUN_MANIFEST), body, RUN_MANIFEST)
    rows = {label: [_shown(body[key])] for label, key in PROTOCOL["summary"].items()}
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


def item_of(one: Prediction) -> Item:
    """The item that a prediction is about."""
    return Item(one.id, one.question, one.truth, tags=one.tags)


def manifest_check(
    manifest: Mapping[str, JSON], predictions: Sequence[Prediction], body: Mapping[str, JSON], ledger: Run | None
) -> Check:
    """What run_manifest.json states twice, what follows from the predictions or the ledger, and that no more is there.

    The note counts the numbers that were derived.
    """
    check = Check("manifest agrees")
    settings = runs.settings_from(object_of(manifest, "settings", RUN_MANIFEST), RUN_MANIFEST)
    items = object_of(manifest, "items", RUN_MANIFEST)
    sha256, ids = items.get("sha256"), items.get("ids_hash")
    if manifest.get("total_items_planned") == len(predictions):
        lines = "".join(dumps(item_of(one).as_json()) + "\n" for one in predictions)
        sha256, ids = hashlib.sha256(lines.encode()).hexdigest(), ids_hash(one.id for one in predictions)
    now: dict[str, JSON] = {
        **settings.stated(),
        "settings": settings.as_json(),
        "total_items_evaluated": len(predictions),
        "metrics_summary": {name: body[name] for name in SUMMARY},
        "git_commit": None,
        "python_version": as_object(manifest.get("code")).get("python"),
        "items": {"sha256": sha256, "ids_hash": ids, "order": runs.ORDER},
    }
    if manifest.get("resumed_from") is not None:
        now["resumed_from"] = manifest.get("run_id")
    if ledger is not None:
        facts, (asked,) = ledger.manifest, settings.spec(Path()).samplings
        now |= {
            "run_id": facts.run,
            "provider": facts.models[0].label,
            "total_items_planned": facts.trials,
            "tokens": runs.tokens(ledger.table.replies()),
            "model": dict(facts.models[0].fingerprint),
        }
        now["parser"] = facts.options.get("parser")
        if facts.samplings != (asked,) or dict(facts.options) != settings.task_options():
            check.compare("another sampling or parser", "that of manifest.json", RUN_MANIFEST)
            return check
    check.compare({key: manifest.get(key) for key in now}, json.loads(pretty(now)), RUN_MANIFEST)
    check.checked = leaves(now)
    for words in _wrong_facts(manifest):
        check.miss(f"{RUN_MANIFEST}, {words}")
    check.note = f"{check.checked} numbers agree"
    return check


_KINDS = {
    "text": str,
    "text or null": str | None,
    "time": str,
    "number": int | float,
    "number or null": int | float | None,
    "object": Mapping,
}


def _fits(value: JSON, kind: str) -> bool:
    """Whether a value is of that kind; numbers are 0 or more, and no booleans."""
    if not isinstance(value, _KINDS.get(kind, object)) or (kind == "time" and not is_time(str(value))):
        return False
    return kind == "given" or not (isinstance(value, bool) or (isinstance(value, int | float) and value < 0))


def _wrong_facts(manifest: Mapping[str, JSON]) -> Iterator[str]:
    """What is unknown or missing in a run manifest of ours, and what is of another kind than it should be."""
    known = {**PROTOCOL["manifest"], **PROTOCOL["ending"]}
    yield from (f"{key}: nothing gives such a key" for key in sorted(manifest.keys() - known.keys()))
    yield from (f"{key}: missing" for key in sorted(known.keys() - manifest.keys()))
    for key, kind in known.items():
        value = manifest.get(key)
        if isinstance(kind, list) and as_object(value).keys() - {"set"} != {*kind}:
            yield f"{key}: other keys than {', '.join(kind)}"
        elif isinstance(kind, str) and not _fits(value, kind):
            yield f"{key}: not a {kind}"
    if not all(_fits(value, "number") for value in as_object(manifest.get("tokens")).values()):
        yield "tokens: not numbers"


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


def receipt_body(
    manifest: Mapping[str, JSON], folder: Path, files: Mapping[str, JSON], published: JSON
) -> dict[str, JSON]:
    """The receipt of a published folder with these files, but for its checks."""
    return {
        "published_utc": published,
        "run_id": manifest.get("run_id"),
        "source_run_dir": folder.name,
        "artifacts_copied": list(files),
        "artifacts_skipped": [name for name in (METRICS, SUMMARY_PAGE) if name not in files],
        "compress_predictions": True,
        "files_sha256": dict(files),
        "root_sha256": digest(files),
    }


def receipt_check(
    folder: Path, manifest: Mapping[str, JSON], body: Mapping[str, JSON], checks: Sequence[Check]
) -> list[Check]:
    """Of a published copy: its files, all of its receipt, and the whole of the index above it; of another one, nothing.

    `checks` are those of the folder itself, which the receipt lists as passed.
    """
    path = folder / runs.RECEIPT
    if not path.is_file():
        return []
    here = path.resolve().parent  # the folder may hold links to the files of the one that is audited
    receipt, check = runs.read_json(path), Check("receipt holds", note="every digest agrees")
    files: dict[str, JSON] = {}
    for entry in sorted(here.rglob("*")):
        name = entry.relative_to(here).as_posix()
        if entry.is_symlink() or not entry.is_file() or name not in runs.FILES:
            check.compare(name, None, "a file that nothing in a published run gives")
        elif name != runs.RECEIPT:
            files[name] = digest_file(entry)
    published = receipt.get("published_utc")
    own = receipt_body(manifest, here, files, published if _fits(published, "time") else "a time")
    check.compare({key: value for key, value in receipt.items() if key != "checks"}, own, runs.RECEIPT)
    lines, wording = [as_object(line) for line in as_list(receipt.get("checks"))], _wording(manifest, body, checks)
    check.compare([str(line.get("check")) for line in lines], list(wording), f"{runs.RECEIPT}, names of the checks")
    for line, (name, pattern) in zip(lines, wording.items(), strict=False):
        text = str(line.get("found"))
        found = {**line, "found": re.fullmatch(pattern, text) is not None}
        check.compare(found, {"check": name, "passed": True, "found": True}, f"{runs.RECEIPT}, {name}: {text!r}")
    readme = here.parent / README
    if readme.is_file():
        try:
            now = runs.index(here.parent, {here.name: (manifest, body)}).split("\n")
            check.compare(read_text(readme).split("\n"), now, README)
        except PerpendError as error:
            check.compare(str(error)[:200], None, f"{README}, a folder that it lists cannot be read")
    return [check]


def _wording(manifest: Mapping[str, JSON], body: Mapping[str, JSON], checks: Sequence[Check]) -> dict[str, str]:
    """The acceptance table of a receipt: every line that there must be, in its order, and what each says it found."""
    count, agreed = body.get("total"), r"\d+ (?:numbers|lines) agree"
    rows = rf"{count} rows (?:are those of run\.db|read again by {re.escape(runs.parser_named(manifest))})"
    return {
        DATASET_GATE: re.escape(str(manifest.get("dataset_global_sha256"))),
        PROMPT_GATE: re.escape(str(manifest.get("prompt_hash"))),
        **{gate.gate: re.escape(gate.detail) for gate in limits(body)},
        **dict.fromkeys([one.name for one in checks], agreed),
        "predictions are there": rf"{count} rows in predictions(?:_subset)?\.jsonl(?:\.gz)?",
        "predictions recompute": rows,
        **{one.name: re.escape(one.note) for one in checks if one.name.startswith("every ")},
        ITEMS_GATE: r"\d+ items(?:, drawn again|; not drawn again: .{1,200})",
    }


def gate_json(gate: Gate) -> dict[str, JSON]:
    """A line of the acceptance table as the receipt and summary.json hold it."""
    return {"check": gate.gate, "passed": gate.passed, "found": gate.detail}


def freeze_of(path: Path) -> Selector:
    """The canonical files as they are now; with what they lack, without naming a path, where they are not all there."""
    try:
        return sets.read_selector(path)
    except sets.MissingDataError:
        return Selector(path, path.parent, (), lacks=f"there is no readable selector {path.name}")


def criteria(run: Examined, freeze: Selector, numbers: Mapping[str, JSON]) -> list[Gate]:
    """The acceptance criteria of the run plan; the limits are held to these numbers."""
    gates = [_dataset(run.manifest, freeze), _prompt(run.manifest), *limits(numbers)]
    if run.shortened:
        detail = f"{run.shortened} of {len(run.predictions)} not recomputed: texts were shortened"
        gates.append(Gate("every label was read again", False, detail))
    return gates


def integrity(run: Examined, freeze: Selector) -> list[Gate]:
    """Whether a run folder holds what it states; its items too, where it says that they are those of the freeze."""
    is_frozen = not freeze.incomplete and run.manifest.get("dataset_global_sha256") == freeze.sha256
    return [*run.gates, *([_items(run, freeze)] if is_frozen and run.predictions else [])]


def acceptance(run: Path, selector: Path) -> list[Gate]:
    """The acceptance table of a run folder, and that all it states follows from its texts."""
    examined, freeze = examine(run), freeze_of(selector)
    return [*criteria(examined, freeze, examined.stored), *integrity(examined, freeze)]


def _dataset(manifest: Mapping[str, JSON], freeze: Selector) -> Gate:
    """The run's data set is the one that a freeze finds now."""
    if freeze.incomplete:
        return Gate(DATASET_GATE, False, f"no freeze: {freeze.incomplete}")
    stored, now = manifest.get("dataset_global_sha256"), freeze.sha256
    is_old = stored == sets.global_sha256(freeze.digests, legacy=True)
    old = "; it is the digest of the same files by the formula of before 20 February 2026" if is_old else ""
    return Gate(DATASET_GATE, stored == now, now if stored == now else f"run {stored}, freeze {now}{old}")


def _prompt(manifest: Mapping[str, JSON]) -> Gate:
    """The run was asked with the words of this code."""
    options: dict[str, JSON] = {"reprompt": manifest.get("retries") != 0}
    ours, stored = runs.prompt_hash(packaged_task(runs.TASK, options)), manifest.get("prompt_hash")
    return Gate(PROMPT_GATE, ours == stored, ours if ours == stored else f"run {stored}, code {ours}")


def _items(run: Examined, freeze: Selector) -> Gate:
    """Every question and true label is that of the canonical item, and the items are those that the settings draw."""
    of = object_of(run.manifest, "dataset", RUN_MANIFEST).get("set", "")
    if of != freeze.name:
        return Gate(ITEMS_GATE, False, f"the set is called {freeze.name!r}, not {of!r:.80}")
    for one in run.predictions:
        record, item = freeze.records.get(one.id), item_of(one)
        known = None if record is None else to_item(record, one.id)
        if known is None or (item.prompt, item.target) != (known.prompt, known.target) or (one.tags and item != known):
            what = f"item {one.id!r} has another question, label or tag than in the canonical set"
            return Gate(ITEMS_GATE, False, what)
    try:
        drawn = _drawn(run.manifest, freeze)
    except DataError as error:
        return Gate(ITEMS_GATE, True, f"{len(run.predictions)} items; not drawn again: {error}")
    if [text_of(record, "id") for record in drawn] != [one.id for one in run.predictions]:
        return Gate(ITEMS_GATE, False, "the settings draw other items, or in another order")
    return Gate(ITEMS_GATE, True, f"{len(run.predictions)} items, drawn again")


def _drawn(manifest: Mapping[str, JSON], freeze: Selector) -> list[Record]:
    """The items that the settings draw from the data set; DataError where it is not here, or not the same."""
    if "settings" not in manifest:
        raise DataError("the manifest names no data set")
    dataset = object_of(manifest, "dataset", RUN_MANIFEST)
    records = list(freeze.records.values())
    if dataset.get("name") != sets.CANONICAL:
        path = inside(freeze.base, str(dataset.get("path")), RUN_MANIFEST)
        if not path.is_file() or digest_file(path) != dataset.get("sha256"):
            raise DataError(f"{dataset.get('path')} is not here as it was")
        records = load_records([path])
    if dataset.get("items") != len(records):
        return []
    return runs.chosen(records, runs.settings_from(object_of(manifest, "settings", RUN_MANIFEST), RUN_MANIFEST))


def publish(run: Path, out: Path, gates: Sequence[Gate], *, force: bool = False) -> Path:
    """Copy the run's files with its predictions, write the receipt and the index. Existing files need `force`."""
    manifest = runs.read_json(run / RUN_MANIFEST)
    path = runs.predictions_path(run)
    if path is None:
        raise StoreError(f"{run}: has no predictions to publish")
    copied = [run / name for name in (RUN_MANIFEST, METRICS, SUMMARY_PAGE) if (run / name).is_file()]
    _refuse_keys(run, [*copied, path])
    to = out / run.resolve().name
    if to.resolve() == run.resolve():
        raise StoreError(f"{run}: is a published run itself; publish it from where it was made")
    if to.exists():
        if not force:
            raise StoreError(f"{to} is published already; --force replaces it")
        strange = sorted({entry.name for entry in to.iterdir()} - runs.FILES)
        if strange or to.is_symlink():
            raise StoreError(f"{to}: holds {', '.join(strange[:3])}, which publish-run did not write; move it away")
        for name in (METRICS, SUMMARY_PAGE):  # of an earlier copy; this run may have none
            (to / name).unlink(missing_ok=True)
    for file in copied:
        write_atomic(to / file.name, file.read_bytes())
    data = path.read_bytes()
    write_atomic(to / runs.NAMES[1], data if path.suffix == ".gz" else compress(data))
    files: dict[str, JSON] = {
        entry.name: digest_file(entry) for entry in sorted(to.iterdir()) if entry.name != runs.RECEIPT
    }
    receipt = receipt_body(manifest, to, files, datetime.now(UTC).isoformat(timespec="seconds"))
    runs.write_json(to / runs.RECEIPT, {**receipt, "checks": [gate_json(gate) for gate in gates]})
    write_atomic(out / README, runs.index(out))
    return to


def _refuse_keys(run: Path, files: Sequence[Path]) -> None:
    """AuditFailure where a file that would be published holds a key, with the places."""
    own = this_machine(variables=noted_variables(run))
    leaks = [leak for file in files for leak in search_file(file, file.name, own) if leak.is_key]
    if leaks:
        raise AuditFailure(f"{run}: not published; keys would be:", *leaks, "Take them out where they come from.")
