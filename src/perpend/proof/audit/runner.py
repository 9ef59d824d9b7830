"""audit: derive everything again from the raw responses and compare with what is stored. No model, no network.

Each check says how many things it looked at and how many differ, and shows the first that does. A check that looked at
nothing says why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from perpend.ask.progress import Progress
from perpend.canon import JSON, as_list, as_object
from perpend.disk import temporary_folder
from perpend.errors import DiskError, FormatError, PerpendError, StoreError
from perpend.ledger.digest import content_digest
from perpend.measure.labels import LABELS
from perpend.measure.plans import refuse_shard
from perpend.measure.processes import AS_COLUMNS_TWICE, outcome, processes
from perpend.measure.run import Run
from perpend.measure.stopped import cautioned, stop_metrics
from perpend.measure.study import (
    METRICS,
    Numbers,
    Study,
    metrics_text,
    numbers_of,
    read_metrics,
    reference_labels_of,
    stored_labels_of,
)
from perpend.measure.table import IMPORTED
from perpend.proof.audit.answers import ALONE, EACH_SCORED, PROMPTS, SECOND, answers, drawn, job, left_out
from perpend.proof.audit.bundle import accepted_gates, bundle, facts, recomputed_gates, stated_attempts
from perpend.proof.audit.checks import Audit, Check, Sample, canonical, well_formed, where
from perpend.proof.audit.intent import ASKED, ITEMS, SCORED, TEMPLATES, intent, order, planned_trials
from perpend.proof.audit.judged import judged_answers
from perpend.proof.audit.labels import Judged, judged
from perpend.proof.audit.places import (
    AuditPlace,
    folders_of_runs,
    imported_how,
    places,
    run_directory,
    scored_copy,
    scored_in,
    unread,
    unscored,
)
from perpend.proof.audit.rewritten import rewritten
from perpend.proof.audit.stops import stops
from perpend.proof.audit.trees import NOT_THERE, Trees, as_json, beside, compare_metrics, named
from perpend.proof.closing import close_report
from perpend.proof.pages import PAGE, PAGE_DATA, PageMaker
from perpend.report.derive import FIGURES, REPORT, TABLES, derive, drawn_in, stated_metrics
from perpend.report.own_rules import own_rules_lines

if TYPE_CHECKING:
    from perpend.proof.claims import Verdict


def numbers(
    run: Run, stored: Path, facts: Mapping[str, JSON] | None, *, redraw: bool = False, page: PageMaker | None = None
) -> list[Check]:
    """Compare what the folder `stored` holds with what follows from a run.

    `facts` are the receipt's, for a published folder, whose report ends with them; None for a run directory, whose
    tables and figures are looked at where it has some.
    """
    if facts is None and not any((stored / name).exists() for name in (METRICS, REPORT, TABLES, FIGURES)):
        return [Check(f"{METRICS}, {REPORT}", note=NOT_THERE)]
    metrics, body = _read(stored)
    if body is not None:
        canonical(metrics, stored / METRICS, metrics_text(body))
    with well_formed("a number"), temporary_folder("audit") as fresh:
        why = run.code.missing.get("study")
        if why is not None:
            return [*_without_study(run, stored, body, facts, metrics, page), *_page(run, stored, facts, page)]
        labels = None if facts is not None else _labels_counted(body)
        derived = derive([run], fresh, figures=drawn_in(stored), draw=redraw, labels=labels)
        now = read_metrics(fresh)
        compare_metrics(metrics, body, now, run.manifest)
        checks = [metrics]
        if facts is not None:
            close_report(fresh, facts)
            checks.append(stated_attempts(run.manifest, facts, as_list(now.get("metrics"))))
        trees = Trees(run, stored, fresh, derived.report, published=facts is not None, page=page is not None)
        return [*checks, trees.report(), *trees.files(redraw=redraw), *_page(run, stored, facts, page)]


def _page(run: Run, stored: Path, facts: Mapping[str, JSON] | None, page: PageMaker | None) -> list[Check]:
    """The page of a published folder against what the folder's ledger and its numbers give; nothing where it has none.

    A folder of its trials without the page is a difference, too.
    """
    is_there = (stored / PAGE).exists() or (stored / PAGE_DATA).exists()
    if facts is None or page is None or not is_there:
        return []
    check = Check(PAGE)
    if not (stored / PAGE).is_file() or not (stored / PAGE).stat().st_size:
        check.checked = 1
        check.miss(f"{PAGE}: missing or empty, and {PAGE_DATA} is there")
        return [check]
    check.checked, wrong = page.check(run, stored, facts)
    for words in wrong:
        check.miss(words)
    return [check]


def _labels_counted(body: Mapping[str, JSON] | None) -> int:
    """How many lines of labels the numbers of a run directory were derived from: people may label on afterwards."""
    entries = map(as_object, as_list(None if body is None else body.get("metrics")))
    lines = next((as_object(one.get("also")).get("lines") for one in entries if one.get("metric") == "labelled"), 0)
    return lines if isinstance(lines, int) and not isinstance(lines, bool) and lines >= 0 else 0


def _read(stored: Path) -> tuple[Check, Mapping[str, JSON] | None]:
    """The stored body of metrics.json, and the check that says of it what is wrong where there is none."""
    check = Check(METRICS)
    if not (stored / METRICS).is_file():
        check.note = NOT_THERE
        return check, None
    try:
        return check, read_metrics(stored)
    except FormatError:
        raise
    except StoreError as error:
        check.checked = 1
        check.miss(str(error))
        return check, None


def _without_study(
    run: Run,
    stored: Path,
    body: Mapping[str, JSON] | None,
    facts: Mapping[str, JSON] | None,
    check: Check,
    page: PageMaker | None,
) -> list[Check]:
    """The rates and pairs that every run states; what only the run's own code can derive is said to be left out."""
    why = run.code.missing["study"]
    now = as_json([*stop_metrics(run), *cautioned([run], stated_metrics(run.table))])
    then = as_list(None if body is None else body.get("metrics"))
    for one, other in zip_longest(then[: len(now)], now):
        check.compare(one, other, named(as_object(other)))
    check.missing = f"the study's own numbers, {why}"
    attempts = [] if facts is None else [stated_attempts(run.manifest, facts, now)]
    others = (
        Check(f"{REPORT}, {TABLES}, {FIGURES}")
        if facts is None
        else beside(run.manifest, stored, page=page is not None)
    )
    others.missing = why
    return [check, *attempts, others]


