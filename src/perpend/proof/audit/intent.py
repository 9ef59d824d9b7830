"""The intent of a run against itself: the file, the items, the templates, and the plan that follows from them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import numpy as np

from perpend.ask.task import CODE
from perpend.canon import digest, digest_file, dumps
from perpend.errors import StoreError
from perpend.ledger.manifest import MANIFEST, ItemsDigest, Manifest, code_version
from perpend.ledger.snapshot import snapshot
from perpend.ledger.store import Store
from perpend.measure.run import Run
from perpend.measure.table import joined
from perpend.proof.audit.checks import Check

_GUARDS = frozenset(("response_is_a_fact", "response_stays"))
_META = frozenset(("run", "created"))


def intent(run: Run, store: Store, stored: Path, *, published: bool) -> Iterator[Check]:
    """Everything that can be checked before a response is read. `stored` is the folder that is audited."""
    yield _code(run.manifest)
    yield _file(store)
    yield _manifest(run)
    if run.manifest.sources or (stored / CODE).exists():
        yield _sources(run.manifest, stored, published=published)
    yield _items(store, run.manifest)
    yield _templates(run.manifest)
    yield _parts(run, store, published=published)
    yield _plan(store, run.manifest)


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
    check = Check("run.db is whole and append-only")
    check.compare([], store.integrity(), "integrity check")
    check.compare(sorted(_GUARDS), sorted(_GUARDS & store.guards()), "triggers")
    return check


def _manifest(run: Run) -> Check:
    """Every field of the manifest is one that is read: what nothing reads, nothing checks."""
    check = Check("manifest holds nothing else")
    body = json.loads((run.directory / MANIFEST).read_text(encoding="utf-8"))
    check.compare(body, json.loads(json.dumps(run.manifest.as_json())), MANIFEST)
    return check


def _sources(manifest: Manifest, stored: Path, *, published: bool) -> Check:
    """The run's own Python files are there, with the digests of the manifest, and no other file beside them."""
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
        elif path.parent != folder or not path.is_file() or path.is_symlink():
            check.miss(f"{CODE}/{name}: missing")
        elif digest_file(path) != stated[name]:
            check.miss(f"{CODE}/{name}: stored {digest_file(path)}, the manifest states {stated[name]}")
    return check


def _items(store: Store, manifest: Manifest) -> Check:
    check = Check("items are those of the manifest")
    items = ItemsDigest()
    with well_formed("an item"):
        for item in store.items():
            texts = (item.id, item.prompt, item.target or "", item.decoy or "", *item.choices, *item.aliases)
            if not all(isinstance(text, str) for text in (*texts, *item.tags.values())):
                raise TypeError(f"item {item.id!r} holds something other than strings")
            items.add(item)
    check.compare(manifest.items.n, items.count, "number of items")
    check.compare(manifest.items.sha256, items.hexdigest(), "digest of the items")
    return check


def _templates(manifest: Manifest) -> Check:
    check = Check("templates have their digests")
    for entry in (*manifest.conditions, *([manifest.reprompt] if manifest.reprompt else [])):
        check.compare(entry.sha256, digest(dict(entry.params)), entry.name)
    return check


def _parts(run: Run, store: Store, *, published: bool) -> Check:
    """Item files, conditions, models and samplings of the plan are those that the manifest declares, field by field.

    So are the scorers, but that a run directory may not be scored yet.
    """
    check = Check("plan is made of the manifest's parts")
    manifest, meta = run.manifest, store.meta()
    with well_formed("a part of the plan"), snapshot(store.path) as db:
        parts = db.parts()
        conditions = [[str(name), json.loads(str(params))] for name, params in parts["conditions"]]
        models = [[str(name), str(label), json.loads(str(options))] for name, label, options in parts["models"]]
        samplings = store.plan_names()[2]
    check.compare([entry.name for entry in manifest.conditions], [name for name, _ in conditions], "conditions")
    check.compare([dict(entry.params) for entry in manifest.conditions], [params for _, params in conditions], "params")
    check.compare([model.label for model in manifest.models], [label for _, label, _ in models], "models")
    stated = [[model.name, model.label, dict(model.options)] for model in manifest.models]
    check.compare(stated, models, "models, their names and options")
    files = [[*dataset.as_json().values()] for dataset in manifest.datasets]
    check.compare(files, [list(row) for row in parts["datasets"]], "item files")
    # A model may have a token limit of its own, which the manifest's samplings do not show.
    planned = sorted({dumps({**sampling.as_json(), "max_tokens": 0}) for sampling in samplings})
    declared = sorted({dumps({**sampling.as_json(), "max_tokens": 0}) for sampling in manifest.samplings})
    check.compare(declared, planned, "samplings")
    check.compare(manifest.run, meta.get("run"), "name of the run")
    check.compare(sorted(_META), sorted(meta), "facts of the plan")
    known = {f"{name}@{version}" for name, version in store.scorers()}
    unscored = [name for name in manifest.scorers if name not in known]
    for name in manifest.scorers if published else ():
        check.compare("scored", "no score" if name in unscored else "scored", f"declared scorer {name}")
    if unscored and not published:
        check.note = f"not scored yet: {', '.join(unscored)}"
    return check


def _plan(store: Store, manifest: Manifest) -> Check:
    """Every trial is there and was asked. Trials that only failed are stated: a failed call is no missing one."""
    check = Check("plan is complete")
    cells = store.cells()
    check.compare(manifest.trials, sum(cell.planned for cell in cells), "number of trials")
    for cell in cells:
        where = f"{cell.model}, {cell.condition}, {cell.sampling}"
        check.compare(cell.planned, cell.answered + cell.failed, f"{where}: trials planned, trials asked")
        if cell.failed:
            check.note += f"{where}: {cell.failed} of {cell.planned} trials only failed. "
    return check


def order(run: Run) -> Check:
    """No trial is planned twice, and they are in the order of a plan: by model and sampling, item, condition, repeat.

    What was imported keeps the order that it had.
    """
    check = Check("no trial twice, all in plan order")
    table = run.table
    codes = table.codes
    if not len(table):
        return check
    if not run.manifest.is_imported:
        check.compare(run.manifest.repeats, len(table.values("repeat")), "number of repeats")
    check.checked = len(table)
    cell = joined([codes["model"], codes["sampling"]])
    row = joined([codes["item"], codes["condition"], codes["repeat"]])
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


@contextmanager
def well_formed(what: str) -> Iterator[None]:
    """Whoever wrote the folder may have put anything into it: what has not the shape of a run is a StoreError."""
    try:
        yield
    except (KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
        raise StoreError(f"{what} of the run is not what a run holds: {error!r}") from error
