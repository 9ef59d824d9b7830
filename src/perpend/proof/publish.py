"""publish: gates, then a canonical copy of a run with its receipt, and an index over all that is published.

A run is written into a temporary folder beside its place and renamed when it is whole: an interrupted publish leaves
nothing behind. Publishing the same run again gives the same bytes.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from perpend.canon import JSON, as_list, as_object, digest_file, portable_name, pretty, write_atomic
from perpend.disk import temporary_folder, writing
from perpend.errors import AuditFailure, SpecError, StoreError, did_you_mean
from perpend.inert import markdown
from perpend.ledger.manifest import Manifest, code_version, read_manifest
from perpend.ledger.store import Store
from perpend.measure.plans import refuse_shard
from perpend.measure.processes import processes
from perpend.measure.run import Run
from perpend.measure.study import Drawn
from perpend.proof import receipt as receipts
from perpend.proof import statements
from perpend.proof.archive import RESPONSES, Writing, run_id
from perpend.proof.closing import close_report
from perpend.proof.gates import NAMES, Gate, as_table, attempts, gates
from perpend.proof.leaks import Leak, search, this_machine
from perpend.proof.lines import read_lines
from perpend.proof.pages import PageMaker
from perpend.proof.receipt import sign as sign_receipt
from perpend.proof.restoring import restore
from perpend.report.derive import derive, stated_answer
from perpend.report.tables import markdown_table
from perpend.spec.keys import noted_variables

ALONE = 20_000
"""Fewer trials than this are written before a second process would have started."""


INDEX, PAGE = "index.json", "README.md"
FORMAT = 2
"""Of index.json."""
NOTHING_PRIVATE = "no secret, path, user or host in any file"
"""What the gate 'private' says where it passes."""
_LISTED = 10


@dataclass(frozen=True, slots=True)
class Published:
    """One run that was published: its folder, its gates, and the digest over all of its files."""

    run: str
    folder: Path
    gates: tuple[Gate, ...]
    root_sha256: str

    def as_json(self) -> dict[str, JSON]:
        """The outcome as JSON."""
        return {
            "run": self.run,
            "folder": self.folder.as_posix(),
            "gates": [gate.as_json() for gate in self.gates],
            "root_sha256": self.root_sha256,
        }


def publish(  # noqa: PLR0913  each is one flag of the verb
    runs: Sequence[Run | Path],
    to: Path,
    accept: Mapping[str, str],
    sign: Path | None = None,
    *,
    figures: Drawn = True,
    page: PageMaker | None = None,
    quiet: bool = True,
    workers: int | None = None,
    trust_code: bool = False,
) -> list[Published]:
    """Publish run directories below `to` and write the index of all that is there.

    `accept` maps the name of a gate that may fail to the reason why it may. A gate that fails otherwise is an
    AuditFailure, and nothing is published. `sign` is an SSH key's file. `figures` are the few that answer the
    study's question, 'all' that it has, or none; tables hold their numbers. `page` writes a page to read beside them.
    Large runs are written and searched by `workers` processes, by default one for each core; the bytes are the same.
    Python files of a run are run only with `trust_code`, or where a Run has its code at hand.
    """
    for name, because in accept.items():
        if name not in NAMES:
            raise SpecError(f"--accept {name}: no such gate; {did_you_mean(name, NAMES)}")
        if not because.strip():
            raise SpecError(f"--accept {name}: say why, with --because")
    opened = [run.alone() if isinstance(run, Run) else Run(run, trust_code=trust_code) for run in runs]
    _check_names(opened, to)
    for run in opened:
        with Store.open(run.directory / "run.db") as store:
            refuse_shard(store)
    _entries(to)  # a folder that the index could not list is reported before anything is written
    pool = processes(workers, sum(run.manifest.trials for run in opened), 0 if workers else ALONE)
    with temporary_folder("publish", to) as tmpdir, pool or nullcontext():
        folders = [tmpdir / str(number) for number in range(len(opened))]
        # What a gate refuses is written in vain, but never left there.
        written = [Writing(run.directory, at, pool, quiet=quiet) for run, at in zip(opened, folders, strict=True)]
        checked = [_judged(gates(run, quiet=quiet), accept) for run in opened]
        _refuse(opened, checked)
        # 'private' is known only when the files are written; the others are reported before that work is done.
        _check_accepted([name for name in accept if name != "private"], [gate for one in checked for gate in one])
        published = []
        for run, folder, archive, passed in zip(opened, folders, written, checked, strict=True):
            published.append(_finish(run, folder, passed, accept, (archive, pool), figures=figures, page=page))
            if sign is not None:
                sign_receipt(folder, sign)
        _check_accepted(accept, [gate for one in published for gate in one.gates])
        for folder, one in zip(folders, published, strict=True):
            _check_kept(to / one.run, folder)
        for folder, one in zip(folders, published, strict=True):
            _place(folder, to / one.run)
    write_index(to)
    return [replace(one, folder=to / one.run) for one in published]


def write_index(to: Path) -> None:
    """Write README.md and index.json over every published run in a folder, from their receipts."""
    for name, text in index_texts(to).items():
        write_atomic(to / name, text)


def index_texts(to: Path) -> dict[str, str]:
    """The text of index.json and of README.md over every published run in a folder, by the names of the files."""
    entries = _entries(to)
    return {INDEX: pretty({"format": FORMAT, "runs": entries}), PAGE: _page(entries)}


def _entries(to: Path) -> list[dict[str, JSON]]:
    """What the index says of each published run. A link to one, or a name that no run is published by, is an error."""
    there = sorted(to.iterdir()) if to.is_dir() else []
    sealed = [path for path in there if not path.name.startswith(".") and (path / receipts.RECEIPT).is_file()]
    for path in sealed:
        if path.is_symlink():
            raise StoreError(f"{path}: a link; the index lists only runs that are in the folder. Remove it.")
        if portable_name(path.name) != path.name:
            raise StoreError(f"{path}: no run is published by such a name, and the index cannot link to it; rename it")
    return [_entry(path) for path in sealed]


def _check_names(runs: Sequence[Run], to: Path) -> None:
    """Each run has a place of its own, which is free or holds an earlier copy of the same run and nothing else."""
    places: dict[str, Path] = {}
    for run in runs:
        name, path = run_id(run.manifest), run.directory
        if not (path / "run.db").is_file():
            raise StoreError(f"{path}: not a run directory (no run.db); a published folder is not published again")
        if name in places:
            raise StoreError(f"{places[name]} and {path} are both called {name!r}; publish them into different folders")
        places[name] = path
        there = to / name
        _put_back(there)
        if (there.exists() or there.is_symlink()) and not _is_copy_of(run.manifest, there):
            raise StoreError(f"{there}: holds another run or something else; publish into another folder or remove it")


def _is_copy_of(manifest: Manifest, there: Path) -> bool:
    """Whether a folder is what publish wrote for this run, so that it may be replaced without a loss."""
    if there.is_symlink() or not (there / receipts.RECEIPT).is_file() or read_manifest(there) != manifest:
        return False
    known = {*receipts.read(there).files, *receipts.UNLISTED}
    return all(path.relative_to(there).as_posix() in known for path in there.rglob("*") if not path.is_dir())


def _judged(checked: Sequence[Gate], accept: Mapping[str, str]) -> tuple[Gate, ...]:
    """The gates with the reason of each one that failed and is accepted."""
    return tuple(gate if gate.passed else replace(gate, because=accept.get(gate.gate)) for gate in checked)


def _refuse(runs: Sequence[Run], checked: Sequence[Sequence[Gate]]) -> None:
    """Raise AuditFailure with every gate when one failed and is not accepted."""
    lines = []
    for run, passed in zip(runs, checked, strict=True):
        failed = [gate for gate in passed if not gate.passed and gate.because is None]
        if failed:
            lines += [f"{run.name}: not published", *as_table(passed).split("\n")]
            lines += [f'To publish all the same: --accept {gate.gate} --because "why it may"' for gate in failed]
    if lines:
        raise AuditFailure(*lines)


def _check_accepted(accept: Iterable[str], checked: Sequence[Gate]) -> None:
    """An acceptance that no run needed is a mistake: it would excuse what has not happened."""
    for name in accept:
        if all(gate.passed for gate in checked if gate.gate == name):
            raise SpecError(f"--accept {name}: that gate passes; leave it out")


def _finish(  # noqa: PLR0913  what publish was told, and how far it is
    run: Run,
    folder: Path,
    passed: Sequence[Gate],
    accept: Mapping[str, str],
    work: tuple[Writing, ProcessPoolExecutor | None],
    *,
    figures: Drawn,
    page: PageMaker | None,
) -> Published:
    """Write what belongs beside a run's ledger: derived files and the receipt. A leak is an AuditFailure."""
    name = run_id(run.manifest)
    archive, pool = work
    if run.name != name or not archive.is_under_way:
        archive.finish()
    with temporary_folder("publish", folder.parent) as tmpdir:
        # Reports show the directory's name; a renamed copy is restored under the name that the run was begun with.
        same = run if run.name == name else Run(restore(folder, tmpdir), code=run.code)
        numbers = derive([same], folder, figures=figures).numbers
        archive.finish()
        counted = attempts(run.directory, [metric.as_json() for metric in numbers.metrics])
        facts: dict[str, JSON] = {"gates": [gate.as_json() for gate in passed]}
        facts |= {"attempts": counted, "code": code_version()}
        checked = _judged([*passed, _private(folder, run.directory, facts, pool)], accept)
        _refuse([run], [checked[-1:]])
        facts["gates"] = [gate.as_json() for gate in checked]
        close_report(folder, facts)
        if page is not None:
            # After the search for private words: it packs what the other files hold, which was searched.
            page.write(same, folder, facts)
    # Also after that search, and with the digests that the receipt needs all the same: no file is read twice.
    files = receipts.digests(folder)
    for file, text in statements.texts(statements.StatedRun(run.manifest, numbers, files, code_version())).items():
        write_atomic(folder / file, text)
        files[file] = digest_file(folder / file)
    receipt = receipts.write(folder, name, facts, files)
    return Published(name, folder, checked, receipt.root_sha256)


