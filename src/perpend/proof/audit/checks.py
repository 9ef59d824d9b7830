"""What an audit found, as checks that count; and the intent of a run against itself."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from perpend.ask.task import CODE
from perpend.canon import JSON, digest, digest_file, dumps, read_object
from perpend.errors import AuditFailure, StoreError
from perpend.inert import terminal
from perpend.ledger.manifest import MANIFEST, ItemsDigest, Manifest, code_version
from perpend.ledger.snapshot import snapshot
from perpend.ledger.store import Store
from perpend.measure.run import Run
from perpend.measure.table import joined
from perpend.proof.audit.labels import Judged
from perpend.proof.audit.places import AuditPlace

_SHOWN = 200
"""How many characters of a value a difference shows."""


@dataclass(slots=True)
class Check:
    """One thing that was recomputed: how often, how often it differs, the first difference in words.

    A check that looked at nothing says why in `note`. `missing` says what it could not recompute, and why not.
    """

    name: str
    checked: int = 0
    differ: int = 0
    first: str = ""
    note: str = ""
    missing: str = ""

    def compare(self, stored: object, now: object, where: str) -> None:
        """Count one comparison. Of two structures the first entry that differs is shown."""
        self.checked += 1
        difference = first_difference(stored, now, where)
        if difference is not None:
            self.miss(difference)

    def miss(self, words: str) -> None:
        """Count one difference of something that was counted as checked."""
        self.differ += 1
        self.first = self.first or words

    def add(self, other: Check) -> None:
        """Take in the counts of the same check over later trials."""
        self.checked += other.checked
        self.differ += other.differ
        self.first = self.first or other.first
        self.missing = self.missing or other.missing
        if other.note not in self.note:
            self.note = f"{self.note} {other.note}".strip()

    def as_json(self) -> dict[str, JSON]:
        """The check as JSON."""
        return {
            "check": self.name,
            "checked": self.checked,
            "differ": self.differ,
            "first": self.first,
            "note": self.note,
            "not_recomputed": self.missing,
        }


@dataclass(frozen=True, slots=True)
class Sample:
    """How many trials, sampled with a seed, were rendered and scored again. `of` counts the planned ones."""

    trials: int
    of: int
    seed: int


@dataclass(frozen=True, slots=True)
class Audit:
    """The outcome for one run or published folder. `sample` None: every trial was looked at."""

    path: Path
    checks: Sequence[Check] = ()
    sample: Sample | None = None
    labels: Sequence[Judged] = ()
    place: AuditPlace | None = None
    """How its run can be opened again; None where it cannot."""
    trust_code: bool = False
    metadata: Path | None = None

    @property
    def name(self) -> str:
        """The folder's name, also where the path is '.'."""
        return self.path.resolve().name

    @property
    def ok(self) -> bool:
        """True when nothing differs."""
        return not any(check.differ for check in self.checks)

    @property
    def not_recomputed(self) -> list[str]:
        """The names of the checks that could not recompute all of what is stored."""
        return [check.name for check in self.checks if check.missing]

    @property
    def verdict(self) -> str:
        """One line: whether anything differs, and what was not looked at."""
        left = self.not_recomputed
        line = "DIFFERS" if not self.ok else "nothing differs in what was recomputed" if left else "nothing differs"
        if self.sample is not None:
            one = self.sample
            line += f" in a SAMPLE of {one.trials} of {one.of} trials (seed {one.seed}); the rest was not looked at"
        return line + (f"; not recomputed: {', '.join(left)}" if left else "")

    def as_json(self) -> dict[str, JSON]:
        """The outcome as JSON."""
        one = self.sample
        return {
            "run": self.name,
            "ok": self.ok,
            "sample": None if one is None else {"trials": one.trials, "of": one.of, "seed": one.seed},
            "checks": [check.as_json() for check in self.checks],
            "labels": [judged.as_json() for judged in self.labels],
        }

    def raise_for_failures(self) -> None:
        """Raise AuditFailure with the first difference of every check that has one."""
        if not self.ok:
            lines = [f"{c.name}: {c.differ} of {c.checked} differ; {c.first}" for c in self.checks if c.differ]
            raise AuditFailure(f"{self.path}: " + "\n".join(lines))


def as_table(audits: Iterable[Audit]) -> str:
    """The outcomes as text: one line per check; below it the first difference, notes, and what was not recomputed."""
    lines: list[str] = []
    for outcome in audits:
        lines.append(f"{terminal(outcome.name)}: {outcome.verdict}")
        for check in outcome.checks:
            verdict = f"{check.differ} differ" if check.differ else "ok" if check.checked else "not checked"
            lines.append(f"  {terminal(check.name):<42} {check.checked:>9} checked   {verdict}")
            left = f"not recomputed: {check.missing}" if check.missing else ""
            lines += [f"      {_line(text)}" for text in (check.first, check.note, left) if text]
        lines += [f"  {_line(line)}" for judged in outcome.labels for line in judged.as_lines()]
    return "\n".join(lines) + "\n"


def _line(text: str) -> str:
    return terminal(text.replace("\n", "\\n"))


def first_difference(stored: object, now: object, where: str) -> str | None:
    """The first place at which two values differ, with both; None when they are the same.

    Numbers are the same up to 1e-9 of their size, which is what another machine's arithmetic may move them.
    """
    if isinstance(stored, Mapping) and isinstance(now, Mapping):
        for key in dict.fromkeys((*stored, *now)):
            if key not in stored or key not in now:
                return f"{where}, {key}: {'not stored' if key not in stored else 'stored, not recomputed'}"
            difference = first_difference(stored[key], now[key], f"{where}, {key}")
            if difference is not None:
                return difference
        return None
    if isinstance(stored, list) and isinstance(now, list) and len(stored) == len(now):
        entries = (first_difference(*pair, f"{where}[{n}]") for n, pair in enumerate(zip(stored, now, strict=True)))
        return next((difference for difference in entries if difference is not None), None)
    if isinstance(stored, float) and isinstance(now, float):
        same = math.isclose(stored, now, rel_tol=1e-9, abs_tol=1e-15)
    else:
        same = stored == now and isinstance(stored, bool) == isinstance(now, bool)
    return None if same else f"{where}: stored {shown(stored)}, recomputed {shown(now)}"


def shown(value: object) -> str:
    """A value as a difference shows it, not longer than a line or two."""
    text = repr(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


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
    body = read_object(run.directory / MANIFEST, StoreError)
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