READABLE = "what is stored can be read"


@dataclass(frozen=True, slots=True)
class Options:
    """How much an audit looks at.

    `rules` 'v1' or 'v2' looks only at the scores of that version. `sample` renders and scores that many trials
    again, sampled with `seed`, and passes no gate again; what rests on all stored scores is recomputed all the same.
    `figures` redraws every figure. `workers` is the number of processes, by default that of the cores. `trust_code`
    runs the Python files that a run's manifest lists; `say` gets a line with name and digest of each before it is run.
    `metadata` is a file that some formats of studies need beside what is imported. `page` checks a published folder's
    page; without it a page is a file that nothing gives.
    """

    rules: str = "both"
    sample: int | None = None
    seed: int = 0
    figures: bool = False
    workers: int | None = None
    quiet: bool = True
    trust_code: bool = False
    metadata: Path | None = None
    page: PageMaker | None = None
    say: Callable[[str], None] | None = None


_WHOLE = Options()
_EXCUSED_BY = {
    ASKED: "plan",
    SECOND: "plan",
    PROMPTS: "prompts",
    TEMPLATES: "prompts",
    ITEMS: "dataset",
    SCORED: "scores",
    EACH_SCORED: "scores",
}
"""What may differ where the publisher accepted a gate and said why."""


def audit(paths: Sequence[Path], options: Options = _WHOLE) -> list[Audit]:
    """Audit everything that the paths are or hold; then what is beside the runs. Nothing to audit is a StoreError.

    What another version of perpend wrote is an outcome that says so; where there is nothing else, it is a FormatError.
    """
    others = tuple(place.path for place in places(paths))
    outcomes = [_audit_or_refuse(place, options, others) for place in places(paths)]
    refused = [one.refused for one in outcomes if one.refused is not None]
    if refused and len(refused) == len(outcomes):
        raise refused[0]
    return [*outcomes, *collections(paths)]