def _private(folder: Path, run: Path, facts: Mapping[str, JSON], pool: ProcessPoolExecutor | None) -> Gate:
    """No path, user, host or key is in what was written. A key of this machine is refused whatever is accepted."""
    own = this_machine(folders=(run, folder.parent.parent), variables=noted_variables(run))
    with temporary_folder("publish", folder.parent) as tmpdir:
        write_atomic(tmpdir / receipts.RECEIPT, pretty(facts))
        leaks = [*search(folder, own, pool), *search(tmpdir, own)]
    secrets = [leak for leak in leaks if leak.secret]
    if secrets:
        raise AuditFailure(
            f"{run.name}: not published; keys of this machine would be:",
            *_places(secrets),
            "Take them out where they come from; no gate accepts them. A key that was stored is a key to replace.",
        )
    if leaks:
        return Gate("private", False, f"{len(leaks)} places: " + "; ".join(_places(leaks)))
    return Gate("private", True, NOTHING_PRIVATE)


def _places(leaks: Sequence[Leak]) -> list[str]:
    lines = [str(leak) for leak in leaks[:_LISTED]]
    return lines + ([f"and {len(leaks) - _LISTED} more"] if len(leaks) > _LISTED else [])


def _check_kept(there: Path, folder: Path) -> None:
    """Every response of the copy that is to be replaced is in the new one: publishing deletes no answer."""
    if not there.exists():
        return
    new = read_lines(folder / RESPONSES)
    for number, line in read_lines(there / RESPONSES):
        if all(other != line for _, other in new):
            raise StoreError(
                f"{there}: line {number} of {RESPONSES} is an answer that the run does not hold any more; it was not "
                "replaced. Publish into another folder."
            )


