"""What a run folder states beside its numbers: run_manifest.json, the receipt, the index. Every field is known.

A field that follows from the predictions, the settings or the ledger is compared; the others (times, costs, digests of
files that are elsewhere) have their type. Nothing else may be there.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from perpend.canon import JSON, as_list, as_object, digest, digest_file, dumps, number_of, object_of, pretty, read_text
from perpend.errors import PerpendError
from perpend.ledger.manifest import code_version
from perpend.measure.run import Run
from perpend.proof.audit.checks import Check
from perpend.proof.gates import Gate
from perpend.studies.logic.chaosbench.evaluate import KEYS, ORDER
from perpend.studies.logic.chaosbench.hashes import ids_hash
from perpend.studies.logic.chaosbench.rundir import (
    FILES,
    METRICS,
    RECEIPT,
    RUN_MANIFEST,
    SUMMARY_PAGE,
    index,
    index_row,
    parser_named,
    read_json,
    tokens,
)
from perpend.studies.logic.chaosbench.settings import settings_from
from perpend.studies.logic.metrics import SUMMARY
from perpend.studies.logic.replies import Prediction
from perpend.types import Item

INVALID_LIMIT = 0.05
README = "README.md"
ITEMS_GATE = "items are the canonical ones"
_DATASET_GATE, _PROMPT_GATE = "dataset SHA equals the freeze", "prompt hash is this code's"
_WHEN_ENDED = ("started_utc", "model", "tokens", "wall_seconds", "usd", "usd_note")
"""The keys of run_manifest.json that `finish` and `begin` add to those of the intent."""
_DATASET = ("name", "path", "sha256", "items", "note")
_ITEMS = ("sha256", "ids_hash", "order")
_AGREED = re.compile(r"\d+ (?:numbers|lines) agree")
_DRAWN = re.compile(r"\d+ items(?:, drawn again|; not drawn again: .{1,200})")


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
    settings = settings_from(object_of(manifest, "settings", RUN_MANIFEST), RUN_MANIFEST)
    items = object_of(manifest, "items", RUN_MANIFEST)
    now: dict[str, JSON] = {
        **settings.stated(),
        "settings": settings.as_json(),
        "total_items_evaluated": len(predictions),
        "metrics_summary": {name: body[name] for name in SUMMARY},
        "git_commit": None,
        "python_version": as_object(manifest.get("code")).get("python"),
        "items": {**{key: items.get(key) for key in _ITEMS}, "order": ORDER},
    }
    if manifest.get("resumed_from") is not None:
        now["resumed_from"] = manifest.get("run_id")
    if manifest.get("total_items_planned") == len(predictions):
        lines = "".join(dumps(item_of(one).as_json()) + "\n" for one in predictions)
        ids = ids_hash(one.id for one in predictions)
        now["items"] = {"sha256": hashlib.sha256(lines.encode()).hexdigest(), "ids_hash": ids, "order": ORDER}
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
        if facts.samplings != (asked,) or dict(facts.options) != settings.task_options():
            check.checked = 1
            check.miss(f"{RUN_MANIFEST}: another sampling or parser than in manifest.json")
            return check
    check.compare({key: manifest.get(key) for key in now}, json.loads(pretty(now)), RUN_MANIFEST)
    check.checked = leaves(now)
    for words in _wrong_facts(manifest):
        check.miss(f"{RUN_MANIFEST}, {words}")
    check.note = f"{check.checked} numbers agree"
    return check


def _wrong_facts(manifest: Mapping[str, JSON]) -> Iterator[str]:
    """What is unknown or missing in a run manifest of ours, and what has another type than it should."""
    known = {*KEYS, *_WHEN_ENDED}
    yield from (f"{key}: nothing gives such a key" for key in sorted(manifest.keys() - known))
    yield from (f"{key}: missing" for key in sorted(known - manifest.keys()))
    texts = ("run_id", "prompt_version", "prompt_hash", "dataset_global_sha256", "status")
    for key in (*texts, "usd_note"):
        if not isinstance(manifest.get(key), str):
            yield f"{key}: not a string"
    for key in ("created_utc", "started_utc"):
        if not _is_time(manifest.get(key)):
            yield f"{key}: not a time"
    for key in ("wall_seconds", "usd"):
        value = manifest.get(key)
        if not (key == "usd" and value is None) and not (_is_number(value) and float(str(value)) >= 0):
            yield f"{key}: not a number of 0 or more"
    if not isinstance(manifest.get("canonical_selector"), str | None):
        yield "canonical_selector: not a string"
    for key, own in (
        ("dataset", _DATASET),
        ("items", _ITEMS),
        ("code", tuple(code_version())),
        ("tokens", ("input", "output")),
    ):
        if sorted(as_object(manifest.get(key))) != sorted(own):
            yield f"{key}: other keys than {', '.join(own)}"
    if not all(_is_number(value) for value in as_object(manifest.get("tokens")).values()):
        yield "tokens: not numbers"


def _is_number(value: JSON) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_time(value: JSON) -> bool:
    try:
        return isinstance(value, str) and datetime.fromisoformat(value).tzinfo is not None
    except ValueError:
        return False


def leaves(value: JSON) -> int:
    """How many numbers a body holds."""
    if isinstance(value, Mapping):
        return sum(map(leaves, value.values()))
    if isinstance(value, list):
        return sum(map(leaves, value))
    return int(isinstance(value, int | float))


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


def receipt_check(
    folder: Path, manifest: Mapping[str, JSON], body: Mapping[str, JSON], checks: Sequence[Check]
) -> list[Check]:
    """Of a published copy: its files, all of its receipt, and the whole of the index above it; of another one, nothing.

    `checks` are those of the folder itself, which the receipt lists as passed.
    """
    path = folder / RECEIPT
    if not path.is_file():
        return []
    here = path.resolve().parent  # the folder may hold links to the files of the one that is audited
    receipt, check = read_json(path), Check("receipt holds", note="every digest agrees")
    entries = [entry for entry in sorted(here.rglob("*")) if entry.name != RECEIPT or entry.parent != here]
    for entry in entries:
        if entry.is_symlink() or entry.is_dir() or entry.relative_to(here).as_posix() not in FILES:
            check.checked += 1
            check.miss(f"{entry.relative_to(here).as_posix()}: nothing in a published run gives it")
    plain = [entry for entry in entries if entry.parent == here and entry.is_file() and not entry.is_symlink()]
    files: dict[str, JSON] = {entry.name: digest_file(entry) for entry in plain}
    now: dict[str, JSON] = {
        "published_utc": receipt.get("published_utc") if _is_time(receipt.get("published_utc")) else "a time",
        "run_id": manifest.get("run_id"),
        "source_run_dir": here.name,
        "artifacts_copied": list(files),
        "artifacts_skipped": [name for name in (METRICS, SUMMARY_PAGE) if name not in files],
        "compress_predictions": True,
        "files_sha256": files,
        "root_sha256": digest(files),
    }
    check.compare({key: value for key, value in receipt.items() if key != "checks"}, now, RECEIPT)
    _listed(check, as_list(receipt.get("checks")), manifest, body, checks)
    readme = here.parent / README
    if readme.is_file():
        _index(check, readme, here.name, index_row(here.name, manifest, body))
    return [check]


def _listed(
    check: Check,
    stated: Sequence[JSON],
    manifest: Mapping[str, JSON],
    body: Mapping[str, JSON],
    checks: Sequence[Check],
) -> None:
    """The acceptance table of a receipt: every line that there must be, in its order, and what each says it found."""
    count, rule = body.get("total"), re.escape(parser_named(manifest))
    by_name: dict[str, str | re.Pattern[str]] = {
        "predictions are there": re.compile(rf"{count} rows in predictions(?:_subset)?\.jsonl(?:\.gz)?"),
        "predictions recompute": re.compile(rf"{count} rows (?:are those of run\.db|read again by {rule})"),
        **{one.name: one.note for one in checks if one.name in ("every id once", "every planned item was asked")},
    }
    own = [one.name for one in checks]
    wording: dict[str, str | re.Pattern[str]] = {
        _DATASET_GATE: str(manifest.get("dataset_global_sha256")),
        _PROMPT_GATE: str(manifest.get("prompt_hash")),
        **{gate.gate: gate.detail for gate in limits(body)},
        **{name: by_name.get(name, _AGREED) for name in own},
        ITEMS_GATE: _DRAWN,
    }
    entries = [as_object(entry) for entry in stated]
    check.compare([str(entry.get("check")) for entry in entries], list(wording), f"{RECEIPT}, names of the checks")
    for entry, (name, wanted) in zip(entries, wording.items(), strict=False):
        text = str(entry.get("found"))
        is_found = text == wanted if isinstance(wanted, str) else wanted.fullmatch(text) is not None
        check.compare(
            {**entry, "found": is_found}, {"check": name, "passed": True, "found": True}, f"{RECEIPT}, {name}: {text!r}"
        )


def _index(check: Check, readme: Path, name: str, row: str) -> None:
    """The line of a run in the index, from what was derived; and every other line, from what lies beside it."""
    lines = read_text(readme).split("\n")
    check.compare([line for line in lines if f"]({name})" in line], [row], readme.name)
    try:
        now = index(readme.parent, {name: row}).split("\n")
    except PerpendError as error:
        check.checked += 1
        check.miss(f"{readme.name}: a folder that it lists cannot be read: {str(error)[:200]}")
        return
    check.checked += len(now)
    if lines != now:
        stray = next((line for line in lines if line not in now), "its lines are in another order, or some are missing")
        check.miss(f"{readme.name}: not what is published here: {stray!r:.200}")