def _audit_or_refuse(place: AuditPlace, options: Options, others: tuple[Path, ...]) -> Audit:
    try:
        return _audit(place, options, others)
    except FormatError as error:
        return Audit(place.path, [Check(READABLE, missing=str(error))], refused=error)


def audit_run(directory: Path, rules: str = "both") -> Audit:
    """Audit one run directory: file, items, plan, prompts, scores, labels of an import, metrics, report, tables."""
    return _audit(AuditPlace(directory), Options(rules=rules))


def _audit(place: AuditPlace, options: Options, others: tuple[Path, ...] = ()) -> Audit:
    """A folder's seals first; then the run that it is or holds, against what is stored in the folder.

    `others` are audited along with it: a run that it judges may be among them.
    """
    checks = _collected(bundle(place.path)) if place.published else []
    ledger = _Ledger(place, options, others)
    checks += _collected(ledger.checks())
    for check in checks:
        gate = _EXCUSED_BY.get(check.name, "")
        if gate in ledger.accepted and check.differ:
            check.accepted = f"{gate}: {ledger.accepted[gate]}"
    again = place if ledger.is_open else None
    return Audit(
        path=place.path,
        checks=checks,
        sample=ledger.sample,
        labels=ledger.labels,
        place=again,
        trust_code=options.trust_code,
        metadata=options.metadata,
        accepted=ledger.accepted,
        content=ledger.content,
        own_rules=ledger.own_rules,
    )


def _collected(checks: Iterable[Check]) -> list[Check]:
    """The checks up to the first thing that cannot be read, which is a difference too."""
    collected: list[Check] = []
    try:
        with well_formed("what is stored"):
            collected.extend(checks)
    except (DiskError, FormatError):  # this machine's disk, or another version of perpend: the folder may be as it was
        raise
    except PerpendError as error:
        collected.append(Check(READABLE, 1, 1, str(error)))
    except BrokenProcessPool as error:
        raise PerpendError(
            "a process of the audit died. Too little memory? Try --workers 1. In a script of your own, keep the call "
            "under 'if __name__ == \"__main__\":'"
        ) from error
    return collected


