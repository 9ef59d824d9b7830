"""The intent of a run against itself: the file, the items, the templates, and the plan that follows from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from perpend.audit.checks import Check
from perpend.canon import JSON, digest, dumps
from perpend.errors import StoreError
from perpend.manifest import ItemsDigest, code_version
from perpend.measure import Run
from perpend.reports.conformity_audit import integrity
from perpend.reports.conformity_trials import Answers, load
from perpend.store import Store

_GUARDS = frozenset(("response_is_a_fact", "response_stays"))


def intent(run: Run, store: Store) -> Iterator[Check]:
    """Everything that can be checked before a response is read."""
    yield _code(run.manifest)
    yield _file(store)
    yield _items(store, run.manifest)
    yield _templates(run.manifest)
    yield _parts(run, store)
    yield _plan(store, run.manifest)


def _code(manifest: Mapping[str, JSON]) -> Check:
    """Another version of the code is no difference, but a reader of one must know it."""
    check = Check("code version", checked=1)
    then, now = table(manifest.get("code")), code_version()
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


def _items(store: Store, manifest: Mapping[str, JSON]) -> Check:
    check = Check("items are those of the manifest")
    found = ItemsDigest()
    with well_formed("an item"):
        for item in store.items():
            texts = (item.id, item.prompt, item.target or "", item.decoy or "", *item.choices, *item.aliases)
            if not all(isinstance(text, str) for text in (*texts, *item.tags.values())):
                raise TypeError(f"item {item.id!r} holds something else than text")
            found.add(item)
    stored = table(manifest.get("items"))
    check.compare(stored.get("n"), found.count, "number of items")
    check.compare(stored.get("sha256"), found.hexdigest(), "digest of the items")
    return check


def _templates(manifest: Mapping[str, JSON]) -> Check:
    check = Check("templates have their digests")
    for entry in [*entries(manifest.get("conditions")), manifest.get("reprompt")]:
        body = table(entry)
        if body:
            check.compare(body.get("sha256"), digest(body.get("params")), str(body.get("name", "reprompt")))
    return check


def _parts(run: Run, store: Store) -> Check:
    """Conditions, models and samplings of the plan are those that the manifest declares."""
    check = Check("plan is made of the manifest's parts")
    with well_formed("a sampling"):
        conditions, models, samplings = store.plan_names()
    declared = {
        key: [str(table(entry).get(name)) for entry in entries(run.manifest.get(key))]
        for key, name in (("conditions", "name"), ("models", "label"))
    }
    check.compare(declared["conditions"], conditions, "conditions")
    check.compare(declared["models"], models, "models")
    # A model may have a token limit of its own, which the manifest's samplings do not show.
    planned = sorted({dumps({**s.as_json(), "max_tokens": 0}) for s in samplings})
    stored = sorted({dumps({**table(entry), "max_tokens": 0}) for entry in entries(run.manifest.get("samplings"))})
    check.compare(stored, planned, "samplings")
    check.compare(run.manifest.get("run"), store.meta().get("run"), "name of the run")
    known = {f"{name}@{version}" for name, version in store.scorers()}
    if known:
        for name in map(str, entries(run.manifest.get("scorers"))):
            check.compare("scored", "scored" if name in known else "no score", f"declared scorer {name}")
    return check


def _plan(store: Store, manifest: Mapping[str, JSON]) -> Check:
    """Every trial is there and was asked. Trials that only failed are stated: a failed call is no missing one."""
    check = Check("plan is complete")
    cells = store.cells()
    check.compare(manifest.get("trials"), sum(cell.planned for cell in cells), "number of trials")
    for cell in cells:
        where = f"{cell.model}, {cell.condition}, {cell.sampling}"
        check.compare(cell.planned, cell.answered + cell.failed, f"{where}: trials planned, trials asked")
        if cell.failed:
            check.note += f"{where}: {cell.failed} of {cell.planned} trials only failed. "
    return check


def order(run: Run) -> Check:
    """No trial stands twice, and they stand in the order of a plan: by model and sampling, item, condition, repeat.

    What was imported keeps the order that it had.
    """
    check = Check("no trial twice, all in plan order")
    codes = run.frame.codes
    check.checked = len(run.frame)
    if not check.checked:
        return check
    cell = _joined(codes["model"], codes["sampling"])
    row = _joined(codes["item"], codes["condition"], codes["repeat"])
    whole = _joined(cell, row)
    ordered = np.argsort(whole, kind="stable")
    twice = ordered[1:][np.diff(whole[ordered]) == 0]
    for position in np.sort(twice):
        check.miss(f"{_place(run, int(position))}: stands twice in the plan")
    if "import" in run.manifest or check.differ:
        return check
    starts = [0, *(np.flatnonzero(np.diff(cell)) + 1).tolist(), len(cell)]
    seen: set[int] = set()
    for first, last in pairwise(starts):
        if int(cell[first]) in seen:
            check.miss(f"{_place(run, first)}: stands apart from the other trials of its model and sampling")
        seen.add(int(cell[first]))
        for position in np.flatnonzero(np.diff(row[first:last]) < 0):
            check.miss(f"{_place(run, first + int(position) + 1)}: stands after a trial that the plan puts later")
    return check


def _joined(*columns: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """One number for each row that names its values in all columns, ordered as they are."""
    found = np.zeros(len(columns[0]), dtype=np.int64)
    for codes in columns:
        found = found * (int(codes.max()) + 1) + codes
    return found


def _place(run: Run, position: int) -> str:
    frame = run.frame
    names = (frame.names[key][frame.codes[key][position]] for key in ("item", "condition", "model", "temperature"))
    return f"trial {position + 1} ({', '.join(names)})"


def cells(run: Run) -> Iterator[Check]:
    """A conformity study holds every item in every cell: what was imported may lack some."""
    if table(run.manifest.get("task")).get("name") != "conformity":
        return
    check = Check("cells of the study")
    nothing = np.zeros(len(run.frame), dtype=np.bool_)  # the plan alone decides: no answer is read
    for cell in integrity(load([run], [Answers(nothing, nothing, np.zeros(len(nothing)), {})])):
        where = f"{cell.variant}, {cell.condition}, temperature {cell.temperature:g}, {cell.kind}"
        check.compare(cell.expected, cell.planned, f"{where}: trials expected, trials there")
    yield check


@contextmanager
def well_formed(what: str) -> Iterator[None]:
    """Whoever made the folder may have put anything into it: what has not the shape of a run is a StoreError."""
    try:
        yield
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise StoreError(f"{what} of the run is not what a run holds: {error!r}") from error


def table(value: JSON) -> Mapping[str, JSON]:
    """The object, or an empty one where something else stands in its place."""
    return value if isinstance(value, Mapping) else {}


def entries(value: JSON) -> list[JSON]:
    """The list, or an empty one where something else stands in its place."""
    return value if isinstance(value, list) else []
