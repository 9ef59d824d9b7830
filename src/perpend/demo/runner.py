"""The demo from the first question to the page. Started again, it resumes where it stopped, and repeats nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from perpend._view import OpenedRuns, ViewOptions
from perpend.ask.progress import Progress
from perpend.ask.runner import evaluate
from perpend.canon import JSON, digest, digest_file, pretty, write_atomic
from perpend.demo.studies import EMBEDDED, Size, studies
from perpend.errors import StoreError
from perpend.ledger.manifest import code_version
from perpend.ledger.plan import response_row
from perpend.measure.run import Run
from perpend.proof import receipt as receipts
from perpend.proof.audit import Audit, Options, audit
from perpend.proof.gates import gates
from perpend.proof.publish import publish
from perpend.report.derive import derive
from perpend.view.page import write_page

PAGE, AUDIT, MADE = "index.html", "audit.json", "made.json"
_BECAUSE = {
    "unfinished": "a small model often repeats itself up to the token limit; such answers are counted, never scored",
    "invalid": "a small model often leaves the format; such replies are counted in coverage, never as a label",
}
"""The gates that a demo may fail, and why: every other one stops it."""
_WHOLE = Size()


@dataclass(frozen=True, slots=True)
class DemoOutcome:
    """How a demo ended. `stopped` says why it ended early; then there may be no page yet."""

    page: Path
    ok: bool = False
    """Whether the audit found no difference."""
    is_new: bool = False
    """Whether anything was written; False when all of it was there already."""
    stopped: str | None = None


def make_demo(
    out: Path, model: str = EMBEDDED, size: Size = _WHOLE, *, figures: bool = True, quiet: bool = False
) -> DemoOutcome:
    """Ask what is not asked yet, then score, publish, audit and write `out`/index.html.

    A demo that is there already, from the same answers and the same code, is left as it is. Without `figures` the runs
    are published without theirs, which saves half of the time after the answers, and the page has none.
    """
    # Before anything is asked: what is imported now writes the page, whatever happens to the files meanwhile.
    page, code = out / PAGE, code_version()
    try:
        specs = studies(model, out, size)
    except OSError as error:
        raise StoreError(f"{out}: cannot be written: {error.strerror}; choose another --out") from None
    for spec in specs.all():
        outcome = evaluate(spec, out / "runs", quiet=quiet)
        if outcome.stopped is not None:
            return DemoOutcome(page, stopped=outcome.stopped)
    runs = [Run(out / "runs" / spec.run_name()) for spec in specs.all()]
    inputs: dict[str, JSON] = {"format": 2, "code": code, "figures": figures, "runs": {r.name: _input(r) for r in runs}}
    if _is_made(out, inputs):
        return DemoOutcome(page, ok=all(one["ok"] for one in json.loads((out / AUDIT).read_text(encoding="utf-8"))))
    audits = _derive(out, runs, figures=figures, quiet=quiet)
    files = {name: digest_file(out / name) for name in (PAGE, AUDIT)}
    published = {run.name: receipts.read(out / "published" / run.name).root_sha256 for run in runs}
    write_atomic(out / MADE, pretty({**inputs, "files": files, "published": published}))
    return DemoOutcome(page, ok=all(one.ok for one in audits), is_new=True)


def _derive(out: Path, runs: list[Run], *, figures: bool, quiet: bool) -> list[Audit]:
    """Everything after the answers, step by step."""
    audits: list[Audit] = []
    folders = [out / "published" / run.name for run in runs]
    steps: list[tuple[str, Callable[[], object]]] = [
        *((f"scoring {run.name}", partial(_score, run)) for run in runs),
        *((f"publishing {run.name}", partial(_publish, run, out / "published", figures=figures)) for run in runs),
        ("auditing", lambda: audits.extend(audit(folders, Options(quiet=quiet)))),
        ("writing the page", lambda: _write_page(out, audits)),
    ]
    with Progress("deriving", len(steps), quiet=quiet) as progress:
        for title, step in steps:
            progress.advance(0, title)
            step()
            progress.advance(1, title)
    return audits


def _score(run: Run) -> None:
    run.score()
    derive([run], run.directory, figures=False)


def _publish(run: Run, to: Path, *, figures: bool) -> None:
    failed = [gate.gate for gate in gates(run) if not gate.passed]
    publish([run], to, {gate: _BECAUSE[gate] for gate in failed if gate in _BECAUSE}, figures=figures)


def _write_page(out: Path, audits: list[Audit]) -> None:
    """The page of the published runs, each with what its audit came to."""
    write_atomic(out / AUDIT, pretty([one.as_json() for one in audits]))
    notes = {one.path.name: (("Audit", _audited(one)),) for one in audits}
    with ExitStack() as stack:
        options = ViewOptions(figures=False, title="perpend demo", notes=notes)
        write_page(OpenedRuns(stack, sorted(one.path for one in audits), options).view(), out / PAGE)


def _audited(outcome: Audit) -> str:
    checked, differ = (sum(getattr(check, name) for check in outcome.checks) for name in ("checked", "differ"))
    return f"{checked:,} comparisons, {'nothing differs' if not differ else f'{differ} differ'}"


def _input(run: Run) -> JSON:
    """A run's intent and its answers, digested: with the code, all that everything else is derived from."""
    with run.open() as store:
        answers = digest([[trial.trial, *response_row(response)] for trial, response in store.answers()])
    return {"manifest": digest_file(run.directory / "manifest.json"), "answers": answers}


def _is_made(out: Path, inputs: Mapping[str, JSON]) -> bool:
    """Whether the page was written from just this, and everything that was written then is still there as it was."""
    try:
        record = json.loads((out / MADE).read_text(encoding="utf-8"))
        if any(record.get(key) != value for key, value in inputs.items()):
            return False
        files = {name: digest_file(out / name) for name in record["files"]}
        folders = [out / "published" / name for name in record["published"]]
        roots = {folder.name: receipts.read(folder).root_sha256 for folder in folders}
        is_whole = not any(receipts.differences(folder) for folder in folders)
    except (FileNotFoundError, json.JSONDecodeError, StoreError):
        return False
    return is_whole and files == record["files"] and roots == record["published"]
