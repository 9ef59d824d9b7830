"""publish: gates, then a canonical copy of a run with its receipt, and an index over all that is published.

A run is written into a temporary folder beside its place and renamed when it is whole: an interrupted publish leaves
nothing behind. Publishing the same run again gives the same bytes.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path

from perpend import receipt as receipts
from perpend.attempts import attempts
from perpend.canon import JSON, pretty, write_atomic
from perpend.derived import METRICS, close_report, derive
from perpend.errors import AuditFailure, SpecError, StoreError, did_you_mean
from perpend.gates import NAMES, Gate, as_table, gates
from perpend.inert import markdown, terminal
from perpend.leaks import Leak, search, this_machine
from perpend.manifest import code_version, read_manifest
from perpend.measure import Run
from perpend.published import restore, run_id, write
from perpend.signature import sign as sign_receipt

VERIFY, INDEX, PAGE = "verify.py", "index.json", "README.md"
_LISTED = 10


@dataclass(frozen=True, slots=True)
class Published:
    """One run that was published: its folder, its gates, and the digest over all of its files."""

    run: str
    folder: Path
    gates: tuple[Gate, ...]
    root_sha256: str

    def as_json(self) -> dict[str, JSON]:
        """The outcome for programs."""
        return {
            "run": self.run,
            "folder": self.folder.as_posix(),
            "gates": [gate.as_json() for gate in self.gates],
            "root_sha256": self.root_sha256,
        }


def publish(
    runs: Sequence[Path],
    to: Path,
    accept: Mapping[str, str],
    sign: Path | None = None,
    *,
    figures: bool = True,
    quiet: bool = True,
) -> list[Published]:
    """Publish run directories below `to` and write the index of all that is there.

    `accept` maps the name of a gate that may fail to the reason why it may. A gate that fails otherwise is an
    AuditFailure, and nothing is published. `sign` is an SSH key's file. `figures` are slow; tables hold their numbers.
    """
    for name, because in accept.items():
        if name not in NAMES:
            raise SpecError(f"--accept {name}: no such gate; {did_you_mean(name, NAMES)}")
        if not because.strip():
            raise SpecError(f"--accept {name}: say why, with --because")
    _check_names(runs, to)
    _entries(to)  # a folder that the index could not list is told before anything is written
    checked = {run: _judged(gates(run, quiet=quiet), accept) for run in runs}
    _refuse(checked)
    # 'private' is known only when the files are written; the others are told before that work is done.
    _check_accepted([name for name in accept if name != "private"], [gate for one in checked.values() for gate in one])
    with _staging(to) as held:
        made = []
        for number, run in enumerate(runs):
            folder = held / str(number)
            write(run, folder, quiet=quiet)
            made.append(_finish(run, folder, checked[run], accept, figures=figures))
            if sign is not None:
                sign_receipt(folder, sign)
        _check_accepted(accept, [gate for one in made for gate in one.gates])
        for number, one in enumerate(made):
            _place(held / str(number), to / one.run, held / f"old-{number}")
    write_index(to)
    return [replace(one, folder=to / one.run) for one in made]


def write_index(to: Path) -> None:
    """Write README.md and index.json over every published run in a folder, from their receipts."""
    entries = _entries(to)
    body: dict[str, JSON] = {"format": 1, "runs": entries}
    write_atomic(to / INDEX, pretty(body))
    write_atomic(to / PAGE, _page(entries))


def _entries(to: Path) -> list[dict[str, JSON]]:
    return [_entry(path.parent) for path in sorted(to.glob(f"*/{receipts.RECEIPT}"))]


def _check_names(runs: Sequence[Path], to: Path) -> None:
    """Each run has a place of its own, which is free or holds an earlier copy of the same run and nothing else."""
    places: dict[str, Path] = {}
    for run in runs:
        manifest = read_manifest(run)
        name = run_id(manifest)
        if not (run / "run.db").is_file():
            raise StoreError(f"{run}: no run directory (there is no run.db); a published folder is not published again")
        if name in places:
            raise StoreError(f"{places[name]} and {run} are both called {name!r}; publish them into different folders")
        places[name] = run
        there = to / name
        if (there.exists() or there.is_symlink()) and not _is_copy_of(manifest, there):
            raise StoreError(f"{there}: holds another run or something else; publish into another folder or remove it")


def _is_copy_of(manifest: Mapping[str, JSON], there: Path) -> bool:
    """Whether a folder is what publish wrote for this run, so that it may be replaced without a loss."""
    if there.is_symlink() or not (there / receipts.RECEIPT).is_file() or read_manifest(there) != manifest:
        return False
    known = {*receipts.read(there).files, *receipts.UNLISTED}
    return all(path.relative_to(there).as_posix() in known for path in there.rglob("*") if not path.is_dir())


def _judged(found: Sequence[Gate], accept: Mapping[str, str]) -> tuple[Gate, ...]:
    """The gates with the reason of each one that failed and is accepted."""
    return tuple(gate if gate.passed else replace(gate, because=accept.get(gate.gate)) for gate in found)


def _refuse(checked: Mapping[Path, Sequence[Gate]]) -> None:
    """Raise AuditFailure with every gate when one failed and is not accepted."""
    refused = {run: [g for g in found if not g.passed and g.because is None] for run, found in checked.items()}
    if not any(refused.values()):
        return
    lines = []
    for run, failed in refused.items():
        if failed:
            lines += [f"{terminal(run.name)}: not published", as_table(checked[run])]
            lines += [f'To publish all the same: --accept {gate.gate} --because "why it may"' for gate in failed]
    raise AuditFailure("\n".join(lines))


def _check_accepted(accept: Iterable[str], found: Sequence[Gate]) -> None:
    """An acceptance that no run needed is a mistake: it would excuse what has not happened."""
    for name in accept:
        if all(gate.passed for gate in found if gate.gate == name):
            raise SpecError(f"--accept {name}: that gate passes; leave it out")


@contextmanager
def _staging(to: Path) -> Iterator[Path]:
    try:
        to.mkdir(parents=True, exist_ok=True)
        held = Path(tempfile.mkdtemp(dir=to, prefix=".publish-"))
    except OSError as error:
        raise StoreError(f"{to}: cannot be written: {error.strerror}; choose another --to") from None
    try:
        yield held
    finally:
        shutil.rmtree(held, ignore_errors=True)


def _finish(run: Path, folder: Path, found: Sequence[Gate], accept: Mapping[str, str], *, figures: bool) -> Published:
    """Write what belongs beside a run's ledger: derived files, verify.py, receipt. A leak is an AuditFailure."""
    name = run_id(read_manifest(run))
    write_atomic(folder / VERIFY, files("perpend").joinpath(VERIFY).read_bytes())
    with tempfile.TemporaryDirectory(dir=folder.parent) as held:
        # Reports show the directory's name; a renamed copy is restored under the name that the run was begun with.
        derive(Run(run if run.name == name else restore(folder, Path(held))), folder, figures=figures)
    metrics = json.loads((folder / METRICS).read_text(encoding="utf-8"))["metrics"]
    told = attempts(run, metrics)
    facts: dict[str, JSON] = {"gates": [gate.as_json() for gate in found], "attempts": told, "code": code_version()}
    checked = _judged([*found, _private(folder, run, facts)], accept)
    _refuse({run: checked[-1:]})
    facts["gates"] = [gate.as_json() for gate in checked]
    close_report(folder, facts)
    made = receipts.write(folder, name, facts)
    return Published(name, folder, checked, made.root_sha256)


