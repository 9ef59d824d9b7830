"""Paths → what can be audited: runs, published folders, and files that a study reads as runs."""

from __future__ import annotations

import inspect
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from perpend.ask.task import CODE
from perpend.canon import as_list, as_object, portable_name
from perpend.disk import temporary_folder
from perpend.errors import StoreError, near_file
from perpend.ledger.database import LOCK, copy_ledger
from perpend.ledger.manifest import MANIFEST, Manifest, read_manifest
from perpend.ledger.shards import SHARDS
from perpend.ledger.store import Store
from perpend.measure.labels import LABELS
from perpend.measure.run import Run
from perpend.measure.study import Format, formats_of
from perpend.proof.archive import PLAN
from perpend.proof.receipt import RECEIPT
from perpend.proof.restoring import Restored, restored
from perpend.spec.resolve import module_of, names

_NAMED = 5
"""How many files a sentence names."""


@dataclass(frozen=True, slots=True)
class AuditPlace:
    """One thing to audit: a published folder; files of a `format`, which are imported; or else a run directory."""

    path: Path
    published: bool = False
    format: Format | None = None


def places(paths: Sequence[Path]) -> list[AuditPlace]:
    """Everything that the paths are or hold, each once, in the order of the paths, then by name.

    A path that holds nothing to audit is a StoreError.
    """
    known: dict[Path, AuditPlace] = {}
    for path in paths:
        if not path.exists():
            near = near_file(path) or "; give a run, a published folder, or a folder of them"
            raise StoreError(f"{path}: no such folder or file{near}")
        here = list(_below(path))
        if not here:
            readable = ", ".join(one.name for one in formats())
            raise StoreError(
                f"{path}: holds no run ({MANIFEST} and run.db), no published folder ({RECEIPT}) and no file that a "
                f"study reads ({readable}); 'perpend eval' writes the first, 'perpend publish' the second. What others "
                "published is audited where 'perpend import' knows it; a table needs --map"
            )
        for place in here:
            known.setdefault(place.path.resolve(), place)
    return list(known.values())


def holds_place(path: Path) -> bool:
    """Whether a path is or holds something that `places` gives."""
    return path.exists() and next(_below(path), None) is not None


@cache
def formats() -> tuple[Format, ...]:
    """The formats of all studies that are installed."""
    studies = [getattr(module_of("tasks", name), "STUDY", None) for name in names("tasks")]
    return tuple(one for study in studies if study is not None for one in formats_of(study))


def _below(path: Path) -> Iterator[AuditPlace]:
    """What a path is, else what the folders in it are. A folder of perpend's own is no format of a study."""
    own = own_place(path)
    if own is not None:
        yield own
        return
    if (path / SHARDS / MANIFEST).is_file():
        read_manifest(path)  # it says that the shards are not merged
    inner = sorted(entry for entry in path.iterdir() if entry.is_dir()) if path.is_dir() else []
    inner = [entry for entry in inner if not entry.is_symlink() and not entry.name.startswith(".")]
    if all(own_place(entry) is None for entry in inner):
        known = next((one for one in formats() if one.is_one(path)), None)
        if known is not None:
            yield AuditPlace(path, format=known)
            return
    for entry in inner:
        yield from _below(entry)


def own_place(path: Path) -> AuditPlace | None:
    """A receipt or a plan makes a published folder even when the other files are lost: that is to be reported."""
    if (path / RECEIPT).is_file() or (path / PLAN).is_file():
        return AuditPlace(path, published=True)
    return AuditPlace(path) if (path / MANIFEST).is_file() or (path / "run.db").is_file() else None


@contextmanager
def run_directory(place: AuditPlace, *, metadata: Path | None = None, quiet: bool = True) -> Iterator[Path]:
    """The run directory of a place: itself, or for the time of the block a restored or imported one."""
    with restored_place(place, metadata=metadata, quiet=quiet) as opened:
        yield opened.directory


@contextmanager
def restored_place(place: AuditPlace, *, metadata: Path | None = None, quiet: bool = True) -> Iterator[Restored]:
    """The same, with the files of a published folder that are verbatim; of another place none are."""
    if not place.published and place.format is None:
        yield Restored(place.path, {})
        return
    with temporary_folder("audit") as tmpdir:
        if place.format is None:
            yield restored(place.path, tmpdir, quiet=quiet)
            return
        read: Callable[..., Path] = place.format.read
        takes = metadata is not None and "metadata" in inspect.signature(read).parameters
        to = tmpdir / portable_name(place.path.resolve().name)
        directory = read(place.path, to, metadata=metadata) if takes else read(place.path, to)
        _link(place.path, directory)
        yield Restored(directory, {})


def imported_how(place: AuditPlace, manifest: Manifest) -> str:
    """For files that were imported for an audit, as what, and what the import says of them; '' for other places."""
    if place.format is None:
        return ""
    notes = as_object((manifest.source_of_import or {}).get("notes"))
    return "; ".join(
        (f"{place.format.name}, imported for this audit", *(f"{notes[words]}: {words}" for words in notes))
    )


def unread(place: AuditPlace, manifest: Manifest) -> str:
    """Which files of a folder nobody read that was imported for an audit; '' where its format does not list its own."""
    listed = as_list((manifest.source_of_import or {}).get("files"))
    if place.format is None or not listed or not place.path.is_dir():
        return ""
    own = {str(as_object(one).get("name")) for one in listed}
    if not all((place.path / name).is_file() for name in own):  # a sweep, whose files are in folders of their own
        return ""
    others = sorted(path.name for path in place.path.iterdir() if path.name not in own and not path.is_dir())
    more = f" and {len(others) - _NAMED} more" if len(others) > _NAMED else ""
    return f"{', '.join(others[:_NAMED])}{more}: not read" if others else ""


def unscored(run: Run, store: Store) -> bool:
    """Whether a run was never scored: it declares scorers, and no score of any is stored."""
    known = {f"{name}@{version}" for name, version in store.scorers()}
    return bool(run.manifest.scorers) and not known & {*run.manifest.scorers}


@contextmanager
def scored_copy(run: Run, *, trust_code: bool) -> Iterator[Run]:
    """A copy of a run directory, scored by the scorers that can be had; the run itself stays as it is."""
    with temporary_folder("audit") as tmpdir:
        directory = tmpdir / run.name
        directory.mkdir()
        copy_ledger(run.directory / "run.db", directory / "run.db")
        for name in (MANIFEST, LABELS):
            if (run.directory / name).is_file():
                shutil.copyfile(run.directory / name, directory / name)
        if (run.directory / CODE).is_dir():
            shutil.copytree(run.directory / CODE, directory / CODE)
        _link(run.directory, directory)
        copy = Run(directory, trust_code=trust_code)
        available = [name for name in copy.manifest.scorers if f"scorer {name}" not in copy.code.missing]
        if available:
            copy.score(available)
        yield copy


def _link(source: Path, directory: Path) -> None:
    """Let a study see its own files beside the ledger that was made of them."""
    for path in source.iterdir() if source.is_dir() else ():
        is_own = path.name.startswith(("run.db", LOCK))  # of the copy: a lock that is taken there is not the run's
        if path.is_file() and not (directory / path.name).exists() and not is_own:
            (directory / path.name).symlink_to(path.resolve())
