"""The demo from the first question to the page. Asked again, it goes on where it was, and makes nothing twice."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from perpend import receipt as receipts
from perpend.audit import Audit, Options, audit
from perpend.canon import JSON, digest, digest_file, pretty, write_atomic
from perpend.checkpoint import compare_checkpoints, provenance
from perpend.compat.chaosbench.rundir import metrics_body, predictions_from, read_replies
from perpend.demo.figures import draw_figures
from perpend.demo.numbers import collect
from perpend.demo.story import page_of
from perpend.demo.studies import EMBEDDED, Size, Studies, studies
from perpend.errors import StoreError
from perpend.gates import gates
from perpend.manifest import code_version
from perpend.measure import Run
from perpend.progress import Progress
from perpend.publish import publish
from perpend.reports.checkpoint import evaluate as report_on
from perpend.reports.checkpoint_report import write_checkpoint
from perpend.reports.page import render
from perpend.reports.predictions import from_run
from perpend.reports.summary import write_summary
from perpend.rows import response_row
from perpend.run import evaluate
from perpend.spec import RunSpec
from perpend.store import Store
from perpend.tasks.logic import PARSERS

PAGE, METRICS, AUDIT, MADE = "index.html", "metrics.json", "audit.json", "made.json"
_BECAUSE = {
    "unfinished": "a small model often repeats itself up to the token limit; such answers are counted, never scored",
    "invalid": "a small model often leaves the format; such replies are counted in coverage, never as a label",
}
"""The gates that a demo may fail, and why: every other one stops it."""
_WHOLE = Size()


@dataclass(frozen=True, slots=True)
class Made:
    """How a demo ended. `stopped` says why it did before its end; then there may be no page yet."""

    page: Path
    ok: bool = False
    """Whether the audit found no difference."""
    is_new: bool = False
    """Whether anything was made; False when all of it was there already."""
    stopped: str | None = None


def make_demo(
    out: Path, model: str = EMBEDDED, size: Size = _WHOLE, *, figures: bool = True, quiet: bool = False
) -> Made:
    """Ask what is not asked yet, then score, publish, audit and write `out`/index.html.

    A demo that is there already, from the same answers and the same code, is left as it is. Without `figures` the
    published tables stand alone, which saves half of the time after the answers; the page has its own.
    """
    # Before anything is asked: what is imported now makes the page, whatever happens to the files meanwhile.
    page, code = out / PAGE, code_version()
    try:
        made = studies(model, out, size)
    except OSError as error:
        raise StoreError(f"{out}: cannot be written: {error.strerror}; choose another --out") from None
    for spec in made.all():
        outcome = evaluate(spec, out / "runs", quiet=quiet)
        if outcome.stopped is not None:
            return Made(page, stopped=outcome.stopped)
    inputs: dict[str, JSON] = {"format": 1, "code": code, "figures": figures, "runs": _answers(out, made)}
    if _is_made(out, inputs):
        return Made(page, ok=_said_ok(out / AUDIT))
    audits = _derive(out, made, figures=figures, quiet=quiet)
    kept = {name: digest_file(out / name) for name in (PAGE, METRICS, AUDIT)}
    published = {spec.run_name(): _root(out / "published" / spec.run_name()) for spec in made.all()}
    write_atomic(out / MADE, pretty({**inputs, "files": kept, "published": published}))
    return Made(page, ok=all(one.ok for one in audits), is_new=True)


def _derive(out: Path, made: Studies, *, figures: bool, quiet: bool) -> list[Audit]:
    """Everything after the answers, a step after the other."""
    audits: list[Audit] = []
    runs = [out / "runs" / spec.run_name() for spec in made.all()]
    folders = [out / "published" / run.name for run in runs]
    steps: list[tuple[str, Callable[[], object]]] = [
        ("scoring", lambda: _score(runs)),
        ("checkpoint reports", lambda: _checkpoints(out, made)),
        *((f"publishing {run.name}", partial(_publish, run, out / "published", figures=figures)) for run in runs),
        ("auditing", lambda: audits.extend(audit(folders, Options(quiet=quiet)))),
        ("writing the page", lambda: _write_page(out, made, audits)),
    ]
    with Progress("deriving", len(steps), quiet=quiet) as progress:
        for title, step in steps:
            progress.advance(0, title)
            step()
            progress.advance(1, title)
    return audits


def _score(runs: Sequence[Path]) -> None:
    """Scores and metrics.json; a run of the logic benchmark also states its protocol's numbers there."""
    for directory in runs:
        run = Run(directory)
        run.score()
        write_summary(run)
        task = run.manifest.get("task")
        if isinstance(task, Mapping) and task.get("name") == "logic":
            path = directory / METRICS
            ours = json.loads(path.read_text(encoding="utf-8"))
            protocol = metrics_body(predictions_from(read_replies(directory), PARSERS[0]), None)
            write_atomic(path, pretty({**ours, **protocol}))


def _checkpoints(out: Path, made: Studies) -> None:
    """A report on each of the two models, and how they compare: the model minus the baseline."""

    def report(spec: RunSpec) -> Path:
        run = Run(out / "runs" / spec.run_name())
        results = report_on(from_run(run), name=spec.models[0].label, provenance=provenance(run))
        return write_checkpoint(results, out / "checkpoints")

    compare_checkpoints(report(made.baseline), report(made.verbs), out / "checkpoints")


def _publish(run: Path, to: Path, *, figures: bool) -> None:
    failed = [gate.gate for gate in gates(run) if not gate.passed]
    publish([run], to, {gate: _BECAUSE[gate] for gate in failed if gate in _BECAUSE}, figures=figures)


def _write_page(out: Path, made: Studies, audits: list[Audit]) -> None:
    write_atomic(out / AUDIT, pretty([one.as_json() for one in audits]))
    body = collect(out, made, audits)
    write_atomic(out / METRICS, pretty(body))
    draw_figures(body, out / "figures")
    write_atomic(out / PAGE, render(page_of(body, out)))


def _answers(out: Path, made: Studies) -> dict[str, JSON]:
    """Of each run its intent and its answers, digested: with the code, all that everything else is derived from."""
    runs: dict[str, JSON] = {}
    for spec in made.all():
        directory = out / "runs" / spec.run_name()
        with Store.open(directory / "run.db") as store:
            answers = digest([[trial.trial, *response_row(response)] for trial, response in store.answers()])
        runs[directory.name] = {"manifest": digest_file(directory / "manifest.json"), "answers": answers}
    return runs


def _is_made(out: Path, inputs: Mapping[str, JSON]) -> bool:
    """Whether the page was made from just this, and everything that was made then is still there as it was."""
    try:
        told = json.loads((out / MADE).read_text(encoding="utf-8"))
        if any(told.get(key) != value for key, value in inputs.items()):
            return False
        files = {name: digest_file(out / name) for name in told["files"]}
        folders = [out / "published" / name for name in told["published"]]
        roots = {folder.name: _root(folder) for folder in folders}
        whole = not any(receipts.differences(folder) for folder in folders)
    except (FileNotFoundError, json.JSONDecodeError, StoreError):
        return False
    return whole and files == told["files"] and roots == told["published"]


def _root(folder: Path) -> str:
    return receipts.read(folder).root_sha256


def _said_ok(path: Path) -> bool:
    return all(one["ok"] for one in json.loads(path.read_text(encoding="utf-8")))
