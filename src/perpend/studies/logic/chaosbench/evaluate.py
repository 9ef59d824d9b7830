"""A run folder from settings to answers: items in their order, then perpend's own runner; and resuming one."""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from perpend.ask.asking import Outcome
from perpend.ask.guarded import Guarded
from perpend.ask.runner import evaluate_task
from perpend.ask.starting import has_response, new_folders
from perpend.ask.task import make_model, make_task
from perpend.canon import JSON, digest_file, dumps, object_of, write_atomic
from perpend.errors import DataError, PerpendError, SpecError, StoreError
from perpend.ledger.manifest import code_version
from perpend.studies.logic.chaosbench.hashes import ids_hash
from perpend.studies.logic.chaosbench.items import Record, text_of, to_item
from perpend.studies.logic.chaosbench.rundir import RUN_MANIFEST, Ending, finish, read_json, write_json
from perpend.studies.logic.chaosbench.settings import ITEMS, PROMPT_VERSION, TASK, Settings, prompt_hash, settings_from
from perpend.studies.logic.chaosbench.sources import ItemSource

ORDER = (
    "max_items draws random.Random(seed).sample(items, max_items), in the order of the draw; "
    "shuffle_seed then applies random.Random(shuffle_seed).shuffle once"
)


KEYS = (
    "run_id", "created_utc", "provider", "prompt_version", "prompt_hash", "dataset_global_sha256",
    "canonical_selector", "total_items_evaluated", "max_items", "seed", "retries", "strict_parsing", "workers",
    "order_mode", "shuffle_seed", "git_commit", "python_version", "metrics_summary", "resumed_from", "budget",
    "status", "total_items_planned", "dataset", "items", "parser", "temperature", "max_tokens", "settings", "code",
)  # fmt: skip
"""The keys of run_manifest.json in the reference's order, then ours."""


def chosen(records: Sequence[Record], settings: Settings) -> list[Record]:
    """The items of a run in their order, by the rule that `ORDER` states."""
    picked = list(records)
    if settings.max_items is not None and settings.max_items < len(picked):
        picked = random.Random(settings.seed).sample(picked, settings.max_items)
    if settings.shuffle_seed is not None:
        random.Random(settings.shuffle_seed).shuffle(picked)
    return picked


def begin(source: ItemSource, settings: Settings, out: Path) -> Path:
    """A new run folder with its items and its intent. Nothing is left behind when the model cannot be had."""
    records = chosen(source.records, settings)
    lines = [dumps(to_item(record, f"{source.path}: {text_of(record, 'id')}").as_json()) for record in records]
    started = datetime.now(UTC)
    directory = _new_folder(out, settings.run_id(started.strftime("%Y%m%dT%H%M%SZ")))
    try:
        write_atomic(directory / ITEMS, "\n".join(lines) + "\n")
        spec = settings.spec(directory)
        model = make_model(spec.models[0].name, spec.models[0].options, spec.items)
        fingerprint: dict[str, JSON] = dict(Guarded(model, spec.models[0].key_variables).fingerprint())
        intent = _intent(source, settings, directory, records)
        write_json(directory / RUN_MANIFEST, intent | {"started_utc": started.isoformat(), "model": fingerprint})
    except PerpendError:
        shutil.rmtree(directory)
        raise
    return directory


def _new_folder(out: Path, name: str) -> Path:
    """A folder that did not exist: two runs that start in one second do not share one."""
    for number in range(1, 1000):
        directory = out / (name if number == 1 else f"{name}-{number}")
        try:
            directory.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError as error:
            raise StoreError(f"{directory}: cannot be made: {error.strerror}; choose another --output-dir") from None
        return directory
    raise StoreError(f"{out}: a thousand runs are called {name}; choose another --output-dir")


def _intent(source: ItemSource, settings: Settings, directory: Path, records: Sequence[Record]) -> dict[str, JSON]:
    code = code_version()
    return dict.fromkeys(KEYS) | {
        **settings.stated(),
        "run_id": directory.name,
        "prompt_version": PROMPT_VERSION,
        "prompt_hash": prompt_hash(make_task(TASK, settings.task_options())),
        "dataset_global_sha256": source.global_sha256 or "unavailable",
        "canonical_selector": source.selector,
        "total_items_evaluated": 0,
        "python_version": code["python"],
        "status": "running",
        "total_items_planned": len(records),
        "dataset": {
            "name": source.name,
            "path": source.path,
            "sha256": source.sha256,
            "items": len(source.records),
            "note": source.note,
        },
        "items": {
            "sha256": digest_file(directory / ITEMS),
            "ids_hash": ids_hash(text_of(record, "id") for record in records),
            "order": ORDER,
        },
        "settings": settings.as_json(),
        "code": code,
    }


def find_run(name: str, out: Path) -> Path:
    """The run that a user means: a path, or an id below the output folder."""
    for directory in (Path(name), out / name):
        if (directory / RUN_MANIFEST).is_file():
            return directory
    raise StoreError(f"{name}: no such run, neither as a path nor below {out}; it needs a {RUN_MANIFEST}")


def settings_of(directory: Path) -> Settings:
    """The settings of a run of ours. A run of the reference has none and cannot be resumed."""
    body = read_json(directory / RUN_MANIFEST)
    if "settings" not in body or not (directory / ITEMS).is_file():
        raise StoreError(f"{directory}: not a run of this program, so it cannot be resumed; 'perpend import' reads it")
    return settings_from(object_of(body, "settings", str(directory / RUN_MANIFEST)), str(directory))


def ask(directory: Path, settings: Settings, *, quiet: bool = False) -> Outcome:
    """Ask what has no answer yet, and write the run folder's files. Answers stay if it stops; asking again resumes."""
    stored = object_of(read_json(directory / RUN_MANIFEST), "items", str(directory))
    if digest_file(directory / ITEMS) != stored.get("sha256"):
        raise DataError(f"{directory / ITEMS}: is not the file that the run began with; put it back to resume")
    spec = settings.spec(directory)
    if spec.run_name() != directory.name:
        raise SpecError(f"{directory}: a run folder keeps its name; rename it to {spec.run_name()!r}")
    task = make_task(TASK, settings.task_options())
    model = make_model(spec.models[0].name, spec.models[0].options, spec.items)
    begun = time.monotonic()
    outcome = evaluate_task(spec, task, [model], directory.parent, quiet=quiet)
    finish(directory, Ending(outcome.stopped, time.monotonic() - begun, outcome.usd, outcome.usd_note))
    return outcome


@contextmanager
def new_run(source: ItemSource, settings: Settings, out: Path) -> Iterator[Path]:
    """`begin` for the length of a block: where an error ends it before any reply was kept, no folder is left."""
    with new_folders(out):
        directory = begin(source, settings, out)
        try:
            yield directory
        except PerpendError:
            if not has_response(directory):
                shutil.rmtree(directory)
            raise


def mark_resumed(directory: Path) -> None:
    """Say in the manifest that the run was resumed."""
    body: Mapping[str, JSON] = read_json(directory / RUN_MANIFEST)
    write_json(directory / RUN_MANIFEST, {**body, "resumed_from": directory.name})
