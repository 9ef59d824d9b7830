"""audit: derive everything again from the raw responses and compare with what is stored. No model, no network.

Each check says how many things it looked at and how many differ, and shows the first that does. A check that looked at
nothing says why.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from perpend.canon import JSON, digest
from perpend.compose import find_scorer
from perpend.conditions import from_params
from perpend.errors import AuditFailure, SpecError
from perpend.inert import terminal
from perpend.manifest import ItemsDigest
from perpend.measure import Run
from perpend.plan import Trial, first_request
from perpend.reports.conformity_audit import integrity
from perpend.reports.conformity_mismatches import mismatches
from perpend.reports.conformity_trials import load
from perpend.reports.summary import metrics, report
from perpend.store import Store
from perpend.types import Condition, Response, Score, Scorer

_CHUNK = 500
_GUARDS = frozenset(("response_is_a_fact", "response_stays"))


@dataclass(slots=True)
class Check:
    """One thing that was recomputed: how often, how often it differs, the first difference in words."""

    name: str
    checked: int = 0
    differ: int = 0
    first: str = ""
    note: str = ""

    def compare(self, stored: object, now: object, where: str) -> None:
        """Count one comparison."""
        self.checked += 1
        if not _same(stored, now):
            self.differ += 1
            if not self.first:
                self.first = f"{where}: stored {stored!r}, recomputed {now!r}"


@dataclass(frozen=True, slots=True)
class Audit:
    """The outcome for one run."""

    path: Path
    checks: Sequence[Check] = field(default_factory=tuple)

    @property
    def ok(self) -> bool:
        """True when nothing differs."""
        return not any(check.differ for check in self.checks)

    def as_json(self) -> dict[str, JSON]:
        """The table for programs."""
        return {
            "run": self.path.name,
            "ok": self.ok,
            "checks": [
                {"check": c.name, "checked": c.checked, "differ": c.differ, "first": c.first, "note": c.note}
                for c in self.checks
            ],
        }

    def raise_for_failures(self) -> None:
        """Raise AuditFailure with the first difference of every check that found one."""
        if not self.ok:
            found = [f"{c.name}: {c.differ} of {c.checked} differ; {c.first}" for c in self.checks if c.differ]
            raise AuditFailure(f"{self.path}: " + "\n".join(found))


def as_table(audits: Sequence[Audit]) -> str:
    """The outcomes for people: a line a check, the first difference below it."""
    lines: list[str] = []
    for outcome in audits:
        lines.append(f"{outcome.path.name}: {'nothing differs' if outcome.ok else 'DIFFERS'}")
        for check in outcome.checks:
            verdict = f"{check.differ} differ" if check.differ else "ok"
            lines.append(f"  {terminal(check.name):<42} {check.checked:>9} checked   {verdict}")
            lines += [f"      {terminal(text)}" for text in (check.first, check.note) if text]
    return "\n".join(lines) + "\n"


def audit_run(directory: Path, rules: str = "both") -> Audit:
    """Recompute a run: file, items, plan, prompts, scores, stored labels of an import, metrics, report.

    `rules` 'v1' or 'v2' looks only at the scores of that rule version.
    """
    run = Run(directory)
    with Store.open(directory / "run.db") as store:
        checks = [
            _file(store),
            _items(store, run.manifest),
            _plan(store, run.manifest),
            _templates(run.manifest),
            _prompts(store, run.manifest),
            *_scores(store, rules),
            *_imported(run, store, rules),
        ]
        lost = sum(cell.planned for cell in store.cells()) != run.manifest.get("trials")
    if lost:  # columns are read by the position in the plan
        derived: Iterable[Check] = [
            Check("metrics.json and report.md", note="not recomputed: the plan has lost trials")
        ]
    else:
        derived = (*_cells(run), *_derived(run))
    return Audit(directory, (*checks, *derived))


def _file(store: Store) -> Check:
    check = Check("run.db is whole and append-only")
    check.compare([], store.integrity(), "integrity check")
    check.compare(sorted(_GUARDS), sorted(_GUARDS & store.guards()), "triggers")
    return check


def _items(store: Store, manifest: Mapping[str, JSON]) -> Check:
    check = Check("items are those of the manifest")
    found = ItemsDigest()
    for item in store.items():
        found.add(item)
    stored = _table(manifest.get("items"))
    check.compare(stored.get("n"), found.count, "number of items")
    check.compare(stored.get("sha256"), found.hexdigest(), "digest of the items")
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


def _cells(run: Run) -> Iterator[Check]:
    """A conformity study holds every item in every cell: what was imported may lack some."""
    if _table(run.manifest.get("task")).get("name") != "conformity":
        return
    check = Check("cells of the study")
    for cell in integrity(load([run])):
        where = f"{cell.variant}, {cell.condition}, temperature {cell.temperature:g}, {cell.kind}"
        check.compare(cell.expected, cell.planned, f"{where}: trials expected, trials there")
    yield check


def _templates(manifest: Mapping[str, JSON]) -> Check:
    check = Check("templates have their digests")
    for entry in [*_list(manifest.get("conditions")), manifest.get("reprompt")]:
        body = _table(entry)
        if body:
            check.compare(body.get("sha256"), digest(body.get("params")), str(body.get("name", "reprompt")))
    return check


def _prompts(store: Store, manifest: Mapping[str, JSON]) -> Check:
    """Render every first question again from the manifest's templates and compare the request's digest."""
    check = Check("questions were asked as planned")
    if "import" in manifest:
        check.note = "imported: the questions were rendered elsewhere"
        return check
    conditions: dict[str, Condition] = {}
    for entry in map(_table, _list(manifest.get("conditions"))):
        made = from_params(str(entry.get("name")), _table(entry.get("params")))
        if made is None:
            check.note = f"condition {entry.get('name')!r} holds no template; its questions cannot be rendered again"
            return check
        conditions[made.name] = made
    choices_scored = bool(_table(manifest.get("task")).get("choices_scored"))
    asked = store.first_requests()
    pending = next(asked, None)
    for trial in _all_trials(store):
        while pending is not None and pending[0] == trial.trial:
            now = first_request(trial, conditions[trial.condition], choices_scored=choices_scored).digest
            check.compare(pending[1], now, f"trial {trial.trial} ({trial.item.id}, {trial.condition})")
            pending = next(asked, None)
    return check


def _imported(run: Run, store: Store, rules: str) -> Iterator[Check]:
    """The labels that an imported run brought along against rule 1 on the raw text; its own rules were those."""
    if rules == "v2" or not any(version == "import" for _, version in store.scorers()):
        return
    for compared in mismatches(run, ("1",)):
        if not compared.stored.endswith("@import"):
            continue
        check = Check(f"{compared.stored} against rule {compared.rule}", compared.compared, compared.differing)
        if compared.first is not None:
            first = compared.first
            check.first = f"trial {first.trial}: stored {first.stored!r}, derived {first.recomputed!r}"
        yield check


def _scores(store: Store, rules: str) -> list[Check]:
    """Judge every answer again with the scorer versions on record; what was imported is not ours to recompute."""
    checks: list[tuple[str, Scorer | None, Check]] = []
    for name, version in store.scorers():
        if version == "import" or (rules != "both" and version != rules.removeprefix("v")):
            continue
        check = Check(f"scores of {name}@{version}")
        try:
            scorer: Scorer | None = find_scorer(f"{name}@{version}")
        except SpecError as error:
            scorer = None
            check.checked = check.differ = 1
            check.first = str(error)
        checks.append((f"{name}@{version}", scorer, check))
    for chunk in _chunks(store.answers()):
        stored = store.scores([trial.trial for trial, _ in chunk])
        for trial, response in chunk:
            for name, scorer, check in checks:
                if scorer is not None:
                    then = stored.get(trial.trial, {}).get(name)
                    now = scorer.judge(trial.item, response)
                    check.compare(_told(then), _told(now), f"trial {trial.trial} ({trial.item.id}, {trial.condition})")
    return [check for _, _, check in checks]


def _derived(run: Run) -> Iterator[Check]:
    numbers, page = Check("metrics.json"), Check("report.md")
    path = run.directory / "metrics.json"
    if not path.exists():
        numbers.note = page.note = "not there; 'perpend score' writes it"
    else:
        found = metrics(run)
        now = json.loads(json.dumps([metric.as_json() for metric in found]))
        stored = _list(_table(json.loads(path.read_text(encoding="utf-8"))).get("metrics"))
        numbers.compare(len(stored), len(now), "number of metrics")
        for then, again in zip(map(_table, stored), now, strict=False):
            numbers.compare(dict(then), again, f"{then.get('metric')} of {then.get('scorer')} at {then.get('where')}")
        page.compare((run.directory / "report.md").read_text(encoding="utf-8"), report(run, found), "text")
        page.first = page.first[:200]
    yield from (numbers, page)


def _all_trials(store: Store) -> Iterator[Trial]:
    total = sum(cell.planned for cell in store.cells())
    for first in range(1, total + 1, _CHUNK):
        yield from list(store.trials(first, first + _CHUNK - 1))


def _chunks(rows: Iterable[tuple[Trial, Response]]) -> Iterator[list[tuple[Trial, Response]]]:
    chunk: list[tuple[Trial, Response]] = []
    for row in rows:
        chunk.append(row)
        if len(chunk) == _CHUNK:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _told(score: Score | None) -> tuple[object, ...] | None:
    return None if score is None else (score.value, score.answer, score.reason, score.span)


def _same(stored: object, now: object) -> bool:
    """Equal; numbers up to 1e-9 of their size, which is what another machine's arithmetic may move them."""
    if isinstance(stored, float) and isinstance(now, float):
        return math.isclose(stored, now, rel_tol=1e-9, abs_tol=1e-12)
    if isinstance(stored, dict) and isinstance(now, dict):
        return stored.keys() == now.keys() and all(_same(value, now[key]) for key, value in stored.items())
    if isinstance(stored, list) and isinstance(now, list):
        return len(stored) == len(now) and all(map(_same, stored, now))
    return stored == now


def _table(value: JSON) -> Mapping[str, JSON]:
    return value if isinstance(value, Mapping) else {}


def _list(value: JSON) -> Sequence[JSON]:
    return value if isinstance(value, list) else []