@dataclass(slots=True)
class _Ledger:
    """The run of a place; the place is the folder whose metrics, report, tables and figures are compared."""

    place: AuditPlace
    options: Options
    others: tuple[Path, ...] = ()
    is_open: bool = False
    sample: Sample | None = None
    labels: Sequence[Judged] = ()
    accepted: Mapping[str, str] = field(default_factory=dict)
    """The gates that the publisher accepted, with his reasons."""
    content: str = ""
    own_rules: Sequence[str] = ()

    def checks(self) -> Iterator[Check]:
        """Every check of the run that the place is, or of the one that it is restored or imported as."""
        place, options = self.place, self.options
        with run_directory(place, metadata=options.metadata, quiet=options.quiet) as directory:
            run = Run(directory, trust_code=options.trust_code)
            if place.published or place.format is not None:
                yield Check(READABLE, 1, note=imported_how(place, run.manifest))
            if others := unread(place, run.manifest):
                yield Check("other files", missing=others)
            self.is_open = True
            self.own_rules = _own_rules(run, place.path)
            yield from self._checks(run, place.path if place.format is None else directory)

    def _checks(self, run: Run, stored: Path) -> Iterator[Check]:
        """The cheap ones first."""
        options, published = self.options, self.place.published
        with run.open() as store:
            refuse_shard(store)
            yield from intent(run, store, stored, published=published)
            planned, whole = planned_trials(store, run.manifest)  # from a plan with gaps nothing can be derived
            work = job(run, store, options.rules, trust_code=options.trust_code)
            imported = options.rules in ("v1", "both") and any(version == IMPORTED for _, version in store.scorers())
            unlooked_at = left_out(store, options.rules)
            never_scored = not published and unscored(run, store)
        if options.trust_code and options.say is not None:
            for source in run.manifest.python:
                options.say(f"{self.place.path}: runs code/{source.file}, sha256 {source.sha256}")
        self.sample = drawn(planned, options.sample, options.seed)
        looked_at = planned if self.sample is None else self.sample.trials
        pool = processes(options.workers, looked_at, ALONE)
        progress = Progress(f"auditing {self.place.path.resolve().name}", looked_at, quiet=options.quiet)
        with ExitStack() as stack, pool or nullcontext(), progress:
            if never_scored and whole:
                run = stack.enter_context(scored_copy(run, trust_code=options.trust_code))
                yield Check("scores", note="not scored yet; scored for this audit")
            seals = facts(self.place.path) if published else None
            self.accepted = accepted_gates(seals or {})
            # The first that the others do: it is wanted even where a later check cannot go on.
            content = pool.submit(content_digest, run.directory) if pool is not None else None
            later = _Deferred(run.directory, stored, seals, options, self.others)
            at_once = pool if planned <= AS_COLUMNS_TWICE else None
            derived = _Later(at_once, partial(_derived, later), whole and self.place.format is None)
            stated = _Later(at_once, partial(_stated, later, imported=imported), whole)
            again = _Later(pool, partial(rewritten, run.directory, stored), published and whole)
            with suppress(StoreError):  # what cannot be read is a difference of the checks below
                self.content = content_digest(run.directory) if content is None else outcome(content)
            compared, rendered = answers(work, planned, self.sample, (pool, progress))
            yield from (*compared, *unlooked_at)
            gated = partial(recomputed_gates, run.directory, seals or {}, rendered)
            gates = _Later(pool, gated, published and self.sample is None)
            for part in (again, gates):
                yield from part.result()
            if pool is not None and at_once is None:
                pool.shutdown()  # what the others hold is needed here now
            for part in (stated, derived):
                yield from part.result()
            if not whole:
                yield Check("metrics.json, report.md, tables", missing="the plan is another one")
            elif (run.directory / LABELS).is_file():
                self.labels = judged(run, run.directory / LABELS)
                yield Check(f"scorers against {LABELS}", checked=sum(one.n for one in self.labels))


def _own_rules(run: Run, stored: Path) -> list[str]:
    """What the stored numbers say of the author's own rules; that there are such is said whatever they are."""
    try:
        numbers = numbers_of(read_metrics(stored), [run.manifest])
    except PerpendError:
        numbers = Numbers((), (run.manifest,))
    return own_rules_lines(numbers)


@dataclass(frozen=True, slots=True)
class _Deferred:
    """What a piece of the audit in another process needs to know."""

    directory: Path
    stored: Path
    seals: Mapping[str, JSON] | None
    options: Options
    others: tuple[Path, ...] = ()

    def run(self) -> Run:
        return Run(self.directory, trust_code=self.options.trust_code)


class _Later:
    """A piece of the audit that another process does meanwhile, or this one when its checks are wanted."""

    def __init__(self, pool: ProcessPoolExecutor | None, work: partial[list[Check]], wanted: bool) -> None:
        self._work = work if wanted else partial(list[Check])
        self._future = pool.submit(self._work) if pool is not None and wanted else None

    def result(self) -> list[Check]:
        """The checks."""
        return self._work() if self._future is None else self._future.result()


def _derived(later: _Deferred) -> list[Check]:
    """All that needs the plan as columns, which one process reads and no other."""
    run = later.run()
    with well_formed("a trial"):
        checks = [order(run), *stops(run, published=later.seals is not None)]
    return [*checks, *numbers(run, later.stored, later.seals, redraw=later.options.figures, page=later.options.page)]


