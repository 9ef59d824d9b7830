"""The intent of a run against itself: all that can be checked before a response is read."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import islice, pairwise
from pathlib import Path

import numpy as np

from perpend.ask.task import CODE
from perpend.canon import digest, digest_file, dumps, parse, pretty, read_object
from perpend.errors import StoreError
from perpend.ledger.items import stored_item
from perpend.ledger.manifest import MANIFEST, ItemsDigest, Manifest, code_version
from perpend.ledger.snapshot import snapshot
from perpend.ledger.store import Store
from perpend.measure.keys import Codes, joined
from perpend.measure.plans import due_items
from perpend.measure.run import Run
from perpend.measure.samplings import sampling_words
from perpend.proof.audit.checks import Check, canonical, well_formed
from perpend.spec.resolve import names

ASKED, SCORED, ITEMS, TEMPLATES = (
    "every trial was asked",
    "declared scorers have scores",
    "items are those of the manifest",
    "templates have their digests",
)
_DIGEST = re.compile(r"(?:[0-9a-f]{64})?")  # an import may have had no file to digest
_META = frozenset(("run", "created"))


def intent(run: Run, store: Store, stored: Path, *, published: bool) -> Iterator[Check]:
    """Everything that can be checked before a response is read. `stored` is the folder that is audited."""
    yield _code(run.manifest)
    yield _file(store)
    yield _manifest(run)
    yield _task(run)
    if run.manifest.sources or (stored / CODE).exists():
        yield _sources(run.manifest, stored, published=published)
    yield _items(store, run.manifest)
    yield _templates(run.manifest)
    yield _parts(run, store)
    yield _scored(run.manifest, store, published=published)
    yield from _plan(store, run.manifest)


def _code(manifest: Manifest) -> Check:
    """Another version of the code is no difference, but a reader of one must know it."""
    check = Check("code version", checked=1)
    then, now = manifest.code, code_version()
    if then.get("source_sha256") != now["source_sha256"]:
        check.note = (
            f"written by perpend {then.get('perpend')} (source {str(then.get('source_sha256'))[:12]}), "
            f"audited by {now['perpend']} (source {str(now['source_sha256'])[:12]})"
        )
    return check


def _file(store: Store) -> Check:
    """What SQLite finds wrong, and what the journal knows to be missing; the tables were checked when it was opened."""
    check = Check("run.db is whole and append-only")
    check.compare([], store.integrity(), "integrity check")
    check.compare(0, store.lost(), "responses that manifest.journal counts and run.db does not hold")
    return check


def _manifest(run: Run) -> Check:
    """Every field of the manifest is one that is read, and it is written as perpend writes one."""
    check = Check("manifest holds nothing else")
    manifest = run.manifest
    body = read_object(run.directory / MANIFEST, StoreError, within=run.directory)
    check.compare(body, json.loads(json.dumps(manifest.as_json())), MANIFEST)
    canonical(check, run.directory / MANIFEST, pretty(body))
    most = manifest.items.max_items
    if most is not None and manifest.items.n > most:
        check.miss(f"{MANIFEST}, items: {manifest.items.n} were taken where {most} were wanted")
    lists: dict[str, list[str]] = {
        "conditions": [one.name for one in manifest.conditions],
        "models": [one.label for one in manifest.models],
        "samplings": [dumps(one.as_json()) for one in manifest.samplings],
        "scorers": list(manifest.scorers),
    }
    for key, entries in lists.items():
        check.compare(list(dict.fromkeys(entries)), entries, f"{MANIFEST}, {key}, each once")
    check.compare(True, is_time(manifest.created), f"{MANIFEST}, created is a time with its zone")
    digests = [
        manifest.items.sha256,
        manifest.items.freeze_sha256 or "0" * 64,
        *(one.sha256 for one in manifest.datasets),
    ]
    for digest_stated in digests:
        check.compare(True, bool(_DIGEST.fullmatch(digest_stated)), f"{MANIFEST}, {digest_stated!r:.80} is a SHA-256")
    check.compare(sorted(code_version()), sorted(manifest.code), f"{MANIFEST}, keys of code")
    check.compare(True, all(isinstance(value, str) for value in manifest.code.values()), f"{MANIFEST}, code as strings")
    return check


def is_time(text: str) -> bool:
    """Whether a text is a time with its zone."""
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def _task(run: Run) -> Check:
    """What the manifest says of the task is what the task says of itself, made of the same options.

    Conditions that a user brought are templates, and he may add scorers. Another version's words may be other ones.
    """
    check = Check("what the task asks for")
    manifest, task = run.manifest, run.code.task
    is_same_code = manifest.code.get("source_sha256") == code_version()["source_sha256"]
    if task is None and is_same_code and manifest.task in names("tasks") and manifest.source("tasks") is None:
        check.checked = 1
        check.miss(f"task {manifest.task!r}: {run.code.missing.get('task')}")
        return check
    if task is None or manifest.is_imported:
        check.note = "imported: nothing was asked here" if manifest.is_imported else ""
        check.missing = "" if manifest.is_imported else run.code.missing.get("task", "")
        return check
    check.compare(manifest.choices_scored, task.choices_scored, "task, choices_scored")
    check.compare(manifest.reprompt is not None, task.reprompt is not None, "whether there is a second turn (reprompt)")
    judges = list(task.judges())
    ours = [name for name in manifest.scorers if name in judges]
    check.compare(ours, [name for name in judges if name in ours], "order of the scorers")
    if not is_same_code:
        return check
    check.compare(dict(manifest.options), dict(task.options), "task, options")
    known = {one.name: dict(one.params) for one in task.conditions}
    for entry in manifest.conditions:
        if entry.params.get("type") != "template":
            check.compare(dict(entry.params), known.get(entry.name), f"condition {entry.name}")
    if manifest.reprompt is not None and task.reprompt is not None:
        check.compare(dict(manifest.reprompt.params), dict(task.reprompt.params), "reprompt")
    return check


_KINDS = {"tasks": 0, "scorers": 1, "models": 2, "rules": 3}
"""The kinds of source file, in the order in which a run lists them."""


def _sources(manifest: Manifest, stored: Path, *, published: bool) -> Check:
    """The run's own Python and rule files are there, with the manifest's digests, and no other file beside them."""
    check = Check("code is that of the manifest")
    stated = {source.file: source.sha256 for source in manifest.sources}
    folder = stored / CODE
    present = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}
    if not published:  # whoever ran them here left bytecode
        present -= {name for name in present if name.startswith("__pycache__/")}
    for name in sorted({*stated, *present}):
        path = folder / name
        check.checked += 1
        if name not in stated:
            check.miss(f"{CODE}/{name}: not in the manifest")
        elif path.parent != folder or not path.is_file():
            check.miss(f"{CODE}/{name}: missing")
        elif (now := digest_file(path, within=stored)) != stated[name]:
            check.miss(f"{CODE}/{name}: stored {now}, the manifest states {stated[name]}")
    listed = sorted(dict.fromkeys(manifest.sources), key=lambda source: _KINDS.get(source.kind, len(_KINDS)))
    if listed != [*manifest.sources]:
        check.checked += 1
        check.miss("sources of the manifest: twice, or not those of the task first, then of scorers, then of models")
    return check


def _items(store: Store, manifest: Manifest) -> Check:
    check = Check(ITEMS)
    items = ItemsDigest()
    with well_formed("an item"), snapshot(store.path) as db:
        for name, body in db.item_texts():
            item = stored_item(body)
            texts = (item.id, item.prompt, item.target or "", item.decoy or "", *item.choices, *item.aliases)
            if not all(isinstance(text, str) for text in (*texts, *item.tags.values())):
                raise TypeError(f"item {item.id!r} holds something other than strings")
            if (name, body) != (item.id, dumps(item.as_json())):
                check.checked += 1
                check.miss(f"item {name!r}: its row holds something else than the item {item.id!r}")
            items.add(item)
    check.compare(manifest.items.n, items.count, "number of items")
    check.compare(manifest.items.sha256, items.hexdigest(), "digest of the items")
    return check


def _templates(manifest: Manifest) -> Check:
    check = Check(TEMPLATES)
    for entry in (*manifest.conditions, *([manifest.reprompt] if manifest.reprompt else [])):
        check.compare(entry.sha256, digest(dict(entry.params)), entry.name)
    return check


def _parts(run: Run, store: Store) -> Check:
    """Item files, conditions, models and samplings of the plan are those that the manifest declares, field by field."""
    check = Check("plan is made of the manifest's parts")
    manifest, meta = run.manifest, store.meta()
    with well_formed("a part of the plan"), snapshot(store.path) as db:
        parts = db.parts()
        conditions = [[str(name), parse(str(params))] for name, params in parts["conditions"]]
        models = [[str(name), str(label), parse(str(options))] for name, label, options in parts["models"]]
        texts = [str(row[-1]) for part in ("conditions", "models", "samplings") for row in parts[part]]
        check.compare([dumps(parse(text)) for text in texts], texts, "params and options, as perpend writes them")
        samplings = store.plan_names()[2]
    check.compare([entry.name for entry in manifest.conditions], [name for name, _ in conditions], "conditions")
    check.compare([dict(entry.params) for entry in manifest.conditions], [params for _, params in conditions], "params")
    check.compare([model.label for model in manifest.models], [label for _, label, _ in models], "models")
    stated = [[model.name, model.label, dict(model.options)] for model in manifest.models]
    check.compare(stated, models, "models, their names and options")
    files = [[*dataset.as_json().values()] for dataset in manifest.datasets]
    check.compare(files, [list(row) for row in parts["datasets"]], "item files")
    # One more than are planned is a difference already; a forger may declare any number.
    declared = islice(manifest.declared_samplings(), len(samplings) + 1)
    stated_samplings, planned = ([dumps(one.as_json()) for one in some] for some in (declared, samplings))
    if manifest.is_imported:  # a source states its samplings in an order of its own
        stated_samplings, planned = sorted(stated_samplings), sorted(planned)
    check.compare(stated_samplings, planned, "samplings")
    check.compare(manifest.run, meta.get("run"), "name of the run")
    check.compare(sorted(_META), sorted(meta), "facts of the plan")
    check.compare(repr(_seconds(meta.get("created", ""))), meta.get("created"), "time at which the plan was made")
    return check


def _seconds(text: str) -> float | None:
    try:
        return float(text) if math.isfinite(float(text)) else None
    except ValueError:
        return None


def _scored(manifest: Manifest, store: Store, *, published: bool) -> Check:
    """Every declared scorer has scores; a run directory may not be scored yet."""
    check = Check(SCORED, checked=len(manifest.scorers))
    known = {f"{name}@{version}" for name, version in store.scorers()}
    unscored = [name for name in manifest.scorers if name not in known]
    for name in unscored if published else ():
        check.miss(f"declared scorer {name}: no score")
    if unscored and not published:
        check.note = f"not scored yet: {', '.join(unscored)}"
    return check


def planned_trials(store: Store, manifest: Manifest) -> tuple[int, bool]:
    """How many trials the plan holds, and whether it is as large as the manifest declares, numbered 1, 2, 3, …"""
    cells = store.cells()
    planned = sum(cell.planned for cell in cells)
    declared = len(cells) if manifest.is_imported else manifest.declared_cells()
    with snapshot(store.path) as db:
        is_gapless = db.counts().gapless
    return planned, is_gapless and (planned, len(cells)) == (manifest.trials, declared)


_LISTED = 100_000
"""How many cells are named one by one where the plan has fewer: a manifest may declare any number."""


def _plan(store: Store, manifest: Manifest) -> Iterator[Check]:
    """Every trial is there and was asked. Trials that only failed are stated: a failed call is no missing one."""
    check = Check("plan is complete")
    cells = store.cells()
    planned = sum(cell.planned for cell in cells)
    check.compare(manifest.trials, planned, "number of trials")
    with snapshot(store.path) as db:
        check.compare(db.counts().gapless, True, "trials are numbered 1, 2, 3, …")
    declared = len(cells) if manifest.is_imported else manifest.declared_cells()
    check.compare(declared, len(cells), "number of cells that models, samplings and conditions make")
    if not manifest.is_imported and declared <= max(len(cells), _LISTED):
        size = manifest.items.n * manifest.repeats
        stated = {
            f"{model.label}, {condition.name}, {dumps(sampling.as_json())}": size
            for model in manifest.models
            for sampling in manifest.samplings_of(model)
            for condition in manifest.conditions
        }
        now = {f"{cell.model}, {cell.condition}, {cell.sampling}": cell.planned for cell in cells}
        check.compare(stated, now, "trials of")
    yield check
    check = Check(ASKED)
    due = due_items(manifest, store)
    if due is not None and due < manifest.items.n:
        check.note = f"the run stopped after {due} of {manifest.items.n} items, as its rule says. "
    for cell in cells:
        where = f"{cell.model}, {cell.condition}, {sampling_words(cell.sampling)}"
        planned = cell.planned if due is None else due * manifest.repeats
        check.compare(planned, cell.answered + cell.failed, f"{where}: trials planned, trials asked")
        if cell.failed:
            check.note += f"{where}: {cell.failed} of {cell.planned} trials only failed. "
    yield check


_OUTER, _INNER, _PART = ("model", "sampling"), ("item", "condition", "repeat"), 1 << 20


def _is_in_order(codes: Mapping[str, Codes]) -> bool:
    """Whether every trial is once in the order of a plan, looked at a million at a time: memory."""
    sizes = {key: int(codes[key].max()) + 1 for key in (*_OUTER, *_INNER)}
    seen: set[int] = set()
    for start in range(0, len(codes["item"]), _PART):
        here = slice(max(start - 1, 0), start + _PART)
        cell, row = (joined([codes[key][here] for key in own], [sizes[key] for key in own]) for own in (_OUTER, _INNER))
        changes = np.diff(cell) != 0
        begun = [*cell[: 1 if start == 0 else 0].tolist(), *cell[1:][changes].tolist()]
        if (np.diff(row)[~changes] <= 0).any() or len(set(begun)) < len(begun) or seen.intersection(begun):
            return False
        seen.update(begun)
    return True


def order(run: Run) -> Check:
    """No trial is planned twice, and they are in the order of a plan: by model and sampling, item, condition, repeat.

    What was imported keeps the order that it had.
    """
    check = Check("no trial twice, all in plan order")
    table = run.table
    codes = table.codes
    if not len(table):
        return check
    check.compare(run.manifest.repeats, len(table.values("repeat")), "number of repeats")
    check.checked = len(table)
    if _is_in_order(codes):
        return check
    cell = joined([codes[key] for key in _OUTER])
    row = joined([codes[key] for key in _INNER])
    whole = joined([cell, row])
    ordered = np.argsort(whole, kind="stable")
    twice = ordered[1:][np.diff(whole[ordered]) == 0]
    for position in np.sort(twice):
        check.miss(f"{table.place(int(position))}: is in the plan twice")
    if run.manifest.is_imported or check.differ:
        return check
    starts = [0, *(np.flatnonzero(np.diff(cell)) + 1).tolist(), len(cell)]
    seen: set[int] = set()
    for first, last in pairwise(starts):
        if int(cell[first]) in seen:
            check.miss(f"{table.place(first)}: is apart from the other trials of its model and sampling")
        seen.add(int(cell[first]))
        for position in np.flatnonzero(np.diff(row[first:last]) < 0):
            check.miss(f"{table.place(first + int(position) + 1)}: comes after a trial that the plan puts later")
    return check
