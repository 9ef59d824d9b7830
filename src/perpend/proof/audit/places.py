"""Paths → what can be audited: runs, published folders, and files that a study reads as runs."""

from __future__ import annotations

import inspect
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from perpend.ask.task import CODE
from perpend.canon import as_list, as_object, portable_name, read_object
from perpend.disk import temporary_folder
from perpend.errors import StoreError, near_file
from perpend.ledger.database import LOCK, copy_ledger
from perpend.ledger.manifest import MANIFEST, Manifest, read_manifest
from perpend.ledger.shards import SHARDS
from perpend.ledger.store import Store
from perpend.measure.labels import LABELS
from perpend.measure.run import Run
from perpend.measure.study import Format, formats_of
from perpend.opening import refuse_links
from perpend.proof.archive import PLAN
from perpend.proof.publish import FORMAT, INDEX, PAGE
from perpend.proof.receipt import RECEIPT
from perpend.proof.restoring import restore
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

    A path that holds nothing to audit, and whose index lists nothing, is a StoreError.
    """
    known: dict[Path, AuditPlace] = {}
    for path in paths:
        if not path.exists():
            near = near_file(path) or "; give a run, a published folder, or a folder of them"
            raise StoreError(f"{path}: no such folder or file{near}")
        here = list(_below(path))
        if not here and not _listed(path):
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
    """Whether a path is or holds something that `places` gives, or says that it does."""
    return path.exists() and (next(_below(path), None) is not None or bool(_listed(path)))


@cache
def formats() -> tuple[Format, ...]:
    """The formats of all studies that are installed."""
    studies = [getattr(module_of("tasks", name), "STUDY", None) for name in names("tasks")]
    return tuple(one for study in studies if study is not None for one in formats_of(study))


def folders_of_runs(paths: Sequence[Path]) -> list[FolderOfRuns]:
    """Those of the paths that hold published runs, or a run among others, and something that is none of them."""
    folders = []
    for path in paths:
        folder = FolderOfRuns(path)
        here = list(_below(path, folder))
        is_published = any(place.published for place in here) or folder.has_index
        if folder.differences or (folder.unseen and is_published):
            folders.append(folder)
    return folders


@dataclass(slots=True)
class FolderOfRuns:
    """What a folder of runs holds beside them: what should not be there, and what no audit looks at."""

    path: Path
    differences: list[str] = field(default_factory=list)
    unseen: list[str] = field(default_factory=list)
    has_index: bool = False

    def see(self, folder: Path, runs: Mapping[Path, bool]) -> None:
        """Take in one folder on the way to the runs. `runs` says of each folder in it whether anything is audited."""
        listed = _listed(folder)
        self.has_index |= listed is not None
        is_above = listed is not None or any((entry / RECEIPT).is_file() for entry in runs)
        shadows = [name for name in (RECEIPT, PLAN, MANIFEST, "run.db") if os.path.lexists(folder / name)]
        own = {*shadows, *((INDEX, PAGE) if listed is not None else ())}
        for entry in sorted(folder.iterdir()):
            if entry.is_symlink() and entry.is_dir() and is_above:
                self.differences.append(f"{self._named(entry)}: a link to a folder, which is not followed")
            elif entry.name not in own and not runs.get(entry):
                self.unseen.append(self._named(entry))
        self.differences += [f"{self._named(folder / name)}: of a run, and the folder holds runs" for name in shadows]
        for name in listed or ():
            if portable_name(name) != name or own_place(folder / name) is None:
                self.differences.append(f"{self._named(folder / INDEX)}: lists {name!r:.80}, which is no run there")

    def _named(self, path: Path) -> str:
        return path.relative_to(self.path).as_posix()


def _listed(folder: Path) -> list[str] | None:
    """The runs that a folder's index names; None where it has no index of ours."""
    if not (folder / INDEX).is_file():
        return None
    try:
        body = read_object(folder / INDEX, StoreError, within=folder)
    except StoreError:
        return []  # the runs beside it say what is wrong
    runs = body.get("runs") if body.get("format") == FORMAT else None
    return [str(as_object(one).get("run")) for one in runs] if isinstance(runs, list) else None


def _below(path: Path, folder: FolderOfRuns | None = None) -> Iterator[AuditPlace]:
    """What a path is, else what the folders in it are. A folder of perpend's own is no format of a study.

    `folder` takes in what is beside the runs.
    """
    inner = sorted(entry for entry in path.iterdir() if entry.is_dir()) if path.is_dir() else []
    inner = [entry for entry in inner if not entry.is_symlink() and not entry.name.startswith(".")]
    own = own_place(path)
    # Whoever puts a run's files into a folder of runs must not keep them from being audited.
    has_runs = _listed(path) is not None or any(_is_run(entry) for entry in inner)
    if own is not None and not has_runs:
        yield own
        return
    if (path / SHARDS / MANIFEST).is_file():
        read_manifest(path)  # it says that the shards are not merged
    if own is None and all(own_place(entry) is None for entry in inner):
        known = next((one for one in formats() if one.is_one(path)), None)
        if known is not None:
            yield AuditPlace(path, format=known)
            return
    runs = {}
    for entry in inner:
        places_there = list(_below(entry, folder)) if folder is not None else _below(entry)
        runs[entry] = bool(places_there)
        yield from places_there
    if folder is not None and path.is_dir() and (any(runs.values()) or has_runs):
        folder.see(path, runs)


def _is_run(entry: Path) -> bool:
    """Whether a folder in another one is a run by itself; shards are part of the run that they are in."""
    is_own = (entry / MANIFEST).is_file() and (entry / "run.db").is_file()
    return entry.name != SHARDS and (is_own or (entry / RECEIPT).is_file() or (entry / PLAN).is_file())


def own_place(path: Path) -> AuditPlace | None:
    """A receipt or a plan makes a published folder even when the other files are lost: that is to be reported."""
    if (path / RECEIPT).is_file() or (path / PLAN).is_file():
        return AuditPlace(path, published=True)
    return AuditPlace(path) if (path / MANIFEST).is_file() or (path / "run.db").is_file() else None


@contextmanager
def run_directory(place: AuditPlace, *, metadata: Path | None = None, quiet: bool = True) -> Iterator[Path]:
    """The run directory of a place: itself, or for the time of the block a restored or imported one.

    A link in it is a StoreError: whoever made the folder would choose what else is read and shown.
    """
    refuse_links(place.path, deep=place.format is None)
    if not place.published and place.format is None:
        yield place.path
        return
    with temporary_folder("audit") as tmpdir:
        if place.format is None:
            yield restore(place.path, tmpdir, quiet=quiet)
            return
        read: Callable[..., Path] = place.format.read
        takes = metadata is not None and "metadata" in inspect.signature(read).parameters
        to = tmpdir / portable_name(place.path.resolve().name)
        directory = read(place.path, to, metadata=metadata) if takes else read(place.path, to)
        _link(place.path, directory)
        yield directory


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


def scored_in(stack: ExitStack, directory: Path, *, trust_code: bool) -> Run:
    """A run directory as it is; where it was never scored a scored copy, as long as the stack is open."""
    run = Run(directory, trust_code=trust_code)
    with run.open() as store:
        never_scored = unscored(run, store)
    return stack.enter_context(scored_copy(run, trust_code=trust_code)) if never_scored else run


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