def _stated(later: _Deferred, *, imported: bool) -> list[Check]:
    """The labels that an import brought along against our scorers on the raw text; and what the study checks itself."""
    run = later.run()
    study = run.code.study
    checks = judged_answers(run, later.stored, later.others)
    brought = [name for name in run.table.scorers if name.endswith(f"@{IMPORTED}")] if imported else []
    checks += _labels(run, brought, study) if brought else []
    extra: Callable[[Run], Iterable[Check | tuple[str, int, int, str]]] | None = getattr(study, "extra_checks", None)
    with well_formed("what the study checks"):
        given = [] if extra is None else extra(run)
        checks += [entry if isinstance(entry, Check) else Check(*entry) for entry in given]
    compared = {check.name.partition(" ")[0] for check in checks}
    why, rest = "imported, and no rule here gives it again", [name for name in brought if name not in compared]
    # Numbers may rest on what has values.
    return [*checks, *(Check(name, missing=why) if run[name].defined.any() else Check(name, note=why) for name in rest)]


def _labels(run: Run, brought: Sequence[str], study: Study | None) -> list[Check]:
    """Each stored label of an answered trial against our scorer's; where neither can be right, nothing is compared.

    A label of the reference's rules is compared where a row states one.
    """
    partial_labels = {} if study is None else reference_labels_of(study)
    agreements = {} if study is None else {**stored_labels_of(study), **partial_labels}
    names = [name for name in brought if name in agreements]
    checks = [Check(f"{name} against {agreements[name]}") for name in names]
    scorers = [run.code.scorer(agreements[name]) for name in names]
    with run.open() as store:
        stored = [dict(store.score_values(name.rpartition("@")[0], IMPORTED)) for name in names]
        for trial, response in store.answers() if names else ():
            for name, check, scorer, labels in zip(names, checks, scorers, stored, strict=True):
                if response.text is None or (name in partial_labels and trial.trial not in labels):
                    continue
                now = scorer.judge(trial.item, response).value
                if now is not None or trial.item.target is not None:
                    check.compare(labels.get(trial.trial), now, where(trial))
    return checks


def collections(paths: Sequence[Path]) -> list[Audit]:
    """The outcome for each path that holds runs and something that is none: what must not be there, what was not seen.

    A path that holds runs and nothing else has none.
    """
    audits = []
    for folder in folders_of_runs(paths):
        check = Check("what is beside the runs", checked=len(folder.differences))
        for words in folder.differences:
            check.miss(words)
        names = folder.unseen
        check.missing = ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")
        audits.append(Audit(folder.path, [check]))
    return audits


def check_claims(claims: Path, audits: Sequence[Audit], *, quiet: bool = True) -> list[Verdict]:
    """Recompute each claim from the raw answers of these audits' runs, whatever is stored beside them."""
    from perpend.proof.claims import check as recompute

    with _runs(audits, quiet=quiet) as runs:
        return recompute(claims, runs, quiet=quiet)


def seed_numbers(audits: Sequence[Audit], rules: str) -> dict[str, JSON]:
    """What a study's own audit states of these runs, derived from the raw answers by one rule version, or by 'both'.

    'both' are the two that the study compares. Empty where the runs are of several studies, or of one without such an
    audit.
    """
    readable = [outcome for outcome in audits if outcome.place is not None]
    with _runs(readable, quiet=True) as runs:
        studies = [run.code.study for run in runs]
        seed_audit: Callable[..., dict[str, JSON]] | None = getattr(studies[0], "seed_audit", None) if studies else None
        if seed_audit is None or any(study is not studies[0] for study in studies):
            return {}
        return seed_audit(runs) if rules == "both" else seed_audit(runs, [rules.removeprefix("v")])


@contextmanager
def _runs(audits: Sequence[Audit], *, quiet: bool) -> Iterator[list[Run]]:
    """The runs of some audits; what was never scored is scored in a copy."""
    with ExitStack() as stack:
        runs = []
        for outcome in audits:
            directory = outcome.path
            if outcome.place is not None:
                opened = run_directory(outcome.place, metadata=outcome.metadata, quiet=quiet)
                directory = stack.enter_context(opened)
            runs.append(scored_in(stack, directory, trust_code=outcome.trust_code))
        yield runs
