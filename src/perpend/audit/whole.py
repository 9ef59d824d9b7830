"""audit: derive everything again from the raw responses and compare with what is stored. No model, no network.

Each check says how many things it looked at and how many differ, and shows the first that does. A check that looked at
nothing says why.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from perpend.audit.answers import answers, drawn, job, processes
from perpend.audit.bundle import bundle, facts, recomputed_gates
from perpend.audit.checks import Audit, Check, Sample
from perpend.audit.intent import cells, intent, order
from perpend.audit.labels import LABELS, Judged, judged
from perpend.audit.numbers import numbers
from perpend.audit.places import Place, places
from perpend.canon import JSON
from perpend.errors import PerpendError
from perpend.measure import Run
from perpend.progress import Progress
from perpend.published import restore
from perpend.reports.conformity_mismatches import mismatches
from perpend.store import Store

READABLE = "what is stored can be read"


@dataclass(frozen=True, slots=True)
class Options:
    """How much an audit looks at.

    `rules` 'v1' or 'v2' looks only at the scores of that rule version. `sample` renders and scores only so many trials
    again, drawn by `seed`, and passes no gate again; what rests on all stored scores is recomputed all the same.
    `figures` redraws every figure. `workers` is the number of processes, as many as there are cores unless said.
    """

    rules: str = "both"
    sample: int | None = None
    seed: int = 0
    figures: bool = False
    workers: int | None = None
    quiet: bool = True


_WHOLE = Options()


def audit(paths: Sequence[Path], options: Options = _WHOLE) -> list[Audit]:
    """Audit every run and published folder that the paths are or hold. A path that holds none is a StoreError."""
    return [_published(place.path, options) if place.published else _run(place, options) for place in places(paths)]


def audit_run(directory: Path, rules: str = "both") -> Audit:
    """Audit one run directory: file, items, plan, prompts, scores, labels of an import, metrics, report, tables."""
    return _run(Place(directory, published=False), Options(rules=rules))


def _run(place: Place, options: Options) -> Audit:
    found = _Ledger(place.path, place.path, None, options)
    return Audit(place.path, _collected(found.checks()), found.sample, found.labels)


def _published(folder: Path, options: Options) -> Audit:
    """The folder's seals first; then the run that it holds, made again elsewhere, against what stands in the folder."""
    checks = _collected(bundle(folder))
    with tempfile.TemporaryDirectory(prefix="perpend-audit-") as held:
        restored: list[Path] = []

        def rest() -> Iterator[Check]:
            restored.append(restore(folder, Path(held), quiet=options.quiet))
            yield Check(READABLE, checked=1)

        checks += _collected(rest())
        if not restored:
            return Audit(folder, checks)
        found = _Ledger(restored[0], folder, facts(folder), options)
        checks += _collected(found.checks())
    return Audit(folder, checks, found.sample, found.labels)


def _collected(checks: Iterable[Check]) -> list[Check]:
    """The checks up to the first thing that cannot be read, which is a difference too."""
    found: list[Check] = []
    try:
        found.extend(checks)
    except PerpendError as error:
        found.append(Check(READABLE, 1, 1, str(error)))
    except BrokenProcessPool as error:
        raise PerpendError(
            "a process of the audit died. Too little memory? Try --workers 1. In a script of your own, keep the call "
            "under 'if __name__ == \"__main__\":'"
        ) from error
    return found


@dataclass(slots=True)
class _Ledger:
    """One run directory, and the folder whose metrics, report, tables and figures are compared with it."""

    directory: Path
    stored: Path
    facts: Mapping[str, JSON] | None
    options: Options
    sample: Sample | None = None
    labels: Sequence[Judged] = ()

    def checks(self) -> Iterator[Check]:
        """Every check, the cheap ones first."""
        run, options = Run(self.directory), self.options
        with Store.open(self.directory / "run.db") as store:
            yield from intent(run, store)
            planned = sum(cell.planned for cell in store.cells())
            work = job(self.directory / "run.db", run.manifest, store, options.rules)
            imported = options.rules != "v2" and any(version == "import" for _, version in store.scorers())
        said = run.manifest.get("trials")
        total = max(planned, said if isinstance(said, int) else 0)
        self.sample = drawn(total, options.sample, options.seed)
        looked_at = total if self.sample is None else self.sample.trials
        pool = processes(options.workers or os.cpu_count() or 1, looked_at)
        title = f"auditing {self.stored.resolve().name}"
        with pool or nullcontext(), Progress(title, looked_at, quiet=options.quiet) as progress:
            # Columns are read by the position in the plan, so nothing can be derived from one that has gaps.
            whole = planned == said
            derived = _Later(
                pool, partial(_derived, self.directory, self.stored, self.facts, redraw=options.figures), whole
            )
            labels = _Later(pool, partial(_imported, self.directory), whole and imported)
            sealed = self.facts is not None and self.sample is None
            gates = _Later(pool, partial(recomputed_gates, self.directory, self.facts or {}), sealed)
            yield from answers(work, total, self.sample, (pool, progress))
            yield from gates.result()
            yield from labels.result()
            if not whole:
                yield Check("metrics.json, report.md, tables", note="not recomputed: the plan has lost trials")
                return
            yield from derived.result()
        yield from self._labelled(run)

    def _labelled(self, run: Run) -> Iterator[Check]:
        path = self.directory / LABELS
        if path.is_file():
            self.labels = judged(run, path)
            yield Check(f"scorers against {LABELS}", checked=sum(one.n for one in self.labels))


class _Later:
    """A piece of the audit that another process does meanwhile, or this one when its checks are asked for."""

    def __init__(self, pool: ProcessPoolExecutor | None, work: partial[list[Check]], wanted: bool) -> None:
        self._work = work if wanted else partial(list[Check])
        self._future = pool.submit(self._work) if pool is not None and wanted else None

    def result(self) -> list[Check]:
        """The checks."""
        return self._work() if self._future is None else self._future.result()


def _derived(directory: Path, stored: Path, facts: Mapping[str, JSON] | None, *, redraw: bool) -> list[Check]:
    """All that needs the plan as columns, which one process holds and no other."""
    run = Run(directory)
    return [order(run), *cells(run), *numbers(run, stored, facts, redraw=redraw)]


def _imported(directory: Path) -> list[Check]:
    """The scores that an import brought along, against rule 1 on the raw text where there is such a rule."""
    with Store.open(directory / "run.db") as store:
        brought = [f"{name}@{version}" for name, version in store.scorers() if version == "import"]
    found = {}
    run = Run(directory)
    task = run.manifest.get("task")
    # Rule 1 is that study's own; a 'correct' of another harness was given by another rule.
    ours = isinstance(task, Mapping) and task.get("name") == "conformity"
    for compared in mismatches(run, ("1",)) if ours else ():
        if compared.stored in brought:
            check = Check(f"{compared.stored} against rule {compared.rule}", compared.compared, compared.differing)
            if compared.first is not None:
                first = compared.first
                check.first = f"trial {first.trial}: stored {first.stored!r}, derived {first.recomputed!r}"
            found[compared.stored] = check
    rest = [name for name in brought if name not in found]
    return [*found.values(), *(Check(name, note="imported: no rule here gives it again") for name in rest)]