def _private(folder: Path, run: Path, facts: Mapping[str, JSON]) -> Gate:
    """No path, user or host of this machine stands in what was written. A secret is refused whatever is accepted."""
    own = this_machine(folders=(run, folder.parent.parent))
    with tempfile.TemporaryDirectory(dir=folder.parent) as held:
        write_atomic(Path(held) / receipts.RECEIPT, pretty(facts))
        found = [*search(folder, own), *search(Path(held), own)]
    secrets = [leak for leak in found if leak.secret]
    if secrets:
        raise AuditFailure(
            f"{terminal(run.name)}: not published; secrets would be:\n{_places(secrets)}\n"
            "Take them out where they come from; no gate accepts them. A key that was stored is a key to replace."
        )
    if found:
        return Gate("private", False, f"{len(found)} places: " + _places(found).replace("\n", "; "))
    return Gate("private", True, "no secret, path, user or host in any file")


def _places(leaks: Sequence[Leak]) -> str:
    lines = [str(leak) for leak in leaks[:_LISTED]]
    return "\n".join(lines + ([f"and {len(leaks) - _LISTED} more"] if len(leaks) > _LISTED else []))


def _place(made: Path, there: Path, old: Path) -> None:
    """Rename a whole folder to its place. What stood there goes aside first, and is put back when that fails."""
    try:
        if there.exists():
            there.replace(old)
        made.replace(there)
    except OSError as error:
        if old.exists() and not there.exists():
            old.replace(there)
        raise StoreError(f"{there}: cannot be put in place: {error.strerror}") from error


