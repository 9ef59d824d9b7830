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
from perpend.canon import JSON, digest, digest_file, dumps, pretty, read_object
from perpend.errors import AuditFailure, PerpendError, StoreError
from perpend.inert import terminal
from perpend.ledger.manifest import MANIFEST, ItemsDigest, Manifest, code_version
from perpend.ledger.snapshot import snapshot
from perpend.ledger.store import Store
from perpend.measure.run import Run
from perpend.measure.table import joined
from perpend.proof.audit.labels import Judged
from perpend.proof.audit.places import AuditPlace

BEYOND: Mapping[str, str] = {
    "answers": "answers that no model gave, where all else was derived from them anew; nor trials and answers left out",
    "wording": "questions, conditions or a second turn in other words than were sent, with every request made anew",
    "choice": "the best of several samples of items, models, scorers or runs; the attempts name only runs that were "
    "in one folder",
    "names": "wrong names: of a model, its options and fingerprint, of the run, of item files and their digests, of a "
    "freeze that items were drawn from",
    "times": "wrong times, durations, token counts and versions of the code",
    "words": "untrue reasons for an accepted gate, untrue human labels, an untrue account of the other runs",
    "imports": "in an imported run: which questions were asked, and stored labels that no rule here gives",
}
"""What a forger can change without a trace, if he derives everything else anew. A root digest that the paper quotes, or
a signature, rules out all of it after that day; before it, only the publisher can be asked."""
_SHOWN = 200
"""How many characters of a value a difference shows."""


@dataclass(slots=True)
class Check:
    """One thing that was recomputed: how often, how often it differs, the first difference in words.

    A check that looked at nothing says why in `note`. `missing` says what it could not recompute, and why not.
    `accepted` is the gate under which the publisher accepted that it differs, with his reason.
    """

    name: str
    checked: int = 0
    differ: int = 0
    first: str = ""
    note: str = ""
    missing: str = ""
    accepted: str = ""

    @property
    def fails(self) -> bool:
        """Whether something differs that nobody accepted."""
        return bool(self.differ) and not self.accepted

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
            "accepted": self.accepted,
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
        """True when nothing differs but what the publisher accepted with a reason."""
        return not any(check.fails for check in self.checks)

    @property
    def not_recomputed(self) -> list[str]:
        """The names of the checks that could not recompute all of what is stored."""
        return [check.name for check in self.checks if check.missing]

    @property
    def verdict(self) -> str:
        """One line: whether anything differs, and what was not looked at."""
        left, accepted = self.not_recomputed, dict.fromkeys(check.accepted for check in self.checks if check.accepted)
        line = "DIFFERS" if not self.ok else "nothing differs in what was recomputed" if left else "nothing differs"
        if accepted and self.ok:
            line += f", but what was accepted with a reason ({'; '.join(accepted)})"
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
            lines = [f"{c.name}: {c.differ} of {c.checked} differ; {c.first}" for c in self.checks if c.fails]
            raise AuditFailure(f"{self.path}: " + "\n".join(lines))


def as_table(audits: Iterable[Audit]) -> str:
    """The outcomes as text: one line per check; below it the first difference, notes, and what was not recomputed.

    At the end stands what no recomputation can find.
    """
    lines: list[str] = []
    for outcome in audits:
        lines.append(_line(f"{outcome.name}: {outcome.verdict}"))
        for check in outcome.checks:
            verdict = f"{check.differ} differ" if check.differ else "ok" if check.checked else "not checked"
            lines.append(f"  {_line(check.name):<42} {check.checked:>9} checked   {verdict}")
            left = f"not recomputed: {check.missing}" if check.missing else ""
            accepted = f"accepted with a reason: {check.accepted}" if check.accepted else ""
            lines += [f"      {_line(text)}" for text in (check.first, accepted, check.note, left) if text]
        lines += [f"  {_line(line)}" for judged in outcome.labels for line in judged.as_lines()]
    lines += ["No recomputation can find:", *(f"  - {words}" for words in BEYOND.values())]
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


COMPLETE, SCORED, ITEMS, TEMPLATES = (
    "plan is complete",
    "declared scorers have scores",
    "items are those of the manifest",
    "templates have their digests",
)
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
    """What SQLite finds wrong, and what the journal knows to be missing; the tables were checked when it was opened."""
    check = Check("run.db is whole and append-only")
    check.compare([], store.integrity(), "integrity check")
    check.compare(0, store.lost(), "responses that manifest.journal counts and run.db does not hold")
    return check


def _manifest(run: Run) -> Check:
    """Every field of the manifest is one that is read, and it is written as perpend writes one."""
    check = Check("manifest holds nothing else")
    manifest = run.manifest
    body = read_object(run.directory / MANIFEST, StoreError)
    check.compare(body, json.loads(json.dumps(manifest.as_json())), MANIFEST)
    canonical(check, run.directory / MANIFEST, body)
    most = manifest.items.max_items
    if most is not None and manifest.items.n > most:
        check.miss(f"{MANIFEST}, items: {manifest.items.n} were taken where {most} were wanted")
    return check


def canonical(check: Check, path: Path, body: Mapping[str, JSON]) -> None:
    """Count whether a JSON file has the bytes that its value has: nothing can hide in how it is written."""
    check.checked += 1
    if path.read_bytes() != pretty(body).encode():
        check.miss(f"{path.name}: not written as perpend writes it: other spaces, order or spelling of the same values")


def _task(run: Run) -> Check:
    """Whether the task asks a second time and what it asks for are the task's own; its words may be a user's."""
    check = Check("task is that of the manifest")
    manifest, task = run.manifest, run.code.task
    if task is None or manifest.is_imported:
        # Second turns are then compared with what the manifest declares, and one that it declares is said to be left.
        check.note = "imported: nothing was asked here" if manifest.is_imported else run.code.missing.get("task", "")
        return check
    check.compare(manifest.choices_scored, task.choices_scored, "task, choices_scored")
    check.compare(manifest.reprompt is not None, task.reprompt is not None, "whether there is a second turn (reprompt)")
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
    check = Check(ITEMS)
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
    declared = dict.fromkeys(sampling for model in manifest.models for sampling in manifest.samplings_of(model))
    stated_samplings, planned = ([dumps(one.as_json()) for one in some] for some in (declared, samplings))
    if manifest.is_imported:  # a source states its samplings in an order of its own
        stated_samplings, planned = sorted(stated_samplings), sorted(planned)
    check.compare(stated_samplings, planned, "samplings")
    check.compare(manifest.run, meta.get("run"), "name of the run")
    check.compare(sorted(_META), sorted(meta), "facts of the plan")
    return check


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


def _plan(store: Store, manifest: Manifest) -> Check:
    """Every trial is there and was asked. Trials that only failed are stated: a failed call is no missing one."""
    check = Check(COMPLETE)
    cells = store.cells()
    check.compare(manifest.trials, sum(cell.planned for cell in cells), "number of trials")
    if not manifest.is_imported:
        size = manifest.items.n * manifest.repeats
        stated = {
            f"{model.label}, {condition.name}, {dumps(sampling.as_json())}": size
            for model in manifest.models
            for sampling in manifest.samplings_of(model)
            for condition in manifest.conditions
        }
        now = {f"{cell.model}, {cell.condition}, {cell.sampling}": cell.planned for cell in cells}
        check.compare(stated, now, "trials of")
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
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, RecursionError, OSError) as error:
        if isinstance(error, PerpendError):
            raise
        raise StoreError(f"{what} of the run is not what a run holds: {error!r}") from error