def _place(folder: Path, there: Path) -> None:
    """Rename a whole folder to its place. What was there goes aside first, and comes back when that fails."""
    aside = _aside(there)
    with writing(there):
        if there.exists():
            there.replace(aside)
        try:
            folder.replace(there)
        except OSError:
            if aside.exists():
                aside.replace(there)
            raise
        if aside.exists():
            shutil.rmtree(aside)


def _aside(there: Path) -> Path:
    return there.with_name(f".{there.name}.replaced")


def _put_back(there: Path) -> None:
    """Finish what a publish that was killed between two renames began."""
    aside = _aside(there)
    if (aside / receipts.RECEIPT).is_file() and not aside.is_symlink():
        with writing(there):
            if there.exists():
                shutil.rmtree(aside)
            else:
                aside.replace(there)


def _entry(folder: Path) -> dict[str, JSON]:
    """One published run in the index."""
    receipt, manifest = receipts.read(folder), read_manifest(folder)
    counted = as_object(receipt.body.get("attempts"))
    accepted = [gate for gate in map(as_object, as_list(receipt.body.get("gates"))) if gate.get("accepted") is not None]
    return {
        "run": folder.name,
        "task": manifest.task,
        "models": [model.label for model in manifest.models],
        "trials": manifest.trials,
        "created": manifest.created,
        "headline": counted.get("headline"),
        "answer": [*stated_answer(folder)],
        "attempt": [counted.get("position"), counted.get("of")],
        "accepted": {str(gate.get("gate")): gate.get("accepted") for gate in accepted},
        "root_sha256": receipt.root_sha256,
        "receipt_sha256": receipt.receipt_sha256,
        "signed": (folder / receipts.SIGNATURE).is_file(),
    }