def _entry(folder: Path) -> dict[str, JSON]:
    """One published run in the index."""
    receipt, manifest = receipts.read(folder), read_manifest(folder)
    gates_found = [gate for gate in _list(receipt.body.get("gates")) if isinstance(gate, Mapping)]
    counted, task = receipt.body.get("attempts"), manifest.get("task")
    told = counted if isinstance(counted, Mapping) else {}
    return {
        "run": folder.name,
        "task": task.get("name") if isinstance(task, Mapping) else None,
        "models": [model.get("label") for model in _list(manifest.get("models")) if isinstance(model, Mapping)],
        "trials": manifest.get("trials"),
        "created": manifest.get("created"),
        "headline": told.get("headline"),
        "attempt": [told.get("position"), told.get("of")],
        "accepted": {str(gate["gate"]): gate["accepted"] for gate in gates_found if gate.get("accepted") is not None},
        "root_sha256": receipt.root_sha256,
        "receipt_sha256": receipt.receipt_sha256,
        "signed": (folder / receipts.SIGNATURE).is_file(),
    }


def _page(entries: Sequence[Mapping[str, JSON]]) -> str:
    lines = [
        "# Published runs",
        "",
        "Each folder holds a whole run: items, questions asked, raw responses, scores, numbers, report. `python",
        "<run>/verify.py` checks that a folder is whole; `perpend audit <run>` derives every number again from the raw",
        "responses. 'Attempt' says which of how many runs of the same items and model this was.",
        "",
        "| run | task | models | trials | headline | attempt | accepted gates | root SHA-256 |",
        "|---|---|---|---:|---|---|---|---|",
    ]
    for entry in entries:
        attempt, models = _list(entry.get("attempt")), _list(entry.get("models"))
        cells = (
            f"[{markdown(str(entry['run']))}]({entry['run']}/report.md)",
            markdown(str(entry.get("task"))),
            markdown(", ".join(map(str, models))),
            str(entry.get("trials")),
            markdown(_headline(entry.get("headline"))),
            " of ".join(map(str, attempt)),
            markdown(", ".join(_accepted(entry.get("accepted"))) or "none"),
            f"`{str(entry.get('root_sha256'))[:16]}…`",
        )
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _headline(found: JSON) -> str:
    if not isinstance(found, Mapping) or not isinstance(found.get("value"), float | int):
        return "none"
    where = found.get("where")
    cell = ", ".join(str(name) for name in where.values()) if isinstance(where, Mapping) else ""
    return f"{found.get('metric')} of {found.get('scorer')} ({cell}): {found['value']:.3f}, n = {found.get('n')}"


def _accepted(found: JSON) -> list[str]:
    return [f"{gate}: {because}" for gate, because in found.items()] if isinstance(found, Mapping) else []


def _list(value: JSON) -> Sequence[JSON]:
    return value if isinstance(value, list) else []