def _page(entries: Sequence[Mapping[str, JSON]]) -> str:
    lines = [
        "# Published runs",
        "",
        "Each folder holds a whole run: items, questions asked, raw responses, scores, numbers, report. `perpend audit",
        "<run>` derives every number again from the raw responses and runs nothing that is in the folder. 'Attempt'",
        "says which of how many runs that share items and a model this was.",
        "",
    ]
    rows = []
    for entry in entries:
        accepted = [f"{gate}: {because}" for gate, because in as_object(entry.get("accepted")).items()]
        cells = (
            f"[{markdown(str(entry['run']))}]({entry['run']}/report.md)",
            markdown(str(entry.get("task"))),
            markdown(", ".join(map(str, as_list(entry.get("models"))))),
            str(entry.get("trials")),
            "<br>".join(markdown(str(line)) for line in as_list(entry.get("answer")))
            or markdown(_headline_cell(as_object(entry.get("headline")))),
            " of ".join(map(str, as_list(entry.get("attempt")))),
            markdown(", ".join(accepted) or "none"),
            f"`{str(entry.get('root_sha256'))[:16]}…`",
        )
        rows.append(cells)
    head = ("run", "task", "models", "trials", "headline", "attempt", "accepted gates", "root SHA-256")
    return "\n".join([*lines, markdown_table(head, rows, "|---|---|---|---:|---|---|---|---|")]) + "\n"


def _headline_cell(headline: Mapping[str, JSON]) -> str:
    value = headline.get("value")
    if not isinstance(value, float | int):
        return "none"
    cell = ", ".join(str(name) for name in as_object(headline.get("where")).values())
    return f"{headline.get('metric')} of {headline.get('scorer')} ({cell}): {value:.3f}, n = {headline.get('n')}"
